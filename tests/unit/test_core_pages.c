/*
 * test_core_pages.c - the tree of pages with its marks, the table, the slabs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "fs/pages.h"
#include "fs/table.h"

#define PAGES 5000u

static struct rs_mem mem;
static uintptr_t root;
static uint8_t height;
static uint8_t model[PAGES]; /* 0 hole, 1 any, 2 full, 3 page */
static uint64_t seed;

static uint64_t rnd(uint64_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % n;
}

static struct rs_tree tree(void)
{
	return (struct rs_tree){ &root, &height };
}

static int setup(void **state)
{
	(void)state;
	rs_mem_init(&mem);
	root = RS_SLOT_HOLE;
	height = 0;
	memset(model, 0, sizeof(model));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rs_mem_release(&mem);
	return 0;
}

static void bury(void *arg, uintptr_t slot, unsigned int level)
{
	struct rs_node *node;
	unsigned int i;

	if (!rs_slot_is_page(slot))
		return;
	if (!level) {
		rs_mem_page_free(&mem, rs_slot_page(slot));
		return;
	}
	node = rs_slot_node(slot);
	for (i = 0; i < RS_FANOUT; i++)
		bury(arg, node->slot[i], level - 1);
	rs_mem_free(&mem, node, sizeof(*node));
}

static void cut(uint64_t first, uint64_t end)
{
	uint64_t edges[] = { first, first ? first - 1 : 0, end, end - 1 };
	size_t i;

	for (i = 0; i < RS_ARRAY_LEN(edges); i++)
		assert_int_equal(rs_tree_split(&mem, tree(), edges[i]), 0);
	rs_tree_cut(&mem, tree(), first, end, bury, NULL);
	for (; first < end && first < PAGES; first++)
		model[first] = 0;
}

static int kind(uintptr_t slot)
{
	return rs_slot_is_page(slot) ? 3 : (int)slot;
}

static void compare(void)
{
	uint64_t i, sure = 0, resident;
	int any = 0, has_any;

	for (i = 0; i < PAGES; i++) {
		assert_int_equal(kind(rs_tree_get(tree(), i)), model[i]);
		sure += model[i] >= 2;
		any |= model[i] == 1;
	}
	assert_int_equal(rs_tree_get(tree(), PAGES + 100), RS_SLOT_HOLE);
	assert_int_equal(rs_tree_count(tree(), 0, UINT64_MAX, &has_any), sure);
	assert_int_equal(has_any, any);
	assert_int_equal(rs_slot_pages(root, height, &resident), sure);
}

static int model_is(uint64_t page, enum rs_seek what)
{
	switch (what) {
	case RS_SEEK_HOLE:
		return !model[page];
	case RS_SEEK_DATA:
		return model[page];
	case RS_SEEK_COLD:
		return model[page] == 1 || model[page] == 2;
	case RS_SEEK_ANY:
		return model[page] == 1;
	}
	return 0;
}

static void compare_seek(void)
{
	enum rs_seek what = (enum rs_seek)rnd(4);
	uint64_t from = rnd(PAGES), at = from, found;

	while (at < PAGES && !model_is(at, what))
		at++;
	found = rs_tree_next(tree(), from, what);
	if (at < PAGES)
		assert_int_equal(found, at);
	else
		assert_true(found >= PAGES);
}

static void one_step(void)
{
	uint64_t page = rnd(PAGES), first, n;
	uintptr_t *slot;

	switch (rnd(5)) {
	case 0:
		n = 1 + rnd(PAGES / 4);
		cut(page, page + n);
		break;
	case 1:
		n = rs_tree_evict(&mem, tree(), 1 + rnd(30));
		for (first = 0; n; first++) {
			if (model[first] == 3) {
				model[first] = 2;
				n--;
			}
		}
		break;
	default:
		assert_int_equal(rs_tree_reach(&mem, tree(), page, &slot), 0);
		if (!rs_slot_is_page(*slot))
			*slot = (uintptr_t)rs_mem_page(&mem);
		model[page] = 3;
	}
}

