/*
 * ring.h - intent.log: a preallocated, prewritten circular file of frames.
 * Knows places and bytes, not what records mean. All I/O goes through the
 * seam. One thread at a time, except rs_ring_read().
 */
#ifndef RS_RING_H
#define RS_RING_H

#include "include/rs_seam.h"
#include "journal/frame.h"

#define RS_RING_MIN (UINT64_C(16) << 20)
/* only with the environment variable RSPOOL_TEST_RING set */
#define RS_RING_MIN_TEST (UINT64_C(256) << 10)

struct rs_ring; /* fd, seam, size, crypto, aead, head */

/* A buffer for the ring (aligned to RS_PAGE), for free(). NULL: no memory. */
void *rs_ring_buffer(uint64_t len);

/* What is known of one frame that was found or written. */
struct rs_frame_ref {
	uint64_t number, prev;
	uint64_t place;
	uint64_t size;	   /* bytes with padding */
	uint64_t body_len; /* bytes of records */
	uint16_t flags;
	uint8_t tag[RS_TAG_LEN], prev_tag[RS_TAG_LEN];
	uint8_t salt[RS_SALT_LEN]; /* FORMAT.md R3 */
	int damaged;   /* header whole, rest not: -EBADMSG, -EUCLEAN, -EIO */
	uint8_t *body; /* records kept in RAM until folded, or NULL */
};

/*
 * Make the file: NOCOW where the filesystem copies on write, size bytes
 * written once with a pattern that does not compress, flushed.
 * progress(arg, done, total) may be NULL. On failure nothing is left.
 * *ret_cow is set to 1 if the filesystem copies on write and NOCOW could not
 * be set. Errors: -EEXIST, -ENOSPC and other -errno.
 */
RS_MUST_USE int rs_ring_create(int dirfd, const char *path, uint64_t size,
			       const struct rs_seam *seam,
			       void (*progress)(void *, uint64_t, uint64_t),
			       void *arg, int *ret_cow);

/*
 * Open an existing ring; O_DIRECT where the filesystem has it, otherwise
 * its cached pages are dropped before they are read. readonly: never
 * writes. Errors: -ENOENT, -EUCLEAN (wrong size, not a regular file), ...
 */
RS_MUST_USE int rs_ring_open(int dirfd, const char *path, uint64_t size,
			     const uint8_t id[RS_ID_LEN],
			     const struct rs_crypto *crypto,
			     const struct rs_seam *seam, int readonly,
			     struct rs_ring **ret_ring);
void rs_ring_close(struct rs_ring *ring);

uint64_t rs_ring_size(const struct rs_ring *ring);
int rs_ring_is_direct(const struct rs_ring *ring);
/* Largest records' length of a frame of min(ring/4, 8 MiB) with padding. */
uint64_t rs_ring_body_max(const struct rs_ring *ring);

/*
 * Read [place, place+len) into buf (all multiples of RS_PAGE, buf aligned to
 * it). Unreadable pages are read one by one; a page that can't be read is
 * filled with zeros and counted. Returns the count or -errno.
 */
RS_MUST_USE int rs_ring_read(struct rs_ring *ring, uint64_t place, uint64_t len,
			     uint8_t *buf);

/*
 * Read and authenticate the frame at ref->place into a buffer that the
 * caller frees with free(); records start at RS_FRAME_HEADER.
 * Errors: those of rs_frame_open(), -EIO.
 */
RS_MUST_USE int rs_ring_read_frame(struct rs_ring *ring,
				   const struct rs_frame_ref *ref,
				   uint8_t **ret_buf);

/* Where the next frame goes and what it names as its predecessor. */
struct rs_ring_head {
	uint64_t place;	 /* place for the next frame if it fits there */
	uint64_t number; /* highest number ever seen; the next is one more */
	uint64_t prev;	 /* last real frame and its tag */
	uint8_t prev_tag[RS_TAG_LEN];
};
void rs_ring_set_head(struct rs_ring *ring, const struct rs_ring_head *head);
void rs_ring_get_head(const struct rs_ring *ring, struct rs_ring_head *ret);

/*
 * Place that a frame of size bytes would take: the head's, or 0 if it does
 * not fit before the end. A seal's is that of RS_PAGE bytes.
 */
uint64_t rs_ring_next_place(const struct rs_ring *ring, uint64_t size);

/*
 * Write one frame: buf holds the records at RS_FRAME_HEADER and is aligned
 * to RS_PAGE with rs_frame_size(body_len) bytes. One sequential write (a
 * short one is continued with the same bytes), NO flush. The caller has
 * made sure that the place is free. flags: 0, or RS_FF_SEAL[|RS_FF_CLEAN]
 * (body_len 0; does not move the head's place, prev, prev_tag).
 * Fills *ret_ref (body NULL). Any error is final (DESIGN G6): all later
 * writes and flushes return it too.
 */
RS_MUST_USE int rs_ring_write(struct rs_ring *ring, uint8_t *buf,
			      uint64_t body_len, uint16_t flags,
			      uint64_t oldest, uint64_t oldest_place,
			      struct rs_frame_ref *ret_ref);
/* One flush. */
RS_MUST_USE int rs_ring_flush(struct rs_ring *ring);
/* Was all that this process wrote flushed? For asserts, by who writes. */
int rs_ring_is_flushed(const struct rs_ring *ring);

/*
 * One frame as rs_ring_scan() would show it: -ENOENT if no whole header
 * stands at place, -EIO if its page can't be read.
 */
RS_MUST_USE int rs_ring_look(struct rs_ring *ring, uint64_t place,
			     struct rs_frame_ref *ret_ref);

/*
 * Read the whole ring once, sequentially, past the page cache, and call
 * fn for every place (multiple of 4096) where a whole header stands, with
 * the frame authenticated when check is set (ref->damaged tells; the pages
 * of an authentic frame are passed over: FORMAT.md R2). Returns 0, fn's
 * first non-zero value, or -errno. *ret_bad: pages that couldn't be read.
 */
RS_MUST_USE int rs_ring_scan(struct rs_ring *ring, int check,
			     int (*fn)(void *arg,
				       const struct rs_frame_ref *ref),
			     void *arg, uint64_t *ret_bad);

#endif
