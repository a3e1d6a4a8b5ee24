/*
 * ll_reply.c - from the core's types and errors to libfuse's.
 *
 * A reply that the kernel doesn't take (-ENOENT: the request was aborted)
 * gives back the reference that the core took for it.
 */
#include "fs/ll_p.h"

#include <errno.h>

struct rs_ll *rs_ll_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

void rs_ll_who(fuse_req_t req, struct rs_who *ret_who)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);

	ret_who->uid = ctx->uid;
	ret_who->gid = ctx->gid;
	ret_who->pid = ctx->pid;
}

void rs_ll_stat(const struct rs_stat *st, struct stat *ret_buf)
{
	const struct rs_attr *attr = &st->attr;

	memset(ret_buf, 0, sizeof(*ret_buf));
	ret_buf->st_ino = st->ino;
	ret_buf->st_mode = attr->mode;
	ret_buf->st_nlink = attr->nlink;
	ret_buf->st_uid = attr->uid;
	ret_buf->st_gid = attr->gid;
	ret_buf->st_rdev = attr->rdev;
	ret_buf->st_size = (off_t)attr->size;
	ret_buf->st_blksize = RS_PAGE;
	ret_buf->st_blocks = (blkcnt_t)(attr->blocks * (RS_PAGE / 512));
	ret_buf->st_atim = attr->atime;
	ret_buf->st_mtim = attr->mtime;
	ret_buf->st_ctim = attr->ctime;
}

int rs_ll_errno(int err)
{
	if (err >= 0)
		return 0;
	/* Parks only where the header says so; elsewhere there is no room. */
	if (err == RS_EPARK || err == RS_EPARK_COLD)
		return ENOSPC;
	return -err;
}

void rs_ll_reply_err(fuse_req_t req, int err)
{
	fuse_reply_err(req, rs_ll_errno(err));
}

void rs_ll_reply_attr(fuse_req_t req, const struct rs_stat *st)
{
	struct stat buf;

	rs_ll_stat(st, &buf);
	fuse_reply_attr(req, &buf, RS_LL_FOREVER);
}

void rs_ll_fill_entry(const struct rs_stat *st,
		      struct fuse_entry_param *ret_entry)
{
	memset(ret_entry, 0, sizeof(*ret_entry));
	ret_entry->ino = st->ino;
	ret_entry->generation = 1;
	rs_ll_stat(st, &ret_entry->attr);
	ret_entry->attr_timeout = RS_LL_FOREVER;
	ret_entry->entry_timeout = RS_LL_FOREVER;
}

void rs_ll_reply_entry(fuse_req_t req, int err, const struct rs_stat *st)
{
	struct rs_ll *ll = rs_ll_of(req);
	struct fuse_entry_param entry;

	if (err) {
		rs_ll_reply_err(req, err);
		return;
	}
	rs_ll_fill_entry(st, &entry);
	if (fuse_reply_entry(req, &entry) == -ENOENT)
		rs_core_forget(ll->core, st->ino, 1);
}

void rs_ll_reply_create(fuse_req_t req, int err, const struct rs_stat *st,
			const struct fuse_file_info *fi)
{
	struct rs_ll *ll = rs_ll_of(req);
	struct fuse_entry_param entry;

	if (err) {
		rs_ll_reply_err(req, err);
		return;
	}
	rs_ll_fill_entry(st, &entry);
	if (fuse_reply_create(req, &entry, fi) == -ENOENT)
		rs_core_forget(ll->core, st->ino, 1);
}

uint64_t rs_ll_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

void rs_ll_tell(struct rs_ll *ll, enum rs_ll_event what, const char *text)
{
	if (ll->cfg.event)
		ll->cfg.event(ll->cfg.arg, what, text);
}
