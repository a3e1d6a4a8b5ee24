/*
 * Closure: what leaves a volatile place for a logged one is logged whole
 * before, and what loses its last logged name leaves the log.
 */
#include "fs/core_p.h"
#include "tests/unit/spool_box.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>

#define EXCHANGE 2u /* RENAME_EXCHANGE */

static const struct rs_rule rules[] = {
	{ .glob = "/v", .policy = RS_POLICY_VOLATILE },
	{ .glob = "/q/scratch", .policy = RS_POLICY_VOLATILE },
	{ .glob = "/v/keep", .policy = RS_POLICY_FSYNC },
};

static int set_up(void **state)
{
	return spool_set_up_qv(state, rules, RS_ARRAY_LEN(rules));
}

static void commit_again(void)
{
	spool_commit();
	spool_again();
}

static uint32_t nlink_of(const char *path)
{
	struct rs_stat st;

	assert_int_equal(rs_core_getattr(spool.core, spool_ino(path), &st), 0);
	return st.attr.nlink;
}

static void test_file_out(void **state)
{
	uint64_t ino;

	(void)state;
	ino = spool_file("v/f", "text");
	assert_int_equal(rs_core_setxattr(spool.core, ino, "user.a", "x", 1, 0),
			 0);
	assert_int_equal(spool_rename("v/f", "q/f", 0), 0);
	assert_true(rs_core_sync_number(spool.core, ino));
	/* what comes after is logged by itself */
	assert_int_equal(rs_core_write(spool.core, ino, "more", 4, 4, 0), 4);
	commit_again();
	spool_expect_tree("q q/f v");
	spool_expect("q/f", "textmore");
	assert_int_equal(spool_ino("q/f"), ino);
	assert_int_equal(rs_core_getxattr(spool.core, ino, "user.a", NULL, 0),
			 1);
}

static void test_link_out(void **state)
{
	uint64_t ino;

	(void)state;
	ino = spool_file("v/f", "text");
	assert_int_equal(spool_link("v/f", "q/f"), 0);
	assert_int_equal(spool_unlink("v/f"), 0);
	assert_int_equal(spool_link("q/f", "v/g"), 0);
	assert_int_equal(spool_link("q/f", "q/g"), 0);
	commit_again();
	spool_expect_tree("q q/f q/g v");
	spool_expect("q/g", "text");
	assert_int_equal(spool_ino("q/g"), ino);
}

static void test_link_in_is_not_kept(void **state)
{
	(void)state;
	spool_file("q/f", "text");
	assert_int_equal(spool_link("q/f", "v/f"), 0);
	/* the last logged name goes: it lives on, until the crash */
	assert_int_equal(spool_unlink("q/f"), 0);
	spool_expect("v/f", "text");
	commit_again();
	spool_expect_tree("q v");
}

static void test_file_in(void **state)
{
	(void)state;
	spool_file("q/f", "text");
	spool_fold();
	assert_int_equal(spool_rename("q/f", "v/f", 0), 0);
	spool_expect("v/f", "text");
	commit_again();
	spool_expect_tree("q v");
}

/* Out of the log and back into it in one group: elision must not mix them. */
static void test_to_and_fro(void **state)
{
	uint64_t ino;
	int i;

	(void)state;
	spool_file("v/a", "one");
	spool_file("q/b", "two");
	spool_commit();
	for (i = 0; i < 3; i++) {
		assert_int_equal(spool_rename("v/a", "q/a", 0), 0);
		assert_int_equal(spool_rename("q/b", "v/b", 0), 0);
		assert_int_equal(spool_rename("q/a", "v/a", 0), 0);
		assert_int_equal(spool_rename("v/b", "q/b", 0), 0);
	}
	assert_int_equal(spool_rename("v/a", "q/a", 0), 0);
	ino = spool_ino("q/a");
	assert_int_equal(rs_core_write(spool.core, ino, "ONE", 3, 0, 0), 3);
	commit_again();
	spool_expect_tree("q q/a q/b v");
	spool_expect("q/a", "ONE");
	spool_expect("q/b", "two");
	spool_fold();
	spool_again();
	spool_expect("q/a", "ONE");
	spool_expect("q/b", "two");
}

