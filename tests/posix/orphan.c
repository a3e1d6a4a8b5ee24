/*
 * orphan.c - files and directories without a name: a descriptor works to the
 * end (case B35).
 */
#include "posix.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void use(int fd)
{
	char buf[8] = "";

	CHECK(px_fstat(fd).st_nlink == 0);
	CHECK(px_fstat(fd).st_size == 5);
	CHECK(pread(fd, buf, 5, 0) == 5 && memcmp(buf, "hello", 5) == 0);
	CHECK(pwrite(fd, "HE", 2, 0) == 2);
	CHECK(pread(fd, buf, 5, 0) == 5 && memcmp(buf, "HEllo", 5) == 0);
	CHECK(ftruncate(fd, 100000) == 0);
	CHECK(px_fstat(fd).st_size == 100000);
	CHECK(pwrite(fd, "end", 3, 99997) == 3);
	CHECK(fsync(fd) == 0);
	CHECK(fdatasync(fd) == 0);
	CHECK(fchmod(fd, 0700) == 0);
	CHECK((px_fstat(fd).st_mode & 07777) == 0700);
	CHECK(fchown(fd, 5, 6) == 0);
	CHECK(px_fstat(fd).st_uid == 5);
	CHECK(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
			4096) == 0);
	CHECK(futimens(fd, NULL) == 0);
	CHECK(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0);
	CHECK(pread(fd, buf, 3, 99997) == 3 && memcmp(buf, "end", 3) == 0);
	FAILS(ENOENT, linkat(fd, "", AT_FDCWD, "back", AT_EMPTY_PATH));
}

static void by_unlink(void)
{
	int fd;

	MUST(mkdir("d", 0755));
	px_make("d/x", "hello");
	fd = px_open("d/x", O_RDWR);
	MUST(unlink("d/x"));
	CHECK(rmdir("d") == 0);
	use(fd);
	close(fd);
}

static void by_rename(void)
{
	int fd;

	px_make("old", "hello");
	px_make("new", "other");
	fd = px_open("old", O_RDWR);
	MUST(rename("new", "old"));
	use(fd);
	CHECK(px_stat("old").st_size == 5);
	close(fd);
	MUST(unlink("old"));
}

/* The same name made again is another inode. */
static void reborn(void)
{
	int fd;
	uint64_t ino;

	px_make("x", "hello");
	fd = px_open("x", O_RDWR);
	ino = px_fstat(fd).st_ino;
	MUST(unlink("x"));
	px_make("x", "second");
	CHECK(px_stat("x").st_ino != ino);
	use(fd);
	CHECK(px_stat("x").st_size == 6);
	close(fd);
	MUST(unlink("x"));
}

static void mapped(void)
{
	int fd;
	char *map;

	px_make("x", "hello");
	fd = px_open("x", O_RDWR);
	map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(map != MAP_FAILED);
	MUST(unlink("x"));
	close(fd);
	map[0] = 'J';
	CHECK(msync(map, 4096, MS_SYNC) == 0);
	CHECK(memcmp(map, "Jello", 5) == 0);
	munmap(map, 4096);
}

static void directory(void)
{
	int fd, sub;

	MUST(mkdir("d", 0755));
	fd = px_open("d", O_RDONLY | O_DIRECTORY);
	MUST(rmdir("d"));
	CHECK(px_fstat(fd).st_nlink == 0);
	CHECK(fsync(fd) == 0);
	FAILS(ENOENT, openat(fd, "x", O_CREAT | O_WRONLY, 0644));
	FAILS(ENOENT, mkdirat(fd, "x", 0755));
	FAILS(ENOENT, symlinkat("t", fd, "x"));
	px_make("f", "f");
	FAILS(ENOENT, linkat(AT_FDCWD, "f", fd, "x", 0));
	FAILS(ENOENT, renameat(AT_FDCWD, "f", fd, "x"));
	CHECK(fchmod(fd, 0700) == 0);
	MUST(unlink("f"));
	close(fd);
	/* fsync of one that was renamed, by its old descriptor */
	MUST(mkdir("d", 0755));
	fd = px_open("d", O_RDONLY | O_DIRECTORY);
	MUST(rename("d", "e"));
	sub = openat(fd, "x", O_CREAT | O_WRONLY, 0644);
	MUST(sub);
	CHECK(fsync(fd) == 0);
	CHECK(px_exists("e/x"));
	close(sub);
	close(fd);
	MUST(unlink("e/x"));
	MUST(rmdir("e"));
}

int px_orphan(int argc, char **argv)
{
	(void)argv;
	if (argc != 0)
		return 2;
	by_unlink();
	by_rename();
	reborn();
	mapped();
	directory();
	return 0;
}
