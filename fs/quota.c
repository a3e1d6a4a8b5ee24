/*
 * quota.c - what may still be taken: RAM, capacity, inodes; statfs, status.
 *
 * Three levels of RAM, so that a full spool can be drained:
 *   data    up to ram - reserve
 *   names   (create, link: never wait) up to ram - reserve / 2
 *   others  (unlink, rename, chmod, utimes) always
 * Nothing is booked ahead: a check is made under the tree lock by the
 * operation that takes at once what it asked for, so no error path has to
 * give anything back.
 */
#include "fs/core_p.h"

#define RESERVE_PART 16u /* of ram, in shares of 1/n */
#define GROUPS_PART 16u	 /* likewise: the most that the groups count */
#define TRIM_PART 64u	 /* of the limit: so much may stay taken */
#define TRIM_PAGES 1024u /* given back at once, under the lock */
#define EVICT_PART 64u	 /* of the limit, dropped beyond what is needed */
/* an empty file with name, hash slots and the share of its page (bytes) */
#define INODE_COST 512u

/*
 * The open group and the one in flight are kept too, but in a small ram they
 * don't take the place of the tree.
 */
static uint64_t used_ram(const struct rs_core *core, uint64_t ram)
{
	uint64_t groups = 0;

	if (core->cfg.journal)
		groups = 2 * (uint64_t)rs_journal_max_bytes(core->cfg.journal);
	if (groups > ram / GROUPS_PART)
		groups = ram / GROUPS_PART;
	return rs_mem_used(&core->mem) + groups;
}

static uint64_t reserve_of(const struct rs_core *core)
{
	return core->cfg.ram / RESERVE_PART;
}

/*
 * What the journal keeps in RAM: frames that are not folded yet, and records
 * that will be one. Without these, data could take all that is left and find
 * itself in RAM twice after the cut, on the account of names.
 */
static uint64_t kept(const struct rs_core *core)
{
	struct rs_journal_status status;

	if (!core->cfg.journal)
		return 0;
	rs_journal_status(core->cfg.journal, &status);
	return status.kept_bytes + status.unsynced_bytes;
}

static int over(uint64_t used, uint64_t bytes, uint64_t limit)
{
	return used > limit || bytes > limit - used;
}

/*
 * Asking the journal takes a lock; far from the limit there is no need. The
 * frames kept are at most a ring's worth, and a ring is less than half of
 * ram on any sane mount.
 */
static uint64_t used_now(struct rs_core *core, uint64_t bytes, uint64_t limit)
{
	uint64_t used = used_ram(core, core->cfg.ram);
	uint64_t loose = core->mem.loose * RS_PAGE;

	if (used + loose + bytes <= limit / 4)
		return used;
	used += kept(core);
	/* a page can take the place of a free one, a frame can't */
	if (over(used + loose, bytes, limit) && loose > limit / TRIM_PART)
		rs_mem_trim(&core->mem, TRIM_PAGES);
	return used;
}

/*
 * Will so much room come back without anybody deleting a thing? Data that
 * only has to be folded before it can go, and the frames that hold it. What
 * isn't logged can't go anywhere.
 */
static uint64_t spillable(const struct rs_core *core)
{
	uint64_t held = core->loss.pages;

	return core->resident > held ? core->resident - held : 0;
}

static int room_will_come(struct rs_core *core, uint64_t bytes)
{
	if (!core->cfg.journal)
		return core->n_graves > 0;
	if (spillable(core) * RS_PAGE + kept(core) < bytes)
		return 0;
	rs_journal_kick_checkpoint(core->cfg.journal);
	return 1;
}

