/*
 * cmd_verify.c - rspoolctl verify: read and authenticate everything, change
 * nothing.
 */
#include <errno.h>

#include "tools/cmd.h"
#include "tools/lib_progress.h"
#include "tools/lib_report.h"
#include "tools/lib_tree.h"

static int read_all(struct rs_journal *journal, struct rs_report *rep)
{
	struct rs_progress progress;
	int err;

	rs_progress_init(&progress, "reading the store");
	err = rs_store_verify(rs_journal_store(journal), rep, rs_progress_step,
			      &progress);
	rs_progress_end(&progress);
	return err;
}

static int verify(const struct rs_args *args, const struct rs_target *target)
{
	struct rs_tree_view tree;
	struct rs_report rep;
	int code, err = 0;

	rs_report_init(&rep);
	code = rs_tree_open(target, RS_JOURNAL_RDONLY, &rep, &tree);
	if (code) {
		rs_report_release(&rep);
		return code;
	}
	err = read_all(tree.journal, &rep);
	if (err && err != -EUCLEAN) {
		rs_say("cannot read the store '%s': %s", target->store,
		       strerror(-err));
		code = RS_EXIT_FAILED;
	} else if (args->json) {
		(void)!rs_json_print(rs_report_json(target->store, &rep));
	} else {
		rs_report_print(target->store, &rep);
	}
	if (!code && (err || rs_tree_is_damaged(tree.journal, &rep)))
		code = RS_EXIT_DAMAGE;
	rs_tree_close(&tree);
	rs_report_release(&rep);
	return code;
}

static int run(const struct rs_args *args)
{
	struct rs_target target;
	int code;

	code = rs_target_init(&target, args->pos[0], args->key, args->ring);
	if (code)
		return code;
	code = verify(args, &target);
	rs_target_release(&target);
	return code;
}

const struct rs_cmd rs_cmd_verify = {
	.name = "verify",
	.args = "DIR",
	.what = "read and authenticate everything, change nothing",
	.help = "Read the whole store DIR and every frame that is not folded"
		" yet, and check each\n"
		"against its tag and the counts. Nothing is changed. Exit 5:"
		" damage.",
	.options = RS_O_KEY | RS_O_RING | RS_O_JSON,
	.min = 1,
	.max = 1,
	.run = run,
};
