/*
 * value.c - bodies of the store's values to bytes and back.
 *
 * MODEL
 *	Every body begins alike, so that a frame number can be had from any:
 *
 *	 0  1  version of the value's kind
 *	 1  1  flags
 *	 2  2  length of the last, variable field
 *	 4  8  frame number
 *	12     numbers of the kind, then the variable field
 *
 * INVARIANTS
 * I1	Decoding reads nothing past the length that it was given, and a body
 *	is as long as its fields say, no more and no less.
 *
 * NOT HERE  the proof (value_seal.c), which values there are (store_txn.c).
 */
#include "journal/value.h"

#include <errno.h>

#include "journal/record.h"

#define INODE_FIXED (RS_VALUE_HEADER + 24u)
#define ENTRY_FIXED (RS_VALUE_HEADER + 8u)
#define PART_FIXED (RS_VALUE_HEADER + 4u)
#define REAP_FIXED (RS_VALUE_HEADER + 24u)
#define RANGE_LEN 24u
#define ROOT_LEN (RS_VALUE_HEADER + 8u + 16u + 10u * 8u + 16u + 32u)

static size_t put_head(uint8_t *buf, uint8_t flags, size_t len, uint64_t frame)
{
	buf[0] = RS_VALUE_VERSION;
	buf[1] = flags;
	rs_put16(buf + 2, (uint16_t)len);
	rs_put64(buf + 4, frame);
	return RS_VALUE_HEADER;
}

/* Is it a body with fixed bytes in front of its variable field? */
static int head_ok(const uint8_t *buf, size_t len, size_t fixed, size_t unit)
{
	return len >= fixed && buf[0] == RS_VALUE_VERSION &&
	       len == fixed + unit * rs_get16(buf + 2);
}

uint64_t rs_value_frame(const uint8_t *buf, size_t len)
{
	return len >= RS_VALUE_HEADER ? rs_get64(buf + 4) : 0;
}

/* The root's plain numbers in the order in which they are stored. */
static size_t root_numbers(struct rs_root *root, uint64_t *ret[10])
{
	ret[0] = &root->next_place;
	ret[1] = &root->ceiling;
	ret[2] = &root->n_inodes;
	ret[3] = &root->n_entries;
	ret[4] = &root->n_links;
	ret[5] = &root->n_xattrs;
	ret[6] = &root->n_reaps;
	ret[7] = &root->n_chunks;
	ret[8] = &root->blocks;
	ret[9] = &root->damage;
	return 10;
}

size_t rs_vroot_encode(const struct rs_root *root, uint8_t *buf)
{
	struct rs_root copy = *root;
	uint64_t *number[10];
	uint8_t *p = buf;
	size_t i, n = root_numbers(&copy, number);

	memset(buf, 0, ROOT_LEN);
	p += put_head(p, 0, 0, root->applied);
	rs_put64(p, root->applied_place);
	memcpy(p + 8, root->applied_tag, RS_TAG_LEN);
	p += 8 + RS_TAG_LEN;
	for (i = 0; i < n; i++)
		rs_put64(p + 8 * i, *number[i]);
	memcpy(p + 8 * n, root->sum, sizeof(root->sum));
	return ROOT_LEN;
}

int rs_vroot_decode(const uint8_t *buf, size_t len, struct rs_root *ret_root)
{
	const uint8_t *p = buf + RS_VALUE_HEADER;
	struct rs_root root;
	uint64_t *number[10];
	size_t i, n = root_numbers(&root, number);

	if (!head_ok(buf, len, ROOT_LEN, 1))
		return -EUCLEAN;
	memset(&root, 0, sizeof(root));
	root.applied = rs_get64(buf + 4);
	root.applied_place = rs_get64(p);
	memcpy(root.applied_tag, p + 8, RS_TAG_LEN);
	p += 8 + RS_TAG_LEN;
	for (i = 0; i < n; i++)
		*number[i] = rs_get64(p + 8 * i);
	memcpy(root.sum, p + 8 * n, sizeof(root.sum));
	*ret_root = root;
	return 0;
}

size_t rs_vinode_encode(const struct rs_vinode *v, uint8_t *buf)
{
	put_head(buf, 0, RS_ATTR_LEN, v->frame);
	rs_put64(buf + 12, v->nchunks);
	memcpy(buf + 20, v->sum, sizeof(v->sum));
	rs_attr_encode(&v->attr, buf + INODE_FIXED);
	return INODE_FIXED + RS_ATTR_LEN;
}

int rs_vinode_decode(const uint8_t *buf, size_t len, struct rs_vinode *ret_v)
{
	if (!head_ok(buf, len, INODE_FIXED, 1) ||
	    len != INODE_FIXED + RS_ATTR_LEN)
		return -EUCLEAN;
	ret_v->frame = rs_get64(buf + 4);
	ret_v->nchunks = rs_get64(buf + 12);
	memcpy(ret_v->sum, buf + 20, sizeof(ret_v->sum));
	rs_attr_decode(buf + INODE_FIXED, &ret_v->attr);
	return 0;
}

