/* chain_p.h - what the files of the chain search share. */
#ifndef RS_CHAIN_P_H
#define RS_CHAIN_P_H

#include "journal/recover.h"

/* Whole headers of the ring that may matter: numbers from applied on. */
struct rs_found {
	struct rs_frame_ref *ref; /* sorted by number once collected */
	size_t n, cap;
	uint8_t (*salt)[RS_SALT_LEN]; /* of authentic ones, any number */
	size_t n_salts;
	uint64_t highest; /* number of any authentic one */
	uint64_t bad;	  /* pages that could not be read */
};

/*
 * Scan the ring; keep what FORMAT.md R2 and R3 let count. Errors: those of
 * rs_ring_scan(), -ENOMEM.
 */
RS_MUST_USE int rs_found_collect(struct rs_ring *ring, uint64_t applied,
				 struct rs_found *ret_found);
void rs_found_release(struct rs_found *found);

/*
 * The authentic frame (not a seal) of this number and tag, or NULL; tag
 * NULL: any.
 */
const struct rs_frame_ref *rs_found_frame(const struct rs_found *found,
					  uint64_t number, const uint8_t *tag);
/* A frame of this number that isn't authentic, or NULL. */
const struct rs_frame_ref *rs_found_damaged(const struct rs_found *found,
					    uint64_t number);
/* The authentic frame with the highest number below this, or NULL. */
const struct rs_frame_ref *rs_found_below(const struct rs_found *found,
					  uint64_t number);

#endif
