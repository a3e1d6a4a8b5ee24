/*
 * wait.c - who waits for which number.
 *
 * MODEL
 *	... durable | number in flight | number of the open group
 *	  1 at once    wait_flight         wait_open, and a cut is demanded
 * The committer may put that cut off for a moment to have more of them in one
 * flush (company.h); it is woken when as many are there as it wants.
 *
 * INVARIANTS
 * I1	With no frame in flight durable + 1 is the open group's number, so a
 *	number is always durable, in flight or open.
 * I2	A waiter is called once, without any lock, after `durable` was
 *	published or the log was poisoned.
 */
#include <assert.h>
#include <errno.h>

#include "journal/journal_p.h"

void rs_waiters_init(struct rs_waiters *w)
{
	w->first = NULL;
	w->last = &w->first;
	w->n = 0;
}

void rs_waiters_add(struct rs_waiters *w, struct rs_waiter *waiter)
{
	waiter->next = NULL;
	*w->last = waiter;
	w->last = &waiter->next;
	w->n++;
}

struct rs_waiter *rs_waiters_take(struct rs_waiters *w)
{
	struct rs_waiter *first = w->first;

	rs_waiters_init(w);
	return first;
}

void rs_waiters_move(struct rs_waiters *to, struct rs_waiters *from)
{
	if (!from->first)
		return;
	*to->last = from->first;
	to->last = from->last;
	to->n += from->n;
	rs_waiters_init(from);
}

uint64_t rs_waiters_serve(struct rs_waiter *first, int err)
{
	struct rs_waiter *next;
	uint64_t n = 0;

	/* fn may free it */
	for (; first; first = next, n++) {
		next = first->next;
		first->fn(first, err);
	}
	return n;
}

/* Lock held: w waits for the open group. Must the committer be woken? */
static int join(struct rs_journal *j, struct rs_waiter *w)
{
	rs_waiters_add(&j->wait_open, w);
	if (j->demand == RS_DEMAND_NONE) {
		j->demand = RS_DEMAND_CALLER;
		return !j->in_flight;
	}
	if (j->want == 0 || j->wait_open.n < j->want)
		return 0;
	j->want = 0;
	return 1;
}

int rs_journal_wait(struct rs_journal *j, uint64_t number, struct rs_waiter *w)
{
	int ret = 0, wake = 0;

	pthread_mutex_lock(&j->lock);
	if (number == 0)
		number = j->group.number - (j->group.fill == 0);
	assert(number <= j->group.number);
	w->number = number;
	if (j->poisoned) {
		/* Also of what is durable: one answer for all (G6). */
		ret = -EIO;
	} else if (number <= j->durable) {
		ret = 1;
	} else if (number == j->group.number) {
		wake = join(j, w);
	} else {
		rs_waiters_add(&j->wait_flight, w);
	}
	pthread_mutex_unlock(&j->lock);
	/* Not under the lock, which is the first thing that it takes. */
	if (wake)
		pthread_cond_signal(&j->work);
	return ret;
}

struct sync {
	struct rs_waiter w;
	struct rs_journal *j;
	int done, err;
};

static void synced(struct rs_waiter *w, int err)
{
	struct sync *s = (struct sync *)w;
	struct rs_journal *j = s->j;

	pthread_mutex_lock(&j->lock);
	s->err = err;
	s->done = 1;
	pthread_cond_broadcast(&j->room);
	pthread_mutex_unlock(&j->lock);
}

int rs_journal_sync(struct rs_journal *j)
{
	struct sync s = { .w.fn = synced, .j = j };
	int ret = rs_journal_wait(j, 0, &s.w);

	if (ret != 0)
		return ret < 0 ? ret : 0;
	/* Without threads nobody else would commit; the waiter is served. */
	if (!j->threads)
		(void)!rs_journal_commit_once(j);
	pthread_mutex_lock(&j->lock);
	while (!s.done)
		rs_journal_sleep(j, &j->room, 0);
	pthread_mutex_unlock(&j->lock);
	return s.err;
}
