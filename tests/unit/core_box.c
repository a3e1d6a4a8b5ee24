/*
 * core_box.c - the helper of the core's tests.
 */
#include "tests/unit/core_box.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <sys/stat.h>

const struct rs_who rs_box_root = { 0, 0, 1 };

static void tick(void *arg, struct timespec *ret)
{
	struct rs_box *box = arg;

	ret->tv_sec = ++box->seconds;
	ret->tv_nsec = 5;
}

void rs_box_make(struct rs_box *box, const struct rs_core_cfg *cfg)
{
	struct rs_core_cfg own = { 0 };

	if (cfg)
		own = *cfg;
	if (!own.ram)
		own.ram = UINT64_C(256) << 20;
	if (!own.capacity)
		own.capacity = UINT64_C(128) << 20;
	if (!own.policy)
		own.policy = RS_POLICY_FSYNC;
	own.now = tick;
	own.arg = box;
	box->seconds = 1000000;
	assert_int_equal(rs_core_new(&own, &box->core), 0);
}

void rs_box_free(struct rs_box *box)
{
	rs_core_free(box->core);
	box->core = NULL;
}

static uint64_t make(struct rs_box *box, uint64_t dir, const char *name,
		     uint32_t mode)
{
	struct rs_stat st;

	assert_int_equal(
		rs_core_mknod(box->core, dir, name, &rs_box_root, mode, 0, &st),
		0);
	rs_core_forget(box->core, st.ino, 1);
	return st.ino;
}

uint64_t rs_box_file(struct rs_box *box, uint64_t dir, const char *name)
{
	return make(box, dir, name, S_IFREG | 0600);
}

uint64_t rs_box_dir(struct rs_box *box, uint64_t dir, const char *name)
{
	return make(box, dir, name, S_IFDIR | 0700);
}

uint64_t rs_box_find(struct rs_box *box, uint64_t dir, const char *name)
{
	struct rs_stat st;
	int err = rs_core_lookup(box->core, dir, name, &st);

	if (err == -ENOENT)
		return 0;
	assert_int_equal(err, 0);
	rs_core_forget(box->core, st.ino, 1);
	return st.ino;
}

struct rs_attr rs_box_stat(struct rs_box *box, uint64_t ino)
{
	struct rs_stat st;

	assert_int_equal(rs_core_getattr(box->core, ino, &st), 0);
	assert_int_equal(st.ino, ino);
	return st.attr;
}

void rs_box_put(struct rs_box *box, uint64_t ino, const char *text)
{
	ssize_t len = (ssize_t)strlen(text);

	assert_int_equal(
		rs_core_write(box->core, ino, text, strlen(text), 0, 0), len);
}

void rs_box_expect(struct rs_box *box, uint64_t ino, const char *text)
{
	char buf[1024];
	ssize_t n = rs_core_read(box->core, ino, buf, sizeof(buf) - 1, 0);

	assert_true(n >= 0);
	buf[n] = '\0';
	assert_string_equal(buf, text);
}

struct list {
	char *text;
	size_t size, len;
};

static int add_name(void *arg, const struct rs_dirent *ent)
{
	struct list *list = arg;

	if (ent->cookie <= 2)
		return 0;
	assert_true(list->len + ent->len + 2 < list->size);
	if (list->len)
		list->text[list->len++] = ' ';
	memcpy(list->text + list->len, ent->name, ent->len);
	list->len += ent->len;
	list->text[list->len] = '\0';
	return 0;
}

void rs_box_list(struct rs_box *box, uint64_t dir, char *ret_text, size_t size)
{
	struct list list = { ret_text, size, 0 };

	ret_text[0] = '\0';
	assert_int_equal(rs_core_readdir(box->core, dir, 0, UINT64_MAX, 0,
					 add_name, &list),
			 0);
}

void rs_box_expect_empty(struct rs_box *box)
{
	struct rs_core_status status;

	rs_core_status(box->core, &status);
	assert_int_equal(status.inodes, 1);
	assert_int_equal(status.data_bytes, 0);
	assert_int_equal(status.cold_bytes, 0);
	assert_int_equal(status.orphans, 0);
}
