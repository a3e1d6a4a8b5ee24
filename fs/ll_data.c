/*
 * ll_data.c - requests about a file's bytes. All of them may have to wait
 * for room or for cold data, so each is decoded into a call which can be
 * tried again: by the worker first, then by ll_park.c.
 *
 * OPEN is answered with ENOSYS once: the kernel then opens without asking
 * and gives no file handles, and state hangs on the node id alone.
 *
 * A WRITE's offset is the kernel's word even for O_APPEND: it holds the
 * inode's lock and knows the size, since every change comes through it.
 * (Appending by ourselves would be wrong under RWF_NOAPPEND.)
 */
#include "fs/ll_p.h"

#include <errno.h>

/* One buffer for READ in each thread that answers some. */
static __thread uint8_t *read_buf;
static pthread_key_t read_key;
static pthread_once_t read_once = PTHREAD_ONCE_INIT;

static void make_key(void)
{
	/* without a key the buffer is only lost at a thread's end */
	(void)pthread_key_create(&read_key, free);
}

static uint8_t *buf_of_thread(void)
{
	if (read_buf)
		return read_buf;
	pthread_once(&read_once, make_key);
	read_buf = malloc(RS_LL_IO_MAX);
	if (read_buf)
		(void)pthread_setspecific(read_key, read_buf);
	return read_buf;
}

static ssize_t try_read(struct rs_ll *ll, const struct rs_ll_call *call)
{
	size_t len = call->len > RS_LL_IO_MAX ? RS_LL_IO_MAX : call->len;
	uint8_t *buf = buf_of_thread();
	ssize_t n;

	if (!buf)
		return -ENOMEM;
	n = rs_core_read(ll->core, call->ino, buf, len, call->off);
	if (n >= 0)
		fuse_reply_buf(call->req, (const char *)buf, (size_t)n);
	return n;
}

/*
 * The kernel's own writeback of a mapping (MAP_SHARED): it takes no notice of
 * a short count and would drop the rest unseen. All of it, or an error for
 * msync; to write the front again after a pause does no harm.
 */
static ssize_t write_whole(struct rs_ll *ll, const struct rs_ll_call *call)
{
	const uint8_t *data = call->data;
	uint64_t done = 0;
	ssize_t n;

	do {
		n = rs_core_write(ll->core, call->ino, data + done,
				  call->len - done, call->off + done, 0);
		if (n < 0)
			return n;
		done += (uint64_t)n;
	} while (n > 0 && done < call->len);
	return (ssize_t)done;
}

/* See RS_LL_EPARK_FORGET. */
static int may_be_forgotten(struct rs_ll *ll, const struct rs_ll_call *call)
{
	if (call->kind != RS_LL_WRITE && call->kind != RS_LL_FALLOCATE)
		return 0;
	if (call->grace && rs_ll_now_ms() >= call->grace)
		return 0;
	return rs_core_has_orphans(ll->core);
}

/* What the reply has to wait for under the policy of the inode. */
static uint64_t changed(struct rs_ll *ll, const struct rs_ll_call *call)
{
	return rs_core_change_number(ll->core, call->ino, RS_CHANGE_INODE);
}

static ssize_t try_write(struct rs_ll *ll, const struct rs_ll_call *call)
{
	struct rs_ll_reply reply = { .kind = RS_LL_WRITTEN };
	ssize_t n;

	if (call->whole)
		n = write_whole(ll, call);
	else
		n = rs_core_write(ll->core, call->ino, call->data, call->len,
				  call->off, 0);
	/* A short count too: to write the front once more does no harm. */
	if (n >= 0 && (uint64_t)n < call->len && may_be_forgotten(ll, call))
		return RS_LL_EPARK_FORGET;
	if (n >= 0) {
		reply.count = (size_t)n;
		rs_ll_reply_when(call->req, changed(ll, call), &reply);
	}
	return n;
}

