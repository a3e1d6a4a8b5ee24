/*
 * closure_tree.c - logging what a directory holds: before it moves to where
 * things are logged, or before its policy is raised.
 *
 * MODEL  The directory and those below it that will log are marked
 * `staging`: what is made in them from then on is logged by itself. Then a
 * walk in the order of cookies, which new names can't disturb, logs what was
 * there before: for each name the inode, the data, the entry. A directory
 * that was walked to its end is `whole`. Then the operation looks again, and
 * what came in between is ready or brings it here once more.
 *
 *	/v/d (volatile) to /q/d:    INODE d*           (* staged)
 *	                            INODE f* DATA f    in as many frames as
 *	                            ENTRY d "f" -> f    it takes
 *	                            ...
 *	the operation itself:       ENTRY q "d" -> d, INODE d
 *	the end:                    INODE f ... without the mark
 *
 * Recovery never comes to d before the operation's own record is there: it
 * reaps what is staged and was not reached. When the operation fails, the
 * same walk takes everything back out of the log.
 *
 * LOCKS  core->closing, before the tree lock: one closure of trees at a
 * time, from the first record to the end. The tree lock is held for a piece.
 */
#include "fs/core_p.h"

#define PIECE (64u << 10) /* bytes of records under one hold of the lock */
#define LOOKS 4096u	  /* names looked at under one hold */
#define ENTRY_BYTES (3 * RS_REC_INODE_LEN + RS_REC_ENTRY_LEN)

/* ---- ancestors ---- */

/* The topmost directory on the way up that isn't logged. */
static struct rs_inode *top_unlogged(struct rs_core *core, struct rs_inode *dir)
{
	struct rs_inode *parent;

	for (;; dir = parent) {
		parent = rs_dir_parent(core, dir);
		if (!parent || rs_inode_logged(parent))
			return parent ? dir : NULL;
	}
}

static void log_dir(struct rs_core *core, struct rs_inode *dir)
{
	rs_intent_begin(core);
	rs_closure_born(core, dir);
	if (rs_entry_logs(dir->names->dir, dir))
		rs_intent_entry(core, dir->names, dir, 1);
	rs_intent_settle(core, dir, 0);
	rs_intent_end(core);
}

static size_t dir_bytes(const struct rs_inode *dir)
{
	return ENTRY_BYTES + rs_closure_bytes(dir);
}

/* 1: go on, 2: only after a cut. */
static int up_locked(struct rs_core *core, uint64_t ino,
		     const struct rs_room *room, size_t *bytes)
{
	struct rs_inode *dir = rs_inode_find(core, ino);

	if (!dir || !dir->nlink)
		return -ENOENT;
	if (rs_inode_logged(dir))
		return 0;
	dir = top_unlogged(core, dir);
	if (!dir)
		return -ENOENT;
	if (rs_closure_early(core, dir))
		return 2;
	*bytes = dir_bytes(dir);
	if (!core->cfg.journal || room->bytes >= *bytes)
		log_dir(core, dir);
	return 1;
}

/* A directory and what is above it, without what they hold. */
static int close_up(struct rs_core *core, uint64_t ino)
{
	size_t bytes = ENTRY_BYTES;
	struct rs_room room;
	int err;

	do {
		err = rs_room_take(core, &room, bytes, RS_NEED_SMALL);
		if (err)
			return err;
		rs_core_lock(core);
		err = up_locked(core, ino, &room, &bytes);
		rs_core_unlock(core);
		rs_room_give(core, &room);
		if (err == 2)
			err = rs_journal_sync(core->cfg.journal) < 0 ? -EIO : 1;
	} while (err > 0);
	return err;
}

/* ---- a walk that lets go of the lock ---- */

struct level {
	uint64_t ino, after; /* cookie */
};

struct walk {
	struct rs_core *core;
	struct level *level;
	size_t n, cap;
	uint64_t came_from; /* the directory that was left last */
	unsigned int looks; /* names that may still be looked at */
	size_t left;	    /* bytes of the room */
	uint64_t stage;	    /* a file to be staged without the lock */
	int cut;	    /* a cut is needed first */
	size_t need;	    /* or a room of so many bytes */
};

static int push(struct walk *w, const struct rs_inode *dir)
{
	size_t cap = w->cap ? 2 * w->cap : 16;
	struct level *level;

	if (w->n == w->cap) {
		level = realloc(w->level, cap * sizeof(*level));
		if (!level)
			return -ENOMEM;
		w->level = level;
		w->cap = cap;
	}
	w->level[w->n++] = (struct level){ dir->node.key, 0 };
	return 0;
}

