/*
 * ledger_mix.c - what mail programs do with their spool, one pattern at a
 * time. Each pattern leaves at its first error: a full tree is no accident,
 * the next pattern deletes.
 */
#include "ledger_op.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool one_in(struct led_writer *w, unsigned int n)
{
	return led_below(w, n) == 0;
}

/* Mostly small, at times large, and any number of bytes. */
static uint64_t some_bytes(struct led_writer *w)
{
	uint64_t most = w->run->bytes;

	if (one_in(w, 25))
		most *= 12;
	else if (one_in(w, 2))
		most /= 8;
	return 1 + led_below(w, most);
}

static int64_t later(struct led_writer *w)
{
	return ((int64_t)time(NULL) + (int64_t)led_below(w, 100000)) *
		       1000000000 +
	       (int64_t)led_below(w, 1000000000);
}

/* A living object of mine of this type, or 0. Not adopted if it is to be
 * written. */
static uint32_t pick(struct led_writer *w, uint32_t type, bool write)
{
	size_t n = 0, i, k;

	for (k = 0; k < 2; k++) {
		size_t left = n ? led_below(w, n) : 0;

		for (i = 0; i < w->count; i++) {
			const struct led_obj *o = &w->objs[i];

			if (!o->mine || !o->alive || (write && o->adopted) ||
			    (o->mode & S_IFMT) != type)
				continue;
			if (k && !left--)
				return o->id;
			n += !k;
		}
	}
	return 0;
}

/* Never the same in two phases: what they left may still be there. */
static void name_of(struct led_writer *w, uint32_t id, const char *prefix,
		    char ret[LED_NAME_MAX + 1])
{
	snprintf(ret, LED_NAME_MAX + 1, "%s%x-%07x", prefix, w->phase, id);
}

/* In pieces, as stdio and Postfix's vstream write. */
static int body(struct led_writer *w, uint32_t id, unsigned int flags)
{
	uint64_t left = some_bytes(w), off = 0;
	int err = 0;

	while (left && !err) {
		uint64_t len = left > 4096 && one_in(w, 2) ? 4096 : left;

		err = led_write(w, id, off, len, flags);
		off += len;
		left -= len;
	}
	return err;
}

/* Complete mail is 0700, and its name is its inode number. */
static int postfix(struct led_writer *w, uint32_t id)
{
	uint32_t in = w->dirs[LED_INCOMING];
	char name[LED_NAME_MAX + 1];

	name_of(w, id, "p", name);
	if (led_create(w, id, in, name, 0))
		return 1;
	snprintf(name, sizeof(name), "%llX.%x-%x",
		 (unsigned long long)led_obj(w, id)->ino, w->phase, id);
	if (led_rename(w, id, 0, in, name, 0) || body(w, id, 0) ||
	    led_chmod(w, id, 0700) || led_fsync(w, id))
		return 1;
	led_close(w, id);
	if (one_in(w, 4))
		return 0;
	if (led_rename(w, id, 0, w->dirs[LED_ACTIVE], name, 0))
		return 1;
	if (one_in(w, 3))
		return 0;
	if (one_in(w, 2))
		return led_unlink(w, id, 0);
	return led_utimes(w, id, later(w)) ||
	       led_rename(w, id, 0, w->dirs[LED_DEFERRED], name, 0) ||
	       (one_in(w, 3) && led_fsync(w, id));
}

/* df first, then qf under another name, and the directory. */
static int sendmail(struct led_writer *w, uint32_t df)
{
	uint32_t dir = w->dirs[LED_MQUEUE], qf = led_new_obj(w);
	char name[LED_NAME_MAX + 1];

	name_of(w, df, "df", name);
	if (led_create(w, df, dir, name, 0) || body(w, df, 0) ||
	    led_fsync(w, df))
		return 1;
	name_of(w, qf, "tf", name);
	if (led_create(w, qf, dir, name, 0) || body(w, qf, 0) ||
	    led_fsync(w, qf))
		return 1;
	name_of(w, qf, "qf", name);
	if (led_rename(w, qf, 0, dir, name, 0) || led_fsyncdir(w, dir))
		return 1;
	led_close(w, df);
	led_close(w, qf);
	/* Delivered: qf goes first, or mail would have no body. */
	if (one_in(w, 2) && (led_unlink(w, qf, 0) || led_unlink(w, df, 0) ||
			     (one_in(w, 2) && led_fsyncdir(w, dir))))
		return 1;
	return 0;
}

