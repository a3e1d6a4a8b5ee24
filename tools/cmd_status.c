/*
 * cmd_status.c - rspoolctl status: one screen about a mount, or all.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "tools/cmd.h"
#include "tools/lib_ctl.h"
#include "tools/lib_mnt.h"
#include "tools/lib_report.h"
#include "tools/lib_size.h"
#include "tools/lib_target.h"

#define ASK_SECONDS 10

struct all {
	const struct rs_args *args;
	json_t *list; /* with --json */
	int code, n, shown;
};

/* Number at "a" or "a.b". */
static uint64_t num(json_t *status, const char *a, const char *b)
{
	json_t *v = json_object_get(status, a);

	if (b)
		v = json_object_get(v, b);
	return (uint64_t)json_integer_value(v);
}

static const char *str(json_t *status, const char *key)
{
	const char *text = json_string_value(json_object_get(status, key));

	return text ? text : "?";
}

static void print_space(json_t *st)
{
	char a[RS_SIZE_TEXT], b[RS_SIZE_TEXT];

	printf("memory      %s of %s\n",
	       rs_size_text(num(st, "ram", "used"), a),
	       rs_size_text(num(st, "ram", "limit"), b));
	printf("space       %s of %s, %" PRIu64 " of %" PRIu64 " files\n",
	       rs_size_text(num(st, "space", "used"), a),
	       rs_size_text(num(st, "space", "capacity"), b),
	       num(st, "inodes", "used"), num(st, "inodes", "limit"));
	printf("store       %s of %s, %" PRIu64 " checkpoints\n",
	       rs_size_text(num(st, "store_db", "used"), a),
	       rs_size_text(num(st, "store_db", "reserved"), b),
	       num(st, "store_db", "checkpoints"));
}

static void print_log(json_t *st)
{
	char a[RS_SIZE_TEXT], b[RS_SIZE_TEXT];
	uint64_t flushes = num(st, "ring", "flushes");

	printf("ring        %s of %s, %" PRIu64 " flushes (last %.1f ms,"
	       " mean %.1f ms)\n",
	       rs_size_text(num(st, "ring", "used"), a),
	       rs_size_text(num(st, "ring", "size"), b), flushes,
	       (double)num(st, "flush_us", "last") / 1000,
	       (double)num(st, "flush_us", "avg") / 1000);
	printf("unsynced    %s, the oldest since %s\n",
	       rs_size_text(num(st, "unsynced", "bytes"), a),
	       rs_time_text(num(st, "unsynced", "age_ms"), b));
	printf("answered    %" PRIu64 " that waited for a flush, %" PRIu64
	       " wait for room\n",
	       num(st, "waiters_served", NULL), num(st, "parked", NULL));
}

static void print_errors(json_t *st)
{
	json_t *entry, *list = json_object_get(st, "errors");
	char when[32];
	struct tm tm;
	time_t t;
	size_t i;

	json_array_foreach(json_object_get(st, "warnings"), i, entry)
		printf("warning     %s\n", json_string_value(entry));
	json_array_foreach(list, i, entry)
	{
		t = (time_t)num(entry, "time", NULL);
		localtime_r(&t, &tm);
		strftime(when, sizeof(when), "%F %T", &tm);
		printf("%s  %s\n", when, str(entry, "text"));
	}
}

/* What would be lost if the power went now. */
static void print_risk(json_t *st)
{
	char a[RS_SIZE_TEXT], b[RS_SIZE_TEXT];
	const char *policy;
	json_t *risk;

	json_object_foreach(json_object_get(st, "at_risk"), policy, risk)
	{
		if (!num(risk, "files", NULL))
			continue;
		printf("at risk     %s: %" PRIu64 " files, %s, the oldest"
		       " since %s\n",
		       policy, num(risk, "files", NULL),
		       rs_size_text(num(risk, "bytes", NULL), a),
		       rs_time_text(num(risk, "oldest_ms", NULL), b));
	}
}

static void print(json_t *st)
{
	uint64_t up = num(st, "uptime_s", NULL);
	char a[RS_SIZE_TEXT];

	printf("%s  %s%s%s\n", str(st, "mount"), str(st, "state"),
	       *str(st, "why") ? ": " : "", str(st, "why"));
	printf("from        %s, process %" PRIu64 ", version %s, up %s\n",
	       str(st, "store"), num(st, "pid", NULL), str(st, "version"),
	       up ? rs_time_text(up * 1000, a) : "less than 1 s");
	printf("policy      %s where nothing else is set, the rest within %" PRIu64
	       " ms\n",
	       str(st, "policy"), num(st, "flush_interval", NULL));
	print_risk(st);
	print_space(st);
	print_log(st);
	if (num(st, "damage", NULL))
		printf("damage      %" PRIu64 " findings not accepted\n",
		       num(st, "damage", NULL));
	print_errors(st);
}

static int code_of(json_t *status)
{
	if (num(status, "damage", NULL))
		return RS_EXIT_DAMAGE;
	return strcmp(str(status, "state"), "green") ? RS_EXIT_DEGRADED
						     : RS_EXIT_OK;
}

/* 0 or an exit code; *ret_status: new reference. */
static int ask(const char *path, json_t **ret_status)
{
	RS_AUTO_FD int fd = -1;
	char mnt[PATH_MAX];
	json_t *req;
	int code, err;

	code = rs_target_daemon(path, &fd, mnt);
	if (code)
		return code;
	req = json_pack("{s:s}", "cmd", "status");
	err = req ? rs_ctl_ask(fd, req, ASK_SECONDS, NULL, NULL, ret_status)
		  : -ENOMEM;
	json_decref(req);
	if (err)
		rs_say("no status of '%s': %s", path, strerror(-err));
	return err ? RS_EXIT_FAILED : 0;
}

/* *shown: how many were printed, an empty line goes between two. */
static int show(const struct rs_args *args, const char *path, json_t *list,
		int *shown)
{
	json_t *status;
	int code = ask(path, &status);

	if (code)
		return code;
	code = code_of(status);
	if (list) {
		json_array_append_new(list, status);
	} else if (args->json) {
		(void)!rs_json_print(status);
	} else {
		if ((*shown)++)
			putchar('\n');
		print(status);
		json_decref(status);
	}
	return code;
}

static int show_each(void *arg, const char *mnt, const char *source)
{
	struct all *all = arg;
	int code;

	(void)source;
	all->n++;
	code = show(all->args, mnt, all->list, &all->shown);
	if (code > all->code)
		all->code = code;
	return 0;
}

static int show_all(const struct rs_args *args)
{
	struct all all = { .args = args };
	int err;

	if (args->json)
		all.list = json_array();
	err = rs_mnt_each(show_each, &all);
	if (all.list)
		(void)!rs_json_print(all.list);
	if (err) {
		rs_say("cannot read the mount table: %s", strerror(-err));
		return RS_EXIT_FAILED;
	}
	if (!all.n) {
		rs_say("nothing is mounted");
		return RS_EXIT_NOT_RUNNING;
	}
	return all.code;
}

static int run(const struct rs_args *args)
{
	int shown = 0;

	return args->n ? show(args, args->pos[0], NULL, &shown)
		       : show_all(args);
}

const struct rs_cmd rs_cmd_status = {
	.name = "status",
	.args = "[MNT]",
	.what = "policy, memory, space, log and last errors",
	.help = "Show the state of the mount MNT, or of all. Exit 0: green, 3:"
		" no daemon,\n"
		"4: amber or red, 5: damage.",
	.options = RS_O_JSON,
	.max = 1,
	.run = run,
};
