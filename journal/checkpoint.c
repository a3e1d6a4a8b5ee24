/*
 * checkpoint.c - frames go from the ring into the store, in the background.
 *
 * MODEL
 *	when   ring more than half full | kept bodies at their limit |
 *	       the oldest frame older than checkpoint_interval | asked for
 *	then   all frames that are there now, in transactions of whole frames;
 *	       after them what is on the reap list, 256 chunks a transaction
 *
 * INVARIANTS
 * I1	A frame leaves j->frames, and its bytes of the ring count as free, only
 *	after the transaction that folded it returned 0 (C3).
 * I2	After an error that isn't about room this process never writes the
 *	store again (C6): store_broken.
 *
 * LOCKS  rs_fold and rs_store_reap run without j->lock. The refs that they
 * read stay where they are: the committer only adds behind them. The bodies
 * belong to the checkpointer.
 *
 * CRASH  The store has whole transactions; what it has is told by its
 * applied number, and folding again from there is harmless.
 */
#include <assert.h>
#include <errno.h>
#include <time.h>

#include "journal/journal_p.h"

/* surviving data of one transaction (C5): at most, and while mail flows */
#define FOLD_MOST (UINT64_C(16) << 20)
#define FOLD_LEAST (UINT64_C(512) << 10)
/* commits within this time (us) mean that somebody waits for flushes */
#define BUSY 200000u
/* a checkpoint that found no room is tried again after (us) */
#define RETRY 1000000u
/* how long who can't be parked waits before it asks for room again (ns) */
#define AWAIT_NS 20000000L

/* Errors that changed nothing and may pass (C6). */
static int is_shortage(int err)
{
	return err == -ENOSPC || err == -ENOMEM || err == -EDQUOT;
}

static void note_error(struct rs_journal *j, int err)
{
	pthread_mutex_lock(&j->lock);
	if (is_shortage(err)) {
		j->store_amber = 1;
		rs_journal_now(j, &j->retry);
	} else {
		j->store_broken = err;
	}
	/* Who sleeps for a page of the ring gets -ENOSPC now. */
	pthread_cond_broadcast(&j->room);
	pthread_mutex_unlock(&j->lock);
	if (!is_shortage(err))
		rs_journal_tell_space(j);
}

/*
 * C5: a transaction beside waiting flushes should take less than two flush
 * times beyond the two that LMDB itself makes.
 */
static void adapt(struct rs_journal *j, uint64_t us)
{
	struct timespec now;
	uint64_t flush;

	rs_journal_now(j, &now);
	flush = j->n_frames ? j->flush_us_sum / j->n_frames : 0;
	if (!flush || rs_journal_us(&j->last_commit, &now) > BUSY ||
	    rs_journal_ring_used(j) > j->ring_size / 4 * 3)
		j->fold_bytes = FOLD_MOST;
	else if (us > 4 * flush && j->fold_bytes > FOLD_LEAST)
		j->fold_bytes /= 2;
	else if (us < 2 * flush && j->fold_bytes < FOLD_MOST)
		j->fold_bytes *= 2;
}

static void forget_bodies(struct rs_frame_ref *refs, size_t n,
			  uint64_t *ret_bytes)
{
	size_t i;

	*ret_bytes = 0;
	for (i = 0; i < n; i++) {
		if (!refs[i].body)
			continue;
		*ret_bytes += refs[i].body_len;
		free(refs[i].body);
		refs[i].body = NULL;
	}
}

int rs_journal_must_fold(const struct rs_journal *j)
{
	return rs_journal_ring_used(j) > j->ring_size / 2 ||
	       j->kept_bytes > j->kept_limit / 4 * 3;
}

static void folded(struct rs_journal *j, struct rs_frame_ref *refs, size_t n,
		   const struct timespec *from)
{
	struct timespec now;
	struct rs_root root;
	uint64_t bytes, used, reserved;

	forget_bodies(refs, n, &bytes);
	rs_store_root(j->store, &root);
	rs_store_space(j->store, &used, &reserved);
	rs_journal_now(j, &now);
	pthread_mutex_lock(&j->lock);
	rs_frames_pop(&j->frames, n);
	j->oldest_since = *from;
	j->kept_bytes -= bytes;
	j->applied = root.applied;
	j->damage = root.damage;
	j->store_used = used;
	j->store_reserved = reserved;
	j->n_checkpoints++;
	j->n_folded += n;
	j->store_amber = 0;
	adapt(j, rs_journal_us(from, &now));
	if (j->n_sleepers > 0)
		pthread_cond_broadcast(&j->room);
	pthread_mutex_unlock(&j->lock);
	rs_journal_tell_space(j);
}

