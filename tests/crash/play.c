/*
 * play.c - see play.h.
 *
 * Every step is one operation of the core; after it the whole tree is
 * snapshot number n_snaps. The journal has no threads here: commits and
 * checkpoints are steps too. A commit's waiters say when something was
 * acknowledged; what they promise is computed when they are queued.
 */
#define _GNU_SOURCE
#include "play.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_DIRS 12u
#define MAX_REFS 256u

struct run {
	struct play *play;
	struct rs_journal *j;
	struct rs_core *core;
	uint64_t dirs[MAX_DIRS];
	size_t n_dirs;
	uint64_t refs[MAX_REFS]; /* an inode number for each lookup count */
	size_t n_refs;
	unsigned int waiting; /* waiters not called yet */
	int64_t rc;	      /* of the last operation */
	uint64_t number;      /* that its reply has to wait for; 0: none */
	unsigned int said;    /* operations of this step */
};

struct pending {
	struct rs_waiter w;
	struct run *run;
	uint64_t ino;
	size_t snap;
};

static const struct rs_who who = { .uid = 0, .gid = 0, .pid = 1 };

static uint64_t pick(struct run *r, uint64_t n)
{
	return rng_below(&r->play->rng, n);
}

static void now(void *arg, struct timespec *ret)
{
	struct play *play = arg;

	play->clock += 1000003;
	ret->tv_sec = (time_t)(play->clock / 1000000000);
	ret->tv_nsec = (long)(play->clock % 1000000000);
}

static void say(struct run *r, const char *what, int64_t rc)
{
	r->rc = rc;
	r->said++;
	if (r->play->verbose)
		printf("%3zu %-12s %lld\n", r->play->n_snaps - 1, what,
		       (long long)rc);
}

/* ---- acknowledgements ---- */

/* The first snapshot from which on ino looked as it does now. */
static size_t since(const struct play *play, uint64_t ino)
{
	size_t i = play->n_snaps - 1;
	uint64_t view = snap_view(&play->snaps[i], ino);

	if (!view)
		return 0; /* not in the tree: nothing is promised */
	while (i && snap_view(&play->snaps[i - 1], ino) == view)
		i--;
	return i;
}

static void acknowledge(struct play *play, uint64_t ino, size_t snap)
{
	struct play_ack *ack;

	assert(play->n_acks < PLAY_ACKS);
	tape_note(&play->tape, TAPE_ACK, snap);
	ack = &play->acks[play->n_acks++];
	ack->event = play->tape.n;
	ack->snap = snap;
	ack->ino = ino;
}

static void acked(struct rs_waiter *w, int err)
{
	struct pending *p = (struct pending *)w;

	if (err) {
		assert(p->run->play->may_fail && err == -EIO);
		p->run->play->refused++;
	} else {
		acknowledge(p->run->play, p->ino, p->snap);
	}
	p->run->waiting--;
	free(p);
}

static void sync_ino(struct run *r, uint64_t ino, const char *what)
{
	uint64_t number = rs_core_sync_number(r->core, ino);
	size_t snap = since(r->play, ino);
	struct pending *p;
	int rc = 1;

	/* a name somewhere stronger is what counts */
	if (r->play->policies &&
	    rs_core_policy(r->core, ino) <= RS_POLICY_INTERVAL) {
		assert(!number);
		say(r, what, 0);
		return;
	}
	if (number) {
		tape_allocates++;
		p = calloc(1, sizeof(*p));
		tape_allocates--;
		assert(p);
		p->w.fn = acked;
		p->run = r;
		p->ino = ino;
		p->snap = snap;
		rc = rs_journal_wait(r->j, number, &p->w);
		assert(rc >= 0 || (rc == -EIO && r->play->poisoned));
		if (rc == 0)
			r->waiting++;
		else
			free(p);
	}
	if (rc == 1)
		acknowledge(r->play, ino, snap);
	say(r, what, rc);
}

