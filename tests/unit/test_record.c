/* test_record.c - intent records: round trips, and what must be refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "journal/record.h"

static const struct rs_attr attr = {
	.mode = S_IFREG | 0640,
	.uid = 8,
	.gid = 12,
	.nlink = 2,
	.rdev = 0x0103,
	.size = 15000,
	.blocks = 4,
	.data_end = 16384,
	.atime = { -5, 1 },
	.mtime = { 4000000000, 999999999 },
	.ctime = { 3, 4 },
	.btime = { 5, 6 },
	.flags = RS_IF_STAGED,
	.policy = RS_POLICY_RENAME,
	.dirsync = 2,
	.limit = UINT64_C(1) << 40,
	.limit_inodes = 77,
};

static struct rs_rec sample(enum rs_rec_type type)
{
	struct rs_rec rec = { .type = type, .ino = 42, .prev = 7 };

	switch (type) {
	case RS_REC_INODE:
		rec.attr = attr;
		break;
	case RS_REC_ENTRY_PUT:
		rec.dtype = 8;
		/* fall through */
	case RS_REC_ENTRY_DEL:
		rec.child = 99;
		rec.name = (const uint8_t *)"qfA1";
		rec.name_len = 4;
		break;
	case RS_REC_DATA:
		rec.data = (const uint8_t *)"Received: from";
		rec.data_len = 14;
		rec.off = 4090;
		break;
	case RS_REC_PUNCH:
	case RS_REC_ALLOC:
		rec.range = 8192;
		rec.off = 4096;
		break;
	case RS_REC_TRUNC:
		rec.off = 123;
		break;
	case RS_REC_XATTR_PUT:
		rec.data = (const uint8_t *)"value";
		rec.data_len = 5;
		/* fall through */
	case RS_REC_XATTR_DEL:
		rec.name = (const uint8_t *)"user.x";
		rec.name_len = 6;
		break;
	case RS_REC_LINK:
		rec.data = (const uint8_t *)"../target";
		rec.data_len = 9;
		break;
	case RS_REC_CEILING:
		rec.ino = 0;
		rec.prev = 0;
		rec.off = RS_INO_STEP;
		break;
	default:
		break;
	}
	return rec;
}

static void same_bytes(const uint8_t *a, uint32_t a_len, const uint8_t *b,
		       uint32_t b_len)
{
	assert_int_equal(a_len, b_len);
	if (a_len)
		assert_memory_equal(a, b, a_len);
}

static void test_round_trip(void **state)
{
	struct rs_rec rec, got;
	uint8_t buf[512], again[512];
	unsigned int type;
	size_t len, cut;

	(void)state;
	for (type = 1; type < RS_REC_TYPES; type++) {
		rec = sample((enum rs_rec_type)type);
		memset(buf, 0xee, sizeof(buf));
		len = rs_rec_encode(&rec, buf);
		assert_int_equal(len, rs_rec_size(&rec));
		assert_int_equal(len % 8, 0);
		assert_int_equal(buf[len], 0xee);
		assert_int_equal(rs_rec_decode(buf, sizeof(buf), &got), 0);
		assert_int_equal(got.type, type);
		assert_int_equal(got.len, len);
		assert_int_equal(got.ino, rec.ino);
		assert_int_equal(got.prev, rec.prev);
		assert_int_equal(got.off, rec.off);
		assert_int_equal(got.range, rec.range);
		assert_int_equal(got.child, rec.child);
		assert_int_equal(got.dtype, rec.dtype);
		same_bytes(got.name, got.name_len, rec.name, rec.name_len);
		same_bytes(got.data, got.data_len, rec.data, rec.data_len);
		assert_int_equal(!got.name, !rec.name);
		assert_int_equal(!got.data, !rec.data);
		assert_int_equal(rs_rec_encode(&got, again), len);
		assert_memory_equal(buf, again, len);
		/* never past the length given */
		for (cut = 1; cut < len; cut++)
			assert_int_equal(rs_rec_decode(buf, cut, &got),
					 -EUCLEAN);
	}
}

static void test_attr(void **state)
{
	struct rs_rec rec = sample(RS_REC_INODE), got;
	uint8_t buf[RS_REC_INODE_LEN];

	(void)state;
	assert_int_equal(rs_rec_encode(&rec, buf), RS_REC_INODE_LEN);
	assert_int_equal(rs_rec_decode(buf, sizeof(buf), &got), 0);
	assert_int_equal(got.attr.mode, attr.mode);
	assert_int_equal(got.attr.rdev, attr.rdev);
	assert_int_equal(got.attr.data_end, attr.data_end);
	assert_int_equal(got.attr.atime.tv_sec, -5);
	assert_int_equal(got.attr.mtime.tv_sec, 4000000000);
	assert_int_equal(got.attr.mtime.tv_nsec, 999999999);
	assert_int_equal(got.attr.btime.tv_nsec, 6);
	assert_int_equal(got.attr.policy, RS_POLICY_RENAME);
	assert_int_equal(got.attr.limit_inodes, 77);
}

