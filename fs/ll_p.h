/*
 * ll_p.h - what the parts of the ll share among themselves.
 *
 * A handler owns exactly one reply: whoever has the fuse_req_t either sends
 * it or has handed the request to a list that will (parked, waiting for a
 * flush). Handlers run in the workers; none of them does I/O.
 */
#ifndef RS_LL_P_H
#define RS_LL_P_H

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>
#include <pthread.h>
#include <stdatomic.h>

#include "fs/caller.h"
#include "fs/ll.h"

/* Seconds that the kernel may believe names and attributes: for ever, since
 * nobody but it changes the tree. Not larger, jiffies have to hold it. */
#define RS_LL_FOREVER 1e9
/* Largest WRITE and READ in bytes: 256 pages, what 6.1 can. */
#define RS_LL_IO_MAX (1u << 20)
/* Node id of the self-test's file; no inode gets that far. */
#define RS_LL_TEST_INO (UINT64_MAX - 1)
/* Opcodes are small numbers; those beyond are counted together. */
#define RS_LL_OPCODES 64u
#define RS_LL_WORKERS_MAX 16u
#define RS_LL_READERS 2u

/* ---- ll_count.c ---- */
struct rs_ll_count {
	_Atomic uint64_t n[RS_LL_OPCODES];
};
/* buf: the request as read from /dev/fuse */
void rs_ll_count(struct rs_ll_count *count, const void *buf, size_t len);

/* ---- ll_park.c ---- */
enum rs_ll_kind {
	RS_LL_READ,
	RS_LL_WRITE,
	RS_LL_SETATTR,
	RS_LL_FALLOCATE,
	RS_LL_LSEEK,
};

/* A request about data, decoded: what it takes to try it again. */
struct rs_ll_call {
	struct rs_ll_call *next;
	fuse_req_t req;
	enum rs_ll_kind kind;
	uint64_t ino, off, len;
	unsigned int set;    /* SETATTR: RS_SET_ */
	struct rs_attr attr; /* SETATTR */
	int mode;	     /* FALLOCATE: FALLOC_FL_; LSEEK: whence */
	const void *data;    /* WRITE: len bytes; parked: our own copy */
	int whole;	     /* WRITE: a short count is no answer */
	uint64_t deadline;   /* ms of CLOCK_MONOTONIC: ENOSPC then; 0: room was
			      * never short */
	uint64_t grace;	     /* likewise, for RS_LL_EPARK_FORGET */
	int refused;	     /* there was no room for it; else it only stands
			      * behind one for which there was none */
};

/*
 * Real shortage, but files were removed whose FORGET may still be on its way
 * (the kernel sends it behind, so that after unlink(2) room is back a little
 * later than the caller knows): worth a short wait before ENOSPC.
 */
#define RS_LL_EPARK_FORGET (-20003)
#define RS_LL_GRACE_MS 500u

struct rs_ll_queue {
	struct rs_ll_call *head, **tail;
	uint64_t n, bytes;
};

struct rs_ll_park {
	pthread_mutex_t lock;	 /* all below */
	pthread_cond_t wake;	 /* of the parker */
	pthread_cond_t work;	 /* of the readers */
	struct rs_ll_queue room; /* wait for ring or RAM, first come first */
	struct rs_ll_queue cold; /* wait for data from the store */
	int trying; /* the parker has the head of room in its hands */
	int space, stop;
	atomic_int starving;	 /* room isn't empty; read without the lock */
	uint64_t stall;		 /* ms */
	uint64_t stalled, waits; /* see struct rs_ll_status */
	int told; /* RS_LL_PARK_FULL was said for this shortage */
	unsigned int threads;
	pthread_t thread[1 + RS_LL_READERS];
};

/* Try, and park it when it can't be done now. Owns the reply. */
void rs_ll_submit(struct rs_ll *ll, struct rs_ll_call *call);
void rs_ll_park_init(struct rs_ll_park *park);
RS_MUST_USE int rs_ll_park_start(struct rs_ll *ll);
void rs_ll_park_stop(struct rs_ll *ll);
void rs_ll_park_release(struct rs_ll_park *park);
/* The kernel forgot an inode: its room may be back. */
void rs_ll_park_forgot(struct rs_ll *ll);

/* ---- ll_close.c ---- */
struct rs_ll_closing;
struct rs_ll_close {
	pthread_mutex_t lock; /* all below */
	pthread_cond_t wake;
	struct rs_ll_closing *head;
	int running, stop;
	pthread_t thread;
};
/* 1: it is done elsewhere, with the reply; 0: not needed. */
int rs_ll_close_rename(fuse_req_t req, uint64_t parent, const char *name,
		       uint64_t newparent, const char *newname,
		       unsigned int flags);
int rs_ll_close_link(fuse_req_t req, uint64_t ino, uint64_t parent,
		     const char *name);
void rs_ll_close_init(struct rs_ll_close *close);
RS_MUST_USE int rs_ll_close_start(struct rs_ll_close *close);
void rs_ll_close_stop(struct rs_ll_close *close);
void rs_ll_close_release(struct rs_ll_close *close);

/* ---- ll_name.c ---- */
/* Do it, and reply. */
void rs_ll_rename(fuse_req_t req, uint64_t parent, const char *name,
		  uint64_t newparent, const char *newname, unsigned int flags);
void rs_ll_link(fuse_req_t req, uint64_t ino, uint64_t parent,
		const char *name);