int rs_journal_fold_some(struct rs_journal *j, size_t max, int gap,
			 struct rs_report *rep, size_t *ret_done)
{
	struct rs_fold_limit limit;
	struct rs_frame_ref *refs;
	struct timespec from;
	size_t n, done = 0;
	int err, broken;

	*ret_done = 0;
	pthread_mutex_lock(&j->lock);
	refs = rs_frames_run(&j->frames, &n);
	limit.data_bytes = j->fold_bytes;
	limit.whole_bytes = FOLD_MOST;
	broken = j->store_broken;
	pthread_mutex_unlock(&j->lock);
	if (broken)
		return -EROFS;
	if (n > max)
		n = max;
	if (n == 0)
		return 0;
	rs_journal_now(j, &from);
	err = rs_fold(j->store, j->ring, refs, n, &limit, gap, rep, &done);
	if (err < 0) {
		note_error(j, err);
		return err;
	}
	folded(j, refs, done, &from);
	*ret_done = done;
	return 0;
}

static int keep(void *arg, uint64_t ino)
{
	struct rs_journal *j = arg;

	if (!j->cfg.inode_in_use || !j->started)
		return 0;
	return j->cfg.inode_in_use(j->cfg.arg, ino);
}

static int reap(struct rs_journal *j, int *ret_more)
{
	int err;

	*ret_more = 0;
	if (j->store_broken)
		return -EROFS;
	err = rs_store_reap(j->store, keep, j, ret_more);
	if (err < 0)
		note_error(j, err);
	return err;
}

int rs_journal_checkpoint_once(struct rs_journal *j, int *ret_more)
{
	struct rs_report rep;
	size_t done, left;
	int err, more;

	rs_report_init(&rep);
	err = rs_journal_fold_some(j, SIZE_MAX, 0, &rep, &done);
	rs_report_release(&rep);
	if (err == 0 && done == 0) {
		err = reap(j, &more);
		if (err == 0)
			*ret_more = more;
		return err;
	}
	if (err < 0)
		return err;
	pthread_mutex_lock(&j->lock);
	left = j->frames.n;
	pthread_mutex_unlock(&j->lock);
	*ret_more = left > 0;
	return 0;
}

int rs_journal_fold_rest(struct rs_journal *j, int with_reap,
			 void (*progress)(void *, uint64_t, uint64_t),
			 void *arg, struct rs_report *rep)
{
	uint64_t total = j->frames.n, folded_now = 0;
	int err = 0, more = with_reap;
	size_t done;

	while (err == 0 && j->frames.n > 0) {
		err = rs_journal_fold_some(j, SIZE_MAX, 0, rep, &done);
		folded_now += done;
		if (err == 0 && progress)
			progress(arg, folded_now, total);
	}
	while (err == 0 && more)
		err = reap(j, &more);
	return err;
}

/* ---- the checkpointer ---- */

/* Lock held. us until it is time, 0: now, UINT64_MAX: nothing to do. */
static uint64_t fold_due(const struct rs_journal *j)
{
	uint64_t age, limit = (uint64_t)j->cfg.checkpoint_interval * 1000;
	struct timespec now;

	rs_journal_now(j, &now);
	if (j->store_broken)
		return UINT64_MAX;
	if (j->store_amber) {
		age = rs_journal_us(&j->retry, &now);
		return age >= RETRY ? 0 : RETRY - age;
	}
	if (j->kick)
		return 0;
	if (j->frames.n == 0) {
		if (!j->reap_left)
			return UINT64_MAX;
		age = rs_journal_us(&j->last_reap, &now);
		return age >= limit ? 0 : limit - age;
	}
	if (rs_journal_must_fold(j))
		return 0;
	age = rs_journal_us(&j->oldest_since, &now);
	return age >= limit ? 0 : limit - age;
}

