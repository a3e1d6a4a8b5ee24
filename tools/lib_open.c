/*
 * lib_open.c - open a store's journal and say in one line why not.
 */
#include "tools/lib_open.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "tools/lib_say.h"

static int say_marker(const char *dir, int err)
{
	switch (err) {
	case -ENOENT:
		rs_say("'%s' is not an rspool store (no rspool.id), make one"
		       " with rspoolctl init",
		       dir);
		return RS_EXIT_FAILED;
	case -EPROTONOSUPPORT:
		rs_say("the store '%s' was made by a newer rspool, this one is"
		       " " RS_VERSION,
		       dir);
		return RS_EXIT_FAILED;
	case -EUCLEAN:
		rs_say("'%s/rspool.id' is damaged or not ours, nothing was"
		       " changed",
		       dir);
		return RS_EXIT_DAMAGE;
	default:
		rs_say("cannot read '%s/rspool.id': %s", dir, strerror(-err));
		return RS_EXIT_FAILED;
	}
}

int rs_open_marker(const char *dir, struct rs_marker *ret_marker)
{
	RS_AUTO_FD int fd = -1;
	int err;

	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		rs_say("cannot open the store '%s': %s", dir, strerror(errno));
		return RS_EXIT_FAILED;
	}
	err = rs_marker_read(fd, ret_marker);
	return err ? say_marker(dir, err) : 0;
}

/* The first finding; the whole list is for verify and recover. */
static const char *finding_of(const struct rs_report *rep, char buf[200])
{
	const struct rs_finding *f = rep->findings;

	buf[0] = '\0';
	if (rep->n_findings)
		snprintf(buf, 200, "%s: %s: ", rs_finding_kind_name(f->kind),
			 f->why);
	return buf;
}

static int say_open(const struct rs_journal_cfg *cfg, int err, pid_t owner,
		    const struct rs_report *rep)
{
	char why[200];

	switch (err) {
	case -EBUSY:
		if (owner > 0)
			rs_say("the store '%s' is in use by process %d",
			       cfg->dir, (int)owner);
		else
			rs_say("the store '%s' is in use by another process",
			       cfg->dir);
		return RS_EXIT_FAILED;
	case -ENOKEY:
		rs_say("the store '%s' has %s", cfg->dir,
		       cfg->site_key
			       ? "another key"
			       : "a key, give it with key=FILE or --key FILE");
		return RS_EXIT_FAILED;
	case -EPROTONOSUPPORT:
		return say_marker(cfg->dir, err);
	case -EUCLEAN:
	case -EBADMSG:
		rs_say("%sthe store '%s' is damaged and can't be opened,"
		       " nothing was changed",
		       finding_of(rep, why), cfg->dir);
		return RS_EXIT_DAMAGE;
	case -ENOENT:
		rs_say("%sa file of the store '%s' is missing (intent.log or"
		       " data.mdb), nothing was changed",
		       finding_of(rep, why), cfg->dir);
		return RS_EXIT_DAMAGE;
	default:
		rs_say("%scannot open the store '%s': %s", finding_of(rep, why),
		       cfg->dir, strerror(-err));
		return RS_EXIT_FAILED;
	}
}

int rs_open_store(const struct rs_journal_cfg *cfg, struct rs_report *rep,
		  struct rs_journal **ret_journal)
{
	struct rs_marker marker;
	pid_t owner = 0;
	int code, err;

	code = rs_open_marker(cfg->dir, &marker);
	if (code)
		return code;
	if (marker.key_id && !cfg->site_key)
		return say_open(cfg, -ENOKEY, 0, rep);
	err = rs_journal_open(cfg, rep, &owner, ret_journal);
	return err ? say_open(cfg, err, owner, rep) : 0;
}
