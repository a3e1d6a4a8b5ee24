/* seam.c - the real world behind struct rs_seam. */
#include "include/rs_seam.h"

#include <errno.h>
#include <sys/random.h>
#include <unistd.h>

static ssize_t posix_pread(void *ctx, int fd, void *buf, size_t len, off_t off)
{
	ssize_t n;

	(void)ctx;
	do
		n = pread(fd, buf, len, off);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static ssize_t posix_pwrite(void *ctx, int fd, const void *buf, size_t len,
			    off_t off)
{
	ssize_t n;

	(void)ctx;
	do
		n = pwrite(fd, buf, len, off);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

/*
 * fdatasync and not fsync: the ring's blocks were written when it was made,
 * so there is no metadata to wait for and one flush of the device is all.
 * Never repeated, not even after EINTR: the kernel may have dropped the
 * pages that a failed one was for, and the next would say 0 (DESIGN G6).
 */
static int posix_flush(void *ctx, int fd)
{
	(void)ctx;
	return fdatasync(fd) < 0 ? -errno : 0;
}

static void posix_now(void *ctx, clockid_t clock, struct timespec *ret_ts)
{
	(void)ctx;
	if (clock_gettime(clock, ret_ts) < 0)
		*ret_ts = (struct timespec){ 0 };
}

static int posix_random(void *ctx, void *buf, size_t len)
{
	char *p = buf;
	ssize_t n;

	(void)ctx;
	while (len > 0) {
		n = getrandom(p, len, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

const struct rs_seam rs_seam_posix = {
	.pread = posix_pread,
	.pwrite = posix_pwrite,
	.flush = posix_flush,
	.now = posix_now,
	.random = posix_random,
};
