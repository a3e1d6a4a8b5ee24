/*
 * data.c - read, write, lseek.
 *
 * A write that is longer than what one frame may bring is made of several,
 * each an operation of its own in the one order: a crash leaves a prefix.
 */
#include "fs/core_p.h"

struct write {
	const uint8_t *buf;
	size_t len;
	uint64_t off;
	int append;
};

static ssize_t read_page(struct rs_inode *inode, uint64_t off, uint8_t *buf,
			 size_t len)
{
	uintptr_t slot = rs_tree_get(rs_file_tree(inode), off / RS_PAGE);
	size_t at = off % RS_PAGE;

	if (len > RS_PAGE - at)
		len = RS_PAGE - at;
	if (rs_slot_is_cold(slot))
		return RS_EPARK_COLD;
	if (slot == RS_SLOT_HOLE)
		memset(buf, 0, len);
	else
		memcpy(buf, rs_slot_page(slot) + at, len);
	return (ssize_t)len;
}

static ssize_t read_locked(struct rs_core *core, struct rs_inode *inode,
			   uint8_t *buf, size_t len, uint64_t off)
{
	size_t done = 0;
	ssize_t n;

	if (!inode)
		return -ESTALE;
	if (S_ISDIR(inode->mode))
		return -EISDIR;
	if (!S_ISREG(inode->mode))
		return -EINVAL;
	if (inode->flags & RS_IF_SUSPECT)
		return -EIO;
	if (off >= inode->size)
		return 0;
	if (len > inode->size - off)
		len = (size_t)(inode->size - off);
	while (done < len) {
		n = read_page(inode, off + done, buf + done, len - done);
		if (n < 0)
			return n;
		done += (size_t)n;
	}
	inode->state |= RS_I_USED;
	rs_times_access(core, inode);
	return (ssize_t)done;
}

ssize_t rs_core_read(struct rs_core *core, uint64_t ino, void *buf, size_t len,
		     uint64_t off)
{
	ssize_t n;

	rs_core_lock(core);
	n = read_locked(core, rs_inode_find(core, ino), buf, len, off);
	rs_core_unlock(core);
	return n;
}

/* What a write needs: pages from RAM, and of these new ones in the account */
struct plan {
	uint64_t fresh, take;
};

/* Does it replace all that a page holds below size? */
static int covers(const struct rs_inode *inode, const struct write *w,
		  uint64_t page)
{
	uint64_t from = page * RS_PAGE, end = w->off + w->len;

	if (w->off > from)
		return 0;
	return end >= from + RS_PAGE || end >= inode->size;
}

/* Looks at one page. 0, RS_EPARK_COLD. */
static int plan_page(struct rs_inode *inode, const struct write *w,
		     uint64_t page, struct plan *plan)
{
	uintptr_t slot = rs_tree_get(rs_file_tree(inode), page);

	if (rs_slot_is_page(slot))
		return 0;
	if (slot == RS_SLOT_ANY ||
	    (slot == RS_SLOT_FULL && !covers(inode, w, page)))
		return RS_EPARK_COLD;
	plan->fresh += slot == RS_SLOT_HOLE;
	plan->take++;
	return 0;
}

/* Cut the write where pages end: before the first one too many. */
static void shorten(struct write *w, uint64_t page)
{
	uint64_t end = page * RS_PAGE;

	w->len = end > w->off ? (size_t)(end - w->off) : 0;
}

/*
 * How far the write can go: as far as capacity reaches. *w is shortened, to
 * nothing if there is no page at all.
 */
static int plan_write(struct rs_core *core, struct rs_inode *inode,
		      struct write *w, uint64_t max_fresh, uint64_t max_take,
		      struct plan *plan)
{
	uint64_t page = w->off / RS_PAGE;
	struct plan next;
	int err;

	memset(plan, 0, sizeof(*plan));
	(void)core;
	for (; page < rs_page_up(w->off + w->len); page++) {
		next = *plan;
		err = plan_page(inode, w, page, &next);
		if (err)
			return err;
		if (next.fresh > max_fresh || next.take > max_take) {
			shorten(w, page);
			return 0;
		}
		*plan = next;
	}
	return 0;
}

/* pages and the nodes over them */
static uint64_t plan_bytes(const struct plan *plan)
{
	return plan->take * RS_PAGE + (plan->take / RS_FANOUT + RS_HEIGHT_MAX +
				       1) * sizeof(struct rs_node);
}

static int plan_space(struct rs_core *core, struct rs_inode *inode,
		      struct write *w, struct plan *plan)
{
	uint64_t pages = w->len / RS_PAGE + 2;
	int err;

	pages = rs_quota_pages(core, inode, pages);
	err = plan_write(core, inode, w, pages, UINT64_MAX, plan);
	if (err || !plan->take)
		return err;
	err = rs_quota_ram(core, plan_bytes(plan), RS_NEED_GROW);
	if (err != -ENOSPC)
		return err;
	/* RAM really ends here: as much as there is, for a short count */
	return plan_write(core, inode, w, pages,
			  rs_quota_ram_pages(core, plan->take), plan);
}

