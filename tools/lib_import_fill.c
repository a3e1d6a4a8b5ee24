/*
 * lib_import_fill.c - one inode of an import: bytes, attributes, xattrs.
 *
 * Nobody parks requests here: what has to wait for a checkpoint waits.
 */
#include <errno.h>
#include <time.h>

#include "tools/lib_import_p.h"

/* Without a checkpoint that makes room for so long there will be none. */
#define STALL_SECONDS 300

void rs_import_space(void *arg)
{
	struct rs_import *im = arg;

	pthread_mutex_lock(&im->lock);
	im->spaces++;
	pthread_cond_signal(&im->change);
	pthread_mutex_unlock(&im->lock);
}

/* Until something was folded, or a moment has passed. */
static void wait_space(struct rs_import *im)
{
	unsigned int before;
	struct timespec until;

	rs_journal_kick_checkpoint(im->journal);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	pthread_mutex_lock(&im->lock);
	before = im->spaces;
	while (im->spaces == before &&
	       pthread_cond_timedwait(&im->change, &im->lock, &until) == 0)
		;
	pthread_mutex_unlock(&im->lock);
}

int rs_import_attr(struct rs_import *im, uint64_t ino,
		   const struct rs_attr *attr, unsigned int set)
{
	time_t end = time(NULL) + STALL_SECONDS;
	struct rs_stat st;
	int err;

	for (;;) {
		err = rs_core_setattr(im->core, ino, attr, set, &st);
		if (err == RS_EPARK_COLD)
			err = rs_core_load_edges(im->core, ino, attr->size,
						 UINT64_MAX);
		else if (err != RS_EPARK)
			return err;
		if (err && err != RS_EPARK)
			return err;
		if (time(NULL) > end)
			return -ENOSPC;
		if (err == RS_EPARK)
			wait_space(im);
	}
}

static int write_all(struct rs_import *im, uint64_t ino, size_t len,
		     uint64_t off)
{
	time_t end = time(NULL) + STALL_SECONDS;
	size_t at = 0;
	ssize_t n;
	int err;

	while (at < len) {
		n = rs_core_write(im->core, ino, im->buf + at, len - at,
				  off + at, 0);
		if (n > 0) {
			at += (size_t)n;
			continue;
		}
		err = n == RS_EPARK_COLD
			      ? rs_core_load(im->core, ino, off + at, len - at)
			      : (int)n;
		if (err && err != RS_EPARK)
			return err;
		if (n == 0 || time(NULL) > end)
			return -ENOSPC;
		if (err == RS_EPARK)
			wait_space(im);
	}
	return 0;
}

void rs_import_step(struct rs_import *im, uint64_t bytes)
{
	im->done_pages += bytes / RS_PAGE;
	rs_progress_step(&im->progress, im->done_pages, im->pages + 1);
}

static int copy_range(struct rs_import *im, uint64_t ino, uint64_t off,
		      uint64_t end)
{
	uint64_t left;
	ssize_t n;
	int err;

	for (; off < end; off += (uint64_t)n) {
		left = end - off;
		n = im->source.read(
			im->source.ctx, ino, im->buf,
			left < RS_IMPORT_COPY ? left : RS_IMPORT_COPY, off);
		if (n <= 0)
			return n < 0 ? (int)n : -ESTALE;
		err = write_all(im, ino, (size_t)n, off);
		if (err)
			return err;
		rs_import_step(im, (uint64_t)n);
	}
	return 0;
}

int rs_import_data(struct rs_import *im, const struct rs_stat *st)
{
	uint64_t off = 0, end, size = st->attr.size;
	int err;

	while (off < size) {
		err = im->source.data(im->source.ctx, st->ino, off, &off, &end);
		if (err == -ENXIO)
			break;
		if (!err)
			err = copy_range(im, st->ino, off,
					 end < size ? end : size);
		if (err)
			return err;
		off = end;
	}
	return rs_import_attr(im, st->ino, &st->attr, RS_SET_SIZE);
}

static int copy_xattr(struct rs_import *im, uint64_t ino, const char *name)
{
	RS_AUTO_FREE uint8_t *value = malloc(RS_XATTR_SIZE_MAX);
	ssize_t n;

	if (!value)
		return -ENOMEM;
	n = im->source.getxattr(im->source.ctx, ino, name, value,
				RS_XATTR_SIZE_MAX);
	if (n < 0)
		return (int)n;
	return rs_core_setxattr(im->core, ino, name, value, (size_t)n, 0);
}

int rs_import_xattrs(struct rs_import *im, uint64_t ino)
{
	RS_AUTO_FREE char *names = NULL;
	ssize_t len, at;
	int err = 0, left = 0;

	len = im->source.listxattr(im->source.ctx, ino, NULL, 0);
	if (len <= 0)
		return len == -EOPNOTSUPP ? 0 : (int)len;
	names = malloc((size_t)len);
	if (!names)
		return -ENOMEM;
	len = im->source.listxattr(im->source.ctx, ino, names, (size_t)len);
	for (at = 0; !err && at < len; at += (ssize_t)strlen(names + at) + 1) {
		err = im->xattr ? copy_xattr(im, ino, names + at) : -EOPNOTSUPP;
		if (err == -EOPNOTSUPP) {
			left = 1;
			err = 0;
		}
	}
	im->result->no_xattr += (uint64_t)left;
	return len < 0 ? (int)len : err;
}
