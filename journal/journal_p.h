/*
 * journal_p.h - the journal's one struct, shared by its files:
 *
 *	journal_init.c    make a store
 *	journal_open.c    lock, check, find the chain; close
 *	journal_start.c   first frame, threads, orderly end
 *	journal_append.c  begin, put, end
 *	journal_space.c   reservations, the book of the ring's bytes
 *	journal_frames.c  the frames that aren't folded yet
 *	journal_replay.c  their records, for the tree in RAM
 *	journal_status.c  numbers for people
 *	commit.c          cut, write, flush, publish; the committer
 *	commit_seal.c     seals
 *	wait.c            who waits for which number
 *	company.c         does it pay to wait for more of them
 *	checkpoint.c      fold and reap; the checkpointer
 *
 * LOCKS  j->lock is "the group lock". Fields under "lock" are read and
 * written with it held. Fields under "committer" belong to the one thread
 * that commits: the committer, or before it starts and after it ends (and
 * in manual mode) the caller. "checkpointer" likewise.
 */
#ifndef RS_JOURNAL_P_H
#define RS_JOURNAL_P_H

#include <pthread.h>

#include "journal/company.h"
#include "journal/fold.h"
#include "journal/group.h"
#include "journal/journal.h"

/* the file beside the marker, unless the marker names another */
#define RS_RING_NAME "intent.log"

/* Not reservable: room for a seal and the first frame of a few starts. */
#define RS_SPARE (4u * RS_PAGE)

/* Half of what a frame may have: worth a flush, if no other is under way. */
static inline int rs_group_is_half(const struct rs_group *g)
{
	return g->fill >= g->cap / 2 || g->chunks >= RS_GROUP_CHUNKS / 2;
}

/* Frames that aren't folded: a circle of refs, oldest first. */
struct rs_frames {
	struct rs_frame_ref *ref;
	size_t cap, first, n;
};

struct rs_waiters {
	struct rs_waiter *first, **last;
	size_t n;
};

enum rs_demand {
	RS_DEMAND_NONE,
	RS_DEMAND_CALLER, /* somebody waits for its flush */
	RS_DEMAND_NOW	  /* somebody waits for its room */
};

struct rs_journal {
	/* set by open, then constant */
	struct rs_journal_cfg cfg;
	char *dir;
	const struct rs_seam *seam;
	int dirfd, lockfd;
	struct rs_marker marker;
	struct rs_crypto *crypto;
	struct rs_ring *ring;
	struct rs_store *store;
	uint64_t ring_size, ring_reserve;
	uint64_t kept_limit;
	int has_group;

	pthread_mutex_t lock;
	pthread_cond_t work; /* committer: something to do */
	pthread_cond_t fold; /* checkpointer: something to do */
	pthread_cond_t room; /* sleepers: room, durable or poisoned */

	/* lock: the open group */
	struct rs_group group;
	struct timespec opened; /* first record of the open group */
	enum rs_demand demand;	/* cut as soon as no frame is in flight */
	unsigned int flush_interval;

	/* lock: the frame in flight */
	int in_flight;
	size_t flight_bytes;
	struct timespec flight_opened;
	uint64_t flight_bound; /* bytes of the ring that it may come to use */
	uint64_t durable;

	/* lock: reservations */
	size_t outstanding; /* bytes */
	size_t n_outstanding;
	size_t n_sleepers; /* SMALL without room */
	int refused;	   /* somebody got RS_EPARK since space() was called */

	/* lock: the ring's book */
	struct rs_frames frames;
	uint64_t head; /* as the ring's, after the last frame */
	uint64_t highest;
	uint64_t kept_bytes;
	struct timespec oldest_since; /* not before the oldest frame's write */

	/* lock: waiters */
	struct rs_waiters wait_open, wait_flight;
	struct rs_company company;
	size_t want; /* the committer sleeps until so many wait; 0: not so */

	/* lock: state */
	int poisoned;	  /* the error, or 0 */
	int store_broken; /* likewise (C6) */
	int store_amber;
	const char *why; /* why poisoned */
	int stopping, checkpoint_stop;
	int kick;
	uint64_t applied;
	uint64_t ceiling;   /* durable */
	int ceiling_known;  /* frames found at open were looked through */
	uint64_t damage;    /* as the root record has it */
	uint64_t bad_noted; /* of rs_store_bad(): in damage */
	uint64_t store_used, store_reserved;
	struct timespec last_commit;

	/* lock: counts for status */
	uint64_t n_frames, n_flushes, n_seals, n_bytes, n_served, n_awaited;
	uint64_t n_checkpoints, n_folded;
	uint64_t flush_us_last, flush_us_sum;

