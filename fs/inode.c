/*
 * inode.c - the table of inodes and their lifetimes.
 *
 * An inode with nlink 0 that the kernel still knows (an open file that was
 * unlinked) is an orphan: it works to the end, isn't logged any more (G8),
 * and is freed by the last forget.
 */
#include "fs/core_p.h"

struct rs_inode *rs_inode_find(struct rs_core *core, uint64_t ino)
{
	struct rs_hnode *node = rs_table_find(&core->inodes, ino);

	return node ? rs_inode_of(node) : NULL;
}

struct rs_inode *rs_inode_new(struct rs_core *core, uint64_t ino, uint32_t mode)
{
	struct rs_inode *inode = rs_mem_zalloc(&core->mem, sizeof(*inode));

	if (!inode)
		return NULL;
	if (S_ISDIR(mode)) {
		inode->u.dir = rs_dir_new(core);
		if (!inode->u.dir) {
			rs_mem_free(&core->mem, inode, sizeof(*inode));
			return NULL;
		}
	}
	inode->node.key = ino;
	inode->mode = mode;
	rs_table_insert(&core->inodes, &inode->node);
	return inode;
}

void rs_inode_free(struct rs_core *core, struct rs_inode *inode)
{
	inode->nlink = 0;
	rs_loss_check(core, inode);
	if (S_ISREG(inode->mode)) {
		rs_file_clear(core, inode);
	} else if (S_ISDIR(inode->mode)) {
		rs_policy_drop(core, inode);
		rs_dir_free(core, inode->u.dir);
	} else if (S_ISLNK(inode->mode) && inode->u.target) {
		rs_mem_free(&core->mem, inode->u.target, inode->size + 1);
	}
	rs_xattr_clear(core, inode);
	rs_table_remove(&core->inodes, &inode->node);
	rs_mem_free(&core->mem, inode, sizeof(*inode));
}

void rs_inode_put(struct rs_core *core, struct rs_inode *inode)
{
	if (inode->nlink || inode->nlookup || inode == core->root)
		return;
	core->orphans--;
	rs_inode_free(core, inode);
}

void rs_inode_drop(struct rs_core *core, struct rs_inode *inode)
{
	core->orphans++;
	rs_inode_put(core, inode);
}

void rs_inode_attr(const struct rs_inode *inode, struct rs_attr *ret)
{
	struct timespec *to[RS_TIMES] = { &ret->atime, &ret->mtime, &ret->ctime,
					  &ret->btime };
	int i;

	memset(ret, 0, sizeof(*ret));
	ret->mode = inode->mode;
	ret->uid = inode->uid;
	ret->gid = inode->gid;
	ret->nlink = inode->nlink;
	ret->size = inode->size;
	ret->blocks = inode->blocks;
	ret->data_end = inode->data_end;
	ret->flags = inode->flags;
	for (i = 0; i < RS_TIMES; i++) {
		to[i]->tv_sec = inode->sec[i];
		to[i]->tv_nsec = inode->nsec[i];
	}
	if (S_ISCHR(inode->mode) || S_ISBLK(inode->mode))
		ret->rdev = inode->u.rdev;
	if (!S_ISDIR(inode->mode))
		return;
	ret->policy = inode->u.dir->policy;
	ret->dirsync = inode->u.dir->dirsync;
	ret->limit = inode->u.dir->limit;
	ret->limit_inodes = inode->u.dir->limit_inodes;
}

void rs_inode_stat(const struct rs_inode *inode, struct rs_stat *ret)
{
	ret->ino = inode->node.key;
	rs_inode_attr(inode, &ret->attr);
}

void rs_inode_set_attr(struct rs_inode *inode, const struct rs_attr *attr)
{
	inode->mode = attr->mode;
	inode->uid = attr->uid;
	inode->gid = attr->gid;
	inode->nlink = attr->nlink;
	inode->flags = attr->flags;
	rs_times_set(inode, RS_ATIME, &attr->atime);
	rs_times_set(inode, RS_MTIME, &attr->mtime);
	rs_times_set(inode, RS_CTIME, &attr->ctime);
	rs_times_set(inode, RS_BTIME, &attr->btime);
	if (S_ISREG(attr->mode)) {
		inode->size = attr->size;
		inode->blocks = attr->blocks;
		inode->data_end = attr->data_end;
	} else if (S_ISCHR(attr->mode) || S_ISBLK(attr->mode)) {
		inode->u.rdev = attr->rdev;
	} else if (S_ISDIR(attr->mode)) {
		inode->u.dir->policy = attr->policy;
		inode->u.dir->dirsync = attr->dirsync;
		inode->u.dir->limit = attr->limit;
		inode->u.dir->limit_inodes = attr->limit_inodes;
	}
}

void rs_core_forget(struct rs_core *core, uint64_t ino, uint64_t n)
{
	struct rs_inode *inode;
	int staged = 0;

	rs_core_lock(core);
	inode = rs_inode_find(core, ino);
	if (inode) {
		inode->nlookup -= n < inode->nlookup ? n : inode->nlookup;
		staged = !inode->nlookup && !inode->nlink &&
			 rs_inode_logged(inode);
		if (!staged)
			rs_inode_put(core, inode);
	}
	rs_core_unlock(core);
	if (staged)
		rs_closure_forget(core, ino);
}

int rs_core_has_orphans(struct rs_core *core)
{
	int any;

	rs_core_lock(core);
	any = core->orphans > 0;
	rs_core_unlock(core);
	return any;
}

int rs_core_in_use(struct rs_core *core, uint64_t ino)
{
	int used;

	rs_core_lock(core);
	used = rs_inode_find(core, ino) != NULL;
	rs_core_unlock(core);
	return used;
}
