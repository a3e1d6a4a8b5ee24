/*
 * lib_load.c - processes that accept and remove messages; what they measure
 * is in memory that they share with the parent.
 */
#include "tools/lib_load.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#define PIECE 4096u
#define SAMPLES_MAX 100000u /* of a process; more are counted, not timed */
#define FLUSHES 200u
#define FLUSH_NS UINT64_C(2000000000) /* no more of them after so long */

struct account {
	uint64_t messages;
	uint32_t n; /* samples */
	int err;
	char call[12];
	uint32_t us[SAMPLES_MAX];
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * UINT64_C(1000000000) +
	       (uint64_t)ts.tv_nsec;
}

static int failed(struct account *acc, const char *call)
{
	snprintf(acc->call, sizeof(acc->call), "%s", call);
	return -errno;
}

static int write_all(struct account *acc, int fd, unsigned int size)
{
	static const unsigned char text[PIECE] = "Received: from client";
	unsigned int off, part;
	ssize_t n;

	for (off = 0; off < size; off += part) {
		part = size - off < PIECE ? size - off : PIECE;
		n = write(fd, text, part);
		if (n >= 0 && n != (ssize_t)part) {
			errno = ENOSPC;
			n = -1;
		}
		if (n < 0)
			return failed(acc, "write");
	}
	return 0;
}

static int read_all(struct account *acc, const char *path)
{
	RS_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	unsigned char buf[PIECE];
	ssize_t n;

	if (fd < 0)
		return failed(acc, "open");
	do
		n = read(fd, buf, sizeof(buf));
	while (n > 0);
	return n < 0 ? failed(acc, "read") : 0;
}

static int accept_one(struct account *acc, unsigned int size, const char *from,
		      const char *to)
{
	RS_AUTO_FD int fd =
		open(from, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	uint64_t begin;
	int err;

	if (fd < 0)
		return failed(acc, "create");
	err = write_all(acc, fd, size);
	if (err)
		return err;
	begin = now_ns();
	if (fsync(fd))
		return failed(acc, "fsync");
	if (rename(from, to))
		return failed(acc, "rename");
	if (acc->n < SAMPLES_MAX)
		acc->us[acc->n++] = (uint32_t)((now_ns() - begin) / 1000);
	return 0;
}

static int one_message(struct account *acc, unsigned int size, const char *from,
		       const char *to)
{
	int err;

	err = accept_one(acc, size, from, to);
	if (!err)
		err = read_all(acc, to);
	if (!err && unlink(to))
		err = failed(acc, "unlink");
	return err;
}

static void work(const struct rs_load_cfg *cfg, unsigned int proc,
		 struct account *acc)
{
	uint64_t end = now_ns() + cfg->seconds * UINT64_C(1000000000);
	char from[40], to[40];

	snprintf(from, sizeof(from), "incoming/%u", proc);
	snprintf(to, sizeof(to), "active/%u", proc);
	while (!acc->err && now_ns() < end && !(cfg->stop && *cfg->stop)) {
		acc->err = one_message(acc, cfg->size, from, to);
		acc->messages += !acc->err;
	}
}

static int start_all(const struct rs_load_cfg *cfg, struct account *all)
{
	pid_t parent = getpid(), pid;
	unsigned int i;

	for (i = 0; i < cfg->procs; i++) {
		pid = fork();
		if (pid < 0)
			return -errno;
		if (pid)
			continue;
		/* bounded in time anyway, but not without somebody to see */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent || chdir(cfg->dir))
			_exit(1);
		work(cfg, i, &all[i]);
		_exit(0);
	}
	return 0;
}

static int wait_all(void)
{
	int err = 0, status;
	pid_t pid;

	while ((pid = wait(&status)) > 0 || errno == EINTR)
		if (pid > 0 && (!WIFEXITED(status) || WEXITSTATUS(status)))
			err = -EIO;
	return err;
}

