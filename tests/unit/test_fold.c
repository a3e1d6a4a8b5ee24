/*
 * test_fold.c - frames into the store: against a flat model with random
 * operations, what was born and died, large cuts, gaps.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

#include "tests/unit/store_box.h"

#define FILES 6u
#define PAGES 40u
#define BYTES (PAGES * RS_PAGE)

struct file {
	int exists;
	uint8_t data[BYTES];
	uint8_t page[PAGES]; /* allocated */
};

struct model {
	struct file file[FILES];
};

static uint64_t ino_of(size_t i)
{
	return 10 + i;
}

static uint64_t count_pages(const struct file *f)
{
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < PAGES; i++)
		n += f->page[i];
	return n;
}

static void make(struct sbox *box, struct file *f, size_t i)
{
	char name[16];

	memset(f, 0, sizeof(*f));
	f->exists = 1;
	snprintf(name, sizeof(name), "f%zu", i);
	sbox_entry(box, RS_INO_ROOT, name, ino_of(i), 1);
}

static void destroy(struct sbox *box, struct file *f, size_t i)
{
	char name[16];

	f->exists = 0;
	snprintf(name, sizeof(name), "f%zu", i);
	sbox_entry(box, RS_INO_ROOT, name, ino_of(i), 0);
	sbox_del(box, ino_of(i));
}

static void model_write(struct sbox *box, struct file *f, uint64_t ino)
{
	static uint8_t data[BYTES];
	uint64_t off = sbox_random(box, BYTES - 1);
	uint64_t most = sbox_random(box, 4) ? 9000 : BYTES;
	uint64_t len = 1 + sbox_random(box, most), i;

	if (len > BYTES - off)
		len = BYTES - off;
	memset(data, (int)sbox_random(box, 3), len);
	data[0] = (uint8_t)sbox_random(box, 256);
	memcpy(f->data + off, data, len);
	for (i = off / RS_PAGE; i <= (off + len - 1) / RS_PAGE; i++)
		f->page[i] = 1;
	sbox_data(box, ino, off, data, (uint32_t)len);
}

static void model_trunc(struct sbox *box, struct file *f, uint64_t ino)
{
	uint64_t off = sbox_random(box, 3) ? sbox_random(box, BYTES) : 0;
	uint64_t i;

	memset(f->data + off, 0, BYTES - off);
	for (i = (off + RS_PAGE - 1) / RS_PAGE; i < PAGES; i++)
		f->page[i] = 0;
	sbox_range(box, RS_REC_TRUNC, ino, off, 0);
}

static void model_range(struct sbox *box, struct file *f, uint64_t ino,
			enum rs_rec_type type)
{
	uint64_t off = sbox_random(box, BYTES - 1);
	uint64_t len = 1 + sbox_random(box, BYTES - off), i;

	sbox_range(box, type, ino, off, len);
	if (type == RS_REC_ALLOC) {
		for (i = off / RS_PAGE; i <= (off + len - 1) / RS_PAGE; i++)
			f->page[i] = 1;
		return;
	}
	memset(f->data + off, 0, len);
	for (i = (off + RS_PAGE - 1) / RS_PAGE; i < (off + len) / RS_PAGE; i++)
		f->page[i] = 0;
}

static void step(struct sbox *box, struct model *m)
{
	size_t i = sbox_random(box, FILES);
	struct file *f = &m->file[i];
	uint64_t ino = ino_of(i);

	if (!f->exists)
		make(box, f, i);
	switch (sbox_random(box, 12)) {
	case 0:
		destroy(box, f, i);
		return;
	case 1:
	case 2:
		model_trunc(box, f, ino);
		break;
	case 3:
	case 4:
		model_range(box, f, ino, RS_REC_PUNCH);
		break;
	case 5:
		model_range(box, f, ino, RS_REC_ALLOC);
		break;
	default:
		model_write(box, f, ino);
		break;
	}
	sbox_file(box, ino, BYTES, count_pages(f));
}

static void compare_file(struct sbox *box, const struct file *f, uint64_t ino)
{
	static uint8_t buf[BYTES];
	uint8_t map[PAGES / 8];
	size_t i;

	assert_int_equal(rs_store_read(box->store, ino, 0, PAGES, buf, map), 0);
	for (i = 0; i < PAGES; i++)
		assert_int_equal(map[i / 8] >> (i % 8) & 1, f->page[i]);
	assert_memory_equal(buf, f->data, BYTES);
}