/* The reply waits for number: then this snapshot is durable. */
static void wait_change(struct run *r, size_t snap)
{
	struct pending *p;
	int rc;

	if (!r->number)
		return;
	tape_allocates++;
	p = calloc(1, sizeof(*p));
	tape_allocates--;
	assert(p);
	p->w.fn = acked;
	p->run = r;
	p->ino = RS_INO_ROOT;
	p->snap = snap;
	rc = rs_journal_wait(r->j, r->number, &p->w);
	assert(rc >= 0 || (rc == -EIO && r->play->poisoned));
	if (rc == 0)
		r->waiting++;
	else
		free(p);
	r->number = 0;
}

static void changed(struct run *r, int64_t rc, uint64_t ino,
		    enum rs_change change)
{
	uint64_t number;

	if (rc < 0 || !r->play->policies)
		return;
	number = rs_core_change_number(r->core, ino, change);
	if (number > r->number)
		r->number = number;
}

/* ---- picking ---- */

static void add_ref(struct run *r, uint64_t ino)
{
	if (ino > r->play->max_ino)
		r->play->max_ino = ino;
	if (r->n_refs == MAX_REFS) {
		rs_core_forget(r->core, r->refs[0], 1);
		r->refs[0] = r->refs[--r->n_refs];
	}
	r->refs[r->n_refs++] = ino;
}

static void add_dir(struct run *r, uint64_t ino)
{
	if (r->n_dirs < MAX_DIRS)
		r->dirs[r->n_dirs++] = ino;
	else
		r->dirs[1 + pick(r, MAX_DIRS - 1)] = ino;
}

static uint64_t pick_dir(struct run *r)
{
	return r->dirs[pick(r, r->n_dirs)];
}

static const char *pick_name(struct run *r)
{
	static char longname[RS_NAME_MAX + 1];
	static const char *const names[] = { "a",   "b",	"c", "df1",
					     "qf1", "\xff\x01", "e", "f" };
	uint64_t i = pick(r, RS_ARRAY_LEN(names) * 4 + 1);

	if (i < RS_ARRAY_LEN(names) * 4)
		return names[i / 4];
	memset(longname, 'L', RS_NAME_MAX);
	return longname;
}

/* A name that is there, if a few tries find one: its inode, or 0. */
static uint64_t pick_ino(struct run *r)
{
	unsigned int i;

	/* sometimes one that only the kernel knows: unlinked but open */
	if (r->n_refs && pick(r, 4) == 0)
		return r->refs[pick(r, r->n_refs)];
	for (i = 0; i < 8; i++) {
		struct rs_stat st;

		if (!rs_core_lookup(r->core, pick_dir(r), pick_name(r), &st)) {
			add_ref(r, st.ino);
			return st.ino;
		}
	}
	return 0;
}

static void made(struct run *r, int rc, const struct rs_stat *st)
{
	if (rc)
		return;
	add_ref(r, st->ino);
	if (S_ISDIR(st->attr.mode))
		add_dir(r, st->ino);
}

/* ---- committing ---- */

static void commit(struct run *r)
{
	int rc = rs_journal_commit_once(r->j);

	assert(rc >= 0 || r->play->may_fail);
	say(r, "commit", rc);
}

static void checkpoint(struct run *r)
{
	int more = 0, rc = rs_journal_checkpoint_once(r->j, &more);

	assert(rc >= 0 || r->play->may_fail);
	say(r, "checkpoint", rc < 0 ? rc : more);
}

/* Make room, as the daemon's threads would. 1: call again. */
static int again(struct run *r, int64_t rc, uint64_t ino, unsigned int *tries)
{
	if (rc == RS_EPARK_COLD) {
		rc = rs_core_load(r->core, ino, 0, UINT64_C(1) << 20);
		assert(rc == 0 || r->play->may_fail);
		return ++*tries < 20;
	}
	if (rc != RS_EPARK || ++*tries > 20)
		return 0;
	commit(r);
	checkpoint(r);
	return 1;
}

