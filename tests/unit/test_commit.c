/*
 * test_commit.c - cut, write, flush, publish, answer; and what a failing
 * disk makes of it.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <assert.h>
#include <stdio.h>
#include <time.h>

#include "journal/group.h"
#include "journal/value.h"
#include "tests/unit/journal_box.h"

/* Wait up to 20 s for something that a thread does; no busy loop. */
#define EVENTUALLY(cond)                                                   \
	do {                                                               \
		int tries_;                                                \
		for (tries_ = 0; tries_ < 4000 && !(cond); tries_++)       \
			nanosleep(&(struct timespec){ 0, 5000000 }, NULL); \
		assert_true(cond);                                         \
	} while (0)

static struct rs_journal_status status(struct box *box)
{
	struct rs_journal_status st;

	rs_journal_status(box->j, &st);
	return st;
}

static void forget_events(struct box *box)
{
	pthread_mutex_lock(&box->fake.lock);
	box->fake.n_events = 0;
	box->fake.writes = box->fake.flushes = 0;
	pthread_mutex_unlock(&box->fake.lock);
}

static void test_order(void **state)
{
	struct box *box = *state;
	struct box_wait one, two;
	uint64_t number;

	box_open(box, RS_JOURNAL_SERVE);
	forget_events(box);
	box_wait_init(&one);
	box_wait_init(&two);
	number = box_file(box, 5000, NULL);
	assert_int_equal(number, rs_journal_open_number(box->j));
	assert_int_equal(rs_journal_wait(box->j, number, &one.w), 0);
	assert_int_equal(rs_journal_wait(box->j, 0, &two.w), 0);
	assert_int_equal(one.calls, 0);
	assert_int_equal(rs_journal_durable(box->j), number - 1);
	assert_int_equal(rs_journal_commit_once(box->j), 0);
	assert_int_equal(one.calls, 1);
	assert_int_equal(one.err, 0);
	assert_int_equal(two.calls, 1);
	assert_int_equal(rs_journal_durable(box->j), number);
	/* one write, one flush, in this order */
	assert_int_equal(box->fake.n_events, 2);
	assert_int_equal(box->fake.event[0].kind, 'w');
	assert_int_equal(box->fake.event[0].len, 2 * RS_PAGE);
	assert_int_equal(box->fake.event[1].kind, 'f');
	/* durable already: at once, and nothing is written */
	assert_int_equal(rs_journal_wait(box->j, number, &one.w), 1);
	assert_int_equal(rs_journal_wait(box->j, 0, &one.w), 1);
	assert_int_equal(rs_journal_sync(box->j), 0);
	assert_int_equal(rs_journal_commit_once(box->j), 0);
	assert_int_equal(box->fake.n_events, 2);
}

/* The waiter is told only after the flush came back. */
struct spy {
	struct box *box;
	struct box_wait *wait;
	int seen;
};

static void on_flush(void *arg)
{
	struct spy *spy = arg;

	spy->seen++;
	assert(spy->wait->calls == 0);
	assert(rs_journal_durable(spy->box->j) <
	       rs_journal_open_number(spy->box->j) - 1);
}

static void test_flush_first(void **state)
{
	struct box *box = *state;
	struct box_wait wait;
	struct spy spy = { box, &wait, 0 };

	box_open(box, RS_JOURNAL_SERVE);
	box_wait_init(&wait);
	box->fake.flushed = on_flush;
	box->fake.arg = &spy;
	assert_int_equal(
		rs_journal_wait(box->j, box_file(box, 10, NULL), &wait.w), 0);
	assert_int_equal(rs_journal_commit_once(box->j), 0);
	box->fake.flushed = NULL;
	assert_int_equal(spy.seen, 1);
	assert_int_equal(wait.calls, 1);
}

/* The first frame is one page over the seal, flushed before start returns. */
static void test_start(void **state)
{
	struct box *box = *state;

	assert_int_equal(box_try_open(box, RS_JOURNAL_SERVE), 0);
	assert_int_equal(rs_journal_ceiling(box->j), RS_INO_FIRST);
	forget_events(box);
	assert_int_equal(rs_journal_start(box->j), 0);
	assert_int_equal(box->fake.n_events, 2);
	assert_int_equal(box->fake.event[0].off, 0);
	assert_int_equal(box->fake.event[0].len, RS_PAGE);
	assert_int_equal(box->fake.event[1].kind, 'f');
	assert_int_equal(rs_journal_ceiling(box->j),
			 RS_INO_FIRST + RS_INO_STEP);
	/* 1 was the seal of init */
	assert_int_equal(rs_journal_durable(box->j), 2);
}

