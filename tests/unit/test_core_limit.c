/*
 * Limits of subtrees, and what is counted: of what isn't logged, and of what
 * isn't durable yet.
 */
#include "tests/unit/spool_box.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#define EXCHANGE 2u /* RENAME_EXCHANGE */

static const struct rs_rule rules[] = {
	{ .glob = "/v", .policy = RS_POLICY_VOLATILE },
	{ .glob = "/v/in",
	  .has_limit = 1,
	  .limit = 100 * RS_PAGE,
	  .has_inodes = 1,
	  .limit_inodes = 5 },
	{ .glob = "/i", .policy = RS_POLICY_INTERVAL },
};

static int set_up(void **state)
{
	return spool_set_up_qv(state, rules, RS_ARRAY_LEN(rules));
}

static struct rs_policy_info info_of(const char *path)
{
	struct rs_policy_info info;

	assert_int_equal(rs_core_policy_get(spool.core, spool_ino(path), &info),
			 0);
	return info;
}

static void expect_used(const char *path, uint64_t pages, uint64_t inodes)
{
	struct rs_policy_info info = info_of(path);

	if (info.used != pages * RS_PAGE || info.used_inodes != inodes)
		fail_msg("%s: %llu bytes and %llu inodes", path,
			 (unsigned long long)info.used,
			 (unsigned long long)info.used_inodes);
}

static ssize_t grow(const char *path, uint64_t pages)
{
	static uint8_t buf[8 * RS_PAGE];
	uint64_t ino = spool_ino(path), len = pages * RS_PAGE;
	struct rs_stat st;
	ssize_t n, done = 0;

	while (len) {
		assert_int_equal(rs_core_getattr(spool.core, ino, &st), 0);
		n = rs_core_write(spool.core, ino, buf,
				  len < sizeof(buf) ? len : sizeof(buf),
				  st.attr.size, 0);
		if (n == RS_EPARK) {
			rs_journal_await_space(spool.j);
			continue;
		}
		if (n < 0)
			return done ? done : n;
		len -= (uint64_t)n;
		done += n;
	}
	return done;
}

static void test_bomb(void **state)
{
	struct rs_statfs fs, all;
	struct rs_stat st;

	(void)state;
	spool_mkdir("v/in");
	expect_used("v/in", 0, 0);
	spool_mkdir("v/in/d");
	spool_file("v/in/d/f", "");
	assert_int_equal(grow("v/in/d/f", 90), 90 * RS_PAGE);
	expect_used("v/in", 90, 2);
	rs_core_statfs_at(spool.core, spool_ino("v/in/d/f"), &fs);
	assert_int_equal(fs.blocks, 100);
	assert_int_equal(fs.bfree, 10);
	assert_int_equal(fs.files, 5);
	assert_int_equal(fs.ffree, 3);
	/* the rest of it, and then nothing more */
	assert_int_equal(grow("v/in/d/f", 20), 10 * RS_PAGE);
	assert_int_equal(grow("v/in/d/f", 1), -ENOSPC);
	assert_int_equal(rs_core_fallocate(spool.core, spool_ino("v/in/d/f"), 0,
					   200 * RS_PAGE, RS_PAGE),
			 -ENOSPC);
	assert_int_equal(rs_core_setxattr(spool.core, spool_ino("v/in/d/f"),
					  "user.a", "x", 1, 0),
			 -ENOSPC);
	/* the queue beside it goes on */
	spool_file("q/f", "");
	assert_int_equal(grow("q/f", 200), 200 * RS_PAGE);
	rs_core_statfs(spool.core, &all);
	assert_true(all.bfree > 1000);
	spool_file("v/in/1", "");
	spool_file("v/in/2", "");
	spool_file("v/in/3", "");
	assert_int_equal(rs_core_mknod(spool.core, spool_ino("v/in/d"), "x",
				       &spool_who, S_IFREG | 0600, 0, &st),
			 -ENOSPC);
	assert_int_equal(spool_unlink("v/in/d/f"), 0);
	expect_used("v/in", 0, 4);
}

