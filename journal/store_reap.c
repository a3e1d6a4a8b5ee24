/*
 * store_reap.c - clears what the reap list names, a bounded number of chunks
 * a transaction.
 *
 * MODEL
 *	A 'Z' record says one of two things about an inode:
 *	removed	the inode is gone, all its chunks may go (once nobody has it
 *		open); the record holds their count and digest
 *	ranges	the inode lives, but chunks of these ranges that were last
 *		changed in a frame up to `until` were cut off by a TRUNC or
 *		PUNCH that was too large for one transaction; readers treat
 *		them as absent, the 'I' record still counts them
 *
 * CRASH	Each step leaves a smaller amount of the same work; the record
 *		goes with the last chunk.
 */
#include <errno.h>

#include "journal/store_p.h"

#define STEP 256u /* chunks and inodes a transaction; C4 */

/* A removed inode, at most *left chunks of it. */
static int reap_removed(struct rs_stx *tx, uint64_t ino, struct rs_vreap *z,
			unsigned int *left)
{
	struct rs_vrange all = { .from = 0,
				 .to = UINT64_MAX,
				 .until = UINT64_MAX };
	struct rs_chunk_sum sum = { .n = z->nchunks };
	struct rs_key key;
	uint64_t next;
	int err;

	memcpy(sum.sum, z->sum, sizeof(sum.sum));
	err = rs_stx_del_chunks(tx, ino, all, *left, &sum, &next);
	if (err < 0)
		return err;
	*left -= (unsigned int)(z->nchunks - sum.n);
	if (next == all.to) {
		rs_key_ino(&key, 'Z', ino);
		return rs_stx_del(tx, &key, NULL);
	}
	z->nchunks = sum.n;
	memcpy(z->sum, sum.sum, sizeof(sum.sum));
	return rs_stx_put_reap(tx, ino, z);
}

/* The last range of an inode that lives, likewise. */
static int reap_range(struct rs_stx *tx, uint64_t ino, struct rs_vreap *z,
		      unsigned int *left)
{
	struct rs_vrange *range = &z->range[z->n - 1];
	struct rs_chunk_sum sum;
	struct rs_vinode v;
	struct rs_key key;
	uint64_t next;
	int err;

	err = rs_stx_get_inode(tx, ino, &v);
	if (err < 0)
		return err == -ENOENT ? -EUCLEAN : err;
	sum.n = v.nchunks;
	memcpy(sum.sum, v.sum, sizeof(sum.sum));
	err = rs_stx_del_chunks(tx, ino, *range, *left, &sum, &next);
	if (err < 0)
		return err;
	*left -= (unsigned int)(v.nchunks - sum.n);
	v.nchunks = sum.n;
	memcpy(v.sum, sum.sum, sizeof(sum.sum));
	err = rs_stx_put_inode(tx, ino, &v);
	if (err < 0)
		return err;
	range->from = next;
	if (range->from >= range->to)
		z->n--;
	if (z->n)
		return rs_stx_put_reap(tx, ino, z);
	rs_key_ino(&key, 'Z', ino);
	return rs_stx_del(tx, &key, NULL);
}

static int reap_one(struct rs_stx *tx, uint64_t ino, unsigned int *left)
{
	struct rs_vreap z = { 0 };
	int err;

	err = rs_stx_get_reap(tx, ino, &z);
	if (err < 0)
		return err == -ENOENT || err == -EBADMSG ? -EUCLEAN : err;
	if (z.removed)
		return reap_removed(tx, ino, &z, left);
	if (z.n == 0)
		return -EUCLEAN;
	return reap_range(tx, ino, &z, left);
}

/* Is it work for now? A removed inode that is still in use is not. */
static int is_due(const struct rs_store *store, struct rs_kv_item *item,
		  uint64_t ino, int (*keep)(void *, uint64_t), void *arg)
{
	struct rs_vreap z = { 0 };
	size_t len;
	int err;

	if (!keep)
		return 1;
	err = rs_opener_open(store->opener, item->key, item->key_len,
			     item->value, item->len, &len);
	if (err == 0)
		err = rs_vreap_decode(item->value, len, &z);
	if (err < 0)
		return -EUCLEAN;
	return !z.removed || !keep(arg, ino);
}

/* The first inode from *ino on that is due. -ENOENT: none. */
static int find_due(struct rs_store *store, struct rs_kv_txn *txn,
		    int (*keep)(void *, uint64_t), void *arg, uint64_t *ino)
{
	struct rs_kv_item item;
	struct rs_key key;
	uint64_t number;
	char kind;
	int err;

	rs_key_ino(&key, 'Z', *ino);
	err = rs_kv_seek(txn, &key, &item);
	while (err == 0) {
		err = rs_key_parse(item.key, item.key_len, &kind, ino, &number);
		if (err < 0)
			return err;
		if (kind != 'Z')
			return -ENOENT;
		err = is_due(store, &item, *ino, keep, arg);
		if (err != 0)
			return err < 0 ? err : 0;
		err = rs_kv_next(txn, &item);
	}
	return err;
}

/* As many inodes as STEP allows. 1: something was done; 0: nothing is due. */
static int reap_some(struct rs_stx *tx, int (*keep)(void *, uint64_t),
		     void *arg)
{
	unsigned int left = STEP, inodes = 0;
	uint64_t ino = 0;
	int err;

	while (left > 0 && inodes < STEP) {
		err = find_due(tx->store, tx->txn, keep, arg, &ino);
		if (err == 0)
			err = reap_one(tx, ino, &left);
		if (err < 0)
			return err == -ENOENT ? inodes > 0 : err;
		inodes++;
		ino++; /* what is left of this one comes in the next step */
	}
	return 1;
}

int rs_store_reap(struct rs_store *store, int (*keep)(void *arg, uint64_t ino),
		  void *arg, int *ret_more)
{
	struct rs_root root;
	struct rs_stx *tx;
	int done, err;

	*ret_more = 0;
	rs_store_root(store, &root);
	if (root.n_reaps == 0)
		return 0;
	err = rs_stx_begin(store, &tx);
	if (err < 0)
		return err;
	done = reap_some(tx, keep, arg);
	if (done <= 0) {
		rs_stx_abort(tx);
		return done;
	}
	err = rs_stx_commit(tx);
	/* Another call finds out whether anything is due. */
	if (err == 0)
		*ret_more = 1;
	return err;
}
