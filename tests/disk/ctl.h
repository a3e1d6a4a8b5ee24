/*
 * ctl.h - the control socket: one command a connection, a line of words in,
 * text out. "ok", or JSON, or "error: …".
 */
#ifndef RS_DISK_CTL_H
#define RS_DISK_CTL_H

#include "tests/disk/disk.h"

#include <stdio.h>

/* longest command line and most words of it */
#define RS_DCTL_LINE_MAX 1024
#define RS_DCTL_WORDS 16

struct rs_dctl {
	struct rs_disk *disk;
	const char *image;
	const char *sock;
	int listen_fd;
	int stop_fd; /* an eventfd */
	pthread_t thread;
};

/* Listen at sock (a stale socket there is replaced) and answer in a thread of
 * its own; quit sends SIGTERM to this process. */
RS_MUST_USE int rs_dctl_init(struct rs_dctl *c, struct rs_disk *disk,
			     const char *image, const char *sock);
void rs_dctl_release(struct rs_dctl *c);

/* commands.c: run one command, all its answer goes to out. */
void rs_dctl_run(struct rs_dctl *c, int argc, char **argv, FILE *out);
/* a line for each command */
void rs_dctl_help(FILE *out);

/* client.c: the program "disksim ctl SOCK COMMAND…"; an exit code. */
int rs_dctl_client(int argc, char **argv);

#endif
