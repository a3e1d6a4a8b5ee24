/*
 * salvage.c - what is whole of a damaged data.mdb, without LMDB.
 *
 * MODEL
 *	pass 1	the tree, page by page: an index of (key, place of its value);
 *		ranges of keys that the tree can't be followed to
 *	pass 2	only if something was lost: leaf pages of older states, for
 *		keys in those ranges and for values that don't prove themselves
 *	pass 3	in the order of a load (inodes, entries, targets, xattrs), then
 *		chunks: the best value of each key is read, proved and handed on
 *
 *	Of several values for a key the tree's own is the best, then the one
 *	with the highest frame number.
 *
 * Chunks are handed on only for inodes that were, and not where the reap
 * list cuts them off: the dead stay dead as far as can be told. Memory: some
 * 80 bytes a record.
 */
#include <errno.h>

#include "journal/salvage_p.h"
#include "journal/store_parts.h"

struct record {
	struct rs_key key;
	uint64_t frame, at;
	uint32_t len;
	int linked;
};

struct salvage {
	struct rs_pages pages;
	struct rs_opener *opener;
	struct rs_report *rep;
	const struct rs_load_ops *ops;
	int (*chunk)(void *arg, uint64_t ino, uint64_t off, const uint8_t *data,
		     size_t len);
	void *arg;

	struct record *rec;
	size_t n, cap;
	uint64_t bad;

	struct rs_parts parts;
	uint64_t ino; /* whose chunks are at hand */
	int has_inode;
	struct rs_vreap reap;
	uint8_t buf[RS_VALUE_MAX];
};

/* Read and prove a value: 0; -EBADMSG; -ENOMEM. */
static int prove(struct salvage *s, const struct rs_key *key, uint64_t at,
		 uint32_t len, size_t *ret_len)
{
	if (rs_pread_all(s->pages.fd, s->buf, len, at) < 0)
		return -EBADMSG;
	return rs_opener_open(s->opener, key->buf, key->len, s->buf, len,
			      ret_len);
}

static int bad_value(struct salvage *s, const struct rs_key *key)
{
	struct rs_key end = *key;
	uint64_t ino = 0, number;
	char kind = '?';

	s->bad++;
	(void)!rs_key_parse(key->buf, key->len, &kind, &ino, &number);
	rs_report_add(s->rep, RS_FIND_VALUE, ino, 0, UINT64_MAX, NULL, 0,
		      "record '%c' does not prove itself", kind);
	/* The range that holds this key alone. */
	end.buf[end.len++] = 0;
	return rs_pages_add_lost(&s->pages, key, &end);
}

static int on_node(void *arg, const struct rs_salvage_node *node)
{
	struct salvage *s = arg;
	uint64_t ino, number;
	struct record *more;
	size_t len, cap;
	char kind;
	int err;

	if (rs_key_parse(node->key.buf, node->key.len, &kind, &ino, &number) <
	    0)
		return 0;
	if (!node->linked && !rs_pages_is_lost(&s->pages, &node->key))
		return 0;
	err = prove(s, &node->key, node->at, node->len, &len);
	if (err == -EBADMSG)
		return node->linked ? bad_value(s, &node->key) : 0;
	if (err < 0)
		return err;
	if (s->n == s->cap) {
		cap = s->cap ? 2 * s->cap : 256;
		more = realloc(s->rec, cap * sizeof(*more));
		if (!more)
			return -ENOMEM;
		s->rec = more;
		s->cap = cap;
	}
	more = &s->rec[s->n++];
	more->key = node->key;
	more->frame = rs_value_frame(s->buf, len);
	more->at = node->at;
	more->len = node->len;
	more->linked = node->linked;
	return 0;
}

/* The order of a load; within one key the best first. */
static int rank(const struct record *r)
{
	static const char kinds[] = "RZIELXD";
	const char *at = strchr(kinds, r->key.buf[0]);

	return at ? (int)(at - kinds) : (int)sizeof(kinds);
}