static void compare(struct sbox *box, const struct model *m)
{
	struct rs_root root = sbox_root(box);
	uint64_t files = 0, blocks = 0;
	size_t i;

	for (i = 0; i < FILES; i++) {
		if (!m->file[i].exists)
			continue;
		files++;
		blocks += count_pages(&m->file[i]);
		compare_file(box, &m->file[i], ino_of(i));
	}
	assert_int_equal(root.n_inodes, 1 + files);
	assert_int_equal(root.n_entries, files);
	assert_int_equal(root.blocks, blocks);
	assert_int_equal(root.applied, box->number);
	sbox_verify(box);
}

static void run_model(struct sbox *box, unsigned int rounds)
{
	struct model *m = calloc(1, sizeof(*m));
	uint64_t frames, steps;
	int more;

	assert_non_null(m);
	while (rounds--) {
		for (frames = 1 + sbox_random(box, 5); frames; frames--) {
			for (steps = 1 + sbox_random(box, 6); steps; steps--)
				step(box, m);
			sbox_frame(box);
		}
		assert_int_equal(
			sbox_fold(box, 1 + sbox_random(box, 200000), 0), 0);
		assert_int_equal(box->rep.quarantined, 0);
		if (sbox_random(box, 2))
			assert_int_equal(
				rs_store_reap(box->store, NULL, NULL, &more),
				0);
		compare(box, m);
	}
	sbox_reap(box);
	compare(box, m);
	assert_int_equal(sbox_root(box).n_reaps, 0);
	sbox_close(box);
	assert_int_equal(sbox_check(box, 0), 0);
	sbox_open(box, RS_STORE_RDONLY);
	compare(box, m);
	free(m);
}

static void test_model(void **state)
{
	run_model(*state, 120);
}

static void test_model_keyed(void **state)
{
	run_model(*state, 30);
}

/*
 * An ALLOC has no bytes: much more is allocated than the frame is long, and
 * none of it may come from there. (It once crashed for reading past the end.)
 */
static void test_large_alloc(void **state)
{
	struct sbox *box = *state;
	const uint64_t pages = 8192;
	uint8_t buf[RS_PAGE], map[1], zeros[RS_PAGE] = { 0 };
	uint64_t at;

	sbox_entry(box, 1, "f", 60, 1);
	sbox_range(box, RS_REC_ALLOC, 60, 0, pages * RS_PAGE);
	sbox_file(box, 60, pages * RS_PAGE, pages);
	sbox_frame(box);
	sbox_fold_ok(box);
	for (at = 0; at < pages; at += pages / 8) {
		assert_int_equal(rs_store_read(box->store, 60, at, 1, buf, map),
				 0);
		assert_int_equal(map[0], 1);
		assert_memory_equal(buf, zeros, RS_PAGE);
	}
	/* and nothing of what is there is lost to another one */
	sbox_data(box, 60, 100, "mail", 4);
	sbox_range(box, RS_REC_ALLOC, 60, 0, pages * RS_PAGE);
	sbox_file(box, 60, pages * RS_PAGE, pages);
	sbox_frame(box);
	sbox_range(box, RS_REC_ALLOC, 60, 0, pages * RS_PAGE);
	sbox_file(box, 60, pages * RS_PAGE, pages);
	sbox_frame(box);
	sbox_fold_ok(box);
	assert_int_equal(rs_store_read(box->store, 60, 0, 1, buf, map), 0);
	assert_memory_equal(buf + 100, "mail", 4);
	sbox_verify(box);
}

static void test_born_and_dead(void **state)
{
	struct sbox *box = *state;
	struct rs_root before, after;
	unsigned int i;

	sbox_dir(box, 1);
	sbox_frame(box);
	sbox_fold_ok(box);
	before = sbox_root(box);
	for (i = 0; i < 50; i++) {
		sbox_entry(box, 1, "tmp", 20 + i, 1);
		sbox_file(box, 20 + i, 5, 1);
		sbox_data(box, 20 + i, 0, "hello", 5);
		sbox_frame(box);
		sbox_entry(box, 1, "tmp", 20 + i, 0);
		sbox_entry(box, 1, "gone", 20 + i, 1);
		sbox_file(box, 20 + i, 5, 1);
		sbox_frame(box);
		sbox_entry(box, 1, "gone", 20 + i, 0);
		sbox_del(box, 20 + i);
		sbox_frame(box);
	}
	sbox_fold_ok(box);
	after = sbox_root(box);
	assert_int_equal(after.n_inodes, before.n_inodes);
	assert_int_equal(after.n_entries, 0);
	assert_int_equal(after.n_chunks, 0);
	assert_int_equal(after.n_reaps, 0);
	assert_int_equal(after.applied, before.applied + 150);
	sbox_verify(box);
}