size_t rs_ventry_encode(const struct rs_ventry *v, uint8_t *buf)
{
	put_head(buf, v->dtype, v->name_len, v->frame);
	rs_put64(buf + 12, v->child);
	memcpy(buf + ENTRY_FIXED, v->name, v->name_len);
	return ENTRY_FIXED + v->name_len;
}

int rs_ventry_decode(const uint8_t *buf, size_t len, struct rs_ventry *ret_v)
{
	if (!head_ok(buf, len, ENTRY_FIXED, 1) || len == ENTRY_FIXED ||
	    len > ENTRY_FIXED + RS_NAME_MAX)
		return -EUCLEAN;
	ret_v->frame = rs_get64(buf + 4);
	ret_v->dtype = buf[1];
	ret_v->child = rs_get64(buf + 12);
	ret_v->name = buf + ENTRY_FIXED;
	ret_v->name_len = len - ENTRY_FIXED;
	return 0;
}

size_t rs_vpart_encode(const struct rs_vpart *v, uint8_t *buf)
{
	put_head(buf, 0, v->len, v->frame);
	rs_put32(buf + 12, v->total);
	if (v->len)
		memcpy(buf + PART_FIXED, v->data, v->len);
	return PART_FIXED + v->len;
}

int rs_vpart_decode(const uint8_t *buf, size_t len, struct rs_vpart *ret_v)
{
	if (!head_ok(buf, len, PART_FIXED, 1) || len > PART_FIXED + RS_PART)
		return -EUCLEAN;
	ret_v->frame = rs_get64(buf + 4);
	ret_v->total = rs_get32(buf + 12);
	ret_v->data = buf + PART_FIXED;
	ret_v->len = len - PART_FIXED;
	return 0;
}

size_t rs_vreap_encode(const struct rs_vreap *v, uint8_t *buf)
{
	uint8_t *p = buf + REAP_FIXED;
	unsigned int i;

	put_head(buf, v->removed ? 1 : 0, v->n, v->frame);
	rs_put64(buf + 12, v->nchunks);
	memcpy(buf + 20, v->sum, sizeof(v->sum));
	for (i = 0; i < v->n; i++, p += RANGE_LEN) {
		rs_put64(p, v->range[i].from);
		rs_put64(p + 8, v->range[i].to);
		rs_put64(p + 16, v->range[i].until);
	}
	return REAP_FIXED + RANGE_LEN * v->n;
}

int rs_vreap_decode(const uint8_t *buf, size_t len, struct rs_vreap *ret_v)
{
	const uint8_t *p = buf + REAP_FIXED;
	unsigned int i;

	if (!head_ok(buf, len, REAP_FIXED, RANGE_LEN) ||
	    rs_get16(buf + 2) > RS_REAP_RANGES || buf[1] > 1)
		return -EUCLEAN;
	ret_v->frame = rs_get64(buf + 4);
	ret_v->removed = buf[1];
	ret_v->n = rs_get16(buf + 2);
	ret_v->nchunks = rs_get64(buf + 12);
	memcpy(ret_v->sum, buf + 20, sizeof(ret_v->sum));
	for (i = 0; i < ret_v->n; i++, p += RANGE_LEN) {
		ret_v->range[i].from = rs_get64(p);
		ret_v->range[i].to = rs_get64(p + 8);
		ret_v->range[i].until = rs_get64(p + 16);
	}
	return 0;
}

int rs_vreap_cuts(const struct rs_vreap *v, uint64_t chunk, uint64_t frame)
{
	unsigned int i;

	for (i = 0; i < v->n; i++)
		if (chunk >= v->range[i].from && chunk < v->range[i].to &&
		    frame <= v->range[i].until)
			return 1;
	return 0;
}

size_t rs_vchunk_encode(const struct rs_vchunk *v, uint8_t *buf)
{
	put_head(buf, v->flags, v->len, v->frame);
	if (v->len)
		memcpy(buf + RS_VALUE_HEADER, v->data, v->len);
	return RS_VALUE_HEADER + v->len;
}

int rs_vchunk_decode(const uint8_t *buf, size_t len, struct rs_vchunk *ret_v)
{
	if (!head_ok(buf, len, RS_VALUE_HEADER, 1) ||
	    len > RS_VALUE_HEADER + RS_CHUNK ||
	    (buf[1] & ~(RS_VD_FIRST | RS_VD_SECOND)) || !buf[1])
		return -EUCLEAN;
	ret_v->frame = rs_get64(buf + 4);
	ret_v->flags = buf[1];
	ret_v->data = buf + RS_VALUE_HEADER;
	ret_v->len = len - RS_VALUE_HEADER;
	return 0;
}
