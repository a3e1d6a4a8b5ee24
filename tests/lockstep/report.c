/*
 * report.c - comparing two answers, and what is printed at the first
 * difference: where, both answers, the calls before, how to see it again.
 */
#include "lockstep.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ls_die(const char *what)
{
	fprintf(stderr, "lockstep: %s: %s\n", what, strerror(errno));
	exit(2);
}

static void print_result(const struct ls *ls, int side)
{
	const struct ls_result *r = &ls->result[side];

	printf("  %c: %ld", "AB"[side], r -> ret);
	if (r->err)
		printf(" errno %d (%s)", r->err, strerror(r->err));
	if (r->len)
		printf(", %zu bytes", r->len);
	printf("\n");
}

static void print_history(const struct ls *ls)
{
	uint64_t step = ls->step < LS_HISTORY ? 1 : ls->step - LS_HISTORY + 1;

	printf("the calls before:\n");
	for (; step < ls->step; step++)
		printf("  %" PRIu64 " %s\n", step,
		       ls->history[step % LS_HISTORY]);
}

void ls_differ(struct ls *ls, const char *fmt, ...)
{
	va_list args;

	printf("lockstep: DIFFERENCE at step %" PRIu64 ", seed %" PRIu64 "\n",
	       ls->step, ls->opt.seed);
	printf("  call: %s\n", ls->call.say);
	if (ls->step > 0) {
		print_result(ls, LS_A);
		print_result(ls, LS_B);
	}
	if (ls->where[0])
		printf("  in: %s\n", ls->where);
	printf("  what: ");
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
	print_history(ls);
	printf("replay: lockstep -s %" PRIu64 " -n %" PRIu64 " -w %" PRIu64,
	       ls->opt.seed, ls->step, ls->opt.walk_every);
	printf("%s%s %s %s   (in empty directories, -v shows every call)\n",
	       ls->opt.xattr ? " -x" : "", ls->opt.noatime ? " -A" : "",
	       ls->opt.root[LS_A], ls->opt.root[LS_B]);
	fflush(stdout);
	_Exit(1);
}

static void print_around(const struct ls_result *r, size_t at)
{
	size_t i, from = at < 8 ? 0 : at - 8;

	printf("  byte %zu on:", from);
	for (i = from; i < from + 24 && i < r->len; i++)
		printf(" %02x", r->out[i]);
	printf("\n");
}

void ls_compare_result(struct ls *ls, const struct ls_call *c)
{
	const struct ls_result *a = &ls->result[LS_A], *b = &ls->result[LS_B];
	size_t i;

	if (a->ret != b->ret || a->err != b->err)
		ls_differ(ls, "the result of %s", c->op->name);
	if (a->len == b->len && memcmp(a->out, b->out, a->len) == 0)
		return;
	if (strcmp(c->op->name, "getdents") == 0)
		printf("entries on A:\n%.*sentries on B:\n%.*s", (int)a->len,
		       (const char *)a->out, (int)b->len, (const char *)b->out);
	for (i = 0; i < a->len && i < b->len && a->out[i] == b->out[i]; i++)
		;
	print_around(a, i);
	print_around(b, i);
	ls_differ(ls, "the bytes that %s brought, from %zu", c->op->name, i);
}