/* ---- operations ---- */

static void op_mknod(struct run *r)
{
	static const mode_t types[] = { S_IFREG,  S_IFREG, S_IFREG, S_IFREG,
					S_IFREG,  S_IFDIR, S_IFDIR, S_IFIFO,
					S_IFSOCK, S_IFCHR };
	mode_t type = types[pick(r, RS_ARRAY_LEN(types))];
	uint32_t mode = (uint32_t)(type | (0600 + pick(r, 0200)));
	struct rs_stat st;
	uint64_t dir = pick_dir(r);
	int rc = rs_core_mknod(r->core, dir, pick_name(r), &who, mode,
			       type == S_IFCHR ? 0x103 : 0, &st);

	made(r, rc, &st);
	say(r, "mknod", rc);
	changed(r, rc, dir, RS_CHANGE_ENTRY);
}

static void op_symlink(struct run *r)
{
	char target[RS_SYMLINK_MAX + 1];
	size_t len = pick(r, 8) ? 1 + pick(r, 60) : 1 + pick(r, RS_SYMLINK_MAX);
	struct rs_stat st;
	int rc;

	memset(target, (int)('a' + pick(r, 26)), len);
	target[len] = 0;
	rc = rs_core_symlink(r->core, pick_dir(r), pick_name(r), &who, target,
			     &st);
	made(r, rc, &st);
	say(r, "symlink", rc);
}

static void op_write(struct run *r)
{
	static uint8_t buf[24576];
	uint64_t ino = pick_ino(r);
	size_t len = pick(r, 4) ? 1 + pick(r, 5000) : 1 + pick(r, sizeof(buf));
	uint64_t off = pick(r, 3) ? 0 : pick(r, 40000);
	unsigned int tries = 0;
	ssize_t rc;
	size_t i;

	if (!ino)
		return;
	if (pick(r, 20) == 0)
		off = (UINT64_C(5) << 30) + pick(r, 5000);
	if (off > UINT64_C(1) << 30)
		off = 300000 + pick(r, 5000); /* snapshots read holes too */
	for (i = 0; i < len; i++)
		buf[i] = (uint8_t)(rng_next(&r->play->rng) >> 13);
	do {
		rc = rs_core_write(r->core, ino, buf, len, off,
				   pick(r, 5) == 0);
	} while (again(r, rc, ino, &tries));
	say(r, "write", rc);
	changed(r, rc, ino, RS_CHANGE_INODE);
}

static void op_truncate(struct run *r)
{
	struct rs_attr attr = { .size = pick(r, 3) ? pick(r, 9000)
						   : pick(r, 400000) };
	uint64_t ino = pick_ino(r);
	unsigned int tries = 0;
	struct rs_stat st;
	int rc;

	if (!ino)
		return;
	do {
		rc = rs_core_setattr(r->core, ino, &attr, RS_SET_SIZE, &st);
	} while (again(r, rc, ino, &tries));
	say(r, "truncate", rc);
}

static void op_fallocate(struct run *r)
{
	static const int modes[] = { 0, FALLOC_FL_KEEP_SIZE,
				     FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				     FALLOC_FL_ZERO_RANGE,
				     FALLOC_FL_ZERO_RANGE |
					     FALLOC_FL_KEEP_SIZE };
	int mode = modes[pick(r, RS_ARRAY_LEN(modes))];
	uint64_t off = pick(r, 30000), len = 1 + pick(r, 30000);
	uint64_t ino = pick_ino(r);
	unsigned int tries = 0;
	int rc;

	if (!ino)
		return;
	/* closures that don't fit into a frame */
	if (r->play->policies && !pick(r, 3))
		len += 120000;
	do {
		rc = rs_core_fallocate(r->core, ino, mode, off, len);
	} while (again(r, rc, ino, &tries));
	say(r, "fallocate", rc);
}

