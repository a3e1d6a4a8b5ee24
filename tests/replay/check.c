/*
 * check.c - does the tree hold what the ledger promises, and nothing else?
 *
 * RULES
 * C1 what was acked and not about to be removed is there, once: in incoming,
 *    active or deferred, whole, mode 0700, named by its inode number, with an
 *    mtime that was set.
 * C2 what was removed before the start of a message that was acked in the
 *    same run is gone: there is one log in one order, and the ack proves it up
 *    to there.
 * C3 mode 0700 was set after the last byte: what has it is whole, acked or
 *    not. What has mode 0600 holds a whole number of pieces, all right.
 * C4 the name from before the rename only stands for what wasn't acked, and
 *    holds no bytes, because the rename came before them.
 * C5 nothing is there that the ledger doesn't know.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "book.h"
#include "include/rs_base.h"
#include "replay.h"

/* lines about what is wrong, before it gets too much to read */
#define RS_COMPLAINTS_MAX 50u

struct check {
	struct rs_book book;
	const char *dir;
	unsigned int files, partial, complaints;
};

/* One name that was found. */
struct found {
	const char *queue, *name;
	char path[RS_REPLAY_PATH];
	struct stat st;
	struct rs_item *item;
};

static void complain(struct check *check, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void complain(struct check *check, const char *fmt, ...)
{
	va_list ap;

	if (check->complaints++ >= RS_COMPLAINTS_MAX)
		return;
	va_start(ap, fmt);
	printf("wrong: ");
	vprintf(fmt, ap);
	printf("\n");
	va_end(ap);
}

/* Bytes that are right from the start on, or -errno. */
static int64_t right_bytes(const char *path, uint64_t seed)
{
	RS_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	unsigned char buf[RS_REPLAY_PIECE], want[RS_REPLAY_PIECE];
	uint64_t off = 0;
	ssize_t got;

	if (fd < 0)
		return -errno;
	while ((got = read(fd, buf, sizeof(buf))) > 0) {
		rs_fill(seed, off, want, (size_t)got);
		if (memcmp(buf, want, (size_t)got) != 0)
			return (int64_t)off;
		off += (uint64_t)got;
	}
	return got < 0 ? -errno : (int64_t)off;
}

static void check_bytes(struct check *check, const struct found *f)
{
	const struct rs_item *item = f->item;
	uint64_t size = (uint64_t)f->st.st_size;
	bool whole = (f->st.st_mode & 07777) == 0700;
	int64_t right = right_bytes(f->path, item->seed);

	if (right < 0)
		complain(check, "%s: can't be read: %s", f->path,
			 strerror((int)-right));
	else if ((uint64_t)right != size)
		complain(check,
			 "%s: message %s is damaged from byte %" PRId64
			 " on, of %" PRIu64,
			 f->path, item->key, right, size);
	else if (size != item->size &&
		 (whole || size > item->size || size % RS_REPLAY_PIECE != 0))
		complain(check,
			 "%s: message %s has %" PRIu64 " bytes instead of %u",
			 f->path, item->key, size, item->size);
}

static void check_mode(struct check *check, const struct found *f)
{
	unsigned int mode = f->st.st_mode & 07777;

	if (!S_ISREG(f->st.st_mode) || (mode != 0700 && mode != 0600))
		complain(check, "%s: has mode %o", f->path, f->st.st_mode);
	if (f->item->acked && mode != 0700)
		complain(check, "%s: message %s was acked, mode is %o", f->path,
			 f->item->key, mode);
	if (f->st.st_nlink != 1)
		complain(check, "%s: has %" PRIuMAX " links", f->path,
			 (uintmax_t)f->st.st_nlink);
}

static void check_time(struct check *check, const struct found *f)
{
	const struct rs_item *item = f->item;
	uint64_t mtime = (uint64_t)f->st.st_mtim.tv_sec * 1000000000 +
			 (uint64_t)f->st.st_mtim.tv_nsec;

	/* A deferred one has its retry time: utimensat came before rename. */
	if (strcmp(f->queue, "deferred") == 0) {
		if (mtime != item->retry)
			complain(check,
				 "%s: retry time is %" PRIu64
				 ", was set to %" PRIu64,
				 f->path, mtime, item->retry);
		return;
	}
	if (item->acked && item->mtime && mtime != item->mtime &&
	    mtime != item->retry)
		complain(check, "%s: mtime is %" PRIu64 ", was set to %" PRIu64,
			 f->path, mtime, item->mtime);
}

static void check_found(struct check *check, const struct found *f)
{
	struct rs_item *item = f->item;

	if (item->seen++)
		complain(check, "%s: message %s has two names", f->path,
			 item->key);
	if (item->removed && item->removed < item->proved)
		complain(check, "%s: message %s was removed and is back",
			 f->path, item->key);
	check_mode(check, f);
	check_time(check, f);
	check_bytes(check, f);
	if (f->st.st_size != (off_t)item->size ||
	    (f->st.st_mode & 07777) != 0700)
		check->partial++;
}

/* incoming/t.KEY, which is about to become incoming/INO */
static void check_temporary(struct check *check, struct found *f)
{
	struct rs_item *item = rs_book_key(&check->book, f->name + 2);

	if (!item) {
		complain(check, "%s: unknown", f->path);
		return;
	}
	f->item = item;
	check->partial++;
	if (item->acked || item->seen++ || f->st.st_size != 0 ||
	    strcmp(f->queue, "incoming") != 0)
		complain(check, "%s: message %s is here with %jd bytes",
			 f->path, item->key, (intmax_t)f->st.st_size);
	if (item->ino && item->ino != f->st.st_ino)
		complain(check, "%s: inode %" PRIXMAX ", was %" PRIX64, f->path,
			 (uintmax_t)f->st.st_ino, item->ino);
}

static void check_name(struct check *check, const char *queue, const char *name)
{
	struct found f = { .queue = queue, .name = name };
	char want[24];

	snprintf(f.path, sizeof(f.path), "%s/%s/%s", check->dir, queue, name);
	check->files++;
	if (lstat(f.path, &f.st)) {
		complain(check, "%s: %s", f.path, strerror(errno));
		return;
	}
	if (strncmp(name, "t.", 2) == 0) {
		check_temporary(check, &f);
		return;
	}
	snprintf(want, sizeof(want), "%" PRIXMAX, (uintmax_t)f.st.st_ino);
	if (strcmp(name, want) != 0)
		complain(check, "%s: its inode number is %s", f.path, want);
	f.item = rs_book_ino(&check->book, strtoull(name, NULL, 16));
	if (f.item)
		check_found(check, &f);
	else
		complain(check, "%s: unknown", f.path);
}

static void check_queue(struct check *check, const char *queue)
{
	char path[RS_REPLAY_PATH];
	struct dirent *de;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/%s", check->dir, queue);
	dir = opendir(path);
	if (!dir) {
		complain(check, "%s: %s", path, strerror(errno));
		return;
	}
	errno = 0;
	while ((de = readdir(dir))) {
		if (strcmp(de->d_name, ".") && strcmp(de->d_name, ".."))
			check_name(check, queue, de->d_name);
		errno = 0;
	}
	if (errno)
		complain(check, "%s: readdir: %s", path, strerror(errno));
	closedir(dir);
}

/* What the walk didn't meet, and the sum. */
static void check_rest(struct check *check)
{
	const struct rs_book *book = &check->book;
	unsigned int acked = 0, removed = 0, missing = 0;
	const struct rs_item *item;

	for (item = book->items; item < book->items + book->count; item++) {
		acked += item->acked != 0;
		removed += item->removed != 0;
		if (!item->acked || item->removing || item->seen)
			continue;
		missing++;
		complain(check, "message %s, inode %" PRIX64 ", is missing",
			 item->key, item->ino);
	}
	printf("{\"acked\": %u, \"removed\": %u, \"found\": %u, "
	       "\"unfinished\": %u, \"missing\": %u, \"wrong\": %u}\n",
	       acked, removed, check->files, check->partial, missing,
	       check->complaints);
}

int rs_replay_check(const char *ledger, const char *dir, bool unique_inodes)
{
	static const char *const queues[] = { "incoming", "active",
					      "deferred" };
	struct check check = { .dir = dir };
	size_t i;
	int ret;

	ret = rs_book_read(&check.book, ledger);
	if (ret) {
		fprintf(stderr, "replay: read of ledger '%s': %s\n", ledger,
			strerror(-ret));
		return 1;
	}
	if (unique_inodes && check.book.reused)
		complain(&check,
			 "%zu inode numbers were given twice, one to %s",
			 check.book.reused, check.book.reused_key);
	for (i = 0; i < RS_ARRAY_LEN(queues); i++)
		check_queue(&check, queues[i]);
	check_rest(&check);
	rs_book_release(&check.book);
	return check.complaints ? 1 : 0;
}
