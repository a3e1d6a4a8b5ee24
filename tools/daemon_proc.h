/*
 * daemon_proc.h - what makes a process a daemon that holds other people's
 * mail: background, limits, no core dumps, signals.
 */
#ifndef RS_DAEMON_PROC_H
#define RS_DAEMON_PROC_H

#include "include/rs_base.h"

/*
 * Go into the background. In the child returns 0 with *ret_status, where
 * rs_proc_ready() says how the start went. The parent never returns: it
 * waits for that and exits with the child's code.
 */
RS_MUST_USE int rs_proc_background(int *ret_status);
/* The start is over; code is what the parent exits with. Detaches stdio. */
void rs_proc_ready(int status, int code);

/* Limits and protection of this process. What is not allowed is left out. */
void rs_proc_harden(void);
/*
 * Block the signals that end us and give a signalfd for them (SIGTERM,
 * SIGINT); ignore SIGPIPE and SIGHUP. Before any thread. Returns it or
 * -errno.
 */
RS_MUST_USE int rs_proc_signals(void);

#endif
