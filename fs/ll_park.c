/*
 * ll_park.c - requests that can't be done now.
 *
 * PURPOSE  A WRITE that finds no room in the ring or in RAM, or data that
 * is in the store only, must not keep a worker. It is copied here and tried
 * again.
 *
 * MODEL
 *	worker -> rs_ll_submit -> try --- done, replied
 *	                           |  \-- RS_EPARK       -> room (first come
 *	                           |                        first served)
 *	                           \----- RS_EPARK_COLD  -> cold
 *	parker thread: retries the head of room when space() was told, and
 *	  each RETRY_MS, because RAM comes back without anybody telling; at
 *	  once, if it only stood behind another one
 *	reader threads: rs_core_load() for cold ones, then try again
 *
 * INVARIANTS
 * I1 A call is in exactly one place: a worker's hands, a queue, or the hands
 *    of one of our threads; whoever has it replies.
 * I2 New writes queue behind those that wait, so that a stream of small ones
 *    can't starve a large one. What may free room (truncate) tries first.
 * I3 Nobody waits for ever: ENOSPC `stall` seconds after room was short
 *    first (DESIGN G10), but not while data is being read or was.
 * I4 What waits is bounded in bytes; beyond it ENOSPC comes at once.
 * I5 Real shortage (RS_LL_EPARK_FORGET) waits for FORGETs on their way, for
 *    RS_LL_GRACE_MS and in the same queue; then the try itself says ENOSPC.
 * I6 Room is awaited only for a call that was refused: writers that get in
 *    line behind each other would else have one write each per event.
 *
 * LOCKS  park->lock covers the queues, nothing is called under it.
 * NOT HERE  the kernel's INTERRUPT is ignored: a signal must not leave a
 * WRITE half done (case B26).
 */
#include "fs/ll_p.h"

#include <errno.h>

#define RETRY_MS 100u
/* Bytes of copied WRITEs: 64 writers with a full request each. */
#define PARK_BYTES_MAX (UINT64_C(64) << 20)

static void push_tail(struct rs_ll_queue *queue, struct rs_ll_call *call)
{
	call->next = NULL;
	*queue->tail = call;
	queue->tail = &call->next;
	queue->n++;
	queue->bytes += call->data ? call->len : 0;
}

static void push_head(struct rs_ll_queue *queue, struct rs_ll_call *call)
{
	call->next = queue->head;
	queue->head = call;
	if (!call->next)
		queue->tail = &call->next;
	queue->n++;
	queue->bytes += call->data ? call->len : 0;
}

static struct rs_ll_call *pop(struct rs_ll_queue *queue)
{
	struct rs_ll_call *call = queue->head;

	if (!call)
		return NULL;
	queue->head = call->next;
	if (!queue->head)
		queue->tail = &queue->head;
	queue->n--;
	queue->bytes -= call->data ? call->len : 0;
	return call;
}

static void free_call(struct rs_ll_call *call)
{
	void *data;

	memcpy(&data, &call->data, sizeof(data));
	free(data);
	free(call);
}

/* A copy that outlives the request buffer; NULL without memory. */
static struct rs_ll_call *copy_call(const struct rs_ll_call *call)
{
	struct rs_ll_call *copy = malloc(sizeof(*copy));
	void *data;

	if (!copy)
		return NULL;
	*copy = *call;
	if (!call->data)
		return copy;
	data = malloc(call->len ? call->len : 1);
	if (!data) {
		free(copy);
		return NULL;
	}
	memcpy(data, call->data, call->len);
	copy->data = data;
	return copy;
}

static int brings_data(const struct rs_ll_call *call)
{
	return call->kind == RS_LL_WRITE || call->kind == RS_LL_SETATTR ||
	       call->kind == RS_LL_FALLOCATE;
}

/* What somebody gets who waited in vain. */
static int late_err(const struct rs_ll_call *call)
{
	return brings_data(call) ? -ENOSPC : -ENOMEM;
}

/*
 * The grace runs from the first moment in the queue, or of many that wait
 * behind each other the last would have all of them.
 */
static void start_clocks(const struct rs_ll_park *park, struct rs_ll_call *call,
			 int err)
{
	uint64_t now = rs_ll_now_ms();

	if (err == RS_EPARK && !call->deadline)
		call->deadline = now + park->stall;
	if (!call->grace)
		call->grace = now + RS_LL_GRACE_MS;
}

/*
 * Queue call for err; 0 if that is not possible. Lock held. Its time begins
 * when room is short first: a slow disk is no lack of room.
 */
static int enqueue(struct rs_ll_park *park, struct rs_ll_call *call, int err)
{
	if (park->stop)
		return 0;
	if (err == RS_EPARK_COLD) {
		push_tail(&park->cold, call);
		pthread_cond_signal(&park->work);
		return 1;
	}
	start_clocks(park, call, err);
	push_tail(&park->room, call);
	atomic_store(&park->starving, 1);
	pthread_cond_signal(&park->wake);
	return 1;
}

