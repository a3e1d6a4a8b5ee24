/* floor_tree.c - names in one hash table and in a list for each directory. */
#include "tests/bench/floor_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BUCKETS (1u << 17)
#define ROOM_MIN 4096u

LIST_HEAD(bucket, rs_floor_name);

static struct bucket *buckets;
static struct rs_floor_node root;
static uint64_t last_ino, last_cookie;

static struct bucket *bucket_of(const struct rs_floor_node *dir,
				const char *text)
{
	uint64_t h = UINT64_C(14695981039346656037) ^ dir->st.st_ino;

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * UINT64_C(1099511628211);
	return &buckets[(h ^ h >> 32) % BUCKETS];
}

static void init_node(struct rs_floor_node *node, mode_t mode, uid_t uid,
		      gid_t gid)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	node->st.st_ino = ++last_ino;
	node->st.st_mode = mode;
	node->st.st_nlink = S_ISDIR(mode) ? 2 : 1;
	node->st.st_uid = uid;
	node->st.st_gid = gid;
	node->st.st_blksize = 4096;
	node->st.st_atim = now;
	node->st.st_mtim = now;
	node->st.st_ctim = now;
	TAILQ_INIT(&node->names);
}

int rs_floor_init(void)
{
	buckets = calloc(BUCKETS, sizeof(*buckets));
	if (!buckets)
		return -ENOMEM;
	init_node(&root, S_IFDIR | 0755, 0, 0);
	root.nlookup = 1;
	root.parent = &root;
	return 0;
}

struct rs_floor_node *rs_floor_root(void)
{
	return &root;
}

struct rs_floor_name *rs_floor_find(const struct rs_floor_node *dir,
				    const char *text)
{
	struct rs_floor_name *name;

	LIST_FOREACH(name, bucket_of(dir, text), hash)
	{
		if (name->dir == dir && !strcmp(name->text, text))
			return name;
	}
	return NULL;
}

static void touch_dir(struct rs_floor_node *dir, int links)
{
	clock_gettime(CLOCK_REALTIME, &dir->st.st_mtim);
	dir->st.st_ctim = dir->st.st_mtim;
	dir->st.st_nlink += (nlink_t)links;
}

static int add_name(struct rs_floor_node *dir, const char *text,
		    struct rs_floor_node *node)
{
	size_t len = strlen(text) + 1;
	struct rs_floor_name *name = malloc(sizeof(*name) + len);

	if (!name)
		return -ENOMEM;
	memcpy(name->text, text, len);
	name->dir = dir;
	name->node = node;
	name->cookie = ++last_cookie;
	node->parent = dir;
	LIST_INSERT_HEAD(bucket_of(dir, text), name, hash);
	TAILQ_INSERT_TAIL(&dir->names, name, list);
	touch_dir(dir, S_ISDIR(node->st.st_mode) ? 1 : 0);
	return 0;
}

static void drop_name(struct rs_floor_name *name)
{
	LIST_REMOVE(name, hash);
	TAILQ_REMOVE(&name->dir->names, name, list);
	touch_dir(name->dir, S_ISDIR(name->node->st.st_mode) ? -1 : 0);
	free(name);
}

struct rs_floor_node *rs_floor_make(struct rs_floor_node *dir, const char *text,
				    mode_t mode, uid_t uid, gid_t gid)
{
	struct rs_floor_node *node = calloc(1, sizeof(*node));

	if (!node)
		return NULL;
	init_node(node, mode, uid, gid);
	if (add_name(dir, text, node)) {
		free(node);
		return NULL;
	}
	return node;
}

static void free_unused(struct rs_floor_node *node)
{
	if (node->nlookup || node->st.st_nlink)
		return;
	free(node->data);
	free(node);
}

void rs_floor_remove(struct rs_floor_name *name)
{
	struct rs_floor_node *node = name->node;

	drop_name(name);
	node->st.st_nlink = 0; /* there are no hard links */
	free_unused(node);
}

int rs_floor_move(struct rs_floor_node *from, const char *old,
		  struct rs_floor_node *to, const char *text)
{
	struct rs_floor_name *name = rs_floor_find(from, old);
	struct rs_floor_name *there = rs_floor_find(to, text);
	int err;

	if (!name)
		return -ENOENT;
	if (there == name)
		return 0;
	if (there && !TAILQ_EMPTY(&there->node->names))
		return -ENOTEMPTY;
	if (there)
		rs_floor_remove(there);
	err = add_name(to, text, name->node);
	if (!err)
		drop_name(name);
	return err;
}

void rs_floor_forget(struct rs_floor_node *node, uint64_t n)
{
	node->nlookup -= n;
	free_unused(node);
}

int rs_floor_resize(struct rs_floor_node *node, uint64_t size)
{
	size_t room = node->room ? node->room : ROOM_MIN;
	uint64_t old = (uint64_t)node->st.st_size;
	char *data;

	while (room < size)
		room *= 2;
	if (room != node->room) {
		data = realloc(node->data, room);
		if (!data)
			return -ENOMEM;
		node->data = data;
		node->room = room;
	}
	if (size > old)
		memset(node->data + old, 0, size - old);
	node->st.st_size = (off_t)size;
	node->st.st_blocks = (blkcnt_t)((size + 4095) / 4096 * 8);
	return 0;
}
