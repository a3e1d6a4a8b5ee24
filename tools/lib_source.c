/*
 * lib_source.c - a tree that is to be written out.
 */
#include "tools/lib_source.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/xattr.h>

#include "journal/report.h"
#include "tools/lib_plain.h"
#include "tools/lib_say.h"
#include "tools/lib_tree.h"

/* RAM that read data may take between two files. */
#define KEEP_BYTES (UINT64_C(64) << 20)

/* ---- a store's tree ---- */

static int core_walk(void *ctx, const struct rs_walk_ops *ops, void *arg)
{
	return rs_core_walk(ctx, ops, arg);
}

static ssize_t core_read(void *ctx, uint64_t ino, void *buf, size_t len,
			 uint64_t off)
{
	ssize_t n = rs_tree_read(ctx, ino, buf, len, off);

	rs_core_shrink(ctx, KEEP_BYTES);
	return n;
}

static int core_data(void *ctx, uint64_t ino, uint64_t off, uint64_t *ret_off,
		     uint64_t *ret_end)
{
	return rs_tree_data(ctx, ino, off, ret_off, ret_end);
}

static int core_target(void *ctx, uint64_t ino, char buf[RS_SYMLINK_MAX + 1])
{
	return rs_core_readlink(ctx, ino, buf);
}

static ssize_t core_getxattr(void *ctx, uint64_t ino, const char *name,
			     void *buf, size_t size)
{
	return rs_core_getxattr(ctx, ino, name, buf, size);
}

static ssize_t core_listxattr(void *ctx, uint64_t ino, char *buf, size_t size)
{
	return rs_core_listxattr(ctx, ino, buf, size);
}

void rs_source_core(struct rs_core *core, struct rs_source *ret_src)
{
	*ret_src = (struct rs_source){
		.ctx = core,
		.walk = core_walk,
		.read = core_read,
		.data = core_data,
		.target = core_target,
		.getxattr = core_getxattr,
		.listxattr = core_listxattr,
	};
}

/* ---- plain files ---- */

void rs_source_stat(const struct stat *st, struct rs_stat *ret_st)
{
	memset(ret_st, 0, sizeof(*ret_st));
	ret_st->ino = st->st_ino;
	ret_st->attr.mode = st->st_mode;
	ret_st->attr.uid = st->st_uid;
	ret_st->attr.gid = st->st_gid;
	ret_st->attr.nlink = (uint32_t)st->st_nlink;
	ret_st->attr.rdev = st->st_rdev;
	ret_st->attr.size = S_ISDIR(st->st_mode) ? 0 : (uint64_t)st->st_size;
	ret_st->attr.atime = st->st_atim;
	ret_st->attr.mtime = st->st_mtim;
	ret_st->attr.ctime = st->st_ctim;
}

static void forget_file(struct rs_source_plain *plain)
{
	if (plain->fd >= 0)
		close(plain->fd);
	plain->fd = -1;
}

void rs_source_plain_at(struct rs_source_plain *plain,
			const struct rs_plain_item *item)
{
	forget_file(plain);
	if (!item)
		return;
	plain->dirfd = item->dirfd;
	plain->name = item->name;
	plain->mode = item->st->st_mode;
}

/* FNV-1a, 64 bits at a time, over what a change of the tree moves. */
static void add_number(uint64_t *sum, uint64_t n)
{
	*sum = (*sum ^ n) * UINT64_C(0x100000001b3);
	*sum ^= *sum >> 32;
}

static void add_sum(struct rs_source_plain *plain, const char *path,
		    const struct rs_stat *st)
{
	for (; *path; path++)
		add_number(&plain->sum, (unsigned char)*path);
	add_number(&plain->sum, st->ino);
	add_number(&plain->sum, st->attr.size);
	add_number(&plain->sum, (uint64_t)st->attr.ctime.tv_sec);
	add_number(&plain->sum, (uint64_t)st->attr.ctime.tv_nsec);
}

static int plain_item(void *arg, const struct rs_plain_item *item)
{
	struct rs_source_plain *plain = arg;
	struct rs_stat st;
	int err;

	rs_source_plain_at(plain, item);
	rs_source_stat(item->st, &st);
	add_sum(plain, item->path, &st);
	err = plain->ops->inode(plain->arg, item->path, &st, item->first);
	forget_file(plain);
	return err;
}

