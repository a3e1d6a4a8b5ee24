/*
 * store.c - data.mdb made, opened and closed; what the root says of it.
 *
 * CRASH	A store that is being made has no marker yet: whatever is left
 *		of it is not a store. Afterwards LMDB's commits order everything.
 */
#include "journal/nocow.h"
#include "journal/store_p.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

/* Everything but the environment's content. */
static int store_new(const char *dir, const struct rs_crypto *crypto,
		     const uint8_t id[RS_ID_LEN], enum rs_store_mode mode,
		     struct rs_store **ret_store)
{
	struct rs_store *store = calloc(1, sizeof(*store));
	int err;

	if (!store)
		return -ENOMEM;
	pthread_mutex_init(&store->lock, NULL);
	store->crypto = crypto;
	store->mode = mode;
	store->seam = &rs_seam_posix;
	memcpy(store->id, id, RS_ID_LEN);
	store->dir = strdup(dir);
	err = store->dir ? 0 : -ENOMEM;
	if (err == 0)
		err = rs_opener_new(crypto, id, &store->opener);
	if (err == 0)
		err = rs_kv_open(dir,
				 mode == RS_STORE_RDONLY ? RS_KV_RDONLY : 0,
				 &store->kv);
	if (err < 0) {
		rs_store_close(store);
		return err;
	}
	*ret_store = store;
	return 0;
}

void rs_store_close(struct rs_store *store)
{
	if (!store)
		return;
	rs_kv_close(store->kv);
	rs_opener_free(store->opener);
	pthread_mutex_destroy(&store->lock);
	free(store->dir);
	free(store);
}

/* What data.mdb has in blocks of its own, so far as its size shows it. */
static int file_size(const char *dir, uint64_t *ret_size)
{
	char path[PATH_MAX];
	struct stat st;
	int err;

	err = rs_store_path(dir, "data.mdb", path);
	if (err < 0)
		return err;
	if (stat(path, &st) < 0)
		return -errno;
	*ret_size = (uint64_t)st.st_size;
	return 0;
}

/* The first transaction: the root directory and the root record. */
static int put_first(struct rs_store *store, uint32_t uid, uint32_t gid,
		     const struct timespec *now)
{
	struct rs_vinode v;
	struct rs_stx *tx;
	int err;

	memset(&v, 0, sizeof(v));
	v.attr.mode = S_IFDIR | 0755;
	v.attr.uid = uid;
	v.attr.gid = gid;
	v.attr.nlink = 2;
	v.attr.atime = v.attr.mtime = v.attr.ctime = v.attr.btime = *now;
	err = rs_stx_begin(store, &tx);
	if (err < 0)
		return err;
	tx->root.ceiling = RS_INO_FIRST;
	err = rs_stx_put_inode(tx, RS_INO_ROOT, &v);
	if (err < 0) {
		rs_stx_abort(tx);
		return err;
	}
	return rs_stx_commit(tx);
}

/* Blocks for all that the store is made for, so that a checkpoint never
 * meets a full disk. The size is theirs too: reading past what LMDB wrote
 * gives zeros, not SIGBUS. */
static int reserve_space(const char *path, uint64_t reserve)
{
	RS_AUTO_FD int fd = open(path, O_RDWR | O_CLOEXEC);
	int err;

	if (fd < 0)
		return -errno;
	if (reserve == 0)
		return 0;
	err = posix_fallocate(fd, 0, (off_t)reserve);
	if (err)
		return -err;
	return fsync(fd) < 0 ? -errno : 0;
}

/* LMDB takes an empty file as a new environment, and only then. */
static int make_empty(const char *path)
{
	RS_AUTO_FD int fd =
		open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	/* Space that is reserved counts only if it is used in place. A
	 * filesystem that refuses has said so for the ring. */
	(void)!rs_nocow_set(fd);
	return 0;
}

