/*
 * fold_inode.c - pass 2: one inode of the span into the store.
 *
 * Three ways: it died (records go, chunks are left to the reaper), it was
 * born and died in the span (nothing), it lives (data, xattrs, target, and
 * last its 'I' record, which carries the number of its last frame).
 */
#include <errno.h>
#include <sys/stat.h>

#include "journal/fold_p.h"
#include "journal/store_parts.h"

#define STICKY (RS_IF_SUSPECT | RS_IF_GAP)

/* The inode and its place on the reap list as they were before. */
struct before {
	int has_inode, has_reap;
	struct rs_vinode v;
	struct rs_vreap reap;
};

static int get_before(struct rs_fold_span *span, uint64_t ino, struct before *b)
{
	int err;

	err = rs_stx_get_inode(span->tx, ino, &b->v);
	b->has_inode = err == 0;
	if (err == -ENOENT)
		err = 0;
	if (err == 0) {
		err = rs_stx_get_reap(span->tx, ino, &b->reap);
		b->has_reap = err == 0;
		if (err == -ENOENT)
			err = 0;
	}
	/* Metadata was proved when the store was opened. */
	return err == -EBADMSG ? -EUCLEAN : err;
}

int rs_fold_suspect(struct rs_fold_span *span, uint64_t ino, uint64_t frame,
		    enum rs_finding_kind kind, const char *why)
{
	struct rs_fold_suspect *more;