static int plain_error(void *arg, const char *path, int err)
{
	struct rs_source_plain *plain = arg;
	char text[512];

	/* the first walk has said it */
	if (plain->walks > 1)
		return 0;
	rs_escape(path, strlen(path), text, sizeof(text));
	if (err == -EXDEV) {
		rs_say("'%s' is on another filesystem and is left out", text);
		return 0;
	}
	rs_say("cannot read '%s': %s", text, strerror(-err));
	plain->lost++;
	return 0;
}

static int plain_walk(void *ctx, const struct rs_walk_ops *ops, void *arg)
{
	static const struct rs_plain_ops plain_ops = { .item = plain_item,
						       .error = plain_error };
	struct rs_source_plain *plain = ctx;

	plain->ops = ops;
	plain->arg = arg;
	plain->sum_before = plain->sum;
	plain->sum = UINT64_C(0xcbf29ce484222325);
	plain->walks++;
	return rs_plain_walk(plain->root, &plain_ops, plain);
}

/* Only files and directories: opening a FIFO or a device does things. */
static int open_file(struct rs_source_plain *plain)
{
	int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;

	if (plain->fd >= 0)
		return 0;
	if (!S_ISREG(plain->mode) && !S_ISDIR(plain->mode))
		return -EOPNOTSUPP;
	/* reading must not change it; where that may not be asked, it does */
	plain->fd = openat(plain->dirfd, plain->name, flags | O_NOATIME);
	if (plain->fd < 0 && errno == EPERM)
		plain->fd = openat(plain->dirfd, plain->name, flags);
	return plain->fd < 0 ? -errno : 0;
}

static ssize_t plain_read(void *ctx, uint64_t ino, void *buf, size_t len,
			  uint64_t off)
{
	struct rs_source_plain *plain = ctx;
	ssize_t n;
	int err = open_file(plain);

	(void)ino;
	if (err)
		return err;
	do {
		n = pread(plain->fd, buf, len, (off_t)off);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static int plain_data(void *ctx, uint64_t ino, uint64_t off, uint64_t *ret_off,
		      uint64_t *ret_end)
{
	struct rs_source_plain *plain = ctx;
	int err = open_file(plain);
	off_t begin, end;

	(void)ino;
	if (err)
		return err;
	begin = lseek(plain->fd, (off_t)off, SEEK_DATA);
	if (begin < 0)
		return -errno;
	end = lseek(plain->fd, begin, SEEK_HOLE);
	if (end < 0)
		return -errno;
	*ret_off = (uint64_t)begin;
	*ret_end = (uint64_t)end;
	return 0;
}

static int plain_target(void *ctx, uint64_t ino, char buf[RS_SYMLINK_MAX + 1])
{
	struct rs_source_plain *plain = ctx;
	ssize_t n;

	(void)ino;
	n = readlinkat(plain->dirfd, plain->name, buf, RS_SYMLINK_MAX + 1);
	if (n < 0)
		return -errno;
	if (n > (ssize_t)RS_SYMLINK_MAX)
		return -ENAMETOOLONG;
	buf[n] = '\0';
	return 0;
}

static ssize_t plain_getxattr(void *ctx, uint64_t ino, const char *name,
			      void *buf, size_t size)
{
	struct rs_source_plain *plain = ctx;
	ssize_t n;
	int err = open_file(plain);

	(void)ino;
	if (err)
		return err;
	n = fgetxattr(plain->fd, name, buf, size);
	return n < 0 ? -errno : n;
}

static ssize_t plain_listxattr(void *ctx, uint64_t ino, char *buf, size_t size)
{
	struct rs_source_plain *plain = ctx;
	ssize_t n;
	int err = open_file(plain);

	(void)ino;
	if (err)
		return err;
	n = flistxattr(plain->fd, buf, size);
	return n < 0 ? -errno : n;
}

void rs_source_plain(struct rs_source_plain *plain, int root,
		     struct rs_source *ret_src)
{
	*plain = (struct rs_source_plain){ .root = root, .fd = -1 };
	*ret_src = (struct rs_source){
		.ctx = plain,
		.walk = plain_walk,
		.read = plain_read,
		.data = plain_data,
		.target = plain_target,
		.getxattr = plain_getxattr,
		.listxattr = plain_listxattr,
		.live = 1,
	};
}
