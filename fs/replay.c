/*
 * replay.c - the records of frames that are not folded, applied to RAM.
 *
 * A frame is all or nothing, and within one the records of an inode may
 * stand in any order but for its data: the INODE record is the first,
 * although it tells how things are at the frame's end. So sizes, blocks and
 * data_end come from INODE records alone, and the data records only move
 * bytes and pages.
 *
 * PREDECESSORS  a record says which frame changed its inode last before its
 * own. If that isn't what we hold, a frame is missing in between: a file
 * can't be trusted any more, a directory's entries may be missing or back.
 */
#include "fs/load_p.h"

/* ---- predecessor numbers ---- */

static void suspect(struct rs_load *load, struct rs_inode *inode,
		    const struct rs_rec *rec, uint64_t number)
{
	uint32_t flag = S_ISDIR(inode->mode) ? RS_IF_GAP : RS_IF_SUSPECT;

	if (inode->flags & flag)
		return;
	inode->flags |= flag;
	rs_report_add(
		load->rep,
		S_ISDIR(inode->mode) ? RS_FIND_DIR_GAP : RS_FIND_INODE,
		inode->node.key, number, UINT64_MAX, NULL, 0,
		"a change is missing: frame %llu follows on %llu, not on %llu",
		(unsigned long long)number, (unsigned long long)rec->prev,
		(unsigned long long)inode->last);
}

/* Is the record the next one about what we hold? Then we hold this one. */
static void advance(struct rs_load *load, struct rs_inode *inode,
		    const struct rs_rec *rec, uint64_t number)
{
	uint64_t held = inode->last == number ? inode->before : inode->last;

	if (rec->prev != held)
		suspect(load, inode, rec, number);
	if (inode->last == number)
		return;
	inode->before = inode->last;
	inode->last = number;
}

/* ---- data ---- */

/*
 * Before a file's first change: whether all its pages are allocated can
 * only be told from the attributes as the store has them.
 */
static int take_base(struct rs_load *load, struct rs_inode *inode)
{
	if (!S_ISREG(inode->mode) || (inode->state & RS_I_BASE))
		return 0;
	inode->state |= RS_I_BASE;
	return rs_file_thaw(load->core, inode);
}

static struct rs_inode *regular(struct rs_load *load, const struct rs_rec *rec)
{
	return rs_load_inode(load, rec->ino, S_IFREG);
}

/* A page of the store may be an older one, or hide: the whole file tells. */
static int read_page(struct rs_load *load, struct rs_inode *inode,
		     uint64_t index, void *page, uint8_t *map)
{
	struct rs_store *store = rs_journal_store(load->core->cfg.journal);
	int err = 0;

	if (!inode->proved)
		err = rs_store_prove(store, inode->node.key);
	if (err)
		return err;
	inode->proved = 1;
	return rs_store_read(store, inode->node.key, index, 1, page, map);
}

/* A page that is only in the store comes into RAM (or is a hole there). */
static int load_page(struct rs_load *load, struct rs_inode *inode,
		     uint64_t index)
{
	struct rs_core *core = load->core;
	uintptr_t *slot;
	uint8_t map = 0;
	void *page;
	int err;

	if (!rs_slot_is_cold(rs_tree_get(rs_file_tree(inode), index)))
		return 0;
	err = rs_tree_reach(&core->mem, rs_file_tree(inode), index, &slot);
	if (err)
		return err;
	page = rs_mem_page(&core->mem);
	if (!page)
		return -ENOMEM;
	err = read_page(load, inode, index, page, &map);
	if (err || !(map & 1)) {
		rs_mem_page_free(&core->mem, page);
		*slot = RS_SLOT_HOLE;
		return err;
	}
	*slot = (uintptr_t)page;
	core->resident++;
	rs_file_resident(core, inode);
	return 0;
}

/* A page that can't be read makes its file suspect; loading goes on. */
static int need_page(struct rs_load *load, struct rs_inode *inode, uint64_t off,
		     uint64_t number)
{
	int err = load_page(load, inode, off / RS_PAGE);

	if (!err || err == -ENOMEM)
		return err;
	inode->flags |= RS_IF_SUSPECT;
	rs_report_add(load->rep, RS_FIND_INODE, inode->node.key, number,
		      UINT64_MAX, NULL, 0, "page at %llu can't be read",
		      (unsigned long long)off);
	return 0;
}

static int partial(uint64_t off)
{
	return off % RS_PAGE != 0;
}

static int load_edges(struct rs_load *load, struct rs_inode *inode,
		      uint64_t off, uint64_t end, uint64_t number)
{
	int err = 0;

	if (partial(off))
		err = need_page(load, inode, off, number);
	if (!err && partial(end))
		err = need_page(load, inode, end, number);
	return err;
}

