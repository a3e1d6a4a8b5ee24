/*
 * fold.c - a checkpoint: whole frames of the ring become one transaction of
 * the store.
 *
 * MODEL
 *	refs --pass 1--> span (last word on each inode and name) --pass 2-->
 *	one LMDB transaction: inodes in the order of their numbers, entries
 *	in the order of their keys, the root with the last frame's number
 *
 * INVARIANTS  (C1 to C6 of ARCHITECTURE.md)
 * I1	Nothing is written that is in no durable frame: the tree in RAM isn't
 *	asked for anything.
 * I2	A transaction covers whole frames and names the last of them.
 * I3	Removing an entry, its inode and noting the inode for the reaper are
 *	one transaction.
 * I4	What a TRUNC or PUNCH cuts off is gone for readers with the very
 *	transaction, however much it is: up to CUTS chunks are deleted, a
 *	range on the reap list hides the rest until it is.
 *
 * CRASH	Before the commit: nothing happened, the ring has the frames still.
 *		After it: the same frames are not folded again, since the root
 *		names the last of them. Reaping goes on where it was.
 *
 * An earlier way for I4 was to delete in transactions of their own before the
 * one that folds the TRUNC. That made a state that is in no frame: had the
 * ring lost the frame in between, the file would have had a hole.
 */
#include <errno.h>

#include "journal/fold_p.h"

/* chunks that all TRUNC and PUNCH of one transaction may delete at once */
#define CUTS 1024u
/* frames taken whole: what is noted of them is a tenth of it or less */
#define WHOLE_MOST (UINT64_C(64) << 20)

static int by_key(const void *a, const void *b)
{
	const struct rs_fold_pick *p = a, *q = b;
	const struct rs_fold_entry *x, *y;

	x = (const struct rs_fold_entry *)p->node;
	y = (const struct rs_fold_entry *)q->node;
	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	return memcmp(x->hash, y->hash, sizeof(x->hash));
}

static int put_inodes(struct rs_fold_span *span)
{
	RS_AUTO_FREE struct rs_fold_pick *list = NULL;
	size_t i, n = span->inodes.n;
	int err;

	err = rs_fold_list(&span->inodes, &list);
	if (err < 0)
		return err;
	qsort(list, n, sizeof(*list), rs_fold_by_hash);
	for (i = 0; i < n && err == 0; i++)
		err = rs_fold_put_inode(span,
					(struct rs_fold_inode *)list[i].node);
	return err;
}

/* Is ino in the store after this transaction? */
static int lives(struct rs_fold_span *span, uint64_t ino)
{
	const struct rs_fold_inode *inode = rs_fold_span_inode(span, ino);
	struct rs_vinode v;
	int err;

	if (inode)
		return inode->alive;
	err = rs_stx_get_inode(span->tx, ino, &v);
	return err == -ENOENT ? 0 : err < 0 ? err : 1;
}

/* After a gap: the inode or the directory may be what is missing. 1: put. */
static int may_put(struct rs_fold_span *span, const struct rs_fold_entry *e)
{
	int has_child, has_dir;

	if (!span->gap)
		return 1;
	has_child = lives(span, e->child);
	if (has_child < 0)
		return has_child;
	has_dir = lives(span, e->parent);
	if (has_dir < 0 || (has_child && has_dir))
		return has_dir;
	rs_report_add(span->rep, RS_FIND_ENTRY, e->child, e->frame, UINT64_MAX,
		      e->name, e->name_len,
		      has_child ? "the entry's directory is missing"
				: "the entry's inode is missing");
	return 0;
}

