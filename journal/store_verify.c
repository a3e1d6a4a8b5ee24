/*
 * store_verify.c - everything read and proved, data too; each file's chunks
 * are compared with the count and digest in its 'I' record (or 'Z', for one
 * that waits to be reaped), all other records with the root's.
 */
#include "journal/salvage_p.h"

#include <errno.h>

struct verify {
	struct rs_walk w;
	struct rs_store *store;
	struct rs_report *rep;
	struct rs_root root;
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	void *arg;
	uint64_t done, total;

	uint64_t ino; /* whose chunks are being walked; 0: none yet */
	struct rs_chunk_sum sum;
	uint64_t found;
	uint8_t buf[RS_VALUE_MAX];
};

static int tick(void *arg)
{
	struct verify *v = arg;

	if (v->progress && v->done++ % 256 == 0)
		v->progress(v->arg, v->done, v->total);
	return 0;
}

static void complain(struct verify *v, enum rs_finding_kind kind, uint64_t ino,
		     const char *why)
{
	v->found++;
	rs_report_add(v->rep, kind, ino, 0, UINT64_MAX, NULL, 0, "%s", why);
}

static int get(struct verify *v, char kind, uint64_t ino, size_t *ret_len)
{
	struct rs_key key;

	rs_key_ino(&key, kind, ino);
	return rs_store_get(v->store->opener, v->w.txn, &key, v->buf, ret_len);
}

/* What the store says that ino's chunks are. -ENOENT: no such inode. */
static int expected(struct verify *v, uint64_t ino, struct rs_chunk_sum *sum)
{
	struct rs_vinode inode;
	struct rs_vreap reap = { 0 };
	size_t len;
	int err;

	err = get(v, 'I', ino, &len);
	if (err == 0) {
		err = rs_vinode_decode(v->buf, len, &inode);
		if (err < 0)
			return err;
		sum->n = inode.nchunks;
		memcpy(sum->sum, inode.sum, sizeof(sum->sum));
		return 0;
	}
	if (err != -ENOENT)
		return err;
	err = get(v, 'Z', ino, &len);
	if (err == 0)
		err = rs_vreap_decode(v->buf, len, &reap);
	if (err < 0)
		return err;
	sum->n = reap.nchunks;
	memcpy(sum->sum, reap.sum, sizeof(sum->sum));
	return 0;
}

/* All chunks of one file were met. */
static int end_file(struct verify *v)
{
	struct rs_chunk_sum want = { 0 };
	int err;

	if (v->ino == 0)
		return 0;
	err = expected(v, v->ino, &want);
	if (err == -ENOENT) {
		complain(v, RS_FIND_ORPHAN, v->ino,
			 "there is data but no inode");
		return 0;
	}
	if (err == -EBADMSG || err == -EUCLEAN)
		return 0; /* the walk of metadata names it */
	if (err < 0)
		return err;
	if (want.n != v->sum.n ||
	    memcmp(want.sum, v->sum.sum, sizeof(want.sum)) != 0)
		complain(v, RS_FIND_INODE, v->ino,
			 "its data is not what its inode record says");
	return 0;
}

static int on_chunk(struct verify *v, const struct rs_walk_item *item)
{
	int err;

	if (item->ino != v->ino) {
		err = end_file(v);
		if (err < 0)
			return err;
		v->ino = item->ino;
		memset(&v->sum, 0, sizeof(v->sum));
	}
	v->sum.n++;
	rs_digest_add(v->sum.sum, item->hash);
	return 0;
}

/* A file whose chunks are all missing was not met yet. */
static int on_owner(struct verify *v, const struct rs_walk_item *item)
{
	struct rs_vinode inode;
	struct rs_key key;
	int err;

	err = rs_vinode_decode(item->body, item->len, &inode);
	if (err < 0 || inode.nchunks == 0)
		return err;
	rs_key_ino(&key, 'D', item->ino);
	err = rs_kv_has_prefix(v->w.txn, &key);
	if (err == 0)
		complain(v, RS_FIND_INODE, item->ino, "its data is missing");
	return err < 0 ? err : 0;
}

static int on_item(void *arg, const struct rs_walk_item *item)
{
	struct verify *v = arg;

	if (item->kind == 'D')
		return on_chunk(v, item);
	if (item->kind == 'I')
		return on_owner(v, item);
	return 0;
}

static int verify(struct verify *v)
{
	const char *why;
	int err;

	err = rs_walk_root(v->store->opener, v->w.txn, &v->root);
	if (err < 0)
		return err;
	v->total = v->root.n_inodes + v->root.n_entries + v->root.n_links +
		   v->root.n_xattrs + v->root.n_reaps + v->root.n_chunks;
	err = rs_walk_kind(&v->w, 'D');
	if (err == 0)
		err = end_file(v);
	if (err == 0)
		err = rs_walk_meta(&v->w);
	if (err != 0)
		return err;
	why = rs_walk_differs(&v->w.met, &v->root);
	if (why)
		complain(v, RS_FIND_STORE, 0, why);
	if (v->w.met.n_chunks != v->root.n_chunks)
		complain(v, RS_FIND_STORE, 0,
			 "number of chunks differs from the root record");
	return 0;
}

/* The pages themselves; not under a writer, who changes them. */
static int verify_pages(struct verify *v)
{
	const char *why = NULL;
	int err;

	if (v->store->mode != RS_STORE_RDONLY)
		return 0;
	err = rs_pages_check(v->store->dir, 0, &why);
	if (!why)
		return err;
	complain(v, RS_FIND_STORE, 0, why);
	return 0;
}

int rs_store_verify(struct rs_store *store, struct rs_report *rep,
		    void (*progress)(void *, uint64_t, uint64_t), void *arg)
{
	RS_AUTO_FREE struct verify *v = rs_store_alloc(sizeof(*v));
	int err;

	if (!v)
		return -ENOMEM;
	v->store = store;
	v->rep = rep;
	v->progress = progress;
	v->arg = arg;
	v->w.crypto = store->crypto;
	v->w.opener = store->opener;
	v->w.rep = rep;
	v->w.fn = on_item;
	v->w.arg = v;
	v->w.tick = tick;
	v->w.tick_arg = v;
	err = rs_kv_begin(store->kv, 0, &v->w.txn);
	if (err < 0)
		return err;
	err = verify(v);
	rs_kv_abort(v->w.txn);
	if (err == 0)
		err = verify_pages(v);
	if (err == 0)
		err = rs_store_audit(store, rep);
	if (progress)
		progress(arg, v->total, v->total);
	return err == 0 && (v->found || v->w.bad) ? -EUCLEAN : err;
}
