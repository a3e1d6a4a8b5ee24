/*
 * daemon_run.c - from an unmounted store to a served mount and back.
 *
 * Order of the start, so that what can fail early changes nothing:
 *	/dev/fuse, child of the self-test   no threads, no LMDB yet
 *	journal opened                      lock, checks, recovery
 *	tree loaded, limits compared
 *	mount(2)                            requests wait
 *	journal started                     first byte written
 *	workers, self-test, control socket
 *
 * The end, whoever asked for it: unmount, no more requests, then cut, flush
 * and checkpoint, answers, close.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/mount.h>
#include <sys/signalfd.h>
#include <time.h>

#include "tools/daemon.h"
#include "tools/daemon_hook.h"
#include "tools/daemon_log.h"
#include "tools/daemon_notify.h"
#include "tools/daemon_proc.h"
#include "tools/lib_import.h"
#include "tools/lib_mnt.h"
#include "tools/lib_open.h"
#include "tools/lib_pids.h"
#include "tools/lib_say.h"

uint64_t rs_daemon_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* ---- callbacks: from any thread ---- */

static void on_space(void *arg)
{
	struct rs_daemon *d = arg;

	rs_ll_space(d->ll);
}

static void on_poisoned(void *arg, int err, const char *why)
{
	struct rs_daemon *d = arg;

	rs_log(LOG_CRIT,
	       "the log is broken: %s: %s; changes get EROFS, fsync EIO,"
	       " reading goes on",
	       why, strerror(err < 0 ? -err : err));
	rs_ll_poisoned(d->ll);
	rs_hook_poisoned(why);
	rs_notify("STATUS=the log is broken: %s", why);
}

static int on_in_use(void *arg, uint64_t ino)
{
	struct rs_daemon *d = arg;

	return d->core && rs_core_in_use(d->core, ino);
}

static void on_ended(void *arg)
{
	struct rs_daemon *d = arg;
	const uint64_t one = 1;
	ssize_t n = write(d->session, &one, sizeof(one));

	(void)n; /* an eventfd takes it always */
}

static void on_event(void *arg, enum rs_ll_event what, const char *text)
{
	struct rs_daemon *d = arg;

	switch (what) {
	case RS_LL_READONLY:
		rs_log(LOG_CRIT, "'%s' is read-only now", d->mnt);
		break;
	case RS_LL_READONLY_BUSY:
		rs_log(LOG_CRIT,
		       "cannot make '%s' read-only, files are open for"
		       " writing, tried again each second",
		       d->mnt);
		break;
	case RS_LL_READONLY_FAIL:
		rs_log(LOG_CRIT, "cannot make '%s' read-only: %s, tried again",
		       d->mnt, text);
		break;
	case RS_LL_PARK_FULL:
		rs_log(LOG_ERR, "writes to '%s' get ENOSPC: %s", d->mnt, text);
		break;
	case RS_LL_LIBRARY:
		rs_log(LOG_WARNING, "libfuse: %s", text);
		break;
	}
}

/* ---- the start ---- */

static int open_fuse(struct rs_daemon *d)
{
	const struct rs_ll_cfg cfg = {
		.source = d->store,
		.mnt = d->mnt,
		.flags = d->opts.flags,
		.data = d->opts.data,
		.xattr = d->opts.xattr,
		.stall = d->opts.stall,
		.ended = on_ended,
		.event = on_event,
		.arg = d,
	};
	int err;

	d->session = eventfd(0, EFD_CLOEXEC);
	if (d->session < 0) {
		rs_say("cannot start: %s", strerror(errno));
		return RS_EXIT_FAILED;
	}
	err = rs_ll_new(&cfg, &d->ll);
	if (err) {
		rs_say("cannot open '/dev/fuse': %s%s", strerror(-err),
		       err == -ENOENT || err == -ENODEV
			       ? ", load the module fuse"
			       : "");
		return RS_EXIT_FAILED;
	}
	return 0;
}

static int open_journal(struct rs_daemon *d)
{
	const struct rs_journal_cfg cfg = {
		.dir = d->store,
		.ring_path = d->opts.ring,
		.site_key = d->has_key ? d->key : NULL,
		.mode = RS_JOURNAL_SERVE,
		.flush_interval = d->opts.flush_interval,
		.space = on_space,
		.poisoned = on_poisoned,
		.inode_in_use = on_in_use,
		.arg = d,
	};

	int code = rs_open_store(&cfg, &d->report, &d->journal);

	/* under the store's lock: whoever imports has let go of it */
	return code ? code : rs_import_refuse(d->store);
}

