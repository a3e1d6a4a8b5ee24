/*
 * cut.c - the power cut.
 *
 * MODEL	For a unit (512 or 4096 bytes) let e1..ek be the unflushed
 *	writes that touch it, oldest first. What the medium shows afterwards
 *	is the stable content with e1..ej put over it, for some 0 <= j <= k:
 *	a drive's cache has one copy of a sector, so an older version never
 *	lands after a newer one, but it may have landed before that came.
 *	by=sector draws j for each unit. by=write draws whole writes, which
 *	tears nothing but reorders everything, and by=prefix keeps the order
 *	and tears one write. A random half of all sectors alone would hardly
 *	ever leave a long write whole, so the default is a mix.
 */
#include "tests/disk/cut.h"

#include "tests/disk/rng.h"

#include <errno.h>
#include <sys/mman.h>

/* what a draw is about, so that draws about one number are independent */
enum {
	SALT_BY = 1,
	SALT_KEEP,
	SALT_KEPT,
	SALT_NEWEST,
	SALT_VERSION,
	SALT_TORN,
};

static const char *const names[] = { "mix", "sector", "write", "prefix" };

const char *rs_dcut_by_name(enum rs_dcut_by by)
{
	return (size_t)by < RS_ARRAY_LEN(names) ? names[by] : NULL;
}

int rs_dcut_by_parse(const char *name, enum rs_dcut_by *ret_by)
{
	size_t i;

	for (i = 0; i < RS_ARRAY_LEN(names); i++) {
		if (strcmp(name, names[i]) == 0) {
			*ret_by = (enum rs_dcut_by)i;
			return 0;
		}
	}
	return -EINVAL;
}

/* for each unit of the disk, pages of it only where something is written */
struct counts {
	uint32_t *total; /* unflushed writes that touch it */
	uint32_t *seen;	 /* of these, looked at so far */
	size_t bytes;	 /* of each of the two */
};

