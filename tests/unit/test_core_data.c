/*
 * test_core_data.c - file data against a flat model; holes, budgets.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>

#include "tests/unit/core_box.h"

static struct rs_box box;

static int setup(void **state)
{
	(void)state;
	rs_box_make(&box, NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rs_box_free(&box);
	return 0;
}

/* ---- the model: one array of bytes, one of allocated pages ---- */

#define MODEL_PAGES 700u
#define MODEL_BYTES (MODEL_PAGES * RS_PAGE)

struct model {
	uint8_t bytes[MODEL_BYTES];
	uint8_t allocated[MODEL_PAGES];
	uint64_t size;
};

static struct model model;
static uint64_t seed;

static uint64_t rnd(uint64_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % n;
}

static void model_mark(uint64_t off, uint64_t len)
{
	uint64_t page;

	for (page = off / RS_PAGE; len && page <= (off + len - 1) / RS_PAGE;
	     page++)
		model.allocated[page] = 1;
}

static void model_grow(uint64_t end)
{
	if (end > model.size)
		model.size = end;
}

static void model_punch(uint64_t off, uint64_t end)
{
	uint64_t page;

	memset(model.bytes + off, 0, end - off);
	for (page = (off + RS_PAGE - 1) / RS_PAGE; page < end / RS_PAGE; page++)
		model.allocated[page] = 0;
}

static void model_truncate(uint64_t size)
{
	uint64_t page = (size + RS_PAGE - 1) / RS_PAGE;

	if (size <= model.size) {
		memset(model.bytes + size, 0, MODEL_BYTES - size);
		for (; page < MODEL_PAGES; page++)
			model.allocated[page] = 0;
	}
	model.size = size;
}

static int64_t model_seek(uint64_t off, int whence)
{
	uint64_t page;

	if (off >= model.size)
		return -ENXIO;
	for (page = off / RS_PAGE; page * RS_PAGE < model.size; page++) {
		if (model.allocated[page] == (whence == SEEK_DATA))
			return (int64_t)(page * RS_PAGE > off ? page * RS_PAGE
							      : off);
	}
	return whence == SEEK_DATA ? -ENXIO : (int64_t)model.size;
}

static void compare(uint64_t ino)
{
	static uint8_t buf[MODEL_BYTES];
	struct rs_attr attr = rs_box_stat(&box, ino);
	uint64_t blocks = 0, page, end = 0;

	for (page = 0; page < MODEL_PAGES; page++) {
		blocks += model.allocated[page];
		if (model.allocated[page])
			end = (page + 1) * RS_PAGE;
	}
	assert_int_equal(attr.size, model.size);
	assert_int_equal(attr.blocks, blocks);
	assert_true(attr.data_end >= end);
	assert_int_equal(rs_core_read(box.core, ino, buf, sizeof(buf), 0),
			 model.size);
	assert_memory_equal(buf, model.bytes, model.size);
}

static void one_write(uint64_t ino)
{
	static uint8_t buf[200000];
	uint64_t len = 1 + rnd(rnd(4) ? 9000 : sizeof(buf)), i;
	int append = rnd(4) == 0;
	uint64_t off = append ? model.size : rnd(MODEL_BYTES - len);

	if (off + len > MODEL_BYTES)
		return;
	for (i = 0; i < len; i++)
		buf[i] = (uint8_t)rnd(256);
	assert_int_equal(rs_core_write(box.core, ino, buf, len, off, append),
			 len);
	memcpy(model.bytes + off, buf, len);
	model_mark(off, len);
	model_grow(off + len);
}