/* A line for each recipient that has the mail. */
static int exim_journal(struct led_writer *w, uint32_t id)
{
	char name[LED_NAME_MAX + 1];
	uint64_t lines = 2 + led_below(w, 9);
	int err;

	name_of(w, id, "J-", name);
	err = led_create(w, id, w->dirs[LED_INPUT], name, O_APPEND | O_DSYNC);
	while (!err && lines--)
		err = led_write(w, id, 0, 20 + led_below(w, 80),
				LED_F_APPEND | LED_F_SYNC);
	return err;
}

static int sync_writes(struct led_writer *w, uint32_t id)
{
	char name[LED_NAME_MAX + 1];
	int err;

	name_of(w, id, "s", name);
	if (one_in(w, 2)) {
		err = led_create(w, id, w->dirs[LED_WORK], name, O_SYNC);
		return err || body(w, id, LED_F_SYNC);
	}
	/* The sync write must take the plain one before it along. */
	return led_create(w, id, w->dirs[LED_WORK], name, 0) ||
	       led_write(w, id, 0, 4096, 0) ||
	       led_write(w, id, 4096, some_bytes(w), LED_F_SYNC | LED_F_DSYNC);
}

static int maildir(struct led_writer *w, uint32_t id)
{
	uint32_t new = w->dirs[LED_NEW];
	char name[LED_NAME_MAX + 1];

	name_of(w, id, "m", name);
	if (led_create(w, id, w->dirs[LED_TMP], name, 0) || body(w, id, 0) ||
	    led_fsync(w, id))
		return 1;
	led_close(w, id);
	if (one_in(w, 4))
		return led_rename(w, id, 0, new, name, 0) ||
		       led_fsyncdir(w, new);
	if (led_link(w, id, new, name) || (one_in(w, 3) && led_fsync(w, id)))
		return 1;
	return one_in(w, 4) || led_unlink(w, id, 0) ||
	       (one_in(w, 2) && led_fsyncdir(w, new));
}

/* A directory that only the fsync of what is in it makes durable. */
static int directory(struct led_writer *w, uint32_t id)
{
	uint32_t file = led_new_obj(w), link = led_new_obj(w);
	uint32_t top = w->dirs[LED_WORK];
	char name[LED_NAME_MAX + 1];

	name_of(w, id, "d", name);
	if (led_mkdir(w, id, top, name))
		return 1;
	if (one_in(w, 2))
		return led_fsyncdir(w, top);
	if (one_in(w, 2) && led_chmod(w, id, 0750))
		return 1;
	name_of(w, file, "f", name);
	if (led_create(w, file, id, name, 0) || body(w, file, 0) ||
	    led_fsync(w, file))
		return 1;
	led_close(w, file);
	if (one_in(w, 2)) {
		name_of(w, id, "e", name);
		/* The file's path has changed, and nothing of the file. */
		if (led_rename(w, id, 0, top, name, 0) ||
		    (one_in(w, 2) && led_fsync(w, file)))
			return 1;
	}
	name_of(w, link, "l", name);
	return one_in(w, 2) &&
	       (led_symlink(w, link, id, name) || led_fsyncdir(w, id));
}

/* ---- changes of what is there ---- */

static int overwrite(struct led_writer *w)
{
	uint32_t id = pick(w, S_IFREG, true);
	uint64_t size, off;
	unsigned int flags = 0;

	if (!id)
		return 0;
	size = led_obj(w, id)->size;
	off = size ? led_below(w, size) : 0;
	if (size && one_in(w, 4)) {
		flags = LED_F_MMAP | LED_F_SYNC;
		return led_write(w, id, off, 1 + led_below(w, size - off),
				 flags);
	}
	return led_write(w, id, off, some_bytes(w), flags) ||
	       (!one_in(w, 3) && led_fsync(w, id));
}

/* Down, up, or to nothing and written anew, as open with O_TRUNC does. */
static int resize(struct led_writer *w)
{
	uint32_t id = pick(w, S_IFREG, true);
	uint64_t size;

	if (!id)
		return 0;
	size = led_obj(w, id)->size;
	if (one_in(w, 2))
		return led_truncate(w, id, 0) || body(w, id, 0) ||
		       (one_in(w, 2) && led_fsync(w, id));
	return led_truncate(w, id, led_below(w, size + 9000)) ||
	       (!one_in(w, 3) && led_fsync(w, id));
}

static int attributes(struct led_writer *w)
{
	uint32_t id = pick(w, S_IFREG, false);
	int err;

	if (!id)
		return 0;
	switch (led_below(w, 3)) {
	case 0:
		err = led_chmod(w, id, one_in(w, 2) ? 0640 : 0700);
		break;
	case 1:
		err = led_chown(w, id, (uint32_t)led_below(w, 70000),
				(uint32_t)led_below(w, 70000));
		break;
	default:
		err = led_utimes(w, id, later(w));
	}
	return err || (!one_in(w, 3) && led_fsync(w, id));
}

