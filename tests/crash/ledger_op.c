/*
 * ledger_op.c - see ledger_op.h. Runs in the tree's root as working
 * directory, so that no call touches anything above it.
 */
#include "ledger_op.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

uint64_t led_below(struct led_writer *w, uint64_t n)
{
	return led_rand(&w->rng) % n;
}

uint32_t led_new_obj(struct led_writer *w)
{
	struct led_obj *o;

	if (w->count == w->cap) {
		w->cap = w->cap ? 2 * w->cap : 64;
		w->objs = realloc(w->objs, w->cap * sizeof(*w->objs));
		if (!w->objs)
			abort();
	}
	o = &w->objs[w->count++];
	memset(o, 0, sizeof(*o));
	o->id = w->next_obj++;
	o->mine = true;
	o->fd = -1;
	return o->id;
}

struct led_obj *led_obj(struct led_writer *w, uint32_t id)
{
	size_t i;

	for (i = w->count; i--;)
		if (w->objs[i].id == id)
			return &w->objs[i];
	abort();
}

void led_close(struct led_writer *w, uint32_t id)
{
	struct led_obj *o = led_obj(w, id);

	if (o->fd >= 0 && close(o->fd) && !w->dead)
		w->dead = -errno;
	o->fd = -1;
}

/* "name", or "dir/name" and so on; no object stands deeper than 8. */
static void path_of(struct led_writer *w, uint32_t dir, const char *name,
		    char *ret)
{
	char below[PATH_MAX];
	const struct led_obj *o;

	snprintf(ret, PATH_MAX, "%s", *name ? name : ".");
	while (dir != LED_ROOT) {
		o = led_obj(w, dir);
		snprintf(below, sizeof(below), "%s", ret);
		if (snprintf(ret, PATH_MAX, "%s/%s", o->names[0].name, below) >=
		    PATH_MAX)
			abort();
		dir = o->names[0].dir;
	}
}

static void obj_path(struct led_writer *w, const struct led_obj *o, char *ret)
{
	path_of(w, o->names[0].dir, o->names[0].name, ret);
}

static struct led_rec begin(struct led_writer *w, enum led_op op, uint32_t id)
{
	struct led_rec rec = { .kind = LED_INTENT, .op = (uint16_t)op };

	rec.writer = w->id;
	rec.n = w->n++;
	rec.obj = id;
	rec.st.mode = led_obj(w, id)->mode;
	return rec;
}

static void set_name(char *to, const char *name)
{
	if (strlen(name) > LED_NAME_MAX)
		abort();
	strcpy(to, name);
}

/* What the object is after the call; every later state has to equal it. */
static void note_stat(struct led_writer *w, struct led_obj *o,
		      struct led_rec *rec)
{
	char path[PATH_MAX];
	struct stat st;
	int err;

	if (o->fd >= 0) {
		err = fstat(o->fd, &st);
	} else {
		if (!o->n_names)
			return;
		obj_path(w, o, path);
		err = fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW);
	}
	if (err) {
		w->dead = -errno;
		return;
	}
	rec->known = 1;
	led_stat_from(&st, &rec->st);
	o->mode = st.st_mode;
	o->ino = st.st_ino;
	o->size = (uint64_t)st.st_size;
}

static int end(struct led_writer *w, struct led_rec *rec, int err)
{
	rec->kind = LED_DONE;
	rec->err = err;
	rec->known = 0;
	if (!err && rec->op != LED_FSYNCDIR)
		note_stat(w, led_obj(w, rec->obj), rec);
	led_append(w->log, rec);
	/* Full is no reason to end; anything else is. */
	if (err && err != -ENOSPC)
		w->dead = err;
	return err;
}

static void add_name(struct led_obj *o, uint32_t dir, const char *name)
{
	if (o->n_names == LED_NAMES)
		abort();
	o->names[o->n_names].dir = dir;
	set_name(o->names[o->n_names++].name, name);
}

static void drop_name(struct led_obj *o, unsigned int i)
{
	o->names[i] = o->names[--o->n_names];
	o->alive = o->n_names > 0;
}

