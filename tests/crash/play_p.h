/*
 * play_p.h - one run of a sequence, shared by play.c (opens, counts what was
 * acknowledged) and play_op.c (the operations).
 */
#ifndef PLAY_P_H
#define PLAY_P_H

#include "play.h"

#define MAX_DIRS 12u
#define MAX_REFS 256u

struct run {
	struct play *play;
	struct rs_journal *j;
	struct rs_core *core;
	uint64_t dirs[MAX_DIRS];
	size_t n_dirs;
	uint64_t refs[MAX_REFS]; /* an inode number for each lookup count */
	size_t n_refs;
	unsigned int waiting; /* waiters not called yet */
	int64_t rc;	      /* of the last operation */
	uint64_t number;      /* that its reply has to wait for; 0: none */
	unsigned int said;    /* operations of this step */
};

/* below n */
uint64_t play_pick(struct run *r, uint64_t n);
void play_say(struct run *r, const char *what, int64_t rc);
/* fsync of ino: what is acknowledged by it, now or with a commit. */
void play_sync(struct run *r, uint64_t ino, const char *what);
/* rc >= 0: the reply to this change waits as ino's policy says. */
void play_changed(struct run *r, int64_t rc, uint64_t ino,
		  enum rs_change change);
void play_commit(struct run *r);

/* play_op.c: one operation, drawn by its weight. */
void play_step(struct run *r);

#endif
