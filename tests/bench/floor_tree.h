/*
 * floor_tree.h - the tree of floor: inodes and names in RAM, nothing more.
 *
 * LOCKS: none here; floor.c holds one over each call.
 */
#ifndef RS_FLOOR_TREE_H
#define RS_FLOOR_TREE_H

#include <stdint.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <sys/types.h>

struct rs_floor_name;

struct rs_floor_node {
	struct stat st;
	char *data;
	size_t room;	  /* bytes at data */
	uint64_t nlookup; /* what the kernel holds */
	struct rs_floor_node *parent;
	TAILQ_HEAD(, rs_floor_name) names; /* of a directory, by cookie */
};

struct rs_floor_name {
	struct rs_floor_node *dir, *node;
	LIST_ENTRY(rs_floor_name) hash;
	TAILQ_ENTRY(rs_floor_name) list;
	uint64_t cookie;
	char text[];
};

/* 0 or -ENOMEM; once, before anything else. */
int rs_floor_init(void);
struct rs_floor_node *rs_floor_root(void);

struct rs_floor_name *rs_floor_find(const struct rs_floor_node *dir,
				    const char *text);

/* A new inode with a name; NULL: no memory. */
struct rs_floor_node *rs_floor_make(struct rs_floor_node *dir, const char *text,
				    mode_t mode, uid_t uid, gid_t gid);

/* Removes the name, and the inode with its last name and lookup. */
void rs_floor_remove(struct rs_floor_name *name);

/* 0, -ENOMEM, -ENOENT, -ENOTEMPTY. */
int rs_floor_move(struct rs_floor_node *from, const char *old,
		  struct rs_floor_node *to, const char *text);

void rs_floor_forget(struct rs_floor_node *node, uint64_t n);

/* 0 or -ENOMEM; new bytes are 0. */
int rs_floor_resize(struct rs_floor_node *node, uint64_t size);

#endif
