/*
 * commit.c - a group becomes a frame: cut, write, flush, publish, answer.
 *
 * MODEL
 *	 lock      cut: segments change places, number + 1
 *	           compact; copy the body for the fold; ONE write; ONE flush
 *	 lock      the frame's ref, the head, durable = its number
 *	           answer its waiters; space()
 *	While the disk is busy the next group fills, so groups grow under load;
 *	where it pays a cut is put off for some more company (company.h).
 *
 * INVARIANTS
 * I1	Frame N+1 is written only after N was flushed: one frame is in flight
 *	at a time, and write and flush follow each other in one thread.
 * I2	Nothing is published before its flush returned 0; nothing is answered
 *	before it was published.
 * I3	The first error of write or flush is final (G6): from then on nothing
 *	is written and everybody gets -EIO. Never a retry.
 * I4	The frame has the number that its group had while it was open, also
 *	after groups that left nothing to write and after seals; so a number
 *	names one frame at most and is written once (nonce).
 * I5	After the cut nothing needs memory: without any for the kept body the
 *	fold reads it from the ring.
 *
 * LOCKS  write, flush and callbacks run without j->lock.
 *
 * CRASH  before the write: the group is lost, nobody was told. Between write
 * and flush: recovery finds the frame or not, nobody was told. After the
 * flush: it is there.
 */
#include <assert.h>
#include <errno.h>
#include <time.h>

#include "journal/journal_p.h"

/* a log that was quiet this long after a flush gets its seal (us) */
#define SEAL_IDLE 50000u

void rs_journal_now(const struct rs_journal *j, struct timespec *ret)
{
	j->seam->now(j->seam->ctx, CLOCK_MONOTONIC, ret);
}

uint64_t rs_journal_us(const struct timespec *a, const struct timespec *b)
{
	int64_t us = (int64_t)(b->tv_sec - a->tv_sec) * 1000000 +
		     (b->tv_nsec - a->tv_nsec) / 1000;

	return us > 0 ? (uint64_t)us : 0;
}

/*
 * Deadlines are the seam's time, sleeping is the system's: what is left is
 * added to the real clock.
 */
void rs_journal_sleep(struct rs_journal *j, pthread_cond_t *cond, uint64_t us)
{
	struct timespec until;

	if (us == 0) {
		pthread_cond_wait(cond, &j->lock);
		return;
	}
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (time_t)(us / 1000000);
	until.tv_nsec += (long)(us % 1000000) * 1000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	pthread_cond_timedwait(cond, &j->lock, &until);
}

void rs_journal_poison(struct rs_journal *j, int err, const char *why)
{
	struct rs_waiter *flight, *open;
	int first;

	pthread_mutex_lock(&j->lock);
	first = !j->poisoned;
	if (first) {
		j->poisoned = err;
		j->why = why;
	}
	flight = rs_waiters_take(&j->wait_flight);
	open = rs_waiters_take(&j->wait_open);
	pthread_cond_broadcast(&j->room);
	pthread_mutex_unlock(&j->lock);
	/* Before anybody is told: from the first EIO on there is no other. */
	if (first && j->cfg.poisoned)
		j->cfg.poisoned(j->cfg.arg, err, why);
	rs_waiters_serve(flight, -EIO);
	rs_waiters_serve(open, -EIO);
	if (first)
		rs_journal_tell_space(j);
}

/* The group lock is held. 0 if there is nothing to cut. */
static int cut(struct rs_journal *j, struct rs_group_cut *ret_cut)
{
	if (j->poisoned || j->in_flight || j->group.fill == 0)
		return 0;
	j->flight_bound =
		rs_journal_ring_bound(j, rs_frame_size(j->group.fill));
	j->flight_bytes = j->group.fill;
	j->flight_opened = j->opened;
	rs_group_cut(&j->group, ret_cut);
	j->in_flight = 1;
	j->demand = RS_DEMAND_NONE;
	/* Nobody waits for a flight while there is none. */
	assert(!j->wait_flight.first);
	rs_waiters_move(&j->wait_flight, &j->wait_open);
	/* The other segment is empty. */
	if (j->n_sleepers > 0)
		pthread_cond_broadcast(&j->room);
	return 1;
}

