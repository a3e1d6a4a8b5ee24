/*
 * check.c - is the loaded tree a tree? What isn't is reported and left out;
 * everything else is served.
 *
 * Reached from the root means seen. A name of something that never came, a
 * second name of a directory, a cycle: the name is removed. An inode that
 * nothing leads to is reported, unless it was staged (DESIGN "Closure"):
 * then its link never came and it is dropped.
 */
#include "fs/load_p.h"

/* Directories still to be looked into; grows, so no depth is too deep. */
struct todo {
	struct rs_inode **dirs;
	size_t n, cap;
};

static int todo_push(struct todo *todo, struct rs_inode *dir)
{
	size_t cap = todo->cap ? todo->cap * 2 : 64;
	struct rs_inode **dirs;

	if (todo->n == todo->cap) {
		dirs = realloc(todo->dirs, cap * sizeof(struct rs_inode *));
		if (!dirs)
			return -ENOMEM;
		todo->dirs = dirs;
		todo->cap = cap;
	}
	todo->dirs[todo->n++] = dir;
	return 0;
}

static const char *entry_fault(const struct rs_inode *inode)
{
	if (inode->state & RS_I_GHOST)
		return "entry of an inode that isn't there";
	if (inode->state & RS_I_GONE)
		return "entry of an inode that was removed";
	if (S_ISDIR(inode->mode) && (inode->state & RS_I_SEEN))
		return "second entry of a directory";
	return NULL;
}

static int look_into(struct rs_load *load, struct todo *todo,
		     struct rs_inode *dir)
{
	struct rs_dentry *dentry;
	const char *fault;
	uint64_t at = 0;
	int err = 0;

	while (!err && (dentry = rs_dir_first(dir->u.dir, at))) {
		at = dentry->cookie;
		fault = entry_fault(dentry->inode);
		if (fault) {
			rs_report_add(load->rep, RS_FIND_ENTRY, dir->node.key,
				      dentry->last, UINT64_MAX, dentry->name,
				      dentry->len, "%s", fault);
			rs_load_unentry(load, dentry);
			continue;
		}
		dentry->inode->state |= RS_I_SEEN;
		if (S_ISDIR(dentry->inode->mode))
			err = todo_push(todo, dentry->inode);
	}
	return err;
}

static int mark_seen(struct rs_load *load)
{
	struct todo todo = { 0 };
	int err;

	load->core->root->state |= RS_I_SEEN;
	err = todo_push(&todo, load->core->root);
	while (!err && todo.n)
		err = look_into(load, &todo, todo.dirs[--todo.n]);
	free(todo.dirs);
	return err;
}

/* Names below what can't be reached hang in the air: away with them. */
static void cut_unseen(void *arg, struct rs_hnode *node)
{
	struct rs_load *load = arg;
	struct rs_dentry *dentry = rs_dentry_of(node);
	struct rs_inode *inode = dentry->inode;

	if (dentry->dir->state & RS_I_SEEN)
		return;
	/* a closure that was not ended: its names don't count */
	if (dentry->dir->flags & RS_IF_STAGED) {
		rs_stale_entry(load->core, dentry);
		if (!S_ISDIR(inode->mode) && inode->nlink)
			inode->nlink--;
	}
	rs_dentry_remove(load->core, dentry);
}

static uint32_t count_links(const struct rs_inode *inode)
{
	const struct rs_dentry *dentry;
	uint32_t n = S_ISDIR(inode->mode) ? 2 : 0;

	if (!S_ISDIR(inode->mode)) {
		for (dentry = inode->names; dentry; dentry = dentry->next)
			n++;
		return n;
	}
	dentry = rs_dir_first(inode->u.dir, 0);
	for (; dentry; dentry = rs_dir_first(inode->u.dir, dentry->cookie))
		n += S_ISDIR(dentry->inode->mode) ? 1 : 0;
	return n;
}

static void count_kind(struct rs_report *rep, const struct rs_inode *inode)
{
	if (S_ISREG(inode->mode)) {
		rep->files++;
		rep->file_bytes += inode->size;
	} else if (S_ISDIR(inode->mode)) {
		rep->dirs++;
	} else if (S_ISLNK(inode->mode)) {
		rep->symlinks++;
	} else {
		rep->specials++;
	}
}

static void check_links(struct rs_load *load, struct rs_inode *inode)
{
	uint32_t links = count_links(inode);

	if (links == inode->nlink)
		return;
	rs_report_add(load->rep, RS_FIND_INODE, inode->node.key, inode->last,
		      UINT64_MAX, NULL, 0, "link count %u, but %u found",
		      inode->nlink, links);
	inode->nlink = links;
}

static void check_target(struct rs_load *load, struct rs_inode *inode)
{
	if (!S_ISLNK(inode->mode) || inode->u.target)
		return;
	rs_report_add(load->rep, RS_FIND_INODE, inode->node.key, inode->last,
		      UINT64_MAX, NULL, 0, "symlink without its target");
	inode->flags |= RS_IF_SUSPECT;
}

/* Its blocks were never added to the sum. */
static void discard(struct rs_core *core, struct rs_inode *inode)
{
	inode->blocks = 0;
	rs_inode_free(core, inode);
}

/* Its records are still in store or ring: the first change clears them. */
static void drop_staged(struct rs_load *load, struct rs_inode *inode)
{
	rs_stale_inode(load->core, inode);
	load->rep->reaped++;
	discard(load->core, inode);
}

static void check_inode(void *arg, struct rs_hnode *node)
{
	struct rs_load *load = arg;
	struct rs_core *core = load->core;
	struct rs_inode *inode = rs_inode_of(node);

	if (inode->state & (RS_I_GHOST | RS_I_GONE)) {
		discard(core, inode);
		return;
	}
	if (!(inode->state & RS_I_SEEN)) {
		if (inode->flags & RS_IF_STAGED) {
			drop_staged(load, inode);
			return;
		}
		rs_report_add(load->rep, RS_FIND_ORPHAN, inode->node.key,
			      inode->last, UINT64_MAX, NULL, 0,
			      "inode that no entry leads to");
	} else {
		check_links(load, inode);
		check_target(load, inode);
		/* the closure came to its last record, if not to its end */
		inode->flags &= ~RS_IF_STAGED;
		count_kind(load->rep, inode);
	}
	inode->log_nlink = inode->nlink;
	core->blocks += inode->blocks;
	if (inode->flags & RS_IF_SUSPECT)
		core->suspects++;
	inode->state &= (uint8_t) ~(RS_I_SEEN | RS_I_BASE);
}

int rs_load_check(struct rs_load *load)
{
	struct rs_core *core = load->core;
	int err;

	if (core->root->state & RS_I_GHOST)
		rs_report_add(load->rep, RS_FIND_INODE, RS_INO_ROOT, 0,
			      UINT64_MAX, NULL, 0, "no root directory");
	core->root->state &= (uint8_t)~RS_I_GHOST;
	err = mark_seen(load);
	if (err)
		return err;
	rs_table_each(&core->dentries, cut_unseen, load);
	core->blocks = 0;
	rs_table_each(&core->inodes, check_inode, load);
	rs_stale_sort(core);
	return 0;
}
