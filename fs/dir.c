/*
 * dir.c - a directory's entries in the order of their cookies, and readdir.
 *
 * MODEL  slots[0..n): dentries in rising order of cookie; a removed one
 * leaves its cookie as an odd number, so that a scan finds its place by
 * bisection whatever has gone meanwhile. New names get ever higher cookies
 * at the end; a name that is replaced keeps its own. When more than half of
 * the slots are gaps the rest moves together: constant work an entry.
 *
 * A cookie never changes while the name lives, so a scan sees every name
 * that is there from its beginning to its end exactly once. The bound that
 * is fixed at its start makes a scan that renames as it goes end.
 */
#include <dirent.h>

#include "fs/core_p.h"

#define COOKIE_DOT 1u
#define COOKIE_DOTDOT 2u
#define COOKIE_FIRST 3u
#define SLOTS_MIN 4u

struct rs_dir *rs_dir_new(struct rs_core *core)
{
	struct rs_dir *dir = rs_mem_zalloc(&core->mem, sizeof(*dir));

	if (!dir)
		return NULL;
	dir->next_cookie = COOKIE_FIRST;
	dir->whole = 1;
	return dir;
}

static void slots_account(struct rs_core *core, const struct rs_dir *dir,
			  int sign)
{
	uint64_t bytes = dir->cap * sizeof(*dir->slots);

	core->mem.extra += sign > 0 ? bytes : -bytes;
}

void rs_dir_free(struct rs_core *core, struct rs_dir *dir)
{
	slots_account(core, dir, -1);
	free(dir->slots);
	rs_mem_free(&core->mem, dir, sizeof(*dir));
}

static int is_gap(uintptr_t slot)
{
	return slot & 1;
}

static struct rs_dentry *slot_dentry(uintptr_t slot)
{
	return (struct rs_dentry *)slot;
}

static void compact(struct rs_dir *dir)
{
	uint32_t from, to = 0;

	for (from = 0; from < dir->n; from++) {
		if (is_gap(dir->slots[from]))
			continue;
		slot_dentry(dir->slots[from])->slot = to;
		dir->slots[to++] = dir->slots[from];
	}
	dir->n = to;
}

static int resize(struct rs_core *core, struct rs_dir *dir, uint32_t cap)
{
	uintptr_t *slots = realloc(dir->slots, cap * sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	slots_account(core, dir, -1);
	dir->slots = slots;
	dir->cap = cap;
	slots_account(core, dir, 1);
	return 0;
}

int rs_dir_make_room(struct rs_core *core, struct rs_dir *dir)
{
	if (dir->n < dir->cap)
		return 0;
	if (dir->live <= dir->n / 2 && dir->n) {
		compact(dir);
		return 0;
	}
	return resize(core, dir, dir->cap ? dir->cap * 2 : SLOTS_MIN);
}

void rs_dir_add(struct rs_dir *dir, struct rs_dentry *dentry)
{
	dentry->cookie = dir->next_cookie++;
	dentry->slot = dir->n;
	dir->slots[dir->n++] = (uintptr_t)dentry;
	dir->live++;
}

void rs_dir_remove(struct rs_core *core, struct rs_dir *dir,
		   struct rs_dentry *dentry)
{
	dir->slots[dentry->slot] = (uintptr_t)(dentry->cookie * 2 + 1);
	dir->live--;
	if (dir->n > SLOTS_MIN && dir->live < dir->n / 4)
		compact(dir);
	/* A failed shrink leaves the array as it is. */
	if (dir->cap > SLOTS_MIN && dir->n < dir->cap / 4)
		(void)!resize(core, dir, dir->cap / 2);
}

static uint64_t slot_cookie(uintptr_t slot)
{
	return is_gap(slot) ? (uint64_t)slot / 2 : slot_dentry(slot)->cookie;
}

static uint32_t bisect(const struct rs_dir *dir, uint64_t after)
{
	uint32_t low = 0, high = dir->n, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (slot_cookie(dir->slots[mid]) <= after)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static struct rs_dentry *next_live(const struct rs_dir *dir, uint32_t at)
{
	for (; at < dir->n; at++) {
		if (!is_gap(dir->slots[at]))
			return slot_dentry(dir->slots[at]);
	}
	return NULL;
}

struct rs_dentry *rs_dir_first(const struct rs_dir *dir, uint64_t after)
{
	return next_live(dir, bisect(dir, after));
}

struct rs_inode *rs_dir_parent(struct rs_core *core, const struct rs_inode *dir)
{
	if (dir == core->root)
		return core->root;
	return dir->names ? dir->names->dir : NULL;
}

uint64_t rs_core_dir_bound(struct rs_core *core, uint64_t ino)
{
	struct rs_inode *dir;
	uint64_t bound = 0;

	rs_core_lock(core);
	dir = rs_inode_find(core, ino);
	if (dir && S_ISDIR(dir->mode))
		bound = dir->u.dir->next_cookie - 1;
	rs_core_unlock(core);
	return bound;
}

struct scan {
	uint64_t after, bound;
	int plus;
	int (*fill)(void *arg, const struct rs_dirent *ent);
	void *arg;
};

static int fill_dot(const struct scan *scan, const struct rs_inode *inode,
		    uint64_t cookie)
{
	struct rs_dirent ent = {
		.name = "..",
		.len = (size_t)cookie,
		.cookie = cookie,
	};

	if (scan->after >= cookie)
		return 0;
	/* "." is the second half of ".." */
	if (cookie == COOKIE_DOT)
		ent.name++;
	rs_inode_stat(inode, &ent.st);
	return scan->fill(scan->arg, &ent);
}

static void fill_entries(const struct scan *scan, const struct rs_dir *dir)
{
	struct rs_dentry *dentry = rs_dir_first(dir, scan->after);
	struct rs_dirent ent;

	for (; dentry; dentry = next_live(dir, dentry->slot + 1)) {
		if (dentry->cookie > scan->bound)
			return;
		ent.name = dentry->name;
		ent.len = dentry->len;
		ent.cookie = dentry->cookie;
		rs_inode_stat(dentry->inode, &ent.st);
		if (scan->fill(scan->arg, &ent))
			return;
		if (scan->plus)
			dentry->inode->nlookup++;
	}
}

static int readdir_locked(struct rs_core *core, uint64_t ino,
			  const struct scan *scan)
{
	struct rs_inode *dir = rs_inode_find(core, ino), *parent;

	if (!dir)
		return -ESTALE;
	if (!S_ISDIR(dir->mode))
		return -ENOTDIR;
	parent = rs_dir_parent(core, dir);
	if (!parent)
		return 0; /* removed: reads as empty */
	rs_times_access(core, dir);
	if (fill_dot(scan, dir, COOKIE_DOT) ||
	    fill_dot(scan, parent, COOKIE_DOTDOT))
		return 0;
	fill_entries(scan, dir->u.dir);
	return 0;
}

int rs_core_readdir(struct rs_core *core, uint64_t ino, uint64_t after,
		    uint64_t bound, int plus,
		    int (*fill)(void *arg, const struct rs_dirent *ent),
		    void *arg)
{
	struct scan scan = { after, bound, plus, fill, arg };
	int err;

	rs_core_lock(core);
	err = readdir_locked(core, ino, &scan);
	rs_core_unlock(core);
	return err;
}