static void op_setattr(struct run *r)
{
	struct rs_attr attr = {
		.mode = (uint32_t)pick(r, 07777),
		.uid = (uint32_t)pick(r, 1000),
		.gid = (uint32_t)pick(r, 1000),
		.atime = { (time_t)pick(r, 2000000000), (long)pick(r, 1000) },
		.mtime = { -(time_t)pick(r, 2000000), 999999999 },
	};
	static const unsigned int sets[] = { RS_SET_MODE,
					     RS_SET_UID | RS_SET_GID,
					     RS_SET_ATIME | RS_SET_MTIME,
					     RS_SET_ATIME, RS_SET_MTIME_NOW };
	uint64_t ino = pick_ino(r);
	struct rs_stat st;
	int rc;

	if (!ino)
		return;
	rc = rs_core_setattr(r->core, ino, &attr,
			     sets[pick(r, RS_ARRAY_LEN(sets))], &st);
	say(r, "setattr", rc);
}

static void op_rename(struct run *r)
{
	static const unsigned int flags[] = { 0, 0, 0, 0, 0, 1, 2, 2 };
	/* pick_name() may use one static buffer: copy */
	char name[RS_NAME_MAX + 1];
	uint64_t from = pick_dir(r), to = pick_dir(r);
	int rc;

	strcpy(name, pick_name(r));
	rc = rs_core_rename(r->core, from, name, to, pick_name(r),
			    flags[pick(r, RS_ARRAY_LEN(flags))], &who);
	say(r, "rename", rc);
	changed(r, rc, from, RS_CHANGE_ENTRY);
	changed(r, rc, to, RS_CHANGE_INTO);
}

static void op_link(struct run *r)
{
	uint64_t ino = pick_ino(r), dir;
	struct rs_stat st;
	int rc;

	if (!ino)
		return;
	/* the kernel refuses these before they reach a filesystem */
	if (rs_core_getattr(r->core, ino, &st) || S_ISDIR(st.attr.mode) ||
	    !st.attr.nlink)
		return;
	dir = pick_dir(r);
	rc = rs_core_link(r->core, ino, dir, pick_name(r), &who, &st);
	made(r, rc, &st);
	say(r, "link", rc);
	changed(r, rc, dir, RS_CHANGE_INTO);
}

static void op_unlink(struct run *r)
{
	uint64_t dir = pick_dir(r);
	int rc = rs_core_unlink(r->core, dir, pick_name(r), &who);

	say(r, "unlink", rc);
	changed(r, rc, dir, RS_CHANGE_ENTRY);
}

static void op_rmdir(struct run *r)
{
	say(r, "rmdir",
	    rs_core_rmdir(r->core, pick_dir(r), pick_name(r), &who));
}

static void op_tmpfile(struct run *r)
{
	static const char text[] = "made without a name";
	unsigned int tries = 0;
	struct rs_stat st;
	ssize_t n;
	int rc = rs_core_tmpfile(r->core, RS_INO_ROOT, &who, S_IFREG | 0600,
				 &st);

	say(r, "tmpfile", rc);
	if (rc)
		return;
	add_ref(r, st.ino);
	do {
		n = rs_core_write(r->core, st.ino, text, sizeof(text), 3000, 0);
	} while (again(r, n, st.ino, &tries));
	if (pick(r, 2)) {
		rc = rs_core_link(r->core, st.ino, pick_dir(r), pick_name(r),
				  &who, &st);
		made(r, rc, &st);
		say(r, "  link", rc);
	}
}

static void op_xattr(struct run *r)
{
	static const char *const names[] = { "user.a", "user.b", "trusted.c" };
	const char *name = names[pick(r, RS_ARRAY_LEN(names))];
	static char value[6000];
	uint64_t ino = pick_ino(r);
	size_t len = pick(r, 3) ? pick(r, 40) : pick(r, sizeof(value));
	int rc;

	if (!ino)
		return;
	if (pick(r, 3) == 0) {
		rc = rs_core_removexattr(r->core, ino, name);
	} else {
		memset(value, (int)pick(r, 256), len);
		rc = rs_core_setxattr(r->core, ino, name, value, len, 0);
	}
	say(r, "xattr", rc);
}

