/*
 * walk.c - the whole tree in path order, for export and recover.
 *
 * The callback does I/O, so it is called without the tree lock: each
 * directory's names are copied and sorted first. What vanishes meanwhile is
 * left out. Deep trees go on a stack of our own, not on the thread's.
 */
#include "fs/core_p.h"

struct name {
	uint64_t ino;
	char *text;
};

/* A directory under way: names[next..n) are still to come. */
struct level {
	struct name *names;
	size_t n, next;
	size_t path_len;
};

struct walk {
	struct rs_core *core;
	const struct rs_walk_ops *ops;
	void *arg;
	struct level *levels;
	size_t depth, cap;
	char *path;
	size_t path_cap;
	uint64_t *seen; /* numbers of hard-linked inodes met, open addressing */
	size_t n_seen, seen_cap;
};

static int by_name(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	return strcmp(x->text, y->text);
}

static void level_release(struct level *level)
{
	size_t i;

	for (i = 0; i < level->n; i++)
		free(level->names[i].text);
	free(level->names);
}

static int copy_names(struct rs_inode *dir, struct level *level)
{
	struct rs_dentry *dentry = rs_dir_first(dir->u.dir, 0);
	struct name *name;

	level->names = calloc(dir->u.dir->live + 1, sizeof(*level->names));
	if (!level->names)
		return -ENOMEM;
	for (; dentry; dentry = rs_dir_first(dir->u.dir, dentry->cookie)) {
		name = &level->names[level->n];
		name->ino = dentry->inode->node.key;
		name->text = strndup(dentry->name, dentry->len);
		if (!name->text)
			return -ENOMEM;
		level->n++;
	}
	return 0;
}

static int descend(struct walk *walk, uint64_t ino, size_t path_len)
{
	size_t cap = walk->cap ? walk->cap * 2 : 16;
	struct level *level, *levels;
	struct rs_inode *dir;
	int err = 0;

	if (walk->depth == walk->cap) {
		levels = realloc(walk->levels, cap * sizeof(*levels));
		if (!levels)
			return -ENOMEM;
		walk->levels = levels;
		walk->cap = cap;
	}
	level = &walk->levels[walk->depth++];
	memset(level, 0, sizeof(*level));
	level->path_len = path_len;
	rs_core_lock(walk->core);
	dir = rs_inode_find(walk->core, ino);
	if (dir && S_ISDIR(dir->mode))
		err = copy_names(dir, level);
	rs_core_unlock(walk->core);
	if (!err)
		qsort(level->names, level->n, sizeof(struct name), by_name);
	return err;
}

static int set_path(struct walk *walk, size_t at, const char *name,
		    size_t *ret_len)
{
	size_t len = strlen(name), need = at + len + 2;
	char *path;

	if (need > walk->path_cap) {
		path = realloc(walk->path, need * 2);
		if (!path)
			return -ENOMEM;
		walk->path = path;
		walk->path_cap = need * 2;
	}
	if (at)
		walk->path[at++] = '/';
	memcpy(walk->path + at, name, len + 1);
	*ret_len = at + len;
	return 0;
}

static void seen_put(uint64_t *seen, size_t cap, uint64_t ino)
{
	size_t at = (size_t)(ino * UINT64_C(0x9e3779b97f4a7c15)) & (cap - 1);

	while (seen[at] && seen[at] != ino)
		at = (at + 1) & (cap - 1);
	seen[at] = ino;
}

static int seen_has(const struct walk *walk, uint64_t ino)
{
	size_t cap = walk->seen_cap;
	size_t at = (size_t)(ino * UINT64_C(0x9e3779b97f4a7c15)) & (cap - 1);

	while (cap && walk->seen[at] && walk->seen[at] != ino)
		at = (at + 1) & (cap - 1);
	return cap && walk->seen[at] == ino;
}

/* 1: seen for the first time, 0: a further name, or -ENOMEM */
static int first_name(struct walk *walk, const struct rs_stat *st)
{
	size_t cap = walk->seen_cap ? walk->seen_cap * 2 : 64, i;
	uint64_t *seen;

	if (S_ISDIR(st->attr.mode) || st->attr.nlink < 2)
		return 1;
	if (seen_has(walk, st->ino))
		return 0;
	if (walk->n_seen * 2 >= walk->seen_cap) {
		seen = calloc(cap, sizeof(*seen));
		if (!seen)
			return -ENOMEM;
		for (i = 0; i < walk->seen_cap; i++) {
			if (walk->seen[i])
				seen_put(seen, cap, walk->seen[i]);
		}
		free(walk->seen);
		walk->seen = seen;
		walk->seen_cap = cap;
	}
	seen_put(walk->seen, walk->seen_cap, st->ino);
	walk->n_seen++;
	return 1;
}

static int visit(struct walk *walk, uint64_t ino, size_t path_len)
{
	struct rs_stat st;
	int first, err;

	if (rs_core_getattr(walk->core, ino, &st))
		return 0; /* gone meanwhile */
	first = first_name(walk, &st);
	if (first < 0)
		return first;
	err = walk->ops->inode(walk->arg, walk->path, &st, first);
	if (err || !S_ISDIR(st.attr.mode))
		return err;
	return descend(walk, ino, path_len);
}

static int go(struct walk *walk)
{
	struct level *level;
	const struct name *name;
	size_t len;
	int err;

	err = set_path(walk, 0, "", &len);
	if (!err)
		err = visit(walk, RS_INO_ROOT, 0);
	while (!err && walk->depth) {
		level = &walk->levels[walk->depth - 1];
		if (level->next == level->n) {
			level_release(level);
			walk->depth--;
			continue;
		}
		name = &level->names[level->next++];
		err = set_path(walk, level->path_len, name->text, &len);
		if (!err)
			err = visit(walk, name->ino, len);
	}
	return err;
}

int rs_core_walk(struct rs_core *core, const struct rs_walk_ops *ops, void *arg)
{
	struct walk walk = { .core = core, .ops = ops, .arg = arg };
	int err;

	err = go(&walk);
	while (walk.depth)
		level_release(&walk.levels[--walk.depth]);
	free(walk.levels);
	free(walk.path);
	free(walk.seen);
	return err;
}
