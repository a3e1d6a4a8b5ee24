/* test_value.c - keys, bodies and the proof of the store's values. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/stat.h>

#include "journal/chunk.h"
#include "journal/value.h"
#include "tests/unit/fake_seam.h"

static const uint8_t id[RS_ID_LEN] = "a store's own id";
static const uint8_t site[RS_KEY_LEN] = "a key of a site that has one...";
static const uint8_t hash[16] = "hash of a name.";

static void test_keys(void **state RS_UNUSED)
{
	uint64_t ino, number;
	struct rs_key a, b;
	char kind;

	rs_key_chunk(&a, 0x0102030405060708, 255);
	rs_key_chunk(&b, 0x0102030405060708, 256);
	assert_true(memcmp(a.buf, b.buf, a.len) < 0);
	assert_int_equal(rs_key_parse(a.buf, a.len, &kind, &ino, &number), 0);
	assert_int_equal(kind, 'D');
	assert_int_equal(ino, 0x0102030405060708);
	assert_int_equal(number, 255);

	rs_key_xattr(&a, 7, hash, 0x1234);
	assert_int_equal(rs_key_parse(a.buf, a.len, &kind, &ino, &number), 0);
	assert_int_equal(kind, 'X');
	assert_int_equal(number, 0x1234);
	rs_key_link(&a, 7, 1);
	assert_int_equal(rs_key_parse(a.buf, a.len, &kind, &ino, &number), 0);
	assert_int_equal(kind, 'L');
	assert_int_equal(number, 1);
	rs_key_entry(&a, 9, hash);
	assert_int_equal(rs_key_parse(a.buf, a.len, &kind, &ino, &number), 0);
	assert_int_equal(kind, 'E');
	assert_int_equal(ino, 9);

	assert_int_equal(rs_key_parse(a.buf, a.len - 1, &kind, &ino, &number),
			 -EUCLEAN);
	assert_int_equal(rs_key_parse(a.buf, 0, &kind, &ino, &number),
			 -EUCLEAN);
	a.buf[0] = 'Q';
	assert_int_equal(rs_key_parse(a.buf, a.len, &kind, &ino, &number),
			 -EUCLEAN);
}

static void test_bodies(void **state RS_UNUSED)
{
	uint8_t buf[RS_VALUE_MAX], sum[16];
	struct rs_vinode inode = { .frame = 7, .nchunks = 9 }, inode2;
	struct rs_ventry entry = { .frame = 8,
				   .child = 77,
				   .dtype = 8,
				   .name = (const uint8_t *)"a name",
				   .name_len = 6 },
			 entry2;
	struct rs_vchunk chunk = { .frame = 9,
				   .flags = RS_VD_SECOND,
				   .data = sum,
				   .len = 16 },
			 chunk2;
	struct rs_root root = { .applied = 5, .next_place = 8192, .damage = 3 },
		       root2;
	size_t len;

	memset(sum, 0x5a, sizeof(sum));
	memcpy(inode.sum, sum, sizeof(sum));
	inode.attr.mode = S_IFREG | 0640;
	inode.attr.mtime.tv_sec = -1;
	inode.attr.mtime.tv_nsec = 999999999;
	len = rs_vinode_encode(&inode, buf);
	memset(&inode2, 0, sizeof(inode2));
	assert_int_equal(rs_vinode_decode(buf, len, &inode2), 0);
	assert_memory_equal(&inode, &inode2, sizeof(inode));
	assert_int_equal(rs_vinode_decode(buf, len - 1, &inode2), -EUCLEAN);
	assert_int_equal(rs_value_frame(buf, len), 7);

	len = rs_ventry_encode(&entry, buf);
	assert_int_equal(rs_ventry_decode(buf, len, &entry2), 0);
	assert_int_equal(entry2.child, 77);
	assert_int_equal(entry2.name_len, 6);
	assert_memory_equal(entry2.name, "a name", 6);
	assert_int_equal(rs_ventry_decode(buf, len + 1, &entry2), -EUCLEAN);

	len = rs_vchunk_encode(&chunk, buf);
	assert_int_equal(rs_vchunk_decode(buf, len, &chunk2), 0);
	assert_int_equal(chunk2.flags, RS_VD_SECOND);
	assert_int_equal(chunk2.len, 16);
	buf[1] = 0; /* no page: such a chunk is absent */
	assert_int_equal(rs_vchunk_decode(buf, len, &chunk2), -EUCLEAN);

	memcpy(root.sum, sum, sizeof(sum));
	len = rs_vroot_encode(&root, buf);
	memset(&root2, 0, sizeof(root2));
	assert_int_equal(rs_vroot_decode(buf, len, &root2), 0);
	assert_memory_equal(&root, &root2, sizeof(root));
}

static void test_reap(void **state RS_UNUSED)
{
	struct rs_vreap *a = calloc(1, sizeof(*a)), *b = calloc(1, sizeof(*b));
	uint8_t buf[RS_VALUE_MAX];
	size_t len;

	assert_non_null(a);
	assert_non_null(b);
	a->n = RS_REAP_RANGES;
	a->range[3].from = 10;
	a->range[3].to = 20;
	a->range[3].until = 100;
	len = rs_vreap_encode(a, buf);
	assert_in_range(len, 1, RS_BODY_MAX);
	assert_int_equal(rs_vreap_decode(buf, len, b), 0);
	assert_memory_equal(a, b, sizeof(*a));
	assert_true(rs_vreap_cuts(b, 10, 100));
	assert_true(rs_vreap_cuts(b, 19, 1));
	assert_false(rs_vreap_cuts(b, 20, 1));
	assert_false(rs_vreap_cuts(b, 10, 101));
	free(a);
	free(b);
}

