/*
 * test_core_replay.c - the tree over a real journal: what was committed is
 * there after a crash, exactly; what wasn't is not.
 *
 * Random operations, cuts, checkpoints, evictions and crashes; the whole
 * tree as text at the last cut must be the tree that is loaded after the
 * crash.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <sys/stat.h>

#include "tests/unit/core_box.h"

#define RING_SIZE (1u << 20)
#define FILE_MAX 150000u

static struct {
	char dir[64];
	struct rs_journal *journal;
	struct rs_core *core;
	struct rs_report rep;
	uint64_t ram;
	int threads;
	int damaged; /* findings are expected */
} log_box;

static uint64_t seed;

static uint64_t rnd(uint64_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % n;
}

static int in_use(void *arg, uint64_t ino)
{
	(void)arg;
	return log_box.core && rs_core_in_use(log_box.core, ino);
}

static void open_store(void)
{
	const struct rs_journal_cfg cfg = {
		.dir = log_box.dir,
		.mode = RS_JOURNAL_SERVE,
		.manual = !log_box.threads,
		.flush_interval = 20,
		.checkpoint_interval = 100,
		.inline_walk = 1,
		.inode_in_use = in_use,
	};
	struct rs_core_cfg core_cfg = {
		.ram = log_box.ram,
		.capacity = 64 << 20,
		.inodes = 10000,
		.policy = RS_POLICY_FSYNC,
		.noatime = 1,
		.xattr = 1,
	};
	pid_t owner;
	int err;

	rs_report_init(&log_box.rep);
	err = rs_journal_open(&cfg, &log_box.rep, &owner, &log_box.journal);
	if (err)
		fail_msg("open: %d", err);
	core_cfg.journal = log_box.journal;
	assert_int_equal(rs_core_new(&core_cfg, &log_box.core), 0);
	assert_int_equal(rs_core_load_tree(log_box.core, &log_box.rep), 0);
	if (log_box.rep.n_findings && !log_box.damaged)
		fail_msg("finding: ino %llu frame %llu: %s",
			 (unsigned long long)log_box.rep.findings[0].ino,
			 (unsigned long long)log_box.rep.findings[0].number,
			 log_box.rep.findings[0].why);
	assert_int_equal(rs_journal_start(log_box.journal), 0);
}

/* As if the process had died: nothing is written any more. */
static void crash(void)
{
	rs_core_free(log_box.core);
	log_box.core = NULL;
	rs_journal_close(log_box.journal);
	rs_report_release(&log_box.rep);
}

static int setup(void **state)
{
	struct rs_store_spec spec = {
		.ring_size = RING_SIZE,
		.capacity = 64 << 20,
		.inodes = 10000,
	};
	const char *tmp = getenv("TMPDIR");
	int cow;

	(void)state;
	setenv("RSPOOL_TEST_RING", "1", 1);
	snprintf(log_box.dir, sizeof(log_box.dir), "%.40s/rs-core-XXXXXX",
		 tmp ? tmp : "/tmp");
	assert_non_null(mkdtemp(log_box.dir));
	spec.dir = log_box.dir;
	assert_int_equal(rs_journal_init_store(&spec, &cow), 0);
	log_box.ram = 64 << 20;
	log_box.threads = 0;
	log_box.damaged = 0;
	open_store();
	return 0;
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	if (log_box.core)
		crash();
	snprintf(command, sizeof(command), "rm -rf '%s'", log_box.dir);
	return system(command);
}

/* ---- the tree as text ---- */

struct text {
	char *buf;
	size_t len, cap;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *text,
						      const char *format, ...)
{
	va_list args;
	size_t room;
	int n;

	for (;;) {
		room = text->cap - text->len;
		va_start(args, format);
		n = vsnprintf(text->buf ? text->buf + text->len : NULL,
			      text->buf ? room : 0, format, args);
		va_end(args);
		if (text->buf && (size_t)n < room)
			break;
		text->cap = text->cap ? text->cap * 2 : 1 << 16;
		text->buf = realloc(text->buf, text->cap);
		assert_non_null(text->buf);
	}
	text->len += (size_t)n;
}

/* Read, bringing in what is cold, as the layer above does. */
static ssize_t read_all(uint64_t ino, uint8_t *buf, size_t len)
{
	ssize_t n;

	while ((n = rs_core_read(log_box.core, ino, buf, len, 0)) ==
	       RS_EPARK_COLD)
		assert_int_equal(rs_core_load(log_box.core, ino, 0, len), 0);
	return n;
}

static ssize_t read_at(uint64_t ino, uint64_t off, char *buf, size_t len)
{
	ssize_t n;

	while ((n = rs_core_read(log_box.core, ino, buf, len, off)) ==
	       RS_EPARK_COLD)
		assert_int_equal(rs_core_load(log_box.core, ino, off, len), 0);
	return n;
}

