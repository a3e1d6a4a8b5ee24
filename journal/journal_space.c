/*
 * journal_space.c - reservations, and the book of the ring's bytes.
 *
 * MODEL
 *	ring:  used           in flight   open group + reservations   free
 *	      |===============|-----------|..........................|      |
 *	      oldest needed   head                                    limit
 *	limit = size - reserve for GROW, size - spare for SMALL. What a frame
 *	may skip at the end of the ring counts with it, as large as it can get.
 *
 * INVARIANTS
 * I1	Whatever is appended under a reservation fits into the open group and,
 *	once cut, into the ring, whatever is cut when. So commits never wait
 *	for space and never fail for want of it.
 * I2	Bytes of the ring are free only after the transaction that folded
 *	their frames returned 0 (C3): frames leave j->frames only then.
 * I3	SMALL never waits for a checkpoint while the reserve lasts. When even
 *	that is used up it waits for the checkpoint that is under way, or
 *	gets -ENOSPC if there will be none (C6) or the last one found no room.
 */
#include <assert.h>
#include <errno.h>

#include "journal/journal_p.h"

uint64_t rs_journal_ring_used(const struct rs_journal *j)
{
	uint64_t tail;

	if (j->frames.n == 0)
		return 0;
	tail = rs_frames_at(&j->frames, 0)->place;
	if (j->head > tail)
		return j->head - tail;
	return j->head + j->ring_size - tail;
}

uint64_t rs_journal_ring_bound(const struct rs_journal *j, uint64_t size)
{
	uint64_t skip;

	if (j->head + size <= j->ring_size)
		return size;
	/* Fewer bytes than the frame that doesn't fit, and than are left. */
	skip = j->ring_size - j->head;
	return size + (skip < size ? skip : size);
}

int rs_journal_page_free(const struct rs_journal *j)
{
	return rs_journal_ring_used(j) + RS_PAGE <= j->ring_size;
}

/*
 * Bytes of the ring that the open group and all reservations can come to
 * use. Each reservation may end up in a frame of its own, which costs a
 * header, a tag and what pads it: less than two pages.
 */
static uint64_t demand_for(const struct rs_journal *j, size_t bytes)
{
	uint64_t size = rs_frame_size(j->group.fill + j->outstanding + bytes);

	size += 2u * RS_PAGE * (uint64_t)(j->n_outstanding + 1);
	/* The head isn't known while a frame is in flight: assume a skip. */
	if (j->in_flight && j->head + j->flight_bound + size > j->ring_size)
		return 2 * size;
	return rs_journal_ring_bound(j, size);
}

enum verdict {
	ROOM,
	GROUP_FULL,
	RING_FULL
};

static enum verdict judge(const struct rs_journal *j, size_t bytes,
			  enum rs_need need)
{
	size_t cap = j->group.cap, chunks = RS_GROUP_CHUNKS;
	uint64_t limit = j->ring_size - RS_SPARE, used;

	if (need == RS_NEED_GROW) {
		cap = rs_journal_max_bytes(j);
		chunks = RS_GROUP_CHUNKS / 8 * 7;
		limit = j->ring_size - j->ring_reserve;
	}
	if (j->group.fill + j->outstanding + bytes > cap ||
	    j->group.chunks >= chunks)
		return GROUP_FULL;
	used = rs_journal_ring_used(j) + j->flight_bound;
	return used + demand_for(j, bytes) > limit ? RING_FULL : ROOM;
}

size_t rs_journal_max_bytes(const struct rs_journal *j)
{
	return j->group.cap / 8 * 7;
}

static void ask_for(struct rs_journal *j, enum verdict why)
{
	if (why == GROUP_FULL) {
		if (j->group.fill > 0)
			j->demand = RS_DEMAND_NOW;
		pthread_cond_signal(&j->work);
	} else {
		j->kick = 1;
		pthread_cond_signal(&j->fold);
	}
}

static int ring_stays_full(const struct rs_journal *j, enum verdict why)
{
	return why == RING_FULL && j->store_broken && !j->in_flight;
}

/* For SMALL also while checkpoints find no room: workers must not hang. */
static int reserve_is_used_up(const struct rs_journal *j, enum verdict why)
{
	return why == RING_FULL && (j->store_broken || j->store_amber) &&
	       !j->in_flight;
}

/*
 * SMALL without room: until there is some. By hand in manual mode, where
 * no thread would ever make any. Lock held, and again on return.
 */
static int wait_for_room(struct rs_journal *j, enum verdict why)
{
	int more, err = 0;

	if (reserve_is_used_up(j, why))
		return -ENOSPC;
	ask_for(j, why);
	if (j->threads) {
		j->n_sleepers++;
		rs_journal_sleep(j, &j->room, 0);
		j->n_sleepers--;
		return 0;
	}
	pthread_mutex_unlock(&j->lock);
	if (why == GROUP_FULL)
		err = rs_journal_commit_once(j);
	else
		err = rs_journal_checkpoint_once(j, &more);
	pthread_mutex_lock(&j->lock);
	if (err < 0 && !j->poisoned)
		return -ENOSPC;
	return 0;
}

int rs_journal_reserve(struct rs_journal *j, size_t bytes, enum rs_need need)
{
	enum verdict why;
	int err = 0;

	if (bytes > rs_journal_max_bytes(j))
		return -ENOSPC;
	pthread_mutex_lock(&j->lock);
	for (;;) {
		if (j->poisoned || j->stopping) {
			err = -EROFS;
			break;
		}
		why = judge(j, bytes, need);
		if (why == ROOM)
			break;
		if (need == RS_NEED_GROW) {
			ask_for(j, why);
			j->refused = 1;
			err = ring_stays_full(j, why) ? -ENOSPC : RS_EPARK;
			break;
		}
		err = wait_for_room(j, why);
		if (err < 0)
			break;
	}
	if (err == 0) {
		j->outstanding += bytes;
		j->n_outstanding++;
	}
	pthread_mutex_unlock(&j->lock);
	return err;
}

void rs_journal_unreserve(struct rs_journal *j, size_t bytes)
{
	int tell;

	pthread_mutex_lock(&j->lock);
	assert(j->n_outstanding > 0 && j->outstanding >= bytes);
	j->outstanding -= bytes;
	j->n_outstanding--;
	if (j->n_sleepers > 0)
		pthread_cond_broadcast(&j->room);
	/* With an empty group no commit would come to tell them. */
	tell = j->refused && j->group.fill == 0 && !j->in_flight;
	if (j->refused && j->group.fill > 0 && j->demand != RS_DEMAND_NOW) {
		j->demand = RS_DEMAND_NOW;
		pthread_cond_signal(&j->work);
	}
	pthread_mutex_unlock(&j->lock);
	if (tell)
		rs_journal_tell_space(j);
}

void rs_journal_tell_space(struct rs_journal *j)
{
	int refused;

	pthread_mutex_lock(&j->lock);
	refused = j->refused;
	j->refused = 0;
	pthread_mutex_unlock(&j->lock);
	if (refused && j->cfg.space)
		j->cfg.space(j->cfg.arg);
}
