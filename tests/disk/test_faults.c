/*
 * test_faults.c - faults, arm and counters of the whole disk, without a mount.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/disk/disk.h"
#include "tests/disk/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#define SIZE (UINT64_C(1) << 20)

struct fixture {
	char image[256];
	struct rs_disk disk;
};

/* a request and somebody who waits for it */
struct call {
	struct rs_disk_request r;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool done;
	int result;
};

static void start(struct fixture *f)
{
	int fd;

	snprintf(f->image, sizeof(f->image), "%s/faults.XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	fd = mkstemp(f->image);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(rs_disk_init(&f->disk, f->image, SIZE, SIZE), 0);
}

static void end(struct fixture *f)
{
	assert_int_equal(rs_disk_release(&f->disk), 0);
	unlink(f->image);
}

static void call_done(struct rs_disk_request *r, int result)
{
	struct call *c = (void *)((char *)r - offsetof(struct call, r));

	pthread_mutex_lock(&c->lock);
	c->result = result;
	c->done = true;
	pthread_cond_signal(&c->wake);
	pthread_mutex_unlock(&c->lock);
}

static void call_start(struct fixture *f, struct call *c, enum rs_dkind kind,
		       uint64_t off, void *buf, uint32_t len)
{
	memset(c, 0, sizeof(*c));
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->wake, NULL);
	c->r.kind = kind;
	c->r.off = off;
	c->r.len = len;
	c->r.buf = buf;
	c->r.data = buf;
	c->r.done = call_done;
	rs_disk_submit(&f->disk, &c->r);
}

static bool call_is_done(struct call *c)
{
	bool done;

	pthread_mutex_lock(&c->lock);
	done = c->done;
	pthread_mutex_unlock(&c->lock);
	return done;
}

static int call_wait(struct call *c)
{
	pthread_mutex_lock(&c->lock);
	while (!c->done)
		pthread_cond_wait(&c->wake, &c->lock);
	pthread_mutex_unlock(&c->lock);
	pthread_cond_destroy(&c->wake);
	pthread_mutex_destroy(&c->lock);
	return c->result;
}

static int disk_write(struct fixture *f, uint64_t off, int byte, uint32_t len)
{
	unsigned char buf[8192];
	struct call c;

	memset(buf, byte, sizeof(buf));
	call_start(f, &c, RS_DWRITE, off, buf, len);
	return call_wait(&c);
}

/* The first byte read, or -errno. */
static int disk_read(struct fixture *f, uint64_t off, uint32_t len)
{
	unsigned char buf[8192];
	struct call c;
	int n;

	call_start(f, &c, RS_DREAD, off, buf, len);
	n = call_wait(&c);
	return n < 0 ? n : buf[0];
}

static int disk_flush(struct fixture *f)
{
	struct call c;

	call_start(f, &c, RS_DFLUSH, 0, NULL, 0);
	return call_wait(&c);
}

static int on_medium(const struct fixture *f, off_t off)
{
	unsigned char byte;
	int fd = open(f->image, O_RDONLY);

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &byte, 1, off), 1);
	close(fd);
	return byte;
}

static void test_flush_makes_stable(void **state)
{
	struct fixture f;

	(void)state;
	start(&f);
	assert_int_equal(disk_write(&f, 4096, 0xaa, 4096), 4096);
	assert_int_equal(on_medium(&f, 4096), 0);
	assert_int_equal(disk_read(&f, 4096, 512), 0xaa);
	assert_int_equal(disk_flush(&f), 0);
	assert_int_equal(on_medium(&f, 4096), 0xaa);
	end(&f);
}

static void test_lie_makes_nothing_stable(void **state)
{
	struct rs_dcut cut = { .sector = 512, .keep = 0, .by = RS_DCUT_WRITE };
	struct rs_dcut_result result;
	struct fixture f;

	(void)state;
	start(&f);
	f.disk.lie = true;
	assert_int_equal(disk_write(&f, 0, 0xaa, 512), 512);
	assert_int_equal(disk_flush(&f), 0);
	assert_int_equal(f.disk.counters.lies, 1);
	assert_int_equal(disk_read(&f, 0, 512), 0xaa);
	assert_int_equal(rs_disk_cut(&f.disk, &cut, &result), 0);
	assert_int_equal(on_medium(&f, 0), 0);
	end(&f);
}

