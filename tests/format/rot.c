/*
 * rot.c - damage to a small sealed store: each byte of the used parts of
 * intent.log and data.mdb flipped in turn, every 64th elsewhere, both files
 * cut short at every 512 bytes, frames swapped, moved, from another store,
 * an old copy of one file beside the new other one.
 *
 * Each is either harmless (nothing reported: then the tree must be exactly
 * the right one) or found: an error at opening, or findings; then each file
 * that is served must be one that really existed, byte for byte, and what
 * the salvage reader hands out likewise. Never a crash, a hang, an empty
 * spool that claims to be new.
 *
 * rot:STORE:WHAT:OFFSET names a case and replays it.
 */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rot_store.h"

struct options {
	unsigned int step;	  /* flip each step-th used byte */
	unsigned int part, parts; /* this process's share of the cases */
	const char *only;
	int verbose;
};

struct totals {
	uint64_t cases, harmless, found, refused, unfinished;
};

static char current[128]; /* for the alarm */

static void on_alarm(int sig)
{
	static const char text[] = "FAILED (hangs) ";

	(void)sig;
	(void)!write(1, text, sizeof(text) - 1);
	(void)!write(1, current, strlen(current));
	(void)!write(1, "\n", 1);
	_exit(1);
}

static int complain(const char *what)
{
	printf("FAILED %s: %s\n", current, what);
	return 1;
}

/* Nothing was reported: the tree must be the right one. */
static int judge_quiet(const struct rot_store *store, const struct snap *snap,
		       struct totals *totals)
{
	const struct snap *final = &store->play.snaps[store->play.n_snaps - 1];

	if (snap->hash == final->hash) {
		totals->harmless++;
		return 0;
	}
	/*
	 * A last frame that nothing proves acknowledged may be dropped: as
	 * unfinished, or in silence when its header is gone, which is how a
	 * place looks that was never written.
	 */
	if (!store->sealed && snap->hash == final[-1].hash) {
		totals->unfinished++;
		return 0;
	}
	snap_diff(final, snap);
	return complain("another tree, and nothing reported");
}

/* Something was reported: what is served must have existed. */
static int judge_loud(const struct rot_store *store, const struct snap *snap,
		      struct totals *totals)
{
	size_t i;

	for (i = 0; i < snap->n; i++) {
		if (rot_line_existed(store, &snap->lines[i]))
			continue;
		printf("  %s\n", snap->lines[i].text);
		return complain("serves what never was");
	}
	totals->found++;
	return 0;
}

static int judge_refused(struct rot_store *store, int rc,
			 const struct rs_report *rep, struct totals *totals)
{
	if (rc != -EUCLEAN && rc != -EBADMSG && rc != -EPROTONOSUPPORT &&
	    rc != -EIO && rc != -ENOENT) {
		printf("  error %d (%s)\n", rc, strerror(-rc));
		return complain("not opened, and the error does not say why");
	}
	if (!rep->n_findings)
		return complain("refused without a finding");
	totals->refused++;
	return rot_salvage_is_right(store)
		       ? 0
		       : complain("salvage hands out what never was");
}

/* The files in store->work were damaged: look what becomes of them. */
static int judge(struct rot_store *store, struct totals *totals)
{
	struct play scratch = { .clock = store->play.clock };
	struct rs_core *core = NULL;
	struct rs_journal *j = NULL;
	struct snap snap = { 0 };
	struct rs_report rep;
	int rc, failed;

	totals->cases++;
	alarm(60);
	rs_report_init(&rep);
	rc = play_open(&scratch, store->work, RS_JOURNAL_RDONLY, &rep, &j,
		       &core);
	if (rc) {
		failed = judge_refused(store, rc, &rep, totals);
		goto out;
	}
	snap_take(&snap, core, NULL);
	rs_core_free(core);
	rs_journal_close(j);
	if (rep.quarantined || rep.n_findings || rot_has_eio(&snap))
		failed = judge_loud(store, &snap, totals);
	else
		failed = judge_quiet(store, &snap, totals);
	snap_release(&snap);
out:
	if (failed) {
		size_t i;

		for (i = 0; i < rep.n_findings; i++)
			printf("  finding: %s ino %llu: %s\n",
			       rs_finding_kind_name(rep.findings[i].kind),
			       (unsigned long long)rep.findings[i].ino,
			       rep.findings[i].why);
	}
	rs_report_release(&rep);
	alarm(0);
	return failed;
}

/* ---- kinds of damage ---- */

static int mine(const struct options *opt, const char *store, const char *what,
		uint64_t off, uint64_t nth)
{
	snprintf(current, sizeof(current), "rot:%s:%s:%llu", store, what,
		 (unsigned long long)off);
	if (opt->only)
		return !strcmp(opt->only, current);
	return nth % opt->parts == opt->part;
}

static int flips(const struct options *opt, struct rot_store *store,
		 enum rot_file file, struct totals *totals)
{
	const char *what = file == ROT_RING ? "flip-ring" : "flip-store";
	uint64_t off, n = 0;

