/* test_company.c - trials of waiting: when it is done, and when it is kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "journal/company.h"

#define FLUSH 8000u

/* A disk and callers whose rate depends on whether the committer waits. */
struct sim {
	struct rs_company c;
	struct timespec now;
	uint64_t flush_us;
};

static void pass(struct sim *s, uint64_t us)
{
	s->now.tv_nsec += (long)us * 1000;
	s->now.tv_sec += s->now.tv_nsec / 1000000000;
	s->now.tv_nsec %= 1000000000;
}

static void set_up(struct sim *s)
{
	*s = (struct sim){ .now = { .tv_sec = 1000 }, .flush_us = FLUSH };
}

static int waits(const struct sim *s)
{
	return rs_company_due(&s->c, 1, &s->now) > 0;
}

/*
 * n frames of 20 callers: off, 10 in off_us; on, all 20 in on_us. Returns how
 * many were waited for.
 */
static unsigned int run(struct sim *s, unsigned int n, uint64_t off_us,
			uint64_t on_us)
{
	unsigned int i, on, sum = 0;

	for (i = 0; i < n; i++) {
		on = (unsigned int)waits(s);
		sum += on;
		pass(s, on ? on_us : off_us);
		rs_company_note(&s->c, on ? 20 : 10, on ? 0 : 10, s->flush_us,
				&s->now);
	}
	return sum;
}

/* the first frame starts the trial */
#define TRIAL (1 + 4 * RS_COMPANY_LEG)

static void test_pays(void **state)
{
	struct sim s;

	(void)state;
	set_up(&s);
	/* half of the trial */
	assert_int_equal(run(&s, TRIAL, 9000, 14000), 2 * RS_COMPANY_LEG);
	assert_int_equal(run(&s, RS_COMPANY_KEEP, 9000, 14000),
			 RS_COMPANY_KEEP);
	/* the next trial finds that it doesn't any more */
	assert_int_equal(run(&s, TRIAL - 1, 9000, 19000), 2 * RS_COMPANY_LEG);
	assert_int_equal(run(&s, RS_COMPANY_KEEP, 9000, 19000), 0);
	assert_int_equal(run(&s, TRIAL - 1, 9000, 14000), 2 * RS_COMPANY_LEG);
	assert_int_equal(run(&s, RS_COMPANY_KEEP, 9000, 14000),
			 RS_COMPANY_KEEP);
}

/* How many of the frames after a trial wait. */
static unsigned int kept(uint64_t flush_us, uint64_t off_us, uint64_t on_us)
{
	struct sim s;

	set_up(&s);
	s.flush_us = flush_us;
	run(&s, TRIAL, off_us, on_us);
	return run(&s, RS_COMPANY_KEEP, off_us, on_us);
}

/* A tenth more is asked for, or a twentieth if a flush is next to nothing. */
static void test_margin(void **state)
{
	(void)state;
	assert_int_equal(kept(FLUSH, 9000, 16400), 0);
	assert_int_equal(kept(FLUSH, 9000, 16300), RS_COMPANY_KEEP);
	assert_int_equal(kept(100, 900, 1720), 0);
	assert_int_equal(kept(100, 900, 1710), RS_COMPANY_KEEP);
}

/* An hour without mail in one half of a trial must not decide it. */
static void test_quiet_hour(void **state)
{
	struct sim s;
	unsigned int i;

	(void)state;
	set_up(&s);
	run(&s, 10, 9000, 19000);
	for (i = 0; i < 3600; i++)
		pass(&s, 1000000);
	run(&s, TRIAL, 9000, 19000);
	assert_int_equal(run(&s, RS_COMPANY_KEEP, 9000, 19000), 0);
}

/* Bring it to where it waits, with this flush. */
static void make_wait(struct sim *s, uint64_t flush_us)
{
	unsigned int i;

	set_up(s);
	for (i = 0; i <= RS_COMPANY_LEG; i++)
		rs_company_note(&s->c, 3, 1, flush_us, &s->now);
}

static void test_limits(void **state)
{
	struct sim s;

	(void)state;
	make_wait(&s, FLUSH);
	assert_int_equal(s.c.crowd, 4);
	/* never longer than a flush, from the last frame on */
	assert_int_equal(rs_company_due(&s.c, 3, &s.now), FLUSH);
	assert_int_equal(rs_company_due(&s.c, 4, &s.now), 0);
	assert_int_equal(rs_company_due(&s.c, 5, &s.now), 0);
	pass(&s, FLUSH - 100);
	assert_int_equal(rs_company_due(&s.c, 1, &s.now), 100);
	pass(&s, 100);
	assert_int_equal(rs_company_due(&s.c, 1, &s.now), 0);
	make_wait(&s, 100);
	assert_int_equal(rs_company_due(&s.c, 1, &s.now),
			 RS_COMPANY_FAST_WAIT_US);
	make_wait(&s, 1000);
	assert_int_equal(rs_company_due(&s.c, 1, &s.now), 1000);
	make_wait(&s, 3000000);
	assert_int_equal(rs_company_due(&s.c, 1, &s.now), RS_COMPANY_MAX_US);
}

static void test_alone(void **state)
{
	struct sim s;

	(void)state;
	make_wait(&s, FLUSH);
	rs_company_note(&s.c, 1, 0, FLUSH, &s.now);
	assert_int_equal(rs_company_due(&s.c, 0, &s.now), 0);
	/* frames of a timer don't count for a trial */
	make_wait(&s, FLUSH);
	assert_int_equal(s.c.frames, 0);
	rs_company_note(&s.c, 0, 4, FLUSH, &s.now);
	assert_int_equal(s.c.frames, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pays),
		cmocka_unit_test(test_margin),
		cmocka_unit_test(test_quiet_hour),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
