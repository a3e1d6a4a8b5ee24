/*
 * test_store.c - data.mdb made, opened, loaded; and damaged in every place:
 * found, named, never a crash of the caller.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "journal/store_guard.h"
#include "tests/unit/store_box.h"

/* A small store with some of everything. */
static void fill(struct sbox *box)
{
	static uint8_t data[20000], value[5000];
	const struct rs_attr link_attr = { .mode = S_IFLNK | 0777, .nlink = 1 };
	struct rs_rec link = { .type = RS_REC_LINK,
			       .ino = 11,
			       .data = (const uint8_t *)"../target",
			       .data_len = 9 };
	struct rs_rec x = { .type = RS_REC_XATTR_PUT,
			    .ino = 10,
			    .name = (const uint8_t *)"user.x",
			    .name_len = 6,
			    .data = value,
			    .data_len = sizeof(value) };
	char name[16];
	uint64_t ino;

	memset(data, 'd', sizeof(data));
	memset(value, 'x', sizeof(value));
	sbox_entry(box, 1, "file", 10, 1);
	sbox_data(box, 10, 0, data, sizeof(data));
	sbox_file(box, 10, sizeof(data), 5);
	sbox_rec(box, &x);
	sbox_entry(box, 1, "link", 11, 1);
	sbox_inode(box, 11, &link_attr);
	sbox_rec(box, &link);
	for (ino = 20; ino < 60; ino++) {
		snprintf(name, sizeof(name), "m%d", (int)ino);
		sbox_entry(box, 1, name, ino, 1);
		sbox_data(box, ino, 0, data, 100);
		sbox_file(box, ino, 100, 1);
	}
	sbox_frame(box);
	sbox_fold_ok(box);
	for (ino = 50; ino < 60; ino++) {
		snprintf(name, sizeof(name), "m%d", (int)ino);
		sbox_entry(box, 1, name, ino, 0);
		sbox_del(box, ino);
	}
	sbox_frame(box);
	sbox_fold_ok(box);
}

static void test_create(void **state)
{
	struct sbox *box = *state;
	struct rs_root root = sbox_root(box);
	uint64_t used, reserved;
	char path[256];
	struct stat st;
	const struct timespec now = { 0 };

	assert_int_equal(root.n_inodes, 1);
	assert_int_equal(root.applied, 0);
	assert_int_equal(root.ceiling, RS_INO_FIRST);
	sbox_path(box, path, sizeof(path));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0600);
	rs_store_space(box->store, &used, &reserved);
	assert_in_range(used, 3 * RS_PAGE, st.st_size);
	assert_int_equal(reserved, st.st_size);
	sbox_verify(box);
	sbox_close(box);
	/* never over one that is there */
	assert_int_equal(
		rs_store_create(box->dir, box->crypto, sbox_id, 0, 0, &now, 0),
		-EEXIST);
	assert_int_equal(sbox_check(box, 0), 0);
	assert_int_equal(sbox_check(box, 1), 0);
}

static void test_reserve(void **state RS_UNUSED)
{
	const struct timespec now = { 0 };
	char *dir = fake_dir_make();
	struct rs_crypto *crypto;
	struct rs_store *store;
	char path[256];
	struct stat st;

	assert_int_equal(rs_crypto_new(sbox_id, NULL, &crypto), 0);
	assert_int_equal(
		rs_store_create(dir, crypto, sbox_id, 0, 0, &now, 4 << 20), 0);
	snprintf(path, sizeof(path), "%s/data.mdb", dir);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 4 << 20);
	assert_true(st.st_blocks * 512 >= 4 << 20);
	assert_int_equal(
		rs_store_open(dir, crypto, sbox_id, RS_STORE_WRITE, &store), 0);
	rs_store_close(store);
	/* more than any disk has: nothing is left */
	fake_dir_remove(dir);
	dir = fake_dir_make();
	assert_true(rs_store_create(dir, crypto, sbox_id, 0, 0, &now,
				    UINT64_C(1) << 60) < 0);
	snprintf(path, sizeof(path), "%s/data.mdb", dir);
	assert_int_equal(access(path, F_OK), -1);
	rs_crypto_free(crypto);
	fake_dir_remove(dir);
}

