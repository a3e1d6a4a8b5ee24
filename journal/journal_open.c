/*
 * journal_open.c - open a store: lock, flush, check, find the log's end.
 *
 * MODEL
 *	flock rspool.id -> marker -> keys -> ring (past the cache)
 *	-> flush ring and store once -> check the store -> find the chain
 *	-> store -> [gap: quarantine, fold with strict predecessors]
 *
 * INVARIANTS
 * I1	Nothing that was read counts as durable before ring and store were
 *	flushed: a daemon killed between write and flush leaves a frame that
 *	only a cache has. A flush that fails ends the opening.
 * I2	data.mdb is flushed through a descriptor that is closed before LMDB
 *	opens it: closing any later would drop LMDB's fcntl locks.
 * I3	RDONLY writes and flushes nothing.
 */
#include <errno.h>
#include <fcntl.h>

#include "journal/journal_p.h"

#define CHECKPOINT_INTERVAL 30000u /* ms */
#define KEPT_MOST (UINT64_C(256) << 20)
#define FOLD_AT_ONCE (UINT64_C(16) << 20)

static int init_locks(struct rs_journal *j)
{
	pthread_condattr_t attr;

	if (pthread_condattr_init(&attr) != 0)
		return -ENOMEM;
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&j->lock, NULL);
	pthread_cond_init(&j->work, &attr);
	pthread_cond_init(&j->fold, &attr);
	pthread_cond_init(&j->room, &attr);
	pthread_condattr_destroy(&attr);
	return 0;
}

static struct rs_journal *make(const struct rs_journal_cfg *cfg)
{
	struct rs_journal *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	j->cfg = *cfg;
	j->dirfd = -1;
	j->lockfd = -1;
	j->group.seg[0].fd = -1;
	j->group.seg[1].fd = -1;
	j->seam = cfg->seam ? cfg->seam : &rs_seam_posix;
	j->flush_interval = cfg->flush_interval;
	j->fold_bytes = FOLD_AT_ONCE;
	if (!j->cfg.checkpoint_interval)
		j->cfg.checkpoint_interval = CHECKPOINT_INTERVAL;
	rs_waiters_init(&j->wait_open);
	rs_waiters_init(&j->wait_flight);
	j->dir = strdup(cfg->dir);
	j->page = rs_ring_buffer(RS_PAGE);
	if (!j->dir || !j->page || init_locks(j) < 0) {
		free(j->dir);
		free(j->page);
		free(j);
		return NULL;
	}
	memset(j->page, 0, RS_PAGE);
	j->cfg.dir = j->dir;
	/* The caller's strings and key need not outlive the call. */
	j->cfg.ring_path = NULL;
	j->cfg.site_key = NULL;
	return j;
}

void rs_journal_close(struct rs_journal *j)
{
	if (!j)
		return;
	rs_journal_abandon(j);
	rs_store_close(j->store);
	rs_frames_release(&j->frames);
	rs_ring_close(j->ring);
	if (j->has_group)
		rs_group_release(&j->group);
	rs_crypto_free(j->crypto);
	pthread_cond_destroy(&j->work);
	pthread_cond_destroy(&j->fold);
	pthread_cond_destroy(&j->room);
	pthread_mutex_destroy(&j->lock);
	/* Last: until here nobody else may have the store. */
	if (j->lockfd >= 0)
		close(j->lockfd);
	if (j->dirfd >= 0)
		close(j->dirfd);
	free(j->page);
	free(j->dir);
	free(j);
}