static void test_numbers(void **state)
{
	struct box *box = *state;
	struct rs_mark mark = { 0 };
	struct rs_rec rec = { .type = RS_REC_TRUNC, .ino = 1 };
	struct box_wait wait;
	uint64_t number, writes;

	box_open(box, RS_JOURNAL_SERVE);
	number = rs_journal_begin(box->j);
	rs_journal_put(box->j, &rec, &mark);
	rs_journal_void(box->j, &mark);
	rs_journal_end(box->j);
	box_wait_init(&wait);
	assert_int_equal(rs_journal_wait(box->j, number, &wait.w), 0);
	writes = box->fake.writes;
	assert_int_equal(rs_journal_commit_once(box->j), 0);
	/* nothing was left to write; the number is used up all the same */
	assert_int_equal(box->fake.writes, writes);
	assert_int_equal(wait.calls, 1);
	assert_int_equal(wait.err, 0);
	assert_int_equal(rs_journal_durable(box->j), number);
	assert_int_equal(box_file(box, 0, NULL), number + 1);
	assert_int_equal(rs_journal_sync(box->j), 0);
	assert_int_equal(rs_journal_durable(box->j), number + 1);
	assert_int_equal(status(box).highest, number + 1);
}

static void check_poisoned(struct box *box, int err)
{
	struct box_wait late;
	unsigned int writes = box->fake.writes, flushes = box->fake.flushes;

	box_wait_init(&late);
	assert_int_equal(box->poisons, 1);
	assert_int_equal(box->poison_err, err);
	assert_int_equal(rs_journal_reserve(box->j, 100, RS_NEED_SMALL),
			 -EROFS);
	assert_int_equal(rs_journal_reserve(box->j, 100, RS_NEED_GROW), -EROFS);
	assert_int_equal(rs_journal_wait(box->j, 0, &late.w), -EIO);
	assert_int_equal(rs_journal_sync(box->j), -EIO);
	assert_int_equal(rs_journal_commit_once(box->j), -EIO);
	assert_int_equal(rs_journal_stop(box->j, 0), -EIO);
	assert_int_equal(late.calls, 0);
	assert_true(status(box).poisoned);
	assert_true(*status(box).why != '\0');
	/* never again a byte */
	assert_int_equal(box->fake.writes, writes);
	assert_int_equal(box->fake.flushes, flushes);
}

static void poison(struct box *box, int flush, int err)
{
	struct box_wait wait, open;
	uint64_t durable;

	box_open(box, RS_JOURNAL_SERVE);
	box_file(box, 100, NULL);
	assert_int_equal(rs_journal_sync(box->j), 0);
	durable = rs_journal_durable(box->j);
	box_wait_init(&wait);
	box_wait_init(&open);
	assert_int_equal(
		rs_journal_wait(box->j, box_file(box, 100, NULL), &wait.w), 0);
	box->fake.error = err;
	if (flush)
		box->fake.fail_flush = box->fake.flushes + 1;
	else
		box->fake.fail_write = box->fake.writes + 1;
	assert_int_equal(rs_journal_commit_once(box->j), -EIO);
	assert_int_equal(wait.calls, 1);
	assert_int_equal(wait.err, -EIO);
	assert_int_equal(rs_journal_durable(box->j), durable);
	/* the same answer to who asks for what is durable */
	assert_int_equal(rs_journal_wait(box->j, durable, &open.w), -EIO);
	assert_int_equal(open.calls, 0);
	check_poisoned(box, err);
}

static void test_failed_flush(void **state)
{
	poison(*state, 1, -EIO);
}

static void test_failed_write(void **state)
{
	poison(*state, 0, -ENOSPC);
}

static void test_failed_start(void **state)
{
	struct box *box = *state;

	assert_int_equal(box_try_open(box, RS_JOURNAL_SERVE), 0);
	box->fake.fail_flush = box->fake.flushes + 1;
	assert_int_equal(rs_journal_start(box->j), -EIO);
	assert_int_equal(rs_journal_ceiling(box->j), RS_INO_FIRST);
}

