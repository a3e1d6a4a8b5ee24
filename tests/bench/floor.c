/*
 * floor.c - the floor under every filesystem on libfuse: a tree in RAM, no
 * log, no policy, one lock, and of the calls only those that the replays
 * make. What rspool loses against it is the price of durability; what it
 * loses against tmpfs is the price of FUSE.
 *
 * The kernel is asked for the same as in fs/ll_init.c, and requests are read
 * the same way by as many threads, so that both have the same round trips.
 * Ends with its mount. How often each opcode came stands in a file of 64
 * native 64-bit numbers, so that it can be read in between.
 */
#define FUSE_USE_VERSION 314
#include "include/rs_base.h"
#include "tests/bench/floor_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define FOREVER 1e9
#define IO_MAX (1u << 20)
#define WORKERS 2u
#define BACKGROUND 256u
#define OPCODES 64u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fuse_session *session;
static _Atomic uint64_t *counts; /* OPCODES of them, in the file */

static struct rs_floor_node *node_of(fuse_ino_t ino)
{
	return ino == FUSE_ROOT_ID ? rs_floor_root()
				   : (struct rs_floor_node *)ino;
}

static void op_init(void *userdata, struct fuse_conn_info *conn)
{
	(void)userdata;
	conn->want = (FUSE_CAP_ASYNC_READ | FUSE_CAP_PARALLEL_DIROPS |
		      FUSE_CAP_EXPLICIT_INVAL_DATA | FUSE_CAP_CACHE_SYMLINKS |
		      FUSE_CAP_ASYNC_DIO) & /* no READDIRPLUS: never listed */
		     conn->capable;
	conn->max_write = IO_MAX;
	conn->max_background = BACKGROUND;
	conn->congestion_threshold = BACKGROUND / 4 * 3;
	conn->time_gran = 1;
}

static struct fuse_entry_param entry_of(struct rs_floor_node *node)
{
	struct fuse_entry_param entry = { .entry_timeout = FOREVER,
					  .attr_timeout = FOREVER };

	if (!node)
		return entry;
	node->nlookup++;
	entry.ino = (fuse_ino_t)node;
	entry.generation = 1;
	entry.attr = node->st;
	return entry;
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *text)
{
	struct fuse_entry_param entry;
	struct rs_floor_name *name;

	pthread_mutex_lock(&lock);
	name = rs_floor_find(node_of(parent), text);
	entry = entry_of(name ? name->node : NULL);
	pthread_mutex_unlock(&lock);
	fuse_reply_entry(req, &entry);
}

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t n)
{
	pthread_mutex_lock(&lock);
	rs_floor_forget(node_of(ino), n);
	pthread_mutex_unlock(&lock);
	fuse_reply_none(req);
}

static void op_forget_multi(fuse_req_t req, size_t count,
			    struct fuse_forget_data *all)
{
	size_t i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < count; i++)
		rs_floor_forget(node_of(all[i].ino), all[i].nlookup);
	pthread_mutex_unlock(&lock);
	fuse_reply_none(req);
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino,
		       struct fuse_file_info *fi)
{
	struct stat st;

	(void)fi;
	pthread_mutex_lock(&lock);
	st = node_of(ino)->st;
	pthread_mutex_unlock(&lock);
	fuse_reply_attr(req, &st, FOREVER);
}

static struct timespec time_of(int now, const struct timespec *set)
{
	struct timespec ts = *set;

	if (now)
		clock_gettime(CLOCK_REALTIME, &ts);
	return ts;
}

static void set_attr(struct stat *st, const struct stat *to, int set)
{
	clock_gettime(CLOCK_REALTIME, &st->st_ctim);
	if (set & FUSE_SET_ATTR_MODE)
		st->st_mode = (st->st_mode & S_IFMT) | (to->st_mode & 07777);
	if (set & FUSE_SET_ATTR_UID)
		st->st_uid = to->st_uid;
	if (set & FUSE_SET_ATTR_GID)
		st->st_gid = to->st_gid;
	if (set & (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_ATIME_NOW))
		st->st_atim =
			time_of(set & FUSE_SET_ATTR_ATIME_NOW, &to->st_atim);
	if (set & (FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW))
		st->st_mtim =
			time_of(set & FUSE_SET_ATTR_MTIME_NOW, &to->st_mtim);
}

static void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *to, int set,
		       struct fuse_file_info *fi)
{
	struct rs_floor_node *node = node_of(ino);
	struct stat st;
	int err = 0;

