/*
 * ll_ro.c - after poison the superblock becomes read-only (DESIGN G6).
 *
 * Cached opens would otherwise go on working, and an MTA would deliver mail
 * that it can't cross off. The kernel refuses with EBUSY as long as a file
 * is open for writing: again each second until it holds. A thread of its
 * own, there from the start, because the remount may wait for requests that
 * the workers have to answer, and because memory may be short then.
 */
#include "fs/ll_p.h"
#include "fs/mounts.h"

#include <errno.h>
#include <sys/mount.h>

#define AGAIN_MS 1000

static int remount(struct rs_ll *ll)
{
	if (!rs_ll_is_mounted(ll))
		return -ENOENT;
	if (mount(NULL, ll->cfg.mnt, NULL,
		  ll->cfg.flags | MS_REMOUNT | MS_RDONLY, NULL))
		return -errno;
	return 0;
}

/* Sleep, or until stop. Lock held. */
static void pause_ms(struct rs_ll_ro *ro, unsigned int ms)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	ts.tv_sec += ms / 1000;
	if (!ro->stop)
		pthread_cond_timedwait(&ro->wake, &ro->lock, &ts);
}

static void report(struct rs_ll *ll, int err, int *told)
{
	if (err == 0)
		rs_ll_tell(ll, RS_LL_READONLY, "");
	else if (err == -EBUSY && *told != err)
		rs_ll_tell(ll, RS_LL_READONLY_BUSY, "");
	else if (err != -EBUSY && *told != err)
		rs_ll_tell(ll, RS_LL_READONLY_FAIL, strerror(-err));
	*told = err;
}

static void *ro_main(void *arg)
{
	struct rs_ll *ll = arg;
	struct rs_ll_ro *ro = &ll->ro;
	int err = 1, told = 1;

	pthread_setname_np(pthread_self(), "rs-readonly");
	pthread_mutex_lock(&ro->lock);
	while (!ro->stop && !ro->want)
		pthread_cond_wait(&ro->wake, &ro->lock);
	while (!ro->stop && err) {
		pthread_mutex_unlock(&ro->lock);
		err = remount(ll);
		if (!err)
			atomic_store(&ro->done, 1);
		report(ll, err, &told);
		pthread_mutex_lock(&ro->lock);
		if (err)
			pause_ms(ro, AGAIN_MS);
	}
	pthread_mutex_unlock(&ro->lock);
	return NULL;
}

void rs_ll_ro_init(struct rs_ll_ro *ro)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&ro->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&ro->wake, &attr);
	pthread_condattr_destroy(&attr);
}

int rs_ll_ro_start(struct rs_ll *ll)
{
	int err = pthread_create(&ll->ro.thread, NULL, ro_main, ll);

	if (err)
		return -err;
	ll->ro.running = 1;
	return 0;
}

void rs_ll_ro_want(struct rs_ll_ro *ro)
{
	pthread_mutex_lock(&ro->lock);
	ro->want = 1;
	pthread_cond_broadcast(&ro->wake);
	pthread_mutex_unlock(&ro->lock);
}

void rs_ll_ro_stop(struct rs_ll_ro *ro)
{
	if (!ro->running)
		return;
	pthread_mutex_lock(&ro->lock);
	ro->stop = 1;
	pthread_cond_broadcast(&ro->wake);
	pthread_mutex_unlock(&ro->lock);
	pthread_join(ro->thread, NULL);
	ro->running = 0;
}

void rs_ll_ro_release(struct rs_ll_ro *ro)
{
	pthread_cond_destroy(&ro->wake);
	pthread_mutex_destroy(&ro->lock);
}
