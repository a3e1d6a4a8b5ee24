/*
 * test_policy.c - rules, profiles, configuration files, and the table of who
 * changed which directory.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mount.h>

#include <cmocka.h>

#include "fs/caller.h"
#include "tools/lib_conf.h"
#include "tools/lib_ctl.h"
#include "tools/lib_opt.h"
#include "tools/lib_policy.h"

static void globs_are_checked(void **state)
{
	static const char *const good[] = { "/",	"/a",	 "/a/*/b",
					    "/**",	"/a/**", "/q[0-9]/x",
					    "/a[]x]/b", "/..." };
	static const char *const bad[] = { "",	     "a",     "//",    "/a/",
					   "/a//b",  "/./a",  "/a/..", "/[a",
					   "/[a/b]", "/a[]/b" };
	char why[RS_WHY_MAX];
	size_t i;

	(void)state;
	for (i = 0; i < RS_ARRAY_LEN(good); i++)
		assert_int_equal(rs_glob_check(good[i], why), 0);
	for (i = 0; i < RS_ARRAY_LEN(bad); i++)
		assert_int_equal(rs_glob_check(bad[i], why), -EINVAL);
}

static void globs_match_paths(void **state)
{
	static const struct {
		const char *glob, *path;
		int match;
	} cases[] = {
		{ "/", "/", 1 },
		{ "/", "/a", 0 },
		{ "/a", "/a", 1 },
		{ "/a", "/a/b", 0 },
		{ "/*", "/a", 1 },
		{ "/*", "/a/b", 0 },
		{ "/**", "/", 1 },
		{ "/**", "/a/b/c", 1 },
		{ "/a/**", "/a", 1 },
		{ "/a/**", "/ab", 0 },
		{ "/**/xf", "/xf", 1 },
		{ "/**/xf", "/q1/xf", 1 },
		{ "/**/xf", "/q1/xf/d", 0 },
		{ "/**/a/**/b", "/x/a/a/y/b", 1 },
		{ "/**/a/**/b", "/x/b", 0 },
		{ "/q[0-9]/*f", "/q3/qf", 1 },
		{ "/q[0-9]", "/qx", 0 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < RS_ARRAY_LEN(cases); i++)
		assert_int_equal(rs_glob_path(cases[i].glob, cases[i].path),
				 cases[i].match);
}

static void rules_are_read(void **state)
{
	static const char *const bad[] = {
		"/a",
		"/a:",
		"/a:nonsense",
		"/a:limit",
		"/a:limit=1",
		"/a:inodes=x",
		"/a:dirsync=maybe",
		"/a:ram=1G",
		"/a:volatile:",
		"a:volatile",
		"/a:limit=9Q",
		"/a:volatile:x=1",
	};
	struct rs_rules rules = { 0 };
	char why[RS_WHY_MAX];
	size_t i;

	(void)state;
	for (i = 0; i < RS_ARRAY_LEN(bad); i++) {
		why[0] = '\0';
		assert_int_equal(rs_rules_take(&rules, bad[i], why), -EINVAL);
		assert_true(why[0]);
		assert_int_equal(rules.n, 0);
	}
	assert_int_equal(rs_rules_take(&rules,
				       "/a/**:volatile:limit=2M:inodes=none",
				       why),
			 0);
	assert_int_equal(rs_rules_take(&rules, "/b:dirsync=caller", why), 0);
	assert_int_equal(rules.n, 2);
	assert_string_equal(rules.v[0].glob, "/a/**");
	assert_int_equal(rules.v[0].policy, RS_POLICY_VOLATILE);
	assert_int_equal(rules.v[0].limit, 2 << 20);
	assert_true(rules.v[0].has_limit && rules.v[0].has_inodes);
	assert_int_equal(rules.v[0].limit_inodes, 0);
	assert_int_equal(rules.v[1].dirsync, RS_DIRSYNC_CALLER);
	assert_false(rules.v[1].policy || rules.v[1].has_limit);
	rs_rules_release(&rules);
}

static void profiles_go_before_rules(void **state)
{
	char text[] = "policy=/pid:always,profile=postfix+exim,policy=interval";
	struct rs_opts opts;
	size_t i, n = 0;

	(void)state;
	rs_opts_init(&opts);
	assert_int_equal(rs_opts_parse(&opts, text), 0);
	assert_int_equal(rs_opts_finish(&opts), 0);
	assert_int_equal(opts.policy, RS_POLICY_INTERVAL);
	assert_true(opts.n_profile_rules > 4);
	assert_int_equal(opts.all.n, opts.n_profile_rules + 1);
	assert_int_equal(opts.all.v[opts.all.n - 1].policy, RS_POLICY_ALWAYS);
	assert_false(opts.flags & MS_NODEV); /* Postfix's chroot */
	for (i = 0; i < opts.all.n; i++)
		n += !strcmp(opts.all.v[i].glob, "/pid");
	assert_int_equal(n, 2);
	rs_opts_release(&opts);
}

static void nodev_beats_a_profile(void **state)
{
	char text[] = "nodev,profile=postfix";
	struct rs_opts opts;

	(void)state;
	rs_opts_init(&opts);
	assert_int_equal(rs_opts_parse(&opts, text), 0);
	assert_int_equal(rs_opts_finish(&opts), 0);
	assert_true(opts.flags & MS_NODEV);
	rs_opts_release(&opts);
}

/* What a profile says must be something that a configuration may say. */
static void profiles_are_sound(void **state)
{
	const struct rs_profile *profile;
	char why[RS_WHY_MAX];
	size_t i, k;

	(void)state;
	for (i = 0; (profile = rs_profile_at(i)); i++) {
		assert_ptr_equal(rs_profile_find(profile->name), profile);
		assert_true(profile->n_rules > 0);
		for (k = 0; k < profile->n_rules; k++) {
			assert_int_equal(
				rs_glob_check(profile->rules[k].glob, why), 0);
			assert_true(strlen(profile->why[k]) > 10);
		}
	}
	assert_int_equal(i, 6);
	assert_null(rs_profile_find("qmail"));
}

static void write_conf(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void read_conf(const char *text, struct rs_conf *conf,
		      struct rs_opts *opts)
{
	char path[] = "/tmp/rs-conf.XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	write_conf(path, text);
	assert_int_equal(rs_conf_read(path, conf), 0);
	unlink(path);
	rs_opts_init(opts);
	assert_int_equal(rs_conf_options(conf, opts), 0);
}

static void a_file_is_read(void **state)
{
	struct rs_conf conf;
	struct rs_opts opts;

	(void)state;
	read_conf("\xef\xbb\xbf# a comment\n"
		  "store = /srv/x\n  ram = 64M ; here too\n"
		  "xattr = yes\nnoexec = no\n"
		  "[/q[a-f]/**]\npolicy = rename\n  limit = 1G\n"
		  "[/v]\npolicy=volatile\r\n"
		  "[rspool]\nmount = /mnt/x\npolicy = /z:always\n",
		  &conf, &opts);
	assert_int_equal(conf.n_faults, 0);
	assert_string_equal(conf.store, "/srv/x");
	assert_string_equal(conf.mnt, "/mnt/x");
	assert_int_equal(opts.ram, 64 << 20);
	assert_true(opts.xattr);
	assert_int_equal(opts.rules.n, 3);
	assert_string_equal(opts.rules.v[0].glob, "/q[a-f]/**");
	assert_int_equal(opts.rules.v[0].policy, RS_POLICY_RENAME);
	assert_int_equal(opts.rules.v[0].limit, 1 << 30);
	assert_int_equal(opts.rules.v[1].policy, RS_POLICY_VOLATILE);
	assert_int_equal(opts.rules.v[2].policy, RS_POLICY_ALWAYS);
	rs_opts_release(&opts);
	rs_conf_release(&conf);
}

/* A header of 60 bytes, which inih alone would cut. */
static void long_sections_stay_whole(void **state)
{
	static const char glob[] = "/a-directory-with-a-long-name/and-one-more"
				   "/and-the-last-of-them";
	struct rs_conf conf;
	struct rs_opts opts;
	char text[300];

	(void)state;
	snprintf(text, sizeof(text), "store=/s\n[%s]\npolicy=always\n", glob);
	read_conf(text, &conf, &opts);
	assert_int_equal(conf.n_faults, 0);
	assert_string_equal(opts.rules.v[0].glob, glob);
	rs_opts_release(&opts);
	rs_conf_release(&conf);
}

static void all_faults_are_found(void **state)
{
	static const struct {
		unsigned int line;
		const char *key;
	} want[] = {
		{ 0, "store" },	   { 1, "mount" },    { 2, "ram" },
		{ 3, "nosense" },  { 4, "policy" },   { 6, "stall" },
		{ 7, "not" },	   { 8, "section" },  { 11, "policy" },
		{ 12, "bogus" },   { 13, "section" }, { 15, "the line" },
		{ 16, "section" },
	};
	struct rs_conf conf;
	struct rs_opts opts;
	char text[600];
	size_t i;

	(void)state;
	snprintf(text, sizeof(text),
		 "mount = relative\nram = 12Q\nnosense = 1\n"
		 "policy = /x:volatile:limit=1Q\nstall = 3\nstall = 4\n"
		 "no pair\n[what]\nignored = 1\n[/v]\npolicy = no\nbogus = 2\n"
		 "[/open\nignored = 2\nlimit = %0220d\n[/a//b]\nignored = 3\n",
		 1);
	read_conf(text, &conf, &opts);
	for (i = 0; i < conf.n_faults && i < RS_ARRAY_LEN(want); i++) {
		assert_int_equal(conf.faults[i].line, want[i].line);
		assert_int_equal(strncmp(conf.faults[i].text, want[i].key,
					 strlen(want[i].key)),
				 0);
	}
	assert_int_equal(conf.n_faults, RS_ARRAY_LEN(want));
	rs_opts_release(&opts);
	rs_conf_release(&conf);
}

static int parse(const char *line, struct rs_ctl_req *req)
{
	const char *why = NULL;

	return rs_ctl_parse(line, strlen(line), req, &why);
}

static void settings_are_read(void **state)
{
	static const char *const bad[] = {
		"{\"cmd\":\"policy\",\"path\":7}",
		"{\"cmd\":\"policy\",\"path\":\"\"}",
		"{\"cmd\":\"policy\",\"set\":{\"policy\":\"fsync\"}}",
		"{\"cmd\":\"policy\",\"path\":\"/q\",\"set\":{}}",
		"{\"cmd\":\"policy\",\"path\":\"/q\",\"set\":[]}",
		"{\"cmd\":\"policy\",\"path\":\"/q\",\"set\":{\"policy\":1}}",
		"{\"cmd\":\"policy\",\"path\":\"/q\",\"set\":{\"policy\":"
		"\"no\"}}",
		"{\"cmd\":\"policy\",\"path\":\"/q\",\"set\":{\"limit\":-1}}",
		"{\"cmd\":\"policy\",\"path\":\"/q\",\"set\":{\"limit\":1,"
		"\"x\":1}}",
	};
	static struct rs_ctl_req req;
	size_t i;

	(void)state;
	for (i = 0; i < RS_ARRAY_LEN(bad); i++)
		assert_int_equal(parse(bad[i], &req), -EINVAL);
	assert_int_equal(parse("{\"cmd\":\"policy\"}", &req), 0);
	assert_false(req.path[0] || req.set.what);
	assert_int_equal(parse("{\"cmd\":\"policy\",\"path\":\"/q\",\"set\":{"
			       "\"policy\":\"always\",\"dirsync\":\"default\","
			       "\"limit\":70000,\"inodes\":0}}",
			       &req),
			 0);
	assert_string_equal(req.path, "/q");
	assert_int_equal(req.set.what, 0xf);
	assert_int_equal(req.set.policy, RS_POLICY_ALWAYS);
	assert_int_equal(req.set.dirsync, 0);
	assert_int_equal(req.set.limit, 70000);
}

static enum rs_caller_answer ask(struct rs_caller *caller, uint64_t dir,
				 int32_t tid, uint64_t durable, uint64_t ms,
				 uint64_t *number)
{
	const struct rs_caller_now now = { durable, ms };

	return rs_caller_ask(caller, dir, tid, &now, number);
}

static void own_changes_are_known(void **state)
{
	const struct rs_caller_now now = { 4, 1000 };
	struct rs_caller *caller;
	uint64_t n = 0;

	(void)state;
	assert_int_equal(rs_caller_new(64, &caller), 0);
	assert_int_equal(ask(caller, 1, 100, 0, 1000, &n), RS_CALLER_NONE);
	rs_caller_note(caller, 1, 100, 5, &now);
	rs_caller_note(caller, 1, 101, 6, &now);
	rs_caller_note(caller, 2, 100, 7, &now);
	rs_caller_note(caller, 3, 100, 0, &now);
	assert_int_equal(ask(caller, 1, 100, 4, 1000, &n), RS_CALLER_OWN);
	assert_int_equal(n, 5);
	assert_int_equal(ask(caller, 2, 100, 4, 1000, &n), RS_CALLER_OWN);
	assert_int_equal(n, 7);
	assert_int_equal(ask(caller, 2, 101, 4, 1000, &n), RS_CALLER_NONE);
	assert_int_equal(ask(caller, 3, 100, 4, 1000, &n), RS_CALLER_RECENT);
	/* a later change of its own, and one that came in late */
	rs_caller_note(caller, 1, 100, 9, &now);
	rs_caller_note(caller, 1, 100, 8, &now);
	assert_int_equal(ask(caller, 1, 100, 5, 1000, &n), RS_CALLER_OWN);
	assert_int_equal(n, 9);
	/* durable: not forgotten at once */
	assert_int_equal(ask(caller, 1, 100, 9, 2999, &n), RS_CALLER_RECENT);
	assert_int_equal(ask(caller, 1, 100, 9, 3000, &n), RS_CALLER_NONE);
	/* not durable: not forgotten at all */
	assert_int_equal(ask(caller, 1, 100, 8, 99000, &n), RS_CALLER_OWN);
	rs_caller_free(caller);
}

/* What finds no place makes the answer "unknown", until it is durable. */
static void a_full_table_says_so(void **state)
{
	const struct rs_caller_now now = { 9, 1000 }, later = { 10, 1000 };
	int tid, own = 0, unknown = 0;
	struct rs_caller *caller;
	uint64_t n = 0;

	(void)state;
	assert_int_equal(rs_caller_new(8, &caller), 0);
	for (tid = 1; tid <= 20; tid++)
		rs_caller_note(caller, 1, tid, 10, &now);
	for (tid = 1; tid <= 20; tid++) {
		own += ask(caller, 1, tid, 9, 1000, &n) == RS_CALLER_OWN;
		unknown +=
			ask(caller, 1, tid, 9, 1000, &n) == RS_CALLER_UNKNOWN;
	}
	assert_int_equal(own + unknown, 20);
	assert_true(unknown >= 12);
	/* all durable: nothing is unknown, and slots are to be had at once */
	assert_int_equal(ask(caller, 1, 30, 10, 1000, &n), RS_CALLER_NONE);
	rs_caller_note(caller, 1, 30, 11, &later);
	assert_int_equal(ask(caller, 1, 30, 10, 1000, &n), RS_CALLER_OWN);
	rs_caller_free(caller);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(globs_are_checked),
		cmocka_unit_test(globs_match_paths),
		cmocka_unit_test(rules_are_read),
		cmocka_unit_test(profiles_go_before_rules),
		cmocka_unit_test(nodev_beats_a_profile),
		cmocka_unit_test(profiles_are_sound),
		cmocka_unit_test(a_file_is_read),
		cmocka_unit_test(long_sections_stay_whole),
		cmocka_unit_test(all_faults_are_found),
		cmocka_unit_test(settings_are_read),
		cmocka_unit_test(own_changes_are_known),
		cmocka_unit_test(a_full_table_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
