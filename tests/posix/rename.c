/* rename.c - the rules of rename and renameat2 (cases A06, B11, B20). */
#include "posix.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int swap(const char *a, const char *b, unsigned flags)
{
	return renameat2(AT_FDCWD, a, AT_FDCWD, b, flags);
}

static void hard_links(void)
{
	px_make("h1", "x");
	MUST(link("h1", "h2"));
	CHECK(rename("h1", "h2") == 0);
	CHECK(px_exists("h1") && px_exists("h2"));
	CHECK(px_stat("h1").st_nlink == 2);
	CHECK(rename("h1", "h1") == 0);
	CHECK(px_stat("h1").st_nlink == 2);
	MUST(unlink("h1"));
	MUST(unlink("h2"));
}

static void over(void)
{
	px_make("f", "f");
	MUST(mkdir("d", 0755));
	MUST(mkdir("empty", 0755));
	MUST(mkdir("full", 0755));
	px_make("full/x", "x");
	FAILS(EISDIR, rename("f", "d"));
	FAILS(ENOTDIR, rename("d", "f"));
	FAILS(ENOTEMPTY, rename("d", "full"));
	FAILS(EINVAL, rename("d", "d/below"));
	FAILS(ENOENT, rename("absent", "f"));
	FAILS(ENOENT, rename("f", "absent/x"));
	FAILS(ENOTDIR, rename("f", "f/x"));
	FAILS(EBUSY, rename("d", "."));
	CHECK(rename("d", "empty") == 0);
	CHECK(!px_exists("d") && px_exists("empty"));
	/* the parents' link counts follow a directory */
	CHECK(px_stat("full").st_nlink == 2);
	CHECK(rename("empty", "full/d") == 0);
	CHECK(px_stat("full").st_nlink == 3);
	CHECK(px_stat("full/d/..").st_ino == px_stat("full").st_ino);
	CHECK(rename("full/d", "d") == 0);
	CHECK(px_stat("full").st_nlink == 2);
	MUST(rmdir("d"));
	MUST(unlink("full/x"));
	MUST(rmdir("full"));
	MUST(unlink("f"));
}

static void noreplace(void)
{
	px_make("a", "a");
	px_make("b", "b");
	FAILS(EEXIST, swap("a", "b", RENAME_NOREPLACE));
	FAILS(EEXIST, swap("a", "a", RENAME_NOREPLACE));
	CHECK(swap("a", "free", RENAME_NOREPLACE) == 0);
	CHECK(!px_exists("a") && px_exists("free"));
	FAILS(EINVAL, swap("free", "b", RENAME_NOREPLACE | RENAME_EXCHANGE));
	FAILS(EINVAL, swap("free", "b", 1u << 20));
	MUST(unlink("free"));
	MUST(unlink("b"));
}

static void exchange(void)
{
	uint64_t a, d;

	px_make("a", "a");
	MUST(mkdir("d", 0755));
	MUST(mkdir("p", 0755));
	px_make("d/x", "x");
	a = px_stat("a").st_ino;
	d = px_stat("d").st_ino;
	FAILS(ENOENT, swap("a", "absent", RENAME_EXCHANGE));
	CHECK(swap("a", "d", RENAME_EXCHANGE) == 0);
	CHECK(px_stat("a").st_ino == d && px_stat("d").st_ino == a);
	CHECK(px_exists("a/x"));
	/* across directories the link counts of both parents move */
	MUST(rename("d", "p/file"));
	CHECK(px_stat("p").st_nlink == 2);
	CHECK(swap("p/file", "a", RENAME_EXCHANGE) == 0);
	CHECK(px_stat("p").st_nlink == 3);
	CHECK(px_exists("p/file/x"));
	CHECK(px_stat("p/file/..").st_ino == px_stat("p").st_ino);
	FAILS(EINVAL, swap("p", "p/file", RENAME_EXCHANGE));
	FAILS(EINVAL, swap("p/file", "p", RENAME_EXCHANGE));
	MUST(unlink("a"));
	MUST(unlink("p/file/x"));
	MUST(rmdir("p/file"));
	MUST(rmdir("p"));
}

