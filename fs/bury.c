/*
 * bury.c - subtrees of pages that are to be freed, a portion at a time.
 *
 * An unlink or truncate of a huge file only hangs its tree in here. The
 * array is a stack; opening a node of height h pushes its 64 children, so
 * every entry needs at most 64 places a level above it: GRAVE_SPARE is kept
 * free at all times, which is why work can't fail.
 */
#include "fs/core_p.h"

#define GRAVE_SPARE (RS_FANOUT * RS_HEIGHT_MAX)
#define GRAVE_MIN 1024u

int rs_grave_room(struct rs_core *core, size_t n)
{
	size_t need = core->n_graves + n + GRAVE_SPARE, cap = core->cap_graves;
	struct rs_grave *graves;

	if (need <= cap)
		return 0;
	if (!cap)
		cap = GRAVE_MIN;
	while (cap < need)
		cap *= 2;
	graves = realloc(core->graves, cap * sizeof(*graves));
	if (!graves)
		return -ENOMEM;
	core->graves = graves;
	core->cap_graves = cap;
	return 0;
}

void rs_grave_push(struct rs_core *core, uintptr_t slot, unsigned int height)
{
	if (!rs_slot_is_page(slot))
		return;
	assert(core->n_graves < core->cap_graves);
	core->graves[core->n_graves++] = (struct rs_grave){ slot, height };
}

static unsigned int open_grave(struct rs_core *core, struct rs_grave grave)
{
	struct rs_node *node;
	unsigned int i;

	if (!grave.height) {
		rs_mem_page_free(&core->mem, rs_slot_page(grave.slot));
		core->resident--;
		return 1;
	}
	node = rs_slot_node(grave.slot);
	for (i = 0; i < RS_FANOUT; i++)
		rs_grave_push(core, node->slot[i], grave.height - 1);
	rs_mem_free(&core->mem, node, sizeof(*node));
	return 1;
}

int rs_grave_work(struct rs_core *core, unsigned int pages)
{
	unsigned int done = 0;

	while (core->n_graves && done < pages)
		done += open_grave(core, core->graves[--core->n_graves]);
	return core->n_graves > 0;
}