int rs_quota_ram(struct rs_core *core, uint64_t bytes, enum rs_need need)
{
	uint64_t limit, used;

	if (!core->cfg.ram)
		return 0;
	limit = core->cfg.ram - reserve_of(core);
	if (need == RS_NEED_SMALL)
		limit += reserve_of(core) / 2;
	used = used_now(core, bytes, limit);
	if (!over(used, bytes, limit))
		return 0;
	/* some more: room for one page would have the next one wait again */
	rs_clock_evict(core, used + bytes - limit + limit / EVICT_PART);
	used = used_now(core, bytes, limit);
	if (!over(used, bytes, limit))
		return 0;
	if (need == RS_NEED_GROW && bytes <= limit &&
	    room_will_come(core, used + bytes - limit))
		return RS_EPARK;
	return -ENOSPC;
}

uint64_t rs_quota_ram_pages(struct rs_core *core, uint64_t want)
{
	uint64_t limit = core->cfg.ram - reserve_of(core), used;

	if (!core->cfg.ram)
		return want;
	used = used_now(core, want * RS_PAGE, limit);
	if (used >= limit)
		return 0;
	return (limit - used) / RS_PAGE;
}

static uint64_t inodes_max(const struct rs_core *core)
{
	uint64_t by_ram;

	by_ram = core->cfg.ram ? core->cfg.ram / INODE_COST : UINT64_MAX / 2;
	if (core->cfg.inodes && core->cfg.inodes < by_ram)
		return core->cfg.inodes;
	return by_ram;
}

/*
 * What was removed and is still open, or not yet forgotten by the kernel, is
 * in RAM only: RAM bounds it.
 */
static uint64_t inodes_used(const struct rs_core *core)
{
	return core->inodes.n - core->orphans;
}

int rs_quota_inode(struct rs_core *core, const struct rs_inode *dir)
{
	if (rs_limit_inode(core, dir))
		return -ENOSPC;
	if (inodes_used(core) >= inodes_max(core))
		return -ENOSPC;
	return rs_quota_ram(core, 2 * INODE_COST, RS_NEED_SMALL);
}

static uint64_t capacity_pages(const struct rs_core *core)
{
	if (core->cfg.capacity)
		return core->cfg.capacity / RS_PAGE;
	return core->cfg.ram ? core->cfg.ram / RS_PAGE : UINT64_MAX / RS_PAGE;
}

/*
 * What the disk space that was reserved for capacity has to hold: file data,
 * and xattrs, which can be as large.
 */
static uint64_t used_pages(const struct rs_core *core)
{
	return core->blocks + (core->xattr_bytes + RS_PAGE - 1) / RS_PAGE;
}

static uint64_t capacity_left(const struct rs_core *core)
{
	uint64_t capacity = capacity_pages(core), used = used_pages(core);

	return used < capacity ? capacity - used : 0;
}

uint64_t rs_quota_pages(const struct rs_core *core,
			const struct rs_inode *inode, uint64_t want)
{
	uint64_t left = capacity_left(core);
	uint64_t limit = rs_limit_bytes(core, inode) / RS_PAGE;

	left = limit < left ? limit : left;
	return want < left ? want : left;
}

int rs_quota_xattr(const struct rs_core *core, const struct rs_inode *inode,
		   uint64_t bytes)
{
	uint64_t want = bytes / RS_PAGE + 1;

	return rs_quota_pages(core, inode, want) == want;
}

/* Pages that can still be written, by whatever ends first. */
static uint64_t pages_left(struct rs_core *core, uint64_t ram_left)
{
	uint64_t left = capacity_left(core), ring;
	struct rs_journal_status status;

	/* Without a store data can't leave RAM again. */
	if (!core->cfg.journal)
		return ram_left / RS_PAGE < left ? ram_left / RS_PAGE : left;
	rs_journal_status(core->cfg.journal, &status);
	if (!status.store_broken)
		return left;
	ring = status.ring_used + status.ring_reserve;
	ring = ring < status.ring_size ? status.ring_size - ring : 0;
	return ring / RS_PAGE < left ? ring / RS_PAGE : left;
}