static int compare_us(const void *a, const void *b)
{
	uint32_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return x < y ? -1 : x > y;
}

static int sum_times(const struct account *all, unsigned int procs,
		     struct rs_load_result *ret)
{
	RS_AUTO_FREE uint32_t *us = NULL;
	size_t n = 0, total = 0;
	unsigned int i;

	for (i = 0; i < procs; i++)
		total += all[i].n;
	if (!total)
		return 0;
	us = calloc(total, sizeof(*us));
	if (!us)
		return -ENOMEM;
	for (i = 0; i < procs; i++) {
		memcpy(us + n, all[i].us, all[i].n * sizeof(*us));
		n += all[i].n;
	}
	qsort(us, n, sizeof(*us), compare_us);
	ret->p50_us = us[n / 2];
	ret->p99_us = us[n * 99 / 100];
	ret->max_us = us[n - 1];
	return 0;
}

static int sum(const struct rs_load_cfg *cfg, const struct account *all,
	       struct rs_load_result *ret)
{
	static char call[12];
	unsigned int i;

	for (i = 0; i < cfg->procs; i++) {
		ret->messages += all[i].messages;
		if (!all[i].err)
			continue;
		memcpy(call, all[i].call, sizeof(call));
		ret->call = call;
		return all[i].err;
	}
	return sum_times(all, cfg->procs, ret);
}

static int make_dir(const char *dir, const char *name)
{
	RS_AUTO_FREE char *path = NULL;

	if (asprintf(&path, "%s/%s", dir, name) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	return mkdir(path, 0700) ? -errno : 0;
}

int rs_load_run(const struct rs_load_cfg *cfg, struct rs_load_result *ret)
{
	size_t len = cfg->procs * sizeof(struct account);
	struct account *all;
	uint64_t begin;
	int err, died;

	memset(ret, 0, sizeof(*ret));
	ret->call = "mkdir";
	err = make_dir(cfg->dir, "incoming");
	if (!err)
		err = make_dir(cfg->dir, "active");
	if (err)
		return err;
	all = mmap(NULL, len, PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (all == MAP_FAILED)
		return -errno;
	ret->call = "fork";
	begin = now_ns();
	err = start_all(cfg, all);
	died = wait_all();
	ret->seconds = (double)(now_ns() - begin) / 1e9;
	if (!err)
		err = sum(cfg, all, ret);
	munmap(all, len);
	return err ? err : died;
}

static int flush_times(int fd, uint32_t us[FLUSHES], size_t *ret_n)
{
	static const unsigned char page[PIECE] = { 1 };
	uint64_t begin = now_ns(), from = begin;
	unsigned int n;

	for (n = 0; n < FLUSHES && from - begin < FLUSH_NS; n++) {
		if (pwrite(fd, page, PIECE, (off_t)(n % 64) * PIECE) !=
			    (ssize_t)PIECE ||
		    fdatasync(fd))
			return errno ? -errno : -ENOSPC;
		us[n] = (uint32_t)((now_ns() - from) / 1000);
		from = now_ns();
	}
	*ret_n = n;
	return 0;
}

int rs_load_flush(const char *dir, uint32_t *ret_us)
{
	static const unsigned char zeros[64 * PIECE];
	RS_AUTO_FREE char *path = NULL;
	RS_AUTO_FD int fd = -1;
	uint32_t us[FLUSHES];
	size_t n = 0;
	int err;

	if (asprintf(&path, "%s/flush", dir) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	errno = 0;
	err = write(fd, zeros, sizeof(zeros)) == (ssize_t)sizeof(zeros) &&
			      !fsync(fd)
		      ? flush_times(fd, us, &n)
		      : (errno ? -errno : -ENOSPC);
	unlink(path);
	if (err)
		return err;
	if (n)
		qsort(us, n, sizeof(*us), compare_us);
	*ret_us = n ? us[n / 2] : 0;
	return 0;
}