static void write_apply(struct rs_core *core, struct rs_inode *inode,
			const struct write *w, struct rs_pool *pool)
{
	struct rs_rec rec = { .type = RS_REC_DATA };
	struct timespec now;

	rs_times_now(core, &now);
	rs_intent_begin(core);
	rec.off = w->off;
	rec.data = w->buf;
	rec.data_len = (uint32_t)w->len;
	rs_intent_rec(core, inode, &rec);
	rs_pool_write(core, pool, inode, w->buf, w->len, w->off);
	if (w->off + w->len > inode->size)
		inode->size = w->off + w->len;
	rs_times_change(inode, &now);
	rs_intent_inode(core, inode);
	rs_intent_end(core);
}

static int write_check(struct rs_inode *inode, struct write *w)
{
	if (!inode)
		return -ESTALE;
	if (S_ISDIR(inode->mode))
		return -EISDIR;
	if (!S_ISREG(inode->mode))
		return -EINVAL;
	if (inode->flags & RS_IF_SUSPECT)
		return -EIO;
	if (w->append)
		w->off = inode->size;
	if (w->off >= INT64_MAX)
		return -EFBIG;
	if (w->len > INT64_MAX - w->off)
		w->len = (size_t)(INT64_MAX - w->off);
	return 0;
}

static int write_locked(struct rs_core *core, const struct rs_op *op,
			struct rs_inode *inode, struct write *w)
{
	struct rs_pool pool = { NULL };
	struct plan plan = { 0 };
	int err;

	err = write_check(inode, w);
	if (!err)
		err = rs_op_short(core, op, rs_inode_logged(inode));
	if (!err)
		err = rs_file_thaw(core, inode);
	if (!err)
		err = plan_space(core, inode, w, &plan);
	if (!err && !w->len)
		err = -ENOSPC;
	if (!err)
		err = rs_pool_paths(core, inode, w->off / RS_PAGE,
				    rs_page_up(w->off + w->len));
	if (!err)
		err = rs_pool_fill(core, &pool, plan.take);
	if (err)
		return err;
	write_apply(core, inode, w, &pool);
	assert(!pool.pages);
	return 0;
}

/* One piece: it fits in a frame. Unlogged files never wait for the log. */
static ssize_t write_piece(struct rs_core *core, uint64_t ino, struct write *w)
{
	struct rs_op op;
	int err;

	rs_op_init(core, &op, ino, RS_REC_INODE_LEN + RS_REC_DATA_LEN(w->len),
		   RS_NEED_GROW);
	do {
		err = rs_op_enter(core, &op);
		if (!err)
			err = write_locked(core, &op, rs_inode_find(core, ino),
					   w);
	} while (rs_op_again(core, &op, &err));
	return err ? err : (ssize_t)w->len;
}

ssize_t rs_core_write(struct rs_core *core, uint64_t ino, const void *buf,
		      size_t len, uint64_t off, int append)
{
	size_t max = rs_room_max(core) - RS_REC_INODE_LEN - RS_PAGE, done = 0;
	struct write w = { .append = append };
	ssize_t n = 0;

	if (core->cfg.readonly)
		return -EROFS;
	while (done < len) {
		w.buf = (const uint8_t *)buf + done;
		w.len = len - done < max ? len - done : max;
		w.off = off + done;
		n = write_piece(core, ino, &w);
		if (n < 0)
			break;
		done += (size_t)n;
		if (w.off + w.len >= INT64_MAX)
			break;
	}
	return done ? (ssize_t)done : n;
}

static int64_t seek_data(struct rs_inode *inode, uint64_t off)
{
	struct rs_tree tree = rs_file_tree(inode);
	uint64_t page = rs_tree_next(tree, off / RS_PAGE, RS_SEEK_DATA), at;

	if (page == UINT64_MAX)
		return -ENXIO;
	if (rs_tree_get(tree, page) == RS_SLOT_ANY)
		return RS_EPARK_COLD;
	at = page * RS_PAGE;
	if (at < off)
		at = off;
	return at < inode->size ? (int64_t)at : -ENXIO;
}

static int64_t seek_hole(struct rs_inode *inode, uint64_t off)
{
	struct rs_tree tree = rs_file_tree(inode);
	uint64_t page = rs_tree_next(tree, off / RS_PAGE, RS_SEEK_HOLE), at;
	int any;

	rs_tree_count(tree, off / RS_PAGE, page, &any);
	if (any)
		return RS_EPARK_COLD;
	at = page * RS_PAGE;
	if (at < off)
		at = off;
	return (int64_t)(at < inode->size ? at : inode->size);
}

int64_t rs_core_lseek(struct rs_core *core, uint64_t ino, int64_t off,
		      int whence)
{
	struct rs_inode *inode;
	int64_t ret;

	rs_core_lock(core);
	inode = rs_inode_find(core, ino);
	if (!inode)
		ret = -ESTALE;
	else if (!S_ISREG(inode->mode) ||
		 (whence != SEEK_DATA && whence != SEEK_HOLE))
		ret = -EINVAL;
	else if (off < 0 || (uint64_t)off >= inode->size)
		ret = -ENXIO;
	else
		ret = rs_file_thaw(core, inode);
	if (!ret)
		ret = whence == SEEK_DATA ? seek_data(inode, (uint64_t)off)
					  : seek_hole(inode, (uint64_t)off);
	rs_core_unlock(core);
	return ret;
}
