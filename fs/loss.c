/*
 * loss.c - what would be gone if the power went now.
 */
#include "fs/core_p.h"

void rs_core_loss(struct rs_core *core,
		  struct rs_core_loss ret[RS_POLICY_ALWAYS + 1])
{
	struct rs_journal_status status;
	enum rs_policy policy;

	memset(ret, 0, (RS_POLICY_ALWAYS + 1) * sizeof(*ret));
	if (!core->cfg.journal)
		return;
	rs_journal_status(core->cfg.journal, &status);
	rs_core_lock(core);
	policy = rs_policy_of(core, core->root);
	rs_core_unlock(core);
	ret[policy].bytes = status.unsynced_bytes;
	ret[policy].oldest_ms = status.unsynced_age_ms;
}
