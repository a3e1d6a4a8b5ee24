/*
 * lockstep.h - what the parts of the lockstep test share.
 *
 * One seeded sequence of system calls runs on two trees, side A (under test)
 * and side B (the yardstick, tmpfs as a rule). A step picks one operation
 * with all of its arguments, runs it on A, then on B, and compares.
 *
 *	main.c   options, the loop of steps
 *	side.c   entering a side (chroot), taking a user's rights
 *	pick.c   random arguments: names, files, flags, times
 *	op_*.c   the operations, each a pick and a run function
 *	pair.c   which inode of A is which of B; attributes and times
 *	walk.c   the whole of both trees: entries, attributes, bytes
 *	excuse.c the documented differences, each with its reason
 *	report.c what is printed at the first difference
 */
#ifndef LOCKSTEP_H
#define LOCKSTEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#define LS_SLOTS 14	      /* open files at a time */
#define LS_PATH_LEN 1200      /* bytes of a path text with its NUL */
#define LS_OUT_LEN (2u << 20) /* most bytes that one call can bring back */
#define LS_KNOWN 256	      /* paths remembered because something was there */
#define LS_HISTORY 24	      /* calls shown before the one that differed */
#define LS_SAY_LEN 3000	      /* bytes of the printed form of a call */

enum ls_side {
	LS_A,
	LS_B,
	LS_SIDES
};

/* what one side answered */
struct ls_result {
	long ret;
	int err;      /* errno if ret is -1, else 0 */
	uint8_t *out; /* bytes that came back, LS_OUT_LEN of room */
	size_t len;   /* bytes of out that count */
};

/* a path: text relative to an open directory's slot, or to the root */
struct ls_path {
	int base; /* slot, or -1 for the root */
	char text[LS_PATH_LEN];
};

struct ls_op;

/* one operation with its arguments, the same for both sides */
struct ls_call {
	const struct ls_op *op;
	int who; /* index into the users of side.c, 0 is root */
	struct ls_path path[2];
	int paths; /* how many of path[] are used */
	int slot[2];
	int slots; /* how many of slot[] are used */
	int flags, how, mode;
	int64_t off[2];
	size_t len;
	uint64_t pattern; /* seeds the bytes that are written */
	dev_t rdev;
	uid_t uid;
	gid_t gid;
	struct timespec time[2];
	char target[LS_PATH_LEN * 4]; /* of a symlink */
	int into;		      /* slot for a new descriptor, or -1 */
	int newfd[LS_SIDES];
	char say[LS_SAY_LEN];
};

struct ls_slot {
	int fd[LS_SIDES]; /* -1 when free */
};

struct ls_options {
	uint64_t seed;
	uint64_t steps;
	uint64_t walk_every; /* steps between two comparisons of the trees */
	uint64_t call_every; /* steps between two runs of between, 0 never */
	const char *between; /* shell command, every descriptor closed */
	bool xattr;
	bool noatime; /* side A keeps atime as it is */
	bool verbose;
	const char *root[LS_SIDES];
};

struct ls_pairs;

struct ls_known {
	bool dir;
	char text[LS_PATH_LEN];
};

struct ls {
	struct ls_options opt;
	uint64_t step;
	uint64_t rng;
	int real_root;
	int root[LS_SIDES];
	struct ls_slot slot[LS_SLOTS];
	struct ls_result result[LS_SIDES];
	struct ls_pairs *pairs;
	struct ls_known known[LS_KNOWN];
	bool tmpfs[LS_SIDES]; /* strict inode and block rules */
	mode_t umask;
	bool tmpfile; /* both sides have O_TMPFILE */
	bool direct;  /* and O_DIRECT */
	struct ls_call call;
	char history[LS_HISTORY][LS_SAY_LEN];
	char where[LS_PATH_LEN * 2]; /* what is compared, for the report */
};

struct ls_op {
	const char *name;
	unsigned weight;
	/* choose the arguments; false if nothing fits now */
	bool (*pick)(struct ls *ls, struct ls_call *c);
	/* do it on one side; returns as the system call does */
	long (*run)(struct ls *ls, struct ls_call *c, int side,
		    struct ls_result *r);
	bool makes;   /* success means that the last path exists */
	bool loosens; /* st_blocks or times aren't comparable after it */
	bool xattr;   /* only with the option xattr */
};

