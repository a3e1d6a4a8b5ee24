/*
 * store_prove.c - is a file's data, as a whole, what its inode record says?
 *
 * Each chunk proves itself by its tag, but an older version of the same
 * chunk does so too: a drive that lost a write, or a page that was copied
 * over another, can leave one. The count and digest in the inode record tell.
 */
#include <errno.h>

#include "journal/store_p.h"

struct proving {
	struct rs_store *store;
	struct rs_kv_txn *txn;
	uint64_t ino;
	struct rs_chunk_sum want, have;
	struct rs_kv_item item;
};

/* -ENOENT: no such inode in the store. */
static int get_want(struct proving *p)
{
	struct rs_opener *opener = p->store->opener;
	uint8_t *buf = p->item.value;
	struct rs_vinode inode;
	struct rs_vreap reap = { 0 };
	struct rs_key key;
	size_t len;
	int err;

	rs_key_ino(&key, 'I', p->ino);
	err = rs_store_get(opener, p->txn, &key, buf, &len);
	if (err == 0) {
		err = rs_vinode_decode(buf, len, &inode);
		if (err < 0)
			return err;
		p->want.n = inode.nchunks;
		memcpy(p->want.sum, inode.sum, sizeof(p->want.sum));
		return 0;
	}
	if (err != -ENOENT)
		return err;
	/* removed, but the kernel may still know it */
	rs_key_ino(&key, 'Z', p->ino);
	err = rs_store_get(opener, p->txn, &key, buf, &len);
	if (err == 0)
		err = rs_vreap_decode(buf, len, &reap);
	if (err < 0)
		return err;
	p->want.n = reap.nchunks;
	memcpy(p->want.sum, reap.sum, sizeof(p->want.sum));
	return 0;
}

static int add_chunk(struct proving *p)
{
	const struct rs_kv_item *item = &p->item;
	uint8_t hash[16];
	int err;

	if (item->len < RS_TRAILER_LEN)
		return -EBADMSG;
	err = rs_crypto_digest(p->store->crypto, item->key, item->key_len,
			       item->value + item->len - RS_TRAILER_LEN,
			       RS_TRAILER_LEN, hash);
	if (err < 0)
		return err;
	p->have.n++;
	rs_digest_add(p->have.sum, hash);
	return p->have.n > p->want.n ? -EBADMSG : 0;
}

static int sum_up(struct proving *p)
{
	struct rs_key key;
	uint64_t ino, chunk;
	char kind;
	int err;

	rs_key_chunk(&key, p->ino, 0);
	err = rs_kv_seek(p->txn, &key, &p->item);
	while (err == 0) {
		err = rs_key_parse(p->item.key, p->item.key_len, &kind, &ino,
				   &chunk);
		if (err < 0)
			return err;
		if (kind != 'D' || ino != p->ino)
			return 0;
		err = add_chunk(p);
		if (err == 0)
			err = rs_kv_next(p->txn, &p->item);
	}
	return err == -ENOENT ? 0 : err;
}

static int prove(struct proving *p)
{
	int err = get_want(p);

	/* not folded yet: nothing of it is in the store */
	if (err == -ENOENT || (err == 0 && p->want.n > RS_PROVE_MAX))
		return 0;
	if (err == 0)
		err = sum_up(p);
	if (err < 0)
		return err;
	if (p->have.n != p->want.n ||
	    memcmp(p->have.sum, p->want.sum, sizeof(p->want.sum)) != 0)
		return -EBADMSG;
	return 0;
}

int rs_store_prove(struct rs_store *store, uint64_t ino)
{
	RS_AUTO_FREE struct proving *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return -ENOMEM;
	p->store = store;
	p->ino = ino;
	err = rs_kv_begin(store->kv, 0, &p->txn);
	if (err < 0)
		return err;
	err = prove(p);
	rs_kv_abort(p->txn);
	if (err == -EBADMSG || err == -EUCLEAN || err == -EIO) {
		rs_store_note_bad(store, ino,
				  "data is not what its inode record says");
		return -EIO;
	}
	return err;
}
