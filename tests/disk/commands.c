/*
 * commands.c - what can be said to the disk, as a table.
 */
#include "tests/disk/ctl.h"

#include "tests/disk/parse.h"
#include "tests/disk/report.h"

#include <errno.h>
#include <signal.h>

/* 0: print "ok"; 1: the answer is in out; or -errno */
typedef int command_fn(struct rs_dctl *c, int argc, char **argv, FILE *out);

static int parse_cut(struct rs_disk *d, int argc, char **argv,
		     struct rs_dcut *ret_cut)
{
	uint32_t sector;

	pthread_mutex_lock(&d->gate);
	sector = d->sector;
	pthread_mutex_unlock(&d->gate);
	return rs_dparse_cut(argc, argv, sector, ret_cut);
}

static int cmd_cut(struct rs_dctl *c, int argc, char **argv, FILE *out)
{
	struct rs_dcut_result result;
	struct rs_dcut cut;
	int err = parse_cut(c->disk, argc, argv, &cut);

	if (!err)
		err = rs_disk_cut(c->disk, &cut, &result);
	if (err)
		return err;
	rs_dreport_cut(&result, out);
	return 1;
}

/* KIND N|off: which request from now, 0 for off */
static int parse_nth(char **argv, enum rs_dkind *ret_kind, uint64_t *ret_n)
{
	int err = rs_dkind_parse(argv[0], ret_kind);

	if (err)
		return err;
	*ret_n = 0;
	if (strcmp(argv[1], "off") == 0)
		return 0;
	err = rs_dparse_number(argv[1], ret_n);
	return err ? err : *ret_n ? 0 : -EINVAL;
}

static int cmd_cutat(struct rs_dctl *c, int argc, char **argv, FILE *out)
{
	struct rs_disk *d = c->disk;
	struct rs_dcut cut = { 0 };
	enum rs_dkind kind;
	uint64_t n;
	int err = parse_nth(argv, &kind, &n);

	(void)out;
	if (!err && n)
		err = parse_cut(d, argc - 2, argv + 2, &cut);
	if (err)
		return err;
	pthread_mutex_lock(&d->gate);
	d->faults.cut_left[kind] = n;
	if (n)
		d->cut_at = cut;
	pthread_mutex_unlock(&d->gate);
	return 0;
}

static int cmd_fail(struct rs_dctl *c, int argc, char **argv, FILE *out)
{
	struct rs_disk *d = c->disk;
	struct rs_dfail fail = { 0 };
	enum rs_dkind kind;
	int i, err = parse_nth(argv, &kind, &fail.left);

	(void)out;
	for (i = 2; !err && i < argc; i++) {
		if (strcmp(argv[i], "forever") == 0)
			fail.forever = true;
		else if (strcmp(argv[i], "drop") == 0 && kind == RS_DFLUSH)
			fail.drop = true;
		else if (strcmp(argv[i], "once") != 0)
			err = -EINVAL;
	}
	if (err)
		return err;
	pthread_mutex_lock(&d->gate);
	d->faults.fail[kind] = fail;
	pthread_mutex_unlock(&d->gate);
	return 0;
}

static int parse_range(struct rs_disk *d, const char *off_word,
		       const char *len_word, uint64_t *ret_off,
		       uint64_t *ret_len)
{
	uint64_t off, len;

	if (rs_dparse_size(off_word, &off) || rs_dparse_size(len_word, &len))
		return -EINVAL;
	if (!len || off > d->cache.size || len > d->cache.size - off)
		return -EINVAL;
	*ret_off = off;
	*ret_len = len;
	return 0;
}

static int cmd_badsector(struct rs_dctl *c, int argc, char **argv, FILE *out)
{
	struct rs_disk *d = c->disk;
	bool forever = argc > 1 && strcmp(argv[argc - 1], "forever") == 0;
	const char *len_word = argc - forever > 1 ? argv[1] : "512";
	uint64_t off, len;
	int err;

	(void)out;
	if (argc == 1 && strcmp(argv[0], "clear") == 0) {
		pthread_mutex_lock(&d->gate);
		rs_dfaults_bad_clear(&d->faults);
		pthread_mutex_unlock(&d->gate);
		return 0;
	}
	if (argc == 3 && !forever)
		return -EINVAL;
	err = parse_range(d, argv[0], len_word, &off, &len);
	if (err)
		return err;
	pthread_mutex_lock(&d->gate);
	err = rs_dfaults_bad_add(&d->faults, off, len, forever);
	pthread_mutex_unlock(&d->gate);
	return err;
}