static int by_rank(const void *a, const void *b)
{
	const struct record *x = a, *y = b;
	int cmp = rank(x) - rank(y);

	if (cmp == 0)
		cmp = rs_key_cmp(&x->key, &y->key);
	if (cmp == 0)
		cmp = y->linked - x->linked;
	if (cmp == 0)
		cmp = x->frame < y->frame ? 1 : x->frame > y->frame ? -1 : 0;
	return cmp;
}

static const struct record *find(const struct salvage *s, char kind,
				 uint64_t ino)
{
	struct record want = { .linked = 1, .frame = UINT64_MAX };
	size_t lo = 0, hi = s->n, mid;

	rs_key_ino(&want.key, kind, ino);
	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (by_rank(&s->rec[mid], &want) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < s->n && rs_key_cmp(&s->rec[lo].key, &want.key) == 0)
		return &s->rec[lo];
	return NULL;
}

/* The inode's place on the reap list into s->reap. */
static int get_reap(struct salvage *s, uint64_t ino)
{
	const struct record *z = find(s, 'Z', ino);
	size_t len;
	int err = -ENOENT;

	if (z)
		err = prove(s, &z->key, z->at, z->len, &len);
	if (err == 0)
		err = rs_vreap_decode(s->buf, len, &s->reap);
	if (err < 0)
		memset(&s->reap, 0, sizeof(s->reap));
	return err == -ENOMEM ? err : 0;
}

/* An older state's inode that the reap list knows to be removed. */
static int is_dead(const struct salvage *s, const struct record *r)
{
	return !r->linked && s->reap.removed && s->reap.frame >= r->frame;
}

/* Chunks of another inode begin: is it there, what of it is cut off? */
static int begin_chunks(struct salvage *s, uint64_t ino)
{
	const struct record *r = find(s, 'I', ino);
	int err = get_reap(s, ino);

	s->ino = ino;
	s->has_inode = r && !is_dead(s, r);
	return err;
}

static int on_chunk(struct salvage *s, const struct rs_walk_item *item)
{
	struct rs_vchunk v;

	if (!s->has_inode || !s->chunk ||
	    rs_vchunk_decode(item->body, item->len, &v) < 0 ||
	    rs_vreap_cuts(&s->reap, item->number, v.frame))
		return 0;
	return s->chunk(s->arg, item->ino, item->number * RS_CHUNK, v.data,
			v.len);
}

static int on_part(struct salvage *s, const struct rs_walk_item *item)
{
	struct rs_parts *p = &s->parts;
	int rc = rs_parts_take(p, item);

	if (rc < 0) {
		s->bad++;
		rs_report_add(s->rep, RS_FIND_VALUE, item->ino, 0, UINT64_MAX,
			      NULL, 0,
			      "a symlink target or xattr is not complete");
	}
	if (rc <= 0)
		return 0;
	if (item->kind == 'L')
		return s->ops->link ? s->ops->link(s->arg, item->ino, p->buf,
						   p->total)
				    : 0;
	return s->ops->xattr ? s->ops->xattr(s->arg, item->ino, p->name,
					     p->name_len, p->buf, p->total)
			     : 0;
}

static int hand_on(struct salvage *s, const struct rs_walk_item *item)
{
	struct rs_vinode inode;
	struct rs_ventry entry;

	switch (item->kind) {
	case 'I':
		if (!s->ops->inode ||
		    rs_vinode_decode(item->body, item->len, &inode) < 0)
			return 0;
		return s->ops->inode(s->arg, item->ino, &inode.attr,
				     inode.frame);
	case 'E':
		if (!s->ops->entry ||
		    rs_ventry_decode(item->body, item->len, &entry) < 0)
			return 0;
		return s->ops->entry(s->arg, item->ino, entry.name,
				     entry.name_len, entry.child, entry.dtype,
				     entry.frame);
	case 'L':
	case 'X':
		return on_part(s, item);
	case 'D':
		return on_chunk(s, item);
	default:
		return 0;
	}
}

