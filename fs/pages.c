/*
 * pages.c - the radix tree.
 *
 * INVARIANTS
 * I1 a slot at height 0 is a mark or a page, above it a mark or a node
 * I2 no node has 64 slots of HOLE, unless rs_tree_reach() just made it for a
 *    page that its caller is about to set, or gave up for lack of memory
 * I3 taking a mark apart gives 64 slots of the same mark
 *
 * LOCKS  the tree lock.
 */
#include "fs/pages.h"

#include <assert.h>
#include <errno.h>

static unsigned int child_of(uint64_t page, unsigned int height)
{
	return (unsigned int)(page >> (RS_FANOUT_SHIFT * (height - 1))) &
	       (RS_FANOUT - 1);
}

static int in_reach(struct rs_tree tree, uint64_t page)
{
	return page < rs_slot_span(*tree.height);
}

static int is_node(uintptr_t slot, unsigned int height)
{
	return height && slot > RS_SLOT_FULL;
}

uintptr_t rs_tree_get(struct rs_tree tree, uint64_t page)
{
	unsigned int height = *tree.height;
	uintptr_t slot = *tree.root;

	if (!in_reach(tree, page))
		return RS_SLOT_HOLE;
	for (; is_node(slot, height); height--)
		slot = rs_slot_node(slot)->slot[child_of(page, height)];
	return slot;
}

static struct rs_node *node_new(struct rs_mem *mem, uintptr_t fill)
{
	struct rs_node *node = rs_mem_alloc(mem, sizeof(*node));
	unsigned int i;

	for (i = 0; node && i < RS_FANOUT; i++)
		node->slot[i] = fill;
	return node;
}

static void node_free(struct rs_mem *mem, uintptr_t slot)
{
	rs_mem_free(mem, rs_slot_node(slot), sizeof(struct rs_node));
}

int rs_tree_fill(struct rs_mem *mem, struct rs_tree tree, uint64_t n,
		 uintptr_t mark)
{
	struct rs_node *nodes[RS_HEIGHT_MAX] = { NULL }, *node;
	unsigned int height = 0, made = 0, i, h;
	uintptr_t *slot = tree.root;

	while (n > rs_slot_span(height))
		height++;
	/* one node a level at most: the one that the edge runs through */
	for (h = 0; h < height; h++) {
		nodes[made] = node_new(mem, RS_SLOT_HOLE);
		if (!nodes[made])
			goto fail;
		made++;
	}
	*tree.height = (uint8_t)height;
	for (h = height; n && n < rs_slot_span(h); h--) {
		node = nodes[--made];
		*slot = (uintptr_t)node;
		for (i = 0; i < n >> (RS_FANOUT_SHIFT * (h - 1)); i++)
			node->slot[i] = mark;
		n &= rs_slot_span(h - 1) - 1;
		slot = &node->slot[i];
	}
	if (n)
		*slot = mark;
	while (made)
		node_free(mem, (uintptr_t)nodes[--made]);
	return 0;
fail:
	while (made)
		node_free(mem, (uintptr_t)nodes[--made]);
	return -ENOMEM;
}

static int grow(struct rs_mem *mem, struct rs_tree tree, uint64_t page)
{
	struct rs_node *node;

	while (!in_reach(tree, page)) {
		if (*tree.root != RS_SLOT_HOLE) {
			node = node_new(mem, RS_SLOT_HOLE);
			if (!node)
				return -ENOMEM;
			node->slot[0] = *tree.root;
			*tree.root = (uintptr_t)node;
		}
		(*tree.height)++;
		assert(*tree.height <= RS_HEIGHT_MAX);
	}
	return 0;
}

int rs_tree_reach(struct rs_mem *mem, struct rs_tree tree, uint64_t page,
		  uintptr_t **ret_slot)
{
	uintptr_t *slot = tree.root;
	unsigned int height;
	struct rs_node *node;
	int err;

	err = grow(mem, tree, page);
	if (err)
		return err;
	for (height = *tree.height; height; height--) {
		if (!is_node(*slot, height)) {
			node = node_new(mem, *slot);
			if (!node)
				return -ENOMEM;
			*slot = (uintptr_t)node;
		}
		slot = &rs_slot_node(*slot)->slot[child_of(page, height)];
	}
	*ret_slot = slot;
	return 0;
}

int rs_tree_split(struct rs_mem *mem, struct rs_tree tree, uint64_t page)
{
	uintptr_t *slot;

	if (!rs_slot_is_cold(rs_tree_get(tree, page)))
		return 0;
	return rs_tree_reach(mem, tree, page, &slot);
}

struct cut {
	struct rs_mem *mem;
	uint64_t first, end;
	void (*bury)(void *arg, uintptr_t slot, unsigned int height);
	void *arg;
};

static int node_is_all(const struct rs_node *node, uintptr_t mark)
{
	unsigned int i;

	for (i = 0; i < RS_FANOUT; i++) {
		if (node->slot[i] != mark)
			return 0;
	}
	return 1;
}

static void cut_below(struct cut *cut, uintptr_t *slot, unsigned int height,
		      uint64_t base)
{
	uint64_t span = rs_slot_span(height), step;
	struct rs_node *node;
	unsigned int i;

	if (*slot == RS_SLOT_HOLE || base + span <= cut->first ||
	    base >= cut->end)
		return;
	if (base >= cut->first && base + span <= cut->end) {
		cut->bury(cut->arg, *slot, height);
		*slot = RS_SLOT_HOLE;
		return;
	}
	assert(is_node(*slot, height));
	node = rs_slot_node(*slot);
	step = rs_slot_span(height - 1);
	for (i = 0; i < RS_FANOUT; i++)
		cut_below(cut, &node->slot[i], height - 1, base + i * step);
	if (node_is_all(node, RS_SLOT_HOLE)) {
		node_free(cut->mem, *slot);
		*slot = RS_SLOT_HOLE;
	}
}

