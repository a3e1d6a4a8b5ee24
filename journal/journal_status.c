/* journal_status.c - the journal's numbers, for people and for quota. */
#include <stdio.h>

#include "journal/journal_p.h"

const struct rs_marker *rs_journal_marker(const struct rs_journal *j)
{
	return &j->marker;
}

struct rs_store *rs_journal_store(struct rs_journal *j)
{
	return j->store;
}

struct rs_ring *rs_journal_ring(struct rs_journal *j)
{
	return j->ring;
}

void rs_journal_set_flush_interval(struct rs_journal *j, unsigned int ms)
{
	pthread_mutex_lock(&j->lock);
	j->flush_interval = ms;
	pthread_cond_signal(&j->work);
	pthread_mutex_unlock(&j->lock);
}

static const char *reason(int err)
{
	const char *text = strerrordesc_np(-err);

	return text ? text : "unknown error";
}

static void tell_why(const struct rs_journal *j, struct rs_journal_status *st)
{
	if (j->poisoned)
		snprintf(st->why, sizeof(st->why), "%s: %s", j->why,
			 reason(j->poisoned));
	else if (j->store_broken)
		snprintf(st->why, sizeof(st->why),
			 "writing the store failed: %s",
			 reason(j->store_broken));
	else if (j->store_amber)
		snprintf(st->why, sizeof(st->why),
			 "no room for a checkpoint, it is tried again");
}

static void unsynced(const struct rs_journal *j, struct rs_journal_status *st)
{
	struct timespec now;

	st->unsynced_bytes = j->flight_bytes + j->group.fill;
	if (!st->unsynced_bytes)
		return;
	rs_journal_now(j, &now);
	st->due = j->in_flight || rs_journal_cut_due(j, &now) == 0;
	st->unsynced_age_ms =
		rs_journal_us(j->in_flight ? &j->flight_opened : &j->opened,
			      &now) /
		1000;
}

void rs_journal_status(struct rs_journal *j, struct rs_journal_status *ret)
{
	memset(ret, 0, sizeof(*ret));
	pthread_mutex_lock(&j->lock);
	ret->poisoned = j->poisoned != 0;
	ret->store_broken = j->store_broken != 0;
	ret->store_amber = j->store_amber;
	tell_why(j, ret);
	ret->open_number = j->group.number;
	ret->durable = j->durable;
	ret->applied = j->applied;
	ret->highest = j->highest;
	ret->ring_size = j->ring_size;
	ret->ring_used = rs_journal_ring_used(j);
	ret->ring_reserve = j->ring_reserve;
	unsynced(j, ret);
	ret->frames = j->n_frames;
	ret->flushes = j->n_flushes;
	ret->seals = j->n_seals;
	ret->frame_bytes = j->n_bytes;
	ret->waiters_served = j->n_served;
	ret->awaited = j->n_awaited;
	ret->checkpoints = j->n_checkpoints;
	ret->folded_frames = j->n_folded;
	ret->kept_bytes = j->kept_bytes;
	ret->flush_us_last = j->flush_us_last;
	ret->flush_us_avg = j->n_frames ? j->flush_us_sum / j->n_frames : 0;
	ret->store_used = j->store_used;
	ret->store_reserved = j->store_reserved;
	ret->ceiling = j->ceiling;
	ret->damage = j->damage + rs_store_bad(j->store, NULL) - j->bad_noted;
	pthread_mutex_unlock(&j->lock);
}
