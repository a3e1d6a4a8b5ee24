/*
 * lib_import_walk.c - name by name from the source into the tree.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "journal/report.h"
#include "tools/lib_import_p.h"
#include "tools/lib_plain.h"
#include "tools/lib_say.h"

int rs_import_stop(struct rs_import *im, const char *path, const char *why)
{
	char text[512];

	rs_escape(*path ? path : "/", *path ? strlen(path) : 1, text,
		  sizeof(text));
	rs_say("cannot import '%s' of '%s': %s", text, im->src, why);
	im->failed = 1;
	return -ECANCELED;
}

static int broken(struct rs_import *im, const char *path, int err)
{
	return err == -ECANCELED ? err
				 : rs_import_stop(im, path, strerror(-err));
}

int rs_import_error(void *arg, const char *path, int err)
{
	return rs_import_stop(
		arg, path,
		err == -EXDEV ? "it is on another filesystem, import that apart"
			      : strerror(-err));
}

static int same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static int is_whole(const struct rs_stat *have, const struct rs_stat *want)
{
	const struct rs_attr *a = &have->attr, *b = &want->attr;

	return a->mode == b->mode && a->uid == b->uid && a->gid == b->gid &&
	       a->size == b->size && same_time(&a->mtime, &b->mtime);
}

/* What reading has told nobody else may have changed meanwhile (I4). */
static int still_same(struct rs_import *im, const struct rs_plain_item *item)
{
	struct stat st;

	if (fstatat(item->dirfd, item->name, &st, AT_SYMLINK_NOFOLLOW))
		return -errno;
	if (st.st_ino == item->st->st_ino && st.st_size == item->st->st_size &&
	    same_time(&st.st_ctim, &item->st->st_ctim))
		return 0;
	return rs_import_stop(im, item->path,
			      "it changes, stop the mail server first");
}

static int fill(struct rs_import *im, const struct rs_plain_item *item,
		const struct rs_stat *st)
{
	const struct rs_attr empty = { 0 };
	int err = 0;

	if (S_ISREG(st->attr.mode)) {
		/* what an earlier run may have begun */
		err = rs_import_attr(im, st->ino, &empty, RS_SET_SIZE);
		if (!err)
			err = rs_import_data(im, st);
	}
	if (!err)
		err = rs_import_xattrs(im, st->ino);
	if (!err)
		err = still_same(im, item);
	return err ? err
		   : rs_import_attr(im, st->ino, &st->attr, RS_IMPORT_SET);
}

/* Nothing of an earlier run stands here. */
static int make(struct rs_import *im, uint64_t parent, const char *name,
		const struct rs_stat *st)
{
	RS_AUTO_FREE char *target = NULL;
	struct rs_stat as = *st, made;
	int err = 0;

	if (S_ISLNK(st->attr.mode)) {
		target = malloc(RS_SYMLINK_MAX + 1);
		err = target ? im->source.target(im->source.ctx, st->ino,
						 target)
			     : -ENOMEM;
	} else {
		/* nobody looks, but only the last call says it is whole */
		as.attr.mode = (st->attr.mode & S_IFMT) | 0600;
	}
	if (!err)
		err = rs_core_adopt(im->core, parent, name, &as, target, &made);
	if (!err)
		rs_core_forget(im->core, made.ino, 1);
	return err;
}

static int add_link(struct rs_import *im, uint64_t parent, const char *name,
		    const struct rs_stat *st)
{
	const struct rs_who who = { 0 };
	struct rs_stat now;
	int err;

	err = rs_core_link(im->core, st->ino, parent, name, &who, &now);
	if (err)
		return err;
	rs_core_forget(im->core, st->ino, 1);
	return rs_import_attr(im, st->ino, &st->attr, RS_SET_CTIME);
}

static int changed(struct rs_import *im, const char *path)
{
	return rs_import_stop(
		im, path,
		"it has changed since the import was begun, make the"
		" store anew");
}

static int parent_of(struct rs_import *im, int dirfd, uint64_t *ret_parent)
{
	struct stat st;

	if (fstat(dirfd, &st))
		return -errno;
	*ret_parent = st.st_ino == im->root_ino ? RS_INO_ROOT : st.st_ino;
	return 0;
}

