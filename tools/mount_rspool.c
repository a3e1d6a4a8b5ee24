/*
 * mount_rspool.c - mount.rspool, what mount(8) runs for -t rspool:
 *
 *	mount.rspool DIR MNT [-sfnv] [-N namespace] [-o OPTIONS] [-t TYPE]
 *
 * Options that are mount(8)'s and fstab's own are dropped, the rest goes to
 * the daemon. A remount is the kernel's business alone: it changes flags of
 * the mount, not what the daemon does. Exit codes are mount(8)'s.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/mount.h>

#include "tools/lib_mount.h"
#include "tools/lib_opt.h"
#include "tools/lib_say.h"

enum mount_exit {
	MOUNT_OK = 0,
	MOUNT_USAGE = 1,
	MOUNT_SYSTEM = 2,
	MOUNT_FAIL = 32,
};

struct call {
	const char *dir, *mnt;
	char *options; /* for the daemon */
	int fake;      /* -f: do everything but mount */
	int verbose;
	int remount;
};

/* Known to mount(8) and fstab(5), of no meaning for us. */
static int is_mounts_own(const char *word)
{
	static const char *const own[] = {
		"auto",	  "noauto",   "user",	       "nouser",   "users",
		"owner",  "noowner",  "group",	       "nogroup",  "_netdev",
		"nofail", "defaults", "async",	       "diratime", "nodiratime",
		"mand",	  "nomand",   "nostrictatime", "silent",   "loud",
	};
	size_t i;

	for (i = 0; i < RS_ARRAY_LEN(own); i++)
		if (!strcmp(word, own[i]))
			return 1;
	return !strncmp(word, "x-", 2) || !strncmp(word, "X-", 2) ||
	       !strncmp(word, "comment=", 8);
}

/* Append the words of text that are for the daemon. */
static int take_options(struct call *call, char *text)
{
	char *save = NULL, *word;

	for (word = strtok_r(text, ",", &save); word;
	     word = strtok_r(NULL, ",", &save)) {
		if (is_mounts_own(word))
			continue;
		if (!strcmp(word, "remount")) {
			call->remount = 1;
			continue;
		}
		if (rs_opts_join(&call->options, word))
			return MOUNT_SYSTEM;
	}
	return MOUNT_OK;
}

static int usage(void)
{
	rs_say("usage: mount.rspool DIR MNT [-sfnv] [-o OPTIONS]");
	return MOUNT_USAGE;
}

static int parse(int argc, char **argv, struct call *call)
{
	int c, code;

	opterr = 0; /* one line says it */
	while ((c = getopt(argc, argv, "sfnvN:o:t:h")) != -1) {
		switch (c) {
		case 'f':
			call->fake = 1;
			break;
		case 's': /* sloppy: no option of ours may be ignored */
		case 'n': /* mtab: there is none any more */
		case 'N':
		case 't':
			break;
		case 'v':
			call->verbose = 1;
			break;
		case 'o':
			code = take_options(call, optarg);
			if (code)
				return code;
			break;
		default:
			return usage();
		}
	}
	if (argc - optind != 2)
		return usage();
	call->dir = argv[optind];
	call->mnt = argv[optind + 1];
	return MOUNT_OK;
}

static const struct {
	const char *name;
	unsigned long clear, set;
} flags[] = {
	{ "ro", 0, MS_RDONLY },
	{ "rw", MS_RDONLY, 0 },
	{ "nosuid", 0, MS_NOSUID },
	{ "suid", MS_NOSUID, 0 },
	{ "nodev", 0, MS_NODEV },
	{ "dev", MS_NODEV, 0 },
	{ "noexec", 0, MS_NOEXEC },
	{ "exec", MS_NOEXEC, 0 },
	{ "noatime", MS_RELATIME, MS_NOATIME },
	{ "relatime", MS_NOATIME, MS_RELATIME },
};

static int take_flag(const char *word, unsigned long *value)
{
	size_t i;

	for (i = 0; i < RS_ARRAY_LEN(flags); i++) {
		if (strcmp(word, flags[i].name) != 0)
			continue;
		*value = (*value & ~flags[i].clear) | flags[i].set;
		return 1;
	}
	return 0;
}

/* mount(8) gives all options of the mount, changed ones and others. */
static int remount(const struct call *call)
{
	unsigned long value = MS_NOSUID | MS_NODEV;
	char *save = NULL, *word;

	word = call->options ? strtok_r(call->options, ",", &save) : NULL;
	for (; word; word = strtok_r(NULL, ",", &save))
		if (!take_flag(word, &value) && call->verbose)
			printf("mount.rspool: '%s' stays as it is\n", word);
	if (mount(NULL, call->mnt, NULL, MS_REMOUNT | value, NULL)) {
		rs_say("cannot remount '%s': %s", call->mnt, strerror(errno));
		return MOUNT_FAIL;
	}
	return MOUNT_OK;
}

static int run(const struct call *call)
{
	int code;

	if (call->verbose)
		printf("mount.rspool: '%s' at '%s', options '%s'\n", call->dir,
		       call->mnt, call->options ? call->options : "");
	if (call->fake)
		return MOUNT_OK;
	if (call->remount)
		return remount(call);
	code = rs_mount_run(call->dir, call->mnt, call->options);
	switch (code) {
	case RS_EXIT_OK:
	case RS_EXIT_DAMAGE: /* it is mounted, and that was said */
		return MOUNT_OK;
	case RS_EXIT_USAGE:
		return MOUNT_USAGE;
	default:
		return MOUNT_FAIL;
	}
}

int main(int argc, char **argv)
{
	struct call call = { 0 };
	int code;

	rs_say_name("mount.rspool");
	code = parse(argc, argv, &call);
	if (code == MOUNT_OK)
		code = run(&call);
	free(call.options);
	return code;
}