	(void)fi;
	pthread_mutex_lock(&lock);
	if (set & FUSE_SET_ATTR_SIZE)
		err = rs_floor_resize(node, (uint64_t)to->st_size);
	if (!err)
		set_attr(&node->st, to, set);
	st = node->st;
	pthread_mutex_unlock(&lock);
	if (err)
		fuse_reply_err(req, -err);
	else
		fuse_reply_attr(req, &st, FOREVER);
}

/* 0 or an errno; the kernel looked the name up just before. */
static int make(fuse_req_t req, fuse_ino_t parent, const char *text,
		mode_t mode, struct fuse_entry_param *ret_entry)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	struct rs_floor_node *node = NULL;
	int err = EEXIST;

	pthread_mutex_lock(&lock);
	if (!rs_floor_find(node_of(parent), text)) {
		node = rs_floor_make(node_of(parent), text, mode, ctx->uid,
				     ctx->gid);
		err = node ? 0 : ENOMEM;
	}
	if (node)
		*ret_entry = entry_of(node);
	pthread_mutex_unlock(&lock);
	return err;
}

static void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *text,
		     mode_t mode)
{
	struct fuse_entry_param entry;
	int err = make(req, parent, text, S_IFDIR | (mode & 07777), &entry);

	if (err)
		fuse_reply_err(req, err);
	else
		fuse_reply_entry(req, &entry);
}

static void op_create(fuse_req_t req, fuse_ino_t parent, const char *text,
		      mode_t mode, struct fuse_file_info *fi)
{
	struct fuse_entry_param entry;
	int err = make(req, parent, text, S_IFREG | (mode & 07777), &entry);

	fi->keep_cache = 1;
	if (err)
		fuse_reply_err(req, err);
	else
		fuse_reply_create(req, &entry, fi);
}

/* unlink and rmdir: the kernel knows which of them is right */
static void op_remove(fuse_req_t req, fuse_ino_t parent, const char *text)
{
	struct rs_floor_name *name;
	int err = ENOENT;

	pthread_mutex_lock(&lock);
	name = rs_floor_find(node_of(parent), text);
	if (name)
		err = TAILQ_EMPTY(&name->node->names) ? 0 : ENOTEMPTY;
	if (!err)
		rs_floor_remove(name);
	pthread_mutex_unlock(&lock);
	fuse_reply_err(req, err);
}

static void op_rename(fuse_req_t req, fuse_ino_t from, const char *old,
		      fuse_ino_t to, const char *text, unsigned int flags)
{
	int err = -EINVAL;

	pthread_mutex_lock(&lock);
	if (!flags)
		err = rs_floor_move(node_of(from), old, node_of(to), text);
	pthread_mutex_unlock(&lock);
	fuse_reply_err(req, -err);
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	(void)fi;
	fuse_reply_err(req, ENOSYS);
}

/* A copy leaves the lock before the reply goes out, as in rspool. */
static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		    struct fuse_file_info *fi)
{
	static __thread char buf[IO_MAX];
	struct rs_floor_node *node = node_of(ino);
	size_t n = 0;

	(void)fi;
	pthread_mutex_lock(&lock);
	if (off < node->st.st_size)
		n = (size_t)(node->st.st_size - off);
	if (n > size)
		n = size;
	if (n > sizeof(buf))
		n = sizeof(buf);
	if (n)
		memcpy(buf, node->data + off, n);
	pthread_mutex_unlock(&lock);
	fuse_reply_buf(req, buf, n);
}

static void op_write(fuse_req_t req, fuse_ino_t ino, const char *buf,
		     size_t size, off_t off, struct fuse_file_info *fi)
{
	struct rs_floor_node *node = node_of(ino);
	uint64_t end = (uint64_t)off + size;
	int err = 0;

	(void)fi;
	pthread_mutex_lock(&lock);
	if (end > (uint64_t)node->st.st_size)
		err = rs_floor_resize(node, end);
	if (!err) {
		memcpy(node->data + off, buf, size);
		clock_gettime(CLOCK_REALTIME, &node->st.st_mtim);
		node->st.st_ctim = node->st.st_mtim;
	}
	pthread_mutex_unlock(&lock);
	if (err)
		fuse_reply_err(req, -err);
	else
		fuse_reply_write(req, size);
}

/* release, fsync, fsyncdir, releasedir, opendir: nothing to do */
static void op_nothing(fuse_req_t req, fuse_ino_t ino,
		       struct fuse_file_info *fi)
{
	(void)ino;
	(void)fi;
	fuse_reply_err(req, 0);
}

static void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync,
		     struct fuse_file_info *fi)
{
	(void)datasync;
	op_nothing(req, ino, fi);
}

static void op_opendir(fuse_req_t req, fuse_ino_t ino,
		       struct fuse_file_info *fi)
{
	(void)ino;
	fuse_reply_open(req, fi);
}

