/*
 * play_run.c - the processes of a run, and the sum of what they report in
 * memory that they share with the parent.
 */
#include "tests/bench/play.h"

#include "include/rs_base.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

/* messages of a process when only the time ends it */
#define ROOM_MAX 200000u

struct result {
	unsigned int room, acked, removed;
	int error;
	char call[16];
	uint32_t *us; /* one for each acked */
};

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void *shared(size_t len)
{
	void *mem = mmap(NULL, len, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return mem == MAP_FAILED ? NULL : mem;
}

static struct result *make_results(const struct rs_play_opts *opts)
{
	struct result *all = shared(opts->procs * sizeof(*all));
	unsigned int i;

	for (i = 0; all && i < opts->procs; i++) {
		all[i].room = ROOM_MAX;
		if (!opts->seconds)
			all[i].room = opts->messages / opts->procs +
				      (i < opts->messages % opts->procs);
		all[i].us = shared((all[i].room + 1) * sizeof(uint32_t));
		if (!all[i].us)
			return NULL;
	}
	return all;
}

/* splitmix64 */
static uint64_t draw(uint64_t *state)
{
	uint64_t v = *state += UINT64_C(0x9e3779b97f4a7c15);

	v = (v ^ v >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	v = (v ^ v >> 27) * UINT64_C(0x94d049bb133111eb);
	return v ^ v >> 31;
}

static unsigned int size_of(const struct rs_play_opts *opts, uint64_t *state)
{
	uint64_t v = draw(state);

	if (!opts->mix)
		return opts->size_low +
		       (unsigned int)(v %
				      (opts->size_high - opts->size_low + 1));
	v %= 1110;
	if (v < 1000)
		return 1u << 10;
	return v < 1100 ? 25u << 10 : 500u << 10;
}

static void work(const struct rs_play_opts *opts, unsigned int proc,
		 struct result *res)
{
	uint64_t state = opts->seed + proc * UINT64_C(1000003);
	double end = now() + opts->seconds;
	struct rs_play_msg msg;
	unsigned int i;

	for (i = 0; i < res->room && !res->error; i++) {
		if (opts->seconds && now() >= end)
			break;
		msg = (struct rs_play_msg){
			.proc = proc,
			.number = i,
			.call = "",
			.size = size_of(opts, &state),
			.dir = (unsigned int)(draw(&state) % opts->dirs),
		};
		res->error = opts->mta->accept(opts, &msg);
		if (!res->error) {
			res->us[res->acked++] = msg.durable_us;
			if (!opts->accept_only) {
				res->error = opts->mta->deliver(opts, &msg);
				res->removed += !res->error;
			}
		}
		snprintf(res->call, sizeof(res->call), "%s", msg.call);
	}
}

static int start_all(const struct rs_play_opts *opts, struct result *all)
{
	unsigned int i;
	pid_t pid;

	for (i = 0; i < opts->procs; i++) {
		pid = fork();
		if (pid < 0) {
			perror("play: fork");
			return -1;
		}
		if (pid == 0) {
			work(opts, i, &all[i]);
			_exit(0);
		}
	}
	return 0;
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

static int compare_us(const void *a, const void *b)
{
	uint32_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return x < y ? -1 : x > y;
}

static void print_times(const struct rs_play_opts *opts,
			const struct result *all, unsigned int acked)
{
	RS_AUTO_FREE uint32_t *us = calloc(acked + 1, sizeof(*us));
	unsigned int i, n = 0;

	for (i = 0; us && i < opts->procs; i++) {
		memcpy(us + n, all[i].us, all[i].acked * sizeof(*us));
		n += all[i].acked;
	}
	if (n)
		qsort(us, n, sizeof(*us), compare_us);
	printf("\"durable_us\": {\"p50\": %u, \"p99\": %u, \"max\": %u}",
	       n ? us[n / 2] : 0, n ? us[(uint64_t)n * 99 / 100] : 0,
	       n ? us[n - 1] : 0);
}

static int print_sum(const struct rs_play_opts *opts, const struct result *all,
		     double seconds)
{
	unsigned int i, acked = 0, removed = 0, failed = 0;
	const struct result *bad = NULL;

	for (i = 0; i < opts->procs; i++) {
		acked += all[i].acked;
		removed += all[i].removed;
		if (all[i].error) {
			bad = &all[i];
			failed++;
		}
	}
	printf("{\"mta\": \"%s\", \"acked\": %u, \"removed\": %u, \"seconds\": "
	       "%.3f, \"msg_per_s\": %.1f, ",
	       opts->mta->name, acked, removed, seconds,
	       seconds > 0 ? acked / seconds : 0.0);
	print_times(opts, all, acked);
	printf(", \"failed_processes\": %u, \"error\": ", failed);
	if (bad)
		printf("\"%s: %s\"}\n", bad->call, strerror(-bad->error));
	else
		printf("null}\n");
	return failed ? 3 : 0;
}

int rs_play_run(const struct rs_play_opts *opts)
{
	struct result *all = make_results(opts);
	double start;
	bool good;
	int ret;

	if (!all) {
		fprintf(stderr, "play: no memory\n");
		return 1;
	}
	if (chdir(opts->dir) || opts->mta->prepare(opts)) {
		fprintf(stderr, "play: spool '%s': %s\n", opts->dir,
			strerror(errno));
		return 1;
	}
	start = now();
	if (start_all(opts, all))
		return 1;
	good = wait_all();
	ret = print_sum(opts, all, now() - start);
	return good ? ret : 1;
}