static int load_core(struct rs_daemon *d)
{
	struct rs_core_cfg cfg = {
		.journal = d->journal,
		.policy = d->opts.policy,
		.dirsync = d->opts.dirsync,
		.rules = d->opts.all.v,
		.n_rules = d->opts.all.n,
		.noatime = d->opts.noatime,
		.xattr = d->opts.xattr,
		.readonly = (d->opts.flags & MS_RDONLY) != 0,
	};
	int code, err;

	code = rs_daemon_limits(d, &cfg);
	if (code)
		return code;
	err = rs_core_new(&cfg, &d->core);
	if (!err)
		err = rs_core_load_tree(d->core, &d->report);
	if (err) {
		rs_say("cannot load the store '%s': %s", d->store,
		       strerror(-err));
		return err == -EUCLEAN || err == -EBADMSG ? RS_EXIT_DAMAGE
							  : RS_EXIT_FAILED;
	}
	return rs_daemon_fits(d);
}

/* It stays so after the end: that is when it is needed. */
static void protect_bare(struct rs_daemon *d)
{
	int err = rs_mnt_protect(d->mnt, 1);

	if (err)
		rs_daemon_warn(
			d, "cannot protect the bare directory '%s': %s", d->mnt,
			err == -EOPNOTSUPP ? "its filesystem has no chattr +i"
					   : strerror(-err));
}

static int make_mount(struct rs_daemon *d)
{
	int err;

	if (d->opts.protect)
		protect_bare(d);
	rs_ll_attach(d->ll, d->core, d->journal);
	err = rs_ll_mount(d->ll);
	if (!err)
		return 0;
	if (err == -EPERM || err == -EACCES)
		rs_say("cannot mount at '%s': %s, be root", d->mnt,
		       strerror(-err));
	else if (err == -EINVAL && d->opts.data)
		rs_say("cannot mount at '%s': the kernel refuses '%s', is"
		       " SELinux off?",
		       d->mnt, d->opts.data);
	else
		rs_say("cannot mount at '%s': %s", d->mnt, strerror(-err));
	return RS_EXIT_FAILED;
}

static int start_journal(struct rs_daemon *d)
{
	int err = rs_journal_start(d->journal);

	if (!err)
		return 0;
	rs_say("cannot write to the ring of '%s': %s", d->store,
	       strerror(-err));
	return RS_EXIT_FAILED;
}

static int start_serving(struct rs_daemon *d)
{
	int err = rs_daemon_settle(d);

	if (err) /* no reason not to serve */
		rs_daemon_warn(d,
			       "a policy set at run time stays, against the"
			       " configuration: %s",
			       strerror(-err));
	err = rs_ll_serve(d->ll);
	if (err == -EPROTO)
		rs_say("cannot serve '%s': the kernel does not pass on fsync",
		       d->mnt);
	else if (err)
		rs_say("cannot serve '%s': the self-test failed: %s", d->mnt,
		       strerror(-err));
	if (err)
		return RS_EXIT_FAILED;
	err = rs_ctl_start(d);
	if (err)
		rs_say("cannot make the control socket in '/run/rspool': %s",
		       strerror(-err));
	return err ? RS_EXIT_FAILED : 0;
}

static int is_damaged(struct rs_daemon *d)
{
	struct rs_journal_status st;

	rs_journal_status(d->journal, &st);
	return st.damage != 0 || d->report.quarantined != 0;
}

static void say_report(struct rs_daemon *d)
{
	const struct rs_report *rep = &d->report;

	if (rep->unfinished)
		rs_say("frame %llu was not finished and is dropped (nothing"
		       " in it was acknowledged)",
		       (unsigned long long)rep->unfinished_number);
	if (is_damaged(d))
		rs_say("'%s' is damaged: %llu findings, serving the rest; see"
		       " rspoolctl verify and recover --accept",
		       d->store, (unsigned long long)rep->quarantined);
}

/* ---- the end ---- */

static void set_phase(struct rs_daemon *d, enum rs_daemon_phase phase, int err)
{
	pthread_mutex_lock(&d->lock);
	d->phase = phase;
	d->end_err = err;
	pthread_cond_broadcast(&d->change);
	pthread_mutex_unlock(&d->lock);
}

