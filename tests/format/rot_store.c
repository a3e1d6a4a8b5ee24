/* rot_store.c - see rot_store.h. */
#define _GNU_SOURCE
#include "rot_store.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const files[ROT_FILES] = { "intent.log", "data.mdb" };
static const struct rs_who who = { .uid = 0, .gid = 0, .pid = 1 };

/* ---- the history ---- */

struct making {
	struct rot_store *store;
	struct rs_journal *j;
	struct rs_core *core;
};

static void keep_content(struct making *m, const struct rs_stat *st)
{
	struct rot_store *store = m->store;
	struct rot_content *content;
	uint64_t off = 0;

	store->contents =
		realloc(store->contents,
			(store->n_contents + 1) * sizeof(*store->contents));
	assert(store->contents);
	content = &store->contents[store->n_contents++];
	content->ino = st->ino;
	content->size = st->attr.size;
	content->data = calloc(1, st->attr.size + 1);
	assert(content->data);
	while (off < st->attr.size) {
		ssize_t n = rs_core_read(m->core, st->ino, content->data + off,
					 st->attr.size - off, off);

		assert(n > 0);
		off += (uint64_t)n;
	}
}

static int keep_inode(void *arg, const char *path, const struct rs_stat *st,
		      int first_name)
{
	(void)path;
	if (S_ISREG(st->attr.mode) && first_name)
		keep_content(arg, st);
	return 0;
}

/* After each step: what the tree is, and what its files hold. */
static void note(struct making *m, int commit)
{
	const struct rs_walk_ops walk = { .inode = keep_inode };
	struct play *play = &m->store->play;
	int rc;

	snap_take(&play->snaps[play->n_snaps++], m->core, NULL);
	rc = rs_core_walk(m->core, &walk, m);
	assert(rc == 0);
	if (commit) {
		rc = rs_journal_commit_once(m->j);
		assert(rc >= 0);
	}
}

static uint64_t make(struct making *m, uint64_t parent, const char *name,
		     uint32_t mode, size_t size)
{
	uint8_t *data = malloc(size + 1);
	struct rs_stat st;
	size_t i;
	int rc;

	assert(data);
	rc = rs_core_mknod(m->core, parent, name, &who, mode, 0, &st);
	assert(rc == 0);
	for (i = 0; i < size; i++)
		data[i] = (uint8_t)(st.ino * 31 + i * i / 7 + (i >> 8));
	if (size)
		assert(rs_core_write(m->core, st.ino, data, size, 0, 0) ==
		       (ssize_t)size);
	free(data);
	return st.ino;
}

static void first_half(struct making *m, uint64_t ino[4])
{
	struct rs_stat st;
	char target[3000];
	int rc;

	ino[0] = make(m, RS_INO_ROOT, "incoming", S_IFDIR | 0700, 0);
	ino[1] = make(m, RS_INO_ROOT, "active", S_IFDIR | 0700, 0);
	note(m, 1);
	ino[2] = make(m, ino[0], "A1", S_IFREG | 0700, 9000);
	note(m, 1);
	make(m, ino[0], "A2", S_IFREG | 0600, 100);
	note(m, 1);
	ino[3] = make(m, ino[0], "A3", S_IFREG | 0700, 4096);
	rc = rs_core_link(m->core, ino[3], ino[1], "A3-link", &who, &st);
	assert(rc == 0);
	note(m, 1);
	memset(target, 't', sizeof(target));
	target[sizeof(target) - 1] = 0;
	rc = rs_core_symlink(m->core, RS_INO_ROOT, "far", &who, target, &st);
	assert(rc == 0);
	rc = rs_core_setxattr(m->core, ino[2], "user.note", target, 2000, 0);
	assert(rc == 0);
	make(m, ino[0], "dead", S_IFREG | 0700, 5000);
	note(m, 1);
}

