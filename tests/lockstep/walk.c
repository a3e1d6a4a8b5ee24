/*
 * walk.c - the whole of both trees side by side: entries as sets with their
 * types, attributes, link targets, xattrs and, on request, every byte as
 * the daemon has it (the page cache of side A is dropped first).
 */
#include "lockstep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#define CHUNK 65536

struct entry {
	uint64_t ino;
	int64_t off;
	uint16_t reclen;
	uint8_t type;
	char name[];
};

static int by_name(const void *a, const void *b)
{
	char *const *x = a;
	char *const *y = b;

	return strcmp(*x, *y);
}

/* d_ino must be what lstat says; ".." of the root is the kernel's. */
static bool ino_ok(int fd, const struct entry *e)
{
	struct stat st;

	if (strcmp(e->name, "..") == 0)
		return true;
	if (fstatat(fd, e->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == EACCES; /* listing needs r, lstat x */
	return st.st_ino == e->ino;
}

static size_t add_lines(int fd, uint8_t *buf, size_t got, char **lines,
			size_t count, size_t room)
{
	size_t at = 0;

	while (at < got) {
		struct entry *e = (struct entry *)(void *)(buf + at);
		char line[300];

		if (count == room)
			ls_die("too many entries for one directory");
		snprintf(line, sizeof(line), "%s %d%s", e->name, e->type,
			 ino_ok(fd, e) ? "" : " WRONG-D_INO");
		lines[count] = strdup(line);
		if (!lines[count++])
			ls_die("memory");
		at += e->reclen;
	}
	return count;
}

static void join_lines(char **lines, size_t count, struct ls_result *r)
{
	size_t i, len;

	qsort(lines, count, sizeof(*lines), by_name);
	for (i = 0; i < count; i++) {
		len = strlen(lines[i]);
		if (r->len + len + 1 <= LS_OUT_LEN) {
			memcpy(r->out + r->len, lines[i], len);
			r->out[r->len + len] = '\n';
			r->len += len + 1;
		}
		free(lines[i]);
	}
}

long ls_list(int fd, size_t bufsize, struct ls_result *r)
{
	static uint64_t aligned[CHUNK / 8];
	static char *lines[20000];
	uint8_t *buf = (uint8_t *)aligned;
	size_t count = 0;
	long got;

	if (bufsize > sizeof(aligned))
		bufsize = sizeof(aligned);
	if (lseek(fd, 0, SEEK_SET) < 0)
		return -1;
	while ((got = syscall(SYS_getdents64, fd, buf, bufsize)) > 0)
		count = add_lines(fd, buf, (size_t)got, lines, count, 20000);
	join_lines(lines, count, r);
	return got < 0 ? -1 : (long)count;
}

/* The bytes of one stretch; holes of B are read on A in samples. */
static void compare_stretch(struct ls *ls, const int fd[LS_SIDES], off_t from,
			    off_t to)
{
	static uint8_t buf[LS_SIDES][CHUNK];
	ssize_t got[LS_SIDES];
	size_t want, i;
	int side;

	for (; from < to; from += (off_t)want) {
		want = to - from < CHUNK ? (size_t)(to - from) : CHUNK;
		for (side = 0; side < LS_SIDES; side++)
			got[side] = pread(fd[side], buf[side], want, from);
		if (got[LS_A] != got[LS_B])
			ls_differ(ls, "pread at %lld: %zd on A, %zd on B (%s)",
				  (long long)from, got[LS_A], got[LS_B],
				  strerror(errno));
		if (memcmp(buf[LS_A], buf[LS_B], want) == 0)
			continue;
		for (i = 0; buf[LS_A][i] == buf[LS_B][i]; i++)
			;
		ls_differ(ls, "byte %lld is %02x on A, %02x on B",
			  (long long)from + (long long)i, buf[LS_A][i],
			  buf[LS_B][i]);
	}
}

static void compare_hole(struct ls *ls, const int fd[LS_SIDES], off_t from,
			 off_t to)
{
	off_t data, middle = from + (to - from) / 2;

	if (to - from <= 4 * CHUNK) {
		compare_stretch(ls, fd, from, to);
		return;
	}
	data = lseek(fd[LS_A], from, SEEK_DATA);
	if (data >= 0 && data < to)
		compare_stretch(ls, fd, data,
				data + CHUNK < to ? data + CHUNK : to);
	compare_stretch(ls, fd, from, from + CHUNK);
	compare_stretch(ls, fd, middle, middle + CHUNK);
	compare_stretch(ls, fd, to - CHUNK, to);
}

static void compare_bytes(struct ls *ls, const int fd[LS_SIDES], off_t size)
{
	off_t at = 0, data, hole;

	posix_fadvise(fd[LS_A], 0, 0, POSIX_FADV_DONTNEED);
	while (at < size) {
		data = lseek(fd[LS_B], at, SEEK_DATA);
		if (data < 0)
			data = size;
		if (data > at)
			compare_hole(ls, fd, at, data);
		if (data == size)
			return;
		hole = lseek(fd[LS_B], data, SEEK_HOLE);
		compare_stretch(ls, fd, data, hole);
		at = hole;
	}
}

static void compare_file(struct ls *ls, const int dir[LS_SIDES],
			 const char *name, off_t size)
{
	int fd[LS_SIDES], side;

	for (side = 0; side < LS_SIDES; side++) {
		fd[side] =
			openat(dir[side], name,
			       O_RDONLY | O_NOFOLLOW | O_NOATIME | O_CLOEXEC);
		if (fd[side] < 0)
			ls_differ(ls, "open fails on %c: %s", "AB"[side],
				  strerror(errno));
	}
	compare_bytes(ls, fd, size);
	close(fd[LS_A]);
	close(fd[LS_B]);
}

static void compare_link(struct ls *ls, const int dir[LS_SIDES],
			 const char *name)
{
	char target[LS_SIDES][4100];
	ssize_t len[LS_SIDES];
	int side;

	for (side = 0; side < LS_SIDES; side++)
		len[side] = readlinkat(dir[side], name, target[side],
				       sizeof(target[side]));
	if (len[LS_A] != len[LS_B] || len[LS_A] < 0 ||
	    memcmp(target[LS_A], target[LS_B], (size_t)len[LS_A]) != 0)
		ls_differ(ls, "the symlink's target");
}

static void compare_xattrs(struct ls *ls, const int dir[LS_SIDES],
			   const char *name)
{
	uint8_t value[LS_SIDES][70000];
	char list[4096];
	ssize_t len[LS_SIDES], got[LS_SIDES];
	int side;
	char *p;

	for (side = 0; side < LS_SIDES; side++) {
		if (fchdir(dir[side]) < 0)
			ls_die("fchdir");
		len[side] = llistxattr(name, list, sizeof(list));
	}
	if (len[LS_A] != len[LS_B])
		ls_differ(ls, "xattr lists of %zd and %zd bytes", len[LS_A],
			  len[LS_B]);
	for (p = list; len[LS_B] > 0 && p < list + len[LS_B];
	     p += strlen(p) + 1) {
		for (side = 0; side < LS_SIDES; side++) {
			if (fchdir(dir[side]) < 0)
				ls_die("fchdir");
			got[side] = lgetxattr(name, p, value[side],
					      sizeof(value[side]));
		}
		if (got[LS_A] != got[LS_B] ||
		    (got[LS_A] > 0 &&
		     memcmp(value[LS_A], value[LS_B], (size_t)got[LS_A]) != 0))
			ls_differ(ls, "the value of xattr '%s'", p);
	}
}

static void say_where(struct ls *ls, const char *path)
{
	char quoted[LS_PATH_LEN];

	ls_quote(quoted, sizeof(quoted), path);
	snprintf(ls->where, sizeof(ls->where), "walk at \"%s\"", quoted);
}

static void walk_dir(struct ls *ls, const int dir[LS_SIDES], const char *path,
		     bool bytes);

static void walk_entry(struct ls *ls, const int dir[LS_SIDES], const char *path,
		       const char *name, bool bytes)
{
	struct stat st[LS_SIDES];
	int sub[LS_SIDES], side;
	char here[LS_PATH_LEN];

	snprintf(here, sizeof(here), "%.900s%s%.255s", path, *path ? "/" : "",
		 name);
	say_where(ls, here);
	for (side = 0; side < LS_SIDES; side++) {
		if (fstatat(dir[side], name, &st[side], AT_SYMLINK_NOFOLLOW) <
		    0)
			ls_differ(ls, "lstat fails on %c: %s", "AB"[side],
				  strerror(errno));
	}
	ls_compare_stat(ls, &st[LS_A], &st[LS_B]);
	ls_remember(ls, here, S_ISDIR(st[LS_A].st_mode));
	if (ls->opt.xattr)
		compare_xattrs(ls, dir, name);
	if (S_ISLNK(st[LS_A].st_mode))
		compare_link(ls, dir, name);
	if (S_ISREG(st[LS_A].st_mode) && bytes)
		compare_file(ls, dir, name, st[LS_A].st_size);
	if (!S_ISDIR(st[LS_A].st_mode))
		return;
	for (side = 0; side < LS_SIDES; side++) {
		sub[side] =
			openat(dir[side], name,
			       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (sub[side] < 0)
			ls_differ(ls, "open fails on %c: %s", "AB"[side],
				  strerror(errno));
	}
	walk_dir(ls, sub, here, bytes);
	close(sub[LS_A]);
	close(sub[LS_B]);
}

static void compare_lists(struct ls *ls, const int dir[LS_SIDES])
{
	struct ls_result *r = ls->result;
	int side;

	for (side = 0; side < LS_SIDES; side++) {
		r[side].len = 0;
		r[side].ret = ls_list(dir[side], CHUNK, &r[side]);
	}
	if (r[LS_A].ret != r[LS_B].ret || r[LS_A].len != r[LS_B].len ||
	    memcmp(r[LS_A].out, r[LS_B].out, r[LS_A].len) != 0) {
		printf("entries on A:\n%.*sentries on B:\n%.*s",
		       (int)r[LS_A].len, (const char *)r[LS_A].out,
		       (int)r[LS_B].len, (const char *)r[LS_B].out);
		ls_differ(ls, "the entries of the directory");
	}
}

static void walk_dir(struct ls *ls, const int dir[LS_SIDES], const char *path,
		     bool bytes)
{
	int names;
	DIR *stream;
	struct dirent *e;

	say_where(ls, path);
	compare_lists(ls, dir);
	names = openat(dir[LS_B], ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	stream = names < 0 ? NULL : fdopendir(names);
	if (!stream)
		ls_die("opendir");
	while ((e = readdir(stream))) {
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			walk_entry(ls, dir, path, e->d_name, bytes);
	}
	closedir(stream);
}

void ls_walk(struct ls *ls, bool bytes)
{
	struct stat st[LS_SIDES];
	int side;

	ls_leave(ls);
	say_where(ls, "");
	for (side = 0; side < LS_SIDES; side++) {
		if (fstat(ls->root[side], &st[side]) < 0)
			ls_die("fstat");
	}
	ls_compare_stat(ls, &st[LS_A], &st[LS_B]);
	walk_dir(ls, ls->root, "", bytes);
	ls->where[0] = '\0';
}
