/*
 * faults.c - errors to order. Everything is counted in requests as they
 * arrive at the disk, not as the program above made them: the block layer
 * splits and merges.
 */
#include "tests/disk/faults.h"

#include <errno.h>

static const char *const kinds[RS_DKINDS] = { "read", "write", "flush" };

int rs_dkind_parse(const char *name, enum rs_dkind *ret_kind)
{
	size_t i;

	for (i = 0; i < RS_ARRAY_LEN(kinds); i++) {
		if (strcmp(name, kinds[i]) == 0) {
			*ret_kind = (enum rs_dkind)i;
			return 0;
		}
	}
	return -EINVAL;
}

const char *rs_dkind_name(enum rs_dkind kind)
{
	return kinds[kind];
}

void rs_dfaults_release(struct rs_dfaults *f)
{
	rs_dfaults_bad_clear(f);
}

static bool overlaps(const struct rs_dbad *b, uint64_t off, uint64_t len)
{
	return off < b->off + b->len && b->off < off + len;
}

static bool is_bad(const struct rs_dfaults *f, uint64_t off, uint64_t len)
{
	size_t i;

	for (i = 0; i < f->bad_count; i++)
		if (overlaps(&f->bad[i], off, len))
			return true;
	return false;
}

/* Count one request down; true if it is the one, or one after it. */
static bool count_down(struct rs_dfail *fail)
{
	if (!fail->left)
		return false;
	if (fail->left > 1) {
		fail->left--;
		return false;
	}
	if (!fail->forever)
		fail->left = 0;
	return true;
}

int rs_dfaults_arrive(struct rs_dfaults *f, enum rs_dkind kind, uint64_t off,
		      uint64_t len, bool *ret_drop)
{
	*ret_drop = false;
	if (count_down(&f->fail[kind])) {
		*ret_drop = f->fail[kind].drop;
		return -EIO;
	}
	if (kind == RS_DREAD && is_bad(f, off, len))
		return -EIO;
	if (kind == RS_DWRITE && f->full)
		return -ENOSPC;
	return 0;
}

bool rs_dfaults_cut_here(struct rs_dfaults *f, enum rs_dkind kind)
{
	return f->cut_left[kind] && --f->cut_left[kind] == 0;
}

uint32_t rs_dfaults_shorten(struct rs_dfaults *f, enum rs_dkind kind,
			    uint32_t len, uint32_t sector)
{
	uint32_t n = f->shorten[kind];

	f->shorten[kind] = 0;
	if (!n || n >= len)
		return len;
	return n < sector ? sector : n / sector * sector;
}

int rs_dfaults_bad_add(struct rs_dfaults *f, uint64_t off, uint64_t len,
		       bool forever)
{
	struct rs_dbad *bad;

	bad = realloc(f->bad, (f->bad_count + 1) * sizeof(*bad));
	if (!bad)
		return -ENOMEM;
	f->bad = bad;
	bad[f->bad_count++] =
		(struct rs_dbad){ .off = off, .len = len, .forever = forever };
	return 0;
}

void rs_dfaults_bad_clear(struct rs_dfaults *f)
{
	free(f->bad);
	f->bad = NULL;
	f->bad_count = 0;
}

int rs_dfaults_rewritten(struct rs_dfaults *f, uint64_t off, uint64_t len)
{
	size_t i;

	for (i = 0; i < f->bad_count; i++) {
		struct rs_dbad b = f->bad[i];
		uint64_t end = b.off + b.len;
		int err = 0;

		if (b.forever || !overlaps(&b, off, len))
			continue;
		/* The part before stays in place, the one after is added. */
		f->bad[i].len = off > b.off ? off - b.off : 0;
		if (end > off + len)
			err = rs_dfaults_bad_add(f, off + len,
						 end - (off + len), false);
		if (err)
			return err;
		if (!f->bad[i].len)
			f->bad[i--] = f->bad[--f->bad_count];
	}
	return 0;
}
