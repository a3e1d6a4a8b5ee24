/*
 * cmd_bench.c - rspoolctl bench: what this disk gives under each policy.
 *
 * Everything happens in a directory of its own below DIR, which is removed at
 * the end: first the mail's calls on the plain filesystem, then in a small
 * store there, mounted once for each policy. The mounts are in a mount
 * namespace of ours, so nobody else sees them and none outlives the daemon.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "journal/journal.h"
#include "tools/cmd.h"
#include "tools/lib_conf.h"
#include "tools/lib_ctl.h"
#include "tools/lib_load.h"
#include "tools/lib_mount.h"
#include "tools/lib_place.h"
#include "tools/lib_size.h"
#include "tools/lib_target.h"

#define PROCS 20u
#define SECONDS 5u /* for each, without --seconds */
#define SECONDS_MAX 600u
#define SIZE (15u << 10)
#define RING_BYTES (UINT64_C(64) << 20)
#define CAPACITY_BYTES (UINT64_C(256) << 20)
#define INODES 10000u
#define GONE_MS 30000
/* tenths of a second for a daemon that ends late */
#define REMOVE_TRIES 600u

struct line {
	const char *name;
	struct rs_load_result load;
	double flushes; /* a message; below 0: not counted */
};

struct bench {
	char dir[PATH_MAX]; /* ours, below DIR */
	char store[PATH_MAX], mnt[PATH_MAX], plain[PATH_MAX];
	int fd;		      /* the daemon's, or -1 */
	unsigned int seconds; /* of each measurement */
	uint32_t flush_us;
	struct line lines[6];
	size_t n;
};

static const char *const policies[] = { "volatile", "interval", "fsync",
					"rename", "always" };

static volatile int stopped;

static void on_signal(int sig)
{
	stopped = sig;
}

