/* map.c - mmap is coherent with read and write, both ways (case B14). */
#include "posix.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LEN 20000

static char *map_file(int fd, int how)
{
	char *map = mmap(NULL, LEN, PROT_READ | PROT_WRITE, how, fd, 0);

	if (map == MAP_FAILED)
		px_die("mmap: %s", strerror(errno));
	return map;
}

static void shared(void)
{
	int fd = px_open("f", O_RDWR | O_CREAT | O_TRUNC), other;
	char *map, buf[16] = "";

	MUST(ftruncate(fd, LEN));
	map = map_file(fd, MAP_SHARED);
	memcpy(map + 5000, "stored", 6);
	CHECK(pread(fd, buf, 6, 5000) == 6 && memcmp(buf, "stored", 6) == 0);
	CHECK(msync(map, LEN, MS_SYNC) == 0);
	other = px_open("f", O_RDWR);
	CHECK(pread(other, buf, 6, 5000) == 6 && memcmp(buf, "stored", 6) == 0);
	CHECK(pwrite(other, "written", 7, 5002) == 7);
	CHECK(memcmp(map + 5000, "stwritten", 9) == 0);
	/* the daemon has it, not only the page cache */
	MUST(fsync(fd));
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	CHECK(pread(other, buf, 9, 5000) == 9);
	CHECK(memcmp(buf, "stwritten", 9) == 0);
	/* cut and grown again: zeros, in the mapping too */
	MUST(ftruncate(fd, 5001));
	MUST(ftruncate(fd, LEN));
	CHECK(map[5000] == 's' && map[5001] == 0 && map[6000] == 0);
	munmap(map, LEN);
	close(other);
	close(fd);
}

static void private(void)
{
	int fd = px_open("f", O_RDWR | O_CREAT | O_TRUNC);
	char *map, buf[8] = "";

	MUST(ftruncate(fd, LEN));
	MUST(pwrite(fd, "kept", 4, 0));
	map = map_file(fd, MAP_PRIVATE);
	memcpy(map, "mine", 4);
	CHECK(pread(fd, buf, 4, 0) == 4 && memcmp(buf, "kept", 4) == 0);
	CHECK(memcmp(map, "mine", 4) == 0);
	munmap(map, LEN);
	close(fd);
}

/* The tail of the last page is no part of the file. */
static void tail(void)
{
	int fd = px_open("f", O_RDWR | O_CREAT | O_TRUNC);
	char *map;

	MUST(write(fd, "end", 3));
	map = map_file(fd, MAP_SHARED);
	CHECK(map[3] == 0);
	map[3] = 'X';
	CHECK(msync(map, LEN, MS_SYNC) == 0);
	CHECK(px_fstat(fd).st_size == 3);
	munmap(map, LEN);
	close(fd);
}

int px_map(int argc, char **argv)
{
	(void)argv;
	if (argc != 0)
		return 2;
	shared();
	private();
	tail();
	MUST(unlink("f"));
	return 0;
}

/* Leaves NAME behind; the caller crashes and looks for the bytes. */
int px_map_sync(int argc, char **argv)
{
	char *map;
	int fd;

	if (argc != 1)
		return 2;
	fd = px_open(argv[0], O_RDWR | O_CREAT | O_TRUNC);
	MUST(ftruncate(fd, LEN));
	map = map_file(fd, MAP_SHARED);
	memcpy(map + 10000, "by store", 8);
	CHECK(msync(map, LEN, MS_SYNC) == 0);
	munmap(map, LEN);
	close(fd);
	return 0;
}
