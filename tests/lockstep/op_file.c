/*
 * op_file.c - descriptors: open in all its forms, dup, close, flags, seek,
 * the sync calls, directory listings.
 */
#include "lockstep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct flag {
	int bit;
	unsigned percent;
	const char *name;
};

/* O_NONBLOCK always: the open of a FIFO must not wait. */
static const struct flag open_flags[] = {
	{ O_CREAT, 55, "O_CREAT" },	   { O_EXCL, 15, "O_EXCL" },
	{ O_TRUNC, 12, "O_TRUNC" },	   { O_APPEND, 15, "O_APPEND" },
	{ O_DSYNC, 2, "O_DSYNC" },	   { O_SYNC, 2, "O_SYNC" },
	{ O_DIRECTORY, 6, "O_DIRECTORY" }, { O_NOFOLLOW, 10, "O_NOFOLLOW" },
	{ O_NOATIME, 5, "O_NOATIME" },	   { O_PATH, 2, "O_PATH" },
	{ O_DIRECT, 4, "O_DIRECT" },
};

static const char *const accmode[] = { "O_RDONLY", "O_WRONLY", "O_RDWR",
				       "O_ACCMODE" };

static bool pick_open(struct ls *ls, struct ls_call *c)
{
	static const int modes[] = { O_RDWR,   O_RDWR, O_RDWR,	 O_RDONLY,
				     O_WRONLY, O_RDWR, O_RDONLY, O_WRONLY,
				     O_RDWR,   3 };
	size_t i;

	ls_pick_path(ls, c, ls_chance(ls, 50) ? LS_NEW : LS_OLD);
	ls_pick_into(ls, c);
	c->mode = ls_pick_mode(ls);
	c->flags = modes[ls_below(ls, 10)];
	ls_say(c, "open(");
	ls_say_path(c, &c->path[0]);
	ls_say(c, ", %s", accmode[c->flags]);
	for (i = 0; i < sizeof(open_flags) / sizeof(open_flags[0]); i++) {
		if (!ls_chance(ls, open_flags[i].percent))
			continue;
		if (open_flags[i].bit == O_DIRECT && !ls->direct)
			continue;
		c->flags |= open_flags[i].bit;
		ls_say(c, "|%s", open_flags[i].name);
	}
	ls_say(c, ", %04o) into slot %d", c->mode, c->into);
	return true;
}

static long run_open(struct ls *ls, struct ls_call *c, int side,
		     struct ls_result *r)
{
	(void)r;
	c->newfd[side] =
		openat(ls_at(ls, c, 0, side), c->path[0].text,
		       c->flags | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, c->mode);
	return c->newfd[side] < 0 ? -1 : 0;
}

static bool pick_opendir(struct ls *ls, struct ls_call *c)
{
	ls_pick_path(ls, c, LS_OLD);
	ls_pick_into(ls, c);
	c->flags = O_RDONLY | O_DIRECTORY;
	ls_say(c, "open(");
	ls_say_path(c, &c->path[0]);
	ls_say(c, ", O_RDONLY|O_DIRECTORY) into slot %d", c->into);
	return true;
}

static bool pick_tmpfile(struct ls *ls, struct ls_call *c)
{
	if (!ls->tmpfile)
		return false;
	ls_pick_path(ls, c, LS_OLD);
	ls_pick_into(ls, c);
	c->mode = ls_pick_mode(ls);
	c->flags = O_TMPFILE | O_RDWR | (ls_chance(ls, 30) ? O_EXCL : 0);
	ls_say(c, "open(");
	ls_say_path(c, &c->path[0]);
	ls_say(c, ", O_TMPFILE|O_RDWR%s, %04o) into slot %d",
	       c->flags & O_EXCL ? "|O_EXCL" : "", c->mode, c->into);
	return true;
}

static bool pick_close(struct ls *ls, struct ls_call *c)
{
	if (!ls_pick_slot(ls, c))
		return false;
	ls_say(c, "close(slot %d)", c->slot[0]);
	return true;
}

static long run_close(struct ls *ls, struct ls_call *c, int side,
		      struct ls_result *r)
{
	int fd = ls_fd(ls, c, 0, side);

	(void)r;
	ls->slot[c->slot[0]].fd[side] = -1;
	return close(fd);
}

static bool pick_dup(struct ls *ls, struct ls_call *c)
{
	if (!ls_pick_slot(ls, c))
		return false;
	ls_pick_into(ls, c);
	ls_say(c, "dup(slot %d) into slot %d", c->slot[0], c->into);
	return true;
}