static void second_half(struct making *m, const uint64_t ino[4])
{
	struct rs_attr attr = { .mode = 0400, .size = 1234 };
	struct rs_stat st;
	int rc;

	make(m, ino[1], "B1", S_IFREG | 0700, 300);
	note(m, 1);
	rc = rs_core_rename(m->core, ino[0], "A1", ino[1], "A1", 0, &who);
	assert(rc == 0);
	note(m, 1);
	rc = rs_core_unlink(m->core, ino[0], "dead", &who);
	assert(rc == 0);
	note(m, 1);
	assert(rs_core_write(m->core, ino[3], "over", 4, 2000, 0) == 4);
	note(m, 1);
	rc = rs_core_setattr(m->core, ino[2], &attr, RS_SET_MODE | RS_SET_SIZE,
			     &st);
	assert(rc == 0);
	note(m, 1);
	make(m, ino[1], "B2", S_IFREG | 0700, 6000);
	note(m, 1);
	make(m, RS_INO_ROOT, "last", S_IFREG | 0640, 700);
	note(m, 1);
}

/* ---- files ---- */

static uint8_t *slurp(const char *dir, const char *name, uint64_t *ret_len)
{
	char path[128];
	struct stat st;
	uint8_t *buf;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "rb");
	assert(f && !fstat(fileno(f), &st));
	buf = malloc((size_t)st.st_size + 1);
	assert(buf &&
	       fread(buf, 1, (size_t)st.st_size, f) == (size_t)st.st_size);
	fclose(f);
	*ret_len = (uint64_t)st.st_size;
	return buf;
}

static void spit(const char *dir, const char *name, const uint8_t *buf,
		 uint64_t len)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert(fd >= 0 && !ftruncate(fd, (off_t)len));
	assert(pwrite(fd, buf, len, 0) == (ssize_t)len);
	close(fd);
}

static void init_store(struct rot_store *store)
{
	struct rs_store_spec spec = { .dir = store->dir,
				      .ring_size = 262144,
				      .capacity = 131072,
				      .inodes = 64 };
	uint64_t len;
	int cow, rc;

	setenv("RSPOOL_TEST_RING", "1", 1);
	strcpy(store->dir, "/dev/shm/rspool-rot-XXXXXX");
	assert(mkdtemp(store->dir));
	strcpy(store->work, "/dev/shm/rspool-rotw-XXXXXX");
	assert(mkdtemp(store->work));
	rc = rs_journal_init_store(&spec, &cow);
	assert(rc == 0);
	store->blank = slurp(store->dir, files[ROT_RING], &len);
}

static void find_used(struct rot_store *store)
{
	uint64_t end;

	for (end = store->len[ROT_STORE]; end; end--)
		if (store->good[ROT_STORE][end - 1])
			break;
	store->used[ROT_STORE] = rs_align_up(end, RS_PAGE);
	for (end = store->len[ROT_RING]; end; end--)
		if (store->good[ROT_RING][end - 1] != store->blank[end - 1])
			break;
	store->used[ROT_RING] = rs_align_up(end, RS_PAGE);
}

static void set_up_work(struct rot_store *store)
{
	uint64_t len;
	uint8_t *marker = slurp(store->dir, "rspool.id", &len);
	unsigned int i;

	spit(store->work, "rspool.id", marker, len);
	free(marker);
	for (i = 0; i < ROT_FILES; i++)
		rot_restore(store, (enum rot_file)i);
}

struct rot_store *rot_make(const char *name, enum rot_end end)
{
	struct rot_store *store = calloc(1, sizeof(*store));
	struct making m = { .store = store };
	struct rs_report rep;
	uint64_t ino[4], len;
	unsigned int i;
	int rc, more = 1;

