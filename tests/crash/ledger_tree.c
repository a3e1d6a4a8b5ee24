/* ledger_tree.c - see ledger_tree.h */
#include "ledger_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int complain(const char *what, const char *path)
{
	int err = -errno;

	fprintf(stderr, "ledger: %s '%s': %s\n", what, path, strerror(-err));
	return err;
}

static int add(struct led_tree *tree, uint64_t parent, const char *path,
	       const struct stat *st)
{
	struct led_ent *ent;

	if (tree->count == tree->cap) {
		size_t cap = tree->cap ? 2 * tree->cap : 256;
		void *ents = realloc(tree->ents, cap * sizeof(*tree->ents));

		if (!ents)
			return -ENOMEM;
		tree->ents = ents;
		tree->cap = cap;
	}
	ent = &tree->ents[tree->count];
	memset(ent, 0, sizeof(*ent));
	ent->parent = parent;
	ent->path = strdup(path);
	if (!ent->path)
		return -ENOMEM;
	ent->name = strrchr(ent->path, '/');
	ent->name = ent->name ? ent->name + 1 : ent->path;
	led_stat_from(st, &ent->st);
	tree->count++;
	return 0;
}

static int walk(struct led_tree *tree, const char *dir, uint64_t ino);

static int visit(struct led_tree *tree, DIR *d, const char *dir, uint64_t ino,
		 const struct dirent *de)
{
	char path[PATH_MAX];
	struct stat st;
	int err;

	if (!strcmp(de->d_name, ".") || !strcmp(de->d_name, ".."))
		return 0;
	if (!*dir && !strcmp(de->d_name, "lost+found"))
		return 0;
	if (snprintf(path, sizeof(path), "%s%s%s", dir, *dir ? "/" : "",
		     de->d_name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	if (fstatat(dirfd(d), de->d_name, &st, AT_SYMLINK_NOFOLLOW))
		return complain("cannot stat", path);
	if (st.st_ino != de->d_ino) {
		errno = EUCLEAN;
		return complain("d_ino isn't st_ino of", path);
	}
	err = add(tree, ino, path, &st);
	if (err || !S_ISDIR(st.st_mode))
		return err;
	return walk(tree, path, st.st_ino);
}

static int walk(struct led_tree *tree, const char *dir, uint64_t ino)
{
	char path[PATH_MAX];
	struct dirent *de;
	int err = 0;
	DIR *d;

	if (snprintf(path, sizeof(path), "%s/%s", tree->root, dir) >=
	    (int)sizeof(path))
		return -ENAMETOOLONG;
	d = opendir(path);
	if (!d)
		return complain("cannot open directory", path);
	while (!err) {
		errno = 0;
		de = readdir(d);
		if (!de) {
			if (errno)
				err = complain("cannot read directory", path);
			break;
		}
		err = visit(tree, d, dir, ino, de);
	}
	closedir(d);
	return err;
}

static int by_name(const void *a, const void *b)
{
	const struct led_ent *x = a, *y = b;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	return strcmp(x->name, y->name);
}

int led_tree_walk(const char *root, struct led_tree *ret_tree)
{
	struct led_tree tree = { 0 };
	struct stat st;
	int err;

	if (stat(root, &st))
		return complain("cannot stat", root);
	tree.root = strdup(root);
	if (!tree.root)
		return -ENOMEM;
	led_stat_from(&st, &tree.root_st);
	err = walk(&tree, "", st.st_ino);
	if (err) {
		led_tree_release(&tree);
		return err;
	}
	if (tree.count)
		qsort(tree.ents, tree.count, sizeof(*tree.ents), by_name);
	*ret_tree = tree;
	return 0;
}

void led_tree_release(struct led_tree *tree)
{
	size_t i;

	for (i = 0; i < tree->count; i++)
		free(tree->ents[i].path);
	free(tree->ents);
	free(tree->root);
	memset(tree, 0, sizeof(*tree));
}

struct led_ent *led_tree_find(const struct led_tree *tree, uint64_t parent,
			      const char *name)
{
	struct led_ent key = { .parent = parent, .name = name };

	if (!tree->count)
		return NULL;
	return bsearch(&key, tree->ents, tree->count, sizeof(*tree->ents),
		       by_name);
}

static int read_all(int fd, unsigned char *buf, size_t size, size_t *ret_len)
{
	size_t len = 0;

	while (len < size) {
		ssize_t n = read(fd, buf + len, size - len);

		if (n < 0)
			return -errno;
		if (!n)
			break;
		len += (size_t)n;
	}
	*ret_len = len;
	return 0;
}

int led_tree_read(const struct led_tree *tree, const struct led_ent *ent,
		  unsigned char **ret_buf, size_t *ret_len)
{
	/* One more, to notice a file that goes on after its size. */
	size_t size = (size_t)ent->st.size + 1, len = 0;
	unsigned char *buf = malloc(size + 1);
	char path[PATH_MAX];
	int err = 0, fd;

	snprintf(path, sizeof(path), "%s/%s", tree->root, ent->path);
	if (!buf)
		return -ENOMEM;
	if (S_ISLNK(ent->st.mode)) {
		ssize_t n = readlink(path, (char *)buf, size);

		err = n < 0 ? -errno : 0;
		len = n < 0 ? 0 : (size_t)n;
	} else {
		fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		err = fd < 0 ? -errno : read_all(fd, buf, size, &len);
		if (fd >= 0)
			close(fd);
	}
	if (err) {
		free(buf);
		return err;
	}
	*ret_buf = buf;
	*ret_len = len;
	return 0;
}
