/*
 * daemon_ctl.c - the control socket's server.
 *
 * One thread accepts, one thread serves each client, a few at a time. Peers
 * are root or our own user (SO_PEERCRED); whatever they send, only they wait
 * for it: reads and writes have a time limit, lines a length limit, and
 * nothing is done under a lock that the spool's work needs.
 *
 * The answer to umount is sent when all is on disk, so its thread outlives
 * the mount: rs_ctl_stop() waits for it.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <poll.h>
#include <signal.h>

#include "tools/daemon.h"
#include "tools/daemon_log.h"
#include "tools/lib_ctl.h"
#include "tools/lib_pids.h"

#define CLIENTS_MAX 32u /* more wait until one is done */
#define IO_SECONDS 10
#define IDLE_MS 200u /* without a question, when others wait */
#define STOP_SECONDS 3
#define BUSY_TRIES 40 /* of 50 ms and a look at /proc */

struct rs_ctl_server {
	struct rs_daemon *daemon;
	struct sockaddr_un addr;
	int fd, stop; /* listening socket; eventfd */
	pthread_t thread;
	pthread_mutex_t lock; /* clients, refs */
	pthread_cond_t idle;
	unsigned int clients;
	int client_fd[CLIENTS_MAX]; /* -1: free */
	/* ms of the daemon's clock since when it has asked nothing; 0: it has */
	uint64_t idle_since[CLIENTS_MAX];
};

struct client {
	struct rs_ctl_server *server;
	unsigned int slot;
	int fd;
};

