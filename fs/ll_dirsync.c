/*
 * ll_dirsync.c - OPENDIR and FSYNCDIR under dirsync=caller.
 *
 * PURPOSE  While FSYNCDIR is out the kernel holds the directory's lock: no
 * create, rename, unlink or uncached look-up in it, and other fsyncs of it
 * queue up, one flush each. OPENDIR holds no lock. sendmail and Exim open,
 * fsync and close their queue's directory for each message, so the waiting
 * is moved from the fsync into the open, where all of them share a flush.
 *
 * MODEL
 *	create, rename ...	(directory, thread) -> frame, fs/caller.h
 *	OPENDIR			S = the directory's last change; whoever has
 *				changed something there just now is answered
 *				when S is durable, all others at once
 *	FSYNCDIR		waits for S and for what the caller itself has
 *				changed since; nothing is left as a rule
 *
 * INVARIANTS
 * I1 FSYNCDIR returns 0 only when all changes of the calling thread in the
 *    directory, and all that anybody made before OPENDIR was answered to
 *    such a thread or asked by another, are durable.
 * I2 Where it isn't known what the caller changed (no thread id: it lives
 *    outside of our pid namespace; another thread opened the directory; it
 *    changed nothing; the table was full) FSYNCDIR is strict: all changes
 *    made before it.
 * I3 The OPENDIR of who has changed nothing there never waits.
 * I4 After a failed flush OPENDIR succeeds and FSYNCDIR gives EIO.
 */
#include "fs/ll_p.h"

#include <errno.h>

/* Threads that can be in the middle of a message at a time, with room. */
#define SLOTS 16384u

int rs_ll_dirsync_init(struct rs_ll *ll)
{
	return rs_caller_new(SLOTS, &ll->caller);
}

static enum rs_caller_answer ask(struct rs_ll *ll, fuse_ino_t dir, int32_t tid,
				 uint64_t *ret_number)
{
	const struct rs_caller_now now = { rs_journal_durable(ll->journal),
					   rs_ll_now_ms() };

	return rs_caller_ask(ll->caller, dir, tid, &now, ret_number);
}

void rs_ll_changed(fuse_req_t req, fuse_ino_t dir)
{
	struct rs_ll *ll = rs_ll_of(req);
	int32_t tid = fuse_req_ctx(req)->pid;
	struct rs_caller_now now;
	uint64_t number;

	/* number covers what others did before too, which does no harm */
	if (!ll->journal || !tid ||
	    !rs_core_dirsync_caller(ll->core, dir, &number))
		return;
	now.durable = rs_journal_durable(ll->journal);
	now.ms = rs_ll_now_ms();
	rs_caller_note(ll->caller, dir, tid, number, &now);
}

struct opening {
	struct rs_waiter waiter; /* first: the journal gives it back */
	fuse_req_t req;
	struct rs_ll_dir *dir;
};

void rs_ll_reply_dir(fuse_req_t req, struct rs_ll_dir *dir)
{
	struct fuse_file_info fi = { .fh = (uintptr_t)dir };

	if (fuse_reply_open(req, &fi) == -ENOENT)
		free(dir);
}

/* err: FSYNCDIR will find the log broken too (I4) */
static void opened(struct rs_waiter *w, int err)
{
	struct opening *opening = (struct opening *)w;

	(void)err;
	rs_ll_reply_dir(opening->req, opening->dir);
	free(opening);
}

/* Has it changed something there just now? */
static int has_own(struct rs_ll *ll, fuse_ino_t ino, int32_t tid)
{
	uint64_t number;
	enum rs_caller_answer answer = ask(ll, ino, tid, &number);

	return answer == RS_CALLER_OWN || answer == RS_CALLER_RECENT;
}

/* 0: the reply comes from the committer */
static int park(struct rs_ll *ll, fuse_req_t req, struct rs_ll_dir *dir)
{
	struct opening *opening = malloc(sizeof(*opening));

	if (!opening)
		return -ENOMEM;
	*opening = (struct opening){ { .fn = opened }, req, dir };
	if (rs_journal_wait(ll->journal, dir->number, &opening->waiter) == 0)
		return 0;
	/* durable already; or broken, which FSYNCDIR will see */
	free(opening);
	return 1;
}

void rs_ll_open_dir(fuse_req_t req, fuse_ino_t ino, struct rs_ll_dir *dir)
{
	struct rs_ll *ll = rs_ll_of(req);

	dir->opener = fuse_req_ctx(req)->pid;
	if (ll->journal && dir->opener &&
	    rs_core_dirsync_caller(ll->core, ino, &dir->number))
		dir->own = has_own(ll, ino, dir->opener);
	if (!dir->own || !dir->number || park(ll, req, dir))
		rs_ll_reply_dir(req, dir);
}

uint64_t rs_ll_dirsync_number(fuse_req_t req, fuse_ino_t ino,
			      const struct rs_ll_dir *dir)
{
	struct rs_ll *ll = rs_ll_of(req);
	int32_t tid = fuse_req_ctx(req)->pid;
	enum rs_caller_answer answer;
	uint64_t strict, own = 0;

	/* strict covers everything, so it is right in every case */
	if (!tid || dir->opener != tid ||
	    !rs_core_dirsync_caller(ll->core, ino, &strict))
		return rs_core_sync_number(ll->core, ino);
	answer = ask(ll, ino, tid, &own);
	if (answer == RS_CALLER_UNKNOWN ||
	    (answer != RS_CALLER_OWN && !dir->own))
		return strict;
	return own > dir->number ? own : dir->number;
}
