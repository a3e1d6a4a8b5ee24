/*
 * policy_set.c - policies as the administrator sees and sets them.
 */
#include "fs/core_p.h"

static int find_dir(struct rs_core *core, uint64_t ino,
		    struct rs_inode **ret_dir)
{
	struct rs_inode *dir = rs_inode_find(core, ino);

	if (!dir)
		return -ESTALE;
	if (!S_ISDIR(dir->mode))
		return -ENOTDIR;
	*ret_dir = dir;
	return 0;
}

static void get_info(const struct rs_inode *inode, struct rs_policy_info *ret)
{
	const struct rs_dir *dir = inode->u.dir;

	memset(ret, 0, sizeof(*ret));
	ret->ino = inode->node.key;
	ret->policy = (enum rs_policy)dir->eff;
	ret->policy_origin = (enum rs_origin)dir->from;
	ret->dirsync = dir->eff_sync;
	ret->dirsync_origin = (enum rs_origin)dir->from_sync;
	ret->limit = dir->eff_limit;
	ret->limit_inodes = dir->eff_inodes;
	if (!dir->eff_limit && !dir->eff_inodes)
		return;
	ret->used = dir->used;
	ret->used_inodes = dir->used_inodes;
}

int rs_core_policy_get(struct rs_core *core, uint64_t ino,
		       struct rs_policy_info *ret_info)
{
	struct rs_inode *dir;
	int err;

	rs_core_lock(core);
	err = find_dir(core, ino, &dir);
	if (!err)
		get_info(dir, ret_info);
	rs_core_unlock(core);
	return err;
}

enum rs_policy rs_core_policy(struct rs_core *core, uint64_t ino)
{
	enum rs_policy policy = RS_POLICY_FSYNC;
	struct rs_inode *inode;

	rs_core_lock(core);
	inode = rs_inode_find(core, ino);
	if (inode)
		policy = rs_policy_inode(core, inode);
	rs_core_unlock(core);
	return policy;
}

/* ---- setting ---- */

static int set_check(const struct rs_policy_set *set)
{
	if ((set->what & RS_POLSET_POLICY) && set->policy > RS_POLICY_ALWAYS)
		return -EINVAL;
	if ((set->what & RS_POLSET_DIRSYNC) && set->dirsync > RS_DIRSYNC_CALLER)
		return -EINVAL;
	return 0;
}

static void set_apply(struct rs_core *core, struct rs_inode *inode,
		      const struct rs_policy_set *set)
{
	struct rs_dir *dir = inode->u.dir;

	if (set->what & RS_POLSET_POLICY)
		dir->policy = set->policy;
	if (set->what & RS_POLSET_DIRSYNC)
		dir->dirsync = set->dirsync;
	if (set->what & RS_POLSET_LIMIT)
		dir->limit = set->limit;
	if (set->what & RS_POLSET_INODES)
		dir->limit_inodes = set->limit_inodes;
	rs_policy_refresh_tree(core, inode);
	rs_intent_begin(core);
	rs_intent_inode(core, inode);
	rs_intent_end(core);
}

/* The policy that it will have; 0: as it is, or what is around it says. */
static int raise_check(struct rs_core *core, struct rs_op *op,
		       struct rs_inode *dir, const struct rs_policy_set *set)
{
	struct rs_dir own = *dir->u.dir;
	struct rs_spot spot = rs_spot_of(core, dir);
	struct rs_look look;

	if (!(set->what & RS_POLSET_POLICY))
		return 0;
	own.policy = set->policy;
	rs_policy_look(core, &spot, &own, &look);
	return rs_closure_set_ready(core, op, dir, look.eff);
}

static int set_locked(struct rs_core *core, struct rs_op *op, uint64_t ino,
		      const struct rs_policy_set *set, uint64_t *ret_number)
{
	struct rs_inode *dir;
	int err;

	err = find_dir(core, ino, &dir);
	if (!err && !dir->nlink)
		err = -ENOENT;
	if (!err)
		err = raise_check(core, op, dir, set);
	if (!err && !rs_inode_logged(dir)) {
		/* else it could not be kept */
		op->close = (struct rs_close){ .ino = ino };
		err = RS_AGAIN_CLOSE;
	}
	if (!err)
		err = rs_op_short(core, op, 1);
	if (err)
		return err;
	set_apply(core, dir, set);
	*ret_number = core->cfg.journal ? dir->last : 0;
	return 0;
}

