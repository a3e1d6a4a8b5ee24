/*
 * rs_seam.h - everything that the journal asks of the world.
 *
 * The journal writes, reads and flushes its ring, asks for the time and for
 * random bytes only through this struct, so that a test can cut, tear, fail
 * and reorder it. rs_seam_posix is the real world. Functions return what
 * the system call would, with -errno in place of -1; they may return fewer
 * bytes than asked.
 *
 * LMDB does its own I/O; tests record that by interposing pwrite, pwritev
 * and fdatasync in the test program.
 */
#ifndef RS_SEAM_H
#define RS_SEAM_H

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct rs_seam {
	void *ctx;
	ssize_t (*pread)(void *ctx, int fd, void *buf, size_t len, off_t off);
	ssize_t (*pwrite)(void *ctx, int fd, const void *buf, size_t len,
			  off_t off);
	/* what is written must survive a power cut when it returns 0 */
	int (*flush)(void *ctx, int fd);
	/* clock is CLOCK_REALTIME or CLOCK_MONOTONIC */
	void (*now)(void *ctx, clockid_t clock, struct timespec *ret_ts);
	/* 0, or -errno with nothing usable in buf */
	int (*random)(void *ctx, void *buf, size_t len);
};

extern const struct rs_seam rs_seam_posix;

#endif
