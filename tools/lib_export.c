/*
 * lib_export.c - a tree as plain files.
 *
 * Names come from whoever wrote into the spool, and we run as root: every
 * step goes through a directory's descriptor, without following symlinks and
 * without PATH_MAX. Directories are made on the way down and get owner, mode
 * and times in a second walk, because making their entries would move the
 * times again. What can't be read whole is said, left out and counted.
 *
 * CRASH  killed at any point and run again with `again`, the result is as if
 * it had run once: nothing that is there is believed before it was compared.
 */
#include "tools/lib_export.h"

#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <sys/stat.h>

#include "journal/report.h"
#include "tools/lib_export_p.h"
#include "tools/lib_plain.h"
#include "tools/lib_say.h"

/* A file with more names, and the first of them. */
struct linked {
	uint64_t ino;
	char *path;
};

static void lose(struct rs_export *ex, const char *path, int err)
{
	char text[512];

	rs_escape(*path ? path : "/", *path ? strlen(path) : 1, text,
		  sizeof(text));
	rs_say("cannot %s '%s': %s", ex->out_error ? "write" : "read", text,
	       strerror(-err));
	if (ex->out_error)
		ex->result->failed++;
	else
		ex->result->lost++;
}

/* Open the directory path below out, one name at a time; fd or -errno. */
static int open_below(int out, const char *path, size_t len)
{
	RS_AUTO_FD int fd =
		openat(out, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char name[RS_NAME_MAX + 1];
	size_t at = 0, n;
	int next;

	while (fd >= 0 && at < len) {
		n = strcspn(path + at, "/");
		if (n > len - at)
			n = len - at;
		if (n > RS_NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, path + at, n);
		name[n] = '\0';
		at += n + 1;
		next = openat(fd, name,
			      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			return -errno;
		close(fd);
		fd = next;
	}
	return fd < 0 ? -errno : rs_steal_fd(&fd);
}

/* Directory of path as ex->dirfd; its last name in *ret_name. */
static int enter_parent(struct rs_export *ex, const char *path,
			const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) : 0;
	char *dir;
	int fd;

	*ret_name = slash ? slash + 1 : path;
	if (ex->dir && strlen(ex->dir) == len && !strncmp(ex->dir, path, len))
		return 0;
	fd = open_below(ex->out, path, len);
	if (fd < 0) {
		ex->out_error = 1;
		return fd;
	}
	dir = strndup(path, len);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	free(ex->dir);
	if (ex->dirfd >= 0)
		close(ex->dirfd);
	ex->dir = dir;
	ex->dirfd = fd;
	return 0;
}

static int make_dir(struct rs_export *ex, const char *name)
{
	struct stat st;

	if (mkdirat(ex->dirfd, name, 0700) == 0)
		return 0;
	if (errno == EEXIST && ex->again &&
	    !fstatat(ex->dirfd, name, &st, AT_SYMLINK_NOFOLLOW) &&
	    S_ISDIR(st.st_mode))
		return 0;
	return rs_export_errno(ex);
}

static int is_dir(int dirfd, const char *name)
{
	struct stat st;

	return !fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) &&
	       S_ISDIR(st.st_mode);
}

/* What an earlier run left in the way. */
static int clear_name(struct rs_export *ex, const char *name,
		      const struct rs_stat *st)
{
	int err;

	if (!ex->again || S_ISREG(st->attr.mode) ||
	    (S_ISDIR(st->attr.mode) && is_dir(ex->dirfd, name)))
		return 0;
	err = rs_plain_remove(ex->dirfd, name);
	if (err)
		ex->out_error = 1;
	return err;
}

static int make_one(struct rs_export *ex, const char *name,
		    const struct rs_stat *st)
{
	int err;

	err = clear_name(ex, name, st);
	if (err)
		return err;
	if (S_ISDIR(st->attr.mode))
		return make_dir(ex, name);
	if (S_ISREG(st->attr.mode))
		err = rs_export_file(ex, name, st);
	else if (S_ISLNK(st->attr.mode))
		err = rs_export_symlink(ex, name, st);
	else if (mknodat(ex->dirfd, name, st->attr.mode & ~07777u,
			 st->attr.rdev))
		err = rs_export_errno(ex);
	return err ? err : rs_export_attr(ex, ex->dirfd, name, &st->attr);
}

static int by_ino(const void *a, const void *b)
{
	const struct linked *x = a, *y = b;

	return x->ino < y->ino ? -1 : x->ino > y->ino;
}

static void free_linked(void *p)
{
	struct linked *link = p;

	free(link->path);
	free(link);
}

static int remember(struct rs_export *ex, uint64_t ino, const char *path)
{
	struct linked *link = malloc(sizeof(*link));

	if (!link)
		return -ENOMEM;
	link->ino = ino;
	link->path = strdup(path);
	if (!link->path || !tsearch(link, &ex->links, by_ino)) {
		free_linked(link);
		return -ENOMEM;
	}
	return 0;
}

static const char *first_path(struct rs_export *ex, uint64_t ino)
{
	const struct linked key = { .ino = ino };
	struct linked *const *found = tfind(&key, &ex->links, by_ino);

	return found ? (*found)->path : NULL;
}