static void pop(struct walk *w)
{
	w->came_from = w->level[--w->n].ino;
}

/* What a visit() says: go on with the next name, or come back to this. */
#define NEXT 0
#define STAY 1

/*
 * Calls visit() for each name, in the lock, until the room is used up or
 * it has to be left; leave() when a directory has no further name.
 */
static int walk_some(struct walk *w,
		     int (*visit)(struct walk *, struct rs_dentry *),
		     void (*leave)(struct walk *, struct rs_inode *))
{
	struct rs_dentry *dentry;
	struct rs_inode *dir;
	struct level *level;
	int ret = 0;

	w->looks = LOOKS;
	while (w->n && w->left >= ENTRY_BYTES && !w->stage && !w->cut &&
	       !w->need && w->looks--) {
		level = &w->level[w->n - 1];
		dir = rs_inode_find(w->core, level->ino);
		dentry = NULL;
		if (dir && dir->nlink)
			dentry = rs_dir_first(dir->u.dir, level->after);
		if (!dentry) {
			if (dir && dir->nlink)
				leave(w, dir);
			pop(w);
			continue;
		}
		ret = visit(w, dentry);
		if (ret < 0)
			return ret;
		/* push() may have moved the levels, and made another the last */
		if (ret == NEXT)
			w->level[w->n - 1].after = dentry->cookie;
	}
	return 0;
}

static void spend(struct walk *w)
{
	w->left -= ENTRY_BYTES;
}

/* Is there room for all about a directory but its names? */
static int has_room(struct walk *w, const struct rs_inode *dir)
{
	size_t bytes = dir_bytes(dir);

	if (w->left < bytes) {
		w->need = bytes;
		return 0;
	}
	w->left -= bytes;
	return 1;
}

/* A small ring has small frames. */
static size_t piece(const struct rs_core *core)
{
	size_t max = rs_room_max(core) / 2;

	return max < PIECE ? max : PIECE;
}

/* ---- staging ---- */

static void log_entry(struct walk *w, struct rs_dentry *dentry)
{
	uint32_t had = dentry->inode->log_nlink;

	rs_intent_begin(w->core);
	rs_intent_entry(w->core, dentry, dentry->inode, 1);
	dentry->logged = RS_D_STAGED;
	rs_intent_settle(w->core, dentry->inode, had);
	rs_intent_end(w->core);
	spend(w);
}

static int stage_file(struct walk *w, struct rs_dentry *dentry)
{
	struct rs_inode *inode = dentry->inode;

	if (dentry->logged || !rs_dir_logs(dentry->dir))
		return NEXT;
	if (rs_inode_logged(inode) &&
	    (!(inode->flags & RS_IF_STAGED) || (inode->state & RS_I_WHOLE))) {
		log_entry(w, dentry);
		return NEXT;
	}
	w->stage = inode->node.key;
	return STAY;
}

/* Its record, and those of the directories above that have none. */
static int stage_up(struct walk *w, struct rs_inode *dir)
{
	struct rs_inode *at = top_unlogged(w->core, dir);

	if (!at)
		return -ENOENT;
	if (rs_closure_early(w->core, at)) {
		w->cut = 1;
		return 0;
	}
	if (!has_room(w, at))
		return 0;
	log_dir(w->core, at);
	if (at != w->core->moving.dir)
		at->names->logged = RS_D_STAGED;
	return 0;
}

static void mark(struct rs_inode *dir, const struct rs_target *target)
{
	if (target->policy != RS_POLICY_VOLATILE &&
	    dir->u.dir->eff == RS_POLICY_VOLATILE)
		dir->u.dir->staging = 1;
}

static int stage_dir(struct walk *w, struct rs_dentry *dentry)
{
	struct rs_inode *dir = dentry->inode;
	struct rs_target target;
	int err;

	if (w->came_from == dir->node.key) {
		w->came_from = 0;
		return NEXT;
	}
	rs_closure_target(w->core, dir, &target);
	if (target.logged && !rs_inode_logged(dir)) {
		err = stage_up(w, dir);
		return err ? err : STAY;
	}
	if (rs_inode_logged(dir) && !dentry->logged) {
		log_entry(w, dentry);
		return STAY;
	}
	mark(dir, &target);
	err = push(w, dir);
	return err ? err : STAY;
}

static int stage_visit(struct walk *w, struct rs_dentry *dentry)
{
	if (S_ISDIR(dentry->inode->mode))
		return stage_dir(w, dentry);
	return stage_file(w, dentry);
}

