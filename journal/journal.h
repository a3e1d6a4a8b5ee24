/*
 * journal.h - the journal as the tree and the tools see it: one open group
 * that takes intents, a committer, a checkpointer, recovery at open.
 *
 * LOCKS  order: tree (fs core), then the journal's group lock. Callbacks
 * (waiters, space) are made without any journal lock held.
 */
#ifndef RS_JOURNAL_H
#define RS_JOURNAL_H

#include "include/rs_seam.h"
#include "journal/marker.h"
#include "journal/record.h"
#include "journal/recover.h"
#include "journal/report.h"
#include "journal/store.h"

struct rs_journal;

enum rs_journal_mode {
	RS_JOURNAL_SERVE,   /* daemon: writes, threads */
	RS_JOURNAL_RECOVER, /* writes the store, no new frames but a seal */
	RS_JOURNAL_RDONLY,  /* verify, dump, --dry-run, --to: changes nothing */
};

struct rs_journal_cfg {
	const char *dir;
	const char *ring_path;	    /* NULL: as the marker says */
	const uint8_t *site_key;    /* RS_KEY_LEN bytes or NULL */
	const struct rs_seam *seam; /* NULL: rs_seam_posix */
	enum rs_journal_mode mode;
	unsigned int flush_interval;	  /* ms */
	unsigned int checkpoint_interval; /* ms; 0: 30000 */
	int manual;	 /* no threads: tests drive rs_journal_*_once() */
	int inline_walk; /* see rs_store_check() */
	/* may be NULL: space may have come back (parked requests) */
	void (*space)(void *arg);
	/* may be NULL: poisoned, once, from any thread, before any waiter gets
	 * its -EIO; why is static */
	void (*poisoned)(void *arg, int err, const char *why);
	/* may be NULL: does the kernel still know this removed inode (C4) */
	int (*inode_in_use)(void *arg, uint64_t ino);
	void *arg;
};

/*
 * Make an empty store in dir, which must be an empty directory or not exist
 * (0700). Marker last; after a failure everything made is removed.
 * Errors: -ENOTEMPTY, -EBUSY (somebody makes one there), -EINVAL (sizes),
 * -ENOSPC, ...
 */
struct rs_store_spec {
	const char *dir, *ring_path; /* ring_path NULL: in dir */
	const uint8_t *site_key;
	uint64_t ring_size, capacity, inodes;
	uint32_t uid, gid; /* of the root directory */
	const struct rs_seam *seam;
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	void *arg;
};
RS_MUST_USE int rs_journal_init_store(const struct rs_store_spec *spec,
				      int *ret_cow);

/*
 * SERVE: make the store larger than it was made for: disk space and marker,
 * durable on return. Never makes it smaller: what is less than it has is left
 * as it is. One caller at a time. Errors: -ENOSPC (nothing has changed),
 * -EINVAL (sizes), -EOPNOTSUPP (the filesystem can't reserve), -errno.
 */
RS_MUST_USE int rs_journal_grow(struct rs_journal *j, uint64_t capacity,
				uint64_t inodes);

/*
 * Lock (flock on rspool.id: -EBUSY, *ret_owner gets the pid when known),
 * read the marker, check the store, open ring and store, find the chain. For
 * SERVE and RECOVER flush ring and store once before anything counts as
 * durable. Frames of a chain with a gap are folded here; damage is in rep.
 * Errors: -EBUSY, -EUCLEAN (damage that no opening survives), -ENOKEY,
 * those of rs_marker_read(), -EIO, ...; rep says more.
 */
RS_MUST_USE int rs_journal_open(const struct rs_journal_cfg *cfg,
				struct rs_report *rep, pid_t *ret_owner,
				struct rs_journal **ret_journal);
/*
 * Frees everything; no cut, no flush, no checkpoint: without rs_journal_stop()
 * before it this is what a crash leaves. Who still waits gets -EIO.
 */
void rs_journal_close(struct rs_journal *j);

const struct rs_marker *rs_journal_marker(const struct rs_journal *j);
struct rs_store *rs_journal_store(struct rs_journal *j);
struct rs_ring *rs_journal_ring(struct rs_journal *j);
/* first inode number that certainly was never used; durable */
uint64_t rs_journal_ceiling(struct rs_journal *j);

/* Every record of every frame not folded yet, in order; see rs_rec. */
RS_MUST_USE int rs_journal_replay(struct rs_journal *j,
				  int (*fn)(void *arg, const struct rs_rec *rec,
					    uint64_t number),
				  void *arg, struct rs_report *rep);

/* RECOVER: fold everything that is in the ring, reap, seal. */
RS_MUST_USE int rs_journal_fold_all(struct rs_journal *j,
				    void (*progress)(void *, uint64_t,
						     uint64_t),
				    void *arg, struct rs_report *rep);

/*
 * SERVE: draw the salt, write and flush a first frame with a raised ceiling
 * (so that the clean seal is gone before anything is acknowledged), start
 * the threads.
 */
RS_MUST_USE int rs_journal_start(struct rs_journal *j);
/*
 * Cut, flush, end the threads; unless fast: fold everything and write the
 * clean seal. 0, or -EIO when poisoned (what was acknowledged is safe).
 */
RS_MUST_USE int rs_journal_stop(struct rs_journal *j, int fast);

/* ---- appending ---- */

