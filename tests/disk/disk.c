/*
 * disk.c - the way of a request through the disk.
 *
 * MODEL
 *	request -> gate: count, power cut here? fault? short?
 *	        -> cache: a write is in the log from here on, a read has its
 *	           data, a flush remembers the newest write as its mark
 *	        -> arm: wait for the time that it takes
 *	        -> a flush makes stable what its mark covers; answer
 *
 * INVARIANTS
 *	I1 A flush is answered 0 only after all writes that were answered
 *	   before it arrived are on the medium, unless the drive lies.
 *	I2 A write is in the log before it is answered, so a cut while the arm
 *	   is at work may keep parts of it, though it gets EIO.
 *	I3 After a cut nothing reaches the medium and everything gets EIO.
 *
 * LOCKS	gate before lock before the arm's; none is held over an
 *	answer.
 */
#include "tests/disk/disk.h"

#include <errno.h>

int rs_disk_init(struct rs_disk *d, const char *image, uint64_t size,
		 uint64_t cache_bytes)
{
	pthread_rwlockattr_t attr;
	int err;

	memset(d, 0, sizeof(*d));
	d->sector = 512;
	err = rs_dcache_init(&d->cache, image, size, cache_bytes);
	if (err)
		return err;
	err = rs_darm_init(&d->arm);
	if (err) {
		rs_dcache_release(&d->cache);
		return err;
	}
	pthread_mutex_init(&d->gate, NULL);
	pthread_rwlockattr_init(&attr);
	/* glibc's default lets a stream of reads starve the writes. */
	pthread_rwlockattr_setkind_np(
		&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&d->lock, &attr);
	pthread_rwlockattr_destroy(&attr);
	return 0;
}

int rs_disk_release(struct rs_disk *d)
{
	int err = 0;

	rs_darm_release(&d->arm);
	if (!d->cut)
		err = rs_dcache_flush(&d->cache, UINT32_MAX);
	rs_dcache_release(&d->cache);
	rs_dfaults_release(&d->faults);
	pthread_rwlock_destroy(&d->lock);
	pthread_mutex_destroy(&d->gate);
	return err;
}

static void answer(struct rs_disk_request *r, int result)
{
	struct rs_disk *d = r->disk;

	if (result < 0) {
		pthread_mutex_lock(&d->gate);
		d->counters.errors[r->kind]++;
		pthread_mutex_unlock(&d->gate);
	}
	r->done(r, result);
}

/* A flush has had its time. */
static int make_stable(struct rs_disk *d, uint32_t mark)
{
	int err;

	pthread_rwlock_wrlock(&d->lock);
	err = d->cut ? -EIO : rs_dcache_flush(&d->cache, mark);
	pthread_rwlock_unlock(&d->lock);
	return err;
}

static void job_done(struct rs_darm_job *job, bool cut)
{
	struct rs_disk_request *r;

	r = (void *)((char *)job - offsetof(struct rs_disk_request, job));
	if (cut)
		r->result = -EIO;
	else if (r->kind == RS_DFLUSH && !r->lie)
		r->result = make_stable(r->disk, r->mark);
	answer(r, r->result);
}

static bool out_of_range(const struct rs_disk *d, uint64_t off, uint32_t len)
{
	return off > d->cache.size || len > d->cache.size - off;
}

static int check_place(const struct rs_disk *d, const struct rs_disk_request *r)
{
	if (r->kind == RS_DFLUSH)
		return 0;
	if (!r->len || (r->off | r->len) % RS_DCACHE_SECTOR)
		return -EINVAL;
	return out_of_range(d, r->off, r->len) ? -ENOSPC : 0;
}

struct passage {
	bool cut_here;
	bool drop;
	struct rs_dcut cut_at;
};

/* All that the request meets before the cache. */
static int pass_gate(struct rs_disk *d, struct rs_disk_request *r,
		     struct passage *ret_p)
{
	int err;