static void add_data(struct text *text, uint64_t ino)
{
	static uint8_t buf[FILE_MAX * 3];
	ssize_t n = read_all(ino, buf, sizeof(buf)), i;
	uint64_t sum = 1469598103934665603u;

	assert_true(n >= 0);
	for (i = 0; i < n; i++)
		sum = (sum ^ buf[i]) * 1099511628211u;
	add(text, " data=%zd:%llx", n, (unsigned long long)sum);
}

static void add_xattrs(struct text *text, uint64_t ino)
{
	char names[4096], value[256];
	ssize_t len = rs_core_listxattr(log_box.core, ino, names, 4096), n;
	const char *at;
	unsigned int sum = 0, i;

	assert_true(len >= 0);
	/* the list's order isn't kept */
	for (at = names; at < names + len; at += strlen(at) + 1) {
		n = rs_core_getxattr(log_box.core, ino, at, value, 256);
		assert_true(n >= 0);
		for (i = 0; i < n; i++)
			sum += (unsigned int)value[i] * (i + 1);
		sum += 77u * (unsigned int)at[strlen(at) - 1];
	}
	add(text, " xattrs=%zd:%u", len, sum);
}

static void add_map(struct text *text, uint64_t ino, uint64_t size)
{
	int64_t off = 0, next;
	int whence = SEEK_HOLE;

	while (off < (int64_t)size) {
		next = rs_core_lseek(log_box.core, ino, off, whence);
		if (next == RS_EPARK_COLD) {
			assert_int_equal(rs_core_load_edges(log_box.core, ino,
							    (uint64_t)off,
							    UINT64_MAX),
					 0);
			continue;
		}
		if (next == -ENXIO)
			break;
		assert_true(next >= off);
		add(text, " %lld", (long long)next);
		off = next;
		whence = whence == SEEK_HOLE ? SEEK_DATA : SEEK_HOLE;
	}
}

static int add_inode(void *arg, const char *path, const struct rs_stat *st,
		     int first_name)
{
	const struct rs_attr *a = &st->attr;
	struct text *text = arg;
	char target[RS_SYMLINK_MAX + 1];

	add(text, "/%s %llu %o %u:%u n%u s%llu b%llu m%lld.%ld c%lld.%ld", path,
	    (unsigned long long)st->ino, a->mode, a->uid, a->gid, a->nlink,
	    (unsigned long long)a->size, (unsigned long long)a->blocks,
	    (long long)a->mtime.tv_sec, a->mtime.tv_nsec,
	    (long long)a->ctime.tv_sec, a->ctime.tv_nsec);
	add(text, " B%lld r%llu", (long long)a->btime.tv_sec,
	    (unsigned long long)a->rdev);
	if (first_name && S_ISREG(a->mode)) {
		add_map(text, st->ino, a->size);
		add_data(text, st->ino);
	}
	if (S_ISLNK(a->mode)) {
		assert_int_equal(
			rs_core_readlink(log_box.core, st->ino, target), 0);
		add(text, " -> %s", target);
	}
	add_xattrs(text, st->ino);
	add(text, "\n");
	return 0;
}

static char *tree_text(void)
{
	static const struct rs_walk_ops ops = { add_inode };
	struct text text = { NULL, 0, 0 };

	assert_int_equal(rs_core_walk(log_box.core, &ops, &text), 0);
	return text.buf;
}

static void expect_text(const char *want)
{
	RS_AUTO_FREE char *have = tree_text();
	size_t at;

	for (at = 0; want[at] && want[at] == have[at]; at++)
		;
	if (want[at] == have[at])
		return;
	while (at && want[at - 1] != '\n')
		at--;
	fail_msg("seed %llu\nwant %.300s\nhave %.300s",
		 (unsigned long long)seed, want + at, have + at);
}

/* ---- random operations ---- */

static const struct rs_who *who = &rs_box_root;

static uint64_t ino_of(uint64_t dir, const char *name)
{
	struct rs_stat st;

	if (rs_core_lookup(log_box.core, dir, name, &st))
		return 0;
	rs_core_forget(log_box.core, st.ino, 1);
	return st.ino;
}

static int is_dir(uint64_t ino)
{
	struct rs_stat st;

	assert_int_equal(rs_core_getattr(log_box.core, ino, &st), 0);
	return S_ISDIR(st.attr.mode);
}

/* A directory: the root or one or two levels below. */
static uint64_t some_dir(void)
{
	char name[] = "d0";
	uint64_t dir = 1, next;

	while (rnd(3)) {
		name[1] = (char)('0' + rnd(3));
		next = ino_of(dir, name);
		if (!next || !is_dir(next))
			break;
		dir = next;
	}
	return dir;
}

static const char *some_name(void)
{
	static char names[4][4];
	static unsigned int turn;
	char *name = names[turn++ % 4];

	if (rnd(4))
		snprintf(name, 4, "f%u", (unsigned int)rnd(12));
	else
		snprintf(name, 4, "d%u", (unsigned int)rnd(3));
	return name;
}

