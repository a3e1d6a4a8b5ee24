/*
 * store.h - data.mdb: the state up to a frame number, in LMDB.
 *
 * Keys (one tree, big-endian numbers; nothing that comes from mail is part
 * of a key):
 *   'R'                          root record
 *   'I' ino                      inode: attributes, frame, chunk count, sum
 *   'E' parent hash16            entry: child, dtype, frame, name
 *   'L' ino part(2)              symlink target, parts of RS_PART bytes
 *   'X' ino hash16 part(2)       xattr: name (part 0), value parts
 *   'Z' ino                      reap list: chunks that are dead but there
 *   'D' ino chunk(8)             RS_CHUNK bytes of data at chunk * RS_CHUNK
 * Each value ends with a 36-byte trailer: salt(16) of its transaction,
 * counter(4), tag(16) over store id, key, value.
 *
 * Digests: the root's sum covers every record but 'R' and 'D'; the sum of a
 * file's chunks stands in its 'I' value (count and digest), so that the
 * metadata walk need not touch data and a missing chunk is noticed all the
 * same when the file is read or verified.
 */
#ifndef RS_STORE_H
#define RS_STORE_H

#include "include/rs_attr.h"
#include "include/rs_seam.h"
#include "journal/crypto.h"
#include "journal/report.h"
#include "journal/ring.h"

#define RS_CHUNK 4032u /* bytes of file data in one 'D' value */

struct rs_store;

/* The root record. */
struct rs_root {
	uint64_t applied; /* number of the last frame folded in */
	uint64_t applied_place;
	uint8_t applied_tag[RS_TAG_LEN];
	uint64_t next_place; /* where the frame after it goes */
	uint64_t ceiling;    /* inode numbers below it may be in use */
	uint64_t n_inodes, n_entries, n_links, n_xattrs, n_reaps, n_chunks;
	uint64_t blocks; /* sum of the inodes' allocated pages */
	uint64_t damage; /* findings not yet accepted */
	uint8_t sum[16];
};

enum rs_store_mode {
	RS_STORE_WRITE,	 /* the one owner */
	RS_STORE_RDONLY, /* MDB_RDONLY|MDB_NOLOCK under our own lock */
};

/*
 * Make an empty store in dir: data.mdb (0600) holding
 * the root directory (ino 1, mode 0755, owner as given, times now), applied
 * 0, ceiling RS_INO_FIRST; reserve bytes of disk space (fallocate).
 * Errors: -EEXIST, -ENOSPC, ...; nothing is left then.
 */
RS_MUST_USE int rs_store_create(const char *dir, const struct rs_crypto *crypto,
				const uint8_t id[RS_ID_LEN], uint32_t uid,
				uint32_t gid, const struct timespec *now,
				uint64_t reserve);

/*
 * Look at data.mdb with pread only: file size, both metas, pages of metadata,
 * list of free pages. Then walk all metadata in a child process that is given
 * up when it makes no progress (in this process when inline_walk is set:
 * fuzzers and tests) and compare counts and sum with the root. Errors: -EUCLEAN (damage; a finding says which), -ENOENT, -ENOMEM...
 * Opens nothing that stays open.
 */
RS_MUST_USE int rs_store_check(const char *dir, const struct rs_crypto *crypto,
			       const uint8_t id[RS_ID_LEN], int inline_walk,
			       struct rs_report *rep, struct rs_root *ret_root);

/*
 * Only after rs_store_check() returned 0. One huge sparse map, less where
 * the address limit says so (-ENOMEM names nothing mapped).
 */
RS_MUST_USE int rs_store_open(const char *dir, const struct rs_crypto *crypto,
			      const uint8_t id[RS_ID_LEN],
			      enum rs_store_mode mode,
			      struct rs_store **ret_store);
void rs_store_close(struct rs_store *store);
/*
 * How many values did not prove themselves since it was opened, when read
 * or folded over; the last of them (may be NULL).
 */
uint64_t rs_store_bad(struct rs_store *store, struct rs_finding *ret_last);
void rs_store_root(struct rs_store *store, struct rs_root *ret_root);
/* bytes of data.mdb that LMDB uses, and that are reserved for it */
void rs_store_space(struct rs_store *store, uint64_t *ret_used,
		    uint64_t *ret_reserved);

/*
 * Give data.mdb so much disk space in all, durable. Also while it is
 * written to. -ENOSPC, -EOPNOTSUPP (the filesystem can't), -errno.
 */
RS_MUST_USE int rs_store_reserve(struct rs_store *store, uint64_t bytes);