	assert(store);
	store->name = name;
	store->sealed = end != ROT_CRASHED;
	store->play.clock = UINT64_C(1700000000000000000);
	init_store(store);
	rs_report_init(&rep);
	rc = play_open(&store->play, store->dir, RS_JOURNAL_SERVE, &rep, &m.j,
		       &m.core);
	assert(rc == 0);
	rc = rs_journal_start(m.j);
	assert(rc == 0);
	note(&m, 1);
	first_half(&m, ino);
	while (more) {
		rc = rs_journal_checkpoint_once(m.j, &more);
		assert(rc >= 0);
	}
	for (i = 0; i < ROT_FILES; i++)
		store->early[i] = slurp(store->dir, files[i], &len);
	second_half(&m, ino);
	if (end != ROT_CRASHED) {
		rc = rs_journal_stop(m.j, end == ROT_SEALED);
		assert(rc == 0);
	}
	rs_core_free(m.core);
	rs_journal_close(m.j);
	rs_report_release(&rep);
	for (i = 0; i < ROT_FILES; i++)
		store->good[i] = slurp(store->dir, files[i], &store->len[i]);
	find_used(store);
	set_up_work(store);
	return store;
}

static void remove_dir(const char *dir)
{
	static const char *const all[] = { "rspool.id", "intent.log",
					   "data.mdb", "lock.mdb" };
	char path[128];
	size_t i;

	for (i = 0; i < RS_ARRAY_LEN(all); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, all[i]);
		unlink(path);
	}
	rmdir(dir);
}

void rot_free(struct rot_store *store)
{
	size_t i;

	remove_dir(store->dir);
	remove_dir(store->work);
	for (i = 0; i < ROT_FILES; i++) {
		free(store->good[i]);
		free(store->early[i]);
	}
	for (i = 0; i < store->n_contents; i++)
		free(store->contents[i].data);
	free(store->contents);
	free(store->blank);
	play_release(&store->play);
	free(store);
}

/* ---- damage ---- */

int rot_is_used(const struct rot_store *store, enum rot_file file, uint64_t off)
{
	uint64_t page = off / RS_PAGE * RS_PAGE;

	if (off >= store->used[file])
		return 0;
	if (file == ROT_STORE)
		return 1;
	return memcmp(store->good[file] + page, store->blank + page, RS_PAGE) !=
	       0;
}

static int open_work(const struct rot_store *store, enum rot_file file)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", store->work, files[file]);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert(fd >= 0);
	return fd;
}

void rot_put(struct rot_store *store, enum rot_file file, uint64_t off,
	     uint8_t byte)
{
	int fd = open_work(store, file);

	assert(pwrite(fd, &byte, 1, (off_t)off) == 1);
	close(fd);
}

void rot_cut(struct rot_store *store, enum rot_file file, uint64_t len)
{
	int fd = open_work(store, file);

	assert(!ftruncate(fd, (off_t)len));
	close(fd);
}

void rot_copy_page(struct rot_store *store, enum rot_file file, uint64_t from,
		   uint64_t to)
{
	int fd = open_work(store, file);

	assert(pwrite(fd, store->good[file] + from * RS_PAGE, RS_PAGE,
		      (off_t)(to * RS_PAGE)) == (ssize_t)RS_PAGE);
	close(fd);
}

void rot_replace(struct rot_store *store, enum rot_file file,
		 const uint8_t *bytes)
{
	spit(store->work, files[file], bytes, store->len[file]);
}

void rot_restore(struct rot_store *store, enum rot_file file)
{
	spit(store->work, files[file], store->good[file], store->len[file]);
}

/* ---- what may be served ---- */

#define UNREAD "data=0000000000000001"

/*
 * Equal but for the data, where line could not be read. Such an inode is
 * suspect: its attributes and its name may be of different times.
 */
static int same_attrs(const char *line, const char *other)
{
	const char *a = strstr(line, " ino="), *b = strstr(other, " ino=");
	const char *unread = strstr(a, UNREAD);
	size_t head = (size_t)(unread - a);

	if (strncmp(a, b, head) || strlen(b) < head + sizeof(UNREAD) - 1)
		return 0;
	return !strcmp(unread + sizeof(UNREAD) - 1,
		       b + head + sizeof(UNREAD) - 1);
}

static int same_name(const char *line, const char *other)
{
	size_t len = (size_t)(strstr(line, " mode=") - line);

	return !strncmp(line, other, len);
}

