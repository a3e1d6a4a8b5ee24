/*
 * ll_selftest.c - proof at start that fsync and fsyncdir reach us.
 *
 * A kernel that has once seen ENOSYS for FSYNC reports success for ever
 * without asking: the one mistake that loses mail silently. So before the
 * mount counts as serving, a child process opens a file and the root
 * directory through the kernel, syncs both, and we look whether the two
 * requests came.
 *
 * The file is not in the tree: its random name is answered by LOOKUP while
 * the test runs, with a node id that no inode has. The child is forked
 * before threads and LMDB exist and waits at a pipe; when we die it reads
 * the end and goes too.
 */
#include "fs/ll_p.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define TEST_SECONDS 10u
#define POLL_MS 2

/* Exit status: 0, or the step that failed. */
static int child_steps(const char *mnt, const char *name)
{
	int dir, fd;

	dir = open(mnt, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return 1;
	fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 2;
	if (fsync(fd))
		return 3;
	if (fsync(dir))
		return 4;
	return 0;
}

static void child_main(const char *mnt, const char *name, int go)
{
	char byte;
	ssize_t n;

	do {
		n = read(go, &byte, 1);
	} while (n < 0 && errno == EINTR);
	_exit(n == 1 ? child_steps(mnt, name) : 0);
}

static int draw_name(struct rs_ll_test *test)
{
	uint8_t secret[16];
	size_t i, len;

	if (getrandom(secret, sizeof(secret), 0) != (ssize_t)sizeof(secret))
		return -EIO;
	len = (size_t)snprintf(test->name, sizeof(test->name), ".rs-");
	for (i = 0; i < sizeof(secret); i++)
		len += (size_t)snprintf(test->name + len,
					sizeof(test->name) - len, "%02x",
					secret[i]);
	return 0;
}

int rs_ll_test_fork(struct rs_ll *ll)
{
	struct rs_ll_test *test = &ll->test;
	int fds[2], err;

	err = draw_name(test);
	if (err)
		return err;
	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	test->child = fork();
	if (test->child < 0) {
		err = -errno;
		close(fds[0]);
		close(fds[1]);
		return err;
	}
	if (test->child == 0) {
		close(fds[1]);
		child_main(ll->cfg.mnt, test->name, fds[0]);
	}
	close(fds[0]);
	test->go = fds[1];
	return 0;
}

static void nap(void)
{
	struct timespec ts = { .tv_nsec = POLL_MS * 1000000 };

	nanosleep(&ts, NULL);
}

/* Wait for the child; its wait status, or -ETIMEDOUT. */
static int reap(struct rs_ll_test *test)
{
	uint64_t end = rs_ll_now_ms() + TEST_SECONDS * 1000;
	int status;
	pid_t pid;

	for (;;) {
		pid = waitpid(test->child, &status, WNOHANG);
		if (pid == test->child)
			break;
		if (pid < 0 && errno != EINTR)
			return -errno;
		if (rs_ll_now_ms() > end)
			return -ETIMEDOUT;
		nap();
	}
	test->child = -1;
	return status;
}

int rs_ll_test_run(struct rs_ll *ll)
{
	struct rs_ll_test *test = &ll->test;
	ssize_t n;
	int status;

	atomic_store(&test->open, 1);
	n = write(test->go, "g", 1);
	status = n == 1 ? reap(test) : -EPIPE;
	atomic_store(&test->open, 0);
	if (status < 0)
		return status;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return -EIO;
	if (!atomic_load(&test->fsync) || !atomic_load(&test->fsyncdir))
		return -EPROTO;
	return 0;
}

/*
 * A child that hangs in the mount can be waited for only after the
 * connection is gone, so this comes last in rs_ll_free().
 */
void rs_ll_test_release(struct rs_ll_test *test)
{
	if (test->go >= 0)
		close(test->go);
	test->go = -1;
	if (test->child > 0) {
		kill(test->child, SIGKILL);
		while (waitpid(test->child, NULL, 0) < 0 && errno == EINTR)
			;
	}
	test->child = -1;
}

int rs_ll_test_is(struct rs_ll *ll, uint64_t parent, const char *name)
{
	return parent == RS_INO_ROOT && atomic_load(&ll->test.open) &&
	       !strcmp(name, ll->test.name);
}

void rs_ll_test_stat(struct rs_stat *ret_st)
{
	memset(ret_st, 0, sizeof(*ret_st));
	ret_st->ino = RS_LL_TEST_INO;
	ret_st->attr.mode = S_IFREG | 0600;
	ret_st->attr.uid = geteuid();
	ret_st->attr.gid = getegid();
	ret_st->attr.nlink = 1;
}