	pthread_mutex_lock(&d->gate);
	d->counters.requests[r->kind]++;
	d->counters.bytes[r->kind] += r->len;
	ret_p->cut_here = rs_dfaults_cut_here(&d->faults, r->kind);
	ret_p->cut_at = d->cut_at;
	err = rs_dfaults_arrive(&d->faults, r->kind, r->off, r->len,
				&ret_p->drop);
	if (!err && r->kind != RS_DFLUSH)
		r->len = rs_dfaults_shorten(&d->faults, r->kind, r->len,
					    RS_DCACHE_SECTOR);
	if (!err && r->kind == RS_DWRITE)
		err = rs_dfaults_rewritten(&d->faults, r->off, r->len);
	r->lie = d->lie;
	if (!err && r->kind == RS_DFLUSH)
		d->counters.lies += d->lie;
	pthread_mutex_unlock(&d->gate);
	return err;
}

static int do_read(struct rs_disk *d, struct rs_disk_request *r)
{
	int err;

	pthread_rwlock_rdlock(&d->lock);
	err = d->cut ? -EIO : rs_dcache_read(&d->cache, r->off, r->buf, r->len);
	pthread_rwlock_unlock(&d->lock);
	return err;
}

static int do_write(struct rs_disk *d, struct rs_disk_request *r)
{
	struct rs_dwrite *w = rs_dwrite_new(r->off, r->data, r->len);
	int err = -EIO;

	if (!w)
		return -ENOMEM;
	pthread_rwlock_wrlock(&d->lock);
	if (d->cut)
		free(w);
	else
		err = rs_dcache_append(&d->cache, w);
	pthread_rwlock_unlock(&d->lock);
	return err;
}

static int do_flush(struct rs_disk *d, struct rs_disk_request *r)
{
	int err;

	pthread_rwlock_rdlock(&d->lock);
	r->mark = rs_dcache_mark(&d->cache);
	err = d->cut ? -EIO : 0;
	pthread_rwlock_unlock(&d->lock);
	return err;
}

static void drop_unflushed(struct rs_disk *d)
{
	pthread_rwlock_wrlock(&d->lock);
	rs_dcache_lose(&d->cache, UINT32_MAX);
	pthread_rwlock_unlock(&d->lock);
}

void rs_disk_submit(struct rs_disk *d, struct rs_disk_request *r)
{
	static int (*const act[RS_DKINDS])(
		struct rs_disk *,
		struct rs_disk_request *) = { do_read, do_write, do_flush };
	struct passage p = { 0 };
	int err;

	r->disk = d;
	err = check_place(d, r);
	if (!err)
		err = pass_gate(d, r, &p);
	if (p.drop)
		drop_unflushed(d);
	if (!err)
		err = act[r->kind](d, r);
	if (p.cut_here) {
		struct rs_dcut_result ignored;

		/* Somebody else may have been faster: cut all the same. */
		(void)!rs_disk_cut(d, &p.cut_at, &ignored);
		err = -EIO;
	}
	if (err) {
		answer(r, err);
		return;
	}
	r->result = (int)r->len;
	r->job.done = job_done;
	rs_darm_submit(&d->arm, &r->job, r->kind, r->off, r->len);
}

int rs_disk_cut(struct rs_disk *d, const struct rs_dcut *cut,
		struct rs_dcut_result *ret_result)
{
	int err = -EALREADY;

	pthread_rwlock_wrlock(&d->lock);
	if (!d->cut) {
		err = rs_dcut_apply(&d->cache, cut, &d->cut_result);
		if (err != -EINVAL)
			d->cut = true;
	}
	if (!err)
		*ret_result = d->cut_result;
	pthread_rwlock_unlock(&d->lock);
	/* Whoever waits for the arm gets EIO now. */
	if (err != -EINVAL)
		rs_darm_cut(&d->arm);
	return err;
}

int rs_disk_sync(struct rs_disk *d)
{
	int err;

	pthread_rwlock_wrlock(&d->lock);
	err = d->cut ? -EIO : rs_dcache_flush(&d->cache, UINT32_MAX);
	if (!err && fsync(d->cache.fd))
		err = -errno;
	pthread_rwlock_unlock(&d->lock);
	return err;
}
