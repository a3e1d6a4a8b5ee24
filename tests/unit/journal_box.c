/* journal_box.c - see journal_box.h. */
#include "tests/unit/journal_box.h"

#include <assert.h>
#include <stdio.h>
#include <sys/stat.h>

static int set_up_with(void **state, uint64_t ring, uint64_t capacity)
{
	struct box *box = calloc(1, sizeof(*box));
	struct rs_store_spec spec = { 0 };
	int cow, err;

	assert(box);
	setenv("RSPOOL_TEST_RING", "1", 1);
	fake_seam_init(&box->fake);
	box->tmp = fake_dir_make();
	err = asprintf(&box->dir, "%s/store", box->tmp);
	assert(err > 0);
	box->flush_interval = 1000;
	spec.dir = box->dir;
	spec.ring_size = ring;
	spec.capacity = capacity;
	spec.inodes = 1000;
	spec.seam = &box->fake.seam;
	err = rs_journal_init_store(&spec, &cow);
	assert(err == 0);
	*state = box;
	return 0;
}

int box_set_up(void **state)
{
	return set_up_with(state, BOX_RING, 1 << 20);
}

int box_set_up_large(void **state)
{
	return set_up_with(state, 16 * BOX_RING, 64 << 20);
}

int box_tear_down(void **state)
{
	struct box *box = *state;

	if (box->j)
		box_crash(box);
	/* one level of folders: the store, then what is around it */
	fake_dir_remove(box->dir);
	fake_dir_remove(box->tmp);
	free(box);
	return 0;
}

static void on_space(void *arg)
{
	struct box *box = arg;

	__atomic_add_fetch(&box->spaces, 1, __ATOMIC_SEQ_CST);
}

static void on_poison(void *arg, int err, const char *why)
{
	struct box *box = arg;

	assert(why && *why);
	box->poison_err = err;
	__atomic_add_fetch(&box->poisons, 1, __ATOMIC_SEQ_CST);
}

int box_try_open(struct box *box, enum rs_journal_mode mode)
{
	struct rs_journal_cfg cfg = {
		.dir = box->dir,
		.site_key = box->site_key,
		.seam = &box->fake.seam,
		.mode = mode,
		.flush_interval = box->flush_interval,
		.checkpoint_interval = 3600000,
		.manual = !box->threads,
		.inline_walk = 1,
		.space = on_space,
		.poisoned = on_poison,
		.arg = box,
	};
	pid_t owner;

	rs_report_init(&box->rep);
	box->learned = 0;
	return rs_journal_open(&cfg, &box->rep, &owner, &box->j);
}

static int learn_inode(void *arg, uint64_t ino, const struct rs_attr *attr,
		       uint64_t frame)
{
	(void)attr;
	if (ino == RS_INO_ROOT)
		((struct box *)arg)->root_last = frame;
	return 0;
}

static int learn_entry(void *arg, uint64_t parent, const uint8_t *name,
		       size_t len, uint64_t child, uint8_t dtype,
		       uint64_t frame)
{
	(void)arg;
	(void)parent;
	(void)name;
	(void)len;
	(void)child;
	(void)dtype;
	(void)frame;
	return 0;
}

static int learn_rec(void *arg, const struct rs_rec *rec, uint64_t number)
{
	if (rec->ino == RS_INO_ROOT)
		((struct box *)arg)->root_last = number;
	return 0;
}

/* Which frame changed the root last; also the core asks this at a start. */
static void learn(struct box *box)
{
	const struct rs_load_ops ops = { .inode = learn_inode,
					 .entry = learn_entry };
	int err = rs_store_load(rs_journal_store(box->j), &ops, box, &box->rep);

	assert(err == 0);
	err = rs_journal_replay(box->j, learn_rec, box, NULL);
	assert(err == 0);
	box->learned = 1;
}

void box_open(struct box *box, enum rs_journal_mode mode)
{
	int err = box_try_open(box, mode);

	assert(err == 0);
	box->ino = rs_journal_ceiling(box->j);
	learn(box);
	if (mode == RS_JOURNAL_SERVE) {
		err = rs_journal_start(box->j);
		assert(err == 0);
	}
}

void box_stop(struct box *box, int fast)
{
	int err = rs_journal_stop(box->j, fast);

	assert(err == 0);
	box_crash(box);
}

void box_crash(struct box *box)
{
	rs_journal_close(box->j);
	rs_report_release(&box->rep);
	box->j = NULL;
}

static struct rs_rec inode_rec(uint64_t ino, uint32_t mode, uint64_t size)
{
	return (struct rs_rec){ .type = RS_REC_INODE,
				.ino = ino,
				.attr = { .mode = mode,
					  .nlink = 1,
					  .size = size,
					  .blocks = (size + 4095) / 4096,
					  .data_end = (size + 4095) / 4096 *
						      4096 } };
}

uint64_t box_file(struct box *box, uint32_t n, uint64_t *ret_ino)
{
	static const uint8_t zeros[65536];
	static __thread char name[32];
	struct rs_rec entry = { .type = RS_REC_ENTRY_PUT,
				.ino = RS_INO_ROOT,
				.dtype = 8 };
	struct rs_rec data = { .type = RS_REC_DATA };
	uint64_t ino = __atomic_fetch_add(&box->ino, 1, __ATOMIC_SEQ_CST);
	uint64_t number;
	struct rs_rec inode = inode_rec(ino, S_IFREG | 0600, n);
	struct rs_rec root = inode_rec(RS_INO_ROOT, S_IFDIR | 0755, 0);

	entry.child = ino;
	entry.name = (const uint8_t *)name;
	entry.name_len = (uint32_t)snprintf(name, sizeof(name), "qf%llu",
					    (unsigned long long)ino);
	data.ino = ino;
	data.data = zeros;
	data.data_len = n;
	if (!box->learned)
		learn(box);
	number = rs_journal_begin(box->j);
	if (box->root_last != number) {
		box->root_before = box->root_last;
		box->root_last = number;
	}
	root.prev = entry.prev = box->root_before;
	root.attr.nlink = 2;
	rs_journal_put(box->j, &root, NULL);
	rs_journal_put(box->j, &inode, NULL);
	if (n > 0)
		rs_journal_put(box->j, &data, NULL);
	rs_journal_put(box->j, &entry, NULL);
	rs_journal_end(box->j);
	if (ret_ino)
		*ret_ino = ino;
	return number;
}

static void count(struct rs_waiter *w, int err)
{
	struct box_wait *wait = (struct box_wait *)w;

	wait->err = err;
	__atomic_add_fetch(&wait->calls, 1, __ATOMIC_SEQ_CST);
}

void box_wait_init(struct box_wait *wait)
{
	memset(wait, 0, sizeof(*wait));
	wait->w.fn = count;
}