/* The store alone has its data when the last logged name goes. */
static void test_cold_file(void **state)
{
	uint64_t ino;

	(void)state;
	ino = spool_big("q/f", 300000, 7);
	spool_big("q/g", 300000, 8);
	spool_fold();
	spool_again();
	assert_int_equal(spool_rename("q/f", "v/f", 0), 0);
	assert_int_equal(spool_rename("q/g", "v/g", 0), 0);
	/* the fold that removes it, and the reaper behind it */
	spool_fold();
	spool_fold();
	spool_expect_big("v/g", 300000, 8);
	/* one of its pages changes while it is unlogged */
	assert_int_equal(rs_core_load(spool.core, ino, 0, 4096), 0);
	assert_int_equal(rs_core_write(spool.core, ino, "new", 3, 0, 0), 3);
	assert_int_equal(spool_rename("v/f", "q/f", 0), 0);
	assert_int_equal(rs_core_write(spool.core, ino, "\x07", 0, 0, 0), 0);
	spool_fold();
	spool_fold();
	spool_again();
	spool_expect_tree("q q/f v");
	assert_int_equal(spool_unlink("q/f"), 0);
	spool_fold();
	spool_again();
	spool_expect_tree("q v");
}

static void test_cold_file_comes_back_whole(void **state)
{
	(void)state;
	spool_big("q/f", 300000, 7);
	spool_fold();
	spool_again();
	assert_int_equal(spool_rename("q/f", "v/f", 0), 0);
	spool_fold();
	assert_int_equal(spool_rename("v/f", "q/f", 0), 0);
	spool_fold();
	spool_expect_big("q/f", 300000, 7);
	spool_again();
	spool_expect_big("q/f", 300000, 7);
}

static void test_exchange(void **state)
{
	(void)state;
	spool_file("q/a", "logged");
	spool_file("v/b", "volatile");
	assert_int_equal(spool_rename("q/a", "v/b", EXCHANGE), 0);
	spool_expect("v/b", "logged");
	commit_again();
	spool_expect_tree("q q/a v");
	spool_expect("q/a", "volatile");
	/* the other way round, a directory for a file */
	spool_mkdir("v/d");
	spool_file("v/d/f", "in it");
	assert_int_equal(spool_rename("v/d", "q/a", EXCHANGE), 0);
	commit_again();
	spool_expect_tree("q q/a q/a/f v");
	spool_expect("q/a/f", "in it");
}

static void test_replace(void **state)
{
	(void)state;
	spool_file("q/a", "old");
	spool_file("v/b", "new");
	assert_int_equal(spool_rename("v/b", "q/a", 0), 0);
	commit_again();
	spool_expect_tree("q q/a v");
	spool_expect("q/a", "new");
	/* a logged one is replaced by nothing that is logged */
	spool_file("v/c", "v");
	assert_int_equal(spool_set("q", RS_POLICY_VOLATILE), 0);
	assert_int_equal(spool_rename("v/c", "q/a", 0), 0);
	commit_again();
	spool_expect_tree("q v");
}

static uint64_t sparse(const char *path)
{
	uint64_t ino = spool_big(path, 100000, 3);

	assert_int_equal(
		rs_core_fallocate(spool.core, ino,
				  FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				  8192, 40000),
		0);
	assert_int_equal(rs_core_fallocate(spool.core, ino, FALLOC_FL_KEEP_SIZE,
					   200000, 9000),
			 0);
	return ino;
}

