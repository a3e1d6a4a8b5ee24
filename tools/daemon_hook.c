/*
 * daemon_hook.c - commands of the administrator.
 *
 *	daemon --- socket: 'M', "Pwhy", 'B' ---> child --- fork, exec --> PROGRAM
 *	   `------ pidfd: is it alive? -----------^
 *
 * A death without 'B' before it is a loss. The child waits until the process
 * is wholly gone, so that the store's lock is free when on_lost runs.
 */
#include "tools/daemon_hook.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <syslog.h>
#include <time.h>

#include "tools/lib_say.h"

#define POLL_MS 50
/* Between SIGTERM and SIGKILL; seconds. */
#define GRACE 5
#define MESSAGE_MAX 256

static int to_child = -1;

/* ---- in the child ---- */

struct child {
	struct rs_hooks hooks;
	int sock, daemon; /* seqpacket socket, pidfd */
	int serving, bye;
};

static void note(const struct child *c, int priority, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void note(const struct child *c, int priority, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (c->hooks.foreground) {
		fputs("rspoold: ", stderr);
		vfprintf(stderr, fmt, ap);
		fputc('\n', stderr);
	} else {
		vsyslog(priority, fmt, ap);
	}
	va_end(ap);
}

static void run_program(const struct child *c, const char *program,
			const char *event, const char *why)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	setpgid(0, 0);
	clearenv();
	if (chdir("/") ||
	    setenv("PATH",
		   "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"
		   ":/sbin:/bin",
		   1) ||
	    setenv("RSPOOL_EVENT", event, 1) ||
	    setenv("RSPOOL_STORE", c->hooks.store, 1) ||
	    setenv("RSPOOL_MNT", c->hooks.mnt, 1) ||
	    setenv("RSPOOL_WHY", why, 1) ||
	    (c->hooks.profile[0] &&
	     setenv("RSPOOL_PROFILE", c->hooks.profile, 1)))
		_exit(126);
	execl(program, program, event, c->hooks.store, c->hooks.mnt, NULL);
	_exit(127);
}

/* 1 when it has ended. */
static int wait_ms(pid_t pid, unsigned int ms, int *ret_status)
{
	const struct timespec nap = { .tv_nsec = POLL_MS * 1000000 };

	for (;;) {
		if (waitpid(pid, ret_status, WNOHANG) == pid)
			return 1;
		if (ms < POLL_MS)
			return 0;
		nanosleep(&nap, NULL);
		ms -= POLL_MS;
	}
}

static void wait_program(const struct child *c, pid_t pid, const char *program,
			 const char *event)
{
	int status = 0;

	setpgid(pid, pid); /* whoever of the two is first */
	if (!wait_ms(pid, RS_HOOK_SECONDS * 1000, &status)) {
		kill(-pid, SIGTERM);
		if (!wait_ms(pid, GRACE * 1000, &status))
			kill(-pid, SIGKILL);
		note(c, LOG_ERR, "'%s' (on_%s) did not end within %d s",
		     program, event, RS_HOOK_SECONDS);
	} else if (WIFSIGNALED(status)) {
		note(c, LOG_ERR, "'%s' (on_%s) died from signal %d", program,
		     event, WTERMSIG(status));
	} else if (WEXITSTATUS(status)) {
		note(c, LOG_ERR, "'%s' (on_%s) ended with %d%s", program, event,
		     WEXITSTATUS(status),
		     WEXITSTATUS(status) == 127 ? ": it can't be run" : "");
	} else {
		note(c, LOG_INFO, "'%s' (on_%s) was run", program, event);
	}
}

static void run(const struct child *c, const char *program, const char *event,
		const char *why)
{
	pid_t pid;

	if (!program)
		return;
	pid = fork();
	if (pid == 0)
		run_program(c, program, event, why);
	if (pid > 0)
		wait_program(c, pid, program, event);
	else
		note(c, LOG_ERR, "cannot run '%s' (on_%s): %s", program, event,
		     strerror(errno));
}