/* Is there a point in trying again? The try itself minds the grace. */
static int in_time(const struct rs_ll_call *call, int err)
{
	if (err == RS_LL_EPARK_FORGET)
		return 1;
	return err == RS_EPARK &&
	       (!call->deadline || rs_ll_now_ms() < call->deadline);
}

/* A shortage is told once, until nobody waits any more. Lock held. */
static int tell_once(struct rs_ll_park *park)
{
	int first = !park->told;

	park->told = 1;
	return first;
}

static void give_up(struct rs_ll *ll, struct rs_ll_call *call)
{
	struct rs_ll_park *park = &ll->park;
	int first;

	pthread_mutex_lock(&park->lock);
	park->stalled++;
	first = tell_once(park);
	pthread_mutex_unlock(&park->lock);
	rs_ll_reply_err(call->req, late_err(call));
	if (first)
		rs_ll_tell(ll, RS_LL_PARK_FULL, "no room came back in time");
}

static void park_call(struct rs_ll *ll, const struct rs_ll_call *call, int err)
{
	struct rs_ll_park *park = &ll->park;
	struct rs_ll_call *copy = copy_call(call);
	uint64_t held;
	int queued = 0;

	if (!copy) {
		rs_ll_reply_err(call->req, -ENOMEM);
		return;
	}
	pthread_mutex_lock(&park->lock);
	held = park->room.bytes + park->cold.bytes;
	if (held + (copy->data ? copy->len : 0) <= PARK_BYTES_MAX)
		queued = enqueue(park, copy, err);
	pthread_mutex_unlock(&park->lock);
	if (queued)
		return;
	give_up(ll, copy);
	free_call(copy);
}

static int somebody_waits(struct rs_ll_park *park)
{
	int waits;

	pthread_mutex_lock(&park->lock);
	waits = park->room.head || park->trying;
	pthread_mutex_unlock(&park->lock);
	return waits;
}

void rs_ll_submit(struct rs_ll *ll, struct rs_ll_call *call)
{
	int err;

	/* I2; reads and truncates do not wait behind writers */
	call->refused = 0;
	if (call->kind == RS_LL_WRITE && somebody_waits(&ll->park)) {
		park_call(ll, call, RS_EPARK);
		return;
	}
	err = rs_ll_try(ll, call);
	call->refused = 1;
	if (err)
		park_call(ll, call, err);
}

/*
 * Try the head of room; 1: gone from there, 0: still no room for it. Lock
 * held, but not while it is tried.
 */
static int retry_head(struct rs_ll *ll)
{
	struct rs_ll_park *park = &ll->park;
	struct rs_ll_call *call = pop(&park->room);
	int err, queued = 0;

	if (!call)
		return 0;
	park->trying = 1;
	pthread_mutex_unlock(&park->lock);
	err = rs_ll_try(ll, call);
	pthread_mutex_lock(&park->lock);
	park->trying = 0;
	if (in_time(call, err)) {
		start_clocks(park, call, err);
		call->refused = 1;
		push_head(&park->room, call);
		return 0;
	}
	if (err == RS_EPARK_COLD)
		queued = enqueue(park, call, err);
	if (queued)
		return 1;
	pthread_mutex_unlock(&park->lock);
	if (err)
		give_up(ll, call);
	free_call(call);
	pthread_mutex_lock(&park->lock);
	return 1;
}

/* Until space() was told or RETRY_MS are over. Lock held. */
static void wait_space(struct rs_ll_park *park)
{
	struct timespec ts;
	int err = 0;

	park->waits++;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	ts.tv_nsec += (long)RETRY_MS * 1000000;
	ts.tv_sec += ts.tv_nsec / 1000000000;
	ts.tv_nsec %= 1000000000;
	while (!park->space && !park->stop && !err)
		err = pthread_cond_timedwait(&park->wake, &park->lock, &ts);
	park->space = 0;
}

static void *parker(void *arg)
{
	struct rs_ll *ll = arg;
	struct rs_ll_park *park = &ll->park;
	uint64_t n;

	pthread_setname_np(pthread_self(), "rs-parker");
	pthread_mutex_lock(&park->lock);
	while (!park->stop) {
		if (!park->room.head) {
			park->told = 0;
			atomic_store(&park->starving, 0);
			pthread_cond_wait(&park->wake, &park->lock);
			continue;
		}
		if (park->room.head->refused)
			wait_space(park);
		/* once round: what comes back from a reader waits again */
		n = park->room.n;
		while (n-- > 0 && !park->stop && retry_head(ll))
			;
	}
	pthread_mutex_unlock(&park->lock);
	return NULL;
}

