/*
 * mem.h - where the tree's bytes live: pages and small objects in slabs of
 * our own, locked in RAM and kept out of core dumps. Not thread-safe: the
 * tree lock covers it.
 */
#ifndef RS_MEM_H
#define RS_MEM_H

#include "include/rs_base.h"

/* largest object that shares a page with others */
#define RS_OBJ_MAX 2048u
#define RS_MEM_CLASSES 24u

struct rs_slab;
struct rs_page_meta;

struct rs_mem {
	struct rs_slab *slabs; /* all of them */
	struct rs_slab *open;  /* those with a free page */
	unsigned int n_slabs, n_empty;
	uint64_t pages; /* handed out */
	uint64_t extra; /* bytes from malloc: tables, arrays, big xattrs */
	uint64_t loose; /* pages that are free, but still hold memory */
	int unlocked;	/* an mlock failed: the pages may be swapped */
	struct rs_page_meta *partial[RS_MEM_CLASSES];
};

void rs_mem_init(struct rs_mem *mem);
/* Gives everything back at once, whatever is still in use in it. */
void rs_mem_release(struct rs_mem *mem);

/* A page of RS_PAGE bytes, contents unspecified; NULL without memory. */
void *rs_mem_page(struct rs_mem *mem);
void rs_mem_page_free(struct rs_mem *mem, void *page);

/* size bytes, unspecified; free wants the same size back. NULL is fine. */
void *rs_mem_alloc(struct rs_mem *mem, size_t size);
void *rs_mem_zalloc(struct rs_mem *mem, size_t size);
void rs_mem_free(struct rs_mem *mem, void *obj, size_t size);

/*
 * Give the memory of free pages back to the kernel, of about `pages` of them.
 * Without this what was data once stays taken for ever, beside the frames
 * that came instead.
 */
void rs_mem_trim(struct rs_mem *mem, uint64_t pages);

/* Bytes that count against `ram`. */
static inline uint64_t rs_mem_used(const struct rs_mem *mem)
{
	return mem->pages * RS_PAGE + mem->extra;
}

#endif