static int take_name(struct rs_import *im, const struct rs_plain_item *item,
		     const struct rs_stat *st)
{
	struct rs_stat have;
	uint64_t parent = RS_INO_ROOT;
	int err;

	err = parent_of(im, item->dirfd, &parent);
	if (err)
		return err;
	err = rs_core_lookup(im->core, parent, item->name, &have);
	if (!err) {
		rs_core_forget(im->core, have.ino, 1);
		if (have.ino != st->ino ||
		    (have.attr.mode ^ st->attr.mode) & S_IFMT)
			return changed(im, item->path);
		if (!item->first || is_whole(&have, st)) {
			im->result->kept++;
			rs_import_step(im, (uint64_t)item->st->st_blocks * 512);
			return 0;
		}
		return fill(im, item, st);
	}
	if (err != -ENOENT)
		return err;
	if (!item->first)
		return add_link(im, parent, item->name, st);
	err = make(im, parent, item->name, st);
	if (err == -EEXIST)
		return changed(im, item->path);
	if (err || S_ISDIR(st->attr.mode))
		return err;
	return fill(im, item, st);
}

static int take(void *arg, const struct rs_plain_item *item)
{
	struct rs_import *im = arg;
	struct rs_stat st;
	char text[512];
	int err;

	if (!*item->path)
		return 0;
	if (S_ISSOCK(item->st->st_mode)) {
		rs_escape(item->path, strlen(item->path), text, sizeof(text));
		rs_say("socket '%s' is left out", text);
		im->result->sockets++;
		return 0;
	}
	rs_source_stat(item->st, &st);
	rs_source_plain_at(&im->plain, item);
	err = take_name(im, item, &st);
	rs_source_plain_at(&im->plain, NULL);
	if (err)
		return broken(im, item->path, err);
	if (!S_ISDIR(st.attr.mode)) {
		im->result->files++;
		im->result->bytes += (uint64_t)item->st->st_blocks * 512;
	}
	return 0;
}

/* ---- a directory's end ---- */

struct extra {
	int fd;
	int found;
};

/* A name that the source doesn't have (any more)? */
static int look_extra(void *arg, const struct rs_dirent *ent)
{
	char name[RS_NAME_MAX + 1];
	struct extra *extra = arg;
	struct stat st;

	if (ent->cookie <= 2)
		return 0;
	memcpy(name, ent->name, ent->len);
	name[ent->len] = '\0';
	if (fstatat(extra->fd, name, &st, AT_SYMLINK_NOFOLLOW) ||
	    st.st_ino != ent->st.ino)
		extra->found = 1;
	return extra->found;
}

static int end_dir(struct rs_import *im, const struct rs_plain_item *item,
		   int fd)
{
	const uint64_t ino = *item->path ? item->st->st_ino : RS_INO_ROOT;
	struct extra extra = { .fd = fd };
	struct rs_stat st, have;
	struct stat now;
	int err;

	err = rs_core_readdir(im->core, ino, 0,
			      rs_core_dir_bound(im->core, ino), 0, look_extra,
			      &extra);
	if (err)
		return err;
	if (extra.found)
		return changed(im, item->path);
	if (fstat(fd, &now))
		return -errno;
	if (!same_time(&now.st_mtim, &item->st->st_mtim))
		return rs_import_stop(im, item->path,
				      "it changes, stop the mail server first");
	rs_source_stat(item->st, &st);
	rs_source_plain_at(&im->plain, item);
	err = rs_import_xattrs(im, ino);
	rs_source_plain_at(&im->plain, NULL);
	if (!err)
		err = rs_core_getattr(im->core, ino, &have);
	if (err || is_whole(&have, &st))
		return err;
	return rs_import_attr(im, ino, &st.attr, RS_IMPORT_SET);
}

static int leave(void *arg, const struct rs_plain_item *item, int fd,
		 uint64_t n_names)
{
	struct rs_import *im = arg;
	int err = end_dir(im, item, fd);

	(void)n_names;
	return err ? broken(im, item->path, err) : 0;
}

int rs_import_walk(struct rs_import *im)
{
	static const struct rs_plain_ops ops = { .item = take,
						 .leave = leave,
						 .error = rs_import_error };
	int err;

	err = rs_core_raise(im->core, im->max_ino + 1); /* I1 */
	if (!err)
		err = rs_plain_walk(im->root, &ops, im);
	return err;
}