static void one_fallocate(uint64_t ino)
{
	static const int modes[] = { 0, FALLOC_FL_KEEP_SIZE,
				     FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				     FALLOC_FL_ZERO_RANGE,
				     FALLOC_FL_ZERO_RANGE |
					     FALLOC_FL_KEEP_SIZE };
	int mode = modes[rnd(RS_ARRAY_LEN(modes))];
	uint64_t len = 1 + rnd(rnd(2) ? 5000 : 400000);
	uint64_t off = rnd(MODEL_BYTES - len);

	assert_int_equal(rs_core_fallocate(box.core, ino, mode, off, len), 0);
	if (mode & FALLOC_FL_PUNCH_HOLE) {
		model_punch(off, off + len);
		return;
	}
	if (mode & FALLOC_FL_ZERO_RANGE)
		memset(model.bytes + off, 0, len);
	model_mark(off, len);
	if (!(mode & FALLOC_FL_KEEP_SIZE))
		model_grow(off + len);
}

static void one_truncate(uint64_t ino)
{
	struct rs_attr attr = { .size = rnd(MODEL_BYTES) };
	struct rs_stat st;

	if (rnd(5) == 0)
		attr.size = rnd(2) ? 0 : model.size;
	assert_int_equal(
		rs_core_setattr(box.core, ino, &attr, RS_SET_SIZE, &st), 0);
	model_truncate(attr.size);
}

static void one_seek(uint64_t ino)
{
	uint64_t off = rnd(model.size + 10);
	int whence = rnd(2) ? SEEK_DATA : SEEK_HOLE;

	assert_int_equal(rs_core_lseek(box.core, ino, (int64_t)off, whence),
			 model_seek(off, whence));
}

static void test_random_against_model(void **state)
{
	uint64_t round, step, ino;

	(void)state;
	for (round = 1; round <= 12; round++) {
		seed = round * 0x9e3779b97f4a7c15;
		memset(&model, 0, sizeof(model));
		ino = rs_box_file(&box, 1, "f");
		for (step = 0; step < 120; step++) {
			switch (rnd(8)) {
			case 0:
				one_truncate(ino);
				break;
			case 1:
			case 2:
				one_fallocate(ino);
				break;
			case 3:
				one_seek(ino);
				break;
			default:
				one_write(ino);
			}
			compare(ino);
		}
		assert_int_equal(rs_core_unlink(box.core, 1, "f", &rs_box_root),
				 0);
		rs_box_expect_empty(&box);
	}
}

static void test_holes_cost_nothing(void **state)
{
	struct rs_core_status before, after;
	uint64_t ino = rs_box_file(&box, 1, "f"), far = UINT64_C(5) << 30;
	struct rs_attr attr = { .size = UINT64_C(1) << 62 };
	struct rs_stat st;
	char byte = 'x', buf[3] = "ab";

	(void)state;
	rs_core_status(box.core, &before);
	assert_int_equal(rs_core_write(box.core, ino, &byte, 1, far, 0), 1);
	assert_int_equal(rs_box_stat(&box, ino).size, far + 1);
	assert_int_equal(rs_box_stat(&box, ino).blocks, 1);
	assert_int_equal(rs_core_lseek(box.core, ino, 0, SEEK_DATA), far);
	assert_int_equal(rs_core_lseek(box.core, ino, (int64_t)far, SEEK_HOLE),
			 far + 1);
	assert_int_equal(
		rs_core_lseek(box.core, ino, (int64_t)far + 1, SEEK_DATA),
		-ENXIO);
	assert_int_equal(rs_core_read(box.core, ino, buf, 2, far - 1), 2);
	assert_int_equal(buf[0], 0);
	assert_int_equal(buf[1], 'x');
	assert_int_equal(
		rs_core_setattr(box.core, ino, &attr, RS_SET_SIZE, &st), 0);
	assert_int_equal(
		rs_core_fallocate(box.core, ino,
				  FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 7,
				  UINT64_C(1) << 61),
		0);
	assert_int_equal(rs_box_stat(&box, ino).blocks, 0);
	rs_core_status(box.core, &after);
	assert_true(after.ram_bytes - before.ram_bytes < 20 * RS_PAGE);
}

