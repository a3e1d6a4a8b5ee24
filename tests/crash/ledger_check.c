/*
 * ledger_check.c - compare a tree with its ledger.
 */
#include "ledger_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Objects that are named; the rest is counted. */
#define REPORTS 20u

struct check {
	struct led_hists h;
	struct led_tree tree;
	struct led_match match;
	struct led_spans *spans; /* for each writer */
	uint64_t bad;
	uint64_t exact; /* objects that are in the tree */
};

static void add_span(struct check *c, const struct led_hist *o, uint32_t first,
		     uint32_t last)
{
	struct led_spans *s;

	if (o->writer == LED_SHARED || first > last)
		return;
	s = &c->spans[o->writer];
	s->spans = led_grow(s->spans, s->n, &s->cap, sizeof(*s->spans));
	s->spans[s->n++] = (struct led_span){ o->id, first, last };
}

/* The positions of state i. */
static void span_of(struct check *c, const struct led_hist *o, size_t i)
{
	const struct led_version *v = &o->versions[i];
	uint32_t last = UINT32_MAX;

	if (i + 1 < o->n)
		last = 2 * o->versions[i + 1].n;
	add_span(c, o, v->first ? 0 : 2 * v->n + 2, last);
}

static void report(struct check *c, const struct led_hist *o, const char *what)
{
	const struct led_version *v = &o->versions[o->acked];
	const char *name = v->n_names ? v->names[0].name : "?";

	if (c->bad++ >= REPORTS)
		return;
	printf("obj %x inode %llu ('%s'): %s", o->id,
	       (unsigned long long)o->ino, name, what);
	if (o->has_ack)
		printf("; fact %llu acknowledged the state of fact %llu",
		       (unsigned long long)o->acked_fact,
		       (unsigned long long)v->fact);
	printf("\n");
}

/* None of the allowed states: say whether it is an older one, else how it
 * differs from the one that was acknowledged. */
static void complain(struct check *c, const struct led_hist *o,
		     struct led_found *found)
{
	char why[LED_WHY] = "", what[2 * LED_WHY];
	size_t i;

	for (i = 0; i < o->acked; i++) {
		if (!led_match(&c->match, o, i, found, why))
			continue;
		snprintf(what, sizeof(what), "LOST: it is as of fact %llu",
			 (unsigned long long)o->versions[i].fact);
		report(c, o, what);
		return;
	}
	led_match(&c->match, o, o->acked, found, why);
	snprintf(what, sizeof(what), "%s", why);
	if (o->n - 1 != o->acked) {
		led_match(&c->match, o, o->n - 1, found, why);
		snprintf(what + strlen(what), sizeof(what) - strlen(what),
			 "; and of its last state %s", why);
	}
	report(c, o, what);
}

static void check_strict(struct check *c, const struct led_hist *o,
			 struct led_found *found)
{
	char why[LED_WHY];
	bool any = false;
	size_t i;

	for (i = o->acked; i < o->n; i++) {
		if (led_match(&c->match, o, i, found, why)) {
			span_of(c, o, i);
			any = true;
		}
		if (i > o->acked && o->versions[i].part.len &&
		    led_match_part(&c->match, o, i, found)) {
			add_span(c, o, 2 * o->versions[i].n + 1,
				 2 * o->versions[i].n + 1);
			any = true;
		}
	}
	if (!any)
		complain(c, o, found);
	else if (o->writer != LED_SHARED)
		c->spans[o->writer].objects++;
}

/* A filesystem without G1: what isn't acknowledged may be in any state, but
 * a file that was acknowledged can't lose its name by a rename. */
static void check_weak(struct check *c, const struct led_hist *o,
		       struct led_found *found)
{
	char why[LED_WHY];
	size_t i;

	if (!o->has_ack)
		return;
	if (o->acked == o->n - 1) {
		if (!led_match(&c->match, o, o->acked, found, why))
			complain(c, o, found);
		return;
	}
	for (i = o->acked; i < o->n; i++)
		if (!o->versions[i].exists)
			return;
	if (!found->n)
		complain(c, o, found);
}

