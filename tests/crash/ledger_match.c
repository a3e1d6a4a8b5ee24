/* ledger_match.c - see ledger_match.h */
#include "ledger_match.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static bool differs(char why[LED_WHY],
							  const char *text, ...)
{
	va_list args;

	va_start(args, text);
	vsnprintf(why, LED_WHY, text, args);
	va_end(args);
	return false;
}

static uint64_t dir_ino(const struct led_match *m, uint32_t dir)
{
	const struct led_hist *d = led_hists_find(m->h, dir);

	return d ? d->ino : 0;
}

static struct led_ent *entry(const struct led_match *m,
			     const struct led_name *name)
{
	uint64_t ino = dir_ino(m, name->dir);

	return ino ? led_tree_find(m->tree, ino, name->name) : NULL;
}

static bool has(const struct led_found *found, const struct led_ent *ent)
{
	unsigned int i;

	for (i = 0; i < found->n; i++)
		if (found->ents[i] == ent)
			return true;
	return false;
}

/* The inode number tells whose a name is: rename gives names away. Without
 * one (create didn't return) the name was never anybody else's. */
static void add_name(const struct led_match *m, const struct led_hist *o,
		     const struct led_name *name, struct led_found *found)
{
	struct led_ent *ent = entry(m, name);

	if (!ent || has(found, ent) || (o->ino && ent->st.ino != o->ino))
		return;
	if (found->n == sizeof(found->ents) / sizeof(*found->ents))
		abort();
	found->ents[found->n++] = ent;
	ent->owner = o->id;
}

void led_found_get(const struct led_match *m, const struct led_hist *o,
		   struct led_found *ret_found)
{
	unsigned int k;
	size_t i;

	memset(ret_found, 0, sizeof(*ret_found));
	for (i = 0; i < o->n; i++)
		for (k = 0; k < o->versions[i].n_names; k++)
			add_name(m, o, &o->versions[i].names[k], ret_found);
}

void led_found_release(struct led_found *found)
{
	free(found->buf);
}

/* ---- names and attributes ---- */

static bool match_names(const struct led_match *m, const struct led_version *v,
			const struct led_found *found, char *why)
{
	unsigned int i;

	for (i = 0; i < v->n_names; i++) {
		const struct led_ent *ent = entry(m, &v->names[i]);

		if (!ent)
			return differs(why, "name '%s' is missing",
				       v->names[i].name);
		if (!has(found, ent))
			return differs(why, "'%s' is inode %llu", ent->path,
				       (unsigned long long)ent->st.ino);
	}
	/* btrfs: rename and fsync of the new directory leave both names. */
	for (i = 0; i < found->n && !m->weak; i++) {
		unsigned int k = 0;

		while (k < v->n_names &&
		       entry(m, &v->names[k]) != found->ents[i])
			k++;
		if (k == v->n_names)
			return differs(why, "'%s' should be gone",
				       found->ents[i]->path);
	}
	return true;
}

static bool match_stat(const struct led_match *m, const struct led_version *v,
		       const struct led_stat *st, char *why)
{
	bool dir = S_ISDIR(st->mode);

	if (st->mode != v->st.mode)
		return differs(why, "mode is %o, not %o", st->mode, v->st.mode);
	if (v->know_owner && (st->uid != v->st.uid || st->gid != v->st.gid))
		return differs(why, "owner is %u:%u, not %u:%u", st->uid,
			       st->gid, v->st.uid, v->st.gid);
	/* What is in a directory moves these; entries are checked. */
	if (dir)
		return true;
	if (st->nlink != v->n_names)
		return differs(why, "link count is %u, not %u", st->nlink,
			       v->n_names);
	if (S_ISREG(st->mode) && st->size != v->st.size)
		return differs(why, "size is %llu, not %llu",
			       (unsigned long long)st->size,
			       (unsigned long long)v->st.size);
	if (v->know_mtime && st->mtime != v->st.mtime)
		return differs(why, "mtime is %lld, not %lld",
			       (long long)st->mtime, (long long)v->st.mtime);
	if (!m->weak && v->know_ctime && st->ctime != v->st.ctime)
		return differs(why, "ctime is %lld, not %lld",
			       (long long)st->ctime, (long long)v->st.ctime);
	return true;
}

/* ---- content ---- */

static bool get_content(const struct led_match *m, struct led_found *found,
			char *why)
{
	if (!found->buf && !found->err)
		found->err = led_tree_read(m->tree, found->ents[0], &found->buf,
					   &found->len);
	if (found->err)
		return differs(why, "reading gives '%s'",
			       strerror(-found->err));
	return true;
}

