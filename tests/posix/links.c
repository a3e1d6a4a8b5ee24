/* links.c - hard links: one inode, one set of attributes (case B10). */
#include "posix.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NAMES 20

static void name_of(char *buf, size_t size, uint64_t i)
{
	snprintf(buf, size, "l%llu", (unsigned long long)i);
}

/* After each change by one name every other one shows it at once. */
static void compare(uint64_t *rng)
{
	char a[32], b[32];
	struct stat x, y;

	name_of(a, sizeof(a), px_rand(rng) % NAMES);
	name_of(b, sizeof(b), px_rand(rng) % NAMES);
	x = px_stat(a);
	y = px_stat(b);
	CHECK(x.st_ino == y.st_ino);
	CHECK(x.st_size == y.st_size);
	CHECK(x.st_mode == y.st_mode);
	CHECK(x.st_nlink == NAMES && y.st_nlink == NAMES);
	CHECK(px_same_time(x.st_mtim, y.st_mtim));
	CHECK(px_same_time(x.st_ctim, y.st_ctim));
}

int px_link_pairs(int argc, char **argv)
{
	char name[32];
	uint64_t rng, i, size = 1;
	int n, fd;

	if (argc != 2)
		return 2;
	n = atoi(argv[0]);
	rng = (uint64_t)atoll(argv[1]);
	px_make("l0", "x");
	for (i = 1; i < NAMES; i++) {
		name_of(name, sizeof(name), i);
		MUST(link("l0", name));
	}
	while (n-- > 0) {
		name_of(name, sizeof(name), px_rand(&rng) % NAMES);
		if (px_rand(&rng) % 2) {
			fd = px_open(name, O_WRONLY | O_APPEND);
			MUST(write(fd, "more", 4));
			close(fd);
			size += 4;
		} else {
			MUST(chmod(name,
				   (mode_t)(0400 | px_rand(&rng) % 0100)));
		}
		compare(&rng);
		CHECK(px_stat("l0").st_size == (off_t)size);
	}
	for (i = 0; i < NAMES; i++) {
		name_of(name, sizeof(name), i);
		CHECK(px_stat(name).st_nlink == NAMES - i);
		MUST(unlink(name));
	}
	return 0;
}

/* N names in all; they stay, for a look after a crash. */
int px_links(int argc, char **argv)
{
	char name[32];
	uint64_t i, n;

	if (argc != 1)
		return 2;
	n = (uint64_t)atoll(argv[0]);
	px_make("l0", "x");
	for (i = 1; i < n; i++) {
		name_of(name, sizeof(name), i);
		if (link("l0", name) < 0) {
			/* tmpfs has no limit, ext4 65,000 */
			CHECK(errno == EMLINK);
			printf("EMLINK at %llu\n", (unsigned long long)i);
			return 0;
		}
	}
	CHECK(px_stat("l0").st_nlink == n);
	name_of(name, sizeof(name), n - 1);
	CHECK(px_stat(name).st_nlink == n);
	return 0;
}
