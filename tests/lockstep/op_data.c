/*
 * op_data.c - bytes: read and write in all their forms, truncate,
 * fallocate, copies within the kernel.
 */
#include "lockstep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

/* Terminals and the like aside: what the calls here may be tried on. */
static bool is_device(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 &&
	       (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode));
}

static bool pick_io(struct ls *ls, struct ls_call *c, const char *name)
{
	if (!ls_pick_slot(ls, c))
		return false;
	c->off[0] = ls_pick_offset(ls);
	c->len = ls_pick_length(ls);
	c->pattern = ls_rand(ls);
	ls_say(c, "%s(slot %d, %zu bytes at %lld)", name, c->slot[0], c->len,
	       (long long)c->off[0]);
	return true;
}

static bool pick_read(struct ls *ls, struct ls_call *c)
{
	return pick_io(ls, c, "read");
}

static bool pick_pread(struct ls *ls, struct ls_call *c)
{
	return pick_io(ls, c, "pread");
}

static bool pick_preadv(struct ls *ls, struct ls_call *c)
{
	return pick_io(ls, c, "preadv");
}

static bool pick_write(struct ls *ls, struct ls_call *c)
{
	return pick_io(ls, c, "write");
}

static bool pick_pwrite(struct ls *ls, struct ls_call *c)
{
	return pick_io(ls, c, "pwrite");
}

static long keep(struct ls_result *r, long got)
{
	r->len = got > 0 ? (size_t)got : 0;
	return got;
}

static long run_read(struct ls *ls, struct ls_call *c, int side,
		     struct ls_result *r)
{
	struct stat st;

	/* Positions in directories are the filesystem's own. */
	if (fstat(ls_fd(ls, c, 0, side), &st) == 0 && S_ISDIR(st.st_mode))
		lseek(ls_fd(ls, c, 0, side), 0, SEEK_SET);
	return keep(r, read(ls_fd(ls, c, 0, side), r->out, c->len));
}

/* With FADV_DONTNEED now and then, so that the daemon is asked. */
static long run_pread(struct ls *ls, struct ls_call *c, int side,
		      struct ls_result *r)
{
	int fd = ls_fd(ls, c, 0, side);

	if (side == LS_A && c->pattern % 4 == 0)
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	return keep(r, pread(fd, r->out, c->len, c->off[0]));
}

/* Three parts with an empty and an odd one. */
static int split(uint8_t *buf, size_t len, struct iovec *v)
{
	size_t first = len / 3 | (len > 3);

	v[0] = (struct iovec){ buf, first };
	v[1] = (struct iovec){ buf + first, 0 };
	v[2] = (struct iovec){ buf + first, len - first };
	return 3;
}

static long run_preadv(struct ls *ls, struct ls_call *c, int side,
		       struct ls_result *r)
{
	struct iovec v[3];

	return keep(r, preadv(ls_fd(ls, c, 0, side), v,
			      split(r->out, c->len, v), c->off[0]));
}

static long run_write(struct ls *ls, struct ls_call *c, int side,
		      struct ls_result *r)
{
	ls_fill(c->pattern, r->out, c->len);
	return write(ls_fd(ls, c, 0, side), r->out, c->len);
}

static long run_pwrite(struct ls *ls, struct ls_call *c, int side,
		       struct ls_result *r)
{
	ls_fill(c->pattern, r->out, c->len);
	return pwrite(ls_fd(ls, c, 0, side), r->out, c->len, c->off[0]);
}

static bool pick_pwritev2(struct ls *ls, struct ls_call *c)
{
	static const int flags[] = {
		0, RWF_DSYNC, RWF_SYNC, RWF_APPEND, RWF_APPEND | RWF_DSYNC, 0
	};

	if (!pick_io(ls, c, "pwritev2"))
		return false;
	c->flags = flags[ls_below(ls, 6)];
	ls_say(c, " RWF 0x%x", c->flags);
	return true;
}

static long run_pwritev2(struct ls *ls, struct ls_call *c, int side,
			 struct ls_result *r)
{
	struct iovec v[3];

