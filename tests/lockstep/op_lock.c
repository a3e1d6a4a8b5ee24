/*
 * op_lock.c - locks between open file descriptions of one process: flock and
 * OFD locks. Those between processes are in tests/mount/locks.sh.
 */
#include "lockstep.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static bool pick_flock(struct ls *ls, struct ls_call *c)
{
	static const int ops[] = { LOCK_SH, LOCK_EX, LOCK_UN };

	if (!ls_pick_slot(ls, c))
		return false;
	c->how = ops[ls_below(ls, 3)];
	ls_say(c, "flock(slot %d, %d|LOCK_NB)", c->slot[0], c->how);
	return true;
}

static long run_flock(struct ls *ls, struct ls_call *c, int side,
		      struct ls_result *r)
{
	(void)r;
	return flock(ls_fd(ls, c, 0, side), c->how | LOCK_NB);
}

static bool pick_ofd(struct ls *ls, struct ls_call *c)
{
	static const int types[] = { F_RDLCK, F_WRLCK, F_UNLCK };

	if (!ls_pick_slot(ls, c))
		return false;
	c->how = types[ls_below(ls, 3)];
	c->flags = ls_chance(ls, 30) ? F_OFD_GETLK : F_OFD_SETLK;
	c->off[0] = (int64_t)ls_below(ls, 10) * 100;
	c->len = ls_below(ls, 4) * 100;
	ls_say(c, "fcntl(slot %d, %s, type %d, %lld +%zu)", c->slot[0],
	       c->flags == F_OFD_GETLK ? "F_OFD_GETLK" : "F_OFD_SETLK", c->how,
	       (long long)c->off[0], c->len);
	return true;
}

static long run_ofd(struct ls *ls, struct ls_call *c, int side,
		    struct ls_result *r)
{
	struct flock lock = {
		.l_type = (short)c->how,
		.l_whence = SEEK_SET,
		.l_start = c->off[0],
		.l_len = (off_t)c->len,
	};
	long ret = fcntl(ls_fd(ls, c, 0, side), c->flags, &lock);

	if (ret == 0 && c->flags == F_OFD_GETLK) {
		memcpy(r->out, &lock.l_type, sizeof(lock.l_type));
		memcpy(r->out + 2, &lock.l_start, sizeof(lock.l_start));
		memcpy(r->out + 10, &lock.l_len, sizeof(lock.l_len));
		r->len = 18;
	}
	return ret;
}

const struct ls_op ls_ops_lock[] = {
	{ "flock", 12, pick_flock, run_flock, false, false, false },
	{ "ofd_lock", 18, pick_ofd, run_ofd, false, false, false },
	{ 0 },
};
