/*
 * dentry.c - names: one hash table over all directories, and the list of
 * an inode's names (for fsync's way up to the root, and for "..").
 *
 * One table for all instead of one a directory: 4096 nearly empty hashed
 * queue directories then cost nothing, and growing is spread over all.
 */
#include "fs/core_p.h"

int rs_name_check(const char *name, size_t len)
{
	if (!len)
		return -ENOENT;
	if (len > RS_NAME_MAX)
		return -ENAMETOOLONG;
	if (memchr(name, '/', len))
		return -EINVAL;
	if (name[0] == '.' && (len == 1 || (len == 2 && name[1] == '.')))
		return -EINVAL;
	return 0;
}

struct rs_dentry *rs_dentry_find(struct rs_core *core,
				 const struct rs_inode *dir, const char *name,
				 size_t len)
{
	struct rs_hnode *node;
	struct rs_dentry *dentry;

	node = rs_table_find(
		&core->dentries,
		rs_name_hash(core->seed, dir->node.key, name, len));
	for (; node; node = rs_table_next(node)) {
		dentry = rs_dentry_of(node);
		if (dentry->dir == dir && dentry->len == len &&
		    !memcmp(dentry->name, name, len))
			return dentry;
	}
	return NULL;
}

static size_t dentry_size(size_t len)
{
	return sizeof(struct rs_dentry) + len;
}

struct rs_dentry *rs_dentry_alloc(struct rs_core *core, struct rs_inode *dir,
				  const char *name, size_t len)
{
	struct rs_dentry *dentry;

	if (rs_dir_make_room(core, dir->u.dir))
		return NULL;
	dentry = rs_mem_alloc(&core->mem, dentry_size(len));
	if (!dentry)
		return NULL;
	memset(dentry, 0, sizeof(*dentry));
	dentry->node.key = rs_name_hash(core->seed, dir->node.key, name, len);
	dentry->dir = dir;
	dentry->len = (uint8_t)len;
	memcpy(dentry->name, name, len);
	return dentry;
}

void rs_dentry_free(struct rs_core *core, struct rs_dentry *dentry)
{
	if (dentry)
		rs_mem_free(&core->mem, dentry, dentry_size(dentry->len));
}

/* The oldest stays the first: that is where the inode is counted. */
static void names_add(struct rs_core *core, struct rs_inode *inode,
		      struct rs_dentry *dentry)
{
	struct rs_dentry **at = &inode->names;

	if (*at)
		at = &(*at)->next;
	dentry->inode = inode;
	dentry->next = *at;
	dentry->link = at;
	if (*at)
		(*at)->link = &dentry->next;
	*at = dentry;
	if (inode->names == dentry)
		rs_limit_enter(core, inode);
}

static void names_remove(struct rs_core *core, struct rs_dentry *dentry)
{
	struct rs_inode *inode = dentry->inode;
	int first = inode->names == dentry;

	if (first)
		rs_limit_leave(core, inode);
	*dentry->link = dentry->next;
	if (dentry->next)
		dentry->next->link = dentry->link;
	if (first)
		rs_limit_enter(core, inode);
}

void rs_dentry_add(struct rs_core *core, struct rs_dentry *dentry,
		   struct rs_inode *inode)
{
	names_add(core, inode, dentry);
	rs_dir_add(dentry->dir->u.dir, dentry);
	rs_table_insert(&core->dentries, &dentry->node);
}

void rs_dentry_remove(struct rs_core *core, struct rs_dentry *dentry)
{
	rs_table_remove(&core->dentries, &dentry->node);
	rs_dir_remove(core, dentry->dir->u.dir, dentry);
	names_remove(core, dentry);
	rs_dentry_free(core, dentry);
}

void rs_dentry_point(struct rs_core *core, struct rs_dentry *dentry,
		     struct rs_inode *inode)
{
	names_remove(core, dentry);
	names_add(core, inode, dentry);
}
