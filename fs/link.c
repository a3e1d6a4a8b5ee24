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

static int needs_staging(struct rs_core *core, const struct rs_inode *dir,
			 const struct rs_inode *inode)
{
	if (!core->cfg.journal || !rs_policy_logs(core, dir))
		return 0;
	if (!rs_inode_logged(inode))
		return 1;
	return (inode->flags & RS_IF_STAGED) && !(inode->state & RS_I_WHOLE);
}

static void link_apply(struct rs_core *core, struct rs_place *place,
		       struct rs_inode *inode)
{
	struct timespec now;

	if (!inode->nlink)
		core->orphans--;
	inode->state &= (uint8_t)~RS_I_TMPFILE;
	inode->flags &= ~RS_IF_STAGED;
	inode->nlink++;
	inode->nlookup++;
	rs_times_now(core, &now);
	rs_times_set(inode, RS_CTIME, &now);
	rs_times_change(place->dir, &now);
	rs_intent_begin(core);
	rs_intent_inode(core, inode);
	rs_intent_inode(core, place->dir);
	rs_intent_put(core, place->dentry, inode, 0);
	rs_intent_end(core);
	rs_dentry_add(core, place->dentry, inode);
}

static int link_locked(struct rs_core *core, uint64_t ino, uint64_t parent,
		       const char *name, struct rs_stat *ret_st)
{
	struct rs_place place;
	struct rs_inode *inode;
	int err;

	err = link_check(core, ino, parent, name, &place, &inode);
	if (err)
		return err;
	if (needs_staging(core, place.dir, inode))
		return -EAGAIN;
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

int rs_core_link(struct rs_core *core, uint64_t ino, uint64_t parent,
		 const char *name, const struct rs_who *who,
		 struct rs_stat *ret_st)
{
	struct rs_room room;
	int err;

	(void)who;
	do {
		err = rs_room_take(core, &room, LINK_BYTES, RS_NEED_SMALL);
		if (err)
			return err;
		rs_core_lock(core);
		err = link_locked(core, ino, parent, name, ret_st);
		rs_core_unlock(core);
		rs_room_give(core, &room);
		if (err != -EAGAIN)
			return err;
		err = rs_closure_stage(core, ino);
	} while (!err);
	return err;
}

/* One name less. The dentry is still there; called in the transaction. */
static void lose_name(struct rs_core *core, struct rs_inode *inode,
		      const struct timespec *now)
{
	inode->nlink = S_ISDIR(inode->mode) ? 0 : inode->nlink - 1;
	rs_times_set(inode, RS_CTIME, now);
	if (inode->nlink)
		rs_intent_inode(core, inode);
	else
		rs_intent_dead(core, inode);
}

static void remove_apply(struct rs_core *core, const struct rs_place *place)
{
	struct rs_inode *inode = place->dentry->inode;
	struct timespec now;

	rs_times_now(core, &now);
	rs_times_change(place->dir, &now);
	if (S_ISDIR(inode->mode))
		place->dir->nlink--;
	rs_intent_begin(core);
	rs_intent_del(core, place->dentry);
	rs_intent_inode(core, place->dir);
	lose_name(core, inode, &now);
	rs_intent_end(core);
	rs_dentry_remove(core, place->dentry);
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

static int remove_name(struct rs_core *core, uint64_t parent, const char *name,
		       int want_dir)
{
	struct rs_place place;
	struct rs_room room;
	int err;

	err = rs_room_take(core, &room, LINK_BYTES, RS_NEED_SMALL);
	if (err)
		return err;
	rs_core_lock(core);
	err = rs_place_find(core, parent, name, &place);
	if (!err)
		err = remove_check(&place, want_dir);
	if (!err)
		remove_apply(core, &place);
	rs_core_unlock(core);
	rs_room_give(core, &room);
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
