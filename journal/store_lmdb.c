/*
 * store_lmdb.c - the only door to LMDB.
 *
 * MODEL
 *	One environment, one unnamed tree in it. The map is far larger than
 *	the file ever gets and never resized: mdb_env_set_mapsize() with a
 *	transaction open is undefined, and MDB_MAP_FULL would be one more
 *	limit beside our own.
 *
 *	MDB_NOLOCK: lock.mdb would be written through a shared mapping, and on a
 *	full btrfs, which copies on write, that is a SIGBUS. One process has
 *	the store (its flock), one thread writes; what is left of LMDB's lock
 *	is that no page may be used again under a reader: see I4.
 *
 * INVARIANTS
 * I1	LMDB is called under a guard, its asserts included (0.9.24 calls
 *	abort() in mdb_assert_fail() unless the callback doesn't return).
 * I2	After a fault inside a write transaction nothing of the environment is
 *	touched again: the transaction is neither ended nor freed.
 * I3	No MDB_NOSYNC, no MDB_WRITEMAP: a full disk is an error instead of a
 *	SIGBUS, and commits are in order.
 * I4	No read transaction is open during a commit. Without a reader table
 *	LMDB takes pages again that were free two transactions ago, and a
 *	reader could see half of a meta page.
 *
 * LMDB 0.9.24 reports a short write, which a full disk can cause, as EIO. It
 * counts as EIO here: the space was reserved when the store was made, and
 * going on after a real EIO would lose data.
 */
#include "journal/store_kv.h"

#include <assert.h>
#include <errno.h>
#include <lmdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "journal/store_guard.h"
#include "journal/store_meta.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MAP_MOST (UINT64_C(16) << 30) /* shadow memory takes the rest */
#else
#define MAP_MOST (UINT64_C(1) << 40)
#endif
#define MAP_LEAST (UINT64_C(16) << 20)

struct rs_kv {
	MDB_env *env;
	MDB_dbi dbi;
	int rdonly;
	atomic_int broken;
	pthread_mutex_t lock; /* I4: guards the next two */
	pthread_cond_t change;
	unsigned int readers;
	int committing;	    /* waits for readers to be 0, or is at it */
	struct rs_kv *next; /* in the list of the abandoned */
};

struct rs_kv_txn {
	struct rs_kv *kv;
	MDB_txn *txn;
	MDB_cursor *cursor, *probe; /* opened when first needed */
	int write;
	struct rs_kv_txn *next;
};

/* What I2 leaves behind stays reachable, so that leak checkers know it. */
static struct rs_kv *_Atomic abandoned_kv;
static struct rs_kv_txn *_Atomic abandoned_txn;

static int to_errno(int rc)
{
	switch (rc) {
	case 0:
		return 0;
	case MDB_NOTFOUND:
		return -ENOENT;
	case MDB_KEYEXIST:
		return -EEXIST;
	case MDB_MAP_FULL:
	case MDB_TXN_FULL:
		return -ENOSPC;
	case MDB_VERSION_MISMATCH:
		return -EPROTONOSUPPORT;
	case MDB_READERS_FULL:
	case MDB_TLS_FULL:
		return -EAGAIN;
	case MDB_BAD_VALSIZE:
	case MDB_BAD_DBI:
		return -EINVAL;
	default:
		return rc > 0 ? -rc : -EUCLEAN;
	}
}

static void on_assert(MDB_env *env RS_UNUSED, const char *text RS_UNUSED)
{
	rs_guard_raise();
}

/* A map size to begin with: half of the address space where it is limited. */
static uint64_t map_size(void)
{
	uint64_t size = MAP_MOST;
	struct rlimit lim;

	if (sizeof(size_t) < 8)
		size = UINT64_C(1) << 30;
	if (getrlimit(RLIMIT_AS, &lim) == 0 && lim.rlim_cur != RLIM_INFINITY)
		while (size > lim.rlim_cur / 2 && size > MAP_LEAST)
			size /= 2;
	return size;
}

/* Bytes that the map must have for what is in the file already. */
static uint64_t map_least(const char *dir)
{
	uint64_t least = MAP_LEAST;
	char path[PATH_MAX];
	struct stat st;

	if (rs_store_path(dir, "data.mdb", path) == 0 && stat(path, &st) == 0)
		least += (uint64_t)st.st_size;
	return least;
}