static void op_fsync(struct run *r)
{
	uint64_t ino = pick_ino(r);

	if (ino)
		sync_ino(r, ino, "fsync");
}

static void op_fsyncdir(struct run *r)
{
	sync_ino(r, pick_dir(r), "fsyncdir");
}

static void op_forget(struct run *r)
{
	size_t i;

	if (!r->n_refs)
		return;
	i = pick(r, r->n_refs);
	rs_core_forget(r->core, r->refs[i], 1);
	r->refs[i] = r->refs[--r->n_refs];
}

static void op_shrink(struct run *r)
{
	rs_core_shrink(r->core, 0);
	say(r, "shrink", 0);
}

/* The Postfix pattern: the sequence that must never break. */
static void op_postfix(struct run *r)
{
	uint64_t dir = pick_dir(r), to = pick_dir(r);
	struct rs_attr attr = { .mode = 0700 };
	unsigned int tries = 0;
	char name[32];
	struct rs_stat st;
	ssize_t n;
	int rc;

	rc = rs_core_mknod(r->core, dir, "tmp", &who, S_IFREG | 0600, 0, &st);
	made(r, rc, &st);
	if (rc)
		return;
	snprintf(name, sizeof(name), "%llX", (unsigned long long)st.ino);
	rc = rs_core_rename(r->core, dir, "tmp", dir, name, 0, &who);
	assert(rc == 0 || r->play->may_fail);
	if (rc)
		return;
	do {
		n = rs_core_write(r->core, st.ino, name, strlen(name), 0, 0);
	} while (again(r, n, st.ino, &tries));
	if (rs_core_setattr(r->core, st.ino, &attr, RS_SET_MODE, &st))
		return;
	/* fsync is promised for what is in the tree now */
	assert(r->play->n_snaps < PLAY_SNAPS);
	if (r->play->before_step)
		*r->play->before_step = 0;
	snap_take(&r->play->snaps[r->play->n_snaps], r->core,
		  &r->play->snaps[r->play->n_snaps - 1]);
	r->play->n_snaps++;
	tape_note(&r->play->tape, TAPE_OP, r->play->n_snaps - 1);
	if (r->play->before_step)
		*r->play->before_step = 1;
	sync_ino(r, st.ino, "postfix");
	rc = rs_core_rename(r->core, dir, name, to, name, 0, &who);
	if (!rc && pick(r, 3) == 0) {
		rc = rs_core_unlink(r->core, to, name, &who);
		assert(rc == 0 || r->play->may_fail);
	}
}

/* Raised: all that is there is durable when it returns. */
static void op_policy(struct run *r)
{
	struct rs_policy_set set = {
		.what = RS_POLSET_POLICY,
		.policy = (uint8_t)(1 + pick(r, RS_POLICY_ALWAYS)),
	};
	uint64_t number = 0, dir = pick_dir(r);
	struct rs_policy_info info;
	int rc;

	if (!r->play->policies)
		return;
	rc = rs_core_policy_get(r->core, dir, &info);
	if (!rc && info.policy_origin == RS_ORIGIN_RUNTIME && !pick(r, 2))
		set.policy = 0;
	r->play->loose[r->play->n_snaps] = 1;
	if (!rc)
		rc = rs_core_policy_set(r->core, dir, &set, &number);
	say(r, "policy", rc);
	r->number = number;
}

static const struct {
	void (*fn)(struct run *r);
	unsigned int weight;
} ops[] = {
	{ op_mknod, 12 },   { op_write, 12 },	 { op_rename, 10 },
	{ op_unlink, 7 },   { op_fsync, 8 },	 { op_fsyncdir, 4 },
	{ commit, 9 },	    { checkpoint, 3 },	 { op_postfix, 6 },
	{ op_truncate, 4 }, { op_fallocate, 4 }, { op_setattr, 5 },
	{ op_link, 4 },	    { op_rmdir, 2 },	 { op_symlink, 2 },
	{ op_tmpfile, 2 },  { op_xattr, 3 },	 { op_forget, 6 },
	{ op_shrink, 1 },   { op_policy, 3 },
};

