/*
 * pages.h - a file's data: a radix tree of 4 KiB pages, fanout 64.
 *
 * A slot is a page, a node, or one of three marks that stand for a whole
 * subtree. Height 0: the root slot is the one page itself. What lies past
 * the tree's reach is a hole. Knows nothing of inodes, sizes, budgets.
 *
 *   HOLE  not allocated, reads as zeros
 *   ANY   in the store only; which of its pages are allocated isn't known
 *   FULL  in the store only; every page of it is allocated
 */
#ifndef RS_PAGES_H
#define RS_PAGES_H

#include "fs/mem.h"

#define RS_SLOT_HOLE ((uintptr_t)0)
#define RS_SLOT_ANY ((uintptr_t)1)
#define RS_SLOT_FULL ((uintptr_t)2)

#define RS_FANOUT_SHIFT 6u
#define RS_FANOUT (1u << RS_FANOUT_SHIFT)
/* 64^9 pages hold more than the 2^51 of the largest file */
#define RS_HEIGHT_MAX 9u

struct rs_node {
	uintptr_t slot[RS_FANOUT];
};

struct rs_tree {
	uintptr_t *root;
	uint8_t *height;
};

static inline int rs_slot_is_page(uintptr_t slot)
{
	return slot > RS_SLOT_FULL;
}

static inline int rs_slot_is_cold(uintptr_t slot)
{
	return slot == RS_SLOT_ANY || slot == RS_SLOT_FULL;
}

static inline unsigned char *rs_slot_page(uintptr_t slot)
{
	return (unsigned char *)slot;
}

static inline struct rs_node *rs_slot_node(uintptr_t slot)
{
	return (struct rs_node *)slot;
}

/* Pages under a slot of this height. */
static inline uint64_t rs_slot_span(unsigned int height)
{
	return UINT64_C(1) << (RS_FANOUT_SHIFT * height);
}

/*
 * Set an empty tree to the mark for pages [0, n) and holes behind. -ENOMEM,
 * the tree is then as before.
 */
RS_MUST_USE int rs_tree_fill(struct rs_mem *mem, struct rs_tree tree,
			     uint64_t n, uintptr_t mark);

/* What stands for a page: HOLE, ANY, FULL or the page. */
uintptr_t rs_tree_get(struct rs_tree tree, uint64_t page);

/*
 * Make the path to a page's own slot, growing the tree and taking marks
 * apart; no page changes its meaning. Sets *ret_slot. -ENOMEM
 */
RS_MUST_USE int rs_tree_reach(struct rs_mem *mem, struct rs_tree tree,
			      uint64_t page, uintptr_t **ret_slot);

/*
 * Take only marks ANY and FULL on the path to a page apart, so that a cut at
 * this page meets no mark that it had to split. -ENOMEM
 */
RS_MUST_USE int rs_tree_split(struct rs_mem *mem, struct rs_tree tree,
			      uint64_t page);

/*
 * Replace everything in [first, end) by holes. Subtrees go to bury(); marks
 * that reach over the edges were split before. bury is told the pages'
 * meaning by slot and height. Nodes that become empty are freed.
 */
void rs_tree_cut(struct rs_mem *mem, struct rs_tree tree, uint64_t first,
		 uint64_t end,
		 void (*bury)(void *arg, uintptr_t slot, unsigned int height),
		 void *arg);

/* what rs_tree_next() looks for */
enum rs_seek {
	RS_SEEK_HOLE,
	RS_SEEK_DATA, /* no hole; a mark counts */
	RS_SEEK_COLD, /* either mark */
	RS_SEEK_ANY,  /* the mark ANY */
};

/*
 * The first page >= page of that kind; UINT64_MAX if there is none. What
 * lies behind the tree's reach is a hole.
 */
uint64_t rs_tree_next(struct rs_tree tree, uint64_t page, enum rs_seek what);

/* Pages of [first, end) that are RAM pages or FULL; *ret_any: some is ANY. */
uint64_t rs_tree_count(struct rs_tree tree, uint64_t first, uint64_t end,
		       int *ret_any);

/* RAM pages under a slot, and all the pages that it allocates for sure. */
uint64_t rs_slot_pages(uintptr_t slot, unsigned int height,
		       uint64_t *ret_resident);

/*
 * Turn at most max RAM pages into FULL, in order, and free them; full nodes
 * of FULL become one mark. Returns how many.
 */
uint64_t rs_tree_evict(struct rs_mem *mem, struct rs_tree tree, uint64_t max);

#endif
