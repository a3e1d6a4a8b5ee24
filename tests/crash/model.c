/*
 * model.c - every cut, by model: what DESIGN G1 to G4, G8 and G9 promise,
 * checked at each point between two writes or flushes of the journal.
 *
 * A sequence of operations runs on core and journal with both files of the
 * store on tape. Then, for each point of the tape and several choices of
 * unflushed sectors, the disk's state after a power cut at that point is
 * built, recovered in one of the ways that exist, and compared: the tree must
 * equal a snapshot that was taken between two operations, not older than the
 * last one that was acknowledged and not newer than what was asked for; no
 * damage may be reported; inode numbers used so far must lie below the
 * ceiling. Every fourth sequence goes on after a kill without a power cut:
 * the second run's tape starts with what the first had not flushed.
 *
 * crash:SEED:CUT:VARIANT names a case; "model crash:8812:37:5" replays it.
 */
#define _GNU_SOURCE
#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "case.h"

struct options {
	uint64_t first, count;
	unsigned int steps;    /* most operations of a sequence */
	unsigned int variants; /* random choices for each cut point */
	unsigned int every;    /* cut at each every-th event on average */
	unsigned int seconds;  /* stop early, 0: never */
	int verbose;
	int policies;
	int one; /* only cut, variant */
	size_t cut;
	unsigned int variant;
	const char *base; /* scratch directory */
};

struct totals {
	uint64_t sequences, cuts, events, acks;
};

/* ---- sequences ---- */

static int all_cuts(const struct options *opt, struct play *play, uint64_t seed,
		    const char *dir, const char *marker, struct totals *totals)
{
	struct rng rng = { seed ^ 0x5eed };
	unsigned int v;
	size_t cut, found;
	int failed = 0;

	for (cut = 0; cut <= play->tape.n && !failed; cut++) {
		/* only writes and flushes change what a disk can hold */
		if (cut && cut < play->tape.n &&
		    play->tape.events[cut - 1].type >= TAPE_OP)
			continue;
		if (opt->every > 1 && cut != play->tape.n &&
		    rng_below(&rng, opt->every))
			continue;
		for (v = 0; v < opt->variants && !failed; v++) {
			failed = case_run(play, seed, cut, v, dir, marker,
					  &found);
			totals->cuts++;
		}
	}
	return failed;
}

/* What rspoolctl recover does, on tape: the power may go in the middle. */
static void recover_first(struct play *play, const char *dir)
{
	struct rs_journal *j;
	struct rs_core *core;
	struct rs_report rep;
	int rc;

	rs_report_init(&rep);
	rc = play_open(play, dir, RS_JOURNAL_RECOVER, &rep, &j, &core);
	assert(rc == 0);
	rc = rs_journal_fold_all(j, NULL, NULL, &rep);
	assert(rc == 0 && !rep.quarantined);
	rs_journal_close(j);
	rs_report_release(&rep);
}

/*
 * The process is killed before event cut, but the power stays: the page cache
 * (or the disk's) has all that was written, flushed or not. Play on.
 */
static int play_on(struct play *play, uint64_t seed, unsigned int steps,
		   const char *dir, const char *marker)
{
	size_t cut = rng_below(&play->rng, play->tape.n + 1), found, i;
	struct tape *tape = &play->tape, next;
	size_t must = play_must(play, cut);
	struct rng rng = { 1 };

	if (case_run(play, seed, cut, 1, dir, marker, &found))
		return 1;
	case_empty_dir(dir);
	case_copy(marker, dir, "rspool.id");
	tape_build(tape, cut, 1, &rng, dir);
	/* what the first run had not flushed, the disk may still lose */
	tape_start(&next, dir);
	for (i = 0; i < TAPE_FILES; i++) {
		free(next.base[i]);
		next.base[i] = tape->base[i];
		next.base_len[i] = tape->base_len[i];
		tape->base[i] = NULL;
	}
	assert(!next.n);
	for (i = cut; i < tape->n; i++)
		free(tape->events[i].data);
	next.events = tape->events;
	next.cap = tape->cap;
	next.n = cut;
	*tape = next;
	tape_rebind(tape);
	for (i = found + 1; i < play->n_snaps; i++)
		snap_release(&play->snaps[i]);
	play->n_snaps = found + 1;
	play->n_acks = 0;
	play->acks[play->n_acks++] =
		(struct play_ack){ .event = cut, .snap = must };
	if (rng_below(&play->rng, 2))
		recover_first(play, dir);
	(void)play_run(play, dir, steps);
	tape_stop(tape);
	return 0;
}

static int sequence(const struct options *opt, uint64_t seed,
		    struct totals *totals)
{
	char marker[4096], run[4096], dir[4096];
	struct play *play = calloc(1, sizeof(*play));
	unsigned int steps;
	int failed = 0;
	size_t found;