/* Open group and ring are small: what must wait gets a cut and a fold. */
static void make_room(void)
{
	int more;

	assert_int_equal(rs_journal_commit_once(log_box.journal), 0);
	do {
		assert_int_equal(
			rs_journal_checkpoint_once(log_box.journal, &more), 0);
	} while (more);
}

/* Returns 1 if the state that a crash must bring back moved by this. */
static int unpark(uint64_t ino, int err, uint64_t off, uint64_t len, int edges)
{
	if (err == RS_EPARK_COLD) {
		assert_int_equal(
			edges ? rs_core_load_edges(log_box.core, ino, off, len)
			      : rs_core_load(log_box.core, ino, off, len),
			0);
		return 1;
	}
	return 0;
}

static char *committed;

static void commit(void)
{
	assert_int_equal(rs_journal_commit_once(log_box.journal), 0);
	free(committed);
	committed = tree_text();
}

static int retry(uint64_t ino, int64_t err, uint64_t off, uint64_t len,
		 int edges)
{
	if (err == RS_EPARK) {
		make_room();
		free(committed);
		committed = tree_text();
		return 1;
	}
	return unpark(ino, (int)err, off, len, edges);
}

static void op_write(uint64_t ino)
{
	static uint8_t buf[FILE_MAX];
	uint64_t len = 1 + rnd(rnd(3) ? 6000 : FILE_MAX - 1), i;
	uint64_t off = rnd(3) ? 0 : rnd(FILE_MAX);
	int append = rnd(3) == 0;
	ssize_t n;

	for (i = 0; i < len; i++)
		buf[i] = (uint8_t)rnd(256);
	if (append && len > 20000)
		return;
	do {
		n = rs_core_write(log_box.core, ino, buf, len, off, append);
	} while (retry(ino, n, append ? RS_OFF_END : off, len, 0));
}

static void op_truncate(uint64_t ino)
{
	struct rs_attr attr = { .size = rnd(3) ? rnd(FILE_MAX) : 0 };
	struct rs_stat st;
	int err;

	do {
		err = rs_core_setattr(log_box.core, ino, &attr, RS_SET_SIZE,
				      &st);
	} while (retry(ino, err, attr.size, UINT64_MAX, 1));
}

static void op_fallocate(uint64_t ino)
{
	static const int modes[] = { 0, FALLOC_FL_KEEP_SIZE,
				     FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				     FALLOC_FL_ZERO_RANGE,
				     FALLOC_FL_ZERO_RANGE |
					     FALLOC_FL_KEEP_SIZE };
	int mode = modes[rnd(RS_ARRAY_LEN(modes))], err;
	uint64_t off = rnd(FILE_MAX), len = 1 + rnd(60000);

	do {
		err = rs_core_fallocate(log_box.core, ino, mode, off, len);
	} while (retry(ino, err, off, len, 1));
}

static void op_setattr(uint64_t ino)
{
	struct rs_attr attr = {
		.mode = (uint32_t)rnd(01000),
		.uid = (uint32_t)rnd(5),
		.gid = (uint32_t)rnd(5),
		.mtime = { (time_t)rnd(4000000000), (long)rnd(1000000000) },
	};
	struct rs_stat st;

	assert_int_equal(rs_core_setattr(log_box.core, ino, &attr,
					 (unsigned int)rnd(8) | RS_SET_MTIME,
					 &st),
			 0);
}

static void op_xattr(uint64_t ino)
{
	char name[] = "user.x0", value[100];

	name[6] = (char)('0' + rnd(3));
	memset(value, (int)rnd(256), sizeof(value));
	if (rnd(3))
		assert_int_equal(rs_core_setxattr(log_box.core, ino, name,
						  value, rnd(100), 0),
				 0);
	else
		(void)!rs_core_removexattr(log_box.core, ino, name);
}

static void op_on_inode(uint64_t ino)
{
	struct rs_stat st;

	assert_int_equal(rs_core_getattr(log_box.core, ino, &st), 0);
	switch (rnd(9)) {
	case 0:
		op_setattr(ino);
		return;
	case 1:
		op_xattr(ino);
		return;
	case 2:
		(void)!rs_core_link(log_box.core, ino, some_dir(), some_name(),
				    who, &st);
		rs_core_forget(log_box.core, ino, 1);
		return;
	default:
		break;
	}
	if (!S_ISREG(st.attr.mode))
		return;
	switch (rnd(6)) {
	case 0:
		op_truncate(ino);
		break;
	case 1:
		op_fallocate(ino);
		break;
	default:
		op_write(ino);
	}
}

