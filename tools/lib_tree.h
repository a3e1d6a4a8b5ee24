/*
 * lib_tree.h - a store's tree for the tools, without a mount.
 */
#ifndef RS_LIB_TREE_H
#define RS_LIB_TREE_H

#include "fs/core.h"
#include "tools/lib_target.h"

struct rs_tree_view {
	struct rs_journal *journal;
	struct rs_core *core;
};

/*
 * Open in a mode that is not SERVE and load the tree; findings in rep.
 * Returns 0 or an exit code; the reason was said. rs_tree_close() after 0.
 */
RS_MUST_USE int rs_tree_open(const struct rs_target *target,
			     enum rs_journal_mode mode, struct rs_report *rep,
			     struct rs_tree_view *ret_tree);
void rs_tree_close(struct rs_tree_view *tree);
/* Damage: found now, or noted in the store and not accepted yet. */
int rs_tree_is_damaged(struct rs_journal *journal, const struct rs_report *rep);
/*
 * Read bytes of a file, cold ones too; bytes read, 0 at the end, -errno.
 */
RS_MUST_USE ssize_t rs_tree_read(struct rs_core *core, uint64_t ino, void *buf,
				 size_t len, uint64_t off);
/*
 * The next stretch of data at or after off: *ret_off, *ret_end. -ENXIO:
 * nothing but a hole follows.
 */
RS_MUST_USE int rs_tree_data(struct rs_core *core, uint64_t ino, uint64_t off,
			     uint64_t *ret_off, uint64_t *ret_end);

#endif