static void make_tree(const char *top)
{
	char path[64];
	struct rs_stat st;
	uint64_t dir;

	snprintf(path, sizeof(path), "%s/sub", top);
	spool_mkdir(path);
	snprintf(path, sizeof(path), "%s/sub/deep", top);
	dir = spool_mkdir(path);
	assert_int_equal(
		rs_core_setxattr(spool.core, dir, "user.dir", "d", 1, 0), 0);
	assert_int_equal(rs_core_mknod(spool.core, dir, "fifo", &spool_who,
				       S_IFIFO | 0600, 0, &st),
			 0);
	rs_core_forget(spool.core, st.ino, 1);
	assert_int_equal(rs_core_mknod(spool.core, dir, "dev", &spool_who,
				       S_IFCHR | 0600, 0x103, &st),
			 0);
	rs_core_forget(spool.core, st.ino, 1);
	assert_int_equal(rs_core_symlink(spool.core, dir, "sym", &spool_who,
					 "where to", &st),
			 0);
	rs_core_forget(spool.core, st.ino, 1);
	snprintf(path, sizeof(path), "%s/f", top);
	sparse(path);
	snprintf(path, sizeof(path), "%s/sub/g", top);
	spool_file(path, "g");
}

#define TREE(top, more)                                                      \
	top "/f " more top "/sub " top "/sub/deep " top "/sub/deep/dev " top \
	    "/sub/deep/fifo " top "/sub/deep/sym " top "/sub/g"

static void expect_tree_attrs(const char *top, const struct rs_attr *was)
{
	char path[64], target[RS_SYMLINK_MAX + 1];
	struct rs_stat st;

	snprintf(path, sizeof(path), "%s/f", top);
	assert_int_equal(rs_core_getattr(spool.core, spool_ino(path), &st), 0);
	assert_int_equal(st.attr.blocks, was->blocks);
	assert_int_equal(st.attr.size, was->size);
	assert_int_equal(st.attr.data_end, was->data_end);
	assert_int_equal(st.attr.flags, 0);
	snprintf(path, sizeof(path), "%s/sub/deep/sym", top);
	assert_int_equal(rs_core_readlink(spool.core, spool_ino(path), target),
			 0);
	assert_string_equal(target, "where to");
	snprintf(path, sizeof(path), "%s/sub/deep", top);
	assert_int_equal(rs_core_getxattr(spool.core, spool_ino(path),
					  "user.dir", NULL, 0),
			 1);
	snprintf(path, sizeof(path), "%s/sub/deep/dev", top);
	assert_int_equal(rs_core_getattr(spool.core, spool_ino(path), &st), 0);
	assert_int_equal(st.attr.rdev, 0x103);
}

static void test_tree_out(void **state)
{
	struct rs_stat st;

	(void)state;
	spool_mkdir("v/t");
	make_tree("v/t");
	assert_int_equal(spool_link("v/t/sub/g", "v/t/g2"), 0);
	assert_int_equal(rs_core_getattr(spool.core, spool_ino("v/t/f"), &st),
			 0);
	assert_int_equal(spool_rename("v/t", "q/t", 0), 0);
	spool_file("q/t/after", "after");
	commit_again();
	spool_expect_tree("q q/t q/t/after q/t/f q/t/g2 q/t/sub q/t/sub/deep "
			  "q/t/sub/deep/dev q/t/sub/deep/fifo "
			  "q/t/sub/deep/sym q/t/sub/g v");
	assert_int_equal(spool_ino("q/t/g2"), spool_ino("q/t/sub/g"));
	expect_tree_attrs("q/t", &st.attr);
	spool_expect("q/t/after", "after");
	/* nothing is left to reap, and nothing reads as damage */
	spool_fold();
	spool_again();
	assert_int_equal(spool.rep.reaped, 0);
	expect_tree_attrs("q/t", &st.attr);
}

static void test_tree_larger_than_the_ring(void **state)
{
	char path[32];
	unsigned int i;

	(void)state;
	spool_mkdir("v/t");
	for (i = 0; i < 30; i++) {
		snprintf(path, sizeof(path), "v/t/f%u", i);
		spool_big(path, 50000 + i * 100, i);
	}
	assert_true(30 * 50000 > 2 * SPOOL_RING);
	assert_int_equal(spool_rename("v/t", "q/t", 0), 0);
	commit_again();
	for (i = 0; i < 30; i++) {
		snprintf(path, sizeof(path), "q/t/f%u", i);
		spool_expect_big(path, 50000 + i * 100, i);
	}
	spool_fold();
	spool_again();
	assert_int_equal(spool.rep.reaped, 0);
	spool_expect_big("q/t/f29", 52900, 29);
}