/* What the account says comes from the INODE record. */
struct account {
	uint64_t blocks, data_end, total;
};

static struct account save(const struct rs_load *load,
			   const struct rs_inode *inode)
{
	return (struct account){ inode->blocks, inode->data_end,
				 load->core->blocks };
}

static void restore(struct rs_load *load, struct rs_inode *inode,
		    const struct account *account)
{
	inode->blocks = account->blocks;
	inode->data_end = account->data_end;
	load->core->blocks = account->total;
}

static uint64_t count_cold(struct rs_inode *inode, uint64_t first, uint64_t end,
			   int holes_only)
{
	uint64_t n = 0;
	uintptr_t slot;

	for (; first < end; first++) {
		slot = rs_tree_get(rs_file_tree(inode), first);
		n += holes_only ? slot == RS_SLOT_HOLE : !rs_slot_is_page(slot);
	}
	return n;
}

static int replay_data(struct rs_load *load, struct rs_inode *inode,
		       const struct rs_rec *rec, uint64_t number)
{
	uint64_t end = rec->off + rec->data_len;
	uint64_t first = rec->off / RS_PAGE, last = rs_page_up(end);
	struct account account = save(load, inode);
	struct rs_pool pool = { NULL };
	int err;

	err = load_edges(load, inode, rec->off, end, number);
	if (!err)
		err = rs_pool_paths(load->core, inode, first, last);
	if (!err)
		err = rs_pool_fill(load->core, &pool,
				   count_cold(inode, first, last, 0));
	if (err)
		return err;
	rs_pool_write(load->core, &pool, inode, rec->data, rec->data_len,
		      rec->off);
	restore(load, inode, &account);
	return 0;
}

static void bury(void *arg, uintptr_t slot, unsigned int height)
{
	rs_grave_push(arg, slot, height);
}

static int cut(struct rs_load *load, struct rs_inode *inode, uint64_t first,
	       uint64_t end)
{
	struct rs_core *core = load->core;
	int err;

	if (first >= end)
		return 0;
	err = rs_file_cut_room(core, inode, first, end);
	if (err)
		return err;
	rs_tree_cut(&core->mem, rs_file_tree(inode), first, end, bury, core);
	rs_grave_work(core, UINT32_MAX);
	return 0;
}

static int replay_trunc(struct rs_load *load, struct rs_inode *inode,
			const struct rs_rec *rec, uint64_t number)
{
	uint64_t first = rs_page_up(rec->off);
	uint64_t end = rs_slot_span(inode->height);
	int err;

	if (!rec->off) {
		inode->flags &= ~RS_IF_SUSPECT;
	} else if (partial(rec->off)) {
		err = need_page(load, inode, rec->off, number);
		if (err)
			return err;
		rs_file_zero(inode, rec->off, first * RS_PAGE);
	}
	return cut(load, inode, first, end);
}

static int replay_punch(struct rs_load *load, struct rs_inode *inode,
			const struct rs_rec *rec, uint64_t number)
{
	uint64_t end = rec->off + rec->range, up = rs_page_up(rec->off);
	int err;

	err = load_edges(load, inode, rec->off, end, number);
	if (err)
		return err;
	if (partial(rec->off))
		rs_file_zero(inode, rec->off,
			     up * RS_PAGE < end ? up * RS_PAGE : end);
	if (partial(end) && end / RS_PAGE >= up)
		rs_file_zero(inode, end / RS_PAGE * RS_PAGE, end);
	return cut(load, inode, up, end / RS_PAGE);
}

static int replay_alloc(struct rs_load *load, struct rs_inode *inode,
			const struct rs_rec *rec, uint64_t number)
{
	uint64_t page = rec->off / RS_PAGE;
	uint64_t end = rs_page_up(rec->off + rec->range);
	struct account account = save(load, inode);
	struct rs_pool pool = { NULL };
	uint64_t at = page;
	int err = 0;

	/* of a sparse file in the store: which are there already */
	while (!err &&
	       (at = rs_tree_next(rs_file_tree(inode), at, RS_SEEK_ANY)) < end)
		err = need_page(load, inode, at++ * RS_PAGE, number);
	if (!err)
		err = rs_pool_paths(load->core, inode, page, end);
	if (!err)
		err = rs_pool_fill(load->core, &pool,
				   count_cold(inode, page, end, 1));
	if (err)
		return err;
	for (; page < end; page++) {
		if (rs_tree_get(rs_file_tree(inode), page) == RS_SLOT_HOLE)
			rs_pool_put(load->core, &pool, inode, page);
	}
	restore(load, inode, &account);
	return 0;
}