/* Nobody can reach the tree any more: bring it to disk. */
static int end_journal(struct rs_daemon *d)
{
	int err;

	set_phase(d, RS_DAEMON_ENDING, 0);
	rs_ll_halt(d->ll);
	if (d->core)
		(void)!rs_core_log_times(d->core);
	err = rs_journal_stop(d->journal, d->fast);
	if (err)
		rs_log(LOG_CRIT, "cannot bring all of '%s' to disk: %s",
		       d->store, strerror(-err));
	set_phase(d, RS_DAEMON_ENDED, err);
	return err;
}

static void release(struct rs_daemon *d)
{
	unsigned int i;

	rs_ll_free(d->ll);
	rs_core_free(d->core);
	if (d->journal)
		rs_journal_close(d->journal);
	rs_report_release(&d->report);
	for (i = 0; i < d->warnings; i++)
		free(d->warning[i]);
	if (d->session >= 0)
		close(d->session);
	explicit_bzero(d->key, sizeof(d->key));
}

/* At most ms until the session is over (1) or a signal comes. */
static int wait_session(struct rs_daemon *d, unsigned int ms, int *ret_signal)
{
	struct pollfd pfd[2] = {
		{ .fd = d->session, .events = POLLIN },
		{ .fd = d->signals, .events = POLLIN },
	};
	struct signalfd_siginfo info;
	int n;

	do {
		n = poll(pfd, 2, (int)ms);
	} while (n < 0 && errno == EINTR);
	*ret_signal = 0;
	if (pfd[1].revents &&
	    read(d->signals, &info, sizeof(info)) == sizeof(info))
		*ret_signal = (int)info.ssi_signo;
	return (pfd[0].revents & POLLIN) != 0;
}

/*
 * A busy mount at SIGTERM: what is acknowledged or not goes to disk now, the
 * name goes, the users get stop_timeout seconds (a second signal ends the
 * wait).
 */
static int leave_busy(struct rs_daemon *d)
{
	struct rs_pids pids;
	char text[512];
	int again;

	rs_pids_find(rs_ll_dev(d->ll), &pids);
	rs_pids_text(&pids, text, sizeof(text));
	rs_log(LOG_WARNING, "'%s' is in use by %s: detached, waiting %u s",
	       d->mnt, text, d->opts.stop_timeout);
	(void)!rs_core_log_times(d->core);
	if (rs_journal_sync(d->journal))
		rs_log(LOG_CRIT, "cannot flush the log of '%s'", d->store);
	rs_ll_detach(d->ll);
	if (wait_session(d, d->opts.stop_timeout * 1000, &again))
		return RS_EXIT_OK;
	rs_log(LOG_WARNING, "'%s' is still in use, its users get errors now",
	       d->mnt);
	return RS_EXIT_DEGRADED;
}

static int on_signal(struct rs_daemon *d)
{
	int err, ignored;

	err = rs_ll_umount(d->ll);
	if (err == 0 && wait_session(d, 1000, &ignored))
		return RS_EXIT_OK;
	return leave_busy(d);
}

/*
 * The watchdog hears of us only while the committer works: not with records
 * that are due for half of its time although no frame became durable. What
 * may still wait for its flush_interval, however long that is, isn't due. A
 * log that is broken is no reason to start again: reading goes on.
 */
static int is_alive(struct rs_daemon *d)
{
	struct rs_journal_status st;

	rs_journal_status(d->journal, &st);
	if (st.poisoned || !st.due || st.durable != d->last_durable)
		d->progress = rs_daemon_now_ms();
	d->last_durable = st.durable;
	return rs_daemon_now_ms() - d->progress < rs_notify_watchdog() / 2;
}

static void feed_watchdog(struct rs_daemon *d)
{
	if (rs_notify_watchdog() && is_alive(d))
		rs_notify("WATCHDOG=1");
}

static unsigned int beat_ms(void)
{
	unsigned int watchdog = rs_notify_watchdog();

	return watchdog && watchdog / 4 < RS_WATCH_MS ? watchdog / 4 + 1
						      : RS_WATCH_MS;
}

