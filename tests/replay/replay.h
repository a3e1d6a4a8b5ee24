/*
 * replay.h - the calls that Postfix makes for a message, without Postfix.
 *
 * N processes are cleanup(8): each makes a file in incoming, renames it to its
 * inode number in hex, writes it in 4 KiB pieces, sets mode 0700 and fsyncs
 * it; from there on the message counts as answered 250. The queue manager of
 * each (a thread, or the same one by turns) renames it to active, reads it
 * twice, and removes it or defers it with a retry time to come as its mtime.
 *
 * Every process appends to one ledger outside of the tree, a line a fact, so
 * that its lines are in one order. KEY names a message for ever, INO is in
 * hex, times are in nanoseconds.
 *
 *	S KEY SIZE SEED		before the first call
 *	I KEY INO		created, before the first byte
 *	A KEY MTIME		fsync returned 0: this one must not be lost
 *	T KEY MTIME		before the time of a deferred one is set
 *	D KEY			before unlink
 *	R KEY			unlink returned 0
 */
#ifndef RS_REPLAY_H
#define RS_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* Postfix writes and reads queue files in pieces of this many bytes. */
#define RS_REPLAY_PIECE 4096u
#define RS_REPLAY_KEY 32   /* bytes of a key with its final 0 */
#define RS_REPLAY_PATH 512 /* bytes of a path below the queue directory */

struct rs_replay_opts {
	const char *dir;    /* the queue directory */
	const char *ledger; /* NULL: none is kept */
	unsigned int procs;
	unsigned int messages; /* of all processes */
	unsigned int seconds;  /* 0: until all messages are done */
	unsigned int size_low; /* bytes */
	unsigned int size_high;
	bool mix;	   /* 1 KB, 25 KB and 500 KB as 1000:100:10 instead */
	unsigned int keep; /* per cent that is deferred, not removed */
	unsigned int run;  /* part of the keys: runs share a ledger */
	uint64_t seed;
	bool inline_manager; /* no thread: the process does its part itself */
	bool set_times;	     /* an mtime before the fsync */
	bool no_fsync;	     /* what a spool that isn't safe would give */
};

/* One message on its way. */
struct rs_message {
	char key[RS_REPLAY_KEY];
	char name[24]; /* inode number in hex */
	uint64_t ino;
	uint64_t seed; /* of its bytes */
	unsigned int size;
	bool kept;
};

/* What one process reports; in memory shared with the parent. */
struct rs_worker_result {
	unsigned int acked;
	unsigned int removed;
	int error; /* -errno of the call that ended it, or 0 */
	char call[16];
	uint32_t *fsync_us; /* one for each acked, room for `room` */
	unsigned int room;
};

/* message.c */
uint64_t rs_mix(uint64_t v);
void rs_fill(uint64_t seed, uint64_t off, void *buf, size_t len);
void rs_replay_path(const struct rs_replay_opts *opts, const char *queue,
		    const char *name, char ret_path[RS_REPLAY_PATH]);

/*
 * ledger.c: one append a line. The descriptor is shared by all processes; -1
 * writes nothing. A ledger that can't be written ends the process: a test
 * that forgets is worse than none.
 */
int rs_ledger_open(const char *path);
void rs_ledger_line(int fd, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* deliver.c: the calls. 0 or -errno, the name of the call in `ret_call`. */
int rs_deliver(const struct rs_replay_opts *opts, int ledger,
	       struct rs_message *msg, uint32_t *ret_fsync_us,
	       const char **ret_call);
int rs_manage(const struct rs_replay_opts *opts, int ledger,
	      const struct rs_message *msg, const char **ret_call);

/* worker.c: one process; returns when its share is done or a call failed. */
void rs_worker_run(const struct rs_replay_opts *opts, int ledger,
		   unsigned int index, struct rs_worker_result *res);

/* run.c: all processes; prints one line of JSON. An exit code. */
int rs_replay_run(const struct rs_replay_opts *opts);

/* check.c: compare a tree with a ledger; prints what is wrong. An exit code. */
int rs_replay_check(const char *ledger, const char *dir, bool unique_inodes);

#endif