static void test_group_full(void **state)
{
	struct box *box = *state;
	size_t max;
	unsigned int frames;

	box_open(box, RS_JOURNAL_SERVE);
	max = rs_journal_max_bytes(box->j);
	assert_int_equal(rs_journal_reserve(box->j, max + 1, RS_NEED_GROW),
			 -ENOSPC);
	assert_int_equal(rs_journal_reserve(box->j, max, RS_NEED_GROW), 0);
	box_file(box, (uint32_t)max - 600, NULL);
	rs_journal_unreserve(box->j, max);
	frames = (unsigned int)status(box).frames;
	assert_int_equal(rs_journal_reserve(box->j, 5000, RS_NEED_GROW),
			 RS_EPARK);
	assert_int_equal(status(box).frames, frames);
	/* SMALL has the last eighth */
	assert_int_equal(rs_journal_reserve(box->j, 5000, RS_NEED_SMALL), 0);
	assert_int_equal(status(box).frames, frames);
	/* and then makes room by itself, here where no thread does it */
	assert_int_equal(rs_journal_reserve(box->j, 5000, RS_NEED_SMALL), 0);
	assert_int_equal(status(box).frames, frames + 1);
	assert_true(box->spaces > 0);
	rs_journal_unreserve(box->j, 5000);
	rs_journal_unreserve(box->j, 5000);
	assert_int_equal(rs_journal_reserve(box->j, 5000, RS_NEED_GROW), 0);
	rs_journal_unreserve(box->j, 5000);
}

/* A byte each in the chunks [from, from + n) of a sparse file. */
static void scatter(struct box *box, uint64_t ino, uint64_t from,
		    unsigned int n)
{
	struct rs_rec rec = { .type = RS_REC_DATA,
			      .ino = ino,
			      .off = from * RS_CHUNK,
			      .data = (const uint8_t *)"x",
			      .data_len = 1 };

	(void)rs_journal_begin(box->j);
	for (; n > 0; n--, rec.off += RS_CHUNK)
		rs_journal_put(box->j, &rec, NULL);
	rs_journal_end(box->j);
}

/* How many more until a reservation doesn't get room in this group. */
static unsigned int scatter_until(struct box *box, uint64_t ino, uint64_t from,
				  enum rs_need need)
{
	const uint64_t frames = status(box).frames;
	unsigned int n;

	for (n = 0; n < 2 * RS_GROUP_CHUNKS; n++) {
		if (rs_journal_reserve(box->j, 100, need) != 0)
			break;
		scatter(box, ino, from + n, 1);
		rs_journal_unreserve(box->j, 100);
		if (status(box).frames != frames)
			break;
	}
	return n;
}

/* C5: a frame is bounded in chunks too, since a fold takes it whole. */
static void test_many_chunks(void **state)
{
	struct box *box = *state;
	unsigned int i;
	uint64_t ino;

	box_open(box, RS_JOURNAL_SERVE);
	(void)box_file(box, 1, &ino);
	/* the same ones again are hardly counted */
	for (i = 0; i < 5; i++)
		scatter(box, ino, 0, 1000);
	assert_in_range(scatter_until(box, ino, 1000, RS_NEED_GROW),
			RS_GROUP_CHUNKS / 4, RS_GROUP_CHUNKS - 1000);
	assert_int_equal(rs_journal_reserve(box->j, 100, RS_NEED_GROW),
			 RS_EPARK);
	/* SMALL has the last eighth, and then cuts by itself */
	assert_int_equal(scatter_until(box, ino, 10000, RS_NEED_SMALL),
			 RS_GROUP_CHUNKS / 8);
	assert_int_equal(rs_journal_reserve(box->j, 100, RS_NEED_GROW), 0);
	rs_journal_unreserve(box->j, 100);
}

/* With threads half of them are worth a cut that nobody asked for. */
static void test_half_chunks(void **state)
{
	struct box *box = *state;
	uint64_t ino, number;

	box->threads = 1;
	box->flush_interval = 3600000;
	box_open(box, RS_JOURNAL_SERVE);
	number = box_file(box, 1, &ino);
	scatter(box, ino, 0, RS_GROUP_CHUNKS / 2);
	EVENTUALLY(rs_journal_durable(box->j) >= number);
	box_stop(box, 1);
}

/*
 * Fill the ring without a checkpoint: GROW parks at 7/8, SMALL goes on into
 * the reserve, and no commit ever fails.
 */
