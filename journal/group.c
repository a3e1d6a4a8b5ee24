/*
 * group.c - the open group in its segment.
 *
 * MODEL
 *	segment A: [page 0 | header room | rec rec rec ... fill |    cap]
 *	segment B: in flight or empty
 *	A record is encoded where it will stand on disk. A mark (number,
 *	offset) finds it again as long as its group is open.
 *
 * INVARIANTS
 * I1	Marks of older groups never match, since numbers only rise.
 * I2	Page 0 counts whole operations only: it moves in rs_group_end().
 * I3	Nothing here can fail: room was reserved, the segments' pages exist
 *	since init.
 *
 * CRASH  Of the process: a successor finds whole operations in both
 * segments. Of the machine: both are gone, nobody was told otherwise.
 */
#include "journal/group.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "journal/frame.h"
#include "journal/value.h"

static const char magic[8] = { 'R', 'S', 'P', 'G', 'R', 'O', 'U', 'P' };

static void segment_release(struct rs_segment *seg, size_t len)
{
	if (seg->map)
		munmap(seg->map, len);
	if (seg->fd >= 0)
		close(seg->fd);
	seg->map = NULL;
	seg->fd = -1;
}

static int segment_init(struct rs_segment *seg, size_t len, const uint8_t *id)
{
	void *map;
	int err;

	seg->map = NULL;
	seg->fd = memfd_create("rspool group", MFD_CLOEXEC);
	if (seg->fd < 0)
		return -errno;
	/* All pages now: one that can't be had later would be a SIGBUS. */
	if (fallocate(seg->fd, 0, 0, (off_t)len) < 0) {
		err = errno == ENOSPC ? -ENOMEM : -errno;
		segment_release(seg, len);
		return err;
	}
	map = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, seg->fd, 0);
	if (map == MAP_FAILED) {
		err = -errno;
		segment_release(seg, len);
		return err;
	}
	/* Both may fail where limits say so; then mail may meet the swap. */
	(void)mlock(map, len);
	(void)madvise(map, len, MADV_DONTDUMP);
	seg->map = map;
	memcpy(seg->map, magic, sizeof(magic));
	rs_put32(seg->map + 8, RS_FORMAT_VERSION);
	memcpy(seg->map + 16, id, RS_ID_LEN);
	return 0;
}

int rs_group_init(struct rs_group *g, const uint8_t id[RS_ID_LEN], size_t cap)
{
	int err;

	memset(g, 0, sizeof(*g));
	g->cap = cap;
	g->map_len = RS_PAGE + (size_t)rs_frame_size(cap);
	g->seg[1].fd = -1;
	err = segment_init(&g->seg[0], g->map_len, id);
	if (err == 0)
		err = segment_init(&g->seg[1], g->map_len, id);
	if (err < 0)
		rs_group_release(g);
	return err;
}

void rs_group_release(struct rs_group *g)
{
	segment_release(&g->seg[0], g->map_len);
	segment_release(&g->seg[1], g->map_len);
}

static void set_state(struct rs_segment *seg, enum rs_group_state state)
{
	uint32_t v = htole32((uint32_t)state);

	__atomic_store_n((uint32_t *)(void *)(seg->map + 12), v,
			 __ATOMIC_RELEASE);
}

static void set_fill(struct rs_segment *seg, uint64_t fill)
{
	__atomic_store_n((uint64_t *)(void *)(seg->map + 40), htole64(fill),
			 __ATOMIC_RELEASE);
}

static uint8_t *records(const struct rs_group *g)
{
	return g->seg[g->cur].map + RS_PAGE + RS_FRAME_HEADER;
}

