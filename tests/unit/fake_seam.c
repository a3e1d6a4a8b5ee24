/* fake_seam.c - see fake_seam.h. */
#include "tests/unit/fake_seam.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void note(struct fake_seam *fake, char kind, int fd, int64_t off,
		 size_t len)
{
	if (fake->n_events < FAKE_EVENTS)
		fake->event[fake->n_events] =
			(struct fake_event){ kind, fd, off, len };
	fake->n_events++;
}

static ssize_t fake_pread(void *ctx, int fd, void *buf, size_t len, off_t off)
{
	struct fake_seam *fake = ctx;
	int bad;

	pthread_mutex_lock(&fake->lock);
	bad = ++fake->reads == fake->fail_read ||
	      (fake->bad_byte >= off && fake->bad_byte < off + (int64_t)len);
	pthread_mutex_unlock(&fake->lock);
	if (bad)
		return fake->error ? fake->error : -EIO;
	return rs_seam_posix.pread(NULL, fd, buf, len, off);
}

static ssize_t fake_pwrite(void *ctx, int fd, const void *buf, size_t len,
			   off_t off)
{
	struct fake_seam *fake = ctx;
	int fail, cut;

	pthread_mutex_lock(&fake->lock);
	note(fake, 'w', fd, off, len);
	fail = ++fake->writes == fake->fail_write;
	cut = fake->writes == fake->short_write;
	pthread_mutex_unlock(&fake->lock);
	if (fail)
		return fake->error ? fake->error : -EIO;
	if (cut && len > fake->short_len)
		len = fake->short_len;
	if (len == 0)
		return 0;
	/* O_DIRECT takes whole sectors only: write the rest of one as well */
	if (rs_seam_posix.pwrite(NULL, fd, buf, (len + 4095) / 4096 * 4096,
				 off) < 0)
		return -EIO;
	return (ssize_t)len;
}

static int fake_flush(void *ctx, int fd)
{
	struct fake_seam *fake = ctx;
	int fail;

	pthread_mutex_lock(&fake->lock);
	note(fake, 'f', fd, 0, 0);
	fail = ++fake->flushes == fake->fail_flush;
	pthread_mutex_unlock(&fake->lock);
	if (fail)
		return fake->error ? fake->error : -EIO;
	if (fake->flushed)
		fake->flushed(fake->arg);
	return 0;
}

static void fake_now(void *ctx, clockid_t clock, struct timespec *ret_ts)
{
	struct fake_seam *fake = ctx;

	if (!fake->clock) {
		rs_seam_posix.now(NULL, clock, ret_ts);
		return;
	}
	ret_ts->tv_sec = (time_t)(fake->clock / 1000000000);
	ret_ts->tv_nsec = (long)(fake->clock % 1000000000);
}

static int fake_random(void *ctx, void *buf, size_t len)
{
	struct fake_seam *fake = ctx;

	if (++fake->randoms == fake->fail_random)
		return fake->error ? fake->error : -EIO;
	return rs_seam_posix.random(NULL, buf, len);
}

void fake_seam_init(struct fake_seam *fake)
{
	memset(fake, 0, sizeof(*fake));
	pthread_mutex_init(&fake->lock, NULL);
	fake->bad_byte = -1;
	fake->seam = (struct rs_seam){
		.ctx = fake,
		.pread = fake_pread,
		.pwrite = fake_pwrite,
		.flush = fake_flush,
		.now = fake_now,
		.random = fake_random,
	};
}

char *fake_dir_make(void)
{
	const char *tmp = getenv("TMPDIR");
	char *path;

	if (asprintf(&path, "%s/rs-unit-XXXXXX", tmp ? tmp : "/tmp") < 0 ||
	    !mkdtemp(path))
		abort();
	return path;
}

static void remove_in(int dirfd, const char *name, int deeper)
{
	int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") == 0 ||
		    strcmp(entry->d_name, "..") == 0)
			continue;
		if (unlinkat(fd, entry->d_name, 0) < 0 && deeper) {
			remove_in(fd, entry->d_name, 0);
			unlinkat(fd, entry->d_name, AT_REMOVEDIR);
		}
	}
	if (dir)
		closedir(dir);
}

void fake_dir_remove(char *path)
{
	remove_in(AT_FDCWD, path, 1);
	rmdir(path);
	free(path);
}
