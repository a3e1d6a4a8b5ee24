/*
 * journal_start.c - the first frame, the threads, the orderly end.
 *
 * INVARIANTS
 * I1	Before anything is acknowledged the first frame of this process is
 *	flushed. It is one page, so it stands where the clean seal stood
 *	(FORMAT.md W6): from then on no opening can take the log for empty.
 * I2	The inode ceiling that the frame raises is durable before a number
 *	below it is used (G9).
 * I3	A clean seal is written only when the store has everything.
 * I4	Before anything is acknowledged the store has applied a frame that
 *	stands where the clean seal stood. So a ring of zeros, a foreign one,
 *	or a copy from before this start never passes for an empty log.
 */
#include <assert.h>
#include <errno.h>
#include <signal.h>

#include "journal/journal_p.h"

/* surviving data of the first checkpoint; then it adapts (C5) */
#define FOLD_FIRST (UINT64_C(4) << 20)

/* With a ring full to its last page the frames must go first. */
static int make_page_free(struct rs_journal *j)
{
	struct rs_report rep;
	size_t done;
	int err = 0;

	while (err == 0 && !rs_journal_page_free(j)) {
		rs_report_init(&rep);
		err = rs_journal_fold_some(j, SIZE_MAX, 0, &rep, &done);
		rs_report_release(&rep);
	}
	return err;
}

static int first_frame(struct rs_journal *j)
{
	struct rs_rec rec = { .type = RS_REC_CEILING };
	int err;

	assert(j->group.fill == 0);
	rec.off = j->ceiling + RS_INO_STEP;
	rs_journal_begin(j);
	rs_journal_put(j, &rec, NULL);
	rs_journal_end(j);
	err = rs_journal_commit_once(j);
	if (err < 0)
		return err;
	pthread_mutex_lock(&j->lock);
	j->ceiling = rec.off;
	pthread_mutex_unlock(&j->lock);
	return 0;
}

/*
 * With the first frame folded at once (I4) a start costs one transaction
 * more. What can't be folded now is shown and tried again as ever (C6).
 */
static void fold_first(struct rs_journal *j)
{
	struct rs_report rep;
	size_t done;

	if (j->applied > 0 && j->frames.n > 1)
		return;
	rs_report_init(&rep);
	(void)!rs_journal_fold_some(j, 1, 0, &rep, &done);
	rs_report_release(&rep);
}

static int start_thread(struct rs_journal *j, pthread_t *thread,
			void *(*fn)(void *), const char *name)
{
	sigset_t all, old;
	int err;

	/* Signals are for the daemon's main thread. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(thread, NULL, fn, j);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err != 0)
		return -err;
	pthread_setname_np(*thread, name);
	return 0;
}

static void end_committer(struct rs_journal *j)
{
	pthread_mutex_lock(&j->lock);
	j->stopping = 1;
	pthread_cond_signal(&j->work);
	pthread_cond_broadcast(&j->room);
	pthread_mutex_unlock(&j->lock);
	if (j->threads >= 1)
		pthread_join(j->committer, NULL);
}

static void end_checkpointer(struct rs_journal *j)
{
	pthread_mutex_lock(&j->lock);
	j->checkpoint_stop = 1;
	pthread_cond_signal(&j->fold);
	pthread_mutex_unlock(&j->lock);
	if (j->threads >= 2)
		pthread_join(j->checkpointer, NULL);
}

static int start_threads(struct rs_journal *j)
{
	int err;

	j->fold_bytes = FOLD_FIRST;
	err = start_thread(j, &j->committer, rs_journal_committer, "rs-commit");
	if (err < 0)
		return err;
	j->threads = 1;
	err = start_thread(j, &j->checkpointer, rs_journal_checkpointer,
			   "rs-checkpoint");
	if (err == 0) {
		j->threads = 2;
		return 0;
	}
	end_committer(j);
	j->threads = 0;
	j->stopping = 0;
	return err;
}

void rs_journal_abandon(struct rs_journal *j)
{
	struct rs_waiter *flight, *open;

	pthread_mutex_lock(&j->lock);
	if (!j->poisoned) {
		j->poisoned = -ESHUTDOWN;
		j->why = "the journal was closed";
	}
	pthread_mutex_unlock(&j->lock);
	end_committer(j);
	end_checkpointer(j);
	j->threads = 0;
	flight = rs_waiters_take(&j->wait_flight);
	open = rs_waiters_take(&j->wait_open);
	rs_waiters_serve(flight, -EIO);
	rs_waiters_serve(open, -EIO);
}

int rs_journal_start(struct rs_journal *j)
{
	int err;

	assert(j->has_group && !j->started);
	err = rs_journal_know_ceiling(j);
	if (err == 0)
		err = make_page_free(j);
	if (err == 0)
		err = first_frame(j);
	if (err < 0)
		return err;
	fold_first(j);
	j->started = 1;
	if (!j->cfg.manual)
		err = start_threads(j);
	if (err < 0)
		j->started = 0;
	return err;
}

/* Where recovery will look for the seal (FORMAT.md R1). */
static uint64_t place_after(const struct rs_journal *j, uint64_t end)
{
	return end + RS_PAGE <= j->ring_size ? end : 0;
}

/* All folded: the chain ends in what the store has applied. */
static int may_seal_clean(struct rs_journal *j)
{
	struct rs_ring_head head;
	struct rs_root root;

	rs_ring_get_head(j->ring, &head);
	rs_store_root(j->store, &root);
	return j->frames.n == 0 && head.prev == root.applied &&
	       memcmp(head.prev_tag, root.applied_tag, RS_TAG_LEN) == 0 &&
	       rs_ring_next_place(j->ring, RS_PAGE) ==
		       place_after(j, root.next_place);
}

/* The last thing in the ring; a plain seal where no clean one may stand. */
static int last_seal(struct rs_journal *j)
{
	int err;

	if (j->clean)
		return 0;
	err = rs_journal_seal(j, may_seal_clean(j));
	/* No page free for a seal: recovery reads the whole ring then. */
	return err == -EAGAIN ? 0 : err;
}

int rs_journal_stop(struct rs_journal *j, int fast)
{
	struct rs_report rep;

	if (!j->started)
		return 0;
	end_committer(j);
	/* In manual mode, and for what came while the thread ended. */
	(void)!rs_journal_commit_once(j);
	end_checkpointer(j);
	j->threads = 0;
	j->started = 0;
	rs_journal_note_bad(j);
	if (!fast && !j->store_broken) {
		rs_report_init(&rep);
		/* What fails stays in the ring, and the next start folds it. */
		(void)!rs_journal_fold_rest(j, 0, NULL, NULL, &rep);
		rs_report_release(&rep);
	}
	if (j->poisoned)
		return -EIO;
	return last_seal(j);
}

int rs_journal_fold_all(struct rs_journal *j,
			void (*progress)(void *, uint64_t, uint64_t), void *arg,
			struct rs_report *rep)
{
	int err;

	if (j->cfg.mode != RS_JOURNAL_RECOVER)
		return -EROFS;
	err = rs_journal_fold_rest(j, 1, progress, arg, rep);
	return err < 0 ? err : last_seal(j);
}
