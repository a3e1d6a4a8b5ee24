/*
 * lib_import.c - a tree of plain files into an empty store.
 *
 * MODEL  the tree and the journal as the daemon has them, without a mount.
 * Two walks over the source: one that counts (room, highest inode number),
 * one that makes, fills and last gives each inode its owner, mode and times.
 *
 * INVARIANTS
 * I1	The ceiling is durable above every number of the source before the
 *	first inode is made: no number is ever given away again (G9).
 * I2	Only a store that never gave a number away is imported into.
 * I3	An inode that has the source's size, owner, mode and mtime has its
 *	bytes too: those come first, and the log keeps the order (G1).
 * I4	The source must hold still: what has changed since it was met, or
 *	since an earlier run, ends the import.
 *
 * CRASH  what the log has is a prefix of what was done. The next run finds
 * each name there or not, whole (I3) or not; what is not whole is written
 * again under its number.
 */
#include "tools/lib_import.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "tools/lib_import_p.h"
#include "tools/lib_limit.h"
#include "tools/lib_mnt.h"
#include "tools/lib_open.h"
#include "tools/lib_place.h"
#include "tools/lib_plain.h"
#include "tools/lib_say.h"
#include "tools/lib_size.h"

/* RAM of an inode with its name, and what data and frames may take. */
#define INODE_RAM 1024u
#define DATA_RAM (UINT64_C(192) << 20)

/* ---- the first walk ---- */

static int count(void *arg, const struct rs_plain_item *item)
{
	struct rs_import *im = arg;
	uint64_t ino = item->st->st_ino;

	if (!*item->path) {
		im->root_ino = ino;
		return 0;
	}
	if (S_ISSOCK(item->st->st_mode) || !item->first)
		return 0;
	if (ino == RS_INO_ROOT || ino > INT64_MAX)
		return rs_import_stop(im, item->path,
				      "its inode number can't be kept");
	im->n_inodes++;
	if (ino > im->max_ino)
		im->max_ino = ino;
	if (S_ISREG(item->st->st_mode))
		im->pages += rs_align_up((uint64_t)item->st->st_blocks * 512,
					 RS_PAGE) /
			     RS_PAGE;
	return 0;
}

static int fits(struct rs_import *im, const struct rs_marker *marker)
{
	char a[RS_SIZE_TEXT], b[RS_SIZE_TEXT];

	if (im->pages * RS_PAGE > marker->capacity) {
		rs_say("'%s' has %s of files, the store '%s' was made for %s",
		       im->src, rs_size_text(im->pages * RS_PAGE, a),
		       im->target->store, rs_size_text(marker->capacity, b));
		return RS_EXIT_FAILED;
	}
	/* the root has one too */
	if (im->n_inodes + 1 <= marker->inodes)
		return 0;
	rs_say("'%s' has %llu files and directories, the store '%s' was made"
	       " for %llu",
	       im->src, (unsigned long long)im->n_inodes, im->target->store,
	       (unsigned long long)marker->inodes - 1);
	return RS_EXIT_FAILED;
}

/* ---- one run ---- */

static int in_use(void *arg, uint64_t ino)
{
	struct rs_import *im = arg;

	return im->core && rs_core_in_use(im->core, ino);
}

static int load(struct rs_import *im, struct rs_report *rep)
{
	const struct rs_marker *marker = rs_journal_marker(im->journal);
	struct rs_core_cfg cfg = {
		.journal = im->journal,
		.policy = RS_POLICY_FSYNC,
		.noatime = 1,
		.xattr = im->xattr,
		.capacity = marker->capacity,
		.inodes = marker->inodes,
		.ram = im->n_inodes * INODE_RAM + DATA_RAM,
	};
	char a[RS_SIZE_TEXT], b[RS_SIZE_TEXT];
	const char *by;
	uint64_t limit = rs_limit_memory(&by);
	int err;

	if (cfg.ram > limit - limit / 8) {
		rs_say("an import of so many files takes %s of memory, the %s"
		       " has %s",
		       rs_size_text(cfg.ram, a), by, rs_size_text(limit, b));
		return RS_EXIT_FAILED;
	}
	err = rs_core_new(&cfg, &im->core);
	if (!err)
		err = rs_core_load_tree(im->core, rep);
	if (!err)
		return 0;
	rs_say("cannot load the store '%s': %s", im->target->store,
	       strerror(-err));
	return RS_EXIT_FAILED;
}

