/* test_crypto.c - keys, tags, hashes, CRC32C. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <assert.h>
#include <pthread.h>

#include "journal/crypto.h"

static const uint8_t id[RS_ID_LEN] = "0123456789abcde";
static const uint8_t site[RS_KEY_LEN] = "a key of a site that has one...";
static const uint8_t salt[RS_SALT_LEN] = "salt";

static void test_crc(void **state)
{
	uint8_t buf[300];
	size_t i, len;

	(void)state;
	/* the check value of CRC-32C in RFC 3720 and the CRC catalogue */
	assert_int_equal(rs_crc32c("123456789", 9), 0xE3069283);
	assert_int_equal(rs_crc32c_portable("123456789", 9), 0xE3069283);
	assert_int_equal(rs_crc32c("", 0), 0);
	for (i = 0; i < sizeof(buf); i++)
		buf[i] = (uint8_t)(i * 7 + 3);
	for (len = 0; len <= 200; len++)
		for (i = 0; i < 9; i++)
			assert_int_equal(rs_crc32c(buf + i, len),
					 rs_crc32c_portable(buf + i, len));
}

static void seal_and_open(const uint8_t *key)
{
	struct rs_crypto *crypto;
	struct rs_aead *aead;
	uint8_t buf[100], plain[100], tag[RS_TAG_LEN], again[RS_TAG_LEN];
	size_t i;

	for (i = 0; i < sizeof(buf); i++)
		plain[i] = (uint8_t)i;
	assert_int_equal(rs_crypto_new(id, key, &crypto), 0);
	assert_int_equal(rs_crypto_encrypts(crypto), key != NULL);
	assert_int_equal(rs_crypto_key_id(crypto) != 0, key != NULL);
	assert_int_equal(rs_aead_new(crypto, "frame", salt, RS_SALT_LEN, &aead),
			 0);
	memcpy(buf, plain, sizeof(buf));
	assert_int_equal(rs_aead_seal(aead, 5, "head", 4, buf, 100, tag), 0);
	assert_int_equal(memcmp(buf, plain, 100) != 0, key != NULL);
	assert_int_equal(rs_aead_open(aead, 5, "head", 4, buf, 100, tag), 0);
	assert_memory_equal(buf, plain, 100);

	/* the same again: the context is used over and over */
	assert_int_equal(rs_aead_seal(aead, 5, "head", 4, buf, 100, again), 0);
	assert_memory_equal(tag, again, RS_TAG_LEN);
	assert_int_equal(rs_aead_open(aead, 6, "head", 4, buf, 100, tag),
			 -EBADMSG);
	for (i = 0; i < 100; i++) {
		memcpy(buf, plain, sizeof(buf));
		assert_int_equal(
			rs_aead_seal(aead, 5, "head", 4, buf, 100, tag), 0);
		buf[i] ^= 1;
		assert_int_equal(
			rs_aead_open(aead, 5, "head", 4, buf, 100, tag),
			-EBADMSG);
	}
	memcpy(buf, plain, sizeof(buf));
	assert_int_equal(rs_aead_seal(aead, 5, "head", 4, buf, 100, tag), 0);
	assert_int_equal(rs_aead_open(aead, 5, "heaD", 4, buf, 100, tag),
			 -EBADMSG);
	/* nothing but associated data, as in a seal */
	assert_int_equal(rs_aead_seal(aead, 7, "head", 4, NULL, 0, tag), 0);
	assert_int_equal(rs_aead_open(aead, 7, "head", 4, NULL, 0, tag), 0);
	rs_aead_free(aead);
	rs_crypto_free(crypto);
}

static void test_aead(void **state)
{
	(void)state;
	seal_and_open(NULL);
	seal_and_open(site);
}

