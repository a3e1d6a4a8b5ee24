/*
 * store_load.c - all metadata, in the order in which a tree is built from
 * it: inodes, entries, symlink targets, xattrs.
 */
#include <errno.h>

#include "journal/store_parts.h"

struct load {
	const struct rs_load_ops *ops;
	void *arg;
	struct rs_report *rep;
	struct rs_parts parts; /* 64 KiB: on the heap */
	uint64_t bad;
};

static int on_inode(struct load *l, const struct rs_walk_item *item)
{
	struct rs_vinode v;
	int err;

	err = rs_vinode_decode(item->body, item->len, &v);
	if (err < 0 || !l->ops->inode)
		return err;
	return l->ops->inode(l->arg, item->ino, &v.attr, v.frame);
}

static int on_entry(struct load *l, const struct rs_walk_item *item)
{
	struct rs_ventry v;
	int err;

	err = rs_ventry_decode(item->body, item->len, &v);
	if (err < 0 || !l->ops->entry)
		return err;
	return l->ops->entry(l->arg, item->ino, v.name, v.name_len, v.child,
			     v.dtype, v.frame);
}

static void torn(struct load *l, uint64_t ino)
{
	l->bad++;
	rs_report_add(l->rep, RS_FIND_VALUE, ino, 0, UINT64_MAX, NULL, 0,
		      "a symlink target or xattr is not complete");
}

static int on_part(struct load *l, const struct rs_walk_item *item)
{
	struct rs_parts *p = &l->parts;
	int rc = rs_parts_take(p, item);

	if (rc < 0)
		torn(l, item->ino);
	if (rc <= 0)
		return 0;
	if (item->kind == 'L')
		return l->ops->link ? l->ops->link(l->arg, item->ino, p->buf,
						   p->total)
				    : 0;
	return l->ops->xattr ? l->ops->xattr(l->arg, item->ino, p->name,
					     p->name_len, p->buf, p->total)
			     : 0;
}

static int on_item(void *arg, const struct rs_walk_item *item)
{
	struct load *l = arg;

	switch (item->kind) {
	case 'I':
		return on_inode(l, item);
	case 'E':
		return on_entry(l, item);
	case 'L':
	case 'X':
		return on_part(l, item);
	default:
		return 0;
	}
}

static int load(struct load *l, struct rs_walk *w)
{
	static const char kinds[] = { 'I', 'E', 'L', 'X' };
	size_t i;
	int err;

	for (i = 0; i < RS_ARRAY_LEN(kinds); i++) {
		err = rs_walk_kind(w, kinds[i]);
		if (err != 0)
			return err;
	}
	if (rs_parts_end(&l->parts) < 0)
		torn(l, l->parts.ino);
	return l->bad || w->bad ? -EUCLEAN : 0;
}

int rs_store_load(struct rs_store *store, const struct rs_load_ops *ops,
		  void *arg, struct rs_report *rep)
{
	RS_AUTO_FREE struct load *l = rs_store_alloc(sizeof(*l));
	RS_AUTO_FREE struct rs_walk *w = rs_store_alloc(sizeof(*w));
	int err;

	if (!l || !w)
		return -ENOMEM;
	l->ops = ops;
	l->arg = arg;
	l->rep = rep;
	w->crypto = store->crypto;
	w->opener = store->opener;
	w->rep = rep;
	w->fn = on_item;
	w->arg = l;
	err = rs_kv_begin(store->kv, 0, &w->txn);
	if (err < 0)
		return err;
	err = load(l, w);
	rs_kv_abort(w->txn);
	return err;
}
