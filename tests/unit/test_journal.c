/*
 * test_journal.c - a store from init over crashes to the orderly end, with
 * the real store behind it.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/unit/journal_box.h"

static struct rs_journal_status status(struct box *box)
{
	struct rs_journal_status st;

	rs_journal_status(box->j, &st);
	return st;
}

struct seen {
	unsigned int frames, entries, data;
	uint64_t last, ceiling;
};

static int see(void *arg, const struct rs_rec *rec, uint64_t number)
{
	struct seen *seen = arg;

	assert_true(number >= seen->last);
	seen->frames += number != seen->last;
	seen->last = number;
	seen->entries += rec->type == RS_REC_ENTRY_PUT;
	if (rec->type == RS_REC_DATA)
		seen->data += rec->data_len;
	if (rec->type == RS_REC_CEILING)
		seen->ceiling = rec->off;
	return 0;
}

static struct seen replay(struct box *box)
{
	struct seen seen = { 0 };

	assert_int_equal(rs_journal_replay(box->j, see, &seen, &box->rep), 0);
	return seen;
}

/* What the store itself has. */
struct stored {
	unsigned int inodes, entries;
};

static int on_inode(void *arg, uint64_t ino, const struct rs_attr *attr,
		    uint64_t frame)
{
	(void)ino;
	(void)attr;
	(void)frame;
	((struct stored *)arg)->inodes++;
	return 0;
}

static int on_entry(void *arg, uint64_t parent, const uint8_t *name, size_t len,
		    uint64_t child, uint8_t dtype, uint64_t frame)
{
	(void)parent;
	(void)name;
	(void)len;
	(void)child;
	(void)dtype;
	(void)frame;
	((struct stored *)arg)->entries++;
	return 0;
}

static int on_link(void *arg, uint64_t ino, const uint8_t *target, size_t len)
{
	(void)arg;
	(void)ino;
	(void)target;
	(void)len;
	return 0;
}

static int on_xattr(void *arg, uint64_t ino, const uint8_t *name, size_t len,
		    const uint8_t *value, size_t value_len)
{
	(void)arg;
	(void)ino;
	(void)name;
	(void)len;
	(void)value;
	(void)value_len;
	return 0;
}

static struct stored load(struct box *box)
{
	static const struct rs_load_ops ops = { on_inode, on_entry, on_link,
						on_xattr };
	struct stored stored = { 0 };

	assert_int_equal(rs_store_load(rs_journal_store(box->j), &ops, &stored,
				       &box->rep),
			 0);
	return stored;
}

static void files(struct box *box, unsigned int n)
{
	while (n--) {
		assert_int_equal(
			rs_journal_reserve(box->j, 3000, RS_NEED_SMALL), 0);
		box_file(box, 1000, NULL);
		rs_journal_unreserve(box->j, 3000);
		assert_int_equal(rs_journal_sync(box->j), 0);
	}
}

/* ---- */

static void test_orderly(void **state)
{
	struct box *box = *state;
	struct seen seen;
	unsigned int reads;

	box_open(box, RS_JOURNAL_SERVE);
	assert_true(box->rep.was_clean);
	files(box, 3);
	box_stop(box, 0);
	reads = box->fake.reads;
	assert_int_equal(box_try_open(box, RS_JOURNAL_SERVE), 0);
	assert_true(box->rep.was_clean);
	/* the seal is enough: the ring isn't read whole */
	assert_true(box->fake.reads - reads < 6);
	seen = replay(box);
	assert_int_equal(seen.frames, 0);
	assert_int_equal(load(box).entries, 3);
	assert_int_equal(load(box).inodes, 4);
	assert_int_equal(rs_journal_ceiling(box->j),
			 RS_INO_FIRST + RS_INO_STEP);
	assert_int_equal(rs_journal_start(box->j), 0);
	box_stop(box, 0);
	assert_int_equal(box->rep.quarantined, 0);
}

