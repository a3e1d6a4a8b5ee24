/*
 * policy.c - the one place that decides what a directory's changes get.
 *
 * A setting made at run time counts before the last rule that matches the
 * path, this before what the directory above has. What counts is kept in the
 * directory (eff, eff_sync, ...), because each operation asks, and found out
 * again when the directory is made, moved, or a setting above changes.
 *
 * LOCKS  the tree lock; the counters of directories by policy may be read
 * without it, by who only wants to know whether there is any such directory.
 */
#include "fs/core_p.h"

enum rs_policy rs_policy_of(const struct rs_core *core,
			    const struct rs_inode *dir)
{
	(void)core;
	return (enum rs_policy)dir->u.dir->eff;
}

enum rs_policy rs_policy_inode(const struct rs_core *core,
			       const struct rs_inode *inode)
{
	enum rs_policy policy = RS_POLICY_VOLATILE, own;
	const struct rs_dentry *name;

	if (S_ISDIR(inode->mode))
		return rs_policy_of(core, inode);
	for (name = inode->names; name; name = name->next) {
		own = rs_policy_of(core, name->dir);
		policy = own > policy ? own : policy;
	}
	return policy;
}

int rs_dir_logs(const struct rs_inode *dir)
{
	return rs_inode_logged(dir) &&
	       (dir->u.dir->eff != RS_POLICY_VOLATILE || dir->u.dir->staging);
}

int rs_entry_logs(const struct rs_inode *dir, const struct rs_inode *child)
{
	if (!rs_inode_logged(dir) || !rs_inode_logged(child))
		return 0;
	return S_ISDIR(child->mode) || rs_dir_logs(dir);
}

int rs_policy_any(const struct rs_core *core, enum rs_policy policy)
{
	return __atomic_load_n(&core->n_dirs[policy], __ATOMIC_RELAXED) != 0;
}

static void count(struct rs_core *core, uint8_t policy, uint64_t n)
{
	if (policy)
		__atomic_fetch_add(&core->n_dirs[policy], n, __ATOMIC_RELAXED);
}

/*
 * What the rules say of a path: 0 where none says anything. 1: one of them
 * names it.
 */
static uint8_t ask_rules(const struct rs_core *core, const struct rs_spot *spot,
			 struct rs_rule *ret)
{
	const struct rs_rule *rule;
	uint8_t named = 0;
	size_t i;

	memset(ret, 0, sizeof(*ret));
	for (i = 0; i < core->cfg.n_rules; i++) {
		rule = &core->cfg.rules[i];
		if (!rs_glob_match(core, rule->glob, spot))
			continue;
		if (rs_glob_names(core, rule->glob, spot))
			named = 1;
		if (rule->policy)
			ret->policy = rule->policy;
		if (rule->dirsync)
			ret->dirsync = rule->dirsync;
		if (rule->has_limit)
			ret->limit = rule->limit;
		if (rule->has_inodes)
			ret->limit_inodes = rule->limit_inodes;
	}
	return named;
}

static uint8_t choose(uint8_t own, uint8_t rule, uint8_t above,
		      enum rs_origin from_above, uint8_t *ret_from)
{
	uint8_t from = (uint8_t)from_above;

	if (own || rule)
		from = own ? RS_ORIGIN_RUNTIME : RS_ORIGIN_RULE;
	*ret_from = from;
	if (own)
		return own;
	return rule ? rule : above;
}

void rs_policy_look(const struct rs_core *core, const struct rs_spot *spot,
		    const struct rs_dir *dir, struct rs_look *ret)
{
	static const struct rs_dir none;
	enum rs_origin above = RS_ORIGIN_PARENT;
	uint8_t policy = RS_POLICY_FSYNC, dirsync = RS_DIRSYNC_STRICT;
	struct rs_rule rule;

	if (!dir)
		dir = &none;
	ret->named = ask_rules(core, spot, &rule);
	if (spot->dir) {
		policy = spot->dir->u.dir->eff;
		dirsync = spot->dir->u.dir->eff_sync;
	} else {
		above = RS_ORIGIN_MOUNT;
		if (core->cfg.policy)
			policy = (uint8_t)core->cfg.policy;
		if (core->cfg.dirsync)
			dirsync = core->cfg.dirsync;
	}
	ret->eff = choose(dir->policy, rule.policy, policy, above, &ret->from);
	ret->eff_sync = choose(dir->dirsync, rule.dirsync, dirsync, above,
			       &ret->from_sync);
	ret->limit = dir->limit ? dir->limit : rule.limit;
	ret->limit_inodes =
		dir->limit_inodes ? dir->limit_inodes : rule.limit_inodes;
}

void rs_policy_refresh(struct rs_core *core, struct rs_inode *inode)
{
	struct rs_spot spot = rs_spot_of(core, inode);
	struct rs_dir *dir = inode->u.dir;
	struct rs_look look;

	rs_policy_look(core, &spot, dir, &look);
	count(core, dir->eff, (uint64_t)-1);
	dir->eff = look.eff;
	count(core, dir->eff, 1);
	dir->from = look.from;
	dir->eff_sync = look.eff_sync;
	if (dir->eff_sync == RS_DIRSYNC_CALLER)
		__atomic_store_n(&core->any_caller, 1, __ATOMIC_RELAXED);
	dir->from_sync = look.from_sync;
	dir->eff_limit = look.limit;
	dir->eff_inodes = look.limit_inodes;
	if (look.limit || look.limit_inodes)
		rs_limit_start(core);
}

void rs_policy_drop(struct rs_core *core, struct rs_inode *dir)
{
	count(core, dir->u.dir->eff, (uint64_t)-1);
}

/*
 * The next directory below dir behind a cookie. nlink tells whether there
 * are any, so that a queue of a million files costs nothing.
 */
static struct rs_inode *next_dir(const struct rs_inode *dir, uint64_t after)
{
	struct rs_dentry *dentry;

	if (dir->nlink <= 2)
		return NULL;
	dentry = rs_dir_first(dir->u.dir, after);
	while (dentry && !S_ISDIR(dentry->inode->mode))
		dentry = rs_dir_first(dir->u.dir, dentry->cookie);
	return dentry ? dentry->inode : NULL;
}

struct rs_inode *rs_dir_walk(const struct rs_inode *top, struct rs_inode *at)
{
	struct rs_inode *next = next_dir(at, 0);

	while (!next && at != top) {
		next = next_dir(at->names->dir, at->names->cookie);
		at = at->names->dir;
	}
	return next;
}

void rs_policy_refresh_tree(struct rs_core *core, struct rs_inode *top)
{
	struct rs_inode *at = top;

	for (; at; at = rs_dir_walk(top, at))
		rs_policy_refresh(core, at);
}
