/*
 * intent.c - from a change of the tree to records in the open group.
 *
 * RULES
 * R1 everything that touches an inode also writes its INODE record, so one
 *    number (`last`) tells whether anything about it is still on its way
 * R2 prev of a record is the frame of the inode's last record before the
 *    open group, whatever the group itself has already said about it
 * R3 a name that was free, was taken and is free again within one group
 *    leaves no record: its PUT is voided; likewise an inode that is born
 *    and dies in it (elided)
 * R4 a PUT that takes the place of another of the same group inherits
 *    `fresh`: it is the state before the group that counts
 * R5 an inode that was unlogged in the open group isn't logged again in it:
 *    its elision takes all records about it out of the group
 * R6 a directory's INODE record that no name is left of is taken back too,
 *    under the policy interval; its times are due then (due.c)
 *
 * Without a journal nothing here does anything.
 */
#include <dirent.h>

#include "fs/core_p.h"

int rs_core_writable(struct rs_core *core)
{
	return core->cfg.readonly ? -EROFS : 0;
}

int rs_room_take(struct rs_core *core, struct rs_room *room, size_t bytes,
		 enum rs_need need)
{
	int err;

	room->bytes = 0;
	if (core->cfg.readonly)
		return -EROFS;
	if (!core->cfg.journal)
		return 0;
	if (bytes > rs_room_max(core))
		return -ENOSPC;
	err = rs_journal_reserve(core->cfg.journal, bytes, need);
	if (err)
		return err;
	room->bytes = bytes;
	return 0;
}

void rs_room_give(struct rs_core *core, struct rs_room *room)
{
	if (room->bytes)
		rs_journal_unreserve(core->cfg.journal, room->bytes);
	room->bytes = 0;
}

size_t rs_room_max(const struct rs_core *core)
{
	if (!core->cfg.journal)
		return (size_t)1 << 22;
	return rs_journal_max_bytes(core->cfg.journal);
}

void rs_intent_begin(struct rs_core *core)
{
	core->tx = 0;
	if (core->cfg.journal)
		core->tx = rs_journal_begin(core->cfg.journal);
}

void rs_intent_end(struct rs_core *core)
{
	if (core->cfg.journal)
		rs_journal_end(core->cfg.journal);
}

static int logs(const struct rs_core *core, const struct rs_inode *inode)
{
	return core->cfg.journal && rs_inode_logged(inode);
}

static void touch(struct rs_core *core, struct rs_inode *inode)
{
	if (inode->last == core->tx)
		return;
	inode->before = inode->last;
	inode->last = core->tx;
	inode->mark = 0;
	rs_loss_touch(core, inode);
}

/* It is more than names that came and went. */
static void solid(const struct rs_core *core, struct rs_inode *inode)
{
	if (S_ISDIR(inode->mode))
		inode->u.dir->solid = core->tx;
}

void rs_intent_rec(struct rs_core *core, struct rs_inode *inode,
		   struct rs_rec *rec)
{
	if (!logs(core, inode))
		return;
	solid(core, inode);
	touch(core, inode);
	rec->ino = inode->node.key;
	rec->prev = inode->before;
	rs_journal_put(core->cfg.journal, rec, NULL);
	if (rec->type == RS_REC_DATA)
		rs_loss_data(core, inode, rec->data_len);
}

static void write_inode(struct rs_core *core, struct rs_inode *inode)
{
	struct rs_rec rec = { .type = RS_REC_INODE };
	struct rs_mark mark = { 0 };

	if (!logs(core, inode))
		return;
	touch(core, inode);
	rec.ino = inode->node.key;
	rec.prev = inode->before;
	rs_inode_attr(inode, &rec.attr);
	rec.attr.nlink = inode->log_nlink;
	if (inode->mark) {
		mark.number = core->tx;
		mark.off = inode->mark - 1;
	}
	rs_journal_replace(core->cfg.journal, &rec, &mark);
	inode->mark = mark.off + 1;
	if (S_ISDIR(inode->mode))
		inode->u.dir->due = 0;
}

void rs_intent_inode(struct rs_core *core, struct rs_inode *inode)
{
	if (logs(core, inode))
		solid(core, inode);
	write_inode(core, inode);
}

/* What was unlogged in the open group can't come back in it: R5. */
void rs_intent_born(struct rs_core *core, struct rs_inode *inode)
{
	assert(!inode->last || inode->last != core->tx);
	inode->state |= RS_I_LOGGED;
	inode->births++;
	inode->last = inode->before = 0;
	inode->mark = 0;
	rs_intent_inode(core, inode);
	rs_loss_check(core, inode);
}

