/* snap.c - see snap.h. */
#define _GNU_SOURCE
#include "snap.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FNV_BASE UINT64_C(0xcbf29ce484222325)

const char *const *snap_named;

/* One name, before it is known whether it gets a line. */
struct name {
	char *path;
	struct rs_stat st;
	uint64_t parent;
	size_t above; /* index of the directory's own name */
	uint64_t data, xattrs;
	char target[RS_SYMLINK_MAX + 1];
	int policy, own; /* of a directory; own: set at run time */
	int logged;
	uint32_t links; /* as the log has it */
};

struct taking {
	struct rs_core *core;
	struct name *names;
	size_t n, cap;
};

static uint64_t fnv(uint64_t h, const void *buf, size_t len)
{
	const uint8_t *p = buf;

	while (len--)
		h = (h ^ *p++) * UINT64_C(0x100000001b3);
	return h;
}

static uint64_t hash_data(struct rs_core *core, const struct rs_stat *st)
{
	uint8_t buf[16384];
	uint64_t h = FNV_BASE;
	uint64_t off = 0;

	while (off < st->attr.size) {
		ssize_t n = rs_core_read(core, st->ino, buf, sizeof(buf), off);

		if (n == RS_EPARK_COLD) {
			int rc = rs_core_load(core, st->ino, off, sizeof(buf));

			assert(rc == 0 || rc == -EIO);
			if (rc == 0)
				continue;
			n = rc;
		}
		if (n == -EIO)
			return 1;
		if (n <= 0) {
			fprintf(stderr, "read of ino %llu at %llu: %zd\n",
				(unsigned long long)st->ino,
				(unsigned long long)off, n);
			abort();
		}
		h = fnv(h, buf, (size_t)n);
		off += (uint64_t)n;
	}
	return h;
}

static uint64_t hash_xattrs(struct rs_core *core, uint64_t ino)
{
	char list[4096], value[8192];
	ssize_t n = rs_core_listxattr(core, ino, list, sizeof(list));
	uint64_t sum = 0;
	ssize_t at = 0;

	assert(n >= 0);
	while (at < n) {
		const char *name = list + at;
		ssize_t len =
			rs_core_getxattr(core, ino, name, value, sizeof(value));

		assert(len >= 0);
		/* a set has no order */
		sum += fnv(fnv(FNV_BASE, name, strlen(name) + 1), value,
			   (size_t)len);
		at += (ssize_t)strlen(name) + 1;
	}
	return sum;
}

/* The walk gives a directory before what is in it. */
static size_t find_above(const struct taking *t, const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) : 0, i;

	for (i = t->n; i-- > 0;)
		if (strlen(t->names[i].path) == len &&
		    !strncmp(t->names[i].path, path, len))
			return i;
	abort();
}

static int take_name(void *arg, const char *path, const struct rs_stat *st,
		     int first_name)
{
	struct rs_policy_info info;
	struct taking *t = arg;
	struct name *name;
	int rc = 0;

	(void)first_name;
	if (t->n == t->cap) {
		t->cap = t->cap ? 2 * t->cap : 32;
		t->names = realloc(t->names, t->cap * sizeof(*t->names));
		assert(t->names);
	}
	name = &t->names[t->n];
	memset(name, 0, sizeof(*name));
	name->above = *path ? find_above(t, path) : 0;
	name->parent = *path ? t->names[name->above].st.ino : 0;
	name->path = strdup(path);
	name->st = *st;
	if (S_ISLNK(st->attr.mode))
		rc = rs_core_readlink(t->core, st->ino, name->target);
	if (S_ISREG(st->attr.mode))
		name->data = hash_data(t->core, st);
	if (S_ISDIR(st->attr.mode)) {
		rc = rs_core_policy_get(t->core, st->ino, &info);
		name->policy = info.policy;
		name->own = info.policy_origin == RS_ORIGIN_RUNTIME;
	}
	assert(rc == 0);
	name->xattrs = hash_xattrs(t->core, st->ino);
	t->n++;
	return 0;
}

/* ---- what is logged ---- */

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Was this very name logged before? Of a directory: any name of it. */
static int was_logged(const struct snap *prev, const struct name *name)
{
	const struct snap_line *line;
	size_t i;

	for (i = 0; i < prev->n; i++) {
		line = &prev->lines[i];
		if (line->ino != name->st.ino)
			continue;
		if (S_ISDIR(name->st.attr.mode))
			return 1;
		if (line->parent == name->parent &&
		    !strcmp(last_part(line->path), last_part(name->path)))
			return 1;
	}
	return 0;
}

static int is_volatile(const struct name *dir)
{
	return dir->policy == RS_POLICY_VOLATILE;
}

static int is_named(const char *path)
{
	const char *const *named;

	for (named = snap_named; named && *named; named++)
		if (!strcmp(*named, path))
			return 1;
	return 0;
}

static void judge_dirs(struct taking *t, const struct snap *prev)
{
	struct name *name, *above;
	size_t i;

	for (i = 0; i < t->n; i++) {
		name = &t->names[i];
		above = &t->names[name->above];
		if (!S_ISDIR(name->st.attr.mode))
			continue;
		name->logged = i == 0 || !prev || !is_volatile(name) ||
			       (above->logged && !is_volatile(above)) ||
			       name->own || was_logged(prev, name) ||
			       is_named(name->path);
	}
	/* and what is above them */
	for (i = t->n; i-- > 0;) {
		if (t->names[i].logged)
			t->names[t->names[i].above].logged = 1;
	}
}