static void test_ring_full(void **state)
{
	struct box *box = *state;
	unsigned int i, more = 0;
	uint64_t before;
	int err, left;

	box_open(box, RS_JOURNAL_SERVE);
	before = status(box).checkpoints;
	for (i = 0;; i++) {
		err = rs_journal_reserve(box->j, 13000, RS_NEED_GROW);
		if (err < 0)
			break;
		assert_true(i < 100);
		box_file(box, 12000, NULL);
		rs_journal_unreserve(box->j, 13000);
		assert_int_equal(rs_journal_commit_once(box->j), 0);
	}
	assert_int_equal(err, RS_EPARK);
	assert_true(status(box).ring_used <=
		    BOX_RING - BOX_RING / 8 - 2 * RS_PAGE);
	assert_true(status(box).ring_used > BOX_RING / 2);
	while (status(box).checkpoints == before) {
		assert_int_equal(rs_journal_reserve(box->j, 600, RS_NEED_SMALL),
				 0);
		box_file(box, 0, NULL);
		rs_journal_unreserve(box->j, 600);
		assert_int_equal(rs_journal_commit_once(box->j), 0);
		assert_true(more++ < 100);
	}
	/* several out of the reserve before it had to fold */
	assert_true(more >= 3);
	box->spaces = 0;
	do
		assert_int_equal(rs_journal_checkpoint_once(box->j, &left), 0);
	while (left);
	assert_int_equal(status(box).ring_used, 0);
	assert_int_equal(status(box).kept_bytes, 0);
	assert_int_equal(rs_journal_reserve(box->j, 13000, RS_NEED_GROW), 0);
	rs_journal_unreserve(box->j, 13000);
}

/* Many times around the ring: places never overlap what is needed. */
static void test_wrap(void **state)
{
	struct box *box = *state;
	unsigned int i;
	int more;

	box_open(box, RS_JOURNAL_SERVE);
	for (i = 0; i < 300; i++) {
		uint32_t n = i * 7919 % 40000;

		while (rs_journal_reserve(box->j, n + 600, RS_NEED_GROW) < 0)
			assert_int_equal(
				rs_journal_checkpoint_once(box->j, &more), 0);
		box_file(box, n, NULL);
		rs_journal_unreserve(box->j, n + 600);
		assert_int_equal(rs_journal_commit_once(box->j), 0);
		assert_true(status(box).ring_used <= BOX_RING);
	}
	assert_true(status(box).frame_bytes > 10 * BOX_RING);
	/* each write is followed by its flush before the next */
	for (i = 0; i + 1 < box->fake.n_events && i + 1 < FAKE_EVENTS; i++)
		assert_false(box->fake.event[i].kind == 'w' &&
			     box->fake.event[i + 1].kind == 'w' &&
			     box->fake.event[i].len != 1 << 18);
}

/* ---- with threads ---- */

static int set_up_threads(void **state)
{
	int err = box_set_up(state);

	((struct box *)*state)->threads = 1;
	return err;
}

static void test_timer_and_seal(void **state)
{
	struct box *box = *state;
	struct rs_journal_status st;
	struct fake_event last;
	uint64_t number;

	box->flush_interval = 20;
	box_open(box, RS_JOURNAL_SERVE);
	number = box_file(box, 100, NULL);
	EVENTUALLY(rs_journal_durable(box->j) >= number);
	/* idle after a flush: a seal, without a flush of its own */
	EVENTUALLY(status(box).seals == 1);
	st = status(box);
	pthread_mutex_lock(&box->fake.lock);
	last = box->fake.event[box->fake.n_events - 1];
	pthread_mutex_unlock(&box->fake.lock);
	assert_int_equal(last.kind, 'w');
	assert_int_equal(last.len, RS_PAGE);
	assert_int_equal(rs_journal_durable(box->j), st.open_number - 1);
	/* the next frame goes over it */
	assert_int_equal(box_file(box, 100, NULL), st.open_number);
	assert_int_equal(rs_journal_sync(box->j), 0);
	pthread_mutex_lock(&box->fake.lock);
	assert_int_equal(box->fake.event[box->fake.n_events - 2].off, last.off);
	pthread_mutex_unlock(&box->fake.lock);
	box_stop(box, 1);
}

#define WRITERS 8
#define ROUNDS 25

static void *writer(void *arg)
{
	struct box *box = arg;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		assert(rs_journal_reserve(box->j, 3000, RS_NEED_SMALL) == 0);
		box_file(box, 2000, NULL);
		rs_journal_unreserve(box->j, 3000);
		assert(rs_journal_sync(box->j) == 0);
	}
	return NULL;
}

static void slow_disk(void *arg)
{
	(void)arg;
	nanosleep(&(struct timespec){ 0, 3000000 }, NULL);
}