static void test_nth_fails(void **state)
{
	struct fixture f;
	unsigned i;

	(void)state;
	start(&f);
	f.disk.faults.fail[RS_DWRITE].left = 3;
	for (i = 1; i <= 5; i++)
		assert_int_equal(disk_write(&f, 0, (int)i, 512),
				 i == 3 ? -EIO : 512);
	f.disk.faults.fail[RS_DREAD] =
		(struct rs_dfail){ .left = 2, .forever = true };
	for (i = 1; i <= 5; i++)
		assert_int_equal(disk_read(&f, 0, 512), i >= 2 ? -EIO : 5);
	f.disk.faults.fail[RS_DFLUSH].left = 1;
	assert_int_equal(disk_flush(&f), -EIO);
	assert_int_equal(on_medium(&f, 0), 0);
	assert_int_equal(disk_flush(&f), 0);
	assert_int_equal(on_medium(&f, 0), 5);
	assert_int_equal(f.disk.counters.errors[RS_DWRITE], 1);
	assert_int_equal(f.disk.counters.errors[RS_DREAD], 4);
	assert_int_equal(f.disk.counters.errors[RS_DFLUSH], 1);
	end(&f);
}

static void test_failed_flush_may_drop(void **state)
{
	struct fixture f;

	(void)state;
	start(&f);
	assert_int_equal(disk_write(&f, 0, 1, 512), 512);
	f.disk.faults.fail[RS_DFLUSH] =
		(struct rs_dfail){ .left = 1, .drop = true };
	assert_int_equal(disk_flush(&f), -EIO);
	assert_int_equal(disk_write(&f, 512, 2, 512), 512);
	assert_int_equal(disk_flush(&f), 0);
	assert_int_equal(disk_read(&f, 0, 512), 1);
	assert_int_equal(on_medium(&f, 0), 0);
	assert_int_equal(on_medium(&f, 512), 2);
	end(&f);
}

static void test_bad_sectors(void **state)
{
	struct rs_dfaults *faults;
	struct fixture f;

	(void)state;
	start(&f);
	faults = &f.disk.faults;
	assert_int_equal(rs_dfaults_bad_add(faults, 4096, 4096, false), 0);
	assert_int_equal(rs_dfaults_bad_add(faults, 16384, 1, true), 0);
	assert_int_equal(disk_read(&f, 3584, 512), 0);
	assert_int_equal(disk_read(&f, 3584, 1024), -EIO);
	assert_int_equal(disk_read(&f, 7680, 512), -EIO);
	assert_int_equal(disk_read(&f, 8192, 512), 0);
	/* The middle written again leaves two bad pieces. */
	assert_int_equal(disk_write(&f, 5120, 7, 512), 512);
	assert_int_equal(disk_read(&f, 4608, 512), -EIO);
	assert_int_equal(disk_read(&f, 5120, 512), 7);
	assert_int_equal(disk_read(&f, 5632, 512), -EIO);
	assert_int_equal(disk_write(&f, 4096, 8, 4096), 4096);
	assert_int_equal(disk_read(&f, 4096, 4096), 8);
	assert_int_equal(disk_write(&f, 16384, 9, 512), 512);
	assert_int_equal(disk_read(&f, 16384, 512), -EIO);
	rs_dfaults_bad_clear(faults);
	assert_int_equal(disk_read(&f, 16384, 512), 9);
	end(&f);
}

static void test_short_and_full(void **state)
{
	struct fixture f;

	(void)state;
	start(&f);
	f.disk.faults.shorten[RS_DWRITE] = 1500;
	assert_int_equal(disk_write(&f, 0, 1, 4096), 1024);
	assert_int_equal(disk_read(&f, 0, 512), 1);
	assert_int_equal(disk_read(&f, 1024, 512), 0);
	assert_int_equal(disk_write(&f, 0, 2, 4096), 4096);
	f.disk.faults.full = true;
	assert_int_equal(disk_write(&f, 0, 3, 512), -ENOSPC);
	assert_int_equal(disk_flush(&f), 0);
	f.disk.faults.full = false;
	assert_int_equal(disk_write(&f, 0, 4, 512), 512);
	assert_int_equal(disk_write(&f, SIZE, 4, 512), -ENOSPC);
	assert_int_equal(disk_write(&f, 1, 4, 512), -EINVAL);
	end(&f);
}

static void test_everything_fails_after_a_cut(void **state)
{
	struct rs_dcut cut = { .sector = 512, .keep = -1 };
	struct rs_dcut_result result;
	struct fixture f;

	(void)state;
	start(&f);
	assert_int_equal(disk_write(&f, 0, 1, 512), 512);
	assert_int_equal(disk_flush(&f), 0);
	assert_int_equal(rs_disk_cut(&f.disk, &cut, &result), 0);
	assert_int_equal(disk_read(&f, 0, 512), -EIO);
	assert_int_equal(disk_write(&f, 0, 2, 512), -EIO);
	assert_int_equal(disk_flush(&f), -EIO);
	assert_int_equal(rs_disk_sync(&f.disk), -EIO);
	assert_int_equal(rs_disk_cut(&f.disk, &cut, &result), -EALREADY);
	assert_int_equal(rs_disk_release(&f.disk), 0);
	assert_int_equal(on_medium(&f, 0), 1);
	unlink(f.image);
}

