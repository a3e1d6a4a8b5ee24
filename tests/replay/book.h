/*
 * book.h - a ledger read back: what is known of each message.
 */
#ifndef RS_REPLAY_BOOK_H
#define RS_REPLAY_BOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replay.h"

/* A line number is the place in the one order of the ledger; 0 is never. */
struct rs_item {
	char key[RS_REPLAY_KEY];
	uint64_t seed;
	unsigned int size;
	uint64_t ino; /* 0: not known to be created */
	size_t started, created, acked, removing, removed; /* lines */
	uint64_t mtime, retry; /* ns, 0: none was set */
	size_t proved;	       /* line of the last acked start of its run */
	unsigned int seen;     /* names found in the tree */
};

struct rs_book {
	struct rs_item *items; /* in the order in which they were started */
	size_t count, room;
	size_t *by_key; /* hash tables of places in items, plus 1 */
	size_t *by_ino;
	size_t slots;			/* of each table, a power of 2 */
	size_t reused;			/* inode numbers given twice */
	char reused_key[RS_REPLAY_KEY]; /* one message that got one */
};

/* 0, or -errno; -EUCLEAN: not a ledger. */
int rs_book_read(struct rs_book *book, const char *path);
void rs_book_release(struct rs_book *book);

/* NULL: unknown. Of several with one inode number the last is given. */
struct rs_item *rs_book_key(const struct rs_book *book, const char *key);
struct rs_item *rs_book_ino(const struct rs_book *book, uint64_t ino);

#endif