/* All is staged, the operation itself isn't there yet. */
static void stage(const char *path, const char *parent, const char *name)
{
	struct rs_op op;

	rs_op_init(spool.core, &op, 0, 0, RS_NEED_SMALL);
	op.close.ino = spool_ino(path);
	op.close.parent = spool_ino(parent);
	op.close.name = name;
	assert_int_equal(rs_closure_run(spool.core, &op), 0);
	pthread_mutex_unlock(&spool.core->closing);
}

/* The power goes while a tree is being staged: it never was there. */
static void test_cut_while_staging(void **state)
{
	unsigned int i;

	(void)state;
	spool_file("q/f", "f");
	spool_mkdir("v/t");
	make_tree("v/t");
	assert_int_equal(spool_link("v/t/f", "v/t/sub/again"), 0);
	spool_link("v/t/sub/g", "v/t/h");
	stage("v/t", "q", "t");
	/* one of it has a name outside by now, and is there to stay */
	assert_int_equal(spool_link("v/t/sub/g", "q/g"), 0);
	commit_again();
	spool_expect_tree("q q/f q/g v");
	spool_expect("q/g", "g");
	assert_int_equal(spool.rep.reaped, 7);
	/* each change clears some of it */
	for (i = 0; i < 3; i++)
		assert_int_equal(spool_set("q", RS_POLICY_RENAME), 0);
	spool_fold();
	spool_again();
	assert_int_equal(spool.rep.reaped, 0);
	spool_expect_tree("q q/f q/g v");
	assert_int_equal(nlink_of("q/g"), 1);
}

static void *move_tree(void *arg)
{
	*(int *)arg = spool_rename("v/t", "q/t", 0);
	return NULL;
}

/* By inode number: the path may change at any time. */
static void change_some(uint64_t top, uint64_t sub, unsigned int i)
{
	char name[32], other[32];
	struct rs_stat st;
	int err;

	snprintf(name, sizeof(name), "n%u", i);
	snprintf(other, sizeof(other), "n%u", i / 2);
	err = rs_core_mknod(spool.core, i % 3 ? sub : top, name, &spool_who,
			    i % 7 ? S_IFREG | 0600 : S_IFDIR | 0700, 0, &st);
	assert_int_equal(err, 0);
	if (i % 7)
		assert_int_equal(rs_core_write(spool.core, st.ino, name,
					       strlen(name), 0, 0),
				 strlen(name));
	rs_core_forget(spool.core, st.ino, 1);
	switch (i % 5) {
	case 0:
		(void)!rs_core_rename(spool.core, sub, other, top, other, 0,
				      &spool_who);
		break;
	case 1:
		(void)!rs_core_rename(spool.core, top, other, sub, other, 0,
				      &spool_who);
		break;
	case 2:
		(void)!rs_core_unlink(spool.core, sub, other, &spool_who);
		break;
	default:
		break;
	}
}

/* What is changed in a tree that is being staged isn't lost. */
static void test_changes_while_staging(void **state)
{
	RS_AUTO_FREE char *want = NULL, *have = NULL;
	uint64_t top, sub;
	char path[32];
	unsigned int i;
	pthread_t thread;
	int err = 1;

	(void)state;
	spool_stop();
	spool.threads = 1;
	spool_open();
	top = spool_mkdir("v/t");
	make_tree("v/t");
	sub = spool_ino("v/t/sub");
	for (i = 0; i < 20; i++) {
		snprintf(path, sizeof(path), "v/t/%sf%u", i % 2 ? "sub/" : "",
			 i);
		spool_big(path, 60000, i);
	}
	assert_int_equal(pthread_create(&thread, NULL, move_tree, &err), 0);
	for (i = 0; i < 400; i++)
		change_some(top, sub, i);
	pthread_join(thread, NULL);
	assert_int_equal(err, 0);
	want = spool_tree();
	assert_int_equal(rs_journal_sync(spool.j), 0);
	spool_again();
	have = spool_tree();
	assert_string_equal(have, want);
	for (i = 0; i < 20; i++) {
		snprintf(path, sizeof(path), "q/t/%sf%u", i % 2 ? "sub/" : "",
			 i);
		spool_expect_big(path, 60000, i);
	}
	assert_int_equal(spool.rep.reaped, 0);
	spool_stop();
	spool.threads = 0;
	spool_open();
	spool_expect_tree(want);
}

