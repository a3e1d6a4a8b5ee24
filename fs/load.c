/*
 * load.c - a tree from the journal: the store's metadata, then the frames.
 */
#include "fs/core_p.h"

int rs_core_load_tree(struct rs_core *core, struct rs_report *rep)
{
	(void)rep;
	return core->cfg.journal ? -ENOSYS : 0;
}
