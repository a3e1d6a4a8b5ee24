/*
 * ll_init.c - one mount from /dev/fuse to its end.
 *
 * The mount is made by mount(2) itself: no setuid helper, no AppArmor
 * profile in between, and libfuse only gets the descriptor (/dev/fd/N).
 * Order of the start: the child of the self-test first (nothing else exists
 * yet), the mount before the log is opened for writing (a refused mount
 * option must change nothing), the workers last.
 *
 * Workers read /dev/fuse; they are few, because more of them only make the
 * wake-ups worse, and none ever waits for a disk. To end them while the
 * mount still lives they are woken by SIGUSR1, whose handler does nothing.
 */
#include "fs/ll_p.h"
#include "fs/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <fuse_log.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define WORKERS_DEFAULT 2u
/* RELEASE and readahead are background requests; the kernel's default of 12
 * lets a flood of them block reads. */
#define BACKGROUND 256u

/* libfuse's log function knows no context; there is one mount a process. */
static _Atomic(struct rs_ll *) log_to;

__attribute__((format(printf, 2, 0))) static void library_log(
	enum fuse_log_level level, const char *fmt, va_list ap)
{
	struct rs_ll *ll = atomic_load(&log_to);
	char text[256];

	if (!ll || level > FUSE_LOG_WARNING)
		return;
	vsnprintf(text, sizeof(text), fmt, ap);
	text[strcspn(text, "\n")] = '\0';
	rs_ll_tell(ll, RS_LL_LIBRARY, text);
}

/* What we want of the kernel. */
static void op_init(void *userdata, struct fuse_conn_info *conn)
{
	const unsigned int on = FUSE_CAP_ASYNC_READ | FUSE_CAP_PARALLEL_DIROPS |
				FUSE_CAP_EXPLICIT_INVAL_DATA |
				FUSE_CAP_CACHE_SYMLINKS | FUSE_CAP_READDIRPLUS |
				FUSE_CAP_READDIRPLUS_AUTO | FUSE_CAP_ASYNC_DIO;

	(void)userdata;
	/* everything else off, whatever this libfuse takes for a default:
	 * ATOMIC_O_TRUNC would lose truncates (open is ENOSYS),
	 * WRITEBACK_CACHE would break the order of changes (G1) */
	conn->want = on & conn->capable;
	conn->max_write = RS_LL_IO_MAX;
	conn->max_background = BACKGROUND;
	conn->congestion_threshold = BACKGROUND / 4 * 3;
	conn->time_gran = 1;
}

static void free_cfg(struct rs_ll_cfg *cfg)
{
	const char *const strings[] = { cfg->source, cfg->mnt, cfg->data };
	size_t i;
	void *mem;

	for (i = 0; i < RS_ARRAY_LEN(strings); i++) {
		memcpy(&mem, &strings[i], sizeof(mem));
		free(mem);
	}
}

static int copy_cfg(const struct rs_ll_cfg *from, struct rs_ll_cfg *to)
{
	*to = *from;
	to->source = strdup(from->source);
	to->mnt = strdup(from->mnt);
	to->data = from->data ? strdup(from->data) : NULL;
	if (!to->source || !to->mnt || (from->data && !to->data))
		return -ENOMEM;
	if (to->workers == 0)
		to->workers = WORKERS_DEFAULT;
	if (to->workers > RS_LL_WORKERS_MAX)
		to->workers = RS_LL_WORKERS_MAX;
	return 0;
}

/* Character device 10,229 (linux/miscdevice.h), not what lies there else. */
static int open_device(void)
{
	RS_AUTO_FD int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (!S_ISCHR(st.st_mode) || st.st_rdev != makedev(10, 229))
		return -ENODEV;
	return rs_steal_fd(&fd);
}

