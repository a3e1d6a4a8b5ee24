/*
 * loss.c - what would be gone if the power went now, counted as it comes.
 *
 * What isn't logged stands in a list, in the order in which it became so;
 * its files and pages are summed up. What is logged and not durable yet is
 * in the open group or in the one in flight: for each of these two frames
 * the inodes it touches and the data it brings, by the policy that the inode
 * had then. Old counts are never taken back but by a newer frame in their
 * place, so asking costs nothing and no commit has to tell.
 *
 * The list uses the clock's links: what isn't logged can't leave RAM, so the
 * clock has no use for it.
 */
#include <time.h>

#include "fs/core_p.h"

#define LISTED 1u /* in inode->loss; above it the policy */

static int is_listed(const struct rs_inode *inode)
{
	return inode->loss & LISTED;
}

static void list_add(struct rs_core *core, struct rs_inode *inode)
{
	struct rs_losses *loss = &core->loss;

	rs_file_unclock(core, inode);
	inode->loss |= LISTED;
	inode->clock_next = NULL;
	inode->clock_prev = loss->last;
	if (loss->last)
		loss->last->clock_next = inode;
	else
		loss->first = inode;
	loss->last = inode;
	loss->files++;
	if (S_ISREG(inode->mode))
		loss->pages += inode->blocks;
}

static void list_remove(struct rs_core *core, struct rs_inode *inode)
{
	struct rs_losses *loss = &core->loss;

	if (inode->clock_prev)
		inode->clock_prev->clock_next = inode->clock_next;
	else
		loss->first = inode->clock_next;
	if (inode->clock_next)
		inode->clock_next->clock_prev = inode->clock_prev;
	else
		loss->last = inode->clock_prev;
	inode->clock_next = inode->clock_prev = NULL;
	inode->loss &= (uint8_t)~LISTED;
	loss->files--;
	if (!S_ISREG(inode->mode))
		return;
	loss->pages -= inode->blocks;
	/* it may leave RAM again */
	if (rs_inode_logged(inode) && inode->blocks)
		rs_file_resident(core, inode);
}

void rs_loss_check(struct rs_core *core, struct rs_inode *inode)
{
	int lost = !rs_inode_logged(inode) && inode->nlink;

	if (lost && !is_listed(inode))
		list_add(core, inode);
	else if (!lost && is_listed(inode))
		list_remove(core, inode);
	else if (!rs_inode_logged(inode) && !is_listed(inode))
		rs_file_unclock(core, inode);
}

void rs_loss_grow(struct rs_core *core, const struct rs_inode *inode,
		  uint64_t pages)
{
	if (is_listed(inode))
		core->loss.pages += pages;
}

/* ---- frames that aren't durable ---- */

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static struct rs_core_loss *counter(struct rs_core *core,
				    const struct rs_inode *inode)
{
	return &core->loss.pending[core->tx & 1].by[inode->loss >> 1];
}

void rs_loss_touch(struct rs_core *core, struct rs_inode *inode)
{
	struct rs_pending *pending = &core->loss.pending[core->tx & 1];
	struct rs_core_loss *by;
	enum rs_policy policy;

	if (pending->number != core->tx) {
		memset(pending, 0, sizeof(*pending));
		pending->number = core->tx;
	}
	/* being made: its name isn't there yet */
	if (!inode->names && inode != core->root && core->maker)
		policy = rs_policy_of(core, core->maker);
	else
		policy = rs_policy_inode(core, inode);
	inode->loss = (uint8_t)((inode->loss & LISTED) | (policy << 1));
	by = counter(core, inode);
	if (!by->files++)
		by->oldest_ms = now_ms();
}

void rs_loss_data(struct rs_core *core, const struct rs_inode *inode,
		  uint64_t bytes)
{
	counter(core, inode)->bytes += bytes;
}

/* A removal that is undone by a crash loses nothing. */
void rs_loss_dead(struct rs_core *core, const struct rs_inode *inode)
{
	struct rs_core_loss *by = counter(core, inode);

	if (by->files)
		by->files--;
	by->bytes -= inode->size < by->bytes ? inode->size : by->bytes;
}

static void add_pending(const struct rs_pending *pending, uint64_t now,
			struct rs_core_loss *ret)
{
	const struct rs_core_loss *by;
	uint64_t age;
	int i;

	for (i = RS_POLICY_VOLATILE; i <= RS_POLICY_ALWAYS; i++) {
		by = &pending->by[i];
		age = now - by->oldest_ms;
		if (by->files && age > ret[i].oldest_ms)
			ret[i].oldest_ms = age;
		ret[i].files += by->files;
		ret[i].bytes += by->bytes;
	}
}

static void add_unlogged(struct rs_core *core, struct rs_core_loss *ret)
{
	const struct rs_losses *loss = &core->loss;
	struct timespec now;
	int64_t age;

	if (!loss->first)
		return;
	rs_times_now(core, &now);
	age = (now.tv_sec - loss->first->sec[RS_BTIME]) * 1000 +
	      (now.tv_nsec - (int64_t)loss->first->nsec[RS_BTIME]) / 1000000;
	ret->files = loss->files;
	ret->bytes = loss->pages * RS_PAGE;
	ret->oldest_ms = age > 0 ? (uint64_t)age : 0;
}

void rs_core_loss(struct rs_core *core,
		  struct rs_core_loss ret[RS_POLICY_ALWAYS + 1])
{
	uint64_t durable, now = now_ms();
	size_t i;

	memset(ret, 0, (RS_POLICY_ALWAYS + 1) * sizeof(*ret));
	if (!core->cfg.journal)
		return;
	rs_core_lock(core);
	durable = rs_journal_durable(core->cfg.journal);
	add_unlogged(core, &ret[RS_POLICY_VOLATILE]);
	for (i = 0; i < RS_ARRAY_LEN(core->loss.pending); i++) {
		if (core->loss.pending[i].number > durable)
			add_pending(&core->loss.pending[i], now, ret);
	}
	rs_core_unlock(core);
}
