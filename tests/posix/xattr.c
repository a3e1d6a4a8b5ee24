/* xattr.c - the rules of extended attributes, see xattr(7). */
#include "posix.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

static uint8_t big[65537];

static void values(void)
{
	char buf[64] = "";

	FAILS(ENODATA, getxattr("f", "user.a", buf, sizeof(buf)));
	CHECK(setxattr("f", "user.a", "one", 3, 0) == 0);
	CHECK(getxattr("f", "user.a", NULL, 0) == 3);
	CHECK(getxattr("f", "user.a", buf, sizeof(buf)) == 3);
	CHECK(memcmp(buf, "one", 3) == 0);
	FAILS(ERANGE, getxattr("f", "user.a", buf, 2));
	FAILS(EEXIST, setxattr("f", "user.a", "x", 1, XATTR_CREATE));
	FAILS(ENODATA, setxattr("f", "user.b", "x", 1, XATTR_REPLACE));
	CHECK(setxattr("f", "user.a", "", 0, XATTR_REPLACE) == 0);
	CHECK(getxattr("f", "user.a", buf, sizeof(buf)) == 0);
	CHECK(setxattr("f", "user.big", big, 65536, 0) == 0 || errno == ENOSPC);
	FAILS(E2BIG, setxattr("f", "user.big", big, 65537, 0));
	FAILS(EOPNOTSUPP, setxattr("f", "nonsense.x", "x", 1, 0));
	CHECK(removexattr("f", "user.a") == 0);
	FAILS(ENODATA, removexattr("f", "user.a"));
	removexattr("f", "user.big");
}

static void lists(void)
{
	char buf[256];

	CHECK(setxattr("f", "user.one", "1", 1, 0) == 0);
	CHECK(setxattr("f", "trusted.two", "2", 1, 0) == 0);
	CHECK(listxattr("f", NULL, 0) == 9 + 12);
	CHECK(listxattr("f", buf, sizeof(buf)) == 9 + 12);
	FAILS(ERANGE, listxattr("f", buf, 10));
	CHECK(removexattr("f", "user.one") == 0);
	CHECK(removexattr("f", "trusted.two") == 0);
	CHECK(listxattr("f", buf, sizeof(buf)) == 0);
}

static void moves(void)
{
	struct timespec before = px_stat("f").st_ctim;
	struct timespec mtime = px_stat("f").st_mtim;

	px_tick();
	CHECK(setxattr("f", "user.t", "t", 1, 0) == 0);
	CHECK(px_later(px_stat("f").st_ctim, before));
	CHECK(px_same_time(px_stat("f").st_mtim, mtime));
	before = px_stat("f").st_ctim;
	px_tick();
	CHECK(removexattr("f", "user.t") == 0);
	CHECK(px_later(px_stat("f").st_ctim, before));
}

static void by_stranger(void)
{
	char buf[8];

	FAILS(EACCES, setxattr("f", "user.a", "x", 1, 0));
	FAILS(EPERM, setxattr("f", "trusted.a", "x", 1, 0));
	FAILS(ENODATA, getxattr("f", "trusted.hidden", buf, sizeof(buf)));
}

static void write_as_stranger(void)
{
	int fd = px_open("f", O_WRONLY);

	CHECK(write(fd, "x", 1) == 1);
	close(fd);
}

/* A file capability goes with the first write of someone without rights. */
static void capability(void)
{
	static const uint8_t value[20] = { 1, 0, 0, 2, 0, 0x20 };
	char buf[64];

	CHECK(setxattr("f", "security.capability", value, 20, 0) == 0);
	CHECK(getxattr("f", "security.capability", buf, sizeof(buf)) == 20);
	MUST(chmod("f", 0666));
	px_as(61001, 61001, write_as_stranger);
	FAILS(ENODATA, getxattr("f", "security.capability", buf, sizeof(buf)));
}

static void kinds(void)
{
	MUST(symlink("f", "s"));
	MUST(mkdir("d", 0755));
	FAILS(EPERM, lsetxattr("s", "user.a", "x", 1, 0));
	CHECK(lsetxattr("s", "trusted.a", "x", 1, 0) == 0);
	CHECK(setxattr("d", "user.a", "x", 1, 0) == 0);
	MUST(unlink("s"));
	MUST(rmdir("d"));
}

int px_xattr(int argc, char **argv)
{
	(void)argv;
	if (argc != 0)
		return 2;
	MUST(chmod(".", 0755));
	memset(big, 'v', sizeof(big));
	px_make("f", "text");
	values();
	lists();
	moves();
	MUST(setxattr("f", "trusted.hidden", "x", 1, 0));
	px_as(61001, 61001, by_stranger);
	MUST(removexattr("f", "trusted.hidden"));
	capability();
	kinds();
	MUST(unlink("f"));
	return 0;
}
