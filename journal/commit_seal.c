/*
 * commit_seal.c - seals: what came before was flushed (FORMAT.md W3, W5).
 *
 * INVARIANTS
 * I1	The number is taken under the group lock while the group is empty and
 *	nothing is in flight, so it lies between the last frame's and every
 *	later one's, and nothing was ever appended under it.
 * I2	A seal goes to a free page only. With the head at the end of the ring
 *	that is page 0, which the book counts as following it.
 * I3	A plain seal needs no flush: lost, it leaves what a crash leaves. A
 *	clean one is flushed, because the next start trusts it.
 */
#include <errno.h>

#include "journal/journal_p.h"

/* Lock held. 0: a seal must not be written now. */
static int take_number(struct rs_journal *j)
{
	if (j->poisoned || j->in_flight || j->group.fill > 0 ||
	    !rs_journal_page_free(j))
		return 0;
	j->highest = j->group.number;
	j->durable = j->group.number;
	j->group.number++;
	/* Nobody else writes, but status and wait must not see a flight. */
	j->unsealed = 0;
	return 1;
}

int rs_journal_seal(struct rs_journal *j, int clean)
{
	const uint16_t flags =
		(uint16_t)(RS_FF_SEAL | (clean ? RS_FF_CLEAN : 0u));
	uint64_t oldest = 0, place = 0;
	struct rs_ring_head head;
	struct rs_frame_ref ref;
	int ok, err;

	pthread_mutex_lock(&j->lock);
	ok = take_number(j);
	if (j->frames.n > 0) {
		oldest = rs_frames_at(&j->frames, 0)->number;
		place = rs_frames_at(&j->frames, 0)->place;
	}
	rs_ring_get_head(j->ring, &head);
	if (ok)
		head.number = j->highest - 1;
	pthread_mutex_unlock(&j->lock);
	if (!ok)
		return -EAGAIN;
	rs_ring_set_head(j->ring, &head);
	err = rs_ring_write(j->ring, j->page, 0, flags, oldest, place, &ref);
	if (err == 0 && clean)
		err = rs_ring_flush(j->ring);
	if (err < 0) {
		rs_journal_poison(j, err, "writing the intent log failed");
		return -EIO;
	}
	pthread_mutex_lock(&j->lock);
	j->n_seals++;
	j->n_flushes += (uint64_t)clean;
	j->clean = clean;
	pthread_mutex_unlock(&j->lock);
	return 0;
}
