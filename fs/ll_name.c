/*
 * ll_name.c - requests that look up, make, move and remove names.
 *
 * A name that isn't there is answered as an entry with node id 0, which the
 * kernel remembers; ENOENT it would not.
 */
#include "fs/ll_p.h"

#include <errno.h>
#include <stdio.h> /* RENAME_ flags */
#include <sys/stat.h>

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct rs_ll *ll = rs_ll_of(req);
	struct fuse_entry_param entry;
	struct rs_stat st;
	int err;

	if (rs_ll_test_is(ll, parent, name)) {
		rs_ll_test_stat(&st);
		rs_ll_fill_entry(&st, &entry);
		entry.entry_timeout = 0;
		fuse_reply_entry(req, &entry);
		return;
	}
	err = rs_core_lookup(ll->core, parent, name, &st);
	if (err == -ENOENT) {
		memset(&entry, 0, sizeof(entry));
		entry.entry_timeout = RS_LL_FOREVER;
		/* the secret name must be asked for again */
		if (parent == RS_INO_ROOT && ll->test.name[0] &&
		    !strcmp(name, ll->test.name))
			entry.entry_timeout = 0;
		fuse_reply_entry(req, &entry);
		return;
	}
	rs_ll_reply_entry(req, err, &st);
}

static void forget(struct rs_ll *ll, fuse_ino_t ino, uint64_t n)
{
	if (ino != RS_LL_TEST_INO)
		rs_core_forget(ll->core, ino, n);
	rs_ll_park_forgot(ll);
}

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t nlookup)
{
	forget(rs_ll_of(req), ino, nlookup);
	fuse_reply_none(req);
}

static void op_forget_multi(fuse_req_t req, size_t count,
			    struct fuse_forget_data *forgets)
{
	struct rs_ll *ll = rs_ll_of(req);
	size_t i;

	for (i = 0; i < count; i++)
		forget(ll, forgets[i].ino, forgets[i].nlookup);
	fuse_reply_none(req);
}

/*
 * An entry of dir was changed: the number that the reply has to wait for
 * under the policy of dir.
 */
static uint64_t changed(fuse_req_t req, fuse_ino_t dir, enum rs_change change)
{
	rs_ll_changed(req, dir);
	return rs_core_change_number(rs_ll_of(req)->core, dir, change);
}

static void reply_new(fuse_req_t req, int err, fuse_ino_t parent,
		      enum rs_change change, const struct rs_stat *st)
{
	struct rs_ll_reply reply = { .kind = RS_LL_ENTRY };

	if (err) {
		rs_ll_reply_err(req, err);
		return;
	}
	reply.st = *st;
	rs_ll_reply_when(req, changed(req, parent, change), &reply);
}

static void reply_done(fuse_req_t req, int err, fuse_ino_t parent)
{
	const struct rs_ll_reply reply = { .kind = RS_LL_DONE };

	if (err)
		rs_ll_reply_err(req, err);
	else
		rs_ll_reply_when(req, changed(req, parent, RS_CHANGE_ENTRY),
				 &reply);
}

static void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name,
		     mode_t mode, dev_t rdev)
{
	struct rs_stat st;
	struct rs_who who;
	int err;

	rs_ll_who(req, &who);
	err = rs_core_mknod(rs_ll_of(req)->core, parent, name, &who, mode, rdev,
			    &st);
	reply_new(req, err, parent, RS_CHANGE_ENTRY, &st);
}

static void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name,
		     mode_t mode)
{
	op_mknod(req, parent, name, S_IFDIR | (mode & 07777), 0);
}

static void op_create(fuse_req_t req, fuse_ino_t parent, const char *name,
		      mode_t mode, struct fuse_file_info *fi)
{
	struct rs_ll_reply reply = { .kind = RS_LL_CREATED };
	struct rs_ll *ll = rs_ll_of(req);
	struct rs_who who;
	int err;

	rs_ll_who(req, &who);
	err = rs_core_mknod(ll->core, parent, name, &who,
			    S_IFREG | (mode & 07777), 0, &reply.st);
	if (err) {
		rs_ll_reply_err(req, err);
		return;
	}
	fi->keep_cache = 1;
	reply.fi = *fi;
	rs_ll_reply_when(req, changed(req, parent, RS_CHANGE_ENTRY), &reply);
}