static void test_crash(void **state)
{
	struct box *box = *state;
	struct seen seen;

	box_open(box, RS_JOURNAL_SERVE);
	files(box, 3);
	/* in the open group only: lost */
	box_file(box, 10, NULL);
	box_crash(box);
	assert_int_equal(box_try_open(box, RS_JOURNAL_SERVE), 0);
	assert_false(box->rep.was_clean);
	assert_int_equal(box->rep.unfinished, 0);
	seen = replay(box);
	/* the first, with the ceiling, is in the store since the start */
	assert_int_equal(seen.frames, 3);
	assert_int_equal(seen.entries, 3);
	assert_int_equal(seen.data, 3000);
	assert_int_equal(load(box).entries, 0);
	assert_int_equal(rs_journal_ceiling(box->j),
			 RS_INO_FIRST + RS_INO_STEP);
	/* and on it goes, with numbers that rise */
	assert_int_equal(rs_journal_start(box->j), 0);
	assert_true(rs_journal_durable(box->j) > seen.last);
	box->ino = rs_journal_ceiling(box->j) - RS_INO_STEP;
	files(box, 2);
	box_crash(box);
	assert_int_equal(box_try_open(box, RS_JOURNAL_SERVE), 0);
	assert_int_equal(replay(box).entries, 5);
	assert_int_equal(box->rep.quarantined, 0);
}

static void swap_ring(struct box *box, uint8_t *ring, int put)
{
	char path[4200];
	int fd;

	snprintf(path, sizeof(path), "%s/intent.log", box->dir);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(put ? pwrite(fd, ring, BOX_RING, 0)
			     : pread(fd, ring, BOX_RING, 0),
			 BOX_RING);
	close(fd);
}

static void refused(struct box *box)
{
	assert_int_equal(box_try_open(box, RS_JOURNAL_SERVE), -EUCLEAN);
	rs_report_release(&box->rep);
}

/* Whatever lies in the ring's place: what was acknowledged is missed. */
static void test_other_ring(void **state)
{
	struct box *box = *state;
	uint8_t *zeros = calloc(1, BOX_RING), *old = malloc(BOX_RING);
	unsigned int i;

	assert_non_null(zeros);
	assert_non_null(old);
	for (i = 0; i < 3; i++) {
		swap_ring(box, old, 0);
		box_open(box, RS_JOURNAL_SERVE);
		files(box, 2);
		if (i < 2) {
			box_stop(box, 0);
			continue;
		}
		box_crash(box);
	}
	swap_ring(box, zeros, 1);
	refused(box);
	swap_ring(box, old, 1);
	refused(box);
	free(zeros);
	free(old);
}

/* No store that was served once takes an empty ring for its own. */
static void test_ring_of_zeros(void **state)
{
	struct box *box = *state;
	uint8_t *zeros = calloc(1, BOX_RING), *made = malloc(BOX_RING);

	assert_non_null(zeros);
	assert_non_null(made);
	swap_ring(box, made, 0);
	box_open(box, RS_JOURNAL_SERVE);
	files(box, 2);
	box_crash(box);
	swap_ring(box, zeros, 1);
	refused(box);
	swap_ring(box, made, 1);
	refused(box);
	free(zeros);
	free(made);
}

/* After init, start and at once a crash, over and over: no space is lost. */
static void test_start_over(void **state)
{
	struct box *box = *state;
	unsigned int i;

	for (i = 0; i < 200; i++) {
		box_open(box, RS_JOURNAL_SERVE);
		assert_int_equal(box->rep.quarantined, 0);
		box_crash(box);
	}
	assert_int_equal(box_try_open(box, RS_JOURNAL_RDONLY), 0);
	assert_int_equal(rs_journal_ceiling(box->j),
			 RS_INO_FIRST + 200 * RS_INO_STEP);
}

static void test_fold_behind(void **state)
{
	struct box *box = *state;
	int more = 1;

	box_open(box, RS_JOURNAL_SERVE);
	files(box, 10);
	assert_int_equal(rs_journal_checkpoint_once(box->j, &more), 0);
	assert_int_equal(status(box).ring_used, 0);
	assert_int_equal(status(box).applied, rs_journal_durable(box->j));
	assert_int_equal(status(box).damage, 0);
	files(box, 2);
	box_crash(box);
	assert_int_equal(box_try_open(box, RS_JOURNAL_SERVE), 0);
	assert_int_equal(load(box).entries, 10);
	assert_int_equal(replay(box).entries, 2);
}

