/* util.c - checks, files and processes for the commands of posixhelp. */
#include "posix.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int failures;

int px_failures(void)
{
	return failures;
}

void px_check(bool ok, const char *what, const char *file, int line)
{
	int err = errno;

	if (ok)
		return;
	failures++;
	fprintf(stderr, "%s:%d: not so: %s (errno %d, %s)\n", file, line, what,
		err, strerror(err));
}

long px_must(long ret, const char *what, const char *file, int line)
{
	if (ret < 0) {
		fprintf(stderr, "%s:%d: %s: %s\n", file, line, what,
			strerror(errno));
		exit(1);
	}
	return ret;
}

void px_fails(long ret, int err, const char *what, const char *file, int line)
{
	if (ret < 0 && errno == err)
		return;
	failures++;
	fprintf(stderr, "%s:%d: %s: %s instead of %s\n", file, line, what,
		ret < 0 ? strerror(errno) : "success", strerror(err));
}

void px_die(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fprintf(stderr, "posixhelp: ");
	vfprintf(stderr, fmt, args);
	fprintf(stderr, "\n");
	va_end(args);
	exit(1);
}

int px_open(const char *name, int flags)
{
	int fd = open(name, flags | O_CLOEXEC, 0644);

	if (fd < 0)
		px_die("open '%s': %s", name, strerror(errno));
	return fd;
}

void px_make(const char *name, const char *text)
{
	int fd = px_open(name, O_WRONLY | O_CREAT | O_TRUNC);

	MUST(write(fd, text, strlen(text)));
	close(fd);
}

struct stat px_stat(const char *name)
{
	struct stat st;

	if (lstat(name, &st) < 0)
		px_die("lstat '%s': %s", name, strerror(errno));
	return st;
}

struct stat px_fstat(int fd)
{
	struct stat st;

	MUST(fstat(fd, &st));
	return st;
}

bool px_exists(const char *name)
{
	struct stat st;

	return lstat(name, &st) == 0;
}

bool px_same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

bool px_later(struct timespec a, struct timespec b)
{
	return a.tv_sec > b.tv_sec ||
	       (a.tv_sec == b.tv_sec && a.tv_nsec > b.tv_nsec);
}

/* Kernels before 6.13 stamp files with a clock of up to 10 ms a tick. */
void px_tick(void)
{
	struct timespec t = { 0, 12000000 };

	while (nanosleep(&t, &t) < 0)
		;
}

uint64_t px_rand(uint64_t *state)
{
	uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

pid_t px_fork(void)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	MUST(pid);
	if (pid == 0)
		failures = 0;
	return pid;
}

void px_join(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			px_die("waitpid: %s", strerror(errno));
	}
	if (status != 0) {
		failures++;
		fprintf(stderr, "posixhelp: a child ended with 0x%x\n", status);
	}
}

void px_end(void)
{
	fflush(NULL);
	_exit(failures ? 1 : 0);
}

void px_as(uid_t uid, gid_t gid, void (*fn)(void))
{
	pid_t pid = px_fork();

	if (pid == 0) {
		MUST(setgroups(0, NULL));
		MUST(setresgid(gid, gid, gid));
		MUST(setresuid(uid, uid, uid));
		fn();
		px_end();
	}
	px_join(pid);
}