static long run_dup(struct ls *ls, struct ls_call *c, int side,
		    struct ls_result *r)
{
	(void)r;
	c->newfd[side] = fcntl(ls_fd(ls, c, 0, side), F_DUPFD_CLOEXEC, 0);
	return c->newfd[side] < 0 ? -1 : 0;
}

static bool pick_setfl(struct ls *ls, struct ls_call *c)
{
	if (!ls_pick_slot(ls, c))
		return false;
	c->flags = ls_chance(ls, 50) ? O_APPEND : 0;
	ls_say(c, "fcntl(slot %d, F_SETFL, %s)", c->slot[0],
	       c->flags ? "O_APPEND" : "0");
	return true;
}

static long run_setfl(struct ls *ls, struct ls_call *c, int side,
		      struct ls_result *r)
{
	(void)r;
	return fcntl(ls_fd(ls, c, 0, side), F_SETFL, c->flags | O_NONBLOCK);
}

static bool pick_seek(struct ls *ls, struct ls_call *c)
{
	static const char *const names[] = { "SEEK_SET", "SEEK_CUR",
					     "SEEK_END" };

	if (!ls_pick_slot(ls, c))
		return false;
	c->off[0] = ls_pick_offset(ls);
	c->how = (int)ls_below(ls, 3);
	ls_say(c, "lseek(slot %d, %lld, %s)", c->slot[0], (long long)c->off[0],
	       names[c->how]);
	return true;
}

/* Offsets of directories are the filesystem's own: only back to the start. */
static long run_seek(struct ls *ls, struct ls_call *c, int side,
		     struct ls_result *r)
{
	int fd = ls_fd(ls, c, 0, side);
	struct stat st;

	(void)r;
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
		return lseek(fd, 0, SEEK_SET);
	return lseek(fd, c->off[0], c->how);
}

static bool pick_seek_hole(struct ls *ls, struct ls_call *c)
{
	if (!ls_pick_slot(ls, c))
		return false;
	c->off[0] = ls_pick_offset(ls);
	c->how = ls_chance(ls, 50) ? SEEK_DATA : SEEK_HOLE;
	ls_say(c, "lseek(slot %d, %lld, %s)", c->slot[0], (long long)c->off[0],
	       c->how == SEEK_DATA ? "SEEK_DATA" : "SEEK_HOLE");
	return true;
}

/* Are all bytes of [from, to) zero on side B? */
static bool all_zero(struct ls *ls, const struct ls_call *c, int64_t from,
		     int64_t to)
{
	static uint8_t buf[65536];
	int fd = ls_fd(ls, c, 0, LS_B);
	ssize_t got;
	int64_t data;

	while (from < to) {
		data = lseek(fd, from, SEEK_DATA);
		if (data < 0 || data >= to)
			return true;
		from = data;
		got = pread(fd, buf, sizeof(buf), from);
		if (got <= 0)
			return errno == EBADF; /* can't be read, can't tell */
		if (got > to - from)
			got = (ssize_t)(to - from);
		if (buf[0] || memcmp(buf, buf + 1, (size_t)got - 1) != 0)
			return false;
		from += got;
	}
	return true;
}

/* Where A and B differ, A must at least not call data a hole. */
static bool hole_ok(struct ls *ls, const struct ls_call *c, int64_t a,
		    int64_t size)
{
	if (a < -1 || a > size || (a >= 0 && a < c->off[0]))
		return false;
	if (c->how == SEEK_DATA)
		return all_zero(ls, c, c->off[0], a < 0 ? size : a);
	return a == size || (a >= 0 && all_zero(ls, c, a, a + 1));
}

static long run_seek_hole(struct ls *ls, struct ls_call *c, int side,
			  struct ls_result *r)
{
	int fd = ls_fd(ls, c, 0, side);
	struct ls_result *a = &ls->result[LS_A];
	int64_t back = lseek(fd, 0, SEEK_CUR);
	struct stat st;
	long ret;
	int err;

	(void)r;
	if (back < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	ret = lseek(fd, c->off[0], c->how);
	err = errno;
	if (side == LS_B && ret != a->ret && (ret >= 0 || err == ENXIO) &&
	    (a->ret >= 0 || a->err == ENXIO) && c->off[0] < st.st_size &&
	    hole_ok(ls, c, a->ret, st.st_size)) {
		ls_excuse(LS_EX_SEEK_HOLE);
		ret = a->ret;
		err = a->err;
	}
	lseek(fd, back, SEEK_SET);
	errno = err;
	return ret;
}

static bool pick_sync(struct ls *ls, struct ls_call *c)
{
	if (!ls_pick_slot(ls, c))
		return false;
	c->how = (int)ls_below(ls, 2);
	ls_say(c, "%s(slot %d)", c->how ? "fdatasync" : "fsync", c->slot[0]);
	return true;
}

static long run_sync(struct ls *ls, struct ls_call *c, int side,
		     struct ls_result *r)
{
	int fd = ls_fd(ls, c, 0, side);