int rs_ll_new(const struct rs_ll_cfg *cfg, struct rs_ll **ret_ll)
{
	struct rs_ll *ll = calloc(1, sizeof(*ll));
	int err;

	if (!ll)
		return -ENOMEM;
	ll->fd = -1;
	ll->test.go = -1;
	rs_ll_park_init(&ll->park);
	rs_ll_close_init(&ll->close[0]);
	rs_ll_close_init(&ll->close[1]);
	rs_ll_ro_init(&ll->ro);
	err = copy_cfg(cfg, &ll->cfg);
	if (!err)
		err = rs_ll_dirsync_init(ll);
	if (!err)
		err = rs_ll_test_fork(ll);
	if (!err) {
		ll->fd = open_device();
		if (ll->fd < 0)
			err = ll->fd;
	}
	if (err) {
		rs_ll_free(ll);
		return err;
	}
	*ret_ll = ll;
	return 0;
}

void rs_ll_attach(struct rs_ll *ll, struct rs_core *core,
		  struct rs_journal *journal)
{
	ll->core = core;
	ll->journal = journal;
}

static int find_dev(struct rs_ll *ll)
{
	struct rs_mount m;
	int err = rs_mounts_top(ll->cfg.mnt, &m);

	if (err)
		return err;
	if (strcmp(m.type, RS_MOUNT_TYPE) != 0)
		err = -ENODEV;
	ll->dev = makedev(m.major, m.minor);
	rs_mount_release(&m);
	return err;
}

int rs_ll_mount(struct rs_ll *ll)
{
	RS_AUTO_FREE char *data = NULL;
	int err;

	if (asprintf(&data,
		     "fd=%d,rootmode=40000,user_id=%u,group_id=%u,"
		     "allow_other,default_permissions%s%s",
		     ll->fd, geteuid(), getegid(), ll->cfg.data ? "," : "",
		     ll->cfg.data ? ll->cfg.data : "") < 0) {
		data = NULL;
		return -ENOMEM;
	}
	if (mount(ll->cfg.source, ll->cfg.mnt, RS_MOUNT_TYPE, ll->cfg.flags,
		  data))
		return -errno;
	ll->mounted = 1;
	err = find_dev(ll);
	if (err)
		umount2(ll->cfg.mnt, MNT_DETACH | UMOUNT_NOFOLLOW);
	return err;
}

static int new_session(struct rs_ll *ll)
{
	char name[] = "rspoold", path[32];
	char *argv[] = { name, NULL };
	struct fuse_args args = FUSE_ARGS_INIT(1, argv);
	struct fuse_lowlevel_ops ops = { .init = op_init };

	rs_ll_ops_name(&ops);
	rs_ll_ops_attr(&ops);
	rs_ll_ops_data(&ops);
	rs_ll_ops_dir(&ops);
	rs_ll_ops_sync(&ops);
	if (ll->cfg.xattr)
		rs_ll_ops_xattr(&ops);
	atomic_store(&log_to, ll);
	fuse_set_log_func(library_log);
	ll->session = fuse_session_new(&args, &ops, sizeof(ops), ll);
	fuse_opt_free_args(&args);
	if (!ll->session)
		return -ENOMEM;
	snprintf(path, sizeof(path), "/dev/fd/%d", ll->fd);
	if (fuse_session_mount(ll->session, path))
		return -EIO;
	ll->fd = -1; /* the session closes it */
	return 0;
}

static void wake(int sig)
{
	(void)sig;
}

static void session_over(struct rs_ll *ll)
{
	if (atomic_exchange(&ll->ended, 1) || atomic_load(&ll->halting))
		return;
	if (ll->cfg.ended)
		ll->cfg.ended(ll->cfg.arg);
}

