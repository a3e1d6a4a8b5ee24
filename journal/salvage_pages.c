/*
 * salvage_pages.c - LMDB's pages, looked at byte by byte with pread.
 *
 * MODEL  (LMDB 0.9, 4096-byte pages, 64-bit little-endian; meta pages are in
 * store_meta.c)
 *	page	 0  8  page number
 *		10  2  flags: 1 branch, 2 leaf, 4 overflow
 *		12  2  lower: end of the node offsets, which begin at 16
 *		14  2  upper: start of the nodes
 *	node	 0  4  size of the value; branch: low half of a page number
 *		 4  2  flags: 1 value on an overflow page; branch: high part
 *		 6  2  length of the key
 *		 8     key, then the value or the overflow page's number (8)
 *	overflow page: the value at 16; ours never need a second page
 *
 * INVARIANTS
 * I1	No byte outside the page in hand is used, no page twice by the tree,
 *	no deeper than LMDB's own limit: any content ends.
 * I2	What the tree can't be followed to is a range of keys, taken from the
 *	page above. Pages that nothing names (older states) may speak only for
 *	keys in such a range: what was removed stays removed elsewhere.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "journal/salvage_p.h"

#define PAGE_HEAD 16u
#define NODE_HEAD 8u
#define P_BRANCH 1u
#define P_LEAF 2u
#define F_BIGDATA 1u

int rs_key_cmp(const struct rs_key *a, const struct rs_key *b)
{
	size_t len = a->len < b->len ? a->len : b->len;
	int cmp = memcmp(a->buf, b->buf, len);

	if (cmp != 0)
		return cmp;
	return a->len < b->len ? -1 : a->len > b->len;
}

int rs_pages_open(const char *dir, struct rs_pages *p)
{
	char path[PATH_MAX];
	struct stat st;
	int err;

	err = rs_store_path(dir, "data.mdb", path);
	if (err < 0)
		return err;
	p->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (p->fd < 0)
		return -errno;
	if (fstat(p->fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		rs_pages_close(p);
		return -EUCLEAN;
	}
	p->size = (uint64_t)st.st_size;
	p->n = p->size / RS_PAGE;
	p->seen = calloc(1, (size_t)(p->n / 8 + 1));
	if (!p->seen) {
		rs_pages_close(p);
		return -ENOMEM;
	}
	return 0;
}

void rs_pages_close(struct rs_pages *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
	free(p->seen);
	free(p->lost);
	p->seen = NULL;
	p->lost = NULL;
}

int rs_pages_add_lost(struct rs_pages *p, const struct rs_key *from,
		      const struct rs_key *to)
{
	struct rs_key_range *more;

	more = realloc(p->lost, (p->n_lost + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	p->lost = more;
	more[p->n_lost].from = *from;
	more[p->n_lost].to = *to;
	p->n_lost++;
	return 0;
}

int rs_pages_is_lost(const struct rs_pages *p, const struct rs_key *key)
{
	size_t i;

	for (i = 0; i < p->n_lost; i++)
		if (rs_key_cmp(key, &p->lost[i].from) >= 0 &&
		    (p->lost[i].to.len == 0 ||
		     rs_key_cmp(key, &p->lost[i].to) < 0))
			return 1;
	return 0;
}

int rs_pages_see(struct rs_pages *p, uint64_t page)
{
	uint8_t bit = (uint8_t)(1u << (page % 8));

	if (page < 2 || page >= p->n || (p->seen[page / 8] & bit))
		return 0;
	p->seen[page / 8] |= bit;
	return 1;
}

static int is_seen(const struct rs_pages *p, uint64_t page)
{
	return (p->seen[page / 8] >> (page % 8)) & 1;
}

/* Read a page whose header may be a tree's; its number of nodes, or -1. */
static int read_page(const struct rs_pages *p, uint64_t page, uint8_t *buf)
{
	unsigned int lower, upper;

	if (rs_pread_all(p->fd, buf, RS_PAGE, page * RS_PAGE) < 0)
		return -1;
	lower = rs_get16(buf + 12);
	upper = rs_get16(buf + 14);
	if (rs_get64(buf) != page || lower < PAGE_HEAD || lower > upper ||
	    upper > RS_PAGE || lower % 2)
		return -1;
	return (int)(lower - PAGE_HEAD) / 2;
}

