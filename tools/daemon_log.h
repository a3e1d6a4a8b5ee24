/*
 * daemon_log.h - what the running daemon has to say: a bounded queue and a
 * thread of its own, because syslog's socket may lie inside the mount.
 */
#ifndef RS_DAEMON_LOG_H
#define RS_DAEMON_LOG_H

#include <syslog.h>

#include "include/rs_base.h"

/* foreground: to stderr, otherwise to syslog. -EAGAIN: no thread. */
RS_MUST_USE int rs_log_start(int foreground);
/* Everything queued goes out (for a second at most), then the thread ends. */
void rs_log_stop(void);
/*
 * Queue a line; never waits. priority is syslog's. Before rs_log_start() and
 * after rs_log_stop() it goes to stderr at once. A full queue counts what it
 * drops and says so later.
 */
void rs_log(int priority, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#define RS_LOG_KEPT 8u
/* The last lines of priority LOG_WARNING and worse, oldest first. */
void rs_log_recent(void (*fn)(void *arg, int64_t when, const char *text),
		   void *arg);

#endif
