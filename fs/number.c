/*
 * number.c - inode numbers: 64 bits, rising, none twice in a store's life.
 *
 * A number is used only if it is below a ceiling that is durable, so that a
 * crash can't make us give it away again. The ceiling is raised by a record
 * of its own when half a step is left, long before it is needed.
 */
#include "fs/core_p.h"

static void refresh(struct rs_core *core)
{
	struct rs_journal *j = core->cfg.journal;

	if (core->raised && rs_journal_durable(j) >= core->raised_number) {
		core->ceiling = core->raised;
		core->raised = 0;
	}
	/* what starting the journal made durable */
	if (!core->ceiling)
		core->ceiling = rs_journal_ceiling(j);
}

int rs_number_check(struct rs_core *core)
{
	if (!core->cfg.journal)
		return 0;
	refresh(core);
	return core->next_ino < core->ceiling ? 0 : -EAGAIN;
}

static void raise_ceiling(struct rs_core *core)
{
	struct rs_rec rec = { .type = RS_REC_CEILING };

	rec.off = core->ceiling + RS_INO_STEP;
	rs_journal_put(core->cfg.journal, &rec, NULL);
	core->raised = rec.off;
	core->raised_number = core->tx;
}

int rs_number_logs(const struct rs_core *core)
{
	return core->cfg.journal && !core->raised &&
	       core->ceiling - core->next_ino < RS_INO_STEP / 2;
}

uint64_t rs_number_next(struct rs_core *core)
{
	if (rs_number_logs(core))
		raise_ceiling(core);
	return core->next_ino++;
}

int rs_number_wait(struct rs_core *core)
{
	struct rs_room room;
	int err;

	err = rs_room_take(core, &room, RS_NUMBER_BYTES, RS_NEED_SMALL);
	if (err)
		return err;
	rs_core_lock(core);
	if (!core->raised && core->next_ino >= core->ceiling) {
		rs_intent_begin(core);
		raise_ceiling(core);
		rs_intent_end(core);
	}
	rs_core_unlock(core);
	rs_room_give(core, &room);
	return rs_journal_sync(core->cfg.journal);
}

int rs_core_raise(struct rs_core *core, uint64_t above)
{
	struct rs_room room;
	int err;

	if (above > INT64_MAX)
		return -EOVERFLOW;
	err = rs_number_wait(core);
	if (!err)
		err = rs_room_take(core, &room, RS_NUMBER_BYTES, RS_NEED_SMALL);
	if (err)
		return err;
	rs_core_lock(core);
	refresh(core);
	if (core->next_ino < above) {
		core->next_ino = above;
		if (core->ceiling < above)
			core->ceiling = above;
		rs_intent_begin(core);
		raise_ceiling(core);
		rs_intent_end(core);
	}
	rs_core_unlock(core);
	rs_room_give(core, &room);
	return rs_journal_sync(core->cfg.journal);
}
