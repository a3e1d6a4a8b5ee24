/*
 * lib_mount.c - start a daemon for a store.
 */
#include "tools/lib_mount.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/wait.h>

#include "tools/lib_conf.h"
#include "tools/lib_mnt.h"
#include "tools/lib_say.h"

/* Path of the daemon's program; "rspoold" for PATH to find. */
static void find_daemon(char ret_path[PATH_MAX])
{
	char self[PATH_MAX];
	const char *const below[] = { "", "/../sbin" };
	/* mount.rspool stands in /sbin whatever the prefix of the rest is */
	const char *const installed[] = { "/usr/sbin/rspoold",
					  "/usr/local/sbin/rspoold" };
	const char *dir;
	ssize_t n;
	size_t i;
	int len;

	n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	self[n > 0 ? n : 0] = '\0';
	dir = dirname(self);
	for (i = 0; i < RS_ARRAY_LEN(below); i++) {
		len = snprintf(ret_path, PATH_MAX, "%s%s/rspoold", dir,
			       below[i]);
		if (len > 0 && len < PATH_MAX && access(ret_path, X_OK) == 0)
			return;
	}
	for (i = 0; i < RS_ARRAY_LEN(installed); i++) {
		snprintf(ret_path, PATH_MAX, "%s", installed[i]);
		if (access(ret_path, X_OK) == 0)
			return;
	}
	snprintf(ret_path, PATH_MAX, "rspoold");
}

static int run_daemon(const char *dir, const char *mnt, const char *options)
{
	char path[PATH_MAX];
	int status;
	pid_t pid;

	find_daemon(path);
	fflush(NULL);
	pid = fork();
	if (pid < 0) {
		rs_say("cannot start the daemon: %s", strerror(errno));
		return RS_EXIT_FAILED;
	}
	if (pid == 0) {
		if (options && options[0])
			execlp(path, path, "-o", options, "--", dir, mnt, NULL);
		else
			execlp(path, path, "--", dir, mnt, NULL);
		rs_say("cannot run '%s': %s", path, strerror(errno));
		_exit(RS_EXIT_FAILED);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	rs_say("'%s' died from signal %d", path, WTERMSIG(status));
	return RS_EXIT_FAILED;
}

/*
 * Hold the store's start lock, which is on its directory: the daemon's own is
 * on the marker. -1 where that is not possible; the daemon says why.
 */
static int lock_start(const char *store)
{
	RS_AUTO_FD int fd = open(store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || flock(fd, LOCK_EX))
		return -1;
	return rs_steal_fd(&fd);
}

/* -1: go on and start it; otherwise an exit code. */
static int is_served(const char *store, const char *mnt)
{
	enum rs_mnt_state state;
	char source[PATH_MAX];

	source[0] = '\0';
	if (rs_mnt_probe(mnt, &state, source) || strcmp(source, store) != 0)
		return -1;
	if (state == RS_MNT_HUNG) {
		rs_say("'%s' is mounted already and does not answer", mnt);
		return RS_EXIT_FAILED;
	}
	if (state != RS_MNT_LIVE)
		return -1;
	rs_say("'%s' is mounted already from '%s', nothing to do", mnt, store);
	return RS_EXIT_OK;
}

static int start(const char *dir, const char *store_arg, const char *mnt_arg,
		 const char *options)
{
	char store[PATH_MAX], mnt[PATH_MAX];
	int code = -1, lock = -1;

	if (rs_mnt_canon(store_arg, store) == 0 &&
	    rs_mnt_canon(mnt_arg, mnt) == 0) {
		lock = lock_start(store);
		code = is_served(store, mnt);
	}
	if (code < 0)
		code = run_daemon(dir, mnt_arg, options);
	if (lock >= 0)
		close(lock);
	return code;
}

int rs_mount_run(const char *dir, const char *mnt, const char *options)
{
	struct rs_conf conf;
	int code;

	code = rs_conf_take(dir, &conf);
	if (code)
		return code;
	if (mnt || conf.mnt)
		code = start(dir, conf.store, mnt ? mnt : conf.mnt, options);
	else
		code = rs_conf_say_no_mount(&conf);
	rs_conf_release(&conf);
	return code;
}