static void op_make(void)
{
	static const uint32_t modes[] = { S_IFREG | 0600,  S_IFREG | 0600,
					  S_IFREG | 0644,  S_IFIFO | 0600,
					  S_IFSOCK | 0700, S_IFCHR };
	uint64_t dir = some_dir();
	const char *name = some_name();
	struct rs_stat st;
	int err;

	if (name[0] == 'd')
		err = rs_core_mknod(log_box.core, dir, name, who,
				    S_IFDIR | 0700, 0, &st);
	else if (rnd(6) == 0)
		err = rs_core_symlink(log_box.core, dir, name, who,
				      "some/target", &st);
	else
		err = rs_core_mknod(log_box.core, dir, name, who,
				    modes[rnd(RS_ARRAY_LEN(modes))], 0x105,
				    &st);
	if (!err)
		rs_core_forget(log_box.core, st.ino, 1);
}

static void op_tmpfile(void)
{
	struct rs_stat st, again;
	uint64_t dir = some_dir();

	assert_int_equal(rs_core_tmpfile(log_box.core, dir, who, 0600, &st), 0);
	op_write(st.ino);
	if (rnd(2))
		op_fallocate(st.ino);
	op_xattr(st.ino);
	/* staging waits for room, and here nobody else makes any */
	make_room();
	commit();
	/* may fail with -EEXIST: then it stays staged until the forget */
	if (rnd(4) &&
	    !rs_core_link(log_box.core, st.ino, dir, some_name(), who, &again))
		rs_core_forget(log_box.core, st.ino, 1);
	rs_core_forget(log_box.core, st.ino, 1);
}

static void op_orphan(void)
{
	uint64_t dir = some_dir();
	const char *name = some_name();
	struct rs_stat st;

	if (rs_core_lookup(log_box.core, dir, name, &st))
		return;
	(void)!rs_core_unlink(log_box.core, dir, name, who);
	/* what is done to it now must not come back */
	if (S_ISREG(st.attr.mode))
		op_write(st.ino);
	rs_core_forget(log_box.core, st.ino, 1);
}

static void random_op(void)
{
	uint64_t ino;

	switch (rnd(12)) {
	case 0:
	case 1:
	case 2:
		op_make();
		break;
	case 3:
		(void)!rs_core_unlink(log_box.core, some_dir(), some_name(),
				      who);
		break;
	case 4:
		(void)!rs_core_rmdir(log_box.core, some_dir(), some_name(),
				     who);
		break;
	case 5:
	case 6:
		(void)!rs_core_rename(log_box.core, some_dir(), some_name(),
				      some_dir(), some_name(),
				      (unsigned int)rnd(3), who);
		break;
	case 7:
		if (rnd(2))
			op_tmpfile();
		else
			op_orphan();
		break;
	default:
		ino = ino_of(some_dir(), some_name());
		if (ino)
			op_on_inode(ino);
	}
}

static void random_life(uint64_t start, unsigned int ops)
{
	unsigned int i;
	int more;

	seed = start * 0x9e3779b97f4a7c15u + 1;
	commit();
	for (i = 0; i < ops; i++) {
		random_op();
		if (rnd(12) == 0)
			commit();
		if (rnd(60) == 0)
			assert_int_equal(rs_journal_checkpoint_once(
						 log_box.journal, &more),
					 0);
		if (rnd(60) == 0)
			rs_core_shrink(log_box.core, 0);
		if (rnd(100) == 0) {
			crash();
			open_store();
			expect_text(committed);
		}
	}
	crash();
	open_store();
	expect_text(committed);
	free(committed);
	committed = NULL;
}

static void test_random_lives(void **state)
{
	const char *one = getenv("SEED"), *count = getenv("COUNT");
	uint64_t start, last = count ? strtoull(count, NULL, 10) : 12;

	if (one) {
		random_life(strtoull(one, NULL, 10), 600);
		return;
	}
	for (start = 1; start <= last; start++) {
		random_life(start, 600);
		teardown(state);
		setup(state);
	}
}

static void create(const char *name, const char *text)
{
	struct rs_stat st;

	assert_int_equal(rs_core_mknod(log_box.core, 1, name, who,
				       S_IFREG | 0600, 0, &st),
			 0);
	assert_int_equal(
		rs_core_write(log_box.core, st.ino, text, strlen(text), 0, 0),
		strlen(text));
	rs_core_forget(log_box.core, st.ino, 1);
}

static void test_uncommitted_is_gone(void **state)
{
	(void)state;
	create("a", "one");
	assert_int_equal(rs_journal_commit_once(log_box.journal), 0);
	create("b", "two");
	assert_int_equal(rs_core_rename(log_box.core, 1, "a", 1, "c", 0, who),
			 0);
	crash();
	open_store();
	assert_true(ino_of(1, "a"));
	assert_false(ino_of(1, "b"));
	assert_false(ino_of(1, "c"));
	create("d", "three");
	/* a number is never given twice, not even a lost one */
	assert_true(ino_of(1, "d") > ino_of(1, "a") + 1);
}

