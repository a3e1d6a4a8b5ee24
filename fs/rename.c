/*
 * rename.c - rename, with replacement, RENAME_NOREPLACE, RENAME_EXCHANGE.
 *
 * A name that is replaced keeps its dentry, and with it its cookie: a scan
 * of the directory that has not come to it yet still finds it.
 */
#include <stdio.h> /* RENAME_ flags */

#include "fs/core_p.h"

#define RENAME_BYTES (4 * RS_REC_INODE_LEN + 2 * RS_REC_ENTRY_LEN)

struct move {
	struct rs_place from, to;
	struct rs_inode *inode;	 /* what is moved */
	struct rs_inode *target; /* what the new name led to, or NULL */
};

/* Is dir inode itself or somewhere below it? */
static int is_below(struct rs_core *core, const struct rs_inode *dir,
		    const struct rs_inode *inode)
{
	for (; dir && dir != core->root; dir = rs_dir_parent(core, dir)) {
		if (dir == inode)
			return 1;
	}
	return 0;
}

static int find_places(struct rs_core *core, uint64_t parent, const char *name,
		       uint64_t newparent, const char *newname,
		       struct move *move)
{
	int err;

	err = rs_place_find(core, parent, name, &move->from);
	if (!err)
		err = rs_place_find(core, newparent, newname, &move->to);
	if (err)
		return err;
	if (!move->from.dentry)
		return -ENOENT;
	move->inode = move->from.dentry->inode;
	move->target = move->to.dentry ? move->to.dentry->inode : NULL;
	return 0;
}

static int replace_check(struct rs_core *core, const struct move *move)
{
	if (S_ISDIR(move->inode->mode)) {
		if (is_below(core, move->to.dir, move->inode))
			return -EINVAL;
		if (move->to.dir->nlink >= RS_NLINK_MAX)
			return -EMLINK;
		if (!move->target)
			return 0;
		if (!S_ISDIR(move->target->mode))
			return -ENOTDIR;
		return move->target->u.dir->live ? -ENOTEMPTY : 0;
	}
	if (move->target && S_ISDIR(move->target->mode))
		return -EISDIR;
	return 0;
}

static int exchange_check(struct rs_core *core, const struct move *move)
{
	if (!move->target)
		return -ENOENT;
	if (S_ISDIR(move->inode->mode) &&
	    is_below(core, move->to.dir, move->inode))
		return -EINVAL;
	if (S_ISDIR(move->target->mode) &&
	    is_below(core, move->from.dir, move->target))
		return -EINVAL;
	if (move->to.dir->nlink >= RS_NLINK_MAX ||
	    move->from.dir->nlink >= RS_NLINK_MAX)
		return -EMLINK;
	return 0;
}

/* A directory counts in its parent's nlink. */
static void count_dir(const struct rs_inode *inode, struct rs_inode *from,
		      struct rs_inode *to)
{
	if (!S_ISDIR(inode->mode))
		return;
	from->nlink--;
	to->nlink++;
}

static void change_times(struct rs_core *core, const struct move *move)
{
	struct timespec now;

	rs_times_now(core, &now);
	rs_times_change(move->from.dir, &now);
	rs_times_change(move->to.dir, &now);
	rs_times_set(move->inode, RS_CTIME, &now);
	if (move->target)
		rs_times_set(move->target, RS_CTIME, &now);
}

/* Another path may mean other policies. */
static void moved(struct rs_core *core, struct rs_inode *inode)
{
	if (S_ISDIR(inode->mode))
		rs_policy_refresh_tree(core, inode);
}

static void settle(struct rs_core *core, const struct move *move,
		   const uint32_t had[2])
{
	rs_intent_settle(core, move->inode, had[0]);
	if (move->target)
		rs_intent_settle(core, move->target, had[1]);
}

static void exchange_apply(struct rs_core *core, const struct move *move)
{
	const uint32_t had[2] = { move->inode->log_nlink,
				  move->target->log_nlink };

	change_times(core, move);
	count_dir(move->inode, move->from.dir, move->to.dir);
	count_dir(move->target, move->to.dir, move->from.dir);
	rs_intent_begin(core);
	rs_intent_entry(core, move->from.dentry, move->target,
			rs_entry_logs(move->from.dir, move->target));
	rs_intent_entry(core, move->to.dentry, move->inode,
			rs_entry_logs(move->to.dir, move->inode));
	rs_dentry_point(core, move->from.dentry, move->target);
	rs_dentry_point(core, move->to.dentry, move->inode);
	settle(core, move, had);
	rs_intent_end(core);
	moved(core, move->inode);
	moved(core, move->target);
}

static void replace_apply(struct rs_core *core, const struct move *move)
{
	struct rs_inode *target = move->target;
	const uint32_t had[2] = { move->inode->log_nlink,
				  target ? target->log_nlink : 0 };

	change_times(core, move);
	count_dir(move->inode, move->from.dir, move->to.dir);
	if (target && S_ISDIR(target->mode)) {
		move->to.dir->nlink--;
		target->nlink = 0;
	} else if (target) {
		target->nlink--;
	}
	rs_intent_begin(core);
	rs_intent_entry(core, move->from.dentry, NULL, 0);
	rs_intent_entry(core, move->to.dentry, move->inode,
			rs_entry_logs(move->to.dir, move->inode));
	if (target)
		rs_dentry_point(core, move->to.dentry, move->inode);
	else
		rs_dentry_add(core, move->to.dentry, move->inode);
	rs_dentry_remove(core, move->from.dentry);
	settle(core, move, had);
	rs_intent_end(core);
	moved(core, move->inode);
	if (target && !target->nlink)
		rs_inode_drop(core, target);
}

