/*
 * mount.c - the disk as the only file of a FUSE mount, for a loop device.
 *
 * MODEL	The file is opened FOPEN_DIRECT_IO: no page cache stands between
 *	the loop device and us, whether the loop device does direct I/O or
 *	not, so each of its requests arrives as one request of ours (as one
 *	per MiB if it is larger), in its time. A flush of the loop device is
 *	vfs_fsync() of this file, which is FUSE_FSYNC. Discard and write-zeroes
 *	would be FUSE_FALLOCATE: not implemented, the kernel then does without.
 *
 *	One thread takes the requests: with two, the halves of one large write
 *	would swap places now and then, which would cost a seek and make cuts
 *	irreproducible. It never waits for the arm, which answers by itself.
 *
 * NOT HERE	Writes from the page cache of a loop device's own filesystem
 *	are that filesystem's business: they are host RAM, above the disk.
 */
#define FUSE_USE_VERSION FUSE_MAKE_VERSION(3, 14)

#include "tests/disk/mount.h"

#include <errno.h>
#include <fuse_lowlevel.h>
#include <signal.h>

#define DISK_INO 2u
#define DISK_NAME "disk"
/* Nobody else changes the two attributes that there are. */
#define FOREVER 86400.0

/* More than the queue of a loop device (128) splits into. */
#define MAX_BACKGROUND 512u

struct op {
	struct rs_disk_request r;
	fuse_req_t req;
	size_t skip; /* bytes that a read of whole sectors began too early */
	size_t want; /* bytes that were asked for */
	unsigned char buf[];
};

static struct rs_disk *disk_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

static struct op *op_new(fuse_req_t req, enum rs_dkind kind, size_t buf_len,
			 void (*done)(struct rs_disk_request *, int))
{
	struct op *op = malloc(sizeof(*op) + buf_len);

	if (!op) {
		fuse_reply_err(req, ENOMEM);
		return NULL;
	}
	memset(&op->r, 0, sizeof(op->r));
	op->r.kind = kind;
	op->r.done = done;
	op->req = req;
	op->skip = 0;
	op->want = 0;
	return op;
}

static struct op *op_of(struct rs_disk_request *r)
{
	return (void *)((char *)r - offsetof(struct op, r));
}

static int fill_attr(const struct rs_disk *d, fuse_ino_t ino, struct stat *st)
{
	memset(st, 0, sizeof(*st));
	st->st_ino = ino;
	if (ino == FUSE_ROOT_ID) {
		st->st_mode = S_IFDIR | 0700;
		st->st_nlink = 2;
		return 0;
	}
	if (ino != DISK_INO)
		return -ENOENT;
	st->st_mode = S_IFREG | 0600;
	st->st_nlink = 1;
	st->st_size = (off_t)d->cache.size;
	st->st_blksize = 4096;
	st->st_blocks = (blkcnt_t)(d->cache.size / 512);
	return 0;
}

static void on_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fuse_entry_param e = { .ino = DISK_INO,
				      .generation = 1,
				      .attr_timeout = FOREVER,
				      .entry_timeout = FOREVER };

	if (parent != FUSE_ROOT_ID || strcmp(name, DISK_NAME) != 0) {
		fuse_reply_err(req, ENOENT);
		return;
	}
	fill_attr(disk_of(req), DISK_INO, &e.attr);
	fuse_reply_entry(req, &e);
}

static void on_getattr(fuse_req_t req, fuse_ino_t ino,
		       struct fuse_file_info *fi)
{
	struct stat st;
	int err = fill_attr(disk_of(req), ino, &st);

	(void)fi;
	if (err)
		fuse_reply_err(req, -err);
	else
		fuse_reply_attr(req, &st, FOREVER);
}

/* Times and owner are ignored, and so is a truncation to the size that it has:
 * "dd of=disk" and "> disk" do it. */
static void on_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr,
		       int to_set, struct fuse_file_info *fi)
{
	const struct rs_disk *d = disk_of(req);

	if (to_set & FUSE_SET_ATTR_SIZE &&
	    (uint64_t)attr->st_size != d->cache.size) {
		fuse_reply_err(req, EPERM);
		return;
	}
	on_getattr(req, ino, fi);
}

static void on_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		       struct fuse_file_info *fi)
{
	static const char *const names[] = { ".", "..", DISK_NAME };
	struct stat st = { .st_ino = DISK_INO, .st_mode = S_IFREG };
	char buf[256];
	size_t used = 0;

	(void)ino;
	(void)fi;
	for (; off < (off_t)RS_ARRAY_LEN(names); off++) {
		size_t n =
			fuse_add_direntry(req, buf + used, sizeof(buf) - used,
					  names[off], &st, off + 1);

		if (used + n > size || used + n > sizeof(buf))
			break;
		used += n;
	}
	fuse_reply_buf(req, buf, used);
}

static void on_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	if (ino != DISK_INO) {
		fuse_reply_err(req, EISDIR);
		return;
	}
	fi->direct_io = 1;
	fi->noflush = 1;
	fuse_reply_open(req, fi);
}

static void read_done(struct rs_disk_request *r, int result)
{
	struct op *op = op_of(r);
	size_t n;

	if (result < 0) {
		fuse_reply_err(op->req, -result);
	} else {
		n = (size_t)result > op->skip ? (size_t)result - op->skip : 0;
		n = n < op->want ? n : op->want;
		fuse_reply_buf(op->req, (char *)op->buf + op->skip, n);
	}
	free(op);
}

