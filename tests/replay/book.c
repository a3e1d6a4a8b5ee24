/* book.c - read a ledger, see replay.h for its lines. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "book.h"
#include "include/rs_base.h"

static uint64_t hash_key(const char *key)
{
	uint64_t h = 0;

	for (; *key; key++)
		h = rs_mix(h ^ (unsigned char)*key);
	return h;
}

/* The slot of the key, or the free one where it belongs. */
static size_t *slot_of_key(const struct rs_book *book, const char *key)
{
	size_t at = hash_key(key) & (book->slots - 1);

	while (book->by_key[at] &&
	       strcmp(book->items[book->by_key[at] - 1].key, key) != 0)
		at = (at + 1) & (book->slots - 1);
	return &book->by_key[at];
}

static size_t *slot_of_ino(const struct rs_book *book, uint64_t ino)
{
	size_t at = rs_mix(ino) & (book->slots - 1);

	while (book->by_ino[at] && book->items[book->by_ino[at] - 1].ino != ino)
		at = (at + 1) & (book->slots - 1);
	return &book->by_ino[at];
}

struct rs_item *rs_book_key(const struct rs_book *book, const char *key)
{
	size_t at = *slot_of_key(book, key);

	return at ? &book->items[at - 1] : NULL;
}

struct rs_item *rs_book_ino(const struct rs_book *book, uint64_t ino)
{
	size_t at = *slot_of_ino(book, ino);

	return at ? &book->items[at - 1] : NULL;
}

static int add_start(struct rs_book *book, const char *key, const char *rest,
		     size_t line)
{
	struct rs_item *item = &book->items[book->count];
	size_t *slot = slot_of_key(book, key);

	if (*slot || book->count == book->room)
		return -EUCLEAN;
	snprintf(item->key, sizeof(item->key), "%s", key);
	if (sscanf(rest, "%u %" SCNu64, &item->size, &item->seed) != 2)
		return -EUCLEAN;
	item->started = line;
	*slot = ++book->count;
	return 0;
}

static int add_inode(struct rs_book *book, struct rs_item *item,
		     const char *rest, size_t line)
{
	size_t *slot;

	if (sscanf(rest, "%" SCNx64, &item->ino) != 1 || item->ino == 0)
		return -EUCLEAN;
	item->created = line;
	slot = slot_of_ino(book, item->ino);
	if (*slot) {
		book->reused++;
		memcpy(book->reused_key, item->key, sizeof(item->key));
	}
	*slot = (size_t)(item - book->items) + 1;
	return 0;
}

static int add_ack(struct rs_item *item, const char *rest, size_t line)
{
	if (sscanf(rest, "%" SCNu64, &item->mtime) != 1)
		return -EUCLEAN;
	item->acked = line;
	return 0;
}

static int add_fact(struct rs_book *book, char kind, struct rs_item *item,
		    const char *rest, size_t line)
{
	switch (kind) {
	case 'I':
		return add_inode(book, item, rest, line);
	case 'A':
		return add_ack(item, rest, line);
	case 'T':
		return sscanf(rest, "%" SCNu64, &item->retry) == 1 ? 0
								   : -EUCLEAN;
	case 'D':
		item->removing = line;
		return 0;
	case 'R':
		item->removed = line;
		return 0;
	default:
		return -EUCLEAN;
	}
}

static int add_line(struct rs_book *book, const char *text, size_t line)
{
	char key[RS_REPLAY_KEY];
	struct rs_item *item;
	int used = 0;
	char kind;

	if (sscanf(text, "%c %31s%n", &kind, key, &used) != 2)
		return -EUCLEAN;
	if (kind == 'S')
		return add_start(book, key, text + used, line);
	item = rs_book_key(book, key);
	return item ? add_fact(book, kind, item, text + used, line) : -EUCLEAN;
}

/* No line is shorter than 8 bytes, so the size bounds the items. */
static int make_room(struct rs_book *book, FILE *file)
{
	struct stat st;

	if (fstat(fileno(file), &st))
		return -errno;
	book->room = (size_t)st.st_size / 8 + 1;
	book->slots = 16;
	while (book->slots < 2 * book->room)
		book->slots *= 2;
	book->items = calloc(book->room, sizeof(*book->items));
	book->by_key = calloc(book->slots, sizeof(*book->by_key));
	book->by_ino = calloc(book->slots, sizeof(*book->by_ino));
	return book->items && book->by_key && book->by_ino ? 0 : -ENOMEM;
}

/* Runs follow each other, and with a crash between them: what the next run's
 * acks prove is the tree as that crash left it, nothing about this run. */
static void set_proved(struct rs_book *book)
{
	unsigned long run = 0, of;
	size_t i, proved = 0;

	for (i = book->count; i > 0; i--) {
		struct rs_item *item = &book->items[i - 1];

		of = strtoul(item->key, NULL, 10);
		if (i == book->count || of != run)
			proved = 0;
		run = of;
		if (!proved && item->acked)
			proved = item->started;
		item->proved = proved;
	}
}

int rs_book_read(struct rs_book *book, const char *path)
{
	FILE *file = fopen(path, "re");
	size_t line = 0;
	char text[256];
	int ret;

	memset(book, 0, sizeof(*book));
	if (!file)
		return -errno;
	ret = make_room(book, file);
	while (!ret && fgets(text, sizeof(text), file))
		ret = add_line(book, text, ++line);
	if (!ret && ferror(file))
		ret = -EIO;
	fclose(file);
	if (!ret)
		set_proved(book);
	if (ret)
		rs_book_release(book);
	return ret;
}

void rs_book_release(struct rs_book *book)
{
	free(book->items);
	free(book->by_key);
	free(book->by_ino);
	memset(book, 0, sizeof(*book));
}
