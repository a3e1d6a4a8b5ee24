/*
 * spool_box.c - see spool_box.h.
 */
#include "tests/unit/spool_box.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

struct spool spool;
const struct rs_who spool_who = { 0, 0, 1 };

int spool_set_up(void **state)
{
	struct rs_store_spec spec = {
		.ring_size = SPOOL_RING,
		.capacity = 16 << 20,
		.inodes = 4000,
	};
	const char *tmp = getenv("TMPDIR");
	int cow;

	(void)state;
	memset(&spool, 0, sizeof(spool));
	setenv("RSPOOL_TEST_RING", "1", 1);
	snprintf(spool.dir, sizeof(spool.dir), "%.40s/rs-spool-XXXXXX",
		 tmp ? tmp : "/tmp");
	assert_non_null(mkdtemp(spool.dir));
	spec.dir = spool.dir;
	assert_int_equal(rs_journal_init_store(&spec, &cow), 0);
	spool.policy = RS_POLICY_FSYNC;
	spool.ram = 64 << 20;
	spool.capacity = 16 << 20;
	return 0;
}

int spool_set_up_qv(void **state, const struct rs_rule *rules, size_t n)
{
	spool_set_up(state);
	spool.rules = rules;
	spool.n_rules = n;
	spool_open();
	spool_mkdir("q");
	spool_mkdir("v");
	return 0;
}

int spool_tear_down(void **state)
{
	char command[128];

	(void)state;
	if (spool.core)
		spool_crash();
	snprintf(command, sizeof(command), "rm -rf '%s'", spool.dir);
	return system(command);
}

static int in_use(void *arg, uint64_t ino)
{
	(void)arg;
	return spool.core && rs_core_in_use(spool.core, ino);
}

void spool_open(void)
{
	const struct rs_journal_cfg cfg = {
		.dir = spool.dir,
		.mode = RS_JOURNAL_SERVE,
		.manual = !spool.threads,
		.flush_interval = 1000,
		.inline_walk = 1,
		.inode_in_use = in_use,
	};
	struct rs_core_cfg core_cfg = {
		.ram = spool.ram,
		.capacity = spool.capacity,
		.inodes = 4000,
		.policy = spool.policy,
		.rules = spool.rules,
		.n_rules = spool.n_rules,
		.noatime = 1,
		.xattr = 1,
	};
	pid_t owner;

	rs_report_init(&spool.rep);
	assert_int_equal(rs_journal_open(&cfg, &spool.rep, &owner, &spool.j),
			 0);
	core_cfg.journal = spool.j;
	assert_int_equal(rs_core_new(&core_cfg, &spool.core), 0);
	assert_int_equal(rs_core_load_tree(spool.core, &spool.rep), 0);
	if (spool.rep.n_findings)
		fail_msg("finding: ino %llu frame %llu: %s",
			 (unsigned long long)spool.rep.findings[0].ino,
			 (unsigned long long)spool.rep.findings[0].number,
			 spool.rep.findings[0].why);
	assert_int_equal(rs_journal_start(spool.j), 0);
}

void spool_crash(void)
{
	struct rs_core *core = spool.core;

	spool.core = NULL;
	rs_core_free(core);
	rs_journal_close(spool.j);
	rs_report_release(&spool.rep);
}

void spool_again(void)
{
	spool_crash();
	spool_open();
}

void spool_stop(void)
{
	assert_int_equal(rs_journal_stop(spool.j, 0), 0);
	spool_crash();
}

void spool_commit(void)
{
	assert_int_equal(rs_journal_commit_once(spool.j), 0);
}

void spool_fold(void)
{
	int more = 1;

	spool_commit();
	while (more)
		assert_int_equal(rs_journal_checkpoint_once(spool.j, &more), 0);
}

uint64_t spool_ino(const char *path)
{
	uint64_t ino;
	int err = rs_core_resolve(spool.core, path, &ino);

	if (err == -ENOENT)
		return 0;
	assert_int_equal(err, 0);
	return ino;
}

/* The directory above, and the last component. */
static uint64_t split(const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	char above[256];
	uint64_t dir;

	*ret_name = slash ? slash + 1 : path;
	snprintf(above, sizeof(above), "%.*s", slash ? (int)(slash - path) : 0,
		 path);
	dir = spool_ino(above);
	assert_true(dir);
	return dir;
}

static uint64_t make(const char *path, uint32_t mode)
{
	struct rs_stat st;
	const char *name;
	uint64_t dir = split(path, &name);
	int err;

	err = rs_core_mknod(spool.core, dir, name, &spool_who, mode, 0, &st);
	if (err)
		fail_msg("mknod %s: %d", path, err);
	rs_core_forget(spool.core, st.ino, 1);
	return st.ino;
}

uint64_t spool_mkdir(const char *path)
{
	return make(path, S_IFDIR | 0750);
}

uint64_t spool_file(const char *path, const char *text)
{
	uint64_t ino = make(path, S_IFREG | 0640);
	size_t len = strlen(text);

	assert_int_equal(rs_core_write(spool.core, ino, text, len, 0, 0), len);
	return ino;
}