	for (off = 0; off < store->len[file]; off++) {
		uint8_t good = store->good[file][off];
		int used = rot_is_used(store, file, off);
		unsigned int bad;

		if (off % (used ? opt->step : 64))
			continue;
		if (!mine(opt, store->name, what, off, n++))
			continue;
		/* one bit here, all of them there */
		bad = off & 1 ? good ^ 1u << off % 8 : ~(unsigned int)good;
		rot_put(store, file, off, (uint8_t)(bad & 0xffu));
		if (judge(store, totals))
			return 1;
		rot_put(store, file, off, good);
	}
	return 0;
}

static int cuts(const struct options *opt, struct rot_store *store,
		enum rot_file file, struct totals *totals)
{
	const char *what = file == ROT_RING ? "cut-ring" : "cut-store";
	uint64_t end = file == ROT_RING ? store->len[file] : store->used[file],
		 off, n = 0;
	int failed = 0;

	for (off = 0; off < end && !failed; off += 512) {
		if (!mine(opt, store->name, what, off, n++))
			continue;
		rot_cut(store, file, off);
		failed = judge(store, totals);
		rot_restore(store, file);
	}
	return failed;
}

/* Copy 4 KiB places of the ring over each other, and pages of the store. */
static int moves(const struct options *opt, struct rot_store *store,
		 enum rot_file file, struct totals *totals)
{
	const char *what = file == ROT_RING ? "move-ring" : "move-store";
	uint64_t pages = store->used[file] / RS_PAGE, from, to, n = 0;
	int failed = 0;

	if (pages > 24)
		pages = 24;
	for (from = 0; from < pages && !failed; from++) {
		for (to = 0; to < pages && !failed; to++) {
			if (from == to ||
			    !mine(opt, store->name, what, from * 100 + to, n++))
				continue;
			rot_copy_page(store, file, from, to);
			failed = judge(store, totals);
			rot_restore(store, file);
		}
	}
	return failed;
}

/* One file as it was earlier, or of another store, beside the new other. */
static int strangers(const struct options *opt, struct rot_store *store,
		     uint8_t *const bytes[ROT_FILES], const char *what,
		     struct totals *totals)
{
	unsigned int file;
	int failed = 0;

	for (file = 0; file < ROT_FILES && !failed; file++) {
		unsigned int beside = ROT_FILES - 1 - file;

		if (!mine(opt, store->name, what, file, file))
			continue;
		/* with both files as they were it is a whole older store */
		if (bytes == store->early &&
		    !memcmp(store->early[beside], store->good[beside],
			    store->len[beside]))
			continue;
		rot_replace(store, (enum rot_file)file, bytes[file]);
		failed = judge(store, totals);
		rot_restore(store, (enum rot_file)file);
	}
	return failed;
}

static int all(const struct options *opt, struct rot_store *store,
	       struct rot_store *other)
{
	struct totals t = { 0 };
	unsigned int file;
	int failed = 0;

	for (file = 0; file < ROT_FILES && !failed; file++) {
		failed = flips(opt, store, (enum rot_file)file, &t) ||
			 cuts(opt, store, (enum rot_file)file, &t) ||
			 moves(opt, store, (enum rot_file)file, &t);
	}
	failed = failed ||
		 strangers(opt, store, store->early, "old-copy", &t) ||
		 strangers(opt, store, other->good, "other-store", &t);
	printf("rot: store %s: %llu cases: %llu harmless, %llu found and the "
	       "rest served, %llu refused, %llu unfinished%s\n",
	       store->name, (unsigned long long)t.cases,
	       (unsigned long long)t.harmless, (unsigned long long)t.found,
	       (unsigned long long)t.refused, (unsigned long long)t.unfinished,
	       failed ? ", FAILED" : "");
	return failed;
}

static int parse(int argc, char **argv, struct options *opt)
{
	int c;

	while ((c = getopt(argc, argv, "s:p:v")) != -1) {
		if (c == 's')
			opt->step = (unsigned int)atoi(optarg);
		else if (c == 'p' &&
			 sscanf(optarg, "%u/%u", &opt->part, &opt->parts) == 2)
			continue;
		else if (c == 'v')
			opt->verbose = 1;
		else
			return 2;
	}
	if (optind < argc)
		opt->only = argv[optind];
	return opt->step && opt->parts ? 0 : 2;
}

int main(int argc, char **argv)
{
	static const enum rot_end ends[] = { ROT_CLEAN, ROT_SEALED,
					     ROT_CRASHED };
	static const char *const names[] = { "clean", "sealed", "crashed" };
	struct options opt = { .step = 1, .parts = 1 };
	int failed = 0;
	size_t i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (parse(argc, argv, &opt)) {
		fprintf(stderr, "usage: rot [-s STEP] [-p PART/PARTS] "
				"[rot:STORE:WHAT:OFFSET]\n");
		return 2;
	}
	signal(SIGALRM, on_alarm);
	for (i = 0; i < RS_ARRAY_LEN(ends) && !failed; i++) {
		struct rot_store *store = rot_make(names[i], ends[i]);
		struct rot_store *other = rot_make("other", ends[i]);

		failed = all(&opt, store, other);
		rot_free(other);
		rot_free(store);
	}
	return failed;
}