	more = realloc(span->suspects, (span->n_suspects + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	span->suspects = more;
	more += span->n_suspects++;
	memset(more, 0, sizeof(*more));
	more->ino = ino;
	more->frame = frame;
	more->kind = kind;
	more->why = why;
	return 0;
}

static int put_reap(struct rs_fold_span *span, uint64_t ino,
		    const struct before *b)
{
	struct rs_key key;

	if (b->reap.removed || b->reap.n)
		return rs_stx_put_reap(span->tx, ino, &b->reap);
	if (!b->has_reap)
		return 0;
	rs_key_ino(&key, 'Z', ino);
	return rs_stx_del(span->tx, &key, NULL);
}

/* The inode goes; C4: its chunks later. */
static int put_dead(struct rs_fold_span *span, struct rs_fold_inode *inode,
		    struct before *b)
{
	struct rs_key key;
	int err;

	if (!b->has_inode)
		return 0;
	rs_key_ino(&key, 'I', inode->ino);
	err = rs_stx_del(span->tx, &key, NULL);
	if (err == 0)
		err = rs_stx_del_all(span->tx, 'L', inode->ino);
	if (err == 0)
		err = rs_stx_del_all(span->tx, 'X', inode->ino);
	if (err < 0)
		return err;
	span->tx->root.blocks -= b->v.attr.blocks;
	if (b->v.nchunks == 0) {
		b->reap.n = 0;
		return put_reap(span, inode->ino, b);
	}
	b->reap.removed = 1;
	b->reap.frame = inode->last;
	b->reap.nchunks = b->v.nchunks;
	memcpy(b->reap.sum, b->v.sum, sizeof(b->reap.sum));
	return put_reap(span, inode->ino, b);
}

/*
 * A number that was removed comes back before its chunks were reaped: they
 * count as its own and are cut off.
 */
static void take_over(struct rs_fold_span *span, struct before *b)
{
	b->v.nchunks = b->reap.nchunks;
	memcpy(b->v.sum, b->reap.sum, sizeof(b->v.sum));
	b->reap.removed = 0;
	b->reap.nchunks = 0;
	memset(b->reap.sum, 0, sizeof(b->reap.sum));
	b->reap.n = 1;
	b->reap.range[0].from = 0;
	b->reap.range[0].to = UINT64_MAX;
	b->reap.range[0].until = span->tx->applied;
}

static int put_xattrs(struct rs_fold_span *span,
		      const struct rs_fold_inode *inode)
{
	const struct rs_fold_xattr *x;
	int err;

	if (inode->wiped) {
		err = rs_stx_del_all(span->tx, 'X', inode->ino);
		if (err == 0)
			err = rs_stx_del_all(span->tx, 'L', inode->ino);
		if (err < 0)
			return err;
	}
	for (x = inode->xattrs; x; x = x->next) {
		err = rs_stx_del_xattr(span->tx, inode->ino, x->hash);
		if (err == 0 && x->put)
			err = rs_stx_put_xattr(span->tx, inode->ino, &x->rec,
					       x->frame, x->hash);
		if (err < 0)
			return err;
	}
	return 0;
}

static int put_link(struct rs_fold_span *span,
		    const struct rs_fold_inode *inode)
{
	int err;

	if (!inode->link)
		return 0;
	err = rs_stx_del_all(span->tx, 'L', inode->ino);
	if (err < 0)
		return err;
	return rs_stx_put_link(span->tx, inode->ino, inode->last, inode->link,
			       inode->link_len);
}

/* Died and born again within the span: its old chunks are cut off. */
static void wipe(struct rs_fold_inode *inode, struct rs_fold_op *op)
{
	memset(op, 0, sizeof(*op));
	op->type = RS_REC_TRUNC;
	op->frame = inode->last;
	op->next = inode->ops;
	inode->ops = op;
}

static int put_data(struct rs_fold_span *span, struct rs_fold_inode *inode,
		    struct before *b, const char **ret_why)
{
	struct rs_chunk_sum sum;
	struct rs_fold_op op;
	int bad;

	if (inode->wiped && b->has_inode)
		wipe(inode, &op);
	if (!inode->ops)
		return 0;
	sum.n = b->v.nchunks;
	memcpy(sum.sum, b->v.sum, sizeof(sum.sum));
	bad = rs_fold_put_data(span, inode, sum.n == 0, &sum, &b->reap);
	if (inode->ops == &op)
		inode->ops = op.next;
	if (bad < 0)
		return bad;
	if (bad)
		*ret_why = "data that was to be changed does not prove itself";
	b->v.nchunks = sum.n;
	memcpy(b->v.sum, sum.sum, sizeof(sum.sum));
	return 0;
}

/* What is wrong with it by its predecessors: NULL if nothing is. */
static const char *predecessor(const struct rs_fold_inode *inode,
			       const struct before *b)
{
	uint64_t expect = b->has_inode ? b->v.frame : 0;

	if (inode->mismatch || inode->first_prev != expect)
		return "changes to it are missing";
	return NULL;
}

static int mark(struct rs_fold_span *span, struct rs_fold_inode *inode,
		struct rs_attr *attr, const char *why)
{
	int dir = S_ISDIR(attr->mode);

	if (!why)
		return 0;
	if (attr->flags & (dir ? RS_IF_GAP : RS_IF_SUSPECT))
		return 0; /* known and reported before */
	attr->flags |= dir ? RS_IF_GAP : RS_IF_SUSPECT;
	return rs_fold_suspect(span, inode->ino, inode->last,
			       dir ? RS_FIND_DIR_GAP : RS_FIND_INODE,
			       dir ? "entries may be missing or be back" : why);
}

static int put_alive(struct rs_fold_span *span, struct rs_fold_inode *inode,
		     struct before *b)
{
	const char *why = predecessor(inode, b);
	uint64_t blocks = b->has_inode ? b->v.attr.blocks : 0;
	uint32_t sticky = b->has_inode ? b->v.attr.flags & STICKY : 0;
	int err;

	if (!b->has_inode && !inode->has_attr)
		return rs_fold_suspect(span, inode->ino, inode->last,
				       RS_FIND_INODE,
				       "the inode's own record is missing");
	if (!b->has_inode && b->has_reap && b->reap.removed)
		take_over(span, b);
	err = put_data(span, inode, b, &why);
	if (err == 0)
		err = put_xattrs(span, inode);
	if (err == 0)
		err = put_link(span, inode);
	if (err == 0)
		err = put_reap(span, inode->ino, b);
	if (err < 0)
		return err;
	if (inode->has_attr)
		b->v.attr = inode->attr;
	b->v.attr.flags |= inode->wiped ? 0 : sticky;
	b->v.frame = inode->last;
	err = mark(span, inode, &b->v.attr, why);
	if (err < 0)
		return err;
	span->tx->root.blocks += b->v.attr.blocks - blocks;
	inode->alive = 1;
	return rs_stx_put_inode(span->tx, inode->ino, &b->v);
}

int rs_fold_put_inode(struct rs_fold_span *span, struct rs_fold_inode *inode)
{
	RS_AUTO_FREE struct before *b = NULL;
	int err;

	if (inode->dead && inode->born)
		return 0;
	b = rs_store_alloc(sizeof(*b));
	if (!b)
		return -ENOMEM;
	err = get_before(span, inode->ino, b);
	if (err < 0)
		return err;
	return inode->dead ? put_dead(span, inode, b)
			   : put_alive(span, inode, b);
}
