/*
 * daemon_hook.h - commands of the administrator: on_mount, on_poison, and
 * on_lost, for sites where no supervisor does it.
 *
 * A command is a program, started without a shell as
 *
 *	PROGRAM EVENT STORE MNT		EVENT: mount, poison or lost
 *
 * with PATH, RSPOOL_EVENT, RSPOOL_STORE, RSPOOL_MNT, RSPOOL_WHY and, on a
 * mount with a profile, RSPOOL_PROFILE as its whole environment, in "/", as a process group of its own that has
 * RS_HOOK_SECONDS: then it gets SIGTERM, and SIGKILL.
 *
 * A child of the daemon, forked before anything else, runs them: it is small,
 * has none of the daemon's limits and locks, and is still there when the
 * daemon is not.
 */
#ifndef RS_DAEMON_HOOK_H
#define RS_DAEMON_HOOK_H

#include "include/rs_base.h"

#define RS_HOOK_SECONDS 120

struct rs_hooks {
	const char *on_mount, *on_poison, *on_lost; /* paths or NULL */
	const char *store, *mnt;
	const char *profile; /* "postfix", "exim+amavis"; "" without one */
	int foreground;	     /* what is said goes to stderr, else to syslog */
};

/* Fork the child, unless there is nothing that it could run. -errno */
RS_MUST_USE int rs_hook_init(const struct rs_hooks *hooks);
/* It serves: from now on a death is on_lost's. */
void rs_hook_mounted(void);
/* From any thread, once. */
void rs_hook_poisoned(const char *why);
/* The daemon ends in order. */
void rs_hook_bye(void);

#endif
