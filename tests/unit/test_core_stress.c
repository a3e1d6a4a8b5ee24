/*
 * test_core_stress.c - workers on one tree over a running journal, beside
 * its committer and checkpointer and somebody who keeps dropping data from
 * RAM; then a crash. Meant for TSan as much as for what it asserts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>

#include "tests/unit/core_box.h"

#define WORKERS 3
#define ROUNDS 60
#define BODY_MAX 40000u

struct worker {
	pthread_t thread;
	unsigned int id;
	uint64_t dir;
	uint64_t seed;
	/* what was acknowledged: 0 nothing, else the body's length */
	size_t len[ROUNDS];
	int removed[ROUNDS];
};

static char store[64];
static struct rs_journal *journal;
static struct rs_core *core;
static struct worker workers[WORKERS];
static atomic_int stop;

static const struct rs_who who = { 0, 0, 1 };

static int in_use(void *arg, uint64_t ino)
{
	(void)arg;
	return rs_core_in_use(core, ino);
}

static void open_store(void)
{
	const struct rs_journal_cfg cfg = {
		.dir = store,
		.mode = RS_JOURNAL_SERVE,
		.flush_interval = 20,
		.checkpoint_interval = 50,
		.inline_walk = 1,
		.inode_in_use = in_use,
	};
	struct rs_core_cfg core_cfg = {
		.ram = 32 << 20,
		.capacity = 64 << 20,
		.inodes = 10000,
	};
	struct rs_report rep;
	pid_t owner;

	rs_report_init(&rep);
	assert_int_equal(rs_journal_open(&cfg, &rep, &owner, &journal), 0);
	core_cfg.journal = journal;
	assert_int_equal(rs_core_new(&core_cfg, &core), 0);
	assert_int_equal(rs_core_load_tree(core, &rep), 0);
	assert_int_equal(rep.n_findings, 0);
	rs_report_release(&rep);
	assert_int_equal(rs_journal_start(journal), 0);
}

static void crash(void)
{
	rs_journal_close(journal);
	rs_core_free(core);
}

static uint64_t rnd(struct worker *w, uint64_t n)
{
	w->seed ^= w->seed << 13;
	w->seed ^= w->seed >> 7;
	w->seed ^= w->seed << 17;
	return w->seed % n;
}

static void fill(const struct worker *w, int round, uint8_t *buf, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		buf[i] = (uint8_t)(i * 31 + i / 4096 + w->id * 7 +
				   (unsigned int)round);
}

static void put(uint64_t ino, const uint8_t *buf, size_t len, uint64_t off)
{
	const struct timespec pause = { 0, 1000000 };
	ssize_t n;

	while ((n = rs_core_write(core, ino, buf, len, off, 0)) !=
	       (ssize_t)len) {
		if (n == RS_EPARK_COLD) {
			assert_int_equal(rs_core_load(core, ino, off, len), 0);
			continue;
		}
		assert_int_equal(n, RS_EPARK);
		nanosleep(&pause, NULL);
	}
}

static void get(uint64_t ino, uint8_t *buf, size_t len)
{
	ssize_t n;

	while ((n = rs_core_read(core, ino, buf, len, 0)) == RS_EPARK_COLD)
		assert_int_equal(rs_core_load(core, ino, 0, len), 0);
	assert_int_equal(n, len);
}

static void name_of(const struct worker *w, int round, char name[16])
{
	snprintf(name, 16, "w%uf%d", w->id, round);
}

/* One message: made under another name, renamed, synced, read back. */
static void deliver(struct worker *w, int round)
{
	uint8_t body[BODY_MAX], back[BODY_MAX];
	size_t len = 1 + rnd(w, BODY_MAX - 1), half = len / 2;
	struct rs_stat st;
	char name[16];

	name_of(w, round, name);
	fill(w, round, body, len);
	assert_int_equal(rs_core_mknod(core, w->dir, "new", &who,
				       S_IFREG | 0600, 0, &st),
			 0);
	put(st.ino, body, half, 0);
	put(st.ino, body + half, len - half, half);
	assert_int_equal(rs_core_rename(core, w->dir, "new", 1, name, 0, &who),
			 0);
	if (rs_core_sync_number(core, st.ino))
		assert_int_equal(rs_journal_sync(journal), 0);
	assert_int_equal(rs_core_sync_number(core, st.ino), 0);
	w->len[round] = len;
	get(st.ino, back, len);
	assert_memory_equal(body, back, len);
	rs_core_forget(core, st.ino, 1);
}