static int send_reply(int fd, json_t *reply)
{
	char *line = reply ? json_dumps(reply, JSON_COMPACT) : NULL;
	size_t len, done = 0;
	ssize_t n = 0;

	json_decref(reply);
	if (!line)
		return -ENOMEM;
	len = strlen(line);
	line[len++] = '\n'; /* in place of the NUL */
	while (done < len) {
		n = send(fd, line + done, len - done, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	free(line);
	return done == len ? 0 : -EPIPE;
}

static json_t *failure(int err, const char *text)
{
	return json_pack("{s:b, s:s, s:i}", "ok", 0, "error", text, "code",
			 -err);
}

static json_t *success(void)
{
	return json_pack("{s:b}", "ok", 1);
}

static json_t *do_sync(struct rs_daemon *d)
{
	int err;

	/* what can't be appended is told by the barrier itself */
	(void)!rs_core_log_times(d->core);
	err = rs_journal_sync(d->journal);
	if (err)
		return failure(err, "the log is broken, what came after that"
				    " is not on disk");
	return success();
}

static json_t *busy(struct rs_daemon *d, const char *text)
{
	json_t *reply = failure(-EBUSY, text), *list = json_array();
	struct rs_pids pids;
	unsigned int i;

	rs_pids_find(rs_ll_dev(d->ll), &pids);
	for (i = 0; i < pids.n; i++)
		json_array_append_new(list, json_pack("{s:i, s:s}", "pid",
						      (int)pids.pid[i], "name",
						      pids.name[i]));
	json_object_set_new(reply, "pids", list);
	return reply;
}

static int serving(struct rs_daemon *d)
{
	int yes;

	pthread_mutex_lock(&d->lock);
	yes = d->phase == RS_DAEMON_SERVING;
	pthread_mutex_unlock(&d->lock);
	return yes;
}

/* Until the main thread has brought everything to disk. */
static int wait_end(struct rs_daemon *d)
{
	int err;

	pthread_mutex_lock(&d->lock);
	while (d->phase != RS_DAEMON_ENDED)
		pthread_cond_wait(&d->change, &d->lock);
	err = d->end_err;
	pthread_mutex_unlock(&d->lock);
	return err;
}

/* Has the end begun, or does it within a second? */
static int ends_soon(struct rs_daemon *d)
{
	struct timespec ts;
	int yes, err = 0;

	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_sec++;
	pthread_mutex_lock(&d->lock);
	while (d->phase == RS_DAEMON_SERVING && !err)
		err = pthread_cond_timedwait(&d->change, &d->lock, &ts);
	yes = d->phase != RS_DAEMON_SERVING;
	pthread_mutex_unlock(&d->lock);
	return yes;
}

static void set_fast(struct rs_daemon *d, int fast)
{
	pthread_mutex_lock(&d->lock);
	if (d->phase == RS_DAEMON_SERVING)
		d->fast = fast;
	pthread_mutex_unlock(&d->lock);
}

/*
 * Whoever looks at the mount for a moment (a status command, the end of a
 * process) makes it busy; only who stays is named.
 */
static int umount_patiently(struct rs_daemon *d)
{
	const struct timespec nap = { .tv_nsec = 50000000 };
	struct rs_pids pids;
	int i, err;

	for (i = 0;; i++) {
		err = rs_ll_umount(d->ll);
		if (err != -EBUSY || i == BUSY_TRIES)
			return err;
		rs_pids_find(rs_ll_dev(d->ll), &pids);
		if (pids.n && i >= BUSY_TRIES / 4)
			return err;
		nanosleep(&nap, NULL);
	}
}

static json_t *do_umount(struct rs_daemon *d, const struct rs_ctl_req *req)
{
	int err;

	/* detached by somebody? then its last user's end ends us */
	if (!rs_ll_is_mounted(d->ll) && !ends_soon(d))
		return busy(d, "detached, but still in use");
	set_fast(d, req->fast);
	err = umount_patiently(d);
	if (err) {
		set_fast(d, 0);
		return err == -EBUSY ? busy(d, "the mount is in use")
				     : failure(err, strerror(-err));
	}
	err = wait_end(d);
	if (err)
		return failure(err, "unmounted, but the log is broken: run"
				    " rspoolctl recover");
	return success();
}

static json_t *do_interval(struct rs_daemon *d, const struct rs_ctl_req *req)
{
	rs_journal_set_flush_interval(d->journal, req->ms);
	pthread_mutex_lock(&d->lock);
	d->opts.flush_interval = req->ms;
	pthread_mutex_unlock(&d->lock);
	rs_log(LOG_INFO, "flush_interval is %u ms now", req->ms);
	return success();
}

static json_t *answer(struct rs_daemon *d, const char *line, size_t len)
{
	struct rs_ctl_req req;
	const char *why;

	if (rs_ctl_parse(line, len, &req, &why))
		return failure(-EINVAL, why);
	if (req.cmd != RS_CTL_STATUS && req.cmd != RS_CTL_UMOUNT && !serving(d))
		return failure(-ESHUTDOWN, "the daemon is ending");
	switch (req.cmd) {
	case RS_CTL_STATUS:
		return rs_daemon_status(d);
	case RS_CTL_SYNC:
		return do_sync(d);
	case RS_CTL_UMOUNT:
		return do_umount(d, &req);
	case RS_CTL_FLUSH_INTERVAL:
		return do_interval(d, &req);
	case RS_CTL_SIZES:
		return rs_daemon_sizes(d, &req.sizes);
	case RS_CTL_POLICY:
		return rs_daemon_policy(d, &req);
	}
	return failure(-EINVAL, "unknown command");
}

/* Answer each whole line at the front of buf; what is left stays. */
static int serve_lines(struct rs_daemon *d, int fd, char *buf, size_t *len)
{
	char *end;
	size_t n;

	while ((end = memchr(buf, '\n', *len))) {
		n = (size_t)(end - buf);
		if (send_reply(fd, answer(d, buf, n)))
			return -EPIPE;
		*len -= n + 1;
		memmove(buf, end + 1, *len);
	}
	if (*len < RS_CTL_LINE_MAX)
		return 0;
	send_reply(fd, failure(-EINVAL, "line too long"));
	return -EINVAL;
}

static int is_allowed(int fd)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len))
		return 0;
	return cred.uid == 0 || cred.uid == geteuid();
}

