/*
 * Policies of directories: what rules, inheritance and settings at run time
 * come to; what volatile places write and leave; who waits.
 */
#include "tests/unit/spool_box.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#define RULES(...)                                                     \
	do {                                                           \
		static const struct rs_rule rules[] = { __VA_ARGS__ }; \
		spool.rules = rules;                                   \
		spool.n_rules = sizeof(rules) / sizeof(rules[0]);      \
	} while (0)

static struct rs_policy_info info_of(const char *path)
{
	struct rs_policy_info info;

	assert_int_equal(rs_core_policy_get(spool.core, spool_ino(path), &info),
			 0);
	return info;
}

static void expect_policy(const char *path, enum rs_policy policy,
			  enum rs_origin origin)
{
	struct rs_policy_info info = info_of(path);

	if (info.policy != policy || info.policy_origin != origin)
		fail_msg("/%s has policy %d from %d", path, info.policy,
			 info.policy_origin);
}

static void test_globs(void **state)
{
	(void)state;
	RULES({ .glob = "/a", .policy = RS_POLICY_INTERVAL },
	      { .glob = "/a/*", .policy = RS_POLICY_RENAME },
	      { .glob = "/b/**", .policy = RS_POLICY_ALWAYS },
	      { .glob = "/**/tmp", .policy = RS_POLICY_INTERVAL },
	      { .glob = "/c/x?[12]/z/", .policy = RS_POLICY_ALWAYS },
	      { .glob = "/**/p/**/q", .policy = RS_POLICY_RENAME },
	      { .glob = "/s\\*", .policy = RS_POLICY_ALWAYS });
	spool_open();
	spool_mkdir("a");
	spool_mkdir("a/k");
	spool_mkdir("a/k/deep");
	spool_mkdir("a/k/tmp");
	spool_mkdir("b");
	spool_mkdir("b/k");
	spool_mkdir("tmp");
	spool_mkdir("c");
	spool_mkdir("c/xy2");
	spool_mkdir("c/xy2/z");
	spool_mkdir("c/xy3");
	spool_mkdir("c/xy3/z");
	spool_mkdir("p");
	spool_mkdir("p/r");
	spool_mkdir("p/r/p");
	spool_mkdir("p/r/p/q");
	spool_mkdir("s*");
	spool_mkdir("sx");
	expect_policy("", RS_POLICY_FSYNC, RS_ORIGIN_MOUNT);
	expect_policy("a", RS_POLICY_INTERVAL, RS_ORIGIN_RULE);
	expect_policy("a/k", RS_POLICY_RENAME, RS_ORIGIN_RULE);
	expect_policy("a/k/deep", RS_POLICY_RENAME, RS_ORIGIN_PARENT);
	expect_policy("a/k/tmp", RS_POLICY_INTERVAL, RS_ORIGIN_RULE);
	expect_policy("b", RS_POLICY_ALWAYS, RS_ORIGIN_RULE);
	expect_policy("b/k", RS_POLICY_ALWAYS, RS_ORIGIN_RULE);
	expect_policy("tmp", RS_POLICY_INTERVAL, RS_ORIGIN_RULE);
	expect_policy("c/xy2/z", RS_POLICY_ALWAYS, RS_ORIGIN_RULE);
	expect_policy("c/xy3/z", RS_POLICY_FSYNC, RS_ORIGIN_PARENT);
	expect_policy("p/r/p/q", RS_POLICY_RENAME, RS_ORIGIN_RULE);
	expect_policy("s*", RS_POLICY_ALWAYS, RS_ORIGIN_RULE);
	expect_policy("sx", RS_POLICY_FSYNC, RS_ORIGIN_PARENT);
	/* rules go by the path: a move changes what they say */
	assert_int_equal(spool_rename("c/xy2", "c/xy4", 0), 0);
	expect_policy("c/xy4/z", RS_POLICY_FSYNC, RS_ORIGIN_PARENT);
	assert_int_equal(spool_rename("a/k/deep", "b/deep", 0), 0);
	expect_policy("b/deep", RS_POLICY_ALWAYS, RS_ORIGIN_RULE);
}

static void test_key_by_key(void **state)
{
	struct rs_policy_info info;

	(void)state;
	RULES({ .glob = "/q/**", .policy = RS_POLICY_ALWAYS },
	      { .glob = "/**", .dirsync = RS_DIRSYNC_CALLER },
	      { .glob = "/q", .has_limit = 1, .limit = 1 << 20 },
	      { .glob = "/q", .has_inodes = 1, .limit_inodes = 50 });
	spool_open();
	spool_mkdir("q");
	spool_mkdir("q/r");
	info = info_of("q");
	assert_int_equal(info.policy, RS_POLICY_ALWAYS);
	assert_int_equal(info.dirsync, RS_DIRSYNC_CALLER);
	assert_int_equal(info.dirsync_origin, RS_ORIGIN_RULE);
	assert_int_equal(info.limit, 1 << 20);
	assert_int_equal(info.limit_inodes, 50);
	info = info_of("q/r");
	assert_int_equal(info.limit, 0);
}

