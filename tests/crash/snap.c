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

struct taking {
	struct snap *snap;
	struct rs_core *core;
	/* the directory that each depth of the walk is in */
	struct {
		char *path;
		uint64_t ino;
	} dirs[64];
	size_t n_dirs;
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

static uint64_t parent_of(struct taking *t, const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) : 0;
	size_t i;

	for (i = t->n_dirs; i-- > 0;)
		if (strlen(t->dirs[i].path) == len &&
		    !strncmp(t->dirs[i].path, path, len))
			return t->dirs[i].ino;
	abort(); /* the walk must give a directory before what is in it */
}

static void add_dir(struct taking *t, const char *path, uint64_t ino)
{
	assert(t->n_dirs < RS_ARRAY_LEN(t->dirs));
	t->dirs[t->n_dirs].path = strdup(path);
	t->dirs[t->n_dirs].ino = ino;
	t->n_dirs++;
}

static char *line_text(struct taking *t, const char *path,
		       const struct rs_stat *st)
{
	const struct rs_attr *a = &st->attr;
	char target[RS_SYMLINK_MAX + 1] = "";
	uint64_t data = 0;
	char *text;
	int rc;

	if (S_ISREG(a->mode))
		data = hash_data(t->core, st);
	if (S_ISLNK(a->mode)) {
		rc = rs_core_readlink(t->core, st->ino, target);
		assert(rc == 0);
	}
	rc = asprintf(&text,
		      "/%s ino=%llu mode=%o uid=%u gid=%u nlink=%u rdev=%llx "
		      "size=%llu blocks=%llu a=%lld.%09ld m=%lld.%09ld "
		      "c=%lld.%09ld data=%016llx x=%016llx -> %s",
		      path, (unsigned long long)st->ino, a->mode, a->uid,
		      a->gid, a->nlink, (unsigned long long)a->rdev,
		      (unsigned long long)(S_ISDIR(a->mode) ? 0 : a->size),
		      (unsigned long long)a->blocks, (long long)a->atime.tv_sec,
		      a->atime.tv_nsec, (long long)a->mtime.tv_sec,
		      a->mtime.tv_nsec, (long long)a->ctime.tv_sec,
		      a->ctime.tv_nsec, (unsigned long long)data,
		      (unsigned long long)hash_xattrs(t->core, st->ino),
		      target);
	assert(rc > 0);
	return text;
}

static int take_inode(void *arg, const char *path, const struct rs_stat *st,
		      int first_name)
{
	struct taking *t = arg;
	struct snap *snap = t->snap;
	struct snap_line *line;

	(void)first_name;
	if (snap->n == snap->cap) {
		snap->cap = snap->cap ? 2 * snap->cap : 32;
		snap->lines =
			realloc(snap->lines, snap->cap * sizeof(*snap->lines));
		assert(snap->lines);
	}
	line = &snap->lines[snap->n++];
	line->ino = st->ino;
	line->parent = *path ? parent_of(t, path) : 0;
	line->text = line_text(t, path, st);
	if (S_ISDIR(st->attr.mode))
		add_dir(t, path, st->ino);
	return 0;
}

static int by_text(const void *a, const void *b)
{
	const struct snap_line *x = a, *y = b;

	return strcmp(x->text, y->text);
}

void snap_take(struct snap *snap, struct rs_core *core)
{
	struct rs_walk_ops ops = { .inode = take_inode };
	struct taking t = { .snap = snap, .core = core };
	size_t i;
	int rc;

	memset(snap, 0, sizeof(*snap));
	rc = rs_core_walk(core, &ops, &t);
	assert(rc == 0);
	for (i = 0; i < t.n_dirs; i++)
		free(t.dirs[i].path);
	qsort(snap->lines, snap->n, sizeof(*snap->lines), by_text);
	snap->hash = FNV_BASE;
	for (i = 0; i < snap->n; i++)
		snap->hash = fnv(snap->hash, snap->lines[i].text,
				 strlen(snap->lines[i].text) + 1);
}

void snap_release(struct snap *snap)
{
	size_t i;

	for (i = 0; i < snap->n; i++)
		free(snap->lines[i].text);
	free(snap->lines);
	memset(snap, 0, sizeof(*snap));
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
