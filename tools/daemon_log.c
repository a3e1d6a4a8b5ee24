/*
 * daemon_log.c - a bounded queue of log lines and the thread that writes
 * them. State is global: a process has one log.
 *
 * LOCKS  log_lock; nothing is written under it.
 */
#include "tools/daemon_log.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "tools/lib_say.h"

#define QUEUE_LEN 256u
#define LINE_LEN 400u

struct line {
	int priority;
	int64_t when;
	char text[LINE_LEN];
};

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t log_wake = PTHREAD_COND_INITIALIZER;
static struct line queue[QUEUE_LEN];
static unsigned int head, count; /* of queue */
static unsigned int dropped;
static struct line kept[RS_LOG_KEPT];
static unsigned int kept_next, kept_count;
static int running, stopping, to_stderr;
static pthread_t thread;

static void write_out(const struct line *line)
{
	if (to_stderr)
		rs_say("%s", line->text);
	else
		syslog(line->priority, "%s", line->text);
}

static void write_dropped(unsigned int n)
{
	struct line line = { .priority = LOG_WARNING };

	snprintf(line.text, sizeof(line.text), "%u log lines were dropped", n);
	write_out(&line);
}

static void *writer(void *arg)
{
	struct line line;
	unsigned int lost;

	(void)arg;
	pthread_setname_np(pthread_self(), "rs-log");
	pthread_mutex_lock(&log_lock);
	for (;;) {
		while (!count && !stopping)
			pthread_cond_wait(&log_wake, &log_lock);
		if (!count)
			break;
		line = queue[head];
		head = (head + 1) % QUEUE_LEN;
		count--;
		lost = count ? 0 : dropped;
		dropped -= lost;
		pthread_mutex_unlock(&log_lock);
		write_out(&line);
		if (lost)
			write_dropped(lost);
		pthread_mutex_lock(&log_lock);
	}
	pthread_mutex_unlock(&log_lock);
	return NULL;
}

int rs_log_start(int foreground)
{
	sigset_t all, old;
	int err;

	to_stderr = foreground;
	if (!foreground)
		openlog("rspoold", LOG_PID, LOG_DAEMON);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	err = pthread_create(&thread, NULL, writer, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err)
		return -err;
	pthread_mutex_lock(&log_lock);
	running = 1;
	pthread_mutex_unlock(&log_lock);
	return 0;
}

void rs_log_stop(void)
{
	struct timespec ts;

	pthread_mutex_lock(&log_lock);
	if (!running) {
		pthread_mutex_unlock(&log_lock);
		return;
	}
	running = 0;
	stopping = 1;
	pthread_cond_signal(&log_wake);
	pthread_mutex_unlock(&log_lock);
	/* a syslogd that hangs must not keep us */
	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_sec++;
	pthread_timedjoin_np(thread, NULL, &ts);
}

static void keep(const struct line *line)
{
	kept[kept_next] = *line;
	kept_next = (kept_next + 1) % RS_LOG_KEPT;
	if (kept_count < RS_LOG_KEPT)
		kept_count++;
}

void rs_log(int priority, const char *fmt, ...)
{
	struct line line = { .priority = priority, .when = time(NULL) };
	int direct;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line.text, sizeof(line.text), fmt, ap);
	va_end(ap);
	pthread_mutex_lock(&log_lock);
	if (priority <= LOG_WARNING)
		keep(&line);
	direct = !running;
	if (!direct && count < QUEUE_LEN) {
		queue[(head + count) % QUEUE_LEN] = line;
		count++;
		pthread_cond_signal(&log_wake);
	} else if (!direct) {
		dropped++;
	}
	pthread_mutex_unlock(&log_lock);
	if (direct)
		rs_say("%s", line.text);
}

void rs_log_recent(void (*fn)(void *arg, int64_t when, const char *text),
		   void *arg)
{
	struct line copy[RS_LOG_KEPT];
	unsigned int i, n, first;

	pthread_mutex_lock(&log_lock);
	n = kept_count;
	first = (kept_next + RS_LOG_KEPT - n) % RS_LOG_KEPT;
	for (i = 0; i < n; i++)
		copy[i] = kept[(first + i) % RS_LOG_KEPT];
	pthread_mutex_unlock(&log_lock);
	for (i = 0; i < n; i++)
		fn(arg, copy[i].when, copy[i].text);
}
