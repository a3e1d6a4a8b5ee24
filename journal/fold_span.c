/*
 * fold_span.c - pass 1 of a fold: whole frames into what they say of each
 * inode and name in the end.
 *
 * MODEL
 *	frame 7   INODE 5  DATA 5  ENTRY_PUT 1 "a"  INODE 1
 *	frame 8   INODE 5  DATA 5                             span
 *	frame 9   ENTRY_DEL 1 "a"  INODE_DEL 5  INODE 1
 *	          ------------------------------------
 *	          inode 5: born, dead -> nothing is written
 *	          inode 1: attributes as of frame 9
 *	          entry 1 "a": deleted
 *
 *	Names, data and targets stay where the frames are; the arena has the
 *	rest.
 *
 * INVARIANTS
 * I1	An inode that was born and died within the span costs no write, and
 *	its weight is given back, so that a span of short-lived mail reaches
 *	as far as the ring does.
 * I2	At least one frame is taken; memory for frames read from the ring is
 *	bounded by about twice the limit and one frame.
 */
#include <errno.h>

#include "journal/fold_p.h"

/* What a record that isn't data costs: a page or two of the tree, shared
 * with its neighbours. */
#define META_WEIGHT 2048u
/* A name that is gone in the end: most were never in the store. */
#define GONE_WEIGHT 128u
/* A DATA record however short: its chunk is read and written. */
#define DATA_WEIGHT 4096u
/* An allocated chunk without data: its record in a leaf page. */
#define ALLOC_WEIGHT 96u

struct rs_fold_inode *rs_fold_span_inode(const struct rs_fold_span *span,
					 uint64_t ino)
{
	/* a node is the first member */
	return (struct rs_fold_inode *)rs_fold_find(&span->inodes, ino);
}

static void weigh(struct rs_fold_span *span, struct rs_fold_inode *inode,
		  uint64_t weight)
{
	inode->weight += weight;
	span->weight += weight;
}

static void forget(struct rs_fold_span *span, struct rs_fold_inode *inode)
{
	span->weight -= inode->weight;
	inode->weight = 0;
	inode->ops = NULL;
	inode->ops_end = &inode->ops;
	inode->xattrs = NULL;
	inode->link = NULL;
	inode->link_len = 0;
	inode->has_attr = 0;
}

static struct rs_fold_inode *new_inode(struct rs_fold_span *span,
				       const struct rs_rec *rec)
{
	struct rs_fold_inode *inode = rs_fold_alloc(span, sizeof(*inode));

	if (!inode)
		return NULL;
	inode->node.hash = rec->ino;
	inode->ino = rec->ino;
	inode->first_prev = rec->prev;
	inode->born = rec->prev == 0 && rec->ino != RS_INO_ROOT;
	inode->ops_end = &inode->ops;
	if (rs_fold_insert(&span->inodes, &inode->node) < 0)
		return NULL;
	weigh(span, inode, META_WEIGHT);
	return inode;
}

/* An inode that died comes back: an unlogged one was logged again. */
static void rebirth(struct rs_fold_span *span, struct rs_fold_inode *inode)
{
	forget(span, inode);
	inode->dead = 0;
	inode->wiped = 1;
	inode->mismatch = 0;
	weigh(span, inode, META_WEIGHT);
}

/* The inode that rec is about; predecessors inside the span are compared. */
static struct rs_fold_inode *get_inode(struct rs_fold_span *span,
				       const struct rs_rec *rec, uint64_t frame)
{
	struct rs_fold_inode *inode = rs_fold_span_inode(span, rec->ino);

	if (!inode)
		inode = new_inode(span, rec);
	else if (inode->dead)
		rebirth(span, inode);
	else if (inode->last != frame && rec->prev != inode->last)
		inode->mismatch = 1;
	if (inode)
		inode->last = frame;
	return inode;
}

static int take_op(struct rs_fold_span *span, struct rs_fold_inode *inode,
		   const struct rs_rec *rec, uint64_t frame)
{
	struct rs_fold_op *op = rs_fold_alloc(span, sizeof(*op));

	if (!op)
		return -ENOMEM;
	op->type = rec->type;
	op->frame = frame;
	op->off = rec->off;
	op->len = rec->type == RS_REC_DATA ? rec->data_len : rec->range;
	op->data = rec->data;
	*inode->ops_end = op;
	inode->ops_end = &op->next;
	if (rec->type == RS_REC_DATA)
		span->data_bytes += rec->data_len;
	weigh(span, inode, DATA_WEIGHT);
	if (rec->type == RS_REC_DATA && op->len > DATA_WEIGHT)
		weigh(span, inode, op->len - DATA_WEIGHT);
	if (rec->type == RS_REC_ALLOC)
		weigh(span, inode, op->len / RS_CHUNK * ALLOC_WEIGHT);
	return 0;
}

static int take_xattr(struct rs_fold_span *span, struct rs_fold_inode *inode,
		      const struct rs_rec *rec, uint64_t frame)
{
	struct rs_fold_xattr *x;
	uint8_t hash[16];
	int err;

	err = rs_crypto_name_hash(span->store->crypto, rec->name, rec->name_len,
				  hash);
	if (err < 0)
		return err;
	for (x = inode->xattrs; x; x = x->next)
		if (memcmp(x->hash, hash, sizeof(hash)) == 0)
			break;
	if (!x) {
		x = rs_fold_alloc(span, sizeof(*x));
		if (!x)
			return -ENOMEM;
		memcpy(x->hash, hash, sizeof(hash));
		x->next = inode->xattrs;
		inode->xattrs = x;
	}
	x->frame = frame;
	x->put = rec->type == RS_REC_XATTR_PUT;
	x->rec = *rec;
	weigh(span, inode, META_WEIGHT + rec->data_len);
	return 0;
}

