/*
 * journal_init.c - make an empty store.
 *
 * The marker is written last, so a directory is a store or it isn't one;
 * whatever was made before a failure is removed again.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "journal/journal_p.h"

static int sizes_ok(const struct rs_store_spec *spec)
{
	uint64_t least =
		getenv("RSPOOL_TEST_RING") ? RS_RING_MIN_TEST : RS_RING_MIN;

	return spec->ring_size >= least && spec->ring_size % RS_PAGE == 0 &&
	       spec->ring_size <= INT64_MAX / 2 && spec->capacity > 0 &&
	       spec->capacity <= INT64_MAX / 4 && spec->inodes > 0 &&
	       spec->inodes <= INT64_MAX / 4096 &&
	       (!spec->ring_path || (*spec->ring_path == '/' &&
				     strlen(spec->ring_path) < PATH_MAX));
}

/* A filesystem of its own brings lost+found. */
static int is_empty(int dirfd)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *entry;
	int empty = 1;
	DIR *dir;

	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	while (empty && (entry = readdir(dir)))
		empty = strcmp(entry->d_name, ".") == 0 ||
			strcmp(entry->d_name, "..") == 0 ||
			strcmp(entry->d_name, "lost+found") == 0;
	closedir(dir);
	return empty;
}

struct made {
	const struct rs_store_spec *spec;
	int dirfd;
	int dir, mode_set; /* made, or 0700 set */
	mode_t mode;	   /* as it was */
	int ring, store;
	uint8_t id[RS_ID_LEN];
	struct rs_crypto *crypto;
};

static int make_dir(struct made *m)
{
	struct stat st;
	int empty;

	if (mkdir(m->spec->dir, 0700) == 0)
		m->dir = 1;
	else if (errno != EEXIST)
		return -errno;
	m->dirfd = open(m->spec->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (m->dirfd < 0)
		return -errno;
	/* Two at once would both find it empty; the undo of the one that
	 * comes too late would take the other's marker. */
	if (flock(m->dirfd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	empty = is_empty(m->dirfd);
	if (empty <= 0)
		return empty < 0 ? empty : -ENOTEMPTY;
	if (fstat(m->dirfd, &st) < 0)
		return -errno;
	m->mode = st.st_mode & 07777;
	if (m->mode != 0700) {
		if (fchmod(m->dirfd, 0700) < 0)
			return -errno;
		m->mode_set = 1;
	}
	return 0;
}

static const char *ring_of(const struct made *m)
{
	return m->spec->ring_path ? m->spec->ring_path : RS_RING_NAME;
}

/* The directory that holds path must know it before the marker does. */
static int sync_parent(const char *path)
{
	RS_AUTO_FD int fd = -1;
	char copy[PATH_MAX];
	char *end;

	if (strlen(path) >= sizeof(copy))
		return -ENAMETOOLONG;
	memcpy(copy, path, strlen(path) + 1);
	end = strrchr(copy, '/');
	/* trailing slashes are the directory's own */
	while (end && end > copy && end[1] == '\0') {
		*end = '\0';
		end = strrchr(copy, '/');
	}
	if (end && end > copy)
		*end = '\0';
	fd = open(!end		? "."
		  : end == copy ? "/"
				: copy,
		  O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd) < 0)
		return -errno;
	return 0;
}

/* An empty log that says so, so that the first mount need not scan. */
static int seal_ring(struct made *m)
{
	const struct rs_ring_head head = { 0 };
	RS_AUTO_FREE uint8_t *page = rs_ring_buffer(RS_PAGE);
	struct rs_frame_ref ref;
	struct rs_ring *ring;
	int err;

	if (!page)
		return -ENOMEM;
	err = rs_ring_open(m->dirfd, ring_of(m), m->spec->ring_size, m->id,
			   m->crypto, m->spec->seam, 0, &ring);
	if (err < 0)
		return err;
	rs_ring_set_head(ring, &head);
	err = rs_ring_write(ring, page, 0, RS_FF_SEAL | RS_FF_CLEAN, 0, 0,
			    &ref);
	if (err == 0)
		err = rs_ring_flush(ring);
	rs_ring_close(ring);
	return err;
}

static int make_files(struct made *m, int *ret_cow)
{
	const struct rs_store_spec *spec = m->spec;
	struct timespec now;
	int err;

	err = rs_ring_create(m->dirfd, ring_of(m), spec->ring_size, spec->seam,
			     spec->progress, spec->arg, ret_cow);
	if (err < 0)
		return err;
	m->ring = 1;
	err = seal_ring(m);
	if (err < 0)
		return err;
	spec->seam->now(spec->seam->ctx, CLOCK_REALTIME, &now);
	err = rs_store_create(
		spec->dir, m->crypto, m->id, spec->uid, spec->gid, &now,
		rs_journal_reserve_for(spec->capacity, spec->inodes));
	if (err < 0)
		return err;
	m->store = 1;
	if (spec->ring_path) {
		err = sync_parent(spec->ring_path);
		if (err < 0)
			return err;
	}
	return fsync(m->dirfd) < 0 ? -errno : 0;
}

static int write_marker(struct made *m)
{
	const struct rs_store_spec *spec = m->spec;
	struct rs_marker marker = {
		.version = RS_FORMAT_VERSION,
		.ring_size = spec->ring_size,
		.capacity = spec->capacity,
		.inodes = spec->inodes,
		.key_id = rs_crypto_key_id(m->crypto),
	};
	struct timespec now;
	int err;

	memcpy(marker.id, m->id, RS_ID_LEN);
	spec->seam->now(spec->seam->ctx, CLOCK_REALTIME, &now);
	marker.created = (uint64_t)now.tv_sec;
	if (spec->ring_path)
		snprintf(marker.ring_path, sizeof(marker.ring_path), "%s",
			 spec->ring_path);
	err = rs_marker_write(m->dirfd, &marker);
	if (err == 0 && m->dir)
		err = sync_parent(spec->dir);
	return err;
}

static void undo(struct made *m)
{
	if (m->dirfd >= 0) {
		unlinkat(m->dirfd, RS_MARKER_NAME, 0);
		if (m->ring)
			unlinkat(m->dirfd, ring_of(m), 0);
		if (m->store)
			unlinkat(m->dirfd, "data.mdb", 0);
		if (m->mode_set)
			(void)!fchmod(m->dirfd, m->mode);
	}
	if (m->dir)
		rmdir(m->spec->dir);
}

int rs_journal_init_store(const struct rs_store_spec *given, int *ret_cow)
{
	struct rs_store_spec spec = *given;
	struct made m = { .spec = &spec, .dirfd = -1 };
	int err, cow = 0;

	if (!spec.seam)
		spec.seam = &rs_seam_posix;
	if (!sizes_ok(&spec))
		return -EINVAL;
	err = make_dir(&m);
	/* Not empty or somebody else's: nothing in it is ours. */
	if (err == -ENOTEMPTY || err == -EBUSY || m.dirfd < 0)
		goto out;
	if (err == 0)
		err = spec.seam->random(spec.seam->ctx, m.id, sizeof(m.id));
	if (err == 0)
		err = rs_crypto_new(m.id, spec.site_key, &m.crypto);
	if (err == 0)
		err = make_files(&m, &cow);
	if (err == 0)
		err = write_marker(&m);
	rs_crypto_free(m.crypto);
	if (err < 0)
		undo(&m);
	else
		*ret_cow = cow;
out:
	if (m.dirfd >= 0)
		close(m.dirfd);
	else if (m.dir)
		rmdir(spec.dir);
	return err;
}
