/* main.c - options of replay. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "include/rs_base.h"
#include "replay.h"

static const char help[] =
	"usage: replay [OPTIONS] DIR\n"
	"       replay --check LEDGER [--unique-inodes] DIR\n"
	"\n"
	"Replays the calls that Postfix makes for each message in the queue\n"
	"directory DIR and prints one line of JSON; or compares DIR with the\n"
	"ledger of such a run.\n"
	"\n"
	"  --procs N          processes (20)\n"
	"  --messages N       of all processes (2000)\n"
	"  --seconds N        until then, not by number\n"
	"  --size LOW:HIGH    bytes of a message (15360:15360), or mix: 1 KB,\n"
	"                     25 KB and 500 KB as 1000:100:10\n"
	"  --keep PERCENT     deferred instead of removed (0)\n"
	"  --seed N           of sizes, bytes and choices (1)\n"
	"  --run N            runs that share a ledger need one each (0)\n"
	"  --ledger FILE      append what was promised to FILE\n"
	"  --set-times        set an mtime before the fsync\n"
	"  --inline           no thread for the queue manager's part\n"
	"  --no-fsync         without it\n"
	"\n"
	"Exit codes: 0 ok, 1 failed or not as the ledger says, 2 usage,\n"
	"3 a call failed (the mount is gone).\n";

enum {
	RS_OPT_PROCS = 256,
	RS_OPT_MESSAGES,
	RS_OPT_SECONDS,
	RS_OPT_SIZE,
	RS_OPT_KEEP,
	RS_OPT_SEED,
	RS_OPT_RUN,
	RS_OPT_LEDGER,
	RS_OPT_SET_TIMES,
	RS_OPT_INLINE,
	RS_OPT_NO_FSYNC,
	RS_OPT_CHECK,
	RS_OPT_UNIQUE,
	RS_OPT_HELP,
};

static const struct option table[] = {
	{ "procs", required_argument, NULL, RS_OPT_PROCS },
	{ "messages", required_argument, NULL, RS_OPT_MESSAGES },
	{ "seconds", required_argument, NULL, RS_OPT_SECONDS },
	{ "size", required_argument, NULL, RS_OPT_SIZE },
	{ "keep", required_argument, NULL, RS_OPT_KEEP },
	{ "seed", required_argument, NULL, RS_OPT_SEED },
	{ "run", required_argument, NULL, RS_OPT_RUN },
	{ "ledger", required_argument, NULL, RS_OPT_LEDGER },
	{ "set-times", no_argument, NULL, RS_OPT_SET_TIMES },
	{ "inline", no_argument, NULL, RS_OPT_INLINE },
	{ "no-fsync", no_argument, NULL, RS_OPT_NO_FSYNC },
	{ "check", required_argument, NULL, RS_OPT_CHECK },
	{ "unique-inodes", no_argument, NULL, RS_OPT_UNIQUE },
	{ "help", no_argument, NULL, RS_OPT_HELP },
	{ NULL, 0, NULL, 0 },
};

static void usage(const char *why, const char *what)
{
	fprintf(stderr, "replay: %s '%s', see --help\n", why, what);
	exit(2);
}

static uint64_t number(const char *text, uint64_t low, uint64_t high)
{
	unsigned long long v;
	char *end;

	errno = 0;
	v = strtoull(text, &end, 10);
	if (errno || end == text || *end || v < low || v > high)
		usage("not a number in range:", text);
	return v;
}

static void sizes(const char *text, struct rs_replay_opts *opts)
{
	char extra;

	opts->mix = !strcmp(text, "mix");
	if (opts->mix)
		return;
	if (sscanf(text, "%u:%u%c", &opts->size_low, &opts->size_high,
		   &extra) != 2 ||
	    opts->size_low > opts->size_high || opts->size_high > 1u << 30)
		usage("not LOW:HIGH or mix:", text);
}

/* Options with a number or a string. */
static bool take_value(int opt, const char *arg, struct rs_replay_opts *opts)
{
	switch (opt) {
	case RS_OPT_PROCS:
		opts->procs = (unsigned int)number(arg, 1, 1000);
		return true;
	case RS_OPT_MESSAGES:
		opts->messages = (unsigned int)number(arg, 1, 100000000);
		return true;
	case RS_OPT_SECONDS:
		opts->seconds = (unsigned int)number(arg, 1, 86400);
		return true;
	case RS_OPT_SIZE:
		sizes(arg, opts);
		return true;
	case RS_OPT_KEEP:
		opts->keep = (unsigned int)number(arg, 0, 100);
		return true;
	case RS_OPT_SEED:
		opts->seed = number(arg, 0, UINT64_MAX);
		return true;
	case RS_OPT_RUN:
		opts->run = (unsigned int)number(arg, 0, 1000000);
		return true;
	case RS_OPT_LEDGER:
		opts->ledger = arg;
		return true;
	default:
		return false;
	}
}

static bool take_flag(int opt, struct rs_replay_opts *opts)
{
	switch (opt) {
	case RS_OPT_SET_TIMES:
		opts->set_times = true;
		return true;
	case RS_OPT_INLINE:
		opts->inline_manager = true;
		return true;
	case RS_OPT_NO_FSYNC:
		opts->no_fsync = true;
		return true;
	default:
		return false;
	}
}

int main(int argc, char **argv)
{
	struct rs_replay_opts opts = { .procs = 20,
				       .messages = 2000,
				       .size_low = 15360,
				       .size_high = 15360,
				       .seed = 1 };
	const char *check = NULL;
	bool unique = false;
	int opt;

	while ((opt = getopt_long(argc, argv, "", table, NULL)) != -1) {
		if (opt == RS_OPT_HELP) {
			fputs(help, stdout);
			return 0;
		}
		if (opt == RS_OPT_CHECK)
			check = optarg;
		else if (opt == RS_OPT_UNIQUE)
			unique = true;
		else if (!take_value(opt, optarg, &opts) &&
			 !take_flag(opt, &opts))
			return 2;
	}
	if (optind + 1 != argc)
		usage("one directory is needed after", argv[argc - 1]);
	opts.dir = argv[optind];
	if (strlen(opts.dir) > RS_REPLAY_PATH - 64)
		usage("too long:", opts.dir);
	return check ? rs_replay_check(check, opts.dir, unique)
		     : rs_replay_run(&opts);
}
