/*
 * fault.c - the n-th allocation, write or flush fails, for n = 1, 2, ...
 * until a sequence runs through without reaching it.
 *
 * Promised (DESIGN G6, C6, "nothing half done"): no crash; an operation that
 * failed changed nothing; no acknowledgement of what is not durable; after a
 * failed write or flush of the ring waiters get EIO; afterwards the store
 * recovers, from what the process left and from any power cut, to a tree that
 * holds all that was acknowledged, with no damage reported.
 *
 * fault:KIND:SEED:NTH names a case.
 */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "case.h"

/* ---- allocations of our own code (linked with --wrap) ---- */

static uint64_t alloc_in; /* fail the alloc_in-th from now; 0: none */
static int alloc_hit, alloc_on;

static int alloc_fails(void)
{
	if (!alloc_on || tape_allocates || !alloc_in || --alloc_in)
		return 0;
	alloc_hit = 1;
	errno = ENOMEM;
	return 1;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
int __real_posix_memalign(void **p, size_t align, size_t size);
void *__real_aligned_alloc(size_t align, size_t size);
char *__real_strdup(const char *s);
void *__real_mmap(void *at, size_t len, int prot, int flags, int fd, off_t off);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
int __wrap_posix_memalign(void **p, size_t align, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);
char *__wrap_strdup(const char *s);
void *__wrap_mmap(void *at, size_t len, int prot, int flags, int fd, off_t off);

void *__wrap_malloc(size_t size)
{
	return alloc_fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return alloc_fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	return alloc_fails() ? NULL : __real_realloc(p, size);
}

int __wrap_posix_memalign(void **p, size_t align, size_t size)
{
	return alloc_fails() ? ENOMEM : __real_posix_memalign(p, align, size);
}

void *__wrap_aligned_alloc(size_t align, size_t size)
{
	return alloc_fails() ? NULL : __real_aligned_alloc(align, size);
}

char *__wrap_strdup(const char *s)
{
	return alloc_fails() ? NULL : __real_strdup(s);
}

void *__wrap_mmap(void *at, size_t len, int prot, int flags, int fd, off_t off)
{
	if (alloc_fails())
		return MAP_FAILED;
	return __real_mmap(at, len, prot, flags, fd, off);
}

/* ---- kinds ---- */

static const struct kind {
	const char *name;
	struct tape_fault fault; /* err 0: an allocation */
} kinds[] = {
	{ "alloc", { .err = 0 } },
	{ "ring-write", { .file = TAPE_RING, .err = EIO } },
	{ "ring-write-full", { .file = TAPE_RING, .err = ENOSPC } },
	{ "ring-write-short", { .file = TAPE_RING, .short_len = 512 } },
	{ "ring-flush", { .file = TAPE_RING, .flush = 1, .err = EIO } },
	{ "ring-dead", { .file = TAPE_RING, .err = EIO, .forever = 1 } },
	{ "store-write", { .file = TAPE_STORE, .err = EIO } },
	{ "store-full", { .file = TAPE_STORE, .err = ENOSPC } },
	{ "store-full-long",
	  { .file = TAPE_STORE, .err = ENOSPC, .forever = 1 } },
	{ "store-flush", { .file = TAPE_STORE, .flush = 1, .err = EIO } },
	{ "store-dead", { .file = TAPE_STORE, .err = EIO, .forever = 1 } },
};

struct options {
	uint64_t first, count;
	unsigned int steps, most;
	const char *kind;
	uint64_t nth;
	int verbose;
	char base[64];
};

/* What a disk may hold afterwards: the last moment, three ways. */
static int check_after(struct play *play, uint64_t seed, const char *base)
{
	char dir[128], marker[128];
	unsigned int v;
	size_t found;

	snprintf(dir, sizeof(dir), "%s/cut", base);
	snprintf(marker, sizeof(marker), "%s/new", base);
	for (v = 0; v < 4; v++)
		if (case_run(play, seed, play->tape.n, v, dir, marker, &found))
			return 1;
	return 0;
}

/* Returns 0, 1 (failed); *ret_hit: the fault came to pass. */
static int one_run(const struct options *opt, const struct kind *kind,
		   uint64_t seed, uint64_t nth, int *ret_hit)
{
	struct tape_fault fault = kind->fault;
	struct play *play = calloc(1, sizeof(*play));
	char marker[128], run[128];
	int is_alloc = !fault.err && !fault.short_len, failed;

	assert(play);
	snprintf(marker, sizeof(marker), "%s/new", opt->base);
	snprintf(run, sizeof(run), "%s/run", opt->base);
	play->rng.state = seed;
	play->clock = UINT64_C(1700000000000000000);
	play->may_fail = 1;
	play->verbose = opt->verbose;
	case_empty_dir(run);
	case_copy(marker, run, "rspool.id");
	case_copy(marker, run, "intent.log");
	case_copy(marker, run, "data.mdb");
	tape_start(&play->tape, run);
	fault.nth = nth;
	alloc_in = is_alloc ? nth : 0;
	alloc_hit = 0;
	if (!is_alloc)
		tape_fault(&fault);
	play->before_step = is_alloc ? &alloc_on : NULL;
	(void)play_run(play, run, opt->steps);
	tape_fault(NULL);
	alloc_in = 0;
	tape_stop(&play->tape);
	if (opt->verbose)
		tape_print(&play->tape, SIZE_MAX);
	*ret_hit = is_alloc ? alloc_hit : fault.hit;
	failed = play->half_done != 0;
	/* a run that could not even be opened promised nothing */
	if (!failed && play->n_snaps)
		failed = check_after(play, seed, opt->base);
	if (failed)
		printf("FAILED fault:%s:%llu:%llu\n", kind->name,
		       (unsigned long long)seed, (unsigned long long)nth);
	play_release(play);
	free(play);
	return failed;
}

static int all_nth(const struct options *opt, const struct kind *kind,
		   uint64_t seed, uint64_t *runs)
{
	uint64_t nth, step = 1;
	int hit = 1;

	for (nth = 1; hit; nth += step) {
		if (one_run(opt, kind, seed, nth, &hit))
			return 1;
		++*runs;
		/* beyond the first ones a part is enough in a short run */
		if (opt->most && nth >= opt->most)
			step = nth / opt->most + 1;
	}
	return 0;
}

static int parse(int argc, char **argv, struct options *opt)
{
	static char kind[32];
	unsigned long long seed, nth;
	int c;

	while ((c = getopt(argc, argv, "s:n:o:m:k:v")) != -1) {
		if (c == 's')
			opt->first = strtoull(optarg, NULL, 10);
		else if (c == 'n')
			opt->count = strtoull(optarg, NULL, 10);
		else if (c == 'o')
			opt->steps = (unsigned int)atoi(optarg);
		else if (c == 'm')
			opt->most = (unsigned int)atoi(optarg);
		else if (c == 'k')
			opt->kind = optarg;
		else if (c == 'v')
			opt->verbose = 1;
		else
			return 2;
	}
	if (optind == argc)
		return 0;
	if (sscanf(argv[optind], "fault:%31[^:]:%llu:%llu", kind, &seed,
		   &nth) != 3)
		return 2;
	opt->kind = kind;
	opt->first = seed;
	opt->count = 1;
	opt->nth = nth;
	return 0;
}

static int run_all(const struct options *opt)
{
	uint64_t seed, runs;
	int failed = 0, hit;
	size_t k;

	for (k = 0; k < RS_ARRAY_LEN(kinds) && !failed; k++) {
		if (opt->kind && strcmp(opt->kind, kinds[k].name))
			continue;
		runs = 0;
		for (seed = opt->first;
		     seed < opt->first + opt->count && !failed; seed++) {
			if (opt->nth)
				failed = one_run(opt, &kinds[k], seed, opt->nth,
						 &hit);
			else
				failed = all_nth(opt, &kinds[k], seed, &runs);
		}
		printf("fault: %-16s %llu runs %s\n", kinds[k].name,
		       (unsigned long long)runs, failed ? "FAILED" : "ok");
	}
	return failed;
}

int main(int argc, char **argv)
{
	static const char *const subs[] = { "new", "run", "cut" };
	struct options opt = { .first = 1,
			       .count = 3,
			       .steps = 60,
			       .base = "/dev/shm/rspool-fault-XXXXXX" };
	char sub[128];
	int failed;
	size_t i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (parse(argc, argv, &opt)) {
		fprintf(stderr,
			"usage: fault [-s FIRST] [-n COUNT] [-o STEPS] "
			"[-m MOST] [-k KIND] [-v] [fault:KIND:SEED:NTH]\n");
		return 2;
	}
	if (!mkdtemp(opt.base))
		return 1;
	for (i = 1; i < RS_ARRAY_LEN(subs); i++) {
		snprintf(sub, sizeof(sub), "%s/%s", opt.base, subs[i]);
		mkdir(sub, 0700);
	}
	snprintf(sub, sizeof(sub), "%s/new", opt.base);
	case_make_store(sub);
	failed = run_all(&opt);
	for (i = 0; i < RS_ARRAY_LEN(subs); i++) {
		snprintf(sub, sizeof(sub), "%s/%s", opt.base, subs[i]);
		case_empty_dir(sub);
		rmdir(sub);
	}
	rmdir(opt.base);
	return failed;
}
