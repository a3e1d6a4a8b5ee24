/*
 * dir.c - directories: many entries, scans while names come and go, cookies
 * (cases A21, B33).
 */
#include "posix.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct entry {
	uint64_t ino;
	int64_t off;
	uint16_t reclen;
	uint8_t type;
	char name[];
};

static void name_of(char *buf, size_t size, const char *prefix, uint64_t i)
{
	snprintf(buf, size, "%s%06llu", prefix, (unsigned long long)i);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Prints the microseconds that one took, for the caller to compare. */
static void print_each(double begin, uint64_t n)
{
	printf("%.1f\n", (now() - begin) * 1e6 / (double)n);
}

int px_mkfiles(int argc, char **argv)
{
	double begin = now();
	char name[64];
	uint64_t i, n;

	if (argc != 2)
		return 2;
	n = (uint64_t)atoll(argv[0]);
	for (i = 0; i < n; i++) {
		name_of(name, sizeof(name), argv[1], i);
		close(px_open(name, O_WRONLY | O_CREAT | O_EXCL));
	}
	print_each(begin, n);
	return 0;
}

int px_rmfiles(int argc, char **argv)
{
	double begin = now();
	char name[64];
	uint64_t i, n;

	if (argc != 2)
		return 2;
	n = (uint64_t)atoll(argv[0]);
	for (i = 0; i < n; i++) {
		name_of(name, sizeof(name), argv[1], i);
		MUST(unlink(name));
	}
	print_each(begin, n);
	return 0;
}

int px_statfiles(int argc, char **argv)
{
	double begin = now();
	uint64_t rng = 1, i, n, count;
	char name[64];

	if (argc != 3)
		return 2;
	n = (uint64_t)atoll(argv[0]);
	count = (uint64_t)atoll(argv[2]);
	for (i = 0; i < count; i++) {
		name_of(name, sizeof(name), argv[1], px_rand(&rng) % n);
		CHECK(S_ISREG(px_stat(name).st_mode));
	}
	print_each(begin, count);
	return 0;
}

static void check_entry(const struct dirent *e)
{
	static const struct {
		mode_t mode;
		unsigned char type;
	} types[] = { { S_IFREG, DT_REG },   { S_IFDIR, DT_DIR },
		      { S_IFLNK, DT_LNK },   { S_IFIFO, DT_FIFO },
		      { S_IFSOCK, DT_SOCK }, { S_IFCHR, DT_CHR },
		      { S_IFBLK, DT_BLK } };
	struct stat st = px_stat(e->d_name);
	size_t i;

	CHECK(st.st_ino == e->d_ino);
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if ((st.st_mode & S_IFMT) == types[i].mode)
			CHECK(e->d_type == types[i].type);
	}
}

int px_list(int argc, char **argv)
{
	DIR *dir = opendir(".");
	struct dirent *e;
	long count = 0;
	bool top;

	(void)argv;
	if (argc != 0)
		return 2;
	if (!dir)
		px_die("opendir");
	top = px_stat("..").st_dev != px_stat(".").st_dev;
	while ((e = readdir(dir))) {
		/* what is above a mount isn't the filesystem's to know */
		if (strcmp(e->d_name, "..") != 0 || !top)
			check_entry(e);
		count += strcmp(e->d_name, ".") != 0 &&
			 strcmp(e->d_name, "..") != 0;
	}
	closedir(dir);
	printf("%ld\n", count);
	return 0;
}

/* What the queue manager does: read some, rename each away and back. */
int px_scan_rename(int argc, char **argv)
{
	static uint64_t aligned[1024 / 8];
	uint8_t *buf = (uint8_t *)aligned;
	unsigned char *seen;
	long got, at, visits = 0, n, i;
	int fd;

	if (argc != 1)
		return 2;
	n = atol(argv[0]);
	seen = calloc((size_t)n, 1);
	for (i = 0; i < n; i++) {
		char name[64];

		name_of(name, sizeof(name), "s", (uint64_t)i);
		px_make(name, "");
	}
	fd = px_open(".", O_RDONLY | O_DIRECTORY);
	while ((got = syscall(SYS_getdents64, fd, buf, sizeof(aligned))) > 0) {
		for (at = 0; at < got;
		     at += ((struct entry *)(void *)(buf + at))->reclen) {
			struct entry *e = (struct entry *)(void *)(buf + at);

			if (e->name[0] != 's')
				continue;
			visits++;
			seen[atol(e->name + 1)] = 1;
			MUST(rename(e->name, "t"));
			MUST(rename("t", e->name));
		}
		if (visits > 20 * n)
			px_die("the scan doesn't end: %ld visits", visits);
	}
	MUST(got);
	for (i = 0; i < n; i++)
		CHECK(seen[i]);
	printf("%ld names, %ld visits\n", n, visits);
	free(seen);
	close(fd);
	for (i = 0; i < n; i++) {
		char name[64];

		name_of(name, sizeof(name), "s", (uint64_t)i);
		MUST(unlink(name));
	}
	return 0;
}

static volatile sig_atomic_t asked;

static void on_term(int sig)
{
	(void)sig;
	asked = 1;
}