/* What is at byte off instead: the bytes of which write? */
static bool describe(const struct led_hist *o, const struct led_found *found,
		     size_t off, char *why)
{
	unsigned char want;
	size_t i, k, n = 0;

	for (i = 0; i < o->n; i++) {
		const struct led_ext *part = &o->versions[i].part;

		for (k = off; part->len && k < found->len; k++, n++) {
			led_fill(part->key, k, &want, 1);
			if (want != found->buf[k] || k - off == 16)
				break;
		}
		if (part->len && k - off >= 8)
			return differs(why, "byte %zu is of fact %llu", off,
				       (unsigned long long)o->versions[i].fact);
	}
	for (k = off; k < found->len && !found->buf[k]; k++)
		;
	if (k - off >= 8)
		return differs(why, "%zu zeros at byte %zu that nobody wrote",
			       k - off, off);
	return differs(why, "byte %zu was never written so", off);
}

static bool match_bytes(const struct led_hist *o, const struct led_version *v,
			const struct led_found *found, char *why)
{
	unsigned char *want = calloc(1, v->st.size + 1);
	size_t i, size = v->st.size;

	if (!want)
		abort();
	for (i = 0; i < v->n_exts; i++)
		led_fill(v->exts[i].key, v->exts[i].off, want + v->exts[i].off,
			 v->exts[i].len);
	if (found->len != size) {
		free(want);
		return differs(why, "%zu bytes can be read, not %zu",
			       found->len, size);
	}
	for (i = 0; i < size && want[i] == found->buf[i]; i++)
		;
	free(want);
	return i == size || describe(o, found, i, why);
}

static bool match_link(const struct led_hist *o, const struct led_found *found,
		       char *why)
{
	char target[LED_NAME_MAX + 1];

	led_target(o->id, target);
	if (found->len != strlen(target) ||
	    memcmp(target, found->buf, found->len) != 0)
		return differs(why, "the symlink's target is another");
	return true;
}

static bool match_content(const struct led_match *m, const struct led_hist *o,
			  const struct led_version *v, struct led_found *found,
			  char *why)
{
	if (S_ISDIR(v->st.mode))
		return true;
	if (!get_content(m, found, why))
		return false;
	if (o->adopted)
		return led_hash(LED_HASH_INIT, found->buf, found->len) ==
			       o->hash ||
		       differs(why, "the content isn't what it was");
	if (S_ISLNK(v->st.mode))
		return match_link(o, found, why);
	return match_bytes(o, v, found, why);
}

static bool match_version(const struct led_match *m, const struct led_hist *o,
			  const struct led_version *v, struct led_found *found,
			  char *why)
{
	const struct led_stat *st;

	if (o->id == LED_ROOT)
		return match_stat(m, v, &m->tree->root_st, why);
	if (!v->exists) {
		if (!found->n)
			return true;
		return differs(why, "'%s' should be gone",
			       found->ents[0]->path);
	}
	if (!found->n)
		return differs(why, "'%s' is missing", v->names[0].name);
	st = &found->ents[0]->st;
	if (m->weak && o->names_only)
		return match_names(m, v, found, why);
	return match_names(m, v, found, why) && match_stat(m, v, st, why) &&
	       match_content(m, o, v, found, why);
}

bool led_match(const struct led_match *m, const struct led_hist *o, size_t i,
	       struct led_found *found, char why[LED_WHY])
{
	return match_version(m, o, &o->versions[i], found, why);
}

bool led_match_part(const struct led_match *m, const struct led_hist *o,
		    size_t i, struct led_found *found)
{
	const struct led_ext *part = &o->versions[i].part;
	uint64_t end = (part->off / LED_PAGE + 1) * LED_PAGE;
	struct led_version v = o->versions[i - 1];
	char why[LED_WHY];
	bool same = false;

	v.know_mtime = v.know_ctime = false;
	v.exts = malloc((v.n_exts + 1) * sizeof(*v.exts));
	if (!v.exts)
		abort();
	if (v.n_exts)
		memcpy(v.exts, o->versions[i - 1].exts,
		       v.n_exts * sizeof(*v.exts));
	v.n_exts++;
	/* Later extents win, so the part goes over the state before. */
	for (; !same && end < part->off + part->len; end += LED_PAGE) {
		v.exts[v.n_exts - 1] =
			(struct led_ext){ part->off, end - part->off,
					  part->key };
		if (v.st.size < end)
			v.st.size = end;
		same = match_version(m, o, &v, found, why);
	}
	free(v.exts);
	return same;
}