static int cmd_short(struct rs_dctl *c, int argc, char **argv, FILE *out)
{
	struct rs_disk *d = c->disk;
	enum rs_dkind kind;
	uint64_t n;
	int err = rs_dkind_parse(argv[0], &kind);

	(void)argc;
	(void)out;
	if (!err)
		err = rs_dparse_size(argv[1], &n);
	if (err || kind == RS_DFLUSH || !n || n > UINT32_MAX)
		return -EINVAL;
	pthread_mutex_lock(&d->gate);
	d->faults.shorten[kind] = (uint32_t)n;
	pthread_mutex_unlock(&d->gate);
	return 0;
}

static int cmd_full(struct rs_dctl *c, int argc, char **argv, FILE *out)
{
	struct rs_disk *d = c->disk;
	bool on;
	int err = rs_dparse_switch(argv[0], &on);

	(void)argc;
	(void)out;
	if (err)
		return err;
	pthread_mutex_lock(&d->gate);
	d->faults.full = on;
	pthread_mutex_unlock(&d->gate);
	return 0;
}

static int cmd_lie(struct rs_dctl *c, int argc, char **argv, FILE *out)
{
	struct rs_disk *d = c->disk;
	bool on;
	int err = rs_dparse_switch(argv[0], &on);

	(void)argc;
	(void)out;
	if (err)
		return err;
	pthread_mutex_lock(&d->gate);
	d->lie = on;
	pthread_mutex_unlock(&d->gate);
	return 0;
}

static int cmd_sector(struct rs_dctl *c, int argc, char **argv, FILE *out)
{
	struct rs_disk *d = c->disk;
	uint32_t sector;
	int err = rs_dparse_sector(argv[0], &sector);

	(void)argc;
	(void)out;
	if (err)
		return err;
	pthread_mutex_lock(&d->gate);
	d->sector = sector;
	pthread_mutex_unlock(&d->gate);
	return 0;
}

static int cmd_rot(struct rs_dctl *c, int argc, char **argv, FILE *out)
{
	struct rs_disk *d = c->disk;
	uint64_t off, len, seed;
	int err = parse_range(d, argv[0], argv[1], &off, &len);

	(void)argc;
	(void)out;
	if (!err)
		err = rs_dparse_number(argv[2], &seed);
	if (err)
		return err;
	pthread_rwlock_wrlock(&d->lock);
	err = rs_dcache_rot(&d->cache, off, len, seed);
	pthread_rwlock_unlock(&d->lock);
	return err;
}

static int cmd_times(struct rs_dctl *c, int argc, char **argv, FILE *out)
{
	struct rs_darm *a = &c->disk->arm;
	struct rs_darm_times times;
	int i, err = 0;

	(void)out;
	pthread_mutex_lock(&a->lock);
	times = a->times;
	if (argc == 1 && !strchr(argv[0], '='))
		err = rs_dparse_preset(argv[0], &times);
	else
		for (i = 0; !err && i < argc; i++)
			err = rs_dparse_time(argv[i], &times);
	if (!err)
		a->times = times;
	pthread_mutex_unlock(&a->lock);
	return err;
}

static int cmd_freeze(struct rs_dctl *c, int argc, char **argv, FILE *out)
{
	(void)argc;
	(void)argv;
	(void)out;
	rs_darm_freeze(&c->disk->arm);
	return 0;
}

static int cmd_thaw(struct rs_dctl *c, int argc, char **argv, FILE *out)
{
	(void)argc;
	(void)argv;
	(void)out;
	rs_darm_thaw(&c->disk->arm);
	return 0;
}

static int cmd_wait_held(struct rs_dctl *c, int argc, char **argv, FILE *out)
{
	uint64_t ms = 10000;

	(void)out;
	/* The one thread for commands is ours meanwhile. */
	if (argc && (rs_dparse_number(argv[0], &ms) || ms > 60000))
		return -EINVAL;
	return rs_darm_wait_held(&c->disk->arm, ms);
}

static int cmd_counters(struct rs_dctl *c, int argc, char **argv, FILE *out)
{
	if (argc && strcmp(argv[0], "reset") != 0)
		return -EINVAL;
	rs_dreport_counters(c->disk, out);
	if (argc)
		rs_dreport_reset(c->disk);
	return 1;
}