/* Without policies the last one is left out: seeds keep their meaning. */
static size_t n_ops(const struct run *r)
{
	return RS_ARRAY_LEN(ops) - (r->play->policies ? 0 : 1);
}

static void one_step(struct run *r)
{
	struct rs_journal_status status;
	unsigned int total = 0;
	uint64_t at;
	size_t i;

	/* a small operation must never have to sleep here */
	rs_journal_status(r->j, &status);
	if (status.unsynced_bytes > 24000)
		commit(r);
	if (status.ring_used > status.ring_size * 3 / 5)
		checkpoint(r);
	for (i = 0; i < n_ops(r); i++)
		total += ops[i].weight;
	at = pick(r, total);
	for (i = 0; at >= ops[i].weight; i++)
		at -= ops[i].weight;
	ops[i].fn(r);
}

static void poisoned(void *arg, int err, const char *why)
{
	struct play *play = arg;

	assert(play->may_fail);
	if (play->verbose)
		printf("poisoned: %s (%d)\n", why, err);
	play->poisoned = 1;
}

/* In the names that are used everywhere. */
static const struct rs_rule rules[] = {
	{ .glob = "/a", .policy = RS_POLICY_VOLATILE },
	{ .glob = "/**/e", .policy = RS_POLICY_VOLATILE },
	{ .glob = "/a/b*", .policy = RS_POLICY_FSYNC },
	{ .glob = "/a/c", .policy = RS_POLICY_VOLATILE },
	{ .glob = "/b", .policy = RS_POLICY_INTERVAL },
	{ .glob = "/c", .policy = RS_POLICY_RENAME },
	{ .glob = "/df1", .policy = RS_POLICY_ALWAYS },
};

static const char *const named[] = { "a", "a/c", "b", "c", "df1", NULL };

int play_open(struct play *play, const char *dir, enum rs_journal_mode mode,
	      struct rs_report *rep, struct rs_journal **ret_j,
	      struct rs_core **ret_core)
{
	struct rs_journal_cfg jcfg = { .dir = dir,
				       .mode = mode,
				       .flush_interval = 1000,
				       .manual = 1,
				       .inline_walk = 1,
				       .poisoned = poisoned,
				       .arg = play };
	struct rs_core_cfg cfg = { .ram = UINT64_C(64) << 20,
				   .capacity = UINT64_C(4) << 20,
				   .inodes = 2000,
				   .policy = RS_POLICY_FSYNC,
				   .noatime = 1,
				   .xattr = 1,
				   .now = now,
				   .arg = play };
	pid_t owner = 0;
	int rc;

	rc = rs_journal_open(&jcfg, rep, &owner, ret_j);
	if (rc)
		return rc;
	cfg.journal = *ret_j;
	snap_named = NULL;
	if (play->policies) {
		cfg.rules = rules;
		cfg.n_rules = RS_ARRAY_LEN(rules);
		snap_named = named;
	}
	if (mode == RS_JOURNAL_RECOVER) {
		*ret_core = NULL;
		return 0;
	}
	cfg.readonly = mode == RS_JOURNAL_RDONLY;
	rc = rs_core_new(&cfg, ret_core);
	if (!rc) {
		rc = rs_core_load_tree(*ret_core, rep);
		if (rc)
			rs_core_free(*ret_core);
	}
	if (rc)
		rs_journal_close(*ret_j);
	return rc;
}

/* Directories of a tree that was loaded are found by what they are. */
static int find_dir(void *arg, const char *path, const struct rs_stat *st,
		    int first_name)
{
	struct run *r = arg;

	(void)path;
	(void)first_name;
	if (S_ISDIR(st->attr.mode) && r->n_dirs < MAX_DIRS)
		r->dirs[r->n_dirs++] = st->ino;
	return 0;
}

