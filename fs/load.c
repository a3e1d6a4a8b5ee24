/*
 * load.c - a tree from the journal: the store's metadata first, then the
 * frames that are not folded yet, then the checks.
 *
 * Data stays in the store: a file begins as one cold mark and is read when
 * somebody asks for it, except what the frames bring.
 *
 * Names and inodes may come in any order: who is named before it is seen is
 * a ghost until then. What is still a ghost at the end is damage.
 */
#include "fs/load_p.h"

/* How an inode that we know changes its type; damage only, or a ghost. */
static int set_type(struct rs_load *load, struct rs_inode *inode, uint32_t mode)
{
	struct rs_core *core = load->core;
	struct rs_dentry *dentry;

	if ((inode->mode & S_IFMT) == (mode & S_IFMT))
		return 0;
	if (S_ISREG(inode->mode)) {
		rs_file_clear(core, inode);
	} else if (S_ISLNK(inode->mode) && inode->u.target) {
		rs_mem_free(&core->mem, inode->u.target, inode->size + 1);
	} else if (S_ISDIR(inode->mode)) {
		while ((dentry = rs_dir_first(inode->u.dir, 0)))
			rs_load_unentry(load, dentry);
		rs_policy_drop(core, inode);
		rs_dir_free(core, inode->u.dir);
	}
	memset(&inode->u, 0, sizeof(inode->u));
	inode->size = 0;
	inode->mode = 0;
	if (S_ISDIR(mode)) {
		inode->u.dir = rs_dir_new(core);
		if (!inode->u.dir)
			return -ENOMEM;
	}
	inode->mode = mode;
	return 0;
}

struct rs_inode *rs_load_inode(struct rs_load *load, uint64_t ino,
			       uint32_t mode)
{
	struct rs_core *core = load->core;
	struct rs_inode *inode = rs_inode_find(core, ino);

	if (inode) {
		if (mode && (inode->state & RS_I_GHOST) && !inode->mode &&
		    set_type(load, inode, mode))
			return NULL;
		return inode;
	}
	inode = rs_inode_new(core, ino, mode);
	if (!inode)
		return NULL;
	inode->state = RS_I_GHOST | RS_I_LOGGED;
	if (ino >= core->next_ino)
		core->next_ino = ino + 1;
	return inode;
}

int rs_load_attr(struct rs_load *load, struct rs_inode *inode,
		 const struct rs_attr *attr)
{
	int err;

	if ((inode->mode & S_IFMT) != (attr->mode & S_IFMT)) {
		err = set_type(load, inode, attr->mode);
		if (err)
			return err;
	}
	rs_inode_set_attr(inode, attr);
	inode->state &= (uint8_t) ~(RS_I_GHOST | RS_I_GONE);
	return 0;
}

int rs_load_entry(struct rs_load *load, struct rs_inode *dir,
		  const uint8_t *name, size_t len, struct rs_inode *child,
		  uint64_t frame)
{
	struct rs_core *core = load->core;
	const char *text = (const char *)name;
	struct rs_dentry *dentry = rs_dentry_find(core, dir, text, len);
	struct rs_inode *old;

	if (dentry) {
		old = dentry->inode;
		rs_dentry_point(core, dentry, child);
		if ((old->state & RS_I_GONE) && !old->names && old != child)
			rs_inode_free(core, old);
	} else {
		dentry = rs_dentry_alloc(core, dir, text, len);
		if (!dentry)
			return -ENOMEM;
		rs_dentry_add(core, dentry, child);
	}
	dentry->last = frame;
	dentry->logged = RS_D_LOGGED;
	return 0;
}

void rs_load_unentry(struct rs_load *load, struct rs_dentry *dentry)
{
	struct rs_inode *inode = dentry->inode, *dir = dentry->dir;

	rs_dentry_remove(load->core, dentry);
	if ((inode->state & RS_I_GONE) && !inode->names &&
	    (!S_ISDIR(inode->mode) || !inode->u.dir->live))
		rs_inode_free(load->core, inode);
	/* the last entry of a directory that was removed before it */
	if (dir != inode && (dir->state & RS_I_GONE) && !dir->names &&
	    !dir->u.dir->live)
		rs_inode_free(load->core, dir);
}

