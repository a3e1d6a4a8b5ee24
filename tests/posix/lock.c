/* lock.c - locks between processes (cases B19, A17). */
#include "posix.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static int set_lock(int fd, int cmd, short type, off_t at, off_t len)
{
	struct flock lock = { .l_type = type,
			      .l_whence = SEEK_SET,
			      .l_start = at,
			      .l_len = len };

	return fcntl(fd, cmd, &lock);
}

static pid_t owner(int fd, off_t at)
{
	struct flock lock = { .l_type = F_WRLCK,
			      .l_whence = SEEK_SET,
			      .l_start = at,
			      .l_len = 1 };

	MUST(fcntl(fd, F_GETLK, &lock));
	return lock.l_type == F_UNLCK ? 0 : lock.l_pid;
}

/* A child that takes both kinds of lock, says so and waits to be killed. */
static pid_t holder(const char *name)
{
	int ready[2];
	pid_t pid;
	char c;

	MUST(pipe(ready));
	pid = px_fork();
	if (pid == 0) {
		int fd = px_open(name, O_RDWR);

		MUST(set_lock(fd, F_SETLK, F_WRLCK, 0, 0));
		MUST(flock(fd, LOCK_EX | LOCK_NB));
		MUST(write(ready[1], "r", 1));
		for (;;)
			pause();
	}
	close(ready[1]);
	if (read(ready[0], &c, 1) != 1)
		px_die("the holder of the lock ended");
	close(ready[0]);
	return pid;
}

static void end_holder(pid_t pid)
{
	int status;

	MUST(kill(pid, SIGKILL));
	MUST(waitpid(pid, &status, 0));
}

static void freed_on_death(void)
{
	int fd = px_open("f", O_RDWR);
	pid_t pid = holder("f");

	CHECK(owner(fd, 0) == pid);
	FAILS(EAGAIN, set_lock(fd, F_SETLK, F_RDLCK, 0, 10));
	FAILS(EAGAIN, set_lock(fd, F_OFD_SETLK, F_WRLCK, 0, 10));
	FAILS(EWOULDBLOCK, flock(fd, LOCK_SH | LOCK_NB));
	end_holder(pid);
	CHECK(owner(fd, 0) == 0);
	CHECK(set_lock(fd, F_SETLK, F_WRLCK, 0, 0) == 0);
	CHECK(flock(fd, LOCK_EX | LOCK_NB) == 0);
	close(fd);
}

/* Processes that take turns; the counter in the file must come out right. */
static void turns(int cmd)
{
	int fd = px_open("count", O_RDWR), i;
	char buf[9] = "";

	for (i = 0; i < 50; i++) {
		while (set_lock(fd, cmd, F_WRLCK, 0, 0) < 0) {
			if (errno != EINTR)
				px_die("lock: %s", strerror(errno));
		}
		MUST(pread(fd, buf, 8, 0));
		snprintf(buf, sizeof(buf), "%07u\n",
			 ((unsigned)strtol(buf, NULL, 10) + 1) % 10000000);
		MUST(pwrite(fd, buf, 8, 0));
		MUST(set_lock(fd, cmd == F_SETLKW ? F_SETLK : F_OFD_SETLK,
			      F_UNLCK, 0, 0));
	}
	close(fd);
	px_end();
}

static void no_op(int sig)
{
	(void)sig;
}

static void many(int cmd, bool alarms)
{
	struct itimerval every = { { 0, 10000 }, { 0, 10000 } };
	struct sigaction act = { .sa_handler = no_op };
	char buf[9] = "";
	pid_t pid[8];
	int i, fd;

	px_make("count", "0000000\n");
	for (i = 0; i < 8; i++) {
		pid[i] = px_fork();
		if (pid[i] == 0) {
			sigaction(SIGALRM, &act, NULL); /* no SA_RESTART */
			if (alarms)
				setitimer(ITIMER_REAL, &every, NULL);
			turns(cmd);
		}
	}
	for (i = 0; i < 8; i++)
		px_join(pid[i]);
	fd = px_open("count", O_RDONLY);
	MUST(read(fd, buf, 8));
	CHECK(strtol(buf, NULL, 10) == 8 * 50);
	close(fd);
	MUST(unlink("count"));
}

