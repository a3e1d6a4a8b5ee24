/*
 * fold.h - a checkpoint's work: whole frames of the ring become one LMDB
 * transaction. Rules C1 to C6 (ARCHITECTURE.md).
 *
 * A fold reads frames only, never the tree in RAM: for each key it writes
 * the value as of the last frame of the transaction, which is what C2 asks,
 * and takes no lock of the tree. Inodes that were born and died within the
 * frames of one transaction never reach LMDB.
 */
#ifndef RS_FOLD_H
#define RS_FOLD_H

#include "journal/store.h"

/* What one transaction may cost. */
struct rs_fold_limit {
	uint64_t data_bytes; /* of surviving DATA; at least one frame goes */
	/* all frames in RAM go at once if no more than this survives, and
	 * less than half of what they hold; 0: never */
	uint64_t whole_bytes;
};

/*
 * Fold the first frames of refs[0..n), which follow the store's applied
 * number without a gap, in one transaction; bodies not kept in RAM are read
 * from the ring. The root's next_place is the end of the last one.
 * *ret_done: frames folded. rep (may be NULL): replayed frames, records and
 * bytes are added, and findings, which also add to the root's damage.
 * gap: frames before are missing, so predecessor numbers are compared
 * strictly and mismatching inodes become suspect (G7), and entries of which
 * inode or directory is missing are not put; without gap a mismatch is damage
 * too and reported.
 * Errors: nothing was changed after -ENOSPC, -ENOMEM (again later); -EIO,
 * -EUCLEAN: this process must not write the store again (C6).
 */
RS_MUST_USE int rs_fold(struct rs_store *store, struct rs_ring *ring,
			const struct rs_frame_ref *refs, size_t n,
			const struct rs_fold_limit *limit, int gap,
			struct rs_report *rep, size_t *ret_done);

#endif