/* Does anything of it concern the log? */
static int is_loud(const struct move *move)
{
	if (move->from.dentry->logged || rs_inode_logged(move->inode) ||
	    rs_dir_logs(move->to.dir))
		return 1;
	return move->target &&
	       (move->to.dentry->logged || rs_inode_logged(move->target) ||
		rs_dir_logs(move->from.dir));
}

/* May a directory where a closure is at work be moved? Not by others. */
static int is_busy(const struct rs_op *op, const struct rs_inode *inode)
{
	return !op->owns && S_ISDIR(inode->mode) &&
	       (inode->u.dir->staging || (inode->flags & RS_IF_STAGED));
}

static int limit_check(const struct rs_core *core, const struct move *move,
		       unsigned int flags)
{
	int err;

	err = rs_limit_move(core, move->inode, move->from.dentry, move->to.dir,
			    move->to.dentry);
	if (err || !(flags & RENAME_EXCHANGE))
		return err;
	return rs_limit_move(core, move->target, move->to.dentry,
			     move->from.dir, move->from.dentry);
}

static int log_check(struct rs_core *core, struct rs_op *op,
		     const struct move *move, unsigned int flags)
{
	int err;

	if (is_busy(op, move->inode) ||
	    (S_ISDIR(move->inode->mode) && is_busy(op, move->to.dir)))
		return RS_AGAIN_WAIT;
	if ((flags & RENAME_EXCHANGE) &&
	    (is_busy(op, move->target) ||
	     (S_ISDIR(move->target->mode) && is_busy(op, move->from.dir))))
		return RS_AGAIN_WAIT;
	err = rs_closure_ready(core, op, move->inode, &move->to);
	if (!err && (flags & RENAME_EXCHANGE))
		err = rs_closure_ready(core, op, move->target, &move->from);
	return err ? err : rs_op_short(core, op, is_loud(move));
}

static int rename_locked(struct rs_core *core, struct rs_op *op,
			 struct move *move, unsigned int flags)
{
	int err;

	if ((flags & RENAME_NOREPLACE) && move->target)
		return -EEXIST;
	/* names of one inode: POSIX has nothing happen */
	if (move->target == move->inode)
		return 0;
	if (flags & RENAME_EXCHANGE)
		err = exchange_check(core, move);
	else
		err = replace_check(core, move);
	/* ENOSPC comes before the first byte of a closure */
	if (!err)
		err = limit_check(core, move, flags);
	if (!err)
		err = log_check(core, op, move, flags);
	if (err)
		return err;
	if (flags & RENAME_EXCHANGE) {
		exchange_apply(core, move);
		return 0;
	}
	if (!move->to.dentry)
		move->to.dentry = rs_dentry_alloc(core, move->to.dir,
						  move->to.name, move->to.len);
	if (!move->to.dentry)
		return -ENOMEM;
	replace_apply(core, move);
	return 0;
}

int rs_core_rename(struct rs_core *core, uint64_t parent, const char *name,
		   uint64_t newparent, const char *newname, unsigned int flags,
		   const struct rs_who *who)
{
	struct move move;
	struct rs_op op;
	int err;

	(void)who;
	if (flags & ~(unsigned int)(RENAME_NOREPLACE | RENAME_EXCHANGE) ||
	    flags == (RENAME_NOREPLACE | RENAME_EXCHANGE))
		return -EINVAL;
	rs_op_init(core, &op, newparent, RENAME_BYTES, RS_NEED_SMALL);
	do {
		err = rs_op_enter(core, &op);
		if (!err)
			err = find_places(core, parent, name, newparent,
					  newname, &move);
		if (!err)
			err = rename_locked(core, &op, &move, flags);
	} while (rs_op_again(core, &op, &err));
	return err;
}

static enum rs_closes judge(const struct rs_op *op, int err)
{
	if (err == RS_AGAIN_WAIT)
		return RS_CLOSES_TREE;
	if (err != RS_AGAIN_CLOSE)
		return RS_CLOSES_NOTHING;
	/* only of a directory is the place told */
	return op->close.parent ? RS_CLOSES_TREE : RS_CLOSES_FILE;
}

enum rs_closes rs_core_rename_closes(struct rs_core *core, uint64_t parent,
				     const char *name, uint64_t newparent,
				     const char *newname, unsigned int flags)
{
	enum rs_closes closes = RS_CLOSES_NOTHING;
	struct rs_op op = { .room.bytes = 1 };
	struct move move;
	int err;

	if (!rs_policy_any(core, RS_POLICY_VOLATILE))
		return closes;
	rs_core_lock(core);
	err = find_places(core, parent, name, newparent, newname, &move);
	if (!err && (!(flags & RENAME_EXCHANGE) || move.target))
		closes = judge(&op, log_check(core, &op, &move, flags));
	rs_core_unlock(core);
	return closes;
}