/* The largest chunk is exactly one overflow page of LMDB. */
static void test_size(void **state RS_UNUSED)
{
	uint8_t data[RS_CHUNK] = { 1 }, buf[RS_VALUE_MAX];
	struct rs_vchunk v = { .flags = 3, .data = data, .len = RS_CHUNK };

	assert_int_equal(rs_vchunk_encode(&v, buf) + RS_TRAILER_LEN,
			 RS_PAGE - 16);
}

static void prove_with(const uint8_t *key_or_null)
{
	uint8_t value[64 + RS_TRAILER_LEN], copy[sizeof(value)];
	struct rs_crypto *crypto;
	struct rs_sealer *sealer;
	struct rs_opener *opener;
	struct rs_key key;
	size_t len, i;
	int bit;

	assert_int_equal(rs_crypto_new(id, key_or_null, &crypto), 0);
	assert_int_equal(rs_sealer_new(crypto, id, &rs_seam_posix, &sealer), 0);
	assert_int_equal(rs_opener_new(crypto, id, &opener), 0);
	rs_key_ino(&key, 'I', 42);
	memset(value, 'v', 64);
	assert_int_equal(rs_sealer_seal(sealer, &key, value, 64), 0);
	assert_int_equal(memcmp(value, "vvvvvvvv", 8) != 0,
			 key_or_null != NULL);
	memcpy(copy, value, sizeof(value));
	assert_int_equal(rs_opener_open(opener, key.buf, key.len, copy,
					sizeof(copy), &len),
			 0);
	assert_int_equal(len, 64);
	for (i = 0; i < 64; i++)
		assert_int_equal(copy[i], 'v');
	/* every bit of the value, and of the key */
	for (i = 0; i < sizeof(value); i++) {
		for (bit = 0; bit < 8; bit++) {
			memcpy(copy, value, sizeof(value));
			copy[i] ^= (uint8_t)(1 << bit);
			assert_int_equal(rs_opener_open(opener, key.buf,
							key.len, copy,
							sizeof(copy), &len),
					 -EBADMSG);
		}
	}
	for (i = 0; i < key.len; i++) {
		memcpy(copy, value, sizeof(value));
		key.buf[i] ^= 1;
		assert_int_equal(rs_opener_open(opener, key.buf, key.len, copy,
						sizeof(copy), &len),
				 -EBADMSG);
		key.buf[i] ^= 1;
	}
	for (i = 0; i < sizeof(value); i++) {
		memcpy(copy, value, sizeof(value));
		assert_int_equal(
			rs_opener_open(opener, key.buf, key.len, copy, i, &len),
			-EBADMSG);
	}
	rs_opener_free(opener);
	rs_sealer_free(sealer);
	rs_crypto_free(crypto);
}

static void test_proof(void **state RS_UNUSED)
{
	prove_with(NULL);
}

static void test_proof_keyed(void **state RS_UNUSED)
{
	prove_with(site);
}

/* The same bytes under two attempts never look alike. */
static void test_salts(void **state RS_UNUSED)
{
	uint8_t a[16 + RS_TRAILER_LEN] = { 0 }, b[sizeof(a)] = { 0 };
	struct rs_sealer *first, *second;
	struct rs_crypto *crypto;
	struct rs_key key;

	assert_int_equal(rs_crypto_new(id, site, &crypto), 0);
	assert_int_equal(rs_sealer_new(crypto, id, &rs_seam_posix, &first), 0);
	assert_int_equal(rs_sealer_new(crypto, id, &rs_seam_posix, &second), 0);
	rs_key_root(&key);
	assert_int_equal(rs_sealer_seal(first, &key, a, 16), 0);
	assert_int_equal(rs_sealer_seal(second, &key, b, 16), 0);
	assert_memory_not_equal(a, b, 16);
	memcpy(b, a, sizeof(a));
	memset(b, 0, 16);
	assert_int_equal(rs_sealer_seal(first, &key, b, 16), 0);
	assert_memory_not_equal(a, b, 16);
	rs_sealer_free(first);
	rs_sealer_free(second);
	rs_crypto_free(crypto);
}

/* chunk.h against counting bytes */
static void test_chunks(void **state RS_UNUSED)
{
	uint64_t c, page;

	for (c = 0; c < 300; c++) {
		uint64_t first = c * RS_CHUNK / RS_PAGE;
		uint64_t last = (c * RS_CHUNK + RS_CHUNK - 1) / RS_PAGE;

		for (page = 0; page < 300; page++) {
			uint8_t flags = rs_chunk_flags_in(c, page, page + 1);
			int overlaps = page >= first && page <= last;

			assert_int_equal(flags != 0, overlaps);
			assert_int_equal(c >= rs_page_first_chunk(page) &&
						 c < rs_page_end_chunk(page),
					 overlaps);
			if (overlaps)
				assert_int_equal(flags, page == first
								? RS_VD_FIRST
								: RS_VD_SECOND);
			assert_int_equal(c >= rs_page_next_chunk(page),
					 c * RS_CHUNK >= page * RS_PAGE);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_bodies),
		cmocka_unit_test(test_reap),
		cmocka_unit_test(test_size),
		cmocka_unit_test(test_proof),
		cmocka_unit_test(test_proof_keyed),
		cmocka_unit_test(test_salts),
		cmocka_unit_test(test_chunks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