static int env_open(const char *dir, unsigned int flags, uint64_t size,
		    MDB_env **ret_env)
{
	const unsigned int mdb_flags = MDB_NOTLS | MDB_NOLOCK |
				       (flags & RS_KV_RDONLY ? MDB_RDONLY : 0);
	struct rs_guard g;
	MDB_env *env;
	int rc;

	rc = mdb_env_create(&env);
	if (rc)
		return to_errno(rc);
	rs_guard_push(&g);
	if (sigsetjmp(g.env, 0))
		return -EIO;
	mdb_env_set_assert(env, on_assert);
	rc = mdb_env_set_mapsize(env, (size_t)size);
	if (!rc)
		rc = mdb_env_open(env, dir, mdb_flags, 0600);
	rs_guard_pop(&g);
	if (rc) {
		mdb_env_close(env);
		return to_errno(rc);
	}
	*ret_env = env;
	return 0;
}

/* The unnamed tree's handle. */
static int env_prepare(struct rs_kv *kv)
{
	struct rs_guard g;
	MDB_txn *txn;
	int rc;

	rs_guard_push(&g);
	if (sigsetjmp(g.env, 0))
		return -EIO;
	rc = mdb_txn_begin(kv->env, NULL, MDB_RDONLY, &txn);
	if (!rc) {
		rc = mdb_dbi_open(txn, NULL, 0, &kv->dbi);
		mdb_txn_abort(txn);
	}
	rs_guard_pop(&g);
	return to_errno(rc);
}

int rs_kv_open(const char *dir, unsigned int flags, struct rs_kv **ret_kv)
{
	uint64_t size = map_size(), least = map_least(dir);
	struct rs_kv *kv;
	int err;

	err = rs_guard_install();
	if (err < 0)
		return err;
	kv = calloc(1, sizeof(*kv));
	if (!kv)
		return -ENOMEM;
	kv->rdonly = (flags & RS_KV_RDONLY) != 0;
	pthread_mutex_init(&kv->lock, NULL);
	pthread_cond_init(&kv->change, NULL);
	for (;;) {
		err = size < least ? -ENOMEM
				   : env_open(dir, flags, size, &kv->env);
		if (err != -ENOMEM || size < least)
			break;
		size /= 2;
	}
	if (err == 0)
		err = env_prepare(kv);
	if (err < 0) {
		rs_kv_close(kv);
		return err;
	}
	*ret_kv = kv;
	return 0;
}

static void abandon_kv(struct rs_kv *kv)
{
	kv->next = atomic_load(&abandoned_kv);
	while (!atomic_compare_exchange_weak(&abandoned_kv, &kv->next, kv))
		;
}

static void abandon_txn(struct rs_kv_txn *txn)
{
	txn->next = atomic_load(&abandoned_txn);
	while (!atomic_compare_exchange_weak(&abandoned_txn, &txn->next, txn))
		;
}

void rs_kv_close(struct rs_kv *kv)
{
	if (!kv)
		return;
	if (atomic_load(&kv->broken) == 2) {
		abandon_kv(kv);
		return;
	}
	if (kv->env)
		mdb_env_close(kv->env);
	pthread_cond_destroy(&kv->change);
	pthread_mutex_destroy(&kv->lock);
	free(kv);
}

int rs_kv_broken(struct rs_kv *kv)
{
	return atomic_load(&kv->broken);
}

/* A guarded call faulted. */
static int faulted(struct rs_kv_txn *txn)
{
	if (txn->write)
		atomic_store(&txn->kv->broken, 2);
	return -EIO;
}

/* Any other error, after which a writer can't be trusted. */
static int failed(struct rs_kv_txn *txn, int rc)
{
	int err = to_errno(rc);

	if (txn->write && (err == -EIO || err == -EUCLEAN)) {
		int none = 0;

		atomic_compare_exchange_strong(&txn->kv->broken, &none, 1);
	}
	return err;
}

/* ---- readers and the commit (I4) ---- */

static void reader_enter(struct rs_kv *kv)
{
	pthread_mutex_lock(&kv->lock);
	while (kv->committing)
		pthread_cond_wait(&kv->change, &kv->lock);
	kv->readers++;
	pthread_mutex_unlock(&kv->lock);
}

static void reader_leave(struct rs_kv *kv)
{
	pthread_mutex_lock(&kv->lock);
	if (--kv->readers == 0)
		pthread_cond_broadcast(&kv->change);
	pthread_mutex_unlock(&kv->lock);
}

/* New readers wait from here on, so those that are there run out. */
static void commit_enter(struct rs_kv *kv)
{
	pthread_mutex_lock(&kv->lock);
	kv->committing = 1;
	while (kv->readers)
		pthread_cond_wait(&kv->change, &kv->lock);
	pthread_mutex_unlock(&kv->lock);
}

