/*
 * play_exim.c - Exim: receive_msg(), spool_write_header(), deliver_message().
 *
 * The body goes to -D, which is synced. The envelope and headers go to hdr.,
 * which is synced and becomes -H by rename; then the directory is opened,
 * synced and closed. The message log is begun. Delivery locks -D, reads both,
 * notes the delivery in -J, which it syncs, and removes all four.
 */
#include "tests/bench/play.h"

#include "include/rs_base.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#define LINE 19u /* bytes of "ID-D\n", of a line in -J */
#define LOG 110u /* bytes of a line in the message log */

struct names {
	char dir[RS_PLAY_PATH / 2], data[RS_PLAY_PATH], temp[RS_PLAY_PATH],
		head[RS_PLAY_PATH], journal[RS_PLAY_PATH], log[RS_PLAY_PATH];
};

static void name(const struct rs_play_msg *msg, struct names *n)
{
	char id[24];

	snprintf(id, sizeof(id), "1r%04x-%06x-0C", msg->proc & 0xffff,
		 msg->number & 0xffffff);
	snprintf(n->dir, sizeof(n->dir), "input%u", msg->dir);
	snprintf(n->data, sizeof(n->data), "%s/%s-D", n->dir, id);
	snprintf(n->temp, sizeof(n->temp), "%s/hdr.%s", n->dir, id);
	snprintf(n->head, sizeof(n->head), "%s/%s-H", n->dir, id);
	snprintf(n->journal, sizeof(n->journal), "%s/%s-J", n->dir, id);
	snprintf(n->log, sizeof(n->log), "msglog%u/%s", msg->dir, id);
}

static int prepare(const struct rs_play_opts *opts)
{
	int ret = rs_play_dirs("input", opts->dirs);

	return ret ? ret : rs_play_dirs("msglog", opts->dirs);
}

/* Exim sets owner and mode of each file that it makes. */
static int made(struct rs_play_msg *msg, const char *path, int *ret_fd)
{
	RS_AUTO_FD int fd = -1;
	int ret = rs_play_made(msg, path, 0640, &fd);

	if (ret)
		return ret;
	if (fchown(fd, geteuid(), getegid()))
		return rs_play_failed(msg, "fchown");
	if (fchmod(fd, 0640))
		return rs_play_failed(msg, "fchmod");
	*ret_fd = rs_steal_fd(&fd);
	return 0;
}

static int lock(struct rs_play_msg *msg, int fd)
{
	struct flock range = { .l_type = F_WRLCK, .l_len = LINE };

	return fcntl(fd, F_SETLK, &range) ? rs_play_failed(msg, "lock") : 0;
}

static int write_head(struct rs_play_msg *msg, const struct names *n)
{
	RS_AUTO_FD int fd = -1;
	struct stat st;
	int ret = made(msg, n->temp, &fd);

	if (!ret)
		ret = rs_play_write(msg, fd, RS_PLAY_HEAD / 2);
	if (!ret && fstat(fd, &st))
		ret = rs_play_failed(msg, "fstat");
	if (!ret)
		ret = rs_play_write(msg, fd, RS_PLAY_HEAD / 2);
	if (!ret)
		ret = rs_play_sync(msg, fd);
	if (!ret && fstat(fd, &st))
		ret = rs_play_failed(msg, "fstat");
	if (ret)
		return ret;
	close(rs_steal_fd(&fd));
	ret = rs_play_rename(msg, n->temp, n->head);
	return ret ? ret : rs_play_sync_dir(msg, n->dir);
}

/* one line at the end of a file that may be new */
static int append(struct rs_play_msg *msg, const char *path, unsigned int size,
		  bool sync)
{
	RS_AUTO_FD int fd =
		open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
	int ret;

	if (fd < 0)
		return rs_play_failed(msg, "open");
	ret = rs_play_write(msg, fd, size);
	if (!ret && sync)
		ret = rs_play_sync(msg, fd);
	return ret;
}

static int accept_one(const struct rs_play_opts *opts, struct rs_play_msg *msg)
{
	RS_AUTO_FD int fd = -1;
	struct names n;
	int ret;

	(void)opts;
	name(msg, &n);
	ret = made(msg, n.data, &fd);
	if (!ret)
		ret = lock(msg, fd);
	if (!ret)
		ret = rs_play_write(msg, fd, LINE);
	if (!ret)
		ret = rs_play_write(msg, fd, msg->size);
	if (!ret)
		ret = rs_play_sync(msg, fd);
	if (!ret)
		ret = write_head(msg, &n);
	if (!ret)
		ret = append(msg, n.log, LOG, false);
	rs_play_end(msg);
	return ret;
}

static int deliver(const struct rs_play_opts *opts, struct rs_play_msg *msg)
{
	struct names n;
	int ret;

	(void)opts;
	name(msg, &n);
	ret = rs_play_read(msg, n.data, msg->size + LINE);
	if (!ret)
		ret = rs_play_read(msg, n.head, RS_PLAY_HEAD);
	if (!ret)
		ret = append(msg, n.journal, LINE, true);
	if (!ret)
		ret = append(msg, n.log, LOG, false);
	if (!ret)
		ret = rs_play_unlink(msg, n.log);
	if (!ret)
		ret = rs_play_unlink(msg, n.data);
	if (!ret)
		ret = rs_play_unlink(msg, n.head);
	return ret ? ret : rs_play_unlink(msg, n.journal);
}

const struct rs_play_mta rs_play_exim = { "exim", prepare, accept_one,
					  deliver };