static int is_stopping(struct rs_journal *j)
{
	int stop;

	pthread_mutex_lock(&j->lock);
	stop = j->checkpoint_stop;
	pthread_mutex_unlock(&j->lock);
	return stop;
}

/*
 * While mail flows the reaper leaves the disk alone for as long as its
 * transaction took: nobody waits for it.
 */
static void pause_for(struct rs_journal *j, uint64_t us)
{
	struct timespec now;

	pthread_mutex_lock(&j->lock);
	rs_journal_now(j, &now);
	if (!j->checkpoint_stop && us > 0 &&
	    rs_journal_us(&j->last_commit, &now) < BUSY)
		rs_journal_sleep(j, &j->fold, us);
	pthread_mutex_unlock(&j->lock);
}

static void reap_all(struct rs_journal *j)
{
	struct timespec from, to;
	int more = 1, err = 0;
	struct rs_root root;

	rs_journal_now(j, &to);
	while (err == 0 && more && !is_stopping(j)) {
		rs_journal_now(j, &from);
		err = reap(j, &more);
		rs_journal_now(j, &to);
		if (more)
			pause_for(j, rs_journal_us(&from, &to));
	}
	rs_store_root(j->store, &root);
	pthread_mutex_lock(&j->lock);
	/* What the kernel still knows waits for another round. */
	j->reap_left = root.n_reaps > 0;
	j->last_reap = to;
	pthread_mutex_unlock(&j->lock);
}

void rs_journal_note_bad(struct rs_journal *j)
{
	uint64_t bad = rs_store_bad(j->store, NULL), new = bad - j->bad_noted;

	/* Without room for the record it is tried again; status knows. */
	if (!new || j->store_broken || rs_store_add_damage(j->store, new) < 0)
		return;
	pthread_mutex_lock(&j->lock);
	j->damage += new;
	j->bad_noted = bad;
	pthread_mutex_unlock(&j->lock);
}

/* All frames that are there when it begins. */
static void fold_now(struct rs_journal *j)
{
	struct rs_report rep;
	size_t todo, done;
	int err = 0;

	pthread_mutex_lock(&j->lock);
	todo = j->frames.n;
	j->kick = 0;
	pthread_mutex_unlock(&j->lock);
	while (todo > 0 && err == 0 && !is_stopping(j)) {
		rs_report_init(&rep);
		err = rs_journal_fold_some(j, todo, 0, &rep, &done);
		rs_report_release(&rep);
		todo -= done;
	}
	if (err == 0)
		reap_all(j);
	if (err == 0)
		rs_journal_note_bad(j);
}

void *rs_journal_checkpointer(void *arg)
{
	struct rs_journal *j = arg;
	uint64_t us;

	pthread_mutex_lock(&j->lock);
	while (!j->checkpoint_stop) {
		us = fold_due(j);
		if (us > 0) {
			rs_journal_sleep(j, &j->fold,
					 us == UINT64_MAX ? 0 : us);
			continue;
		}
		pthread_mutex_unlock(&j->lock);
		fold_now(j);
		pthread_mutex_lock(&j->lock);
	}
	pthread_mutex_unlock(&j->lock);
	return NULL;
}

void rs_journal_kick_checkpoint(struct rs_journal *j)
{
	pthread_mutex_lock(&j->lock);
	j->kick = 1;
	j->refused = 1; /* who asks for this wants to hear of it */
	pthread_cond_signal(&j->fold);
	/* what somebody waits for may still be in the open group */
	if (j->group.fill > 0 && j->demand != RS_DEMAND_NOW) {
		j->demand = RS_DEMAND_NOW;
		pthread_cond_signal(&j->work);
	}
	pthread_mutex_unlock(&j->lock);
}

void rs_journal_await_space(struct rs_journal *j)
{
	const struct timespec pause = { 0, AWAIT_NS };
	int more;

	if (j->threads) {
		rs_journal_kick_checkpoint(j);
		nanosleep(&pause, NULL);
		return;
	}
	/* what fails shows when it is asked for room again */
	(void)!rs_journal_commit_once(j);
	(void)!rs_journal_checkpoint_once(j, &more);
}