static ssize_t try_setattr(struct rs_ll *ll, const struct rs_ll_call *call)
{
	struct rs_ll_reply reply = { .kind = RS_LL_ATTR };
	int err;

	err = rs_core_setattr(ll->core, call->ino, &call->attr, call->set,
			      &reply.st);
	if (!err)
		rs_ll_reply_when(call->req, changed(ll, call), &reply);
	return err;
}

static ssize_t try_fallocate(struct rs_ll *ll, const struct rs_ll_call *call)
{
	const struct rs_ll_reply reply = { .kind = RS_LL_DONE };
	int err;

	err = rs_core_fallocate(ll->core, call->ino, call->mode, call->off,
				call->len);
	if (!err)
		rs_ll_reply_when(call->req, changed(ll, call), &reply);
	return err;
}

static ssize_t try_lseek(struct rs_ll *ll, const struct rs_ll_call *call)
{
	int64_t off;

	off = rs_core_lseek(ll->core, call->ino, (int64_t)call->off,
			    call->mode);
	if (off < 0)
		return (ssize_t)off;
	fuse_reply_lseek(call->req, off);
	return 0;
}

int rs_ll_try(struct rs_ll *ll, const struct rs_ll_call *call)
{
	static ssize_t (*const fn[])(struct rs_ll *,
				     const struct rs_ll_call *) = {
		[RS_LL_READ] = try_read,
		[RS_LL_WRITE] = try_write,
		[RS_LL_SETATTR] = try_setattr,
		[RS_LL_FALLOCATE] = try_fallocate,
		[RS_LL_LSEEK] = try_lseek,
	};
	ssize_t err = fn[call->kind](ll, call);

	if (err == RS_EPARK || err == RS_EPARK_COLD ||
	    err == RS_LL_EPARK_FORGET)
		return (int)err;
	if (err == -ENOSPC && may_be_forgotten(ll, call))
		return RS_LL_EPARK_FORGET;
	if (err < 0)
		rs_ll_reply_err(call->req, (int)err);
	return 0;
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	(void)fi;
	fuse_reply_err(req, ENOSYS);
}

/* Comes for files created before the kernel learnt that open is ENOSYS. */
static void op_release(fuse_req_t req, fuse_ino_t ino,
		       struct fuse_file_info *fi)
{
	(void)ino;
	(void)fi;
	fuse_reply_err(req, 0);
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		    struct fuse_file_info *fi)
{
	struct rs_ll_call call = {
		.req = req,
		.kind = RS_LL_READ,
		.ino = ino,
		.off = (uint64_t)off,
		.len = size,
	};

	(void)fi;
	rs_ll_submit(rs_ll_of(req), &call);
}

static void op_write(fuse_req_t req, fuse_ino_t ino, const char *buf,
		     size_t size, off_t off, struct fuse_file_info *fi)
{
	struct rs_ll_call call = {
		.req = req,
		.kind = RS_LL_WRITE,
		.ino = ino,
		.off = (uint64_t)off,
		.len = size,
		.data = buf,
		.whole = fi->writepage,
	};

	rs_ll_submit(rs_ll_of(req), &call);
}

static void op_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t off,
			 off_t len, struct fuse_file_info *fi)
{
	struct rs_ll_call call = {
		.req = req,
		.kind = RS_LL_FALLOCATE,
		.ino = ino,
		.off = (uint64_t)off,
		.len = (uint64_t)len,
		.mode = mode,
	};

	(void)fi;
	rs_ll_submit(rs_ll_of(req), &call);
}

static void op_lseek(fuse_req_t req, fuse_ino_t ino, off_t off, int whence,
		     struct fuse_file_info *fi)
{
	struct rs_ll_call call = {
		.req = req,
		.kind = RS_LL_LSEEK,
		.ino = ino,
		.off = (uint64_t)off,
		.mode = whence,
	};

	(void)fi;
	rs_ll_submit(rs_ll_of(req), &call);
}

void rs_ll_ops_data(struct fuse_lowlevel_ops *ops)
{
	ops->open = op_open;
	ops->release = op_release;
	ops->read = op_read;
	ops->write = op_write;
	ops->fallocate = op_fallocate;
	ops->lseek = op_lseek;
}
