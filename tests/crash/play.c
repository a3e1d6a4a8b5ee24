/*
 * play.c - see play.h.
 *
 * Every step is one operation of the core; after it the whole tree is
 * snapshot number n_snaps. The journal has no threads here: commits and
 * checkpoints are steps too. A commit's waiters say when something was
 * acknowledged; what they promise is computed when they are queued.
 */
#define _GNU_SOURCE
#include "play_p.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct pending {
	struct rs_waiter w;
	struct run *run;
	uint64_t ino;
	size_t snap;
};

uint64_t play_pick(struct run *r, uint64_t n)
{
	return rng_below(&r->play->rng, n);
}

static void now(void *arg, struct timespec *ret)
{
	struct play *play = arg;

	play->clock += 1000003;
	ret->tv_sec = (time_t)(play->clock / 1000000000);
	ret->tv_nsec = (long)(play->clock % 1000000000);
}

void play_say(struct run *r, const char *what, int64_t rc)
{
	r->rc = rc;
	r->said++;
	if (r->play->verbose)
		printf("%3zu %-12s %lld\n", r->play->n_snaps - 1, what,
		       (long long)rc);
}

/* ---- acknowledgements ---- */

/* The first snapshot from which on ino looked as it does now. */
static size_t since(const struct play *play, uint64_t ino)
{
	size_t i = play->n_snaps - 1;
	uint64_t view = snap_view(&play->snaps[i], ino);

	if (!view)
		return 0; /* not in the tree: nothing is promised */
	while (i && snap_view(&play->snaps[i - 1], ino) == view)
		i--;
	return i;
}

static void acknowledge(struct play *play, uint64_t ino, size_t snap)
{
	struct play_ack *ack;

	assert(play->n_acks < PLAY_ACKS);
	tape_note(&play->tape, TAPE_ACK, snap);
	ack = &play->acks[play->n_acks++];
	ack->event = play->tape.n;
	ack->snap = snap;
	ack->ino = ino;
}

static void acked(struct rs_waiter *w, int err)
{
	struct pending *p = (struct pending *)w;

	if (err) {
		assert(p->run->play->may_fail && err == -EIO);
		p->run->play->refused++;
	} else {
		acknowledge(p->run->play, p->ino, p->snap);
	}
	p->run->waiting--;
	free(p);
}

/* Queue for number. 1: durable already, 0: acked() comes, -EIO: poisoned. */
static int wait_for(struct run *r, uint64_t number, uint64_t ino, size_t snap)
{
	struct pending *p;
	int rc;

	tape_allocates++;
	p = calloc(1, sizeof(*p));
	tape_allocates--;
	assert(p);
	p->w.fn = acked;
	p->run = r;
	p->ino = ino;
	p->snap = snap;
	rc = rs_journal_wait(r->j, number, &p->w);
	assert(rc >= 0 || (rc == -EIO && r->play->poisoned));
	if (rc == 0)
		r->waiting++;
	else
		free(p);
	return rc;
}

void play_sync(struct run *r, uint64_t ino, const char *what)
{
	uint64_t number = rs_core_sync_number(r->core, ino);
	size_t snap = since(r->play, ino);
	int rc = 1;

	/* a name somewhere stronger is what counts */
	if (r->play->policies &&
	    rs_core_policy(r->core, ino) <= RS_POLICY_INTERVAL) {
		assert(!number);
		play_say(r, what, 0);
		return;
	}
	if (number)
		rc = wait_for(r, number, ino, snap);
	if (rc == 1)
		acknowledge(r->play, ino, snap);
	play_say(r, what, rc);
}

/* The reply waits for number: then this snapshot is durable. */
static void wait_change(struct run *r, size_t snap)
{
	if (r->number)
		(void)wait_for(r, r->number, RS_INO_ROOT, snap);
	r->number = 0;
}

void play_changed(struct run *r, int64_t rc, uint64_t ino,
		  enum rs_change change)
{
	uint64_t number;

	if (rc < 0 || !r->play->policies)
		return;
	number = rs_core_change_number(r->core, ino, change);
	if (number > r->number)
		r->number = number;
}

/* ---- committing ---- */

void play_commit(struct run *r)
{
	int rc = rs_journal_commit_once(r->j);

	assert(rc >= 0 || r->play->may_fail);
	play_say(r, "commit", rc);
}

static void poisoned(void *arg, int err, const char *why)
{
	struct play *play = arg;

	assert(play->may_fail);
	if (play->verbose)
		printf("poisoned: %s (%d)\n", why, err);
	play->poisoned = 1;
}

/* In the names that are used everywhere. */
static const struct rs_rule rules[] = {
	{ .glob = "/a", .policy = RS_POLICY_VOLATILE },
	{ .glob = "/**/e", .policy = RS_POLICY_VOLATILE },
	{ .glob = "/a/b*", .policy = RS_POLICY_FSYNC },
	{ .glob = "/a/c", .policy = RS_POLICY_VOLATILE },
	{ .glob = "/b", .policy = RS_POLICY_INTERVAL },
	{ .glob = "/c", .policy = RS_POLICY_RENAME },
	{ .glob = "/df1", .policy = RS_POLICY_ALWAYS },
};

static const char *const named[] = { "a", "a/c", "b", "c", "df1", NULL };