static void churn(uint64_t seed)
{
	char a[64], b[64];
	int fd;

	while (!asked) {
		uint64_t dice = px_rand(&seed);

		name_of(a, sizeof(a), "tmp", dice % 300);
		name_of(b, sizeof(b), "tmp", dice / 300 % 300);
		switch (dice % 7) {
		case 0:
		case 1:
			fd = open(a, O_CREAT | O_WRONLY, 0600);
			if (fd >= 0)
				close(fd);
			break;
		case 2:
		case 3:
			CHECK(unlink(a) == 0 || errno == ENOENT);
			break;
		default:
			CHECK(rename(a, b) == 0 || errno == ENOENT);
		}
	}
	px_end();
}

/* One whole scan: each name that never changed is seen exactly once. */
static void scan_once(long n, size_t bufsize)
{
	static uint64_t aligned[32768 / 8];
	uint8_t *buf = (uint8_t *)aligned;
	unsigned char *seen = calloc((size_t)n, 1);
	int fd = px_open(".", O_RDONLY | O_DIRECTORY);
	long got, at, i;

	while ((got = syscall(SYS_getdents64, fd, buf, bufsize)) > 0) {
		for (at = 0; at < got;
		     at += ((struct entry *)(void *)(buf + at))->reclen) {
			struct entry *e = (struct entry *)(void *)(buf + at);

			if (strncmp(e->name, "keep", 4) == 0)
				seen[atol(e->name + 4)]++;
		}
	}
	MUST(got);
	for (i = 0; i < n; i++)
		CHECK(seen[i] == 1);
	free(seen);
	close(fd);
}

int px_scan_churn(int argc, char **argv)
{
	pid_t pid[2];
	double end;
	char name[64];
	long n, i, scans = 0;

	if (argc != 2)
		return 2;
	n = atol(argv[0]);
	for (i = 0; i < n; i++) {
		name_of(name, sizeof(name), "keep", (uint64_t)i);
		px_make(name, "");
	}
	signal(SIGTERM, on_term);
	for (i = 0; i < 2; i++) {
		pid[i] = px_fork();
		if (pid[i] == 0)
			churn((uint64_t)i + 1);
	}
	end = now() + atof(argv[1]);
	while (now() < end && px_failures() == 0) {
		scan_once(n, scans % 2 ? 1024 : 32768);
		scans++;
	}
	for (i = 0; i < 2; i++) {
		MUST(kill(pid[i], SIGTERM));
		px_join(pid[i]);
	}
	printf("%ld scans\n", scans);
	for (i = 0; i < n; i++) {
		name_of(name, sizeof(name), "keep", (uint64_t)i);
		MUST(unlink(name));
	}
	for (i = 0; i < 300; i++) {
		name_of(name, sizeof(name), "tmp", (uint64_t)i);
		CHECK(unlink(name) == 0 || errno == ENOENT);
	}
	return 0;
}

/* A position that telldir gave leads back to the same entry. */
static void seek_all(DIR *dir, long n)
{
	long *where = calloc((size_t)n + 3, sizeof(long));
	char(*names)[32] = calloc((size_t)n + 2, sizeof(*names));
	uint64_t rng = 7;
	struct dirent *e;
	long count = 0, i;

	for (;;) {
		where[count] = telldir(dir);
		e = readdir(dir);
		if (!e || count == n + 2)
			break;
		snprintf(names[count++], sizeof(*names), "%.31s", e->d_name);
	}
	CHECK(count == n + 2);
	for (i = 0; i < 500; i++) {
		long at = (long)(px_rand(&rng) % (uint64_t)count);

		seekdir(dir, where[at]);
		e = readdir(dir);
		CHECK(e && strcmp(e->d_name, names[at]) == 0);
	}
	/* also when the entries before the position have gone meanwhile */
	seekdir(dir, where[count / 2]);
	for (i = 0; i < count / 2; i++) {
		if (names[i][0] == 'k')
			MUST(unlink(names[i]));
	}
	for (i = count / 2; i < count; i++) {
		e = readdir(dir);
		CHECK(e && strcmp(e->d_name, names[i]) == 0);
	}
	CHECK(!readdir(dir));
	for (i = count / 2; i < count; i++) {
		if (names[i][0] == 'k')
			MUST(unlink(names[i]));
	}
	/* rewinddir shows what is there now */
	rewinddir(dir);
	for (i = 0; readdir(dir); i++)
		;
	CHECK(i == 2);
	free(where);
	free(names);
}

int px_seekdir(int argc, char **argv)
{
	char name[64];
	DIR *dir;
	long n, i;

	if (argc != 1)
		return 2;
	n = atol(argv[0]);
	MUST(mkdir("dir", 0755));
	MUST(chdir("dir"));
	for (i = 0; i < n; i++) {
		name_of(name, sizeof(name), "k", (uint64_t)i);
		px_make(name, "");
	}
	dir = opendir(".");
	if (!dir)
		px_die("opendir");
	seek_all(dir, n);
	closedir(dir);
	MUST(chdir(".."));
	MUST(rmdir("dir"));
	return 0;
}
