/*
 * closure.c - logging a file that was unlogged until now, whole (DESIGN
 * "Closure"): an O_TMPFILE that gets a name, a file of a volatile directory
 * that gets one in a logged directory. closure_tree.c does directories.
 *
 * Staged: first the inode, marked RS_IF_STAGED, with its xattrs; then its
 * data in as many frames as it takes; the caller appends the entry last,
 * together with the inode without the mark. A crash in between leaves an
 * inode without an entry, which recovery reaps. Writes that come meanwhile
 * are logged by themselves; staging what they wrote once more does no harm.
 *
 * A file that was logged before may have left data in the store alone. It
 * is brought into RAM before the first record, since with that one a fold
 * may cut off what the store has under the old life of the number.
 *
 * The tree lock is only held for one piece at a time.
 */
#include "fs/core_p.h"

#define PIECE_MAX (1u << 20) /* bytes of data in one frame */
#define WAIT_MAX 1500u	     /* tries, of 20 ms: 30 s in all */

/*
 * Data comes, so the reserve isn't for it; but the caller is no request that
 * can be parked, so the waiting is done here.
 */
static int pause_for(struct rs_core *core, unsigned int *tries)
{
	if (++*tries > WAIT_MAX)
		return -ENOSPC;
	rs_journal_await_space(core->cfg.journal);
	return 0;
}