static void refuse(const struct rs_rec *rec)
{
	static uint8_t buf[70000];
	struct rs_rec got;
	size_t len = rs_rec_encode(rec, buf);

	assert_int_equal(rs_rec_decode(buf, len, &got), -EUCLEAN);
}

static void test_names(void **state)
{
	static const struct {
		const char *name;
		uint32_t len;
	} bad[] = { { "", 0 },	  { ".", 1 },	 { "..", 2 },
		    { "a/b", 3 }, { "a\0b", 3 }, { NULL, 256 } };
	static const char *const good[] = { "...", ".a", "a b\n\x01\xff" };
	static uint8_t longest[300];
	struct rs_rec rec, got;
	uint8_t buf[400];
	size_t i;

	(void)state;
	memset(longest, 'x', sizeof(longest));
	for (i = 0; i < RS_ARRAY_LEN(bad); i++) {
		rec = sample(RS_REC_ENTRY_PUT);
		rec.name = bad[i].name ? (const uint8_t *)bad[i].name : longest;
		rec.name_len = bad[i].len;
		refuse(&rec);
	}
	for (i = 0; i < RS_ARRAY_LEN(good); i++) {
		rec = sample(RS_REC_ENTRY_PUT);
		rec.name = (const uint8_t *)good[i];
		rec.name_len = (uint32_t)strlen(good[i]);
		assert_int_equal(
			rs_rec_decode(buf, rs_rec_encode(&rec, buf), &got), 0);
	}
	rec.name = longest;
	rec.name_len = RS_NAME_MAX;
	assert_true(rs_rec_size(&rec) <= RS_REC_ENTRY_LEN);
	assert_int_equal(rs_rec_decode(buf, rs_rec_encode(&rec, buf), &got), 0);
}

static void test_values(void **state)
{
	struct rs_rec rec;

	(void)state;
	rec = sample(RS_REC_INODE);
	rec.attr.mtime.tv_nsec = 1000000000;
	refuse(&rec);
	rec = sample(RS_REC_INODE);
	rec.attr.mode = 0640;
	refuse(&rec);
	rec = sample(RS_REC_INODE);
	rec.attr.size = UINT64_C(1) << 63;
	refuse(&rec);
	rec = sample(RS_REC_INODE);
	rec.attr.flags = 0x100;
	refuse(&rec);
	rec = sample(RS_REC_ENTRY_PUT);
	rec.dtype = 3;
	refuse(&rec);
	rec = sample(RS_REC_ENTRY_DEL);
	rec.child = 0;
	refuse(&rec);
	rec = sample(RS_REC_DATA);
	rec.off = INT64_MAX;
	refuse(&rec);
	rec = sample(RS_REC_PUNCH);
	rec.range = 0;
	refuse(&rec);
	rec = sample(RS_REC_TRUNC);
	rec.ino = 0;
	refuse(&rec);
	rec = sample(RS_REC_CEILING);
	rec.ino = 1;
	refuse(&rec);
	rec = sample(RS_REC_LINK);
	rec.data_len = 0;
	refuse(&rec);
	rec = sample(RS_REC_VOID);
	refuse(&rec);
	rec = sample(RS_REC_TRUNC);
	rec.flags = 1;
	refuse(&rec);
}

/* Any bit of a record that isn't content: refused or told apart. */
static void test_flips(void **state)
{
	uint8_t buf[512], again[512];
	struct rs_rec rec, got;
	unsigned int type;
	size_t len, bit;

	(void)state;
	for (type = 1; type < RS_REC_TYPES; type++) {
		rec = sample((enum rs_rec_type)type);
		len = rs_rec_encode(&rec, buf);
		for (bit = 0; bit < 8 * len; bit++) {
			buf[bit / 8] ^= (uint8_t)(1 << bit % 8);
			if (rs_rec_decode(buf, len, &got) == 0) {
				assert_int_equal(got.len, len);
				assert_int_equal(rs_rec_encode(&got, again),
						 len);
				assert_memory_equal(buf, again, len);
			}
			buf[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_attr),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_flips),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