static void judge(struct taking *t, const struct snap *prev)
{
	struct name *name, *above;
	size_t i, k;

	judge_dirs(t, prev);
	for (i = 0; i < t->n; i++) {
		name = &t->names[i];
		above = &t->names[name->above];
		if (S_ISDIR(name->st.attr.mode))
			continue;
		name->logged = above->logged && (!prev || !is_volatile(above) ||
						 was_logged(prev, name));
	}
	for (i = 0; i < t->n; i++) {
		name = &t->names[i];
		name->links = S_ISDIR(name->st.attr.mode) ? 2 : 0;
		for (k = 0; k < t->n; k++) {
			if (!t->names[k].logged)
				continue;
			if (!S_ISDIR(name->st.attr.mode))
				name->links +=
					t->names[k].st.ino == name->st.ino;
			else if (k && t->names[k].above == i)
				name->links +=
					S_ISDIR(t->names[k].st.attr.mode);
		}
	}
}

/* ---- lines ---- */

static char *line_text(const struct name *name)
{
	const struct rs_attr *a = &name->st.attr;
	static const struct timespec none;
	int loose = S_ISDIR(a->mode) && name->policy <= RS_POLICY_INTERVAL;
	/* what comes and goes there isn't logged, nor are these then */
	struct timespec m = loose ? none : a->mtime;
	struct timespec c = loose ? none : a->ctime;
	char *text;
	int rc;

	rc = asprintf(&text,
		      "/%s ino=%llu mode=%o uid=%u gid=%u nlink=%u rdev=%llx "
		      "size=%llu blocks=%llu a=%lld.%09ld m=%lld.%09ld "
		      "c=%lld.%09ld data=%016llx x=%016llx -> %s",
		      name->path, (unsigned long long)name->st.ino, a->mode,
		      a->uid, a->gid, name->links, (unsigned long long)a->rdev,
		      (unsigned long long)(S_ISDIR(a->mode) ? 0 : a->size),
		      (unsigned long long)a->blocks, (long long)a->atime.tv_sec,
		      a->atime.tv_nsec, (long long)m.tv_sec, m.tv_nsec,
		      (long long)c.tv_sec, c.tv_nsec,
		      (unsigned long long)name->data,
		      (unsigned long long)name->xattrs, name->target);
	assert(rc > 0);
	return text;
}

static void add_line(struct snap *snap, const struct name *name)
{
	struct snap_line *line;

	if (snap->n == snap->cap) {
		snap->cap = snap->cap ? 2 * snap->cap : 32;
		snap->lines =
			realloc(snap->lines, snap->cap * sizeof(*snap->lines));
		assert(snap->lines);
	}
	line = &snap->lines[snap->n++];
	line->ino = name->st.ino;
	line->parent = name->parent;
	line->is_dir = S_ISDIR(name->st.attr.mode);
	line->path = strdup(name->path);
	line->text = line_text(name);
}

static int by_text(const void *a, const void *b)
{
	const struct snap_line *x = a, *y = b;

	return strcmp(x->text, y->text);
}

void snap_take(struct snap *snap, struct rs_core *core, const struct snap *prev)
{
	struct rs_walk_ops ops = { .inode = take_name };
	struct taking t = { .core = core };
	size_t i;
	int rc;

	memset(snap, 0, sizeof(*snap));
	rc = rs_core_walk(core, &ops, &t);
	assert(rc == 0);
	judge(&t, prev);
	for (i = 0; i < t.n; i++) {
		if (t.names[i].logged)
			add_line(snap, &t.names[i]);
		free(t.names[i].path);
	}
	free(t.names);
	qsort(snap->lines, snap->n, sizeof(*snap->lines), by_text);
	snap->hash = FNV_BASE;
	for (i = 0; i < snap->n; i++)
		snap->hash = fnv(snap->hash, snap->lines[i].text,
				 strlen(snap->lines[i].text) + 1);
}

void snap_release(struct snap *snap)
{
	size_t i;

	for (i = 0; i < snap->n; i++) {
		free(snap->lines[i].text);
		free(snap->lines[i].path);
	}
	free(snap->lines);
	memset(snap, 0, sizeof(*snap));
}

static int has_name(const struct snap *snap, const struct snap_line *line)
{
	size_t i;

	for (i = 0; i < snap->n; i++)
		if (snap->lines[i].ino == line->ino &&
		    !strcmp(snap->lines[i].path, line->path))
			return 1;
	return 0;
}

int snap_is_between(const struct snap *got, const struct snap *a,
		    const struct snap *b)
{
	size_t i;

	for (i = 0; i < a->n; i++)
		if (!has_name(got, &a->lines[i]))
			return 0;
	for (i = 0; i < got->n; i++)
		if (!has_name(a, &got->lines[i]) &&
		    !has_name(b, &got->lines[i]))
			return 0;
	return 1;
}

uint64_t snap_view(const struct snap *snap, uint64_t ino)
{
	uint64_t h = FNV_BASE;
	int found = 0;
	size_t i;

	for (i = 0; i < snap->n; i++) {
		const struct snap_line *line = &snap->lines[i];

		if (line->ino == ino) {
			h = fnv(h, line->text, strlen(line->text) + 1);
			found = 1;
		} else if (line->parent == ino) {
			/* path and inode number, not the attributes */
			h = fnv(h, line->text,
				(size_t)(strstr(line->text, " mode=") -
					 line->text));
		}
	}
	return found ? h : 0;
}

static void only_in(const struct snap *a, const struct snap *b, char sign)
{
	size_t i, k;

	for (i = 0; i < a->n; i++) {
		for (k = 0; k < b->n; k++)
			if (!strcmp(a->lines[i].text, b->lines[k].text))
				break;
		if (k == b->n)
			printf("  %c %s\n", sign, a->lines[i].text);
	}
}

void snap_diff(const struct snap *a, const struct snap *b)
{
	only_in(a, b, '-');
	only_in(b, a, '+');
}
