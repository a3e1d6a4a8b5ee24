/*
 * tape.h - a recorded device: every write and flush that this process makes
 * to the two files of a store, in order, so that the state of the disk
 * after a power cut at any point can be built again and again.
 *
 * The calls are caught by interposing pwrite, pwritev, write and fdatasync
 * in the test program, so that LMDB's own I/O is on the tape too. A write
 * through a descriptor with O_DSYNC is followed by a flush of that write
 * alone, which is less than a real disk does and so allows more states.
 */
#ifndef TAPE_H
#define TAPE_H

#include <stddef.h>
#include <stdint.h>

#define TAPE_SECTOR 512u

enum tape_file {
	TAPE_RING,
	TAPE_STORE,
	TAPE_FILES
};

enum tape_type {
	TAPE_WRITE,
	TAPE_FLUSH,	/* all writes to file before it are durable */
	TAPE_FLUSH_ONE, /* only the write just before it */
	TAPE_OP,	/* arg: operations applied so far */
	TAPE_ACK,	/* arg: see model.c */
};

struct tape_event {
	enum tape_type type;
	enum tape_file file;
	uint64_t off;
	size_t len;
	uint8_t *data; /* WRITE */
	uint64_t arg;  /* OP, ACK */
};

struct tape {
	struct tape_event *events;
	size_t n, cap;
	uint64_t dev[TAPE_FILES], ino[TAPE_FILES];
	uint8_t *base[TAPE_FILES];     /* content when the tape started */
	size_t base_len[TAPE_FILES];   /* without trailing zeros */
	uint64_t file_len[TAPE_FILES]; /* with them */
};

/* A small deterministic generator (splitmix64); never zero-seeded. */
struct rng {
	uint64_t state;
};
uint64_t rng_next(struct rng *rng);
uint64_t rng_below(struct rng *rng, uint64_t n);

/* Remember DIR's files as they are and record from now on. */
void tape_start(struct tape *tape, const char *dir);
void tape_stop(struct tape *tape);
/* The tape that records was moved to another struct. */
void tape_rebind(struct tape *tape);
void tape_release(struct tape *tape);
void tape_note(struct tape *tape, enum tape_type type, uint64_t arg);

/*
 * Make DIR's files what a disk could hold when the power was cut before
 * event number cut. variant 0: nothing that was not flushed; 1: all of it;
 * further ones: a random choice of sectors made by rng.
 */
void tape_build(const struct tape *tape, size_t cut, unsigned int variant,
		struct rng *rng, const char *dir);

/*
 * The n-th write (or flush) of file from now on, counted from 1, gives -1 with
 * err; all further ones too if forever. err 0 takes the plan back. short_len
 * is not 0: that write writes only so many bytes instead.
 */
struct tape_fault {
	enum tape_file file;
	int flush; /* 0: writes */
	uint64_t nth;
	int err, forever;
	size_t short_len;
	int hit; /* set when it happened */
};
void tape_fault(struct tape_fault *fault);

/* Not 0 while the tape itself allocates. */
extern int tape_allocates;

/* Print the events from first to cut: for looking at one case. */
void tape_print(const struct tape *tape, size_t cut);

#endif