int rs_core_policy_set(struct rs_core *core, uint64_t ino,
		       const struct rs_policy_set *set, uint64_t *ret_number)
{
	struct rs_op op;
	int err;

	err = set_check(set);
	if (err)
		return err;
	rs_op_init(core, &op, 0, RS_REC_INODE_LEN, RS_NEED_SMALL);
	do {
		err = rs_op_enter(core, &op);
		if (!err)
			err = set_locked(core, &op, ino, set, ret_number);
	} while (rs_op_again(core, &op, &err));
	return err;
}

/* ---- by path ---- */

static int resolve_locked(struct rs_core *core, const char *path,
			  uint64_t *ret_ino)
{
	const struct rs_inode *at = core->root;
	const struct rs_dentry *dentry;
	size_t len;

	for (path += strspn(path, "/"); *path; path += strspn(path, "/")) {
		len = strcspn(path, "/");
		if (!S_ISDIR(at->mode))
			return -ENOTDIR;
		if (len > RS_NAME_MAX)
			return -ENAMETOOLONG;
		dentry = rs_dentry_find(core, at, path, len);
		if (!dentry)
			return -ENOENT;
		at = dentry->inode;
		path += len;
	}
	*ret_ino = at->node.key;
	return 0;
}

int rs_core_resolve(struct rs_core *core, const char *path, uint64_t *ret_ino)
{
	int err;

	rs_core_lock(core);
	err = resolve_locked(core, path, ret_ino);
	rs_core_unlock(core);
	return err;
}

/* ---- the list of them ---- */

struct told {
	struct rs_policy_info info;
	char *path;
};

struct list {
	struct told *told;
	size_t n, cap;
};

static int is_own(const struct rs_inode *inode)
{
	const struct rs_dir *dir = inode->u.dir;

	return dir->from != RS_ORIGIN_PARENT ||
	       dir->from_sync != RS_ORIGIN_PARENT || dir->eff_limit ||
	       dir->eff_inodes;
}

/* A new string; NULL without memory. */
static char *path_of(const struct rs_core *core, const struct rs_inode *dir)
{
	struct rs_spot spot = rs_spot_of(core, dir), at;
	size_t len = 0;
	char *path;

	for (at = spot; at.name; at = rs_spot_of(core, at.dir))
		len += at.len + 1;
	path = malloc(len + 2);
	if (!path)
		return NULL;
	memcpy(path, "/", 2);
	path[len ? len : 1] = '\0';
	for (at = spot; at.name; at = rs_spot_of(core, at.dir)) {
		len -= at.len + 1;
		path[len] = '/';
		memcpy(path + len + 1, at.name, at.len);
	}
	return path;
}

static int list_add(struct list *list, const struct rs_core *core,
		    const struct rs_inode *dir)
{
	size_t cap = list->cap ? list->cap * 2 : 16;
	struct told *told;

	if (list->n == list->cap) {
		told = realloc(list->told, cap * sizeof(*told));
		if (!told)
			return -ENOMEM;
		list->told = told;
		list->cap = cap;
	}
	told = &list->told[list->n];
	told->path = path_of(core, dir);
	if (!told->path)
		return -ENOMEM;
	get_info(dir, &told->info);
	list->n++;
	return 0;
}

static int list_locked(struct rs_core *core, struct list *list)
{
	struct rs_inode *at = core->root;
	int err = 0;

	for (; at && !err; at = rs_dir_walk(core->root, at)) {
		if (is_own(at))
			err = list_add(list, core, at);
	}
	return err;
}

int rs_core_policy_walk(struct rs_core *core,
			int (*fn)(void *arg, const char *path,
				  const struct rs_policy_info *info),
			void *arg)
{
	struct list list = { 0 };
	size_t i;
	int err;

	rs_core_lock(core);
	err = list_locked(core, &list);
	rs_core_unlock(core);
	for (i = 0; i < list.n; i++) {
		if (!err)
			err = fn(arg, list.told[i].path, &list.told[i].info);
		free(list.told[i].path);
	}
	free(list.told);
	return err;
}