static void note_idle(const struct client *client, int idle)
{
	struct rs_ctl_server *server = client->server;

	pthread_mutex_lock(&server->lock);
	server->idle_since[client->slot] = idle ? rs_daemon_now_ms() : 0;
	pthread_mutex_unlock(&server->lock);
}

static void serve(const struct client *client)
{
	struct rs_daemon *d = client->server->daemon;
	int fd = client->fd;
	const struct timeval limit = { .tv_sec = IO_SECONDS };
	char buf[RS_CTL_LINE_MAX];
	size_t len = 0;
	ssize_t n;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (!is_allowed(fd)) {
		send_reply(fd, failure(-EACCES, "not allowed"));
		return;
	}
	for (;;) {
		note_idle(client, 1);
		n = recv(fd, buf + len, sizeof(buf) - len, 0);
		note_idle(client, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		len += (size_t)n;
		if (serve_lines(d, fd, buf, &len))
			return;
	}
}

static void *client_main(void *arg)
{
	struct client *client = arg;
	struct rs_ctl_server *server = client->server;

	pthread_setname_np(pthread_self(), "rs-client");
	serve(client);
	pthread_mutex_lock(&server->lock);
	server->client_fd[client->slot] = -1;
	server->clients--;
	close(client->fd);
	pthread_cond_signal(&server->idle);
	pthread_mutex_unlock(&server->lock);
	free(client);
	return NULL;
}

/* A free slot for fd, or -1. */
static int take_slot(struct rs_ctl_server *server, int fd)
{
	int i, slot = -1;

	pthread_mutex_lock(&server->lock);
	for (i = 0; i < (int)CLIENTS_MAX && slot < 0; i++)
		if (server->client_fd[i] < 0)
			slot = i;
	if (slot >= 0) {
		server->client_fd[slot] = fd;
		server->clients++;
	}
	pthread_mutex_unlock(&server->lock);
	return slot;
}

static void give_slot(struct rs_ctl_server *server, int slot)
{
	pthread_mutex_lock(&server->lock);
	server->client_fd[slot] = -1;
	server->clients--;
	pthread_mutex_unlock(&server->lock);
}

static void start_client(struct rs_ctl_server *server, int fd)
{
	struct client *client = malloc(sizeof(*client));
	int slot = client ? take_slot(server, fd) : -1;
	pthread_attr_t attr;
	pthread_t thread;
	int err;

	if (slot < 0) {
		free(client);
		close(fd);
		return;
	}
	*client = (struct client){ server, (unsigned int)slot, fd };
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	err = pthread_create(&thread, &attr, client_main, client);
	pthread_attr_destroy(&attr);
	if (!err)
		return;
	give_slot(server, slot);
	free(client);
	close(fd);
}

/* Who asks nothing must not keep others from asking. */
static void end_idlest(struct rs_ctl_server *server)
{
	uint64_t now = rs_daemon_now_ms(), since;
	unsigned int i, slot = CLIENTS_MAX;

	for (i = 0; i < CLIENTS_MAX; i++) {
		since = server->idle_since[i];
		if (since && since + IDLE_MS <= now &&
		    (slot == CLIENTS_MAX || since < server->idle_since[slot]))
			slot = i;
	}
	if (slot < CLIENTS_MAX && server->client_fd[slot] >= 0)
		shutdown(server->client_fd[slot], SHUT_RD);
}

static int is_full(struct rs_ctl_server *server)
{
	int full;

	pthread_mutex_lock(&server->lock);
	full = server->clients == CLIENTS_MAX;
	if (full)
		end_idlest(server);
	pthread_mutex_unlock(&server->lock);
	return full;
}

static void *server_main(void *arg)
{
	struct rs_ctl_server *server = arg;
	struct pollfd pfd[2] = {
		{ .fd = server->fd, .events = POLLIN },
		{ .fd = server->stop, .events = POLLIN },
	};
	struct timespec pause = { .tv_nsec = 20000000 };
	int fd;

	pthread_setname_np(pthread_self(), "rs-control");
	for (;;) {
		if (poll(pfd, 2, -1) < 0 && errno != EINTR)
			return NULL;
		if (pfd[1].revents)
			return NULL;
		if (!pfd[0].revents)
			continue;
		if (is_full(server)) {
			nanosleep(&pause, NULL);
			continue;
		}
		/* cppcheck-suppress nullPointer; accept(2) allows it */
		fd = accept4(server->fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0)
			start_client(server, fd);
		else if (errno != EINTR && errno != ECONNABORTED)
			nanosleep(&pause, NULL); /* out of descriptors */
	}
}

static int listen_at(const struct sockaddr_un *addr)
{
	RS_AUTO_FD int fd = -1;

	if (mkdir(RS_CTL_DIR, 0755) && errno != EEXIST)
		return -errno;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	/* ours by the lock on the store: a leftover of a dead daemon */
	if (unlink(addr->sun_path) && errno != ENOENT)
		return -errno;
	/* umask 077 gives the socket mode 0700 */
	if (bind(fd, (const struct sockaddr *)addr, sizeof(*addr)))
		return -errno;
	if (chmod(addr->sun_path, 0600) || listen(fd, 16))
		return -errno;
	return rs_steal_fd(&fd);
}

static int start_server(struct rs_ctl_server *server)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	err = pthread_create(&server->thread, NULL, server_main, server);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -err;
}

