/* play_main.c - options of play. */
#include "tests/bench/play.h"

#include "include/rs_base.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>

static const char help[] =
	"usage: play [OPTIONS] sendmail|exim|opensmtpd DIR\n"
	"\n"
	"Makes the calls of that mail server in the spool DIR, for N processes\n"
	"at once, and prints one line of JSON.\n"
	"\n"
	"  -p, --procs N        processes (20)\n"
	"  -m, --messages N     of all processes (1000)\n"
	"  -t, --seconds N      until then, not by number\n"
	"  -s, --size LOW:HIGH  bytes of a message (11264:11264), or mix: 1 KB,\n"
	"                       25 KB and 500 KB as 1000:100:10\n"
	"  -d, --dirs N         queue directories (1)\n"
	"  -a, --accept-only    deliver nothing\n"
	"  -r, --sync-renames   OpenSMTPD: sync the directory after the commit\n"
	"      --seed N         of sizes and directories (1)\n"
	"\n"
	"Exit codes: 0 ok, 1 failed, 2 usage, 3 a call failed.\n";

static const struct option table[] = {
	{ "procs", required_argument, NULL, 'p' },
	{ "messages", required_argument, NULL, 'm' },
	{ "seconds", required_argument, NULL, 't' },
	{ "size", required_argument, NULL, 's' },
	{ "dirs", required_argument, NULL, 'd' },
	{ "accept-only", no_argument, NULL, 'a' },
	{ "sync-renames", no_argument, NULL, 'r' },
	{ "seed", required_argument, NULL, 'S' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static const struct rs_play_mta *const mtas[] = { &rs_play_sendmail,
						  &rs_play_exim,
						  &rs_play_opensmtpd };

static void usage(const char *why, const char *what)
{
	fprintf(stderr, "play: %s '%s', see --help\n", why, what);
	exit(2);
}

static unsigned int number(const char *text, unsigned long low,
			   unsigned long high)
{
	unsigned long v;
	char *end;

	errno = 0;
	v = strtoul(text, &end, 10);
	if (errno || end == text || *end || v < low || v > high)
		usage("not a number in range:", text);
	return (unsigned int)v;
}

static void sizes(const char *text, struct rs_play_opts *opts)
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

static void take(int opt, struct rs_play_opts *opts)
{
	switch (opt) {
	case 'p':
		opts->procs = number(optarg, 1, 256);
		break;
	case 'm':
		opts->messages = number(optarg, 1, 10000000);
		break;
	case 't':
		opts->seconds = number(optarg, 1, 86400);
		break;
	case 's':
		sizes(optarg, opts);
		break;
	case 'd':
		opts->dirs = number(optarg, 1, 256);
		break;
	case 'a':
		opts->accept_only = true;
		break;
	case 'r':
		opts->sync_renames = true;
		break;
	case 'S':
		opts->seed = number(optarg, 0, UINT32_MAX);
		break;
	case 'h':
		fputs(help, stdout);
		exit(0);
	default:
		exit(2);
	}
}

int main(int argc, char **argv)
{
	struct rs_play_opts opts = { .procs = 20,
				     .messages = 1000,
				     .size_low = 11264,
				     .size_high = 11264,
				     .dirs = 1,
				     .seed = 1 };
	size_t i;
	int opt;

	while ((opt = getopt_long(argc, argv, "p:m:t:s:d:arh", table, NULL)) !=
	       -1)
		take(opt, &opts);
	if (optind + 2 != argc)
		usage("a server and a directory are needed after",
		      argv[argc - 1]);
	for (i = 0; i < RS_ARRAY_LEN(mtas); i++)
		if (!strcmp(argv[optind], mtas[i]->name))
			opts.mta = mtas[i];
	if (!opts.mta)
		usage("unknown server", argv[optind]);
	opts.dir = argv[optind + 1];
	return rs_play_run(&opts);
}