/* A snapshot after a step; an operation that failed changed nothing. */
static void after_step(struct run *r)
{
	struct play *play = r->play;
	struct snap *snap = &play->snaps[play->n_snaps];

	snap_take(snap, r->core, &snap[-1]);
	if (r->rc < 0 && r->said == 1 && snap->hash != snap[-1].hash) {
		printf("step %zu failed with %lld and changed the tree:\n",
		       play->n_snaps, (long long)r->rc);
		snap_diff(&snap[-1], snap);
		play->half_done++;
	}
	play->n_snaps++;
	tape_note(&play->tape, TAPE_OP, play->n_snaps - 1);
	wait_change(r, play->n_snaps - 1);
}

static void run_steps(struct run *r, unsigned int steps)
{
	struct play *play = r->play;

	while (steps-- && play->n_snaps + 4 < PLAY_SNAPS) {
		r->said = 0;
		r->rc = 0;
		r->number = 0;
		play->loose[play->n_snaps] = 0;
		if (play->before_step)
			*play->before_step = 1;
		one_step(r);
		if (play->before_step)
			*play->before_step = 0;
		after_step(r);
	}
}

static void end_run(struct run *r)
{
	struct play *play = r->play;
	int rc;

	if (!pick(r, 2)) {
		/* as a kill leaves it, but with nobody waiting */
		while (r->waiting && !play->poisoned)
			commit(r);
		return;
	}
	while (r->n_refs)
		rs_core_forget(r->core, r->refs[--r->n_refs], 1);
	rc = rs_journal_stop(r->j, (int)pick(r, 2));
	assert(!r->waiting);
	assert(rc == 0 || play->may_fail);
	if (rc == 0 && !play->poisoned)
		acknowledge(play, RS_INO_ROOT, play->n_snaps - 1);
}

int play_run(struct play *play, const char *dir, unsigned int steps)
{
	struct rs_walk_ops walk = { .inode = find_dir };
	struct run r = { .play = play };
	struct rs_report rep;
	int rc;

	rs_report_init(&rep);
	rc = play_open(play, dir, RS_JOURNAL_SERVE, &rep, &r.j, &r.core);
	if (rc)
		goto out;
	assert(rep.quarantined == 0 && play->n_snaps < PLAY_SNAPS);
	snap_take(&play->snaps[play->n_snaps++], r.core, NULL);
	tape_note(&play->tape, TAPE_OP, play->n_snaps - 1);
	rc = rs_journal_start(r.j);
	if (rc)
		goto out_close;
	/* what start flushed is durable: all that was there */
	acknowledge(play, RS_INO_ROOT, play->n_snaps - 1);
	rc = rs_core_walk(r.core, &walk, &r);
	assert(rc == 0);
	run_steps(&r, steps);
	end_run(&r);
out_close:
	rs_core_free(r.core);
	rs_journal_close(r.j);
out:
	assert(rc == 0 || play->may_fail);
	rs_report_release(&rep);
	return rc;
}

void play_release(struct play *play)
{
	size_t i;

	for (i = 0; i < play->n_snaps; i++)
		snap_release(&play->snaps[i]);
	tape_release(&play->tape);
}

size_t play_must(const struct play *play, size_t cut)
{
	size_t must = 0, i;

	for (i = 0; i < play->n_acks; i++)
		if (play->acks[i].event <= cut && play->acks[i].snap > must)
			must = play->acks[i].snap;
	return must;
}

size_t play_can(const struct play *play, size_t cut)
{
	size_t can = 0, i;

	for (i = 0; i < cut; i++)
		if (play->tape.events[i].type == TAPE_OP)
			can = (size_t)play->tape.events[i].arg;
	/* an operation in progress at the cut may be in the log already */
	return can + 1 < play->n_snaps ? can + 1 : play->n_snaps - 1;
}