static void free_server(struct rs_ctl_server *server)
{
	if (server->fd >= 0) {
		unlink(server->addr.sun_path);
		close(server->fd);
	}
	if (server->stop >= 0)
		close(server->stop);
	pthread_cond_destroy(&server->idle);
	pthread_mutex_destroy(&server->lock);
	free(server);
}

int rs_ctl_start(struct rs_daemon *d)
{
	struct rs_ctl_server *server = calloc(1, sizeof(*server));
	size_t i;
	int err = 0;

	if (!server)
		return -ENOMEM;
	server->daemon = d;
	for (i = 0; i < CLIENTS_MAX; i++)
		server->client_fd[i] = -1;
	pthread_mutex_init(&server->lock, NULL);
	pthread_cond_init(&server->idle, NULL);
	rs_ctl_address(rs_journal_marker(d->journal)->id, &server->addr);
	server->stop = eventfd(0, EFD_CLOEXEC);
	server->fd = listen_at(&server->addr);
	if (server->stop < 0 || server->fd < 0)
		err = server->fd < 0 ? server->fd : -EMFILE;
	if (!err)
		err = start_server(server);
	if (err) {
		free_server(server);
		return err;
	}
	d->ctl = server;
	return 0;
}

/* Idle clients see the end of their input; busy ones finish their answer. */
static void end_input(struct rs_ctl_server *server)
{
	size_t i;

	for (i = 0; i < CLIENTS_MAX; i++)
		if (server->client_fd[i] >= 0)
			shutdown(server->client_fd[i], SHUT_RD);
}

int rs_ctl_stop(struct rs_daemon *d)
{
	struct rs_ctl_server *server = d->ctl;
	const uint64_t one = 1;
	struct timespec ts;
	ssize_t n;
	int left;

	if (!server)
		return 0;
	n = write(server->stop, &one, sizeof(one));
	(void)n; /* an eventfd takes it always */
	pthread_join(server->thread, NULL);
	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_sec += STOP_SECONDS;
	pthread_mutex_lock(&server->lock);
	end_input(server);
	while (server->clients &&
	       pthread_cond_timedwait(&server->idle, &server->lock, &ts) == 0)
		;
	left = server->clients != 0;
	pthread_mutex_unlock(&server->lock);
	d->ctl = NULL;
	if (!left)
		free_server(server);
	else
		unlink(server->addr.sun_path);
	return left;
}
