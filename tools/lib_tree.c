/*
 * lib_tree.c - a store's tree for the tools, without a mount. Metadata in
 * RAM, data read from store and frames as it is needed and dropped again.
 */
#include "tools/lib_tree.h"

#include <errno.h>

#include "tools/lib_say.h"

/* How often data is fetched that is gone again when we come. */
#define TRIES 16

int rs_tree_open(const struct rs_target *target, enum rs_journal_mode mode,
		 struct rs_report *rep, struct rs_tree_view *ret_tree)
{
	struct rs_tree_view tree = { 0 };
	struct rs_core_cfg cfg = { .xattr = 1, .readonly = 1, .noatime = 1 };
	int code, err;

	code = rs_target_open(target, mode, rep, &tree.journal);
	if (code)
		return code;
	cfg.journal = tree.journal;
	err = rs_core_new(&cfg, &tree.core);
	if (!err)
		err = rs_core_load_tree(tree.core, rep);
	if (err) {
		rs_say("cannot load the tree of '%s': %s", target->store,
		       strerror(-err));
		rs_tree_close(&tree);
		return RS_EXIT_FAILED;
	}
	*ret_tree = tree;
	return 0;
}

void rs_tree_close(struct rs_tree_view *tree)
{
	rs_core_free(tree->core);
	if (tree->journal)
		rs_journal_close(tree->journal);
	memset(tree, 0, sizeof(*tree));
}

int rs_tree_is_damaged(struct rs_journal *journal, const struct rs_report *rep)
{
	struct rs_journal_status st;

	rs_journal_status(journal, &st);
	return rep->quarantined != 0 || st.damage != 0;
}

ssize_t rs_tree_read(struct rs_core *core, uint64_t ino, void *buf, size_t len,
		     uint64_t off)
{
	int tries = TRIES, err;
	ssize_t n;

	for (;;) {
		n = rs_core_read(core, ino, buf, len, off);
		if (n != RS_EPARK_COLD)
			return n == RS_EPARK ? -ENOMEM : n;
		if (tries-- == 0)
			return -EIO;
		err = rs_core_load(core, ino, off, len);
		if (err)
			return err == RS_EPARK ? -ENOMEM : err;
	}
}

static int64_t seek(struct rs_core *core, uint64_t ino, uint64_t off,
		    int whence)
{
	int tries = TRIES, err;
	int64_t at;

	for (;;) {
		at = rs_core_lseek(core, ino, (int64_t)off, whence);
		if (at != RS_EPARK_COLD)
			return at == RS_EPARK ? -ENOMEM : at;
		if (tries-- == 0)
			return -EIO;
		err = rs_core_load_edges(core, ino, off, UINT64_MAX);
		if (err)
			return err == RS_EPARK ? -ENOMEM : err;
	}
}

int rs_tree_data(struct rs_core *core, uint64_t ino, uint64_t off,
		 uint64_t *ret_off, uint64_t *ret_end)
{
	int64_t begin, end;

	begin = seek(core, ino, off, SEEK_DATA);
	if (begin < 0)
		return (int)begin;
	end = seek(core, ino, (uint64_t)begin, SEEK_HOLE);
	if (end < 0)
		return (int)end;
	*ret_off = (uint64_t)begin;
	*ret_end = (uint64_t)end;
	return 0;
}