/* ABBA: the second to ask for the other's lock gets EDEADLK. */
static void deadlock(void)
{
	int fd = px_open("f", O_RDWR), up[2];
	pid_t pid;
	char c;

	MUST(pipe(up));
	MUST(set_lock(fd, F_SETLK, F_WRLCK, 0, 1));
	pid = px_fork();
	if (pid == 0) {
		MUST(set_lock(fd, F_SETLK, F_WRLCK, 1, 1));
		MUST(write(up[1], "r", 1));
		/* waits for us; gets it when we give up on EDEADLK */
		CHECK(set_lock(fd, F_SETLKW, F_WRLCK, 0, 1) == 0);
		px_end();
	}
	MUST(read(up[0], &c, 1));
	while (owner(fd, 1) != pid)
		px_tick();
	px_tick();
	px_tick();
	/* the child is on its way into the wait: then it's a deadlock */
	FAILS(EDEADLK, set_lock(fd, F_SETLKW, F_WRLCK, 1, 1));
	MUST(set_lock(fd, F_SETLK, F_UNLCK, 0, 1));
	px_join(pid);
	close(up[0]);
	close(up[1]);
	close(fd);
}

static void closed(void)
{
	int fd = px_open("f", O_RDWR), other = px_open("f", O_RDONLY);
	pid_t pid;

	MUST(set_lock(fd, F_SETLK, F_WRLCK, 0, 0));
	/* closing any descriptor of the file drops the process's locks */
	close(other);
	pid = px_fork();
	if (pid == 0) {
		CHECK(set_lock(fd, F_SETLK, F_WRLCK, 0, 0) == 0);
		px_end();
	}
	px_join(pid);
	/* but not an OFD lock */
	other = px_open("f", O_RDWR);
	MUST(set_lock(fd, F_OFD_SETLK, F_WRLCK, 0, 0));
	close(px_open("f", O_RDONLY));
	FAILS(EAGAIN, set_lock(other, F_OFD_SETLK, F_WRLCK, 0, 0));
	close(fd);
	CHECK(set_lock(other, F_OFD_SETLK, F_WRLCK, 0, 0) == 0);
	close(other);
}

int px_locks(int argc, char **argv)
{
	(void)argv;
	if (argc != 0)
		return 2;
	px_make("f", "lock me");
	freed_on_death();
	closed();
	deadlock();
	many(F_SETLKW, false);
	many(F_OFD_SETLKW, false);
	many(F_SETLKW, true);
	many(F_OFD_SETLKW, true);
	MUST(unlink("f"));
	return 0;
}

/* Exim: the lock on -D holds whatever happens to its name (A17). */
int px_lock_move(int argc, char **argv)
{
	pid_t pid;
	int fd;

	(void)argv;
	if (argc != 0)
		return 2;
	px_make("X-D", "body");
	px_make("other", "other");
	pid = holder("X-D");
	fd = px_open("X-D", O_RDWR);
	MUST(write(fd, "more", 4));
	MUST(chmod("X-D", 0600));
	CHECK(owner(fd, 0) == pid);
	MUST(rename("X-D", "Y-D"));
	close(fd);
	fd = px_open("Y-D", O_RDWR);
	CHECK(owner(fd, 0) == pid);
	FAILS(EWOULDBLOCK, flock(fd, LOCK_SH | LOCK_NB));
	close(fd);
	MUST(link("Y-D", "Z-D"));
	fd = px_open("Z-D", O_RDWR);
	CHECK(owner(fd, 0) == pid);
	close(fd);
	/* another file over the name: that one isn't locked */
	MUST(rename("other", "Y-D"));
	fd = px_open("Y-D", O_RDWR);
	CHECK(owner(fd, 0) == 0);
	CHECK(flock(fd, LOCK_EX | LOCK_NB) == 0);
	close(fd);
	end_holder(pid);
	MUST(unlink("Y-D"));
	MUST(unlink("Z-D"));
	return 0;
}
