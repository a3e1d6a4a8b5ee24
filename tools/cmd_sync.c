/*
 * cmd_sync.c - rspoolctl sync: what sync(2) is for other filesystems.
 *
 * syncfs(2) does not reach a FUSE daemon, but it makes the kernel send what
 * mappings have dirtied; then the daemon is asked for a barrier.
 */
#include <errno.h>
#include <fcntl.h>

#include "tools/cmd.h"
#include "tools/lib_ctl.h"
#include "tools/lib_progress.h"
#include "tools/lib_target.h"

static int ask(const char *path, int fd)
{
	struct rs_progress progress;
	json_t *req, *reply = NULL;
	const char *error;
	int err;

	req = json_pack("{s:s}", "cmd", "sync");
	rs_progress_init(&progress, "waiting for the disk");
	err = req ? rs_ctl_ask(fd, req, 0, rs_progress_step, &progress, &reply)
		  : -ENOMEM;
	rs_progress_end(&progress);
	json_decref(req);
	if (err) {
		rs_say("cannot sync '%s': %s", path, strerror(-err));
		return RS_EXIT_FAILED;
	}
	if (json_is_true(json_object_get(reply, "ok"))) {
		json_decref(reply);
		return RS_EXIT_OK;
	}
	error = json_string_value(json_object_get(reply, "error"));
	rs_say("cannot sync '%s': %s", path, error ? error : "no reason given");
	json_decref(reply);
	return RS_EXIT_FAILED;
}

static int run(const struct rs_args *args)
{
	RS_AUTO_FD int root = -1, fd = -1;
	char mnt[PATH_MAX];
	int code;

	code = rs_target_daemon(args->pos[0], &fd, mnt);
	if (code)
		return code;
	if (mnt[0]) {
		root = open(mnt, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (root < 0 || syncfs(root)) {
			rs_say("cannot sync '%s': %s", mnt, strerror(errno));
			return RS_EXIT_FAILED;
		}
	}
	return ask(args->pos[0], fd);
}

const struct rs_cmd rs_cmd_sync = {
	.name = "sync",
	.args = "MNT",
	.what = "wait until all changes made so far are on disk",
	.help = "A true barrier: returns when every change made before is on"
		" disk. sync(1) and\n"
		"sync(2) don't reach the daemon of a FUSE mount.",
	.min = 1,
	.max = 1,
	.run = run,
};
