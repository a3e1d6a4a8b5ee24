/*
 * store_read.c - pages of a file out of its chunks.
 *
 * INVARIANTS
 * I1	A page is allocated if all chunks that overlap it say so and not if
 *	none does; anything else is a missing or foreign chunk: -EIO.
 * I2	Chunks that the reap list cuts off are absent, those of a removed
 *	inode are there until they are reaped (a file that is still open).
 */
#include <errno.h>

#include "journal/store_p.h"

struct reading {
	struct rs_store *store;
	struct rs_kv_txn *txn;
	uint64_t ino;
	uint64_t first, end;   /* chunks */
	uint64_t page, npages; /* pages */
	uint8_t *buf;
	uint8_t *flags; /* of each chunk, 0: absent */
	struct rs_vreap reap;
	struct rs_kv_item item;
};

static int get_reap(struct reading *r)
{
	struct rs_key key;
	size_t len;
	int err;

	rs_key_ino(&key, 'Z', r->ino);
	err = rs_store_get(r->store->opener, r->txn, &key, r->item.value, &len);
	if (err == 0)
		err = rs_vreap_decode(r->item.value, len, &r->reap);
	if (err == -ENOENT) {
		r->reap.n = 0;
		return 0;
	}
	return err;
}

/* The part of the chunk's bytes that lies in the pages asked for. */
static void copy_out(struct reading *r, uint64_t chunk,
		     const struct rs_vchunk *v)
{
	uint64_t from = chunk * RS_CHUNK, to = from + v->len;
	uint64_t want = r->page * RS_PAGE, end = want + r->npages * RS_PAGE;
	uint64_t lo = from < want ? want : from, hi = to > end ? end : to;

	if (v->len && lo < hi)
		memcpy(r->buf + (lo - want), v->data + (lo - from),
		       (size_t)(hi - lo));
}

static int take_chunk(struct reading *r, uint64_t chunk)
{
	struct rs_kv_item *item = &r->item;
	struct rs_vchunk v = { 0 };
	size_t len;
	int err;

	err = rs_opener_open(r->store->opener, item->key, item->key_len,
			     item->value, item->len, &len);
	if (err == 0)
		err = rs_vchunk_decode(item->value, len, &v);
	if (err < 0)
		return err;
	if (rs_vreap_cuts(&r->reap, chunk, v.frame))
		return 0;
	r->flags[chunk - r->first] = v.flags;
	copy_out(r, chunk, &v);
	return 0;
}

static int take_chunks(struct reading *r)
{
	struct rs_key key;
	uint64_t ino, chunk;
	char kind;
	int err;

	rs_key_chunk(&key, r->ino, r->first);
	err = rs_kv_seek(r->txn, &key, &r->item);
	while (err == 0) {
		err = rs_key_parse(r->item.key, r->item.key_len, &kind, &ino,
				   &chunk);
		if (err < 0)
			return err;
		if (kind != 'D' || ino != r->ino || chunk >= r->end)
			return 0;
		if (chunk < r->first)
			return -EUCLEAN;
		err = take_chunk(r, chunk);
		if (err < 0)
			return err;
		err = rs_kv_next(r->txn, &r->item);
	}
	return err == -ENOENT ? 0 : err;
}

/* 1 allocated, 0 not, -EUCLEAN: the chunks don't agree (I1). */
static int page_state(const struct reading *r, uint64_t page)
{
	uint64_t c, end = rs_page_end_chunk(page);
	unsigned int yes = 0, all = 0;

	for (c = rs_page_first_chunk(page); c < end; c++, all++)
		if (r->flags[c - r->first] &
		    rs_chunk_flags_in(c, page, page + 1))
			yes++;
	if (yes != 0 && yes != all)
		return -EUCLEAN;
	return yes != 0;
}

static int make_map(const struct reading *r, uint8_t *map)
{
	uint64_t i;
	int state;

	for (i = 0; i < r->npages; i++) {
		state = page_state(r, r->page + i);
		if (state < 0)
			return state;
		if (state)
			map[i / 8] |= (uint8_t)(1u << (i % 8));
	}
	return 0;
}

static int read_pages(struct reading *r, uint8_t *map)
{
	int err;

	err = rs_kv_begin(r->store->kv, 0, &r->txn);
	if (err < 0)
		return err;
	err = get_reap(r);
	if (err == 0)
		err = take_chunks(r);
	rs_kv_abort(r->txn);
	return err < 0 ? err : make_map(r, map);
}

int rs_store_read(struct rs_store *store, uint64_t ino, uint64_t page,
		  unsigned int n, uint8_t *buf, uint8_t *map)
{
	RS_AUTO_FREE struct reading *r = NULL;
	RS_AUTO_FREE uint8_t *flags = NULL;
	int err;

	if (n == 0)
		return 0;
	if (page > (UINT64_MAX >> 1) / RS_PAGE - n)
		return -EINVAL;
	r = rs_store_alloc(sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->store = store;
	r->ino = ino;
	r->page = page;
	r->npages = n;
	r->buf = buf;
	r->first = rs_page_first_chunk(page);
	r->end = rs_page_end_chunk(page + n - 1);
	r->flags = flags = rs_store_alloc((size_t)(r->end - r->first));
	if (!flags)
		return -ENOMEM;
	memset(buf, 0, (size_t)n * RS_PAGE);
	memset(map, 0, (n + 7) / 8);
	err = read_pages(r, map);
	if (err == -EBADMSG || err == -EUCLEAN || err == -EIO) {
		rs_store_note_bad(store, ino,
				  "data does not prove itself or is missing");
		return -EIO;
	}
	return err;
}
