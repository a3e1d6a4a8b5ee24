/*
 * play_op.c - the operations of a sequence, and what they are done to.
 */
#define _GNU_SOURCE
#include "play_p.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const struct rs_who who = { .uid = 0, .gid = 0, .pid = 1 };

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
		r->dirs[1 + play_pick(r, MAX_DIRS - 1)] = ino;
}

static uint64_t pick_dir(struct run *r)
{
	return r->dirs[play_pick(r, r->n_dirs)];
}

static const char *pick_name(struct run *r)
{
	static char longname[RS_NAME_MAX + 1];
	static const char *const names[] = { "a",   "b",	"c", "df1",
					     "qf1", "\xff\x01", "e", "f" };
	uint64_t i = play_pick(r, RS_ARRAY_LEN(names) * 4 + 1);

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
	if (r->n_refs && play_pick(r, 4) == 0)
		return r->refs[play_pick(r, r->n_refs)];
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

/* ---- making room ---- */

static void checkpoint(struct run *r)
{
	int more = 0, rc = rs_journal_checkpoint_once(r->j, &more);

	assert(rc >= 0 || r->play->may_fail);
	play_say(r, "checkpoint", rc < 0 ? rc : more);
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
	play_commit(r);
	checkpoint(r);
	return 1;
}

/* ---- operations ---- */

static void op_mknod(struct run *r)
{
	static const mode_t types[] = { S_IFREG,  S_IFREG, S_IFREG, S_IFREG,
					S_IFREG,  S_IFDIR, S_IFDIR, S_IFIFO,
					S_IFSOCK, S_IFCHR };
	mode_t type = types[play_pick(r, RS_ARRAY_LEN(types))];
	uint32_t mode = (uint32_t)(type | (0600 + play_pick(r, 0200)));
	struct rs_stat st;
	uint64_t dir = pick_dir(r);
	int rc = rs_core_mknod(r->core, dir, pick_name(r), &who, mode,
			       type == S_IFCHR ? 0x103 : 0, &st);

	made(r, rc, &st);
	play_say(r, "mknod", rc);
	play_changed(r, rc, dir, RS_CHANGE_ENTRY);
}

static void op_symlink(struct run *r)
{
	char target[RS_SYMLINK_MAX + 1];
	size_t len = play_pick(r, 8) ? 1 + play_pick(r, 60)
				     : 1 + play_pick(r, RS_SYMLINK_MAX);
	struct rs_stat st;
	int rc;

	memset(target, (int)('a' + play_pick(r, 26)), len);
	target[len] = 0;
	rc = rs_core_symlink(r->core, pick_dir(r), pick_name(r), &who, target,
			     &st);
	made(r, rc, &st);
	play_say(r, "symlink", rc);
}

static void op_write(struct run *r)
{
	static uint8_t buf[24576];
	uint64_t ino = pick_ino(r);
	size_t len = play_pick(r, 4) ? 1 + play_pick(r, 5000)
				     : 1 + play_pick(r, sizeof(buf));
	uint64_t off = play_pick(r, 3) ? 0 : play_pick(r, 40000);
	unsigned int tries = 0;
	ssize_t rc;
	size_t i;

	if (!ino)
		return;
	if (play_pick(r, 20) == 0)
		off = (UINT64_C(5) << 30) + play_pick(r, 5000);
	if (off > UINT64_C(1) << 30)
		off = 300000 +
		      play_pick(r, 5000); /* snapshots read holes too */
	for (i = 0; i < len; i++)
		buf[i] = (uint8_t)(rng_next(&r->play->rng) >> 13);
	do {
		rc = rs_core_write(r->core, ino, buf, len, off,
				   play_pick(r, 5) == 0);
	} while (again(r, rc, ino, &tries));
	play_say(r, "write", rc);
	play_changed(r, rc, ino, RS_CHANGE_INODE);
}

static void op_truncate(struct run *r)
{
	struct rs_attr attr = { .size = play_pick(r, 3)
						? play_pick(r, 9000)
						: play_pick(r, 400000) };
	uint64_t ino = pick_ino(r);
	unsigned int tries = 0;
	struct rs_stat st;
	int rc;

	if (!ino)
		return;
	do {
		rc = rs_core_setattr(r->core, ino, &attr, RS_SET_SIZE, &st);
	} while (again(r, rc, ino, &tries));
	play_say(r, "truncate", rc);
}

static void op_fallocate(struct run *r)
{
	static const int modes[] = { 0, FALLOC_FL_KEEP_SIZE,
				     FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				     FALLOC_FL_ZERO_RANGE,
				     FALLOC_FL_ZERO_RANGE |
					     FALLOC_FL_KEEP_SIZE };
	int mode = modes[play_pick(r, RS_ARRAY_LEN(modes))];
	uint64_t off = play_pick(r, 30000), len = 1 + play_pick(r, 30000);
	uint64_t ino = pick_ino(r);
	unsigned int tries = 0;
	int rc;

	if (!ino)
		return;
	/* closures that don't fit into a frame */
	if (r->play->policies && !play_pick(r, 3))
		len += 120000;
	do {
		rc = rs_core_fallocate(r->core, ino, mode, off, len);
	} while (again(r, rc, ino, &tries));
	play_say(r, "fallocate", rc);
}

static void op_setattr(struct run *r)
{
	struct rs_attr attr = {
		.mode = (uint32_t)play_pick(r, 07777),
		.uid = (uint32_t)play_pick(r, 1000),
		.gid = (uint32_t)play_pick(r, 1000),
		.atime = { (time_t)play_pick(r, 2000000000),
			   (long)play_pick(r, 1000) },
		.mtime = { -(time_t)play_pick(r, 2000000), 999999999 },
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
			     sets[play_pick(r, RS_ARRAY_LEN(sets))], &st);
	play_say(r, "setattr", rc);
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
			    flags[play_pick(r, RS_ARRAY_LEN(flags))], &who);
	play_say(r, "rename", rc);
	play_changed(r, rc, from, RS_CHANGE_ENTRY);
	play_changed(r, rc, to, RS_CHANGE_INTO);
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
	play_say(r, "link", rc);
	play_changed(r, rc, dir, RS_CHANGE_INTO);
}