static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		       struct fuse_file_info *fi)
{
	char buf[16384];
	size_t used = 0, n, room = size < sizeof(buf) ? size : sizeof(buf);
	struct rs_floor_name *name;

	(void)fi;
	pthread_mutex_lock(&lock);
	TAILQ_FOREACH(name, &node_of(ino)->names, list)
	{
		if (name->cookie <= (uint64_t)off)
			continue;
		n = fuse_add_direntry(req, buf + used, room - used, name->text,
				      &name->node->st, (off_t)name->cookie);
		if (n > room - used)
			break;
		used += n;
	}
	pthread_mutex_unlock(&lock);
	fuse_reply_buf(req, buf, used);
}

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct statvfs st = { .f_bsize = 4096,
			      .f_frsize = 4096,
			      .f_blocks = 1u << 20,
			      .f_bfree = 1u << 19,
			      .f_bavail = 1u << 19,
			      .f_files = 1u << 20,
			      .f_ffree = 1u << 19,
			      .f_favail = 1u << 19,
			      .f_namemax = 255 };

	(void)ino;
	fuse_reply_statfs(req, &st);
}

static const struct fuse_lowlevel_ops ops = {
	.init = op_init,
	.lookup = op_lookup,
	.forget = op_forget,
	.forget_multi = op_forget_multi,
	.getattr = op_getattr,
	.setattr = op_setattr,
	.mkdir = op_mkdir,
	.create = op_create,
	.unlink = op_remove,
	.rmdir = op_remove,
	.rename = op_rename,
	.open = op_open,
	.read = op_read,
	.write = op_write,
	.release = op_nothing,
	.fsync = op_fsync,
	.fsyncdir = op_fsync,
	.opendir = op_opendir,
	.releasedir = op_nothing,
	.readdir = op_readdir,
	.statfs = op_statfs,
};

static void count(const struct fuse_buf *buf)
{
	struct fuse_in_header head;

	if (buf->size < sizeof(head))
		return;
	memcpy(&head, buf->mem, sizeof(head));
	atomic_fetch_add(&counts[head.opcode % OPCODES], 1);
}

static void *worker(void *arg)
{
	struct fuse_buf buf = { 0 };
	int n;

	while (!fuse_session_exited(session)) {
		n = fuse_session_receive_buf(session, &buf);
		if (n == -EINTR || n == -EAGAIN)
			continue;
		if (n <= 0)
			break;
		count(&buf);
		fuse_session_process_buf(session, &buf);
	}
	free(buf.mem);
	kill(getpid(), SIGTERM); /* the mount is gone: tell main */
	return arg;
}

/* Without a file the numbers are kept for nobody. */
static int map_counts(const char *path)
{
	const size_t len = OPCODES * sizeof(*counts);
	RS_AUTO_FD int fd = -1;
	void *mem;

	if (path) {
		fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		if (fd < 0 || ftruncate(fd, (off_t)len))
			return -errno;
	}
	mem = mmap(NULL, len, PROT_READ | PROT_WRITE,
		   path ? MAP_SHARED : MAP_SHARED | MAP_ANONYMOUS, fd, 0);
	if (mem == MAP_FAILED)
		return -errno;
	counts = mem;
	return 0;
}

static int serve(const char *mnt)
{
	pthread_t thread[WORKERS];
	unsigned int i, started = 0;
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	while (started < WORKERS &&
	       !pthread_create(&thread[started], NULL, worker, NULL))
		started++;
	if (started == WORKERS)
		sigwait(&set, &sig);
	umount2(mnt, MNT_DETACH); /* the workers' reads end with ENODEV */
	for (i = 0; i < started; i++)
		pthread_join(thread[i], NULL);
	return started == WORKERS ? 0 : 1;
}

int main(int argc, char **argv)
{
	char name[] = "floor", flag[] = "-o",
	     opts[] = "allow_other,default_permissions,fsname=floor";
	char *fuse_argv[] = { name, flag, opts, NULL };
	struct fuse_args args = FUSE_ARGS_INIT(3, fuse_argv);
	int ret;

	if (argc < 2 || argc > 3 || argv[1][0] == '-') {
		fprintf(stderr, "usage: floor MNT [COUNTS]\n");
		return 2;
	}
	if (rs_floor_init() || map_counts(argc == 3 ? argv[2] : NULL))
		return 1;
	session = fuse_session_new(&args, &ops, sizeof(ops), NULL);
	if (!session || fuse_session_mount(session, argv[1]))
		return 1;
	ret = serve(argv[1]);
	fuse_session_destroy(session);
	return ret;
}