static void check_objects(struct check *c, bool weak)
{
	struct led_found found;
	size_t i;

	for (i = 0; i < c->h.n; i++) {
		const struct led_hist *o = &c->h.objs[i];

		/* Asked for space that wasn't there: it never was. */
		if (!o->n)
			continue;
		led_found_get(&c->match, o, &found);
		if (found.n)
			c->exact++;
		if (weak)
			check_weak(c, o, &found);
		else
			check_strict(c, o, &found);
		led_found_release(&found);
	}
}

/* Names that no record explains. */
static void check_strangers(struct check *c)
{
	size_t i;

	for (i = 0; i < c->tree.count; i++) {
		const struct led_ent *ent = &c->tree.ents[i];

		if (ent->owner)
			continue;
		printf("'%s' (inode %llu): nobody made this name\n", ent->path,
		       (unsigned long long)ent->st.ino);
		c->bad++;
	}
}

struct birth {
	uint64_t ino, fact;
};

static int by_ino(const void *a, const void *b)
{
	const struct birth *x = a, *y = b;

	return x->ino < y->ino ? -1 : x->ino > y->ino;
}

/* G9: no inode number twice in the life of a store, all phases. */
static void check_inodes(struct check *c, const struct led_rec *recs,
			 size_t count)
{
	struct birth *births = malloc((count + 1) * sizeof(*births));
	size_t i, n = 0;

	if (!births)
		abort();
	for (i = 0; i < count; i++)
		if (recs[i].kind == LED_DONE && recs[i].op <= LED_SYMLINK &&
		    !recs[i].err && recs[i].known)
			births[n++] = (struct birth){ recs[i].st.ino, i };
	if (n)
		qsort(births, n, sizeof(*births), by_ino);
	for (i = 1; i < n; i++) {
		if (births[i].ino != births[i - 1].ino)
			continue;
		printf("inode number %llu was given twice: facts %llu and"
		       " %llu\n",
		       (unsigned long long)births[i].ino,
		       (unsigned long long)births[i - 1].fact,
		       (unsigned long long)births[i].fact);
		c->bad++;
	}
	free(births);
}

/* Nothing was done to the tree that could excuse an error. */
static void check_alive(struct check *c, const struct led_rec *recs,
			size_t from, size_t count)
{
	size_t i;

	for (i = from; i < count; i++) {
		if (recs[i].kind != LED_DONE || !recs[i].err ||
		    recs[i].err == -28)
			continue;
		printf("fact %zu: %s gave '%s'\n", i, led_op_name(recs[i].op),
		       strerror(-recs[i].err));
		c->bad++;
	}
}

static void summary(const struct check *c)
{
	uint64_t acked = 0, ops = 0;
	size_t i;

	for (i = 0; i < c->h.n; i++)
		acked += c->h.objs[i].has_ack;
	for (i = 0; i < c->h.n_writers; i++)
		ops += c->h.writers[i].ops;
	printf("ledger: %llu operations, %zu objects, %llu acknowledged, %llu"
	       " found; %llu violations\n",
	       (unsigned long long)ops, c->h.n, (unsigned long long)acked,
	       (unsigned long long)c->exact, (unsigned long long)c->bad);
}

static void check_phase(struct check *c, const struct led_check *opt)
{
	c->match = (struct led_match){ &c->h, &c->tree, opt->weak };
	c->spans = calloc(c->h.n_writers + 1, sizeof(*c->spans));
	if (!c->spans)
		abort();
	if (opt->all)
		led_hists_ack_all(&c->h);
	check_objects(c, opt->weak);
	check_strangers(c);
	if (!opt->weak)
		c->bad += led_check_prefix(&c->h, c->spans, opt->verbose);
}

int led_check(const struct led_check *opt)
{
	struct check c = { 0 };
	struct led_rec *recs;
	size_t count, from, i;

	recs = led_load(opt->ledger, &count);
	from = led_last_phase(recs, count);
	if (led_tree_walk(opt->root, &c.tree)) {
		free(recs);
		return 1;
	}
	led_hists_init(&c.h, recs, from, count, opt->weak);
	check_phase(&c, opt);
	if (!opt->weak)
		check_inodes(&c, recs, count);
	if (opt->alive)
		check_alive(&c, recs, from, count);
	c.bad += c.h.violations;
	summary(&c);
	for (i = 0; i < c.h.n_writers; i++)
		free(c.spans[i].spans);
	free(c.spans);
	led_hists_release(&c.h);
	led_tree_release(&c.tree);
	free(recs);
	return c.bad ? 1 : 0;
}
