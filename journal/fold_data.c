/*
 * fold_data.c - pass 2, data: a file's DATA, TRUNC, PUNCH and ALLOC applied
 * to its chunks.
 *
 * MODEL
 *	ops in order -> cache of chunks (read when first touched) -> 'D' puts
 *	and deletes in key order. A cut of whole chunks empties the cache in
 *	its range and deletes what the store has there; beyond the span's
 *	cuts_left the rest becomes a range of the reap list.
 *
 * INVARIANTS
 * I1	A chunk is in the store iff a page that it overlaps is allocated (or
 *	a reap range cuts it off and it waits to be deleted).
 * I2	A range on the reap list cuts off chunks of frames up to the number
 *	applied before this transaction. What this one writes has a higher
 *	frame number, so writing after the cut needs no second look.
 * I3	Bytes of pages that are not allocated are zero in every chunk.
 */
#include <errno.h>
#include <limits.h>

#include "journal/fold_p.h"

/* chunks held in memory (64 MiB); more than that is written in between */
#define CACHE_MAX 16384u

struct cached {
	struct rs_fold_node node; /* first; hash: chunk */
	uint64_t frame;
	int dirty;
	uint8_t flags;
	uint8_t data[RS_CHUNK];
};

struct job {
	struct rs_fold_span *span;
	struct rs_stx *tx;
	uint64_t ino;
	int fresh;	/* nothing of it is in the store */
	int written;	/* the cache was written in between */
	int bad;	/* a chunk did not prove itself */
	uint64_t frame; /* of the operation at hand */
	struct rs_chunk_sum *sum;
	struct rs_vreap *reap;
	struct rs_fold_table cache;
	uint8_t buf[RS_VALUE_MAX];
};

static int load(struct job *job, uint64_t chunk, struct cached *c)
{
	struct rs_vchunk v = { 0 };
	struct rs_key key;
	size_t len;
	int err;

	rs_key_chunk(&key, job->ino, chunk);
	err = rs_stx_get(job->tx, &key, job->buf, &len);
	if (err == -ENOENT)
		return 0;
	if (err == 0)
		err = rs_vchunk_decode(job->buf, len, &v);
	if (err == -EBADMSG || err == -EUCLEAN) {
		job->bad = 1;
		return 0;
	}
	if (err < 0)
		return err;
	if (rs_vreap_cuts(job->reap, chunk, v.frame))
		return 0;
	c->flags = v.flags;
	c->frame = v.frame;
	if (v.len)
		memcpy(c->data, v.data, v.len);
	return 0;
}

static int write_chunk(struct job *job, const struct cached *c)
{
	struct rs_vchunk v = { .frame = c->frame,
			       .flags = c->flags,
			       .data = c->data,
			       .len = RS_CHUNK };
	struct rs_key key;
	int err;

	rs_key_chunk(&key, job->ino, c->node.hash);
	if (!c->flags) {
		err = rs_stx_del(job->tx, &key, job->sum);
		return err == -ENOENT ? 0 : err;
	}
	while (v.len > 0 && c->data[v.len - 1] == 0)
		v.len--;
	return rs_stx_put(job->tx, &key, rs_vchunk_encode(&v, job->tx->value),
			  job->sum);
}

static void drop_cache(struct job *job)
{
	struct rs_fold_node *node, *next;
	size_t i;

	for (i = 0; i < job->cache.size; i++) {
		for (node = job->cache.slot[i].node; node; node = next) {
			next = node->next;
			free(node);
		}
	}
	free(job->cache.slot);
	memset(&job->cache, 0, sizeof(job->cache));
}

/* Write the cache in key order and empty it. */
static int write_cache(struct job *job)
{
	RS_AUTO_FREE struct rs_fold_pick *list = NULL;
	const struct cached *c;
	size_t i, n = job->cache.n;
	int err;

	err = rs_fold_list(&job->cache, &list);
	if (err < 0)
		return err;
	qsort(list, n, sizeof(*list), rs_fold_by_hash);
	for (i = 0; i < n; i++) {
		c = (const struct cached *)list[i].node;
		if (!c->dirty)
			continue;
		err = write_chunk(job, c);
		if (err < 0)
			return err;
	}
	drop_cache(job);
	return 0;
}

/* A chunk in the cache; whole: all its bytes will be overwritten. */
static int get(struct job *job, uint64_t chunk, int whole,
	       struct cached **ret_c)
{
	struct cached *c;
	int err = 0;

	c = (struct cached *)rs_fold_find(&job->cache, chunk);
	if (c) {
		*ret_c = c;
		return 0;
	}
	if (job->cache.n >= CACHE_MAX) {
		err = write_cache(job);
		if (err < 0)
			return err;
		job->written = 1;
	}
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->node.hash = chunk;
	if (!whole && !(job->fresh && !job->written))
		err = load(job, chunk, c);
	if (err == 0)
		err = rs_fold_insert(&job->cache, &c->node);
	if (err < 0) {
		free(c);
		return err;
	}
	*ret_c = c;
	return 0;
}

static void change(struct job *job, struct cached *c)
{
	c->frame = job->frame;
	c->dirty = 1;
}

