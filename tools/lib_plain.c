/*
 * lib_plain.c - a tree of plain files as it lies in some directory.
 */
#include "tools/lib_plain.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <sys/resource.h>

struct level {
	int fd;
	char **names;
	size_t n, next;
	uint64_t met; /* names that were there when they were looked at */
	size_t path_len, parent_len;
	struct stat st;
};

struct walk {
	const struct rs_plain_ops *ops;
	void *arg;
	struct level *levels;
	size_t depth, cap;
	char *path;
	size_t path_cap;
	dev_t dev;
	void *seen; /* numbers of files with more names, tsearch(3) */
};

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static int by_name(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

/* Each directory on the way down holds one. */
static void raise_descriptors(void)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_NOFILE, &lim) || lim.rlim_cur >= lim.rlim_max)
		return;
	lim.rlim_cur = lim.rlim_max;
	setrlimit(RLIMIT_NOFILE, &lim);
}

static int is_dot(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

static int add_name(struct level *level, size_t *cap, const char *name)
{
	char **names;

	if (level->n == *cap) {
		*cap = *cap ? 2 * *cap : 64;
		names = reallocarray(level->names, *cap, sizeof(*names));
		if (!names)
			return -ENOMEM;
		level->names = names;
	}
	level->names[level->n] = strdup(name);
	if (!level->names[level->n])
		return -ENOMEM;
	level->n++;
	return 0;
}

static int read_names(struct level *level)
{
	struct dirent *ent;
	size_t cap = 0;
	int err = 0, fd;
	DIR *dir;

	fd = openat(level->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (!dir) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	errno = 0;
	while (!err && (ent = readdir(dir))) {
		if (!is_dot(ent->d_name))
			err = add_name(level, &cap, ent->d_name);
		errno = 0;
	}
	if (!err && errno)
		err = -errno;
	closedir(dir);
	if (level->n)
		qsort(level->names, level->n, sizeof(*level->names), by_name);
	return err;
}

static void level_release(struct level *level)
{
	size_t i;

	for (i = 0; i < level->n; i++)
		free(level->names[i]);
	free(level->names);
	if (level->fd >= 0)
		close(level->fd);
}

static int fail(struct walk *w, int err)
{
	return w->ops->error ? w->ops->error(w->arg, w->path, err) : err;
}

/* Takes fd. */
static int push(struct walk *w, int fd, const struct stat *st,
		size_t parent_len)
{
	struct level *level;
	int err;

	if (w->depth == w->cap) {
		w->cap = w->cap ? 2 * w->cap : 16;
		level = reallocarray(w->levels, w->cap, sizeof(*level));
		if (!level) {
			close(fd);
			return -ENOMEM;
		}
		w->levels = level;
	}
	level = &w->levels[w->depth];
	*level = (struct level){
		.fd = fd,
		.st = *st,
		.path_len = strlen(w->path),
		.parent_len = parent_len,
	};
	err = read_names(level);
	w->depth++;
	return err ? fail(w, err) : 0;
}

static int set_path(struct walk *w, size_t len, const char *name)
{
	size_t n = strlen(name), need = len + n + 2;
	char *path;

	if (need > w->path_cap) {
		path = realloc(w->path, 2 * need);
		if (!path)
			return -ENOMEM;
		w->path = path;
		w->path_cap = 2 * need;
	}
	if (len)
		w->path[len++] = '/';
	memcpy(w->path + len, name, n + 1);
	return 0;
}

/* 1: the first name, 0: a further one, -ENOMEM */
static int is_first(struct walk *w, const struct stat *st)
{
	uint64_t *key, *const *found;

	if (S_ISDIR(st->st_mode) || st->st_nlink < 2)
		return 1;
	key = malloc(sizeof(*key));
	if (!key)
		return -ENOMEM;
	*key = st->st_ino;
	found = tsearch(key, &w->seen, by_number);
	if (found && *found == key)
		return 1;
	free(key);
	return found ? 0 : -ENOMEM;
}

static int enter(struct walk *w, int dirfd, const char *name,
		 const struct stat *st, size_t parent_len)
{
	int fd = openat(dirfd, name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? 0 : fail(w, -errno);
	return push(w, fd, st, parent_len);
}

static int visit(struct walk *w, const char *name)
{
	struct level *level = &w->levels[w->depth - 1];
	struct rs_plain_item item = { .dirfd = level->fd, .name = name };
	size_t parent_len = level->path_len;
	struct stat st;
	int err;

	err = set_path(w, parent_len, name);
	if (err)
		return err;
	if (fstatat(level->fd, name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : fail(w, -errno);
	level->met++;
	if (st.st_dev != w->dev)
		return fail(w, -EXDEV);
	item.path = w->path;
	item.st = &st;
	item.first = is_first(w, &st);
	if (item.first < 0)
		return item.first;
	err = w->ops->item(w->arg, &item);
	if (err || !S_ISDIR(st.st_mode))
		return err;
	return enter(w, item.dirfd, name, &st, parent_len);
}

static int leave(struct walk *w)
{
	struct level *level = &w->levels[w->depth - 1];
	size_t parent = level->parent_len;
	struct rs_plain_item item = { .st = &level->st, .first = 1 };
	int err = 0;

	w->path[level->path_len] = '\0';
	item.path = w->path;
	item.dirfd = w->depth > 1 ? level[-1].fd : level->fd;
	item.name = w->depth > 1 ? w->path + parent + (parent > 0) : ".";
	if (w->ops->leave)
		err = w->ops->leave(w->arg, &item, level->fd, level->met);
	level_release(level);
	w->depth--;
	return err;
}

static int start(struct walk *w, int root)
{
	struct rs_plain_item item = { .dirfd = root, .name = ".", .first = 1 };
	struct stat st;
	int err, fd;

	err = set_path(w, 0, "");
	if (err)
		return err;
	if (fstat(root, &st))
		return -errno;
	w->dev = st.st_dev;
	item.path = w->path;
	item.st = &st;
	err = w->ops->item(w->arg, &item);
	if (err)
		return err;
	fd = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : push(w, fd, &st, 0);
}

int rs_plain_walk(int root, const struct rs_plain_ops *ops, void *arg)
{
	struct walk w = { .ops = ops, .arg = arg };
	struct level *level;
	int err;

	raise_descriptors();
	err = start(&w, root);
	while (!err && w.depth) {
		level = &w.levels[w.depth - 1];
		err = level->next < level->n
			      ? visit(&w, level->names[level->next++])
			      : leave(&w);
	}
	while (w.depth)
		level_release(&w.levels[--w.depth]);
	tdestroy(w.seen, free);
	free(w.levels);
	free(w.path);
	return err;
}

/* ---- removing ---- */

static int remove_item(void *arg, const struct rs_plain_item *item)
{
	(void)arg;
	if (S_ISDIR(item->st->st_mode))
		return 0;
	return unlinkat(item->dirfd, item->name, 0) ? -errno : 0;
}

static int remove_dir(void *arg, const struct rs_plain_item *item, int fd,
		      uint64_t n_names)
{
	(void)arg;
	(void)fd;
	(void)n_names;
	if (!*item->path)
		return 0;
	return unlinkat(item->dirfd, item->name, AT_REMOVEDIR) ? -errno : 0;
}

int rs_plain_remove(int dirfd, const char *name)
{
	static const struct rs_plain_ops ops = { .item = remove_item,
						 .leave = remove_dir };
	RS_AUTO_FD int fd = -1;
	int err;

	if (unlinkat(dirfd, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	fd = openat(dirfd, name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = rs_plain_walk(fd, &ops, NULL);
	if (err)
		return err;
	return unlinkat(dirfd, name, AT_REMOVEDIR) ? -errno : 0;
}
