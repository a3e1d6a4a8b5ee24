/*
 * daemon_opt.h - the mount options (DESIGN section 5), one table.
 */
#ifndef RS_DAEMON_OPT_H
#define RS_DAEMON_OPT_H

#include <stdio.h>

#include "include/rs_attr.h"
#include "include/rs_base.h"

struct rs_opts {
	enum rs_policy policy;
	unsigned int flush_interval; /* ms */
	uint64_t ram, capacity;	     /* bytes; 0: not given */
	uint64_t inodes;	     /* 0: not given */
	char *ring, *key;	     /* paths or NULL */
	int xattr, noatime;
	unsigned int stall, stop_timeout; /* seconds */
	unsigned long flags;		  /* MS_ of mount(2) */
	char *data; /* passed on to the kernel, "context=..." or NULL */
};

void rs_opts_init(struct rs_opts *opts);
void rs_opts_release(struct rs_opts *opts);
/*
 * Take "name=value,flag,..." in; what comes later wins. Text is changed.
 * Returns 0 or an exit code, having said on stderr what is wrong.
 */
RS_MUST_USE int rs_opts_parse(struct rs_opts *opts, char *text);
/* The options, one a line, as --help shows them. */
void rs_opts_help(FILE *to);

#endif