void rs_intent_dead(struct rs_core *core, struct rs_inode *inode)
{
	struct rs_rec rec = { .type = RS_REC_INODE_DEL };

	if (logs(core, inode)) {
		if (inode->last == core->tx && !inode->before)
			rs_journal_elide(core->cfg.journal, inode->node.key);
		else
			rs_intent_rec(core, inode, &rec);
		rs_loss_dead(core, inode);
	}
	inode->state &= (uint8_t) ~(RS_I_LOGGED | RS_I_WHOLE);
	inode->flags &= ~RS_IF_STAGED;
	rs_loss_check(core, inode);
}

/* True if the dentry's PUT was in the open group: it is taken back. */
static int take_back(struct rs_core *core, struct rs_dentry *dentry)
{
	struct rs_mark mark = { dentry->last, dentry->mark - 1 };

	if (dentry->last != core->tx || !dentry->mark)
		return 0;
	rs_journal_void(core->cfg.journal, &mark);
	dentry->mark = 0;
	dentry->dir->u.dir->entries--;
	return 1;
}

static void put_entry(struct rs_core *core, struct rs_dentry *dentry,
		      struct rs_rec *rec, struct rs_mark *mark)
{
	struct rs_dir *dir = dentry->dir->u.dir;

	if (dir->group != core->tx)
		dir->entries = 0;
	dir->group = core->tx;
	dir->entries++;
	touch(core, dentry->dir);
	rec->ino = dentry->dir->node.key;
	rec->prev = dentry->dir->before;
	rec->name = (const uint8_t *)dentry->name;
	rec->name_len = dentry->len;
	rs_journal_put(core->cfg.journal, rec, mark);
}

static void put(struct rs_core *core, struct rs_dentry *dentry,
		const struct rs_inode *child)
{
	struct rs_rec rec = { .type = RS_REC_ENTRY_PUT };
	struct rs_mark mark = { 0 };

	if (!take_back(core, dentry))
		dentry->fresh = !dentry->logged;
	rec.child = child->node.key;
	rec.dtype = (uint8_t)IFTODT(child->mode);
	put_entry(core, dentry, &rec, &mark);
	dentry->last = core->tx;
	dentry->mark = mark.off + 1;
}

static void del(struct rs_core *core, struct rs_dentry *dentry)
{
	struct rs_rec rec = { .type = RS_REC_ENTRY_DEL };

	if (take_back(core, dentry) && dentry->fresh)
		return;
	rec.child = dentry->inode->node.key;
	put_entry(core, dentry, &rec, NULL);
}

/* A directory counts in the one above, anything else its own names. */
static uint32_t *links_of(struct rs_inode *dir, struct rs_inode *child)
{
	return S_ISDIR(child->mode) ? &dir->log_nlink : &child->log_nlink;
}

/*
 * R6: all names of the group came and went. Under interval that costs
 * nothing: the directory's record, which would be about its times alone,
 * goes too. They are logged with its next one.
 */
static void come_and_gone(struct rs_core *core, struct rs_inode *dir)
{
	struct rs_mark mark = { core->tx, dir->mark - 1 };

	if (dir->last != core->tx || !dir->mark ||
	    dir->u.dir->solid == core->tx || dir->u.dir->group != core->tx ||
	    dir->u.dir->entries || dir->u.dir->eff != RS_POLICY_INTERVAL)
		return;
	rs_journal_void(core->cfg.journal, &mark);
	rs_loss_dead(core, dir);
	dir->last = dir->before;
	dir->mark = 0;
	rs_due_note(core, dir);
}

void rs_intent_entry(struct rs_core *core, struct rs_dentry *dentry,
		     struct rs_inode *child, int want)
{
	struct rs_inode *dir = dentry->dir;

	if (dentry->logged)
		--*links_of(dir, dentry->inode);
	if (want)
		++*links_of(dir, child);
	else if (child)
		dir->u.dir->whole = 0;
	if (core->cfg.journal && want)
		put(core, dentry, child);
	else if (core->cfg.journal && dentry->logged)
		del(core, dentry);
	if (want || dentry->logged)
		write_inode(core, dir);
	if (core->cfg.journal)
		come_and_gone(core, dir);
	dentry->logged = RS_D_UNLOGGED;
	if (want)
		dentry->logged =
			dir->u.dir->staging ? RS_D_STAGED : RS_D_LOGGED;
}

/* Is there a name that recovery would come to? */
static int has_place(const struct rs_inode *inode)
{
	const struct rs_dentry *name;

	for (name = inode->names; name; name = name->next) {
		if (name->logged && !(name->dir->flags & RS_IF_STAGED))
			return 1;
	}
	return 0;
}

void rs_intent_settle(struct rs_core *core, struct rs_inode *inode,
		      uint32_t had)
{
	rs_loss_check(core, inode);
	if (!rs_inode_logged(inode))
		return;
	if (!inode->nlink || (had && !inode->log_nlink)) {
		rs_intent_dead(core, inode);
		return;
	}
	if (has_place(inode))
		inode->flags &= ~RS_IF_STAGED;
	else if (inode != core->root)
		inode->flags |= RS_IF_STAGED;
	rs_intent_inode(core, inode);
}
