/*
 * cmd_recover.c - rspoolctl recover: replay after a crash, or only look.
 *
 * The plain verb and --accept write the store; --dry-run, --list and --to
 * open it read-only and build the tree in memory.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "tools/cmd.h"
#include "tools/lib_out.h"
#include "tools/lib_progress.h"
#include "tools/lib_report.h"
#include "tools/lib_export.h"
#include "tools/lib_tree.h"

/* ---- --list ---- */

struct listing {
	json_t *list; /* with --json */
};

static char type_of(uint32_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return '-';
	case S_IFDIR:
		return 'd';
	case S_IFLNK:
		return 'l';
	case S_IFIFO:
		return 'p';
	case S_IFSOCK:
		return 's';
	case S_IFBLK:
		return 'b';
	case S_IFCHR:
		return 'c';
	default:
		return '?';
	}
}

static int add_json(json_t *list, const char *text, const struct rs_stat *st)
{
	json_t *entry;

	entry = json_pack("{s:s, s:I, s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:b}",
			  "path", text, "inode", (json_int_t)st->ino, "mode",
			  (int)st->attr.mode, "uid", (json_int_t)st->attr.uid,
			  "gid", (json_int_t)st->attr.gid, "nlink",
			  (json_int_t)st->attr.nlink, "size",
			  (json_int_t)st->attr.size, "mtime",
			  (json_int_t)st->attr.mtime.tv_sec, "mtime_ns",
			  (json_int_t)st->attr.mtime.tv_nsec, "suspect",
			  (st->attr.flags & RS_IF_SUSPECT) != 0);
	return json_array_append_new(list, entry) ? -ENOMEM : 0;
}

static int list_one(void *arg, const char *path, const struct rs_stat *st,
		    int first)
{
	struct listing *listing = arg;
	RS_AUTO_FREE char *text = malloc(4 * strlen(path) + 8);
	char when[32];
	struct tm tm;

	(void)first;
	if (!text)
		return -ENOMEM;
	rs_escape(path, strlen(path), text, 4 * strlen(path) + 8);
	if (listing->list)
		return add_json(listing->list, *text ? text : ".", st);
	gmtime_r(&st->attr.mtime.tv_sec, &tm);
	strftime(when, sizeof(when), "%FT%T", &tm);
	printf("%c%04o %5" PRIu32 " %5" PRIu32 " %10" PRIu64 " %10" PRIu64
	       " %s.%09ldZ %s%s\n",
	       type_of(st->attr.mode), st->attr.mode & 07777, st->attr.uid,
	       st->attr.gid, st->ino, st->attr.size, when,
	       st->attr.mtime.tv_nsec, *text ? text : ".",
	       st->attr.flags & RS_IF_SUSPECT ? " (suspect)" : "");
	return 0;
}

static int list_tree(const struct rs_args *args, struct rs_core *core)
{
	static const struct rs_walk_ops ops = { .inode = list_one };
	struct listing listing = { 0 };
	int err;

	if (args->json)
		listing.list = json_array();
	err = rs_core_walk(core, &ops, &listing);
	if (listing.list && !err)
		err = rs_json_print(listing.list);
	if (err)
		rs_say("cannot list the tree: %s", strerror(-err));
	return err ? RS_EXIT_FAILED : 0;
}

/* ---- --to ---- */

static int write_out(const struct rs_args *args, const char *store,
		     struct rs_core *core, struct rs_report *rep)
{
	struct rs_export_result result;
	struct rs_source src;
	RS_AUTO_FD int fd = -1;
	int code;

	code = rs_out_open(args->to, store, NULL, &fd);
	if (code)
		return code;
	rs_source_core(core, &src);
	code = rs_export_tree(&src, fd, args->to, 0, "", &result);
	if (code)
		return code;
	if (result.lost)
		rs_report_add(rep, RS_FIND_INODE, 0, 0, UINT64_MAX, NULL, 0,
			      "%" PRIu64 " files could not be read whole",
			      result.lost);
	if (!args->json)
		printf("wrote %" PRIu64 " files to '%s', left out %" PRIu64
		       "\n",
		       result.files, args->to, result.lost + result.failed);
	if (!result.failed)
		return 0;
	rs_say("%" PRIu64 " files could not be written to '%s'", result.failed,
	       args->to);
	return RS_EXIT_FAILED;
}

/* ---- reports ---- */

