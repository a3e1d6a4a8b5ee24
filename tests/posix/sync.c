/*
 * sync.c - calls that are durable when they return, one at a time for a
 * trace or a crash after it, and many at once.
 */
#include "posix.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static void block(char *buf, char c)
{
	memset(buf, c, 4096);
}

/*
 * NAME gets a plain block of 'a' and then, in a way that is durable, one of
 * 'b': with it all that was written before (case B27).
 */
static int durable(const char *kind, const char *name)
{
	char buf[4096];
	struct iovec v = { buf, sizeof(buf) };
	int flags = O_RDWR | O_CREAT | O_TRUNC, fd;

	if (strcmp(kind, "o_sync") == 0)
		flags |= O_SYNC;
	else if (strcmp(kind, "o_dsync") == 0)
		flags |= O_DSYNC;
	fd = px_open(name, O_RDWR | O_CREAT | O_TRUNC);
	block(buf, 'a');
	MUST(pwrite(fd, buf, sizeof(buf), 0));
	block(buf, 'b');
	if (flags & O_DSYNC) {
		close(fd);
		fd = px_open(name, flags & ~O_TRUNC);
		MUST(pwrite(fd, buf, sizeof(buf), 4096));
	} else if (strcmp(kind, "rwf_dsync") == 0) {
		MUST(pwritev2(fd, &v, 1, 4096, RWF_DSYNC));
	} else if (strcmp(kind, "rwf_sync") == 0) {
		MUST(pwritev2(fd, &v, 1, 4096, RWF_SYNC));
	} else if (strcmp(kind, "fsync") == 0) {
		MUST(pwrite(fd, buf, sizeof(buf), 4096));
		MUST(fsync(fd));
	} else if (strcmp(kind, "fdatasync") == 0) {
		MUST(pwrite(fd, buf, sizeof(buf), 4096));
		MUST(fdatasync(fd));
	} else {
		return 2;
	}
	close(fd);
	return 0;
}

/* An entry in DIR made durable by fsync of the directory alone. */
static int durable_entry(const char *name)
{
	int dir = px_open(".", O_RDONLY | O_DIRECTORY);

	MUST(mkdir(name, 0755));
	MUST(fsync(dir));
	close(dir);
	return 0;
}

int px_sync_call(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	if (strcmp(argv[0], "fsyncdir") == 0)
		return durable_entry(argv[1]);
	return durable(argv[0], argv[1]);
}

static void storm(int proc, int n)
{
	char name[64];
	int fd, i;

	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "m%d.%d", proc, i);
		fd = px_open(name, O_WRONLY | O_CREAT | O_EXCL);
		CHECK(write(fd, "mail", 4) == 4);
		CHECK(fsync(fd) == 0);
		close(fd);
	}
	px_end();
}

int px_sync_storm(int argc, char **argv)
{
	pid_t pid[64];
	int procs, n, i;

	if (argc != 2)
		return 2;
	procs = atoi(argv[0]);
	n = atoi(argv[1]);
	if (procs < 1 || procs > 64)
		return 2;
	for (i = 0; i < procs; i++) {
		pid[i] = px_fork();
		if (pid[i] == 0)
			storm(i, n);
	}
	for (i = 0; i < procs; i++)
		px_join(pid[i]);
	return 0;
}

/* Prints how many bytes went and the errno that ended it, or 0. */
int px_grow(int argc, char **argv)
{
	static char buf[65536];
	int64_t done = 0, want;
	ssize_t got = 0;
	int fd;

	if (argc != 2)
		return 2;
	want = atoll(argv[1]);
	memset(buf, 'g', sizeof(buf));
	fd = open(argv[0], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (fd < 0) {
		printf("0 %s\n", strerrorname_np(errno));
		return 0;
	}
	while (done < want) {
		size_t len = sizeof(buf);

		if (want - done < (int64_t)len)
			len = (size_t)(want - done);
		got = write(fd, buf, len);
		if (got < 0)
			break;
		done += got;
	}
	printf("%lld %s\n", (long long)done,
	       got < 0 ? strerrorname_np(errno) : "0");
	CHECK(close(fd) == 0);
	return 0;
}