#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 17)
static void op_tmpfile(fuse_req_t req, fuse_ino_t parent, mode_t mode,
		       struct fuse_file_info *fi)
{
	struct rs_ll *ll = rs_ll_of(req);
	struct rs_stat st;
	struct rs_who who;
	int err;

	rs_ll_who(req, &who);
	err = rs_core_tmpfile(ll->core, parent, &who, S_IFREG | (mode & 07777),
			      &st);
	fi->keep_cache = 1;
	rs_ll_reply_create(req, err, &st, fi);
}
#endif

static void op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent,
		       const char *name)
{
	struct rs_stat st;
	struct rs_who who;
	int err;

	rs_ll_who(req, &who);
	err = rs_core_symlink(rs_ll_of(req)->core, parent, name, &who, target,
			      &st);
	reply_new(req, err, parent, RS_CHANGE_ENTRY, &st);
}

void rs_ll_link(fuse_req_t req, uint64_t ino, uint64_t parent, const char *name)
{
	struct rs_stat st;
	struct rs_who who;
	int err;

	rs_ll_who(req, &who);
	err = rs_core_link(rs_ll_of(req)->core, ino, parent, name, &who, &st);
	reply_new(req, err, parent, RS_CHANGE_INTO, &st);
}

static void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent,
		    const char *name)
{
	if (!rs_ll_close_link(req, ino, parent, name))
		rs_ll_link(req, ino, parent, name);
}

static void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct rs_who who;

	rs_ll_who(req, &who);
	reply_done(req, rs_core_unlink(rs_ll_of(req)->core, parent, name, &who),
		   parent);
}

static void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct rs_who who;

	rs_ll_who(req, &who);
	reply_done(req, rs_core_rmdir(rs_ll_of(req)->core, parent, name, &who),
		   parent);
}

void rs_ll_rename(fuse_req_t req, uint64_t parent, const char *name,
		  uint64_t newparent, const char *newname, unsigned int flags)
{
	const struct rs_ll_reply reply = { .kind = RS_LL_DONE };
	uint64_t from, into;
	struct rs_who who;
	int err;

	rs_ll_who(req, &who);
	err = rs_core_rename(rs_ll_of(req)->core, parent, name, newparent,
			     newname, flags, &who);
	if (err) {
		rs_ll_reply_err(req, err);
		return;
	}
	/* an exchange goes into both */
	from = changed(req, parent,
		       flags & RENAME_EXCHANGE ? RS_CHANGE_INTO
					       : RS_CHANGE_ENTRY);
	into = changed(req, newparent, RS_CHANGE_INTO);
	rs_ll_reply_when(req, from > into ? from : into, &reply);
}

static void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name,
		      fuse_ino_t newparent, const char *newname,
		      unsigned int flags)
{
	if (!rs_ll_close_rename(req, parent, name, newparent, newname, flags))
		rs_ll_rename(req, parent, name, newparent, newname, flags);
}

static void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
	char buf[RS_SYMLINK_MAX + 1];
	int err;

	err = rs_core_readlink(rs_ll_of(req)->core, ino, buf);
	if (err < 0)
		rs_ll_reply_err(req, err);
	else
		fuse_reply_readlink(req, buf);
}

void rs_ll_ops_name(struct fuse_lowlevel_ops *ops)
{
	ops->lookup = op_lookup;
	ops->forget = op_forget;
	ops->forget_multi = op_forget_multi;
	ops->mknod = op_mknod;
	ops->mkdir = op_mkdir;
	ops->create = op_create;
#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 17)
	ops->tmpfile = op_tmpfile;
#endif
	ops->symlink = op_symlink;
	ops->link = op_link;
	ops->unlink = op_unlink;
	ops->rmdir = op_rmdir;
	ops->rename = op_rename;
	ops->readlink = op_readlink;
}
