/*
 * pick.c - random arguments. Few names, few offsets, few modes: a small
 * world makes the interesting meetings (EEXIST, ENOTDIR, links to the same
 * file, rename over an open one) frequent.
 *
 * Each step seeds the generator anew from seed and step number, so that a
 * replay with a smaller -n makes the same calls whatever earlier steps drew.
 */
#include "lockstep.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

uint64_t ls_rand(struct ls *ls)
{
	ls->rng += UINT64_C(0x9e3779b97f4a7c15);
	return mix(ls->rng);
}

void ls_reseed(struct ls *ls, uint64_t step)
{
	ls->rng = mix(ls->opt.seed * UINT64_C(0x9e3779b97f4a7c15) + step);
}

unsigned ls_below(struct ls *ls, unsigned n)
{
	return (unsigned)(ls_rand(ls) % n);
}

bool ls_chance(struct ls *ls, unsigned percent)
{
	return ls_below(ls, 100) < percent;
}

/* Plain ones first: the later, the rarer. */
static const char *const names[] = { "a", "b", "c", "d", "e", "f",
				     "g", "h", "i", "j", "k", "l" };
static const char *const odd_names[] = {
	"\355a ",	"new\nline", "-dash",	 "caf\303\251",
	"cafe\314\201", "caf\351",   "\"quote'", "\377\377\377",
	".hidden",	"..three",   " ",	 "~",
};

void ls_pick_name(struct ls *ls, char *text, size_t size)
{
	unsigned dice = ls_below(ls, 100);
	size_t len;

	if (dice < 82) {
		snprintf(text, size, "%s", names[ls_below(ls, 12)]);
	} else if (dice < 90) {
		snprintf(text, size, "%s", odd_names[ls_below(ls, 12)]);
	} else if (dice < 96) {
		/* 255 bytes is the longest that works, 256 must fail */
		len = 253 + ls_below(ls, 4);
		memset(text, 'L', len);
		text[len] = '\0';
	} else if (dice < 98) {
		snprintf(text, size, "..");
	} else if (dice < 99) {
		snprintf(text, size, ".");
	} else {
		snprintf(text, size, "%s/", names[ls_below(ls, 12)]);
	}
}

static void pick_text(struct ls *ls, char *text)
{
	unsigned depth = 1, i;
	size_t len = 0;

	while (depth < 4 && ls_chance(ls, 40))
		depth++;
	if (ls_chance(ls, 3))
		text[len++] = '/';
	text[len] = '\0';
	for (i = 0; i < depth; i++) {
		if (i > 0)
			text[len++] = '/';
		/* directories on the way come from fewer names */
		if (i + 1 < depth && ls_chance(ls, 85))
			snprintf(text + len, LS_PATH_LEN - len, "%s",
				 names[ls_below(ls, 5)]);
		else
			ls_pick_name(ls, text + len, LS_PATH_LEN - len);
		len += strlen(text + len);
	}
}

/* Something came to be here; chance decides which older one it displaces. */
void ls_remember(struct ls *ls, const char *text, bool dir)
{
	struct ls_known *k = &ls->known[ls_below(ls, LS_KNOWN)];

	if (strlen(text) > 800)
		return;
	k->dir = dir;
	snprintf(k->text, sizeof(k->text), "%s", text);
}

/* Deep trees would have the walks take all the time. */
static bool is_deep(const char *text)
{
	int slashes = 0;

	while (*text)
		slashes += *text++ == '/';
	return slashes > 4;
}

/* A known path, or in a known directory a name that may be new. */
static bool pick_known(struct ls *ls, char *text, bool below)
{
	const struct ls_known *k;
	size_t len;
	int tries;

	for (tries = 0; tries < 40; tries++) {
		k = &ls->known[ls_below(ls, LS_KNOWN)];
		if (!k->text[0] || (below && (!k->dir || is_deep(k->text))))
			continue;
		len = (size_t)snprintf(text, LS_PATH_LEN, "%s", k->text);
		if (below) {
			text[len++] = '/';
			ls_pick_name(ls, text + len, LS_PATH_LEN - len);
		}
		return true;
	}
	return false;
}

void ls_pick_path(struct ls *ls, struct ls_call *c, enum ls_lean lean)
{
	struct ls_path *p = &c->path[c->paths++];
	unsigned dice = ls_below(ls, 100);
	int base;

	p->base = -1;
	if (dice < (lean == LS_OLD ? 65 : 15) && pick_known(ls, p->text, false))
		return;
	if (dice < 75 && pick_known(ls, p->text, true))
		return;
	if (dice < 85) {
		base = (int)ls_below(ls, LS_SLOTS);
		if (ls->slot[base].fd[LS_A] >= 0)
			p->base = base;
	}
	if (dice == 99)
		p->text[0] = '\0';
	else
		pick_text(ls, p->text);
}