/* Pages [page, end) exist; data, if any, is what [off, off + len) holds. */
static int fill(struct job *job, const struct rs_fold_op *op)
{
	uint64_t page = op->off / RS_PAGE;
	uint64_t end = (op->off + op->len - 1) / RS_PAGE + 1;
	uint64_t c, last = rs_page_end_chunk(end - 1);
	struct cached *at;
	uint8_t flags;
	int err;

	for (c = rs_page_first_chunk(page); c < last; c++) {
		uint64_t lo = c * RS_CHUNK, hi = lo + RS_CHUNK;

		if (lo < op->off)
			lo = op->off;
		if (hi > op->off + op->len)
			hi = op->off + op->len;
		err = get(job, c, op->data && hi == lo + RS_CHUNK, &at);
		if (err < 0)
			return err;
		flags = at->flags | rs_chunk_flags_in(c, page, end);
		/* What exists and gets no bytes needs no writing. */
		if (!op->data && flags == at->flags)
			continue;
		at->flags = flags;
		if (op->data && lo < hi)
			memcpy(at->data + (lo - c * RS_CHUNK),
			       op->data + (lo - op->off), (size_t)(hi - lo));
		change(job, at);
	}
	return 0;
}

/* Zero [off, end) of chunks [from, to) and free their pages [page, last). */
static int clear(struct job *job, uint64_t from, uint64_t to, uint64_t off,
		 uint64_t end, uint64_t page, uint64_t last)
{
	struct cached *at;
	uint64_t c;
	int err;

	for (c = from; c < to; c++) {
		uint64_t lo = c * RS_CHUNK, hi = lo + RS_CHUNK;

		err = get(job, c, 0, &at);
		if (err < 0)
			return err;
		if (!at->flags)
			continue;
		if (lo < off)
			lo = off;
		if (hi > end)
			hi = end;
		if (lo < hi)
			memset(at->data + (lo - c * RS_CHUNK), 0,
			       (size_t)(hi - lo));
		at->flags &= (uint8_t)~rs_chunk_flags_in(c, page, last);
		change(job, at);
	}
	return 0;
}

static void empty_cached(struct job *job, uint64_t from, uint64_t to)
{
	struct rs_fold_node *node;
	struct cached *c;
	size_t i;

	for (i = 0; i < job->cache.size; i++) {
		for (node = job->cache.slot[i].node; node; node = node->next) {
			if (node->hash < from || node->hash >= to)
				continue;
			c = (struct cached *)node;
			c->flags = 0;
			memset(c->data, 0, sizeof(c->data));
			change(job, c);
		}
	}
}

/* Chunks [from, to) are gone. */
static int cut(struct job *job, uint64_t from, uint64_t to)
{
	struct rs_vrange range = { .from = from,
				   .to = to,
				   .until = UINT64_MAX };
	struct rs_vreap *reap = job->reap;
	unsigned int max = job->span->cuts_left;
	uint64_t next, before = job->sum->n;
	int err;

	if (from >= to)
		return 0;
	empty_cached(job, from, to);
	if (job->fresh && !job->written)
		return 0;
	/* A range can't hide what this transaction wrote itself (I2). */
	if (job->written || reap->n == RS_REAP_RANGES)
		max = UINT_MAX;
	do {
		err = rs_stx_del_chunks(job->tx, job->ino, range, max, job->sum,
					&next);
		if (err < 0)
			return err;
		range.from = next;
	} while (max == UINT_MAX && next < to);
	if (max != UINT_MAX)
		job->span->cuts_left -= (unsigned int)(before - job->sum->n);
	if (next < to) {
		range.until = job->tx->applied;
		reap->range[reap->n++] = range;
	}
	return 0;
}

static int truncate_to(struct job *job, const struct rs_fold_op *op)
{
	uint64_t page = (op->off + RS_PAGE - 1) / RS_PAGE;
	uint64_t gone = rs_page_next_chunk(page);
	int err;

	err = clear(job, op->off / RS_CHUNK, gone, op->off, UINT64_MAX, page,
		    UINT64_MAX);
	return err < 0 ? err : cut(job, gone, UINT64_MAX);
}

static int punch_out(struct job *job, const struct rs_fold_op *op)
{
	uint64_t end = op->off + op->len;
	uint64_t page = (op->off + RS_PAGE - 1) / RS_PAGE;
	uint64_t last = end / RS_PAGE;
	uint64_t c = op->off / RS_CHUNK, c_end = (end - 1) / RS_CHUNK + 1;
	uint64_t gone, gone_end;
	int err;

	if (page >= last)
		return clear(job, c, c_end, op->off, end, 0, 0);
	gone = rs_page_next_chunk(page);
	gone_end = last * RS_PAGE / RS_CHUNK;
	if (gone >= gone_end)
		return clear(job, c, c_end, op->off, end, page, last);
	err = clear(job, c, gone, op->off, end, page, last);
	if (err == 0)
		err = clear(job, gone_end, c_end, op->off, end, page, last);
	return err < 0 ? err : cut(job, gone, gone_end);
}

static int apply(struct job *job, const struct rs_fold_op *op)
{
	job->frame = op->frame;
	switch (op->type) {
	case RS_REC_TRUNC:
		return truncate_to(job, op);
	case RS_REC_PUNCH:
		return punch_out(job, op);
	default:
		return fill(job, op);
	}
}

int rs_fold_put_data(struct rs_fold_span *span,
		     const struct rs_fold_inode *inode, int fresh,
		     struct rs_chunk_sum *sum, struct rs_vreap *reap)
{
	RS_AUTO_FREE struct job *job = rs_store_alloc(sizeof(*job));
	const struct rs_fold_op *op;
	int err = 0;

	if (!job)
		return -ENOMEM;
	job->span = span;
	job->tx = span->tx;
	job->ino = inode->ino;
	job->fresh = fresh;
	job->sum = sum;
	job->reap = reap;
	for (op = inode->ops; op && err == 0; op = op->next)
		err = apply(job, op);
	if (err == 0)
		err = write_cache(job);
	drop_cache(job);
	return err < 0 ? err : job->bad;
}