static int put_entry(struct rs_fold_span *span, const struct rs_fold_entry *e)
{
	struct rs_ventry v = { .frame = e->frame,
			       .child = e->child,
			       .dtype = e->dtype,
			       .name = e->name,
			       .name_len = e->name_len };
	const struct rs_fold_inode *dir = rs_fold_span_inode(span, e->parent);
	struct rs_key key;
	int rc;

	if (dir && dir->dead && dir->born)
		return 0;
	rs_key_entry(&key, e->parent, e->hash);
	if (!e->put) {
		rc = rs_stx_del(span->tx, &key, NULL);
		return rc == -ENOENT ? 0 : rc;
	}
	rc = may_put(span, e);
	if (rc <= 0)
		return rc;
	return rs_stx_put(span->tx, &key, rs_ventry_encode(&v, span->tx->value),
			  NULL);
}

static int put_entries(struct rs_fold_span *span)
{
	RS_AUTO_FREE struct rs_fold_pick *list = NULL;
	size_t i, n = span->entries.n;
	int err;

	err = rs_fold_list(&span->entries, &list);
	if (err < 0)
		return err;
	qsort(list, n, sizeof(*list), by_key);
	for (i = 0; i < n && err == 0; i++)
		err = put_entry(span, (struct rs_fold_entry *)list[i].node);
	return err;
}

/* ---- what is suspect, by name ---- */

static int name_suspect(void *arg, const struct rs_walk_item *item)
{
	struct rs_fold_span *span = arg;
	struct rs_fold_suspect *s;
	struct rs_ventry v;
	size_t i;
	int err;

	err = rs_ventry_decode(item->body, item->len, &v);
	if (err < 0)
		return err;
	for (i = 0; i < span->n_suspects; i++) {
		s = &span->suspects[i];
		if (s->ino != v.child || s->named)
			continue;
		s->named = 1;
		rs_report_add(span->rep, s->kind, s->ino, s->frame, UINT64_MAX,
			      v.name, v.name_len, "%s", s->why);
	}
	return 0;
}

/* One walk over all entries, of the transaction's own state. */
static int report_suspects(struct rs_fold_span *span)
{
	RS_AUTO_FREE struct rs_walk *w = NULL;
	size_t i;
	int err;

	if (span->n_suspects == 0)
		return 0;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->crypto = span->store->crypto;
	w->opener = span->store->opener;
	w->txn = span->tx->txn;
	w->fn = name_suspect;
	w->arg = span;
	err = rs_walk_kind(w, 'E');
	if (err != 0)
		return err;
	for (i = 0; i < span->n_suspects; i++) {
		const struct rs_fold_suspect *s = &span->suspects[i];

		if (!s->named)
			rs_report_add(span->rep, s->kind, s->ino, s->frame,
				      UINT64_MAX, NULL, 0, "%s", s->why);
	}
	return 0;
}

static void set_root(struct rs_fold_span *span, const struct rs_frame_ref *last,
		     uint64_t found)
{
	struct rs_root *root = &span->tx->root;

	root->applied = last->number;
	root->applied_place = last->place;
	memcpy(root->applied_tag, last->tag, RS_TAG_LEN);
	root->next_place = last->place + last->size;
	if (span->ceiling > root->ceiling)
		root->ceiling = span->ceiling;
	root->damage += found;
}

/* Pass 2. */
static int write_span(struct rs_fold_span *span,
		      const struct rs_frame_ref *last)
{
	uint64_t found = span->rep->quarantined;
	int err;

	err = rs_stx_begin(span->store, &span->tx);
	if (err < 0)
		return err;
	span->cuts_left = CUTS;
	err = put_inodes(span);
	if (err == 0)
		err = put_entries(span);
	if (err == 0)
		err = report_suspects(span);
	if (err < 0) {
		rs_stx_abort(span->tx);
		return err;
	}
	set_root(span, last, span->rep->quarantined - found);
	return rs_stx_commit(span->tx);
}

/* The frames must follow the applied number, and each other. */
static int follows(const struct rs_root *root, const struct rs_frame_ref *refs,
		   size_t n, int gap)
{
	uint64_t prev = root->applied;
	size_t i;

	for (i = 0; i < n; i++) {
		if (refs[i].number <= prev || (!gap && refs[i].prev != prev))
			return 0;
		prev = refs[i].number;
	}
	return 1;
}