static int hand_on_record(struct salvage *s, const struct record *r)
{
	struct rs_walk_item item = { .key = r->key.buf, .key_len = r->key.len };
	int err;

	err = rs_key_parse(r->key.buf, r->key.len, &item.kind, &item.ino,
			   &item.number);
	if (err == 0 && item.kind == 'D' && item.ino != s->ino)
		err = begin_chunks(s, item.ino);
	if (err == 0 && item.kind == 'I')
		err = get_reap(s, item.ino);
	if (err == 0 && item.kind == 'I' && is_dead(s, r))
		return 0;
	if (err == 0)
		err = prove(s, &r->key, r->at, r->len, &item.len);
	if (err < 0)
		return err == -EBADMSG ? 0 : err;
	item.body = s->buf;
	return hand_on(s, &item);
}

static int hand_on_all(struct salvage *s)
{
	size_t i;
	int err;

	for (i = 0; i < s->n; i++) {
		if (i > 0 &&
		    rs_key_cmp(&s->rec[i - 1].key, &s->rec[i].key) == 0)
			continue;
		err = hand_on_record(s, &s->rec[i]);
		if (err != 0)
			return err;
	}
	return 0;
}

/* A damaged page may also hide records: does the root know of more? */
static int check_count(struct salvage *s)
{
	const struct record *r;
	struct rs_root root = { 0 };
	size_t i, len, n = 0;
	int err;

	r = s->n && s->rec[0].key.buf[0] == 'R' ? &s->rec[0] : NULL;
	if (!r)
		return -EUCLEAN;
	err = prove(s, &r->key, r->at, r->len, &len);
	if (err == 0)
		err = rs_vroot_decode(s->buf, len, &root);
	if (err < 0)
		return err == -ENOMEM ? err : -EUCLEAN;
	for (i = 0; i < s->n; i++)
		n += s->rec[i].linked != 0;
	return n + s->bad == 1 + root.n_inodes + root.n_entries + root.n_links +
				       root.n_xattrs + root.n_reaps +
				       root.n_chunks
		       ? 0
		       : -EUCLEAN;
}

static int salvage(struct salvage *s)
{
	size_t lost;
	int err;

	err = rs_pages_walk_tree(&s->pages);
	lost = s->pages.n_lost;
	if (err == 0 && lost > s->bad)
		rs_report_add(s->rep, RS_FIND_STORE, 0, 0, UINT64_MAX, NULL, 0,
			      "data.mdb: pages of the tree are lost");
	if (err == 0 && lost > 0)
		err = rs_pages_walk_rest(&s->pages);
	if (err < 0)
		return err;
	if (s->n)
		qsort(s->rec, s->n, sizeof(*s->rec), by_rank);
	err = check_count(s);
	if (err == -EUCLEAN && lost == s->bad)
		rs_report_add(s->rep, RS_FIND_STORE, 0, 0, UINT64_MAX, NULL, 0,
			      "data.mdb: records are missing");
	lost += err == -EUCLEAN;
	if (err == 0 || err == -EUCLEAN)
		err = hand_on_all(s);
	return err == 0 && (lost || s->bad) ? -EUCLEAN : err;
}

int rs_store_salvage(const char *dir, const struct rs_crypto *crypto,
		     const uint8_t id[RS_ID_LEN], const struct rs_load_ops *ops,
		     int (*chunk)(void *arg, uint64_t ino, uint64_t off,
				  const uint8_t *data, size_t len),
		     void *arg, struct rs_report *rep)
{
	RS_AUTO_FREE struct salvage *s = rs_store_alloc(sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->rep = rep;
	s->ops = ops;
	s->chunk = chunk;
	s->arg = arg;
	s->pages.fn = on_node;
	s->pages.arg = s;
	err = rs_opener_new(crypto, id, &s->opener);
	if (err < 0)
		return err;
	err = rs_pages_open(dir, &s->pages);
	if (err == 0) {
		err = salvage(s);
		rs_pages_close(&s->pages);
	}
	rs_opener_free(s->opener);
	free(s->rec);
	return err;
}