	ls_fill(c->pattern, r->out, c->len);
	return pwritev2(ls_fd(ls, c, 0, side), v, split(r->out, c->len, v),
			c->off[0], c->flags);
}

/* truncate has no form with a dirfd. */
static bool pick_truncate(struct ls *ls, struct ls_call *c)
{
	ls_pick_path(ls, c, LS_OLD);
	c->path[0].base = -1;
	c->off[0] = ls_pick_offset(ls);
	ls_say(c, "truncate(");
	ls_say_path(c, &c->path[0]);
	ls_say(c, ", %lld)", (long long)c->off[0]);
	return true;
}

static long run_truncate(struct ls *ls, struct ls_call *c, int side,
			 struct ls_result *r)
{
	struct stat st;
	int64_t size = c->off[0];

	(void)ls;
	(void)side;
	(void)r;
	if (stat(c->path[0].text, &st) == 0 && st.st_size == size) {
		ls_excuse(LS_EX_SAME_SIZE);
		size++;
	}
	return truncate(c->path[0].text, size);
}

static bool pick_ftruncate(struct ls *ls, struct ls_call *c)
{
	if (!ls_pick_slot(ls, c))
		return false;
	c->off[0] = ls_pick_offset(ls);
	ls_say(c, "ftruncate(slot %d, %lld)", c->slot[0], (long long)c->off[0]);
	return true;
}

static long run_ftruncate(struct ls *ls, struct ls_call *c, int side,
			  struct ls_result *r)
{
	(void)r;
	return ftruncate(ls_fd(ls, c, 0, side), c->off[0]);
}

static bool pick_fallocate(struct ls *ls, struct ls_call *c)
{
	static const int modes[] = { 0, FALLOC_FL_KEEP_SIZE,
				     FALLOC_FL_KEEP_SIZE |
					     FALLOC_FL_PUNCH_HOLE };

	if (!pick_io(ls, c, "fallocate"))
		return false;
	c->how = modes[ls_below(ls, 3)];
	ls_say(c, " mode 0x%x", c->how);
	/* plain allocation costs memory: nothing at gigabytes */
	return (c->how & FALLOC_FL_PUNCH_HOLE) || c->off[0] < 1 << 24;
}

static long run_fallocate(struct ls *ls, struct ls_call *c, int side,
			  struct ls_result *r)
{
	(void)r;
	return fallocate(ls_fd(ls, c, 0, side), c->how, c->off[0],
			 (off_t)c->len);
}

static bool pick_zero_range(struct ls *ls, struct ls_call *c)
{
	if (!pick_io(ls, c, "zero_range"))
		return false;
	c->how = FALLOC_FL_ZERO_RANGE;
	if (ls_chance(ls, 50))
		c->how |= FALLOC_FL_KEEP_SIZE;
	ls_say(c, " mode 0x%x", c->how);
	return c->off[0] >= 0 && c->len > 0 && c->off[0] < 1 << 24;
}

/* What FALLOC_FL_ZERO_RANGE does, for tmpfs, which doesn't have it. */
static long zero_by_write(struct ls_call *c, int fd, struct ls_result *r)
{
	int64_t len = (int64_t)c->len;
	struct stat st;
	int flags = fcntl(fd, F_GETFL);
	long ret = 0;

	if (fallocate(fd, FALLOC_FL_KEEP_SIZE, c->off[0], len) < 0)
		return -1;
	if (fstat(fd, &st) < 0)
		return -1;
	if (c->how & FALLOC_FL_KEEP_SIZE) {
		if (c->off[0] >= st.st_size)
			len = 0;
		else if (c->off[0] + len > st.st_size)
			len = st.st_size - c->off[0];
	}
	memset(r->out, 0, c->len);
	if (fcntl(fd, F_SETFL, flags & ~O_APPEND) < 0)
		ls_die("F_SETFL");
	if (len && pwrite(fd, r->out, (size_t)len, c->off[0]) != len)
		ret = -1;
	fcntl(fd, F_SETFL, flags);
	ls_excuse(LS_EX_ZERO_RANGE);
	return ret;
}

