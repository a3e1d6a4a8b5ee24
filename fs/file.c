/*
 * file.c - a regular file's tree of pages as part of its inode: blocks,
 * data_end, the clock, cutting.
 *
 * INVARIANTS
 * I1 blocks counts the allocated pages exactly, in RAM or not; core->blocks
 *    is their sum over all files
 * I2 no page at or after data_end is allocated
 * I3 bytes at or after size read as zeros once size grows over them: every
 *    page is zero from size to its end
 * I4 a file from the store begins as one mark ANY; if blocks says that every
 *    page below data_end is allocated, rs_file_thaw() makes that mark FULL,
 *    so that only sparse files ever have to ask the store what is allocated
 */
#include "fs/core_p.h"

static struct rs_tree tree_of(struct rs_inode *inode)
{
	return (struct rs_tree){ &inode->u.root, &inode->height };
}

struct rs_tree rs_file_tree(struct rs_inode *inode)
{
	return tree_of(inode);
}

uint64_t rs_page_up(uint64_t bytes)
{
	return bytes / RS_PAGE + (bytes % RS_PAGE != 0);
}

int rs_file_thaw(struct rs_core *core, struct rs_inode *inode)
{
	uint64_t pages = rs_page_up(inode->data_end);
	uintptr_t was = inode->u.root;
	uint8_t height = inode->height;
	int err;

	if (was != RS_SLOT_ANY)
		return 0;
	inode->u.root = RS_SLOT_HOLE;
	err = rs_tree_fill(&core->mem, tree_of(inode), pages,
			   inode->blocks == pages ? RS_SLOT_FULL : RS_SLOT_ANY);
	if (err) {
		inode->u.root = was;
		inode->height = height;
	}
	return err;
}

void rs_file_freeze(struct rs_inode *inode)
{
	uint64_t pages = rs_page_up(inode->data_end);

	inode->u.root = pages ? RS_SLOT_ANY : RS_SLOT_HOLE;
	inode->height = 0;
	while (pages > rs_slot_span(inode->height))
		inode->height++;
}

int rs_file_is_dense(const struct rs_inode *inode)
{
	return inode->blocks == rs_page_up(inode->data_end);
}

void rs_file_resident(struct rs_core *core, struct rs_inode *inode)
{
	inode->state |= RS_I_USED;
	/* what isn't logged stays */
	if (!core->cfg.journal || inode->clock_next || !rs_inode_logged(inode))
		return;
	core->n_clock++;
	if (!core->clock) {
		inode->clock_next = inode->clock_prev = inode;
		core->clock = inode;
		return;
	}
	/* behind the hand: the last to be looked at */
	inode->clock_next = core->clock;
	inode->clock_prev = core->clock->clock_prev;
	inode->clock_prev->clock_next = inode;
	core->clock->clock_prev = inode;
}

void rs_file_unclock(struct rs_core *core, struct rs_inode *inode)
{
	if (!inode->clock_next || (inode->loss & 1))
		return;
	core->n_clock--;
	if (core->clock == inode)
		core->clock = inode->clock_next;
	if (core->clock == inode)
		core->clock = NULL;
	inode->clock_prev->clock_next = inode->clock_next;
	inode->clock_next->clock_prev = inode->clock_prev;
	inode->clock_next = inode->clock_prev = NULL;
}

/*
 * Never fails, as forget and unlink can't: without room for one more grave
 * those that are there are emptied first.
 */
void rs_file_clear(struct rs_core *core, struct rs_inode *inode)
{
	if (rs_grave_room(core, 1))
		rs_grave_work(core, UINT32_MAX);
	rs_grave_push(core, inode->u.root, inode->height);
	inode->u.root = RS_SLOT_HOLE;
	inode->height = 0;
	core->blocks -= inode->blocks;
	rs_limit_grow(core, inode, -(inode->blocks * RS_PAGE));
	rs_loss_grow(core, inode, -inode->blocks);
	inode->blocks = 0;
	inode->data_end = 0;
	rs_file_unclock(core, inode);
}

int rs_file_cut_room(struct rs_core *core, struct rs_inode *inode,
		     uint64_t first, uint64_t end)
{
	struct rs_tree tree = tree_of(inode);
	int err;

	/* at each level at most two nodes are cut in part */
	err = rs_grave_room(core, 2 * RS_FANOUT * RS_HEIGHT_MAX);
	if (!err)
		err = rs_tree_split(&core->mem, tree, first);
	if (!err && first)
		err = rs_tree_split(&core->mem, tree, first - 1);
	if (!err)
		err = rs_tree_split(&core->mem, tree, end);
	if (!err && end)
		err = rs_tree_split(&core->mem, tree, end - 1);
	return err;
}

static void bury(void *arg, uintptr_t slot, unsigned int height)
{
	rs_grave_push(arg, slot, height);
}

void rs_file_cut(struct rs_core *core, struct rs_inode *inode, uint64_t first,
		 uint64_t end)
{
	uint64_t gone;
	int any;

	if (first >= end)
		return;
	if (first == 0 && end >= rs_page_up(inode->data_end)) {
		rs_file_clear(core, inode);
		return;
	}
	gone = rs_tree_count(tree_of(inode), first, end, &any);
	assert(!any && gone <= inode->blocks);
	rs_tree_cut(&core->mem, tree_of(inode), first, end, bury, core);
	inode->blocks -= gone;
	core->blocks -= gone;
	rs_limit_grow(core, inode, -(gone * RS_PAGE));
	rs_loss_grow(core, inode, -gone);
	if (end >= rs_page_up(inode->data_end) &&
	    first * RS_PAGE < inode->data_end)
		inode->data_end = first * RS_PAGE;
}

void rs_file_zero(struct rs_inode *inode, uint64_t from, uint64_t to)
{
	uintptr_t slot = rs_tree_get(tree_of(inode), from / RS_PAGE);

	if (from < to && rs_slot_is_page(slot))
		memset(rs_slot_page(slot) + from % RS_PAGE, 0, to - from);
}
