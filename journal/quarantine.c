/*
 * quarantine.c - what recovery can't use is kept: DIR/quarantine/ with one
 * file for the bytes of each damaged frame and index.json, an array of
 * objects that says of each finding what, which, where, why and when.
 *
 * The index is written anew, flushed and renamed over the old one, after the
 * files that it names. Its shape is ours ("[\n", one object a line, "]\n"), so
 * that it grows without a parser; an index of another shape is put aside.
 *
 * CRASH	Killed anywhere: the old index or the new one. Doing it again
 *		writes the same files and finds its lines in the index.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>

#include "journal/recover.h"

#define DIR_NAME "quarantine"
#define INDEX "index.json"
#define INDEX_MAX (64u << 20)

struct text {
	char *buf;
	size_t len, cap;
	int err;
};

static void add(struct text *t, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void add(struct text *t, const char *format, ...)
{
	char line[256];
	va_list args;
	char *more;
	int n;

	va_start(args, format);
	n = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (t->err || n < 0 || (size_t)n >= sizeof(line)) {
		t->err = t->err ? t->err : -EOVERFLOW;
		return;
	}
	if (t->len + (size_t)n + 1 > t->cap) {
		more = realloc(t->buf, 2 * t->cap + sizeof(line));
		if (!more) {
			t->err = -ENOMEM;
			return;
		}
		t->buf = more;
		t->cap = 2 * t->cap + sizeof(line);
	}
	memcpy(t->buf + t->len, line, (size_t)n + 1);
	t->len += (size_t)n;
}

/* Names are escaped to ASCII already. */
static void add_string(struct text *t, const char *key, const char *s)
{
	add(t, "\"%s\":\"", key);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			add(t, "\\%c", *s);
		else if ((unsigned char)*s < 0x20)
			add(t, "\\u%04x", (unsigned int)*s);
		else
			add(t, "%c", *s);
	}
	add(t, "\"");
}

/* What says that it is the same finding when it is met again. */
static void add_identity(struct text *t, const struct rs_finding *f)
{
	add(t, "{\"kind\":\"%s\",\"number\":%llu,\"ino\":%llu,",
	    rs_finding_kind_name(f->kind), (unsigned long long)f->number,
	    (unsigned long long)f->ino);
	if (f->place == UINT64_MAX)
		add(t, "\"place\":null,");
	else
		add(t, "\"place\":%llu,", (unsigned long long)f->place);
	add_string(t, "name", f->name);
	add(t, ",");
}

