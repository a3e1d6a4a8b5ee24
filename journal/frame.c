/*
 * frame.c - one frame: header, records, tag, padding.
 *
 * MODEL
 *	The byte table stands in frame.h. The check (CRC32C) tells whether a
 *	whole header stands somewhere; the tag, under the key of the process
 *	that wrote it and with the number as nonce, covers header and records.
 *	So the header alone says that a frame was begun, the tag that it is
 *	whole and ours.
 *
 * INVARIANTS
 * I1	Every byte of a frame is checked by one of the two or must be zero, so
 *	a flipped bit anywhere is found.
 * I2	The header and the tag of a frame of one page without data lie in its
 *	first 512 bytes, so that seals can't be torn on any disk.
 *
 * NOT HERE  where frames go (ring.c), which ones count (recover).
 */
#include "journal/frame.h"

#include <errno.h>

#include "journal/marker.h"
#include "journal/record.h"

static const uint8_t magic[8] = { 'R', 'S', 'P', 'F', 'R', 'A', 'M', 'E' };

static uint32_t head_check(const uint8_t *buf)
{
	uint8_t copy[RS_FRAME_HEADER];

	memcpy(copy, buf, sizeof(copy));
	rs_put32(copy + 12, 0);
	return rs_crc32c(copy, sizeof(copy));
}

static void encode_head(const struct rs_frame_head *head, uint8_t *buf)
{
	memset(buf, 0, RS_FRAME_HEADER);
	memcpy(buf, magic, sizeof(magic));
	rs_put16(buf + 8, head->version);
	rs_put16(buf + 10, head->flags);
	memcpy(buf + 16, head->id, RS_ID_LEN);
	memcpy(buf + 32, head->salt, RS_SALT_LEN);
	rs_put64(buf + 64, head->number);
	rs_put64(buf + 72, head->prev);
	memcpy(buf + 80, head->prev_tag, RS_TAG_LEN);
	rs_put64(buf + 96, head->place);
	rs_put64(buf + 104, head->body_len);
	rs_put64(buf + 112, head->oldest);
	rs_put64(buf + 120, head->oldest_place);
	rs_put64(buf + 128, head->key_id);
	rs_put32(buf + 12, head_check(buf));
}

int rs_frame_seal(struct rs_aead *aead, const struct rs_frame_head *head,
		  uint8_t *buf, uint8_t ret_tag[RS_TAG_LEN])
{
	size_t body_len = (size_t)head->body_len;
	size_t size = (size_t)rs_frame_size(head->body_len);
	size_t end = RS_FRAME_HEADER + body_len;
	int err;

	encode_head(head, buf);
	err = rs_aead_seal(aead, head->number, buf, RS_FRAME_HEADER,
			   buf + RS_FRAME_HEADER, body_len, ret_tag);
	if (err < 0)
		return err;
	memcpy(buf + end, ret_tag, RS_TAG_LEN);
	end += RS_TAG_LEN;
	memset(buf + end, 0, size - end);
	return 0;
}

static int all_zero(const uint8_t *p, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (p[i])
			return 0;
	return 1;
}

static void decode_head(const uint8_t *buf, struct rs_frame_head *head)
{
	head->version = rs_get16(buf + 8);
	head->flags = rs_get16(buf + 10);
	memcpy(head->id, buf + 16, RS_ID_LEN);
	memcpy(head->salt, buf + 32, RS_SALT_LEN);
	head->number = rs_get64(buf + 64);
	head->prev = rs_get64(buf + 72);
	memcpy(head->prev_tag, buf + 80, RS_TAG_LEN);
	head->place = rs_get64(buf + 96);
	head->body_len = rs_get64(buf + 104);
	head->oldest = rs_get64(buf + 112);
	head->oldest_place = rs_get64(buf + 120);
	head->key_id = rs_get64(buf + 128);
}

static int head_ok(const struct rs_frame_head *head, uint64_t place,
		   uint64_t ring_size)
{
	const unsigned int known = RS_FF_SEAL | RS_FF_CLEAN | RS_FF_ENCRYPTED;
	int seal = head->flags & RS_FF_SEAL;

	if (head->flags & ~known || (head->flags & RS_FF_CLEAN && !seal) ||
	    (seal != 0) != (head->body_len == 0))
		return 0;
	if (head->number <= head->prev || head->place != place ||
	    head->body_len > RS_FRAME_MAX || head->body_len % 8 ||
	    head->oldest > head->number || head->oldest_place > ring_size ||
	    head->oldest_place % RS_PAGE)
		return 0;
	return place % RS_PAGE == 0 && place <= ring_size &&
	       rs_frame_size(head->body_len) <= ring_size - place;
}

int rs_frame_decode_head(const uint8_t *buf, const uint8_t id[RS_ID_LEN],
			 uint64_t place, uint64_t ring_size,
			 struct rs_frame_head *ret_head)
{
	struct rs_frame_head head;

	if (memcmp(buf, magic, sizeof(magic)) != 0 ||
	    rs_get32(buf + 12) != head_check(buf))
		return -EUCLEAN;
	decode_head(buf, &head);
	if (memcmp(head.id, id, RS_ID_LEN) != 0)
		return -EUCLEAN;
	/* Only what never moves was looked at up to here. */
	if (head.version > RS_FORMAT_VERSION)
		return -EPROTONOSUPPORT;
	if (head.version == 0 || !all_zero(buf + 136, RS_FRAME_HEADER - 136) ||
	    !head_ok(&head, place, ring_size))
		return -EUCLEAN;
	*ret_head = head;
	return 0;
}

/* Whole records up to the very end. */
static int records_ok(const uint8_t *p, size_t len)
{
	struct rs_rec rec;
	int err;

	while (len > 0) {
		err = rs_rec_decode(p, len, &rec);
		if (err < 0)
			return err;
		p += rec.len;
		len -= rec.len;
	}
	return 0;
}

int rs_frame_open(const struct rs_crypto *crypto,
		  const struct rs_frame_head *head, uint8_t *buf,
		  uint8_t ret_tag[RS_TAG_LEN])
{
	size_t body_len = (size_t)head->body_len;
	size_t size = (size_t)rs_frame_size(head->body_len);
	uint8_t *body = buf + RS_FRAME_HEADER, *tag = body + body_len;
	int encrypted = head->flags & RS_FF_ENCRYPTED;
	struct rs_aead *aead;
	int err;

	if (head->key_id != rs_crypto_key_id(crypto) ||
	    (encrypted != 0) != rs_crypto_encrypts(crypto))
		return -ENOKEY;
	err = rs_aead_new(crypto, "frame", head->salt, RS_SALT_LEN, &aead);
	if (err < 0)
		return err;
	err = rs_aead_open(aead, head->number, buf, RS_FRAME_HEADER, body,
			   body_len, tag);
	rs_aead_free(aead);
	if (err == 0 &&
	    !all_zero(tag + RS_TAG_LEN,
		      size - RS_FRAME_HEADER - body_len - RS_TAG_LEN))
		err = -EUCLEAN;
	if (err == 0)
		err = records_ok(body, body_len);
	if (err == 0)
		memcpy(ret_tag, tag, RS_TAG_LEN);
	return err;
}
