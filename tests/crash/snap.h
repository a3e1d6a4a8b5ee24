/*
 * snap.h - a whole tree as text, one line for each name, so that two trees
 * can be compared and a difference be read.
 *
 * With policies it is the tree that a crash leaves: names that are not logged
 * have no line. Which these are is worked out here from the policies of the
 * directories and from the snapshot before, not asked of the core.
 */
#ifndef SNAP_H
#define SNAP_H

#include <stdint.h>

#include "fs/core.h"

struct snap_line {
	uint64_t ino;
	uint64_t parent; /* inode number of the directory, 0 for the root */
	int is_dir;
	char *path;
	char *text;
};

struct snap {
	struct snap_line *lines;
	size_t n, cap;
	uint64_t hash;
};

/*
 * Take a snapshot; data is read whole. Aborts on any error but -EIO. prev:
 * the one before; NULL: the tree was loaded just now, all of it is logged.
 */
void snap_take(struct snap *snap, struct rs_core *core,
	       const struct snap *prev);
/* Has got all names of a, and no others than those of a and b? */
int snap_is_between(const struct snap *got, const struct snap *a,
		    const struct snap *b);
/* Paths that rules name, and so are logged wherever they are; up to NULL. */
extern const char *const *snap_named;
void snap_release(struct snap *snap);

/*
 * Hash of what fsync of ino promises: all lines of ino and, for a
 * directory, names and inode numbers in it. 0 if ino has no line.
 */
uint64_t snap_view(const struct snap *snap, uint64_t ino);

/* Print lines that only one of the two has. */
void snap_diff(const struct snap *a, const struct snap *b);

#endif
