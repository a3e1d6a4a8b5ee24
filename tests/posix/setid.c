/*
 * setid.c - who clears set-user-id and set-group-id and when; groups in
 * set-gid directories (cases A14, A15).
 */
#include "posix.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define OWNER 61001
#define OTHER 61002
#define GROUP 62001

static mode_t mode_of(const char *name)
{
	return px_stat(name).st_mode & 07777;
}

static void write_by_other(void)
{
	int fd = px_open("f", O_WRONLY);

	CHECK(write(fd, "x", 1) == 1);
	close(fd);
}

static void truncate_by_other(void)
{
	CHECK(truncate("f", 1) == 0);
}

static void allocate_by_other(void)
{
	int fd = px_open("f", O_WRONLY);

	CHECK(fallocate(fd, 0, 0, 10000) == 0);
	close(fd);
}

static void map_by_other(void)
{
	int fd = px_open("f", O_RDWR);
	char *map = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	CHECK(map != MAP_FAILED);
	munmap(map, 1);
	close(fd);
}

static void chown_by_owner(void)
{
	CHECK(chown("f", (uid_t)-1, OWNER) == 0);
}

static void chmod_other_group(void)
{
	/* not in the file's group: set-gid goes, without an error */
	CHECK(chmod("f", 06777) == 0);
}

static void reset(mode_t mode)
{
	MUST(chmod("f", mode));
	CHECK(mode_of("f") == mode);
}

static void bits(void)
{
	px_make("f", "text");
	MUST(chown("f", OWNER, OWNER));
	reset(06777);
	px_as(OTHER, OTHER, write_by_other);
	CHECK(mode_of("f") == 0777);
	reset(06777);
	px_as(OTHER, OTHER, truncate_by_other);
	CHECK(mode_of("f") == 0777);
	reset(06777);
	px_as(OTHER, OTHER, allocate_by_other);
	CHECK(mode_of("f") == 0777);
	reset(06777);
	px_as(OTHER, OTHER, map_by_other);
	CHECK(mode_of("f") == 06777);
	/* root's writes clear nothing */
	write_by_other();
	CHECK(mode_of("f") == 06777);
	/* chown clears, root's too */
	px_as(OWNER, OWNER, chown_by_owner);
	CHECK(mode_of("f") == 0777);
	reset(06777);
	MUST(chown("f", OWNER, GROUP));
	CHECK(mode_of("f") == 0777);
	/* set-gid without group execute meant mandatory locking: stays */
	reset(02767);
	MUST(chown("f", OWNER, OWNER));
	CHECK(mode_of("f") == 02767);
	MUST(chown("f", OWNER, GROUP));
	px_as(OWNER, OWNER, chmod_other_group);
	CHECK(mode_of("f") == 04777);
	MUST(unlink("f"));
}

/* With GROUP as a supplementary group, in a directory of GROUP. */
static void make_in(void)
{
	CHECK(px_stat("d").st_gid == GROUP);
	px_make("d/f", "f");
	MUST(mkdir("d/sub", 0755));
	MUST(mkdir("d/sub/sub", 0755));
	MUST(mkfifo("d/p", 0600));
	MUST(symlink("t", "d/s"));
	MUST(mkdir("plain", 0755));
	px_make("plain/in", "in");
	MUST(rename("plain/in", "d/in"));
	CHECK(open("d/setgid", O_CREAT | O_WRONLY, 02755) >= 0);
}

static void gone(const char *name, bool dir)
{
	MUST(unlinkat(AT_FDCWD, name, dir ? AT_REMOVEDIR : 0));
}

static void groups(mode_t mask)
{
	gid_t more = GROUP;
	pid_t pid;

	MUST(chmod(".", 0777));
	MUST(mkdir("d", 0700));
	MUST(chown("d", 0, GROUP));
	MUST(chmod("d", 02770));
	pid = px_fork();
	if (pid == 0) {
		umask(mask);
		MUST(setgroups(1, &more));
		MUST(setresgid(OWNER, OWNER, OWNER));
		MUST(setresuid(OWNER, OWNER, OWNER));
		make_in();
		px_end();
	}
	px_join(pid);
	CHECK(px_stat("d/f").st_gid == GROUP && px_stat("d/f").st_uid == OWNER);
	CHECK(px_stat("d/p").st_gid == GROUP);
	CHECK(px_stat("d/s").st_gid == GROUP);
	CHECK(px_stat("d/sub").st_gid == GROUP);
	CHECK(mode_of("d/sub") == ((0755 & ~mask) | 02000));
	CHECK(px_stat("d/sub/sub").st_gid == GROUP);
	CHECK(mode_of("d/sub/sub") & 02000);
	CHECK(px_stat("d/in").st_gid == OWNER);
	CHECK(mode_of("d/setgid") & 02000); /* he is in GROUP */
	CHECK(!(mode_of("plain") & 02000));
	gone("d/f", false);
	gone("d/p", false);
	gone("d/s", false);
	gone("d/in", false);
	gone("d/setgid", false);
	gone("d/sub/sub", true);
	gone("d/sub", true);
	gone("d", true);
	gone("plain", true);
	MUST(chmod(".", 0755));
}

static void stranger_makes(void)
{
	int fd = open("d/f", O_CREAT | O_WRONLY, 02775);

	CHECK(fd >= 0);
	close(fd);
}

/* Not in the group: no set-gid file of that group for him. */
static void no_gift(void)
{
	MUST(mkdir("d", 0700));
	MUST(chown("d", 0, GROUP));
	MUST(chmod("d", 02777));
	MUST(chmod(".", 0755));
	px_as(OTHER, OTHER, stranger_makes);
	CHECK(px_stat("d/f").st_gid == GROUP);
	CHECK(!(mode_of("d/f") & 02000));
	MUST(unlink("d/f"));
	MUST(rmdir("d"));
}

int px_setid(int argc, char **argv)
{
	(void)argv;
	if (argc != 0)
		return 2;
	MUST(chmod(".", 0755));
	bits();
	groups(022);
	groups(077);
	no_gift();
	return 0;
}
