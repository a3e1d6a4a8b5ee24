/*
 * rspoolctl.c - the table of verbs, which gives help and dispatch.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>

#include "tools/cmd.h"
#include "tools/lib_opt.h"

static const struct rs_cmd *const commands[] = {
	&rs_cmd_init,  &rs_cmd_mount,	&rs_cmd_umount, &rs_cmd_status,
	&rs_cmd_sync,  &rs_cmd_recover, &rs_cmd_verify, &rs_cmd_dump,
	&rs_cmd_check, &rs_cmd_policy,	&rs_cmd_import, &rs_cmd_export,
	&rs_cmd_bench,
};

/* Every option that any verb has; val is its bit. 'o' stands for -o. */
static const struct {
	enum rs_cmd_opt bit;
	const char *name, *arg, *help;
} options[] = {
	{ RS_O_RING_SIZE, "ring-size", "SIZE", "bytes of the ring (256M)" },
	{ RS_O_CAPACITY, "capacity", "SIZE",
	  "bytes that the spool may hold (1G)" },
	{ RS_O_INODES, "inodes", "N",
	  "files that it may hold (one for 8K of capacity)" },
	{ RS_O_RING, "ring", "FILE", "the ring, when it is not in DIR" },
	{ RS_O_KEY, "key", "FILE", "the site key" },
	{ RS_O_MOUNT, "options", "OPTIONS",
	  "mount options, see rspoold(8); several add up" },
	{ RS_O_SECONDS, "seconds", "N", "how long for each (5)" },
	{ RS_O_FAST, "fast", NULL, "leave the checkpoint to the next mount" },
	{ RS_O_DRY_RUN, "dry-run", NULL, "report only, change nothing" },
	{ RS_O_LIST, "list", NULL, "list what would come back" },
	{ RS_O_TO, "to", "OUT", "write the files to the new directory OUT" },
	{ RS_O_ACCEPT, "accept", NULL, "take the damage as known" },
	{ RS_O_UNPROTECT, "unprotect", NULL,
	  "make the bare mount point writable again" },
	{ RS_O_XATTR, "xattr", NULL, "take extended attributes too" },
	{ RS_O_JSON, "json", NULL, "report as JSON" },
};

#define LONGS (RS_ARRAY_LEN(options) + 3)
#define VAL_HELP 'h'
#define VAL_VERSION 'V'
#define VAL_FIRST 256 /* option i has the value VAL_FIRST + i */

static void help_all(void)
{
	size_t i;
	char left[60];

	puts("usage: rspoolctl VERB ...\n");
	for (i = 0; i < RS_ARRAY_LEN(commands); i++) {
		snprintf(left, sizeof(left), "%s %s", commands[i]->name,
			 commands[i]->args);
		printf("  %-20s %s\n", left, commands[i]->what);
	}
	puts("\n"
	     "DIR is a store, or NAME for /etc/rspool/NAME.conf. Each VERB has"
	     " --help.\n"
	     "Exit: 0 ok, 1 failed, 2 usage, 3 not running, 4 degraded,"
	     " 5 damage found");
}

static void help_one(const struct rs_cmd *cmd)
{
	char left[40];
	size_t i;

	printf("usage: rspoolctl %s %s%s\n\n%s\n", cmd->name, cmd->args,
	       cmd->options ? " [OPTIONS]" : "", cmd->help);
	putchar('\n');
	for (i = 0; i < RS_ARRAY_LEN(options); i++) {
		if (!(cmd->options & options[i].bit))
			continue;
		snprintf(left, sizeof(left), "%s--%s%s%s",
			 options[i].bit == RS_O_MOUNT ? "-o, " : "",
			 options[i].name, options[i].arg ? " " : "",
			 options[i].arg ? options[i].arg : "");
		printf("  %-24s %s\n", left, options[i].help);
	}
	printf("  %-24s %s\n", "--help", "this text");
}

