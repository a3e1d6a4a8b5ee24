/*
 * utimes.c - utimensat to the nanosecond: what Postfix keeps in mtime (when
 * to try again) must come back as it was set.
 */
#include "posix.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static void exact(int64_t sec, long nsec)
{
	struct timespec t[2] = { { sec, nsec }, { sec + 1, 999999999 - nsec } };
	struct stat st;

	MUST(utimensat(AT_FDCWD, "f", t, 0));
	st = px_stat("f");
	CHECK(px_same_time(st.st_atim, t[0]));
	CHECK(px_same_time(st.st_mtim, t[1]));
}

static void now_and_omit(void)
{
	struct timespec set[2] = { { 1000, 1 }, { 2000, 2 } };
	struct timespec t[2] = { { 0, UTIME_NOW }, { 0, UTIME_OMIT } };
	struct timespec real;

	MUST(utimensat(AT_FDCWD, "f", set, 0));
	clock_gettime(CLOCK_REALTIME, &real);
	MUST(utimensat(AT_FDCWD, "f", t, 0));
	CHECK(px_stat("f").st_atim.tv_sec >= real.tv_sec - 1);
	CHECK(px_same_time(px_stat("f").st_mtim, set[1]));
	MUST(utimensat(AT_FDCWD, "f", set, 0));
	t[0].tv_nsec = UTIME_OMIT;
	t[1].tv_nsec = UTIME_NOW;
	MUST(utimensat(AT_FDCWD, "f", t, 0));
	CHECK(px_same_time(px_stat("f").st_atim, set[0]));
	CHECK(px_stat("f").st_mtim.tv_sec >= real.tv_sec - 1);
	t[0].tv_nsec = 1000000000;
	FAILS(EINVAL, utimensat(AT_FDCWD, "f", t, 0));
}

/* Close, reads and a while later: a set time stays. */
static void stays(void)
{
	struct timespec t[2] = { { 0, UTIME_OMIT }, { time(NULL) + 4000, 7 } };
	int fd = px_open("f", O_RDWR);
	char c;

	MUST(write(fd, "queued", 6));
	MUST(futimens(fd, t));
	MUST(fsync(fd));
	close(fd);
	px_tick();
	fd = px_open("f", O_RDONLY);
	MUST(read(fd, &c, 1));
	close(fd);
	CHECK(px_same_time(px_stat("f").st_mtim, t[1]));
}

static void links(void)
{
	struct timespec t[2] = { { 11, 12 }, { 13, 14 } };

	MUST(symlink("f", "s"));
	MUST(utimensat(AT_FDCWD, "s", t, AT_SYMLINK_NOFOLLOW));
	CHECK(px_same_time(px_stat("s").st_mtim, t[1]));
	CHECK(!px_same_time(px_stat("f").st_mtim, t[1]));
	MUST(unlink("s"));
}

static void stranger(void)
{
	struct timespec now[2] = { { 0, UTIME_NOW }, { 0, UTIME_NOW } };
	struct timespec set[2] = { { 1, 1 }, { 1, 1 } };

	/* may write: may say "now", may not set */
	MUST(utimensat(AT_FDCWD, "f", NULL, 0));
	MUST(utimensat(AT_FDCWD, "f", now, 0));
	FAILS(EPERM, utimensat(AT_FDCWD, "f", set, 0));
}

static void stranger_without(void)
{
	FAILS(EACCES, utimensat(AT_FDCWD, "f", NULL, 0));
}

int px_utimes(int argc, char **argv)
{
	(void)argv;
	if (argc != 0)
		return 2;
	px_make("f", "text");
	exact(0, 0);
	exact(1, 1);
	exact(1700000000, 123456789);
	exact(INT64_C(2147483647), 999999999);
	exact(INT64_C(2147483648), 5);
	exact(INT64_C(8000000000), 1);
	exact(-1, 1);
	exact(-100000, 999999999);
	now_and_omit();
	stays();
	links();
	MUST(chmod(".", 0755));
	MUST(chmod("f", 0666));
	px_as(61001, 61001, stranger);
	MUST(chmod("f", 0644));
	px_as(61001, 61001, stranger_without);
	MUST(unlink("f"));
	return 0;
}
