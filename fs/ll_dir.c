/*
 * ll_dir.c - listing directories.
 *
 * Cookies only grow, so a scan needs an end that is fixed when it begins:
 * otherwise one that renames as it goes meets its own names for ever. The
 * bound is taken at OPENDIR, kept in the handle, and taken anew when the
 * scan starts over (rewinddir). OPENDIR is always implemented, also for
 * ll_dirsync.c; listings are not cached by the kernel.
 */
#include "fs/ll_p.h"

#include <errno.h>

struct listing {
	fuse_req_t req;
	char *buf;
	size_t size, used;
	int plus;
};

struct rs_ll_dir *rs_ll_dir_of(const struct fuse_file_info *fi)
{
	return (struct rs_ll_dir *)(uintptr_t)fi->fh;
}

static void op_opendir(fuse_req_t req, fuse_ino_t ino,
		       struct fuse_file_info *fi)
{
	struct rs_ll_dir *dir = calloc(1, sizeof(*dir));

	(void)fi;
	if (!dir) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	atomic_init(&dir->bound, rs_core_dir_bound(rs_ll_of(req)->core, ino));
	rs_ll_open_dir(req, ino, dir);
}

static void op_releasedir(fuse_req_t req, fuse_ino_t ino,
			  struct fuse_file_info *fi)
{
	(void)ino;
	free(rs_ll_dir_of(fi));
	fuse_reply_err(req, 0);
}

static int is_dots(const struct rs_dirent *ent)
{
	return ent->name[0] == '.' &&
	       (ent->len == 1 || (ent->len == 2 && ent->name[1] == '.'));
}

static int fill(void *arg, const struct rs_dirent *ent)
{
	struct listing *list = arg;
	struct fuse_entry_param entry;
	char name[RS_NAME_MAX + 1];
	size_t left = list->size - list->used;
	size_t n;

	memcpy(name, ent->name, ent->len);
	name[ent->len] = '\0';
	rs_ll_fill_entry(&ent->st, &entry);
	if (list->plus) {
		/* no node id: the kernel takes name and number only */
		if (is_dots(ent))
			entry.ino = 0;
		n = fuse_add_direntry_plus(list->req, list->buf + list->used,
					   left, name, &entry,
					   (off_t)ent->cookie);
	} else {
		n = fuse_add_direntry(list->req, list->buf + list->used, left,
				      name, &entry.attr, (off_t)ent->cookie);
	}
	if (n > left)
		return 1;
	list->used += n;
	return 0;
}

static void list_dir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		     struct fuse_file_info *fi, int plus)
{
	struct rs_ll *ll = rs_ll_of(req);
	struct rs_ll_dir *dir = rs_ll_dir_of(fi);
	struct listing list = { .req = req, .plus = plus };
	int err;

	if (size > RS_LL_IO_MAX)
		size = RS_LL_IO_MAX;
	list.size = size;
	list.buf = malloc(size);
	if (!list.buf) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	if (off == 0)
		atomic_store(&dir->bound, rs_core_dir_bound(ll->core, ino));
	err = rs_core_readdir(ll->core, ino, (uint64_t)off,
			      atomic_load(&dir->bound), plus, fill, &list);
	/* Entries that were taken hold references: they must go out. */
	if (err < 0 && !list.used)
		rs_ll_reply_err(req, err);
	else
		fuse_reply_buf(req, list.buf, list.used);
	free(list.buf);
}

static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		       struct fuse_file_info *fi)
{
	list_dir(req, ino, size, off, fi, 0);
}

static void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size,
			   off_t off, struct fuse_file_info *fi)
{
	list_dir(req, ino, size, off, fi, 1);
}

void rs_ll_ops_dir(struct fuse_lowlevel_ops *ops)
{
	ops->opendir = op_opendir;
	ops->releasedir = op_releasedir;
	ops->readdir = op_readdir;
	ops->readdirplus = op_readdirplus;
}
