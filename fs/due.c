/*
 * due.c - times of directories that the log doesn't have yet.
 *
 * Under interval a group of names that came and went writes nothing (R6 of
 * intent.c), so the directory's own times stay behind. A barrier and an
 * orderly end log them; without either they go with its next record.
 */
#include "fs/core_p.h"

#define STEP 64u /* directories in one frame */

/* Without memory they wait for the next record. */
void rs_due_note(struct rs_core *core, struct rs_inode *dir)
{
	size_t cap = core->cap_due ? 2 * core->cap_due : 16;
	uint64_t *due;

	dir->u.dir->due = 1;
	if (dir->u.dir->in_due)
		return;
	if (core->n_due == core->cap_due) {
		due = realloc(core->due, cap * sizeof(*due));
		if (!due)
			return;
		core->due = due;
		core->cap_due = cap;
	}
	core->due[core->n_due++] = dir->node.key;
	dir->u.dir->in_due = 1;
}

static void log_some(struct rs_core *core)
{
	struct rs_inode *dir;
	unsigned int n;

	rs_intent_begin(core);
	for (n = 0; n < STEP && core->n_due; n++) {
		dir = rs_inode_find(core, core->due[--core->n_due]);
		if (!dir || !S_ISDIR(dir->mode))
			continue;
		dir->u.dir->in_due = 0;
		if (dir->u.dir->due && rs_inode_logged(dir))
			rs_intent_inode(core, dir);
	}
	rs_intent_end(core);
}

int rs_core_log_times(struct rs_core *core)
{
	struct rs_room room;
	int err, more = 1;

	if (!core->cfg.journal || core->cfg.readonly)
		return 0;
	while (more) {
		err = rs_room_take(core, &room, STEP * RS_REC_INODE_LEN,
				   RS_NEED_SMALL);
		if (err)
			return err;
		rs_core_lock(core);
		if (core->n_due)
			log_some(core);
		more = core->n_due > 0;
		rs_core_unlock(core);
		rs_room_give(core, &room);
	}
	return 0;
}
