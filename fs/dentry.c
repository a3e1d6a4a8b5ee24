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

static void names_add(struct rs_inode *inode, struct rs_dentry *dentry)
{
	dentry->inode = inode;
	dentry->next = inode->names;
	dentry->link = &inode->names;
	if (inode->names)
		inode->names->link = &dentry->next;
	inode->names = dentry;
}

static void names_remove(struct rs_dentry *dentry)
{
	*dentry->link = dentry->next;
	if (dentry->next)
		dentry->next->link = dentry->link;
}

void rs_dentry_add(struct rs_core *core, struct rs_dentry *dentry,
		   struct rs_inode *inode)
{
	names_add(inode, dentry);
	rs_dir_add(dentry->dir->u.dir, dentry);
	rs_table_insert(&core->dentries, &dentry->node);
}

void rs_dentry_remove(struct rs_core *core, struct rs_dentry *dentry)
{
	rs_table_remove(&core->dentries, &dentry->node);
	rs_dir_remove(core, dentry->dir->u.dir, dentry);
	names_remove(dentry);
	rs_dentry_free(core, dentry);
}

void rs_dentry_point(struct rs_dentry *dentry, struct rs_inode *inode)
{
	names_remove(dentry);
	names_add(inode, dentry);
}