/* ---- ll_selftest.c ---- */
struct rs_ll_test {
	char name[40];		    /* secret, in the root while it is open */
	atomic_int open;	    /* the name is there */
	atomic_int fsync, fsyncdir; /* what arrived while it was */
	pid_t child;
	int go; /* pipe: a byte lets the child begin */
};
RS_MUST_USE int rs_ll_test_fork(struct rs_ll *ll);
RS_MUST_USE int rs_ll_test_run(struct rs_ll *ll);
void rs_ll_test_release(struct rs_ll_test *test);
int rs_ll_test_is(struct rs_ll *ll, uint64_t parent, const char *name);
void rs_ll_test_stat(struct rs_stat *ret_st);

/* ---- ll_ro.c ---- */
struct rs_ll_ro {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	int want, stop, running;
	atomic_int done;
	pthread_t thread;
};
void rs_ll_ro_init(struct rs_ll_ro *ro);
RS_MUST_USE int rs_ll_ro_start(struct rs_ll *ll);
void rs_ll_ro_want(struct rs_ll_ro *ro);
void rs_ll_ro_stop(struct rs_ll_ro *ro);
void rs_ll_ro_release(struct rs_ll_ro *ro);

/* ---- one mount ---- */
struct rs_ll {
	struct rs_ll_cfg cfg; /* with strings of our own */
	struct rs_core *core;
	struct rs_journal *journal;
	struct fuse_session *session;
	int fd; /* /dev/fuse until the session has it, then -1 */
	dev_t dev;
	int mounted;
	atomic_int poisoned;
	atomic_int halting, ended;
	unsigned int workers, running;
	pthread_t worker[RS_LL_WORKERS_MAX];
	struct rs_ll_count count;
	struct rs_ll_park park;
	struct rs_ll_close close[2]; /* for files, for trees */
	struct rs_ll_test test;
	struct rs_ll_ro ro;
	struct rs_caller *caller; /* ll_dirsync.c */
};

/* ---- ll_reply.c: from our types to libfuse's ---- */
struct rs_ll *rs_ll_of(fuse_req_t req);
void rs_ll_who(fuse_req_t req, struct rs_who *ret_who);
void rs_ll_stat(const struct rs_stat *st, struct stat *ret_buf);
/* What the caller sees for a 0 or -errno (or park code) of the core. */
int rs_ll_errno(int err);
void rs_ll_reply_err(fuse_req_t req, int err);
void rs_ll_reply_attr(fuse_req_t req, const struct rs_stat *st);
/* err 0: an entry that the core took a reference for. */
void rs_ll_reply_entry(fuse_req_t req, int err, const struct rs_stat *st);
void rs_ll_reply_create(fuse_req_t req, int err, const struct rs_stat *st,
			const struct fuse_file_info *fi);
void rs_ll_fill_entry(const struct rs_stat *st,
		      struct fuse_entry_param *ret_entry);
uint64_t rs_ll_now_ms(void);

/* ---- ll_wait.c ---- */
enum rs_ll_answer {
	RS_LL_DONE, /* 0 and nothing more */
	RS_LL_ENTRY,
	RS_LL_CREATED,
	RS_LL_ATTR,
	RS_LL_WRITTEN,
};
struct rs_ll_reply {
	enum rs_ll_answer kind;
	struct rs_stat st;	  /* ENTRY, CREATED, ATTR */
	struct fuse_file_info fi; /* CREATED */
	size_t count;		  /* WRITTEN */
};
/*
 * Send it once frame number is durable (0: now), or EIO when the log is
 * broken by then. Takes req over; reply is copied.
 */
void rs_ll_reply_when(fuse_req_t req, uint64_t number,
		      const struct rs_ll_reply *reply);

/* ---- ll_dir.c, ll_dirsync.c ---- */
struct rs_ll_dir {
	_Atomic uint64_t bound;
	/* dirsync=caller, fixed before the handle is known to anybody */
	uint64_t number; /* the directory's last change at OPENDIR */
	int32_t opener;	 /* thread id */
	int own;	 /* it had changes of its own, durable since */
};
struct rs_ll_dir *rs_ll_dir_of(const struct fuse_file_info *fi);
RS_MUST_USE int rs_ll_dirsync_init(struct rs_ll *ll);
/* The caller of req has changed an entry of dir. Before the reply. */
void rs_ll_changed(fuse_req_t req, fuse_ino_t dir);
/* Answer OPENDIR, now or later; owns dir from then on. */
void rs_ll_open_dir(fuse_req_t req, fuse_ino_t ino, struct rs_ll_dir *dir);
void rs_ll_reply_dir(fuse_req_t req, struct rs_ll_dir *dir);
/* What FSYNCDIR has to wait for; 0: nothing. */
uint64_t rs_ll_dirsync_number(fuse_req_t req, fuse_ino_t ino,
			      const struct rs_ll_dir *dir);
void rs_ll_tell(struct rs_ll *ll, enum rs_ll_event what, const char *text);

/* ---- the handlers, a table a file ---- */
void rs_ll_ops_name(struct fuse_lowlevel_ops *ops);
void rs_ll_ops_attr(struct fuse_lowlevel_ops *ops);
void rs_ll_ops_data(struct fuse_lowlevel_ops *ops);
void rs_ll_ops_dir(struct fuse_lowlevel_ops *ops);
void rs_ll_ops_xattr(struct fuse_lowlevel_ops *ops);
void rs_ll_ops_sync(struct fuse_lowlevel_ops *ops);

/* ll_data.c: do it now; 0: replied, else one of the park codes */
RS_MUST_USE int rs_ll_try(struct rs_ll *ll, const struct rs_ll_call *call);

#endif