/* op_*.c: tables that end with an entry without a name */
extern const struct ls_op ls_ops_file[], ls_ops_data[], ls_ops_name[],
	ls_ops_attr[], ls_ops_lock[], ls_ops_map[];

/* pick.c */
uint64_t ls_rand(struct ls *ls);
unsigned ls_below(struct ls *ls, unsigned n); /* 0 .. n-1 */
bool ls_chance(struct ls *ls, unsigned percent);
void ls_reseed(struct ls *ls, uint64_t step);
/* adds to c->path; NEW leans to what isn't there yet, OLD to what is */
enum ls_lean {
	LS_OLD,
	LS_NEW
};
void ls_pick_path(struct ls *ls, struct ls_call *c, enum ls_lean lean);
void ls_remember(struct ls *ls, const char *text, bool dir);
void ls_pick_name(struct ls *ls, char *text, size_t size);
bool ls_pick_slot(struct ls *ls, struct ls_call *c);
void ls_pick_into(struct ls *ls, struct ls_call *c);
int64_t ls_pick_offset(struct ls *ls);
size_t ls_pick_length(struct ls *ls);
int ls_pick_mode(struct ls *ls);
struct timespec ls_pick_time(struct ls *ls);
void ls_fill(uint64_t pattern, uint8_t *buf, size_t len);
void ls_say(struct ls_call *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void ls_say_path(struct ls_call *c, const struct ls_path *p);
void ls_quote(char *to, size_t size, const char *text);

/* side.c */
void ls_sides_open(struct ls *ls);
void ls_enter(struct ls *ls, int side);
void ls_leave(struct ls *ls);
void ls_become(int who);
unsigned ls_users(void);
uid_t ls_user_uid(unsigned who);
gid_t ls_user_gid(unsigned who);
int ls_base_fd(const struct ls *ls, const struct ls_path *p, int side);
void ls_close_slot(struct ls *ls, int slot);

/* the arguments of a call as one side sees them */
static inline int ls_fd(const struct ls *ls, const struct ls_call *c, int i,
			int side)
{
	return ls->slot[c->slot[i]].fd[side];
}

static inline int ls_at(const struct ls *ls, const struct ls_call *c, int i,
			int side)
{
	return ls_base_fd(ls, &c->path[i], side);
}

/* pair.c */
struct ls_pairs *ls_pairs_new(void);
void ls_pairs_free(struct ls_pairs *pairs);
void ls_compare_stat(struct ls *ls, const struct stat *a, const struct stat *b);
/* an fstat and lstat of everything that the call names */
void ls_check_call(struct ls *ls, const struct ls_call *c);
size_t ls_pairs_count(const struct ls_pairs *pairs);

/* walk.c */
void ls_walk(struct ls *ls, bool bytes);
/* sorted "type name" lines of an open directory; returns their number */
long ls_list(int fd, size_t bufsize, struct ls_result *r);

/* excuse.c */
enum ls_excuse {
	LS_EX_ATIME,
	LS_EX_DIR_SIZE,
	LS_EX_SYMLINK_BLOCKS,
	LS_EX_FIFO_TIMES,
	LS_EX_MMAP_TIMES,
	LS_EX_ZERO_RANGE,
	LS_EX_SEEK_HOLE,
	LS_EX_TMPFILE,
	LS_EX_BLOCKS,
	LS_EX_INO_REUSE,
	LS_EX_SAME_TICK,
	LS_EX_SGID_LOCK,
	LS_EX_SAME_SIZE,
	LS_EX_TRUSTED,
	LS_EX_COUNT,
};
void ls_excuse(enum ls_excuse which); /* counts a use */
void ls_excuse_print(void);

/* report.c */
void ls_differ(struct ls *ls, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 2, 3)));
void ls_die(const char *what) __attribute__((noreturn));
void ls_compare_result(struct ls *ls, const struct ls_call *c);

#endif
