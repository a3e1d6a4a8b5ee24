/*
 * caller.c - a bounded table of threads and the directories they changed.
 *
 * MODEL  open addressing over a fixed array; a key may stand in any of the
 * WINDOW slots from its hash on, so a look-up always reads these and there
 * is no chain that a removed entry could break. An entry dies by itself when
 * its number is durable and its time is over; when there is no other slot,
 * being durable is enough.
 *
 * `lost` is the highest number that found no slot: up to there the table
 * can't say what a thread has not changed.
 *
 * Numbers of threads are used again, but not within RS_CALLER_LINGER: the
 * kernel goes through all others first. While it isn't durable an entry may
 * be older; then it makes somebody wait longer, never less.
 */
#include "fs/caller.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>

#define WINDOW 8u

struct slot {
	uint64_t dir, number;
	uint64_t until; /* ms; 0: was never used */
	int32_t tid;
};

struct rs_caller {
	pthread_mutex_t lock; /* all below */
	struct slot *slots;
	size_t mask;
	uint64_t lost;
};

int rs_caller_new(size_t slots, struct rs_caller **ret_caller)
{
	struct rs_caller *caller = calloc(1, sizeof(*caller));

	assert(slots >= WINDOW && !(slots & (slots - 1)));
	if (!caller)
		return -ENOMEM;
	caller->slots = calloc(slots, sizeof(*caller->slots));
	if (!caller->slots) {
		free(caller);
		return -ENOMEM;
	}
	caller->mask = slots - 1;
	pthread_mutex_init(&caller->lock, NULL);
	*ret_caller = caller;
	return 0;
}

void rs_caller_free(struct rs_caller *caller)
{
	if (!caller)
		return;
	pthread_mutex_destroy(&caller->lock);
	free(caller->slots);
	free(caller);
}

static struct slot *slot_at(struct rs_caller *caller, uint64_t dir, int32_t tid,
			    size_t i)
{
	/* thread ids lie close together, directories do not matter much */
	uint64_t hash =
		(dir * UINT64_C(0x9e3779b97f4a7c15)) ^
		((uint64_t)(uint32_t)tid * UINT64_C(0xff51afd7ed558ccd));

	hash ^= hash >> 32;
	return &caller->slots[(hash + i) & caller->mask];
}

static struct slot *find(struct rs_caller *caller, uint64_t dir, int32_t tid)
{
	struct slot *slot;
	size_t i;

	for (i = 0; i < WINDOW; i++) {
		slot = slot_at(caller, dir, tid, i);
		if (slot->until && slot->dir == dir && slot->tid == tid)
			return slot;
	}
	return NULL;
}

static struct slot *find_free(struct rs_caller *caller, uint64_t dir,
			      int32_t tid, const struct rs_caller_now *now)
{
	struct slot *slot, *spare = NULL;
	size_t i;

	for (i = 0; i < WINDOW; i++) {
		slot = slot_at(caller, dir, tid, i);
		if (slot->number > now->durable)
			continue;
		if (slot->until <= now->ms)
			return slot;
		spare = slot;
	}
	return spare;
}

void rs_caller_note(struct rs_caller *caller, uint64_t dir, int32_t tid,
		    uint64_t number, const struct rs_caller_now *now)
{
	struct slot *slot;

	pthread_mutex_lock(&caller->lock);
	slot = find(caller, dir, tid);
	if (slot && slot->number > number)
		number = slot->number;
	if (!slot)
		slot = find_free(caller, dir, tid, now);
	if (slot)
		*slot = (struct slot){ dir, number, now->ms + RS_CALLER_LINGER,
				       tid };
	else if (caller->lost < number)
		caller->lost = number;
	pthread_mutex_unlock(&caller->lock);
}

enum rs_caller_answer rs_caller_ask(struct rs_caller *caller, uint64_t dir,
				    int32_t tid,
				    const struct rs_caller_now *now,
				    uint64_t *ret_number)
{
	enum rs_caller_answer answer = RS_CALLER_NONE;
	struct slot *slot;

	pthread_mutex_lock(&caller->lock);
	slot = find(caller, dir, tid);
	if (caller->lost > now->durable) {
		answer = RS_CALLER_UNKNOWN;
	} else if (slot && slot->number > now->durable) {
		answer = RS_CALLER_OWN;
		*ret_number = slot->number;
	} else if (slot && slot->until > now->ms) {
		answer = RS_CALLER_RECENT;
	}
	pthread_mutex_unlock(&caller->lock);
	return answer;
}