static void test_fast_stop(void **state)
{
	struct box *box = *state;

	box_open(box, RS_JOURNAL_SERVE);
	files(box, 4);
	box_file(box, 10, NULL); /* stop cuts it */
	box_stop(box, 1);
	assert_int_equal(box_try_open(box, RS_JOURNAL_SERVE), 0);
	assert_false(box->rep.was_clean);
	assert_int_equal(replay(box).entries, 5);
	assert_int_equal(box->rep.quarantined, 0);
}

static void test_recover(void **state)
{
	struct box *box = *state;
	unsigned int writes;

	box_open(box, RS_JOURNAL_SERVE);
	files(box, 4);
	box_crash(box);
	box_open(box, RS_JOURNAL_RECOVER);
	assert_int_equal(rs_journal_fold_all(box->j, NULL, NULL, &box->rep), 0);
	assert_int_equal(load(box).entries, 4);
	box_crash(box);
	/* again: nothing to do, and nothing is written */
	writes = box->fake.writes;
	box_open(box, RS_JOURNAL_RECOVER);
	assert_true(box->rep.was_clean);
	assert_int_equal(rs_journal_fold_all(box->j, NULL, NULL, &box->rep), 0);
	assert_int_equal(box->fake.writes, writes);
	box_crash(box);
	box_open(box, RS_JOURNAL_SERVE);
	files(box, 1);
	box_stop(box, 0);
	box_open(box, RS_JOURNAL_RDONLY);
	assert_int_equal(load(box).entries, 5);
}

static void test_readonly(void **state)
{
	struct box *box = *state;
	unsigned int writes, flushes;

	box_open(box, RS_JOURNAL_SERVE);
	files(box, 4);
	box_crash(box);
	writes = box->fake.writes;
	flushes = box->fake.flushes;
	box_open(box, RS_JOURNAL_RDONLY);
	assert_int_equal(replay(box).entries, 4);
	assert_int_equal(rs_journal_fold_all(box->j, NULL, NULL, &box->rep),
			 -EROFS);
	assert_int_equal(box->fake.writes, writes);
	assert_int_equal(box->fake.flushes, flushes);
}

/* Ring and store are flushed before what was read counts (I1). */
static void test_flush_at_open(void **state)
{
	struct box *box = *state;
	unsigned int n;

	box->fake.flushes = 0;
	assert_int_equal(box_try_open(box, RS_JOURNAL_SERVE), 0);
	assert_int_equal(box->fake.flushes, 2);
	box_crash(box);
	for (n = 1; n <= 2; n++) {
		box->fake.flushes = 0;
		box->fake.fail_flush = n;
		assert_int_equal(box_try_open(box, RS_JOURNAL_SERVE), -EIO);
		assert_int_equal(box->fake.flushes, n);
		rs_report_release(&box->rep);
	}
	box->fake.fail_flush = 0;
}

static void test_one_owner(void **state)
{
	struct box *box = *state;
	struct rs_journal_cfg cfg = { .dir = box->dir,
				      .mode = RS_JOURNAL_SERVE,
				      .inline_walk = 1 };
	struct rs_journal *two;
	pid_t owner = -1;

	box_open(box, RS_JOURNAL_SERVE);
	assert_int_equal(rs_journal_open(&cfg, &box->rep, &owner, &two),
			 -EBUSY);
	assert_true(owner == getpid() || owner == 0);
	cfg.mode = RS_JOURNAL_RDONLY;
	assert_int_equal(rs_journal_open(&cfg, &box->rep, &owner, &two),
			 -EBUSY);
	box_crash(box);
	/* readers beside each other, no owner beside them */
	box_open(box, RS_JOURNAL_RDONLY);
	assert_int_equal(rs_journal_open(&cfg, &box->rep, &owner, &two), 0);
	rs_journal_close(two);
	cfg.mode = RS_JOURNAL_SERVE;
	assert_int_equal(rs_journal_open(&cfg, &box->rep, &owner, &two),
			 -EBUSY);
}

/* The last frame without its end: unfinished, dropped, no damage. */
static void spoil(struct box *box, uint64_t place)
{
	char path[4200];
	int fd;

	snprintf(path, sizeof(path), "%s/intent.log", box->dir);
	fd = open(path, O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, "torn", 4, (off_t)place + 800), 4);
	assert_int_equal(fsync(fd), 0);
	close(fd);
}

static uint64_t head_of(struct box *box)
{
	struct rs_ring_head head;

	rs_ring_get_head(rs_journal_ring(box->j), &head);
	return head.place;
}