int play_open(struct play *play, const char *dir, enum rs_journal_mode mode,
	      struct rs_report *rep, struct rs_journal **ret_j,
	      struct rs_core **ret_core)
{
	struct rs_journal_cfg jcfg = { .dir = dir,
				       .mode = mode,
				       .flush_interval = 1000,
				       .manual = 1,
				       .inline_walk = 1,
				       .poisoned = poisoned,
				       .arg = play };
	struct rs_core_cfg cfg = { .ram = UINT64_C(64) << 20,
				   .capacity = UINT64_C(4) << 20,
				   .inodes = 2000,
				   .policy = RS_POLICY_FSYNC,
				   .noatime = 1,
				   .xattr = 1,
				   .now = now,
				   .arg = play };
	pid_t owner = 0;
	int rc;

	rc = rs_journal_open(&jcfg, rep, &owner, ret_j);
	if (rc)
		return rc;
	cfg.journal = *ret_j;
	snap_named = NULL;
	if (play->policies) {
		cfg.rules = rules;
		cfg.n_rules = RS_ARRAY_LEN(rules);
		snap_named = named;
	}
	if (mode == RS_JOURNAL_RECOVER) {
		*ret_core = NULL;
		return 0;
	}
	cfg.readonly = mode == RS_JOURNAL_RDONLY;
	rc = rs_core_new(&cfg, ret_core);
	if (!rc) {
		rc = rs_core_load_tree(*ret_core, rep);
		if (rc)
			rs_core_free(*ret_core);
	}
	if (rc)
		rs_journal_close(*ret_j);
	return rc;
}

/* Directories of a tree that was loaded are found by what they are. */
static int find_dir(void *arg, const char *path, const struct rs_stat *st,
		    int first_name)
{
	struct run *r = arg;

	(void)path;
	(void)first_name;
	if (S_ISDIR(st->attr.mode) && r->n_dirs < MAX_DIRS)
		r->dirs[r->n_dirs++] = st->ino;
	return 0;
}

/* A snapshot after a step; an operation that failed changed nothing. */
static void after_step(struct run *r)
{
	struct play *play = r->play;
	struct snap *snap = &play->snaps[play->n_snaps];

	snap_take(snap, r->core, &snap[-1]);
	if (r->rc < 0 && r->said == 1 && snap->hash != snap[-1].hash) {
		printf("step %zu failed with %lld and changed the tree:\n",
		       play->n_snaps, (long long)r->rc);
		snap_diff(&snap[-1], snap);
		play->half_done++;
	}
	play->n_snaps++;
	tape_note(&play->tape, TAPE_OP, play->n_snaps - 1);
	wait_change(r, play->n_snaps - 1);
}

static void run_steps(struct run *r, unsigned int steps)
{
	struct play *play = r->play;

	while (steps-- && play->n_snaps + 4 < PLAY_SNAPS) {
		r->said = 0;
		r->rc = 0;
		r->number = 0;
		play->loose[play->n_snaps] = 0;
		if (play->before_step)
			*play->before_step = 1;
		play_step(r);
		if (play->before_step)
			*play->before_step = 0;
		after_step(r);
	}
}

static void end_run(struct run *r)
{
	struct play *play = r->play;
	int rc;

	if (!play_pick(r, 2)) {
		/* as a kill leaves it, but with nobody waiting */
		while (r->waiting && !play->poisoned)
			play_commit(r);
		return;
	}
	while (r->n_refs)
		rs_core_forget(r->core, r->refs[--r->n_refs], 1);
	rc = rs_journal_stop(r->j, (int)play_pick(r, 2));
	assert(!r->waiting);
	assert(rc == 0 || play->may_fail);
	if (rc == 0 && !play->poisoned)
		acknowledge(play, RS_INO_ROOT, play->n_snaps - 1);
}

int play_run(struct play *play, const char *dir, unsigned int steps)
{
	struct rs_walk_ops walk = { .inode = find_dir };
	struct run r = { .play = play };
	struct rs_report rep;
	int rc;

	rs_report_init(&rep);
	rc = play_open(play, dir, RS_JOURNAL_SERVE, &rep, &r.j, &r.core);
	if (rc)
		goto out;
	assert(rep.quarantined == 0 && play->n_snaps < PLAY_SNAPS);
	snap_take(&play->snaps[play->n_snaps++], r.core, NULL);
	tape_note(&play->tape, TAPE_OP, play->n_snaps - 1);
	rc = rs_journal_start(r.j);
	if (rc)
		goto out_close;
	/* what start flushed is durable: all that was there */
	acknowledge(play, RS_INO_ROOT, play->n_snaps - 1);
	rc = rs_core_walk(r.core, &walk, &r);
	assert(rc == 0);
	run_steps(&r, steps);
	end_run(&r);
out_close:
	rs_core_free(r.core);
	rs_journal_close(r.j);
out:
	assert(rc == 0 || play->may_fail);
	rs_report_release(&rep);
	return rc;
}

void play_release(struct play *play)
{
	size_t i;

	for (i = 0; i < play->n_snaps; i++)
		snap_release(&play->snaps[i]);
	tape_release(&play->tape);
}

size_t play_must(const struct play *play, size_t cut)
{
	size_t must = 0, i;

	for (i = 0; i < play->n_acks; i++)
		if (play->acks[i].event <= cut && play->acks[i].snap > must)
			must = play->acks[i].snap;
	return must;
}

size_t play_can(const struct play *play, size_t cut)
{
	size_t can = 0, i;

	for (i = 0; i < cut; i++)
		if (play->tape.events[i].type == TAPE_OP)
			can = (size_t)play->tape.events[i].arg;
	/* an operation in progress at the cut may be in the log already */
	return can + 1 < play->n_snaps ? can + 1 : play->n_snaps - 1;
}
