/*
 * cmd_export.c - rspoolctl export: the whole spool as plain files.
 *
 * A live mount is read through itself, also one that has become read-only;
 * otherwise the store is opened without a mount.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "tools/cmd.h"
#include "tools/lib_export.h"
#include "tools/lib_import.h"
#include "tools/lib_mnt.h"
#include "tools/lib_out.h"
#include "tools/lib_tree.h"

struct export
{
	const struct rs_args *args;
	const char *out_name;
	struct rs_target target;
	char mnt[PATH_MAX]; /* "": no live mount */
	char store[PATH_MAX];
};

/* ---- where from ---- */

static int is_store(void *arg, const char *mnt, const char *source)
{
	enum rs_mnt_state state;
	struct export *ex = arg;

	if (strcmp(source, ex->store) != 0 || rs_mnt_probe(mnt, &state, NULL) ||
	    state != RS_MNT_LIVE)
		return 0;
	snprintf(ex->mnt, sizeof(ex->mnt), "%s", mnt);
	return 1;
}

/*
 * pos[0]: a mount point of ours, live or not, or a store, which may be
 * mounted somewhere.
 */
static int find(struct export *ex)
{
	enum rs_mnt_state state = RS_MNT_NONE;
	const char *arg = ex->args->pos[0];
	int code;

	if (rs_mnt_find(arg, ex->mnt, ex->store) &&
	    (rs_mnt_canon(arg, ex->mnt) ||
	     rs_mnt_probe(ex->mnt, &state, ex->store) || state == RS_MNT_NONE))
		ex->store[0] = '\0';
	ex->mnt[0] = '\0';
	code = rs_target_init(&ex->target, ex->store[0] ? ex->store : arg,
			      ex->args->key, ex->args->ring);
	if (code)
		return code;
	memcpy(ex->store, ex->target.store, sizeof(ex->store));
	return rs_mnt_each(is_store, ex) < 0 ? RS_EXIT_FAILED : 0;
}

/* ---- the two ways ---- */

static int report(struct export *ex, const char *from, int fd,
		  const struct rs_export_result *result)
{
	printf("wrote %llu files from '%s' to '%s'",
	       (unsigned long long)result->files, from, ex->out_name);
	if (result->kept)
		printf(", %llu of them were there",
		       (unsigned long long)result->kept);
	if (result->removed)
		printf(", removed %llu that are gone",
		       (unsigned long long)result->removed);
	printf("\n");
	if (result->failed) {
		rs_say("%llu files could not be written to '%s'",
		       (unsigned long long)result->failed, ex->out_name);
		return RS_EXIT_FAILED;
	}
	return rs_out_finish(ex->out_name, fd);
}

static int from_store(struct export *ex)
{
	struct rs_export_result result;
	struct rs_tree_view tree;
	RS_AUTO_FD int fd = -1;
	struct rs_source src;
	struct rs_report rep;
	int code, again;

	code = rs_import_refuse(ex->target.store);
	if (code)
		return code;
	rs_report_init(&rep);
	code = rs_tree_open(&ex->target, RS_JOURNAL_RDONLY, &rep, &tree);
	if (code) {
		rs_report_release(&rep);
		return code;
	}
	rs_source_core(tree.core, &src);
	code = rs_out_open(ex->out_name, ex->target.store, &again, &fd);
	if (!code)
		code = rs_export_tree(&src, fd, ex->out_name, again,
				      RS_OUT_NAME, &result);
	if (!code)
		code = report(ex, ex->target.store, fd, &result);
	if (!code && (result.lost || rs_tree_is_damaged(tree.journal, &rep)))
		code = RS_EXIT_DAMAGE;
	rs_tree_close(&tree);
	rs_report_release(&rep);
	return code;
}

static int from_mount(struct export *ex)
{
	struct rs_export_result result;
	RS_AUTO_FD int root = -1, fd = -1;
	struct rs_source_plain plain;
	struct rs_source src;
	int code, again;

	root = open(ex->mnt, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root < 0) {
		rs_say("cannot open '%s': %s", ex->mnt, strerror(errno));
		return RS_EXIT_FAILED;
	}
	code = rs_out_open(ex->out_name, ex->mnt, &again, &fd);
	if (code)
		return code;
	rs_source_plain(&plain, root, &src);
	code = rs_export_tree(&src, fd, ex->out_name, again, RS_OUT_NAME,
			      &result);
	if (code)
		return code;
	if (plain.sum != plain.sum_before) {
		printf("wrote %llu files from '%s' to '%s'\n",
		       (unsigned long long)result.files, ex->mnt, ex->out_name);
		rs_say("'%s' changed meanwhile: stop what writes to it and"
		       " repeat, which is quick",
		       ex->mnt);
		return RS_EXIT_DEGRADED;
	}
	code = report(ex, ex->mnt, fd, &result);
	return !code && (result.lost || plain.lost) ? RS_EXIT_DAMAGE : code;
}

static int run(const struct rs_args *args)
{
	struct export ex = { .args = args, .out_name = args->pos[1] };
	int code;

	code = find(&ex);
	if (!code && ex.mnt[0])
		code = from_mount(&ex);
	else if (!code)
		code = from_store(&ex);
	rs_target_release(&ex.target);
	return code;
}

const struct rs_cmd rs_cmd_export = {
	.name = "export",
	.args = "DIR|MNT OUT",
	.what = "write the whole spool out as plain files",
	.help = "Write the tree of a store, or of a live mount (also one that"
		" is read-only after a\n"
		"failure), to the new directory OUT. It can be killed and"
		" repeated: what OUT has is\n"
		"compared and completed. Exit 4: the mount changed meanwhile,"
		" repeat. Exit 5: some\n"
		"files could not be read whole and were left out.",
	.options = RS_O_KEY | RS_O_RING,
	.min = 2,
	.max = 2,
	.run = run,
};
