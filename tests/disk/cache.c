/*
 * cache.c - what a disk's electronics remember and forget.
 *
 * MODEL
 *	            log of acknowledged writes, oldest first
 *	   head -> [ 7: 0..8 ][ 8: 64..72 ][ 9: 4..6 ] <- mark
 *	            ^                       ^
 *	   index    7 7 7 7 9 9 7 7 0 0 ...  8 ...      one id a sector
 *	   medium   the image file, what a power cut leaves for sure
 *
 *	A read takes each sector from the write that its index names, or from
 *	the medium. The log keeps older versions of a sector too, because a
 *	cut may leave any of them.
 *
 * INVARIANTS
 *	I1  log[head + i]->id == base + i, and ids start at 1
 *	I2  index[s] is 0 or the id of the newest write in the log that
 *	    covers s
 *	I3  writes reach the medium in the order of their ids, save that a
 *	    flush may leave out a version which the same flush overwrites
 *	I4  what a failed flush gave up is at the log's head: where a write is
 *	    lost, all older ones in the log are
 *
 * CRASH	"Stable" means: pwrite to the image returned. The image is as
 *	safe as the host's page cache; the simulator itself needs no more.
 */
#include "tests/disk/cache.h"

#include "tests/disk/rng.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

static size_t index_bytes(const struct rs_dcache *c)
{
	return c->size / RS_DCACHE_SECTOR * sizeof(c->index[0]);
}

