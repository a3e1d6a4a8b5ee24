/*
 * ledger_hist.h - the history of each object in the last phase, made from
 * the ledger: every state that it had, and which of them were acknowledged.
 *
 * A writer's operations count n = 0, 1, ... Its position 2n is "the first n
 * are in", 2n+1 "in the middle of number n" (a write of several requests).
 * A state made by operation n is that of the object at the positions from
 * 2n+2 up to 2m, where m is the object's next operation.
 */
#ifndef LEDGER_HIST_H
#define LEDGER_HIST_H

#include "ledger_op.h"

struct led_ext {
	uint64_t off, len, key;
};

/* An object's state after one operation. */
struct led_version {
	uint32_t n;    /* the operation; adopted: position 0 */
	bool first;    /* the state before the phase's first operation */
	bool sure;     /* the call returned 0 */
	uint64_t fact; /* record that says so */
	bool exists;
	unsigned int n_names;
	struct led_name names[LED_NAMES];
	struct led_stat st;
	bool know_mtime, know_ctime, know_owner;
	struct led_ext part; /* len not 0: the write that made this state */
	struct led_ext *exts;
	size_t n_exts;
};

struct led_hist {
	uint32_t id;
	uint16_t writer; /* LED_SHARED: nobody touched it */
	uint64_t ino;	 /* 0: not known */
	bool adopted;
	uint64_t hash; /* adopted: of the content */
	struct led_version *versions;
	size_t n, cap;
	size_t name_version; /* last that changed names */
	size_t barrier;	     /* last when a barrier was asked for */
	/* the least state that was acknowledged, and by which record */
	size_t acked;
	uint64_t acked_fact;
	bool has_ack;
	bool names_only; /* by fsync of a directory; only told apart if weak */
};

/* A writer's operation that changed something. */
struct led_change {
	uint32_t n;
	uint64_t intent, done; /* records; done UINT64_MAX: never */
};

struct led_hist_writer {
	uint32_t ops;
	struct led_change *changes;
	size_t n, cap;
};

struct led_hists {
	const struct led_rec *recs;
	size_t from, count;    /* the phase: recs[from] to recs[count-1] */
	bool weak;	       /* see struct led_check */
	struct led_hist *objs; /* in order of id */
	size_t n, cap;
	struct led_hist_writer *writers;
	size_t n_writers;
	/* entry changes of all writers, in order of their DONE */
	struct led_dirop *dirops;
	size_t n_dirops, cap_dirops;
	uint64_t violations;
};

/* Reports on stdout what no call may have returned. */
void led_hists_init(struct led_hists *h, const struct led_rec *recs,
		    size_t from, size_t count, bool weak);
void led_hists_release(struct led_hists *h);
/* Everything that returned counts as acknowledged. */
void led_hists_ack_all(struct led_hists *h);
/* NULL if there is none */
struct led_hist *led_hists_find(const struct led_hists *h, uint32_t id);
void *led_grow(void *array, size_t n, size_t *cap, size_t size);

#endif
