/*
 * cache.h - the medium (an image file) and the volatile cache over it.
 *
 * No locks: the caller serialises everything except concurrent reads.
 * Offsets and lengths are bytes and multiples of RS_DCACHE_SECTOR.
 */
#ifndef RS_DISK_CACHE_H
#define RS_DISK_CACHE_H

#include "include/rs_base.h"

#include <stdbool.h>

/* bytes of the smallest piece that a power cut keeps or loses whole */
#define RS_DCACHE_SECTOR 512u

/* one acknowledged write that isn't stable yet */
struct rs_dwrite {
	uint64_t off;
	uint32_t len;
	uint32_t id; /* > 0, in order of arrival, given by append */
	bool lost;   /* a failed flush gave it up: no later one saves it */
	unsigned char data[];
};

struct rs_dcache {
	int fd;		  /* of the image */
	uint64_t size;	  /* bytes of the disk */
	uint64_t limit;	  /* bytes that the cache may hold */
	uint64_t bytes;	  /* bytes that it holds */
	uint64_t spilled; /* bytes made stable because it was full */
	uint32_t *index;  /* for each sector: id of its newest write, or 0 */
	struct rs_dwrite **log; /* log[head + i] has the id base + i */
	size_t head;
	size_t count;
	size_t alloc;
	uint32_t base;
};

/* Open or make the image. size 0: as large as the image is, which must then
 * exist. A size that differs from an existing image's is -EINVAL. */
RS_MUST_USE int rs_dcache_init(struct rs_dcache *c, const char *image,
			       uint64_t size, uint64_t limit);
/* Forget the cache's content, close the image. */
void rs_dcache_release(struct rs_dcache *c);

/* A copy of len bytes at buf, or NULL without memory. Free with free(). */
struct rs_dwrite *rs_dwrite_new(uint64_t off, const void *buf, uint32_t len);
/* Take w as the newest write; it owns w even where it fails. A cache that is
 * full writes its oldest content to the medium: the error may be the host's. */
RS_MUST_USE int rs_dcache_append(struct rs_dcache *c, struct rs_dwrite *w);
/* What the disk answers: the cache over the medium. */
RS_MUST_USE int rs_dcache_read(const struct rs_dcache *c, uint64_t off,
			       void *buf, size_t len);

/* The newest write's id. A flush makes all up to a mark stable; after another
 * flush, which may number anew, an old mark still covers at least the same. */
uint32_t rs_dcache_mark(const struct rs_dcache *c);
RS_MUST_USE int rs_dcache_flush(struct rs_dcache *c, uint32_t mark);
/* All up to the mark is only in the cache from now on, never on the medium. */
void rs_dcache_lose(struct rs_dcache *c, uint32_t mark);

/* Flip one seeded bit in each byte of the range, on the medium and in every
 * version that the cache holds. The range need not be whole sectors. */
RS_MUST_USE int rs_dcache_rot(struct rs_dcache *c, uint64_t off, uint64_t len,
			      uint64_t seed);

/* for the power cut: straight to the medium, and an empty cache */
RS_MUST_USE int rs_dcache_medium_write(struct rs_dcache *c, uint64_t off,
				       const void *buf, size_t len);
void rs_dcache_drop(struct rs_dcache *c);

#endif