static int serve(struct rs_daemon *d)
{
	int sig, over, code = RS_EXIT_OK;

	for (;;) {
		feed_watchdog(d);
		over = wait_session(d, beat_ms(), &sig);
		if (over || sig)
			break;
		rs_daemon_watch(d);
	}
	rs_notify("STOPPING=1\nSTATUS=bringing everything to disk");
	if (sig && !over) {
		rs_log(LOG_INFO, "signal %d: unmounting '%s'", sig, d->mnt);
		code = on_signal(d);
	}
	if (end_journal(d) && code == RS_EXIT_OK)
		code = RS_EXIT_DEGRADED;
	rs_log(LOG_INFO, "'%s' ended%s", d->mnt,
	       code == RS_EXIT_OK ? ", all is on disk" : "");
	return code;
}

/* 0 or an exit code; on failure nothing runs and nothing is mounted. */
static int start(struct rs_daemon *d)
{
	int code;

	code = open_fuse(d);
	if (!code)
		code = open_journal(d);
	if (!code)
		code = load_core(d);
	if (!code)
		code = make_mount(d);
	if (code)
		return code;
	code = rs_log_start(d->foreground) ? RS_EXIT_FAILED : 0;
	if (code)
		rs_say("cannot start the log's thread");
	if (!code)
		code = start_journal(d);
	if (code) {
		rs_ll_detach(d->ll);
		return code;
	}
	code = start_serving(d);
	if (code) {
		rs_ll_detach(d->ll);
		end_journal(d);
	}
	return code;
}

static void tell_ready(struct rs_daemon *d)
{
	rs_hook_mounted();
	rs_notify("READY=1\nSTATUS=serving '%s' at '%s'%s", d->store, d->mnt,
		  is_damaged(d) ? ", damaged" : "");
}

static void profile_names(const struct rs_daemon *d, char *ret, size_t size)
{
	const struct rs_profile *profile;
	size_t i, len = 0;

	ret[0] = '\0';
	for (i = 0; (profile = rs_profiles_get(&d->opts.profiles, i)); i++) {
		snprintf(ret + len, size - len, "%s%s", i ? "+" : "",
			 profile->name);
		len = strlen(ret);
	}
}

/*
 * A mail server on a read-only spool delivers what it can't cross off: a
 * profile knows which one, and the installed program stops it.
 */
static const char *stop_program(const struct rs_daemon *d, char path[PATH_MAX])
{
	char self[PATH_MAX];
	char *slash;
	ssize_t n;
	int len;

	if (d->opts.on_poison || !rs_profiles_get(&d->opts.profiles, 0))
		return d->opts.on_poison;
	n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	self[n > 0 ? n : 0] = '\0';
	slash = strrchr(self, '/');
	if (!slash)
		return NULL;
	*slash = '\0';
	len = snprintf(path, PATH_MAX, "%s/../libexec/rspool/stop-mta", self);
	if (len < 0 || len >= PATH_MAX || access(path, X_OK))
		return NULL;
	return path;
}

/* Before our own limits and threads: the child is to have neither. */
static int start_hooks(struct rs_daemon *d)
{
	char profile[128], stop[PATH_MAX];
	struct rs_hooks hooks = {
		.on_mount = d->opts.on_mount,
		.on_lost = d->opts.on_lost,
		.store = d->store,
		.mnt = d->mnt,
		.profile = profile,
		.foreground = d->foreground,
	};
	int err;

	profile_names(d, profile, sizeof(profile));
	hooks.on_poison = stop_program(d, stop);
	err = rs_hook_init(&hooks);

	if (!err)
		return 0;
	rs_say("cannot start the process for on_mount, on_poison and on_lost:"
	       " %s",
	       strerror(-err));
	return RS_EXIT_FAILED;
}

int rs_daemon_run(struct rs_daemon *d, int status)
{
	int code, left;

	d->started = rs_daemon_now_ms();
	rs_notify_init();
	code = start_hooks(d);
	if (code)
		return code;
	rs_proc_harden();
	d->signals = rs_proc_signals();
	if (d->signals < 0) {
		rs_say("cannot catch signals: %s", strerror(-d->signals));
		return RS_EXIT_FAILED;
	}
	code = start(d);
	if (code) {
		rs_log_stop();
		release(d);
		return code;
	}
	say_report(d);
	rs_log(LOG_INFO, "serving '%s' at '%s'", d->store, d->mnt);
	if (status >= 0)
		rs_proc_ready(status,
			      is_damaged(d) ? RS_EXIT_DAMAGE : RS_EXIT_OK);
	tell_ready(d);
	code = serve(d);
	rs_hook_bye();
	left = rs_ctl_stop(d);
	rs_log_stop();
	if (!left)
		release(d);
	return code;
}
