/*
 * closure.c - logging an inode that was unlogged until now, whole (DESIGN
 * "Closure"): an O_TMPFILE that gets a name.
 *
 * Staged: first the inode, marked RS_IF_STAGED, with its xattrs; then its
 * data in as many frames as it takes; the caller appends the entry last,
 * together with the inode without the mark. A crash in between leaves an
 * inode without an entry, which recovery reaps. Writes that come meanwhile
 * are logged by themselves; staging what they wrote once more does no harm.
 *
 * A link that fails after that leaves the inode staged: the next try finds
 * it ready, and the last forget takes it out of the log. (Taking it out at
 * once would elide its number in the open group, and a second link could
 * bring it back in the same group.)
 *
 * The tree lock is only held for one piece at a time.
 */
#include "fs/core_p.h"

#define PIECE_MAX (1u << 20) /* bytes of data in one frame */
#define REAP_STEP 64u	     /* left-over inodes cleared in one frame */
#define WAIT_NS 20000000     /* between two tries */
#define WAIT_MAX (30u * (1000000000u / WAIT_NS)) /* tries: 30 s in all */

/*
 * Data comes, so the reserve isn't for it; but the caller is no request that
 * can be parked, so the waiting is done here.
 */
static int take_waiting(struct rs_core *core, struct rs_room *room,
			size_t bytes)
{
	const struct timespec pause = { 0, WAIT_NS };
	unsigned int tries;
	int err;

	for (tries = 0; tries < WAIT_MAX; tries++) {
		err = rs_room_take(core, room, bytes, RS_NEED_GROW);
		if (err != RS_EPARK)
			return err;
		rs_journal_kick_checkpoint(core->cfg.journal);
		nanosleep(&pause, NULL);
	}
	return -ENOSPC;
}

static size_t xattr_bytes(const struct rs_inode *inode)
{
	const struct rs_xattr *xattr;
	size_t bytes = 0;

	for (xattr = inode->xattrs; xattr; xattr = xattr->next)
		bytes += RS_REC_INODE_LEN + xattr->name_len + xattr->value_len;
	return bytes;
}

static void log_xattrs(struct rs_core *core, struct rs_inode *inode)
{
	const struct rs_xattr *xattr;
	struct rs_rec rec;

	for (xattr = inode->xattrs; xattr; xattr = xattr->next) {
		memset(&rec, 0, sizeof(rec));
		rec.type = RS_REC_XATTR_PUT;
		rec.name = (const uint8_t *)xattr->name;
		rec.name_len = xattr->name_len;
		rec.data = rec.name + xattr->name_len;
		rec.data_len = xattr->value_len;
		rs_intent_rec(core, inode, &rec);
	}
}

/* 0; 1: the room is too small, *bytes says what is needed */
static int begin_locked(struct rs_core *core, uint64_t ino,
			const struct rs_room *room, size_t *bytes)
{
	struct rs_inode *inode = rs_inode_find(core, ino);

	if (!inode)
		return -ESTALE;
	if (rs_inode_logged(inode))
		return 0;
	*bytes = RS_REC_INODE_LEN + xattr_bytes(inode);
	if (room->bytes < *bytes)
		return 1;
	inode->flags |= RS_IF_STAGED;
	rs_intent_begin(core);
	rs_intent_born(core, inode);
	log_xattrs(core, inode);
	rs_intent_end(core);
	return 0;
}

static int stage_inode(struct rs_core *core, uint64_t ino)
{
	size_t bytes = RS_REC_INODE_LEN;
	struct rs_room room;
	int err;

	do {
		err = take_waiting(core, &room, bytes);
		if (err)
			return err;
		rs_core_lock(core);
		err = begin_locked(core, ino, &room, &bytes);
		rs_core_unlock(core);
		rs_room_give(core, &room);
	} while (err == 1);
	return err;
}