static void stage_leave(struct walk *w, struct rs_inode *dir)
{
	(void)w;
	if (rs_dir_logs(dir))
		dir->u.dir->whole = 1;
}

static int stage_top(struct walk *w)
{
	struct rs_inode *top = rs_inode_find(w->core, w->level[0].ino);
	struct rs_target target;

	rs_closure_target(w->core, top, &target);
	mark(top, &target);
	if (rs_inode_logged(top) || !target.logged)
		return 0;
	if (rs_closure_early(w->core, top)) {
		w->cut = 1;
		return 0;
	}
	if (!has_room(w, top))
		return 0;
	rs_intent_begin(w->core);
	rs_closure_born(w->core, top);
	rs_intent_settle(w->core, top, 0);
	rs_intent_end(w->core);
	return 0;
}

static int stage_locked(struct walk *w, const struct rs_close *close)
{
	int err;

	err = rs_closure_move_begin(w->core, close);
	if (err)
		return err;
	err = stage_top(w);
	if (!err)
		err = walk_some(w, stage_visit, stage_leave);
	rs_closure_move_end(w->core);
	return err;
}

/* What the piece could not do in the lock. */
static int between(struct walk *w)
{
	uint64_t ino = w->stage;
	int err;

	w->stage = 0;
	if (w->cut) {
		w->cut = 0;
		return rs_journal_sync(w->core->cfg.journal);
	}
	if (!ino)
		return 0;
	err = rs_closure_stage(w->core, ino);
	/* it may go at any time */
	return err == -ESTALE ? 0 : err;
}

static int walk_init(struct walk *w, struct rs_core *core, uint64_t ino)
{
	struct rs_inode *top;
	int err = 0;

	memset(w, 0, sizeof(*w));
	w->core = core;
	rs_core_lock(core);
	top = rs_inode_find(core, ino);
	if (top && S_ISDIR(top->mode))
		err = push(w, top);
	rs_core_unlock(core);
	return err;
}

static int close_tree(struct rs_core *core, const struct rs_close *close)
{
	struct rs_room room;
	struct walk w;
	int err;

	err = walk_init(&w, core, close->ino);
	while (!err && w.n) {
		w.left = w.need > piece(core) ? w.need : piece(core);
		w.need = 0;
		err = rs_closure_room(core, &room, w.left);
		if (err)
			break;
		rs_core_lock(core);
		err = stage_locked(&w, close);
		rs_core_unlock(core);
		rs_room_give(core, &room);
		if (!err)
			err = between(&w);
	}
	free(w.level);
	return err;
}

/* ---- the end ---- */

/* Nothing is staged there from now on. 1: it is to be finished. */
static int end_staging(struct rs_core *core, uint64_t ino)
{
	struct rs_inode *top, *at;
	int reached = 0;

	rs_core_lock(core);
	top = rs_inode_find(core, ino);
	if (top && S_ISDIR(top->mode) && top->nlink) {
		for (at = top; at; at = rs_dir_walk(top, at))
			at->u.dir->staging = 0;
		reached = 1;
	}
	rs_core_unlock(core);
	return reached;
}

static void finish_one(struct walk *w, struct rs_inode *inode)
{
	if (!(inode->flags & RS_IF_STAGED))
		return;
	rs_intent_begin(w->core);
	rs_intent_settle(w->core, inode, inode->log_nlink);
	rs_intent_end(w->core);
	spend(w);
}

static int finish_visit(struct walk *w, struct rs_dentry *dentry)
{
	struct rs_inode *inode = dentry->inode;
	int err;

	if (w->came_from == inode->node.key) {
		w->came_from = 0;
		return NEXT;
	}
	if (dentry->logged)
		dentry->logged = RS_D_LOGGED;
	finish_one(w, inode);
	if (!S_ISDIR(inode->mode))
		return NEXT;
	err = push(w, inode);
	return err ? err : STAY;
}

static void finish_leave(struct walk *w, struct rs_inode *dir)
{
	(void)w;
	(void)dir;
}

/* The name stays in the tree and leaves the log. */
static void undo_entry(struct walk *w, struct rs_dentry *dentry)
{
	struct rs_inode *inode = dentry->inode;
	uint32_t had = inode->log_nlink;

	rs_intent_begin(w->core);
	rs_intent_entry(w->core, dentry, inode, 0);
	if (S_ISDIR(inode->mode))
		rs_intent_dead(w->core, inode);
	else
		rs_intent_settle(w->core, inode, had);
	rs_intent_end(w->core);
	spend(w);
}