/* A number that was removed and comes back: nothing of the old file shows. */
static void test_reborn(void **state)
{
	struct sbox *box = *state;
	uint8_t data[3 * RS_PAGE], map[1];
	int spans;

	for (spans = 0; spans < 2; spans++) {
		uint64_t ino = 30 + (uint64_t)spans;

		memset(data, 'o', sizeof(data));
		sbox_entry(box, 1, "old", ino, 1);
		sbox_file(box, ino, sizeof(data), 3);
		sbox_data(box, ino, 0, data, sizeof(data));
		sbox_frame(box);
		sbox_fold_ok(box);
		sbox_entry(box, 1, "old", ino, 0);
		sbox_del(box, ino);
		sbox_frame(box);
		if (spans)
			sbox_fold_ok(box);
		sbox_entry(box, 1, "new", ino, 1);
		sbox_file(box, ino, 2 * RS_PAGE, 1);
		sbox_data(box, ino, RS_PAGE, "n", 1);
		sbox_frame(box);
		sbox_fold_ok(box);
		sbox_verify(box);
		assert_int_equal(
			rs_store_read(box->store, ino, 0, 3, data, map), 0);
		assert_int_equal(map[0], 2);
		assert_int_equal(data[0], 0);
		assert_int_equal(data[RS_PAGE], 'n');
		assert_int_equal(data[RS_PAGE + 1], 0);
		sbox_reap(box);
		sbox_verify(box);
		sbox_entry(box, 1, "new", ino, 0);
		sbox_del(box, ino);
		sbox_frame(box);
		sbox_fold_ok(box);
		sbox_reap(box);
	}
	assert_int_equal(sbox_root(box).n_chunks, 0);
}

static void big_file(struct sbox *box, uint64_t ino, uint64_t pages)
{
	uint8_t *data = malloc(64 * RS_PAGE);
	uint64_t at;

	assert_non_null(data);
	memset(data, 'b', 64 * RS_PAGE);
	sbox_entry(box, 1, "big", ino, 1);
	for (at = 0; at < pages; at += 64)
		sbox_data(box, ino, at * RS_PAGE, data, 64 * RS_PAGE);
	sbox_file(box, ino, pages * RS_PAGE, pages);
	sbox_frame(box);
	sbox_fold_ok(box);
	free(data);
}

/* A cut of more chunks than one transaction deletes shows at once. */
static void test_large_trunc(void **state)
{
	struct sbox *box = *state;
	uint8_t buf[4 * RS_PAGE], map[1];
	uint64_t chunks;

	big_file(box, 40, 6400);
	chunks = sbox_root(box).n_chunks;
	assert_in_range(chunks, 6400, 6600);
	sbox_range(box, RS_REC_TRUNC, 40, 100, 0);
	sbox_data(box, 40, 3000 * RS_PAGE, "x", 1);
	sbox_file(box, 40, 3000 * RS_PAGE + 1, 2);
	sbox_frame(box);
	sbox_fold_ok(box);
	assert_int_equal(sbox_root(box).n_reaps, 1);
	assert_true(sbox_root(box).n_chunks > 4000);
	sbox_verify(box);
	assert_int_equal(rs_store_read(box->store, 40, 0, 4, buf, map), 0);
	assert_int_equal(map[0], 1);
	assert_int_equal(buf[99], 'b');
	assert_int_equal(buf[100], 0);
	assert_int_equal(rs_store_read(box->store, 40, 2999, 3, buf, map), 0);
	assert_int_equal(map[0], 2);
	assert_int_equal(buf[RS_PAGE], 'x');
	assert_int_equal(buf[RS_PAGE + 1], 0);
	/* writing behind the cut while it is being cleared */
	sbox_data(box, 40, 5000 * RS_PAGE + 1, "y", 1);
	sbox_file(box, 40, 5000 * RS_PAGE + 2, 3);
	sbox_frame(box);
	sbox_fold_ok(box);
	sbox_verify(box);
	assert_true(sbox_reap(box) > 15);
	sbox_verify(box);
	assert_int_equal(sbox_root(box).n_reaps, 0);
	assert_in_range(sbox_root(box).n_chunks, 6, 9);
	assert_int_equal(rs_store_read(box->store, 40, 5000, 1, buf, map), 0);
	assert_int_equal(map[0], 1);
	assert_int_equal(buf[0], 0);
	assert_int_equal(buf[1], 'y');
}

