/*
 * fake_seam.h - a seam for unit tests: the real world, but recorded, with a
 * clock of its own, and with failures on demand.
 */
#ifndef RS_FAKE_SEAM_H
#define RS_FAKE_SEAM_H

#include <pthread.h>

#include "include/rs_seam.h"

#define FAKE_EVENTS 4096

struct fake_event {
	char kind; /* 'w' write, 'f' flush */
	int fd;
	int64_t off;
	size_t len; /* asked for */
};

struct fake_seam {
	struct rs_seam seam; /* first: hand out &fake.seam */
	pthread_mutex_t lock;
	struct fake_event event[FAKE_EVENTS];
	size_t n_events; /* further ones are counted only */
	unsigned int writes, flushes, reads, randoms;
	/* the n-th from 1 fails with error; 0: none */
	unsigned int fail_write, fail_flush, fail_read, fail_random;
	int error;
	/* the n-th write takes only that many bytes */
	unsigned int short_write;
	size_t short_len;
	/* reads that touch this byte fail; -1: none */
	int64_t bad_byte;
	/* nanoseconds; 0: the real clocks */
	int64_t clock;
	/* called after each flush that worked, before it returns */
	void (*flushed)(void *arg);
	void *arg;
};

void fake_seam_init(struct fake_seam *fake);

/* A directory under TMPDIR (or /tmp); free() the path. */
char *fake_dir_make(void);
/* Remove it with all files in it (one level of folders too). */
void fake_dir_remove(char *path);

#endif
