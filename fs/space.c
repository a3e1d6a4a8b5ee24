/*
 * space.c - truncate and fallocate: what is allocated, and what reads zero.
 *
 * Everything is in pages of 4096 bytes: a punched range frees the pages that
 * it covers whole and zeroes the edges, as tmpfs does. An edge that is not
 * in RAM has to be loaded first (RS_EPARK_COLD); so has the map of a sparse
 * file from the store, because st_blocks is exact.
 */
#include <fcntl.h>
#include <linux/falloc.h>

#include "fs/core_p.h"

#define RANGE_BYTES (RS_REC_INODE_LEN + 2 * (RS_REC_HEADER + 16u))
/* pages allocated under one hold of the lock, in one frame */
#define ALLOC_STEP 1024u

static int has_any(struct rs_inode *inode, uint64_t first, uint64_t end)
{
	int any;

	rs_tree_count(rs_file_tree(inode), first, end, &any);
	return any;
}

static int is_cold(struct rs_inode *inode, uint64_t off)
{
	return rs_slot_is_cold(rs_tree_get(rs_file_tree(inode), off / RS_PAGE));
}

int rs_truncate_prepare(struct rs_core *core, struct rs_inode *inode,
			uint64_t size)
{
	uint64_t first = rs_page_up(size), end = rs_page_up(inode->data_end);
	int err;

	if (!size)
		return 0;
	if (inode->flags & RS_IF_SUSPECT)
		return -EIO;
	if (size > inode->size)
		return 0;
	err = rs_file_thaw(core, inode);
	if (err)
		return err;
	if (size % RS_PAGE && is_cold(inode, size))
		return RS_EPARK_COLD;
	if (has_any(inode, first, end))
		return RS_EPARK_COLD;
	return first < end ? rs_file_cut_room(core, inode, first, end) : 0;
}

void rs_truncate_apply(struct rs_core *core, struct rs_inode *inode,
		       uint64_t size)
{
	uint64_t first = rs_page_up(size), end = rs_page_up(inode->data_end);
	struct rs_rec rec = { .type = RS_REC_TRUNC, .off = size };

	/* growing leaves alone what fallocate put behind the old end */
	if (size < inode->size || (size == inode->size && first < end)) {
		rs_intent_rec(core, inode, &rec);
		if (size % RS_PAGE)
			rs_file_zero(inode, size, first * RS_PAGE);
		if (!size)
			rs_file_clear(core, inode);
		else
			rs_file_cut(core, inode, first, end);
	}
	inode->size = size;
	/* Nothing is left of what wasn't trusted. */
	if (!size && (inode->flags & RS_IF_SUSPECT)) {
		inode->flags &= ~RS_IF_SUSPECT;
		core->suspects--;
	}
}

/* A byte range of one fallocate, or one step of it. */
struct range {
	uint64_t off, end;
	int mode;
};

static int is_punch(const struct range *range)
{
	return range->mode & FALLOC_FL_PUNCH_HOLE;
}

static int is_zero(const struct range *range)
{
	return range->mode & FALLOC_FL_ZERO_RANGE;
}

/* The two edges of a range that isn't whole pages must be in RAM. */
static int edges_cold(struct rs_inode *inode, const struct range *range)
{
	if (range->off % RS_PAGE && is_cold(inode, range->off))
		return 1;
	return range->end % RS_PAGE && is_cold(inode, range->end);
}

static void zero_edges(struct rs_inode *inode, const struct range *range)
{
	uint64_t off = range->off, end = range->end, up;

	if (off % RS_PAGE) {
		up = rs_page_up(off) * RS_PAGE;
		rs_file_zero(inode, off, up < end ? up : end);
	}
	if (end % RS_PAGE &&
	    (end / RS_PAGE != off / RS_PAGE || !(off % RS_PAGE)))
		rs_file_zero(inode, end / RS_PAGE * RS_PAGE, end);
}

static void log_range(struct rs_core *core, struct rs_inode *inode,
		      const struct range *range, enum rs_rec_type type)
{
	struct rs_rec rec = { .type = type };

	rec.off = range->off;
	rec.range = range->end - range->off;
	rs_intent_rec(core, inode, &rec);
}

static void range_done(struct rs_core *core, struct rs_inode *inode,
		       const struct range *range)
{
	struct timespec now;

	if (!(range->mode & FALLOC_FL_KEEP_SIZE) && range->end > inode->size)
		inode->size = range->end;
	rs_times_now(core, &now);
	rs_times_change(inode, &now);
	rs_intent_inode(core, inode);
}

static int punch(struct rs_core *core, struct rs_inode *inode,
		 const struct range *range)
{
	uint64_t first = rs_page_up(range->off), end = range->end / RS_PAGE;
	uint64_t data = rs_page_up(inode->data_end);
	int err;

	if (has_any(inode, range->off / RS_PAGE, rs_page_up(range->end)) ||
	    edges_cold(inode, range))
		return RS_EPARK_COLD;
	end = end < data ? end : data;
	err = first < end ? rs_file_cut_room(core, inode, first, end) : 0;
	if (err)
		return err;
	rs_intent_begin(core);
	log_range(core, inode, range, RS_REC_PUNCH);
	zero_edges(inode, range);
	rs_file_cut(core, inode, first, end);
	range_done(core, inode, range);
	rs_intent_end(core);
	return 0;
}

