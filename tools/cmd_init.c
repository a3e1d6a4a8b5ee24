/*
 * cmd_init.c - rspoolctl init: make an empty store.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "tools/cmd.h"
#include "tools/lib_conf.h"
#include "tools/lib_limit.h"
#include "tools/lib_mnt.h"
#include "tools/lib_place.h"
#include "tools/lib_progress.h"
#include "tools/lib_size.h"
#include "tools/lib_target.h"
#include "tools/lib_key.h"

/* A file for each this many bytes: a message and its envelope of 16K. */
#define BYTES_PER_INODE 8192u
#define INODES_LEAST 16384u

static int size_arg(const char *name, const char *text, uint64_t *ret)
{
	int err;

	if (!text)
		return 0;
	err = rs_size_parse(text, ret);
	if (err || !*ret)
		return rs_say_usage("option '--%s %s' is not a size such as"
				    " 256M",
				    name, text);
	return 0;
}

static int take_sizes(const struct rs_args *args, struct rs_store_spec *spec)
{
	int code;

	spec->ring_size = UINT64_C(256) << 20;
	spec->capacity = UINT64_C(1) << 30;
	code = size_arg("ring-size", args->ring_size, &spec->ring_size);
	if (!code)
		code = size_arg("capacity", args->capacity, &spec->capacity);
	if (!code && spec->capacity < RS_CAPACITY_MIN)
		code = rs_say_usage("option '--capacity %s' is less than 1M",
				    args->capacity);
	spec->inodes = spec->capacity / BYTES_PER_INODE;
	if (spec->inodes < INODES_LEAST)
		spec->inodes = INODES_LEAST;
	if (!code)
		code = size_arg("inodes", args->inodes, &spec->inodes);
	if (!code && spec->inodes < RS_INODES_MIN)
		code = rs_say_usage("option '--inodes %s' is less than %u",
				    args->inodes, RS_INODES_MIN);
	spec->ring_size = rs_align_up(spec->ring_size, RS_PAGE);
	return code;
}

/* RAM that an inode takes at least, as fs/quota.c counts. */
#define INODE_RAM 512u

/*
 * All metadata stays in RAM: more files than fit in it are a promise that no
 * mount could keep. ram: of the configuration file, or NULL.
 */
static int fit_ram(const struct rs_args *args, const char *ram,
		   struct rs_store_spec *spec)
{
	const char *by = "option ram=";
	uint64_t limit, most;

	if (!ram || rs_size_parse(ram, &limit))
		limit = rs_limit_memory(&by) / 2; /* the default of ram= */
	most = limit / INODE_RAM;
	if (spec->inodes <= most)
		return 0;
	if (!args->inodes) {
		spec->inodes = most > INODES_LEAST ? most : INODES_LEAST;
		return 0;
	}
	if (ram)
		return rs_say_usage("option '--inodes %s' does not fit in"
				    " 'ram=%s', %llu do",
				    args->inodes, ram,
				    (unsigned long long)most);
	rs_say("warning: %llu files need more memory than the %s has for them",
	       (unsigned long long)spec->inodes, by);
	return 0;
}

static int check_place(const char *what, const char *path)
{
	enum rs_place place;
	const char *name;
	int err;

	err = rs_place_look(path, &place, &name);
	if (err) {
		rs_say("cannot look at '%s': %s", path, strerror(-err));
		return RS_EXIT_FAILED;
	}
	if (place == RS_PLACE_REFUSED) {
		rs_say("the %s '%s' would be on %s: it needs a local disk",
		       what, path, name);
		return RS_EXIT_FAILED;
	}
	if (place == RS_PLACE_RISKY)
		rs_say("warning: the %s '%s' is on %s and will not survive",
		       what, path, name);
	return 0;
}

static int take_key(const struct rs_args *args, uint8_t key[RS_KEY_LEN],
		    struct rs_store_spec *spec)
{
	const char *why;
	int err;

	if (!args->key)
		return 0;
	err = rs_key_read(args->key, key, &why);
	if (err) {
		rs_say("cannot use the key file '%s': %s", args->key,
		       why ? why : strerror(-err));
		return RS_EXIT_FAILED;
	}
	spec->site_key = key;
	return 0;
}

/* An absolute path for the marker; free() it. */
static char *absolute(const char *path)
{
	char *cwd, *full = NULL;

	if (path[0] == '/')
		return strdup(path);
	cwd = getcwd(NULL, 0);
	if (cwd && asprintf(&full, "%s/%s", cwd, path) < 0)
		full = NULL;
	free(cwd);
	return full;
}

/*
 * What an init leaves that was killed: its files, but no marker. Not removed
 * here: a store that lost its marker looks the same.
 */
static int is_unfinished(const char *dir)
{
	RS_AUTO_FD int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd >= 0 && faccessat(fd, RS_MARKER_NAME, F_OK, 0) &&
	       (!faccessat(fd, "intent.log", F_OK, 0) ||
		!faccessat(fd, "data.mdb", F_OK, 0));
}

