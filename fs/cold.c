/*
 * cold.c - data that is in the store and not in RAM: bringing it in, and
 * dropping what is folded.
 *
 * A reader copies the store's pages without the tree lock and then looks
 * again. A slot that is still cold still means the store's bytes, unless
 * the file's data went into RAM, was changed, folded and dropped again in
 * between: dropping raises the inode's gen, and then the reader begins anew.
 *
 * Data may be dropped when the inode's last frame is folded (last <=
 * applied). That is stricter than needed, page by page, but a chunk of the
 * store overlaps two pages, and one number an inode costs nothing.
 */
#include "fs/core_p.h"

#define LOAD_PAGES 64u /* in one read of the store */

/* A piece of the work: pages [page, page + n) of ino, as of gen. */
struct piece {
	uint64_t ino, page;
	unsigned int n;
	uint32_t gen;
	uint8_t *buf;
	uint8_t map[LOAD_PAGES / 8];
};

static int is_mapped(const struct piece *piece, unsigned int i)
{
	return piece->map[i / 8] >> (i % 8) & 1;
}

static int wanted(uintptr_t slot, enum rs_seek what)
{
	return slot == RS_SLOT_ANY ||
	       (what == RS_SEEK_COLD && slot == RS_SLOT_FULL);
}

/* The first pages in [page, end) that are wanted. n == 0: none. */
static void find_piece(struct rs_inode *inode, uint64_t page, uint64_t end,
		       enum rs_seek what, struct piece *piece)
{
	struct rs_tree tree = rs_file_tree(inode);

	piece->n = 0;
	piece->gen = inode->gen;
	page = rs_tree_next(tree, page, what);
	piece->page = page;
	while (page < end && piece->n < LOAD_PAGES &&
	       wanted(rs_tree_get(tree, page), what)) {
		piece->n++;
		page++;
	}
}

static int find_locked(struct rs_core *core, uint64_t first, uint64_t end,
		       enum rs_seek what, struct piece *piece)
{
	struct rs_inode *inode = rs_inode_find(core, piece->ino);
	uint64_t limit;
	int err;

	piece->n = 0;
	if (!inode || !S_ISREG(inode->mode) || !core->cfg.journal)
		return 0;
	if (inode->flags & RS_IF_SUSPECT)
		return -EIO;
	err = rs_file_thaw(core, inode);
	if (err)
		return err;
	limit = rs_page_up(inode->data_end);
	find_piece(inode, first, end < limit ? end : limit, what, piece);
	if (piece->n && what == RS_SEEK_COLD)
		err = rs_quota_ram(core, (uint64_t)piece->n * RS_PAGE,
				   RS_NEED_GROW);
	/* a reader waits for room, however long: nothing else helps it */
	return err == -ENOSPC ? RS_EPARK : err;
}

static int install_page(struct rs_core *core, struct rs_inode *inode,
			const struct piece *piece, unsigned int i,
			enum rs_seek what)
{
	uintptr_t *slot;
	void *page;
	int err;

	err = rs_tree_reach(&core->mem, rs_file_tree(inode), piece->page + i,
			    &slot);
	if (err)
		return err;
	if (!wanted(*slot, what))
		return 0;
	if (!is_mapped(piece, i)) {
		/* the metadata says that it is there, the store has lost it */
		if (*slot == RS_SLOT_FULL)
			return -EIO;
		*slot = RS_SLOT_HOLE;
		return 0;
	}
	if (what == RS_SEEK_ANY) {
		*slot = RS_SLOT_FULL;
		return 0;
	}
	page = rs_mem_page(&core->mem);
	if (!page)
		return -ENOMEM;
	memcpy(page, piece->buf + (size_t)i * RS_PAGE, RS_PAGE);
	*slot = (uintptr_t)page;
	core->resident++;
	rs_file_resident(core, inode);
	return 0;
}

static void no_bury(void *arg, uintptr_t slot, unsigned int height)
{
	rs_grave_push(arg, slot, height);
}

/* Leaves that turned out to be all hole are given back. */
static void prune(struct rs_core *core, struct rs_inode *inode,
		  const struct piece *piece)
{
	uint64_t first = piece->page & ~(uint64_t)(RS_FANOUT - 1);
	uint64_t end = (piece->page + piece->n + RS_FANOUT - 1) &
		       ~(uint64_t)(RS_FANOUT - 1);

	for (; first < end; first += RS_FANOUT) {
		if (rs_tree_next(rs_file_tree(inode), first, RS_SEEK_DATA) <
			    first + RS_FANOUT ||
		    rs_grave_room(core, RS_FANOUT))
			continue;
		rs_tree_cut(&core->mem, rs_file_tree(inode), first,
			    first + RS_FANOUT, no_bury, core);
	}
}

static int install(struct rs_core *core, const struct piece *piece,
		   enum rs_seek what)
{
	struct rs_inode *inode = rs_inode_find(core, piece->ino);
	unsigned int i;
	int err = 0;

	/* gone, or another content by now: look again */
	if (!inode || inode->gen != piece->gen)
		return 0;
	for (i = 0; i < piece->n && !err; i++)
		err = install_page(core, inode, piece, i, what);
	prune(core, inode, piece);
	return err;
}

