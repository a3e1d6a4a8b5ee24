/*
 * lib_progress.h - a line on the terminal for what takes over a second.
 */
#ifndef RS_LIB_PROGRESS_H
#define RS_LIB_PROGRESS_H

#include "include/rs_base.h"

struct rs_progress {
	const char *what;      /* "writing the ring" */
	uint64_t begin, shown; /* ms of CLOCK_MONOTONIC */
	int terminal;	       /* stderr is one */
	int drawn;
};

void rs_progress_init(struct rs_progress *p, const char *what);
/*
 * The shape that the journal's callbacks have; arg is a struct rs_progress.
 * total 0: unknown. Prints only to a terminal, after a second, five times a
 * second at most.
 */
void rs_progress_step(void *arg, uint64_t done, uint64_t total);
/* Wipe the line. */
void rs_progress_end(struct rs_progress *p);

#endif
