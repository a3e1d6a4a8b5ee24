/*
 * dirsync.c - how an fsync of a directory is to be taken.
 */
#include "fs/core_p.h"

int rs_core_dirsync_caller(struct rs_core *core, uint64_t ino,
			   uint64_t *ret_number)
{
	const struct rs_inode *dir;
	int yes;

	if (!__atomic_load_n(&core->any_caller, __ATOMIC_RELAXED))
		return 0;
	rs_core_lock(core);
	dir = rs_inode_find(core, ino);
	yes = dir && S_ISDIR(dir->mode) &&
	      dir->u.dir->eff_sync == RS_DIRSYNC_CALLER;
	rs_core_unlock(core);
	if (yes)
		*ret_number = rs_core_sync_number(core, ino);
	return yes;
}