/* The call made, a new object has its name. */
static int end_new(struct led_writer *w, struct led_rec *rec, int err)
{
	struct led_obj *o = led_obj(w, rec->obj);

	if (!err) {
		o->alive = true;
		add_name(o, rec->dir, rec->name);
	}
	return end(w, rec, err);
}

int led_create(struct led_writer *w, uint32_t id, uint32_t dir,
	       const char *name, int flags)
{
	struct led_rec rec;
	char path[PATH_MAX];
	int fd;

	led_obj(w, id)->mode = S_IFREG | 0600;
	rec = begin(w, LED_CREATE, id);
	rec.dir = dir;
	set_name(rec.name, name);
	path_of(w, dir, name, path);
	led_append(w->log, &rec);
	fd = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | flags, 0600);
	led_obj(w, id)->fd = fd;
	return end_new(w, &rec, fd < 0 ? -errno : 0);
}

int led_mkdir(struct led_writer *w, uint32_t id, uint32_t dir, const char *name)
{
	struct led_rec rec;
	char path[PATH_MAX];

	led_obj(w, id)->mode = S_IFDIR | 0710;
	rec = begin(w, LED_MKDIR, id);
	rec.dir = dir;
	set_name(rec.name, name);
	path_of(w, dir, name, path);
	led_append(w->log, &rec);
	return end_new(w, &rec, mkdir(path, 0710) ? -errno : 0);
}

int led_symlink(struct led_writer *w, uint32_t id, uint32_t dir,
		const char *name)
{
	char path[PATH_MAX], target[LED_NAME_MAX + 1];
	struct led_rec rec;

	led_obj(w, id)->mode = S_IFLNK | 0777;
	rec = begin(w, LED_SYMLINK, id);
	rec.dir = dir;
	set_name(rec.name, name);
	path_of(w, dir, name, path);
	led_target(id, target);
	led_append(w->log, &rec);
	return end_new(w, &rec, symlink(target, path) ? -errno : 0);
}

/* The object's own descriptor, or one for this operation. */
static int get_fd(struct led_writer *w, struct led_obj *o, int flags)
{
	char path[PATH_MAX];

	if (o->fd >= 0)
		return o->fd;
	obj_path(w, o, path);
	return open(path, flags | O_CLOEXEC | O_NOFOLLOW);
}

static void put_fd(const struct led_obj *o, int fd)
{
	if (fd >= 0 && fd != o->fd)
		close(fd);
}

static sigjmp_buf faulted;

static void on_bus(int sig)
{
	(void)sig;
	siglongjmp(faulted, 1);
}

/* A page of a tree that died can't be had: SIGBUS, which is its EIO. */
static int store(unsigned char *to, const void *from, size_t len)
{
	struct sigaction ours = { .sa_handler = on_bus }, old;
	int err = 0;

	sigaction(SIGBUS, &ours, &old);
	if (sigsetjmp(faulted, 1))
		err = -EIO;
	else
		memcpy(to, from, len);
	sigaction(SIGBUS, &old, NULL);
	return err;
}

/* One call of write; for a mapping all of it or nothing. */
static ssize_t put_bytes(int fd, const struct led_rec *rec, void *buf)
{
	struct iovec iov = { .iov_base = buf, .iov_len = rec->len };
	uint64_t from = rec->off / LED_PAGE * LED_PAGE;
	unsigned char *map;
	int err;

	if (rec->flags & LED_F_DSYNC)
		return pwritev2(fd, &iov, 1, (off_t)rec->off, RWF_DSYNC);
	if (rec->flags & LED_F_APPEND)
		return write(fd, buf, rec->len);
	if (!(rec->flags & LED_F_MMAP))
		return pwrite(fd, buf, rec->len, (off_t)rec->off);
	map = mmap(NULL, rec->off - from + rec->len, PROT_READ | PROT_WRITE,
		   MAP_SHARED, fd, (off_t)from);
	if (map == MAP_FAILED)
		return -1;
	if (store(map + (rec->off - from), buf, rec->len)) {
		munmap(map, rec->off - from + rec->len);
		errno = EIO;
		return -1;
	}
	err = msync(map, rec->off - from + rec->len, MS_SYNC) ? errno : 0;
	munmap(map, rec->off - from + rec->len);
	if (!err)
		return (ssize_t)rec->len;
	/* The kernel keeps what it couldn't write until it needs the page. */
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	errno = err;
	return -1;
}

