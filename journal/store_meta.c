/*
 * store_meta.c - LMDB 0.9's meta pages, version 1 of its format, as a 64-bit
 * little-endian machine with 4096-byte pages writes them:
 *
 *	  0  8  page number
 *	  8  2  0
 *	 10  2  page flags: 8 (meta)
 *	 12  4  0
 *	 16  4  magic beefc0de
 *	 20  4  format version 1
 *	 24  8  address of a fixed map: 0
 *	 32  8  size of the map
 *	 40 48  the tree of free pages
 *	 88 48  the main tree
 *	136  8  last page used
 *	144  8  transaction number
 *
 * and a tree:
 *
 *	  0  4  page size (free tree), 0
 *	  4  2  flags: 8 (integer keys) for the free tree, 0 for ours
 *	  6  2  depth
 *	  8  8  branch pages
 *	 16  8  leaf pages
 *	 24  8  overflow pages
 *	 32  8  entries
 *	 40  8  root page, all ones if the tree is empty
 *
 * Transaction n writes page n mod 2 (both hold 0 in a new file), in one
 * sector, so a meta page is never torn: one that isn't whole is damage, and
 * LMDB would not open the file either. When that write fails LMDB puts the
 * old transaction number and last page back beside the new trees, so only
 * the page with the higher number can be held to what its trees say.
 */
#include "journal/store_meta.h"

#include <errno.h>
#include <stdio.h>

#define META_LEN 152u
#define PAGE_META 8u
#define MAGIC 0xbeefc0deu

int rs_store_path(const char *dir, const char *name, char ret_path[PATH_MAX])
{
	int n = snprintf(ret_path, PATH_MAX, "%s/%s", dir, name);

	return n > 0 && n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

void *rs_store_alloc(size_t len)
{
	return calloc(1, len);
}

int rs_pread_all(int fd, void *buf, size_t len, uint64_t off)
{
	uint8_t *p = buf;
	ssize_t n;

	while (len > 0) {
		n = pread(fd, p, len, (off_t)off);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -EIO;
		p += n;
		off += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

/* Root and depth of a tree must agree and lie inside the file. */
static int tree_ok(uint64_t root, uint16_t depth, uint64_t last)
{
	if (root == RS_META_NO_PAGE)
		return depth == 0;
	return depth > 0 && depth <= RS_META_DEPTH_MAX && root >= 2 &&
	       root <= last;
}

/* What LMDB demands of either page at opening. */
static const char *judge_form(const uint8_t *p, unsigned int which,
			      struct rs_meta *m)
{
	if (rs_get32(p + 16) != MAGIC || !(rs_get16(p + 10) & PAGE_META))
		return "a meta page is not LMDB's";
	if (rs_get32(p + 20) != 1)
		return "a meta page has another format version";
	if (rs_get32(p + 40) != RS_PAGE)
		return "a meta page names another page size";
	m->free_depth = rs_get16(p + 46);
	m->free_root = rs_get64(p + 80);
	m->main_depth = rs_get16(p + 94);
	m->entries = rs_get64(p + 120);
	m->main_root = rs_get64(p + 128);
	m->last_page = rs_get64(p + 136);
	m->txnid = rs_get64(p + 144);
	if (rs_get64(p) != which || (m->txnid && m->txnid % 2 != which))
		return "a meta page is not in its place";
	if (rs_get16(p + 44) != 8 || rs_get16(p + 92) != 0)
		return "a meta page has unknown flags";
	return NULL;
}

/* What must hold of the one that counts. */
static const char *judge_trees(const struct rs_meta *m, uint64_t size)
{
	if (m->last_page < 1 || m->last_page >= size / RS_PAGE)
		return "the file is shorter than a meta page says";
	if (!tree_ok(m->free_root, m->free_depth, m->last_page) ||
	    !tree_ok(m->main_root, m->main_depth, m->last_page))
		return "a meta page names a page that can't be";
	return NULL;
}

static int read_form(int fd, unsigned int which, uint64_t size,
		     struct rs_meta *ret_meta, const char **ret_why)
{
	uint8_t buf[META_LEN];
	const char *why;
	int err;

	if (size < 2 * (uint64_t)RS_PAGE) {
		*ret_why = size ? "the file is too short" : "the file is empty";
		return -EUCLEAN;
	}
	err = rs_pread_all(fd, buf, sizeof(buf), (uint64_t)which * RS_PAGE);
	if (err < 0) {
		*ret_why = "a meta page can't be read";
		return err;
	}
	why = judge_form(buf, which, ret_meta);
	if (why) {
		*ret_why = why;
		return -EUCLEAN;
	}
	return 0;
}

int rs_meta_read(int fd, unsigned int which, uint64_t size,
		 struct rs_meta *ret_meta, const char **ret_why)
{
	const char *why;
	struct rs_meta m;
	int err = read_form(fd, which, size, &m, ret_why);

	if (err < 0)
		return err;
	why = judge_trees(&m, size);
	if (why) {
		*ret_why = why;
		return -EUCLEAN;
	}
	*ret_meta = m;
	return 0;
}

int rs_meta_newest(int fd, uint64_t size, struct rs_meta *ret_meta,
		   const char **ret_why)
{
	struct rs_meta m[2];
	unsigned int i;
	int err;

	for (i = 0; i < 2; i++) {
		err = read_form(fd, i, size, &m[i], ret_why);
		if (err < 0)
			return err;
	}
	return rs_meta_read(fd, m[1].txnid > m[0].txnid, size, ret_meta,
			    ret_why);
}
