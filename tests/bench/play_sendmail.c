/*
 * play_sendmail.c - sendmail with SuperSafe=True and RequiresDirfsync, as on
 * Linux: collect() and queueup(), then dropenvelope().
 *
 * The body goes to df and is synced. The envelope goes to tf, is synced,
 * becomes qf by rename and is synced once more ("for softupdates"); then the
 * queue directory is opened, synced and closed. Delivery reads df and removes
 * both. The lock on qf stays in the kernel.
 */
#include "tests/bench/play.h"

#include "include/rs_base.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

struct names {
	char dir[RS_PLAY_PATH / 2];
	char df[RS_PLAY_PATH], tf[RS_PLAY_PATH], qf[RS_PLAY_PATH];
};

static void name(const struct rs_play_msg *msg, struct names *n)
{
	snprintf(n->dir, sizeof(n->dir), "q%u", msg->dir);
	snprintf(n->df, sizeof(n->df), "%s/df%04x%06x", n->dir, msg->proc,
		 msg->number);
	snprintf(n->tf, sizeof(n->tf), "%s/tf%04x%06x", n->dir, msg->proc,
		 msg->number);
	snprintf(n->qf, sizeof(n->qf), "%s/qf%04x%06x", n->dir, msg->proc,
		 msg->number);
}

static int prepare(const struct rs_play_opts *opts)
{
	return rs_play_dirs("q", opts->dirs);
}

static int collect(struct rs_play_msg *msg, const struct names *n)
{
	RS_AUTO_FD int fd = -1;
	struct stat st;
	int ret = rs_play_made(msg, n->df, 0600, &fd);

	if (ret)
		return ret;
	if (fstat(fd, &st))
		return rs_play_failed(msg, "fstat");
	ret = rs_play_write(msg, fd, msg->size);
	return ret ? ret : rs_play_sync(msg, fd);
}

static int queueup(struct rs_play_msg *msg, const struct names *n)
{
	struct flock lock = { .l_type = F_WRLCK };
	RS_AUTO_FD int fd = -1;
	int ret = rs_play_made(msg, n->tf, 0600, &fd);

	if (!ret && fcntl(fd, F_SETLK, &lock))
		ret = rs_play_failed(msg, "lock");
	if (!ret)
		ret = rs_play_write(msg, fd, RS_PLAY_HEAD);
	if (!ret)
		ret = rs_play_sync(msg, fd);
	if (!ret)
		ret = rs_play_rename(msg, n->tf, n->qf);
	if (!ret)
		ret = rs_play_sync(msg, fd);
	return ret ? ret : rs_play_sync_dir(msg, n->dir);
}

static int accept_one(const struct rs_play_opts *opts, struct rs_play_msg *msg)
{
	struct names n;
	int ret;

	(void)opts;
	name(msg, &n);
	ret = collect(msg, &n);
	if (!ret)
		ret = queueup(msg, &n);
	rs_play_end(msg);
	return ret;
}

static int deliver(const struct rs_play_opts *opts, struct rs_play_msg *msg)
{
	struct names n;
	int ret;

	(void)opts;
	name(msg, &n);
	ret = rs_play_read(msg, n.df, msg->size);
	if (!ret)
		ret = rs_play_unlink(msg, n.df);
	return ret ? ret : rs_play_unlink(msg, n.qf);
}

const struct rs_play_mta rs_play_sendmail = { "sendmail", prepare, accept_one,
					      deliver };
