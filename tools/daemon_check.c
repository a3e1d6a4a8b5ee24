/*
 * daemon_check.c - everything that can be refused before a byte of the store
 * or a mount changes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>

#include "tools/daemon.h"
#include "tools/lib_key.h"
#include "tools/lib_mnt.h"
#include "tools/lib_place.h"
#include "tools/lib_say.h"

void rs_daemon_warn(struct rs_daemon *d, const char *fmt, ...)
{
	char *text;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	rs_say("warning: %s", text);
	if (d->warnings < RS_DAEMON_WARNINGS)
		d->warning[d->warnings++] = text;
	else
		free(text);
}

static int check_place(struct rs_daemon *d, const char *what, const char *path)
{
	enum rs_place place;
	const char *name;
	int err;

	err = rs_place_look(path, &place, &name);
	if (err) {
		rs_say("cannot look at the %s '%s': %s", what, path,
		       strerror(-err));
		return RS_EXIT_FAILED;
	}
	if (place == RS_PLACE_REFUSED) {
		rs_say("the %s '%s' is on %s: a store needs a local disk", what,
		       path, name);
		return RS_EXIT_FAILED;
	}
	if (place == RS_PLACE_RISKY)
		rs_daemon_warn(d, "the %s '%s' is on %s and will not survive",
			       what, path, name);
	return 0;
}

static int check_store(struct rs_daemon *d, const char *store)
{
	struct stat st;
	int err;

	err = rs_mnt_canon(store, d->store);
	if (!err && stat(d->store, &st))
		err = -errno;
	if (!err && !S_ISDIR(st.st_mode))
		err = -ENOTDIR;
	if (err) {
		rs_say("cannot open the store '%s': %s", store, strerror(-err));
		return RS_EXIT_FAILED;
	}
	return check_place(d, "store", d->store);
}

static int not_inside(const char *what, const char *path, const char *mnt)
{
	if (!rs_place_inside(path, mnt))
		return 0;
	rs_say("the %s '%s' lies inside the mount point '%s'", what, path, mnt);
	return RS_EXIT_FAILED;
}

static int check_inside(const struct rs_daemon *d)
{
	int code = not_inside("store", d->store, d->mnt);

	if (!code && d->opts.ring)
		code = not_inside("ring", d->opts.ring, d->mnt);
	if (!code && rs_place_inside(d->mnt, d->store)) {
		rs_say("the mount point '%s' lies inside the store '%s'",
		       d->mnt, d->store);
		code = RS_EXIT_FAILED;
	}
	return code;
}

/* Nothing of ours on it any more; is it a directory, and empty? */
static int check_bare(const char *mnt)
{
	struct stat st;
	int empty;

	if (stat(mnt, &st)) {
		rs_say("cannot mount at '%s': %s", mnt, strerror(errno));
		return RS_EXIT_FAILED;
	}
	if (!S_ISDIR(st.st_mode)) {
		rs_say("cannot mount at '%s': not a directory", mnt);
		return RS_EXIT_FAILED;
	}
	empty = rs_mnt_is_empty(mnt);
	if (empty < 0) {
		rs_say("cannot read the mount point '%s': %s", mnt,
		       strerror(-empty));
		return RS_EXIT_FAILED;
	}
	if (!empty) {
		rs_say("the mount point '%s' is not empty: what is in it would"
		       " be hidden; a queue goes into a new store with"
		       " rspoolctl import, then move it away",
		       mnt);
		return RS_EXIT_FAILED;
	}
	return 0;
}

static int check_mnt(struct rs_daemon *d, const char *mnt)
{
	enum rs_mnt_state state;
	char source[PATH_MAX];
	unsigned int dead;
	int err;

	err = rs_mnt_canon(mnt, d->mnt);
	if (err) {
		rs_say("cannot mount at '%s': %s", mnt, strerror(-err));
		return RS_EXIT_FAILED;
	}
	err = rs_mnt_clear(d->mnt, &dead);
	if (!err && dead)
		rs_say("detached %u dead mount%s at '%s'", dead,
		       dead > 1 ? "s" : "", d->mnt);
	if (!err)
		err = rs_mnt_probe(d->mnt, &state, source);
	if (err) {
		rs_say("cannot clear the mount point '%s': %s", d->mnt,
		       strerror(-err));
		return RS_EXIT_FAILED;
	}
	if (state != RS_MNT_NONE) {
		rs_say("'%s' is mounted already, from the store '%s'%s", d->mnt,
		       source,
		       state == RS_MNT_HUNG ? ", and does not answer" : "");
		return RS_EXIT_FAILED;
	}
	return check_bare(d->mnt);
}

static int check_key(struct rs_daemon *d)
{
	const char *why;
	int err;

	if (!d->opts.key)
		return 0;
	err = rs_key_read(d->opts.key, d->key, &why);
	if (err) {
		rs_say("cannot use the key file '%s': %s", d->opts.key,
		       why ? why : strerror(-err));
		return RS_EXIT_FAILED;
	}
	d->has_key = 1;
	return 0;
}

int rs_daemon_check(struct rs_daemon *d, const char *store, const char *mnt)
{
	int code = check_mnt(d, mnt);

	if (!code)
		code = check_store(d, store);
	if (!code && d->opts.ring)
		code = check_place(d, "ring", d->opts.ring);
	if (!code)
		code = check_inside(d);
	if (!code)
		code = check_key(d);
	return code;
}
