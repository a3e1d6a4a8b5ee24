/*
 * cmd_mount.c - rspoolctl mount: start the daemon, return when it serves.
 */
#include "tools/cmd.h"
#include "tools/lib_mount.h"

static int run(const struct rs_args *args)
{
	return rs_mount_run(args->pos[0], args->n > 1 ? args->pos[1] : NULL,
			    args->options);
}

const struct rs_cmd rs_cmd_mount = {
	.name = "mount",
	.args = "DIR [MNT]",
	.what = "serve a store at a mount point",
	.help = "Start rspoold for the store DIR and return when it serves at"
		" MNT. After a crash\n"
		"this recovers. A dead mount at MNT is detached first. Without"
		" MNT: where\n"
		"NAME.conf says. Exit 5: it serves, but damage was found.",
	.options = RS_O_MOUNT,
	.min = 1,
	.max = 2,
	.run = run,
};