static void op_unlink(struct run *r)
{
	uint64_t dir = pick_dir(r);
	int rc = rs_core_unlink(r->core, dir, pick_name(r), &who);

	play_say(r, "unlink", rc);
	play_changed(r, rc, dir, RS_CHANGE_ENTRY);
}

static void op_rmdir(struct run *r)
{
	play_say(r, "rmdir",
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

	play_say(r, "tmpfile", rc);
	if (rc)
		return;
	add_ref(r, st.ino);
	do {
		n = rs_core_write(r->core, st.ino, text, sizeof(text), 3000, 0);
	} while (again(r, n, st.ino, &tries));
	if (play_pick(r, 2)) {
		rc = rs_core_link(r->core, st.ino, pick_dir(r), pick_name(r),
				  &who, &st);
		made(r, rc, &st);
		play_say(r, "  link", rc);
	}
}

static void op_xattr(struct run *r)
{
	static const char *const names[] = { "user.a", "user.b", "trusted.c" };
	const char *name = names[play_pick(r, RS_ARRAY_LEN(names))];
	static char value[6000];
	uint64_t ino = pick_ino(r);
	size_t len = play_pick(r, 3) ? play_pick(r, 40)
				     : play_pick(r, sizeof(value));
	int rc;

	if (!ino)
		return;
	if (play_pick(r, 3) == 0) {
		rc = rs_core_removexattr(r->core, ino, name);
	} else {
		memset(value, (int)play_pick(r, 256), len);
		rc = rs_core_setxattr(r->core, ino, name, value, len, 0);
	}
	play_say(r, "xattr", rc);
}

static void op_fsync(struct run *r)
{
	uint64_t ino = pick_ino(r);

	if (ino)
		play_sync(r, ino, "fsync");
}

static void op_fsyncdir(struct run *r)
{
	play_sync(r, pick_dir(r), "fsyncdir");
}

static void op_forget(struct run *r)
{
	size_t i;

	if (!r->n_refs)
		return;
	i = play_pick(r, r->n_refs);
	rs_core_forget(r->core, r->refs[i], 1);
	r->refs[i] = r->refs[--r->n_refs];
}

static void op_shrink(struct run *r)
{
	rs_core_shrink(r->core, 0);
	play_say(r, "shrink", 0);
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
	play_sync(r, st.ino, "postfix");
	rc = rs_core_rename(r->core, dir, name, to, name, 0, &who);
	if (!rc && play_pick(r, 3) == 0) {
		rc = rs_core_unlink(r->core, to, name, &who);
		assert(rc == 0 || r->play->may_fail);
	}
}

/* Raised: all that is there is durable when it returns. */
static void op_policy(struct run *r)
{
	struct rs_policy_set set = {
		.what = RS_POLSET_POLICY,
		.policy = (uint8_t)(1 + play_pick(r, RS_POLICY_ALWAYS)),
	};
	uint64_t number = 0, dir = pick_dir(r);
	struct rs_policy_info info;
	int rc;

	if (!r->play->policies)
		return;
	rc = rs_core_policy_get(r->core, dir, &info);
	if (!rc && info.policy_origin == RS_ORIGIN_RUNTIME && !play_pick(r, 2))
		set.policy = 0;
	r->play->loose[r->play->n_snaps] = 1;
	if (!rc)
		rc = rs_core_policy_set(r->core, dir, &set, &number);
	play_say(r, "policy", rc);
	r->number = number;
}

static const struct {
	void (*fn)(struct run *r);
	unsigned int weight;
} ops[] = {
	{ op_mknod, 12 },   { op_write, 12 },	 { op_rename, 10 },
	{ op_unlink, 7 },   { op_fsync, 8 },	 { op_fsyncdir, 4 },
	{ play_commit, 9 }, { checkpoint, 3 },	 { op_postfix, 6 },
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

void play_step(struct run *r)
{
	struct rs_journal_status status;
	unsigned int total = 0;
	uint64_t at;
	size_t i;

	/* a small operation must never have to sleep here */
	rs_journal_status(r->j, &status);
	if (status.unsynced_bytes > 24000)
		play_commit(r);
	if (status.ring_used > status.ring_size * 3 / 5)
		checkpoint(r);
	for (i = 0; i < n_ops(r); i++)
		total += ops[i].weight;
	at = play_pick(r, total);
	for (i = 0; at >= ops[i].weight; i++)
		at -= ops[i].weight;
	ops[i].fn(r);
}