/* As the first step of a closure leaves it, or takes it back. */
static void set_staged(uint64_t ino, int staged)
{
	struct rs_inode *inode;
	struct rs_room room;

	assert_int_equal(rs_room_take(spool.core, &room, RS_REC_INODE_LEN,
				      RS_NEED_SMALL),
			 0);
	rs_core_lock(spool.core);
	inode = rs_inode_find(spool.core, ino);
	rs_intent_begin(spool.core);
	if (staged) {
		inode->flags |= RS_IF_STAGED;
		rs_intent_born(spool.core, inode);
	} else {
		rs_intent_dead(spool.core, inode);
	}
	rs_intent_end(spool.core);
	rs_core_unlock(spool.core);
	rs_room_give(spool.core, &room);
}

static void *move_below(void *arg)
{
	atomic_store((atomic_int *)arg, spool_rename("q/x", "v/t/deep/x", 0));
	return NULL;
}

/*
 * What is logged doesn't go where it can't be reached: into a tree whose
 * closure has begun and hasn't come to that place.
 */
static void test_move_below_what_is_staged(void **state)
{
	const struct timespec while_it_could = { .tv_nsec = 200000000 };
	atomic_int err = 1;
	pthread_t thread;
	uint64_t top;

	(void)state;
	top = spool_mkdir("v/t");
	spool_mkdir("v/t/deep");
	spool_mkdir("q/x");
	assert_int_equal(spool_set("q/x", RS_POLICY_FSYNC), 0);
	spool_file("q/x/f", "f");
	spool_commit();
	pthread_mutex_lock(&spool.core->closing);
	set_staged(top, 1);
	assert_int_equal(pthread_create(&thread, NULL, move_below, &err), 0);
	nanosleep(&while_it_could, NULL);
	assert_int_equal(atomic_load(&err), 1);
	set_staged(top, 0);
	pthread_mutex_unlock(&spool.core->closing);
	pthread_join(thread, NULL);
	assert_int_equal(atomic_load(&err), 0);
	commit_again();
	spool_expect("v/t/deep/x/f", "f");
}

static void test_tree_in_stays_logged(void **state)
{
	(void)state;
	spool_mkdir("q/t");
	spool_file("q/t/f", "logged");
	assert_int_equal(spool_rename("q/t", "v/t", 0), 0);
	/* what is made there from now on isn't */
	spool_file("v/t/g", "volatile");
	commit_again();
	spool_expect_tree("q v v/t v/t/f");
	spool_expect("v/t/f", "logged");
	assert_int_equal(spool_unlink("v/t/f"), 0);
	commit_again();
	spool_expect_tree("q v v/t");
}

static void test_volatile_dir_below_the_target(void **state)
{
	(void)state;
	spool_mkdir("v/scratch");
	spool_file("v/scratch/f", "f");
	/* a rule makes it volatile there as well: it comes back empty */
	assert_int_equal(spool_rename("v/scratch", "q/scratch", 0), 0);
	commit_again();
	spool_expect_tree("q q/scratch v");
	/* and by another name not */
	spool_file("q/scratch/g", "g");
	assert_int_equal(spool_rename("q/scratch", "q/s", 0), 0);
	commit_again();
	spool_expect_tree("q q/s q/s/g v");
}

static void test_rule_inside_volatile(void **state)
{
	(void)state;
	spool_mkdir("v/d");
	spool_file("v/d/f", "f");
	assert_int_equal(spool_rename("v/d", "v/keep", 0), 0);
	commit_again();
	spool_expect_tree("q v v/keep v/keep/f");
}

