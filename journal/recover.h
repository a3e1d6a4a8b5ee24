/*
 * recover.h - which frames of the ring count, and what is wrong with it.
 */
#ifndef RS_RECOVER_H
#define RS_RECOVER_H

#include "journal/store.h"

/* The frames after the applied number, in order. */
struct rs_chain {
	struct rs_frame_ref *refs; /* whole frames, seals left out */
	size_t n;
	size_t first_gap; /* index of the first frame after a gap, or n */
	struct rs_ring_head head; /* where writing goes on */
	int clean; /* ends in a seal of an orderly end; nothing to replay */
};

/*
 * Find the frames after root->applied. A clean seal at root->next_place that
 * chains to root->applied ends it at once; otherwise the whole ring is
 * scanned. Decides:
 *  - a damaged or missing last frame that nothing proves acknowledged is
 *    "unfinished" (rep), dropped, no damage;
 *  - a frame N is proved acknowledged by any whole header with a higher
 *    number (a seal too);
 *  - a missing or damaged frame that is proved: RS_FIND_FRAME, first_gap;
 *  - highest number found < root->applied: RS_FIND_RING, -EUCLEAN (another
 *    ring or an old copy);
 *  - the applied frame's place holds that number with another tag: the same.
 * Errors: -EUCLEAN as said, -EIO, -ENOMEM, -ENOKEY.
 */
RS_MUST_USE int rs_chain_find(struct rs_ring *ring, const struct rs_root *root,
			      struct rs_report *rep,
			      struct rs_chain *ret_chain);
void rs_chain_release(struct rs_chain *chain);

/*
 * Keep the bytes of damaged frames under DIR/quarantine/ (index.json says
 * which, why, when) before their place is used again.
 */
RS_MUST_USE int rs_quarantine_frames(int dirfd, struct rs_ring *ring,
				     const struct rs_report *rep);

#endif