/* Fetch the data that call found missing. */
static int load(struct rs_ll *ll, const struct rs_ll_call *call)
{
	struct rs_core *core = ll->core;

	switch (call->kind) {
	case RS_LL_SETATTR:
		return rs_core_load_edges(core, call->ino, call->attr.size,
					  UINT64_MAX);
	case RS_LL_FALLOCATE:
		return rs_core_load_edges(core, call->ino, call->off,
					  call->len);
	case RS_LL_LSEEK:
		return rs_core_load_edges(core, call->ino, call->off,
					  UINT64_MAX);
	default:
		return rs_core_load(core, call->ino, call->off, call->len);
	}
}

static void serve_cold(struct rs_ll *ll, struct rs_ll_call *call)
{
	struct rs_ll_park *park = &ll->park;
	int queued = 0, err;

	err = load(ll, call);
	if (!err) {
		call->deadline = 0;
		err = rs_ll_try(ll, call);
	} else if (err != RS_EPARK && err != RS_EPARK_COLD) {
		rs_ll_reply_err(call->req, err);
		err = 0;
	}
	if (!err) {
		free_call(call);
		return;
	}
	/* no RAM now, or it was dropped again before we came */
	call->refused = 1;
	if (err == RS_EPARK_COLD || in_time(call, err)) {
		pthread_mutex_lock(&park->lock);
		queued = enqueue(park, call, err);
		pthread_mutex_unlock(&park->lock);
	}
	if (queued)
		return;
	give_up(ll, call);
	free_call(call);
}

static void *reader(void *arg)
{
	struct rs_ll *ll = arg;
	struct rs_ll_park *park = &ll->park;
	struct rs_ll_call *call;

	pthread_setname_np(pthread_self(), "rs-reader");
	pthread_mutex_lock(&park->lock);
	while (!park->stop) {
		call = pop(&park->cold);
		if (!call) {
			pthread_cond_wait(&park->work, &park->lock);
			continue;
		}
		pthread_mutex_unlock(&park->lock);
		serve_cold(ll, call);
		pthread_mutex_lock(&park->lock);
	}
	pthread_mutex_unlock(&park->lock);
	return NULL;
}

void rs_ll_park_init(struct rs_ll_park *park)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&park->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&park->wake, &attr);
	pthread_cond_init(&park->work, &attr);
	pthread_condattr_destroy(&attr);
	park->room.tail = &park->room.head;
	park->cold.tail = &park->cold.head;
}

static int start_threads(struct rs_ll *ll, struct rs_ll_park *park)
{
	unsigned int i;
	int err;

	for (i = 0; i < RS_ARRAY_LEN(park->thread); i++) {
		err = pthread_create(&park->thread[i], NULL,
				     i == 0 ? parker : reader, ll);
		if (err)
			return -err;
		park->threads++;
	}
	return 0;
}

int rs_ll_park_start(struct rs_ll *ll)
{
	struct rs_ll_park *park = &ll->park;

	park->stall = (uint64_t)ll->cfg.stall * 1000;
	return start_threads(ll, park);
}

static void drain(struct rs_ll_queue *queue)
{
	struct rs_ll_call *call;

	while ((call = pop(queue))) {
		rs_ll_reply_err(call->req, -EIO);
		free_call(call);
	}
}

void rs_ll_park_stop(struct rs_ll *ll)
{
	struct rs_ll_park *park = &ll->park;

	pthread_mutex_lock(&park->lock);
	park->stop = 1;
	pthread_cond_broadcast(&park->wake);
	pthread_cond_broadcast(&park->work);
	pthread_mutex_unlock(&park->lock);
	while (park->threads > 0)
		pthread_join(park->thread[--park->threads], NULL);
	drain(&park->room);
	drain(&park->cold);
}

void rs_ll_park_release(struct rs_ll_park *park)
{
	pthread_cond_destroy(&park->wake);
	pthread_cond_destroy(&park->work);
	pthread_mutex_destroy(&park->lock);
}

void rs_ll_park_forgot(struct rs_ll *ll)
{
	if (atomic_load(&ll->park.starving))
		rs_ll_space(ll);
}

void rs_ll_space(struct rs_ll *ll)
{
	struct rs_ll_park *park = &ll->park;

	pthread_mutex_lock(&park->lock);
	park->space = 1;
	if (park->room.head)
		pthread_cond_signal(&park->wake);
	pthread_mutex_unlock(&park->lock);
}

void rs_ll_status(struct rs_ll *ll, struct rs_ll_status *ret)
{
	struct rs_ll_park *park = &ll->park;

	pthread_mutex_lock(&park->lock);
	ret->parked = park->room.n + park->cold.n;
	ret->parked_bytes = park->room.bytes + park->cold.bytes;
	ret->stalled = park->stalled;
	ret->waits = park->waits;
	pthread_mutex_unlock(&park->lock);
	ret->readonly = atomic_load(&ll->ro.done);
}
