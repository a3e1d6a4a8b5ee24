/*
 * ctime.c - which call moves which of a file's times (what pjdfstest checks
 * all over its cases): POSIX, and tmpfs and ext4 where POSIX leaves it open.
 */
#include "posix.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define M 1 /* mtime moves */
#define C 2 /* ctime moves */

struct watch {
	const char *name;
	struct stat before;
};

static struct watch watched[4];
static int watching;

static void look(const char *name)
{
	watched[watching].name = name;
	watched[watching++].before = px_stat(name);
}

/* Look at up to three names, wait for the clock. */
static void before(const char *a, const char *b, const char *c)
{
	watching = 0;
	look(a);
	if (b)
		look(b);
	if (c)
		look(c);
	px_tick();
}

static void moved(const char *call, const char *name, int want)
{
	struct stat now = px_stat(name);
	int i, got = 0;

	for (i = 0; strcmp(watched[i].name, name) != 0; i++)
		;
	if (px_later(now.st_mtim, watched[i].before.st_mtim))
		got |= M;
	if (px_later(now.st_ctim, watched[i].before.st_ctim))
		got |= C;
	if (got != want)
		fprintf(stderr,
			"%s: of '%s' moved mtime %d ctime %d, not %d %d\n",
			call, name, !!(got & M), !!(got & C), !!(want & M),
			!!(want & C));
	CHECK(got == want);
}

static void entries(void)
{
	before(".", NULL, NULL);
	px_make("f", "text");
	moved("create", ".", M | C);
	before(".", "f", NULL);
	MUST(link("f", "g"));
	moved("link", ".", M | C);
	moved("link", "f", C);
	before(".", "f", NULL);
	MUST(unlink("g"));
	moved("unlink", ".", M | C);
	moved("unlink of another link", "f", C);
	before(".", NULL, NULL);
	MUST(mkdir("d", 0755));
	moved("mkdir", ".", M | C);
	before(".", NULL, NULL);
	MUST(rmdir("d"));
	moved("rmdir", ".", M | C);
	before(".", NULL, NULL);
	MUST(symlink("f", "s"));
	moved("symlink", ".", M | C);
	before(".", NULL, NULL);
	MUST(mkfifo("p", 0600));
	moved("mkfifo", ".", M | C);
	MUST(unlink("s"));
	MUST(unlink("p"));
}

static void renames(void)
{
	MUST(mkdir("d", 0755));
	MUST(mkdir("e", 0755));
	px_make("d/x", "x");
	MUST(link("d/x", "keep"));
	watching = 0;
	look("d");
	look("e");
	look("keep");
	px_tick();
	MUST(rename("d/x", "e/x"));
	moved("rename", "d", M | C);
	moved("rename", "e", M | C);
	moved("rename", "keep", C);
	/* the file that is replaced and has another link */
	px_make("d/y", "y");
	before("keep", "d", "e");
	MUST(rename("d/y", "e/x"));
	moved("rename over", "keep", C);
	MUST(unlink("e/x"));
	MUST(unlink("keep"));
	/* a directory that moves: its ".." changes, its entries don't */
	MUST(mkdir("d/sub", 0755));
	before("d", "e", NULL);
	MUST(rename("d/sub", "e/sub"));
	moved("rename of a directory", "d", M | C);
	moved("rename of a directory", "e", M | C);
	MUST(rmdir("e/sub"));
	MUST(rmdir("d"));
	MUST(rmdir("e"));
}

static void exchange(void)
{
	px_make("one", "1");
	px_make("two", "2");
	before(".", "one", "two");
	MUST(renameat2(AT_FDCWD, "one", AT_FDCWD, "two", RENAME_EXCHANGE));
	moved("exchange", ".", M | C);
	/* the names have changed places */
	CHECK(px_later(px_stat("one").st_ctim, watched[2].before.st_ctim));
	CHECK(px_later(px_stat("two").st_ctim, watched[1].before.st_ctim));
	MUST(unlink("one"));
	MUST(unlink("two"));
}

static void contents(void)
{
	int fd = px_open("f", O_RDWR);
	char c;

	before("f", ".", NULL);
	MUST(write(fd, "new", 3));
	moved("write", "f", M | C);
	moved("write", ".", 0);
	before("f", NULL, NULL);
	MUST(write(fd, "", 0));
	moved("write of nothing", "f", 0);
	before("f", NULL, NULL);
	MUST(pread(fd, &c, 1, 0));
	MUST(fsync(fd));
	moved("read and fsync", "f", 0);
	before("f", NULL, NULL);
	MUST(ftruncate(fd, 100));
	moved("ftruncate up", "f", M | C);
	before("f", NULL, NULL);
	MUST(truncate("f", 10));
	moved("truncate down", "f", M | C);
	before("f", NULL, NULL);
	close(px_open("f", O_WRONLY | O_TRUNC));
	moved("open O_TRUNC", "f", M | C);
	before("f", NULL, NULL);
	close(px_open("f", O_WRONLY | O_TRUNC));
	moved("open O_TRUNC of an empty file", "f", M | C);
	before("f", NULL, NULL);
	MUST(fallocate(fd, 0, 0, 5000));
	CHECK(px_later(px_stat("f").st_ctim, watched[0].before.st_ctim));
	close(fd);
}

static void attributes(void)
{
	struct timespec t[2] = { { 5, 6 }, { 0, UTIME_OMIT } };

	before("f", ".", NULL);
	MUST(chmod("f", 0600));
	moved("chmod", "f", C);
	moved("chmod", ".", 0);
	before("f", NULL, NULL);
	MUST(chmod("f", 0600));
	moved("chmod to the same", "f", C);
	before("f", NULL, NULL);
	MUST(chown("f", 7, 8));
	moved("chown", "f", C);
	before("f", NULL, NULL);
	MUST(utimensat(AT_FDCWD, "f", t, 0));
	moved("utimensat of atime", "f", C);
	CHECK(px_stat("f").st_atim.tv_sec == 5);
	CHECK(px_stat("f").st_atim.tv_nsec == 6);
	/* what fails moves nothing */
	before("f", ".", NULL);
	FAILS(EEXIST, open("f", O_CREAT | O_EXCL | O_WRONLY, 0600));
	FAILS(EEXIST, mkdir("f", 0755));
	FAILS(EEXIST, link("f", "f"));
	FAILS(ENOENT, unlink("absent"));
	FAILS(ENOTEMPTY, rename("dir", "full"));
	moved("failing calls", "f", 0);
	moved("failing calls", ".", 0);
}

int px_ctime(int argc, char **argv)
{
	(void)argv;
	if (argc != 0)
		return 2;
	entries();
	renames();
	exchange();
	contents();
	MUST(mkdir("dir", 0755));
	MUST(mkdir("full", 0755));
	MUST(mkdir("full/x", 0755));
	attributes();
	MUST(rmdir("full/x"));
	MUST(rmdir("full"));
	MUST(rmdir("dir"));
	MUST(unlink("f"));
	return 0;
}