struct seen {
	unsigned int inodes, entries, links, xattrs, chunks;
	int late; /* an inode after an entry */
	struct sbox *box;
};

static int on_inode(void *arg, uint64_t ino, const struct rs_attr *attr,
		    uint64_t frame)
{
	struct seen *seen = arg;

	seen->inodes++;
	seen->late |= seen->entries > 0;
	assert_true(ino == 1 || frame > 0);
	assert_int_not_equal(attr->mode & S_IFMT, 0);
	return 0;
}

static int on_entry(void *arg, uint64_t parent, const uint8_t *name, size_t len,
		    uint64_t child, uint8_t dtype, uint64_t frame)
{
	struct seen *seen = arg;
	char want[16];

	assert_int_equal(parent, 1);
	assert_int_not_equal(dtype, 0);
	assert_int_not_equal(frame, 0);
	if (child >= 20) {
		snprintf(want, sizeof(want), "m%d", (int)child);
		assert_int_equal(len, strlen(want));
		assert_memory_equal(name, want, len);
	}
	seen->entries++;
	return 0;
}

static int on_link(void *arg, uint64_t ino, const uint8_t *target, size_t len)
{
	struct seen *seen = arg;

	assert_int_equal(ino, 11);
	assert_int_equal(len, 9);
	assert_memory_equal(target, "../target", 9);
	seen->links++;
	return 0;
}

static int on_xattr(void *arg, uint64_t ino, const uint8_t *name, size_t len,
		    const uint8_t *value, size_t value_len)
{
	struct seen *seen = arg;

	assert_int_equal(ino, 10);
	assert_int_equal(len, 6);
	assert_memory_equal(name, "user.x", 6);
	assert_int_equal(value_len, 5000);
	assert_int_equal(value[4999], 'x');
	seen->xattrs++;
	return 0;
}

static int on_chunk(void *arg, uint64_t ino, uint64_t off, const uint8_t *data,
		    size_t len)
{
	struct seen *seen = arg;

	/* the dead may be back where nothing tells that they are */
	assert_in_range(ino, 10, 59);
	assert_int_equal(off % RS_CHUNK, 0);
	if (len)
		assert_int_equal(data[len - 1], 'd');
	seen->chunks++;
	return 0;
}

static const struct rs_load_ops ops = { on_inode, on_entry, on_link, on_xattr };

static void test_load(void **state)
{
	struct sbox *box = *state;
	struct seen seen = { .box = box };

	fill(box);
	sbox_verify(box);
	sbox_close(box);
	assert_int_equal(sbox_check(box, 0), 0);
	sbox_open(box, RS_STORE_RDONLY);
	assert_int_equal(rs_store_load(box->store, &ops, &seen, &box->rep), 0);
	assert_int_equal(seen.inodes, 1 + 2 + 30);
	assert_int_equal(seen.entries, 2 + 30);
	assert_int_equal(seen.links, 1);
	assert_int_equal(seen.xattrs, 1);
	assert_false(seen.late);
	sbox_verify(box);
	assert_int_equal(rs_store_accept(box->store), -EROFS);
}

static int count_kinds(void *arg, char kind, uint64_t ino RS_UNUSED,
		       uint64_t frame RS_UNUSED, const uint8_t *name RS_UNUSED,
		       size_t name_len RS_UNUSED, uint64_t number RS_UNUSED,
		       size_t value_len RS_UNUSED)
{
	unsigned int *count = arg;

	count[(unsigned char)kind]++;
	return 0;
}

