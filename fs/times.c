/*
 * times.c - which of an inode's times move, and the clock.
 *
 * The kernel never moves atime on FUSE: READ, READDIR and READLINK that
 * reach us do, under the relatime rule of Linux (fs/inode.c). Such an atime
 * is not logged by itself; it goes along with the inode's next record.
 */
#include "fs/core_p.h"

#define DAY 86400 /* seconds after which relatime moves an atime anyway */

void rs_times_now(struct rs_core *core, struct timespec *ret)
{
	if (core->cfg.now)
		core->cfg.now(core->cfg.arg, ret);
	else
		clock_gettime(CLOCK_REALTIME, ret);
}

void rs_times_set(struct rs_inode *inode, enum rs_time which,
		  const struct timespec *ts)
{
	inode->sec[which] = ts->tv_sec;
	inode->nsec[which] = (uint32_t)ts->tv_nsec;
}

void rs_times_change(struct rs_inode *inode, const struct timespec *ts)
{
	rs_times_set(inode, RS_MTIME, ts);
	rs_times_set(inode, RS_CTIME, ts);
}

/* atime is not younger than that other time */
static int atime_behind(const struct rs_inode *inode, enum rs_time other)
{
	if (inode->sec[RS_ATIME] != inode->sec[other])
		return inode->sec[RS_ATIME] < inode->sec[other];
	return inode->nsec[RS_ATIME] <= inode->nsec[other];
}

void rs_times_access(struct rs_core *core, struct rs_inode *inode)
{
	struct timespec now;

	if (core->cfg.noatime || core->cfg.readonly)
		return;
	rs_times_now(core, &now);
	if (atime_behind(inode, RS_MTIME) || atime_behind(inode, RS_CTIME) ||
	    now.tv_sec - inode->sec[RS_ATIME] >= DAY)
		rs_times_set(inode, RS_ATIME, &now);
}
