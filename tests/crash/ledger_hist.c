/* ledger_hist.c - see ledger_hist.h */
#include "ledger_hist.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* obj's state number version came from an entry change in dir. */
struct led_dirop {
	uint32_t dir, obj;
	size_t version;
	uint64_t done;
};

void *led_grow(void *array, size_t n, size_t *cap, size_t size)
{
	if (n < *cap)
		return array;
	*cap = *cap ? 2 * *cap : 8;
	array = realloc(array, *cap * size);
	if (!array)
		abort();
	return array;
}

static int by_id(const void *a, const void *b)
{
	const struct led_hist *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

struct led_hist *led_hists_find(const struct led_hists *h, uint32_t id)
{
	struct led_hist key = { .id = id };

	return h->n ? bsearch(&key, h->objs, h->n, sizeof(*h->objs), by_id)
		    : NULL;
}

/* ---- objects ---- */

static void add_obj(struct led_hists *h, uint32_t id)
{
	struct led_hist *o;

	h->objs = led_grow(h->objs, h->n, &h->cap, sizeof(*h->objs));
	o = &h->objs[h->n++];
	memset(o, 0, sizeof(*o));
	o->id = id;
	o->writer = LED_SHARED;
}

/* All objects first, so that the array stays where it is. */
static void add_objs(struct led_hists *h)
{
	size_t i, kept = 0;

	for (i = h->from; i < h->count; i++) {
		const struct led_rec *rec = &h->recs[i];

		if (rec->kind == LED_ADOPT ||
		    (rec->kind == LED_INTENT && rec->op <= LED_SYMLINK))
			add_obj(h, rec->obj);
	}
	if (h->n)
		qsort(h->objs, h->n, sizeof(*h->objs), by_id);
	for (i = 0; i < h->n; i++)
		if (!kept || h->objs[kept - 1].id != h->objs[i].id)
			h->objs[kept++] = h->objs[i];
	h->n = kept;
}

static struct led_version *last(struct led_hist *o)
{
	return &o->versions[o->n - 1];
}

/* A copy of the last state, or of nothing, to be changed. */
static struct led_version *add_version(struct led_hist *o)
{
	struct led_version *v, *old;

	o->versions =
		led_grow(o->versions, o->n, &o->cap, sizeof(*o->versions));
	v = &o->versions[o->n++];
	memset(v, 0, sizeof(*v));
	if (o->n == 1) {
		v->first = v->sure = true;
		return v;
	}
	old = v - 1;
	*v = *old;
	v->first = false;
	v->exts = NULL;
	memset(&v->part, 0, sizeof(v->part));
	if (old->n_exts) {
		v->exts = malloc((old->n_exts + 2) * sizeof(*v->exts));
		if (!v->exts)
			abort();
		memcpy(v->exts, old->exts, old->n_exts * sizeof(*v->exts));
	}
	return v;
}

/* ---- content ---- */

/* Cut [off, off+len) out of the extents, so that at most one more is there. */
static void punch(struct led_version *v, uint64_t off, uint64_t len)
{
	struct led_ext *out = malloc((2 * v->n_exts + 2) * sizeof(*out));
	size_t i, n = 0;

	if (!out)
		abort();
	for (i = 0; i < v->n_exts; i++) {
		struct led_ext e = v->exts[i];

		if (e.off < off) {
			out[n] = e;
			if (e.off + e.len > off)
				out[n].len = off - e.off;
			n++;
		}
		if (e.off + e.len > off + len) {
			out[n] = e;
			if (e.off < off + len) {
				out[n].len = e.off + e.len - off - len;
				out[n].off = off + len;
			}
			n++;
		}
	}
	free(v->exts);
	v->exts = out;
	v->n_exts = n;
}

static void put_ext(struct led_version *v, uint64_t off, uint64_t len,
		    uint64_t key)
{
	punch(v, off, len);
	v->exts[v->n_exts++] = (struct led_ext){ off, len, key };
	if (v->st.size < off + len)
		v->st.size = off + len;
}

/* ---- names ---- */

static void add_name(struct led_version *v, uint32_t dir, const char *name)
{
	if (v->n_names == LED_NAMES)
		abort();
	v->names[v->n_names].dir = dir;
	strcpy(v->names[v->n_names++].name, name);
	v->exists = true;
}

static void drop_name(struct led_version *v, uint32_t dir, const char *name)
{
	unsigned int i;

	for (i = 0; i < v->n_names; i++)
		if (v->names[i].dir == dir && !strcmp(v->names[i].name, name))
			break;
	if (i < v->n_names)
		v->names[i] = v->names[--v->n_names];
	v->exists = v->n_names > 0;
}

/* ---- one operation ---- */

static uint64_t written(const struct led_rec *rec)
{
	bool sure = rec->kind == LED_DONE && !rec->err;

	return sure ? (uint64_t)rec->res : rec->len;
}

static void change_first(struct led_version *v, const struct led_rec *rec)
{
	switch (rec->op) {
	case LED_CREATE:
	case LED_MKDIR:
	case LED_SYMLINK:
		add_name(v, rec->dir, rec->name);
		v->st.mode = rec->st.mode;
		break;
	case LED_WRITE:
		put_ext(v, rec->off, written(rec), rec->key);
		break;
	case LED_TRUNC:
		punch(v, rec->len, UINT64_MAX / 2);
		v->st.size = rec->len;
		break;
	case LED_CHMOD:
		v->st.mode = rec->st.mode;
		break;
	case LED_CHOWN:
		v->st.uid = rec->st.uid;
		v->st.gid = rec->st.gid;
		break;
	case LED_UTIMES:
		v->st.mtime = rec->st.mtime;
		break;
	case LED_RENAME:
	case LED_EXCHANGE:
		drop_name(v, rec->dir, rec->name);
		add_name(v, rec->dir2, rec->name2);
		break;
	case LED_LINK:
		add_name(v, rec->dir2, rec->name2);
		break;
	default:
		drop_name(v, rec->dir, rec->name);
	}
}

static void change_second(struct led_version *v, const struct led_rec *rec)
{
	drop_name(v, rec->dir2, rec->name2);
	if (rec->op == LED_EXCHANGE)
		add_name(v, rec->dir, rec->name);
	v->know_ctime = false;
}

static bool changes_names(unsigned int op)
{
	return op <= LED_SYMLINK || (op >= LED_RENAME && op <= LED_RMDIR);
}

/* The state after rec; what the writer saw with stat counts. */
static void version(struct led_hists *h, struct led_hist *o,
		    const struct led_rec *rec, bool second)
{
	const struct led_version *before;
	struct led_version *v;

	if (!o->n)
		add_version(o);
	v = add_version(o);
	before = v - 1;
	v->n = rec->n;
	v->fact = (uint64_t)(rec - h->recs);
	v->sure = rec->kind == LED_DONE && !rec->err;
	o->writer = rec->writer;
	if (changes_names(rec->op))
		o->name_version = o->n - 1;
	if (second) {
		change_second(v, rec);
		return;
	}
	change_first(v, rec);
	if (rec->op == LED_WRITE)
		v->part = (struct led_ext){ rec->off, written(rec), rec->key };
	v->know_mtime = rec->op == LED_UTIMES ||
			(before->know_mtime && rec->op > LED_TRUNC);
	v->know_ctime = false;
	v->know_owner = before->know_owner || rec->op == LED_CHOWN;
	if (v->sure && rec->known) {
		o->ino = rec->st.ino;
		v->st.mtime = rec->st.mtime;
		v->st.ctime = rec->st.ctime;
		v->st.uid = rec->st.uid;
		v->st.gid = rec->st.gid;
		v->know_mtime = v->know_ctime = v->know_owner = true;
	}
}

static void note_dirop(struct led_hists *h, uint32_t dir,
		       const struct led_hist *o, const struct led_rec *rec)
{
	h->dirops = led_grow(h->dirops, h->n_dirops, &h->cap_dirops,
			     sizeof(*h->dirops));
	h->dirops[h->n_dirops++] =
		(struct led_dirop){ dir, o->id, o->n - 1,
				    (uint64_t)(rec - h->recs) };
}

static void note_change(struct led_hists *h, const struct led_rec *rec,
			uint64_t intent)
{
	struct led_hist_writer *w = &h->writers[rec->writer];
	bool done = rec->kind == LED_DONE && !rec->err;

	w->changes = led_grow(w->changes, w->n, &w->cap, sizeof(*w->changes));
	w->changes[w->n++] = (struct led_change){
		rec->n, intent, done ? (uint64_t)(rec - h->recs) : UINT64_MAX
	};
}

/* ---- acknowledgements ---- */

static void ack(struct led_hist *o, size_t version, uint64_t fact)
{
	if (o->has_ack && o->acked >= version)
		return;
	o->acked = version;
	o->acked_fact = fact;
	o->has_ack = true;
	o->names_only = false;
}

/* G2: the file, and the names of all directories above it. */
static void ack_file(struct led_hists *h, struct led_hist *o, uint64_t fact)
{
	const struct led_version *v;
	unsigned int i;

	if (!o->n)
		return;
	ack(o, o->n - 1, fact);
	for (v = last(o), i = 0; i < v->n_names; i++) {
		uint32_t dir = v->names[i].dir;

		while (dir != LED_ROOT) {
			struct led_hist *d = led_hists_find(h, dir);

			if (!d || !d->n)
				break;
			ack(d, d->name_version, fact);
			dir = last(d)->n_names ? last(d)->names[0].dir
					       : LED_ROOT;
		}
	}
}

/* G3: what was changed in the directory before it was asked for. */
static void ack_dir(struct led_hists *h, uint32_t dir, uint64_t intent,
		    uint64_t fact)
{
	size_t i;

	for (i = 0; i < h->n_dirops; i++) {
		const struct led_dirop *d = &h->dirops[i];
		struct led_hist *o = led_hists_find(h, d->obj);

		if (d->dir != dir || d->done >= intent ||
		    (o->has_ack && o->acked >= d->version))
			continue;
		ack(o, d->version, fact);
		o->names_only = true;
	}
}

static void barrier(struct led_hists *h, const struct led_rec *rec)
{
	size_t i;

	for (i = 0; i < h->n; i++) {
		struct led_hist *o = &h->objs[i];

		if (rec->op == LED_SYNC_BEGIN)
			o->barrier = o->n ? o->n - 1 : 0;
		else if (o->n && o->barrier)
			ack(o, o->barrier, (uint64_t)(rec - h->recs));
	}
}

void led_hists_ack_all(struct led_hists *h)
{
	size_t i, k;

	for (i = 0; i < h->n; i++)
		for (k = 0; k < h->objs[i].n; k++)
			if (h->objs[i].versions[k].sure)
				ack(&h->objs[i], k,
				    h->objs[i].versions[k].fact);
}

/* ---- the whole phase ---- */

static void adopt(struct led_hists *h, const struct led_rec *rec)
{
	struct led_hist *o = led_hists_find(h, rec->obj);
	struct led_version *v;

	if (!o->n) {
		v = add_version(o);
		v->st = rec->st;
		v->fact = (uint64_t)(rec - h->recs);
		v->know_mtime = v->know_ctime = v->know_owner = true;
		v->exists = true;
		o->ino = rec->st.ino;
		o->adopted = true;
		o->hash = rec->key;
		ack(o, 0, v->fact);
	}
	if (*rec->name)
		add_name(last(o), rec->dir, rec->name);
}

static bool is_full(int err)
{
	return err == -ENOSPC || err == -EDQUOT;
}

/* What a dying tree may answer; see also led_check.alive. */
static bool is_fatal(int err)
{
	return err == -EIO || err == -ENOTCONN || err == -ECONNABORTED ||
	       err == -EROFS || err == -ENODEV || err == -EINTR;
}

static void judge_error(struct led_hists *h, const struct led_rec *rec)
{
	bool grows = rec->op <= LED_WRITE || rec->op == LED_LINK ||
		     (rec->op == LED_TRUNC && rec->len > rec->off);

	if (!rec->err || is_fatal(rec->err) || (grows && is_full(rec->err)))
		return;
	printf("fact %zu: %s gave '%s'\n", (size_t)(rec - h->recs),
	       led_op_name(rec->op), strerror(-rec->err));
	h->violations++;
}

/* rec: the DONE, or the INTENT if there is none. */
static void apply(struct led_hists *h, const struct led_rec *rec,
		  uint64_t intent)
{
	struct led_hist *o = led_hists_find(h, rec->obj), *o2 = NULL;
	bool done = rec->kind == LED_DONE;
	uint64_t fact = (uint64_t)(rec - h->recs);

	if (done)
		judge_error(h, rec);
	if (!o || (done && is_full(rec->err)))
		return;
	if (rec->op >= LED_FSYNC) {
		if (!done || rec->err)
			return;
		if (rec->op == LED_FSYNC)
			ack_file(h, o, fact);
		else
			ack_dir(h, rec->obj, intent, fact);
		return;
	}
	version(h, o, rec, false);
	note_change(h, rec, intent);
	if (rec->obj2)
		o2 = led_hists_find(h, rec->obj2);
	if (o2)
		version(h, o2, rec, true);
	if (!done || rec->err)
		return;
	if (changes_names(rec->op)) {
		note_dirop(h, rec->dir, o, rec);
		if (*rec->name2)
			note_dirop(h, rec->dir2, o, rec);
		if (o2)
			note_dirop(h, rec->dir2, o2, rec);
	}
	/* Others sync only the bytes of that very write. */
	if (rec->flags & LED_F_SYNC &&
	    !(h->weak && rec->flags & (LED_F_DSYNC | LED_F_MMAP)))
		ack_file(h, o, fact);
}

static void size_writers(struct led_hists *h)
{
	size_t i;

	for (i = h->from; i < h->count; i++)
		if (h->recs[i].kind == LED_INTENT &&
		    h->recs[i].writer >= h->n_writers)
			h->n_writers = h->recs[i].writer + 1u;
	h->writers = calloc(h->n_writers + 1, sizeof(*h->writers));
	if (!h->writers)
		abort();
}

void led_hists_init(struct led_hists *h, const struct led_rec *recs,
		    size_t from, size_t count, bool weak)
{
	uint64_t *intents;
	size_t i;

	memset(h, 0, sizeof(*h));
	h->recs = recs;
	h->from = from;
	h->weak = weak;
	h->count = count;
	add_objs(h);
	size_writers(h);
	/* The open intent of each writer, 0: none. */
	intents = calloc(h->n_writers + 1, sizeof(*intents));
	if (!intents)
		abort();
	for (i = from; i < count; i++) {
		const struct led_rec *rec = &recs[i];

		if (rec->kind == LED_ADOPT)
			adopt(h, rec);
		else if (rec->kind == LED_NOTE)
			barrier(h, rec);
		if (rec->kind == LED_INTENT) {
			intents[rec->writer] = i;
			h->writers[rec->writer].ops = rec->n + 1;
		}
		if (rec->kind == LED_DONE) {
			apply(h, rec, intents[rec->writer]);
			intents[rec->writer] = 0;
		}
	}
	for (i = 0; i < h->n_writers; i++)
		if (intents[i])
			apply(h, &recs[intents[i]], intents[i]);
	free(intents);
}

void led_hists_release(struct led_hists *h)
{
	size_t i, k;

	for (i = 0; i < h->n; i++) {
		for (k = 0; k < h->objs[i].n; k++)
			free(h->objs[i].versions[k].exts);
		free(h->objs[i].versions);
	}
	for (i = 0; i < h->n_writers; i++)
		free(h->writers[i].changes);
	free(h->objs);
	free(h->writers);
	free(h->dirops);
	memset(h, 0, sizeof(*h));
}
