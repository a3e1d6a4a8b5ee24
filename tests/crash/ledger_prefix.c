/*
 * ledger_prefix.c - G1: the tree is the one after some prefix of all
 * operations.
 *
 * Each writer's operations are in order, so each has a position at which all
 * its objects were as found; for each writer the lowest is taken that the
 * others allow: if an operation of one is in, then everything that had
 * returned before it was asked for is in. Raising positions until nothing has to
 * be raised any more finds the least solution, if there is one.
 */
#include "ledger_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct line {
	uint32_t *covers; /* objects that allow each position */
	uint32_t positions;
	uint32_t at;
	uint64_t objects;
};

static void line_init(struct line *line, const struct led_spans *spans,
		      uint32_t ops)
{
	size_t i;
	uint32_t k;

	line->positions = 2 * ops + 1;
	line->covers = calloc(line->positions + 1, sizeof(*line->covers));
	if (!line->covers)
		abort();
	line->objects = spans->objects;
	line->at = 0;
	for (i = 0; i < spans->n; i++)
		for (k = spans->spans[i].first;
		     k <= spans->spans[i].last && k < line->positions; k++)
			line->covers[k]++;
}

/* The first position from `from` on that all objects allow. */
static bool line_raise(struct line *line, uint32_t from)
{
	for (; from < line->positions; from++) {
		if (line->covers[from] == line->objects) {
			line->at = from;
			return true;
		}
	}
	return false;
}

/* Which two objects disagree: the one that must be furthest and the one
 * that can't be. */
static void explain(const struct led_spans *spans, unsigned int writer)
{
	const struct led_span *late = NULL, *early = NULL;
	size_t i, k;

	for (i = 0; i < spans->n; i++) {
		struct led_span s = spans->spans[i];

		for (k = 0; k < spans->n; k++)
			if (spans->spans[k].obj == s.obj) {
				if (spans->spans[k].first < s.first)
					s.first = spans->spans[k].first;
				if (spans->spans[k].last > s.last)
					s.last = spans->spans[k].last;
			}
		if (!late || s.first > late->first)
			late = &spans->spans[i];
		if (!early || s.last < early->last)
			early = &spans->spans[i];
	}
	printf("writer %u: no prefix of its operations gives this tree",
	       writer);
	if (late && early)
		printf(": obj %x is as after operation %u, obj %x as before"
		       " %u",
		       late->obj, (late->first + 1) / 2, early->obj,
		       early->last / 2);
	printf("\n");
}

/* The intent of the last change that is in at this position. */
static uint64_t last_intent(const struct led_hist_writer *w, uint32_t at)
{
	uint64_t intent = 0;
	size_t i;

	for (i = 0; i < w->n && 2 * w->changes[i].n + 1 <= at; i++)
		intent = w->changes[i].intent;
	return intent;
}

/* The position that has all changes which returned before that fact. */
static uint32_t wanted(const struct led_hist_writer *w, uint64_t fact)
{
	uint32_t at = 0;
	size_t i;

	for (i = 0; i < w->n; i++)
		if (w->changes[i].done < fact)
			at = 2 * w->changes[i].n + 2;
	return at;
}

static uint64_t settle(const struct led_hists *h, struct line *lines)
{
	uint64_t latest = 0, intent;
	bool again = true;
	size_t i;

	while (again) {
		again = false;
		for (i = 0; i < h->n_writers; i++) {
			intent = last_intent(&h->writers[i], lines[i].at);
			if (intent > latest)
				latest = intent;
		}
		for (i = 0; i < h->n_writers; i++) {
			uint32_t at = wanted(&h->writers[i], latest);

			if (at <= lines[i].at)
				continue;
			if (!line_raise(&lines[i], at)) {
				printf("writer %zu: its operations before %u"
				       " had returned before the later fact"
				       " %llu was asked for, and are not in\n",
				       i, at / 2, (unsigned long long)latest);
				return 1;
			}
			again = true;
		}
	}
	return 0;
}

uint64_t led_check_prefix(const struct led_hists *h, struct led_spans *spans,
			  bool verbose)
{
	struct line *lines = calloc(h->n_writers + 1, sizeof(*lines));
	uint64_t bad = 0;
	size_t i;

	if (!lines)
		abort();
	for (i = 0; i < h->n_writers; i++) {
		line_init(&lines[i], &spans[i], h->writers[i].ops);
		if (line_raise(&lines[i], 0))
			continue;
		explain(&spans[i], (unsigned int)i);
		bad++;
	}
	if (!bad)
		bad = settle(h, lines);
	for (i = 0; i < h->n_writers; i++) {
		if (verbose)
			printf("writer %zu: %u.%s of %u operations are in\n", i,
			       lines[i].at / 2, lines[i].at % 2 ? "5" : "0",
			       h->writers[i].ops);
		free(lines[i].covers);
	}
	free(lines);
	return bad;
}