/* 0: the daemon closed its end. */
static int take_message(struct child *c)
{
	char text[MESSAGE_MAX + 1];
	ssize_t n = recv(c->sock, text, MESSAGE_MAX, MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (n == 0)
		return 0;
	text[n] = '\0';
	switch (text[0]) {
	case 'M':
		c->serving = 1;
		run(c, c->hooks.on_mount, "mount", "");
		break;
	case 'P':
		run(c, c->hooks.on_poison, "poison", text + 1);
		break;
	case 'B':
		c->bye = 1;
		break;
	}
	return 1;
}

static void wait_death(struct child *c)
{
	struct pollfd pfd[2] = {
		{ .fd = c->daemon, .events = POLLIN },
		{ .fd = c->sock, .events = POLLIN },
	};

	while (!pfd[0].revents) {
		if (poll(pfd, 2, -1) < 0 && errno != EINTR)
			_exit(RS_EXIT_FAILED);
		if (pfd[1].revents && !take_message(c))
			pfd[1].fd = -1;
	}
	/* what it had still to say */
	while (pfd[1].fd >= 0 && poll(&pfd[1], 1, 0) > 0 && take_message(c))
		;
}

static void stdio_to_null(int foreground)
{
	int null = open("/dev/null", O_RDWR);

	if (null < 0)
		return;
	dup2(null, STDIN_FILENO);
	if (!foreground) {
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
	}
	if (null > STDERR_FILENO)
		close(null);
}

/* Hold nothing that is the daemon's, but its socket and pidfd. */
static void close_others(struct child *c)
{
	unsigned int a = (unsigned int)c->sock, b = (unsigned int)c->daemon;
	unsigned int lo = a < b ? a : b, hi = a < b ? b : a;

	stdio_to_null(c->hooks.foreground);
	if (lo > 3)
		close_range(3, lo - 1, 0);
	if (hi > lo + 1)
		close_range(lo + 1, hi - 1, 0);
	close_range(hi + 1, ~0U, 0);
}

static void child_main(struct child *c)
{
	prctl(PR_SET_NAME, "rspoold-hooks", 0, 0, 0);
	/* what ends the daemon by a key or a terminal's end is not for us */
	setpgid(0, 0);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	close_others(c);
	if (!c->hooks.foreground)
		openlog("rspoold", LOG_PID, LOG_DAEMON);
	wait_death(c);
	if (!c->serving || c->bye)
		_exit(RS_EXIT_OK);
	note(c, LOG_CRIT, "the daemon of '%s' is dead", c->hooks.mnt);
	run(c, c->hooks.on_lost, "lost", "the daemon is dead");
	_exit(RS_EXIT_OK);
}

/* ---- in the daemon ---- */

int rs_hook_init(const struct rs_hooks *hooks)
{
	struct child c = { .hooks = *hooks };
	RS_AUTO_FD int daemon = -1;
	int sock[2], err = 0;
	pid_t pid;

	if (!hooks->on_mount && !hooks->on_poison && !hooks->on_lost)
		return 0;
	daemon = pidfd_open(getpid(), 0);
	if (daemon < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock))
		return -errno;
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		err = -errno;
	c.sock = sock[0];
	c.daemon = daemon;
	if (pid == 0) {
		close(sock[1]);
		child_main(&c);
	}
	close(sock[0]);
	if (err)
		close(sock[1]);
	else
		to_child = sock[1];
	return err;
}

static void tell(const char *text)
{
	ssize_t n;

	if (to_child < 0)
		return;
	n = send(to_child, text, strnlen(text, MESSAGE_MAX),
		 MSG_NOSIGNAL | MSG_DONTWAIT);
	(void)n; /* if somebody killed it there are no hooks any more */
}

void rs_hook_mounted(void)
{
	tell("M");
}

void rs_hook_poisoned(const char *why)
{
	char text[MESSAGE_MAX];

	snprintf(text, sizeof(text), "P%s", why);
	tell(text);
}

void rs_hook_bye(void)
{
	tell("B");
}