static void test_keys_differ(void **state)
{
	uint8_t other[RS_ID_LEN] = "another store..";
	uint8_t a[16], b[16], c[16], d[16];
	struct rs_crypto *one, *two, *keyed;

	(void)state;
	assert_int_equal(rs_crypto_new(id, NULL, &one), 0);
	assert_int_equal(rs_crypto_new(other, NULL, &two), 0);
	assert_int_equal(rs_crypto_new(id, site, &keyed), 0);
	assert_int_equal(rs_crypto_name_hash(one, "qfA", 3, a), 0);
	assert_int_equal(rs_crypto_name_hash(one, "qfA", 3, b), 0);
	assert_memory_equal(a, b, 16);
	assert_int_equal(rs_crypto_name_hash(one, "qfB", 3, b), 0);
	assert_int_equal(rs_crypto_name_hash(two, "qfA", 3, c), 0);
	assert_int_equal(rs_crypto_name_hash(keyed, "qfA", 3, d), 0);
	assert_memory_not_equal(a, b, 16);
	assert_memory_not_equal(a, c, 16);
	assert_memory_not_equal(a, d, 16);
	assert_int_equal(rs_crypto_digest(one, "ab", 2, "c", 1, b), 0);
	assert_int_equal(rs_crypto_digest(one, "a", 1, "bc", 2, c), 0);
	assert_memory_not_equal(b, c, 16);
	rs_crypto_free(one);
	rs_crypto_free(two);
	rs_crypto_free(keyed);
}

static void test_digest_sums(void **state)
{
	uint8_t sum[16] = { 0 }, zero[16] = { 0 }, h[3][16];
	size_t i, k;

	(void)state;
	for (i = 0; i < 3; i++)
		for (k = 0; k < 16; k++)
			h[i][k] = (uint8_t)(0xff - i * k);
	for (i = 0; i < 3; i++)
		rs_digest_add(sum, h[i]);
	for (i = 0; i < 3; i++)
		rs_digest_sub(sum, h[(i + 1) % 3]);
	assert_memory_equal(sum, zero, 16);
	/* carries: ff..ff + 1 = 0, 0 - 1 = ff..ff */
	memset(sum, 0xff, 16);
	memset(h[0], 0, 16);
	h[0][0] = 1;
	rs_digest_add(sum, h[0]);
	assert_memory_equal(sum, zero, 16);
	rs_digest_sub(sum, h[0]);
	memset(h[1], 0xff, 16);
	assert_memory_equal(sum, h[1], 16);
}

#define HASHERS 4
#define HASHES 2000

struct hasher {
	const struct rs_crypto *crypto;
	uint8_t name[16], digest[16];
};

/* The same every time, whoever has the contexts in hand meanwhile. */
static void *hash(void *arg)
{
	struct hasher *h = arg;
	uint8_t got[16];
	int i;

	for (i = 0; i < HASHES; i++) {
		assert(!rs_crypto_name_hash(h->crypto, "name", 4, got));
		assert(memcmp(got, h->name, 16) == 0);
		assert(!rs_crypto_digest(h->crypto, "ab", 2, "c", 1, got));
		assert(memcmp(got, h->digest, 16) == 0);
	}
	return NULL;
}

static void test_shared(void **state)
{
	struct rs_crypto *crypto;
	struct hasher h;
	pthread_t thread[HASHERS];
	int i;

	(void)state;
	assert_int_equal(rs_crypto_new(id, site, &crypto), 0);
	h.crypto = crypto;
	assert_int_equal(rs_crypto_name_hash(crypto, "name", 4, h.name), 0);
	assert_int_equal(rs_crypto_digest(crypto, "ab", 2, "c", 1, h.digest),
			 0);
	for (i = 0; i < HASHERS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, hash, &h), 0);
	for (i = 0; i < HASHERS; i++)
		pthread_join(thread[i], NULL);
	rs_crypto_free(crypto);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crc),
		cmocka_unit_test(test_aead),
		cmocka_unit_test(test_keys_differ),
		cmocka_unit_test(test_digest_sums),
		cmocka_unit_test(test_shared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
