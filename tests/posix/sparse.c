/* sparse.c - holes, truncate, fallocate, SEEK_HOLE (case B21). */
#include "posix.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <string.h>
#include <unistd.h>

#define GIB (INT64_C(1) << 30)

static bool all_zero(int fd, off_t at, size_t len)
{
	static char buf[65536];
	size_t i;

	memset(buf, 'x', sizeof(buf));
	if (pread(fd, buf, len, at) != (ssize_t)len)
		return false;
	for (i = 0; i < len; i++) {
		if (buf[i])
			return false;
	}
	return true;
}

static void fill(int fd, off_t at, size_t len)
{
	static char buf[65536];

	memset(buf, 'D', sizeof(buf));
	MUST(pwrite(fd, buf, len, at));
}

static void drop(int fd)
{
	MUST(fsync(fd));
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

static void far(void)
{
	int fd = px_open("far", O_RDWR | O_CREAT | O_TRUNC);
	struct stat st;

	CHECK(pwrite(fd, "x", 1, 5 * GIB) == 1);
	st = px_fstat(fd);
	CHECK(st.st_size == 5 * GIB + 1);
	CHECK(st.st_blocks > 0 && st.st_blocks <= 128);
	drop(fd);
	CHECK(all_zero(fd, 2 * GIB + 7, 65536));
	CHECK(lseek(fd, 0, SEEK_HOLE) == 0);
	CHECK(lseek(fd, 0, SEEK_DATA) == 5 * GIB);
	CHECK(lseek(fd, GIB, SEEK_DATA) == 5 * GIB);
	CHECK(lseek(fd, 5 * GIB, SEEK_HOLE) == 5 * GIB + 1);
	FAILS(ENXIO, lseek(fd, 5 * GIB + 1, SEEK_DATA));
	FAILS(ENXIO, lseek(fd, 5 * GIB + 1, SEEK_HOLE));
	FAILS(ENXIO, lseek(fd, -1, SEEK_DATA));
	FAILS(EINVAL, pwrite(fd, "x", 1, -1));
	close(fd);
	MUST(unlink("far"));
}

static void truncated(void)
{
	int fd = px_open("t", O_RDWR | O_CREAT | O_TRUNC);
	off_t cut;

	/* in a page, at its edge, in the next one, far */
	for (cut = 4000; cut <= 12288; cut += 2072) {
		fill(fd, 0, 20000);
		MUST(ftruncate(fd, cut));
		CHECK(px_fstat(fd).st_size == cut);
		MUST(ftruncate(fd, 40000));
		CHECK(all_zero(fd, cut, (size_t)(40000 - cut)));
		drop(fd);
		CHECK(all_zero(fd, cut, (size_t)(40000 - cut)));
	}
	MUST(ftruncate(fd, 0));
	CHECK(px_fstat(fd).st_blocks == 0);
	/* a write after the end leaves zeros between */
	fill(fd, 0, 100);
	fill(fd, 9000, 100);
	drop(fd);
	CHECK(all_zero(fd, 100, 8900));
	close(fd);
	MUST(unlink("t"));
}

static void allocated(void)
{
	int fd = px_open("a", O_RDWR | O_CREAT | O_TRUNC);
	struct stat st;

	CHECK(fallocate(fd, 0, 0, 50000) == 0);
	st = px_fstat(fd);
	CHECK(st.st_size == 50000);
	CHECK(st.st_blocks * 512 >= 50000);
	CHECK(all_zero(fd, 0, 50000));
	CHECK(fallocate(fd, FALLOC_FL_KEEP_SIZE, 50000, 50000) == 0);
	st = px_fstat(fd);
	CHECK(st.st_size == 50000);
	CHECK(st.st_blocks * 512 >= 100000);
	fill(fd, 0, 50000);
	CHECK(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4096,
			8192) == 0);
	CHECK(all_zero(fd, 4096, 8192));
	CHECK(px_fstat(fd).st_blocks < st.st_blocks);
	CHECK(px_fstat(fd).st_size == 50000);
	CHECK(lseek(fd, 0, SEEK_HOLE) == 4096);
	CHECK(lseek(fd, 4096, SEEK_DATA) == 12288);
	/* parts of pages */
	CHECK(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 20000,
			100) == 0);
	drop(fd);
	CHECK(all_zero(fd, 20000, 100));
	CHECK(!all_zero(fd, 19999, 1) && !all_zero(fd, 20100, 1));
	FAILS(EOPNOTSUPP, fallocate(fd, FALLOC_FL_PUNCH_HOLE, 0, 4096));
	FAILS(EINVAL, fallocate(fd, 0, 0, 0));
	FAILS(EINVAL, fallocate(fd, 0, -1, 10));
	close(fd);
	fd = px_open("a", O_RDONLY);
	FAILS(EBADF, fallocate(fd, 0, 0, 10));
	close(fd);
	MUST(unlink("a"));
}

/* tmpfs hasn't got it: there is nothing to compare with there. */
static void zeroed(void)
{
	int fd = px_open("z", O_RDWR | O_CREAT | O_TRUNC);

	fill(fd, 0, 30000);
	if (fallocate(fd, FALLOC_FL_ZERO_RANGE, 1000, 10000) < 0) {
		CHECK(errno == EOPNOTSUPP);
	} else {
		CHECK(all_zero(fd, 1000, 10000));
		CHECK(!all_zero(fd, 999, 1) && !all_zero(fd, 11000, 1));
		drop(fd);
		CHECK(all_zero(fd, 1000, 10000));
		CHECK(fallocate(fd, FALLOC_FL_ZERO_RANGE, 29000, 5000) == 0);
		CHECK(px_fstat(fd).st_size == 34000);
		CHECK(fallocate(fd, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE,
				30000, 50000) == 0);
		CHECK(px_fstat(fd).st_size == 34000);
		CHECK(all_zero(fd, 29000, 5000));
	}
	close(fd);
	MUST(unlink("z"));
}

int px_sparse(int argc, char **argv)
{
	(void)argv;
	if (argc != 0)
		return 2;
	far();
	truncated();
	allocated();
	zeroed();
	return 0;
}
