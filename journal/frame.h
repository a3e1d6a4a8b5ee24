/*
 * frame.h - one frame of the ring: header, records, tag, padding.
 *
 *   0   8  magic "RSPFRAME"
 *   8   2  format version
 *  10   2  flags (RS_FF_)
 *  12   4  CRC32C over bytes 0 to 191 with this field as zeros
 *  16  16  store id
 *  32  32  salt of the writing process
 *  64   8  number: nonce and place in the one order
 *  72   8  number of the frame before (seals are not counted: see below)
 *  80  16  tag of the frame before
 *  96   8  place: where in the ring this header stands
 * 104   8  length of the records in bytes
 * 112   8  number of the oldest frame still needed
 * 120   8  place of the oldest frame still needed
 * 128   8  key id
 * 136  56  zeros
 * 192      records, then the 16-byte tag (directly after them), zeros up to
 *          a multiple of 4096
 *
 * A seal has no records and one page. It takes a number but no place: the
 * next real frame is written over it and names the frame before the seal as
 * its predecessor (both number and tag), so a seal needs no flush.
 */
#ifndef RS_FRAME_H
#define RS_FRAME_H

#include "include/rs_base.h"
#include "journal/crypto.h"

#define RS_FRAME_HEADER 192u
#define RS_FRAME_MAX (UINT64_C(8) << 20) /* bytes with padding */

#define RS_FF_SEAL 0x1u	     /* no records; what came before was flushed */
#define RS_FF_CLEAN 0x2u     /* a seal written by an orderly end: all folded */
#define RS_FF_ENCRYPTED 0x4u /* records are ciphertext */

struct rs_frame_head {
	uint16_t version, flags;
	uint8_t id[RS_ID_LEN];
	uint8_t salt[RS_SALT_LEN];
	uint64_t number, prev;
	uint8_t prev_tag[RS_TAG_LEN];
	uint64_t place;
	uint64_t body_len;
	uint64_t oldest, oldest_place;
	uint64_t key_id;
};

/* Bytes of a whole frame with padding, for body_len bytes of records. */
static inline uint64_t rs_frame_size(uint64_t body_len)
{
	return rs_align_up(RS_FRAME_HEADER + body_len + RS_TAG_LEN, RS_PAGE);
}

/*
 * Build the frame in buf, where the records already stand at
 * RS_FRAME_HEADER and rs_frame_size() bytes are there: writes header, tag,
 * padding. aead is the process's own frame key.
 */
RS_MUST_USE int rs_frame_seal(struct rs_aead *aead,
			      const struct rs_frame_head *head, uint8_t *buf,
			      uint8_t ret_tag[RS_TAG_LEN]);

/*
 * Is a whole header at buf (RS_FRAME_HEADER bytes)? Checks magic, version,
 * check, store id, lengths against ring_size, and that place is where it was
 * read from. Errors: -EUCLEAN; -EPROTONOSUPPORT (newer version).
 */
RS_MUST_USE int rs_frame_decode_head(const uint8_t *buf,
				     const uint8_t id[RS_ID_LEN],
				     uint64_t place, uint64_t ring_size,
				     struct rs_frame_head *ret_head);

/*
 * Authenticate (and decrypt in place) a whole frame of rs_frame_size()
 * bytes whose header was decoded. Errors: -EBADMSG, -EUCLEAN (padding is
 * not zero, records do not decode), -ENOKEY (another key id), -ENOMEM.
 */
RS_MUST_USE int rs_frame_open(const struct rs_crypto *crypto,
			      const struct rs_frame_head *head, uint8_t *buf,
			      uint8_t ret_tag[RS_TAG_LEN]);

#endif
