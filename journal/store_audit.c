/*
 * store_audit.c - do entries and inodes belong to each other?
 *
 * After damage an entry may name an inode whose records are lost, and an
 * inode may have lost its entry. Both are walks in key order; the children's
 * numbers are held in memory, 8 bytes for each entry.
 */
#include "journal/store_p.h"

#include <errno.h>

struct audit {
	struct rs_walk w;
	struct rs_report *rep;
	uint64_t *child; /* of every entry; sorted before inodes are walked */
	size_t n, cap, at;
	uint64_t found;
};

static int has_inode(struct audit *a, uint64_t ino)
{
	uint8_t buf[RS_VALUE_MAX];
	struct rs_key key;
	size_t len;
	int err;

	rs_key_ino(&key, 'I', ino);
	err = rs_kv_get(a->w.txn, &key, buf, &len);
	return err == -ENOENT ? 0 : err < 0 ? err : 1;
}

static int remember(struct audit *a, uint64_t ino)
{
	uint64_t *more;
	size_t cap;

	if (a->n == a->cap) {
		cap = a->cap ? 2 * a->cap : 1024;
		more = realloc(a->child, cap * sizeof(*more));
		if (!more)
			return -ENOMEM;
		a->child = more;
		a->cap = cap;
	}
	a->child[a->n++] = ino;
	return 0;
}

static void complain(struct audit *a, enum rs_finding_kind kind, uint64_t ino,
		     const struct rs_ventry *v, const char *why)
{
	a->found++;
	rs_report_add(a->rep, kind, ino, v ? v->frame : 0, UINT64_MAX,
		      v ? v->name : NULL, v ? v->name_len : 0, "%s", why);
}

static int on_entry(void *arg, const struct rs_walk_item *item)
{
	struct audit *a = arg;
	struct rs_ventry v;
	int err;

	err = rs_ventry_decode(item->body, item->len, &v);
	if (err < 0)
		return err;
	err = remember(a, v.child);
	if (err < 0)
		return err;
	err = has_inode(a, v.child);
	if (err == 0)
		complain(a, RS_FIND_ENTRY, v.child, &v,
			 "the entry's inode is missing");
	if (err >= 0)
		err = has_inode(a, item->ino);
	if (err == 0)
		complain(a, RS_FIND_ENTRY, v.child, &v,
			 "the entry's directory is missing");
	return err < 0 ? err : 0;
}

/* Inodes come in the order of their numbers, and so do the children. */
static int on_inode(void *arg, const struct rs_walk_item *item)
{
	struct audit *a = arg;
	struct rs_vinode v;
	int err;

	err = rs_vinode_decode(item->body, item->len, &v);
	if (err < 0)
		return err;
	while (a->at < a->n && a->child[a->at] < item->ino)
		a->at++;
	if (a->at < a->n && a->child[a->at] == item->ino)
		return 0;
	if (item->ino != RS_INO_ROOT && !(v.attr.flags & RS_IF_STAGED))
		complain(a, RS_FIND_ORPHAN, item->ino, NULL,
			 "the inode has no entry");
	return 0;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return x < y ? -1 : x > y;
}

static int audit(struct audit *a)
{
	int err;

	a->w.fn = on_entry;
	err = rs_walk_kind(&a->w, 'E');
	if (err != 0)
		return err;
	if (a->n)
		qsort(a->child, a->n, sizeof(*a->child), by_number);
	a->w.fn = on_inode;
	err = rs_walk_kind(&a->w, 'I');
	if (err != 0)
		return err;
	return a->found || a->w.bad ? -EUCLEAN : 0;
}

int rs_store_audit(struct rs_store *store, struct rs_report *rep)
{
	RS_AUTO_FREE struct audit *a = rs_store_alloc(sizeof(*a));
	int err;

	if (!a)
		return -ENOMEM;
	a->rep = rep;
	a->w.crypto = store->crypto;
	a->w.opener = store->opener;
	a->w.rep = rep;
	a->w.arg = a;
	err = rs_kv_begin(store->kv, 0, &a->w.txn);
	if (err < 0)
		return err;
	err = audit(a);
	rs_kv_abort(a->w.txn);
	free(a->child);
	return err;
}
