/*
 * op.c - how an operation that logs is begun, and begun again.
 *
 * Three things can't be had under the tree lock: room in the journal, a new
 * ceiling of inode numbers, and a closure (closure.c). The operation is then
 * left before it has changed anything, the thing is fetched, and it begins
 * anew with all of its checks.
 *
 * What only changes volatile places takes no room, so that a full ring has
 * nothing to do with it. Whether that is so is guessed before the lock and
 * known under it.
 */
#include "fs/core_p.h"

/* how often the tree may change under an operation before it gives up */
#define TRIES_MAX 1000u

static int is_logged(const struct rs_inode *inode)
{
	if (!inode)
		return 1;
	if (S_ISDIR(inode->mode))
		return rs_dir_logs(inode);
	return rs_inode_logged(inode) != 0;
}

void rs_op_init(struct rs_core *core, struct rs_op *op, uint64_t ino,
		size_t bytes, enum rs_need need)
{
	memset(op, 0, sizeof(*op));
	op->bytes = bytes;
	op->need = need;
	op->loud = 1;
	if (!core->cfg.journal || !ino)
		return;
	rs_core_lock(core);
	op->loud = is_logged(rs_inode_find(core, ino));
	rs_core_unlock(core);
}

int rs_op_enter(struct rs_core *core, struct rs_op *op)
{
	int err = rs_core_writable(core);

	op->room.bytes = 0;
	if (!err && op->loud)
		err = rs_room_take(core, &op->room, op->bytes, op->need);
	if (err)
		return err;
	rs_core_lock(core);
	op->locked = 1;
	return 0;
}

int rs_op_short(const struct rs_core *core, const struct rs_op *op, int logs)
{
	return logs && core->cfg.journal && !op->room.bytes ? RS_AGAIN_ROOM : 0;
}

static void leave(struct rs_core *core, struct rs_op *op)
{
	size_t stale;

	if (!op->locked)
		return;
	stale = core->n_stale;
	rs_core_unlock(core);
	op->locked = 0;
	rs_room_give(core, &op->room);
	if (stale)
		rs_closure_reap(core);
}

/* 0: what was missing is there. */
static int fetch(struct rs_core *core, struct rs_op *op, int why)
{
	switch (why) {
	case RS_AGAIN_ROOM:
		op->loud = 1;
		return 0;
	case RS_AGAIN_CLOSE:
		return rs_closure_run(core, op);
	case RS_AGAIN_WAIT:
		pthread_mutex_lock(&core->closing);
		pthread_mutex_unlock(&core->closing);
		return 0;
	default:
		return rs_number_wait(core);
	}
}

int rs_op_again(struct rs_core *core, struct rs_op *op, int *err)
{
	leave(core, op);
	if (*err > 0 || *err == -EAGAIN) {
		*err = ++op->tries < TRIES_MAX ? fetch(core, op, *err) : -EBUSY;
		if (!*err)
			return 1;
	}
	if (op->closed[0])
		rs_closure_end(core, op, *err);
	if (op->owns)
		pthread_mutex_unlock(&core->closing);
	op->owns = 0;
	return 0;
}
