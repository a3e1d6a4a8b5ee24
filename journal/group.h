/*
 * group.h - the open group and the one in flight: records in the order in
 * which they were applied, in two shared-memory segments, as they will stand
 * in a frame.
 *
 * A segment (memfd), position-independent, so that a successor of a dead
 * daemon can take it over:
 *
 *   0   8  magic "RSPGROUP"
 *   8   4  format version of the records
 *  12   4  state (enum rs_group_state)
 *  16  16  store id
 *  32   8  number
 *  40   8  bytes of records of whole operations
 *  48      zeros
 * 4096     frame: room for its header, records, tag, padding
 *
 * No locks here: the journal's group lock covers all of it, except that the
 * image of a cut group belongs to who cut it until rs_group_done().
 */
#ifndef RS_GROUP_H
#define RS_GROUP_H

#include "journal/journal.h"

enum rs_group_state {
	RS_GROUP_EMPTY = 0,
	RS_GROUP_OPEN = 1,
	RS_GROUP_FLIGHT = 2,
};

/*
 * Chunks of data that a frame may change. A fold takes a frame whole, and a
 * byte in each of 150,000 chunks, which fits into 8 MiB of records, would
 * make it a transaction of 600 MB (C5). 4096 chunks are 16 MiB; a frame full
 * of whole chunks has half as many.
 */
#define RS_GROUP_CHUNKS 4096u

/* Set in a record in memory only, never on disk: rs_journal_elide(). */
#define RS_RF_ELIDE 0x8000u

struct rs_segment {
	int fd;
	uint8_t *map;
};

struct rs_group {
	struct rs_segment seg[2];
	size_t map_len;
	unsigned int cur; /* index of the open one */
	size_t cap;	  /* bytes of records that a frame may have */
	size_t fill;	  /* bytes of records */
	size_t ended;	  /* those of whole operations */
	size_t dropped;	  /* records that the cut will leave out, about */
	size_t chunks;	  /* that it changes, or a few more */
	uint64_t number;
	uint64_t seen[RS_GROUP_CHUNKS]; /* which were counted lately */
};

/* What a cut took out of the group. */
struct rs_group_cut {
	uint8_t *image; /* page-aligned; records at RS_FRAME_HEADER */
	size_t fill;
	size_t dropped;
	uint64_t number;
	unsigned int seg;
};

/* Errors: -ENOMEM, -EMFILE, ... with nothing left. */
RS_MUST_USE int rs_group_init(struct rs_group *g, const uint8_t id[RS_ID_LEN],
			      size_t cap);
void rs_group_release(struct rs_group *g);

/* As the functions of the same names in journal.h. */
void rs_group_put(struct rs_group *g, const struct rs_rec *rec,
		  struct rs_mark *mark);
void rs_group_replace(struct rs_group *g, const struct rs_rec *rec,
		      struct rs_mark *mark);
void rs_group_void(struct rs_group *g, struct rs_mark *mark);
void rs_group_elide(struct rs_group *g, uint64_t ino);
/* An operation is whole: what was put since the last call counts. */
void rs_group_end(struct rs_group *g);

/* Take the open group; the other segment becomes the open one, number+1. */
void rs_group_cut(struct rs_group *g, struct rs_group_cut *ret_cut);
/* The cut group is on disk, or never will be. */
void rs_group_done(struct rs_group *g, const struct rs_group_cut *cut);

/*
 * Leave out what was taken back and all records about elided inodes; the
 * rest moves together. Returns the bytes that remain. Without memory for
 * the set of elided inodes their records stay and an INODE_DEL ends each.
 */
size_t rs_group_compact(const struct rs_group_cut *cut);

#endif