static void test_short_lived_leaves_nothing(void **state)
{
	struct rs_journal_status before, after;
	int i;

	(void)state;
	assert_int_equal(rs_journal_commit_once(log_box.journal), 0);
	rs_journal_status(log_box.journal, &before);
	for (i = 0; i < 20; i++) {
		create("x", "a body of some size");
		assert_int_equal(
			rs_core_rename(log_box.core, 1, "x", 1, "y", 0, who),
			0);
		assert_int_equal(rs_core_unlink(log_box.core, 1, "y", who), 0);
	}
	assert_int_equal(rs_journal_commit_once(log_box.journal), 0);
	rs_journal_status(log_box.journal, &after);
	/* one page: the root directory's times are all that is left */
	assert_true(after.frame_bytes - before.frame_bytes <= RS_PAGE);
	crash();
	open_store();
	assert_false(ino_of(1, "x"));
	assert_false(ino_of(1, "y"));
}

static void test_names_within_one_group(void **state)
{
	(void)state;
	create("a", "old a");
	create("b", "old b");
	assert_int_equal(rs_journal_commit_once(log_box.journal), 0);
	/* a durable name goes, comes back as another, goes again */
	assert_int_equal(rs_core_unlink(log_box.core, 1, "a", who), 0);
	create("a", "new");
	assert_int_equal(rs_core_unlink(log_box.core, 1, "a", who), 0);
	/* replaced by a fresh one, that is moved away again */
	create("n", "n");
	assert_int_equal(rs_core_rename(log_box.core, 1, "n", 1, "b", 0, who),
			 0);
	assert_int_equal(rs_core_rename(log_box.core, 1, "b", 1, "m", 0, who),
			 0);
	assert_int_equal(rs_journal_commit_once(log_box.journal), 0);
	crash();
	open_store();
	assert_false(ino_of(1, "a"));
	assert_false(ino_of(1, "b"));
	assert_false(ino_of(1, "n"));
	assert_true(ino_of(1, "m"));
}

static void test_sync_number(void **state)
{
	struct rs_stat d, f;
	uint64_t open;

	(void)state;
	assert_int_equal(
		rs_core_mknod(log_box.core, 1, "d", who, S_IFDIR | 0700, 0, &d),
		0);
	assert_int_equal(rs_core_mknod(log_box.core, d.ino, "f", who,
				       S_IFREG | 0600, 0, &f),
			 0);
	assert_int_equal(rs_journal_commit_once(log_box.journal), 0);
	assert_int_equal(rs_core_sync_number(log_box.core, f.ino), 0);
	assert_int_equal(rs_core_sync_number(log_box.core, d.ino), 0);
	open = rs_journal_open_number(log_box.journal);
	/* a change beside it doesn't concern it */
	create("x", "x");
	assert_int_equal(rs_core_sync_number(log_box.core, f.ino), 0);
	assert_int_equal(rs_core_sync_number(log_box.core, 1), open);
	/* a rename of the directory above does */
	assert_int_equal(rs_core_rename(log_box.core, 1, "d", 1, "e", 0, who),
			 0);
	assert_int_equal(rs_core_sync_number(log_box.core, f.ino), open);
	assert_int_equal(rs_journal_commit_once(log_box.journal), 0);
	assert_int_equal(rs_core_sync_number(log_box.core, f.ino), 0);
	/* bytes, a second name, and its removal */
	open = rs_journal_open_number(log_box.journal);
	assert_int_equal(rs_core_write(log_box.core, f.ino, "x", 1, 0, 0), 1);
	assert_int_equal(rs_core_sync_number(log_box.core, f.ino), open);
	assert_int_equal(rs_core_sync_number(log_box.core, d.ino), 0);
	assert_int_equal(rs_core_unlink(log_box.core, d.ino, "f", who), 0);
	/* nothing brings an unlinked file back: nothing to wait for */
	assert_int_equal(rs_core_sync_number(log_box.core, f.ino), 0);
	assert_int_equal(rs_core_sync_number(log_box.core, d.ino), open);
	rs_core_forget(log_box.core, f.ino, 1);
	rs_core_forget(log_box.core, d.ino, 1);
}

static void test_cold_data(void **state)
{
	static uint8_t body[200000], buf[200000];
	struct rs_core_status status;
	struct rs_stat st;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(body); i++)
		body[i] = (uint8_t)(i * 7 + i / 4096);
	assert_int_equal(rs_core_mknod(log_box.core, 1, "f", who,
				       S_IFREG | 0600, 0, &st),
			 0);
	assert_int_equal(
		rs_core_write(log_box.core, st.ino, body, sizeof(body), 0, 0),
		sizeof(body));
	/* not folded: nothing may go */
	assert_int_equal(rs_core_shrink(log_box.core, 0), 0);
	make_room();
	assert_true(rs_core_shrink(log_box.core, 0) >= sizeof(body));
	rs_core_status(log_box.core, &status);
	assert_int_equal(status.cold_bytes, 49 * RS_PAGE);
	assert_int_equal(rs_core_read(log_box.core, st.ino, buf, 100, 70000),
			 RS_EPARK_COLD);
	assert_int_equal(rs_core_load(log_box.core, st.ino, 70000, 100), 0);
	assert_int_equal(rs_core_read(log_box.core, st.ino, buf, 100, 70000),
			 100);
	assert_memory_equal(buf, body + 70000, 100);
	/* whole pages need no load, a part of one does */
	assert_int_equal(
		rs_core_write(log_box.core, st.ino, body + 1, 4096, 8192, 0),
		4096);
	memcpy(body + 8192, body + 1, 4096);
	assert_int_equal(rs_core_write(log_box.core, st.ino, "x", 1, 20000, 0),
			 RS_EPARK_COLD);
	assert_int_equal(rs_core_load(log_box.core, st.ino, 20000, 1), 0);
	assert_int_equal(rs_core_write(log_box.core, st.ino, "x", 1, 20000, 0),
			 1);
	body[20000] = 'x';
	assert_int_equal(read_all(st.ino, buf, sizeof(buf)), sizeof(buf));
	assert_memory_equal(buf, body, sizeof(buf));
	rs_core_forget(log_box.core, st.ino, 1);
}

