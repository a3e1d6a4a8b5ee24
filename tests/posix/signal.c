/*
 * signal.c - calls under a storm of signals (case B26): none comes back with
 * EINTR, none is half done.
 */
#include "posix.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static void no_op(int sig)
{
	(void)sig;
}

static void one(int i)
{
	char name[32], buf[2000];
	int fd;

	snprintf(name, sizeof(name), "q%d", i);
	fd = open(name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0)
		px_die("create '%s': %s", name, strerror(errno));
	memset(buf, 'm', sizeof(buf));
	CHECK(write(fd, buf, sizeof(buf)) == sizeof(buf));
	CHECK(fsync(fd) == 0);
	CHECK(close(fd) == 0);
	CHECK(rename(name, "moved") == 0);
	CHECK(px_stat("moved").st_size == sizeof(buf));
	CHECK(mkdir("dir", 0700) == 0);
	CHECK(link("moved", "dir/second") == 0);
	CHECK(unlink("dir/second") == 0);
	CHECK(rmdir("dir") == 0);
	CHECK(symlink("t", "s") == 0);
	CHECK(unlink("s") == 0);
	CHECK(truncate("moved", 10) == 0);
	CHECK(chmod("moved", 0700) == 0);
	CHECK(unlink("moved") == 0);
}

int px_signals(int argc, char **argv)
{
	struct itimerval every = { { 0, 1000 }, { 0, 1000 } };
	struct sigaction act = { .sa_handler = no_op };
	int i, n;

	if (argc != 1)
		return 2;
	n = atoi(argv[0]);
	sigaction(SIGALRM, &act, NULL); /* no SA_RESTART */
	setitimer(ITIMER_REAL, &every, NULL);
	for (i = 0; i < n && px_failures() == 0; i++)
		one(i);
	memset(&every, 0, sizeof(every));
	setitimer(ITIMER_REAL, &every, NULL);
	return 0;
}
