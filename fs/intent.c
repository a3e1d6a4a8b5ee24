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

static void touch(const struct rs_core *core, struct rs_inode *inode)
{
	if (inode->last == core->tx)
		return;
	inode->before = inode->last;
	inode->last = core->tx;
	inode->mark = 0;
}

void rs_intent_rec(struct rs_core *core, struct rs_inode *inode,
		   struct rs_rec *rec)
{
	if (!logs(core, inode))
		return;
	touch(core, inode);
	rec->ino = inode->node.key;
	rec->prev = inode->before;
	rs_journal_put(core->cfg.journal, rec, NULL);
}

void rs_intent_inode(struct rs_core *core, struct rs_inode *inode)
{
	struct rs_rec rec = { .type = RS_REC_INODE };
	struct rs_mark mark = { 0 };

	if (!logs(core, inode))
		return;
	touch(core, inode);
	rec.ino = inode->node.key;
	rec.prev = inode->before;
	rs_inode_attr(inode, &rec.attr);
	if (inode->mark) {
		mark.number = core->tx;
		mark.off = inode->mark - 1;
	}
	rs_journal_replace(core->cfg.journal, &rec, &mark);
	inode->mark = mark.off + 1;
}

void rs_intent_born(struct rs_core *core, struct rs_inode *inode)
{
	inode->state |= RS_I_LOGGED;
	inode->last = inode->before = 0;
	inode->mark = 0;
	rs_intent_inode(core, inode);
}

void rs_intent_dead(struct rs_core *core, struct rs_inode *inode)
{
	struct rs_rec rec = { .type = RS_REC_INODE_DEL };

	if (logs(core, inode)) {
		if (inode->last == core->tx && !inode->before)
			rs_journal_elide(core->cfg.journal, inode->node.key);
		else
			rs_intent_rec(core, inode, &rec);
	}
	inode->state &= (uint8_t)~RS_I_LOGGED;
}

/* True if the dentry's PUT was in the open group: it is taken back. */
static int take_back(struct rs_core *core, struct rs_dentry *dentry)
{
	struct rs_mark mark = { dentry->last, dentry->mark - 1 };

	if (dentry->last != core->tx || !dentry->mark)
		return 0;
	rs_journal_void(core->cfg.journal, &mark);
	dentry->mark = 0;
	return 1;
}

static void put_entry(struct rs_core *core, struct rs_dentry *dentry,
		      struct rs_rec *rec, struct rs_mark *mark)
{
	touch(core, dentry->dir);
	rec->ino = dentry->dir->node.key;
	rec->prev = dentry->dir->before;
	rec->name = (const uint8_t *)dentry->name;
	rec->name_len = dentry->len;
	rs_journal_put(core->cfg.journal, rec, mark);
}

void rs_intent_put(struct rs_core *core, struct rs_dentry *dentry,
		   const struct rs_inode *child, int was_live)
{
	struct rs_rec rec = { .type = RS_REC_ENTRY_PUT };
	struct rs_mark mark = { 0 };

	if (!logs(core, dentry->dir) || !rs_inode_logged(child))
		return;
	if (!take_back(core, dentry))
		dentry->fresh = !was_live;
	rec.child = child->node.key;
	rec.dtype = (uint8_t)IFTODT(child->mode);
	put_entry(core, dentry, &rec, &mark);
	dentry->last = core->tx;
	dentry->mark = mark.off + 1;
}

void rs_intent_del(struct rs_core *core, struct rs_dentry *dentry)
{
	struct rs_rec rec = { .type = RS_REC_ENTRY_DEL };

	if (!logs(core, dentry->dir) || !rs_inode_logged(dentry->inode))
		return;
	if (take_back(core, dentry) && dentry->fresh)
		return;
	rec.child = dentry->inode->node.key;
	put_entry(core, dentry, &rec, NULL);
}
