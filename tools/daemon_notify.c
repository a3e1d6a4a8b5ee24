/*
 * daemon_notify.c - telling systemd.
 *
 * The protocol is so small that libsystemd, which the machine may not even
 * have, would bring more than it saves.
 */
#include "tools/daemon_notify.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "tools/lib_size.h"

static struct {
	struct sockaddr_un addr;
	socklen_t len; /* 0: nobody listens */
	unsigned int watchdog;
} to;

static void take_socket(const char *path)
{
	size_t len = path ? strlen(path) : 0;

	if (len < 2 || len >= sizeof(to.addr.sun_path) ||
	    (path[0] != '/' && path[0] != '@'))
		return;
	to.addr.sun_family = AF_UNIX;
	memcpy(to.addr.sun_path, path, len);
	if (path[0] == '@') /* an abstract name */
		to.addr.sun_path[0] = '\0';
	to.len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
}

static void take_watchdog(const char *usec, const char *pid)
{
	uint64_t us, for_pid;

	if (pid &&
	    (rs_number_parse(pid, &for_pid) || for_pid != (uint64_t)getpid()))
		return;
	if (!usec || rs_number_parse(usec, &us) || us / 1000 > UINT32_MAX)
		return;
	to.watchdog = (unsigned int)(us / 1000);
}

void rs_notify_init(void)
{
	take_socket(getenv("NOTIFY_SOCKET"));
	take_watchdog(getenv("WATCHDOG_USEC"), getenv("WATCHDOG_PID"));
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
}

void rs_notify(const char *fmt, ...)
{
	RS_AUTO_FD int fd = -1;
	char text[512];
	va_list ap;
	ssize_t sent;
	int n;

	if (!to.len)
		return;
	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	if ((size_t)n >= sizeof(text))
		n = (int)sizeof(text) - 1;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	sent = sendto(fd, text, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT,
		      (const struct sockaddr *)&to.addr, to.len);
	(void)sent; /* who doesn't listen misses it */
}

unsigned int rs_notify_watchdog(void)
{
	return to.len ? to.watchdog : 0;
}