static void test_largest_offsets(void **state)
{
	uint64_t ino = rs_box_file(&box, 1, "f"), max = INT64_MAX;
	struct rs_attr attr = { .size = max + 1 };
	struct rs_stat st;

	(void)state;
	assert_int_equal(rs_core_write(box.core, ino, "abc", 3, max - 2, 0), 2);
	assert_int_equal(rs_box_stat(&box, ino).size, max);
	assert_int_equal(rs_core_write(box.core, ino, "a", 1, max, 0), -EFBIG);
	assert_int_equal(rs_core_write(box.core, ino, "a", 1, 0, 1), -EFBIG);
	assert_int_equal(
		rs_core_setattr(box.core, ino, &attr, RS_SET_SIZE, &st),
		-EFBIG);
	assert_int_equal(rs_core_fallocate(box.core, ino, 0, max, 1), -EFBIG);
	assert_int_equal(rs_core_fallocate(box.core, ino, 0, 0, 0), -EINVAL);
	assert_int_equal(rs_core_fallocate(box.core, ino,
					   FALLOC_FL_COLLAPSE_RANGE, 0, 4096),
			 -EOPNOTSUPP);
	attr.size = 0;
	assert_int_equal(
		rs_core_setattr(box.core, ino, &attr, RS_SET_SIZE, &st), 0);
	assert_int_equal(st.attr.blocks, 0);
}

static void test_capacity(void **state)
{
	struct rs_core_cfg cfg = { .capacity = 16 * RS_PAGE };
	static char buf[20 * RS_PAGE];
	struct rs_statfs fs;
	uint64_t ino;

	(void)state;
	rs_box_free(&box);
	rs_box_make(&box, &cfg);
	ino = rs_box_file(&box, 1, "f");
	assert_int_equal(rs_core_write(box.core, ino, buf, 10, 100, 0), 10);
	rs_core_statfs(box.core, &fs);
	assert_int_equal(fs.blocks, 16);
	assert_int_equal(fs.bfree, 15);
	/* a short count to the last page, then nothing */
	assert_int_equal(rs_core_write(box.core, ino, buf, sizeof(buf), 50, 0),
			 16 * RS_PAGE - 50);
	assert_int_equal(rs_core_write(box.core, ino, buf, 1, 16 * RS_PAGE, 0),
			 -ENOSPC);
	rs_core_statfs(box.core, &fs);
	assert_int_equal(fs.bfree, 0);
	/* in place it still works */
	assert_int_equal(rs_core_write(box.core, ino, "x", 1, 4000, 0), 1);
	assert_int_equal(rs_core_fallocate(box.core, ino, 0, 0, 17 * RS_PAGE),
			 -ENOSPC);
	assert_int_equal(rs_box_stat(&box, ino).size, 16 * RS_PAGE);
	assert_int_equal(
		rs_core_rename(box.core, 1, "f", 1, "g", 0, &rs_box_root), 0);
	assert_int_equal(rs_core_unlink(box.core, 1, "g", &rs_box_root), 0);
	rs_core_statfs(box.core, &fs);
	assert_int_equal(fs.bfree, 16);
	rs_box_expect_empty(&box);
}

