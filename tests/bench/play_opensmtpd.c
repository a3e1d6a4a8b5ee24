/*
 * play_opensmtpd.c - OpenSMTPD: queue_fs.c and smtp_session.c.
 *
 * The body goes to a file in temporary, which is synced; the envelope goes
 * unsynced into a new directory in incoming, the body is renamed into it, and
 * that directory is renamed into queue: this is the commit, and nothing syncs
 * it. Delivery reads the body, removes the envelope and then the rest.
 *
 * The durable step covers the sync and the commit, so that under rspool's
 * policy `rename` the wait of the latter is in it; with --sync-renames the
 * queue directory is synced after it, which gives other filesystems the same
 * promise. The real one has a single process that does this.
 */
#include "tests/bench/play.h"

#include "include/rs_base.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

struct names {
	char temp[RS_PLAY_PATH], incoming[RS_PLAY_PATH / 2],
		envelope[RS_PLAY_PATH], body[RS_PLAY_PATH],
		bucket[RS_PLAY_PATH / 4], queue[RS_PLAY_PATH / 2],
		queued_envelope[RS_PLAY_PATH], queued_body[RS_PLAY_PATH];
};

static void name(const struct rs_play_msg *msg, struct names *n)
{
	unsigned int id = (msg->proc & 0xff) << 24 | (msg->number & 0xffffff);

	snprintf(n->temp, sizeof(n->temp), "temporary/%08x", id);
	snprintf(n->incoming, sizeof(n->incoming), "incoming/%08x", id);
	snprintf(n->envelope, sizeof(n->envelope), "%s/%08x00000001",
		 n->incoming, id);
	snprintf(n->body, sizeof(n->body), "%s/message", n->incoming);
	snprintf(n->bucket, sizeof(n->bucket), "queue/%02x", msg->dir);
	snprintf(n->queue, sizeof(n->queue), "%s/%08x", n->bucket, id);
	snprintf(n->queued_envelope, sizeof(n->queued_envelope),
		 "%s/%08x00000001", n->queue, id);
	snprintf(n->queued_body, sizeof(n->queued_body), "%s/message",
		 n->queue);
}

static int prepare(const struct rs_play_opts *opts)
{
	static const char *const tops[] = { "temporary", "incoming", "queue" };
	struct rs_play_msg msg = { .call = "" };
	char path[RS_PLAY_PATH];
	unsigned int i;
	size_t t;
	int ret = 0;

	for (t = 0; t < RS_ARRAY_LEN(tops); t++)
		if (access(tops[t], F_OK) && rs_play_mkdir(&msg, tops[t]))
			return -1;
	for (i = 0; !ret && i < opts->dirs; i++) {
		snprintf(path, sizeof(path), "queue/%02x", i);
		if (access(path, F_OK))
			ret = rs_play_mkdir(&msg, path);
	}
	return ret;
}

static int write_file(struct rs_play_msg *msg, const char *path,
		      unsigned int size, bool sync)
{
	RS_AUTO_FD int fd = -1;
	int ret = rs_play_made(msg, path, 0600, &fd);

	if (!ret)
		ret = rs_play_write(msg, fd, size);
	if (!ret && sync)
		ret = rs_play_sync(msg, fd);
	return ret;
}

static int accept_one(const struct rs_play_opts *opts, struct rs_play_msg *msg)
{
	struct names n;
	struct stat st;
	int ret;

	name(msg, &n);
	if (!stat(n.queue, &st)) {
		msg->call = "stat";
		return -EEXIST;
	}
	ret = rs_play_mkdir(msg, n.incoming);
	if (!ret)
		ret = write_file(msg, n.temp, msg->size, true);
	if (!ret)
		ret = stat(n.incoming, &st) ? rs_play_failed(msg, "stat") : 0;
	if (!ret)
		ret = write_file(msg, n.envelope, RS_PLAY_HEAD, false);
	if (!ret)
		ret = rs_play_rename(msg, n.temp, n.body);
	if (!ret)
		ret = rs_play_rename(msg, n.incoming, n.queue);
	if (!ret && opts->sync_renames)
		ret = rs_play_sync_dir(msg, n.bucket);
	rs_play_end(msg);
	return ret;
}

static int deliver(const struct rs_play_opts *opts, struct rs_play_msg *msg)
{
	struct names n;
	struct stat st;
	int ret;

	(void)opts;
	name(msg, &n);
	ret = rs_play_read(msg, n.queued_envelope, RS_PLAY_HEAD);
	if (!ret)
		ret = rs_play_read(msg, n.queued_body, msg->size);
	if (!ret)
		ret = rs_play_unlink(msg, n.queued_envelope);
	(void)!stat(n.incoming, &st); /* not there any more, it asks first */
	if (!ret)
		ret = rs_play_unlink(msg, n.queued_body);
	if (!ret && rmdir(n.queue))
		ret = rs_play_failed(msg, "rmdir");
	return ret;
}

const struct rs_play_mta rs_play_opensmtpd = { "opensmtpd", prepare, accept_one,
					       deliver };