static int image_open(struct rs_dcache *c, const char *image, uint64_t size,
		      bool *ret_made)
{
	struct stat st;

	c->fd = open(image, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (c->fd < 0)
		return -errno;
	if (fstat(c->fd, &st))
		return -errno;
	*ret_made = st.st_size == 0;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (st.st_size && size && (uint64_t)st.st_size != size)
		return -EINVAL;
	c->size = st.st_size ? (uint64_t)st.st_size : size;
	if (!c->size || c->size % RS_DCACHE_SECTOR)
		return -EINVAL;
	if (!st.st_size && ftruncate(c->fd, (off_t)size))
		return -errno;
	return 0;
}

int rs_dcache_init(struct rs_dcache *c, const char *image, uint64_t size,
		   uint64_t limit)
{
	bool made = false;
	int err;

	memset(c, 0, sizeof(*c));
	c->limit = limit;
	c->base = 1;
	err = image_open(c, image, size, &made);
	if (!err) {
		/* Pages of it come into being where the disk is written. */
		c->index = mmap(NULL, index_bytes(c), PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
				0);
		if (c->index != MAP_FAILED)
			return 0;
		c->index = NULL;
		err = -ENOMEM;
	}
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	if (made)
		unlink(image);
	return err;
}

void rs_dcache_release(struct rs_dcache *c)
{
	if (c->fd < 0)
		return;
	rs_dcache_drop(c);
	free(c->log);
	c->log = NULL;
	munmap(c->index, index_bytes(c));
	close(c->fd);
	c->fd = -1;
}

struct rs_dwrite *rs_dwrite_new(uint64_t off, const void *buf, uint32_t len)
{
	struct rs_dwrite *w = malloc(sizeof(*w) + len);

	if (!w)
		return NULL;
	w->off = off;
	w->len = len;
	w->id = 0;
	w->lost = false;
	memcpy(w->data, buf, len);
	return w;
}

int rs_dcache_medium_write(struct rs_dcache *c, uint64_t off, const void *buf,
			   size_t len)
{
	const unsigned char *p = buf;

	while (len) {
		ssize_t n = pwrite(c->fd, p, len, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		off += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

static int medium_read(const struct rs_dcache *c, uint64_t off, void *buf,
		       size_t len)
{
	unsigned char *p = buf;

	while (len) {
		ssize_t n = pread(c->fd, p, len, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		p += n;
		off += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

/* Room for one more pointer; the space before head is used again first. */
static int log_grow(struct rs_dcache *c)
{
	struct rs_dwrite **log;
	size_t alloc;

	if (c->head + c->count < c->alloc)
		return 0;
	if (c->head > c->alloc / 2) {
		memmove(c->log, c->log + c->head, c->count * sizeof(*c->log));
		c->head = 0;
		return 0;
	}
	alloc = c->alloc ? 2 * c->alloc : 256;
	log = realloc(c->log, alloc * sizeof(*log));
	if (!log)
		return -ENOMEM;
	c->log = log;
	c->alloc = alloc;
	return 0;
}

static void index_set(struct rs_dcache *c, const struct rs_dwrite *w,
		      uint32_t id)
{
	uint32_t *at = c->index + w->off / RS_DCACHE_SECTOR;
	size_t i;

	for (i = 0; i < w->len / RS_DCACHE_SECTOR; i++)
		at[i] = id;
}

/* The sectors that still show the version from, show the version to. */
static void index_replace(struct rs_dcache *c, const struct rs_dwrite *w,
			  uint32_t from, uint32_t to)
{
	uint32_t *at = c->index + w->off / RS_DCACHE_SECTOR;
	size_t i;

	for (i = 0; i < w->len / RS_DCACHE_SECTOR; i++)
		if (at[i] == from)
			at[i] = to;
}

static void pop_oldest(struct rs_dcache *c)
{
	struct rs_dwrite *w = c->log[c->head];

	index_replace(c, w, w->id, 0);
	c->bytes -= w->len;
	c->head++;
	c->count--;
	c->base++;
	free(w);
}

/*
 * A drive whose cache is full writes back by itself. The whole write, also
 * the parts that a newer one covers: the newer one may get lost, and a flush
 * that is under way may have promised this one.
 */
static int spill(struct rs_dcache *c, uint64_t need)
{
	while (c->count && c->bytes + need > c->limit) {
		struct rs_dwrite *w = c->log[c->head];
		int err = 0;

		if (!w->lost)
			err = rs_dcache_medium_write(c, w->off, w->data,
						     w->len);
		if (err)
			return err;
		c->spilled += w->lost ? 0 : w->len;
		pop_oldest(c);
	}
	return 0;
}

int rs_dcache_append(struct rs_dcache *c, struct rs_dwrite *w)
{
	int err = spill(c, w->len);

	if (!err && c->base + c->count == UINT32_MAX)
		err = rs_dcache_flush(c, UINT32_MAX);
	if (!err)
		err = log_grow(c);
	if (err) {
		free(w);
		return err;
	}
	w->id = c->base + (uint32_t)c->count;
	c->log[c->head + c->count++] = w;
	c->bytes += w->len;
	index_set(c, w, w->id);
	return 0;
}

/* One past the last sector from s on that shows the same version, at most
 * end. */
static uint64_t run_end(const struct rs_dcache *c, uint64_t s, uint64_t end)
{
	uint32_t id = c->index[s];

	while (++s < end && c->index[s] == id)
		;
	return s;
}

int rs_dcache_read(const struct rs_dcache *c, uint64_t off, void *buf,
		   size_t len)
{
	uint64_t s = off / RS_DCACHE_SECTOR;
	uint64_t end = (off + len) / RS_DCACHE_SECTOR;
	unsigned char *p = buf;

	if (!c->count)
		return medium_read(c, off, buf, len);
	while (s < end) {
		uint64_t next = run_end(c, s, end);
		uint64_t from = s * RS_DCACHE_SECTOR;
		size_t n = (next - s) * RS_DCACHE_SECTOR;
		uint32_t id = c->index[s];

		if (id) {
			const struct rs_dwrite *w;

			w = c->log[c->head + (id - c->base)];
			memcpy(p, w->data + (from - w->off), n);
		} else {
			int err = medium_read(c, from, p, n);

			if (err)
				return err;
		}
		p += n;
		s = next;
	}
	return 0;
}

uint32_t rs_dcache_mark(const struct rs_dcache *c)
{
	return c->base + (uint32_t)c->count - 1;
}

/* True if this flush writes a newer version of the sector anyway (I4). */
static bool covered(const struct rs_dcache *c, uint64_t s,
		    const struct rs_dwrite *w, uint32_t mark)
{
	uint32_t id = c->index[s];

	return id > w->id && id <= mark;
}

static int write_back(struct rs_dcache *c, const struct rs_dwrite *w,
		      uint32_t mark)
{
	uint64_t first = w->off / RS_DCACHE_SECTOR;
	uint64_t end = (w->off + w->len) / RS_DCACHE_SECTOR;
	uint64_t s = first;

	while (s < end) {
		uint64_t next = s;
		int err;

		while (next < end && !covered(c, next, w, mark))
			next++;
		if (next == s) {
			s++;
			continue;
		}
		err = rs_dcache_medium_write(c, s * RS_DCACHE_SECTOR,
					     w->data + (s - first) *
							       RS_DCACHE_SECTOR,
					     (next - s) * RS_DCACHE_SECTOR);
		if (err)
			return err;
		s = next;
	}
	return 0;
}

/* Drop the stable ones and number what is left from 1. Ids only get smaller,
 * in order, so a new one never meets an old one that is still in use. */
static void log_compact(struct rs_dcache *c, size_t stable)
{
	size_t i, kept = 0;

	for (i = 0; i < c->count; i++) {
		struct rs_dwrite *w = c->log[c->head + i];
		bool keep = i >= stable || w->lost;
		uint32_t id = keep ? (uint32_t)kept + 1 : 0;

		index_replace(c, w, w->id, id);
		if (keep) {
			w->id = id;
			c->log[kept++] = w;
		} else {
			c->bytes -= w->len;
			free(w);
		}
	}
	c->head = 0;
	c->base = 1;
	c->count = kept;
}

/* How many writes at the log's head a mark covers. */
static size_t marked(const struct rs_dcache *c, uint32_t mark)
{
	if (mark < c->base)
		return 0;
	return mark - c->base < c->count ? mark - c->base + 1 : c->count;
}

int rs_dcache_flush(struct rs_dcache *c, uint32_t mark)
{
	size_t i, n = marked(c, mark);

	if (!n)
		return 0;
	for (i = 0; i < n; i++) {
		const struct rs_dwrite *w = c->log[c->head + i];
		int err = w->lost ? 0 : write_back(c, w, mark);

		if (err)
			return err;
	}
	log_compact(c, n);
	return 0;
}

void rs_dcache_lose(struct rs_dcache *c, uint32_t mark)
{
	size_t i, n = marked(c, mark);

	for (i = 0; i < n; i++)
		c->log[c->head + i]->lost = true;
}

static void rot_bytes(unsigned char *p, uint64_t off, size_t len, uint64_t seed)
{
	size_t i;

	for (i = 0; i < len; i++)
		p[i] ^= (unsigned char)(1u << rs_rng_at(seed, off + i, 0) % 8);
}

static int rot_medium(struct rs_dcache *c, uint64_t off, uint64_t len,
		      uint64_t seed)
{
	unsigned char buf[4096];

	while (len) {
		size_t n = len < sizeof(buf) ? len : sizeof(buf);
		int err = medium_read(c, off, buf, n);

		if (err)
			return err;
		rot_bytes(buf, off, n, seed);
		err = rs_dcache_medium_write(c, off, buf, n);
		if (err)
			return err;
		off += n;
		len -= n;
	}
	return 0;
}

int rs_dcache_rot(struct rs_dcache *c, uint64_t off, uint64_t len,
		  uint64_t seed)
{
	size_t i;

	if (off > c->size || len > c->size - off)
		return -EINVAL;
	for (i = 0; i < c->count; i++) {
		struct rs_dwrite *w = c->log[c->head + i];
		uint64_t from = off > w->off ? off : w->off;
		uint64_t to = off + len;

		if (to > w->off + w->len)
			to = w->off + w->len;
		if (from < to)
			rot_bytes(w->data + (from - w->off), from, to - from,
				  seed);
	}
	return rot_medium(c, off, len, seed);
}

void rs_dcache_drop(struct rs_dcache *c)
{
	while (c->count)
		pop_oldest(c);
	c->head = 0;
	c->base = 1;
	assert(c->bytes == 0);
}