int rs_store_create(const char *dir, const struct rs_crypto *crypto,
		    const uint8_t id[RS_ID_LEN], uint32_t uid, uint32_t gid,
		    const struct timespec *now, uint64_t reserve)
{
	char data[PATH_MAX];
	struct rs_store *store = NULL;
	int err;

	err = rs_store_path(dir, "data.mdb", data);
	if (err < 0)
		return err;
	err = make_empty(data);
	if (err < 0)
		return err;
	err = store_new(dir, crypto, id, RS_STORE_WRITE, &store);
	if (err == 0)
		err = put_first(store, uid, gid, now);
	rs_store_close(store);
	if (err == 0)
		err = reserve_space(data, reserve);
	if (err < 0)
		unlink(data);
	return err;
}

int rs_store_open(const char *dir, const struct rs_crypto *crypto,
		  const uint8_t id[RS_ID_LEN], enum rs_store_mode mode,
		  struct rs_store **ret_store)
{
	struct rs_store *store;
	struct rs_kv_txn *txn;
	uint64_t size = 0;
	int err;

	err = file_size(dir, &size);
	if (err < 0)
		return err;
	if (size == 0)
		return -EUCLEAN;
	err = store_new(dir, crypto, id, mode, &store);
	if (err < 0)
		return err;
	store->reserved = size;
	err = rs_kv_begin(store->kv, 0, &txn);
	if (err == 0) {
		err = rs_walk_root(store->opener, txn, &store->root);
		rs_kv_abort(txn);
	}
	if (err < 0) {
		rs_store_close(store);
		return err;
	}
	*ret_store = store;
	return 0;
}

void rs_store_root(struct rs_store *store, struct rs_root *ret_root)
{
	pthread_mutex_lock(&store->lock);
	*ret_root = store->root;
	pthread_mutex_unlock(&store->lock);
}

void rs_store_space(struct rs_store *store, uint64_t *ret_used,
		    uint64_t *ret_reserved)
{
	uint64_t used;

	if (rs_kv_used(store->kv, &used) < 0)
		used = 0;
	*ret_used = used;
	pthread_mutex_lock(&store->lock);
	*ret_reserved = store->reserved;
	pthread_mutex_unlock(&store->lock);
}

/*
 * LMDB writes pages by their number and never asks how long the file is. Not
 * posix_fallocate(3): where the filesystem can't, that reads and writes back
 * bytes, under the hands of a checkpoint.
 */
int rs_store_reserve(struct rs_store *store, uint64_t bytes)
{
	char data[PATH_MAX];
	RS_AUTO_FD int fd = -1;
	int err;

	err = rs_store_path(store->dir, "data.mdb", data);
	if (err)
		return err;
	fd = open(data, O_RDWR | O_CLOEXEC);
	if (fd < 0 || fallocate(fd, 0, 0, (off_t)bytes) < 0 || fsync(fd) < 0)
		return -errno;
	pthread_mutex_lock(&store->lock);
	if (store->reserved < bytes)
		store->reserved = bytes;
	pthread_mutex_unlock(&store->lock);
	return 0;
}

void rs_store_note_bad(struct rs_store *store, uint64_t ino, const char *why)
{
	struct rs_finding *f = &store->last_bad;

	pthread_mutex_lock(&store->lock);
	/* a reader that tries again meets the same */
	if (!store->n_bad || f->ino != ino)
		store->n_bad++;
	f->kind = RS_FIND_VALUE;
	f->ino = ino;
	f->number = 0;
	f->place = UINT64_MAX;
	f->name[0] = '\0';
	strncpy(f->why, why, sizeof(f->why) - 1);
	pthread_mutex_unlock(&store->lock);
}

uint64_t rs_store_bad(struct rs_store *store, struct rs_finding *ret_last)
{
	uint64_t n;

	pthread_mutex_lock(&store->lock);
	n = store->n_bad;
	if (n && ret_last)
		*ret_last = store->last_bad;
	pthread_mutex_unlock(&store->lock);
	return n;
}

int rs_store_add_damage(struct rs_store *store, uint64_t n)
{
	struct rs_stx *tx;
	int err;

	err = rs_stx_begin(store, &tx);
	if (err < 0)
		return err;
	tx->root.damage += n;
	return rs_stx_commit(tx);
}

int rs_store_accept(struct rs_store *store)
{
	struct rs_stx *tx;
	int err;

	err = rs_stx_begin(store, &tx);
	if (err < 0)
		return err;
	tx->root.damage = 0;
	return rs_stx_commit(tx);
}