static void test_raise_and_lower(void **state)
{
	struct rs_stat st;

	(void)state;
	spool_mkdir("v/t");
	make_tree("v/t");
	assert_int_equal(rs_core_getattr(spool.core, spool_ino("v/t/f"), &st),
			 0);
	spool_file("v/other", "gone");
	assert_int_equal(spool_set("v/t", RS_POLICY_FSYNC), 0);
	/* durable when it returns */
	spool_again();
	spool_expect_tree("q v v/t " TREE("v/t", ""));
	expect_tree_attrs("v/t", &st.attr);
	spool_file("v/t/new", "new");
	assert_int_equal(spool_set("v/t", RS_POLICY_VOLATILE), 0);
	spool_file("v/t/newer", "gone");
	commit_again();
	spool_expect_tree("q v v/t " TREE("v/t", "v/t/new "));
	/* at the next raise only what is missing is logged */
	spool_file("v/t/z", "z");
	assert_int_equal(spool_set("v/t", 0), 0);
	assert_int_equal(spool_set("v", RS_POLICY_ALWAYS), 0);
	spool_again();
	spool_expect_tree("q v v/t " TREE("v/t", "v/t/new ") " v/t/z");
}

static void test_failure_is_undone(void **state)
{
	static char value[RS_XATTR_SIZE_MAX];
	uint64_t ino, before;

	(void)state;
	spool_mkdir("v/t");
	make_tree("v/t");
	ino = spool_file("v/t/sub/zz", "more xattr than a frame can take");
	assert_int_equal(rs_core_setxattr(spool.core, ino, "user.a", value,
					  sizeof(value), 0),
			 0);
	assert_int_equal(rs_core_setxattr(spool.core, ino, "user.b", value,
					  sizeof(value), 0),
			 0);
	assert_int_equal(spool_rename("v/t", "q/t", 0), -ENOSPC);
	spool_commit();
	/* what is done there is no business of the log's again */
	before = spool_written();
	spool_file("v/t/sub/n", "n");
	assert_int_equal(spool_unlink("v/t/f"), 0);
	assert_int_equal(spool_written(), before);
	assert_int_equal(spool_set("v/t", RS_POLICY_FSYNC), -ENOSPC);
	before = spool_written();
	spool_file("v/t/sub/o", "o");
	assert_int_equal(spool_written(), before);
	/* without the culprit it works */
	assert_int_equal(spool_unlink("v/t/sub/zz"), 0);
	assert_int_equal(spool_rename("v/t", "q/t", 0), 0);
	commit_again();
	spool_expect_tree("q q/t q/t/sub q/t/sub/deep q/t/sub/deep/dev "
			  "q/t/sub/deep/fifo q/t/sub/deep/sym q/t/sub/g "
			  "q/t/sub/n q/t/sub/o v");
	assert_int_equal(spool.rep.reaped, 0);
}

static void test_tmpfile_of_a_volatile_dir(void **state)
{
	struct rs_stat st, again;

	(void)state;
	assert_int_equal(rs_core_tmpfile(spool.core, spool_ino("v"), &spool_who,
					 S_IFREG | 0600, &st),
			 0);
	assert_int_equal(rs_core_write(spool.core, st.ino, "tmp", 3, 0, 0), 3);
	assert_int_equal(rs_core_link(spool.core, st.ino, spool_ino("v"), "a",
				      &spool_who, &again),
			 0);
	assert_int_equal(rs_core_link(spool.core, st.ino, spool_ino("q"), "b",
				      &spool_who, &again),
			 0);
	rs_core_forget(spool.core, st.ino, 3);
	commit_again();
	spool_expect_tree("q q/b v");
	spool_expect("q/b", "tmp");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, spool_tear_down)
		T(test_file_out),
		T(test_link_out),
		T(test_link_in_is_not_kept),
		T(test_file_in),
		T(test_to_and_fro),
		T(test_cold_file),
		T(test_cold_file_comes_back_whole),
		T(test_exchange),
		T(test_replace),
		T(test_tree_out),
		T(test_tree_larger_than_the_ring),
		T(test_cut_while_staging),
		T(test_changes_while_staging),
		T(test_move_below_what_is_staged),
		T(test_tree_in_stays_logged),
		T(test_volatile_dir_below_the_target),
		T(test_rule_inside_volatile),
		T(test_raise_and_lower),
		T(test_failure_is_undone),
		T(test_tmpfile_of_a_volatile_dir),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
