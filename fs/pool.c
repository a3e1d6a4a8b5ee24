/*
 * pool.c - pages that were taken before an intent is appended, and how they
 * get into a file after it, when nothing may fail any more.
 */
#include "fs/core_p.h"

void rs_pool_drain(struct rs_core *core, struct rs_pool *pool)
{
	void *page = pool->pages, *next;

	for (; page; page = next) {
		memcpy(&next, page, sizeof(next));
		rs_mem_page_free(&core->mem, page);
	}
	pool->pages = NULL;
}

int rs_pool_fill(struct rs_core *core, struct rs_pool *pool, uint64_t count)
{
	void *page;

	for (; count; count--) {
		page = rs_mem_page(&core->mem);
		if (!page) {
			rs_pool_drain(core, pool);
			return -ENOMEM;
		}
		memcpy(page, &pool->pages, sizeof(pool->pages));
		pool->pages = page;
	}
	return 0;
}

int rs_pool_paths(struct rs_core *core, struct rs_inode *inode, uint64_t first,
		  uint64_t end)
{
	uintptr_t *slot;
	int err = 0;

	/* one path leads to a whole leaf */
	for (; !err && first < end; first = (first | (RS_FANOUT - 1)) + 1)
		err = rs_tree_reach(&core->mem, rs_file_tree(inode), first,
				    &slot);
	return err;
}

static void *take(struct rs_pool *pool)
{
	void *page = pool->pages;

	assert(page);
	memcpy(&pool->pages, page, sizeof(pool->pages));
	return page;
}

static unsigned char *install(struct rs_core *core, struct rs_pool *pool,
			      struct rs_inode *inode, uint64_t page)
{
	uintptr_t *slot;
	int err;

	err = rs_tree_reach(&core->mem, rs_file_tree(inode), page, &slot);
	assert(!err && !rs_slot_is_page(*slot));
	if (*slot == RS_SLOT_HOLE) {
		inode->blocks++;
		core->blocks++;
		rs_limit_grow(core, inode, RS_PAGE);
		rs_loss_grow(core, inode, 1);
	}
	*slot = (uintptr_t)take(pool);
	core->resident++;
	if (inode->data_end < (page + 1) * RS_PAGE)
		inode->data_end = (page + 1) * RS_PAGE;
	rs_file_resident(core, inode);
	return rs_slot_page(*slot);
}

unsigned char *rs_pool_put(struct rs_core *core, struct rs_pool *pool,
			   struct rs_inode *inode, uint64_t page)
{
	unsigned char *bytes = install(core, pool, inode, page);

	memset(bytes, 0, RS_PAGE);
	return bytes;
}

void rs_pool_write(struct rs_core *core, struct rs_pool *pool,
		   struct rs_inode *inode, const uint8_t *buf, size_t n,
		   uint64_t off)
{
	size_t at, part;
	unsigned char *bytes;
	uintptr_t slot;

	for (; n; n -= part, buf += part, off += part) {
		at = off % RS_PAGE;
		part = n < RS_PAGE - at ? n : RS_PAGE - at;
		slot = rs_tree_get(rs_file_tree(inode), off / RS_PAGE);
		if (rs_slot_is_page(slot)) {
			memcpy(rs_slot_page(slot) + at, buf, part);
			continue;
		}
		bytes = install(core, pool, inode, off / RS_PAGE);
		memset(bytes, 0, at);
		memcpy(bytes + at, buf, part);
		memset(bytes + at + part, 0, RS_PAGE - at - part);
	}
	if (inode->clock_next)
		inode->state |= RS_I_USED;
}
