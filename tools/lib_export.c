/*
 * lib_export.c - the tree as plain files.
 *
 * Names come from whoever wrote into the spool, and we run as root: every
 * step goes through a directory's descriptor, without following symlinks and
 * without PATH_MAX. Directories are made on the way down and get owner, mode
 * and times in a second walk, because making their entries would move the
 * times again. What can't be read whole is said, left out and counted.
 */
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "tools/lib_progress.h"
#include "tools/lib_say.h"
#include "tools/lib_tree.h"

#define COPY_BYTES (256u << 10)
/* RAM that read data may take between two files. */
#define KEEP_BYTES (UINT64_C(64) << 20)

/* A file with more names, and the first of them. */
struct linked {
	uint64_t ino;
	char *path;
};

struct export
{
	struct rs_core *core;
	int out; /* directory */
	const char *out_name;
	struct rs_progress progress;
	char *dir; /* path of the directory that is open now */
	int dirfd;
	uint8_t *buf; /* COPY_BYTES */
	void *links;  /* tree of struct linked, see tsearch(3) */
	uint64_t files, lost;
};

static void lose(struct export *ex, const char *path, int err)
{
	char text[512];

	rs_escape(path, strlen(path), text, sizeof(text));
	rs_say("cannot write out '%s': %s", text, strerror(-err));
	ex->lost++;
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
static int enter_parent(struct export *ex, const char *path,
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
	if (fd < 0)
		return fd;
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

static int write_all(int fd, const uint8_t *buf, size_t len, uint64_t off)
{
	ssize_t n;

	while (len > 0) {
		n = pwrite(fd, buf, len, (off_t)off);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		buf += n;
		len -= (size_t)n;
		off += (uint64_t)n;
	}
	return 0;
}

static int copy_range(struct export *ex, uint64_t ino, int fd, uint64_t off,
		      uint64_t end)
{
	size_t want;
	ssize_t n;
	int err;

	while (off < end) {
		want = end - off < COPY_BYTES ? (size_t)(end - off)
					      : COPY_BYTES;
		n = rs_tree_read(ex->core, ino, ex->buf, want, off);
		if (n < 0)
			return (int)n;
		if (n == 0)
			return -EIO;
		err = write_all(fd, ex->buf, (size_t)n, off);
		if (err)
			return err;
		off += (uint64_t)n;
		rs_core_shrink(ex->core, KEEP_BYTES);
	}
	return 0;
}

static int copy_data(struct export *ex, const struct rs_stat *st, int fd)
{
	uint64_t off = 0, end;
	int err = 0;

	while (!err && off < st->attr.size) {
		err = rs_tree_data(ex->core, st->ino, off, &off, &end);
		if (err == -ENXIO)
			break;
		if (end > st->attr.size)
			end = st->attr.size;
		if (!err)
			err = copy_range(ex, st->ino, fd, off, end);
		off = end;
	}
	if (err && err != -ENXIO)
		return err;
	return ftruncate(fd, (off_t)st->attr.size) ? -errno : 0;
}

static int copy_xattr(struct export *ex, uint64_t ino, int fd, const char *name)
{
	RS_AUTO_FREE uint8_t *value = malloc(RS_XATTR_SIZE_MAX);
	ssize_t n;

	if (!value)
		return -ENOMEM;
	n = rs_core_getxattr(ex->core, ino, name, value, RS_XATTR_SIZE_MAX);
	if (n < 0)
		return (int)n;
	return fsetxattr(fd, name, value, (size_t)n, 0) ? -errno : 0;
}

/* Only files and directories: what has no descriptor rarely has any. */
static int copy_xattrs(struct export *ex, uint64_t ino, int fd)
{
	RS_AUTO_FREE char *names = NULL;
	ssize_t len, at;
	int err = 0;

	len = rs_core_listxattr(ex->core, ino, NULL, 0);
	if (len <= 0)
		return len == -EOPNOTSUPP ? 0 : (int)len;
	names = malloc((size_t)len);
	if (!names)
		return -ENOMEM;
	len = rs_core_listxattr(ex->core, ino, names, (size_t)len);
	for (at = 0; !err && at < len; at += (ssize_t)strlen(names + at) + 1)
		err = copy_xattr(ex, ino, fd, names + at);
	return len < 0 ? (int)len : err;
}

/* Owner first: chown clears set-id bits. Then mode, then times. */
static int set_attr(int dirfd, const char *name, const struct rs_attr *attr)
{
	const struct timespec times[2] = { attr->atime, attr->mtime };

	if (fchownat(dirfd, name, attr->uid, attr->gid, AT_SYMLINK_NOFOLLOW))
		return -errno;
	if (!S_ISLNK(attr->mode) &&
	    fchmodat(dirfd, name, attr->mode & 07777, 0))
		return -errno;
	return utimensat(dirfd, name, times, AT_SYMLINK_NOFOLLOW) ? -errno : 0;
}

static int make_file(struct export *ex, const char *name,
		     const struct rs_stat *st)
{
	RS_AUTO_FD int fd = -1;
	int err;

	fd = openat(ex->dirfd, name,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = copy_data(ex, st, fd);
	if (!err)
		err = copy_xattrs(ex, st->ino, fd);
	if (err) /* half a message is no message */
		unlinkat(ex->dirfd, name, 0);
	return err;
}

static int make_symlink(struct export *ex, const char *name,
			const struct rs_stat *st)
{
	char target[RS_SYMLINK_MAX + 1];
	int err = rs_core_readlink(ex->core, st->ino, target);

	if (err < 0)
		return err;
	return symlinkat(target, ex->dirfd, name) ? -errno : 0;
}

static int make_one(struct export *ex, const char *name,
		    const struct rs_stat *st)
{
	int err = 0;

	if (S_ISREG(st->attr.mode))
		err = make_file(ex, name, st);
	else if (S_ISDIR(st->attr.mode))
		return mkdirat(ex->dirfd, name, 0700) ? -errno : 0;
	else if (S_ISLNK(st->attr.mode))
		err = make_symlink(ex, name, st);
	else if (mknodat(ex->dirfd, name, st->attr.mode & ~07777u,
			 st->attr.rdev))
		err = -errno;
	return err ? err : set_attr(ex->dirfd, name, &st->attr);
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

static int remember(struct export *ex, uint64_t ino, const char *path)
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

static const char *first_path(struct export *ex, uint64_t ino)
{
	const struct linked key = { .ino = ino };
	struct linked *const *found = tfind(&key, &ex->links, by_ino);

	return found ? (*found)->path : NULL;
}

static int make_link(struct export *ex, const char *name, uint64_t ino)
{
	const char *path = first_path(ex, ino), *slash;
	RS_AUTO_FD int fd = -1;

	if (!path) /* its first name was lost, and said */
		return -ENOENT;
	slash = strrchr(path, '/');
	fd = open_below(ex->out, path, slash ? (size_t)(slash - path) : 0);
	if (fd < 0)
		return fd;
	return linkat(fd, slash ? slash + 1 : path, ex->dirfd, name, 0) ? -errno
									: 0;
}

static int make(void *arg, const char *path, const struct rs_stat *st,
		int first)
{
	struct export *ex = arg;
	const char *name;
	int err;

	rs_progress_step(&ex->progress, 0, 0);
	if (!*path)
		return 0;
	err = enter_parent(ex, path, &name);
	if (!err)
		err = first ? make_one(ex, name, st)
			    : make_link(ex, name, st->ino);
	if (!err && first && st->attr.nlink > 1 && !S_ISDIR(st->attr.mode))
		err = remember(ex, st->ino, path);
	/* a full disk ends it; one bad file does not */
	if (err == -ENOSPC || err == -EDQUOT || err == -ENOMEM)
		return err;
	if (err)
		lose(ex, path, err);
	else if (!S_ISDIR(st->attr.mode))
		ex->files++;
	return 0;
}

static int finish_dir(void *arg, const char *path, const struct rs_stat *st,
		      int first)
{
	struct export *ex = arg;
	RS_AUTO_FD int fd = -1;
	int err;

	(void)first;
	if (!S_ISDIR(st->attr.mode))
		return 0;
	fd = open_below(ex->out, path, strlen(path));
	if (fd < 0)
		return 0; /* lost, and said */
	err = copy_xattrs(ex, st->ino, fd);
	if (!err)
		err = set_attr(fd, ".", &st->attr);
	if (err)
		lose(ex, *path ? path : "/", err);
	return 0;
}

static void release(struct export *ex)
{
	tdestroy(ex->links, free_linked);
	free(ex->buf);
	free(ex->dir);
	if (ex->dirfd >= 0)
		close(ex->dirfd);
}

int rs_tree_export(struct rs_core *core, int out, const char *out_name,
		   uint64_t *ret_files, uint64_t *ret_lost)
{
	static const struct rs_walk_ops down = { .inode = make };
	static const struct rs_walk_ops finish = { .inode = finish_dir };
	struct export ex = {
		.core = core, .out = out, .out_name = out_name, .dirfd = -1
	};
	int err;

	rs_progress_init(&ex.progress, "writing files");
	ex.buf = malloc(COPY_BYTES);
	err = ex.buf ? rs_core_walk(core, &down, &ex) : -ENOMEM;
	if (!err)
		err = rs_core_walk(core, &finish, &ex);
	if (!err && syncfs(out))
		err = -errno;
	rs_progress_end(&ex.progress);
	release(&ex);
	*ret_files = ex.files;
	*ret_lost = ex.lost;
	if (!err)
		return 0;
	rs_say("cannot write to '%s': %s", out_name, strerror(-err));
	return RS_EXIT_FAILED;
}
