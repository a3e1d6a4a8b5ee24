/* play_io.c - single calls, and the clock of the durable step. */
#include "tests/bench/play.h"

#include "include/rs_base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * UINT64_C(1000000000) +
	       (uint64_t)ts.tv_nsec;
}

void rs_play_begin(struct rs_play_msg *msg)
{
	if (!msg->began)
		msg->began = now_ns();
}

void rs_play_end(struct rs_play_msg *msg)
{
	msg->durable_us = (uint32_t)((now_ns() - msg->began) / 1000);
}

int rs_play_failed(struct rs_play_msg *msg, const char *call)
{
	msg->call = call;
	return -errno;
}

int rs_play_made(struct rs_play_msg *msg, const char *path, mode_t mode,
		 int *ret_fd)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);

	if (fd < 0)
		return rs_play_failed(msg, "open");
	*ret_fd = fd;
	return 0;
}

/* What is written doesn't matter here: tests/replay checks bytes. */
int rs_play_write(struct rs_play_msg *msg, int fd, unsigned int size)
{
	static const unsigned char text[RS_PLAY_PIECE] = "Received: from";
	unsigned int off, part;
	ssize_t n;

	for (off = 0; off < size; off += part) {
		part = size - off;
		if (part > RS_PLAY_PIECE)
			part = RS_PLAY_PIECE;
		n = write(fd, text, part);
		if (n >= 0 && n != (ssize_t)part) {
			errno = EIO; /* no run of ours is short of space */
			n = -1;
		}
		if (n < 0)
			return rs_play_failed(msg, "write");
	}
	return 0;
}

int rs_play_sync(struct rs_play_msg *msg, int fd)
{
	rs_play_begin(msg);
	return fsync(fd) ? rs_play_failed(msg, "fsync") : 0;
}

int rs_play_sync_dir(struct rs_play_msg *msg, const char *path)
{
	RS_AUTO_FD int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return rs_play_failed(msg, "open");
	rs_play_begin(msg);
	return fsync(fd) ? rs_play_failed(msg, "fsync") : 0;
}

int rs_play_read(struct rs_play_msg *msg, const char *path, unsigned int size)
{
	RS_AUTO_FD int fd = open(path, O_RDWR | O_CLOEXEC);
	unsigned char buf[RS_PLAY_PIECE];
	unsigned int off = 0;
	ssize_t n;

	if (fd < 0)
		return rs_play_failed(msg, "open");
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		off += (unsigned int)n;
	if (n == 0 && off != size) {
		errno = EBADMSG;
		n = -1;
	}
	return n < 0 ? rs_play_failed(msg, "read") : 0;
}

int rs_play_rename(struct rs_play_msg *msg, const char *from, const char *to)
{
	return rename(from, to) ? rs_play_failed(msg, "rename") : 0;
}

int rs_play_unlink(struct rs_play_msg *msg, const char *path)
{
	return unlink(path) ? rs_play_failed(msg, "unlink") : 0;
}

int rs_play_mkdir(struct rs_play_msg *msg, const char *path)
{
	return mkdir(path, 0700) ? rs_play_failed(msg, "mkdir") : 0;
}

int rs_play_dirs(const char *prefix, unsigned int n)
{
	char path[RS_PLAY_PATH];
	unsigned int i;

	for (i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s%u", prefix, i);
		if (mkdir(path, 0700) && errno != EEXIST)
			return -errno;
	}
	return 0;
}
