/*
 * store_parts.c - what is larger than one value.
 *
 *	'L' ino part		target, parts of RS_PART bytes
 *	'X' ino hash 0		the xattr's name
 *	'X' ino hash part	its value, parts of RS_PART bytes from part 1
 */
#include "journal/store_parts.h"

#include <errno.h>

static int begin_link(struct rs_parts *p, const struct rs_vpart *v)
{
	if (v->total == 0 || v->total > RS_SYMLINK_MAX)
		return -EUCLEAN;
	p->total = v->total;
	return 0;
}

static int begin_xattr(struct rs_parts *p, const struct rs_walk_item *item,
		       const struct rs_vpart *v)
{
	if (v->total > RS_XATTR_SIZE_MAX || v->len == 0 ||
	    v->len > RS_XATTR_NAME_MAX)
		return -EUCLEAN;
	memcpy(p->hash, item->key + 9, sizeof(p->hash));
	memcpy(p->name, v->data, v->len);
	p->name_len = v->len;
	p->total = v->total;
	return 0;
}

static int begin(struct rs_parts *p, const struct rs_walk_item *item,
		 const struct rs_vpart *v)
{
	p->kind = item->kind;
	p->ino = item->ino;
	p->next = 0;
	p->have = 0;
	p->name_len = 0;
	return item->kind == 'L' ? begin_link(p, v) : begin_xattr(p, item, v);
}

static int goes_on(const struct rs_parts *p, const struct rs_walk_item *item)
{
	return p->kind == item->kind && p->ino == item->ino &&
	       p->next == item->number &&
	       (item->kind == 'L' ||
		memcmp(p->hash, item->key + 9, sizeof(p->hash)) == 0);
}

static int take(struct rs_parts *p, const struct rs_walk_item *item,
		const struct rs_vpart *v)
{
	size_t left;

	if (item->number == 0) {
		if (begin(p, item, v) < 0)
			return -EUCLEAN;
	} else if (!goes_on(p, item) || v->total != p->total) {
		return -EUCLEAN;
	}
	p->next++;
	if (item->kind == 'L' || item->number > 0) {
		left = p->total - p->have;
		if (v->len != (left < RS_PART ? left : RS_PART))
			return -EUCLEAN;
		memcpy(p->buf + p->have, v->data, v->len);
		p->have += v->len;
	}
	return p->have == p->total;
}

int rs_parts_take(struct rs_parts *p, const struct rs_walk_item *item)
{
	int whole = rs_parts_end(p);
	struct rs_vpart v;
	int rc;

	rc = rs_vpart_decode(item->body, item->len, &v);
	if (rc == 0 && whole < 0 && item->number == 0)
		rc = -EUCLEAN; /* the last one ended too early */
	if (rc == 0)
		rc = take(p, item, &v);
	if (rc != 0)
		p->kind = 0;
	return rc;
}

int rs_parts_end(const struct rs_parts *p)
{
	return p->kind && p->have < p->total ? -EUCLEAN : 0;
}

/* Parts from number first on. */
static int put_parts(struct rs_stx *tx, struct rs_key *key, unsigned int first,
		     struct rs_vpart *v)
{
	const uint8_t *data = v->data;
	unsigned int part = first;
	size_t done = 0;
	int err;

	while (done < v->total) {
		v->data = data + done;
		v->len = v->total - done < RS_PART ? v->total - done : RS_PART;
		key->buf[key->len - 2] = (uint8_t)(part >> 8);
		key->buf[key->len - 1] = (uint8_t)part;
		err = rs_stx_put(tx, key, rs_vpart_encode(v, tx->value), NULL);
		if (err < 0)
			return err;
		done += v->len;
		part++;
	}
	return 0;
}

int rs_stx_put_link(struct rs_stx *tx, uint64_t ino, uint64_t frame,
		    const uint8_t *target, size_t len)
{
	struct rs_vpart v = { .frame = frame,
			      .total = (uint32_t)len,
			      .data = target };
	struct rs_key key;

	rs_key_link(&key, ino, 0);
	return put_parts(tx, &key, 0, &v);
}

int rs_stx_put_xattr(struct rs_stx *tx, uint64_t ino, const struct rs_rec *rec,
		     uint64_t frame, const uint8_t hash[16])
{
	struct rs_vpart v = { .frame = frame,
			      .total = rec->data_len,
			      .data = rec->name,
			      .len = rec->name_len };
	struct rs_key key;
	int err;

	rs_key_xattr(&key, ino, hash, 0);
	err = rs_stx_put(tx, &key, rs_vpart_encode(&v, tx->value), NULL);
	if (err < 0)
		return err;
	v.data = rec->data;
	return put_parts(tx, &key, 1, &v);
}

int rs_stx_del_xattr(struct rs_stx *tx, uint64_t ino, const uint8_t hash[16])
{
	unsigned int part;
	struct rs_key key;
	int err;

	for (part = 0;; part++) {
		rs_key_xattr(&key, ino, hash, part);
		err = rs_stx_del(tx, &key, NULL);
		if (err < 0)
			return err == -ENOENT ? 0 : err;
	}
}
