/*
 * cmd_policy.c - rspoolctl policy: what directories have, and setting it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "journal/report.h"
#include "tools/cmd.h"
#include "tools/lib_ctl.h"
#include "tools/lib_mnt.h"
#include "tools/lib_place.h"
#include "tools/lib_policy.h"
#include "tools/lib_progress.h"
#include "tools/lib_report.h"
#include "tools/lib_size.h"
#include "tools/lib_target.h"

#define INTERVAL "flush_interval="

static const char *str(json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "?";
}

static uint64_t num(json_t *object, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(object, key));
}

/* "40M of 1.0G", "-" without a limit */
static void share(char *text, size_t size, uint64_t used, uint64_t limit,
		  int bytes)
{
	char a[RS_SIZE_TEXT], b[RS_SIZE_TEXT];

	if (!limit)
		snprintf(text, size, "-");
	else if (bytes)
		snprintf(text, size, "%s of %s", rs_size_text(used, a),
			 rs_size_text(limit, b));
	else
		snprintf(text, size, "%" PRIu64 " of %" PRIu64, used, limit);
}

static void print_dir(json_t *dir)
{
	char safe[4 * PATH_MAX + 1], space[64], files[64], origin[64];
	const char *path = str(dir, "path");

	share(space, sizeof(space), num(dir, "used"), num(dir, "limit"), 1);
	share(files, sizeof(files), num(dir, "used_inodes"), num(dir, "inodes"),
	      0);
	snprintf(origin, sizeof(origin), "%s/%s", str(dir, "origin"),
		 str(dir, "dirsync_origin"));
	rs_escape(path, strlen(path), safe, sizeof(safe));
	printf("%-9s %-7s %-16s %-16s %-16s %s\n", str(dir, "policy"),
	       str(dir, "dirsync"), origin, space, files, safe);
}

static void print_header(void)
{
	printf("%-9s %-7s %-16s %-16s %-16s %s\n", "POLICY", "DIRSYNC", "FROM",
	       "SPACE", "INODES", "PATH");
}

static void print_all(json_t *reply)
{
	json_t *entry;
	size_t i;

	printf("flush_interval %" PRIu64 " ms", num(reply, "flush_interval"));
	json_array_foreach(json_object_get(reply, "profiles"), i, entry) printf(
		"%s%s", i ? "+" : ", profile ", json_string_value(entry));
	putchar('\n');
	print_header();
	json_array_foreach(json_object_get(reply, "directories"), i, entry)
		print_dir(entry);
}

/*
 * One object goes, one comes back. 0 or an exit code; *ret_reply: new
 * reference.
 */
static int ask(const char *path, int fd, json_t *req, json_t **ret_reply)
{
	struct rs_progress progress;
	json_t *reply = NULL;
	const char *error;
	int err;

	rs_progress_init(&progress, "waiting for the disk");
	err = req ? rs_ctl_ask(fd, req, 0, rs_progress_step, &progress, &reply)
		  : -EINVAL;
	rs_progress_end(&progress);
	if (err) {
		rs_say("cannot talk to the daemon of '%s': %s", path,
		       strerror(-err));
		return RS_EXIT_FAILED;
	}
	if (json_is_true(json_object_get(reply, "ok"))) {
		*ret_reply = reply;
		return 0;
	}
	error = json_string_value(json_object_get(reply, "error"));
	rs_say("'%s': %s", path, error ? error : "no reason given");
	json_decref(reply);
	return RS_EXIT_FAILED;
}

/* One setting; a second one of its kind is refused: which was meant? */
static int set_key(json_t *set, const char *key, json_t *value,
		   const char *word)
{
	if (json_object_get(set, key)) {
		json_decref(value);
		return rs_say_usage("policy: '%s' is a second %s", word, key);
	}
	json_object_set_new(set, key, value);
	return 0;
}

static int set_word(json_t *set, const char *word)
{
	struct rs_rule rule = { 0 };
	char why[RS_WHY_MAX];

	if (!strcmp(word, "default"))
		return set_key(set, "policy", json_string("default"), word);
	if (!strcmp(word, "dirsync=default"))
		return set_key(set, "dirsync", json_string("default"), word);
	if (rs_rule_take_word(&rule, word, why))
		return rs_say_usage("policy: %s", why);
	if (rule.policy)
		return set_key(set, "policy",
			       json_string(rs_policy_name(rule.policy)), word);
	if (rule.dirsync)
		return set_key(set, "dirsync",
			       json_string(rs_dirsync_name(rule.dirsync)),
			       word);
	if (rule.has_limit)
		return set_key(set, "limit",
			       json_integer((json_int_t)rule.limit), word);
	return set_key(set, "inodes",
		       json_integer((json_int_t)rule.limit_inodes), word);
}

/* PATH as given, from the mount's root: what lies below MNT is cut. */
static const char *below(const char *mnt, const char *path)
{
	const char *rest;

	if (!mnt[0] || !rs_place_inside(path, mnt))
		return path;
	rest = path + strlen(mnt);
	return *rest ? rest : "/";
}

