/*
 * deliver.c - what cleanup(8) and qmgr(8) call for one message, in their
 * order. Paths, not descriptors of directories: Postfix does the same.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "include/rs_base.h"
#include "replay.h"

#define RS_NSEC UINT64_C(1000000000)

static uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * RS_NSEC + (uint64_t)ts.tv_nsec;
}

/* A time to come, odd in every digit, so that lost nanoseconds show. */
static uint64_t time_to_come(uint64_t seed)
{
	return clock_ns(CLOCK_REALTIME) + 600 * RS_NSEC +
	       rs_mix(seed) % RS_NSEC;
}

static struct timespec timespec_of(uint64_t ns)
{
	struct timespec ts = { .tv_sec = (time_t)(ns / RS_NSEC),
			       .tv_nsec = (long)(ns % RS_NSEC) };

	return ts;
}

static int failed(const char *call, const char **ret_call)
{
	*ret_call = call;
	return -errno;
}

static int write_bytes(int fd, const struct rs_message *msg)
{
	unsigned char buf[RS_REPLAY_PIECE];
	unsigned int off = 0, part;
	ssize_t got;

	while (off < msg->size) {
		part = msg->size - off;
		if (part > sizeof(buf))
			part = sizeof(buf);
		rs_fill(msg->seed, off, buf, part);
		got = write(fd, buf, part);
		if (got < 0)
			return -1;
		if (got != (ssize_t)part) {
			errno = EIO; /* no test of ours is short of space */
			return -1;
		}
		off += part;
	}
	return 0;
}

static int set_mtime(int fd, const char *path, uint64_t ns)
{
	struct timespec ts[2] = { { .tv_nsec = UTIME_OMIT }, timespec_of(ns) };

	if (path)
		return utimensat(AT_FDCWD, path, ts, 0);
	return futimens(fd, ts);
}

/* The mtime that the ledger promises: the one set, or the one seen. */
static int stamp(const struct rs_replay_opts *opts, int fd,
		 const struct rs_message *msg, uint64_t *ret_ns)
{
	if (!opts->set_times) {
		*ret_ns = 0;
		return 0;
	}
	*ret_ns = time_to_come(msg->seed);
	return set_mtime(fd, NULL, *ret_ns);
}

/* From the open file on: the bytes, the mode, and the promise. */
static int fill_and_sync(const struct rs_replay_opts *opts, int ledger, int fd,
			 const struct rs_message *msg, uint32_t *ret_fsync_us,
			 const char **ret_call)
{
	uint64_t mtime, start;

	if (write_bytes(fd, msg))
		return failed("write", ret_call);
	if (fchmod(fd, 0700))
		return failed("fchmod", ret_call);
	if (stamp(opts, fd, msg, &mtime))
		return failed("futimens", ret_call);
	start = clock_ns(CLOCK_MONOTONIC);
	if (!opts->no_fsync && fsync(fd))
		return failed("fsync", ret_call);
	*ret_fsync_us = (uint32_t)((clock_ns(CLOCK_MONOTONIC) - start) / 1000);
	rs_ledger_line(ledger, "A %s %" PRIu64 "\n", msg->key, mtime);
	return 0;
}

int rs_deliver(const struct rs_replay_opts *opts, int ledger,
	       struct rs_message *msg, uint32_t *ret_fsync_us,
	       const char **ret_call)
{
	char temp[RS_REPLAY_PATH], path[RS_REPLAY_PATH],
		name[RS_REPLAY_KEY + 2];
	RS_AUTO_FD int fd = -1;
	struct stat st;
	int ret;

	rs_ledger_line(ledger, "S %s %u %" PRIu64 "\n", msg->key, msg->size,
		       msg->seed);
	snprintf(name, sizeof(name), "t.%s", msg->key);
	rs_replay_path(opts, "incoming", name, temp);
	fd = open(temp, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		return failed("open", ret_call);
	if (fstat(fd, &st))
		return failed("fstat", ret_call);
	msg->ino = st.st_ino;
	snprintf(msg->name, sizeof(msg->name), "%" PRIX64, msg->ino);
	rs_ledger_line(ledger, "I %s %s\n", msg->key, msg->name);
	rs_replay_path(opts, "incoming", msg->name, path);
	if (rename(temp, path))
		return failed("rename", ret_call);
	ret = fill_and_sync(opts, ledger, fd, msg, ret_fsync_us, ret_call);
	if (ret)
		return ret;
	if (close(rs_steal_fd(&fd)))
		return failed("close", ret_call);
	return 0;
}

static int read_all(const char *path, const struct rs_message *msg,
		    const char **ret_call)
{
	RS_AUTO_FD int fd = open(path, O_RDWR);
	unsigned char buf[RS_REPLAY_PIECE], want[RS_REPLAY_PIECE];
	unsigned int off = 0;
	ssize_t got;

	if (fd < 0)
		return failed("open", ret_call);
	while ((got = read(fd, buf, sizeof(buf))) > 0) {
		rs_fill(msg->seed, off, want, (size_t)got);
		off += (unsigned int)got;
		if (off > msg->size || memcmp(buf, want, (size_t)got) != 0) {
			errno = EBADMSG;
			return failed("compare", ret_call);
		}
	}
	if (got == 0 && off != msg->size) {
		errno = EBADMSG;
		return failed("compare", ret_call);
	}
	return got < 0 ? failed("read", ret_call) : 0;
}

static int defer(const struct rs_replay_opts *opts, int ledger,
		 const char *path, const struct rs_message *msg,
		 const char **ret_call)
{
	char to[RS_REPLAY_PATH];
	uint64_t mtime = time_to_come(msg->seed + 1);

	rs_ledger_line(ledger, "T %s %" PRIu64 "\n", msg->key, mtime);
	if (set_mtime(-1, path, mtime))
		return failed("utimensat", ret_call);
	rs_replay_path(opts, "deferred", msg->name, to);
	return rename(path, to) ? failed("rename", ret_call) : 0;
}

int rs_manage(const struct rs_replay_opts *opts, int ledger,
	      const struct rs_message *msg, const char **ret_call)
{
	char from[RS_REPLAY_PATH], path[RS_REPLAY_PATH];
	int i, ret;

	rs_replay_path(opts, "incoming", msg->name, from);
	rs_replay_path(opts, "active", msg->name, path);
	if (rename(from, path))
		return failed("rename", ret_call);
	for (i = 0; i < 2; i++) {
		ret = read_all(path, msg, ret_call);
		if (ret)
			return ret;
	}
	if (msg->kept)
		return defer(opts, ledger, path, msg, ret_call);
	rs_ledger_line(ledger, "D %s\n", msg->key);
	if (unlink(path))
		return failed("unlink", ret_call);
	rs_ledger_line(ledger, "R %s\n", msg->key);
	return 0;
}