static void test_unfinished(void **state)
{
	struct box *box = *state;
	uint64_t place;

	box_open(box, RS_JOURNAL_SERVE);
	files(box, 3);
	place = head_of(box);
	files(box, 1);
	box_crash(box);
	spoil(box, place);
	assert_int_equal(box_try_open(box, RS_JOURNAL_SERVE), 0);
	assert_int_equal(box->rep.unfinished, 1);
	assert_int_equal(box->rep.unfinished_place, place);
	assert_int_equal(box->rep.quarantined, 0);
	assert_int_equal(replay(box).entries, 3);
	/* the first frame goes over it and takes the next number */
	assert_int_equal(rs_journal_start(box->j), 0);
	box->ino += 100;
	files(box, 1);
	box_crash(box);
	assert_int_equal(box_try_open(box, RS_JOURNAL_SERVE), 0);
	assert_int_equal(box->rep.unfinished, 0);
	assert_int_equal(box->rep.quarantined, 0);
	assert_int_equal(replay(box).entries, 4);
}

/* In the middle it was acknowledged: damage, kept in the root until accepted */
static void test_gap(void **state)
{
	struct box *box = *state;
	uint64_t place, damage;

	box_open(box, RS_JOURNAL_SERVE);
	files(box, 3);
	place = head_of(box);
	files(box, 2);
	box_crash(box);
	spoil(box, place);
	box_open(box, RS_JOURNAL_RDONLY);
	assert_int_equal(box->rep.quarantined, 1);
	box_crash(box);
	assert_int_equal(box_try_open(box, RS_JOURNAL_SERVE), 0);
	assert_true(box->rep.quarantined >= 1);
	damage = status(box).damage;
	assert_true(damage >= 1);
	assert_int_equal(status(box).ring_used, 0);
	assert_int_equal(rs_journal_start(box->j), 0);
	box->ino += 100;
	files(box, 1);
	box_stop(box, 0);
	/* not found again, not forgotten */
	assert_int_equal(box_try_open(box, RS_JOURNAL_SERVE), 0);
	assert_int_equal(box->rep.quarantined, 0);
	assert_int_equal(status(box).damage, damage);
	assert_int_equal(rs_store_accept(rs_journal_store(box->j)), 0);
	box_crash(box);
	assert_int_equal(box_try_open(box, RS_JOURNAL_SERVE), 0);
	assert_int_equal(status(box).damage, 0);
}

/* The sealed end: the seal proves the frame that is broken. */
static void test_sealed_end(void **state)
{
	struct box *box = *state;
	uint64_t place;

	box_open(box, RS_JOURNAL_SERVE);
	files(box, 2);
	place = head_of(box);
	files(box, 1);
	box_stop(box, 1);
	spoil(box, place);
	assert_int_equal(box_try_open(box, RS_JOURNAL_SERVE), 0);
	assert_int_equal(box->rep.unfinished, 0);
	assert_int_equal(box->rep.quarantined, 1);
	assert_int_equal(status(box).damage, 1);
	assert_int_equal(rs_journal_start(box->j), 0);
	box->ino += 100;
	files(box, 1);
	box_crash(box);
	assert_int_equal(box_try_open(box, RS_JOURNAL_SERVE), 0);
	assert_int_equal(box->rep.quarantined, 0);
	assert_int_equal(status(box).damage, 1);
	assert_int_equal(replay(box).entries, 1);
	assert_int_equal(load(box).entries, 2);
}