/* An -o of the mount itself; -1: it is none. */
static int set_interval(const char *mnt, int fd, const char *word)
{
	json_t *req, *reply;
	uint64_t ms;
	int code;

	if (strncmp(word, INTERVAL, strlen(INTERVAL)) != 0)
		return -1;
	if (rs_number_parse(word + strlen(INTERVAL), &ms) ||
	    ms < RS_FLUSH_INTERVAL_MIN || ms > RS_FLUSH_INTERVAL_MAX)
		return rs_say_usage("policy: '%s' is not a number of ms from"
				    " %u to %u",
				    word, RS_FLUSH_INTERVAL_MIN,
				    RS_FLUSH_INTERVAL_MAX);
	req = json_pack("{s:s, s:I}", "cmd", "flush_interval", "ms",
			(json_int_t)ms);
	code = ask(mnt, fd, req, &reply);
	json_decref(req);
	if (!code)
		json_decref(reply);
	return code;
}

/* "ram=2G" and the like: those of the mount, as its options. */
static const char *const sizes[] = { "ram", "capacity", "inodes" };

static int size_index(const char *word)
{
	const char *end = strchr(word, '=');
	size_t i;

	for (i = 0; end && i < RS_ARRAY_LEN(sizes); i++)
		if (strlen(sizes[i]) == (size_t)(end - word) &&
		    !strncmp(word, sizes[i], (size_t)(end - word)))
			return (int)i;
	return -1;
}

static int put_size(json_t *req, const char *word)
{
	int i = size_index(word);
	uint64_t v;

	if (i < 0)
		return rs_say_usage("policy: '%s' stands amid sizes of the"
				    " mount",
				    word);
	if (rs_size_parse(strchr(word, '=') + 1, &v))
		return rs_say_usage("policy: '%s' is no size such as 256M",
				    word);
	json_object_set_new(req, sizes[i], json_integer((json_int_t)v));
	return 0;
}

/* -1: pos[1] is none of these. */
static int set_sizes(const struct rs_args *args, int fd)
{
	json_t *req, *reply;
	int code = 0, i;

	if (size_index(args->pos[1]) < 0)
		return -1;
	req = json_pack("{s:s}", "cmd", "sizes");
	for (i = 1; !code && i < args->n; i++)
		code = put_size(req, args->pos[i]);
	if (!code)
		code = ask(args->pos[0], fd, req, &reply);
	json_decref(req);
	if (!code)
		json_decref(reply);
	return code;
}

static int show_all(const struct rs_args *args, int fd)
{
	json_t *req = json_pack("{s:s}", "cmd", "policy"), *reply;
	int code;

	code = ask(args->pos[0], fd, req, &reply);
	json_decref(req);
	if (code)
		return code;
	if (args->json) {
		(void)!rs_json_print(reply);
		return 0;
	}
	print_all(reply);
	json_decref(reply);
	return 0;
}

/* Show a directory, after setting what the words behind its path say. */
static int one_dir(const struct rs_args *args, const char *mnt, int fd)
{
	const char *path = args->pos[1];
	json_t *req, *reply, *dir, *set;
	int code = 0, i;

	req = json_pack("{s:s, s:s}", "cmd", "policy", "path",
			below(mnt, path));
	if (!req)
		return rs_say_usage("policy: the path '%s' is not UTF-8", path);
	if (args->n > 2) {
		set = json_object();
		for (i = 2; !code && i < args->n; i++)
			code = set_word(set, args->pos[i]);
		json_object_set_new(req, "set", set);
	}
	if (!code)
		code = ask(path, fd, req, &reply);
	json_decref(req);
	if (code)
		return code;
	dir = json_object_get(reply, "directory");
	if (args->json) {
		(void)!rs_json_print(json_incref(dir));
	} else if (args->n == 2) {
		print_header();
		print_dir(dir);
	}
	json_decref(reply);
	return 0;
}

static int run(const struct rs_args *args)
{
	RS_AUTO_FD int fd = -1;
	char mnt[PATH_MAX];
	int code;

	code = rs_target_daemon(args->pos[0], &fd, mnt);
	if (code)
		return code;
	if (args->n == 1)
		return show_all(args, fd);
	code = args->n == 2 ? set_interval(args->pos[0], fd, args->pos[1]) : -1;
	if (code < 0)
		code = set_sizes(args, fd);
	return code < 0 ? one_dir(args, mnt, fd) : code;
}

const struct rs_cmd rs_cmd_policy = {
	.name = "policy",
	.args = "MNT [PATH [POLICY]]",
	.what = "show or set what directories promise",
	.help = "Show the policies of the mount MNT, or of the directory PATH"
		" (absolute, or from\n"
		"the mount's root), or set it: POLICY is one or several of\n"
		"\n"
		"  volatile|interval|fsync|rename|always|default\n"
		"  dirsync=strict|caller|default\n"
		"  limit=SIZE|none  inodes=N|none\n"
		"\n"
		"Returns when all of it is on disk. It is kept in the store,"
		" but at the next mount\n"
		"the configuration wins. flush_interval=MS in place of PATH"
		" sets that of the mount,\n"
		"as do ram=SIZE, capacity=SIZE and inodes=N.",
	.options = RS_O_JSON,
	.min = 1,
	.max = 6,
	.run = run,
};