/* A copy for the fold, while there is room for it; NULL: none. */
static uint8_t *keep_body(struct rs_journal *j, const uint8_t *body, size_t len)
{
	uint8_t *copy;
	int room;

	pthread_mutex_lock(&j->lock);
	room = j->kept_bytes + len <= j->kept_limit;
	pthread_mutex_unlock(&j->lock);
	copy = room ? malloc(len) : NULL;
	if (copy)
		memcpy(copy, body, len);
	return copy;
}

static void oldest_needed(struct rs_journal *j, uint64_t *ret_number,
			  uint64_t *ret_place)
{
	const struct rs_frame_ref *ref;

	*ret_number = 0;
	*ret_place = 0;
	pthread_mutex_lock(&j->lock);
	if (j->frames.n > 0) {
		ref = rs_frames_at(&j->frames, 0);
		*ret_number = ref->number;
		*ret_place = ref->place;
	}
	pthread_mutex_unlock(&j->lock);
}

/* The number that the next write takes: the group's. */
static void set_number(struct rs_journal *j, uint64_t number)
{
	struct rs_ring_head head;

	rs_ring_get_head(j->ring, &head);
	assert(head.number < number);
	head.number = number - 1;
	rs_ring_set_head(j->ring, &head);
}

/* Write and flush; poisons on any error. */
static int write_frame(struct rs_journal *j, const struct rs_group_cut *c,
		       size_t len, struct rs_frame_ref *ret_ref,
		       uint64_t *ret_us)
{
	struct timespec from, to;
	uint64_t oldest, place;
	int err;

	oldest_needed(j, &oldest, &place);
	set_number(j, c->number);
	err = rs_ring_write(j->ring, c->image, len, 0, oldest, place, ret_ref);
	if (err < 0) {
		rs_journal_poison(j, err, "writing the intent log failed");
		return -EIO;
	}
	rs_journal_now(j, &from);
	err = rs_ring_flush(j->ring);
	if (err < 0) {
		rs_journal_poison(j, err, "flushing the intent log failed");
		return -EIO;
	}
	rs_journal_now(j, &to);
	*ret_us = rs_journal_us(&from, &to);
	return 0;
}

/* Lock held: the frame counts from now on. */
static void enter(struct rs_journal *j, const struct rs_frame_ref *ref,
		  uint64_t us)
{
	rs_journal_now(j, &j->last_commit);
	if (j->frames.n == 0) {
		/* It sets its timer by the oldest. */
		j->oldest_since = j->last_commit;
		pthread_cond_signal(&j->fold);
	}
	rs_frames_push(&j->frames, ref);
	j->head = ref->place + ref->size;
	j->kept_bytes += ref->body ? ref->body_len : 0;
	j->n_frames++;
	j->n_flushes++;
	j->n_bytes += ref->size;
	j->flush_us_last = us;
	j->flush_us_sum += us;
	j->unsealed = 1;
	j->clean = 0;
	if (rs_journal_must_fold(j))
		pthread_cond_signal(&j->fold);
}

/* Lock held, before the frame's waiters are taken away. */
static void note_company(struct rs_journal *j, uint64_t flush_us)
{
	struct timespec now;

	rs_journal_now(j, &now);
	rs_company_note(&j->company, j->wait_flight.n, j->wait_open.n, flush_us,
			&now);
}

static void publish(struct rs_journal *j, const struct rs_group_cut *c,
		    const struct rs_frame_ref *ref, uint64_t us)
{
	struct rs_waiter *list;
	uint64_t n;

	/* Watches I2 in every test: nothing is told before its flush. */
	assert(!ref || rs_ring_is_flushed(j->ring));
	pthread_mutex_lock(&j->lock);
	if (ref)
		enter(j, ref, us);
	rs_group_done(&j->group, c);
	j->in_flight = 0;
	j->flight_bytes = 0;
	j->flight_bound = 0;
	j->durable = c->number;
	j->highest = c->number;
	if (ref)
		note_company(j, us);
	list = rs_waiters_take(&j->wait_flight);
	if (j->n_sleepers > 0)
		pthread_cond_broadcast(&j->room);
	pthread_mutex_unlock(&j->lock);
	n = rs_waiters_serve(list, 0);
	pthread_mutex_lock(&j->lock);
	j->n_served += n;
	pthread_mutex_unlock(&j->lock);
}

