/* fuzz_store.c - see fuzz_store.h. */
#define _GNU_SOURCE
#include "fuzz_store.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/core.h"

static const char *const files[] = { "rspool.id", "intent.log", "data.mdb" };
static uint8_t *good[RS_ARRAY_LEN(files)];
static size_t good_len[RS_ARRAY_LEN(files)];
static char dir_name[] = "/dev/shm/rspool-fuzz-XXXXXX";

static void clean_up(void)
{
	char path[256];
	size_t i;

	for (i = 0; i < RS_ARRAY_LEN(files); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir_name, files[i]);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/lock.mdb", dir_name);
	unlink(path);
	rmdir(dir_name);
}

static struct rs_core *core_of(struct rs_journal *j, int readonly)
{
	struct rs_core_cfg cfg = { .journal = j,
				   .ram = UINT64_C(64) << 20,
				   .capacity = UINT64_C(4) << 20,
				   .inodes = 2000,
				   .policy = RS_POLICY_FSYNC,
				   .xattr = 1,
				   .readonly = readonly };
	struct rs_core *core;

	assert(!rs_core_new(&cfg, &core));
	return core;
}

static struct rs_journal *journal_of(const char *dir, enum rs_journal_mode mode,
				     struct rs_report *rep)
{
	struct rs_journal_cfg cfg = { .dir = dir,
				      .mode = mode,
				      .flush_interval = 1000,
				      .manual = 1,
				      .inline_walk = 1 };
	struct rs_journal *j = NULL;
	pid_t owner;

	return rs_journal_open(&cfg, rep, &owner, &j) ? NULL : j;
}

/* Some files in the store, some in frames that are not folded yet. */
static void fill(const char *dir)
{
	struct rs_who who = { 0 };
	struct rs_report rep;
	struct rs_journal *j;
	struct rs_core *core;
	struct rs_stat st;
	unsigned int i;
	int more;

	rs_report_init(&rep);
	j = journal_of(dir, RS_JOURNAL_SERVE, &rep);
	assert(j);
	core = core_of(j, 0);
	assert(!rs_core_load_tree(core, &rep) && !rs_journal_start(j));
	for (i = 0; i < 12; i++) {
		char name[16];

		snprintf(name, sizeof(name), "m%u", i);
		assert(!rs_core_mknod(core, RS_INO_ROOT, name, &who,
				      (i % 4 ? S_IFREG : S_IFDIR) | 0700, 0,
				      &st));
		if (i % 4)
			assert(rs_core_write(core, st.ino, name, 3, 9 * i, 0) ==
			       3);
		assert(rs_journal_commit_once(j) >= 0);
		if (i == 6)
			assert(rs_journal_checkpoint_once(j, &more) >= 0);
	}
	rs_core_free(core);
	rs_journal_close(j);
	rs_report_release(&rep);
}

static void remember(size_t i)
{
	char path[256];
	struct stat st;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir_name, files[i]);
	f = fopen(path, "rb");
	assert(f && !fstat(fileno(f), &st));
	good_len[i] = (size_t)st.st_size;
	good[i] = malloc(good_len[i]);
	assert(good[i] && fread(good[i], 1, good_len[i], f) == good_len[i]);
	fclose(f);
}

static void make(void)
{
	struct rs_store_spec spec = { .dir = dir_name,
				      .ring_size = 262144,
				      .capacity = 65536,
				      .inodes = 64 };
	size_t i;
	int cow;

	setenv("RSPOOL_TEST_RING", "1", 1);
	assert(mkdtemp(dir_name));
	atexit(clean_up);
	assert(!rs_journal_init_store(&spec, &cow));
	fill(dir_name);
	for (i = 0; i < RS_ARRAY_LEN(files); i++)
		remember(i);
}

const char *fuzz_store_reset(void)
{
	char path[256];
	size_t i;
	int fd;

	if (!good[0]) {
		make();
		return dir_name;
	}
	for (i = 0; i < RS_ARRAY_LEN(files); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir_name, files[i]);
		fd = open(path, O_WRONLY | O_CREAT, 0600);
		assert(fd >= 0 && !ftruncate(fd, (off_t)good_len[i]));
		assert(pwrite(fd, good[i], good_len[i], 0) ==
		       (ssize_t)good_len[i]);
		close(fd);
	}
	return dir_name;
}

static int look(void *arg, const char *path, const struct rs_stat *st,
		int first_name)
{
	struct rs_core *core = arg;
	char buf[512];

	(void)path;
	(void)first_name;
	if (S_ISREG(st->attr.mode) &&
	    rs_core_read(core, st->ino, buf, sizeof(buf), 0) == RS_EPARK_COLD &&
	    !rs_core_load(core, st->ino, 0, sizeof(buf)))
		(void)!rs_core_read(core, st->ino, buf, sizeof(buf), 0);
	return 0;
}

void fuzz_store_open(const char *dir)
{
	struct rs_walk_ops walk = { .inode = look };
	struct rs_report rep;
	struct rs_journal *j;
	struct rs_core *core;

	rs_report_init(&rep);
	j = journal_of(dir, RS_JOURNAL_RDONLY, &rep);
	if (j) {
		core = core_of(j, 1);
		if (!rs_core_load_tree(core, &rep))
			(void)!rs_core_walk(core, &walk, core);
		rs_core_free(core);
		rs_journal_close(j);
	}
	rs_report_release(&rep);
}

void fuzz_store_recover(const char *dir)
{
	struct rs_report rep;
	struct rs_journal *j;

	rs_report_init(&rep);
	j = journal_of(dir, RS_JOURNAL_RECOVER, &rep);
	if (j) {
		(void)!rs_journal_fold_all(j, NULL, NULL, &rep);
		rs_journal_close(j);
	}
	rs_report_release(&rep);
}