/* Any place and length, as a person's tools read: whole sectors inside. */
static void on_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		    struct fuse_file_info *fi)
{
	struct rs_disk *d = disk_of(req);
	uint64_t from = (uint64_t)off, to = from + size;
	uint64_t first = from / RS_DCACHE_SECTOR * RS_DCACHE_SECTOR;
	struct op *op;

	(void)ino;
	(void)fi;
	if (to > d->cache.size)
		to = d->cache.size;
	if (from >= to) {
		fuse_reply_buf(req, NULL, 0);
		return;
	}
	size = rs_align_up(to, RS_DCACHE_SECTOR) - first;
	op = op_new(req, RS_DREAD, size, read_done);
	if (!op)
		return;
	op->skip = from - first;
	op->want = to - from;
	op->r.off = first;
	op->r.len = (uint32_t)size;
	op->r.buf = op->buf;
	rs_disk_submit(d, &op->r);
}

static void write_done(struct rs_disk_request *r, int result)
{
	struct op *op = op_of(r);

	if (result < 0)
		fuse_reply_err(op->req, -result);
	else
		fuse_reply_write(op->req, (size_t)result);
	free(op);
}

static void on_write(fuse_req_t req, fuse_ino_t ino, const char *buf,
		     size_t size, off_t off, struct fuse_file_info *fi)
{
	struct op *op = op_new(req, RS_DWRITE, 0, write_done);

	(void)ino;
	(void)fi;
	if (!op)
		return;
	op->r.off = (uint64_t)off;
	op->r.len = (uint32_t)size;
	op->r.data = buf;
	rs_disk_submit(disk_of(req), &op->r);
}

static void fsync_done(struct rs_disk_request *r, int result)
{
	struct op *op = op_of(r);

	fuse_reply_err(op->req, -result);
	free(op);
}

static void on_fsync(fuse_req_t req, fuse_ino_t ino, int datasync,
		     struct fuse_file_info *fi)
{
	struct op *op = op_new(req, RS_DFLUSH, 0, fsync_done);

	(void)ino;
	(void)datasync;
	(void)fi;
	if (op)
		rs_disk_submit(disk_of(req), &op->r);
}

static void on_init(void *userdata, struct fuse_conn_info *conn)
{
	(void)userdata;
	/* Splicing a request into a pipe and out again only costs here. */
	conn->want &= ~(unsigned)(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE |
				  FUSE_CAP_SPLICE_MOVE);
	/* The kernel's default of 12 is less than a loop device has. */
	conn->max_background = MAX_BACKGROUND;
	conn->congestion_threshold = MAX_BACKGROUND;
}

static const struct fuse_lowlevel_ops ops = {
	.init = on_init,
	.lookup = on_lookup,
	.getattr = on_getattr,
	.setattr = on_setattr,
	.readdir = on_readdir,
	.open = on_open,
	.read = on_read,
	.write = on_write,
	.fsync = on_fsync,
};

static void end_signals(sigset_t *ret_set)
{
	sigemptyset(ret_set);
	sigaddset(ret_set, SIGTERM);
	sigaddset(ret_set, SIGINT);
	sigaddset(ret_set, SIGHUP);
}

int rs_dmount_init(struct rs_dmount *m, struct rs_disk *disk, const char *dir)
{
	char name[] = "disksim", opt[] = "-o",
	     value[] = "fsname=disksim,subtype=disksim";
	char *argv[] = { name, opt, value, NULL };
	struct fuse_args args = FUSE_ARGS_INIT(3, argv);
	sigset_t set;

	/* Threads that are made from now on inherit it. */
	end_signals(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	m->disk = disk;
	m->session = fuse_session_new(&args, &ops, sizeof(ops), disk);
	fuse_opt_free_args(&args);
	if (m->session && !fuse_session_mount(m->session, dir))
		return 0;
	if (m->session)
		fuse_session_destroy(m->session);
	m->session = NULL;
	return -EIO;
}

static void free_buf(void *arg)
{
	struct fuse_buf *buf = arg;

	free(buf->mem);
}

/* Cancelled while it waits for a request, and only there. */
static void *worker(void *arg)
{
	struct rs_dmount *m = arg;
	struct fuse_buf buf = { .mem = NULL };
	int n;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_cleanup_push(free_buf, &buf);
	for (;;) {
		pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
		n = fuse_session_receive_buf(m->session, &buf);
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
		if (n == -EINTR || n == -EAGAIN)
			continue;
		if (n <= 0 || fuse_session_exited(m->session))
			break;
		fuse_session_process_buf(m->session, &buf);
	}
	pthread_cleanup_pop(1);
	/* 0 and -ENODEV: somebody unmounted it. */
	m->result = n < 0 && n != -ENODEV ? n : 0;
	kill(getpid(), SIGTERM);
	return NULL;
}

int rs_dmount_serve(struct rs_dmount *m)
{
	pthread_t thread;
	sigset_t set;
	int sig;
	int err = pthread_create(&thread, NULL, worker, m);

	if (err)
		return -err;
	end_signals(&set);
	sigwait(&set, &sig);
	pthread_cancel(thread);
	pthread_join(thread, NULL);
	return m->result;
}

void rs_dmount_release(struct rs_dmount *m)
{
	if (!m->session)
		return;
	fuse_session_unmount(m->session);
	fuse_session_destroy(m->session);
	m->session = NULL;
}