static int make_link(struct rs_export *ex, const char *name, uint64_t ino)
{
	const char *path = first_path(ex, ino), *slash;
	RS_AUTO_FD int fd = -1;
	int err;

	if (!path) /* its first name was lost, and said */
		return -ENOENT;
	slash = strrchr(path, '/');
	fd = open_below(ex->out, path, slash ? (size_t)(slash - path) : 0);
	err = fd < 0 ? fd : 0;
	if (!err && ex->again)
		err = rs_plain_remove(ex->dirfd, name);
	if (err) {
		ex->out_error = 1;
		return err;
	}
	return linkat(fd, slash ? slash + 1 : path, ex->dirfd, name, 0)
		       ? rs_export_errno(ex)
		       : 0;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(a, b);
}

static int note_path(struct rs_export *ex, const char *path)
{
	char *copy;

	if (!ex->again)
		return 0;
	copy = strdup(path);
	if (copy && tsearch(copy, &ex->paths, by_path))
		return 0;
	free(copy);
	return -ENOMEM;
}

static int make(void *arg, const char *path, const struct rs_stat *st,
		int first)
{
	struct rs_export *ex = arg;
	const char *name;
	int err;

	rs_progress_step(&ex->progress, 0, 0);
	if (!*path)
		return 0;
	ex->out_error = 0;
	err = note_path(ex, path);
	if (!err)
		err = enter_parent(ex, path, &name);
	if (!err)
		err = first ? make_one(ex, name, st)
			    : make_link(ex, name, st->ino);
	if (!err && first && st->attr.nlink > 1 && !S_ISDIR(st->attr.mode))
		err = remember(ex, st->ino, path);
	/* a full disk ends it; one bad file does not */
	if (err == -ENOSPC || err == -EDQUOT || err == -ENOMEM)
		return err;
	if (err == -ENOENT && ex->src->live && !ex->out_error)
		return 0; /* gone since its name was read */
	if (err)
		lose(ex, path, err);
	else if (!S_ISDIR(st->attr.mode))
		ex->result->files++;
	return 0;
}

static int finish_dir(void *arg, const char *path, const struct rs_stat *st,
		      int first)
{
	struct rs_export *ex = arg;
	RS_AUTO_FD int fd = -1;
	int err;

	(void)first;
	if (!S_ISDIR(st->attr.mode))
		return 0;
	fd = open_below(ex->out, path, strlen(path));
	if (fd < 0)
		return 0; /* lost, and said */
	ex->out_error = 0;
	err = rs_export_xattrs(ex, st->ino, fd);
	if (!err)
		err = rs_export_attr(ex, fd, ".", &st->attr);
	if (err)
		lose(ex, path, err);
	return 0;
}

/* ---- what an earlier run wrote and the source has no more ---- */

struct sweep {
	struct rs_export *ex;
	const char *keep;
};

static int sweep_file(void *arg, const struct rs_plain_item *item)
{
	struct sweep *sweep = arg;

	if (S_ISDIR(item->st->st_mode) || !strcmp(item->path, sweep->keep) ||
	    tfind(item->path, &sweep->ex->paths, by_path))
		return 0;
	sweep->ex->result->removed++;
	return unlinkat(item->dirfd, item->name, 0) ? -errno : 0;
}

static int sweep_dir(void *arg, const struct rs_plain_item *item, int fd,
		     uint64_t n_names)
{
	struct sweep *sweep = arg;

	(void)fd;
	(void)n_names;
	if (!*item->path || tfind(item->path, &sweep->ex->paths, by_path))
		return 0;
	return unlinkat(item->dirfd, item->name, AT_REMOVEDIR) ? -errno : 0;
}

static int sweep_all(struct rs_export *ex, const char *keep)
{
	static const struct rs_plain_ops ops = { .item = sweep_file,
						 .leave = sweep_dir };
	struct sweep sweep = { ex, keep };

	return ex->again ? rs_plain_walk(ex->out, &ops, &sweep) : 0;
}

static void release(struct rs_export *ex)
{
	tdestroy(ex->links, free_linked);
	tdestroy(ex->paths, free);
	free(ex->buf);
	free(ex->old);
	free(ex->dir);
	if (ex->dirfd >= 0)
		close(ex->dirfd);
}

static int write_tree(struct rs_export *ex, const char *keep)
{
	static const struct rs_walk_ops down = { .inode = make };
	static const struct rs_walk_ops finish = { .inode = finish_dir };
	int err;

	ex->buf = malloc(RS_COPY_BYTES);
	ex->old = malloc(RS_COPY_BYTES);
	if (!ex->buf || !ex->old)
		return -ENOMEM;
	err = ex->src->walk(ex->src->ctx, &down, ex);
	if (!err)
		err = sweep_all(ex, keep);
	if (!err)
		err = ex->src->walk(ex->src->ctx, &finish, ex);
	if (!err && syncfs(ex->out))
		err = -errno;
	return err;
}

int rs_export_tree(const struct rs_source *src, int out, const char *out_name,
		   int again, const char *keep,
		   struct rs_export_result *ret_result)
{
	struct rs_export ex = {
		.src = src,
		.out = out,
		.again = again,
		.dirfd = -1,
		.result = ret_result,
	};
	int err;

	memset(ret_result, 0, sizeof(*ret_result));
	rs_progress_init(&ex.progress, "writing files");
	err = write_tree(&ex, keep);
	rs_progress_end(&ex.progress);
	release(&ex);
	if (!err)
		return 0;
	rs_say("cannot write to '%s': %s", out_name, strerror(-err));
	return RS_EXIT_FAILED;
}
