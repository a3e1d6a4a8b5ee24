/*
 * store_txn.c - a write transaction of the store: every put and delete keeps
 * the root's counts and digest, or those of the file that a chunk is of.
 *
 * INVARIANTS
 * I1	The digest of what is in the tree equals the one in the root (files:
 *	in the 'I' or 'Z' record) at every commit: what is overwritten or
 *	deleted is subtracted by the trailer that it had in the tree.
 * I2	The root in memory changes only after LMDB's commit returned 0.
 */
#include "journal/store_p.h"

#include <errno.h>

int rs_stx_begin(struct rs_store *store, struct rs_stx **ret_tx)
{
	struct rs_stx *tx;
	int err;

	if (store->mode != RS_STORE_WRITE)
		return -EROFS;
	tx = malloc(sizeof(*tx));
	if (!tx)
		return -ENOMEM;
	tx->store = store;
	err = rs_sealer_new(store->crypto, store->id, store->seam, &tx->sealer);
	if (err < 0) {
		free(tx);
		return err;
	}
	err = rs_kv_begin(store->kv, 1, &tx->txn);
	if (err < 0) {
		rs_sealer_free(tx->sealer);
		free(tx);
		return err;
	}
	rs_store_root(store, &tx->root);
	tx->applied = tx->root.applied;
	*ret_tx = tx;
	return 0;
}

static void stx_free(struct rs_stx *tx)
{
	rs_sealer_free(tx->sealer);
	free(tx);
}

void rs_stx_abort(struct rs_stx *tx)
{
	if (!tx)
		return;
	rs_kv_abort(tx->txn);
	stx_free(tx);
}

int rs_stx_commit(struct rs_stx *tx)
{
	struct rs_store *store = tx->store;
	struct rs_key key;
	int err;

	rs_key_root(&key);
	err = rs_stx_put(tx, &key, rs_vroot_encode(&tx->root, tx->value), NULL);
	if (err < 0) {
		rs_stx_abort(tx);
		return err;
	}
	err = rs_kv_commit(tx->txn);
	if (err == 0) {
		pthread_mutex_lock(&store->lock);
		store->root = tx->root;
		pthread_mutex_unlock(&store->lock);
	}
	stx_free(tx);
	return err;
}

static uint64_t *counter(struct rs_root *root, char kind)
{
	switch (kind) {
	case 'I':
		return &root->n_inodes;
	case 'E':
		return &root->n_entries;
	case 'L':
		return &root->n_links;
	case 'X':
		return &root->n_xattrs;
	case 'Z':
		return &root->n_reaps;
	case 'D':
		return &root->n_chunks;
	default:
		return NULL;
	}
}

/* One record comes (1) or goes (-1). */
static int account(struct rs_stx *tx, const struct rs_key *key,
		   const uint8_t *trailer, struct rs_chunk_sum *sum, int dir)
{
	uint64_t *n = counter(&tx->root, (char)key->buf[0]);
	uint8_t hash[16], *digest = sum ? sum->sum : tx->root.sum;
	int err;

	if (!n)
		return 0;
	err = rs_crypto_digest(tx->store->crypto, key->buf, key->len, trailer,
			       RS_TRAILER_LEN, hash);
	if (err < 0)
		return err;
	if (dir > 0)
		rs_digest_add(digest, hash);
	else
		rs_digest_sub(digest, hash);
	*n += (uint64_t)(int64_t)dir;
	if (sum)
		sum->n += (uint64_t)(int64_t)dir;
	return 0;
}

int rs_stx_put(struct rs_stx *tx, const struct rs_key *key, size_t len,
	       struct rs_chunk_sum *sum)
{
	uint8_t old[RS_TRAILER_LEN];
	int err, replaced;

	err = rs_sealer_seal(tx->sealer, key, tx->value, len);
	if (err < 0)
		return err;
	replaced =
		rs_kv_put(tx->txn, key, tx->value, len + RS_TRAILER_LEN, old);
	if (replaced < 0)
		return replaced;
	if (replaced) {
		err = account(tx, key, old, sum, -1);
		if (err < 0)
			return err;
	}
	return account(tx, key, tx->value + len, sum, 1);
}

int rs_stx_del(struct rs_stx *tx, const struct rs_key *key,
	       struct rs_chunk_sum *sum)
{
	uint8_t old[RS_TRAILER_LEN];
	int err;

