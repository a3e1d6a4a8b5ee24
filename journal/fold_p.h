/* fold_p.h - what the files of the fold share. */
#ifndef RS_FOLD_P_H
#define RS_FOLD_P_H

#include "journal/fold.h"
#include "journal/record.h"
#include "journal/store_p.h"

/* Intrusive hash table; nodes live in the arena or on the heap. */
struct rs_fold_node {
	struct rs_fold_node *next;
	uint64_t hash;
};

struct rs_fold_pick {
	struct rs_fold_node *node;
};

struct rs_fold_table {
	struct rs_fold_pick *slot;
	size_t n, size; /* size: 0 or a power of 2 */
};

/* DATA, TRUNC, PUNCH, ALLOC in their order */
struct rs_fold_op {
	struct rs_fold_op *next;
	enum rs_rec_type type;
	uint64_t frame, off, len;
	const uint8_t *data;
};

/* The last word on one xattr. */
struct rs_fold_xattr {
	struct rs_fold_xattr *next;
	uint8_t hash[16];
	uint64_t frame;
	int put;
	struct rs_rec rec; /* name and data */
};

/* What the span says of one inode. */
struct rs_fold_inode {
	struct rs_fold_node node; /* first; hash: ino */
	uint64_t ino;
	uint64_t first_prev; /* what its first record names as before */
	uint64_t last;	     /* frame of its last record */
	uint64_t weight;
	int born; /* first seen here, by the records themselves */
	int dead;
	int wiped;    /* died and was born again: nothing old remains */
	int mismatch; /* a predecessor inside the span does not fit */
	int alive;    /* pass 2: is in the store after this transaction */
	int has_attr;
	struct rs_attr attr;
	struct rs_fold_op *ops, **ops_end;
	struct rs_fold_xattr *xattrs;
	const uint8_t *link;
	size_t link_len;
};

/* The last word on one name of a directory. */
struct rs_fold_entry {
	struct rs_fold_node node; /* first */
	uint64_t parent, child, frame;
	uint8_t hash[16];
	uint8_t dtype;
	int put;
	const uint8_t *name;
	size_t name_len;
};

struct rs_fold_block; /* of the arena */

struct rs_fold_suspect {
	uint64_t ino, frame;
	enum rs_finding_kind kind;
	const char *why;
	int named;
};

struct rs_fold_span {
	struct rs_store *store;
	struct rs_ring *ring;
	struct rs_report *rep;
	int gap;

	struct rs_fold_block *blocks;
	size_t block_left;
	uint8_t **bufs; /* frames read from the ring, records in use */
	size_t n_bufs;
	uint64_t buf_bytes;

	struct rs_fold_table inodes, entries;
	uint64_t weight; /* what the transaction will cost, in bytes */
	uint64_t ceiling;
	uint64_t records, data_bytes;

	struct rs_stx *tx;	/* pass 2 */
	unsigned int cuts_left; /* chunks that TRUNC and PUNCH may delete */
	struct rs_fold_suspect *suspects;
	size_t n_suspects;
};

/* ---- fold_table.c ---- */

/* Memory until the span ends. NULL: none. */
void *rs_fold_alloc(struct rs_fold_span *span, size_t len);
struct rs_fold_node *rs_fold_find(const struct rs_fold_table *t, uint64_t hash);
/* The next one with the same hash, or NULL. */
struct rs_fold_node *rs_fold_again(const struct rs_fold_node *node);
RS_MUST_USE int rs_fold_insert(struct rs_fold_table *t,
			       struct rs_fold_node *node);
/* All t->n nodes into an array to be freed by the caller. */
RS_MUST_USE int rs_fold_list(const struct rs_fold_table *t,
			     struct rs_fold_pick **ret_list);
/* for qsort(3): by hash */
int rs_fold_by_hash(const void *a, const void *b);
void rs_fold_span_release(struct rs_fold_span *span);

/* ---- fold_span.c: pass 1 ---- */

/* Take refs[0..*ret_done) in: as many as the limit allows. */
RS_MUST_USE int rs_fold_span_take(struct rs_fold_span *span,
				  const struct rs_frame_ref *refs, size_t n,
				  const struct rs_fold_limit *limit,
				  size_t *ret_done);
struct rs_fold_inode *rs_fold_span_inode(const struct rs_fold_span *span,
					 uint64_t ino);

/* ---- fold_inode.c, fold_data.c: pass 2 ---- */

RS_MUST_USE int rs_fold_put_inode(struct rs_fold_span *span,
				  struct rs_fold_inode *inode);
RS_MUST_USE int rs_fold_suspect(struct rs_fold_span *span, uint64_t ino,
				uint64_t frame, enum rs_finding_kind kind,
				const char *why);

/*
 * Apply the inode's data operations. fresh: it has no chunks in the store
 * yet. sum and reap are those of the inode before and after. 1: done, but
 * an old chunk did not prove itself.
 */
RS_MUST_USE int rs_fold_put_data(struct rs_fold_span *span,
				 const struct rs_fold_inode *inode, int fresh,
				 struct rs_chunk_sum *sum,
				 struct rs_vreap *reap);

#endif