static uint8_t pattern(size_t i, unsigned int seed)
{
	return (uint8_t)((i * 31 + (i >> 9) + seed * 97) & 0xff);
}

/* Data waits for room; here that is made by hand. */
static void make_room(void)
{
	int more;

	spool_commit();
	assert_int_equal(rs_journal_checkpoint_once(spool.j, &more), 0);
}

uint64_t spool_big(const char *path, size_t n, unsigned int seed)
{
	uint64_t ino = make(path, S_IFREG | 0640);
	uint8_t buf[16384];
	size_t off, i, len;
	ssize_t rc;

	for (off = 0; off < n; off += len) {
		len = n - off < sizeof(buf) ? n - off : sizeof(buf);
		for (i = 0; i < len; i++)
			buf[i] = pattern(off + i, seed);
		while ((rc = rs_core_write(spool.core, ino, buf, len, off,
					   0)) == RS_EPARK)
			make_room();
		assert_int_equal(rc, len);
	}
	return ino;
}

int spool_rename(const char *from, const char *to, unsigned int flags)
{
	const char *a, *b;
	uint64_t dir = split(from, &a), newdir = split(to, &b);

	return rs_core_rename(spool.core, dir, a, newdir, b, flags, &spool_who);
}

int spool_link(const char *from, const char *to)
{
	struct rs_stat st;
	const char *name;
	uint64_t ino = spool_ino(from), dir = split(to, &name);
	int err = rs_core_link(spool.core, ino, dir, name, &spool_who, &st);

	if (!err)
		rs_core_forget(spool.core, ino, 1);
	return err;
}

int spool_unlink(const char *path)
{
	const char *name;
	uint64_t dir = split(path, &name);

	return rs_core_unlink(spool.core, dir, name, &spool_who);
}

int spool_rmdir(const char *path)
{
	const char *name;
	uint64_t dir = split(path, &name);

	return rs_core_rmdir(spool.core, dir, name, &spool_who);
}

int spool_set(const char *path, enum rs_policy policy)
{
	const struct rs_policy_set set = {
		.what = RS_POLSET_POLICY,
		.policy = (uint8_t)policy,
	};
	uint64_t number;
	int err;

	err = rs_core_policy_set(spool.core, spool_ino(path), &set, &number);
	if (!err)
		assert_int_equal(rs_journal_sync(spool.j), 0);
	return err;
}

static ssize_t read_at(uint64_t ino, void *buf, size_t len, uint64_t off)
{
	ssize_t n;

	while ((n = rs_core_read(spool.core, ino, buf, len, off)) ==
	       RS_EPARK_COLD)
		assert_int_equal(rs_core_load(spool.core, ino, off, len), 0);
	return n;
}

void spool_expect(const char *path, const char *text)
{
	char buf[1024];
	uint64_t ino = spool_ino(path);
	ssize_t n;

	if (!ino)
		fail_msg("%s is gone", path);
	n = read_at(ino, buf, sizeof(buf) - 1, 0);
	assert_true(n >= 0);
	buf[n] = '\0';
	assert_string_equal(buf, text);
}

void spool_expect_big(const char *path, size_t n, unsigned int seed)
{
	uint64_t ino = spool_ino(path);
	uint8_t buf[16384];
	size_t off, i, len;

	if (!ino)
		fail_msg("%s is gone", path);
	for (off = 0; off < n; off += len) {
		len = n - off < sizeof(buf) ? n - off : sizeof(buf);
		assert_int_equal(read_at(ino, buf, len, off), len);
		for (i = 0; i < len; i++) {
			if (buf[i] != pattern(off + i, seed))
				fail_msg("%s differs at %zu", path, off + i);
		}
	}
	assert_int_equal(read_at(ino, buf, 1, n), 0);
}

struct list {
	char *paths[4096];
	size_t n;
};

static int add_path(void *arg, const char *path, const struct rs_stat *st,
		    int first_name)
{
	struct list *list = arg;

	(void)st;
	(void)first_name;
	if (!*path)
		return 0;
	assert_true(list->n < sizeof(list->paths) / sizeof(list->paths[0]));
	list->paths[list->n++] = strdup(path);
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

char *spool_tree(void)
{
	static const struct rs_walk_ops ops = { add_path };
	static struct list list;
	size_t i, len = 1;
	char *text;

	list.n = 0;
	assert_int_equal(rs_core_walk(spool.core, &ops, &list), 0);
	qsort(list.paths, list.n, sizeof(list.paths[0]), by_name);
	for (i = 0; i < list.n; i++)
		len += strlen(list.paths[i]) + 1;
	text = calloc(1, len);
	assert_non_null(text);
	for (i = 0; i < list.n; i++) {
		if (i)
			strcat(text, " ");
		strcat(text, list.paths[i]);
		free(list.paths[i]);
	}
	return text;
}

void spool_expect_tree(const char *want)
{
	RS_AUTO_FREE char *text = spool_tree();

	assert_string_equal(text, want);
}

uint64_t spool_written(void)
{
	struct rs_journal_status status;

	spool_commit();
	rs_journal_status(spool.j, &status);
	return status.frame_bytes;
}