static void test_run_time(void **state)
{
	(void)state;
	spool_open();
	spool_mkdir("q");
	spool_mkdir("q/r");
	assert_int_equal(spool_set("q", RS_POLICY_ALWAYS), 0);
	expect_policy("q", RS_POLICY_ALWAYS, RS_ORIGIN_RUNTIME);
	expect_policy("q/r", RS_POLICY_ALWAYS, RS_ORIGIN_PARENT);
	/* kept in the store */
	spool_again();
	expect_policy("q", RS_POLICY_ALWAYS, RS_ORIGIN_RUNTIME);
	expect_policy("q/r", RS_POLICY_ALWAYS, RS_ORIGIN_PARENT);
	assert_int_equal(spool_set("q", 0), 0);
	expect_policy("q", RS_POLICY_FSYNC, RS_ORIGIN_PARENT);
	assert_int_equal(spool_set("q", 6), -EINVAL);
}

static void test_volatile_writes_nothing(void **state)
{
	struct rs_attr attr = { .mode = 0600, .size = 3 };
	struct rs_stat st;
	uint64_t before, ino;
	int i;

	(void)state;
	RULES({ .glob = "/v/**", .policy = RS_POLICY_VOLATILE });
	spool_open();
	spool_mkdir("v");
	before = spool_written();
	for (i = 0; i < 50; i++) {
		spool_mkdir("v/d");
		ino = spool_file("v/d/f", "some text");
		assert_int_equal(rs_core_setattr(spool.core, ino, &attr,
						 RS_SET_MODE | RS_SET_SIZE,
						 &st),
				 0);
		assert_int_equal(
			rs_core_setxattr(spool.core, ino, "user.a", "x", 1, 0),
			0);
		assert_int_equal(
			rs_core_fallocate(spool.core, ino, 0, 0, 20000), 0);
		assert_int_equal(spool_link("v/d/f", "v/l"), 0);
		assert_int_equal(spool_rename("v/d/f", "v/g", 0), 0);
		assert_int_equal(rs_core_sync_number(spool.core, ino), 0);
		assert_int_equal(spool_unlink("v/l"), 0);
		assert_int_equal(spool_unlink("v/g"), 0);
		assert_int_equal(spool_rmdir("v/d"), 0);
	}
	assert_int_equal(spool_written(), before);
	/* nor does its own fsync */
	assert_int_equal(rs_core_sync_number(spool.core, spool_ino("v")), 0);
}

static void test_volatile_comes_back_empty(void **state)
{
	struct rs_attr attr = { .mode = 01777, .uid = 12, .gid = 34 };
	struct rs_stat st;

	(void)state;
	RULES({ .glob = "/v/**", .policy = RS_POLICY_VOLATILE },
	      { .glob = "/v/named/too", .policy = RS_POLICY_VOLATILE },
	      { .glob = "/v/x/keep*", .policy = RS_POLICY_FSYNC });
	spool_open();
	spool_mkdir("q");
	spool_mkdir("v");
	assert_int_equal(rs_core_setattr(spool.core, spool_ino("v"), &attr,
					 RS_SET_MODE | RS_SET_UID | RS_SET_GID,
					 &st),
			 0);
	spool_file("v/f", "gone");
	spool_mkdir("v/d");
	spool_mkdir("v/named");
	spool_mkdir("v/named/too");
	spool_file("v/named/too/f", "gone");
	spool_mkdir("v/x");
	spool_mkdir("v/x/keep1");
	spool_file("v/x/keep1/f", "kept");
	spool_file("q/f", "kept too");
	spool_commit();
	spool_again();
	spool_expect_tree("q q/f v v/named v/named/too v/x v/x/keep1 "
			  "v/x/keep1/f");
	spool_expect("v/x/keep1/f", "kept");
	assert_int_equal(rs_core_getattr(spool.core, spool_ino("v"), &st), 0);
	assert_int_equal(st.attr.mode, S_IFDIR | 01777);
	assert_int_equal(st.attr.uid, 12);
	assert_int_equal(st.attr.gid, 34);
	assert_int_equal(st.attr.nlink, 4);
	/* an orderly end keeps no more */
	spool_file("v/f", "gone");
	spool_stop();
	spool_open();
	spool_expect_tree("q q/f v v/named v/named/too v/x v/x/keep1 "
			  "v/x/keep1/f");
}

