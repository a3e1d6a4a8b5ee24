/*
 * arm.h - the disk's time: one arm that does one request after the other.
 *
 * A request is submitted as a job with its cost. Jobs without a cost at an
 * idle arm are done at once in the caller's thread; the others later, in
 * order, in the arm's own thread, so that no thread of the server waits.
 */
#ifndef RS_DISK_ARM_H
#define RS_DISK_ARM_H

#include "tests/disk/faults.h"

#include <pthread.h>

struct rs_darm_job {
	/* Called once, without locks of the arm. cut: the power went. */
	void (*done)(struct rs_darm_job *job, bool cut);
	struct rs_darm_job *next;
	uint64_t due; /* ns of CLOCK_MONOTONIC */
};

struct rs_darm_times {
	uint64_t us[RS_DKINDS]; /* of each read, write, flush */
	uint64_t seek_us;	/* of one that doesn't follow the one before */
};

struct rs_darm {
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t wake;  /* the queue's head, stop or cut changed */
	pthread_cond_t held_wake;
	pthread_t thread;
	struct rs_darm_times times;
	struct rs_darm_job *head, **tail;      /* due in this order */
	struct rs_darm_job *held, **held_tail; /* flushes while frozen */
	uint64_t held_count;
	uint64_t free_at;  /* ns: when the arm has done all that is queued */
	uint64_t last_end; /* byte after the last read or write */
	uint64_t seeks;
	uint64_t busy_ns; /* cost of all jobs so far */
	bool frozen;
	bool cut;
	bool stop;
};

RS_MUST_USE int rs_darm_init(struct rs_darm *a);
/* Does what is queued or held first, without waiting for its time. */
void rs_darm_release(struct rs_darm *a);

/* off and len are of no meaning for a flush. */
void rs_darm_submit(struct rs_darm *a, struct rs_darm_job *job,
		    enum rs_dkind kind, uint64_t off, uint64_t len);

/* Flushes that arrive while frozen are held until thaw or cut. */
void rs_darm_freeze(struct rs_darm *a);
void rs_darm_thaw(struct rs_darm *a);
/* 0 as soon as a flush is held, -ETIMEDOUT after ms milliseconds. */
RS_MUST_USE int rs_darm_wait_held(struct rs_darm *a, uint64_t ms);
/* All jobs, also those that come later, are done at once with cut set. */
void rs_darm_cut(struct rs_darm *a);

#endif