static int remove_one(const char *path, const struct stat *st, int flag,
		      struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

/*
 * Also when the daemon was not found or takes long to end: without its mount
 * it ends by itself, and until then it may still write.
 */
static void remove_tree(const char *dir, const char *mnt)
{
	const struct timespec pause = { .tv_nsec = 100000000 };
	unsigned int i;

	if (*mnt)
		(void)umount2(mnt, MNT_DETACH);
	for (i = 0; i < REMOVE_TRIES; i++) {
		if (!nftw(dir, remove_one, 16,
			  FTW_DEPTH | FTW_PHYS | FTW_MOUNT) ||
		    errno == ENOENT)
			return;
		nanosleep(&pause, NULL);
	}
	rs_say("cannot remove '%s': %s", dir, strerror(errno));
}

static int say_failed(const char *what, int err)
{
	rs_say("bench: %s: %s", what, strerror(-err));
	return RS_EXIT_FAILED;
}

/* Not inside a store: nothing foreign may lie there. */
static int find_place(const char *arg, char ret_dir[PATH_MAX])
{
	const char *fs;
	char marker[PATH_MAX + 16];
	enum rs_place place;
	char *slash;
	int err;

	if (!realpath(arg, ret_dir)) {
		rs_say("cannot use '%s': %s", arg, strerror(errno));
		return RS_EXIT_FAILED;
	}
	snprintf(marker, sizeof(marker), "%s/%s", ret_dir, RS_MARKER_NAME);
	slash = strrchr(ret_dir, '/');
	if (access(marker, F_OK) == 0 && slash != ret_dir)
		*slash = '\0';
	err = rs_place_look(ret_dir, &place, &fs);
	if (err)
		return say_failed(ret_dir, err);
	if (place == RS_PLACE_REFUSED) {
		rs_say("'%s' is on %s, where no store can be", ret_dir, fs);
		return RS_EXIT_FAILED;
	}
	return RS_EXIT_OK;
}

static int make_dirs(struct bench *b, const char *below)
{
	int n = snprintf(b->dir, sizeof(b->dir), "%s/rspool-bench.XXXXXX",
			 below);

	if (n < 0 || (size_t)n > sizeof(b->dir) - 16)
		return say_failed(below, -ENAMETOOLONG);
	if (!mkdtemp(b->dir)) {
		rs_say("cannot make a directory in '%s': %s", below,
		       strerror(errno));
		b->dir[0] = '\0';
		return RS_EXIT_FAILED;
	}
	n = snprintf(b->store, sizeof(b->store), "%s/store", b->dir);
	n |= snprintf(b->mnt, sizeof(b->mnt), "%s/mnt", b->dir);
	n |= snprintf(b->plain, sizeof(b->plain), "%s/plain", b->dir);
	if (n < 0 || mkdir(b->mnt, 0700) || mkdir(b->plain, 0700))
		return say_failed(b->dir, -errno);
	return RS_EXIT_OK;
}

static int own_namespace(void)
{
	if (unshare(CLONE_NEWNS) ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return say_failed("a mount namespace", -errno);
	return RS_EXIT_OK;
}

static int make_store(struct bench *b)
{
	struct rs_store_spec spec = {
		.dir = b->store,
		.ring_size = RING_BYTES,
		.capacity = CAPACITY_BYTES,
		.inodes = INODES,
		.uid = geteuid(),
		.gid = getegid(),
	};
	int cow, err;

	err = rs_journal_init_store(&spec, &cow);
	return err ? say_failed("making a store", err) : RS_EXIT_OK;
}

static int ask(struct bench *b, json_t *req, json_t **ret_reply)
{
	int err = req ? rs_ctl_ask(b->fd, req, 0, NULL, NULL, ret_reply)
		      : -ENOMEM;

	json_decref(req);
	if (!err && !json_is_true(json_object_get(*ret_reply, "ok"))) {
		json_decref(*ret_reply);
		err = -EIO;
	}
	return err;
}

/* Flushes that the log has made until now. */
static int count_flushes(struct bench *b, double *ret_n)
{
	json_t *reply, *ring;
	int err;

	err = ask(b, json_pack("{s:s}", "cmd", "status"), &reply);
	if (err)
		return say_failed("asking the daemon", err);
	ring = json_object_get(reply, "ring");
	*ret_n = json_number_value(json_object_get(ring, "flushes"));
	json_decref(reply);
	return RS_EXIT_OK;
}

static int start_daemon(struct bench *b, const char *policy)
{
	char mnt[PATH_MAX], options[64];
	int code;

	snprintf(options, sizeof(options), "policy=%s", policy);
	code = rs_mount_run(b->store, b->mnt, options);
	if (code && code != RS_EXIT_DEGRADED && code != RS_EXIT_DAMAGE)
		return code;
	/* it serves, and has to be ended, even over damage */
	if (rs_target_daemon(b->mnt, &b->fd, mnt))
		return RS_EXIT_FAILED;
	return code == RS_EXIT_DAMAGE ? code : RS_EXIT_OK;
}

static int stop_daemon(struct bench *b)
{
	struct pollfd gone = { .events = POLLIN };
	json_t *reply;
	int err;

	if (b->fd < 0)
		return RS_EXIT_OK;
	gone.fd = rs_ctl_process(b->fd);
	err = ask(b, json_pack("{s:s, s:b}", "cmd", "umount", "fast", 0),
		  &reply);
	if (!err)
		json_decref(reply);
	close(b->fd);
	b->fd = -1;
	if (gone.fd >= 0) {
		poll(&gone, 1, err ? 0 : GONE_MS);
		close(gone.fd);
	}
	return err ? say_failed("unmounting", err) : RS_EXIT_OK;
}

static int load(const struct bench *b, struct line *line, const char *dir)
{
	const struct rs_load_cfg cfg = {
		.dir = dir,
		.procs = PROCS,
		.seconds = b->seconds,
		.size = SIZE,
		.stop = &stopped,
	};
	int err = rs_load_run(&cfg, &line->load);

	if (err) {
		rs_say("bench: %s on '%s': %s", line->load.call, dir,
		       strerror(-err));
		return RS_EXIT_FAILED;
	}
	if (stopped) {
		rs_say("stopped");
		return RS_EXIT_FAILED;
	}
	return RS_EXIT_OK;
}

static int run_policy(struct bench *b, const char *policy)
{
	struct line *line = &b->lines[b->n];
	double before = 0, after = 0;
	char dir[PATH_MAX + 16];
	int code;

	line->name = policy;
	snprintf(dir, sizeof(dir), "%s/%s", b->mnt, policy);
	code = start_daemon(b, policy);
	if (!code && mkdir(dir, 0700))
		code = say_failed(dir, -errno);
	if (!code)
		code = count_flushes(b, &before);
	if (!code)
		code = load(b, line, dir);
	if (!code)
		code = count_flushes(b, &after);
	if (!code && line->load.messages)
		line->flushes = (after - before) / (double)line->load.messages;
	if (stop_daemon(b) && !code)
		code = RS_EXIT_FAILED;
	b->n += !code;
	return code;
}

static int run_plain(struct bench *b)
{
	struct line *line = &b->lines[b->n];
	int code, err;

	err = rs_load_flush(b->plain, &b->flush_us);
	if (err)
		return say_failed(b->plain, err);
	line->name = "plain";
	line->flushes = -1;
	code = load(b, line, b->plain);
	b->n += !code;
	return code;
}

static double rate(const struct line *line)
{
	return line->load.seconds > 0
		       ? (double)line->load.messages / line->load.seconds
		       : 0;
}

static void print_head(const struct bench *b, const char *dir)
{
	printf("disk of '%s': one write of 4 KiB and flush takes %.2f ms\n"
	       "%u processes, messages of 15 KB: create, write, fsync,"
	       " rename, read, remove\n\n"
	       "%-10s %9s %9s %9s %9s %12s\n",
	       dir, b->flush_us / 1000.0, PROCS, "policy", "msg/s", "p50 ms",
	       "p99 ms", "max ms", "flushes/msg");
}

static void print_line(const struct line *line)
{
	printf("%-10s %9.0f %9.2f %9.2f %9.2f ", line->name, rate(line),
	       line->load.p50_us / 1000.0, line->load.p99_us / 1000.0,
	       line->load.max_us / 1000.0);
	if (line->flushes < 0)
		printf("%12s\n", "-");
	else
		printf("%12.3f\n", line->flushes);
	fflush(stdout);
}

static int print_json(const struct bench *b, const char *dir)
{
	json_t *all = json_array(), *top;
	const struct line *line;
	size_t i;

	for (i = 0; all && i < b->n; i++) {
		line = &b->lines[i];
		top = json_pack("{s:s, s:f, s:i, s:i, s:i}", "policy",
				line->name, "msg_per_s", rate(line), "p50_us",
				(int)line->load.p50_us, "p99_us",
				(int)line->load.p99_us, "max_us",
				(int)line->load.max_us);
		if (top && line->flushes >= 0)
			json_object_set_new(top, "flushes_per_msg",
					    json_real(line->flushes));
		json_array_append_new(all, top);
	}
	top = json_pack("{s:s, s:i, s:i, s:i, s:o}", "dir", dir, "flush_us",
			(int)b->flush_us, "processes", (int)PROCS,
			"message_bytes", (int)SIZE, "results", all);
	if (!top)
		return RS_EXIT_FAILED;
	json_dumpf(top, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
	putchar('\n');
	json_decref(top);
	return RS_EXIT_OK;
}

static int measure(struct bench *b, const char *dir, int json)
{
	size_t i;
	int code;

	code = run_plain(b);
	if (!code && !json) {
		print_head(b, dir);
		print_line(&b->lines[0]);
	}
	if (!code)
		code = make_store(b);
	for (i = 0; !code && i < RS_ARRAY_LEN(policies); i++) {
		code = run_policy(b, policies[i]);
		if (!code && !json)
			print_line(&b->lines[b->n - 1]);
	}
	if (!code && json)
		code = print_json(b, dir);
	return code;
}

static void catch_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = on_signal };
	size_t i;

	sigemptyset(&action.sa_mask);
	for (i = 0; i < RS_ARRAY_LEN(signals); i++)
		sigaction(signals[i], &action, NULL);
}

static int take_seconds(const char *text, unsigned int *ret)
{
	uint64_t n = SECONDS;

	if (text && (rs_number_parse(text, &n) || n < 1 || n > SECONDS_MAX))
		return rs_say_usage("bench: '--seconds %s' is not a number"
				    " from 1 to %u",
				    text, SECONDS_MAX);
	*ret = (unsigned int)n;
	return RS_EXIT_OK;
}

static int run(const struct rs_args *args)
{
	static struct bench b = { .fd = -1 };
	char below[PATH_MAX];
	struct rs_conf conf;
	int code;

	code = take_seconds(args->seconds, &b.seconds);
	if (!code)
		code = rs_conf_take(args->pos[0], &conf);
	if (code)
		return code;
	code = find_place(conf.store, below);
	rs_conf_release(&conf);
	if (code)
		return code;
	catch_signals();
	code = own_namespace();
	if (!code)
		code = make_dirs(&b, below);
	if (!code)
		code = measure(&b, below, args->json);
	(void)!stop_daemon(&b);
	if (b.dir[0])
		remove_tree(b.dir, b.mnt);
	return code;
}

const struct rs_cmd rs_cmd_bench = {
	.name = "bench",
	.args = "DIR",
	.what = "what this disk gives under each policy",
	.help = "Run a mail server's calls for some seconds on the filesystem"
		" of DIR, then on a\n"
		"small store there under each policy. Takes under a minute"
		" and 400M of disk,\n"
		"which are given back. DIR: any directory, or a store (beside"
		" which it runs).",
	.options = RS_O_JSON | RS_O_SECONDS,
	.min = 1,
	.max = 1,
	.run = run,
};
