/*
 * store_pages.c - is LMDB's own bookkeeping sound? Done with pread, before
 * LMDB may write.
 *
 * A page that carries another's number, or a list of free pages that names
 * one in use, reads well and is fatal to write with: LMDB would hand out a
 * page that holds somebody's mail. So the tree's pages are walked, and then
 * the tree of free pages: its keys are transaction numbers (8), its values a
 * count and that many page numbers, falling; a value may take several pages.
 */
#include <errno.h>

#include "journal/salvage_p.h"

#define PAGE_HEAD 16u
#define NODE_HEAD 8u
#define P_BRANCH 1u
#define P_LEAF 2u
#define F_BIGDATA 1u
/* free pages are read this many bytes at a time */
#define STEP RS_PAGE

static int no_node(void *arg RS_UNUSED,
		   const struct rs_salvage_node *node RS_UNUSED)
{
	return 0;
}

/* One value of the free tree: len bytes at byte `at` of the file. */
static int check_list(struct rs_pages *p, uint64_t at, uint64_t len)
{
	uint8_t buf[STEP];
	uint64_t count = 0, last = UINT64_MAX, done, i, n;

	for (done = 0; done < len; done += n) {
		n = len - done < STEP ? len - done : STEP;
		if (rs_pread_all(p->fd, buf, (size_t)n, at + done) < 0)
			return -EUCLEAN;
		for (i = 0; i + 8 <= n; i += 8) {
			uint64_t v = rs_get64(buf + i);

			if (done + i == 0) {
				count = v;
				continue;
			}
			if ((done + i) / 8 > count)
				continue;
			if (v >= last || !rs_pages_see(p, v))
				return -EUCLEAN;
			last = v;
		}
	}
	return len >= 8 && count <= len / 8 - 1 ? 0 : -EUCLEAN;
}

static int check_leaf(struct rs_pages *p, const uint8_t *buf, uint64_t page,
		      unsigned int n)
{
	unsigned int i, at;
	uint64_t len, big, k;
	int err;

	for (i = 0; i < n; i++) {
		at = rs_get16(buf + PAGE_HEAD + 2 * i);
		if (at < rs_get16(buf + 14) ||
		    at + NODE_HEAD + 8 + 8 > RS_PAGE ||
		    rs_get16(buf + at + 6) != 8)
			return -EUCLEAN;
		len = rs_get32(buf + at);
		at += NODE_HEAD + 8;
		if (!(rs_get16(buf + at - 12) & F_BIGDATA)) {
			if (at + len > RS_PAGE)
				return -EUCLEAN;
			err = check_list(p, page * RS_PAGE + at, len);
		} else {
			big = rs_get64(buf + at);
			for (k = 0; k * RS_PAGE < PAGE_HEAD + len; k++)
				if (!rs_pages_see(p, big + k))
					return -EUCLEAN;
			err = check_list(p, big * RS_PAGE + PAGE_HEAD, len);
		}
		if (err < 0)
			return err;
	}
	return 0;
}

static int check_free(struct rs_pages *p, uint64_t page, unsigned int depth)
{
	RS_AUTO_FREE uint8_t *buf = NULL;
	unsigned int lower, upper, i, at;
	int err = 0;

	if (depth >= RS_META_DEPTH_MAX || !rs_pages_see(p, page))
		return -EUCLEAN;
	buf = rs_store_alloc(RS_PAGE);
	if (!buf)
		return -ENOMEM;
	if (rs_pread_all(p->fd, buf, RS_PAGE, page * RS_PAGE) < 0)
		return -EUCLEAN;
	lower = rs_get16(buf + 12);
	upper = rs_get16(buf + 14);
	if (rs_get64(buf) != page || lower < PAGE_HEAD || lower > upper ||
	    upper > RS_PAGE || lower % 2)
		return -EUCLEAN;
	if (rs_get16(buf + 10) == P_LEAF)
		return check_leaf(p, buf, page, (lower - PAGE_HEAD) / 2);
	if (rs_get16(buf + 10) != P_BRANCH)
		return -EUCLEAN;
	for (i = PAGE_HEAD; i < lower && err == 0; i += 2) {
		at = rs_get16(buf + i);
		if (at < upper || at + NODE_HEAD > RS_PAGE)
			return -EUCLEAN;
		err = check_free(p,
				 (uint64_t)rs_get32(buf + at) |
					 (uint64_t)rs_get16(buf + at + 4) << 32,
				 depth + 1);
	}
	return err;
}

static int check(struct rs_pages *p, const char **ret_why)
{
	struct rs_meta meta;
	int err;

	err = rs_meta_newest(p->fd, p->size, &meta, ret_why);
	if (err < 0)
		return err;
	err = rs_pages_walk_tree(p);
	if (err < 0)
		return err;
	if (p->n_lost) {
		*ret_why = "pages of the tree are damaged";
		return -EUCLEAN;
	}
	if (meta.free_root != RS_META_NO_PAGE)
		err = check_free(p, meta.free_root, 0);
	if (err == -EUCLEAN)
		*ret_why = "the list of free pages is damaged";
	return err;
}

int rs_pages_check(const char *dir, int meta_only, const char **ret_why)
{
	struct rs_pages p = { .fd = -1, .meta_only = meta_only, .fn = no_node };
	int err;

	err = rs_pages_open(dir, &p);
	if (err < 0)
		return err;
	err = check(&p, ret_why);
	rs_pages_close(&p);
	return err;
}