static int open_marker(struct rs_journal *j, const struct rs_journal_cfg *cfg,
		       pid_t *ret_owner)
{
	int err;

	j->dirfd = open(j->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (j->dirfd < 0)
		return -errno;
	err = rs_journal_lock_store(j->dirfd, cfg->mode == RS_JOURNAL_RDONLY,
				    ret_owner, &j->lockfd);
	if (err == 0)
		err = rs_marker_read(j->dirfd, &j->marker);
	if (err == 0)
		err = rs_crypto_new(j->marker.id, cfg->site_key, &j->crypto);
	if (err == 0 && rs_crypto_key_id(j->crypto) != j->marker.key_id)
		err = -ENOKEY;
	return err;
}

static int open_ring(struct rs_journal *j, const struct rs_journal_cfg *cfg,
		     struct rs_report *rep)
{
	const char *path = cfg->ring_path;
	int err;

	if (!path)
		path = *j->marker.ring_path ? j->marker.ring_path
					    : RS_RING_NAME;
	j->ring_size = j->marker.ring_size;
	j->ring_reserve = j->ring_size / 8;
	j->kept_limit = j->ring_size < KEPT_MOST ? j->ring_size : KEPT_MOST;
	err = rs_ring_open(j->dirfd, path, j->ring_size, j->marker.id,
			   j->crypto, j->seam, cfg->mode == RS_JOURNAL_RDONLY,
			   &j->ring);
	if (err == -ENOENT)
		rs_report_add(rep, RS_FIND_RING, 0, 0, UINT64_MAX, NULL, 0,
			      "'%s' is missing", path);
	else if (err == -EUCLEAN)
		rs_report_add(rep, RS_FIND_RING, 0, 0, UINT64_MAX, NULL, 0,
			      "'%s' is not a file of %llu bytes, as the store "
			      "was made with",
			      path, (unsigned long long)j->ring_size);
	return err == -ENOENT ? -EUCLEAN : err;
}

/* What a dead process wrote and did not flush is durable or we stop (I1). */
static int flush_both(struct rs_journal *j)
{
	RS_AUTO_FD int fd = -1;
	int err = rs_ring_flush(j->ring);

	if (err < 0)
		return err;
	fd = openat(j->dirfd, "data.mdb", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	/* A missing store is found, and named, by its check. */
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	err = j->seam->flush(j->seam->ctx, fd);
	/* A page that an earlier flush failed on must come from the disk. */
	if (err == 0)
		(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	return err;
}

static int take_chain(struct rs_journal *j, const struct rs_chain *chain)
{
	size_t i;
	int err;

	err = rs_frames_init(&j->frames, j->ring_size);
	if (err < 0)
		return err;
	if (chain->n > j->frames.cap)
		return -EUCLEAN;
	for (i = 0; i < chain->n; i++)
		rs_frames_push(&j->frames, &chain->refs[i]);
	rs_ring_set_head(j->ring, &chain->head);
	j->head = chain->head.place;
	j->highest = chain->head.number;
	j->durable = chain->head.number;
	j->group.number = chain->head.number + 1;
	j->clean = chain->clean;
	rs_journal_now(j, &j->oldest_since);
	return 0;
}

static void take_root(struct rs_journal *j)
{
	struct rs_root root;

	rs_store_root(j->store, &root);
	rs_store_space(j->store, &j->store_used, &j->store_reserved);
	j->applied = root.applied;
	j->damage = root.damage;
	j->reap_left = root.n_reaps > 0;
	if (root.ceiling > j->ceiling)
		j->ceiling = root.ceiling;
	j->ceiling_known = j->frames.n == 0;
}

/* Frames around a gap: into the store now, strictly compared behind it. */
static int fold_gap(struct rs_journal *j, size_t first_gap,
		    struct rs_report *rep)
{
	size_t done, left = first_gap;
	int err = 0;

	while (err == 0 && left > 0) {
		err = rs_journal_fold_some(j, left, 0, rep, &done);
		left -= done;
	}
	while (err == 0 && j->frames.n > 0)
		err = rs_journal_fold_some(j, SIZE_MAX, 1, rep, &done);
	return err;
}

static int open_store(struct rs_journal *j, struct rs_report *rep)
{
	const int rdonly = j->cfg.mode == RS_JOURNAL_RDONLY;
	struct rs_chain chain;
	struct rs_root root;
	uint64_t damaged;
	int err;

	err = rs_store_check(j->dir, j->crypto, j->marker.id,
			     j->cfg.inline_walk, rep, &root);
	if (err < 0)
		return err;
	damaged = rep->quarantined;
	err = rs_chain_find(j->ring, &root, rep, &chain);
	if (err < 0)
		return err;
	damaged = rep->quarantined - damaged;
	err = take_chain(j, &chain);
	if (err == 0 && damaged && !rdonly)
		err = rs_quarantine_frames(j->dirfd, j->ring, rep);
	if (err == 0)
		err = rs_store_open(j->dir, j->crypto, j->marker.id,
				    rdonly ? RS_STORE_RDONLY : RS_STORE_WRITE,
				    &j->store);
	/* Before the frames go: with them the evidence goes (R8). */
	if (err == 0 && damaged && !rdonly)
		err = rs_store_add_damage(j->store, damaged);
	if (err == 0 && damaged && !rdonly)
		err = fold_gap(j, chain.first_gap, rep);
	rs_chain_release(&chain);
	if (err == 0)
		take_root(j);
	return err;
}

int rs_journal_open(const struct rs_journal_cfg *cfg, struct rs_report *rep,
		    pid_t *ret_owner, struct rs_journal **ret_journal)
{
	struct rs_journal *j = make(cfg);
	int err;

	if (!j)
		return -ENOMEM;
	err = open_marker(j, cfg, ret_owner);
	if (err == 0)
		err = open_ring(j, cfg, rep);
	if (err == 0 && cfg->mode != RS_JOURNAL_RDONLY)
		err = flush_both(j);
	if (err == 0)
		err = open_store(j, rep);
	if (err == 0 && cfg->mode == RS_JOURNAL_SERVE) {
		err = rs_group_init(&j->group, j->marker.id,
				    (size_t)rs_ring_body_max(j->ring));
		j->group.number = j->highest + 1;
		j->has_group = err == 0;
	}
	if (err < 0) {
		rs_journal_close(j);
		return err;
	}
	*ret_journal = j;
	return 0;
}