static void test_init_refuses(void **state)
{
	struct box *box = *state;
	struct rs_store_spec spec = { .dir = box->dir,
				      .ring_size = BOX_RING,
				      .capacity = 1 << 20,
				      .inodes = 1000,
				      .seam = &box->fake.seam };
	struct stat before, after;
	char path[4200];
	int cow, fd;

	assert_int_equal(stat(box->dir, &before), 0);
	assert_int_equal(rs_journal_init_store(&spec, &cow), -ENOTEMPTY);
	assert_int_equal(stat(box->dir, &after), 0);
	assert_int_equal(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
	snprintf(path, sizeof(path), "%s/new", box->tmp);
	spec.dir = path;
	spec.ring_size = BOX_RING + 1;
	assert_int_equal(rs_journal_init_store(&spec, &cow), -EINVAL);
	spec.ring_size = RS_PAGE;
	assert_int_equal(rs_journal_init_store(&spec, &cow), -EINVAL);
	spec.ring_size = BOX_RING;
	unsetenv("RSPOOL_TEST_RING");
	assert_int_equal(rs_journal_init_store(&spec, &cow), -EINVAL);
	setenv("RSPOOL_TEST_RING", "1", 1);
	/* another one is being made in it: hands off */
	assert_int_equal(mkdir(path, 0755), 0);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(rs_journal_init_store(&spec, &cow), -EBUSY);
	assert_int_equal(fstat(fd, &after), 0);
	assert_int_equal(after.st_mode & 07777, 0755);
	close(fd);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(stat(path, &after), -1);
}

/* Each write and flush of init fails once: nothing is left. */
static void test_init_fails(void **state)
{
	struct box *box = *state;
	struct rs_store_spec spec = { .ring_size = BOX_RING,
				      .capacity = 1 << 20,
				      .inodes = 1000,
				      .seam = &box->fake.seam };
	struct stat st;
	char path[4200];
	unsigned int n, kind, failed = 0;
	int cow, err = 0;

	snprintf(path, sizeof(path), "%s/new", box->tmp);
	spec.dir = path;
	for (kind = 0; kind < 3; kind++) {
		for (n = 1;; n++) {
			box->fake.writes = box->fake.flushes = 0;
			box->fake.randoms = 0;
			box->fake.fail_write = kind == 0 ? n : 0;
			box->fake.fail_flush = kind == 1 ? n : 0;
			box->fake.fail_random = kind == 2 ? n : 0;
			err = rs_journal_init_store(&spec, &cow);
			if (err == 0)
				break;
			assert_int_equal(err, -EIO);
			assert_int_equal(stat(path, &st), -1);
			failed++;
		}
		fake_dir_remove(strdup(path));
	}
	assert_true(failed >= 4);
	box->fake.fail_random = 0;
}

/* ---- with threads: a checkpointer beside writers ---- */

static int set_up_threads(void **state)
{
	int err = box_set_up(state);

	((struct box *)*state)->threads = 1;
	return err;
}

#define WRITERS 4
#define ROUNDS 60

static void *writer(void *arg)
{
	struct box *box = arg;
	int i, err;

	for (i = 0; i < ROUNDS; i++) {
		while ((err = rs_journal_reserve(box->j, 9000, RS_NEED_GROW)) ==
		       RS_EPARK)
			nanosleep(&(struct timespec){ 0, 2000000 }, NULL);
		if (err < 0)
			abort();
		box_file(box, 8000, NULL);
		rs_journal_unreserve(box->j, 9000);
		if (rs_journal_sync(box->j) < 0)
			abort();
	}
	return NULL;
}

static void test_threads(void **state)
{
	struct box *box = *state;
	pthread_t thread[WRITERS];
	int i;

	box_open(box, RS_JOURNAL_SERVE);
	for (i = 0; i < WRITERS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, writer, box),
				 0);
	for (i = 0; i < WRITERS; i++)
		pthread_join(thread[i], NULL);
	/* several times around the ring, so it must have folded */
	assert_true(status(box).checkpoints > 3);
	assert_true(status(box).frame_bytes > 2 * BOX_RING);
	assert_false(status(box).store_broken);
	assert_int_equal(status(box).damage, 0);
	box_stop(box, 0);
	box_open(box, RS_JOURNAL_RDONLY);
	assert_true(box->rep.was_clean);
	assert_int_equal(load(box).entries, WRITERS * ROUNDS);
	assert_int_equal(box->rep.quarantined, 0);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, box_set_up, box_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_orderly),
		TEST(test_crash),
		TEST(test_other_ring),
		TEST(test_ring_of_zeros),
		TEST(test_start_over),
		TEST(test_fold_behind),
		TEST(test_fast_stop),
		TEST(test_recover),
		TEST(test_readonly),
		TEST(test_flush_at_open),
		TEST(test_one_owner),
		TEST(test_unfinished),
		TEST(test_gap),
		TEST(test_sealed_end),
		TEST(test_init_refuses),
		TEST(test_init_fails),
		cmocka_unit_test_setup_teardown(test_threads, set_up_threads,
						box_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