/* Node i lies in the page and its key fits; its offset, or 0. */
static unsigned int node_at(const uint8_t *buf, int i, struct rs_key *key)
{
	unsigned int at = rs_get16(buf + PAGE_HEAD + 2 * i), len;

	if (at < rs_get16(buf + 14) || at + NODE_HEAD > RS_PAGE)
		return 0;
	len = rs_get16(buf + at + 6);
	if (len > RS_KEY_MAX || at + NODE_HEAD + len > RS_PAGE)
		return 0;
	memcpy(key->buf, buf + at + NODE_HEAD, len);
	key->len = len;
	return at;
}

/* A leaf's node: where its value stands. -ENOENT: nowhere. */
static int leaf_node(struct rs_pages *p, const uint8_t *buf, uint64_t page,
		     int i, struct rs_salvage_node *node)
{
	unsigned int at = node_at(buf, i, &node->key), data;
	uint64_t big;

	if (!at || node->key.len == 0)
		return -ENOENT;
	data = at + NODE_HEAD + (unsigned int)node->key.len;
	node->len = rs_get32(buf + at);
	if (node->len < RS_TRAILER_LEN || node->len > RS_VALUE_MAX)
		return -ENOENT;
	if (!(rs_get16(buf + at + 4) & F_BIGDATA)) {
		node->at = page * RS_PAGE + data;
		return data + node->len <= RS_PAGE ? 0 : -ENOENT;
	}
	if (data + 8 > RS_PAGE)
		return -ENOENT;
	big = rs_get64(buf + data);
	if (big < 2 || big >= p->n)
		return -ENOENT;
	if (node->linked)
		(void)rs_pages_see(p, big);
	node->at = big * RS_PAGE + PAGE_HEAD;
	return 0;
}

/* fn for each whole node of a leaf; range NULL: no page names this one. What
 * isn't whole is lost between its neighbours. */
static int walk_leaf(struct rs_pages *p, const uint8_t *buf, uint64_t page,
		     int n, const struct rs_key_range *range)
{
	struct rs_salvage_node node = { .linked = range != NULL };
	struct rs_key from = { .len = 0 };
	int i, err, bad = 0;

	if (range)
		from = range->from;
	for (i = 0; i < n; i++) {
		if (leaf_node(p, buf, page, i, &node) < 0) {
			bad = 1;
			continue;
		}
		err = bad && range ? rs_pages_add_lost(p, &from, &node.key) : 0;
		if (err == 0)
			err = p->fn(p->arg, &node);
		if (err != 0)
			return err;
		bad = 0;
		from = node.key;
	}
	return bad && range ? rs_pages_add_lost(p, &from, &range->to) : 0;
}

static int walk(struct rs_pages *p, uint64_t page,
		const struct rs_key_range *range, unsigned int depth);

/* Does the range end before the first key after the chunks? */
static int is_chunks(const struct rs_key_range *range)
{
	const struct rs_key after = { .buf = { 'E' }, .len = 1 };

	return range->to.len > 0 && rs_key_cmp(&range->to, &after) <= 0;
}

static uint64_t child_of(const uint8_t *buf, unsigned int at)
{
	return (uint64_t)rs_get32(buf + at) | (uint64_t)rs_get16(buf + at + 4)
						      << 32;
}

/*
 * Children stand anywhere in the file: all are asked for before the first is
 * read. A hint only.
 */