static void lower(struct rs_mem *mem, struct rs_tree tree)
{
	struct rs_node *node;
	unsigned int i;
	uintptr_t first;

	if (*tree.root == RS_SLOT_HOLE)
		*tree.height = 0;
	while (is_node(*tree.root, *tree.height)) {
		node = rs_slot_node(*tree.root);
		for (i = 1; i < RS_FANOUT; i++) {
			if (node->slot[i] != RS_SLOT_HOLE)
				return;
		}
		first = node->slot[0];
		node_free(mem, *tree.root);
		*tree.root = first;
		(*tree.height)--;
	}
}

void rs_tree_cut(struct rs_mem *mem, struct rs_tree tree, uint64_t first,
		 uint64_t end,
		 void (*bury)(void *arg, uintptr_t slot, unsigned int height),
		 void *arg)
{
	struct cut cut = { mem, first, end, bury, arg };

	if (first >= end)
		return;
	cut_below(&cut, tree.root, *tree.height, 0);
	lower(mem, tree);
}

static int matches(uintptr_t slot, enum rs_seek what)
{
	switch (what) {
	case RS_SEEK_HOLE:
		return slot == RS_SLOT_HOLE;
	case RS_SEEK_DATA:
		return slot != RS_SLOT_HOLE;
	case RS_SEEK_COLD:
		return rs_slot_is_cold(slot);
	case RS_SEEK_ANY:
		return slot == RS_SLOT_ANY;
	}
	return 0;
}

struct seek {
	uint64_t from;
	enum rs_seek what;
};

static uint64_t seek_below(const struct seek *seek, uintptr_t slot,
			   unsigned int height, uint64_t base)
{
	uint64_t step, found;
	unsigned int i = 0;

	if (!is_node(slot, height)) {
		if (!matches(slot, seek->what))
			return UINT64_MAX;
		return base > seek->from ? base : seek->from;
	}
	step = rs_slot_span(height - 1);
	if (seek->from > base)
		i = (unsigned int)((seek->from - base) / step);
	for (; i < RS_FANOUT; i++) {
		found = seek_below(seek, rs_slot_node(slot)->slot[i],
				   height - 1, base + i * step);
		if (found != UINT64_MAX)
			return found;
	}
	return UINT64_MAX;
}

uint64_t rs_tree_next(struct rs_tree tree, uint64_t page, enum rs_seek what)
{
	struct seek seek = { page, what };
	uint64_t span = rs_slot_span(*tree.height), found = UINT64_MAX;

	if (page < span)
		found = seek_below(&seek, *tree.root, *tree.height, 0);
	if (found == UINT64_MAX && what == RS_SEEK_HOLE)
		found = page > span ? page : span;
	return found;
}

struct count {
	uint64_t first, end, pages;
	int any;
};

static void count_below(struct count *count, uintptr_t slot,
			unsigned int height, uint64_t base)
{
	uint64_t span = rs_slot_span(height), from = base, to = base + span;
	unsigned int i;

	if (to <= count->first || base >= count->end || slot == RS_SLOT_HOLE)
		return;
	if (is_node(slot, height)) {
		span = rs_slot_span(height - 1);
		for (i = 0; i < RS_FANOUT; i++)
			count_below(count, rs_slot_node(slot)->slot[i],
				    height - 1, base + i * span);
		return;
	}
	if (from < count->first)
		from = count->first;
	if (to > count->end)
		to = count->end;
	if (slot == RS_SLOT_ANY)
		count->any = 1;
	else
		count->pages += to - from;
}

uint64_t rs_tree_count(struct rs_tree tree, uint64_t first, uint64_t end,
		       int *ret_any)
{
	struct count count = { first, end, 0, 0 };

	count_below(&count, *tree.root, *tree.height, 0);
	*ret_any = count.any;
	return count.pages;
}

uint64_t rs_slot_pages(uintptr_t slot, unsigned int height,
		       uint64_t *ret_resident)
{
	uint64_t pages = 0, resident = 0, below;
	unsigned int i;

	if (slot == RS_SLOT_FULL) {
		pages = rs_slot_span(height);
	} else if (height == 0 && rs_slot_is_page(slot)) {
		pages = resident = 1;
	} else if (is_node(slot, height)) {
		for (i = 0; i < RS_FANOUT; i++) {
			pages += rs_slot_pages(rs_slot_node(slot)->slot[i],
					       height - 1, &below);
			resident += below;
		}
	}
	*ret_resident = resident;
	return pages;
}

struct evict {
	struct rs_mem *mem;
	uint64_t left;
};

static void evict_below(struct evict *evict, uintptr_t *slot,
			unsigned int height)
{
	struct rs_node *node;
	unsigned int i;

	if (!evict->left || !rs_slot_is_page(*slot))
		return;
	if (!height) {
		rs_mem_page_free(evict->mem, rs_slot_page(*slot));
		*slot = RS_SLOT_FULL;
		evict->left--;
		return;
	}
	node = rs_slot_node(*slot);
	for (i = 0; i < RS_FANOUT && evict->left; i++)
		evict_below(evict, &node->slot[i], height - 1);
	if (node_is_all(node, RS_SLOT_FULL)) {
		node_free(evict->mem, *slot);
		*slot = RS_SLOT_FULL;
	}
}

uint64_t rs_tree_evict(struct rs_mem *mem, struct rs_tree tree, uint64_t max)
{
	struct evict evict = { mem, max };

	evict_below(&evict, tree.root, *tree.height);
	return max - evict.left;
}