/* The write at which the power goes gets EIO and may be on the medium; all
 * writes before the last flush are. */
static void test_cut_at_the_nth(void **state)
{
	unsigned n;

	(void)state;
	for (n = 1; n <= 10; n++) {
		struct fixture f;
		unsigned i, flushed = 0;

		start(&f);
		f.disk.faults.cut_left[RS_DWRITE] = n;
		f.disk.cut_at = (struct rs_dcut){ .seed = n,
						  .sector = 512,
						  .keep = -1 };
		for (i = 1; i <= 12; i++) {
			int rc = disk_write(&f, i * 512, (int)i, 512);

			assert_int_equal(rc, i < n ? 512 : -EIO);
			if (i % 3 == 0 && !disk_flush(&f))
				flushed = i;
		}
		assert_int_equal(flushed, (n - 1) / 3 * 3);
		for (i = 1; i <= 12; i++) {
			int byte = on_medium(&f, (off_t)i * 512);

			assert_true(byte == (int)i ||
				    (byte == 0 && i > flushed));
			assert_true(byte == 0 || i <= n);
		}
		end(&f);
	}
}

static void test_cut_during_a_held_flush(void **state)
{
	struct rs_dcut cut = { .sector = 512, .keep = 0, .by = RS_DCUT_WRITE };
	struct rs_dcut_result result;
	struct fixture f;
	struct call c;

	(void)state;
	start(&f);
	rs_darm_freeze(&f.disk.arm);
	assert_int_equal(rs_darm_wait_held(&f.disk.arm, 1), -ETIMEDOUT);
	assert_int_equal(disk_write(&f, 0, 1, 512), 512);
	call_start(&f, &c, RS_DFLUSH, 0, NULL, 0);
	assert_int_equal(rs_darm_wait_held(&f.disk.arm, 10000), 0);
	assert_false(call_is_done(&c));
	assert_int_equal(rs_disk_cut(&f.disk, &cut, &result), 0);
	assert_int_equal(call_wait(&c), -EIO);
	assert_int_equal(on_medium(&f, 0), 0);
	end(&f);

	start(&f);
	rs_darm_freeze(&f.disk.arm);
	assert_int_equal(disk_write(&f, 0, 1, 512), 512);
	call_start(&f, &c, RS_DFLUSH, 0, NULL, 0);
	rs_darm_thaw(&f.disk.arm);
	assert_int_equal(call_wait(&c), 0);
	assert_int_equal(on_medium(&f, 0), 1);
	end(&f);
}

/* Requests that wait for the arm when the power goes get EIO at once. */
static void test_cut_meets_what_waits(void **state)
{
	unsigned char buf[512] = { 1 }, other[512];
	struct rs_dcut cut = { .sector = 512, .keep = 0, .by = RS_DCUT_WRITE };
	struct rs_dcut_result result;
	struct call w, r, s;
	struct fixture f;

	(void)state;
	start(&f);
	f.disk.arm.times = (struct rs_darm_times){
		.us = { [RS_DREAD] = 600000000, [RS_DWRITE] = 600000000 }
	};
	call_start(&f, &w, RS_DWRITE, 0, buf, 512);
	call_start(&f, &r, RS_DREAD, 4096, other, 512);
	call_start(&f, &s, RS_DFLUSH, 0, NULL, 0);
	assert_false(call_is_done(&w));
	assert_int_equal(rs_disk_cut(&f.disk, &cut, &result), 0);
	/* The write was in the cache, though nobody was told. */
	assert_int_equal(result.units, 1);
	assert_int_equal(call_wait(&w), -EIO);
	assert_int_equal(call_wait(&r), -EIO);
	assert_int_equal(call_wait(&s), -EIO);
	end(&f);
}

/* The arm has just taken the flush when the cut comes: no success either. */
static void test_cut_races_a_flush(void **state)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	struct rs_dcut cut = { .sector = 512, .keep = 0, .by = RS_DCUT_WRITE };
	struct rs_darm *arm;
	struct fixture f;
	struct call c;
	bool taken = false;

	(void)state;
	start(&f);
	arm = &f.disk.arm;
	arm->times.us[RS_DFLUSH] = 50000;
	assert_int_equal(disk_write(&f, 0, 1, 512), 512);
	call_start(&f, &c, RS_DFLUSH, 0, NULL, 0);
	pthread_rwlock_wrlock(&f.disk.lock);
	while (!taken) {
		nanosleep(&nap, NULL);
		pthread_mutex_lock(&arm->lock);
		taken = !arm->head;
		pthread_mutex_unlock(&arm->lock);
	}
	assert_int_equal(rs_dcut_apply(&f.disk.cache, &cut, &f.disk.cut_result),
			 0);
	f.disk.cut = true;
	pthread_rwlock_unlock(&f.disk.lock);
	assert_int_equal(call_wait(&c), -EIO);
	assert_int_equal(on_medium(&f, 0), 0);
	end(&f);
}

