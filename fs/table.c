/*
 * table.c - hash tables and the hash of names.
 *
 * Names come from mail (queue ids, attachments), so their hash is keyed with
 * random bytes: nobody can choose names that fall into one bucket.
 */
#include "fs/table.h"

#include <errno.h>

#define FIRST_SIZE 256u
#define MOVE_STEP 4u /* old buckets emptied at each insertion or removal */

static size_t bucket(uint64_t key, size_t size)
{
	/* inode numbers are consecutive: spread them */
	key *= UINT64_C(0x9e3779b97f4a7c15);
	return (size_t)(key >> 32) & (size - 1);
}

int rs_table_init(struct rs_table *table, struct rs_mem *mem)
{
	memset(table, 0, sizeof(*table));
	table->now = calloc(FIRST_SIZE, sizeof(struct rs_hnode *));
	if (!table->now)
		return -ENOMEM;
	table->now_size = FIRST_SIZE;
	table->mem = mem;
	mem->extra += FIRST_SIZE * sizeof(struct rs_hnode *);
	return 0;
}

void rs_table_release(struct rs_table *table)
{
	free(table->now);
	free(table->old);
	memset(table, 0, sizeof(*table));
}

static void push(struct rs_hnode **slot, struct rs_hnode *node)
{
	node->next = *slot;
	*slot = node;
}

static void move_some(struct rs_table *table)
{
	struct rs_hnode *node, *next;
	unsigned int i;

	for (i = 0; i < MOVE_STEP && table->moved < table->old_size; i++) {
		node = table->old[table->moved];
		table->old[table->moved++] = NULL;
		for (; node; node = next) {
			next = node->next;
			push(&table->now[bucket(node->key, table->now_size)],
			     node);
		}
	}
	if (table->moved < table->old_size)
		return;
	free(table->old);
	table->mem->extra -= table->old_size * sizeof(struct rs_hnode *);
	table->old = NULL;
	table->old_size = 0;
}

static void resize(struct rs_table *table, size_t size)
{
	struct rs_hnode **now = calloc(size, sizeof(struct rs_hnode *));

	if (!now)
		return;
	table->mem->extra += size * sizeof(struct rs_hnode *);
	table->old = table->now;
	table->old_size = table->now_size;
	table->moved = 0;
	table->now = now;
	table->now_size = size;
}

static void settle(struct rs_table *table)
{
	if (table->frozen)
		return;
	if (table->old)
		move_some(table);
	else if (table->n > table->now_size)
		resize(table, table->now_size * 2);
	else if (table->now_size > FIRST_SIZE && table->n < table->now_size / 8)
		resize(table, table->now_size / 2);
}

/* Where nodes of this key are: never split over both arrays. */
static struct rs_hnode **home(const struct rs_table *table, uint64_t key)
{
	size_t at;

	if (table->old) {
		at = bucket(key, table->old_size);
		if (at >= table->moved)
			return &table->old[at];
	}
	return &table->now[bucket(key, table->now_size)];
}

void rs_table_insert(struct rs_table *table, struct rs_hnode *node)
{
	push(home(table, node->key), node);
	table->n++;
	settle(table);
}

void rs_table_remove(struct rs_table *table, struct rs_hnode *node)
{
	struct rs_hnode **slot = home(table, node->key);

	while (*slot != node)
		slot = &(*slot)->next;
	*slot = node->next;
	table->n--;
	settle(table);
}

static struct rs_hnode *scan(struct rs_hnode *node, uint64_t key)
{
	while (node && node->key != key)
		node = node->next;
	return node;
}

struct rs_hnode *rs_table_find(const struct rs_table *table, uint64_t key)
{
	return scan(*home(table, key), key);
}

struct rs_hnode *rs_table_next(const struct rs_hnode *node)
{
	return scan(node->next, node->key);
}

void rs_table_each(struct rs_table *table,
		   void (*fn)(void *arg, struct rs_hnode *node), void *arg)
{
	struct rs_hnode *node, *next;
	size_t i;

	while (table->old)
		move_some(table);
	table->frozen = 1;
	for (i = 0; i < table->now_size; i++) {
		for (node = table->now[i]; node; node = next) {
			next = node->next;
			fn(arg, node);
		}
	}
	table->frozen = 0;
}

struct sip {
	uint64_t v0, v1, v2, v3;
};

static uint64_t rotl(uint64_t x, unsigned int n)
{
	return x << n | x >> (64 - n);
}

static void sip_round(struct sip *s)
{
	s->v0 += s->v1;
	s->v1 = rotl(s->v1, 13) ^ s->v0;
	s->v0 = rotl(s->v0, 32);
	s->v2 += s->v3;
	s->v3 = rotl(s->v3, 16) ^ s->v2;
	s->v0 += s->v3;
	s->v3 = rotl(s->v3, 21) ^ s->v0;
	s->v2 += s->v1;
	s->v1 = rotl(s->v1, 17) ^ s->v2;
	s->v2 = rotl(s->v2, 32);
}

static void sip_word(struct sip *s, uint64_t word)
{
	s->v3 ^= word;
	sip_round(s);
	s->v0 ^= word;
}

uint64_t rs_name_hash(const uint64_t seed[2], uint64_t dir, const char *name,
		      size_t len)
{
	struct sip s = {
		seed[0] ^ UINT64_C(0x736f6d6570736575),
		seed[1] ^ UINT64_C(0x646f72616e646f6d),
		seed[0] ^ UINT64_C(0x6c7967656e657261),
		seed[1] ^ UINT64_C(0x7465646279746573),
	};
	uint64_t word;
	size_t at;

	sip_word(&s, dir);
	for (at = 0; at + 8 <= len; at += 8) {
		memcpy(&word, name + at, 8);
		sip_word(&s, word);
	}
	word = 0;
	memcpy(&word, name + at, len - at);
	sip_word(&s, word | (uint64_t)(len + 8) << 56);
	s.v2 ^= 0xff;
	sip_round(&s);
	sip_round(&s);
	sip_round(&s);
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}
