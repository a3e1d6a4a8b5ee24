/*
 * rspoold.c - the daemon's command line.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>

#include "tools/daemon.h"
#include "tools/daemon_proc.h"
#include "tools/lib_conf.h"
#include "tools/lib_say.h"

struct arguments {
	const char *dir, *mnt;
	char *options; /* all -o, joined; changed by parsing */
	int foreground;
};

static void help(void)
{
	puts("usage: rspoold DIR MNT [-f] [-o OPTIONS]\n"
	     "\n"
	     "Serve the store DIR (or the one that /etc/rspool/DIR.conf names)"
	     " at MNT (or\n"
	     "where that file says).\n"
	     "\n"
	     "  -f, --foreground       stay in the foreground, log to stderr\n"
	     "  -o OPTION,...          mount options, see below\n"
	     "      --help             this text\n"
	     "      --version          the version\n"
	     "\n"
	     "Mount options:");
	rs_opts_help(stdout);
	puts("\n"
	     "Exit: 0 ok, 1 failed, 2 usage, 4 ended while in use, 5 serving,"
	     " but damage found");
}

/* -1: go on; otherwise an exit code. */
static int parse_arguments(int argc, char **argv, struct arguments *args)
{
	static const struct option longs[] = {
		{ "foreground", no_argument, NULL, 'f' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'v' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "fo:", longs, NULL)) != -1) {
		switch (c) {
		case 'f':
			args->foreground = 1;
			break;
		case 'o':
			if (rs_opts_join(&args->options, optarg))
				return RS_EXIT_FAILED;
			break;
		case 'h':
			help();
			return rs_say_end(RS_EXIT_OK);
		case 'v':
			puts("rspoold " RS_VERSION);
			return rs_say_end(RS_EXIT_OK);
		default:
			return rs_say_usage("bad option '%s'",
					    argv[optind - 1]);
		}
	}
	if (argc - optind != 1 && argc - optind != 2)
		return rs_say_usage("a store and a mount point are wanted");
	args->dir = argv[optind];
	args->mnt = argv[optind + 1]; /* NULL: as NAME.conf says */
	return -1;
}

static int run(struct rs_daemon *d, const char *store, const char *mnt)
{
	int status = -1, code, err;

	code = rs_daemon_check(d, store, mnt);
	if (code)
		return code;
	if (!d->foreground) {
		err = rs_proc_background(&status);
		if (err) {
			rs_say("cannot go into the background: %s",
			       strerror(-err));
			return RS_EXIT_FAILED;
		}
	}
	return rs_daemon_run(d, status);
}

/* The file's options first: the command line wins. */
static int take_options(struct rs_daemon *d, struct rs_conf *conf,
			char *options)
{
	int code;

	if (rs_conf_options(conf, &d->opts)) {
		rs_say("out of memory");
		return RS_EXIT_FAILED;
	}
	code = rs_conf_say(conf);
	if (!code && options)
		code = rs_opts_parse(&d->opts, options);
	if (!code && rs_opts_finish(&d->opts)) {
		rs_say("out of memory");
		code = RS_EXIT_FAILED;
	}
	return code;
}

static int run_at(struct rs_daemon *d, const struct rs_conf *conf,
		  const char *mnt)
{
	if (!mnt)
		mnt = conf->mnt;
	if (!mnt)
		return rs_conf_say_no_mount(conf);
	return run(d, conf->store, mnt);
}

static int with_conf(struct rs_daemon *d, struct arguments *args)
{
	struct rs_conf conf;
	int code;

	code = rs_conf_take(args->dir, &conf);
	if (code)
		return code;
	code = take_options(d, &conf, args->options);
	if (!code)
		code = run_at(d, &conf, args->mnt);
	rs_conf_release(&conf);
	return code;
}

int main(int argc, char **argv)
{
	/* large, and its threads may outlive main's frame at exit */
	static struct rs_daemon d = {
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.change = PTHREAD_COND_INITIALIZER,
		.session = -1,
		.signals = -1,
	};
	struct arguments args = { 0 };
	int code;

	rs_say_name("rspoold");
	rs_opts_init(&d.opts);
	rs_report_init(&d.report);
	code = parse_arguments(argc, argv, &args);
	if (code < 0) {
		d.foreground = args.foreground;
		/* A script's lock or pipe must not live as long as we do. */
		if (!d.foreground)
			close_range(3, ~0U, 0);
		code = with_conf(&d, &args);
	}
	free(args.options);
	rs_opts_release(&d.opts);
	return code;
}