/* Under the store's lock: may we, and does the store know it (I2)? */
static int mark(struct rs_import *im)
{
	char from[PATH_MAX];
	int n = rs_import_mark_read(im->target->store, from);

	if (n > 0 && strcmp(from, im->src) != 0) {
		rs_say("the import into '%s' was begun from '%s', not from"
		       " '%s'",
		       im->target->store, from, im->src);
		return RS_EXIT_FAILED;
	}
	if (n == 0 && rs_journal_ceiling(im->journal) > RS_INO_FIRST) {
		rs_say("the store '%s' was in use: numbers of inodes can only"
		       " be kept in a new one, made with rspoolctl init",
		       im->target->store);
		return RS_EXIT_FAILED;
	}
	if (n == 0)
		n = rs_import_mark_write(im->target->store, im->src);
	if (n >= 0)
		return 0;
	rs_say("cannot write '%s/" RS_IMPORT_NAME "': %s", im->target->store,
	       strerror(-n));
	return RS_EXIT_FAILED;
}

static int finish(struct rs_import *im, int err)
{
	struct rs_journal_status st;
	int stop;

	rs_journal_status(im->journal, &st);
	/* all is on disk before the mark goes */
	stop = rs_journal_stop(im->journal, err != 0);
	if (!err)
		err = stop;
	if (!err)
		err = rs_import_mark_remove(im->target->store);
	if (!err)
		return 0;
	if (!im->failed)
		rs_say("cannot import '%s' into '%s': %s%s%s", im->src,
		       im->target->store, strerror(-err), st.why[0] ? ": " : "",
		       st.why);
	return RS_EXIT_FAILED;
}

static int fill_store(struct rs_import *im, struct rs_report *rep)
{
	int code, err;

	code = fits(im, rs_journal_marker(im->journal));
	if (!code)
		code = mark(im);
	if (!code)
		code = load(im, rep);
	if (code)
		return code;
	if (rep->quarantined) {
		rs_say("the store '%s' is damaged, make it anew",
		       im->target->store);
		return RS_EXIT_DAMAGE;
	}
	err = rs_journal_start(im->journal);
	if (err) {
		rs_say("cannot write to the ring of '%s': %s",
		       im->target->store, strerror(-err));
		return RS_EXIT_FAILED;
	}
	rs_progress_init(&im->progress, "importing");
	err = rs_import_walk(im);
	code = finish(im, err);
	rs_progress_end(&im->progress);
	return code;
}

static int open_all(struct rs_import *im, struct rs_report *rep)
{
	const struct rs_journal_cfg cfg = {
		.dir = im->target->store,
		.ring_path = im->target->ring,
		.site_key = im->target->has_key ? im->target->key : NULL,
		.mode = RS_JOURNAL_SERVE,
		.flush_interval = 1000,
		.space = rs_import_space,
		.inode_in_use = in_use,
		.arg = im,
	};

	im->buf = malloc(RS_IMPORT_COPY);
	if (!im->buf) {
		rs_say("out of memory");
		return RS_EXIT_FAILED;
	}
	return rs_open_store(&cfg, rep, &im->journal);
}

static int open_source(struct rs_import *im)
{
	static const struct rs_plain_ops ops = { .item = count,
						 .error = rs_import_error };
	int err;

	err = rs_mnt_canon(im->src_name, im->src);
	if (!err) {
		im->root = open(im->src, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		err = im->root < 0 ? -errno : 0;
	}
	if (err) {
		rs_say("cannot open '%s': %s", im->src_name, strerror(-err));
		return RS_EXIT_FAILED;
	}
	if (rs_place_inside(im->src, im->target->store) ||
	    rs_place_inside(im->target->store, im->src)) {
		rs_say("'%s' and the store '%s' lie in each other", im->src,
		       im->target->store);
		return RS_EXIT_FAILED;
	}
	rs_source_plain(&im->plain, im->root, &im->source);
	rs_progress_init(&im->progress, "counting");
	err = rs_plain_walk(im->root, &ops, im);
	rs_progress_end(&im->progress);
	if (err && !im->failed)
		rs_say("cannot read '%s': %s", im->src, strerror(-err));
	return err ? RS_EXIT_FAILED : 0;
}

int rs_import_run(const struct rs_target *target, const char *src, int xattr,
		  struct rs_import_result *ret_result)
{
	struct rs_import im = {
		.target = target,
		.src_name = src,
		.root = -1,
		.xattr = xattr,
		.result = ret_result,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.change = PTHREAD_COND_INITIALIZER,
	};
	struct rs_report rep;
	int code;

	memset(ret_result, 0, sizeof(*ret_result));
	rs_report_init(&rep);
	code = open_source(&im);
	if (!code)
		code = open_all(&im, &rep);
	if (!code)
		code = fill_store(&im, &rep);
	rs_core_free(im.core);
	if (im.journal)
		rs_journal_close(im.journal);
	rs_report_release(&rep);
	free(im.buf);
	if (im.root >= 0)
		close(im.root);
	return code;
}
