/*
 * value_key.c - the store's keys: a kind letter and big-endian numbers, so
 * that LMDB's byte order is the order by inode, then by chunk or part.
 * Names are there as keyed hashes only: mail never shows in a key.
 */
#include "journal/value.h"

#include <errno.h>

static void put_be16(uint8_t *p, unsigned int v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static void start(struct rs_key *key, char kind, uint64_t ino)
{
	key->buf[0] = (uint8_t)kind;
	rs_putbe64(key->buf + 1, ino);
	key->len = 9;
}

void rs_key_root(struct rs_key *key)
{
	key->buf[0] = 'R';
	key->len = 1;
}

void rs_key_ino(struct rs_key *key, char kind, uint64_t ino)
{
	start(key, kind, ino);
}

void rs_key_entry(struct rs_key *key, uint64_t parent, const uint8_t hash[16])
{
	start(key, 'E', parent);
	memcpy(key->buf + 9, hash, 16);
	key->len = 25;
}

void rs_key_link(struct rs_key *key, uint64_t ino, unsigned int part)
{
	start(key, 'L', ino);
	put_be16(key->buf + 9, part);
	key->len = 11;
}

void rs_key_xattr(struct rs_key *key, uint64_t ino, const uint8_t hash[16],
		  unsigned int part)
{
	start(key, 'X', ino);
	memcpy(key->buf + 9, hash, 16);
	put_be16(key->buf + 25, part);
	key->len = 27;
}

void rs_key_chunk(struct rs_key *key, uint64_t ino, uint64_t chunk)
{
	start(key, 'D', ino);
	rs_putbe64(key->buf + 9, chunk);
	key->len = 17;
}

/* Length of a key of this kind; 0: no such kind. */
static size_t kind_len(uint8_t kind)
{
	switch (kind) {
	case 'R':
		return 1;
	case 'I':
	case 'Z':
		return 9;
	case 'L':
		return 11;
	case 'D':
		return 17;
	case 'E':
		return 25;
	case 'X':
		return 27;
	default:
		return 0;
	}
}

int rs_key_parse(const uint8_t *key, size_t len, char *ret_kind,
		 uint64_t *ret_ino, uint64_t *ret_number)
{
	if (len == 0 || kind_len(key[0]) != len)
		return -EUCLEAN;
	*ret_kind = (char)key[0];
	*ret_ino = len > 1 ? rs_getbe64(key + 1) : 0;
	if (len == 17)
		*ret_number = rs_getbe64(key + 9);
	else if (len == 11 || len == 27)
		*ret_number = (uint64_t)key[len - 2] << 8 | key[len - 1];
	else
		*ret_number = 0;
	return 0;
}
