/* ring_p.h - what the files of the ring share. */
#ifndef RS_RING_P_H
#define RS_RING_P_H

#include "journal/ring.h"

struct rs_ring {
	int fd;
	const struct rs_seam *seam;
	uint64_t size;
	uint8_t id[RS_ID_LEN];
	uint8_t salt[RS_SALT_LEN];
	const struct rs_crypto *crypto;
	struct rs_aead *aead; /* this process's frame key; NULL: readonly */
	int direct;
	int broken;    /* first error of a write or flush, kept */
	int unflushed; /* written since the last flush that worked */
	struct rs_ring_head head;
};

/*
 * Write all of buf at off; a short write is continued with the same bytes
 * (from a page's start when direct). -EIO if it does not get on.
 */
RS_MUST_USE int rs_ring_write_all(const struct rs_seam *seam, int fd,
				  int direct, const uint8_t *buf, uint64_t len,
				  uint64_t off);

/*
 * Is a whole header at buf? Fills *ret_ref and authenticates the frame, of
 * which buf holds all bytes, when check is set. -ENOENT: no header;
 * -ENOMEM. buf may be changed (decrypted).
 */
RS_MUST_USE int rs_ring_judge(const struct rs_ring *ring, uint64_t place,
			      uint8_t *buf, int check,
			      struct rs_frame_ref *ret_ref);

#endif