static void test_dump(void **state)
{
	const struct rs_dump_ops dump = { .record = count_kinds };
	unsigned int count[256] = { 0 };
	struct sbox *box = *state;
	struct rs_root root;

	fill(box);
	root = sbox_root(box);
	assert_int_equal(rs_store_dump(box->store, &dump, count), 0);
	assert_int_equal(count['R'], 1);
	assert_int_equal(count['I'], root.n_inodes);
	assert_int_equal(count['E'], root.n_entries);
	assert_int_equal(count['D'], root.n_chunks);
	assert_int_equal(count['Z'], 10);
}

/* The whole file in memory, to be put back after each damage. */
static uint8_t *slurp(const char *path, size_t *ret_len)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	uint8_t *buf;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	buf = malloc((size_t)st.st_size);
	assert_non_null(buf);
	assert_int_equal(read(fd, buf, (size_t)st.st_size), st.st_size);
	close(fd);
	*ret_len = (size_t)st.st_size;
	return buf;
}

static void spill(const char *path, const uint8_t *buf, size_t len)
{
	int fd = open(path, O_WRONLY | O_TRUNC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, buf, len), len);
	close(fd);
}

static int count_entry(void *arg, uint64_t parent, const uint8_t *name,
		       size_t len, uint64_t child, uint8_t dtype,
		       uint64_t frame)
{
	struct seen *seen = arg;

	assert_int_equal(parent, 1);
	assert_int_equal(child, 10);
	assert_int_equal(dtype, 8);
	assert_int_equal(frame, 1);
	assert_true(len > 4);
	assert_memory_equal(name, "m10-", 4);
	seen->entries++;
	return 0;
}

static const struct rs_load_ops deep_ops = { on_inode, count_entry, NULL,
					     NULL };

/* Salvage must not crash, and hand on nothing that isn't so. */
static int salvage_with(struct sbox *box, const struct rs_load_ops *with,
			struct seen *seen)
{
	struct rs_report rep;
	int err;

	memset(seen, 0, sizeof(*seen));
	rs_report_init(&rep);
	err = rs_store_salvage(box->dir, box->crypto, sbox_id, with, on_chunk,
			       seen, &rep);
	assert_true(err == 0 || err == -EUCLEAN);
	assert_int_equal(err == 0, rep.n_findings == 0);
	rs_report_release(&rep);
	return err;
}

static int salvage(struct sbox *box, struct seen *seen)
{
	return salvage_with(box, &ops, seen);
}

static void test_truncated(void **state)
{
	struct sbox *box = *state;
	struct seen seen;
	char path[256];
	uint8_t *image;
	size_t len, cut, found = 0;
	int err;

	fill(box);
	sbox_close(box);
	sbox_path(box, path, sizeof(path));
	image = slurp(path, &len);
	assert_int_equal(salvage(box, &seen), 0);
	assert_int_equal(seen.inodes, 33);
	assert_int_equal(seen.entries, 32);
	assert_int_equal(seen.links, 1);
	assert_int_equal(seen.xattrs, 1);
	for (cut = 0; cut < len; cut += 512) {
		spill(path, image, cut);
		rs_report_release(&box->rep);
		rs_report_init(&box->rep);
		err = sbox_check(box, 0);
		assert_int_equal(err, -EUCLEAN);
		assert_int_equal(sbox_findings(box, RS_FIND_STORE), 1);
		/* what is cut off may be free pages only */
		if (salvage(box, &seen) == 0)
			assert_int_equal(seen.entries, 32);
		found = seen.inodes > found ? seen.inodes : found;
	}
	assert_in_range(found, 1, 43);
	free(image);
}

/*
 * A file that is cut after it was checked, under an open store: EIO, and the
 * process lives on.
 */