/* Mail that comes and goes within a group never reaches the disk. */
static void test_interval_leaves_nothing(void **state)
{
	uint64_t before;
	int i;

	(void)state;
	spool.policy = RS_POLICY_INTERVAL;
	spool_open();
	spool_mkdir("q");
	spool_file("q/stays", "s");
	before = spool_written();
	for (i = 0; i < 20; i++) {
		spool_file("q/a", "a body of some size");
		assert_int_equal(spool_rename("q/a", "q/b", 0), 0);
		assert_int_equal(spool_link("q/b", "c"), 0);
		assert_int_equal(spool_unlink("q/b"), 0);
		assert_int_equal(spool_unlink("c"), 0);
		spool_mkdir("q/d");
		assert_int_equal(spool_rmdir("q/d"), 0);
	}
	assert_int_equal(spool_written(), before);
	/* what went on in between is in the next frames */
	spool_file("q/a", "a");
	spool_commit();
	assert_int_equal(spool_unlink("q/stays"), 0);
	spool_file("q/b", "b");
	assert_int_equal(spool_unlink("q/b"), 0);
	assert_true(spool_written() > before);
	spool_again();
	spool_expect_tree("q q/a");
	assert_int_equal(spool_unlink("q/a"), 0);
	assert_int_equal(spool_rmdir("q"), 0);
	spool_commit();
	spool_again();
	spool_expect_tree("");
}

static struct timespec mtime_of(const char *path)
{
	struct rs_stat st;

	assert_int_equal(rs_core_getattr(spool.core, spool_ino(path), &st), 0);
	return st.attr.mtime;
}

/* A barrier logs the times that came and went left behind, once. */
static void test_interval_times_are_due(void **state)
{
	struct timespec want, have;
	uint64_t before;

	(void)state;
	spool.policy = RS_POLICY_INTERVAL;
	spool_open();
	spool_mkdir("q");
	spool_file("q/stays", "s");
	spool_commit();
	spool_file("q/a", "a");
	assert_int_equal(spool_unlink("q/a"), 0);
	want = mtime_of("q");
	before = spool_written();
	assert_int_equal(rs_core_log_times(spool.core), 0);
	assert_true(spool_written() > before);
	before = spool_written();
	assert_int_equal(rs_core_log_times(spool.core), 0);
	assert_int_equal(spool_written(), before);
	spool_again();
	have = mtime_of("q");
	assert_int_equal(have.tv_sec, want.tv_sec);
	assert_int_equal(have.tv_nsec, want.tv_nsec);
}

static void test_who_waits(void **state)
{
	uint64_t open, f;

	(void)state;
	RULES({ .glob = "/i", .policy = RS_POLICY_INTERVAL },
	      { .glob = "/r", .policy = RS_POLICY_RENAME },
	      { .glob = "/a", .policy = RS_POLICY_ALWAYS });
	spool_open();
	spool_mkdir("i");
	spool_mkdir("r");
	spool_mkdir("a");
	f = spool_file("i/f", "x");
	open = rs_journal_open_number(spool.j);
	assert_int_equal(rs_core_sync_number(spool.core, f), 0);
	assert_int_equal(rs_core_sync_number(spool.core, spool_ino("i")), 0);
	assert_int_equal(rs_core_change_number(spool.core, spool_ino("i"),
					       RS_CHANGE_ENTRY),
			 0);
	/* a name in a stronger directory counts */
	assert_int_equal(spool_link("i/f", "r/f"), 0);
	assert_int_equal(rs_core_sync_number(spool.core, f), open);
	assert_int_equal(rs_core_change_number(spool.core, spool_ino("r"),
					       RS_CHANGE_INTO),
			 open);
	assert_int_equal(rs_core_change_number(spool.core, spool_ino("r"),
					       RS_CHANGE_ENTRY),
			 0);
	assert_int_equal(rs_core_change_number(spool.core, f, RS_CHANGE_INODE),
			 0);
	f = spool_file("a/f", "x");
	assert_int_equal(rs_core_change_number(spool.core, spool_ino("a"),
					       RS_CHANGE_ENTRY),
			 open);
	assert_int_equal(rs_core_change_number(spool.core, f, RS_CHANGE_INODE),
			 open);
	spool_commit();
	assert_int_equal(rs_core_change_number(spool.core, spool_ino("a"),
					       RS_CHANGE_ENTRY),
			 0);
}

static int tell(void *arg, const char *path, const struct rs_policy_info *info)
{
	char *text = arg;

	sprintf(text + strlen(text), "%s:%d ", path, info->policy);
	return 0;
}

static void test_walk(void **state)
{
	char text[256] = "";

	(void)state;
	RULES({ .glob = "/v/**", .policy = RS_POLICY_VOLATILE });
	spool_open();
	spool_mkdir("q");
	spool_mkdir("q/r");
	spool_mkdir("v");
	assert_int_equal(spool_set("q/r", RS_POLICY_ALWAYS), 0);
	assert_int_equal(rs_core_policy_walk(spool.core, tell, text), 0);
	assert_string_equal(text, "/:3 /q/r:5 /v:1 ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) \
	cmocka_unit_test_setup_teardown(name, spool_set_up, spool_tear_down)
		T(test_globs),
		T(test_key_by_key),
		T(test_run_time),
		T(test_volatile_writes_nothing),
		T(test_volatile_comes_back_empty),
		T(test_interval_leaves_nothing),
		T(test_interval_times_are_due),
		T(test_who_waits),
		T(test_walk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
