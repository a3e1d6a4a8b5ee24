/* store_p.h - what the files of the store share. */
#ifndef RS_STORE_P_H
#define RS_STORE_P_H

#include <pthread.h>

#include "journal/chunk.h"
#include "journal/store_kv.h"
#include "journal/store_meta.h"

struct rs_store {
	char *dir;
	const struct rs_crypto *crypto;
	uint8_t id[RS_ID_LEN];
	enum rs_store_mode mode;
	const struct rs_seam *seam;
	struct rs_kv *kv;
	struct rs_opener *opener;
	uint64_t reserved; /* bytes of data.mdb when it was opened */

	pthread_mutex_t lock; /* guards what follows */
	struct rs_root root;  /* as last committed */
	uint64_t n_bad;	      /* values that did not prove themselves */
	struct rs_finding last_bad;
};

/* A file's chunks: count and set digest. */
struct rs_chunk_sum {
	uint64_t n;
	uint8_t sum[16];
};

/* ---- a write transaction that keeps the root ---- */

struct rs_stx {
	struct rs_store *store;
	struct rs_kv_txn *txn;
	struct rs_sealer *sealer;
	struct rs_root root; /* as it will be committed */
	uint64_t applied;    /* number before this transaction */
	uint8_t value[RS_VALUE_MAX];
};

RS_MUST_USE int rs_stx_begin(struct rs_store *store, struct rs_stx **ret_tx);
void rs_stx_abort(struct rs_stx *tx);
/* Writes the root too; tx is gone whatever is returned. */
RS_MUST_USE int rs_stx_commit(struct rs_stx *tx);
/* buf: RS_VALUE_MAX bytes. -ENOENT; -EBADMSG; ... */
RS_MUST_USE int rs_stx_get(struct rs_stx *tx, const struct rs_key *key,
			   uint8_t *buf, size_t *ret_len);
/*
 * Put the body of len bytes that stands in tx->value; delete. Counts and
 * digests go to the root, for chunks (sum not NULL) to sum. del: -ENOENT.
 */
RS_MUST_USE int rs_stx_put(struct rs_stx *tx, const struct rs_key *key,
			   size_t len, struct rs_chunk_sum *sum);
RS_MUST_USE int rs_stx_del(struct rs_stx *tx, const struct rs_key *key,
			   struct rs_chunk_sum *sum);
/* Typed access; get: -ENOENT, -EBADMSG, -EUCLEAN. */
RS_MUST_USE int rs_stx_get_inode(struct rs_stx *tx, uint64_t ino,
				 struct rs_vinode *ret_v);
RS_MUST_USE int rs_stx_put_inode(struct rs_stx *tx, uint64_t ino,
				 const struct rs_vinode *v);
RS_MUST_USE int rs_stx_get_reap(struct rs_stx *tx, uint64_t ino,
				struct rs_vreap *ret_v);
RS_MUST_USE int rs_stx_put_reap(struct rs_stx *tx, uint64_t ino,
				const struct rs_vreap *v);
/* Delete every record of kind ('L', 'X') of ino. */
RS_MUST_USE int rs_stx_del_all(struct rs_stx *tx, char kind, uint64_t ino);

/*
 * Delete chunks [from, to) of ino whose frame is at most until, at most max
 * of them. *ret_next: first chunk not looked at, to if all were.
 */
RS_MUST_USE int rs_stx_del_chunks(struct rs_stx *tx, uint64_t ino,
				  struct rs_vrange range, unsigned int max,
				  struct rs_chunk_sum *sum, uint64_t *ret_next);

/* ---- reading ---- */

/* A value in a read transaction, proved. */
RS_MUST_USE int rs_store_get(struct rs_opener *opener, struct rs_kv_txn *txn,
			     const struct rs_key *key, uint8_t *buf,
			     size_t *ret_len);
/* Remember a value that did not prove itself. */
void rs_store_note_bad(struct rs_store *store, uint64_t ino, const char *why);

/* One record as a walk meets it. */
struct rs_walk_item {
	char kind;
	uint64_t ino, number; /* see rs_key_parse() */
	const uint8_t *key;
	size_t key_len;
	const uint8_t *body;
	size_t len;	  /* of the body */
	uint8_t hash[16]; /* its digest */
};

struct rs_walk {
	const struct rs_crypto *crypto;
	struct rs_opener *opener;
	struct rs_kv_txn *txn;
	struct rs_report *rep; /* findings, or NULL */
	/* may be NULL; non-zero ends the walk */
	int (*fn)(void *arg, const struct rs_walk_item *item);
	void *arg;
	int (*tick)(void *tick_arg); /* for each record, or NULL */
	void *tick_arg;

	/* what was met so far */
	struct rs_root met; /* n_*, blocks, sum */
	uint64_t bad;	    /* values that did not prove themselves */
	struct rs_kv_item item;
};

/* All records of one kind in key order. A value that does not prove itself
 * is a finding and passed over; keys out of order: -EUCLEAN. */
RS_MUST_USE int rs_walk_kind(struct rs_walk *w, char kind);
/* Everything but 'R' and 'D'. */
RS_MUST_USE int rs_walk_meta(struct rs_walk *w);
/* The root record. -EUCLEAN: none, or it does not prove itself. */
RS_MUST_USE int rs_walk_root(struct rs_opener *opener, struct rs_kv_txn *txn,
			     struct rs_root *ret_root);
/* NULL if what was met by rs_walk_meta() is what root says, else why not. */
const char *rs_walk_differs(const struct rs_root *met,
			    const struct rs_root *root);

#endif
