/*
 * lib_load.h - a mail server's calls on a spool, to see what a place gives.
 */
#ifndef RS_LIB_LOAD_H
#define RS_LIB_LOAD_H

#include "include/rs_base.h"

struct rs_load_cfg {
	const char *dir;	  /* an empty directory */
	unsigned int procs;	  /* processes, each a message at a time */
	unsigned int seconds;	  /* how long */
	unsigned int size;	  /* bytes of a message */
	const volatile int *stop; /* ends it early when not 0; may be NULL */
};

struct rs_load_result {
	uint64_t messages;
	double seconds;
	/*
	 * The durable step: from the begin of fsync to the end of the rename
	 * that commits, after which a server answers 250; microseconds.
	 */
	uint32_t p50_us, p99_us, max_us;
	const char *call; /* that failed, when an error is returned */
};

/*
 * Each process: create in incoming, write in pieces of 4 KiB, fsync, rename
 * to active, read, unlink. 0 or -errno of the first call that failed.
 */
RS_MUST_USE int rs_load_run(const struct rs_load_cfg *cfg,
			    struct rs_load_result *ret);

/*
 * The median time of a 4-KiB write into a file that is there already, and
 * its fdatasync, in microseconds: what one flush of this disk costs.
 */
RS_MUST_USE int rs_load_flush(const char *dir, uint32_t *ret_us);

#endif