static int undo_visit(struct walk *w, struct rs_dentry *dentry)
{
	struct rs_inode *inode = dentry->inode;
	int back = w->came_from == inode->node.key, err;

	if (S_ISDIR(inode->mode) && !back) {
		err = push(w, inode);
		return err ? err : STAY;
	}
	w->came_from = 0;
	if (dentry->logged == RS_D_STAGED)
		undo_entry(w, dentry);
	return NEXT;
}

static void undo_leave(struct walk *w, struct rs_inode *dir)
{
	/* the top of what was to move, or an entry that never came */
	if (w->n > 1 || !(dir->flags & RS_IF_STAGED))
		return;
	rs_intent_begin(w->core);
	rs_intent_dead(w->core, dir);
	rs_intent_end(w->core);
	spend(w);
}

/*
 * Finish or undo. Without room the log takes nothing any more (poisoned),
 * and what it says doesn't matter.
 */
static void end_tree(struct rs_core *core, uint64_t ino, int undo)
{
	struct rs_room room;
	struct walk w;
	int err;

	err = walk_init(&w, core, ino);
	if (!err && !undo && w.n) {
		/* the top has no name in the walk */
		err = rs_room_take(core, &room, piece(core), RS_NEED_SMALL);
		if (!err) {
			rs_core_lock(core);
			w.left = piece(core);
			if (rs_inode_find(core, ino))
				finish_one(&w, rs_inode_find(core, ino));
			rs_core_unlock(core);
			rs_room_give(core, &room);
		}
	}
	while (!err && w.n) {
		err = rs_room_take(core, &room, piece(core), RS_NEED_SMALL);
		if (err)
			break;
		rs_core_lock(core);
		w.left = piece(core);
		err = walk_some(&w, undo ? undo_visit : finish_visit,
				undo ? undo_leave : finish_leave);
		rs_core_unlock(core);
		rs_room_give(core, &room);
	}
	free(w.level);
}

static void end_file(struct rs_core *core, uint64_t ino)
{
	struct rs_inode *inode;
	struct rs_room room;

	if (rs_room_take(core, &room, RS_REC_INODE_LEN, RS_NEED_SMALL))
		return;
	rs_core_lock(core);
	inode = rs_inode_find(core, ino);
	if (inode && rs_inode_logged(inode) && (inode->flags & RS_IF_STAGED) &&
	    !inode->log_nlink) {
		rs_intent_begin(core);
		rs_intent_dead(core, inode);
		rs_intent_end(core);
	}
	rs_core_unlock(core);
	rs_room_give(core, &room);
}

void rs_closure_end(struct rs_core *core, struct rs_op *op, int err)
{
	size_t i;

	for (i = 0; i < RS_ARRAY_LEN(op->closed) && op->closed[i]; i++) {
		if (!end_staging(core, op->closed[i]))
			end_file(core, op->closed[i]);
		else
			end_tree(core, op->closed[i], err != 0);
	}
}

/* Remember what is to be ended. */
static void note(struct rs_op *op, uint64_t ino)
{
	size_t i;

	for (i = 0; i < RS_ARRAY_LEN(op->closed); i++) {
		if (!op->closed[i])
			op->closed[i] = ino;
		if (op->closed[i] == ino)
			return;
	}
}

/*
 * Is a directory above staged by somebody else's closure? What would be
 * logged below it can't be reached until that one's entry is there.
 */
static int is_staged_above(struct rs_core *core, const struct rs_inode *dir)
{
	while (dir && dir != core->root && !(dir->flags & RS_IF_STAGED))
		dir = rs_dir_parent(core, dir);
	return dir && dir != core->root;
}

int rs_closure_run(struct rs_core *core, struct rs_op *op)
{
	const struct rs_close *close = &op->close;
	struct rs_inode *inode;
	int is_dir, staged;

	rs_core_lock(core);
	inode = rs_inode_find(core, close->ino);
	is_dir = inode && S_ISDIR(inode->mode);
	staged = is_dir && is_staged_above(core, inode);
	rs_core_unlock(core);
	if (is_dir && !close->parent && !close->policy) {
		if (!staged || op->owns)
			return close_up(core, close->ino);
		/* then the operation looks again */
		pthread_mutex_lock(&core->closing);
		pthread_mutex_unlock(&core->closing);
		return 0;
	}
	note(op, close->ino);
	if (!is_dir)
		return rs_closure_stage(core, close->ino);
	if (!op->owns)
		pthread_mutex_lock(&core->closing);
	op->owns = 1;
	return close_tree(core, close);
}