int led_write(struct led_writer *w, uint32_t id, uint64_t off, uint64_t len,
	      unsigned int flags)
{
	struct led_rec rec = begin(w, LED_WRITE, id);
	struct led_obj *o = led_obj(w, id);
	unsigned char *buf = malloc(len);
	uint64_t mix = w->seed + ((uint64_t)w->id << 40) + rec.n;
	int fd = get_fd(w, o, O_RDWR);
	int err;

	if (!buf)
		abort();
	rec.flags = (uint16_t)flags;
	rec.off = flags & LED_F_APPEND ? o->size : off;
	rec.len = len;
	rec.key = led_rand(&mix);
	led_fill(rec.key, rec.off, buf, len);
	led_append(w->log, &rec);
	errno = EIO;
	rec.res = fd < 0 ? -1 : put_bytes(fd, &rec, buf);
	err = rec.res < 0 ? -errno : 0;
	put_fd(o, fd);
	free(buf);
	return end(w, &rec, err);
}

int led_truncate(struct led_writer *w, uint32_t id, uint64_t size)
{
	struct led_rec rec = begin(w, LED_TRUNC, id);
	struct led_obj *o = led_obj(w, id);
	int fd = get_fd(w, o, O_RDWR), err;

	rec.off = o->size;
	rec.len = size;
	led_append(w->log, &rec);
	err = fd < 0 || ftruncate(fd, (off_t)size) ? -errno : 0;
	put_fd(o, fd);
	return end(w, &rec, err);
}

int led_chmod(struct led_writer *w, uint32_t id, uint32_t mode)
{
	struct led_rec rec = begin(w, LED_CHMOD, id);
	struct led_obj *o = led_obj(w, id);
	char path[PATH_MAX];
	int err;

	obj_path(w, o, path);
	rec.st.mode = (o->mode & S_IFMT) | mode;
	led_append(w->log, &rec);
	err = o->fd >= 0 ? fchmod(o->fd, mode) : chmod(path, mode);
	return end(w, &rec, err ? -errno : 0);
}

int led_chown(struct led_writer *w, uint32_t id, uint32_t uid, uint32_t gid)
{
	struct led_rec rec = begin(w, LED_CHOWN, id);
	char path[PATH_MAX];

	obj_path(w, led_obj(w, id), path);
	rec.st.uid = uid;
	rec.st.gid = gid;
	led_append(w->log, &rec);
	return end(w, &rec, lchown(path, uid, gid) ? -errno : 0);
}

int led_utimes(struct led_writer *w, uint32_t id, int64_t mtime)
{
	struct led_rec rec = begin(w, LED_UTIMES, id);
	struct timespec ts[2] = { { .tv_nsec = UTIME_OMIT },
				  { .tv_sec = mtime / 1000000000,
				    .tv_nsec = mtime % 1000000000 } };
	char path[PATH_MAX];
	int err;

	obj_path(w, led_obj(w, id), path);
	rec.st.mtime = mtime;
	led_append(w->log, &rec);
	err = utimensat(AT_FDCWD, path, ts, AT_SYMLINK_NOFOLLOW);
	return end(w, &rec, err ? -errno : 0);
}

