/*
 * disk.h - the whole disk: cache, faults, arm and counters, and their locks.
 * Knows nothing of FUSE; a test drives it directly.
 */
#ifndef RS_DISK_DISK_H
#define RS_DISK_DISK_H

#include "tests/disk/arm.h"
#include "tests/disk/cache.h"
#include "tests/disk/cut.h"
#include "tests/disk/faults.h"

struct rs_disk_counters {
	uint64_t requests[RS_DKINDS]; /* as they arrived, failed ones too */
	uint64_t bytes[RS_DKINDS];    /* asked for; of flushes always 0 */
	uint64_t errors[RS_DKINDS];   /* answered with an error */
	uint64_t lies;		      /* flushes acknowledged and forgotten */
};

struct rs_disk {
	pthread_mutex_t gate; /* guards all down to lock */
	struct rs_dfaults faults;
	struct rs_disk_counters counters;
	struct rs_dcut cut_at; /* for faults.cut_left */
	uint32_t sector;       /* of cuts that don't say it, 512 or 4096 */
	bool lie;
	pthread_rwlock_t lock; /* guards cache, cut and what a cut did */
	struct rs_dcache cache;
	bool cut;
	struct rs_dcut_result cut_result;
	struct rs_darm arm; /* has its own lock, a leaf */
};

/* One request. The caller fills the upper part and keeps it and buf until
 * done() was called: once, possibly in another thread, possibly before
 * rs_disk_submit returns. */
struct rs_disk_request {
	enum rs_dkind kind;
	uint64_t off;
	uint32_t len;
	void *buf; /* a read's; sectors that the request touches must fit */
	const void *data; /* a write's */
	void (*done)(struct rs_disk_request *r, int result);
	/* the disk's own */
	struct rs_darm_job job;
	struct rs_disk *disk;
	uint32_t mark; /* a flush's */
	int result;
	bool lie; /* answer a flush and do nothing */
};

RS_MUST_USE int rs_disk_init(struct rs_disk *d, const char *image,
			     uint64_t size, uint64_t cache_bytes);
/* Orderly power-off: what is in the cache goes to the image, save after a
 * cut. An error is the image's. */
RS_MUST_USE int rs_disk_release(struct rs_disk *d);

/* result is the number of bytes, or -EINVAL (not whole sectors), -ENOSPC
 * (beyond the end, or full), -EIO, -ENOMEM. */
void rs_disk_submit(struct rs_disk *d, struct rs_disk_request *r);

/* -EALREADY after a cut. */
RS_MUST_USE int rs_disk_cut(struct rs_disk *d, const struct rs_dcut *cut,
			    struct rs_dcut_result *ret_result);
/* What a true flush does, whatever lie and freeze say, and fsync of the
 * image; -EIO after a cut. */
RS_MUST_USE int rs_disk_sync(struct rs_disk *d);

#endif