bool ls_pick_slot(struct ls *ls, struct ls_call *c)
{
	int slot = (int)ls_below(ls, LS_SLOTS), i;

	for (i = 0; i < LS_SLOTS; i++, slot = (slot + 1) % LS_SLOTS) {
		if (ls->slot[slot].fd[LS_A] >= 0) {
			c->slot[c->slots++] = slot;
			return true;
		}
	}
	return false;
}

void ls_pick_into(struct ls *ls, struct ls_call *c)
{
	c->into = (int)ls_below(ls, LS_SLOTS);
}

static const int64_t edges[] = { 0,	1,	511,	512,	4080,  4095,
				 4096,	4097,	8191,	8192,	12288, 65535,
				 65536, 131072, 262144, 1048576 };

int64_t ls_pick_offset(struct ls *ls)
{
	unsigned dice = ls_below(ls, 100);

	if (dice < 50)
		return edges[ls_below(ls, sizeof(edges) / sizeof(edges[0]))];
	if (dice < 80)
		return (int64_t)ls_below(ls, 20000);
	if (dice < 97)
		return (int64_t)ls_below(ls, 300000);
	if (dice < 99)
		return INT64_C(5) << 30 | (int64_t)ls_below(ls, 10000);
	return -(int64_t)ls_below(ls, 5000);
}

size_t ls_pick_length(struct ls *ls)
{
	unsigned dice = ls_below(ls, 100);

	if (dice < 45)
		return (size_t)edges[ls_below(ls, 11)];
	if (dice < 90)
		return ls_below(ls, 12000);
	if (dice < 99)
		return ls_below(ls, 140000);
	return LS_OUT_LEN / 2 - 1 + ls_below(ls, 3);
}

int ls_pick_mode(struct ls *ls)
{
	static const int modes[] = { 0644,  0600,  0666,  0700,	 0755,	0777,
				     0777,  0770,  0640,  0000,	 01777, 02775,
				     02770, 04755, 06777, 06777, 02655, 07777 };

	int mode = modes[ls_below(ls, sizeof(modes) / sizeof(modes[0]))];

	if (ls_chance(ls, 10))
		mode = (int)ls_below(ls, 010000);
	if ((mode & S_ISGID) && !(mode & ~(int)ls->umask & S_IXGRP)) {
		mode &= ~S_ISGID;
		ls_excuse(LS_EX_SGID_LOCK);
	}
	return mode;
}

struct timespec ls_pick_time(struct ls *ls)
{
	static const int64_t seconds[] = { 0,
					   1,
					   -1,
					   -86400 * 365,
					   86400,
					   1000000000,
					   INT64_C(2147483647),
					   INT64_C(2147483648),
					   INT64_C(4294967301),
					   INT64_C(8000000000) };
	struct timespec t;

	t.tv_sec = seconds[ls_below(ls, 10)];
	t.tv_nsec = ls_chance(ls, 30) ? 0 : (long)ls_below(ls, 1000000000);
	if (ls_chance(ls, 40)) {
		/* some thousand seconds ahead, as Postfix does */
		t.tv_sec = time(NULL) / 100000 * 100000 + 200000 +
			   (int64_t)ls_below(ls, 4000);
	}
	if (ls_chance(ls, 15))
		t.tv_nsec = UTIME_NOW;
	else if (ls_chance(ls, 15))
		t.tv_nsec = UTIME_OMIT;
	else if (ls_chance(ls, 2))
		t.tv_nsec = 1000000000;
	return t;
}

/* Bytes that tell from which write they are; never zero, as holes are. */
void ls_fill(uint64_t pattern, uint8_t *buf, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (i % 8 == 0)
			pattern = mix(pattern + 1);
		buf[i] = (uint8_t)(pattern >> (i % 8 * 8) | 1);
	}
}

void ls_say(struct ls_call *c, const char *fmt, ...)
{
	size_t len = strlen(c->say);
	va_list args;

	va_start(args, fmt);
	vsnprintf(c->say + len, sizeof(c->say) - len, fmt, args);
	va_end(args);
}

/* Long runs of the filler of long names are shortened. */
void ls_quote(char *to, size_t size, const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t len = 0, run;

	while (*p && len + 16 < size) {
		run = strspn((const char *)p, "L");
		if (run > 8) {
			len += (size_t)snprintf(to + len, size - len, "{Lx%zu}",
						run);
			p += run;
		} else if (*p < ' ' || *p > '~' || *p == '"' || *p == '\\') {
			len += (size_t)snprintf(to + len, size - len, "\\%03o",
						*p++);
		} else {
			to[len++] = (char)*p++;
		}
	}
	to[len] = '\0';
}

void ls_say_path(struct ls_call *c, const struct ls_path *p)
{
	char quoted[LS_PATH_LEN];

	ls_quote(quoted, sizeof(quoted), p->text);
	if (p->base >= 0)
		ls_say(c, "at slot %d ", p->base);
	ls_say(c, "\"%s\"", quoted);
}