static void commit_leave(struct rs_kv *kv)
{
	pthread_mutex_lock(&kv->lock);
	kv->committing = 0;
	pthread_cond_broadcast(&kv->change);
	pthread_mutex_unlock(&kv->lock);
}

static int txn_begin(struct rs_kv *kv, struct rs_kv_txn *t)
{
	unsigned int flags = t->write ? 0 : MDB_RDONLY;
	struct rs_guard g;
	int rc;

	rs_guard_push(&g);
	if (sigsetjmp(g.env, 0))
		return faulted(t);
	rc = mdb_txn_begin(kv->env, NULL, flags, &t->txn);
	rs_guard_pop(&g);
	return failed(t, rc);
}

int rs_kv_begin(struct rs_kv *kv, int write, struct rs_kv_txn **ret_txn)
{
	struct rs_kv_txn *t;
	int broken = atomic_load(&kv->broken), err;

	if ((write && broken) || broken == 2)
		return -EIO;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->kv = kv;
	t->write = write;
	if (!write)
		reader_enter(kv);
	err = txn_begin(kv, t);
	if (err < 0) {
		if (!write)
			reader_leave(kv);
		free(t);
		return err;
	}
	*ret_txn = t;
	return 0;
}

static void close_cursors(struct rs_kv_txn *t)
{
	if (t->cursor)
		mdb_cursor_close(t->cursor);
	if (t->probe)
		mdb_cursor_close(t->probe);
	t->cursor = NULL;
	t->probe = NULL;
}

void rs_kv_abort(struct rs_kv_txn *t)
{
	if (!t)
		return;
	if (t->write && atomic_load(&t->kv->broken) == 2) {
		abandon_txn(t);
		return;
	}
	close_cursors(t);
	mdb_txn_abort(t->txn);
	if (!t->write)
		reader_leave(t->kv);
	free(t);
}

static int txn_commit(struct rs_kv_txn *t)
{
	struct rs_guard g;
	int rc;

	rs_guard_push(&g);
	if (sigsetjmp(g.env, 0))
		return faulted(t);
	rc = mdb_txn_commit(t->txn);
	rs_guard_pop(&g);
	return failed(t, rc);
}

int rs_kv_commit(struct rs_kv_txn *t)
{
	int err;

	assert(t->write);
	close_cursors(t);
	commit_enter(t->kv);
	err = txn_commit(t);
	commit_leave(t->kv);
	if (atomic_load(&t->kv->broken) == 2)
		abandon_txn(t);
	else
		free(t);
	return err;
}

static MDB_val key_val(const struct rs_key *key)
{
	MDB_val val = { .mv_size = key->len };

	/* mv_data isn't const, and LMDB doesn't write to it. */
	memcpy(&val.mv_data, &(const void *){ key->buf }, sizeof(void *));
	return val;
}

int rs_kv_get(struct rs_kv_txn *t, const struct rs_key *key, uint8_t *buf,
	      size_t *ret_len)
{
	MDB_val k = key_val(key), v;
	struct rs_guard g;
	int rc;

	rs_guard_push(&g);
	if (sigsetjmp(g.env, 0))
		return faulted(t);
	rc = mdb_get(t->txn, t->kv->dbi, &k, &v);
	if (!rc && v.mv_size > RS_VALUE_MAX)
		rc = MDB_CORRUPTED;
	if (!rc) {
		memcpy(buf, v.mv_data, v.mv_size);
		*ret_len = v.mv_size;
	}
	rs_guard_pop(&g);
	return failed(t, rc);
}

static int cursor_get(struct rs_kv_txn *t, MDB_val k, MDB_cursor_op op,
		      struct rs_kv_item *item)
{
	struct rs_guard g;
	MDB_val v;
	int rc;

	rs_guard_push(&g);
	if (sigsetjmp(g.env, 0))
		return faulted(t);
	rc = 0;
	if (!t->cursor)
		rc = mdb_cursor_open(t->txn, t->kv->dbi, &t->cursor);
	if (!rc)
		rc = mdb_cursor_get(t->cursor, &k, &v, op);
	if (!rc && (k.mv_size > RS_KEY_MAX || v.mv_size > RS_VALUE_MAX))
		rc = MDB_CORRUPTED;
	if (!rc) {
		memcpy(item->key, k.mv_data, k.mv_size);
		item->key_len = k.mv_size;
		memcpy(item->value, v.mv_data, v.mv_size);
		item->len = v.mv_size;
	}
	rs_guard_pop(&g);
	return failed(t, rc);
}

