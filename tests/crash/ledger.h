/*
 * ledger.h - what was asked of a mounted tree and what was acknowledged,
 * written down outside of it, so that after a crash the tree can be compared
 * with its own history.
 *
 * A ledger is a file of records of one size, appended with one write each.
 * A phase begins with what the tree held then (ADOPT); after that every
 * system call of every writer has two records: INTENT before it, DONE after
 * it returned. The number of a record is its fact number. What comes from a
 * file's content is not here but computed from a key (led_fill).
 *
 * Objects (files, directories, symlinks) have numbers of their own. An
 * object is only ever changed by one writer, but directories are shared.
 */
#ifndef LEDGER_H
#define LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#define LED_MAGIC 0x4c656431u
#define LED_NAME_MAX 55u
#define LED_NAMES 3u	   /* most names of one file */
#define LED_ROOT 1u	   /* object number of the tree's root */
#define LED_SHARED 0xffffu /* writer number of what nobody changes */
#define LED_PAGE 4096u	   /* a write request of FUSE ends at a page's end */

enum led_kind {
	LED_PHASE = 1, /* a new phase, key: seed */
	LED_ADOPT,     /* a name that the tree has at the start of a phase */
	LED_INTENT,
	LED_DONE,
	LED_NOTE, /* op: enum led_note */
};

enum led_note {
	LED_SYNC_BEGIN, /* a barrier was asked for ... */
	LED_SYNC_END,	/* ... and returned */
};

enum led_op {
	LED_CREATE, /* obj at dir/name, mode in st.mode */
	LED_MKDIR,
	LED_SYMLINK, /* to a text made from obj */
	LED_WRITE,   /* off, len, key */
	LED_TRUNC,   /* from off to len */
	LED_CHMOD,
	LED_CHOWN,
	LED_UTIMES,   /* st.mtime */
	LED_RENAME,   /* dir/name to dir2/name2, obj2 is replaced there */
	LED_EXCHANGE, /* obj at dir/name with obj2 at dir2/name2 */
	LED_LINK,     /* obj also at dir2/name2 */
	LED_UNLINK,   /* dir/name */
	LED_RMDIR,
	LED_FSYNC,
	LED_FSYNCDIR, /* of obj */
	LED_OPS,
};

#define LED_F_SYNC 1u	/* acknowledges the object when it returns */
#define LED_F_DSYNC 2u	/* RWF_DSYNC */
#define LED_F_MMAP 4u	/* stored through a shared mapping, then msync */
#define LED_F_APPEND 8u /* through a descriptor with O_APPEND */

/* stat(2) in fixed sizes, times in ns; atime isn't promised. */
struct led_stat {
	uint64_t ino, size;
	int64_t mtime, ctime;
	uint32_t mode, uid, gid, nlink;
};

struct led_rec {
	uint32_t magic;
	uint16_t kind, op;
	uint16_t writer, flags;
	uint32_t n; /* the writer's operations in this phase count from 0 */
	uint32_t obj, obj2, dir, dir2;
	int32_t err;	/* DONE: 0 or -errno */
	uint32_t known; /* DONE: st is the object's after the call */
	uint64_t off, len;
	uint64_t key; /* WRITE: content; ADOPT: hash of it; PHASE: seed */
	int64_t res;  /* WRITE: bytes */
	struct led_stat st;
	char name[LED_NAME_MAX + 1], name2[LED_NAME_MAX + 1];
};

/* ledger_rec.c */

/* Append fd, or exit with a message: without a ledger nothing is worth it. */
int led_open(const char *path);
void led_append(int fd, const struct led_rec *rec);
/* All records; the caller frees. Exits on a broken file. */
struct led_rec *led_load(const char *path, size_t *ret_count);
/* Index of the last PHASE record; exits if there is none. */
size_t led_last_phase(const struct led_rec *recs, size_t count);

void led_stat_from(const struct stat *st, struct led_stat *ret);
const char *led_op_name(unsigned int op);
void led_print(uint64_t fact, const struct led_rec *rec);

uint64_t led_rand(uint64_t *state);
/* Content of key from byte off of the file on. */
void led_fill(uint64_t key, uint64_t off, void *buf, size_t len);
uint64_t led_hash(uint64_t hash, const void *buf, size_t len);
#define LED_HASH_INIT UINT64_C(0xcbf29ce484222325)
/* The target of symlink obj. */
void led_target(uint32_t obj, char ret[LED_NAME_MAX + 1]);

/* The verbs; each returns an exit code. */

/* ledger_adopt.c: new phase; fixed directories are made if missing. */
int led_init(const char *ledger, const char *root, uint64_t seed);

struct led_run {
	const char *ledger, *root;
	unsigned int writers, ops, seconds;
	unsigned int live;  /* files that a writer keeps at most */
	unsigned int bytes; /* most bytes of an ordinary file */
	uint64_t seed;
};
/* ledger_run.c: work until the limits or until the tree dies. */
int led_run(const struct led_run *run);

struct led_check {
	const char *ledger, *root;
	bool weak;  /* a filesystem that promises only fsync, not G1 and G9 */
	bool all;   /* everything was acknowledged: an orderly unmount */
	bool alive; /* nothing may have failed but for want of space */
	bool verbose;
};
/* ledger_check.c */
int led_check(const struct led_check *check);

/* The directories that every tree has; index into led_dirs. */
enum led_dir {
	LED_INCOMING,
	LED_ACTIVE,
	LED_DEFERRED,
	LED_MQUEUE,
	LED_INPUT,
	LED_TMP,
	LED_NEW,
	LED_WORK,
	LED_DIRS,
};
extern const char *const led_dirs[LED_DIRS];

#endif
