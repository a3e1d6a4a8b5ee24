/*
 * ll_close.c - links and renames that have to log something before.
 *
 * PURPOSE  What leaves a volatile place is logged first, which may wait for
 * room in the ring and for a flush, and for a tree may take minutes. No
 * worker has that time.
 *
 * MODEL  A queue and a thread for files, and another for trees, of which the
 * core does one at a time anyway: mail that leaves a scanner's directory
 * doesn't wait behind a tree that an administrator moves.
 *
 * LOCKS  close->lock covers the queue, nothing is called under it.
 */
#include "fs/ll_p.h"

#include <errno.h>

struct rs_ll_closing {
	struct rs_ll_closing *next;
	fuse_req_t req;
	int is_link;
	uint64_t ino; /* link */
	uint64_t parent, newparent;
	unsigned int flags;
	char name[RS_NAME_MAX + 1], newname[RS_NAME_MAX + 1];
};

static void serve(struct rs_ll_closing *call)
{
	if (call->is_link)
		rs_ll_link(call->req, call->ino, call->newparent,
			   call->newname);
	else
		rs_ll_rename(call->req, call->parent, call->name,
			     call->newparent, call->newname, call->flags);
	free(call);
}

static void *closer(void *arg)
{
	struct rs_ll_close *close = arg;
	struct rs_ll_closing *call;

	pthread_setname_np(pthread_self(), "rs-closer");
	pthread_mutex_lock(&close->lock);
	while (!close->stop) {
		call = close->head;
		if (!call) {
			pthread_cond_wait(&close->wake, &close->lock);
			continue;
		}
		close->head = call->next;
		pthread_mutex_unlock(&close->lock);
		serve(call);
		pthread_mutex_lock(&close->lock);
	}
	pthread_mutex_unlock(&close->lock);
	return NULL;
}

/* 0: the caller does it itself, however long it takes. */
static int push(struct rs_ll_close *close, struct rs_ll_closing *call)
{
	struct rs_ll_closing **tail = &close->head;
	int queued = 0;

	pthread_mutex_lock(&close->lock);
	if (close->running && !close->stop) {
		while (*tail)
			tail = &(*tail)->next;
		*tail = call;
		queued = 1;
		pthread_cond_signal(&close->wake);
	}
	pthread_mutex_unlock(&close->lock);
	return queued;
}

static struct rs_ll_close *choose(struct rs_ll *ll, enum rs_closes closes)
{
	return &ll->close[closes == RS_CLOSES_TREE];
}

int rs_ll_close_rename(fuse_req_t req, uint64_t parent, const char *name,
		       uint64_t newparent, const char *newname,
		       unsigned int flags)
{
	struct rs_ll *ll = rs_ll_of(req);
	struct rs_ll_closing *call;
	enum rs_closes closes;

	closes = rs_core_rename_closes(ll->core, parent, name, newparent,
				       newname, flags);
	if (closes == RS_CLOSES_NOTHING || strlen(name) > RS_NAME_MAX ||
	    strlen(newname) > RS_NAME_MAX)
		return 0;
	call = calloc(1, sizeof(*call));
	if (!call)
		return 0;
	call->req = req;
	call->parent = parent;
	call->newparent = newparent;
	call->flags = flags;
	memcpy(call->name, name, strlen(name) + 1);
	memcpy(call->newname, newname, strlen(newname) + 1);
	if (push(choose(ll, closes), call))
		return 1;
	free(call);
	return 0;
}

int rs_ll_close_link(fuse_req_t req, uint64_t ino, uint64_t parent,
		     const char *name)
{
	struct rs_ll *ll = rs_ll_of(req);
	struct rs_ll_closing *call;
	enum rs_closes closes = rs_core_link_closes(ll->core, ino, parent);

	if (closes == RS_CLOSES_NOTHING || strlen(name) > RS_NAME_MAX)
		return 0;
	call = calloc(1, sizeof(*call));
	if (!call)
		return 0;
	call->req = req;
	call->is_link = 1;
	call->ino = ino;
	call->newparent = parent;
	memcpy(call->newname, name, strlen(name) + 1);
	if (push(choose(ll, closes), call))
		return 1;
	free(call);
	return 0;
}

void rs_ll_close_init(struct rs_ll_close *close)
{
	pthread_mutex_init(&close->lock, NULL);
	pthread_cond_init(&close->wake, NULL);
}

int rs_ll_close_start(struct rs_ll_close *close)
{
	int err = pthread_create(&close->thread, NULL, closer, close);

	if (err)
		return -err;
	pthread_mutex_lock(&close->lock);
	close->running = 1;
	pthread_mutex_unlock(&close->lock);
	return 0;
}

void rs_ll_close_stop(struct rs_ll_close *close)
{
	struct rs_ll_closing *call;
	int running;

	pthread_mutex_lock(&close->lock);
	close->stop = 1;
	running = close->running;
	close->running = 0;
	pthread_cond_signal(&close->wake);
	pthread_mutex_unlock(&close->lock);
	if (running)
		pthread_join(close->thread, NULL);
	while ((call = close->head)) {
		close->head = call->next;
		rs_ll_reply_err(call->req, -EIO);
		free(call);
	}
}

void rs_ll_close_release(struct rs_ll_close *close)
{
	pthread_cond_destroy(&close->wake);
	pthread_mutex_destroy(&close->lock);
}