	err = rs_kv_del(tx->txn, key, old);
	if (err < 0)
		return err;
	return account(tx, key, old, sum, -1);
}

int rs_stx_get(struct rs_stx *tx, const struct rs_key *key, uint8_t *buf,
	       size_t *ret_len)
{
	return rs_store_get(tx->store->opener, tx->txn, key, buf, ret_len);
}

int rs_stx_get_inode(struct rs_stx *tx, uint64_t ino, struct rs_vinode *ret_v)
{
	struct rs_key key;
	size_t len;
	int err;

	rs_key_ino(&key, 'I', ino);
	err = rs_stx_get(tx, &key, tx->value, &len);
	if (err < 0)
		return err;
	return rs_vinode_decode(tx->value, len, ret_v);
}

int rs_stx_put_inode(struct rs_stx *tx, uint64_t ino, const struct rs_vinode *v)
{
	struct rs_key key;

	rs_key_ino(&key, 'I', ino);
	return rs_stx_put(tx, &key, rs_vinode_encode(v, tx->value), NULL);
}

int rs_stx_get_reap(struct rs_stx *tx, uint64_t ino, struct rs_vreap *ret_v)
{
	struct rs_key key;
	size_t len;
	int err;

	if (tx->root.n_reaps == 0)
		return -ENOENT;
	rs_key_ino(&key, 'Z', ino);
	err = rs_stx_get(tx, &key, tx->value, &len);
	if (err < 0)
		return err;
	return rs_vreap_decode(tx->value, len, ret_v);
}

int rs_stx_put_reap(struct rs_stx *tx, uint64_t ino, const struct rs_vreap *v)
{
	struct rs_key key;

	rs_key_ino(&key, 'Z', ino);
	return rs_stx_put(tx, &key, rs_vreap_encode(v, tx->value), NULL);
}

int rs_stx_del_all(struct rs_stx *tx, char kind, uint64_t ino)
{
	struct rs_kv_item item;
	struct rs_key key, found;
	int err;

	rs_key_ino(&key, kind, ino);
	for (;;) {
		err = rs_kv_seek(tx->txn, &key, &item);
		if (err == -ENOENT)
			return 0;
		if (err < 0)
			return err;
		if (item.key_len < key.len ||
		    memcmp(item.key, key.buf, key.len) != 0)
			return 0;
		memcpy(found.buf, item.key, item.key_len);
		found.len = item.key_len;
		err = rs_stx_del(tx, &found, NULL);
		if (err < 0)
			return err;
	}
}

/* 1: the chunk was changed after frame until; one that doesn't prove itself
 * counts as older, so that it can be cleared at all. */
static int is_newer(struct rs_stx *tx, struct rs_kv_item *item, uint64_t until)
{
	size_t len;
	int err;

	if (until == UINT64_MAX)
		return 0;
	err = rs_opener_open(tx->store->opener, item->key, item->key_len,
			     item->value, item->len, &len);
	if (err < 0)
		return err == -EBADMSG ? 0 : err;
	return rs_value_frame(item->value, len) > until;
}

int rs_stx_del_chunks(struct rs_stx *tx, uint64_t ino, struct rs_vrange range,
		      unsigned int max, struct rs_chunk_sum *sum,
		      uint64_t *ret_next)
{
	unsigned int done = 0, looked = 0;
	struct rs_kv_item item;
	uint64_t met_ino, chunk;
	struct rs_key key;
	char kind;
	int err;

	*ret_next = range.to;
	rs_key_chunk(&key, ino, range.from);
	err = rs_kv_seek(tx->txn, &key, &item);
	while (err == 0) {
		err = rs_key_parse(item.key, item.key_len, &kind, &met_ino,
				   &chunk);
		if (err < 0)
			return err;
		if (kind != 'D' || met_ino != ino || chunk >= range.to)
			return 0;
		if (done == max || looked++ / 16 == max) {
			*ret_next = chunk;
			return 0;
		}
		err = is_newer(tx, &item, range.until);
		if (err < 0)
			return err;
		if (err == 1) {
			err = rs_kv_next(tx->txn, &item);
			continue;
		}
		rs_key_chunk(&key, ino, chunk);
		err = rs_stx_del(tx, &key, sum);
		if (err < 0)
			return err;
		done++;
		err = rs_kv_seek(tx->txn, &key, &item);
	}
	return err == -ENOENT ? 0 : err;
}