static void test_removed_but_open_cold_file(void **state)
{
	static uint8_t body[60000], buf[60000];
	struct rs_stat st;

	(void)state;
	memset(body, 'b', sizeof(body));
	assert_int_equal(rs_core_mknod(log_box.core, 1, "f", who,
				       S_IFREG | 0600, 0, &st),
			 0);
	assert_int_equal(
		rs_core_write(log_box.core, st.ino, body, sizeof(body), 0, 0),
		sizeof(body));
	make_room();
	assert_true(rs_core_shrink(log_box.core, 0) >= sizeof(body));
	assert_int_equal(rs_core_unlink(log_box.core, 1, "f", who), 0);
	make_room();
	assert_int_equal(read_all(st.ino, buf, sizeof(buf)), sizeof(buf));
	assert_memory_equal(buf, body, sizeof(buf));
	/* what is written to it now is in no log: it may not be dropped */
	assert_int_equal(rs_core_write(log_box.core, st.ino, "new", 3, 100, 0),
			 3);
	make_room();
	assert_int_equal(rs_core_shrink(log_box.core, 0), 0);
	assert_int_equal(read_all(st.ino, buf, sizeof(buf)), sizeof(buf));
	assert_memory_equal(buf + 100, "new", 3);
	rs_core_forget(log_box.core, st.ino, 1);
	make_room();
	crash();
	open_store();
	assert_false(ino_of(1, "f"));
	assert_int_equal(log_box.rep.files, 0);
}

static void test_sparse_cold_file(void **state)
{
	struct rs_attr attr = { .size = 30001 };
	struct rs_stat st;
	char buf[16];
	int64_t far = INT64_C(40) << 20;

	(void)state;
	create("f", "head");
	st.ino = ino_of(1, "f");
	assert_int_equal(rs_core_write(log_box.core, st.ino, "tail", 4,
				       (uint64_t)far + 5, 0),
			 4);
	assert_int_equal(
		rs_core_write(log_box.core, st.ino, "mid", 3, 30000, 0), 3);
	make_room();
	crash();
	open_store();
	st.ino = ino_of(1, "f");
	assert_int_equal(rs_core_lseek(log_box.core, st.ino, 8192, SEEK_DATA),
			 RS_EPARK_COLD);
	assert_int_equal(
		rs_core_load_edges(log_box.core, st.ino, 8192, UINT64_MAX), 0);
	assert_int_equal(rs_core_lseek(log_box.core, st.ino, 8192, SEEK_DATA),
			 28672);
	assert_int_equal(rs_core_lseek(log_box.core, st.ino, 32768, SEEK_DATA),
			 far);
	assert_int_equal(
		rs_core_read(log_box.core, st.ino, buf, 16, (uint64_t)far),
		RS_EPARK_COLD);
	assert_int_equal(rs_core_load(log_box.core, st.ino, (uint64_t)far, 16),
			 0);
	assert_int_equal(
		rs_core_read(log_box.core, st.ino, buf, 16, (uint64_t)far), 9);
	assert_memory_equal(buf, "\0\0\0\0\0tail", 9);
	assert_int_equal(
		rs_core_setattr(log_box.core, st.ino, &attr, RS_SET_SIZE, &st),
		RS_EPARK_COLD);
	assert_int_equal(
		rs_core_load_edges(log_box.core, st.ino, 30001, UINT64_MAX), 0);
	assert_int_equal(
		rs_core_setattr(log_box.core, st.ino, &attr, RS_SET_SIZE, &st),
		0);
	assert_int_equal(st.attr.blocks, 2);
	assert_int_equal(rs_core_read(log_box.core, st.ino, buf, 16, 29998), 3);
	assert_memory_equal(buf, "\0\0m", 3);
	make_room();
	crash();
	open_store();
	st.ino = ino_of(1, "f");
	assert_int_equal(read_at(st.ino, 29998, buf, 16), 3);
	assert_memory_equal(buf, "\0\0m", 3);
}