static void test_tree_against_model(void **state)
{
	uint64_t round, step, n;
	uintptr_t mark;

	(void)state;
	for (round = 1; round < 40; round++) {
		seed = round * 0x9e3779b97f4a7c15u;
		n = rnd(PAGES);
		mark = round % 2 ? RS_SLOT_ANY : RS_SLOT_FULL;
		assert_int_equal(rs_tree_fill(&mem, tree(), n, mark), 0);
		memset(model, (int)mark, n);
		for (step = 0; step < 60; step++) {
			compare();
			compare_seek();
			one_step();
		}
		cut(0, UINT64_C(1) << 51);
		assert_int_equal(root, RS_SLOT_HOLE);
		assert_int_equal(height, 0);
		assert_int_equal(mem.pages, 0);
	}
}

static void test_fill_sizes(void **state)
{
	static const uint64_t sizes[] = {
		0, 1, 2, 63, 64, 65, 4095, 4096, 4097
	};
	size_t i;
	int any;

	(void)state;
	for (i = 0; i < RS_ARRAY_LEN(sizes); i++) {
		assert_int_equal(
			rs_tree_fill(&mem, tree(), sizes[i], RS_SLOT_FULL), 0);
		assert_int_equal(rs_tree_count(tree(), 0, UINT64_MAX, &any),
				 sizes[i]);
		assert_int_equal(rs_tree_next(tree(), 0, RS_SEEK_HOLE),
				 sizes[i]);
		cut(0, UINT64_C(1) << 51);
		assert_int_equal(mem.pages, 0);
	}
}

static void test_objects(void **state)
{
	static void *obj[20000];
	static size_t size[20000];
	size_t i, round;

	(void)state;
	seed = 7;
	for (round = 0; round < 3; round++) {
		for (i = 0; i < RS_ARRAY_LEN(obj); i++) {
			size[i] = 1 + rnd(rnd(10) ? 300 : 9000);
			obj[i] = rs_mem_alloc(&mem, size[i]);
			assert_non_null(obj[i]);
			memset(obj[i], (int)i, size[i]);
		}
		for (i = 0; i < RS_ARRAY_LEN(obj); i++) {
			assert_int_equal(((uint8_t *)obj[i])[size[i] - 1],
					 (uint8_t)i);
			rs_mem_free(&mem, obj[i], size[i]);
		}
		assert_int_equal(rs_mem_used(&mem), 0);
		assert_true(mem.n_slabs <= 2);
	}
}

struct item {
	struct rs_hnode node;
	int here;
};

static void drop(void *arg, struct rs_hnode *node)
{
	struct rs_table *table = arg;

	((struct item *)(void *)node)->here = 2;
	rs_table_remove(table, node);
}

static void test_table(void **state)
{
	static struct item items[30000];
	struct rs_table table;
	struct rs_hnode *node;
	size_t i, step;

	(void)state;
	seed = 9;
	assert_int_equal(rs_table_init(&table, &mem), 0);
	for (i = 0; i < RS_ARRAY_LEN(items); i++)
		items[i].node.key = i / 2; /* two of each */
	for (step = 0; step < 200000; step++) {
		i = rnd(RS_ARRAY_LEN(items));
		if (items[i].here)
			rs_table_remove(&table, &items[i].node);
		else
			rs_table_insert(&table, &items[i].node);
		items[i].here = !items[i].here;
		i = rnd(RS_ARRAY_LEN(items)) & ~(size_t)1;
		node = rs_table_find(&table, i / 2);
		assert_int_equal(node != NULL,
				 items[i].here || items[i + 1].here);
		if (node)
			assert_int_equal(rs_table_next(node) != NULL,
					 items[i].here && items[i + 1].here);
	}
	rs_table_each(&table, drop, &table);
	assert_int_equal(table.n, 0);
	for (i = 0; i < RS_ARRAY_LEN(items); i++)
		assert_true(items[i].here != 1);
	rs_table_release(&table);
}

static void test_name_hash(void **state)
{
	const uint64_t a[2] = { 1, 2 }, b[2] = { 1, 3 };
	uint64_t h = rs_name_hash(a, 1, "12345678", 8);

	(void)state;
	assert_true(h == rs_name_hash(a, 1, "12345678", 8));
	assert_true(h != rs_name_hash(b, 1, "12345678", 8));
	assert_true(h != rs_name_hash(a, 2, "12345678", 8));
	assert_true(h != rs_name_hash(a, 1, "12345678", 7));
	assert_true(h != rs_name_hash(a, 1, "12345678\0", 9));
	assert_true(rs_name_hash(a, 1, "a", 1) != rs_name_hash(a, 1, "b", 1));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_tree_against_model),
		TEST(test_fill_sizes),
		TEST(test_objects),
		TEST(test_table),
		TEST(test_name_hash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