static int cmd_status(struct rs_dctl *c, int argc, char **argv, FILE *out)
{
	(void)argc;
	(void)argv;
	rs_dreport_status(c->disk, c->image, out);
	return 1;
}

static int cmd_sync_image(struct rs_dctl *c, int argc, char **argv, FILE *out)
{
	(void)argc;
	(void)argv;
	(void)out;
	return rs_disk_sync(c->disk);
}

static int cmd_quit(struct rs_dctl *c, int argc, char **argv, FILE *out)
{
	(void)c;
	(void)argc;
	(void)argv;
	(void)out;
	return kill(getpid(), SIGTERM) ? -errno : 0;
}

static int cmd_help(struct rs_dctl *c, int argc, char **argv, FILE *out)
{
	(void)c;
	(void)argc;
	(void)argv;
	rs_dctl_help(out);
	return 1;
}

static const struct command {
	const char *name;
	int min, max; /* words after the name */
	command_fn *run;
	const char *usage;
	const char *does;
} commands[] = {
	{ "status", 0, 0, cmd_status, "", "everything, as JSON" },
	{ "counters", 0, 1, cmd_counters, "[reset]",
	  "counters as JSON; reset: from 0 afterwards" },
	{ "cut", 1, 4, cmd_cut,
	  "SEED [sector=512|4096] [keep=PERCENT] "
	  "[by=mix|sector|write|prefix]",
	  "power cut" },
	{ "cutat", 2, 6, cmd_cutat, "read|write|flush N|off SEED [as cut]",
	  "power cut at the n-th from now" },
	{ "sector", 1, 1, cmd_sector, "512|4096",
	  "what a cut keeps or loses whole, if it doesn't say" },
	{ "fail", 2, 4, cmd_fail,
	  "read|write|flush N|off [once|forever] [drop]",
	  "EIO for the n-th from now; drop: no later flush saves what a "
	  "failed one should have" },
	{ "badsector", 1, 3, cmd_badsector, "OFF [LEN] [forever] | clear",
	  "reads get EIO until it is written again, or for ever" },
	{ "short", 2, 2, cmd_short, "read|write BYTES",
	  "the next one does only so much" },
	{ "full", 1, 1, cmd_full, "on|off", "writes get ENOSPC" },
	{ "lie", 1, 1, cmd_lie, "on|off",
	  "flushes are acknowledged and make nothing stable" },
	{ "rot", 3, 3, cmd_rot, "OFF LEN SEED",
	  "flip a bit of each byte, on the medium and in the cache" },
	{ "freeze", 0, 0, cmd_freeze, "", "hold flushes that come" },
	{ "wait-held", 0, 1, cmd_wait_held, "[MS]",
	  "wait until a flush is held, at most MS (10000)" },
	{ "thaw", 0, 0, cmd_thaw, "", "let held flushes go on" },
	{ "times", 1, 4, cmd_times,
	  "hdd|ssd|none | [flush=US] [seek=US] [write=US] [read=US]",
	  "how long things take" },
	{ "sync-image", 0, 0, cmd_sync_image, "",
	  "a true flush, and fsync of the image" },
	{ "quit", 0, 0, cmd_quit, "",
	  "orderly power-off: the cache goes to the image" },
	{ "help", 0, 0, cmd_help, "", "this list" },
};

void rs_dctl_help(FILE *out)
{
	size_t i;

	for (i = 0; i < RS_ARRAY_LEN(commands); i++)
		fprintf(out, "  %s%s%s\n      %s\n", commands[i].name,
			*commands[i].usage ? " " : "", commands[i].usage,
			commands[i].does);
}

void rs_dctl_run(struct rs_dctl *c, int argc, char **argv, FILE *out)
{
	const struct command *cmd = NULL;
	size_t i;
	int err;

	for (i = 0; i < RS_ARRAY_LEN(commands); i++)
		if (strcmp(argv[0], commands[i].name) == 0)
			cmd = &commands[i];
	if (!cmd) {
		fprintf(out, "error: no command '%s', try help\n", argv[0]);
		return;
	}
	argc--;
	err = -EINVAL;
	if (argc >= cmd->min && argc <= cmd->max)
		err = cmd->run(c, argc, argv + 1, out);
	if (err == -EINVAL)
		fprintf(out, "error: usage: %s %s\n", cmd->name, cmd->usage);
	else if (err < 0)
		fprintf(out, "error: %s: %s\n", cmd->name, strerror(-err));
	else if (!err)
		fprintf(out, "ok\n");
}