int rot_line_existed(const struct rot_store *store,
		     const struct snap_line *line)
{
	const struct play *play = &store->play;
	int unread = strstr(line->text, UNREAD) != NULL;
	int attrs = 0, name = 0;
	size_t i, k;

	for (i = 0; i < play->n_snaps; i++) {
		for (k = 0; k < play->snaps[i].n; k++) {
			const char *was = play->snaps[i].lines[k].text;

			if (!strcmp(line->text, was))
				return 1;
			if (unread) {
				attrs = attrs || same_attrs(line->text, was);
				name = name || same_name(line->text, was);
			}
		}
	}
	return attrs && name;
}

int rot_has_eio(const struct snap *snap)
{
	size_t i;

	for (i = 0; i < snap->n; i++)
		if (strstr(snap->lines[i].text, UNREAD))
			return 1;
	return 0;
}

struct salvage {
	const struct rot_store *store;
	int wrong;
};

static int salvaged_inode(void *arg, uint64_t ino, const struct rs_attr *attr,
			  uint64_t frame)
{
	struct salvage *s = arg;
	const struct play *play = &s->store->play;
	char want[128];
	size_t i, k;

	(void)frame;
	snprintf(want, sizeof(want),
		 " ino=%llu mode=%o uid=%u gid=%u nlink=%u ",
		 (unsigned long long)ino, attr->mode, attr->uid, attr->gid,
		 attr->nlink);
	for (i = 0; i < play->n_snaps; i++)
		for (k = 0; k < play->snaps[i].n; k++)
			if (strstr(play->snaps[i].lines[k].text, want))
				return 0;
	printf("  salvaged inode%s\n", want);
	s->wrong = 1;
	return 0;
}

static int salvaged_entry(void *arg, uint64_t parent, const uint8_t *name,
			  size_t len, uint64_t child, uint8_t dtype,
			  uint64_t frame)
{
	struct salvage *s = arg;
	const struct play *play = &s->store->play;
	size_t i, k;

	(void)dtype;
	(void)frame;
	for (i = 0; i < play->n_snaps; i++) {
		for (k = 0; k < play->snaps[i].n; k++) {
			const struct snap_line *line = &play->snaps[i].lines[k];
			const char *end = strstr(line->text, " ino=");

			if (line->ino == child && line->parent == parent &&
			    end - line->text > (ptrdiff_t)len &&
			    !memcmp(end - len, name, len) &&
			    end[-(ptrdiff_t)len - 1] == '/')
				return 0;
		}
	}
	printf("  salvaged entry %.*s\n", (int)len, (const char *)name);
	s->wrong = 1;
	return 0;
}

static int salvaged_chunk(void *arg, uint64_t ino, uint64_t off,
			  const uint8_t *data, size_t len)
{
	struct salvage *s = arg;
	const struct rot_store *store = s->store;
	size_t i, k;

	for (i = 0; i < store->n_contents; i++) {
		const struct rot_content *c = &store->contents[i];

		for (k = 0; c->ino == ino && k < len; k++) {
			uint8_t byte = off + k < c->size ? c->data[off + k] : 0;

			if (byte != data[k])
				break;
		}
		if (c->ino == ino && k == len)
			return 0;
	}
	printf("  salvaged chunk of ino %llu at %llu, %zu bytes\n",
	       (unsigned long long)ino, (unsigned long long)off, len);
	s->wrong = 1;
	return 0;
}

int rot_salvage_is_right(struct rot_store *store)
{
	const struct rs_load_ops ops = { .inode = salvaged_inode,
					 .entry = salvaged_entry };
	struct salvage s = { .store = store };
	struct rs_crypto *crypto;
	struct rs_marker marker;
	struct rs_report rep;
	int dirfd, rc;

	dirfd = open(store->work, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert(dirfd >= 0);
	rc = rs_marker_read(dirfd, &marker);
	assert(rc == 0);
	close(dirfd);
	rc = rs_crypto_new(marker.id, NULL, &crypto);
	assert(rc == 0);
	rs_report_init(&rep);
	(void)!rs_store_salvage(store->work, crypto, marker.id, &ops,
				salvaged_chunk, &s, &rep);
	rs_report_release(&rep);
	rs_crypto_free(crypto);
	return !s.wrong;
}
