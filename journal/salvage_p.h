/* salvage_p.h - what the files of the salvage reader share. */
#ifndef RS_SALVAGE_P_H
#define RS_SALVAGE_P_H

#include "journal/store_p.h"

/* Keys [from, to); to.len 0: no end. */
struct rs_key_range {
	struct rs_key from, to;
};

/* A leaf node of a page: a key, and where its value stands in the file. */
struct rs_salvage_node {
	struct rs_key key;
	uint64_t at; /* byte */
	uint32_t len;
	int linked; /* met by the tree, not on a page that nothing names */
};

/* Pages of data.mdb, read with pread. */
struct rs_pages {
	int fd;
	uint64_t size, n; /* bytes, pages */
	int meta_only;	  /* pass over what holds nothing but chunks */
	uint8_t *seen;	  /* a bit a page: the tree has it */
	struct rs_key_range *lost;
	size_t n_lost;
	int (*fn)(void *arg, const struct rs_salvage_node *node);
	void *arg;
};

RS_MUST_USE int rs_pages_open(const char *dir, struct rs_pages *p);
void rs_pages_close(struct rs_pages *p);
/*
 * Walk the tree of the newest meta page that can be used; what can't be
 * read of it becomes lost ranges. Then the same for all leaf pages that the
 * tree does not have. fn is called for every node that lies inside its page.
 * Errors: fn's, -ENOMEM.
 */
RS_MUST_USE int rs_pages_walk_tree(struct rs_pages *p);
RS_MUST_USE int rs_pages_walk_rest(struct rs_pages *p);
/*
 * Are the pages of the tree sound, and does the list of free pages name each
 * page once and none of the tree's? Whatever reads through LMDB would not
 * notice: LMDB would give such pages out again. 0, -EUCLEAN (*ret_why),
 * -ENOMEM, ...
 */
RS_MUST_USE int rs_pages_check(const char *dir, int meta_only,
			       const char **ret_why);
/* 1 if the page exists and was not seen yet; it is now. */
int rs_pages_see(struct rs_pages *p, uint64_t page);
RS_MUST_USE int rs_pages_add_lost(struct rs_pages *p, const struct rs_key *from,
				  const struct rs_key *to);
int rs_pages_is_lost(const struct rs_pages *p, const struct rs_key *key);

int rs_key_cmp(const struct rs_key *a, const struct rs_key *b);

#endif
