/*
 * pair.c - which inode of side A is which inode of side B, and whether the
 * attributes of a pair agree.
 *
 * Neither rspool nor tmpfs ever uses an inode number twice, so the relation
 * between the numbers of both sides is one to one for the whole run. One
 * table therefore proves that hard links, renames, replaced and reopened
 * files are the same inode on A wherever they are on B, that A never gives a
 * number again, and that numbers outlive a remount.
 *
 * Times can't be equal, except when utimensat set them. Compared is which of
 * them moved since the pair was looked at last, and that a time which moved
 * by itself lies between that look and now. A kernel with coarse clocks can
 * hide a change that falls into the tick of the one before; such a case is
 * excused, and some steps wait for a tick before they begin (main.c).
 */
#include "lockstep.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TICK_NS 12000000 /* more than a tick of a kernel with HZ=100 */

enum {
	ATIME,
	MTIME,
	CTIME,
	TIMES
};

struct pair {
	uint64_t ino[LS_SIDES]; /* 0 in both: free */
	struct timespec time[LS_SIDES][TIMES];
	struct timespec seen; /* when it was looked at last */
	bool loose_times;     /* next look: times aren't comparable */
	bool loose_blocks;    /* B may have more, until both have none */
};

struct ls_pairs {
	struct pair *pair;
	size_t count, room;
	uint32_t *by[LS_SIDES]; /* open hash: index into pair + 1 */
	size_t slots;		/* power of two */
	dev_t dev[LS_SIDES];
	struct timespec begin;
};

struct ls_pairs *ls_pairs_new(void)
{
	struct ls_pairs *p = calloc(1, sizeof(*p));

	if (!p)
		ls_die("memory");
	p->slots = 1 << 20;
	p->room = p->slots / 2;
	p->pair = calloc(p->room, sizeof(*p->pair));
	p->by[LS_A] = calloc(p->slots, sizeof(uint32_t));
	p->by[LS_B] = calloc(p->slots, sizeof(uint32_t));
	if (!p->pair || !p->by[LS_A] || !p->by[LS_B])
		ls_die("memory");
	clock_gettime(CLOCK_REALTIME, &p->begin);
	p->begin.tv_sec -= 1;
	return p;
}

void ls_pairs_free(struct ls_pairs *pairs)
{
	free(pairs->by[LS_A]);
	free(pairs->by[LS_B]);
	free(pairs->pair);
	free(pairs);
}

size_t ls_pairs_count(const struct ls_pairs *pairs)
{
	return pairs->count;
}

static uint32_t *slot_of(struct ls_pairs *p, int side, uint64_t ino)
{
	size_t at = (size_t)((ino * UINT64_C(0x9e3779b97f4a7c15)) >> 20);

	for (;; at++) {
		uint32_t *slot = &p->by[side][at & (p->slots - 1)];

		if (!*slot || p->pair[*slot - 1].ino[side] == ino)
			return slot;
	}
}

static struct pair *pair_new(struct ls *ls, uint64_t ino_a, uint64_t ino_b)
{
	struct ls_pairs *p = ls->pairs;
	struct pair *pair = &p->pair[p->count];

	if (p->count + 1 == p->room)
		ls_die("too many inodes for one run");
	pair->ino[LS_A] = ino_a;
	pair->ino[LS_B] = ino_b;
	pair->seen = p->begin;
	/* the roots, which are older than the run and come first */
	pair->loose_times = p->count == 0;
	*slot_of(p, LS_A, ino_a) = (uint32_t)(p->count + 1);
	*slot_of(p, LS_B, ino_b) = (uint32_t)(p->count + 1);
	p->count++;
	return pair;
}

static struct pair *pair_of(struct ls *ls, uint64_t ino_a, uint64_t ino_b)
{
	struct ls_pairs *p = ls->pairs;
	uint32_t at_a = *slot_of(p, LS_A, ino_a);
	uint32_t at_b = *slot_of(p, LS_B, ino_b);

	if (at_a && at_a == at_b)
		return &p->pair[at_a - 1];
	if (!at_a && !at_b)
		return pair_new(ls, ino_a, ino_b);
	if (at_a)
		ls_differ(ls,
			  "inode %" PRIu64 " of A was %" PRIu64
			  " of B before, now it is %" PRIu64,
			  ino_a, p->pair[at_a - 1].ino[LS_B], ino_b);
	if (ls->tmpfs[LS_B])
		ls_differ(ls,
			  "inode %" PRIu64 " of B was %" PRIu64
			  " of A before, now it is %" PRIu64,
			  ino_b, p->pair[at_b - 1].ino[LS_A], ino_a);
	ls_excuse(LS_EX_INO_REUSE);
	return pair_new(ls, ino_a, ino_b);
}

