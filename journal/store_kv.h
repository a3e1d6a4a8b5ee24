/*
 * store_kv.h - ordered keys and values with transactions: all that the store
 * needs of LMDB. Only store_lmdb.c knows what is behind it.
 *
 * Everything that comes out is copied, under the fault guard: after a call
 * returned nobody looks into the map. One write transaction at a time, begun
 * and ended by one thread; read transactions belong to one thread at a time
 * and are short: a commit waits for those that are open, and a thread with
 * one may not commit. The caller holds a lock that keeps other processes
 * out.
 *
 * Errors: those of the system; -EUCLEAN (the file is damaged), -ENOSPC (map
 * or disk full), -EIO (the map faulted, a write or flush failed). After
 * -EIO or -EUCLEAN in a write transaction or commit the environment is
 * broken: every later write transaction is refused with -EIO.
 */
#ifndef RS_STORE_KV_H
#define RS_STORE_KV_H

#include "journal/value.h"

struct rs_kv;
struct rs_kv_txn;

#define RS_KV_RDONLY 0x1u /* nothing is written */

struct rs_kv_item {
	uint8_t key[RS_KEY_MAX];
	size_t key_len;
	uint8_t value[RS_VALUE_MAX];
	size_t len;
};

/* dir: data.mdb, made 0600 if it doesn't exist. -ENOMEM: not
 * even a small map fits into the address space. */
RS_MUST_USE int rs_kv_open(const char *dir, unsigned int flags,
			   struct rs_kv **ret_kv);
void rs_kv_close(struct rs_kv *kv);
/* bytes in pages that hold something, free list included */
RS_MUST_USE int rs_kv_used(struct rs_kv *kv, uint64_t *ret_bytes);
int rs_kv_broken(struct rs_kv *kv);

RS_MUST_USE int rs_kv_begin(struct rs_kv *kv, int write,
			    struct rs_kv_txn **ret_txn);
void rs_kv_abort(struct rs_kv_txn *txn);
/* The transaction is gone whatever is returned. */
RS_MUST_USE int rs_kv_commit(struct rs_kv_txn *txn);

/* buf has RS_VALUE_MAX bytes. -ENOENT. */
RS_MUST_USE int rs_kv_get(struct rs_kv_txn *txn, const struct rs_key *key,
			  uint8_t *buf, size_t *ret_len);
/* The first item whose key isn't below key, and the one after that. -ENOENT
 * at the end. A change to the transaction ends the walk: seek again. */
RS_MUST_USE int rs_kv_seek(struct rs_kv_txn *txn, const struct rs_key *key,
			   struct rs_kv_item *ret_item);
RS_MUST_USE int rs_kv_next(struct rs_kv_txn *txn, struct rs_kv_item *ret_item);

/* 1 if a key begins with key, 0 if none does; a walk goes on undisturbed. */
RS_MUST_USE int rs_kv_has_prefix(struct rs_kv_txn *txn,
				 const struct rs_key *key);

/* 1: an old value was replaced, its trailer is in old; 0: there was none. */
RS_MUST_USE int rs_kv_put(struct rs_kv_txn *txn, const struct rs_key *key,
			  uint8_t *value, size_t len,
			  uint8_t old[RS_TRAILER_LEN]);
/* -ENOENT */
RS_MUST_USE int rs_kv_del(struct rs_kv_txn *txn, const struct rs_key *key,
			  uint8_t old[RS_TRAILER_LEN]);

#endif