static void *count_pages(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void counts_release(struct counts *n)
{
	if (n->total)
		munmap(n->total, n->bytes);
	if (n->seen)
		munmap(n->seen, n->bytes);
	n->total = NULL;
	n->seen = NULL;
}

static int counts_init(struct counts *n, const struct rs_dcache *c,
		       uint32_t unit)
{
	size_t i;

	n->bytes = (c->size / unit + 1) * sizeof(n->total[0]);
	n->total = count_pages(n->bytes);
	n->seen = count_pages(n->bytes);
	if (!n->total || !n->seen) {
		counts_release(n);
		return -ENOMEM;
	}
	for (i = 0; i < c->count; i++) {
		const struct rs_dwrite *w = c->log[c->head + i];
		uint64_t u;

		for (u = w->off / unit; u <= (w->off + w->len - 1) / unit; u++)
			n->total[u]++;
	}
	return 0;
}

/* j of MODEL for one unit that k writes touch */
static uint32_t versions_kept(const struct rs_dcut *cut, uint64_t unit,
			      uint32_t k)
{
	if ((int)(rs_rng_at(cut->seed, unit, SALT_KEPT) % 100) >= cut->keep)
		return 0;
	if (rs_rng_at(cut->seed, unit, SALT_NEWEST) % 2)
		return k;
	return 1 + (uint32_t)(rs_rng_at(cut->seed, unit, SALT_VERSION) % k);
}

static int put_part(struct rs_dcache *c, const struct rs_dwrite *w,
		    uint64_t unit, uint32_t bytes)
{
	uint64_t from = unit * bytes;
	uint64_t to = from + bytes;

	if (from < w->off)
		from = w->off;
	if (to > w->off + w->len)
		to = w->off + w->len;
	return rs_dcache_medium_write(c, from, w->data + (from - w->off),
				      to - from);
}

static int cut_sectors(struct rs_dcache *c, struct rs_dcut_result *r)
{
	const struct rs_dcut *cut = &r->used;
	struct counts n = { 0 };
	int err = counts_init(&n, c, cut->sector);
	size_t i;

	for (i = 0; !err && i < c->count; i++) {
		const struct rs_dwrite *w = c->log[c->head + i];
		uint64_t u = w->off / cut->sector;
		uint64_t last = (w->off + w->len - 1) / cut->sector;

		for (; !err && u <= last; u++) {
			uint32_t k = n.total[u];
			uint32_t j = versions_kept(cut, u, k);

			if (n.seen[u]++ < j)
				err = put_part(c, w, u, cut->sector);
			if (n.seen[u] < k)
				continue;
			r->units++;
			r->kept += j == k;
			r->older += j > 0 && j < k;
		}
	}
	counts_release(&n);
	return err;
}

static int cut_writes(struct rs_dcache *c, struct rs_dcut_result *r)
{
	const struct rs_dcut *cut = &r->used;
	size_t i;

	for (i = 0; i < c->count; i++) {
		const struct rs_dwrite *w = c->log[c->head + i];
		int err;

		r->units += w->len / RS_DCACHE_SECTOR;
		if ((int)(rs_rng_at(cut->seed, i, SALT_KEPT) % 100) >=
		    cut->keep)
			continue;
		r->kept += w->len / RS_DCACHE_SECTOR;
		err = rs_dcache_medium_write(c, w->off, w->data, w->len);
		if (err)
			return err;
	}
	return 0;
}

/* keep is the place of the torn write, in percent of the log; 0 is nothing at
 * all here too. */
static int cut_prefix(struct rs_dcache *c, struct rs_dcut_result *r)
{
	const struct rs_dcut *cut = &r->used;
	size_t whole = c->count * (size_t)cut->keep / 100;
	size_t i;

	for (i = 0; i < c->count; i++) {
		const struct rs_dwrite *w = c->log[c->head + i];
		uint32_t units = w->len / cut->sector;
		uint32_t len = i < whole ? w->len : 0;
		int err;

		r->units += w->len / RS_DCACHE_SECTOR;
		if (i == whole && units && cut->keep)
			len = (uint32_t)(rs_rng_at(cut->seed, 0, SALT_TORN) %
					 units) *
			      cut->sector;
		r->kept += len / RS_DCACHE_SECTOR;
		err = rs_dcache_medium_write(c, w->off, w->data, len);
		if (err)
			return err;
	}
	return 0;
}

/* half of the cuts by sector, a quarter each by write and in order */
static enum rs_dcut_by draw_by(uint64_t seed)
{
	static const enum rs_dcut_by by[] = { RS_DCUT_SECTOR, RS_DCUT_SECTOR,
					      RS_DCUT_WRITE, RS_DCUT_PREFIX };

	return by[rs_rng_at(seed, 0, SALT_BY) % RS_ARRAY_LEN(by)];
}

/* From nothing to everything; the middle alone would miss the extremes. */
static int draw_keep(uint64_t seed)
{
	static const int keep[] = { 0, 5, 25, 50, 75, 95, 100 };

	return keep[rs_rng_at(seed, 0, SALT_KEEP) % RS_ARRAY_LEN(keep)];
}

int rs_dcut_apply(struct rs_dcache *c, const struct rs_dcut *cut,
		  struct rs_dcut_result *ret_result)
{
	struct rs_dcut_result r = { .used = *cut };
	int err;

	if (cut->keep > 100 || (cut->sector != 512 && cut->sector != 4096))
		return -EINVAL;
	if (r.used.by == RS_DCUT_MIX)
		r.used.by = draw_by(cut->seed);
	if (r.used.keep < 0)
		r.used.keep = draw_keep(cut->seed);
	if (r.used.by == RS_DCUT_SECTOR)
		err = cut_sectors(c, &r);
	else if (r.used.by == RS_DCUT_WRITE)
		err = cut_writes(c, &r);
	else
		err = cut_prefix(c, &r);
	rs_dcache_drop(c);
	if (!err)
		*ret_result = r;
	return err;
}