static void test_moves(void **state)
{
	(void)state;
	spool_mkdir("v/in");
	spool_mkdir("v/t");
	spool_file("v/t/a", "");
	spool_file("v/t/b", "");
	assert_int_equal(grow("v/t/a", 60), 60 * RS_PAGE);
	assert_int_equal(grow("v/t/b", 50), 50 * RS_PAGE);
	assert_int_equal(spool_rename("v/t", "v/in/t", 0), -ENOSPC);
	assert_int_equal(spool_rename("v/t/a", "v/in/a", 0), 0);
	expect_used("v/in", 60, 1);
	assert_int_equal(spool_rename("v/t/b", "v/in/b", 0), -ENOSPC);
	/* in the place of what it replaces it fits */
	assert_int_equal(spool_rename("v/t/b", "v/in/a", 0), 0);
	expect_used("v/in", 50, 1);
	assert_int_equal(spool_rename("v/t", "v/in/t", 0), 0);
	expect_used("v/in", 50, 2);
	/* within it nothing is counted twice */
	assert_int_equal(spool_rename("v/in/a", "v/in/t/a", 0), 0);
	expect_used("v/in", 50, 2);
	assert_int_equal(spool_rename("v/in/t", "q/t", 0), 0);
	expect_used("v/in", 0, 0);
	spool_file("q/big", "");
	assert_int_equal(grow("q/big", 101), 101 * RS_PAGE);
	spool_file("v/in/small", "");
	assert_int_equal(spool_rename("q/big", "v/in/small", EXCHANGE),
			 -ENOSPC);
	assert_int_equal(spool_rename("q/t", "v/in/small", EXCHANGE), 0);
	expect_used("v/in", 50, 2);
}

static void test_links_count_once(void **state)
{
	(void)state;
	spool_mkdir("v/in");
	spool_file("v/in/f", "");
	assert_int_equal(grow("v/in/f", 60), 60 * RS_PAGE);
	assert_int_equal(spool_link("v/in/f", "v/in/g"), 0);
	assert_int_equal(spool_link("v/in/f", "q/f"), 0);
	expect_used("v/in", 60, 1);
	/* it is counted where its oldest name is */
	assert_int_equal(spool_unlink("v/in/f"), 0);
	assert_int_equal(spool_unlink("v/in/g"), 0);
	expect_used("v/in", 0, 0);
	assert_int_equal(grow("q/f", 60), 60 * RS_PAGE);
	assert_int_equal(spool_link("q/f", "v/in/h"), 0);
	expect_used("v/in", 0, 0);
}

static void test_set_at_run_time(void **state)
{
	struct rs_policy_set set = {
		.what = RS_POLSET_LIMIT | RS_POLSET_INODES,
		.limit = 20 * RS_PAGE,
		.limit_inodes = 7,
	};
	uint64_t number;

	(void)state;
	spool_mkdir("q/d");
	spool_file("q/d/f", "");
	assert_int_equal(grow("q/d/f", 15), 15 * RS_PAGE);
	assert_int_equal(
		rs_core_policy_set(spool.core, spool_ino("q"), &set, &number),
		0);
	/* what was there before counts */
	expect_used("q", 15, 2);
	assert_int_equal(grow("q/d/f", 10), 5 * RS_PAGE);
	spool_fold();
	spool_again();
	expect_used("q", 20, 2);
	assert_int_equal(grow("q/d/f", 1), -ENOSPC);
	set.limit = 0;
	assert_int_equal(
		rs_core_policy_set(spool.core, spool_ino("q"), &set, &number),
		0);
	assert_int_equal(grow("q/d/f", 1), RS_PAGE);
}

