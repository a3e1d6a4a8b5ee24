/*
 * ring_create.c - make intent.log.
 *
 * Every byte is written once here, so that a frame later only overwrites:
 * a write into a hole or an unwritten extent would drag a commit of the
 * filesystem's own journal behind each flush (two device flushes a group).
 * The pattern doesn't compress and doesn't repeat, so that no layer below
 * stores less than was asked for and runs out of space later.
 */
#include <errno.h>
#include <fcntl.h>

#include "journal/nocow.h"
#include "journal/ring_p.h"

#define FILL_UNIT (UINT64_C(1) << 20) /* one write while filling */

/* splitmix64 (Steele, Lea, Flood 2014): one step of the pattern. */
static uint64_t pattern(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

struct fill {
	const struct rs_seam *seam;
	int fd, direct;
	uint64_t size;
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	void *arg;
};

static int fill(const struct fill *f)
{
	RS_AUTO_FREE uint8_t *buf = rs_ring_buffer(FILL_UNIT);
	uint64_t state = 0, off, len, i;
	int err;

	if (!buf)
		return -ENOMEM;
	if (f->seam->random(f->seam->ctx, &state, sizeof(state)) < 0)
		state = 1; /* no secret: any start does */
	for (off = 0; off < f->size; off += len) {
		len = f->size - off < FILL_UNIT ? f->size - off : FILL_UNIT;
		for (i = 0; i < len; i += 8)
			rs_put64(buf + i, pattern(&state));
		err = rs_ring_write_all(f->seam, f->fd, f->direct, buf, len,
					off);
		if (err < 0)
			return err;
		if (f->progress)
			f->progress(f->arg, off + len, f->size);
	}
	return 0;
}

/* O_DIRECT for filling spares the page cache; not every filesystem has it. */
static int try_direct(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && fcntl(fd, F_SETFL, flags | O_DIRECT) == 0;
}

static int make(const struct fill *spec)
{
	struct fill f = *spec;
	int err, flags;

	/* In one piece and ENOSPC now; not every filesystem has it. */
	if (fallocate(f.fd, 0, 0, (off_t)f.size) < 0 && errno != EOPNOTSUPP &&
	    errno != ENOSYS)
		return -errno;
	f.direct = try_direct(f.fd);
	err = fill(&f);
	if (err == -EINVAL && f.direct) {
		flags = fcntl(f.fd, F_GETFL);
		if (flags < 0 || fcntl(f.fd, F_SETFL, flags & ~O_DIRECT) < 0)
			return -errno;
		f.direct = 0;
		err = fill(&f);
	}
	if (err == 0)
		err = f.seam->flush(f.seam->ctx, f.fd);
	if (err == 0 && fsync(f.fd) < 0)
		err = -errno;
	return err;
}

int rs_ring_create(int dirfd, const char *path, uint64_t size,
		   const struct rs_seam *seam,
		   void (*progress)(void *, uint64_t, uint64_t), void *arg,
		   int *ret_cow)
{
	RS_AUTO_FD int fd = -1;
	struct fill f = {
		.seam = seam, .size = size, .progress = progress, .arg = arg
	};
	int cow, err;

	fd = openat(dirfd, path,
		    O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	f.fd = fd;
	cow = rs_nocow_set(fd);
	err = make(&f);
	if (err < 0) {
		unlinkat(dirfd, path, 0);
		return err;
	}
	*ret_cow = cow;
	return 0;
}