static void test_cut_while_open(void **state)
{
	struct sbox *box = *state;
	uint8_t buf[RS_PAGE], map[1];
	struct rs_finding bad;
	struct rs_report rep;
	char path[256];
	size_t done;
	struct rs_fold_limit limit = { .data_bytes = 1 };

	fill(box);
	/* cmocka's own handlers are on top of those of sbox_open() */
	assert_int_equal(rs_guard_install(), 0);
	sbox_path(box, path, sizeof(path));
	assert_int_equal(rs_store_read(box->store, 10, 0, 1, buf, map), 0);
	assert_int_equal(truncate(path, 2 * RS_PAGE), 0);
	assert_int_equal(rs_store_read(box->store, 10, 0, 1, buf, map), -EIO);
	assert_int_equal(rs_store_bad(box->store, &bad), 1);
	assert_int_equal(bad.ino, 10);
	rs_report_init(&rep);
	assert_true(rs_store_verify(box->store, &rep, NULL, NULL) < 0);
	rs_report_release(&rep);
	sbox_file(box, 10, 1, 1);
	sbox_frame(box);
	assert_int_equal(rs_fold(box->store, NULL, box->refs, 1, &limit, 0,
				 &box->rep, &done),
			 -EIO);
	/* C6: for good */
	assert_int_equal(rs_fold(box->store, NULL, box->refs, 1, &limit, 0,
				 &box->rep, &done),
			 -EIO);
}

/* One damaged image: what check and salvage say of it. */
static int try_image(struct sbox *box, const char *path, const uint8_t *image,
		     size_t len)
{
	struct seen seen;
	int err;

	spill(path, image, len);
	rs_report_release(&box->rep);
	rs_report_init(&box->rep);
	err = sbox_check(box, 0);
	assert_true(err == 0 || err == -EUCLEAN);
	(void)salvage(box, &seen);
	/* what was not noticed has lost nothing */
	if (err == 0) {
		assert_int_equal(seen.inodes, 33);
		assert_int_equal(seen.entries, 32);
		assert_int_equal(seen.xattrs, 1);
	}
	return err;
}

/* Each page zeroed, a bit flipped in many places: found or harmless. */
static void test_rot(void **state)
{
	struct sbox *box = *state;
	uint8_t *image, *copy;
	size_t len, page, at, n;
	unsigned int found = 0;
	char path[256];

	fill(box);
	sbox_close(box);
	sbox_path(box, path, sizeof(path));
	image = slurp(path, &len);
	copy = malloc(len);
	assert_non_null(copy);
	for (page = 0; page < len / RS_PAGE; page++) {
		memcpy(copy, image, len);
		memset(copy + page * RS_PAGE, 0, RS_PAGE);
		found += try_image(box, path, copy, len) < 0;
	}
	assert_in_range(found, 5, page);
	for (n = 0; n < 1000; n++) {
		memcpy(copy, image, len);
		at = (size_t)sbox_random(box, len);
		copy[at] ^= (uint8_t)(1u << sbox_random(box, 8));
		try_image(box, path, copy, len);
	}
	free(copy);
	free(image);
}

/* A tree of several levels: one page lost costs what stood on it, no more. */
static void test_salvage_deep(void **state)
{
	struct sbox *box = *state;
	uint8_t *image, *zero;
	size_t len, page, partly = 0;
	struct seen all, seen;
	char path[256], name[32];
	unsigned int i;

	for (i = 0; i < 400; i++) {
		snprintf(name, sizeof(name), "m10-%u", i);
		sbox_entry(box, 1, name, 10, 1);
	}
	sbox_range(box, RS_REC_ALLOC, 10, 0, 2000 * RS_PAGE);
	sbox_file(box, 10, 2000 * RS_PAGE, 2000);
	sbox_frame(box);
	sbox_fold_ok(box);
	sbox_verify(box);
	sbox_close(box);
	sbox_path(box, path, sizeof(path));
	image = slurp(path, &len);
	zero = calloc(1, len);
	assert_non_null(zero);
	assert_int_equal(salvage_with(box, &deep_ops, &all), 0);
	assert_int_equal(all.entries, 400);
	assert_in_range(all.chunks, 2000, 2100);
	for (page = 2; page < len / RS_PAGE; page++) {
		memcpy(zero, image, len);
		memset(zero + page * RS_PAGE, 0, RS_PAGE);
		spill(path, zero, len);
		(void)salvage_with(box, &deep_ops, &seen);
		assert_true(seen.chunks <= all.chunks);
		if (seen.inodes == 2 && seen.chunks < all.chunks &&
		    seen.chunks + 100 > all.chunks)
			partly++;
	}
	assert_in_range(partly, 10, page);
	free(zero);
	free(image);
}