static int64_t ns_between(const struct timespec *from,
			  const struct timespec *to)
{
	int64_t sec = to->tv_sec - from->tv_sec;

	/* far is far: the product would overflow */
	if (sec > 1000000000 || sec < -1000000000)
		return sec;
	return sec * 1000000000 + (to->tv_nsec - from->tv_nsec);
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool in_window(const struct pair *pair, const struct timespec *t,
		      const struct timespec *now)
{
	int64_t after = t->tv_sec - pair->seen.tv_sec;
	int64_t before = now->tv_sec - t->tv_sec;

	if (after < -5 || before < -5)
		return false;
	return ns_between(&pair->seen, t) >= -TICK_NS &&
	       ns_between(t, now) >= -TICK_NS;
}

static const char *const time_names[TIMES] = { "atime", "mtime", "ctime" };

/* One side's time moved, the other's did not. */
static void one_moved(struct ls *ls, struct pair *pair, int which, int moved,
		      const struct stat *st, const struct timespec t[LS_SIDES])
{
	int still = !moved;

	if (which == ATIME && moved == LS_A && !ls->opt.noatime) {
		ls_excuse(LS_EX_ATIME);
		return;
	}
	if (S_ISFIFO(st->st_mode) && moved == LS_B) {
		ls_excuse(LS_EX_FIFO_TIMES);
		return;
	}
	if (ns_between(&pair->seen, &t[still]) >= -TICK_NS &&
	    ns_between(&pair->seen, &t[still]) <= TICK_NS) {
		ls_excuse(LS_EX_SAME_TICK);
		return;
	}
	ls_differ(ls,
		  "%s of inode %" PRIu64 " moved on %c to %lld.%09ld but "
		  "stayed %lld.%09ld on %c",
		  time_names[which], (uint64_t)st->st_ino, "AB"[moved],
		  (long long)t[moved].tv_sec, t[moved].tv_nsec,
		  (long long)t[still].tv_sec, t[still].tv_nsec, "AB"[still]);
}

static void compare_time(struct ls *ls, struct pair *pair, int which,
			 const struct stat *st,
			 const struct timespec t[LS_SIDES],
			 const struct timespec *now)
{
	bool moved[LS_SIDES];
	int side;

	for (side = 0; side < LS_SIDES; side++)
		moved[side] = !same_time(&pair->time[side][which], &t[side]);
	if (moved[LS_A] != moved[LS_B]) {
		one_moved(ls, pair, which, moved[LS_A] ? LS_A : LS_B, st, t);
	} else if (moved[LS_A] && !same_time(&t[LS_A], &t[LS_B])) {
		if (in_window(pair, &t[LS_A], now) &&
		    in_window(pair, &t[LS_B], now))
			return;
		if (which == ATIME && !ls->opt.noatime &&
		    in_window(pair, &t[LS_A], now)) {
			ls_excuse(LS_EX_ATIME);
			return;
		}
		ls_differ(ls,
			  "%s of inode %" PRIu64
			  " is %lld.%09ld on A, %lld.%09ld on B",
			  time_names[which], (uint64_t)st->st_ino,
			  (long long)t[LS_A].tv_sec, t[LS_A].tv_nsec,
			  (long long)t[LS_B].tv_sec, t[LS_B].tv_nsec);
	}
}

static void compare_times(struct ls *ls, struct pair *pair,
			  const struct stat *a, const struct stat *b)
{
	const struct stat *st[LS_SIDES] = { a, b };
	struct timespec now, t[TIMES][LS_SIDES];
	int side, i;

	clock_gettime(CLOCK_REALTIME, &now);
	for (side = 0; side < LS_SIDES; side++) {
		t[ATIME][side] = st[side]->st_atim;
		t[MTIME][side] = st[side]->st_mtim;
		t[CTIME][side] = st[side]->st_ctim;
	}
	for (i = 0; i < TIMES; i++) {
		if (!pair->loose_times)
			compare_time(ls, pair, i, a, t[i], &now);
		for (side = 0; side < LS_SIDES; side++)
			pair->time[side][i] = t[i][side];
	}
	pair->loose_times = false;
	pair->seen = now;
}

static void compare_size(struct ls *ls, struct pair *pair, const struct stat *a,
			 const struct stat *b)
{
	if (S_ISDIR(a->st_mode)) {
		if (a->st_size != b->st_size)
			ls_excuse(LS_EX_DIR_SIZE);
		return;
	}
	if (a->st_size != b->st_size)
		ls_differ(ls, "st_size %lld on A, %lld on B",
			  (long long)a->st_size, (long long)b->st_size);
	if (!S_ISREG(a->st_mode)) {
		if (a->st_blocks != b->st_blocks)
			ls_excuse(LS_EX_SYMLINK_BLOCKS);
		return;
	}
	if (a->st_blocks == b->st_blocks) {
		if (a->st_blocks == 0)
			pair->loose_blocks = false;
		return;
	}
	if (!ls->tmpfs[LS_B] ||
	    (pair->loose_blocks &&
	     (ls->tmpfs[LS_A] || a->st_blocks < b->st_blocks)))
		ls_excuse(LS_EX_BLOCKS);
	else
		ls_differ(ls, "st_blocks %lld on A, %lld on B (size %lld)",
			  (long long)a->st_blocks, (long long)b->st_blocks,
			  (long long)a->st_size);
}

static void compare_dev(struct ls *ls, const struct stat *a,
			const struct stat *b)
{
	struct ls_pairs *p = ls->pairs;

	if (!p->dev[LS_A] || ls->opt.between) {
		p->dev[LS_A] = a->st_dev;
		p->dev[LS_B] = b->st_dev;
	}
	if (a->st_dev != p->dev[LS_A])
		ls_differ(ls, "st_dev of A changed");
}

void ls_compare_stat(struct ls *ls, const struct stat *a, const struct stat *b)
{
	struct pair *pair;

	compare_dev(ls, a, b);
	if (a->st_mode != b->st_mode)
		ls_differ(ls, "st_mode %06o on A, %06o on B", a->st_mode,
			  b->st_mode);
	pair = pair_of(ls, a->st_ino, b->st_ino);
	if (a->st_nlink != b->st_nlink)
		ls_differ(ls, "st_nlink %lu on A, %lu on B",
			  (unsigned long)a->st_nlink,
			  (unsigned long)b->st_nlink);
	if (a->st_uid != b->st_uid || a->st_gid != b->st_gid)
		ls_differ(ls, "owner %u:%u on A, %u:%u on B", a->st_uid,
			  a->st_gid, b->st_uid, b->st_gid);
	if ((S_ISCHR(a->st_mode) || S_ISBLK(a->st_mode)) &&
	    a->st_rdev != b->st_rdev)
		ls_differ(ls, "st_rdev %lx on A, %lx on B",
			  (unsigned long)a->st_rdev, (unsigned long)b->st_rdev);
	compare_size(ls, pair, a, b);
	compare_times(ls, pair, a, b);
}

/* Before a look: what this call does to times or blocks is excused. */
static void loosen(struct ls *ls, const struct ls_call *c,
		   const struct stat st[LS_SIDES])
{
	struct pair *pair;

	if (!c->op->loosens)
		return;
	/* also one that is seen for the first time */
	pair = pair_of(ls, st[LS_A].st_ino, st[LS_B].st_ino);
	pair->loose_blocks = true;
	if (strcmp(c->op->name, "mmap_store") == 0) {
		pair->loose_times = true;
		ls_excuse(LS_EX_MMAP_TIMES);
	}
}

static void check_path(struct ls *ls, const struct ls_path *p, const char *text)
{
	struct stat st[LS_SIDES];
	char quoted[LS_PATH_LEN];
	int side, err[LS_SIDES] = { 0, 0 };

	for (side = 0; side < LS_SIDES; side++) {
		ls_enter(ls, side);
		if (fstatat(ls_base_fd(ls, p, side), text, &st[side],
			    AT_SYMLINK_NOFOLLOW) < 0)
			err[side] = errno;
	}
	ls_quote(quoted, sizeof(quoted), text);
	snprintf(ls->where, sizeof(ls->where), "lstat of \"%s\"%s", quoted,
		 p->base < 0 ? "" : " below the slot");
	if (err[LS_A] != err[LS_B])
		ls_differ(ls, "%s on A, %s on B", strerror(err[LS_A]),
			  strerror(err[LS_B]));
	if (!err[LS_A])
		ls_compare_stat(ls, &st[LS_A], &st[LS_B]);
}

static void check_parent(struct ls *ls, const struct ls_path *p)
{
	char text[LS_PATH_LEN];
	char *slash;

	snprintf(text, sizeof(text), "%s", p->text);
	slash = strrchr(text, '/');
	if (!slash)
		snprintf(text, sizeof(text), ".");
	else
		slash[1] = '\0';
	check_path(ls, p, text);
}

static void check_slot(struct ls *ls, const struct ls_call *c, int slot)
{
	struct stat st[LS_SIDES];
	int side;

	snprintf(ls->where, sizeof(ls->where), "fstat of slot %d", slot);
	for (side = 0; side < LS_SIDES; side++) {
		if (fstat(ls->slot[slot].fd[side], &st[side]) < 0)
			ls_differ(ls, "fstat fails on %c: %s", "AB"[side],
				  strerror(errno));
	}
	loosen(ls, c, st);
	ls_compare_stat(ls, &st[LS_A], &st[LS_B]);
}

void ls_check_call(struct ls *ls, const struct ls_call *c)
{
	int i;

	for (i = 0; i < c->slots; i++) {
		if (ls->slot[c->slot[i]].fd[LS_A] >= 0)
			check_slot(ls, c, c->slot[i]);
	}
	for (i = 0; i < c->paths; i++) {
		check_path(ls, &c->path[i], c->path[i].text);
		check_parent(ls, &c->path[i]);
	}
	ls->where[0] = '\0';
}