static void sticky_stranger(void)
{
	FAILS(EPERM, rename("t/f", "t/g"));
	FAILS(EPERM, unlink("t/f"));
	FAILS(EPERM, rename("mine", "t/f"));
}

static void sticky_owner(void)
{
	CHECK(rename("t/f", "t/g") == 0);
	CHECK(rename("t/g", "t/f") == 0);
}

static void sticky(void)
{
	MUST(chmod(".", 0777));
	MUST(mkdir("t", 0700));
	MUST(chmod("t", 01777));
	px_make("t/f", "f");
	MUST(chown("t/f", 61001, 61001));
	px_make("mine", "m");
	MUST(chown("mine", 61002, 61002));
	px_as(61002, 61002, sticky_stranger);
	px_as(61001, 61001, sticky_owner);
	MUST(unlink("t/f"));
	MUST(unlink("mine"));
	MUST(rmdir("t"));
	MUST(chmod(".", 0755));
}

/* A directory that the mover can't write can't get another "..". */
static void move_closed_dir(void)
{
	FAILS(EACCES, rename("a/closed", "b/closed"));
	CHECK(rename("a/closed", "a/renamed") == 0);
	CHECK(rename("a/renamed", "a/closed") == 0);
}

static void closed_dir(void)
{
	MUST(mkdir("a", 0777));
	MUST(chmod("a", 0777));
	MUST(mkdir("b", 0777));
	MUST(chmod("b", 0777));
	MUST(mkdir("a/closed", 0555));
	px_as(61001, 61001, move_closed_dir);
	MUST(rmdir("a/closed"));
	MUST(rmdir("a"));
	MUST(rmdir("b"));
}

int px_rename(int argc, char **argv)
{
	(void)argv;
	if (argc != 0)
		return 2;
	hard_links();
	over();
	noreplace();
	exchange();
	sticky();
	closed_dir();
	return 0;
}

int px_rename2(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	if (swap(argv[0], argv[1], (unsigned)atoi(argv[2])) == 0)
		printf("0\n");
	else
		printf("%s\n", strerrorname_np(errno));
	return 0;
}

static int count_in(const char *name)
{
	DIR *dir = opendir(name);
	struct dirent *e;
	int count = 0;

	if (!dir)
		px_die("opendir '%s'", name);
	while ((e = readdir(dir)))
		count += strcmp(e->d_name, "X") == 0;
	closedir(dir);
	return count;
}

static volatile sig_atomic_t asked;

static void on_term(int sig)
{
	(void)sig;
	asked = 1;
}

static void watch(void)
{
	struct stat st;

	while (!asked) {
		if (lstat("active/X", &st) == 0)
			CHECK(st.st_nlink == 1);
		if (lstat("deferred/X", &st) == 0)
			CHECK(st.st_nlink == 1);
		CHECK(count_in("active") <= 1);
		CHECK(count_in("deferred") <= 1);
	}
	px_end();
}

int px_flip(int argc, char **argv)
{
	pid_t pid;
	int i, n;

	if (argc != 1)
		return 2;
	n = atoi(argv[0]);
	MUST(mkdir("active", 0755));
	MUST(mkdir("deferred", 0755));
	px_make("active/X", "mail");
	signal(SIGTERM, on_term);
	pid = px_fork();
	if (pid == 0)
		watch();
	for (i = 0; i < n; i++) {
		MUST(rename("active/X", "deferred/X"));
		MUST(rename("deferred/X", "active/X"));
	}
	MUST(kill(pid, SIGTERM));
	px_join(pid);
	MUST(unlink("active/X"));
	MUST(rmdir("active"));
	MUST(rmdir("deferred"));
	return 0;
}
