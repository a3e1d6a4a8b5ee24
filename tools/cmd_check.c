/*
 * cmd_check.c - rspoolctl check: is a configuration file right?
 */
#include <errno.h>
#include <stdio.h>

#include "journal/report.h"
#include "tools/cmd.h"
#include "tools/lib_conf.h"

/* A path as it is, or NAME. */
static int read_conf(const char *arg, struct rs_conf *ret_conf)
{
	RS_AUTO_FREE char *path = NULL;

	if (strchr(arg, '/'))
		return rs_conf_read(arg, ret_conf);
	if (asprintf(&path, "%s/%s.conf", RS_CONF_DIR, arg) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	return rs_conf_read(path, ret_conf);
}

/* Where a file was given by name in the current directory, that one. */
static int find_conf(const char *arg, struct rs_conf *ret_conf)
{
	int err = read_conf(arg, ret_conf);

	if (err != -ENOENT || strchr(arg, '/'))
		return err;
	return rs_conf_read(arg, ret_conf);
}

static void say_unread(const char *arg, int err)
{
	if (strchr(arg, '/'))
		rs_say("cannot read '%s': %s", arg, strerror(-err));
	else
		rs_say("cannot read '%s/%s.conf': %s", RS_CONF_DIR, arg,
		       strerror(-err));
}

static void print_fault(const char *file, const struct rs_conf_fault *fault)
{
	char safe[4 * 1024 + 1];

	rs_escape(fault->text, strlen(fault->text), safe, sizeof(safe));
	if (fault->line)
		printf("%s:%u: %s\n", file, fault->line, safe);
	else
		printf("%s: %s\n", file, safe);
}

static int run(const struct rs_args *args)
{
	struct rs_conf conf;
	struct rs_opts opts;
	int err, code;
	size_t i;

	err = find_conf(args->pos[0], &conf);
	if (err) {
		say_unread(args->pos[0], err);
		return RS_EXIT_FAILED;
	}
	rs_opts_init(&opts);
	err = rs_conf_options(&conf, &opts);
	if (err)
		rs_say("out of memory");
	for (i = 0; i < conf.n_faults; i++)
		print_fault(conf.file, &conf.faults[i]);
	code = conf.n_faults ? RS_EXIT_USAGE : RS_EXIT_OK;
	if (err)
		code = RS_EXIT_FAILED;
	rs_opts_release(&opts);
	rs_conf_release(&conf);
	return code;
}

const struct rs_cmd rs_cmd_check = {
	.name = "check",
	.args = "NAME",
	.what = "is the configuration file right?",
	.help = "Read /etc/rspool/NAME.conf, or the file of that path, and"
		" print every fault in\n"
		"it as FILE:LINE: KEY: WHAT. Nothing is opened or mounted. Exit"
		" 0: none, 2: some.",
	.min = 1,
	.max = 1,
	.run = run,
};