	assert(play);
	snprintf(marker, sizeof(marker), "%s/new", opt->base);
	snprintf(run, sizeof(run), "%s/run", opt->base);
	snprintf(dir, sizeof(dir), "%s/cut", opt->base);
	play->rng.state = seed;
	play->clock = UINT64_C(1700000000000000000);
	play->verbose = opt->verbose;
	play->policies = opt->policies;
	steps = 4 + (unsigned int)rng_below(&play->rng, opt->steps - 3);
	case_empty_dir(run);
	case_copy(marker, run, "rspool.id");
	case_copy(marker, run, "intent.log");
	case_copy(marker, run, "data.mdb");
	tape_start(&play->tape, run);
	(void)play_run(play, run, steps);
	tape_stop(&play->tape);
	if (seed % 4 == 3)
		failed = play_on(play, seed, steps, run, marker);
	if (opt->verbose)
		tape_print(&play->tape, opt->one ? opt->cut : SIZE_MAX);
	totals->sequences++;
	totals->events += play->tape.n;
	totals->acks += play->n_acks;
	if (play->half_done) {
		printf("FAILED crash:%llu:0:0: a failed operation changed the "
		       "tree\n",
		       (unsigned long long)seed);
		failed = 1;
	}
	if (!failed && opt->one)
		failed = case_run(play, seed, opt->cut, opt->variant, dir,
				  marker, &found);
	else if (!failed)
		failed = all_cuts(opt, play, seed, dir, marker, totals);
	play_release(play);
	free(play);
	return failed;
}

/* ---- main ---- */

static int usage(FILE *f, int code)
{
	fprintf(f, "usage: model [-s FIRST] [-n COUNT] [-o STEPS] "
		   "[-c VARIANTS] [-e EVERY] [-t SECONDS] [-v] [-p] [-d DIR]\n"
		   "       model [-v] [-o STEPS] crash:SEED:CUT:VARIANT\n"
		   "       model [-v] [-o STEPS] policy:SEED:CUT:VARIANT\n"
		   "-p: directories of all policies\n");
	return code;
}

static int parse(int argc, char **argv, struct options *opt)
{
	unsigned long long seed, cut;
	int c;

	while ((c = getopt(argc, argv, "s:n:o:c:e:t:vpd:h")) != -1) {
		switch (c) {
		case 's':
			opt->first = strtoull(optarg, NULL, 10);
			break;
		case 'n':
			opt->count = strtoull(optarg, NULL, 10);
			break;
		case 'o':
			opt->steps = (unsigned int)atoi(optarg);
			break;
		case 'c':
			opt->variants = (unsigned int)atoi(optarg);
			break;
		case 'e':
			opt->every = (unsigned int)atoi(optarg);
			break;
		case 't':
			opt->seconds = (unsigned int)atoi(optarg);
			break;
		case 'v':
			opt->verbose = 1;
			break;
		case 'p':
			opt->policies = 1;
			break;
		case 'd':
			opt->base = optarg;
			break;
		default:
			return usage(c == 'h' ? stdout : stderr,
				     c == 'h' ? 0 : 2);
		}
	}
	if (optind < argc) {
		opt->policies = sscanf(argv[optind], "policy:%llu:%llu:%u",
				       &seed, &cut, &opt->variant) == 3;
		if (!opt->policies && sscanf(argv[optind], "crash:%llu:%llu:%u",
					     &seed, &cut, &opt->variant) != 3)
			return usage(stderr, 2);
		opt->one = 1;
		opt->first = seed;
		opt->count = 1;
		opt->cut = (size_t)cut;
	}
	if (opt->steps < 4 || !opt->variants || !opt->every)
		return usage(stderr, 2);
	return -1;
}

int main(int argc, char **argv)
{
	struct options opt = {
		.first = 1, .count = 200, .steps = 40, .variants = 4, .every = 1
	};
	char base[] = "/dev/shm/rspool-model-XXXXXX", sub[4096];
	static const char *const subs[] = { "new", "run", "cut" };
	struct totals totals = { 0 };
	time_t end;
	int failed = 0, rc;
	uint64_t seed;
	size_t i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	rc = parse(argc, argv, &opt);
	if (rc >= 0)
		return rc;
	if (!opt.base)
		opt.base = mkdtemp(base);
	assert(opt.base);
	for (i = 1; i < RS_ARRAY_LEN(subs); i++) {
		snprintf(sub, sizeof(sub), "%s/%s", opt.base, subs[i]);
		mkdir(sub, 0700);
	}
	snprintf(sub, sizeof(sub), "%s/new", opt.base);
	case_make_store(sub);
	end = time(NULL) + opt.seconds;
	for (seed = opt.first; seed < opt.first + opt.count && !failed;
	     seed++) {
		if (opt.seconds && time(NULL) >= end)
			break;
		failed = sequence(&opt, seed, &totals);
	}
	for (i = 0; i < RS_ARRAY_LEN(subs); i++) {
		snprintf(sub, sizeof(sub), "%s/%s", opt.base, subs[i]);
		case_empty_dir(sub);
		rmdir(sub);
	}
	rmdir(opt.base);
	printf("model: %llu sequences (seeds %llu to %llu), %llu events, "
	       "%llu acknowledgements, %llu power cuts, %s\n",
	       (unsigned long long)totals.sequences,
	       (unsigned long long)opt.first, (unsigned long long)(seed - 1),
	       (unsigned long long)totals.events,
	       (unsigned long long)totals.acks, (unsigned long long)totals.cuts,
	       failed ? "FAILED" : "0 losses");
	return failed;
}