int rs_kv_seek(struct rs_kv_txn *t, const struct rs_key *key,
	       struct rs_kv_item *ret_item)
{
	return cursor_get(t, key_val(key), MDB_SET_RANGE, ret_item);
}

int rs_kv_next(struct rs_kv_txn *t, struct rs_kv_item *ret_item)
{
	MDB_val none = { 0 };

	return cursor_get(t, none, MDB_NEXT, ret_item);
}

static int has_prefix(MDB_cursor *cursor, const struct rs_key *key,
		      int *ret_has)
{
	MDB_val k = key_val(key), v;
	int rc = mdb_cursor_get(cursor, &k, &v, MDB_SET_RANGE);

	*ret_has = !rc && k.mv_size >= key->len &&
		   memcmp(k.mv_data, key->buf, key->len) == 0;
	return rc == MDB_NOTFOUND ? 0 : rc;
}

int rs_kv_has_prefix(struct rs_kv_txn *t, const struct rs_key *key)
{
	struct rs_guard g;
	int rc, has = 0;

	rs_guard_push(&g);
	if (sigsetjmp(g.env, 0))
		return faulted(t);
	rc = 0;
	if (!t->probe)
		rc = mdb_cursor_open(t->txn, t->kv->dbi, &t->probe);
	if (!rc)
		rc = has_prefix(t->probe, key, &has);
	rs_guard_pop(&g);
	return rc ? failed(t, rc) : has;
}

/* The last bytes of an old value; MDB_CORRUPTED if it has no trailer. */
static int take_trailer(const MDB_val *v, uint8_t old[RS_TRAILER_LEN])
{
	const uint8_t *data = v->mv_data;

	if (v->mv_size < RS_TRAILER_LEN || v->mv_size > RS_VALUE_MAX)
		return MDB_CORRUPTED;
	memcpy(old, data + v->mv_size - RS_TRAILER_LEN, RS_TRAILER_LEN);
	return 0;
}

int rs_kv_put(struct rs_kv_txn *t, const struct rs_key *key, uint8_t *value,
	      size_t len, uint8_t old[RS_TRAILER_LEN])
{
	MDB_val k = key_val(key), v = { .mv_size = len, .mv_data = value };
	struct rs_guard g;
	int rc, existed;

	rs_guard_push(&g);
	if (sigsetjmp(g.env, 0))
		return faulted(t);
	/* On MDB_KEYEXIST v is the old value. */
	rc = mdb_put(t->txn, t->kv->dbi, &k, &v, MDB_NOOVERWRITE);
	existed = rc == MDB_KEYEXIST;
	if (existed) {
		rc = take_trailer(&v, old);
		v.mv_size = len;
		v.mv_data = value;
		if (!rc)
			rc = mdb_put(t->txn, t->kv->dbi, &k, &v, 0);
	}
	rs_guard_pop(&g);
	return rc ? failed(t, rc) : existed;
}

int rs_kv_del(struct rs_kv_txn *t, const struct rs_key *key,
	      uint8_t old[RS_TRAILER_LEN])
{
	MDB_val k = key_val(key), v;
	struct rs_guard g;
	int rc;

	rs_guard_push(&g);
	if (sigsetjmp(g.env, 0))
		return faulted(t);
	rc = mdb_get(t->txn, t->kv->dbi, &k, &v);
	if (!rc)
		rc = take_trailer(&v, old);
	if (!rc)
		rc = mdb_del(t->txn, t->kv->dbi, &k, NULL);
	rs_guard_pop(&g);
	return failed(t, rc);
}

int rs_kv_used(struct rs_kv *kv, uint64_t *ret_bytes)
{
	struct rs_kv_txn *t;
	struct rs_guard g;
	MDB_envinfo info;
	MDB_stat st;
	int rc;

	rc = rs_kv_begin(kv, 0, &t);
	if (rc < 0)
		return rc;
	rs_guard_push(&g);
	if (sigsetjmp(g.env, 0)) {
		rs_kv_abort(t);
		return -EIO;
	}
	rc = mdb_stat(t->txn, kv->dbi, &st);
	if (!rc)
		rc = mdb_env_info(kv->env, &info);
	rs_guard_pop(&g);
	rs_kv_abort(t);
	if (rc)
		return to_errno(rc);
	*ret_bytes = st.ms_psize *
		     (uint64_t)(2 + st.ms_branch_pages + st.ms_leaf_pages +
				st.ms_overflow_pages);
	return 0;
}