static long run_zero_range(struct ls *ls, struct ls_call *c, int side,
			   struct ls_result *r)
{
	int fd = ls_fd(ls, c, 0, side);
	long ret = fallocate(fd, c->how, c->off[0], (off_t)c->len);

	if (ret < 0 && errno == EOPNOTSUPP && ls->tmpfs[side])
		return zero_by_write(c, fd, r);
	return ret;
}

static bool pick_copy(struct ls *ls, struct ls_call *c)
{
	if (!ls_pick_slot(ls, c) || !ls_pick_slot(ls, c))
		return false;
	c->off[0] = ls_pick_offset(ls);
	c->off[1] = ls_pick_offset(ls);
	c->len = ls_pick_length(ls);
	ls_say(c, "copy_file_range(slot %d at %lld, slot %d at %lld, %zu)",
	       c->slot[0], (long long)c->off[0], c->slot[1],
	       (long long)c->off[1], c->len);
	return c->off[1] < 1 << 24;
}

static long run_copy(struct ls *ls, struct ls_call *c, int side,
		     struct ls_result *r)
{
	int64_t in = c->off[0], out = c->off[1];

	(void)r;
	return copy_file_range(ls_fd(ls, c, 0, side), &in,
			       ls_fd(ls, c, 1, side), &out, c->len, 0);
}

static bool pick_sendfile(struct ls *ls, struct ls_call *c)
{
	if (!ls_pick_slot(ls, c) || !ls_pick_slot(ls, c))
		return false;
	c->off[0] = ls_pick_offset(ls);
	c->len = ls_pick_length(ls);
	ls_say(c, "sendfile(slot %d, slot %d at %lld, %zu)", c->slot[1],
	       c->slot[0], (long long)c->off[0], c->len);
	return true;
}

/* Not between FIFOs and devices: how much goes is up to the pipe. */
static long run_sendfile(struct ls *ls, struct ls_call *c, int side,
			 struct ls_result *r)
{
	int in = ls_fd(ls, c, 0, side), out = ls_fd(ls, c, 1, side);
	int64_t off = c->off[0];
	struct stat st;
	ino_t ino;

	(void)r;
	if (is_device(in) || is_device(out) || fstat(out, &st) < 0 ||
	    S_ISFIFO(st.st_mode))
		return 0;
	/* onto itself the result depends on which pages were lent when */
	ino = st.st_ino;
	if (fstat(in, &st) < 0 || st.st_ino == ino)
		return 0;
	return sendfile(out, in, &off, c->len);
}

static bool pick_advise(struct ls *ls, struct ls_call *c)
{
	if (!ls_pick_slot(ls, c))
		return false;
	ls_say(c, "posix_fadvise(slot %d, DONTNEED)", c->slot[0]);
	return true;
}

static long run_advise(struct ls *ls, struct ls_call *c, int side,
		       struct ls_result *r)
{
	int fd = ls_fd(ls, c, 0, side);

	(void)r;
	if (is_device(fd))
		return 0;
	errno = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	return errno ? -1 : 0;
}

const struct ls_op ls_ops_data[] = {
	{ "read", 40, pick_read, run_read, false, false, false },
	{ "pread", 40, pick_pread, run_pread, false, false, false },
	{ "preadv", 15, pick_preadv, run_preadv, false, false, false },
	{ "write", 70, pick_write, run_write, false, false, false },
	{ "pwrite", 60, pick_pwrite, run_pwrite, false, false, false },
	{ "pwritev2", 25, pick_pwritev2, run_pwritev2, false, false, false },
	{ "truncate", 20, pick_truncate, run_truncate, false, false, false },
	{ "ftruncate", 30, pick_ftruncate, run_ftruncate, false, false, false },
	{ "fallocate", 30, pick_fallocate, run_fallocate, false, false, false },
	{ "zero_range", 8, pick_zero_range, run_zero_range, false, true,
	  false },
	{ "copy_file_range", 15, pick_copy, run_copy, false, false, false },
	{ "sendfile", 12, pick_sendfile, run_sendfile, false, false, false },
	{ "fadvise", 10, pick_advise, run_advise, false, false, false },
	{ 0 },
};
