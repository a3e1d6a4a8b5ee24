/*
 * stale.c - what a closure had staged when the power went, and loading has
 * dropped: its records are still in the store or the ring. The first change
 * after the mount has them removed, a few with each operation that follows.
 *
 * Names first: an entry of a directory that is gone would be damage.
 */
#include "fs/core_p.h"

#define STEP 32u /* cleared in one frame */

static struct rs_stale *stale_new(struct rs_core *core)
{
	struct rs_stale *stale;

	stale = realloc(core->stale, (core->n_stale + 1) * sizeof(*stale));
	if (!stale)
		return NULL;
	core->stale = stale;
	stale += core->n_stale++;
	memset(stale, 0, sizeof(*stale));
	return stale;
}

/* Without memory it stays for the next mount. */
void rs_stale_inode(struct rs_core *core, const struct rs_inode *inode)
{
	struct rs_stale *stale = stale_new(core);

	if (!stale)
		return;
	stale->ino = inode->node.key;
	stale->last = inode->last;
}

void rs_stale_entry(struct rs_core *core, const struct rs_dentry *dentry)
{
	char *name = malloc(dentry->len);
	struct rs_stale *stale = name ? stale_new(core) : NULL;

	if (!stale) {
		free(name);
		return;
	}
	memcpy(name, dentry->name, dentry->len);
	stale->ino = dentry->dir->node.key;
	stale->last = dentry->dir->last;
	stale->child = dentry->inode->node.key;
	stale->name = name;
	stale->len = dentry->len;
}

void rs_stale_free(struct rs_core *core)
{
	size_t i;

	for (i = 0; i < core->n_stale; i++)
		free(core->stale[i].name);
	free(core->stale);
	core->stale = NULL;
	core->n_stale = 0;
}

/* From the end: by inode, names before the inode itself. */
static int by_turn(const void *a, const void *b)
{
	const struct rs_stale *p = a, *q = b;

	if (p->ino != q->ino)
		return p->ino < q->ino ? -1 : 1;
	return (p->name != NULL) - (q->name != NULL);
}

void rs_stale_sort(struct rs_core *core)
{
	if (core->n_stale)
		qsort(core->stale, core->n_stale, sizeof(*core->stale),
		      by_turn);
}

/* The next one, which knows of the same inode's records before it. */
static void take_over(struct rs_core *core, const struct rs_stale *done)
{
	struct rs_stale *next = core->stale + core->n_stale - 1;

	if (!core->n_stale || next->ino != done->ino)
		return;
	next->before = done->last == core->tx ? done->before : done->last;
	next->last = core->tx;
}

static void reap_one(struct rs_core *core, struct rs_stale *stale)
{
	struct rs_rec rec = { .type = RS_REC_INODE_DEL, .ino = stale->ino };
	struct rs_inode *child;

	rec.prev = stale->last == core->tx ? stale->before : stale->last;
	if (stale->name) {
		rec.type = RS_REC_ENTRY_DEL;
		rec.child = stale->child;
		rec.name = (const uint8_t *)stale->name;
		rec.name_len = stale->len;
	}
	rs_journal_put(core->cfg.journal, &rec, NULL);
	/* one name less of what has another that counts */
	child = stale->name ? rs_inode_find(core, stale->child) : NULL;
	if (child && !S_ISDIR(child->mode))
		rs_intent_inode(core, child);
	take_over(core, stale);
	free(stale->name);
}

void rs_closure_reap(struct rs_core *core)
{
	struct rs_room room;
	struct rs_stale stale;
	size_t n;

	if (rs_room_take(core, &room,
			 STEP * (RS_REC_ENTRY_LEN + RS_REC_INODE_LEN),
			 RS_NEED_SMALL))
		return;
	rs_core_lock(core);
	rs_intent_begin(core);
	for (n = 0; n < STEP && core->n_stale; n++) {
		stale = core->stale[--core->n_stale];
		reap_one(core, &stale);
	}
	rs_intent_end(core);
	rs_core_unlock(core);
	rs_room_give(core, &room);
}
