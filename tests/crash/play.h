/*
 * play.h - a seeded random sequence of operations on core and journal, with
 * everything that was promised on the way.
 */
#ifndef PLAY_H
#define PLAY_H

#include "snap.h"
#include "tape.h"

#define PLAY_SNAPS 512u
#define PLAY_ACKS 512u

/* After event number event, the tree must hold at least snapshot number
 * snap: what was acknowledged then had its last change in it. */
struct play_ack {
	size_t event;
	size_t snap;
	uint64_t ino;
};

struct play {
	struct rng rng;
	struct tape tape;
	struct snap snaps[PLAY_SNAPS]; /* [i]: after i changes */
	size_t n_snaps;
	struct play_ack acks[PLAY_ACKS];
	size_t n_acks;
	uint64_t clock;	  /* the next time that core sees, in ns */
	uint64_t max_ino; /* highest inode number ever handed out */
	int verbose;
	int policies; /* directories of all policies, by rules and run time */
	/* [i]: step i raised a policy, and a crash may leave a part of it */
	uint8_t loose[PLAY_SNAPS];
	/* fault injection: errors of commits and operations are no surprise */
	int may_fail;
	int *before_step;	/* set to 1 while a step runs, or NULL */
	int poisoned;		/* the journal said so */
	unsigned int refused;	/* waiters that were given an error */
	unsigned int half_done; /* failed operations that changed the tree */
};

/*
 * Names of the steps are printed if play->verbose. Returns 0, or what opening
 * or starting the journal gave under may_fail.
 */
int play_run(struct play *play, const char *dir, unsigned int steps);
void play_release(struct play *play);

/* Highest snapshot that must be there when the power goes before event cut,
 * and the number of snapshots that can exist by then. */
size_t play_must(const struct play *play, size_t cut);
size_t play_can(const struct play *play, size_t cut);

/* Open DIR as the daemon does (mode), and take the tree that it serves. */
int play_open(struct play *play, const char *dir, enum rs_journal_mode mode,
	      struct rs_report *rep, struct rs_journal **ret_j,
	      struct rs_core **ret_core);

#endif