static struct rs_core_loss loss_of(enum rs_policy policy)
{
	struct rs_core_loss loss[RS_POLICY_ALWAYS + 1];

	rs_core_loss(spool.core, loss);
	return loss[policy];
}

static void test_loss(void **state)
{
	struct rs_core_loss loss;

	(void)state;
	spool_mkdir("i");
	spool_commit();
	spool_file("v/a", "");
	assert_int_equal(grow("v/a", 10), 10 * RS_PAGE);
	spool_file("v/b", "x");
	loss = loss_of(RS_POLICY_VOLATILE);
	assert_int_equal(loss.files, 2);
	assert_int_equal(loss.bytes, 11 * RS_PAGE);
	assert_int_equal(loss_of(RS_POLICY_FSYNC).files, 0);
	/* the file, and the directory that has its name */
	spool_file("q/f", "12345");
	assert_int_equal(loss_of(RS_POLICY_FSYNC).files, 2);
	assert_int_equal(loss_of(RS_POLICY_FSYNC).bytes, 5);
	spool_file("i/f", "123");
	assert_int_equal(loss_of(RS_POLICY_INTERVAL).files, 2);
	assert_int_equal(spool_unlink("i/f"), 0);
	assert_int_equal(loss_of(RS_POLICY_INTERVAL).files, 0);
	assert_int_equal(loss_of(RS_POLICY_INTERVAL).bytes, 0);
	spool_commit();
	assert_int_equal(loss_of(RS_POLICY_FSYNC).files, 0);
	assert_int_equal(loss_of(RS_POLICY_INTERVAL).files, 0);
	/* from one side to the other */
	assert_int_equal(spool_rename("v/a", "q/a", 0), 0);
	assert_int_equal(loss_of(RS_POLICY_VOLATILE).bytes,
			 1 * RS_PAGE + 10 * RS_PAGE);
	spool_commit();
	loss = loss_of(RS_POLICY_VOLATILE);
	assert_int_equal(loss.files, 1);
	assert_int_equal(loss.bytes, RS_PAGE);
	assert_int_equal(spool_rename("q/a", "v/a", 0), 0);
	assert_int_equal(loss_of(RS_POLICY_VOLATILE).files, 2);
	assert_int_equal(spool_unlink("v/a"), 0);
	assert_int_equal(spool_unlink("v/b"), 0);
	loss = loss_of(RS_POLICY_VOLATILE);
	assert_int_equal(loss.files, 0);
	assert_int_equal(loss.bytes, 0);
}

/* Volatile data has to stay in RAM: it ends there, and says so before. */
static void test_volatile_fills_ram(void **state)
{
	struct rs_statfs fs;
	struct rs_stat st;
	uint64_t ino;
	ssize_t n;
	int i;

	(void)state;
	spool_commit();
	spool_crash();
	spool.ram = 8 << 20;
	spool_open();
	spool_big("q/f", 100000, 1);
	ino = spool_file("v/f", "");
	for (i = 0; i < 100; i++) {
		rs_core_statfs_at(spool.core, ino, &fs);
		n = grow("v/f", 50);
		if (n < 0)
			break;
		/* what was promised is there */
		if (fs.bfree > 60)
			assert_int_equal(n, 50 * RS_PAGE);
	}
	assert_int_equal(n, -ENOSPC);
	rs_core_statfs_at(spool.core, ino, &fs);
	assert_true(fs.bfree < 30);
	/* names still go, and so does what frees */
	spool_file("q/g", "");
	assert_int_equal(spool_unlink("v/f"), 0);
	assert_int_equal(rs_core_getattr(spool.core, ino, &st), -ESTALE);
	spool_file("v/f", "");
	assert_int_equal(grow("v/f", 50), 50 * RS_PAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, spool_tear_down)
		T(test_bomb),
		T(test_moves),
		T(test_links_count_once),
		T(test_set_at_run_time),
		T(test_loss),
		T(test_volatile_fills_ram),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
