/*
 * ll.h - the tree as a mount: requests of the kernel in, replies out.
 *
 * The only part that sees libfuse, and it shows nothing of it here. One
 * struct rs_ll is one mount. Order of a life:
 *
 *	rs_ll_new        /dev/fuse opened, child for the self-test forked
 *	rs_ll_attach     core and journal are there
 *	rs_ll_mount      visible; requests wait
 *	rs_ll_serve      workers run, self-test passed
 *	...              until ended() is called or the daemon wants an end
 *	rs_ll_umount     or rs_ll_detach
 *	rs_ll_halt       no request is worked on any more
 *	rs_journal_stop  answers the last waiters
 *	rs_ll_free       the kernel sees the connection close
 *
 * LOCKS  none that a caller could meet: callbacks are made without any.
 */
#ifndef RS_LL_H
#define RS_LL_H

#include "fs/core.h"
#include "include/rs_base.h"

struct rs_ll;

/* What a mount has to tell; text is valid during the call only. */
enum rs_ll_event {
	RS_LL_READONLY,	     /* poisoned: the superblock is read-only now */
	RS_LL_READONLY_BUSY, /* not yet, files are open for writing */
	RS_LL_READONLY_FAIL, /* and won't be: text says why */
	RS_LL_PARK_FULL,     /* requests wait for room, or got ENOSPC */
	RS_LL_LIBRARY,	     /* libfuse says text */
};

struct rs_ll_cfg {
	const char *source;   /* shown in the mount table: the store's path */
	const char *mnt;      /* absolute, without symlinks */
	unsigned long flags;  /* MS_NOSUID, MS_RDONLY ... of mount(2) */
	const char *data;     /* more options for the kernel, or NULL */
	int xattr;	      /* 0: one ENOSYS, then the kernel asks no more */
	unsigned int stall;   /* seconds that a parked request waits */
	unsigned int workers; /* threads that read /dev/fuse; 0: 2 */
	/* the session is over (unmounted by whomever); from a worker, once */
	void (*ended)(void *arg);
	/* may be NULL; from any thread */
	void (*event)(void *arg, enum rs_ll_event what, const char *text);
	void *arg;
};

/*
 * Open /dev/fuse and fork the self-test's child; call before anything that a
 * fork disturbs (threads, LMDB). Strings of cfg are copied.
 * Errors: -ENOENT, -EACCES, -ENODEV (/dev/fuse), -ENOMEM, -EAGAIN (fork).
 */
RS_MUST_USE int rs_ll_new(const struct rs_ll_cfg *cfg, struct rs_ll **ret_ll);
/* journal may be NULL (tests without a log): then fsync returns at once. */
void rs_ll_attach(struct rs_ll *ll, struct rs_core *core,
		  struct rs_journal *journal);

/* mount(2): -EPERM, -EINVAL (an option the kernel refuses), -EBUSY ... */
RS_MUST_USE int rs_ll_mount(struct rs_ll *ll);
/*
 * Start the workers and prove that fsync and fsyncdir arrive. On an error
 * nothing runs and the mount is detached: -ETIMEDOUT (self-test hung),
 * -EPROTO (a request did not arrive), -EAGAIN (threads), -EIO.
 */
RS_MUST_USE int rs_ll_serve(struct rs_ll *ll);

/* For the journal's callbacks: room may be back; the log is poisoned. */
void rs_ll_space(struct rs_ll *ll);
void rs_ll_poisoned(struct rs_ll *ll);

/* umount2(2) of what is ours; -EBUSY changed nothing; 0 if gone already. */
RS_MUST_USE int rs_ll_umount(struct rs_ll *ll);
/* The name goes at once; who has files open goes on. */
int rs_ll_detach(struct rs_ll *ll);
/* Is the mount still in the mount table? */
int rs_ll_is_mounted(struct rs_ll *ll);
/* Device number that stat(2) shows for files of this mount. */
dev_t rs_ll_dev(const struct rs_ll *ll);

/* End and join all threads; parked requests get EIO. Repeatable. */
void rs_ll_halt(struct rs_ll *ll);
/* rs_ll_halt(), then close the connection: further calls get ENOTCONN. */
void rs_ll_free(struct rs_ll *ll);

struct rs_ll_status {
	uint64_t parked, parked_bytes; /* waiting now, for room or for data */
	uint64_t stalled;	       /* got ENOSPC after waiting, ever */
	uint64_t waits;		       /* times that room was awaited, ever */
	int readonly;		       /* remounted after poison */
};
void rs_ll_status(struct rs_ll *ll, struct rs_ll_status *ret);
/* Calls fn for each kind of request that came at least once. */
void rs_ll_requests(struct rs_ll *ll,
		    void (*fn)(void *arg, const char *name, uint64_t n),
		    void *arg);

#endif
