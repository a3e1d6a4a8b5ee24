/*
 * ctl.c - the control socket's server: one thread, one command at a time, so
 * that commands have an order.
 */
#include "tests/disk/ctl.h"

#include "tests/disk/wire.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

static int split(char *line, char **words)
{
	char *save = NULL, *word;
	int n = 0;

	for (word = strtok_r(line, " \n", &save); word;
	     word = strtok_r(NULL, " \n", &save)) {
		if (n == RS_DCTL_WORDS)
			return -E2BIG;
		words[n++] = word;
	}
	return n;
}

static void serve(struct rs_dctl *c, int fd)
{
	char line[RS_DCTL_LINE_MAX], *words[RS_DCTL_WORDS];
	RS_AUTO_FREE char *text = NULL;
	size_t len = 0;
	FILE *out;
	int n = rs_dwire_read_line(fd, line, sizeof(line));

	if (n < 0)
		return;
	out = open_memstream(&text, &len);
	if (!out)
		return;
	n = split(line, words);
	if (n > 0)
		rs_dctl_run(c, n, words, out);
	else
		fprintf(out, "error: no command, or too many words\n");
	fclose(out);
	/* A client that went away misses only its answer. */
	(void)!rs_dwire_write(fd, text, len);
}

static void *ctl_thread(void *arg)
{
	struct rs_dctl *c = arg;
	struct pollfd fds[] = { { .fd = c->listen_fd, .events = POLLIN },
				{ .fd = c->stop_fd, .events = POLLIN } };

	for (;;) {
		int fd;

		if (poll(fds, RS_ARRAY_LEN(fds), -1) < 0 && errno != EINTR)
			return NULL;
		if (fds[1].revents)
			return NULL;
		fd = accept4(c->listen_fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			continue;
		serve(c, fd);
		close(fd);
	}
}

static int start_thread(struct rs_dctl *c)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&c->thread, NULL, ctl_thread, c);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -err;
}

int rs_dctl_init(struct rs_dctl *c, struct rs_disk *disk, const char *image,
		 const char *sock)
{
	int err;

	*c = (struct rs_dctl){
		.disk = disk, .image = image, .sock = sock, .stop_fd = -1
	};
	err = rs_dwire_listen(sock, &c->listen_fd);
	if (err)
		return err;
	c->stop_fd = eventfd(0, EFD_CLOEXEC);
	err = c->stop_fd < 0 ? -errno : start_thread(c);
	if (!err)
		return 0;
	if (c->stop_fd >= 0)
		close(c->stop_fd);
	close(c->listen_fd);
	unlink(sock);
	return err;
}

void rs_dctl_release(struct rs_dctl *c)
{
	eventfd_write(c->stop_fd, 1);
	pthread_join(c->thread, NULL);
	close(c->stop_fd);
	close(c->listen_fd);
	unlink(c->sock);
}
