/*
 * store_walk.c - every record of a kind, proved, counted and summed: what
 * check, load and verify have in common.
 *
 * INVARIANTS
 * I1	A walk ends however damaged the tree is: keys must rise.
 * I2	Each record is proved before its body is looked at.
 */
#include "journal/store_p.h"

#include <errno.h>

int rs_store_get(struct rs_opener *opener, struct rs_kv_txn *txn,
		 const struct rs_key *key, uint8_t *buf, size_t *ret_len)
{
	size_t len;
	int err;

	err = rs_kv_get(txn, key, buf, &len);
	if (err < 0)
		return err;
	return rs_opener_open(opener, key->buf, key->len, buf, len, ret_len);
}

int rs_walk_root(struct rs_opener *opener, struct rs_kv_txn *txn,
		 struct rs_root *ret_root)
{
	uint8_t buf[RS_VALUE_MAX];
	struct rs_key key;
	size_t len;
	int err;

	rs_key_root(&key);
	err = rs_store_get(opener, txn, &key, buf, &len);
	if (err == -ENOENT || err == -EBADMSG)
		return -EUCLEAN;
	if (err < 0)
		return err;
	return rs_vroot_decode(buf, len, ret_root);
}

static void count(struct rs_walk *w, const struct rs_walk_item *item)
{
	struct rs_root *met = &w->met;
	struct rs_vinode v;

	switch (item->kind) {
	case 'I':
		met->n_inodes++;
		if (rs_vinode_decode(item->body, item->len, &v) == 0)
			met->blocks += v.attr.blocks;
		break;
	case 'E':
		met->n_entries++;
		break;
	case 'L':
		met->n_links++;
		break;
	case 'X':
		met->n_xattrs++;
		break;
	case 'Z':
		met->n_reaps++;
		break;
	case 'D':
		met->n_chunks++;
		return;
	default:
		return;
	}
	rs_digest_add(met->sum, item->hash);
}

/* Does the body decode as what its key says? */
static int body_ok(const struct rs_walk_item *item)
{
	union {
		struct rs_vinode inode;
		struct rs_ventry entry;
		struct rs_vpart part;
		struct rs_vreap reap;
		struct rs_vchunk chunk;
	} v;

	switch (item->kind) {
	case 'I':
		return rs_vinode_decode(item->body, item->len, &v.inode) == 0;
	case 'E':
		return rs_ventry_decode(item->body, item->len, &v.entry) == 0;
	case 'L':
	case 'X':
		return rs_vpart_decode(item->body, item->len, &v.part) == 0;
	case 'Z':
		return rs_vreap_decode(item->body, item->len, &v.reap) == 0;
	case 'D':
		return rs_vchunk_decode(item->body, item->len, &v.chunk) == 0;
	default:
		return 0;
	}
}

static int bad_value(struct rs_walk *w, const struct rs_walk_item *item,
		     const char *why)
{
	w->bad++;
	if (w->rep)
		rs_report_add(w->rep, RS_FIND_VALUE, item->ino, 0, UINT64_MAX,
			      NULL, 0, "record '%c' %s", item->kind, why);
	return 0;
}

static int one(struct rs_walk *w, char kind)
{
	struct rs_kv_item *kv = &w->item;
	struct rs_walk_item item = { .key = kv->key, .key_len = kv->key_len };
	int err;

	if (w->tick) {
		err = w->tick(w->tick_arg);
		if (err != 0)
			return err;
	}
	item.kind = kind;
	if (rs_key_parse(kv->key, kv->key_len, &item.kind, &item.ino,
			 &item.number) < 0)
		return bad_value(w, &item, "has a key of no known shape");
	if (kv->len < RS_TRAILER_LEN)
		return bad_value(w, &item, "is too short");
	err = rs_crypto_digest(w->crypto, kv->key, kv->key_len,
			       kv->value + kv->len - RS_TRAILER_LEN,
			       RS_TRAILER_LEN, item.hash);
	if (err == 0)
		err = rs_opener_open(w->opener, kv->key, kv->key_len, kv->value,
				     kv->len, &item.len);
	if (err == -EBADMSG)
		return bad_value(w, &item, "does not prove itself");
	if (err < 0)
		return err;
	item.body = kv->value;
	if (!body_ok(&item))
		return bad_value(w, &item, "does not decode");
	count(w, &item);
	return w->fn ? w->fn(w->arg, &item) : 0;
}

/* Does the key in the item come after the one before it? */
static int rises(const struct rs_key *last, const struct rs_kv_item *item)
{
	size_t len = last->len < item->key_len ? last->len : item->key_len;
	int cmp = memcmp(last->buf, item->key, len);

	return cmp < 0 || (cmp == 0 && last->len < item->key_len);
}

int rs_walk_kind(struct rs_walk *w, char kind)
{
	struct rs_key key = { .buf = { (uint8_t)kind }, .len = 1 };
	int err, first = 1;

	err = rs_kv_seek(w->txn, &key, &w->item);
	while (err == 0 && w->item.key_len > 0 &&
	       w->item.key[0] == (uint8_t)kind) {
		if (!first && !rises(&key, &w->item))
			return -EUCLEAN;
		first = 0;
		memcpy(key.buf, w->item.key, w->item.key_len);
		key.len = w->item.key_len;
		err = one(w, kind);
		if (err != 0)
			return err;
		err = rs_kv_next(w->txn, &w->item);
	}
	return err == -ENOENT ? 0 : err;
}

int rs_walk_meta(struct rs_walk *w)
{
	static const char kinds[] = { 'I', 'E', 'L', 'X', 'Z' };
	size_t i;
	int err;

	for (i = 0; i < RS_ARRAY_LEN(kinds); i++) {
		err = rs_walk_kind(w, kinds[i]);
		if (err != 0)
			return err;
	}
	return 0;
}

const char *rs_walk_differs(const struct rs_root *met,
			    const struct rs_root *root)
{
	if (met->n_inodes != root->n_inodes)
		return "number of inodes differs from the root record";
	if (met->n_entries != root->n_entries)
		return "number of entries differs from the root record";
	if (met->n_links != root->n_links || met->n_xattrs != root->n_xattrs ||
	    met->n_reaps != root->n_reaps)
		return "number of records differs from the root record";
	if (met->blocks != root->blocks)
		return "allocated pages differ from the root record";
	if (memcmp(met->sum, root->sum, sizeof(met->sum)) != 0)
		return "digest of all records differs from the root record";
	return NULL;
}
