/* store_dump.c - every record in key order, for rspoolctl dump. */
#include "journal/store_p.h"

#include <errno.h>

struct dump {
	const struct rs_dump_ops *ops;
	void *arg;
};

static int on_item(void *arg, const struct rs_walk_item *item)
{
	const struct dump *d = arg;
	uint64_t number = item->number;
	const uint8_t *name = NULL;
	struct rs_ventry entry;
	struct rs_vpart part;
	size_t name_len = 0;

	if (item->kind == 'E' &&
	    rs_ventry_decode(item->body, item->len, &entry) == 0) {
		name = entry.name;
		name_len = entry.name_len;
		number = entry.child;
	} else if (item->kind == 'X' && number == 0 &&
		   rs_vpart_decode(item->body, item->len, &part) == 0) {
		name = part.data;
		name_len = part.len;
	}
	return d->ops->record(d->arg, item->kind, item->ino,
			      rs_value_frame(item->body, item->len), name,
			      name_len, number, item->len);
}

/* The root record decodes as nothing that a walk knows: by itself. */
static int dump_root(struct rs_walk *w, struct dump *d)
{
	struct rs_root root;
	int err;

	err = rs_walk_root(w->opener, w->txn, &root);
	if (err < 0)
		return err;
	return d->ops->record(d->arg, 'R', 0, root.applied, NULL, 0, 0,
			      RS_VALUE_MAX - RS_TRAILER_LEN);
}

int rs_store_dump(struct rs_store *store, const struct rs_dump_ops *ops,
		  void *arg)
{
	static const char kinds[] = { 'D', 'E', 'I', 'L', 'R', 'X', 'Z' };
	RS_AUTO_FREE struct rs_walk *w = rs_store_alloc(sizeof(*w));
	struct dump d = { .ops = ops, .arg = arg };
	size_t i;
	int err;

	if (!w)
		return -ENOMEM;
	w->crypto = store->crypto;
	w->opener = store->opener;
	w->fn = on_item;
	w->arg = &d;
	err = rs_kv_begin(store->kv, 0, &w->txn);
	if (err < 0)
		return err;
	for (i = 0; err == 0 && i < RS_ARRAY_LEN(kinds); i++)
		err = kinds[i] == 'R' ? dump_root(w, &d)
				      : rs_walk_kind(w, kinds[i]);
	rs_kv_abort(w->txn);
	return err == 0 && w->bad ? -EUCLEAN : err;
}