/*
 * Metadata, in this order: every inode, every entry, links, xattrs. A
 * callback's non-zero value ends the walk and is returned. A value that does
 * not prove itself: finding, and -EUCLEAN at the end of the walk.
 */
struct rs_load_ops {
	int (*inode)(void *arg, uint64_t ino, const struct rs_attr *attr,
		     uint64_t frame);
	int (*entry)(void *arg, uint64_t parent, const uint8_t *name,
		     size_t len, uint64_t child, uint8_t dtype, uint64_t frame);
	int (*link)(void *arg, uint64_t ino, const uint8_t *target, size_t len);
	int (*xattr)(void *arg, uint64_t ino, const uint8_t *name, size_t len,
		     const uint8_t *value, size_t value_len);
};
RS_MUST_USE int rs_store_load(struct rs_store *store,
			      const struct rs_load_ops *ops, void *arg,
			      struct rs_report *rep);

/*
 * Compare count and digest of ino's chunks with its inode record, before the
 * first of them is served: rs_store_read() alone can't tell an older version
 * of a chunk from the right one. Files of more than RS_PROVE_MAX chunks are
 * left to rs_store_verify(): reading all of one for its first page would hold
 * up the reader for minutes. Any thread. Errors: -EIO (not as recorded),
 * -ENOMEM.
 */
#define RS_PROVE_MAX UINT64_C(16384) /* 63 MiB */
RS_MUST_USE int rs_store_prove(struct rs_store *store, uint64_t ino);

/*
 * Read pages [page, page+n) of ino into buf (n * RS_PAGE bytes). Bit i of
 * map (n bits) tells that page+i is allocated; others read as zeros. Any
 * thread; one short transaction; under the fault guard. Errors: -EIO (a
 * value does not prove itself or the map faulted: counted, named in the
 * store's findings), -ENOMEM.
 */
RS_MUST_USE int rs_store_read(struct rs_store *store, uint64_t ino,
			      uint64_t page, unsigned int n, uint8_t *buf,
			      uint8_t *map);

/*
 * Read everything, data and all, and compare each file's chunk count and sum
 * (verify). Findings in rep; 0 or -EUCLEAN.
 */
RS_MUST_USE int rs_store_verify(struct rs_store *store, struct rs_report *rep,
				void (*progress)(void *, uint64_t, uint64_t),
				void *arg);

/*
 * Entries without an inode, inodes without an entry (staged ones and the
 * root aside): findings in rep; 0 or -EUCLEAN. Part of rs_store_verify().
 */
RS_MUST_USE int rs_store_audit(struct rs_store *store, struct rs_report *rep);

/* Every record in key order as printable parts, for rspoolctl dump. */
struct rs_dump_ops {
	int (*record)(void *arg, char kind, uint64_t ino, uint64_t frame,
		      const uint8_t *name, size_t name_len, uint64_t number,
		      size_t value_len);
};
RS_MUST_USE int rs_store_dump(struct rs_store *store,
			      const struct rs_dump_ops *ops, void *arg);

/*
 * Clear at most 256 chunks of inodes on the reap list whose number keep()
 * does not hold (the kernel still knows it); *ret_more: work is left.
 */
RS_MUST_USE int rs_store_reap(struct rs_store *store,
			      int (*keep)(void *arg, uint64_t ino), void *arg,
			      int *ret_more);

/*
 * Add findings that no fold will come across (damaged frames) to
 * root.damage, in a transaction of its own (FORMAT.md R8).
 */
RS_MUST_USE int rs_store_add_damage(struct rs_store *store, uint64_t n);
/* Set root.damage to 0 (recover --accept) in a transaction of its own. */
RS_MUST_USE int rs_store_accept(struct rs_store *store);

/*
 * The salvage reader: pread, page by page, bounds-checked; values prove
 * themselves by tag, of several for a key the newest (highest frame) wins.
 * Calls ops for what is whole, inodes first as in a load, then chunk (data
 * without trailing zeros) for inodes that were. Never touches LMDB. Errors:
 * -EUCLEAN (something was lost; findings), a callback's, -ENOMEM, -ENOENT.
 */
RS_MUST_USE int rs_store_salvage(const char *dir,
				 const struct rs_crypto *crypto,
				 const uint8_t id[RS_ID_LEN],
				 const struct rs_load_ops *ops,
				 int (*chunk)(void *arg, uint64_t ino,
					      uint64_t off, const uint8_t *data,
					      size_t len),
				 void *arg, struct rs_report *rep);

#endif
