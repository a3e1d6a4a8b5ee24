/*
 * fuzz_frame.c - the frame decoder. The first input byte chooses: raw bytes
 * as a frame, or a good frame whose bytes the input then changes. A change
 * anywhere must be refused.
 */
#include <assert.h>
#include <errno.h>

#include "journal/frame.h"
#include "journal/record.h"

#define RING (UINT64_C(1) << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t id[RS_ID_LEN] = "fuzz store id 16";
static const uint8_t salt[RS_SALT_LEN] = "a salt of thirty-two bytes here";
static struct rs_crypto *crypto;

static int take(uint8_t *buf, size_t len)
{
	struct rs_frame_head head;
	uint8_t tag[RS_TAG_LEN];

	if (len < RS_FRAME_HEADER ||
	    rs_frame_decode_head(buf, id, 0, RING, &head))
		return -1;
	if (rs_frame_size(head.body_len) > len)
		return -1;
	return rs_frame_open(crypto, &head, buf, tag);
}

/* A good frame with one record, then size bytes of (offset16, xor8). */
static void changed(const uint8_t *data, size_t size)
{
	static _Alignas(RS_PAGE) uint8_t buf[RS_PAGE];
	struct rs_frame_head head = { .version = 1, .number = 7, .prev = 6 };
	struct rs_rec rec = { .type = RS_REC_CEILING, .off = 1 << 20 };
	uint8_t tag[RS_TAG_LEN], good[RS_PAGE];
	struct rs_aead *aead;
	size_t i;

	memset(buf, 0, sizeof(buf));
	memcpy(head.id, id, sizeof(id));
	memcpy(head.salt, salt, sizeof(salt));
	head.body_len = rs_rec_encode(&rec, buf + RS_FRAME_HEADER);
	head.oldest = 7;
	assert(!rs_aead_new(crypto, "frame", salt, sizeof(salt), &aead));
	assert(!rs_frame_seal(aead, &head, buf, tag));
	rs_aead_free(aead);
	memcpy(good, buf, sizeof(good));
	for (i = 0; i + 3 <= size; i += 3)
		buf[rs_get16(data + i) % RS_PAGE] ^= data[i + 2];
	if (memcmp(good, buf, sizeof(good)))
		assert(take(buf, sizeof(buf)) != 0);
	else
		assert(take(buf, sizeof(buf)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *buf;

	if (!crypto)
		assert(!rs_crypto_new(id, NULL, &crypto));
	if (size < 2)
		return 0;
	if (data[0] & 1) {
		changed(data + 1, size - 1);
		return 0;
	}
	buf = malloc(size - 1);
	assert(buf);
	memcpy(buf, data + 1, size - 1);
	/* nobody makes a tag by chance */
	assert(take(buf, size - 1) != 0);
	free(buf);
	return 0;
}