static void fill_longs(struct option longs[LONGS])
{
	size_t i, n = 0;

	for (i = 0; i < RS_ARRAY_LEN(options); i++)
		longs[n++] = (struct option){ options[i].name,
					      options[i].arg ? 1 : 0, NULL,
					      VAL_FIRST + (int)i };
	longs[n++] = (struct option){ "help", 0, NULL, VAL_HELP };
	longs[n++] = (struct option){ "version", 0, NULL, VAL_VERSION };
	longs[n] = (struct option){ NULL, 0, NULL, 0 };
}

static int set_option(struct rs_args *args, enum rs_cmd_opt bit,
		      const char *value)
{
	switch (bit) {
	case RS_O_JSON:
		args->json = 1;
		break;
	case RS_O_FAST:
		args->fast = 1;
		break;
	case RS_O_DRY_RUN:
		args->dry_run = 1;
		break;
	case RS_O_LIST:
		args->list = 1;
		break;
	case RS_O_TO:
		args->to = value;
		break;
	case RS_O_ACCEPT:
		args->accept = 1;
		break;
	case RS_O_KEY:
		args->key = value;
		break;
	case RS_O_RING:
		args->ring = value;
		break;
	case RS_O_RING_SIZE:
		args->ring_size = value;
		break;
	case RS_O_CAPACITY:
		args->capacity = value;
		break;
	case RS_O_INODES:
		args->inodes = value;
		break;
	case RS_O_UNPROTECT:
		args->unprotect = 1;
		break;
	case RS_O_XATTR:
		args->xattr = 1;
		break;
	case RS_O_MOUNT:
		return rs_opts_join(&args->options, value);
	case RS_O_SECONDS:
		args->seconds = value;
		break;
	}
	return 0;
}

static size_t index_of(int val)
{
	size_t i;

	if (val >= VAL_FIRST)
		return (size_t)(val - VAL_FIRST);
	for (i = 0; i < RS_ARRAY_LEN(options); i++)
		if (options[i].bit == RS_O_MOUNT)
			break;
	return i;
}

/* -1: go on; otherwise an exit code. */
static int parse(const struct rs_cmd *cmd, int argc, char **argv,
		 struct rs_args *args)
{
	struct option longs[LONGS];
	size_t i;
	int c;

	fill_longs(longs);
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":o:", longs, NULL)) != -1) {
		if (c == ':')
			return rs_say_usage("%s: option '%s' wants a value",
					    cmd->name, argv[optind - 1]);
		if (c == '?')
			return rs_say_usage("%s: bad option '%s'", cmd->name,
					    argv[optind - 1]);
		if (c == VAL_HELP) {
			help_one(cmd);
			return rs_say_end(RS_EXIT_OK);
		}
		i = c == VAL_VERSION ? 0 : index_of(c);
		if (c == VAL_VERSION || !(cmd->options & options[i].bit))
			return rs_say_usage("%s does not take '%s'", cmd->name,
					    argv[optind - 1]);
		if (set_option(args, options[i].bit, optarg))
			return RS_EXIT_FAILED;
	}
	args->pos = argv + optind;
	args->n = argc - optind;
	if (args->n < cmd->min || args->n > cmd->max)
		return rs_say_usage("%s wants %s", cmd->name, cmd->args);
	return -1;
}

static int run(const struct rs_cmd *cmd, int argc, char **argv)
{
	struct rs_args args = { 0 };
	int code;

	code = parse(cmd, argc, argv, &args);
	if (code < 0)
		code = rs_say_end(cmd->run(&args));
	free(args.options);
	return code;
}

int main(int argc, char **argv)
{
	size_t i;

	rs_say_name("rspoolctl");
	/* a reader that goes away is an error of the write, not our death */
	signal(SIGPIPE, SIG_IGN);
	if (argc < 2)
		return rs_say_usage("a verb is wanted");
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "help")) {
		help_all();
		return rs_say_end(RS_EXIT_OK);
	}
	if (!strcmp(argv[1], "--version")) {
		puts("rspoolctl " RS_VERSION);
		return rs_say_end(RS_EXIT_OK);
	}
	for (i = 0; i < RS_ARRAY_LEN(commands); i++)
		if (!strcmp(argv[1], commands[i]->name))
			return run(commands[i], argc - 1, argv + 1);
	return rs_say_usage("unknown verb '%s'", argv[1]);
}
