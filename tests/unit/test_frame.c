/* test_frame.c - one frame: every bit of it is checked. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "journal/frame.h"
#include "journal/marker.h"
#include "journal/record.h"

static const uint8_t id[RS_ID_LEN] = "a store's own id";
static const uint8_t site[RS_KEY_LEN] = "a key of a site that has one...";

#define PLACE (3 * RS_PAGE)
#define RING (64 * RS_PAGE)

struct made {
	struct rs_crypto *crypto;
	struct rs_frame_head head;
	uint8_t buf[2 * RS_PAGE], tag[RS_TAG_LEN];
	size_t size;
};

static void make(struct made *m, const uint8_t *key, int seal)
{
	struct rs_rec rec = {
		.type = RS_REC_ENTRY_DEL,
		.ino = 5,
		.prev = 3,
		.child = 8,
		.name = (const uint8_t *)"x",
		.name_len = 1,
	};
	struct rs_aead *aead;

	memset(m, 0, sizeof(*m));
	assert_int_equal(rs_crypto_new(id, key, &m->crypto), 0);
	m->head = (struct rs_frame_head){
		.version = RS_FORMAT_VERSION,
		.number = 77,
		.prev = 75,
		.place = PLACE,
		.oldest = 70,
		.oldest_place = RS_PAGE,
		.key_id = rs_crypto_key_id(m->crypto),
	};
	memcpy(m->head.id, id, RS_ID_LEN);
	memset(m->head.salt, 0x5a, RS_SALT_LEN);
	memset(m->head.prev_tag, 0xa5, RS_TAG_LEN);
	if (key)
		m->head.flags |= RS_FF_ENCRYPTED;
	if (seal)
		m->head.flags |= RS_FF_SEAL;
	else
		m->head.body_len =
			rs_rec_encode(&rec, m->buf + RS_FRAME_HEADER);
	m->size = rs_frame_size(m->head.body_len);
	memset(m->buf + RS_FRAME_HEADER + m->head.body_len, 0xee,
	       m->size - RS_FRAME_HEADER - m->head.body_len);
	assert_int_equal(rs_aead_new(m->crypto, "frame", m->head.salt,
				     RS_SALT_LEN, &aead),
			 0);
	assert_int_equal(rs_frame_seal(aead, &m->head, m->buf, m->tag), 0);
	rs_aead_free(aead);
}

static int open_whole(const struct made *m, const uint8_t *buf)
{
	uint8_t copy[2 * RS_PAGE], tag[RS_TAG_LEN];
	struct rs_frame_head head;
	int err;

	memcpy(copy, buf, sizeof(copy));
	err = rs_frame_decode_head(copy, id, PLACE, RING, &head);
	if (err == 0)
		err = rs_frame_open(m->crypto, &head, copy, tag);
	if (err == 0)
		assert_memory_equal(tag, m->tag, RS_TAG_LEN);
	return err;
}

static void every_bit(const uint8_t *key, int seal)
{
	struct made m;
	size_t bit;
	int err;

	make(&m, key, seal);
	assert_int_equal(m.size, RS_PAGE);
	assert_int_equal(open_whole(&m, m.buf), 0);
	for (bit = 0; bit < 8 * m.size; bit += bit < 8 * 512 ? 1 : 97) {
		m.buf[bit / 8] ^= (uint8_t)(1 << bit % 8);
		err = open_whole(&m, m.buf);
		assert_true(err == -EUCLEAN || err == -EBADMSG);
		/* the header alone is whole if the flip isn't in it */
		assert_int_equal(bit < 8 * RS_FRAME_HEADER,
				 rs_frame_decode_head(m.buf, id, PLACE, RING,
						      &m.head) < 0);
		m.buf[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	rs_crypto_free(m.crypto);
}

static void test_every_bit(void **state)
{
	(void)state;
	every_bit(NULL, 0);
	every_bit(NULL, 1);
	every_bit(site, 0);
	every_bit(site, 1);
}

static void test_elsewhere(void **state)
{
	uint8_t other[RS_ID_LEN] = "another store..";
	struct rs_frame_head head;
	struct made m;

	(void)state;
	make(&m, NULL, 0);
	/* an old frame at a new place, a frame of another store */
	assert_int_equal(rs_frame_decode_head(m.buf, id, 0, RING, &head),
			 -EUCLEAN);
	assert_int_equal(rs_frame_decode_head(m.buf, other, PLACE, RING, &head),
			 -EUCLEAN);
	/* would reach past the end */
	assert_int_equal(rs_frame_decode_head(m.buf, id, PLACE, PLACE, &head),
			 -EUCLEAN);
	assert_int_equal(
		rs_frame_decode_head(m.buf, id, PLACE, PLACE + RS_PAGE, &head),
		0);
	rs_crypto_free(m.crypto);
}

/* Change a field and mend the check, as a forger or a newer rspool would. */
static int with_field(struct made *m, size_t off, uint64_t value)
{
	uint8_t copy[RS_FRAME_HEADER];
	struct rs_frame_head head;

	memcpy(copy, m->buf, sizeof(copy));
	if (off == 8 || off == 10)
		rs_put16(copy + off, (uint16_t)value);
	else
		rs_put64(copy + off, value);
	rs_put32(copy + 12, 0);
	rs_put32(copy + 12, rs_crc32c(copy, sizeof(copy)));
	return rs_frame_decode_head(copy, id, PLACE, RING, &head);
}

static void test_fields(void **state)
{
	struct made m;

	(void)state;
	make(&m, NULL, 0);
	assert_int_equal(with_field(&m, 8, RS_FORMAT_VERSION), 0);
	assert_int_equal(with_field(&m, 8, RS_FORMAT_VERSION + 1),
			 -EPROTONOSUPPORT);
	assert_int_equal(with_field(&m, 8, 0), -EUCLEAN);
	assert_int_equal(with_field(&m, 10, 0x80), -EUCLEAN);
	assert_int_equal(with_field(&m, 10, RS_FF_SEAL), -EUCLEAN);
	assert_int_equal(with_field(&m, 10, RS_FF_CLEAN), -EUCLEAN);
	assert_int_equal(with_field(&m, 64, 75), -EUCLEAN);
	assert_int_equal(with_field(&m, 104, 0), -EUCLEAN);
	assert_int_equal(with_field(&m, 104, 9), -EUCLEAN);
	assert_int_equal(with_field(&m, 104, UINT64_MAX - 7), -EUCLEAN);
	assert_int_equal(with_field(&m, 104, 62 * RS_PAGE), -EUCLEAN);
	assert_int_equal(with_field(&m, 112, 78), -EUCLEAN);
	assert_int_equal(with_field(&m, 120, 1), -EUCLEAN);
	assert_int_equal(with_field(&m, 136, 1), -EUCLEAN);
	rs_crypto_free(m.crypto);
}

static void test_key(void **state)
{
	uint8_t other[RS_KEY_LEN] = "some other key.................";
	uint8_t tag[RS_TAG_LEN];
	struct rs_crypto *wrong;
	struct made m;

	(void)state;
	make(&m, site, 0);
	assert_int_equal(rs_crypto_new(id, other, &wrong), 0);
	assert_int_equal(rs_frame_open(wrong, &m.head, m.buf, tag), -ENOKEY);
	rs_crypto_free(wrong);
	assert_int_equal(rs_crypto_new(id, NULL, &wrong), 0);
	assert_int_equal(rs_frame_open(wrong, &m.head, m.buf, tag), -ENOKEY);
	rs_crypto_free(wrong);
	rs_crypto_free(m.crypto);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_bit),
		cmocka_unit_test(test_elsewhere),
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
