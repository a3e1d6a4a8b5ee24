/*
 * fold_table.c - memory of a fold: an arena and hash tables, all of it gone
 * when the span ends.
 */
#include <assert.h>
#include <errno.h>

#include "journal/fold_p.h"

#define BLOCK_LEN 65536u
#define FIRST_SLOTS 1024u

struct rs_fold_block {
	struct rs_fold_block *next;
	uint64_t align; /* what follows is aligned for anything */
};

void *rs_fold_alloc(struct rs_fold_span *span, size_t len)
{
	struct rs_fold_block *block = span->blocks;
	uint8_t *p;

	len = (len + 15) / 16 * 16;
	assert(len <= BLOCK_LEN);
	if (!block || span->block_left < len) {
		block = malloc(sizeof(*block) + BLOCK_LEN);
		if (!block)
			return NULL;
		block->next = span->blocks;
		span->blocks = block;
		span->block_left = BLOCK_LEN;
	}
	p = (uint8_t *)(block + 1) + BLOCK_LEN - span->block_left;
	span->block_left -= len;
	memset(p, 0, len);
	return p;
}

/* Inode numbers come in runs: spread them. */
static size_t slot_of(const struct rs_fold_table *t, uint64_t hash)
{
	hash *= UINT64_C(0x9e3779b97f4a7c15);
	return (size_t)(hash >> 32) & (t->size - 1);
}

struct rs_fold_node *rs_fold_find(const struct rs_fold_table *t, uint64_t hash)
{
	struct rs_fold_node *node;

	if (t->size == 0)
		return NULL;
	node = t->slot[slot_of(t, hash)].node;
	while (node && node->hash != hash)
		node = node->next;
	return node;
}

struct rs_fold_node *rs_fold_again(const struct rs_fold_node *node)
{
	uint64_t hash = node->hash;
	struct rs_fold_node *next = node->next;

	while (next && next->hash != hash)
		next = next->next;
	return next;
}

static int grow(struct rs_fold_table *t)
{
	struct rs_fold_table wide = { .n = t->n };
	struct rs_fold_node *node, *next;
	size_t i;

	wide.size = t->size ? 4 * t->size : FIRST_SLOTS;
	wide.slot = calloc(wide.size, sizeof(*wide.slot));
	if (!wide.slot)
		return -ENOMEM;
	for (i = 0; i < t->size; i++) {
		for (node = t->slot[i].node; node; node = next) {
			size_t at = slot_of(&wide, node->hash);

			next = node->next;
			node->next = wide.slot[at].node;
			wide.slot[at].node = node;
		}
	}
	free(t->slot);
	*t = wide;
	return 0;
}

int rs_fold_insert(struct rs_fold_table *t, struct rs_fold_node *node)
{
	size_t at;

	if (t->n >= t->size && grow(t) < 0)
		return -ENOMEM;
	at = slot_of(t, node->hash);
	node->next = t->slot[at].node;
	t->slot[at].node = node;
	t->n++;
	return 0;
}

int rs_fold_by_hash(const void *a, const void *b)
{
	const struct rs_fold_pick *x = a, *y = b;

	return x->node->hash < y->node->hash ? -1
					     : x->node->hash > y->node->hash;
}

int rs_fold_list(const struct rs_fold_table *t, struct rs_fold_pick **ret_list)
{
	struct rs_fold_pick *list;
	struct rs_fold_node *node;
	size_t i, n = 0;

	list = malloc((t->n + 1) * sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (i = 0; i < t->size; i++)
		for (node = t->slot[i].node; node; node = node->next)
			list[n++].node = node;
	*ret_list = list;
	return 0;
}

void rs_fold_span_release(struct rs_fold_span *span)
{
	struct rs_fold_block *block, *next;
	size_t i;

	for (block = span->blocks; block; block = next) {
		next = block->next;
		free(block);
	}
	for (i = 0; i < span->n_bufs; i++)
		free(span->bufs[i]);
	free(span->bufs);
	free(span->inodes.slot);
	free(span->entries.slot);
	free(span->suspects);
}
