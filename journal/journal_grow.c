/*
 * journal_grow.c - a store is made larger than it was made for.
 *
 * CRASH  space first, then the marker: a cut between leaves a store that has
 * more space than it says, which nobody minds.
 */
#include <errno.h>
#include <sys/statvfs.h>

#include "journal/journal_p.h"

uint64_t rs_journal_reserve_for(uint64_t capacity, uint64_t inodes)
{
	return capacity + capacity / 8 + inodes * 1024;
}

/* Asked before, because fallocate(2) leaves what it got when it fails. */
static int has_room(struct rs_journal *j, uint64_t reserve)
{
	uint64_t used, reserved, room;
	struct statvfs st;

	if (fstatvfs(j->dirfd, &st) < 0)
		return -errno;
	rs_store_space(j->store, &used, &reserved);
	room = (uint64_t)st.f_bavail * st.f_frsize;
	return reserve <= reserved || reserve - reserved <= room ? 0 : -ENOSPC;
}

int rs_journal_grow(struct rs_journal *j, uint64_t capacity, uint64_t inodes)
{
	struct rs_marker marker = j->marker;
	uint64_t reserve;
	int err, lockfd = -1;

	if (j->cfg.mode != RS_JOURNAL_SERVE)
		return -EROFS;
	if (capacity > marker.capacity)
		marker.capacity = capacity;
	if (inodes > marker.inodes)
		marker.inodes = inodes;
	if (marker.capacity > INT64_MAX / 4 || marker.inodes > INT64_MAX / 4096)
		return -EINVAL;
	if (marker.capacity == j->marker.capacity &&
	    marker.inodes == j->marker.inodes)
		return 0;
	reserve = rs_journal_reserve_for(marker.capacity, marker.inodes);
	err = has_room(j, reserve);
	if (!err)
		err = rs_store_reserve(j->store, reserve);
	if (!err)
		err = rs_marker_replace(j->dirfd, &marker, &lockfd);
	/* The lock went over to the new file before it had the name, which it
	 * may have although the rest failed. */
	if (lockfd >= 0) {
		close(j->lockfd);
		j->lockfd = lockfd;
	}
	if (err)
		return err;
	/* others read the rest of it at any time */
	j->marker.capacity = marker.capacity;
	j->marker.inodes = marker.inodes;
	return 0;
}