/* One page of RAM: bytes below size as data, the rest as allocated. */
static void log_page(struct rs_core *core, struct rs_inode *inode,
		     uint64_t page, const unsigned char *bytes)
{
	struct rs_rec rec = { .off = page * RS_PAGE };

	if (rec.off < inode->size) {
		rec.type = RS_REC_DATA;
		rec.data = bytes;
		rec.data_len = RS_PAGE;
		if (inode->size - rec.off < RS_PAGE)
			rec.data_len = (uint32_t)(inode->size - rec.off);
	} else {
		rec.type = RS_REC_ALLOC;
		rec.range = RS_PAGE;
	}
	rs_intent_rec(core, inode, &rec);
}

/* Pages from *page on, as many as the room holds. 1: there are more. */
static int data_locked(struct rs_core *core, uint64_t ino,
		       const struct rs_room *room, uint64_t *page)
{
	struct rs_inode *inode = rs_inode_find(core, ino);
	size_t left = room->bytes - RS_REC_INODE_LEN;
	uintptr_t slot;

	if (!inode)
		return -ESTALE;
	if (!rs_inode_logged(inode))
		return 0;
	rs_intent_begin(core);
	for (;; (*page)++) {
		*page = rs_tree_next(rs_file_tree(inode), *page, RS_SEEK_DATA);
		if (*page == UINT64_MAX || left < RS_REC_DATA_LEN(RS_PAGE))
			break;
		left -= RS_REC_DATA_LEN(RS_PAGE);
		slot = rs_tree_get(rs_file_tree(inode), *page);
		assert(rs_slot_is_page(slot));
		log_page(core, inode, *page, rs_slot_page(slot));
	}
	rs_intent_inode(core, inode);
	rs_intent_end(core);
	if (*page == UINT64_MAX)
		inode->state |= RS_I_WHOLE;
	return *page != UINT64_MAX;
}

static int stage_data(struct rs_core *core, uint64_t ino)
{
	size_t bytes = rs_room_max(core) / 2;
	struct rs_room room;
	uint64_t page = 0;
	int err;

	if (bytes > PIECE_MAX)
		bytes = PIECE_MAX;
	do {
		err = take_waiting(core, &room, bytes);
		if (err)
			return err;
		rs_core_lock(core);
		err = data_locked(core, ino, &room, &page);
		rs_core_unlock(core);
		rs_room_give(core, &room);
	} while (err == 1);
	return err;
}

int rs_closure_stage(struct rs_core *core, uint64_t ino)
{
	int err;

	err = stage_inode(core, ino);
	return err ? err : stage_data(core, ino);
}

/*
 * Was staged and never got a name; nobody knows it any more. Without room
 * (the log is poisoned) recovery reaps it.
 */
void rs_closure_forget(struct rs_core *core, uint64_t ino)
{
	struct rs_room room;
	struct rs_inode *inode;
	int err;

	err = rs_room_take(core, &room, RS_REC_INODE_LEN, RS_NEED_SMALL);
	rs_core_lock(core);
	inode = rs_inode_find(core, ino);
	if (inode && !inode->nlookup && !inode->nlink) {
		if (!err) {
			rs_intent_begin(core);
			rs_intent_dead(core, inode);
			rs_intent_end(core);
		}
		rs_inode_put(core, inode);
	}
	rs_core_unlock(core);
	rs_room_give(core, &room);
}

void rs_closure_reap(struct rs_core *core)
{
	struct rs_rec rec = { .type = RS_REC_INODE_DEL };
	struct rs_room room;
	size_t n;

	if (rs_room_take(core, &room, REAP_STEP * RS_REC_HEADER, RS_NEED_SMALL))
		return;
	rs_core_lock(core);
	rs_intent_begin(core);
	for (n = 0; n < REAP_STEP && core->n_stale; n++) {
		rec.ino = core->stale[--core->n_stale].ino;
		rec.prev = core->stale[core->n_stale].last;
		rs_journal_put(core->cfg.journal, &rec, NULL);
	}
	rs_intent_end(core);
	rs_core_unlock(core);
	rs_room_give(core, &room);
}
