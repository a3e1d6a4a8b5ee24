/*
 * closure_ready.c - may an inode get a name at a place, as far as the log is
 * concerned, or has something to be logged before?
 *
 * A directory is looked at as if it stood at its new place: rules go by the
 * path, so each directory below may get another policy there. What has to be
 * true there for each of them:
 *   - it is logged if the one above logs, if its policy isn't volatile, or
 *     if a rule names it
 *   - all of its entries are logged if its policy isn't volatile
 */
#include "fs/core_p.h"

int rs_closure_move_begin(struct rs_core *core, const struct rs_close *close)
{
	struct rs_inode *dir = rs_inode_find(core, close->ino), *parent;

	if (!dir || !dir->nlink || !S_ISDIR(dir->mode))
		return -ENOENT;
	core->moving.spot = rs_spot_of(core, dir);
	core->moving.policy = close->policy;
	core->moving.dir = dir;
	if (!close->parent)
		return 0;
	parent = rs_inode_find(core, close->parent);
	if (!parent || !parent->nlink || !S_ISDIR(parent->mode)) {
		core->moving.dir = NULL;
		return -ENOENT;
	}
	core->moving.spot =
		(struct rs_spot){ parent, close->name, strlen(close->name) };
	return 0;
}

void rs_closure_move_end(struct rs_core *core)
{
	core->moving.dir = NULL;
}

static uint8_t policy_at(const struct rs_core *core, const struct rs_inode *dir)
{
	struct rs_look look;
	struct rs_spot spot;

	for (;; dir = spot.dir) {
		spot = rs_spot_of(core, dir);
		if (dir == core->moving.dir && core->moving.policy)
			return core->moving.policy;
		rs_policy_look(core, &spot, dir->u.dir, &look);
		if (look.from != RS_ORIGIN_PARENT || dir == core->moving.dir)
			return look.eff;
	}
}

void rs_closure_target(const struct rs_core *core, const struct rs_inode *dir,
		       struct rs_target *ret)
{
	struct rs_spot spot = rs_spot_of(core, dir);
	struct rs_look look;

	ret->policy = policy_at(core, dir);
	ret->logged = 1;
	if (ret->policy != RS_POLICY_VOLATILE || !spot.dir)
		return;
	rs_policy_look(core, &spot, dir->u.dir, &look);
	if (look.named)
		return;
	if (dir == core->moving.dir)
		ret->logged = rs_dir_logs(spot.dir) != 0;
	else
		ret->logged = policy_at(core, spot.dir) != RS_POLICY_VOLATILE;
}

static int dir_ready(const struct rs_core *core, const struct rs_inode *dir,
		     int *any_logged)
{
	struct rs_target target;

	rs_closure_target(core, dir, &target);
	if (target.logged || rs_inode_logged(dir))
		*any_logged = 1;
	if (target.logged && !rs_inode_logged(dir))
		return 0;
	if (target.policy != RS_POLICY_VOLATILE && !dir->u.dir->whole)
		return 0;
	return !rs_inode_logged(dir) || dir == core->moving.dir ||
	       dir == core->root || dir->names->logged;
}

static int tree_ready(struct rs_core *core, struct rs_inode *top,
		      int *any_logged)
{
	struct rs_inode *at;
	int ready = 1;

	*any_logged = 0;
	for (at = top; at && ready; at = rs_dir_walk(top, at))
		ready = dir_ready(core, at, any_logged);
	return ready;
}

static int file_ready(struct rs_op *op, const struct rs_inode *inode,
		      const struct rs_inode *dir)
{
	if (!rs_dir_logs(dir))
		return 0;
	if (rs_inode_logged(inode) &&
	    (!(inode->flags & RS_IF_STAGED) || (inode->state & RS_I_WHOLE)))
		return 0;
	op->close = (struct rs_close){ .ino = inode->node.key };
	return RS_AGAIN_CLOSE;
}

int rs_closure_ready(struct rs_core *core, struct rs_op *op,
		     struct rs_inode *inode, const struct rs_place *place)
{
	struct rs_close close = { .ino = inode->node.key,
				  .parent = place->dir->node.key,
				  .name = place->name };
	int err, ready, any_logged;

	if (!S_ISDIR(inode->mode))
		return file_ready(op, inode, place->dir);
	if (!rs_policy_any(core, RS_POLICY_VOLATILE))
		return 0;
	err = rs_closure_move_begin(core, &close);
	if (err)
		return err;
	ready = tree_ready(core, inode, &any_logged);
	rs_closure_move_end(core);
	if (any_logged && !rs_inode_logged(place->dir))
		op->close = (struct rs_close){ .ino = place->dir->node.key };
	else if (!ready)
		op->close = close;
	else
		return 0;
	return RS_AGAIN_CLOSE;
}

int rs_closure_set_ready(struct rs_core *core, struct rs_op *op,
			 struct rs_inode *dir, uint8_t policy)
{
	struct rs_close close = { .ino = dir->node.key, .policy = policy };
	int err, ready, any_logged;

	err = rs_closure_move_begin(core, &close);
	if (err)
		return err;
	ready = tree_ready(core, dir, &any_logged);
	rs_closure_move_end(core);
	if (any_logged && !rs_inode_logged(dir))
		close = (struct rs_close){ .ino = dir->node.key };
	else if (ready)
		return 0;
	op->close = close;
	return RS_AGAIN_CLOSE;
}
