/*
 * test_fold_whole.c - a transaction that takes all frames in RAM because
 * little of them survives: short-lived mail never reaches the store, and
 * mail that stays still comes in small transactions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "tests/unit/store_box.h"

#define MAILS 40u
/* so many are on their way at any moment */
#define BACKLOG 5u
#define SIZE 16000u

static void come(struct sbox *box, uint64_t ino)
{
	static uint8_t data[SIZE];
	char name[16];

	memset(data, (int)ino, sizeof(data));
	snprintf(name, sizeof(name), "m%u", (unsigned int)ino);
	sbox_file(box, ino, SIZE, (SIZE + RS_PAGE - 1) / RS_PAGE);
	sbox_entry(box, RS_INO_ROOT, name, ino, 1);
	sbox_data(box, ino, 0, data, SIZE);
}

static void go(struct sbox *box, uint64_t ino)
{
	char name[16];

	snprintf(name, sizeof(name), "m%u", (unsigned int)ino);
	sbox_entry(box, RS_INO_ROOT, name, ino, 0);
	sbox_del(box, ino);
}

/* A frame a mail; each goes BACKLOG frames later, or stays. */
static void pass(struct sbox *box, int stays)
{
	uint64_t i;

	for (i = 0; i < MAILS; i++) {
		come(box, 10 + i);
		if (!stays && i >= BACKLOG)
			go(box, 10 + i - BACKLOG);
		sbox_frame(box);
	}
}

static size_t fold_once(struct sbox *box, uint64_t whole)
{
	const struct rs_fold_limit limit = { .data_bytes = 2 * SIZE,
					     .whole_bytes = whole };
	size_t done;

	assert_int_equal(rs_fold(box->store, NULL, box->refs, box->n, &limit, 0,
				 &box->rep, &done),
			 0);
	assert_int_equal(box->rep.quarantined, 0);
	return done;
}

static void test_short_lived(void **state)
{
	struct sbox *box = *state;
	uint8_t buf[RS_PAGE], map[1];
	struct rs_root root;
	uint64_t i;

	pass(box, 0);
	assert_int_equal(fold_once(box, UINT64_C(1) << 20), MAILS);
	root = sbox_root(box);
	/* the root directory, and those on their way */
	assert_int_equal(root.n_inodes, 1 + BACKLOG);
	assert_int_equal(root.n_entries, BACKLOG);
	assert_int_equal(root.n_reaps, 0);
	for (i = MAILS - BACKLOG; i < MAILS; i++) {
		assert_int_equal(
			rs_store_read(box->store, 10 + i, 0, 1, buf, map), 0);
		assert_int_equal(buf[0], 10 + i);
	}
	sbox_verify(box);
}

/* More survives than may go at once: as many frames as the limit says. */
static void test_limits(void **state)
{
	struct sbox *box = *state;

	pass(box, 0);
	assert_in_range(fold_once(box, SIZE), 1, 5);
	sbox_verify(box);
}

static void test_never(void **state)
{
	struct sbox *box = *state;

	pass(box, 0);
	assert_in_range(fold_once(box, 0), 1, 5);
	sbox_verify(box);
}

static void test_stays(void **state)
{
	struct sbox *box = *state;

	pass(box, 1);
	assert_in_range(fold_once(box, UINT64_C(1) << 30), 1, 5);
	sbox_verify(box);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_short_lived, sbox_set_up,
						sbox_tear_down),
		cmocka_unit_test_setup_teardown(test_limits, sbox_set_up,
						sbox_tear_down),
		cmocka_unit_test_setup_teardown(test_never, sbox_set_up,
						sbox_tear_down),
		cmocka_unit_test_setup_teardown(test_stays, sbox_set_up,
						sbox_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
