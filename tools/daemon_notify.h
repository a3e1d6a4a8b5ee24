/*
 * daemon_notify.h - telling systemd: its plain protocol, one datagram a
 * message (sd_notify(3)). Without NOTIFY_SOCKET nothing here does anything.
 */
#ifndef RS_DAEMON_NOTIFY_H
#define RS_DAEMON_NOTIFY_H

#include "include/rs_base.h"

/*
 * Take the socket and the watchdog's time from the environment, and take
 * them out of it: what we start is not to speak for us.
 */
void rs_notify_init(void);
/* "KEY=value" lines; never waits. */
void rs_notify(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* ms within which WATCHDOG=1 is expected; 0: it isn't. */
unsigned int rs_notify_watchdog(void);

#endif