int rs_load_target(struct rs_load *load, struct rs_inode *inode,
		   const uint8_t *target, size_t len)
{
	char *text;

	text = rs_mem_alloc(&load->core->mem, len + 1);
	if (!text)
		return -ENOMEM;
	if (inode->u.target)
		rs_mem_free(&load->core->mem, inode->u.target, inode->size + 1);
	memcpy(text, target, len);
	text[len] = '\0';
	inode->u.target = text;
	inode->size = len;
	return 0;
}

/* ---- the store's metadata ---- */

static int on_inode(void *arg, uint64_t ino, const struct rs_attr *attr,
		    uint64_t frame)
{
	struct rs_load *load = arg;
	struct rs_inode *inode = rs_load_inode(load, ino, attr->mode);
	int err;

	if (!inode)
		return -ENOMEM;
	err = rs_load_attr(load, inode, attr);
	if (err)
		return err;
	inode->last = frame;
	if (S_ISREG(inode->mode))
		rs_file_freeze(inode);
	return 0;
}

static int on_entry(void *arg, uint64_t parent, const uint8_t *name, size_t len,
		    uint64_t child, uint8_t dtype, uint64_t frame)
{
	struct rs_load *load = arg;
	struct rs_inode *dir = rs_load_inode(load, parent, S_IFDIR);
	struct rs_inode *inode = rs_load_inode(load, child, 0);

	(void)dtype;
	if (!dir || !inode)
		return -ENOMEM;
	if (!S_ISDIR(dir->mode)) {
		rs_report_add(load->rep, RS_FIND_ENTRY, parent, frame,
			      UINT64_MAX, name, len,
			      "entry in what is no directory");
		return 0;
	}
	return rs_load_entry(load, dir, name, len, inode, frame);
}

static int on_link(void *arg, uint64_t ino, const uint8_t *target, size_t len)
{
	struct rs_load *load = arg;
	struct rs_inode *inode = rs_load_inode(load, ino, S_IFLNK);

	if (!inode)
		return -ENOMEM;
	if (!S_ISLNK(inode->mode))
		return 0;
	return rs_load_target(load, inode, target, len);
}

static int on_xattr(void *arg, uint64_t ino, const uint8_t *name, size_t len,
		    const uint8_t *value, size_t value_len)
{
	struct rs_load *load = arg;
	struct rs_inode *inode = rs_load_inode(load, ino, 0);

	if (!inode)
		return -ENOMEM;
	return rs_xattr_load(load->core, inode, name, len, value, value_len);
}

static int load_locked(struct rs_core *core, struct rs_report *rep)
{
	static const struct rs_load_ops ops = { on_inode, on_entry, on_link,
						on_xattr };
	struct rs_load load = { core, rep };
	struct rs_journal *j = core->cfg.journal;
	uint64_t ceiling;
	int err;

	core->root->state |= RS_I_GHOST;
	ceiling = rs_journal_ceiling(j);
	if (ceiling > core->next_ino)
		core->next_ino = ceiling;
	err = rs_store_load(rs_journal_store(j), &ops, &load, rep);
	/* damage is in the report, the rest is served */
	if (err && err != -EUCLEAN)
		return err;
	err = rs_journal_replay(j, rs_load_record, &load, rep);
	if (err && err != -EUCLEAN)
		return err;
	return rs_load_check(&load);
}

int rs_core_load_tree(struct rs_core *core, struct rs_report *rep)
{
	int err;

	if (!core->cfg.journal)
		return 0;
	rs_core_lock(core);
	err = load_locked(core, rep);
	/* sizes were set, not counted */
	core->limits = 0;
	rs_policy_refresh_tree(core, core->root);
	rs_core_unlock(core);
	return err;
}