/* C6: what isn't a shortage ends this process's writing. */
static int judge(struct rs_fold_span *span, const struct rs_frame_ref *ref,
		 int err)
{
	if (err == -ENOMEM || err == -ENOSPC)
		return err;
	if (err == -EBADMSG)
		err = -EUCLEAN;
	rs_report_add(span->rep, RS_FIND_FRAME, 0, ref->number, ref->place,
		      NULL, 0, "a checkpoint can't read it: %s",
		      err == -EUCLEAN ? "it is damaged" : "i/o error");
	return err;
}

/* Findings of a transaction that was committed, or that ended the folding;
 * an attempt that is made again finds its own again. */
static void hand_over(const struct rs_report *own, struct rs_report *rep)
{
	const struct rs_finding *f;
	size_t i, n;

	for (i = 0; i < own->n_findings; i++) {
		f = &own->findings[i];
		n = rep->n_findings;
		rs_report_add(rep, f->kind, f->ino, f->number, f->place, NULL,
			      0, "%s", f->why);
		if (rep->n_findings > n)
			memcpy(rep->findings[n].name, f->name, sizeof(f->name));
	}
	rep->quarantined += own->findings_lost;
	rep->findings_lost += own->findings_lost;
}

/*
 * Mail that lives for a second has many survivors wherever a transaction
 * ends: as many as are on their way just then. Cut into small ones, all of it
 * would be written; as one, only those that are on their way at the end.
 * 1: the frames in RAM are in the span, and few of their bytes survive.
 */
static int take_whole(struct rs_fold_span *span,
		      const struct rs_frame_ref *refs, size_t n,
		      const struct rs_fold_limit *limit, size_t *ret_done)
{
	const struct rs_fold_limit none = { .data_bytes = UINT64_MAX };
	struct rs_fold_span empty = *span;
	uint64_t bytes = 0;
	size_t kept = 0;

	while (kept < n && refs[kept].body && bytes < WHOLE_MOST)
		bytes += refs[kept++].body_len;
	if (kept < 2 || bytes <= limit->data_bytes || !limit->whole_bytes)
		return 0;
	if (rs_fold_span_take(span, refs, kept, &none, ret_done) == 0 &&
	    span->weight <= limit->whole_bytes && span->weight < bytes / 2)
		return 1;
	rs_fold_span_release(span);
	*span = empty;
	return 0;
}

static int fold(struct rs_fold_span *span, const struct rs_frame_ref *refs,
		size_t n, const struct rs_fold_limit *limit, size_t *ret_done)
{
	size_t done;
	int err = 0;

	if (!take_whole(span, refs, n, limit, &done))
		err = rs_fold_span_take(span, refs, n, limit, &done);
	if (err < 0)
		return judge(span, &refs[0], err);
	err = write_span(span, &refs[done - 1]);
	if (err < 0)
		return err;
	span->rep->frames_replayed = done;
	*ret_done = done;
	return 0;
}

int rs_fold(struct rs_store *store, struct rs_ring *ring,
	    const struct rs_frame_ref *refs, size_t n,
	    const struct rs_fold_limit *limit, int gap, struct rs_report *rep,
	    size_t *ret_done)
{
	struct rs_report own;
	struct rs_fold_span span = {
		.store = store, .ring = ring, .rep = &own, .gap = gap
	};
	struct rs_root root;
	int err;

	*ret_done = 0;
	if (n == 0)
		return 0;
	rs_store_root(store, &root);
	if (!follows(&root, refs, n, gap))
		return -EINVAL;
	rs_report_init(&own);
	err = fold(&span, refs, n, limit, ret_done);
	if (rep && err == 0) {
		rep->frames_replayed += own.frames_replayed;
		rep->records_replayed += span.records;
		rep->bytes_replayed += span.data_bytes;
	}
	if (rep && err != -ENOMEM && err != -ENOSPC)
		hand_over(&own, rep);
	rs_fold_span_release(&span);
	rs_report_release(&own);
	return err;
}
