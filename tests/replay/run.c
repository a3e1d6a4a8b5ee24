/*
 * run.c - all processes of a replay and the sum of what they report.
 *
 * Results lie in memory that the processes share, so that a process which is
 * killed has reported what it did until then.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "include/rs_base.h"
#include "replay.h"

/* messages of a process when only the time ends it */
#define RS_ROOM_MAX 200000u

struct sum {
	unsigned int acked, removed, failed;
	double seconds;
	uint32_t p50, p99, max; /* us */
	int error;
	const char *call;
};

static void *shared(size_t len)
{
	void *mem = mmap(NULL, len, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return mem == MAP_FAILED ? NULL : mem;
}

static int make_queues(const char *dir)
{
	static const char *const names[] = { "incoming", "active", "deferred" };
	char path[RS_REPLAY_PATH];
	size_t i;

	for (i = 0; i < RS_ARRAY_LEN(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		if (mkdir(path, 0700) && errno != EEXIST) {
			fprintf(stderr, "replay: mkdir '%s': %s\n", path,
				strerror(errno));
			return -1;
		}
	}
	return 0;
}

static struct rs_worker_result *make_results(const struct rs_replay_opts *opts)
{
	struct rs_worker_result *all = shared(opts->procs * sizeof(*all));
	unsigned int i;

	for (i = 0; all && i < opts->procs; i++) {
		all[i].room = opts->messages / opts->procs;
		if (i < opts->messages % opts->procs)
			all[i].room++;
		if (opts->seconds > 0)
			all[i].room = RS_ROOM_MAX;
		all[i].fsync_us = shared(all[i].room * sizeof(uint32_t) + 1);
		if (!all[i].fsync_us)
			return NULL;
	}
	return all;
}

/* Bytes already answered for are in the page cache of the ledger's disk; it
 * is the spool's daemon that dies, not the machine. */
static int start_all(const struct rs_replay_opts *opts, int ledger,
		     struct rs_worker_result *all)
{
	unsigned int i;
	pid_t pid;

	for (i = 0; i < opts->procs; i++) {
		pid = fork();
		if (pid < 0) {
			perror("replay: fork");
			return -1;
		}
		if (pid == 0) {
			rs_worker_run(opts, ledger, i, &all[i]);
			_exit(0);
		}
	}
	return 0;
}

static int compare_us(const void *a, const void *b)
{
	uint32_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return x < y ? -1 : x > y;
}

static void add_times(const struct rs_replay_opts *opts,
		      const struct rs_worker_result *all, struct sum *sum)
{
	RS_AUTO_FREE uint32_t *us = malloc((sum->acked + 1) * sizeof(*us));
	unsigned int i, n = 0;

	if (!us || sum->acked == 0)
		return;
	for (i = 0; i < opts->procs; i++) {
		memcpy(us + n, all[i].fsync_us, all[i].acked * sizeof(*us));
		n += all[i].acked;
	}
	qsort(us, n, sizeof(*us), compare_us);
	sum->p50 = us[n / 2];
	sum->p99 = us[(uint64_t)n * 99 / 100];
	sum->max = us[n - 1];
}

static void add_up(const struct rs_replay_opts *opts,
		   const struct rs_worker_result *all, struct sum *sum)
{
	unsigned int i;

	for (i = 0; i < opts->procs; i++) {
		sum->acked += all[i].acked;
		sum->removed += all[i].removed;
		if (!all[i].error)
			continue;
		sum->failed++;
		sum->error = all[i].error;
		sum->call = all[i].call;
	}
	add_times(opts, all, sum);
}

static void print_sum(const struct sum *sum)
{
	printf("{\"acked\": %u, \"removed\": %u, \"seconds\": %.3f, "
	       "\"msg_per_s\": %.1f, \"fsync_us\": {\"p50\": %u, \"p99\": %u, "
	       "\"max\": %u}, \"failed_processes\": %u, \"error\": ",
	       sum->acked, sum->removed, sum->seconds,
	       sum->seconds > 0 ? sum->acked / sum->seconds : 0.0, sum->p50,
	       sum->p99, sum->max, sum->failed);
	if (sum->error)
		printf("\"%s: %s\"}\n", sum->call, strerror(-sum->error));
	else
		printf("null}\n");
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* false: a process didn't end by itself. */
static bool wait_all(void)
{
	bool good = true;
	int status;

	while (wait(&status) > 0)
		good = good && WIFEXITED(status) && WEXITSTATUS(status) == 0;
	return good;
}

int rs_replay_run(const struct rs_replay_opts *opts)
{
	struct sum sum = { .call = "" };
	struct rs_worker_result *all;
	int ledger = -1;
	bool good;

	if (make_queues(opts->dir))
		return 1;
	if (opts->ledger)
		ledger = rs_ledger_open(opts->ledger);
	all = make_results(opts);
	if ((opts->ledger && ledger < 0) || !all) {
		fprintf(stderr, "replay: no ledger or no memory\n");
		return 1;
	}
	sum.seconds = now();
	if (start_all(opts, ledger, all))
		return 1;
	good = wait_all();
	sum.seconds = now() - sum.seconds;
	add_up(opts, all, &sum);
	print_sum(&sum);
	if (!good)
		return 1;
	return sum.failed ? 3 : 0;
}
