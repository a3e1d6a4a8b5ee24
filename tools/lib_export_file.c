/*
 * lib_export_file.c - one inode as a plain file.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "tools/lib_export_p.h"
#include "tools/lib_plain.h"

int rs_export_errno(struct rs_export *ex)
{
	ex->out_error = 1;
	return -errno;
}

static int write_all(struct rs_export *ex, int fd, const uint8_t *buf,
		     size_t len, uint64_t off)
{
	ssize_t n;

	while (len > 0) {
		n = pwrite(fd, buf, len, (off_t)off);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return rs_export_errno(ex);
		buf += n;
		len -= (size_t)n;
		off += (uint64_t)n;
	}
	return 0;
}

/* A live file may have been cut since: what is there is all there is. */
static int copy_range(struct rs_export *ex, uint64_t ino, int fd, uint64_t off,
		      uint64_t end)
{
	size_t want;
	ssize_t n;
	int err;

	while (off < end) {
		want = end - off < RS_COPY_BYTES ? (size_t)(end - off)
						 : RS_COPY_BYTES;
		n = ex->src->read(ex->src->ctx, ino, ex->buf, want, off);
		if (n < 0)
			return (int)n;
		if (n == 0)
			return ex->src->live ? 0 : -EIO;
		err = write_all(ex, fd, ex->buf, (size_t)n, off);
		if (err)
			return err;
		off += (uint64_t)n;
	}
	return 0;
}

static int copy_data(struct rs_export *ex, const struct rs_stat *st, int fd)
{
	uint64_t off = 0, end;
	int err = 0;

	while (!err && off < st->attr.size) {
		err = ex->src->data(ex->src->ctx, st->ino, off, &off, &end);
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
	return ftruncate(fd, (off_t)st->attr.size) ? rs_export_errno(ex) : 0;
}

static int copy_xattr(struct rs_export *ex, uint64_t ino, int fd,
		      const char *name)
{
	RS_AUTO_FREE uint8_t *value = malloc(RS_XATTR_SIZE_MAX);
	ssize_t n;

	if (!value)
		return -ENOMEM;
	n = ex->src->getxattr(ex->src->ctx, ino, name, value,
			      RS_XATTR_SIZE_MAX);
	if (n == -ENODATA)
		return 0;
	if (n < 0)
		return (int)n;
	return fsetxattr(fd, name, value, (size_t)n, 0) ? rs_export_errno(ex)
							: 0;
}

/* Only files and directories: what has no descriptor rarely has any. */
int rs_export_xattrs(struct rs_export *ex, uint64_t ino, int fd)
{
	RS_AUTO_FREE char *names = NULL;
	ssize_t len, at;
	int err = 0;

	len = ex->src->listxattr(ex->src->ctx, ino, NULL, 0);
	if (len <= 0)
		return len == -EOPNOTSUPP ? 0 : (int)len;
	names = malloc((size_t)len);
	if (!names)
		return -ENOMEM;
	len = ex->src->listxattr(ex->src->ctx, ino, names, (size_t)len);
	for (at = 0; !err && at < len; at += (ssize_t)strlen(names + at) + 1)
		err = copy_xattr(ex, ino, fd, names + at);
	return len < 0 ? (int)len : err;
}

/* Owner first: chown clears set-id bits. Then mode, then times. */
int rs_export_attr(struct rs_export *ex, int dirfd, const char *name,
		   const struct rs_attr *attr)
{
	const struct timespec times[2] = { attr->atime, attr->mtime };

	if (fchownat(dirfd, name, attr->uid, attr->gid, AT_SYMLINK_NOFOLLOW) ||
	    (!S_ISLNK(attr->mode) &&
	     fchmodat(dirfd, name, attr->mode & 07777, 0)) ||
	    utimensat(dirfd, name, times, AT_SYMLINK_NOFOLLOW))
		return rs_export_errno(ex);
	return 0;
}

/* Bytes of the old file that equal the source's at off; 1 or 0 or -errno. */
static int same_range(struct rs_export *ex, uint64_t ino, int fd, uint64_t off,
		      size_t len)
{
	ssize_t n, m;

	n = ex->src->read(ex->src->ctx, ino, ex->buf, len, off);
	if (n < 0)
		return (int)n;
	m = pread(fd, ex->old, len, (off_t)off);
	return n == (ssize_t)len && m == n && !memcmp(ex->buf, ex->old, len);
}

static int same_bytes(struct rs_export *ex, const struct rs_stat *st, int fd)
{
	uint64_t off, left;
	size_t len;
	int same = 1;

	for (off = 0; same > 0 && off < st->attr.size; off += len) {
		left = st->attr.size - off;
		len = left < RS_COPY_BYTES ? (size_t)left : RS_COPY_BYTES;
		same = same_range(ex, st->ino, fd, off, len);
	}
	return same;
}

/*
 * Is what an earlier run wrote this very file? With more names or xattrs it
 * is made again, which is simpler than telling. 1, 0, -errno.
 */
static int is_whole(struct rs_export *ex, const char *name,
		    const struct rs_stat *st)
{
	RS_AUTO_FD int fd = -1;
	struct stat old;

	fd = openat(ex->dirfd, name,
		    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &old))
		return 0;
	if (!S_ISREG(old.st_mode) || old.st_nlink != 1 || st->attr.nlink != 1 ||
	    (uint64_t)old.st_size != st->attr.size ||
	    flistxattr(fd, NULL, 0) > 0)
		return 0;
	if (ex->src->listxattr(ex->src->ctx, st->ino, NULL, 0) > 0)
		return 0;
	return same_bytes(ex, st, fd);
}

static int make_file(struct rs_export *ex, const char *name,
		     const struct rs_stat *st)
{
	RS_AUTO_FD int fd = -1;
	int err;

	fd = openat(ex->dirfd, name,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return rs_export_errno(ex);
	err = copy_data(ex, st, fd);
	if (!err)
		err = rs_export_xattrs(ex, st->ino, fd);
	if (err) /* half a message is no message */
		unlinkat(ex->dirfd, name, 0);
	return err;
}

int rs_export_file(struct rs_export *ex, const char *name,
		   const struct rs_stat *st)
{
	int whole = ex->again ? is_whole(ex, name, st) : 0;
	int err;

	if (whole < 0)
		return whole;
	if (whole) {
		ex->result->kept++;
		return 0;
	}
	err = ex->again ? rs_plain_remove(ex->dirfd, name) : 0;
	if (err) {
		ex->out_error = 1;
		return err;
	}
	return make_file(ex, name, st);
}

int rs_export_symlink(struct rs_export *ex, const char *name,
		      const struct rs_stat *st)
{
	char target[RS_SYMLINK_MAX + 1];
	int err = ex->src->target(ex->src->ctx, st->ino, target);

	if (err < 0)
		return err;
	return symlinkat(target, ex->dirfd, name) ? rs_export_errno(ex) : 0;
}