enum rs_need {
	RS_NEED_SMALL, /* draws on the reserve; never waits for a checkpoint */
	RS_NEED_GROW,  /* brings data; may have to wait */
};
#define RS_EPARK (-20001) /* GROW only: no room now, again after space() */

/*
 * Ask for room for bytes of records (upper bound) in whatever group is open
 * when they are appended. Called without the tree lock: SMALL may sleep
 * until the frame in flight is flushed when the open group is full. bytes is
 * at most rs_journal_max_bytes(). 0, RS_EPARK, -ENOSPC (store broken and the
 * ring at its reserve for good: GROW; used up: SMALL; or more than
 * rs_journal_max_bytes()), -EROFS (poisoned, stopping). SMALL in manual mode
 * commits and folds by itself where it would sleep.
 */
RS_MUST_USE int rs_journal_reserve(struct rs_journal *j, size_t bytes,
				   enum rs_need need);
/* Give back what rs_journal_reserve() took; always exactly once each. */
void rs_journal_unreserve(struct rs_journal *j, size_t bytes);
size_t rs_journal_max_bytes(const struct rs_journal *j);

/* Where a record stands in the open group. Zeroed: nowhere. */
struct rs_mark {
	uint64_t number;
	uint32_t off;
};

/*
 * All records of one operation go between begin and end, under the tree
 * lock and a reservation: they land in one frame. begin returns the number
 * that this frame will have.
 */
uint64_t rs_journal_begin(struct rs_journal *j);
/* Append. mark (may be NULL) is set to where it stands. Can't fail. */
void rs_journal_put(struct rs_journal *j, const struct rs_rec *rec,
		    struct rs_mark *mark);
/*
 * As put, but when mark is in the open group that record, of the same type,
 * ino and length, is overwritten: one INODE record per inode and group.
 */
void rs_journal_replace(struct rs_journal *j, const struct rs_rec *rec,
			struct rs_mark *mark);
/* Take a record of the open group back; no-op when mark is older. */
void rs_journal_void(struct rs_journal *j, struct rs_mark *mark);
/*
 * ino was born in the open group and dies in it: at the cut all records
 * about it are dropped (those of its entries are voided by mark). Takes
 * RS_REC_HEADER bytes of the reservation.
 */
void rs_journal_elide(struct rs_journal *j, uint64_t ino);
void rs_journal_end(struct rs_journal *j);

/* ---- durability ---- */

struct rs_waiter {
	struct rs_waiter *next;			  /* the journal's */
	uint64_t number;			  /* the journal's */
	void (*fn)(struct rs_waiter *w, int err); /* 0 or -EIO */
};

uint64_t rs_journal_open_number(struct rs_journal *j);
/* The highest number that is durable; rises by itself without new frames. */
uint64_t rs_journal_durable(struct rs_journal *j);

/*
 * Call w->fn once frame number is durable, or with -EIO once poisoned.
 * Returns 1 if it is durable already (fn is not called), 0 if queued (fn
 * comes from the committer; demands a cut if number is the open group's),
 * -EIO if poisoned, whatever the number (fn is not called). number 0 means
 * everything appended.
 */
RS_MUST_USE int rs_journal_wait(struct rs_journal *j, uint64_t number,
				struct rs_waiter *w);
/* The same, blocking; for tools and shutdown, never for FUSE workers. */
RS_MUST_USE int rs_journal_sync(struct rs_journal *j);

/*
 * Manual driving: one cut+write+flush (0 also with nothing to cut, -EIO when
 * poisoned); one checkpoint transaction or reap (0, -ENOSPC, -ENOMEM: again
 * later; others: the store is broken, and -EROFS from then on).
 */
RS_MUST_USE int rs_journal_commit_once(struct rs_journal *j);
RS_MUST_USE int rs_journal_checkpoint_once(struct rs_journal *j, int *ret_more);
/* Ask for a cut and for the checkpointer to fold now (threads). */
void rs_journal_kick_checkpoint(struct rs_journal *j);
/*
 * For who brings data and is no request that can be parked: the same, and
 * wait a moment (in manual mode: do one of each). Without the tree lock.
 */
void rs_journal_await_space(struct rs_journal *j);
void rs_journal_set_flush_interval(struct rs_journal *j, unsigned int ms);

struct rs_journal_status {
	int poisoned;
	char why[160];	  /* why poisoned or store broken */
	int store_broken; /* C6: red, ring goes on until its reserve */
	int store_amber;  /* last checkpoint failed, is tried again */
	uint64_t open_number, durable, applied, highest;
	uint64_t ring_size, ring_used, ring_reserve;
	uint64_t unsynced_bytes;  /* records not durable yet */
	uint64_t unsynced_age_ms; /* age of the oldest of them */
	int due; /* some of them are on their way, asked for, or old enough */
	uint64_t frames, flushes, seals, frame_bytes; /* since start */
	uint64_t waiters_served, checkpoints, folded_frames;
	uint64_t awaited;    /* times that a cut waited for company */
	uint64_t kept_bytes; /* frames kept in RAM until folded */
	uint64_t flush_us_last, flush_us_avg;
	uint64_t store_used, store_reserved;
	uint64_t ceiling;
	uint64_t damage;
};
void rs_journal_status(struct rs_journal *j, struct rs_journal_status *ret);

#endif