static void again(struct worker *w, int round)
{
	uint8_t body[BODY_MAX], back[BODY_MAX];
	struct rs_stat st;
	char name[16];

	name_of(w, round, name);
	if (w->removed[round])
		return;
	assert_int_equal(rs_core_lookup(core, 1, name, &st), 0);
	fill(w, round, body, w->len[round]);
	get(st.ino, back, w->len[round]);
	assert_memory_equal(body, back, w->len[round]);
	/* the same byte once more: dirty again, and nothing changes */
	put(st.ino, body + w->len[round] / 2, 1, w->len[round] / 2);
	rs_core_forget(core, st.ino, 1);
	if (rnd(w, 3))
		return;
	assert_int_equal(rs_core_unlink(core, 1, name, &who), 0);
	assert_int_equal(rs_journal_sync(journal), 0);
	w->removed[round] = 1;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	int round;

	for (round = 0; round < ROUNDS; round++) {
		deliver(w, round);
		again(w, (int)rnd(w, (uint64_t)round + 1));
	}
	return NULL;
}

static void *shrink(void *arg)
{
	const struct timespec pause = { 0, 3000000 };

	(void)arg;
	while (!atomic_load(&stop)) {
		rs_core_shrink(core, 0);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static void check(const struct worker *w)
{
	uint8_t body[BODY_MAX], back[BODY_MAX];
	struct rs_stat st;
	char name[16];
	int round, err;

	for (round = 0; round < ROUNDS; round++) {
		name_of(w, round, name);
		err = rs_core_lookup(core, 1, name, &st);
		assert_int_equal(err, w->removed[round] ? -ENOENT : 0);
		if (err)
			continue;
		assert_int_equal(st.attr.size, w->len[round]);
		fill(w, round, body, w->len[round]);
		get(st.ino, back, w->len[round]);
		assert_memory_equal(body, back, w->len[round]);
		rs_core_forget(core, st.ino, 1);
	}
}

static int setup(void **state)
{
	struct rs_store_spec spec = {
		.ring_size = 1 << 20,
		.capacity = 64 << 20,
		.inodes = 10000,
	};
	const char *tmp = getenv("TMPDIR");
	int cow;

	(void)state;
	setenv("RSPOOL_TEST_RING", "1", 1);
	snprintf(store, sizeof(store), "%.40s/rs-core-XXXXXX",
		 tmp ? tmp : "/tmp");
	assert_non_null(mkdtemp(store));
	spec.dir = store;
	return rs_journal_init_store(&spec, &cow);
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", store);
	return system(command);
}

static void test_workers_then_crash(void **state)
{
	pthread_t shrinker;
	struct rs_stat st;
	char name[16];
	unsigned int i;

	(void)state;
	open_store();
	for (i = 0; i < WORKERS; i++) {
		workers[i].id = i;
		workers[i].seed = i * 0x9e3779b97f4a7c15u + 11;
		snprintf(name, sizeof(name), "d%u", i);
		assert_int_equal(rs_core_mknod(core, 1, name, &who,
					       S_IFDIR | 0700, 0, &st),
				 0);
		workers[i].dir = st.ino;
	}
	atomic_store(&stop, 0);
	assert_int_equal(pthread_create(&shrinker, NULL, shrink, NULL), 0);
	for (i = 0; i < WORKERS; i++)
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work,
						&workers[i]),
				 0);
	for (i = 0; i < WORKERS; i++)
		pthread_join(workers[i].thread, NULL);
	atomic_store(&stop, 1);
	pthread_join(shrinker, NULL);
	crash();
	open_store();
	for (i = 0; i < WORKERS; i++)
		check(&workers[i]);
	assert_int_equal(rs_journal_stop(journal, 0), 0);
	crash();
	open_store();
	for (i = 0; i < WORKERS; i++)
		check(&workers[i]);
	crash();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_workers_then_crash, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
