/*
 * table.h - a hash table of nodes that are embedded in inodes and dentries.
 *
 * Grows a few buckets at each insertion, so that no single operation pays
 * for a table of a million. A table that can't get memory to grow goes on
 * with longer chains: inserting never fails.
 */
#ifndef RS_TABLE_H
#define RS_TABLE_H

#include "fs/mem.h"

struct rs_hnode {
	struct rs_hnode *next;
	uint64_t key;
};

struct rs_table {
	struct rs_hnode **now, **old; /* old: being emptied, or NULL */
	size_t now_size, old_size;    /* powers of two */
	size_t moved;		      /* buckets of old that are empty */
	size_t n;
	int frozen;	    /* being walked: no resizing */
	struct rs_mem *mem; /* for the account only */
};

/* -ENOMEM */
RS_MUST_USE int rs_table_init(struct rs_table *table, struct rs_mem *mem);
void rs_table_release(struct rs_table *table);
void rs_table_insert(struct rs_table *table, struct rs_hnode *node);
void rs_table_remove(struct rs_table *table, struct rs_hnode *node);
/* The first node with that key; further ones follow by rs_table_next(). */
struct rs_hnode *rs_table_find(const struct rs_table *table, uint64_t key);
struct rs_hnode *rs_table_next(const struct rs_hnode *node);
/* Every node; fn may remove the one that it is given, and no other. */
void rs_table_each(struct rs_table *table,
		   void (*fn)(void *arg, struct rs_hnode *node), void *arg);

/* A keyed hash (SipHash-1-3) of a directory's number and a name. */
uint64_t rs_name_hash(const uint64_t seed[2], uint64_t dir, const char *name,
		      size_t len);

#endif