static void *worker(void *arg)
{
	struct rs_ll *ll = arg;
	struct fuse_buf buf = { 0 };
	sigset_t set;
	int n;

	pthread_setname_np(pthread_self(), "rs-worker");
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	while (!atomic_load(&ll->halting) &&
	       !fuse_session_exited(ll->session)) {
		n = fuse_session_receive_buf(ll->session, &buf);
		if (n == -EINTR || n == -EAGAIN)
			continue;
		if (n <= 0)
			break;
		rs_ll_count(&ll->count, buf.mem, buf.size);
		fuse_session_process_buf(ll->session, &buf);
	}
	free(buf.mem);
	session_over(ll);
	return NULL;
}

static int start_threads(struct rs_ll *ll)
{
	struct sigaction act = { .sa_handler = wake };
	sigset_t all, old;
	int err;

	sigaction(SIGUSR1, &act, NULL);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	err = rs_ll_park_start(ll);
	if (!err)
		err = rs_ll_close_start(&ll->close[0]);
	if (!err)
		err = rs_ll_close_start(&ll->close[1]);
	if (!err)
		err = rs_ll_ro_start(ll);
	while (!err && ll->running < ll->cfg.workers) {
		err = -pthread_create(&ll->worker[ll->running], NULL, worker,
				      ll);
		if (!err)
			ll->running++;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err;
}

int rs_ll_serve(struct rs_ll *ll)
{
	int err;

	err = new_session(ll);
	if (!err)
		err = start_threads(ll);
	if (!err)
		err = rs_ll_test_run(ll);
	if (err) {
		rs_ll_detach(ll);
		rs_ll_halt(ll);
	}
	return err;
}

void rs_ll_poisoned(struct rs_ll *ll)
{
	atomic_store(&ll->poisoned, 1);
	rs_ll_ro_want(&ll->ro);
	rs_ll_space(ll);
}

int rs_ll_is_mounted(struct rs_ll *ll)
{
	struct rs_mount m;
	int ours;

	if (!ll->mounted || rs_mounts_top(ll->cfg.mnt, &m))
		return 0;
	ours = makedev(m.major, m.minor) == ll->dev;
	rs_mount_release(&m);
	return ours;
}

static int unmount(struct rs_ll *ll, int flags)
{
	if (!rs_ll_is_mounted(ll))
		return 0;
	if (umount2(ll->cfg.mnt, flags | UMOUNT_NOFOLLOW))
		return -errno;
	return 0;
}

int rs_ll_umount(struct rs_ll *ll)
{
	return unmount(ll, 0);
}

int rs_ll_detach(struct rs_ll *ll)
{
	return unmount(ll, MNT_DETACH);
}

dev_t rs_ll_dev(const struct rs_ll *ll)
{
	return ll->dev;
}

static void join_worker(pthread_t thread)
{
	struct timespec ts = { .tv_nsec = 5000000 };

	/* a signal that comes just before read(2) is lost: again */
	while (pthread_tryjoin_np(thread, NULL) == EBUSY) {
		pthread_kill(thread, SIGUSR1);
		nanosleep(&ts, NULL);
	}
}

void rs_ll_halt(struct rs_ll *ll)
{
	atomic_store(&ll->halting, 1);
	while (ll->running > 0)
		join_worker(ll->worker[--ll->running]);
	rs_ll_close_stop(&ll->close[0]);
	rs_ll_close_stop(&ll->close[1]);
	rs_ll_park_stop(ll);
	rs_ll_ro_stop(&ll->ro);
}

void rs_ll_free(struct rs_ll *ll)
{
	if (!ll)
		return;
	rs_ll_halt(ll);
	if (ll->session)
		fuse_session_destroy(ll->session);
	atomic_store(&log_to, NULL);
	if (ll->fd >= 0)
		close(ll->fd);
	rs_ll_test_release(&ll->test);
	rs_ll_park_release(&ll->park);
	rs_ll_close_release(&ll->close[0]);
	rs_ll_close_release(&ll->close[1]);
	rs_ll_ro_release(&ll->ro);
	rs_caller_free(ll->caller);
	free_cfg(&ll->cfg);
	free(ll);
}
