/*
 * group_compact.c - what came and went within one group never gets to disk.
 *
 * Runs on a group that was cut, without any lock. The set of elided inodes
 * is an open-addressed table, at most half full; inode 0 is no inode, so it
 * marks a free slot.
 */
#include <assert.h>

#include "journal/frame.h"
#include "journal/group.h"

struct ino_set {
	uint64_t *slot;
	size_t mask;
};

static size_t find_slot(const struct ino_set *set, uint64_t ino)
{
	/* Fibonacci hashing: numbers that follow each other spread. */
	size_t i = (size_t)(ino * UINT64_C(0x9e3779b97f4a7c15) >> 20);

	for (i &= set->mask; set->slot[i] && set->slot[i] != ino;)
		i = (i + 1) & set->mask;
	return i;
}

static int is_elision(const uint8_t *rec)
{
	return (rs_get16(rec + 6) & RS_RF_ELIDE) != 0;
}

/* Every elided inode; an empty set (mask 0, no slots) without memory. */
static void collect(struct ino_set *set, const uint8_t *body, size_t fill)
{
	size_t off, n = 0, cap = 4;

	for (off = 0; off < fill; off += rs_get32(body + off))
		n += (size_t)is_elision(body + off);
	while (cap < 2 * n)
		cap *= 2;
	set->slot = n > 0 ? calloc(cap, sizeof(*set->slot)) : NULL;
	set->mask = cap - 1;
	if (!set->slot)
		return;
	for (off = 0; off < fill; off += rs_get32(body + off)) {
		uint64_t ino = rs_get64(body + off + 8);

		if (is_elision(body + off))
			set->slot[find_slot(set, ino)] = ino;
	}
}

static int is_dropped(const struct ino_set *set, const uint8_t *rec)
{
	uint64_t ino = rs_get64(rec + 8);

	if (rs_get16(rec + 4) == RS_REC_VOID)
		return 1;
	return set->slot && ino && set->slot[find_slot(set, ino)] == ino;
}

size_t rs_group_compact(const struct rs_group_cut *cut)
{
	uint8_t *body = cut->image + RS_FRAME_HEADER;
	size_t off, len, out = 0;
	struct ino_set set;

	if (!cut->dropped)
		return cut->fill;
	collect(&set, body, cut->fill);
	for (off = 0; off < cut->fill; off += len) {
		len = rs_get32(body + off);
		assert(len >= RS_REC_HEADER && len <= cut->fill - off);
		if (is_dropped(&set, body + off))
			continue;
		if (out != off)
			memmove(body + out, body + off, len);
		/* An elision that could not be done: a plain INODE_DEL. */
		rs_put16(body + out + 6, 0);
		out += len;
	}
	free(set.slot);
	return out;
}