static void commit_all(void)
{
	assert_int_equal(log_box.threads
				 ? rs_journal_sync(log_box.journal)
				 : rs_journal_commit_once(log_box.journal),
			 0);
}

static void stage(const uint8_t *body, size_t len)
{
	static uint8_t buf[700000];
	struct rs_stat st, again;
	struct rs_core_status status;
	uint64_t off;

	create("taken", "x");
	assert_int_equal(rs_core_tmpfile(log_box.core, 1, who, 0600, &st), 0);
	for (off = 0; off < len; off += 50000)
		assert_int_equal(rs_core_write(log_box.core, st.ino, body + off,
					       50000, off, 0),
				 50000);
	/* fails before anything is staged */
	assert_int_equal(
		rs_core_link(log_box.core, st.ino, 1, "taken", who, &again),
		-EEXIST);
	assert_int_equal(rs_core_sync_number(log_box.core, st.ino), 0);
	assert_int_equal(
		rs_core_link(log_box.core, st.ino, 1, "t", who, &again), 0);
	assert_int_equal(again.attr.nlink, 1);
	/* with threads it may be durable by now */
	if (!log_box.threads)
		assert_true(rs_core_sync_number(log_box.core, st.ino) > 0);
	commit_all();
	crash();
	open_store();
	assert_int_equal(ino_of(1, "t"), st.ino);
	rs_core_status(log_box.core, &status);
	assert_int_equal(status.inodes, 3);
	assert_int_equal(log_box.rep.files, 2);
	assert_int_equal(read_all(st.ino, buf, sizeof(buf)), len);
	assert_memory_equal(buf, body, len);
}

static void test_staged_file(void **state)
{
	static uint8_t body[100000];

	(void)state;
	memset(body, 's', sizeof(body));
	stage(body, sizeof(body));
}

/* Larger than a group: several frames, folded while it goes on. */
static void test_staged_in_many_frames(void **state)
{
	static uint8_t body[600000];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(body); i++)
		body[i] = (uint8_t)(i * 13 + i / 4096);
	crash();
	log_box.threads = 1;
	open_store();
	stage(body, sizeof(body));
}

static void more_data_than_ram(unsigned int files, size_t len)
{
	static uint8_t body[300000], buf[300000];
	struct rs_core_status status;
	uint64_t ino[64];
	char name[8];
	unsigned int i;
	ssize_t n;

	for (i = 0; i < files; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		create(name, "");
		ino[i] = ino_of(1, name);
		memset(body, (int)i + 1, len);
		while ((n = rs_core_write(log_box.core, ino[i], body, len, 0,
					  0)) == RS_EPARK)
			make_room();
		assert_int_equal(n, len);
		rs_core_status(log_box.core, &status);
		assert_true(status.ram_bytes <= log_box.ram);
	}
	for (i = 0; i < files; i++) {
		memset(body, (int)i + 1, len);
		assert_int_equal(read_all(ino[i], buf, sizeof(buf)), len);
		assert_memory_equal(buf, body, len);
		rs_core_status(log_box.core, &status);
		assert_true(status.ram_bytes <= log_box.ram);
	}
}

static void test_more_data_than_ram(void **state)
{
	struct rs_core_status status;

	(void)state;
	crash();
	log_box.ram = 3 << 20;
	open_store();
	more_data_than_ram(60, 200000);
	rs_core_status(log_box.core, &status);
	assert_true(status.cold_bytes > 8 << 20);
	assert_int_equal(status.data_bytes, 60 * 49 * RS_PAGE);
}

/* A frame with the inode and not with the entry: as a crash leaves it. */
static void test_staged_without_entry_is_dropped(void **state)
{
	struct rs_rec rec = { .type = RS_REC_INODE, .ino = 500000 };
	struct rs_core_status status;

	(void)state;
	rec.attr.mode = S_IFREG | 0600;
	rec.attr.flags = RS_IF_STAGED;
	assert_int_equal(rs_journal_reserve(log_box.journal, RS_REC_INODE_LEN,
					    RS_NEED_SMALL),
			 0);
	rs_journal_begin(log_box.journal);
	rs_journal_put(log_box.journal, &rec, NULL);
	rs_journal_end(log_box.journal);
	rs_journal_unreserve(log_box.journal, RS_REC_INODE_LEN);
	assert_int_equal(rs_journal_commit_once(log_box.journal), 0);
	crash();
	open_store();
	assert_int_equal(log_box.rep.reaped, 1);
	rs_core_status(log_box.core, &status);
	assert_int_equal(status.inodes, 1);
	/* the first change takes it out of the log */
	create("f", "x");
	make_room();
	crash();
	open_store();
	assert_int_equal(log_box.rep.reaped, 0);
	assert_true(ino_of(1, "f"));
}

