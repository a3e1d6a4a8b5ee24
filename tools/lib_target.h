/*
 * lib_target.h - from what is on the command line to a store or a daemon.
 */
#ifndef RS_LIB_TARGET_H
#define RS_LIB_TARGET_H

#include <limits.h>

#include "journal/journal.h"
#include "tools/lib_conf.h"

/* A store that is not (to be) mounted. */
struct rs_target {
	struct rs_conf conf;
	char store[PATH_MAX]; /* absolute */
	char *ring;	      /* NULL: as the marker says */
	uint8_t key[RS_KEY_LEN];
	int has_key;
};

/*
 * dir: a path or NAME; key, ring: from the command line or NULL (then those
 * of the configuration file). Returns 0 or an exit code; the reason was said.
 * rs_target_release() after 0.
 */
RS_MUST_USE int rs_target_init(struct rs_target *target, const char *dir,
			       const char *key, const char *ring);
void rs_target_release(struct rs_target *target);
/* Open it for a mode that is not SERVE; 0 or an exit code. */
RS_MUST_USE int rs_target_open(const struct rs_target *target,
			       enum rs_journal_mode mode, struct rs_report *rep,
			       struct rs_journal **ret_journal);

/*
 * A connection to the daemon of arg: a mount point of ours, a store, or NAME.
 * ret_mnt: the mount point as resolved, "" if it is a store. Returns 0 or
 * an exit code (RS_EXIT_NOT_RUNNING); the reason was said.
 */
RS_MUST_USE int rs_target_daemon(const char *arg, int *ret_fd,
				 char ret_mnt[PATH_MAX]);

#endif
