/*
 * cmd_umount.c - rspoolctl umount: returns when all is on disk.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/mount.h>

#include "tools/cmd.h"
#include "tools/lib_ctl.h"
#include "tools/lib_mnt.h"
#include "tools/lib_progress.h"
#include "tools/lib_target.h"

/* All is on disk by then; memory of gigabytes takes a moment to be freed. */
#define GONE_MS 30000

/* " by cp (812), bash (900)", or nothing. */
static void users_text(json_t *pids, char *text, size_t size)
{
	const char *name;
	size_t i, len = 0;
	json_t *user;
	int n, pid;

	text[0] = '\0';
	json_array_foreach(pids, i, user)
	{
		if (len >= size)
			break;
		name = json_string_value(json_object_get(user, "name"));
		pid = (int)json_integer_value(json_object_get(user, "pid"));
		n = snprintf(text + len, size - len, "%s%s (%d)",
			     i ? ", " : " by ", name ? name : "?", pid);
		len += n > 0 ? (size_t)n : 0;
	}
}

static int take_reply(const char *path, json_t *reply)
{
	const char *error;
	int code = RS_EXIT_OK;
	char users[512];

	if (!json_is_true(json_object_get(reply, "ok"))) {
		error = json_string_value(json_object_get(reply, "error"));
		users_text(json_object_get(reply, "pids"), users,
			   sizeof(users));
		rs_say("cannot unmount '%s': %s%s", path,
		       error ? error : "no reason given", users);
		code = RS_EXIT_FAILED;
	}
	json_decref(reply);
	return code;
}

static int ask(const char *path, int fd, int fast)
{
	struct rs_progress progress;
	json_t *req, *reply;
	int err;

	req = json_pack("{s:s, s:b}", "cmd", "umount", "fast", fast);
	rs_progress_init(&progress, "bringing everything to disk");
	err = req ? rs_ctl_ask(fd, req, 0, rs_progress_step, &progress, &reply)
		  : -ENOMEM;
	rs_progress_end(&progress);
	json_decref(req);
	if (!err)
		return take_reply(path, reply);
	if (err == -EPIPE || err == -ECONNRESET)
		rs_say("the daemon of '%s' ended without an answer: run"
		       " rspoolctl recover",
		       path);
	else
		rs_say("cannot talk to the daemon of '%s': %s", path,
		       strerror(-err));
	return RS_EXIT_FAILED;
}

/* Also when nothing was mounted: the directory may be left from long ago. */
static int unprotect(const char *path, int code)
{
	enum rs_mnt_state state;
	char mnt[PATH_MAX];
	int err;

	if (code && code != RS_EXIT_NOT_RUNNING)
		return code;
	err = rs_mnt_canon(path, mnt);
	if (!err)
		err = rs_mnt_probe(mnt, &state, NULL);
	if (!err && state != RS_MNT_NONE)
		err = -EBUSY;
	if (!err)
		err = rs_mnt_protect(mnt, 0);
	if (!err || err == -EOPNOTSUPP)
		return code;
	rs_say("cannot take the protection of '%s' back: %s", path,
	       strerror(-err));
	return RS_EXIT_FAILED;
}

static int umount_it(const struct rs_args *args)
{
	struct pollfd gone = { .events = POLLIN };
	char mnt[PATH_MAX];
	unsigned int dead;
	int code, fd;

	code = rs_target_daemon(args->pos[0], &fd, mnt);
	if (!code) {
		gone.fd = rs_ctl_process(fd);
		code = ask(args->pos[0], fd, args->fast);
		close(fd);
		/* It answers before it lets go of the store: whoever opens
		 * that next must find it free. */
		if (!code && gone.fd >= 0)
			poll(&gone, 1, GONE_MS);
		if (gone.fd >= 0)
			close(gone.fd);
		return code;
	}
	/* the name can be freed even so; the store waits for recovery */
	if (mnt[0] && rs_mnt_clear(mnt, &dead) == 0 && dead)
		rs_say("detached the dead mount at '%s'", mnt);
	return code;
}

static int run(const struct rs_args *args)
{
	int code = umount_it(args);

	return args->unprotect ? unprotect(args->pos[0], code) : code;
}

const struct rs_cmd rs_cmd_umount = {
	.name = "umount",
	.args = "MNT",
	.what = "unmount; returns when all is on disk",
	.help = "Unmount MNT and wait until the daemon has brought everything"
		" to disk. A busy\n"
		"mount changes nothing: the processes that use it are named."
		" --unprotect takes\n"
		"back what the mount option protect did to the directory.",
	.options = RS_O_FAST | RS_O_UNPROTECT,
	.min = 1,
	.max = 1,
	.run = run,
};