/* One piece after the other, until nothing is wanted any more. */
static int bring_pieces(struct rs_core *core, struct piece *piece,
			uint64_t first, uint64_t end, enum rs_seek what)
{
	struct rs_store *store;
	int err;

	for (;;) {
		rs_core_lock(core);
		err = find_locked(core, first, end, what, piece);
		rs_core_unlock(core);
		if (err || !piece->n)
			return err;
		store = rs_journal_store(core->cfg.journal);
		err = rs_store_read(store, piece->ino, piece->page, piece->n,
				    piece->buf, piece->map);
		if (err)
			return err;
		rs_core_lock(core);
		err = install(core, piece, what);
		rs_core_unlock(core);
		if (err)
			return err;
	}
}

/* Once for each inode, before anything of it is served from the store. */
static int prove(struct rs_core *core, uint64_t ino)
{
	struct rs_inode *inode;
	int need, err;

	rs_core_lock(core);
	inode = rs_inode_find(core, ino);
	need = inode && core->cfg.journal && !inode->proved;
	rs_core_unlock(core);
	if (!need)
		return 0;
	err = rs_store_prove(rs_journal_store(core->cfg.journal), ino);
	if (err)
		return err;
	rs_core_lock(core);
	inode = rs_inode_find(core, ino);
	if (inode)
		inode->proved = 1;
	rs_core_unlock(core);
	return 0;
}

static int bring(struct rs_core *core, uint64_t ino, uint64_t first,
		 uint64_t end, enum rs_seek what)
{
	struct piece piece = { .ino = ino };
	int err;

	err = prove(core, ino);
	if (err)
		return err;
	piece.buf = malloc((size_t)LOAD_PAGES * RS_PAGE);
	if (!piece.buf)
		return -ENOMEM;
	err = bring_pieces(core, &piece, first, end, what);
	free(piece.buf);
	return err;
}

/* Where an appending write would go. */
static uint64_t end_of(struct rs_core *core, uint64_t ino)
{
	struct rs_inode *inode;
	uint64_t size;

	rs_core_lock(core);
	inode = rs_inode_find(core, ino);
	size = inode ? inode->size : 0;
	rs_core_unlock(core);
	return size;
}

int rs_core_load(struct rs_core *core, uint64_t ino, uint64_t off, uint64_t len)
{
	uint64_t end;

	if (off == RS_OFF_END)
		off = end_of(core, ino);
	end = off + len < off ? UINT64_MAX : off + len;
	return bring(core, ino, off / RS_PAGE, rs_page_up(end), RS_SEEK_COLD);
}

int rs_core_load_edges(struct rs_core *core, uint64_t ino, uint64_t off,
		       uint64_t len)
{
	uint64_t end = off + len < off ? UINT64_MAX : off + len;
	int err = 0;

	if (off % RS_PAGE)
		err = rs_core_load(core, ino, off, 1);
	if (!err && end % RS_PAGE && end != UINT64_MAX)
		err = rs_core_load(core, ino, end, 1);
	if (err)
		return err;
	return bring(core, ino, off / RS_PAGE, rs_page_up(end), RS_SEEK_ANY);
}

/* Every page is dropped: a dense file is again as it was loaded. */
static void all_dropped(struct rs_core *core, struct rs_inode *inode)
{
	rs_file_unclock(core, inode);
	if (!rs_file_is_dense(inode) || rs_grave_room(core, 1))
		return;
	rs_grave_push(core, inode->u.root, inode->height);
	inode->u.root = RS_SLOT_HOLE;
	rs_file_freeze(inode);
}

static uint64_t drop(struct rs_core *core, struct rs_inode *inode, uint64_t max)
{
	uint64_t n;

	n = rs_tree_evict(&core->mem, rs_file_tree(inode), max);
	core->resident -= n;
	inode->gen++;
	if (n < max)
		all_dropped(core, inode);
	return n;
}

static int may_drop(const struct rs_inode *inode, uint64_t applied)
{
	return rs_inode_logged(inode) && inode->last <= applied &&
	       !(inode->flags & (RS_IF_SUSPECT | RS_IF_STAGED));
}

uint64_t rs_clock_evict(struct rs_core *core, uint64_t bytes)
{
	uint64_t want = rs_page_up(bytes), done = 0, looked = 0;
	struct rs_journal_status status;
	struct rs_inode *inode;

	if (!core->clock)
		return 0;
	rs_journal_status(core->cfg.journal, &status);
	/* two rounds: the first takes away what was used lately */
	while (done < want && core->clock && looked < 2 * core->n_clock) {
		inode = core->clock;
		core->clock = inode->clock_next;
		looked++;
		if (inode->state & RS_I_USED)
			inode->state &= (uint8_t)~RS_I_USED;
		else if (may_drop(inode, status.applied))
			done += drop(core, inode, want - done);
	}
	return done * RS_PAGE;
}

uint64_t rs_core_shrink(struct rs_core *core, uint64_t target)
{
	uint64_t used, freed = 0;

	rs_core_lock(core);
	used = rs_mem_used(&core->mem);
	if (used > target)
		freed = rs_clock_evict(core, used - target);
	rs_core_unlock(core);
	return freed;
}