int led_rename(struct led_writer *w, uint32_t id, unsigned int i, uint32_t dir,
	       const char *name, uint32_t replaced)
{
	struct led_rec rec = begin(w, LED_RENAME, id);
	struct led_obj *o = led_obj(w, id), *old;
	char from[PATH_MAX], to[PATH_MAX];
	unsigned int k;
	int err;

	rec.obj2 = replaced;
	rec.dir = o->names[i].dir;
	set_name(rec.name, o->names[i].name);
	rec.dir2 = dir;
	set_name(rec.name2, name);
	path_of(w, rec.dir, rec.name, from);
	path_of(w, dir, name, to);
	led_append(w->log, &rec);
	err = rename(from, to) ? -errno : 0;
	if (!err) {
		o->names[i].dir = dir;
		set_name(o->names[i].name, name);
		old = replaced ? led_obj(w, replaced) : NULL;
		for (k = 0; old && k < old->n_names; k++)
			if (old->names[k].dir == dir &&
			    !strcmp(old->names[k].name, name))
				drop_name(old, k);
	}
	return end(w, &rec, err);
}

int led_exchange(struct led_writer *w, uint32_t a, uint32_t b)
{
	struct led_rec rec = begin(w, LED_EXCHANGE, a);
	struct led_obj *x = led_obj(w, a), *y = led_obj(w, b);
	struct led_name swap = x->names[0];
	char from[PATH_MAX], to[PATH_MAX];
	int err;

	rec.obj2 = b;
	rec.dir = x->names[0].dir;
	set_name(rec.name, x->names[0].name);
	rec.dir2 = y->names[0].dir;
	set_name(rec.name2, y->names[0].name);
	obj_path(w, x, from);
	obj_path(w, y, to);
	led_append(w->log, &rec);
	err = renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE);
	err = err ? -errno : 0;
	if (!err) {
		x->names[0] = y->names[0];
		y->names[0] = swap;
	}
	return end(w, &rec, err);
}

int led_link(struct led_writer *w, uint32_t id, uint32_t dir, const char *name)
{
	struct led_rec rec = begin(w, LED_LINK, id);
	struct led_obj *o = led_obj(w, id);
	char from[PATH_MAX], to[PATH_MAX];
	int err;

	rec.dir2 = dir;
	set_name(rec.name2, name);
	obj_path(w, o, from);
	path_of(w, dir, name, to);
	led_append(w->log, &rec);
	err = link(from, to) ? -errno : 0;
	if (!err)
		add_name(o, dir, name);
	return end(w, &rec, err);
}

int led_unlink(struct led_writer *w, uint32_t id, unsigned int i)
{
	struct led_rec rec = begin(w, LED_UNLINK, id);
	struct led_obj *o = led_obj(w, id);
	char path[PATH_MAX];
	int err;

	rec.dir = o->names[i].dir;
	set_name(rec.name, o->names[i].name);
	path_of(w, rec.dir, rec.name, path);
	led_append(w->log, &rec);
	err = unlink(path) ? -errno : 0;
	if (!err)
		drop_name(o, i);
	return end(w, &rec, err);
}

int led_rmdir(struct led_writer *w, uint32_t id)
{
	struct led_rec rec = begin(w, LED_RMDIR, id);
	struct led_obj *o = led_obj(w, id);
	char path[PATH_MAX];
	int err;

	rec.dir = o->names[0].dir;
	set_name(rec.name, o->names[0].name);
	obj_path(w, o, path);
	led_append(w->log, &rec);
	err = rmdir(path) ? -errno : 0;
	if (!err)
		drop_name(o, 0);
	return end(w, &rec, err);
}

int led_fsync(struct led_writer *w, uint32_t id)
{
	struct led_rec rec = begin(w, LED_FSYNC, id);
	struct led_obj *o = led_obj(w, id);
	int fd = get_fd(w, o, O_RDONLY), err;

	led_append(w->log, &rec);
	err = fd < 0 || fsync(fd) ? -errno : 0;
	put_fd(o, fd);
	return end(w, &rec, err);
}

int led_fsyncdir(struct led_writer *w, uint32_t dir)
{
	struct led_rec rec = begin(w, LED_FSYNCDIR, dir);
	char path[PATH_MAX];
	int fd, err;

	path_of(w, dir, "", path);
	led_append(w->log, &rec);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = fd < 0 || fsync(fd) ? -errno : 0;
	if (fd >= 0)
		close(fd);
	return end(w, &rec, err);
}
