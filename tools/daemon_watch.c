/*
 * daemon_watch.c - a limit is seen before mail is refused (case A13): one log
 * line with numbers at each of some levels, and status amber.
 */
#include <inttypes.h>
#include <stdio.h>

#include "tools/daemon.h"
#include "tools/daemon_log.h"
#include "tools/lib_size.h"

/* Percent that are worth a line; under BACK all is forgotten. */
static const unsigned int levels[] = { RS_WATCH_FULL, 95, 99 };
#define BACK 80u

struct gauge {
	const char *what;
	uint64_t used, limit;
	int bytes; /* shown as sizes */
};

static void read_gauges(struct rs_daemon *d, struct gauge g[RS_DAEMON_GAUGES])
{
	struct rs_core_status st;

	rs_core_status(d->core, &st);
	g[0] = (struct gauge){ "space", st.data_bytes, st.capacity, 1 };
	g[1] = (struct gauge){ "inodes", st.inodes, st.inodes_max, 0 };
}

static unsigned int percent(const struct gauge *g)
{
	if (!g->limit)
		return 0;
	return (unsigned int)(100.0 * (double)g->used / (double)g->limit);
}

static void text_of(const struct gauge *g, char *text, size_t size)
{
	char used[RS_SIZE_TEXT], limit[RS_SIZE_TEXT];

	if (g->bytes)
		snprintf(text, size, "%s: %s of %s used (%u %%)", g->what,
			 rs_size_text(g->used, used),
			 rs_size_text(g->limit, limit), percent(g));
	else
		snprintf(text, size,
			 "%s: %" PRIu64 " of %" PRIu64 " used (%u %%)", g->what,
			 g->used, g->limit, percent(g));
}

static void watch(struct rs_daemon *d, const struct gauge *g,
		  unsigned int *told)
{
	unsigned int now = percent(g), level = 0;
	char text[128];
	size_t i;

	for (i = 0; i < RS_ARRAY_LEN(levels); i++)
		if (now >= levels[i])
			level = levels[i];
	text_of(g, text, sizeof(text));
	if (level > *told) {
		rs_log(LOG_WARNING, "'%s' fills up: %s", d->mnt, text);
		*told = level;
	} else if (*told && now < BACK) {
		rs_log(LOG_NOTICE, "'%s' has room again: %s", d->mnt, text);
		*told = 0;
	}
}

/* What a read met is told at once, not at the next recovery. */
static void watch_damage(struct rs_daemon *d)
{
	struct rs_finding last;
	uint64_t bad = rs_store_bad(rs_journal_store(d->journal), &last);

	if (bad == d->told_bad)
		return;
	rs_log(LOG_ERR,
	       "the data of inode %llu is damaged, reading it fails: "
	       "%s (%llu such files so far)",
	       (unsigned long long)last.ino, last.why, (unsigned long long)bad);
	d->told_bad = bad;
}

void rs_daemon_watch(struct rs_daemon *d)
{
	struct gauge g[RS_DAEMON_GAUGES];
	size_t i;

	watch_damage(d);
	read_gauges(d, g);
	for (i = 0; i < RS_DAEMON_GAUGES; i++)
		watch(d, &g[i], &d->told[i]);
}

int rs_daemon_is_full(struct rs_daemon *d, char *ret_text, size_t size)
{
	struct gauge g[RS_DAEMON_GAUGES];
	size_t i, worst = 0;

	read_gauges(d, g);
	for (i = 1; i < RS_DAEMON_GAUGES; i++)
		if (percent(&g[i]) > percent(&g[worst]))
			worst = i;
	if (percent(&g[worst]) < RS_WATCH_FULL)
		return 0;
	text_of(&g[worst], ret_text, size);
	return 1;
}
