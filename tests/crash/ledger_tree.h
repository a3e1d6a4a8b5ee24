/*
 * ledger_tree.h - a real tree, walked once: every name with its stat.
 */
#ifndef LEDGER_TREE_H
#define LEDGER_TREE_H

#include "ledger.h"

struct led_ent {
	uint64_t parent; /* inode number of the directory */
	char *path;	 /* from the root, no slash in front */
	const char *name;
	struct led_stat st;
	uint32_t owner; /* the checker's: object that it belongs to */
};

struct led_tree {
	char *root;
	struct led_stat root_st;
	struct led_ent *ents; /* by parent, name */
	size_t count, cap;
};

/* 0 or -errno, with a line on stderr that names the path. */
int led_tree_walk(const char *root, struct led_tree *ret_tree);
void led_tree_release(struct led_tree *tree);
struct led_ent *led_tree_find(const struct led_tree *tree, uint64_t parent,
			      const char *name);
/* All bytes of a file, or the target of a symlink; the caller frees. -errno. */
int led_tree_read(const struct led_tree *tree, const struct led_ent *ent,
		  unsigned char **ret_buf, size_t *ret_len);

#endif