static void statfs_locked(struct rs_core *core, struct rs_statfs *ret)
{
	uint64_t limit, used, ram_left, max;

	limit = core->cfg.ram ? core->cfg.ram - reserve_of(core)
			      : UINT64_MAX / 2;
	used = used_ram(core, core->cfg.ram);
	ram_left = used < limit ? limit - used : 0;
	ret->blocks = capacity_pages(core);
	ret->bfree = pages_left(core, ram_left);
	ret->bavail = ret->bfree;
	max = inodes_max(core);
	ret->files = max;
	ret->ffree = inodes_used(core) < max ? max - inodes_used(core) : 0;
	if (ret->ffree > ram_left / INODE_COST)
		ret->ffree = ram_left / INODE_COST;
}

/* Data that can't go to the store has to find room in RAM. */
static void volatile_statfs(struct rs_core *core, const struct rs_inode *inode,
			    struct rs_statfs *ret)
{
	uint64_t limit = core->cfg.ram - reserve_of(core), used, spill;

	if (!core->cfg.ram || !core->cfg.journal ||
	    rs_policy_inode(core, inode) != RS_POLICY_VOLATILE)
		return;
	used = used_ram(core, core->cfg.ram);
	spill = spillable(core) * RS_PAGE;
	used -= spill < used ? spill : used;
	limit = used < limit ? (limit - used) / RS_PAGE : 0;
	if (limit < ret->bfree)
		ret->bfree = ret->bavail = limit;
}

void rs_core_statfs_at(struct rs_core *core, uint64_t ino,
		       struct rs_statfs *ret)
{
	const struct rs_inode *inode;

	rs_core_lock(core);
	statfs_locked(core, ret);
	inode = rs_inode_find(core, ino);
	if (inode)
		volatile_statfs(core, inode, ret);
	if (inode)
		rs_limit_statfs(core, inode, ret);
	rs_core_unlock(core);
}

void rs_core_statfs(struct rs_core *core, struct rs_statfs *ret)
{
	rs_core_statfs_at(core, RS_INO_ROOT, ret);
}

void rs_core_status(struct rs_core *core, struct rs_core_status *ret)
{
	rs_core_lock(core);
	memset(ret, 0, sizeof(*ret));
	ret->inodes = inodes_used(core);
	ret->inodes_max = inodes_max(core);
	ret->data_bytes = used_pages(core) * RS_PAGE;
	ret->capacity = capacity_pages(core) * RS_PAGE;
	ret->ram_bytes = used_ram(core, core->cfg.ram);
	ret->ram = core->cfg.ram;
	if (core->blocks > core->resident)
		ret->cold_bytes = (core->blocks - core->resident) * RS_PAGE;
	ret->orphans = core->orphans;
	ret->suspects = core->suspects;
	ret->locked = !core->mem.unlocked;
	rs_core_unlock(core);
}

/* What is cold already could go; try to have only what can't. */
static int ram_can_be(struct rs_core *core, uint64_t ram)
{
	uint64_t limit = ram - ram / RESERVE_PART;
	uint64_t used = used_ram(core, ram);

	if (used > limit)
		rs_clock_evict(core, used - limit);
	return used_ram(core, ram) <= limit;
}

int rs_core_set_limits(struct rs_core *core, const struct rs_limits *limits)
{
	int err = 0;

	rs_core_lock(core);
	if (limits->capacity && used_pages(core) > limits->capacity / RS_PAGE)
		err = -EBUSY;
	if (!err && limits->inodes && inodes_used(core) > limits->inodes)
		err = -EBUSY;
	if (!err && limits->ram && !ram_can_be(core, limits->ram))
		err = -EBUSY;
	if (!err && limits->ram)
		core->cfg.ram = limits->ram;
	if (!err && limits->capacity)
		core->cfg.capacity = limits->capacity;
	if (!err && limits->inodes)
		core->cfg.inodes = limits->inodes;
	rs_core_unlock(core);
	return err;
}