static int say_failure(const struct rs_store_spec *spec, int err)
{
	char a[RS_SIZE_TEXT], b[RS_SIZE_TEXT];

	switch (err) {
	case -ENOTEMPTY:
	case -EEXIST:
		if (is_unfinished(spec->dir)) {
			rs_say("'%s' has files of a store, but no rspool.id:"
			       " if an init was cut short there, remove them"
			       " and repeat",
			       spec->dir);
			return RS_EXIT_FAILED;
		}
		rs_say("'%s' is not empty, a store needs a directory of its"
		       " own",
		       spec->dir);
		return RS_EXIT_FAILED;
	case -EBUSY:
		rs_say("cannot make '%s': somebody else is making or mounting"
		       " a store there",
		       spec->dir);
		return RS_EXIT_FAILED;
	case -EINVAL:
		return rs_say_usage("the sizes make no sense: ring %s (from"
				    " 16M), capacity %s",
				    rs_size_text(spec->ring_size, a),
				    rs_size_text(spec->capacity, b));
	case -ENOSPC:
		rs_say("cannot make '%s': the disk has no room for %s and the"
		       " ring of %s",
		       spec->dir, rs_size_text(spec->capacity, a),
		       rs_size_text(spec->ring_size, b));
		return RS_EXIT_FAILED;
	default:
		rs_say("cannot make '%s': %s", spec->dir, strerror(-err));
		return RS_EXIT_FAILED;
	}
}

static int make(struct rs_store_spec *spec)
{
	char a[RS_SIZE_TEXT], b[RS_SIZE_TEXT];
	struct rs_progress progress;
	int cow = 0, err;

	rs_progress_init(&progress, "writing the ring");
	spec->progress = rs_progress_step;
	spec->arg = &progress;
	err = rs_journal_init_store(spec, &cow);
	spec->arg = NULL;
	rs_progress_end(&progress);
	if (err)
		return say_failure(spec, err);
	if (cow)
		rs_say("warning: '%s' is on a filesystem that copies on write"
		       " and can't be told not to: a flush costs more",
		       spec->dir);
	printf("made the store '%s': ring %s, capacity %s, %llu files\n",
	       spec->dir, rs_size_text(spec->ring_size, a),
	       rs_size_text(spec->capacity, b),
	       (unsigned long long)spec->inodes);
	return RS_EXIT_OK;
}

static int run_in(const char *dir, const struct rs_args *args, const char *ram)
{
	char *ring = NULL;
	uint8_t key[RS_KEY_LEN];
	struct rs_store_spec spec = {
		.dir = dir,
		.uid = geteuid(),
		.gid = getegid(),
	};
	int code;

	code = take_sizes(args, &spec);
	if (!code)
		code = fit_ram(args, ram, &spec);
	if (!code)
		code = check_place("store", spec.dir);
	if (!code && args->ring) {
		ring = absolute(args->ring);
		spec.ring_path = ring;
		code = ring ? check_place("ring", ring) : RS_EXIT_FAILED;
	}
	if (!code)
		code = take_key(args, key, &spec);
	if (!code)
		code = make(&spec);
	explicit_bzero(key, sizeof(key));
	free(ring);
	return code;
}

/* What the command line leaves open is as the configuration file says. */
static int run(const struct rs_args *args)
{
	char *ring = NULL, *key = NULL, *capacity = NULL, *inodes = NULL;
	char *ram;
	struct rs_args all = *args;
	struct rs_conf conf;
	int code;

	code = rs_conf_take(args->pos[0], &conf);
	if (code)
		return code;
	if (!all.ring) {
		ring = rs_conf_option(&conf, "ring");
		all.ring = ring;
	}
	if (!all.key) {
		key = rs_conf_option(&conf, "key");
		all.key = key;
	}
	if (!all.capacity) {
		capacity = rs_conf_option(&conf, "capacity");
		all.capacity = capacity;
	}
	if (!all.inodes) {
		inodes = rs_conf_option(&conf, "inodes");
		all.inodes = inodes;
	}
	ram = rs_conf_option(&conf, "ram");
	code = run_in(conf.store, &all, ram);
	free(ram);
	free(ring);
	free(key);
	free(capacity);
	free(inodes);
	rs_conf_release(&conf);
	return code;
}

const struct rs_cmd rs_cmd_init = {
	.name = "init",
	.args = "DIR",
	.what = "make an empty store",
	.help = "Make an empty store in DIR, which must be empty or not exist"
		" yet. The disk space\n"
		"for the ring and the capacity is taken at once.",
	.options = RS_O_RING_SIZE | RS_O_CAPACITY | RS_O_INODES | RS_O_RING |
		   RS_O_KEY,
	.min = 1,
	.max = 1,
	.run = run,
};