static void test_large_punch(void **state)
{
	struct sbox *box = *state;
	uint8_t buf[4 * RS_PAGE], map[1];

	big_file(box, 41, 6400);
	sbox_range(box, RS_REC_PUNCH, 41, 10, 6000 * RS_PAGE);
	sbox_file(box, 41, 6400 * RS_PAGE, 402);
	sbox_frame(box);
	sbox_range(box, RS_REC_PUNCH, 41, 6100 * RS_PAGE, 200 * RS_PAGE);
	sbox_file(box, 41, 6400 * RS_PAGE, 202);
	sbox_frame(box);
	sbox_fold_ok(box);
	assert_int_equal(sbox_root(box).n_reaps, 1);
	sbox_verify(box);
	assert_int_equal(rs_store_read(box->store, 41, 5998, 4, buf, map), 0);
	assert_int_equal(map[0], 0xc);
	assert_int_equal(buf[2 * RS_PAGE + 9], 0);
	assert_int_equal(buf[2 * RS_PAGE + 10], 'b');
	assert_int_equal(rs_store_read(box->store, 41, 6298, 4, buf, map), 0);
	assert_int_equal(map[0], 0xc);
	sbox_reap(box);
	sbox_verify(box);
	assert_int_equal(rs_store_read(box->store, 41, 6298, 4, buf, map), 0);
	assert_int_equal(map[0], 0xc);
}

static int keep_42(void *arg RS_UNUSED, uint64_t ino)
{
	return ino == 42;
}

/* C4: data of a removed file that is still open stays until it isn't. */
static void test_reap_keep(void **state)
{
	struct sbox *box = *state;
	uint8_t buf[RS_PAGE], map[1];
	int more = 1;

	big_file(box, 42, 640);
	sbox_entry(box, 1, "big", 42, 0);
	sbox_del(box, 42);
	sbox_frame(box);
	sbox_fold_ok(box);
	assert_int_equal(sbox_root(box).n_reaps, 1);
	assert_int_equal(sbox_root(box).blocks, 0);
	assert_int_equal(rs_store_reap(box->store, keep_42, NULL, &more), 0);
	assert_int_equal(more, 0);
	assert_int_equal(rs_store_read(box->store, 42, 600, 1, buf, map), 0);
	assert_int_equal(map[0], 1);
	assert_int_equal(buf[5], 'b');
	sbox_verify(box);
	assert_int_equal(sbox_reap(box), 3);
	assert_int_equal(sbox_root(box).n_chunks, 0);
	sbox_verify(box);
}

/* An attempt that fails changes nothing and can be made again. */
static void test_failed_attempt(void **state)
{
	struct sbox *box = *state;
	struct rs_root before, after;
	struct rs_frame_ref bad;

	big_file(box, 43, 64);
	before = sbox_root(box);
	sbox_file(box, 43, 1, 1);
	sbox_range(box, RS_REC_TRUNC, 43, 1, 0);
	sbox_frame(box);
	/* not the frame that follows */
	bad = box->refs[0];
	box->refs[0].prev--;
	assert_int_equal(sbox_fold(box, 1, 0), -EINVAL);
	box->refs[0] = bad;
	/* a record that doesn't decode */
	box->refs[0].body[4] ^= 0x40;
	assert_int_equal(sbox_fold(box, 1, 0), -EUCLEAN);
	box->refs[0].body[4] ^= 0x40;
	after = sbox_root(box);
	assert_memory_equal(&before, &after, sizeof(before));
	sbox_verify(box);
	box->rep.quarantined = 0;
	sbox_fold_ok(box);
	sbox_verify(box);
}

static void test_symlink_xattr(void **state)
{
	struct sbox *box = *state;
	static uint8_t value[RS_XATTR_SIZE_MAX], target[RS_SYMLINK_MAX];
	const struct rs_attr attr = { .mode = S_IFLNK | 0777,
				      .nlink = 1,
				      .size = sizeof(target) };
	struct rs_rec link = { .type = RS_REC_LINK,
			       .ino = 50,
			       .data = target,
			       .data_len = sizeof(target) };
	struct rs_rec x = { .type = RS_REC_XATTR_PUT,
			    .ino = 50,
			    .name = (const uint8_t *)"user.a",
			    .name_len = 6,
			    .data = value,
			    .data_len = sizeof(value) };

	memset(value, 'v', sizeof(value));
	memset(target, 't', sizeof(target));
	sbox_entry(box, 1, "link", 50, 1);
	sbox_inode(box, 50, &attr);
	sbox_rec(box, &link);
	sbox_rec(box, &x);
	sbox_frame(box);
	sbox_fold_ok(box);
	assert_int_equal(sbox_root(box).n_links, 2);
	assert_int_equal(sbox_root(box).n_xattrs, 18);
	sbox_verify(box);
	x.data_len = 0;
	sbox_rec(box, &x);
	sbox_inode(box, 50, &attr);
	sbox_frame(box);
	sbox_fold_ok(box);
	assert_int_equal(sbox_root(box).n_xattrs, 1);
	x.type = RS_REC_XATTR_DEL;
	sbox_rec(box, &x);
	sbox_inode(box, 50, &attr);
	sbox_frame(box);
	sbox_fold_ok(box);
	assert_int_equal(sbox_root(box).n_xattrs, 0);
	sbox_entry(box, 1, "link", 50, 0);
	sbox_del(box, 50);
	sbox_frame(box);
	sbox_fold_ok(box);
	assert_int_equal(sbox_root(box).n_links, 0);
	assert_int_equal(sbox_root(box).n_reaps, 0);
	sbox_verify(box);
}