/* Entries and inodes that do not belong together. */
static void test_audit(void **state)
{
	struct sbox *box = *state;
	struct rs_report rep;

	sbox_entry(box, 1, "of nobody", 99, 1);
	sbox_file(box, 98, 0, 0);
	sbox_frame(box);
	sbox_fold_ok(box);
	rs_report_init(&rep);
	assert_int_equal(rs_store_verify(box->store, &rep, NULL, NULL),
			 -EUCLEAN);
	assert_int_equal(rep.n_findings, 2);
	assert_int_equal(rep.findings[0].kind, RS_FIND_ENTRY);
	assert_int_equal(rep.findings[0].ino, 99);
	assert_string_equal(rep.findings[0].name, "of nobody");
	assert_int_equal(rep.findings[1].kind, RS_FIND_ORPHAN);
	assert_int_equal(rep.findings[1].ino, 98);
	rs_report_release(&rep);
}

struct reader {
	struct sbox *box;
	atomic_int stop;
	unsigned int reads;
	int err;
};

/* The file that nobody changes reads the same whatever is committed. */
static void *read_on(void *arg)
{
	struct reader *r = arg;
	uint8_t buf[5 * RS_PAGE], map[1];
	size_t i;

	while (!atomic_load(&r->stop) && !r->err) {
		r->err = rs_store_read(r->box->store, 10, 0, 5, buf, map);
		for (i = 0; i < 20000 && !r->err; i++)
			if (buf[i] != 'd')
				r->err = -EBADMSG;
		r->reads++;
	}
	return NULL;
}

/* LMDB has no reader table here: without I4 of store_lmdb.c its pages are
 * written again under a reader. */
static void test_read_during_commits(void **state)
{
	static uint8_t data[30000];
	struct reader readers[3];
	pthread_t threads[3];
	struct sbox *box = *state;
	unsigned int i, round;

	fill(box);
	for (i = 0; i < 3; i++) {
		readers[i] = (struct reader){ .box = box };
		assert_int_equal(
			pthread_create(&threads[i], NULL, read_on, &readers[i]),
			0);
	}
	for (round = 0; round < 60; round++) {
		for (i = 20; i < 40; i++) {
			memset(data, (int)(round + i), sizeof(data));
			sbox_data(box, i, 0, data, sizeof(data));
			sbox_file(box, i, sizeof(data), 8);
		}
		sbox_frame(box);
		sbox_fold_ok(box);
	}
	for (i = 0; i < 3; i++) {
		atomic_store(&readers[i].stop, 1);
		pthread_join(threads[i], NULL);
		assert_int_equal(readers[i].err, 0);
		assert_true(readers[i].reads > 0);
	}
	sbox_verify(box);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_read_during_commits,
						sbox_set_up, sbox_tear_down),
		cmocka_unit_test_setup_teardown(test_create, sbox_set_up,
						sbox_tear_down),
		cmocka_unit_test(test_reserve),
		cmocka_unit_test_setup_teardown(test_load, sbox_set_up,
						sbox_tear_down),
		cmocka_unit_test_setup_teardown(test_load, sbox_set_up_keyed,
						sbox_tear_down),
		cmocka_unit_test_setup_teardown(test_dump, sbox_set_up,
						sbox_tear_down),
		cmocka_unit_test_setup_teardown(test_truncated, sbox_set_up,
						sbox_tear_down),
		cmocka_unit_test_setup_teardown(test_cut_while_open,
						sbox_set_up, sbox_tear_down),
		cmocka_unit_test_setup_teardown(test_rot, sbox_set_up,
						sbox_tear_down),
		cmocka_unit_test_setup_teardown(test_salvage_deep, sbox_set_up,
						sbox_tear_down),
		cmocka_unit_test_setup_teardown(test_audit, sbox_set_up,
						sbox_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