/* Groups grow by themselves while the disk is busy. */
static void test_group_commit(void **state)
{
	struct box *box = *state;
	struct rs_journal_status st;
	pthread_t thread[WRITERS];
	int i;

	box->flush_interval = 60000;
	box_open(box, RS_JOURNAL_SERVE);
	box->fake.flushed = slow_disk;
	for (i = 0; i < WRITERS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, writer, box),
				 0);
	for (i = 0; i < WRITERS; i++)
		pthread_join(thread[i], NULL);
	st = status(box);
	assert_true(st.frames < WRITERS * ROUNDS / 2);
	assert_true(st.frames >= ROUNDS);
	assert_int_equal(st.unsynced_bytes, 0);
	assert_true(st.waiters_served <= WRITERS * ROUNDS);
	box_stop(box, 0);
}

/* From the committer, before the flush ends: the next caller is there. */
struct next_caller {
	struct box *box;
	struct box_wait wait[40];
	unsigned int n;
	int on;
};

static void call(struct box *box, struct box_wait *wait)
{
	box_wait_init(wait);
	box_file(box, 100, NULL);
	assert(rs_journal_wait(box->j, 0, &wait->w) == 0);
}

static void next_caller(void *arg)
{
	struct next_caller *next = arg;

	if (__atomic_load_n(&next->on, __ATOMIC_ACQUIRE)) {
		assert(next->n < RS_ARRAY_LEN(next->wait));
		call(next->box, &next->wait[next->n++]);
	}
}

static int was_called(const struct box_wait *wait)
{
	return __atomic_load_n(&wait->calls, __ATOMIC_ACQUIRE);
}

/*
 * In a trial's second leg the committer waits for the crowd. The clock
 * stands still, so it would do so for ever.
 */
static void test_company(void **state)
{
	struct box *box = *state;
	struct next_caller next = { .box = box, .on = 1 };
	struct box_wait one, two, three;
	uint64_t frames;

	box->flush_interval = 60000;
	box->fake.clock = INT64_C(1000000000000);
	box_open(box, RS_JOURNAL_SERVE);
	box->fake.arg = &next;
	box->fake.flushed = next_caller;
	call(box, &one);
	EVENTUALLY(status(box).awaited > 0);
	__atomic_store_n(&next.on, 0, __ATOMIC_RELEASE);
	frames = status(box).frames;
	nanosleep(&(struct timespec){ 0, 30000000 }, NULL);
	assert_int_equal(status(box).frames, frames);
	assert_int_equal(was_called(&next.wait[next.n - 1]), 0);
	/* with two of them the crowd is complete: one frame for both */
	call(box, &two);
	EVENTUALLY(was_called(&two));
	assert_int_equal(was_called(&next.wait[next.n - 1]), 1);
	assert_int_equal(status(box).frames, frames + 1);
	/* who needs room doesn't wait for callers */
	call(box, &three);
	nanosleep(&(struct timespec){ 0, 30000000 }, NULL);
	assert_int_equal(was_called(&three), 0);
	rs_journal_kick_checkpoint(box->j);
	EVENTUALLY(was_called(&three));
	/* alone: at once */
	call(box, &one);
	EVENTUALLY(was_called(&one));
	box_stop(box, 1);
}

static void test_poison_threads(void **state)
{
	struct box *box = *state;
	struct box_wait wait;

	box->flush_interval = 60000;
	box_open(box, RS_JOURNAL_SERVE);
	box_wait_init(&wait);
	pthread_mutex_lock(&box->fake.lock);
	box->fake.fail_flush = box->fake.flushes + 1;
	pthread_mutex_unlock(&box->fake.lock);
	assert_int_equal(
		rs_journal_wait(box->j, box_file(box, 10, NULL), &wait.w), 0);
	EVENTUALLY(__atomic_load_n(&wait.calls, __ATOMIC_SEQ_CST) == 1);
	assert_int_equal(wait.err, -EIO);
	EVENTUALLY(__atomic_load_n(&box->poisons, __ATOMIC_SEQ_CST) == 1);
	check_poisoned(box, -EIO);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, box_set_up, box_tear_down)
#define LARGE(fn) \
	cmocka_unit_test_setup_teardown(fn, box_set_up_large, box_tear_down)
#define THREADS(fn) \
	cmocka_unit_test_setup_teardown(fn, set_up_threads, box_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_order),
		TEST(test_flush_first),
		TEST(test_start),
		TEST(test_numbers),
		TEST(test_failed_flush),
		TEST(test_failed_write),
		TEST(test_failed_start),
		TEST(test_group_full),
		LARGE(test_many_chunks),
		LARGE(test_half_chunks),
		TEST(test_ring_full),
		TEST(test_wrap),
		THREADS(test_timer_and_seal),
		THREADS(test_group_commit),
		THREADS(test_company),
		THREADS(test_poison_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