static int replay_range(struct rs_load *load, const struct rs_rec *rec,
			uint64_t number)
{
	struct rs_inode *inode = regular(load, rec);
	int err;

	if (!inode)
		return -ENOMEM;
	advance(load, inode, rec, number);
	if (!S_ISREG(inode->mode)) {
		suspect(load, inode, rec, number);
		return 0;
	}
	err = take_base(load, inode);
	if (err)
		return err;
	if (rec->type == RS_REC_DATA)
		return replay_data(load, inode, rec, number);
	if (rec->type == RS_REC_TRUNC)
		return replay_trunc(load, inode, rec, number);
	if (rec->type == RS_REC_PUNCH)
		return replay_punch(load, inode, rec, number);
	return replay_alloc(load, inode, rec, number);
}

/* ---- inodes and entries ---- */

static int replay_inode(struct rs_load *load, const struct rs_rec *rec,
			uint64_t number)
{
	struct rs_inode *inode = rs_load_inode(load, rec->ino, rec->attr.mode);
	uint32_t distrust;
	int err;

	if (!inode)
		return -ENOMEM;
	err = take_base(load, inode);
	if (err)
		return err;
	advance(load, inode, rec, number);
	distrust = inode->flags & (RS_IF_SUSPECT | RS_IF_GAP);
	err = rs_load_attr(load, inode, &rec->attr);
	inode->flags |= distrust;
	/* born here: nothing of it is in the store */
	if (S_ISREG(inode->mode))
		inode->state |= RS_I_BASE;
	return err;
}

static int replay_inode_del(struct rs_load *load, const struct rs_rec *rec)
{
	struct rs_core *core = load->core;
	struct rs_inode *inode = rs_inode_find(core, rec->ino);

	if (!inode || inode == core->root)
		return 0;
	inode->state |= RS_I_GONE;
	inode->nlink = 0;
	if (!inode->names && (!S_ISDIR(inode->mode) || !inode->u.dir->live))
		rs_inode_free(core, inode);
	return 0;
}

static int replay_entry(struct rs_load *load, const struct rs_rec *rec,
			uint64_t number)
{
	struct rs_inode *dir = rs_load_inode(load, rec->ino, S_IFDIR), *child;
	struct rs_dentry *dentry;

	if (!dir)
		return -ENOMEM;
	advance(load, dir, rec, number);
	if (!S_ISDIR(dir->mode)) {
		suspect(load, dir, rec, number);
		return 0;
	}
	if (rec->type == RS_REC_ENTRY_PUT) {
		child = rs_load_inode(load, rec->child, 0);
		if (!child)
			return -ENOMEM;
		return rs_load_entry(load, dir, rec->name, rec->name_len, child,
				     number);
	}
	dentry = rs_dentry_find(load->core, dir, (const char *)rec->name,
				rec->name_len);
	if (dentry)
		rs_load_unentry(load, dentry);
	return 0;
}

static int replay_xattr(struct rs_load *load, const struct rs_rec *rec,
			uint64_t number)
{
	struct rs_inode *inode = rs_load_inode(load, rec->ino, 0);

	if (!inode)
		return -ENOMEM;
	advance(load, inode, rec, number);
	if (rec->type == RS_REC_XATTR_PUT)
		return rs_xattr_load(load->core, inode, rec->name,
				     rec->name_len, rec->data, rec->data_len);
	rs_xattr_unload(load->core, inode, rec->name, rec->name_len);
	return 0;
}

static int replay_link(struct rs_load *load, const struct rs_rec *rec,
		       uint64_t number)
{
	struct rs_inode *inode = rs_load_inode(load, rec->ino, S_IFLNK);

	if (!inode)
		return -ENOMEM;
	advance(load, inode, rec, number);
	if (!S_ISLNK(inode->mode)) {
		suspect(load, inode, rec, number);
		return 0;
	}
	return rs_load_target(load, inode, rec->data, rec->data_len);
}

int rs_load_record(void *arg, const struct rs_rec *rec, uint64_t number)
{
	struct rs_load *load = arg;

	switch (rec->type) {
	case RS_REC_INODE:
		return replay_inode(load, rec, number);
	case RS_REC_INODE_DEL:
		return replay_inode_del(load, rec);
	case RS_REC_ENTRY_PUT:
	case RS_REC_ENTRY_DEL:
		return replay_entry(load, rec, number);
	case RS_REC_DATA:
	case RS_REC_TRUNC:
	case RS_REC_PUNCH:
	case RS_REC_ALLOC:
		return replay_range(load, rec, number);
	case RS_REC_XATTR_PUT:
	case RS_REC_XATTR_DEL:
		return replay_xattr(load, rec, number);
	case RS_REC_LINK:
		return replay_link(load, rec, number);
	case RS_REC_CEILING:
		if (rec->off > load->core->next_ino)
			load->core->next_ino = rec->off;
		return 0;
	case RS_REC_VOID:
	case RS_REC_TYPES:
		break;
	}
	return 0;
}
