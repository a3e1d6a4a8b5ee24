/*
 * lib_target.c - from what is on the command line to a store or a daemon.
 */
#include "tools/lib_target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "tools/lib_ctl.h"
#include "tools/lib_key.h"
#include "tools/lib_mnt.h"
#include "tools/lib_open.h"
#include "tools/lib_say.h"

static int resolve(struct rs_target *target, const char *dir)
{
	int code, err;

	code = rs_conf_take(dir, &target->conf);
	if (code)
		return code;
	err = rs_mnt_canon(target->conf.store, target->store);
	if (err) {
		rs_say("cannot open the store '%s': %s", target->conf.store,
		       strerror(-err));
		return RS_EXIT_FAILED;
	}
	return 0;
}

static int take_key(struct rs_target *target, const char *given)
{
	const char *why;
	char *path;
	int err;

	path = given ? strdup(given) : rs_conf_option(&target->conf, "key");
	if (!path)
		return 0;
	err = rs_key_read(path, target->key, &why);
	if (err)
		rs_say("cannot use the key file '%s': %s", path,
		       why ? why : strerror(-err));
	target->has_key = !err;
	free(path);
	return err ? RS_EXIT_FAILED : 0;
}

static int take_ring(struct rs_target *target, const char *given)
{
	char path[PATH_MAX];
	int err;

	if (!given) {
		target->ring = rs_conf_option(&target->conf, "ring");
		return 0;
	}
	err = rs_mnt_canon(given, path);
	if (!err) {
		target->ring = strdup(path);
		err = target->ring ? 0 : -ENOMEM;
	}
	if (err)
		rs_say("cannot open the ring '%s': %s", given, strerror(-err));
	return err ? RS_EXIT_FAILED : 0;
}

int rs_target_init(struct rs_target *target, const char *dir, const char *key,
		   const char *ring)
{
	int code;

	memset(target, 0, sizeof(*target));
	code = resolve(target, dir);
	if (!code)
		code = take_key(target, key);
	if (!code)
		code = take_ring(target, ring);
	if (code)
		rs_target_release(target);
	return code;
}

void rs_target_release(struct rs_target *target)
{
	rs_conf_release(&target->conf);
	free(target->ring);
	explicit_bzero(target->key, sizeof(target->key));
	memset(target, 0, sizeof(*target));
}

int rs_target_open(const struct rs_target *target, enum rs_journal_mode mode,
		   struct rs_report *rep, struct rs_journal **ret_journal)
{
	const struct rs_journal_cfg cfg = {
		.dir = target->store,
		.ring_path = target->ring,
		.site_key = target->has_key ? target->key : NULL,
		.mode = mode,
	};

	return rs_open_store(&cfg, rep, ret_journal);
}

/*
 * NAME stands for the mount point that NAME.conf names. Faults elsewhere in
 * that file don't keep anybody from looking or unmounting.
 */
static void take_name(const char *path, char ret_path[PATH_MAX])
{
	struct rs_conf conf = { 0 };

	snprintf(ret_path, PATH_MAX, "%s", path);
	if (strchr(path, '/') || rs_conf_find(path, &conf))
		return;
	if (conf.file && conf.mnt)
		snprintf(ret_path, PATH_MAX, "%s", conf.mnt);
	else if (conf.file && conf.store)
		snprintf(ret_path, PATH_MAX, "%s", conf.store);
	rs_conf_release(&conf);
}

/* Which store is meant: the one mounted at path, or path itself. */
static int store_of(const char *path, char ret_store[PATH_MAX],
		    char ret_mnt[PATH_MAX])
{
	enum rs_mnt_state state = RS_MNT_NONE;
	struct rs_target target;
	int code, err;

	if (rs_mnt_find(path, ret_mnt, ret_store) == 0)
		return 0;
	err = rs_mnt_canon(path, ret_mnt);
	if (!err)
		err = rs_mnt_probe(ret_mnt, &state, ret_store);
	if (!err && state != RS_MNT_NONE)
		return 0;
	ret_mnt[0] = '\0';
	code = rs_target_init(&target, path, NULL, NULL);
	if (code)
		return code;
	snprintf(ret_store, PATH_MAX, "%s", target.store);
	rs_target_release(&target);
	return 0;
}

static int is_dead(const char *mnt)
{
	enum rs_mnt_state state;

	return rs_mnt_probe(mnt, &state, NULL) == 0 && state == RS_MNT_DEAD;
}

static int has_marker(const char *store)
{
	RS_AUTO_FREE char *path = NULL;

	if (asprintf(&path, "%s/rspool.id", store) < 0) {
		path = NULL;
		return 0;
	}
	return access(path, F_OK) == 0 || errno != ENOENT;
}

/* A failing disk must not hide the status that says so. */
static int is_readable(const char *store)
{
	RS_AUTO_FD int fd = open(store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct rs_marker marker;

	return fd >= 0 && rs_marker_read(fd, &marker) == 0;
}

static int no_daemon(const char *store)
{
	struct rs_marker marker;
	int code = rs_open_marker(store, &marker); /* says why not */

	return code ? code : RS_EXIT_NOT_RUNNING;
}

int rs_target_daemon(const char *arg, int *ret_fd, char ret_mnt[PATH_MAX])
{
	struct rs_marker marker;
	char store[PATH_MAX], path[PATH_MAX];
	int code, err;

	take_name(arg, path);
	code = store_of(path, store, ret_mnt);
	if (code)
		return code;
	/* detached, but some process still uses it */
	if (!ret_mnt[0] && !has_marker(store) &&
	    rs_ctl_find(store, ret_fd) == 0) {
		snprintf(ret_mnt, PATH_MAX, "%s", store);
		return 0;
	}
	if (!ret_mnt[0] && !has_marker(store)) {
		rs_say("'%s' is neither a mount of rspool nor a store", path);
		return RS_EXIT_NOT_RUNNING;
	}
	if (ret_mnt[0] && !is_readable(store))
		return rs_ctl_find(ret_mnt, ret_fd) ? no_daemon(store) : 0;
	code = rs_open_marker(store, &marker);
	if (code)
		return code;
	err = rs_ctl_connect(marker.id, NULL, ret_fd);
	if (!err)
		return 0;
	if (ret_mnt[0] && is_dead(ret_mnt))
		rs_say("the daemon of '%s' is dead: mount it again, which"
		       " recovers",
		       ret_mnt);
	else if (err == -ENOENT || err == -ECONNREFUSED)
		rs_say("no daemon serves '%s'", path);
	else
		rs_say("cannot talk to the daemon of '%s': %s", path,
		       strerror(-err));
	return err == -EACCES ? RS_EXIT_FAILED : RS_EXIT_NOT_RUNNING;
}
