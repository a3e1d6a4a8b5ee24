/* test_group.c - the open group: replace, void, elide, compact. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <sys/stat.h>

#include "journal/frame.h"
#include "journal/group.h"

static const uint8_t id[RS_ID_LEN] = "a store's own id";

static int set_up(void **state)
{
	struct rs_group *g = calloc(1, sizeof(*g));

	assert_non_null(g);
	assert_int_equal(rs_group_init(g, id, 60000), 0);
	g->number = 5;
	*state = g;
	return 0;
}

static int tear_down(void **state)
{
	rs_group_release(*state);
	free(*state);
	return 0;
}

static struct rs_rec inode(uint64_t ino, uint64_t size)
{
	return (struct rs_rec){
		.type = RS_REC_INODE,
		.ino = ino,
		.attr = { .mode = S_IFREG | 0600, .nlink = 1, .size = size }
	};
}

static struct rs_rec entry(uint64_t dir, uint64_t child, const char *name)
{
	return (struct rs_rec){ .type = RS_REC_ENTRY_PUT,
				.ino = dir,
				.child = child,
				.dtype = 8,
				.name = (const uint8_t *)name,
				.name_len = (uint32_t)strlen(name) };
}

static void put(struct rs_group *g, struct rs_rec rec, struct rs_mark *mark)
{
	rs_group_put(g, &rec, mark);
	rs_group_end(g);
}

/* Cut, compact, and say what is left: "type:ino " for each record. */
static void cut(struct rs_group *g, const char *want)
{
	struct rs_group_cut c;
	struct rs_rec rec;
	char text[1024] = "";
	int at = 0;
	size_t len, off;

	rs_group_cut(g, &c);
	len = rs_group_compact(&c);
	for (off = 0; off < len; off += rec.len) {
		assert_int_equal(rs_rec_decode(c.image + RS_FRAME_HEADER + off,
					       len - off, &rec),
				 0);
		at += snprintf(text + at, sizeof(text) - (size_t)at, "%s:%d ",
			       rs_rec_type_name(rec.type), (int)rec.ino);
		assert_true(at < (int)sizeof(text));
	}
	assert_string_equal(text, want);
	rs_group_done(g, &c);
}

static void test_order(void **state)
{
	struct rs_group *g = *state;
	struct rs_mark a = { 0 }, b = { 0 };

	put(g, inode(1, 0), &a);
	put(g, entry(1, 7, "x"), &b);
	assert_int_equal(a.number, 5);
	assert_int_equal(a.off, 0);
	assert_int_equal(b.off, RS_REC_INODE_LEN);
	cut(g, "inode:1 entry-put:1 ");
	assert_int_equal(g->number, 6);
	assert_int_equal(g->fill, 0);
	cut(g, "");
	assert_int_equal(g->number, 7);
}

static void test_replace(void **state)
{
	struct rs_group *g = *state;
	struct rs_mark mark = { 0 };
	struct rs_rec rec = inode(3, 10), got;
	size_t fill;

	rs_group_replace(g, &rec, &mark);
	fill = g->fill;
	rec.attr.size = 20;
	rs_group_replace(g, &rec, &mark);
	assert_int_equal(g->fill, fill);
	assert_int_equal(
		rs_rec_decode(g->seg[g->cur].map + RS_PAGE + RS_FRAME_HEADER,
			      fill, &got),
		0);
	assert_int_equal(got.attr.size, 20);
	cut(g, "inode:3 ");
	/* the mark is of an older group now: a new record */
	rs_group_replace(g, &rec, &mark);
	assert_int_equal(g->fill, fill);
	assert_int_equal(mark.number, 6);
	cut(g, "inode:3 ");
}

static void test_void(void **state)
{
	struct rs_group *g = *state;
	struct rs_mark a = { 0 }, old;

	put(g, entry(1, 7, "x"), &a);
	old = a;
	rs_group_void(g, &a);
	assert_int_equal(a.number, 0);
	rs_group_void(g, &a);
	put(g, inode(1, 0), NULL);
	put(g, entry(1, 8, "y"), NULL);
	cut(g, "inode:1 entry-put:1 ");
	/* of an older group: nothing happens */
	put(g, entry(1, 9, "z"), NULL);
	rs_group_void(g, &old);
	cut(g, "entry-put:1 ");
}

static void test_elide(void **state)
{
	struct rs_group *g = *state;
	const struct rs_rec data = { .type = RS_REC_DATA,
				     .ino = 7,
				     .data = id,
				     .data_len = sizeof(id) };
	struct rs_mark mark = { 0 };
	uint64_t ino;

	put(g, inode(1, 0), NULL);
	put(g, inode(7, 0), NULL);
	put(g, entry(1, 7, "x"), &mark);
	put(g, data, NULL);
	put(g, inode(8, 0), NULL);
	rs_group_void(g, &mark);
	rs_group_elide(g, 7);
	rs_group_end(g);
	cut(g, "inode:1 inode:8 ");
	/* all of it: the number is used up, nothing is left */
	put(g, inode(9, 0), NULL);
	rs_group_elide(g, 9);
	rs_group_end(g);
	cut(g, "");
	/* many, so that the set has to probe */
	for (ino = 100; ino < 300; ino++)
		put(g, inode(ino, 0), NULL);
	for (ino = 101; ino < 300; ino++)
		rs_group_elide(g, ino);
	rs_group_end(g);
	cut(g, "inode:100 ");
}

/* Page 0 tells a successor of whole operations only. */
static void test_segment(void **state)
{
	struct rs_group *g = *state;
	struct rs_rec rec = inode(1, 0);
	struct rs_group_cut c;
	uint8_t *page = g->seg[0].map;

	assert_memory_equal(page, "RSPGROUP", 8);
	assert_memory_equal(page + 16, id, RS_ID_LEN);
	rs_group_put(g, &rec, NULL);
	assert_int_equal(rs_get64(page + 40), 0);
	rs_group_end(g);
	assert_int_equal(rs_get64(page + 40), RS_REC_INODE_LEN);
	assert_int_equal(rs_get64(page + 32), 5);
	assert_int_equal(rs_get32(page + 12), RS_GROUP_OPEN);
	rs_group_cut(g, &c);
	assert_int_equal(rs_get32(page + 12), RS_GROUP_FLIGHT);
	put(g, inode(2, 0), NULL);
	assert_int_equal(rs_get64(page + 40), RS_REC_INODE_LEN);
	assert_int_equal(rs_get64(g->seg[1].map + 32), 6);
	rs_group_done(g, &c);
	assert_int_equal(rs_get32(page + 12), RS_GROUP_EMPTY);
	assert_int_equal(rs_get64(page + 40), 0);
	assert_int_equal((uintptr_t)c.image % RS_PAGE, 0);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_order), TEST(test_replace), TEST(test_void),
		TEST(test_elide), TEST(test_segment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
