/*
 * cmd.h - a verb of rspoolctl: one file, one entry of the table.
 */
#ifndef RS_CMD_H
#define RS_CMD_H

#include "tools/lib_say.h"

/* What was given on the command line. */
struct rs_args {
	char **pos; /* positional arguments */
	int n;
	int json, fast, dry_run, list, accept, xattr, unprotect;
	const char *to, *key, *ring, *ring_size, *capacity, *inodes;
	const char *seconds;
	char *options; /* all -o, joined */
};

/* The options that a verb takes, as bits of struct rs_cmd. */
enum rs_cmd_opt {
	RS_O_JSON = 1 << 0,
	RS_O_FAST = 1 << 1,
	RS_O_DRY_RUN = 1 << 2,
	RS_O_LIST = 1 << 3,
	RS_O_TO = 1 << 4,
	RS_O_ACCEPT = 1 << 5,
	RS_O_KEY = 1 << 6,
	RS_O_RING = 1 << 7,
	RS_O_RING_SIZE = 1 << 8,
	RS_O_CAPACITY = 1 << 9,
	RS_O_INODES = 1 << 10,
	RS_O_MOUNT = 1 << 11,
	RS_O_XATTR = 1 << 12,
	RS_O_UNPROTECT = 1 << 13,
	RS_O_SECONDS = 1 << 14,
};

struct rs_cmd {
	const char *name;
	const char *args;     /* "DIR MNT" */
	const char *what;     /* one line for the list of verbs */
	const char *help;     /* the text under its usage */
	unsigned int options; /* RS_O_ */
	int min, max;	      /* positional arguments */
	int (*run)(const struct rs_args *args); /* returns the exit code */
};

extern const struct rs_cmd rs_cmd_init, rs_cmd_mount, rs_cmd_umount,
	rs_cmd_status, rs_cmd_sync, rs_cmd_recover, rs_cmd_verify, rs_cmd_dump,
	rs_cmd_check, rs_cmd_policy, rs_cmd_import, rs_cmd_export, rs_cmd_bench;

#endif