int rs_closure_room(struct rs_core *core, struct rs_room *room, size_t bytes)
{
	unsigned int tries = 0;
	int err;

	do {
		err = rs_room_take(core, room, bytes, RS_NEED_GROW);
		if (err != RS_EPARK)
			return err;
		err = pause_for(core, &tries);
	} while (!err);
	return err;
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

static void log_target(struct rs_core *core, struct rs_inode *inode)
{
	struct rs_rec rec = { .type = RS_REC_LINK };

	if (!S_ISLNK(inode->mode) || !inode->u.target)
		return;
	rec.data = (const uint8_t *)inode->u.target;
	rec.data_len = (uint32_t)inode->size;
	rs_intent_rec(core, inode, &rec);
}

size_t rs_closure_bytes(const struct rs_inode *inode)
{
	size_t bytes = RS_REC_INODE_LEN + xattr_bytes(inode);

	if (S_ISLNK(inode->mode))
		bytes += RS_REC_DATA_LEN(inode->size);
	return bytes;
}

void rs_closure_born(struct rs_core *core, struct rs_inode *inode)
{
	rs_intent_born(core, inode);
	log_xattrs(core, inode);
	log_target(core, inode);
}

/* what begin_locked() has to have first */
#define WANT_ROOM 1
#define WANT_DATA 2
#define WANT_CUT 3

static int has_cold(struct rs_core *core, struct rs_inode *inode)
{
	if (!S_ISREG(inode->mode) || !core->cfg.journal)
		return 0;
	return rs_tree_next(rs_file_tree(inode), 0, RS_SEEK_COLD) != UINT64_MAX;
}

int rs_closure_early(struct rs_core *core, const struct rs_inode *inode)
{
	return core->cfg.journal && inode->last &&
	       inode->last >= rs_journal_open_number(core->cfg.journal);
}

static int begin_locked(struct rs_core *core, uint64_t ino,
			const struct rs_room *room, size_t *bytes)
{
	struct rs_inode *inode = rs_inode_find(core, ino);

	if (!inode)
		return -ESTALE;
	if (rs_inode_logged(inode))
		return 0;
	if (inode->flags & RS_IF_SUSPECT)
		return -EIO;
	if (has_cold(core, inode))
		return WANT_DATA;
	if (rs_closure_early(core, inode))
		return WANT_CUT;
	*bytes = rs_closure_bytes(inode);
	if (core->cfg.journal && room->bytes < *bytes)
		return WANT_ROOM;
	inode->flags |= RS_IF_STAGED;
	rs_intent_begin(core);
	rs_closure_born(core, inode);
	rs_intent_end(core);
	if (!S_ISREG(inode->mode))
		inode->state |= RS_I_WHOLE;
	return 0;
}

/* All of the store's data of the file comes into RAM. */
static int bring_data(struct rs_core *core, uint64_t ino)
{
	unsigned int tries = 0;
	int err;

	do {
		err = rs_core_load(core, ino, 0, UINT64_MAX);
		if (err != RS_EPARK)
			return err;
		err = pause_for(core, &tries);
	} while (!err);
	return err;
}

static int fetch(struct rs_core *core, uint64_t ino, int want)
{
	if (want == WANT_DATA)
		return bring_data(core, ino);
	if (want == WANT_CUT)
		return rs_journal_sync(core->cfg.journal);
	return 0;
}

static int stage_inode(struct rs_core *core, uint64_t ino)
{
	size_t bytes = RS_REC_INODE_LEN;
	struct rs_room room;
	int err, want = 0;

	do {
		err = fetch(core, ino, want);
		if (!err)
			err = rs_closure_room(core, &room, bytes);
		if (err)
			return err;
		rs_core_lock(core);
		want = begin_locked(core, ino, &room, &bytes);
		rs_core_unlock(core);
		rs_room_give(core, &room);
	} while (want > 0);
	return want;
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

/* How far the data of a file is logged, in which of its lives in the log. */
struct cursor {
	uint64_t page;
	uint32_t births;
};

/*
 * Others may have staged it too, failed, taken it out of the log again, and
 * somebody else begun anew: what was logged before is gone then.
 */
static void rewind_reborn(const struct rs_inode *inode, struct cursor *at)
{
	if (inode->births != at->births)
		at->page = 0;
	at->births = inode->births;
}

/* Pages from *at on, as many as the room holds. 1: there are more. */
static int data_locked(struct rs_core *core, uint64_t ino,
		       const struct rs_room *room, struct cursor *at)
{
	struct rs_inode *inode = rs_inode_find(core, ino);
	size_t left = room->bytes - RS_REC_INODE_LEN;
	uint64_t *page = &at->page;
	uintptr_t slot;

	if (!inode)
		return -ESTALE;
	if (!core->cfg.journal)
		inode->state |= RS_I_WHOLE;
	if (!rs_inode_logged(inode) || (inode->state & RS_I_WHOLE))
		return 0;
	rewind_reborn(inode, at);
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

/* Room for a piece of it; 0: all of it is logged. */
static size_t piece_bytes(struct rs_core *core, uint64_t ino)
{
	size_t bytes = rs_room_max(core) / 2, all = 0;
	struct rs_inode *inode;

	rs_core_lock(core);
	inode = rs_inode_find(core, ino);
	if (inode && S_ISREG(inode->mode) && rs_inode_logged(inode) &&
	    !(inode->state & RS_I_WHOLE))
		all = RS_REC_INODE_LEN +
		      (size_t)inode->blocks * RS_REC_DATA_LEN(RS_PAGE);
	rs_core_unlock(core);
	if (bytes > PIECE_MAX)
		bytes = PIECE_MAX;
	return all < bytes ? all : bytes;
}

static int stage_data(struct rs_core *core, uint64_t ino)
{
	struct cursor at = { 0, 0 };
	struct rs_room room;
	size_t bytes;
	int err = 0;

	while ((bytes = piece_bytes(core, ino)) && !err) {
		err = rs_closure_room(core, &room, bytes);
		if (err)
			return err;
		rs_core_lock(core);
		err = data_locked(core, ino, &room, &at);
		rs_core_unlock(core);
		rs_room_give(core, &room);
		err = err == 1 ? 0 : err;
	}
	return err;
}

/* G10: what can't be had in the end is refused before the first byte. */
int rs_closure_fits(struct rs_core *core, uint64_t bytes)
{
	struct rs_journal_status status;
	uint64_t used;

	if (!core->cfg.journal)
		return 0;
	rs_journal_status(core->cfg.journal, &status);
	if (status.poisoned)
		return -EROFS;
	if (!status.store_broken)
		return 0;
	/* nothing is folded any more: the ring is all there is */
	used = status.ring_used + status.ring_reserve + status.unsynced_bytes;
	if (used > status.ring_size || bytes > (status.ring_size - used) / 2)
		return -ENOSPC;
	return 0;
}

static int check_fits(struct rs_core *core, uint64_t ino)
{
	struct rs_inode *inode;
	uint64_t bytes = 0;

	rs_core_lock(core);
	inode = rs_inode_find(core, ino);
	if (inode && !rs_inode_logged(inode))
		bytes = inode->blocks * RS_PAGE + xattr_bytes(inode);
	rs_core_unlock(core);
	return bytes ? rs_closure_fits(core, bytes) : 0;
}

int rs_closure_stage(struct rs_core *core, uint64_t ino)
{
	int err;

	err = check_fits(core, ino);
	if (!err)
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