static void test_ram(void **state)
{
	struct rs_core_cfg cfg = { .ram = 8 << 20, .capacity = 1 << 30 };
	static char buf[1 << 20];
	struct rs_core_status status;
	struct rs_stat st;
	uint64_t ino;
	ssize_t n, total = 0;
	char name[] = "f0";

	(void)state;
	rs_box_free(&box);
	rs_box_make(&box, &cfg);
	ino = rs_box_file(&box, 1, "f");
	while ((n = rs_core_write(box.core, ino, buf, sizeof(buf),
				  (uint64_t)total, 0)) > 0)
		total += n;
	assert_int_equal(n, -ENOSPC);
	assert_true(total > 7 << 20);
	rs_core_status(box.core, &status);
	assert_true(status.ram_bytes <= 8 << 20);
	/* full of data there is still room for names, and to drain */
	for (; name[1] <= '9'; name[1]++)
		rs_box_file(&box, 1, name);
	assert_int_equal(
		rs_core_rename(box.core, 1, "f3", 1, "x", 0, &rs_box_root), 0);
	assert_int_equal(rs_core_unlink(box.core, 1, "x", &rs_box_root), 0);
	st.attr.mode = 0700;
	assert_int_equal(
		rs_core_setattr(box.core, ino, &st.attr, RS_SET_MODE, &st), 0);
	assert_int_equal(rs_core_unlink(box.core, 1, "f", &rs_box_root), 0);
	ino = rs_box_file(&box, 1, "f");
	assert_int_equal(rs_core_write(box.core, ino, buf, sizeof(buf), 0, 0),
			 sizeof(buf));
	/* it fails on its way, and the kernel goes on with the old size */
	assert_int_equal(rs_core_fallocate(box.core, ino, 0, 0, 16 << 20),
			 -ENOSPC);
	assert_int_equal(rs_box_stat(&box, ino).size, sizeof(buf));
	assert_true(rs_box_stat(&box, ino).blocks > sizeof(buf) / RS_PAGE);
}

static void test_huge_file_goes(void **state)
{
	struct rs_core_cfg cfg = { .ram = 200 << 20, .capacity = 200 << 20 };
	static char buf[1 << 20];
	struct rs_core_status before, after;
	uint64_t ino, off;

	(void)state;
	rs_box_free(&box);
	rs_box_make(&box, &cfg);
	rs_box_file(&box, 1, "f");
	assert_int_equal(rs_core_unlink(box.core, 1, "f", &rs_box_root), 0);
	rs_core_status(box.core, &before);
	ino = rs_box_file(&box, 1, "f");
	for (off = 0; off < 150 << 20; off += sizeof(buf))
		assert_int_equal(
			rs_core_write(box.core, ino, buf, sizeof(buf), off, 0),
			sizeof(buf));
	assert_int_equal(rs_core_unlink(box.core, 1, "f", &rs_box_root), 0);
	rs_box_expect_empty(&box);
	rs_core_status(box.core, &after);
	assert_int_equal(before.ram_bytes, after.ram_bytes);
}

static void test_small_files_cost(void **state)
{
	struct rs_core_status before, after;
	char name[16], buf[RS_PAGE] = "";
	int i;

	(void)state;
	rs_core_status(box.core, &before);
	for (i = 0; i < 10000; i++) {
		snprintf(name, sizeof(name), "A%07X", i);
		assert_int_equal(rs_core_write(box.core,
					       rs_box_file(&box, 1, name), buf,
					       sizeof(buf), 0, 0),
				 sizeof(buf));
	}
	rs_core_status(box.core, &after);
	assert_true((after.ram_bytes - before.ram_bytes) / 10000 <
		    RS_PAGE * 115 / 100);
}