	(void)r;
	return c->how ? fdatasync(fd) : fsync(fd);
}

static bool pick_getdents(struct ls *ls, struct ls_call *c)
{
	ls_pick_path(ls, c, LS_OLD);
	c->len = 320 + ls_below(ls, ls_chance(ls, 50) ? 1000 : 40000);
	ls_say(c, "getdents(");
	ls_say_path(c, &c->path[0]);
	ls_say(c, ", buffer of %zu)", c->len);
	return true;
}

static long run_getdents(struct ls *ls, struct ls_call *c, int side,
			 struct ls_result *r)
{
	int fd = openat(ls_at(ls, c, 0, side), c->path[0].text,
			O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	long ret;

	if (fd < 0)
		return -1;
	ret = ls_list(fd, c->len, r);
	close(fd);
	return ret;
}

static bool pick_getdents_fd(struct ls *ls, struct ls_call *c)
{
	if (!ls_pick_slot(ls, c))
		return false;
	c->len = 320 + ls_below(ls, 2000);
	ls_say(c, "getdents(slot %d, buffer of %zu)", c->slot[0], c->len);
	return true;
}

static long run_getdents_fd(struct ls *ls, struct ls_call *c, int side,
			    struct ls_result *r)
{
	int fd = ls_fd(ls, c, 0, side);
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISDIR(st.st_mode))
		return 0;
	return ls_list(fd, c->len, r);
}

static bool pick_bind(struct ls *ls, struct ls_call *c)
{
	ls_pick_path(ls, c, LS_NEW);
	c->path[0].base = -1;
	if (strlen(c->path[0].text) > 100)
		return false;
	ls_say(c, "bind(");
	ls_say_path(c, &c->path[0]);
	ls_say(c, ")");
	return true;
}

/* A datagram to it must be refused once the socket is closed. */
static long run_bind(struct ls *ls, struct ls_call *c, int side,
		     struct ls_result *r)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd, ret, err;

	(void)ls;
	(void)side;
	(void)r;
	snprintf(sa.sun_path, sizeof(sa.sun_path), "./%.100s", c->path[0].text);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		ls_die("socket");
	ret = bind(fd, (struct sockaddr *)&sa, sizeof(sa));
	err = errno;
	close(fd);
	errno = err;
	return ret;
}

static bool pick_connect(struct ls *ls, struct ls_call *c)
{
	if (!pick_bind(ls, c))
		return false;
	c->say[0] = '\0';
	ls_say(c, "connect(");
	ls_say_path(c, &c->path[0]);
	ls_say(c, ")");
	return true;
}

static long run_connect(struct ls *ls, struct ls_call *c, int side,
			struct ls_result *r)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd, ret, err;

	(void)ls;
	(void)side;
	(void)r;
	/* without a path it would be told to disconnect, or autobind */
	snprintf(sa.sun_path, sizeof(sa.sun_path), "./%.100s", c->path[0].text);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		ls_die("socket");
	ret = connect(fd, (struct sockaddr *)&sa, sizeof(sa));
	err = errno;
	close(fd);
	errno = err;
	return ret;
}

const struct ls_op ls_ops_file[] = {
	{ "open", 130, pick_open, run_open, true, false, false },
	{ "opendir", 20, pick_opendir, run_open, false, false, false },
	{ "tmpfile", 5, pick_tmpfile, run_open, false, false, false },
	{ "close", 50, pick_close, run_close, false, false, false },
	{ "dup", 10, pick_dup, run_dup, false, false, false },
	{ "setfl", 8, pick_setfl, run_setfl, false, false, false },
	{ "lseek", 20, pick_seek, run_seek, false, false, false },
	{ "seek_hole", 20, pick_seek_hole, run_seek_hole, false, false, false },
	{ "sync", 15, pick_sync, run_sync, false, false, false },
	{ "getdents", 20, pick_getdents, run_getdents, false, false, false },
	{ "getdents_fd", 10, pick_getdents_fd, run_getdents_fd, false, false,
	  false },
	{ "bind", 8, pick_bind, run_bind, true, false, false },
	{ "connect", 4, pick_connect, run_connect, false, false, false },
	{ 0 },
};