/* Holes of the step, and pages that have to be taken from RAM for it. */
static uint64_t count_step(struct rs_inode *inode, const struct range *range,
			   uint64_t *ret_take)
{
	uint64_t page = range->off / RS_PAGE, end = rs_page_up(range->end);
	uint64_t holes = 0, cold = 0;
	uintptr_t slot;

	for (; page < end; page++) {
		slot = rs_tree_get(rs_file_tree(inode), page);
		holes += slot == RS_SLOT_HOLE ? 1 : 0;
		cold += rs_slot_is_cold(slot) ? 1 : 0;
	}
	*ret_take = is_zero(range) ? holes + cold : holes;
	return holes;
}

static void fill_step(struct rs_core *core, struct rs_inode *inode,
		      const struct range *range, struct rs_pool *pool)
{
	uint64_t page = range->off / RS_PAGE, end = rs_page_up(range->end);
	uint64_t from, to;
	uintptr_t slot;

	for (; page < end; page++) {
		slot = rs_tree_get(rs_file_tree(inode), page);
		if (rs_slot_is_page(slot) && is_zero(range)) {
			from = page * RS_PAGE;
			to = from + RS_PAGE;
			rs_file_zero(inode,
				     from > range->off ? from : range->off,
				     to < range->end ? to : range->end);
		} else if (slot == RS_SLOT_HOLE ||
			   (is_zero(range) && rs_slot_is_cold(slot))) {
			rs_pool_put(core, pool, inode, page);
		}
	}
}

static int alloc_step(struct rs_core *core, struct rs_inode *inode,
		      const struct range *range)
{
	uint64_t first = range->off / RS_PAGE, end = rs_page_up(range->end);
	struct rs_pool pool = { NULL };
	uint64_t holes, take;
	int err;

	if (has_any(inode, first, end) ||
	    (is_zero(range) && edges_cold(inode, range)))
		return RS_EPARK_COLD;
	holes = count_step(inode, range, &take);
	if (rs_quota_pages(core, inode, holes) < holes)
		return -ENOSPC;
	err = rs_quota_ram(core, take * RS_PAGE + take * 8, RS_NEED_GROW);
	if (!err)
		err = rs_pool_paths(core, inode, first, end);
	if (!err)
		err = rs_pool_fill(core, &pool, take);
	if (err)
		return err;
	rs_intent_begin(core);
	if (is_zero(range))
		log_range(core, inode, range, RS_REC_PUNCH);
	log_range(core, inode, range, RS_REC_ALLOC);
	fill_step(core, inode, range, &pool);
	range_done(core, inode, range);
	rs_intent_end(core);
	rs_pool_drain(core, &pool);
	return 0;
}

/* All that is going to be taken must be there before the first step. */
static int alloc_check(struct rs_core *core, struct rs_inode *inode,
		       const struct range *range)
{
	uint64_t first = range->off / RS_PAGE, end = rs_page_up(range->end);
	uint64_t holes;
	int any;

	holes = end - first -
		rs_tree_count(rs_file_tree(inode), first, end, &any);
	if (any)
		return RS_EPARK_COLD;
	return rs_quota_pages(core, inode, holes) < holes ? -ENOSPC : 0;
}

static int range_check(struct rs_core *core, struct rs_inode *inode)
{
	if (!inode)
		return -ESTALE;
	if (S_ISDIR(inode->mode))
		return -EISDIR;
	if (!S_ISREG(inode->mode))
		return -ENODEV;
	if (inode->flags & RS_IF_SUSPECT)
		return -EIO;
	return rs_file_thaw(core, inode);
}

static int range_locked(struct rs_core *core, const struct rs_op *op,
			uint64_t ino, const struct range *range,
			struct range *step)
{
	struct rs_inode *inode = rs_inode_find(core, ino);
	int err;

	err = range_check(core, inode);
	if (!err)
		err = rs_op_short(core, op, rs_inode_logged(inode));
	if (err || is_punch(range))
		return err ? err : punch(core, inode, range);
	if (step->off == range->off) {
		err = alloc_check(core, inode, range);
		if (err)
			return err;
	}
	step->end = (step->off / RS_PAGE + ALLOC_STEP) * RS_PAGE;
	if (step->end > range->end)
		step->end = range->end;
	/* The kernel learns of a new size only if all of it succeeds. */
	step->mode = range->mode;
	if (step->end < range->end)
		step->mode |= FALLOC_FL_KEEP_SIZE;
	err = alloc_step(core, inode, step);
	if (!err)
		step->off = step->end;
	return err;
}

static int run_step(struct rs_core *core, uint64_t ino,
		    const struct range *range, struct range *step)
{
	struct rs_op op;
	int err;

	rs_op_init(core, &op, ino, RANGE_BYTES,
		   is_punch(range) ? RS_NEED_SMALL : RS_NEED_GROW);
	do {
		err = rs_op_enter(core, &op);
		if (!err)
			err = range_locked(core, &op, ino, range, step);
	} while (rs_op_again(core, &op, &err));
	return err;
}

static int run(struct rs_core *core, uint64_t ino, const struct range *range)
{
	struct range step = *range;
	int err;

	do
		err = run_step(core, ino, range, &step);
	while (!err && !is_punch(range) && step.off < range->end);
	return err;
}

int rs_core_fallocate(struct rs_core *core, uint64_t ino, int mode,
		      uint64_t off, uint64_t len)
{
	struct range range = { off, off + len, mode };

	if (!len || off > INT64_MAX || len > INT64_MAX)
		return -EINVAL;
	if (range.end > INT64_MAX)
		return -EFBIG;
	switch (mode) {
	case 0:
	case FALLOC_FL_KEEP_SIZE:
	case FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE:
	case FALLOC_FL_ZERO_RANGE:
	case FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE:
		return run(core, ino, &range);
	default:
		return -EOPNOTSUPP;
	}
}