	/* committer */
	uint8_t *page; /* for seals */
	int unsealed;  /* something was flushed since the last seal */
	int clean;     /* the ring ends in a clean seal */

	/* checkpointer */
	uint64_t fold_bytes;   /* next transaction's limit (C5) */
	struct timespec retry; /* the last one that found no room */
	struct timespec last_reap;
	int reap_left; /* inodes that the kernel still knew */

	int started;
	int threads; /* 1: committer runs, 2: checkpointer too */
	pthread_t committer, checkpointer;
};

/* ---- time, by the seam's clock ---- */
void rs_journal_now(const struct rs_journal *j, struct timespec *ret);
/* microseconds from a to b, 0 if b is earlier */
uint64_t rs_journal_us(const struct timespec *a, const struct timespec *b);
/* Sleep on cond for at most us (0: without limit), lock held. */
void rs_journal_sleep(struct rs_journal *j, pthread_cond_t *cond, uint64_t us);

/* ---- frames ---- */
RS_MUST_USE int rs_frames_init(struct rs_frames *f, uint64_t ring_size);
void rs_frames_release(struct rs_frames *f);
void rs_frames_push(struct rs_frames *f, const struct rs_frame_ref *ref);
struct rs_frame_ref *rs_frames_at(const struct rs_frames *f, size_t i);
/* The oldest ones that stand together in memory; *ret_n of them. */
struct rs_frame_ref *rs_frames_run(const struct rs_frames *f, size_t *ret_n);
void rs_frames_pop(struct rs_frames *f, size_t n);

/* ---- the ring's book; lock held ---- */
/* bytes from the oldest needed frame to the head, skipped ones too */
uint64_t rs_journal_ring_used(const struct rs_journal *j);
/* bytes that a frame of size may take, with what it may skip */
uint64_t rs_journal_ring_bound(const struct rs_journal *j, uint64_t size);
/* May a page be written at the head without losing what is needed? */
int rs_journal_page_free(const struct rs_journal *j);
/* Call cfg.space() if somebody was refused; lock NOT held. */
void rs_journal_tell_space(struct rs_journal *j);

/* ---- waiters ---- */
void rs_waiters_init(struct rs_waiters *w);
void rs_waiters_add(struct rs_waiters *w, struct rs_waiter *waiter);
/* Move all of them out; the list's first. */
struct rs_waiter *rs_waiters_take(struct rs_waiters *w);
/* Append all of from to to. */
void rs_waiters_move(struct rs_waiters *to, struct rs_waiters *from);
/* Call each; lock NOT held. Returns their number. */
uint64_t rs_waiters_serve(struct rs_waiter *first, int err);

/* ---- commit; lock NOT held ---- */
/* First error of the ring: final. why is static. */
void rs_journal_poison(struct rs_journal *j, int err, const char *why);
RS_MUST_USE int rs_journal_seal(struct rs_journal *j, int clean);
/* Lock held. us until the group must be cut, 0: now, UINT64_MAX: not yet. */
uint64_t rs_journal_cut_due(const struct rs_journal *j,
			    const struct timespec *now);
void *rs_journal_committer(void *arg);

/* ---- checkpoint; lock NOT held ---- */
/* Lock held: is the ring half full, or are the kept bodies near their limit? */
int rs_journal_must_fold(const struct rs_journal *j);
void *rs_journal_checkpointer(void *arg);
/* Fold all frames; with reap, then clear the reap list. */
RS_MUST_USE int rs_journal_fold_rest(struct rs_journal *j, int reap,
				     void (*progress)(void *, uint64_t,
						      uint64_t),
				     void *arg, struct rs_report *rep);
/* One transaction over the oldest frames, of at most max of them. */
RS_MUST_USE int rs_journal_fold_some(struct rs_journal *j, size_t max, int gap,
				     struct rs_report *rep, size_t *ret_done);

/* What reads have met since is put into the root record. */
void rs_journal_note_bad(struct rs_journal *j);

/* ---- opening and closing ---- */
/* End the threads as a crash would: nothing more is cut or folded. */
void rs_journal_abandon(struct rs_journal *j);
/* Look through the frames found at open for the ceiling, if not done yet. */
RS_MUST_USE int rs_journal_know_ceiling(struct rs_journal *j);
/*
 * What data.mdb is given at once (G10): the bodies and an eighth for their
 * keys, trailers and half-full pages; for an inode its record, its entry and
 * a share of their pages.
 */
uint64_t rs_journal_reserve_for(uint64_t capacity, uint64_t inodes);

/*
 * flock on DIR/rspool.id. -EBUSY: *ret_owner is the pid, 0 if not known.
 */
RS_MUST_USE int rs_journal_lock_store(int dirfd, int shared, pid_t *ret_owner,
				      int *ret_fd);

#endif