/* Most that are changed again are still in their slot. */
static void count_chunk(struct rs_group *g, uint64_t ino, uint64_t chunk)
{
	uint64_t h = (ino ^ g->number << 40) * UINT64_C(0x9e3779b97f4a7c15);
	size_t i;

	h = (h ^ chunk) * UINT64_C(0xd6e8feb86659fd93);
	h ^= h >> 32;
	i = (size_t)(h % RS_GROUP_CHUNKS);
	if (g->seen[i] == h)
		return;
	g->seen[i] = h;
	g->chunks++;
}

/* ALLOC isn't counted: a chunk without data is a few bytes of a leaf. */
static void count_chunks(struct rs_group *g, const struct rs_rec *rec)
{
	uint64_t c = rec->off / RS_CHUNK;

	switch (rec->type) {
	case RS_REC_DATA:
		for (; c * RS_CHUNK < rec->off + rec->data_len; c++)
			count_chunk(g, rec->ino, c);
		break;
	case RS_REC_PUNCH:
		count_chunk(g, rec->ino, (rec->off + rec->range) / RS_CHUNK);
		count_chunk(g, rec->ino, c);
		break;
	case RS_REC_TRUNC:
		count_chunk(g, rec->ino, c);
		break;
	default:
		break;
	}
}

void rs_group_put(struct rs_group *g, const struct rs_rec *rec,
		  struct rs_mark *mark)
{
	size_t size = rs_rec_size(rec);

	assert(size <= g->cap - g->fill);
	rs_rec_encode(rec, records(g) + g->fill);
	count_chunks(g, rec);
	if (mark) {
		mark->number = g->number;
		mark->off = (uint32_t)g->fill;
	}
	g->fill += size;
}

/* The marked record, if it stands in the open group. */
static uint8_t *find(const struct rs_group *g, const struct rs_mark *mark)
{
	if (!mark || mark->number != g->number || mark->off >= g->fill)
		return NULL;
	return records(g) + mark->off;
}

void rs_group_replace(struct rs_group *g, const struct rs_rec *rec,
		      struct rs_mark *mark)
{
	uint8_t *old = find(g, mark);

	if (!old || rs_get16(old + 4) != (uint16_t)rec->type) {
		rs_group_put(g, rec, mark);
		return;
	}
	assert(rs_get64(old + 8) == rec->ino &&
	       rs_get32(old) == rs_rec_size(rec));
	rs_rec_encode(rec, old);
}

void rs_group_void(struct rs_group *g, struct rs_mark *mark)
{
	uint8_t *old = find(g, mark);

	if (!old)
		return;
	rs_put16(old + 4, RS_REC_VOID);
	g->dropped++;
	*mark = (struct rs_mark){ 0 };
}

void rs_group_elide(struct rs_group *g, uint64_t ino)
{
	const struct rs_rec rec = {
		.type = RS_REC_INODE_DEL,
		.flags = RS_RF_ELIDE,
		.ino = ino,
	};

	rs_group_put(g, &rec, NULL);
	g->dropped++;
}

void rs_group_end(struct rs_group *g)
{
	struct rs_segment *seg = &g->seg[g->cur];

	g->ended = g->fill;
	rs_put64(seg->map + 32, g->number);
	set_fill(seg, g->fill);
	set_state(seg, RS_GROUP_OPEN);
}

void rs_group_cut(struct rs_group *g, struct rs_group_cut *ret_cut)
{
	struct rs_segment *seg = &g->seg[g->cur];

	ret_cut->image = seg->map + RS_PAGE;
	ret_cut->fill = g->fill;
	ret_cut->dropped = g->dropped;
	ret_cut->number = g->number;
	ret_cut->seg = g->cur;
	set_state(seg, RS_GROUP_FLIGHT);
	g->cur ^= 1;
	g->fill = 0;
	g->ended = 0;
	g->dropped = 0;
	g->chunks = 0;
	g->number++;
}

void rs_group_done(struct rs_group *g, const struct rs_group_cut *cut)
{
	struct rs_segment *seg = &g->seg[cut->seg];

	set_state(seg, RS_GROUP_EMPTY);
	set_fill(seg, 0);
}