static void expect_children(const struct rs_pages *p, const uint8_t *buf, int n)
{
	struct rs_key_range range = { .from = { .len = 0 } };
	unsigned int at;
	int i;

	for (i = 0; i < n; i++) {
		at = i + 1 < n ? node_at(buf, i + 1, &range.to) : 0;
		if (p->meta_only && at && is_chunks(&range))
			continue;
		at = node_at(buf, i, &range.to);
		if (at)
			(void)!posix_fadvise(
				p->fd, (off_t)(child_of(buf, at) * RS_PAGE),
				RS_PAGE, POSIX_FADV_WILLNEED);
	}
}

static int walk_branch(struct rs_pages *p, const uint8_t *buf, int n,
		       const struct rs_key_range *range, unsigned int depth)
{
	struct rs_key_range sub = { .from = range->from };
	struct rs_key key;
	unsigned int at, next;
	uint64_t child;
	int i, err;

	expect_children(p, buf, n);
	at = n > 0 ? node_at(buf, 0, &key) : 0;
	for (i = 0; i < n; i++, at = next) {
		next = i + 1 < n ? node_at(buf, i + 1, &key) : 0;
		sub.to = next ? key : range->to;
		/* Without its neighbour it may be anything up to the end. */
		if (i + 1 < n && !next)
			return rs_pages_add_lost(p, &sub.from, &range->to);
		child = at ? child_of(buf, at) : 0;
		err = walk(p, child, &sub, depth + 1);
		if (err != 0)
			return err;
		sub.from = sub.to;
	}
	return n > 0 ? 0 : rs_pages_add_lost(p, &range->from, &range->to);
}

/* A page of the tree that has to hold the keys of range. */
static int walk(struct rs_pages *p, uint64_t page,
		const struct rs_key_range *range, unsigned int depth)
{
	RS_AUTO_FREE uint8_t *buf = NULL;
	int n;

	if (depth >= RS_META_DEPTH_MAX || !rs_pages_see(p, page))
		return rs_pages_add_lost(p, &range->from, &range->to);
	if (p->meta_only && is_chunks(range))
		return 0;
	buf = rs_store_alloc(RS_PAGE);
	if (!buf)
		return -ENOMEM;
	n = read_page(p, page, buf);
	if (n >= 0 && rs_get16(buf + 10) == P_LEAF)
		return walk_leaf(p, buf, page, n, range);
	if (n >= 0 && rs_get16(buf + 10) == P_BRANCH)
		return walk_branch(p, buf, n, range, depth);
	return rs_pages_add_lost(p, &range->from, &range->to);
}

int rs_pages_walk_tree(struct rs_pages *p)
{
	const struct rs_key_range all = { .from = { .len = 0 } };
	struct rs_meta m[2];
	const char *why;
	int i, newest = -1;

	/* A file that was cut short is followed as far as it goes. */
	for (i = 0; i < 2; i++)
		if (rs_meta_read(p->fd, (unsigned int)i, UINT64_MAX, &m[i],
				 &why) == 0 &&
		    (newest < 0 || m[i].txnid > m[newest].txnid))
			newest = i;
	if (newest < 0)
		return rs_pages_add_lost(p, &all.from, &all.to);
	if (m[newest].main_root == RS_META_NO_PAGE)
		return 0;
	return walk(p, m[newest].main_root, &all, 0);
}

int rs_pages_walk_rest(struct rs_pages *p)
{
	RS_AUTO_FREE uint8_t *buf = rs_store_alloc(RS_PAGE);
	uint64_t page;
	int n, err;

	if (!buf)
		return -ENOMEM;
	for (page = 2; page < p->n; page++) {
		if (is_seen(p, page))
			continue;
		n = read_page(p, page, buf);
		if (n < 0 || rs_get16(buf + 10) != P_LEAF)
			continue;
		err = walk_leaf(p, buf, page, n, NULL);
		if (err != 0)
			return err;
	}
	return 0;
}