static int commit(struct rs_journal *j, const struct rs_group_cut *c)
{
	size_t len = rs_group_compact(c);
	struct rs_frame_ref ref;
	uint8_t *body;
	uint64_t us;
	int err;

	/*
	 * All of it came and went. The number is used up all the same, since
	 * inodes and waiters know it; everything before it is flushed.
	 */
	if (len == 0) {
		set_number(j, c->number + 1);
		publish(j, c, NULL, 0);
		return 0;
	}
	body = keep_body(j, c->image + RS_FRAME_HEADER, len);
	err = write_frame(j, c, len, &ref, &us);
	if (err < 0) {
		free(body);
		return err;
	}
	ref.body = body;
	publish(j, c, &ref, us);
	return 0;
}

int rs_journal_commit_once(struct rs_journal *j)
{
	struct rs_group_cut c;
	int any, poisoned, err;

	pthread_mutex_lock(&j->lock);
	any = cut(j, &c);
	poisoned = j->poisoned;
	pthread_mutex_unlock(&j->lock);
	if (!any)
		return poisoned ? -EIO : 0;
	err = commit(j, &c);
	if (err == 0)
		rs_journal_tell_space(j);
	return err;
}

/* ---- the committer ---- */

uint64_t rs_journal_cut_due(const struct rs_journal *j,
			    const struct timespec *now)
{
	uint64_t age, limit = (uint64_t)j->flush_interval * 1000;

	if (j->group.fill == 0)
		return UINT64_MAX;
	if (j->demand || j->stopping || rs_group_is_half(&j->group))
		return 0;
	age = rs_journal_us(&j->opened, now);
	return age >= limit ? 0 : limit - age;
}

static uint64_t seal_due(const struct rs_journal *j, const struct timespec *now)
{
	uint64_t age;

	if (!j->unsealed || j->group.fill > 0 || !rs_journal_page_free(j))
		return UINT64_MAX;
	age = rs_journal_us(&j->last_commit, now);
	return age >= SEAL_IDLE ? 0 : SEAL_IDLE - age;
}

/* Lock held: us that the cut, which is due, may wait for company; 0: cut. */
static uint64_t company_due(const struct rs_journal *j,
			    const struct timespec *now)
{
	if (j->demand != RS_DEMAND_CALLER || j->stopping || j->n_sleepers > 0 ||
	    rs_group_is_half(&j->group))
		return 0;
	return rs_company_due(&j->company, j->wait_open.n, now);
}

/* Lock held, and again on return. */
static void await_company(struct rs_journal *j, uint64_t us)
{
	j->n_awaited++;
	j->want = j->company.crowd;
	rs_journal_sleep(j, &j->work, us);
	j->want = 0;
}

/* Lock held, and again on return. 1: go on, 0: the end. */
static int committer_step(struct rs_journal *j)
{
	struct timespec now;
	uint64_t cut_us, seal_us, us;

	rs_journal_now(j, &now);
	cut_us = j->poisoned ? UINT64_MAX : rs_journal_cut_due(j, &now);
	seal_us = j->poisoned ? UINT64_MAX : seal_due(j, &now);
	if (cut_us > 0 && j->stopping)
		return 0;
	if (cut_us > 0 && seal_us > 0) {
		us = cut_us < seal_us ? cut_us : seal_us;
		rs_journal_sleep(j, &j->work, us == UINT64_MAX ? 0 : us);
		return 1;
	}
	us = cut_us == 0 ? company_due(j, &now) : 0;
	if (us > 0) {
		await_company(j, us);
		return 1;
	}
	pthread_mutex_unlock(&j->lock);
	/* What fails poisons; the waiters know then. */
	if (cut_us == 0)
		(void)!rs_journal_commit_once(j);
	else
		(void)!rs_journal_seal(j, 0);
	pthread_mutex_lock(&j->lock);
	return 1;
}

void *rs_journal_committer(void *arg)
{
	struct rs_journal *j = arg;

	pthread_mutex_lock(&j->lock);
	while (committer_step(j))
		;
	pthread_mutex_unlock(&j->lock);
	return NULL;
}