static int report(const struct rs_args *args, const struct rs_target *target,
		  const struct rs_report *rep)
{
	int err = 0;

	if (args->json)
		err = rs_json_print(rs_report_json(target->store, rep));
	else
		rs_report_print(target->store, rep);
	if (err)
		rs_say("cannot report: %s", strerror(-err));
	return err ? RS_EXIT_FAILED : 0;
}

/* --list, --to, --dry-run: nothing in the store changes. */
static int look(const struct rs_args *args, const struct rs_target *target)
{
	struct rs_tree_view tree;
	struct rs_report rep;
	int code;

	rs_report_init(&rep);
	code = rs_tree_open(target, RS_JOURNAL_RDONLY, &rep, &tree);
	if (!code) {
		if (args->list)
			code = list_tree(args, tree.core);
		if (!code && args->to)
			code = write_out(args, target->store, tree.core, &rep);
		if (!code && !args->list)
			code = report(args, target, &rep);
		if (!code && rs_tree_is_damaged(tree.journal, &rep))
			code = RS_EXIT_DAMAGE;
		rs_tree_close(&tree);
	}
	rs_report_release(&rep);
	return code;
}

/* What folding finds comes on top of what loading found. */
static void merge(struct rs_report *to, const struct rs_report *from)
{
	const struct rs_finding *f;
	size_t i;

	for (i = 0; i < from->n_findings; i++) {
		f = &from->findings[i];
		rs_report_add(to, f->kind, f->ino, f->number, f->place, NULL, 0,
			      "%s", f->why);
	}
	to->reaped += from->reaped;
}

static int fold(struct rs_journal *journal, struct rs_report *rep)
{
	struct rs_progress progress;
	struct rs_report folded;
	int err;

	rs_report_init(&folded);
	rs_progress_init(&progress, "folding the log into the store");
	err = rs_journal_fold_all(journal, rs_progress_step, &progress,
				  &folded);
	rs_progress_end(&progress);
	merge(rep, &folded);
	rs_report_release(&folded);
	return err;
}

static int accept_damage(struct rs_journal *journal, int *ret_damaged)
{
	int err = rs_store_accept(rs_journal_store(journal));

	if (err) {
		rs_say("cannot note the damage as accepted: %s",
		       strerror(-err));
		return RS_EXIT_FAILED;
	}
	*ret_damaged = 0;
	return 0;
}

static int replay(const struct rs_args *args, const struct rs_target *target)
{
	struct rs_tree_view tree;
	struct rs_report rep;
	int code, err, damaged = 0;

	rs_report_init(&rep);
	code = rs_tree_open(target, RS_JOURNAL_RECOVER, &rep, &tree);
	if (code) {
		rs_report_release(&rep);
		return code;
	}
	err = fold(tree.journal, &rep);
	if (err) {
		rs_say("cannot fold the log into the store '%s': %s",
		       target->store, strerror(-err));
		code = err == -EUCLEAN ? RS_EXIT_DAMAGE : RS_EXIT_FAILED;
	}
	damaged = rs_tree_is_damaged(tree.journal, &rep);
	if (!code)
		code = report(args, target, &rep);
	if (!code && args->accept)
		code = accept_damage(tree.journal, &damaged);
	if (!code && damaged)
		code = RS_EXIT_DAMAGE;
	rs_tree_close(&tree);
	rs_report_release(&rep);
	return code;
}

static int run(const struct rs_args *args)
{
	int only_look = args->list || args->to || args->dry_run;
	struct rs_target target;
	int code;

	if (only_look && args->accept)
		return rs_say_usage("--accept does not go with --list, --to"
				    " or --dry-run");
	code = rs_target_init(&target, args->pos[0], args->key, args->ring);
	if (code)
		return code;
	code = only_look ? look(args, &target) : replay(args, &target);
	rs_target_release(&target);
	return code;
}

const struct rs_cmd rs_cmd_recover = {
	.name = "recover",
	.args = "DIR",
	.what = "replay after a crash, report what was found",
	.help = "Replay the log of the store DIR and fold it into the store;"
		" report what was\n"
		"recovered, dropped and damaged. It can be killed and repeated"
		" at any point.\n"
		"--dry-run, --list and --to change nothing in the store. Exit"
		" 5: damage, until\n"
		"--accept.",
	.options = RS_O_DRY_RUN | RS_O_LIST | RS_O_TO | RS_O_ACCEPT | RS_O_KEY |
		   RS_O_RING | RS_O_JSON,
	.min = 1,
	.max = 1,
	.run = run,
};