static bool is_fixed(const struct led_writer *w, uint32_t dir)
{
	int i;

	for (i = 0; i < LED_DIRS; i++)
		if (w->dirs[i] == dir)
			return true;
	return false;
}

static int replace(struct led_writer *w)
{
	uint32_t a = pick(w, S_IFREG, false), b = pick(w, S_IFREG, false);
	const struct led_obj *x, *y;
	struct led_name to;

	if (!a || !b || a == b)
		return 0;
	x = led_obj(w, a);
	y = led_obj(w, b);
	to = y->names[0];
	if (one_in(w, 2) && x->n_names == 1 && y->n_names == 1)
		return led_exchange(w, a, b) || led_fsync(w, b);
	/* Files with names inside and outside of a directory that is renamed
	 * could come to belong to two writers. */
	if (x->n_names > 1 && !is_fixed(w, to.dir))
		return 0;
	return led_rename(w, a, 0, to.dir, to.name, b) ||
	       (one_in(w, 2) && led_fsyncdir(w, to.dir));
}

static int move(struct led_writer *w)
{
	uint32_t id = pick(w, S_IFREG, false), from, to;
	char name[LED_NAME_MAX + 1];

	if (!id)
		return 0;
	from = led_obj(w, id)->names[0].dir;
	to = w->dirs[led_below(w, LED_DIRS)];
	snprintf(name, sizeof(name), "v%x-%07x.%u", w->phase, id, w->n);
	if (led_rename(w, id, 0, to, name, 0))
		return 1;
	switch (led_below(w, 4)) {
	case 0:
		return led_fsync(w, id);
	case 1:
		return led_fsyncdir(w, to);
	case 2:
		return led_fsyncdir(w, from);
	default:
		return 0;
	}
}

/* Deleted stays deleted. */
static int delete (struct led_writer *w)
{
	uint32_t id = pick(w, S_IFREG, false), dir;
	struct led_obj *o;

	if (!id)
		return 0;
	o = led_obj(w, id);
	dir = o->names[0].dir;
	return led_unlink(w, id, (unsigned int)led_below(w, o->n_names)) ||
	       (one_in(w, 2) && led_fsyncdir(w, dir));
}

/* All that is in it, then the directory. */
static int delete_dir(struct led_writer *w)
{
	uint32_t id = pick(w, S_IFDIR, false), top;
	size_t i;

	if (!id)
		return 0;
	top = led_obj(w, id)->names[0].dir;
	for (i = 0; i < w->count; i++) {
		const struct led_obj *o = &w->objs[i];

		if (!o->alive || o->names[0].dir != id)
			continue;
		if (S_ISDIR(o->mode) || o->n_names > 1)
			return 0;
		if (led_unlink(w, o->id, 0))
			return 1;
	}
	return led_rmdir(w, id) || (one_in(w, 2) && led_fsyncdir(w, top));
}

static int untouched(struct led_writer *w)
{
	uint32_t id = pick(w, S_IFREG, false);

	return id && led_fsync(w, id);
}

static const struct {
	unsigned int weight;
	int (*fresh)(struct led_writer *w, uint32_t id);
	int (*old)(struct led_writer *w);
} patterns[] = {
	{ 6, postfix, NULL },	   { 4, sendmail, NULL },
	{ 3, exim_journal, NULL }, { 3, sync_writes, NULL },
	{ 4, maildir, NULL },	   { 3, directory, NULL },
	{ 4, NULL, overwrite },	   { 3, NULL, resize },
	{ 3, NULL, attributes },   { 3, NULL, replace },
	{ 3, NULL, move },	   { 4, NULL, delete },
	{ 1, NULL, delete_dir },   { 1, NULL, untouched },
};

/* Forget what is gone; how many files and directories of mine are left. */
static size_t tidy(struct led_writer *w)
{
	size_t i, kept = 0, mine = 0;

	for (i = 0; i < w->count; i++) {
		led_close(w, w->objs[i].id);
		if (!w->objs[i].alive)
			continue;
		mine += w->objs[i].mine;
		w->objs[kept++] = w->objs[i];
	}
	w->count = kept;
	return mine;
}

void led_mix(struct led_writer *w)
{
	uint64_t total = 0, choice;
	size_t i;

	if (tidy(w) > w->run->live) {
		if (one_in(w, 6))
			delete_dir(w);
		else
			delete (w);
		return;
	}
	for (i = 0; i < sizeof(patterns) / sizeof(*patterns); i++)
		total += patterns[i].weight;
	choice = led_below(w, total);
	for (i = 0; choice >= patterns[i].weight; i++)
		choice -= patterns[i].weight;
	if (patterns[i].old)
		patterns[i].old(w);
	else
		patterns[i].fresh(w, led_new_obj(w));
}
