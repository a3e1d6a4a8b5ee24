/*
 * worker.c - one process: cleanup(8) in its main thread, and the queue
 * manager beside it or by turns.
 *
 * LOCKS: box.lock guards all of struct box. The results are written by the
 * main thread alone, after the manager has ended.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "replay.h"

/* qmgr takes so many at most before cleanup has to wait for it */
#define RS_BOX_ROOM 16u

struct box {
	const struct rs_replay_opts *opts;
	int ledger;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct rs_message slots[RS_BOX_ROOM];
	unsigned int first, count;
	bool ended; /* nothing more comes */
	unsigned int removed;
	int error;
	const char *call;
};

/* false: nothing is left, or a call failed. */
static bool box_take(struct box *box, struct rs_message *ret_msg)
{
	bool got;

	pthread_mutex_lock(&box->lock);
	while (box->count == 0 && !box->ended)
		pthread_cond_wait(&box->changed, &box->lock);
	got = box->count > 0 && !box->error;
	if (got) {
		*ret_msg = box->slots[box->first];
		box->first = (box->first + 1) % RS_BOX_ROOM;
		box->count--;
		pthread_cond_signal(&box->changed);
	}
	pthread_mutex_unlock(&box->lock);
	return got;
}

/* 0, or the error that ended the manager. */
static int box_give(struct box *box, const struct rs_message *msg)
{
	int error;

	pthread_mutex_lock(&box->lock);
	while (box->count == RS_BOX_ROOM && !box->error)
		pthread_cond_wait(&box->changed, &box->lock);
	error = box->error;
	if (!error) {
		box->slots[(box->first + box->count) % RS_BOX_ROOM] = *msg;
		box->count++;
		pthread_cond_signal(&box->changed);
	}
	pthread_mutex_unlock(&box->lock);
	return error;
}

static void box_end(struct box *box)
{
	pthread_mutex_lock(&box->lock);
	box->ended = true;
	pthread_cond_signal(&box->changed);
	pthread_mutex_unlock(&box->lock);
}

static int manage(struct box *box, const struct rs_message *msg)
{
	const char *call = "";
	int ret = rs_manage(box->opts, box->ledger, msg, &call);

	pthread_mutex_lock(&box->lock);
	if (ret) {
		box->error = ret;
		box->call = call;
		pthread_cond_signal(&box->changed);
	} else if (!msg->kept) {
		box->removed++;
	}
	pthread_mutex_unlock(&box->lock);
	return ret;
}

static void *manager(void *arg)
{
	struct box *box = arg;
	struct rs_message msg;

	while (box_take(box, &msg) && !manage(box, &msg))
		;
	return NULL;
}

static unsigned int size_of(const struct rs_replay_opts *opts, uint64_t draw)
{
	unsigned int range = opts->size_high - opts->size_low + 1;

	if (!opts->mix)
		return opts->size_low + (unsigned int)(draw % range);
	draw %= 1110;
	if (draw < 1000)
		return 1u << 10;
	return draw < 1100 ? 25u << 10 : 500u << 10;
}

static void prepare(const struct rs_replay_opts *opts, unsigned int index,
		    unsigned int number, struct rs_message *msg)
{
	uint64_t draw =
		rs_mix(opts->seed ^ rs_mix((uint64_t)opts->run << 40 ^
					   (uint64_t)index << 32 ^ number));

	memset(msg, 0, sizeof(*msg));
	snprintf(msg->key, sizeof(msg->key), "%u-%u-%u", opts->run, index,
		 number);
	msg->seed = draw;
	msg->size = size_of(opts, rs_mix(draw));
	msg->kept = rs_mix(draw ^ 1) % 100 < opts->keep;
}

static int hand_over(struct box *box, const struct rs_message *msg)
{
	if (box->opts->inline_manager)
		return manage(box, msg);
	return box_give(box, msg);
}

static void deliver_all(struct box *box, unsigned int index,
			struct rs_worker_result *res)
{
	const struct rs_replay_opts *opts = box->opts;
	time_t end = time(NULL) + (time_t)opts->seconds;
	struct rs_message msg;
	const char *call = "";
	unsigned int number;
	uint32_t us;

	for (number = 0; number < res->room; number++) {
		if (opts->seconds > 0 && time(NULL) >= end)
			break;
		prepare(opts, index, number, &msg);
		res->error = rs_deliver(opts, box->ledger, &msg, &us, &call);
		if (res->error) {
			snprintf(res->call, sizeof(res->call), "%s", call);
			break;
		}
		res->fsync_us[res->acked++] = us;
		if (hand_over(box, &msg))
			break;
	}
}

void rs_worker_run(const struct rs_replay_opts *opts, int ledger,
		   unsigned int index, struct rs_worker_result *res)
{
	struct box box = { .opts = opts, .ledger = ledger, .call = "" };
	pthread_t thread;
	bool started = false;

	pthread_mutex_init(&box.lock, NULL);
	pthread_cond_init(&box.changed, NULL);
	if (!opts->inline_manager) {
		res->error = -pthread_create(&thread, NULL, manager, &box);
		if (res->error)
			return;
		started = true;
	}
	deliver_all(&box, index, res);
	box_end(&box);
	if (started)
		pthread_join(thread, NULL);
	res->removed = box.removed;
	if (!res->error && box.error) {
		res->error = box.error;
		snprintf(res->call, sizeof(res->call), "%s", box.call);
	}
	pthread_cond_destroy(&box.changed);
	pthread_mutex_destroy(&box.lock);
}
