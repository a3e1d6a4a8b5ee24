/*
 * lib_progress.c - a line on the terminal for what takes over a second.
 */
#include "tools/lib_progress.h"

#include <stdio.h>
#include <time.h>

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

void rs_progress_init(struct rs_progress *p, const char *what)
{
	memset(p, 0, sizeof(*p));
	p->what = what;
	p->begin = now_ms();
	p->terminal = isatty(STDERR_FILENO);
}

void rs_progress_step(void *arg, uint64_t done, uint64_t total)
{
	struct rs_progress *p = arg;
	uint64_t now;

	if (!p->terminal)
		return;
	now = now_ms();
	if (now - p->begin < 1000 || now - p->shown < 200)
		return;
	p->shown = now;
	p->drawn = 1;
	if (total)
		fprintf(stderr, "\r%s: %3u %%\033[K", p->what,
			(unsigned int)(100.0 * (double)done / (double)total));
	else
		fprintf(stderr, "\r%s: %llu s\033[K", p->what,
			(unsigned long long)((now - p->begin) / 1000));
}

void rs_progress_end(struct rs_progress *p)
{
	if (p->drawn)
		fputs("\r\033[K", stderr);
	p->drawn = 0;
}