static void test_xattrs(void **state)
{
	struct rs_core_cfg cfg = { .xattr = 1 };
	static char big[RS_XATTR_SIZE_MAX + 1];
	char buf[64];
	uint64_t ino;

	(void)state;
	ino = rs_box_file(&box, 1, "f");
	assert_int_equal(rs_core_setxattr(box.core, ino, "user.a", "x", 1, 0),
			 -EOPNOTSUPP);
	rs_box_free(&box);
	rs_box_make(&box, &cfg);
	ino = rs_box_file(&box, 1, "f");
	assert_int_equal(rs_core_setxattr(box.core, ino,
					  "system.posix_acl_access", "x", 1, 0),
			 -EOPNOTSUPP);
	assert_int_equal(rs_core_setxattr(box.core, ino, "user.a", "one", 3, 2),
			 -ENODATA);
	assert_int_equal(rs_core_setxattr(box.core, ino, "user.a", "one", 3, 1),
			 0);
	assert_int_equal(rs_core_setxattr(box.core, ino, "user.a", "two", 3, 1),
			 -EEXIST);
	assert_int_equal(
		rs_core_setxattr(box.core, ino, "user.a", "three", 5, 0), 0);
	assert_int_equal(
		rs_core_setxattr(box.core, ino, "trusted.b", NULL, 0, 0), 0);
	assert_int_equal(rs_core_getxattr(box.core, ino, "user.a", NULL, 0), 5);
	assert_int_equal(rs_core_getxattr(box.core, ino, "user.a", buf, 4),
			 -ERANGE);
	assert_int_equal(rs_core_getxattr(box.core, ino, "user.a", buf, 64), 5);
	assert_memory_equal(buf, "three", 5);
	assert_int_equal(rs_core_getxattr(box.core, ino, "trusted.b", buf, 64),
			 0);
	assert_int_equal(rs_core_listxattr(box.core, ino, NULL, 0), 17);
	assert_int_equal(rs_core_listxattr(box.core, ino, buf, 64), 17);
	assert_memory_equal(buf, "user.a\0trusted.b", 17);
	assert_int_equal(rs_core_listxattr(box.core, ino, buf, 16), -ERANGE);
	assert_int_equal(
		rs_core_setxattr(box.core, ino, "user.b", big, sizeof(big), 0),
		-E2BIG);
	assert_int_equal(rs_core_setxattr(box.core, ino, "user.b", big,
					  sizeof(big) - 1, 0),
			 0);
	assert_int_equal(rs_core_removexattr(box.core, ino, "user.a"), 0);
	assert_int_equal(rs_core_removexattr(box.core, ino, "user.a"),
			 -ENODATA);
	assert_int_equal(rs_core_unlink(box.core, 1, "f", &rs_box_root), 0);
	rs_box_expect_empty(&box);
}

static void *hammer(void *arg)
{
	uint64_t dir = *(const uint64_t *)arg;
	struct rs_stat st;
	char name[16], buf[9000];
	int i;

	memset(buf, (int)dir, sizeof(buf));
	for (i = 0; i < 1500; i++) {
		snprintf(name, sizeof(name), "f%d", i % 40);
		if (rs_core_mknod(box.core, dir, name, &rs_box_root, 0600, 0,
				  &st)) {
			assert_int_equal(rs_core_unlink(box.core, dir, name,
							&rs_box_root),
					 0);
			continue;
		}
		assert_int_equal(
			rs_core_write(box.core, st.ino, buf, sizeof(buf), 0, 0),
			sizeof(buf));
		assert_int_equal(rs_core_rename(box.core, dir, name, 1, name, 0,
						&rs_box_root),
				 0);
		assert_int_equal(
			rs_core_read(box.core, st.ino, buf, sizeof(buf), 0),
			sizeof(buf));
		assert_int_equal(buf[8999], (char)dir);
		rs_core_forget(box.core, st.ino, 1);
	}
	return NULL;
}

static void test_threads(void **state)
{
	pthread_t threads[4];
	uint64_t dirs[4];
	char name[] = "d0", list[4096];
	char *file, *save = NULL;
	unsigned int i;

	(void)state;
	for (i = 0; i < 4; i++, name[1]++)
		dirs[i] = rs_box_dir(&box, 1, name);
	for (i = 0; i < 4; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, hammer, &dirs[i]), 0);
	for (i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	rs_box_list(&box, 1, list, sizeof(list));
	for (file = strtok_r(list, " ", &save); file;
	     file = strtok_r(NULL, " ", &save)) {
		if (rs_core_unlink(box.core, 1, file, &rs_box_root))
			assert_int_equal(
				rs_core_rmdir(box.core, 1, file, &rs_box_root),
				0);
	}
	rs_box_expect_empty(&box);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_random_against_model),
		TEST(test_holes_cost_nothing),
		TEST(test_largest_offsets),
		TEST(test_capacity),
		TEST(test_ram),
		TEST(test_huge_file_goes),
		TEST(test_small_files_cost),
		TEST(test_xattrs),
		TEST(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
