/* special.c - FIFOs and sockets on the mount (case B18). */
#include "posix.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void fifo(void)
{
	char buf[8] = "";
	int rw, r, w;

	MUST(mkfifo("fifo", 0622));
	CHECK(S_ISFIFO(px_stat("fifo").st_mode));
	FAILS(ENXIO, open("fifo", O_WRONLY | O_NONBLOCK));
	rw = px_open("fifo", O_RDWR | O_NONBLOCK);
	w = px_open("fifo", O_WRONLY | O_NONBLOCK);
	r = px_open("fifo", O_RDONLY | O_NONBLOCK);
	CHECK(write(w, "wake", 4) == 4);
	CHECK(read(r, buf, 8) == 4 && memcmp(buf, "wake", 4) == 0);
	FAILS(EAGAIN, read(r, buf, 8));
	close(r);
	close(w);
	close(rw);
}

static void address(struct sockaddr_un *sa, const char *name)
{
	memset(sa, 0, sizeof(*sa));
	sa->sun_family = AF_UNIX;
	snprintf(sa->sun_path, sizeof(sa->sun_path), "%s", name);
}

static void stream(void)
{
	struct sockaddr_un sa;
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int server;
	char buf[8] = "";

	address(&sa, "sock");
	CHECK(bind(listener, (struct sockaddr *)&sa, sizeof(sa)) == 0);
	CHECK(S_ISSOCK(px_stat("sock").st_mode));
	FAILS(ECONNREFUSED,
	      connect(client, (struct sockaddr *)&sa, sizeof(sa)));
	CHECK(listen(listener, 1) == 0);
	CHECK(connect(client, (struct sockaddr *)&sa, sizeof(sa)) == 0);
	server = accept(listener, NULL, NULL);
	CHECK(write(client, "hi", 2) == 2);
	CHECK(read(server, buf, 8) == 2 && memcmp(buf, "hi", 2) == 0);
	/* under another name, too: the inode is the socket */
	MUST(rename("sock", "sock2"));
	close(client);
	client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	address(&sa, "sock2");
	CHECK(connect(client, (struct sockaddr *)&sa, sizeof(sa)) == 0);
	FAILS(ENXIO, open("sock2", O_RDWR));
	close(server);
	close(client);
	close(listener);
	client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	FAILS(ECONNREFUSED,
	      connect(client, (struct sockaddr *)&sa, sizeof(sa)));
	close(client);
	MUST(rename("sock2", "sock"));
}

static void datagram(void)
{
	struct sockaddr_un sa;
	int log = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int client = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char buf[8] = "";

	address(&sa, "log");
	CHECK(bind(log, (struct sockaddr *)&sa, sizeof(sa)) == 0);
	FAILS(EADDRINUSE, bind(client, (struct sockaddr *)&sa, sizeof(sa)));
	CHECK(sendto(client, "line", 4, 0, (struct sockaddr *)&sa,
		     sizeof(sa)) == 4);
	CHECK(read(log, buf, 8) == 4);
	close(client);
	close(log);
}

/* "fifo", "sock" and "log" stay, to be found again after a crash. */
int px_special(int argc, char **argv)
{
	(void)argv;
	if (argc != 0)
		return 2;
	fifo();
	stream();
	datagram();
	return 0;
}