/* A record that no core would write. */
static void forge(const struct rs_rec *rec)
{
	assert_int_equal(
		rs_journal_reserve(log_box.journal, 4096, RS_NEED_SMALL), 0);
	rs_journal_begin(log_box.journal);
	rs_journal_put(log_box.journal, rec, NULL);
	rs_journal_end(log_box.journal);
	rs_journal_unreserve(log_box.journal, 4096);
}

static unsigned int findings(enum rs_finding_kind kind)
{
	unsigned int n = 0;
	size_t i;

	for (i = 0; i < log_box.rep.n_findings; i++)
		n += log_box.rep.findings[i].kind == kind;
	return n;
}

static void reopen_damaged(void)
{
	assert_int_equal(rs_journal_commit_once(log_box.journal), 0);
	crash();
	log_box.damaged = 1;
	open_store();
}

static void test_missing_change_is_suspect(void **state)
{
	struct rs_rec rec = { .type = RS_REC_DATA, .prev = 77, .off = 0 };
	struct rs_attr attr = { .size = 5 };
	struct rs_core_status status;
	struct rs_stat st;
	uint64_t ino;
	char buf[8];

	(void)state;
	create("f", "good");
	create("g", "fine");
	rec.ino = ino = ino_of(1, "f");
	rec.data = (const uint8_t *)"evil";
	rec.data_len = 4;
	assert_int_equal(rs_journal_commit_once(log_box.journal), 0);
	forge(&rec);
	reopen_damaged();
	assert_int_equal(findings(RS_FIND_INODE), 1);
	assert_int_equal(log_box.rep.findings[0].ino, ino);
	rs_core_status(log_box.core, &status);
	assert_int_equal(status.suspects, 1);
	/* name, size and times are known, the bytes are not served */
	assert_int_equal(ino_of(1, "f"), ino);
	assert_int_equal(rs_core_read(log_box.core, ino, buf, 8, 0), -EIO);
	assert_int_equal(rs_core_write(log_box.core, ino, "x", 1, 0, 0), -EIO);
	assert_int_equal(
		rs_core_setattr(log_box.core, ino, &attr, RS_SET_SIZE, &st),
		-EIO);
	assert_int_equal(rs_core_read(log_box.core, ino_of(1, "g"), buf, 8, 0),
			 4);
	/* emptied, it is good again */
	attr.size = 0;
	assert_int_equal(
		rs_core_setattr(log_box.core, ino, &attr, RS_SET_SIZE, &st), 0);
	assert_int_equal(rs_core_write(log_box.core, ino, "x", 1, 0, 0), 1);
	assert_int_equal(rs_core_read(log_box.core, ino, buf, 8, 0), 1);
	rs_core_status(log_box.core, &status);
	assert_int_equal(status.suspects, 0);
}

static void forge_entry(uint64_t dir, const char *name, uint64_t child,
			uint64_t prev)
{
	struct rs_rec rec = { .type = RS_REC_ENTRY_PUT, .dtype = 4 };

	rec.ino = dir;
	rec.prev = prev;
	rec.child = child;
	rec.name = (const uint8_t *)name;
	rec.name_len = (uint32_t)strlen(name);
	forge(&rec);
}

static void test_what_is_no_tree_is_cut(void **state)
{
	uint64_t a, b, prev;
	struct rs_stat st;

	(void)state;
	assert_int_equal(rs_core_mknod(log_box.core, 1, "a", who,
				       S_IFDIR | 0700, 0, &st),
			 0);
	a = st.ino;
	assert_int_equal(rs_core_mknod(log_box.core, a, "b", who,
				       S_IFDIR | 0700, 0, &st),
			 0);
	b = st.ino;
	create("f", "text");
	prev = rs_journal_open_number(log_box.journal);
	assert_int_equal(rs_journal_commit_once(log_box.journal), 0);
	forge_entry(b, "cycle", a, prev);
	forge_entry(1, "second", b, prev);
	forge_entry(1, "ghost", 4242, prev);
	reopen_damaged();
	assert_int_equal(findings(RS_FIND_ENTRY), 3);
	assert_int_equal(ino_of(1, "ghost"), 0);
	assert_true(ino_of(1, "f"));
	assert_int_equal(ino_of(1, "a"), a);
	/* b has one of its two names; nothing leads round in a circle */
	assert_true((ino_of(1, "second") == b) != (ino_of(a, "b") == b));
	assert_int_equal(ino_of(b, "cycle"), 0);
	RS_AUTO_FREE char *text = tree_text();
	assert_non_null(text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_uncommitted_is_gone),
		TEST(test_short_lived_leaves_nothing),
		TEST(test_names_within_one_group),
		TEST(test_sync_number),
		TEST(test_cold_data),
		TEST(test_removed_but_open_cold_file),
		TEST(test_sparse_cold_file),
		TEST(test_staged_file),
		TEST(test_staged_in_many_frames),
		TEST(test_more_data_than_ram),
		TEST(test_staged_without_entry_is_dropped),
		TEST(test_missing_change_is_suspect),
		TEST(test_what_is_no_tree_is_cut),
		TEST(test_random_lives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
