/*
 * arm.c - one request after the other, each at its time.
 *
 * MODEL	free_at is when the arm will have done all that it has taken.
 *	A job is due at max(now, free_at) + cost, so that late wake-ups of
 *	our thread don't add up: a queue of n writes takes n times the cost.
 *
 * LOCKS	lock is a leaf; done() is called without it and may take the
 *	disk's lock.
 */
#include "tests/disk/arm.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static struct timespec to_timespec(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / 1000000000u),
				  .tv_nsec = (long)(ns % 1000000000u) };
}

static void push(struct rs_darm_job ***tail, struct rs_darm_job *job)
{
	job->next = NULL;
	**tail = job;
	*tail = &job->next;
}

static struct rs_darm_job *pop(struct rs_darm_job **head,
			       struct rs_darm_job ***tail)
{
	struct rs_darm_job *job = *head;

	*head = job->next;
	if (!*head)
		*tail = head;
	return job;
}

/* Wait until the queue's head is due. The lock is held. */
static struct rs_darm_job *next_job(struct rs_darm *a)
{
	for (;;) {
		struct timespec until;

		if (!a->head && a->stop)
			return NULL;
		if (!a->head) {
			pthread_cond_wait(&a->wake, &a->lock);
			continue;
		}
		if (a->cut || a->stop || a->head->due <= now_ns())
			return pop(&a->head, &a->tail);
		until = to_timespec(a->head->due);
		pthread_cond_timedwait(&a->wake, &a->lock, &until);
	}
}

static void *arm_thread(void *arg)
{
	struct rs_darm *a = arg;
	struct rs_darm_job *job;

	/* The default slack of 50 us is more than an SSD's write takes. */
	prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
	pthread_mutex_lock(&a->lock);
	while ((job = next_job(a))) {
		bool cut = a->cut;

		pthread_mutex_unlock(&a->lock);
		job->done(job, cut);
		pthread_mutex_lock(&a->lock);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

static int start_thread(struct rs_darm *a)
{
	sigset_t all, old;
	int err;

	/* Signals are for the thread that runs the session. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&a->thread, NULL, arm_thread, a);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -err;
}

int rs_darm_init(struct rs_darm *a)
{
	pthread_condattr_t attr;
	int err;

	memset(a, 0, sizeof(*a));
	a->tail = &a->head;
	a->held_tail = &a->held;
	pthread_mutex_init(&a->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&a->wake, &attr);
	pthread_cond_init(&a->held_wake, &attr);
	pthread_condattr_destroy(&attr);
	err = start_thread(a);
	if (!err)
		return 0;
	pthread_cond_destroy(&a->wake);
	pthread_cond_destroy(&a->held_wake);
	pthread_mutex_destroy(&a->lock);
	return err;
}

void rs_darm_release(struct rs_darm *a)
{
	rs_darm_thaw(a);
	pthread_mutex_lock(&a->lock);
	a->stop = true;
	pthread_cond_signal(&a->wake);
	pthread_mutex_unlock(&a->lock);
	pthread_join(a->thread, NULL);
	pthread_cond_destroy(&a->wake);
	pthread_cond_destroy(&a->held_wake);
	pthread_mutex_destroy(&a->lock);
}

/* ns, and the arm moves. The lock is held. */
static uint64_t cost_of(struct rs_darm *a, enum rs_dkind kind, uint64_t off,
			uint64_t len)
{
	uint64_t us = a->times.us[kind];

	if (kind != RS_DFLUSH) {
		if (off != a->last_end) {
			a->seeks++;
			us += a->times.seek_us;
		}
		a->last_end = off + len;
	}
	a->busy_ns += us * 1000;
	return us * 1000;
}

/* True if it is queued, false if the caller does it now. The lock is held. */
static bool queue_job(struct rs_darm *a, struct rs_darm_job *job, uint64_t cost)
{
	uint64_t now;

	if (!cost && !a->head && !a->free_at)
		return false;
	now = now_ns();
	if (!cost && !a->head && a->free_at <= now) {
		a->free_at = 0;
		return false;
	}
	a->free_at = (a->free_at > now ? a->free_at : now) + cost;
	job->due = a->free_at;
	if (!a->head)
		pthread_cond_signal(&a->wake);
	push(&a->tail, job);
	return true;
}

void rs_darm_submit(struct rs_darm *a, struct rs_darm_job *job,
		    enum rs_dkind kind, uint64_t off, uint64_t len)
{
	bool later, cut;

	pthread_mutex_lock(&a->lock);
	cut = a->cut;
	if (cut) {
		later = false;
	} else if (a->frozen && kind == RS_DFLUSH) {
		push(&a->held_tail, job);
		a->held_count++;
		pthread_cond_broadcast(&a->held_wake);
		later = true;
	} else {
		later = queue_job(a, job, cost_of(a, kind, off, len));
	}
	pthread_mutex_unlock(&a->lock);
	if (!later)
		job->done(job, cut);
}

void rs_darm_freeze(struct rs_darm *a)
{
	pthread_mutex_lock(&a->lock);
	a->frozen = true;
	pthread_mutex_unlock(&a->lock);
}

/* Held flushes go to the queue. The lock is held. */
static void queue_held(struct rs_darm *a)
{
	while (a->held) {
		struct rs_darm_job *job = pop(&a->held, &a->held_tail);
		uint64_t now = now_ns();

		a->free_at = a->free_at > now ? a->free_at : now;
		a->free_at += cost_of(a, RS_DFLUSH, 0, 0);
		job->due = a->free_at;
		push(&a->tail, job);
	}
	a->held_count = 0;
	a->frozen = false;
	pthread_cond_signal(&a->wake);
}

void rs_darm_thaw(struct rs_darm *a)
{
	pthread_mutex_lock(&a->lock);
	queue_held(a);
	pthread_mutex_unlock(&a->lock);
}

int rs_darm_wait_held(struct rs_darm *a, uint64_t ms)
{
	struct timespec until = to_timespec(now_ns() + ms * 1000000);
	int err = 0;

	pthread_mutex_lock(&a->lock);
	while (!a->held_count && !err)
		err = pthread_cond_timedwait(&a->held_wake, &a->lock, &until);
	pthread_mutex_unlock(&a->lock);
	return -err;
}

void rs_darm_cut(struct rs_darm *a)
{
	pthread_mutex_lock(&a->lock);
	a->cut = true;
	queue_held(a);
	pthread_mutex_unlock(&a->lock);
}
