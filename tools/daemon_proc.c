/*
 * daemon_proc.c - background, limits, no core dumps, signals.
 */
#include "tools/daemon_proc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tools/lib_progress.h"
#include "tools/lib_say.h"

#ifndef PR_SET_IO_FLUSHER
#define PR_SET_IO_FLUSHER 57
#endif

/* Descriptors: ring, store, sockets; none a file of the spool. */
#define NOFILE 65536u
/* -1000 would exempt us wholly; -900 still beats every MTA process. */
#define OOM_SCORE "-900"

/* Parent: wait for the byte, or the child's end. */
static void wait_for_child(pid_t pid, int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	struct rs_progress progress;
	uint8_t code;
	ssize_t n;
	int status;

	rs_progress_init(&progress, "starting");
	while (poll(&pfd, 1, 200) <= 0)
		rs_progress_step(&progress, 0, 0);
	n = read(fd, &code, 1);
	rs_progress_end(&progress);
	if (n == 1)
		_exit(code);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status))
		_exit(WEXITSTATUS(status));
	rs_say("the daemon died at its start from signal %d", WTERMSIG(status));
	_exit(RS_EXIT_FAILED);
}

int rs_proc_background(int *ret_status)
{
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	fflush(NULL);
	pid = fork();
	if (pid < 0) {
		close(fds[0]);
		close(fds[1]);
		return -errno;
	}
	if (pid > 0) {
		close(fds[1]);
		wait_for_child(pid, fds[0]);
	}
	close(fds[0]);
	setsid();
	*ret_status = fds[1];
	return 0;
}

void rs_proc_ready(int status, int code)
{
	uint8_t byte = (uint8_t)code;
	RS_AUTO_FD int null = -1;
	ssize_t n;

	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
	}
	/* a parent that was killed has no use for it */
	n = write(status, &byte, 1);
	(void)n;
	close(status);
}

static void put(const char *path, const char *text)
{
	RS_AUTO_FD int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return;
	n = write(fd, text, strlen(text));
	(void)n; /* a container may forbid it: tolerated */
}

static void raise_limit(__rlimit_resource_t what, rlim_t want)
{
	struct rlimit lim;

	if (getrlimit(what, &lim))
		return;
	if (lim.rlim_cur != RLIM_INFINITY && lim.rlim_cur < want) {
		lim.rlim_cur = want;
		if (lim.rlim_max != RLIM_INFINITY && lim.rlim_max < want)
			lim.rlim_max = want;
		setrlimit(what, &lim);
	}
}

void rs_proc_harden(void)
{
	const struct rlimit none = { 0, 0 };

	umask(077);
	if (chdir("/"))
		rs_say("cannot change to '/': %s", strerror(errno));
	raise_limit(RLIMIT_NOFILE, NOFILE);
	raise_limit(RLIMIT_MEMLOCK, RLIM_INFINITY);
	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	/* memory reclaim must not wait for us while we wait for memory */
	prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0);
	put("/proc/self/oom_score_adj", OOM_SCORE);
}

int rs_proc_signals(void)
{
	sigset_t set;
	int fd;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}