/* ---- gaps ---- */

static void file_with(struct sbox *box, uint64_t ino, const char *name)
{
	sbox_entry(box, 1, name, ino, 1);
	sbox_file(box, ino, 5, 1);
	sbox_data(box, ino, 0, name, 5);
}

static void test_gap(void **state)
{
	struct sbox *box = *state;
	size_t i;

	file_with(box, 60, "whole");
	file_with(box, 61, "touched in the gap");
	file_with(box, 62, "removed");
	sbox_frame(box);
	sbox_fold_ok(box);
	/* the frame that is lost */
	sbox_data(box, 61, 0, "lost!", 5);
	sbox_file(box, 61, 5, 1);
	file_with(box, 63, "born in the gap");
	sbox_frame(box);
	/* after it */
	sbox_data(box, 60, 1, "?", 1);
	sbox_file(box, 60, 5, 1);
	sbox_data(box, 61, 1, "?", 1);
	sbox_file(box, 61, 5, 1);
	sbox_file(box, 63, 5, 1);
	sbox_entry(box, 1, "removed", 62, 0);
	sbox_del(box, 62);
	sbox_entry(box, 1, "second name", 63, 1);
	sbox_entry(box, 1, "of nobody", 64, 1);
	file_with(box, 65, "later");
	sbox_frame(box);
	sbox_lose(box);
	assert_int_equal(sbox_fold(box, 1 << 20, 1), 0);
	assert_int_equal(sbox_findings(box, RS_FIND_INODE), 2);
	assert_int_equal(sbox_findings(box, RS_FIND_DIR_GAP), 1);
	assert_int_equal(sbox_findings(box, RS_FIND_ENTRY), 1);
	assert_int_equal(box->rep.quarantined, 4);
	assert_int_equal(sbox_root(box).damage, 4);
	for (i = 0; i < box->rep.n_findings; i++) {
		const struct rs_finding *f = &box->rep.findings[i];

		if (f->ino == 61)
			assert_string_equal(f->name, "touched in the gap");
		if (f->ino == 63)
			assert_string_equal(f->name, "second name");
		assert_int_not_equal(f->ino, 60);
		assert_int_not_equal(f->ino, 65);
	}
	sbox_verify(box);
	/* 60, 61, 63, 65 */
	assert_int_equal(sbox_root(box).n_entries, 4);
	assert_int_equal(rs_store_accept(box->store), 0);
	assert_int_equal(sbox_root(box).damage, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_model, sbox_set_up,
						sbox_tear_down),
		cmocka_unit_test_setup_teardown(
			test_model_keyed, sbox_set_up_keyed, sbox_tear_down),
		cmocka_unit_test_setup_teardown(test_large_alloc, sbox_set_up,
						sbox_tear_down),
		cmocka_unit_test_setup_teardown(test_born_and_dead, sbox_set_up,
						sbox_tear_down),
		cmocka_unit_test_setup_teardown(test_reborn, sbox_set_up,
						sbox_tear_down),
		cmocka_unit_test_setup_teardown(test_large_trunc, sbox_set_up,
						sbox_tear_down),
		cmocka_unit_test_setup_teardown(test_large_punch, sbox_set_up,
						sbox_tear_down),
		cmocka_unit_test_setup_teardown(test_reap_keep, sbox_set_up,
						sbox_tear_down),
		cmocka_unit_test_setup_teardown(test_failed_attempt,
						sbox_set_up, sbox_tear_down),
		cmocka_unit_test_setup_teardown(test_symlink_xattr, sbox_set_up,
						sbox_tear_down),
		cmocka_unit_test_setup_teardown(test_gap, sbox_set_up,
						sbox_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
