/*
 * rot_store.h - a small store with a known history, to be damaged.
 */
#ifndef ROT_STORE_H
#define ROT_STORE_H

#include "../crash/play.h"

enum rot_file {
	ROT_RING,
	ROT_STORE,
	ROT_FILES
};

enum rot_end {
	ROT_CLEAN,   /* all folded, clean seal */
	ROT_SEALED,  /* frames in the ring, then a seal */
	ROT_CRASHED, /* frames in the ring, the last one not sealed */
};

struct rot_store {
	const char *name;
	char dir[64];  /* as it was made */
	char work[64]; /* the copy that is damaged */
	int sealed;
	struct play play; /* snaps: the tree after each step */
	uint8_t *good[ROT_FILES];
	uint8_t *early[ROT_FILES]; /* the same files half way */
	uint64_t len[ROT_FILES];
	uint64_t used[ROT_FILES]; /* bytes up to the last page ever written */
	uint8_t *blank;		  /* the ring as init wrote it */
	/* contents that files had: inode number, size, bytes */
	struct rot_content {
		uint64_t ino, size;
		uint8_t *data;
	} * contents;
	size_t n_contents;
};

struct rot_store *rot_make(const char *name, enum rot_end end);
void rot_free(struct rot_store *store);

/* Is this byte part of something that was written after init? */
int rot_is_used(const struct rot_store *store, enum rot_file file,
		uint64_t off);
void rot_put(struct rot_store *store, enum rot_file file, uint64_t off,
	     uint8_t byte);
void rot_cut(struct rot_store *store, enum rot_file file, uint64_t len);
void rot_copy_page(struct rot_store *store, enum rot_file file, uint64_t from,
		   uint64_t to);
void rot_replace(struct rot_store *store, enum rot_file file,
		 const uint8_t *bytes);
/* Put the file back as it was made. */
void rot_restore(struct rot_store *store, enum rot_file file);

/* Did a line of this text, data aside if it could not be read, exist? */
int rot_line_existed(const struct rot_store *store,
		     const struct snap_line *line);
/* Is there a file whose bytes are not served? */
int rot_has_eio(const struct snap *snap);
/* Run the salvage reader over work: all that it hands out must have been. */
int rot_salvage_is_right(struct rot_store *store);

#endif