static struct rs_fold_entry *find_entry(const struct rs_fold_span *span,
					uint64_t at, const struct rs_rec *rec,
					const uint8_t hash[16])
{
	struct rs_fold_node *node;
	struct rs_fold_entry *entry;

	for (node = rs_fold_find(&span->entries, at); node;
	     node = rs_fold_again(node)) {
		entry = (struct rs_fold_entry *)node;
		if (entry->parent == rec->ino &&
		    memcmp(entry->hash, hash, 16) == 0)
			return entry;
	}
	return NULL;
}

static int take_entry(struct rs_fold_span *span, const struct rs_rec *rec,
		      uint64_t frame)
{
	struct rs_fold_entry *entry;
	uint8_t hash[16];
	uint64_t at;
	int err;

	err = rs_crypto_name_hash(span->store->crypto, rec->name, rec->name_len,
				  hash);
	if (err < 0)
		return err;
	at = rs_get64(hash) ^ rec->ino;
	entry = find_entry(span, at, rec, hash);
	if (!entry) {
		entry = rs_fold_alloc(span, sizeof(*entry));
		if (!entry)
			return -ENOMEM;
		entry->node.hash = at;
		entry->parent = rec->ino;
		memcpy(entry->hash, hash, sizeof(hash));
		err = rs_fold_insert(&span->entries, &entry->node);
		if (err < 0)
			return err;
		entry->put = 1;
		span->weight += META_WEIGHT;
	}
	/* A name that came and went costs a look into the store at most. */
	if (entry->put && rec->type == RS_REC_ENTRY_DEL)
		span->weight -= META_WEIGHT - GONE_WEIGHT;
	else if (!entry->put && rec->type == RS_REC_ENTRY_PUT)
		span->weight += META_WEIGHT - GONE_WEIGHT;
	entry->child = rec->child;
	entry->frame = frame;
	entry->dtype = rec->dtype;
	entry->put = rec->type == RS_REC_ENTRY_PUT;
	entry->name = rec->name;
	entry->name_len = rec->name_len;
	return 0;
}

static int take_record(struct rs_fold_span *span, const struct rs_rec *rec,
		       uint64_t frame)
{
	struct rs_fold_inode *inode;

	if (rec->type == RS_REC_CEILING) {
		if (rec->off > span->ceiling)
			span->ceiling = rec->off;
		return 0;
	}
	inode = get_inode(span, rec, frame);
	if (!inode)
		return -ENOMEM;
	switch (rec->type) {
	case RS_REC_INODE:
		inode->attr = rec->attr;
		inode->has_attr = 1;
		return 0;
	case RS_REC_INODE_DEL:
		forget(span, inode);
		inode->dead = 1;
		return 0;
	case RS_REC_ENTRY_PUT:
	case RS_REC_ENTRY_DEL:
		return take_entry(span, rec, frame);
	case RS_REC_XATTR_PUT:
	case RS_REC_XATTR_DEL:
		return take_xattr(span, inode, rec, frame);
	case RS_REC_LINK:
		inode->link = rec->data;
		inode->link_len = rec->data_len;
		weigh(span, inode, META_WEIGHT + rec->data_len);
		return 0;
	default:
		return take_op(span, inode, rec, frame);
	}
}

static int take_body(struct rs_fold_span *span, const uint8_t *body,
		     uint64_t len, uint64_t frame)
{
	struct rs_rec rec;
	uint64_t off = 0;
	int err;

	while (off < len) {
		err = rs_rec_decode(body + off, (size_t)(len - off), &rec);
		if (err == 0)
			err = take_record(span, &rec, frame);
		if (err < 0)
			return err;
		off += rec.len;
		span->records++;
	}
	return 0;
}

/* The frame's records: kept in RAM, or read and kept for the span. */
static int get_body(struct rs_fold_span *span, const struct rs_frame_ref *ref,
		    const uint8_t **ret_body)
{
	uint8_t **bufs, *buf;
	int err;

	if (ref->body) {
		*ret_body = ref->body;
		return 0;
	}
	bufs = realloc(span->bufs, (span->n_bufs + 1) * sizeof(*bufs));
	if (!bufs)
		return -ENOMEM;
	span->bufs = bufs;
	err = rs_ring_read_frame(span->ring, ref, &buf);
	if (err < 0)
		return err;
	bufs[span->n_bufs++] = buf;
	span->buf_bytes += ref->size;
	*ret_body = buf + RS_FRAME_HEADER;
	return 0;
}

/* Is there room for one more frame after the first? */
static int has_room(const struct rs_fold_span *span,
		    const struct rs_frame_ref *ref,
		    const struct rs_fold_limit *limit)
{
	if (span->weight >= limit->data_bytes)
		return 0;
	return ref->body ||
	       span->buf_bytes + ref->size <= 2 * limit->data_bytes;
}

int rs_fold_span_take(struct rs_fold_span *span,
		      const struct rs_frame_ref *refs, size_t n,
		      const struct rs_fold_limit *limit, size_t *ret_done)
{
	const uint8_t *body;
	size_t i;
	int err;

	for (i = 0; i < n; i++) {
		if (i > 0 && !has_room(span, &refs[i], limit))
			break;
		err = get_body(span, &refs[i], &body);
		/* Fold what is whole; the next call starts with this one. */
		if (err < 0 && i > 0)
			break;
		if (err == 0)
			err = take_body(span, body, refs[i].body_len,
					refs[i].number);
		if (err < 0)
			return err;
	}
	*ret_done = i;
	return 0;
}