static void test_one_arm_counts_seeks_and_time(void **state)
{
	struct timespec a, b;
	struct fixture f;
	unsigned i;
	int64_t us;

	(void)state;
	start(&f);
	f.disk.arm.times = (struct rs_darm_times){
		.us = { [RS_DFLUSH] = 2000, [RS_DWRITE] = 100 }, .seek_us = 1000
	};
	clock_gettime(CLOCK_MONOTONIC, &a);
	/* From 0 on in order, then back: one seek. */
	for (i = 0; i < 4; i++)
		assert_int_equal(disk_write(&f, i * 512, 1, 512), 512);
	assert_int_equal(disk_write(&f, 0, 1, 512), 512);
	assert_int_equal(disk_flush(&f), 0);
	clock_gettime(CLOCK_MONOTONIC, &b);
	us = (b.tv_sec - a.tv_sec) * 1000000 + (b.tv_nsec - a.tv_nsec) / 1000;
	assert_int_equal(f.disk.arm.seeks, 1);
	assert_int_equal(f.disk.arm.busy_ns, 3500 * 1000);
	/* Never faster than the arm; how much slower is the machine's. */
	assert_true(us >= 3500);
	print_message("3500 us of arm time took %lld us\n", (long long)us);
	assert_int_equal(f.disk.counters.requests[RS_DWRITE], 5);
	assert_int_equal(f.disk.counters.bytes[RS_DWRITE], 5 * 512);
	assert_int_equal(f.disk.counters.requests[RS_DFLUSH], 1);
	end(&f);
}

static void test_words(void **state)
{
	char seed[] = "12", sector[] = "sector=4096", by[] = "by=write",
	     keep[] = "keep=7", bad[] = "keep=101";
	char *good[] = { seed, sector, by, keep }, *wrong[] = { seed, bad };
	struct rs_darm_times t = { .seek_us = 5 };
	struct rs_dcut cut;
	uint64_t n = 1;

	(void)state;
	assert_int_equal(rs_dparse_size("512M", &n), 0);
	assert_int_equal(n, UINT64_C(512) << 20);
	assert_int_equal(rs_dparse_size("1T", &n), -EINVAL);
	assert_int_equal(rs_dparse_size("-1", &n), -EINVAL);
	assert_int_equal(rs_dparse_size("17179869184G", &n), -EINVAL);
	assert_int_equal(rs_dparse_preset("hdd", &t), 0);
	assert_int_equal(t.us[RS_DFLUSH], 8000);
	assert_int_equal(t.seek_us, 4000);
	assert_int_equal(rs_dparse_time("write=30", &t), 0);
	assert_int_equal(t.us[RS_DWRITE], 30);
	assert_int_equal(rs_dparse_time("wrote=30", &t), -EINVAL);
	assert_int_equal(rs_dparse_cut(4, good, 512, &cut), 0);
	assert_int_equal(cut.seed, 12);
	assert_int_equal(cut.sector, 4096);
	assert_int_equal(cut.keep, 7);
	assert_int_equal(cut.by, RS_DCUT_WRITE);
	assert_int_equal(rs_dparse_cut(2, wrong, 512, &cut), -EINVAL);
	assert_int_equal(rs_dparse_cut(1, good, 4096, &cut), 0);
	assert_int_equal(cut.sector, 4096);
	assert_int_equal(cut.keep, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flush_makes_stable),
		cmocka_unit_test(test_lie_makes_nothing_stable),
		cmocka_unit_test(test_nth_fails),
		cmocka_unit_test(test_failed_flush_may_drop),
		cmocka_unit_test(test_bad_sectors),
		cmocka_unit_test(test_short_and_full),
		cmocka_unit_test(test_everything_fails_after_a_cut),
		cmocka_unit_test(test_cut_at_the_nth),
		cmocka_unit_test(test_cut_during_a_held_flush),
		cmocka_unit_test(test_cut_meets_what_waits),
		cmocka_unit_test(test_cut_races_a_flush),
		cmocka_unit_test(test_one_arm_counts_seeks_and_time),
		cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
