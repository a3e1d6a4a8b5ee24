/*
 * link.c - names come and go: link, unlink, rmdir.
 */
#include "fs/core_p.h"

#define LINK_BYTES (2 * RS_REC_INODE_LEN + RS_REC_ENTRY_LEN)

static int link_check(struct rs_core *core, uint64_t ino, uint64_t parent,
		      const char *name, struct rs_place *place,
		      struct rs_inode **ret_inode)
{
	struct rs_inode *inode = rs_inode_find(core, ino);
	int err;

	if (!inode)
		return -ESTALE;
	err = rs_place_find(core, parent, name, place);
	if (err)
		return err;
	if (place->dentry)
		return -EEXIST;
	if (S_ISDIR(inode->mode))
		return -EPERM;
	if (!inode->nlink && !(inode->state & RS_I_TMPFILE))
		return -ENOENT;
	if (inode->nlink >= RS_NLINK_MAX)
		return -EMLINK;
	*ret_inode = inode;
	return 0;
}

static void link_apply(struct rs_core *core, struct rs_place *place,
		       struct rs_inode *inode)
{
	uint32_t had = inode->log_nlink;
	struct timespec now;

	if (!inode->nlink)
		core->orphans--;
	inode->state &= (uint8_t)~RS_I_TMPFILE;
	inode->nlink++;
	inode->nlookup++;
	rs_times_now(core, &now);
	rs_times_set(inode, RS_CTIME, &now);
	rs_times_change(place->dir, &now);
	rs_intent_begin(core);
	rs_intent_entry(core, place->dentry, inode,
			rs_entry_logs(place->dir, inode));
	rs_dentry_add(core, place->dentry, inode);
	rs_intent_settle(core, inode, had);
	rs_intent_end(core);
}

static int link_locked(struct rs_core *core, struct rs_op *op, uint64_t ino,
		       uint64_t parent, const char *name,
		       struct rs_stat *ret_st)
{
	struct rs_place place;
	struct rs_inode *inode;
	int err;

	err = link_check(core, ino, parent, name, &place, &inode);
	if (!err)
		err = rs_closure_ready(core, op, inode, &place);
	if (!err)
		err = rs_op_short(core, op,
				  rs_dir_logs(place.dir) ||
					  rs_inode_logged(inode));
	if (!err)
		err = rs_limit_move(core, inode, NULL, place.dir, NULL);
	if (!err)
		err = rs_quota_ram(core, sizeof(struct rs_dentry) + place.len,
				   RS_NEED_SMALL);
	if (err)
		return err;
	place.dentry = rs_dentry_alloc(core, place.dir, name, place.len);
	if (!place.dentry)
		return -ENOMEM;
	link_apply(core, &place, inode);
	rs_inode_stat(inode, ret_st);
	return 0;
}

enum rs_closes rs_core_link_closes(struct rs_core *core, uint64_t ino,
				   uint64_t parent)
{
	struct rs_place place = { NULL, NULL, NULL, 0 };
	struct rs_inode *inode;
	struct rs_op op;
	int closes = 0;

	if (!rs_policy_any(core, RS_POLICY_VOLATILE))
		return RS_CLOSES_NOTHING;
	rs_core_lock(core);
	inode = rs_inode_find(core, ino);
	place.dir = rs_inode_find(core, parent);
	if (inode && place.dir && S_ISDIR(place.dir->mode) &&
	    !S_ISDIR(inode->mode))
		closes = rs_closure_ready(core, &op, inode, &place);
	rs_core_unlock(core);
	return closes ? RS_CLOSES_FILE : RS_CLOSES_NOTHING;
}

int rs_core_link(struct rs_core *core, uint64_t ino, uint64_t parent,
		 const char *name, const struct rs_who *who,
		 struct rs_stat *ret_st)
{
	struct rs_op op;
	int err;

	(void)who;
	rs_op_init(core, &op, parent, LINK_BYTES, RS_NEED_SMALL);
	do {
		err = rs_op_enter(core, &op);
		if (!err)
			err = link_locked(core, &op, ino, parent, name, ret_st);
	} while (rs_op_again(core, &op, &err));
	return err;
}

static void remove_apply(struct rs_core *core, const struct rs_place *place)
{
	struct rs_inode *inode = place->dentry->inode;
	uint32_t had = inode->log_nlink;
	struct timespec now;

	rs_times_now(core, &now);
	rs_times_change(place->dir, &now);
	if (S_ISDIR(inode->mode))
		place->dir->nlink--;
	inode->nlink = S_ISDIR(inode->mode) ? 0 : inode->nlink - 1;
	rs_times_set(inode, RS_CTIME, &now);
	rs_intent_begin(core);
	rs_intent_entry(core, place->dentry, NULL, 0);
	rs_dentry_remove(core, place->dentry);
	rs_intent_settle(core, inode, had);
	rs_intent_end(core);
	if (!inode->nlink)
		rs_inode_drop(core, inode);
}

static int remove_check(const struct rs_place *place, int want_dir)
{
	const struct rs_inode *inode;

	if (!place->dentry)
		return -ENOENT;
	inode = place->dentry->inode;
	if (!want_dir)
		return S_ISDIR(inode->mode) ? -EISDIR : 0;
	if (!S_ISDIR(inode->mode))
		return -ENOTDIR;
	return inode->u.dir->live ? -ENOTEMPTY : 0;
}

static int remove_locked(struct rs_core *core, const struct rs_op *op,
			 uint64_t parent, const char *name, int want_dir)
{
	struct rs_place place;
	int err;

	err = rs_place_find(core, parent, name, &place);
	if (!err)
		err = remove_check(&place, want_dir);
	if (!err)
		err = rs_op_short(core, op,
				  place.dentry->logged ||
					  rs_inode_logged(place.dentry->inode));
	if (!err)
		remove_apply(core, &place);
	return err;
}

static int remove_name(struct rs_core *core, uint64_t parent, const char *name,
		       int want_dir)
{
	struct rs_op op;
	int err;

	rs_op_init(core, &op, parent, LINK_BYTES, RS_NEED_SMALL);
	do {
		err = rs_op_enter(core, &op);
		if (!err)
			err = remove_locked(core, &op, parent, name, want_dir);
	} while (rs_op_again(core, &op, &err));
	return err;
}

int rs_core_unlink(struct rs_core *core, uint64_t parent, const char *name,
		   const struct rs_who *who)
{
	(void)who;
	return remove_name(core, parent, name, 0);
}

int rs_core_rmdir(struct rs_core *core, uint64_t parent, const char *name,
		  const struct rs_who *who)
{
	(void)who;
	return remove_name(core, parent, name, 1);
}
