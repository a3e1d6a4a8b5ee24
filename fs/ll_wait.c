/*
 * ll_wait.c - replies that are held back until what they tell is durable.
 *
 * Under the policies rename and always a change is answered only after the
 * frame it stands in was flushed; the same waits for fsync. The request is
 * handed to the journal and the worker goes on: the committer sends the
 * reply.
 *
 * After a failed flush (G6) the reply is EIO, though the change was made in
 * RAM: the caller must not count on it, and the mount takes no changes any
 * more. The kernel keeps the names as they were before, which is as good: of
 * such a change nobody knows what the disk has.
 *
 * Without memory for a waiter the worker does wait: the change was made, and
 * an error would have the kernel believe for ever that it wasn't.
 */
#include "fs/ll_p.h"

#include <errno.h>

struct waiting {
	struct rs_waiter waiter; /* first: the journal gives it back */
	fuse_req_t req;
	struct rs_ll_reply reply;
};

static void send_reply(fuse_req_t req, const struct rs_ll_reply *reply)
{
	switch (reply->kind) {
	case RS_LL_DONE:
		fuse_reply_err(req, 0);
		break;
	case RS_LL_ENTRY:
		rs_ll_reply_entry(req, 0, &reply->st);
		break;
	case RS_LL_CREATED:
		rs_ll_reply_create(req, 0, &reply->st, &reply->fi);
		break;
	case RS_LL_ATTR:
		rs_ll_reply_attr(req, &reply->st);
		break;
	case RS_LL_WRITTEN:
		fuse_reply_write(req, reply->count);
		break;
	}
}

static void fail(fuse_req_t req, const struct rs_ll_reply *reply, int err)
{
	/* the reference that the core took for the reply */
	if (reply->kind == RS_LL_ENTRY || reply->kind == RS_LL_CREATED)
		rs_core_forget(rs_ll_of(req)->core, reply->st.ino, 1);
	rs_ll_reply_err(req, err);
}

static void finish(fuse_req_t req, const struct rs_ll_reply *reply, int err)
{
	if (err)
		fail(req, reply, err);
	else
		send_reply(req, reply);
}

static void flushed(struct rs_waiter *w, int err)
{
	struct waiting *wait = (struct waiting *)w;

	finish(wait->req, &wait->reply, err);
	free(wait);
}

void rs_ll_reply_when(fuse_req_t req, uint64_t number,
		      const struct rs_ll_reply *reply)
{
	struct rs_ll *ll = rs_ll_of(req);
	struct waiting *wait;
	int ret;

	if (number == 0 || !ll->journal) {
		send_reply(req, reply);
		return;
	}
	wait = malloc(sizeof(*wait));
	if (!wait) {
		finish(req, reply, rs_journal_sync(ll->journal));
		return;
	}
	wait->waiter = (struct rs_waiter){ .fn = flushed };
	wait->req = req;
	wait->reply = *reply;
	ret = rs_journal_wait(ll->journal, number, &wait->waiter);
	if (ret == 0)
		return;
	free(wait);
	finish(req, reply, ret < 0 ? ret : 0);
}
