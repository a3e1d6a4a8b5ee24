/*
 * lib_ask.c - the client's side of the control socket.
 */
#include <errno.h>
#include <glob.h>
#include <poll.h>
#include <sys/pidfd.h>
#include <time.h>

#include "tools/lib_ctl.h"

#define STEP_MS 200
/* a daemon that doesn't answer in this time is passed over */
#define FIND_SECONDS 5

static int connect_to(const struct sockaddr_un *addr, int *ret_fd)
{
	RS_AUTO_FD int fd = -1;

	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)addr, sizeof(*addr)))
		return -errno;
	*ret_fd = rs_steal_fd(&fd);
	return 0;
}

int rs_ctl_connect(const uint8_t id[RS_ID_LEN], pid_t *ret_pid, int *ret_fd)
{
	struct sockaddr_un addr;
	RS_AUTO_FD int fd = -1;
	struct ucred cred;
	socklen_t len = sizeof(cred);
	int err;

	rs_ctl_address(id, &addr);
	err = connect_to(&addr, &fd);
	if (err)
		return err;
	if (ret_pid) {
		if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len))
			return -errno;
		*ret_pid = cred.pid;
	}
	*ret_fd = rs_steal_fd(&fd);
	return 0;
}

static int send_all(int fd, const char *text, size_t len)
{
	ssize_t n;

	while (len > 0) {
		n = send(fd, text, len, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		len -= (size_t)n;
	}
	return 0;
}

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* Until fd can be read; end 0: no limit. */
static int wait_readable(int fd, uint64_t end,
			 void (*step)(void *, uint64_t, uint64_t), void *arg)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	for (;;) {
		int n = poll(&pfd, 1, STEP_MS);

		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (step)
			step(arg, 0, 0);
		if (end && now_ms() > end)
			return -ETIMEDOUT;
	}
}

struct reply {
	char *buf;
	size_t len, size;
};

static int more_room(struct reply *r)
{
	size_t size = r->size ? r->size * 2 : 16384;
	char *buf;

	if (r->len < r->size)
		return 0;
	if (size > RS_CTL_REPLY_MAX)
		return -EBADMSG;
	buf = realloc(r->buf, size);
	if (!buf)
		return -ENOMEM;
	r->buf = buf;
	r->size = size;
	return 0;
}

int rs_ctl_ask(int fd, json_t *req, unsigned int seconds,
	       void (*step)(void *, uint64_t, uint64_t), void *arg,
	       json_t **ret_reply)
{
	RS_AUTO_FREE char *line = json_dumps(req, JSON_COMPACT);
	uint64_t end = seconds ? now_ms() + (uint64_t)seconds * 1000 : 0;
	struct reply r = { 0 };
	json_error_t error;
	ssize_t n;
	int err;

	if (!line)
		return -ENOMEM;
	err = send_all(fd, line, strlen(line));
	if (!err)
		err = send_all(fd, "\n", 1);
	while (!err && !(r.len && r.buf[r.len - 1] == '\n')) {
		err = wait_readable(fd, end, step, arg);
		if (!err)
			err = more_room(&r);
		if (err)
			break;
		n = recv(fd, r.buf + r.len, r.size - r.len, 0);
		if (n > 0)
			r.len += (size_t)n;
		else if (n == 0)
			err = -EPIPE;
		else if (errno != EINTR)
			err = -errno;
	}
	if (!err) {
		*ret_reply = json_loadb(r.buf, r.len, 0, &error);
		err = *ret_reply ? 0 : -EBADMSG;
	}
	free(r.buf);
	return err;
}

static int serves(int fd, const char *mnt)
{
	json_t *req = json_pack("{s:s}", "cmd", "status"), *reply;
	const char *at;
	int err, yes;

	err = req ? rs_ctl_ask(fd, req, FIND_SECONDS, NULL, NULL, &reply)
		  : -ENOMEM;
	json_decref(req);
	if (err)
		return 0;
	at = json_string_value(json_object_get(reply, "mount"));
	yes = at && !strcmp(at, mnt);
	json_decref(reply);
	return yes;
}

int rs_ctl_find(const char *mnt, int *ret_fd)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int err = -ENOENT;
	glob_t list;
	size_t i;

	if (glob(RS_CTL_DIR "/*.sock", 0, NULL, &list))
		return -ENOENT;
	for (i = 0; err && i < list.gl_pathc; i++) {
		RS_AUTO_FD int fd = -1;

		if (strlen(list.gl_pathv[i]) >= sizeof(addr.sun_path))
			continue;
		memcpy(addr.sun_path, list.gl_pathv[i],
		       strlen(list.gl_pathv[i]) + 1);
		if (connect_to(&addr, &fd) || !serves(fd, mnt))
			continue;
		*ret_fd = rs_steal_fd(&fd);
		err = 0;
	}
	globfree(&list);
	return err;
}

int rs_ctl_process(int fd)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) ||
	    cred.pid <= 0)
		return -1;
	return pidfd_open(cred.pid, 0);
}
