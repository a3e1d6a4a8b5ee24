/*
 * lib_opt.h - the mount options (DESIGN section 5), one table.
 */
#ifndef RS_LIB_OPT_H
#define RS_LIB_OPT_H

#include <stdio.h>

#include "include/rs_attr.h"
#include "include/rs_base.h"
#include "tools/lib_policy.h"
#include "tools/lib_profile.h"

struct rs_opts {
	enum rs_policy policy;	     /* of directories that no rule names */
	uint8_t dirsync;	     /* likewise, RS_DIRSYNC_ */
	struct rs_rules rules;	     /* those given, in their order */
	struct rs_profiles profiles; /* whose rules go before them */
	unsigned int flush_interval; /* ms */
	uint64_t ram, capacity;	     /* bytes; 0: not given */
	uint64_t inodes;	     /* 0: not given */
	char *ring, *key;	     /* paths or NULL */
	char *on_mount, *on_poison, *on_lost; /* programs or NULL */
	int xattr, noatime;
	int protect; /* the bare mount point, against writers */
	unsigned int stall, stop_timeout; /* seconds */
	unsigned long flags;		  /* MS_ of mount(2) */
	unsigned long said;		  /* MS_ that were given */
	char *data; /* passed on to the kernel, "context=..." or NULL */
	/* rs_opts_finish(): rules of the profiles, then those given */
	struct rs_rules all;
	size_t n_profile_rules;
};

void rs_opts_init(struct rs_opts *opts);
void rs_opts_release(struct rs_opts *opts);
/*
 * Take one option in; what comes later wins. value NULL: a flag. Errors:
 * -ENOENT (no such option), -EINVAL, both with why; -ENOMEM.
 */
RS_MUST_USE int rs_opts_take(struct rs_opts *opts, const char *name,
			     const char *value, char why[RS_WHY_MAX]);
/* Does the option exist and take no value? */
int rs_opts_is_flag(const char *name);
/*
 * "name=value,flag,...". Text is changed. Returns 0 or an exit code, having
 * said on stderr what is wrong.
 */
RS_MUST_USE int rs_opts_parse(struct rs_opts *opts, char *text);
/* Add text behind a comma to *to, which is NULL or from malloc. -ENOMEM. */
RS_MUST_USE int rs_opts_join(char **to, const char *text);
/* After the last option: what profiles bring. -ENOMEM. */
RS_MUST_USE int rs_opts_finish(struct rs_opts *opts);
/* The options, one a line, as --help shows them. */
void rs_opts_help(FILE *to);

#endif