static int write_all(int fd, const void *buf, size_t len)
{
	const uint8_t *p = buf;
	ssize_t n;

	while (len > 0) {
		n = write(fd, p, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

/* A whole file, durable when it returns 0. */
static int write_file(int dirfd, const char *name, const void *buf, size_t len)
{
	RS_AUTO_FD int fd = openat(
		dirfd, name,
		O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	int err;

	if (fd < 0)
		return -errno;
	err = write_all(fd, buf, len);
	if (err == 0 && fsync(fd) < 0)
		err = -errno;
	return err;
}

/* The old index without its last line. An empty text: there is none. */
static int read_index(int dirfd, struct text *t)
{
	RS_AUTO_FD int fd =
		openat(dirfd, INDEX, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_size < 4 || st.st_size > INDEX_MAX)
		return -EUCLEAN;
	t->cap = (size_t)st.st_size + 1;
	t->buf = calloc(1, t->cap);
	if (!t->buf)
		return -ENOMEM;
	n = pread(fd, t->buf, t->cap - 1, 0);
	if (n < 0)
		return -errno;
	t->len = (size_t)n;
	if (t->len < 4 || memcmp(t->buf, "[\n", 2) != 0 ||
	    strcmp(t->buf + t->len - 3, "\n]\n") != 0)
		return -EUCLEAN;
	t->len -= 3;
	t->buf[t->len] = '\0';
	return 0;
}

static int load_index(int dirfd, struct text *t)
{
	int err = read_index(dirfd, t);

	if (err != -EUCLEAN)
		return err;
	t->len = 0;
	if (renameat(dirfd, INDEX, dirfd, INDEX ".foreign") < 0)
		return -errno;
	return 0;
}

static int save_index(int dirfd, struct text *t)
{
	int err;

	add(t, "\n]\n");
	if (t->err)
		return t->err;
	err = write_file(dirfd, INDEX ".new", t->buf, t->len);
	if (err < 0)
		return err;
	if (renameat(dirfd, INDEX ".new", dirfd, INDEX) < 0 || fsync(dirfd) < 0)
		return -errno;
	return 0;
}

/* Bytes from place on that may be the frame's: as its header says, or up to
 * the next header, where its own is lost. */
static int measure(struct rs_ring *ring, uint64_t place, uint64_t *ret_len)
{
	uint64_t most = rs_ring_size(ring) - place, len;
	struct rs_frame_ref ref;
	int err;

	if (most > RS_FRAME_MAX)
		most = RS_FRAME_MAX;
	err = rs_ring_look(ring, place, &ref);
	if (err == 0) {
		*ret_len = ref.size < most ? ref.size : most;
		return 0;
	}
	for (len = RS_PAGE; len < most; len += RS_PAGE) {
		if (err != -ENOENT && err != -EIO)
			return err;
		err = rs_ring_look(ring, place + len, &ref);
		if (err == 0)
			break;
	}
	*ret_len = len;
	return 0;
}

static int keep_bytes(int dirfd, struct rs_ring *ring,
		      const struct rs_finding *f, char *ret_name, size_t size)
{
	uint64_t len = 0;
	void *mem;
	int err, bad;

	if (f->place >= rs_ring_size(ring) || f->place % RS_PAGE)
		return -EINVAL;
	err = measure(ring, f->place, &len);
	if (err < 0)
		return err;
	if (posix_memalign(&mem, RS_PAGE, (size_t)len) != 0)
		return -ENOMEM;
	bad = rs_ring_read(ring, f->place, len, mem);
	snprintf(ret_name, size, "frame-%llu-at-%llu",
		 (unsigned long long)f->number, (unsigned long long)f->place);
	err = bad < 0 ? bad : write_file(dirfd, ret_name, mem, (size_t)len);
	free(mem);
	return err;
}

/* One line of the index; what has bytes in the ring gets its file first. */
static int keep(int dirfd, struct rs_ring *ring, const struct rs_finding *f,
		struct text *index)
{
	struct text line = { 0 };
	char file[64] = "";
	struct timespec now;
	int err = 0;

	add_identity(&line, f);
	if (line.err || (index->buf && strstr(index->buf, line.buf)))
		goto out;
	if (f->kind == RS_FIND_FRAME && f->place != UINT64_MAX)
		err = keep_bytes(dirfd, ring, f, file, sizeof(file));
	if (err < 0)
		goto out;
	rs_seam_posix.now(rs_seam_posix.ctx, CLOCK_REALTIME, &now);
	add(index, index->len ? ",\n" : "[\n");
	add_identity(index, f);
	add_string(index, "why", f->why);
	add(index, ",\"found\":%lld,", (long long)now.tv_sec);
	add_string(index, "file", file);
	add(index, "}");
	err = index->err;
out:
	err = err < 0 ? err : line.err;
	free(line.buf);
	return err;
}

static int keep_all(int dirfd, struct rs_ring *ring,
		    const struct rs_report *rep)
{
	struct text index = { 0 };
	size_t i, before;
	int err;

	err = load_index(dirfd, &index);
	before = index.len;
	for (i = 0; err == 0 && i < rep->n_findings; i++)
		err = keep(dirfd, ring, &rep->findings[i], &index);
	if (err == 0 && index.len > before)
		err = save_index(dirfd, &index);
	free(index.buf);
	return err;
}

int rs_quarantine_frames(int dirfd, struct rs_ring *ring,
			 const struct rs_report *rep)
{
	RS_AUTO_FD int fd = -1;

	if (rep->n_findings == 0)
		return 0;
	if (mkdirat(dirfd, DIR_NAME, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(dirfd, DIR_NAME,
		    O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fsync(dirfd) < 0)
		return -errno;
	return keep_all(fd, ring, rep);
}
