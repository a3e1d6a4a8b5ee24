/*
 * daemon.h - one running daemon: a store, a mount, what joins them.
 */
#ifndef RS_DAEMON_H
#define RS_DAEMON_H

#include <jansson.h>
#include <limits.h>
#include <pthread.h>

#include "fs/core.h"
#include "fs/ll.h"
#include "journal/journal.h"
#include "tools/lib_ctl.h"
#include "tools/lib_opt.h"

#define RS_DAEMON_WARNINGS 8u

enum rs_daemon_phase {
	RS_DAEMON_SERVING,
	RS_DAEMON_ENDING, /* unmounted: flushing and folding */
	RS_DAEMON_ENDED,  /* all is on disk, or end_err says why not */
};

#define RS_DAEMON_GAUGES 2u /* limits that daemon_watch.c looks at */

struct rs_ctl_server;

struct rs_daemon {
	struct rs_opts opts;
	int foreground;
	char store[PATH_MAX], mnt[PATH_MAX];
	uint8_t key[RS_KEY_LEN];
	int has_key;
	char *warning[RS_DAEMON_WARNINGS]; /* risky place... also in status */
	unsigned int warnings;

	struct rs_ll *ll;
	struct rs_journal *journal;
	struct rs_core *core;
	struct rs_report report;	     /* of the recovery at start */
	unsigned int came_empty;	     /* volatile directories at start */
	uint64_t started;		     /* ms of CLOCK_MONOTONIC */
	unsigned int told[RS_DAEMON_GAUGES]; /* daemon_watch.c: percent */
	uint64_t told_bad; /* likewise: damage that reads have met */
	uint64_t last_durable, progress; /* the watchdog's: frame, ms */

	int signals; /* signalfd */
	int session; /* eventfd: the session is over */
	struct rs_ctl_server *ctl;

	pthread_mutex_t lock; /* below */
	pthread_cond_t change;
	enum rs_daemon_phase phase;
	int fast;    /* end without a checkpoint */
	int end_err; /* of rs_journal_stop() */
};

/* ---- daemon_check.c: before anything is touched ---- */
/*
 * Resolve store and mnt, look at both places, take the mount point's dead
 * mounts away, read the key. 0 or an exit code; the reason was said.
 */
RS_MUST_USE int rs_daemon_check(struct rs_daemon *d, const char *store,
				const char *mnt);
void rs_daemon_warn(struct rs_daemon *d, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* ---- daemon_size.c ---- */
/*
 * Options against marker and machine, the store made larger if they say so;
 * fills cfg's ram, capacity and inodes. 0 or an exit code; the reason was
 * said.
 */
RS_MUST_USE int rs_daemon_limits(struct rs_daemon *d, struct rs_core_cfg *cfg);
/* They against what was loaded. */
RS_MUST_USE int rs_daemon_fits(struct rs_daemon *d);
/* The answer to the command sizes. */
json_t *rs_daemon_sizes(struct rs_daemon *d, const struct rs_limits *limits);

/* ---- daemon_run.c ---- */
/*
 * Bring up, serve, end. Returns the exit code. status: for rs_proc_ready(),
 * or -1 in the foreground.
 */
int rs_daemon_run(struct rs_daemon *d, int status);
uint64_t rs_daemon_now_ms(void);

/* ---- daemon_watch.c ---- */
#define RS_WATCH_MS 5000u
#define RS_WATCH_FULL 90u /* percent from which a limit is worth a word */
/*
 * Log each limit that was reached since the last call, and each that is far
 * away again. From the main thread, every RS_WATCH_MS.
 */
void rs_daemon_watch(struct rs_daemon *d);
/* The nearest limit: 1 and its text if it is at RS_WATCH_FULL, else 0. */
int rs_daemon_is_full(struct rs_daemon *d, char *ret_text, size_t size);

/* ---- daemon_status.c ---- */
/* ms; it changes at run time */
unsigned int rs_daemon_interval(struct rs_daemon *d);
/* New reference; NULL without memory. */
json_t *rs_daemon_status(struct rs_daemon *d);

/* ---- daemon_policy.c ---- */
/* The answer to the command policy. */
json_t *rs_daemon_policy(struct rs_daemon *d, const struct rs_ctl_req *req);
/*
 * Where a rule says something else than what was set at run time, the rule
 * wins (DESIGN section 3), and that is said. Once the journal has started.
 */
RS_MUST_USE int rs_daemon_settle(struct rs_daemon *d);
/* By policy: what would be lost if the power went now. */
json_t *rs_daemon_at_risk(struct rs_daemon *d);

/* ---- daemon_ctl.c ---- */
/* The socket is made and listened to; one thread, and one a client. */
RS_MUST_USE int rs_ctl_start(struct rs_daemon *d);
/*
 * No new clients; waits until those that were promised an answer have it (a
 * slow one for some seconds at most), removes the socket. 1: a client's
 * thread is still there, so nothing of d may be freed before exit.
 */
RS_MUST_USE int rs_ctl_stop(struct rs_daemon *d);

#endif
