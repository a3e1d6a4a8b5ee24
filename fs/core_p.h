/*
 * core_p.h - the tree's own structures, shared by the core's files.
 *
 *   table of inodes by number          table of dentries by hash(dir, name)
 *        |                                  |
 *   struct rs_inode  <---- inode ----  struct rs_dentry ---- dir ---> rs_inode
 *     names ------------------------------> | next name of the same inode
 *     u.dir --> struct rs_dir: slots[] in the order of their cookies
 *     u.root --> radix tree of pages (pages.h)
 *
 * LIFETIME  an inode is freed when nlink == 0 and nlookup == 0; the root
 * never. A dentry lives as long as the name.
 *
 * LOGGING  `logged` inodes have records in the journal; `last` is the frame
 * of the last one, `before` the one before that frame (0: born in it). The
 * INODE record of the open group stands at `mark` when last is its number.
 * Of an inode that isn't logged any more `last` is the frame that says so.
 * Each name is logged or not, too:
 *   - a logged name stands in a logged directory and leads to a logged inode
 *   - a logged file has a logged name, or is staged (closure.c)
 *   - a directory under no volatile policy is logged and has no name that
 *     isn't (`whole`); the volatile ones keep what was logged before
 *   - a logged directory's own name is logged, or it is staged
 */
#ifndef RS_CORE_P_H
#define RS_CORE_P_H

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>

#include "fs/core.h"
#include "fs/mem.h"
#include "fs/pages.h"
#include "fs/table.h"

/* inode state, in RAM only */
#define RS_I_LOGGED 0x01u
#define RS_I_TMPFILE 0x02u /* without a name from birth: may be linked */
#define RS_I_USED 0x04u	   /* data was touched since the clock's last round */
#define RS_I_GHOST 0x08u   /* loading: an entry names it, not seen itself */
#define RS_I_GONE 0x10u	   /* loading: removed, entries still to go */
#define RS_I_SEEN 0x20u	   /* loading: reached from the root */
#define RS_I_BASE 0x40u	   /* loading: data of the store was taken apart */

#define RS_I_WHOLE 0x80u /* staged with all of its data */

#define RS_NLINK_MAX 0x7fffffffu

enum rs_time {
	RS_ATIME,
	RS_MTIME,
	RS_CTIME,
	RS_BTIME,
	RS_TIMES,
};

struct rs_xattr {
	struct rs_xattr *next;
	uint32_t value_len;
	uint8_t name_len;
	char name[]; /* not terminated; the value follows */
};

struct rs_dir {
	/* dentries in rising order of their cookies; a removed one leaves
	 * its cookie times two plus one */
	uintptr_t *slots;
	uint32_t n, cap, live;
	uint64_t next_cookie;
	/* own settings made at run time, 0: none; kept in the store */
	uint64_t limit, limit_inodes;
	uint8_t policy, dirsync;
	/* what counts (policy.c), and enum rs_origin of each */
	uint8_t eff, eff_sync, from, from_sync;
	uint64_t eff_limit, eff_inodes;
	uint64_t used, used_inodes; /* below it, while core->limits */
	/* frame of its last record that is no change of an entry; records of
	 * entries that stand in frame `group` */
	uint64_t solid, group;
	uint32_t entries;
	uint8_t whole;	 /* every entry is logged */
	uint8_t staging; /* a closure is at it: new entries are logged */
	uint8_t due;	 /* its times are newer than its last record */
	uint8_t in_due;	 /* it stands in core->due */
};

struct rs_inode {
	struct rs_hnode node; /* key: the number */
	uint64_t last, before;
	uint64_t nlookup;
	uint64_t size, data_end, blocks;
	int64_t sec[RS_TIMES];
	uint32_t nsec[RS_TIMES];
	uint32_t mode, uid, gid, nlink;
	uint32_t flags;	    /* RS_IF_ */
	uint32_t mark;	    /* place + 1 of the INODE record in frame `last` */
	uint32_t gen;	    /* raised when data leaves RAM for the store */
	uint8_t state;	    /* RS_I_ */
	uint8_t height;	    /* of the tree of pages */
	uint8_t proved;	    /* its data in the store was compared as a whole */
	uint8_t loss;	    /* see loss.c */
	uint32_t log_nlink; /* nlink as the log has it: logged names alone */
	uint32_t births;    /* how often it was logged anew */
	union {
		uintptr_t root; /* regular file */
		struct rs_dir *dir;
		char *target; /* symlink, size + 1 bytes */
		uint64_t rdev;
	} u;
	struct rs_dentry *names;
	struct rs_xattr *xattrs;
	/* the clock of logged inodes that have pages in RAM, NULL: not in it;
	 * or the list of those that aren't logged, see loss.c */
	struct rs_inode *clock_next, *clock_prev;
};

struct rs_dentry {
	struct rs_hnode node; /* key: rs_name_hash() */
	struct rs_inode *dir, *inode;
	struct rs_dentry *next, **link; /* names of the same inode */
	uint64_t cookie;
	uint64_t last;	/* frame of its ENTRY_PUT */
	uint32_t mark;	/* place + 1 of that record in the open group */
	uint32_t slot;	/* index in the directory's array */
	uint8_t fresh;	/* the name was free when that PUT was made */
	uint8_t logged; /* RS_D_ */
	uint8_t len;
	char name[]; /* not terminated */
};

/* dentry->logged: no; yes; by a closure whose end may still be to undo it */
#define RS_D_UNLOGGED 0u
#define RS_D_LOGGED 1u
#define RS_D_STAGED 2u

/* A subtree of pages that nobody can reach any more. */
struct rs_grave {
	uintptr_t slot;
	unsigned int height;
};

/* A directory by its name in its parent; the root has no name. */
struct rs_spot {
	const struct rs_inode *dir;
	const char *name;
	size_t len;
};

/* What a frame that isn't durable holds, by policy. */
struct rs_pending {
	uint64_t number;
	struct rs_core_loss by[RS_POLICY_ALWAYS + 1]; /* oldest_ms: since */
};

struct rs_losses {
	/* unlogged inodes in the order in which they became so */
	struct rs_inode *first, *last;
	uint64_t files, pages;	      /* of them; pages of regular ones */
	struct rs_pending pending[2]; /* the open group and the one before */
};

struct rs_core {
	pthread_mutex_t lock; /* the tree: everything below */
	struct rs_core_cfg cfg;
	struct rs_mem mem;
	struct rs_table inodes, dentries;
	uint64_t seed[2];
	struct rs_inode *root;
	uint64_t blocks;      /* allocated pages of all files, cold ones too */
	uint64_t resident;    /* pages of them in RAM */
	uint64_t xattr_bytes; /* of all inodes; they count as data */
	uint64_t orphans, suspects;
	/* inode numbers: never at or above `ceiling`, which is durable */
	uint64_t next_ino, ceiling, raised, raised_number;
	struct rs_inode *clock; /* the hand; ring through clock_next */
	uint64_t n_clock;
	/* to be freed in small portions, see bury.c */
	struct rs_grave *graves;
	size_t n_graves, cap_graves;
	/* staged inodes that loading dropped: their records are still there */
	struct rs_stale *stale;
	size_t n_stale;
	/* directories whose times are to be logged, see due.c */
	uint64_t *due;
	size_t n_due, cap_due;
	uint64_t tx; /* number of the frame between begin and end */
	const struct rs_inode *maker; /* directory that makes an inode now */
	pthread_mutex_t closing; /* before lock: one closure of trees at once */
	/* a directory that is looked at as if it were there already */
	struct {
		const struct rs_inode *dir; /* NULL: none */
		struct rs_spot spot;
		uint8_t policy; /* as if it had this of its own; 0: no */
	} moving;
	/* directories by effective policy; read without the lock too */
	uint64_t n_dirs[RS_POLICY_ALWAYS + 1];
	/* what isn't logged, and what isn't durable (loss.c) */
	struct rs_losses loss;
	uint8_t limits;	    /* some directory has had a limit: all is counted */
	uint8_t any_caller; /* some directory has had dirsync=caller */
};

/* An inode, or with a name an entry of it, that is to be cleared. */
struct rs_stale {
	uint64_t ino, last, before, child;
	char *name;
	uint8_t len;
};

static inline struct rs_inode *rs_inode_of(struct rs_hnode *node)
{
	return (struct rs_inode *)(void *)((char *)node -
					   offsetof(struct rs_inode, node));
}

static inline struct rs_dentry *rs_dentry_of(struct rs_hnode *node)
{
	return (struct rs_dentry *)(void *)((char *)node -
					    offsetof(struct rs_dentry, node));
}

static inline int rs_inode_logged(const struct rs_inode *inode)
{
	return inode->state & RS_I_LOGGED;
}

/* ---- core.c ---- */
void rs_core_lock(struct rs_core *core);
/* Unlock; what the operation buried is freed in portions. */
void rs_core_unlock(struct rs_core *core);

/* ---- inode.c ---- */
struct rs_inode *rs_inode_find(struct rs_core *core, uint64_t ino);
/* In the table, with nothing set but ino; NULL without memory. */
struct rs_inode *rs_inode_new(struct rs_core *core, uint64_t ino,
			      uint32_t mode);
/* Free it now, whatever it holds. It has no names and, if a directory, no
 * entries. */
void rs_inode_free(struct rs_core *core, struct rs_inode *inode);
/* Free it if nothing refers to it. */
void rs_inode_put(struct rs_core *core, struct rs_inode *inode);
/* nlink went to 0: count it as an orphan or free it. */
void rs_inode_drop(struct rs_core *core, struct rs_inode *inode);
void rs_inode_attr(const struct rs_inode *inode, struct rs_attr *ret);
void rs_inode_stat(const struct rs_inode *inode, struct rs_stat *ret);
/* All of attr but the type's own things. */
void rs_inode_set_attr(struct rs_inode *inode, const struct rs_attr *attr);

/* ---- times.c ---- */
void rs_times_now(struct rs_core *core, struct timespec *ret);
void rs_times_set(struct rs_inode *inode, enum rs_time which,
		  const struct timespec *ts);
/* mtime and ctime: contents or entries changed. */
void rs_times_change(struct rs_inode *inode, const struct timespec *ts);
/* relatime, unless noatime */
void rs_times_access(struct rs_core *core, struct rs_inode *inode);

/* ---- dentry.c ---- */
RS_MUST_USE int rs_name_check(const char *name, size_t len);
struct rs_dentry *rs_dentry_find(struct rs_core *core,
				 const struct rs_inode *dir, const char *name,
				 size_t len);
/* Room for one, not yet in the tree: the step that can fail. */
struct rs_dentry *rs_dentry_alloc(struct rs_core *core, struct rs_inode *dir,
				  const char *name, size_t len);
void rs_dentry_free(struct rs_core *core, struct rs_dentry *dentry);
/* Can't fail. */
void rs_dentry_add(struct rs_core *core, struct rs_dentry *dentry,
		   struct rs_inode *inode);
/* Out of the tree and freed. */
void rs_dentry_remove(struct rs_core *core, struct rs_dentry *dentry);
/* The name stays, with its cookie, and leads to another inode. */
void rs_dentry_point(struct rs_core *core, struct rs_dentry *dentry,
		     struct rs_inode *inode);

/* ---- dir.c ---- */
struct rs_dir *rs_dir_new(struct rs_core *core);
void rs_dir_free(struct rs_core *core, struct rs_dir *dir);
RS_MUST_USE int rs_dir_make_room(struct rs_core *core, struct rs_dir *dir);
void rs_dir_add(struct rs_dir *dir, struct rs_dentry *dentry);
void rs_dir_remove(struct rs_core *core, struct rs_dir *dir,
		   struct rs_dentry *dentry);
struct rs_dentry *rs_dir_first(const struct rs_dir *dir, uint64_t after);
/* Every directory below top, each before what is in it: the next after at. */
struct rs_inode *rs_dir_walk(const struct rs_inode *top, struct rs_inode *at);
/* The directory that holds dir; dir itself for the root; NULL if removed */
struct rs_inode *rs_dir_parent(struct rs_core *core,
			       const struct rs_inode *dir);

/* ---- quota.c ---- */
/*
 * May this much more RAM be taken, for data (GROW) or names (SMALL)? 0,
 * -ENOSPC, RS_EPARK (GROW only: soon).
 */
RS_MUST_USE int rs_quota_ram(struct rs_core *core, uint64_t bytes,
			     enum rs_need need);
/* Pages of data that RAM has room for now, at most want. */
uint64_t rs_quota_ram_pages(struct rs_core *core, uint64_t want);
/* One more, in dir or below it. */
RS_MUST_USE int rs_quota_inode(struct rs_core *core,
			       const struct rs_inode *dir);
/* How many of want pages fit in what is left of capacity and limits. */
uint64_t rs_quota_pages(const struct rs_core *core,
			const struct rs_inode *inode, uint64_t want);
/* Is there room for an xattr of so many bytes? */
int rs_quota_xattr(const struct rs_core *core, const struct rs_inode *inode,
		   uint64_t bytes);

/* ---- limit.c ---- */
/* It got bytes more (or -bytes: fewer). */
void rs_limit_grow(struct rs_core *core, const struct rs_inode *inode,
		   uint64_t bytes);
/* It has its oldest name now; it is going to lose it. */
void rs_limit_enter(struct rs_core *core, const struct rs_inode *inode);
void rs_limit_leave(struct rs_core *core, const struct rs_inode *inode);
/* Count from now on. */
void rs_limit_start(struct rs_core *core);
/* Bytes that the limits above leave. */
uint64_t rs_limit_bytes(const struct rs_core *core,
			const struct rs_inode *inode);
/* One more inode in dir: 0, -ENOSPC. */
RS_MUST_USE int rs_limit_inode(const struct rs_core *core,
			       const struct rs_inode *dir);
/*
 * The name from (NULL: it has none) of inode is going to be one in the
 * directory to, in the place of over (or NULL): 0, -ENOSPC.
 */
RS_MUST_USE int rs_limit_move(const struct rs_core *core,
			      const struct rs_inode *inode,
			      const struct rs_dentry *from,
			      const struct rs_inode *to,
			      const struct rs_dentry *over);
void rs_limit_statfs(const struct rs_core *core, const struct rs_inode *inode,
		     struct rs_statfs *ret);

/* ---- intent.c ---- */
/* bytes of records; 0 when nothing is logged */
struct rs_room {
	size_t bytes;
};
/* Before the lock. */
RS_MUST_USE int rs_room_take(struct rs_core *core, struct rs_room *room,
			     size_t bytes, enum rs_need need);
void rs_room_give(struct rs_core *core, struct rs_room *room);
/* Most bytes that one rs_room_take() can ask for. */
size_t rs_room_max(const struct rs_core *core);
/* -EROFS: the mount or the log takes no changes. */
RS_MUST_USE int rs_core_writable(struct rs_core *core);

void rs_intent_begin(struct rs_core *core);
void rs_intent_end(struct rs_core *core);
/* First record of an inode. */
void rs_intent_born(struct rs_core *core, struct rs_inode *inode);
/* The INODE record with the attributes as they are now. */
void rs_intent_inode(struct rs_core *core, struct rs_inode *inode);
/* From now on it isn't logged. */
void rs_intent_dead(struct rs_core *core, struct rs_inode *inode);
/*
 * The name is going to lead to child (NULL: it goes), and that is to be
 * logged or not. Counts log_nlink, and writes the directory's record too.
 * Before the tree is changed: dentry->inode is what it leads to now, NULL
 * for a new one.
 */
void rs_intent_entry(struct rs_core *core, struct rs_dentry *dentry,
		     struct rs_inode *child, int want);
/*
 * Names of the inode came or went, and the tree is changed; had: log_nlink
 * before. Its record, or the last one.
 */
void rs_intent_settle(struct rs_core *core, struct rs_inode *inode,
		      uint32_t had);
/* Any other record about inode: fills in ino and prev. */
void rs_intent_rec(struct rs_core *core, struct rs_inode *inode,
		   struct rs_rec *rec);

/* ---- namei.c ---- */
struct rs_place {
	struct rs_inode *dir;
	struct rs_dentry *dentry; /* NULL: no such name */
	const char *name;
	size_t len;
};
/* -ESTALE, -ENOTDIR, -ENOENT (removed directory), those of the name */
RS_MUST_USE int rs_place_find(struct rs_core *core, uint64_t parent,
			      const char *name, struct rs_place *ret_place);

/* ---- op.c ---- */
/* why an operation has to be begun again; never seen outside of the core */
#define RS_AGAIN_ROOM 1	 /* it needs room in the journal after all */
#define RS_AGAIN_CLOSE 2 /* op->close must be logged first */
#define RS_AGAIN_WAIT 3	 /* a closure is at the directory */

/* What is to be logged before an entry may be made. */
struct rs_close {
	uint64_t ino;
	uint64_t parent; /* where it will be; 0: where it is */
	const char *name;
	uint8_t policy; /* that will be set; 0: none */
};

struct rs_op {
	struct rs_room room;
	size_t bytes; /* of records, at most */
	enum rs_need need;
	int loud;   /* something is logged: room is needed */
	int locked; /* has the tree lock */
	int owns;   /* has the lock of closures */
	unsigned int tries;
	struct rs_close close;
	uint64_t closed[2]; /* what was, to be finished or undone */
};
/*
 *	rs_op_init(core, &op, ino, bytes, need);
 *	do {
 *		err = rs_op_enter(core, &op);
 *		if (!err)
 *			err = ..._locked(core, &op, ...);
 *	} while (rs_op_again(core, &op, &err));
 *
 * ino: the inode or directory that is to be changed. What isn't logged takes
 * no room; ..._locked() asks rs_op_short() before it changes anything.
 */
void rs_op_init(struct rs_core *core, struct rs_op *op, uint64_t ino,
		size_t bytes, enum rs_need need);
RS_MUST_USE int rs_op_enter(struct rs_core *core, struct rs_op *op);
RS_MUST_USE int rs_op_again(struct rs_core *core, struct rs_op *op, int *err);
/* 0, or RS_AGAIN_ROOM if it logs and has no room for it. */
RS_MUST_USE int rs_op_short(const struct rs_core *core, const struct rs_op *op,
			    int logs);

/* ---- glob.c ---- */
struct rs_spot rs_spot_of(const struct rs_core *core,
			  const struct rs_inode *dir);
/* See struct rs_rule. */
int rs_glob_match(const struct rs_core *core, const char *glob,
		  const struct rs_spot *spot);

/*
 * Is the glob, without a double star at its end, just this path, and could
 * match no other?
 */
int rs_glob_names(const struct rs_core *core, const char *glob,
		  const struct rs_spot *spot);

/* ---- loss.c ---- */
/* It may be logged or not, or without a name, other than before. */
void rs_loss_check(struct rs_core *core, struct rs_inode *inode);
/* An unlogged one got so many pages (or -pages). */
void rs_loss_grow(struct rs_core *core, const struct rs_inode *inode,
		  uint64_t pages);
/* In a transaction: the inode's first record in it; so much data. */
void rs_loss_touch(struct rs_core *core, struct rs_inode *inode);
void rs_loss_data(struct rs_core *core, const struct rs_inode *inode,
		  uint64_t bytes);
/* It was touched in this frame, and isn't logged from now on. */
void rs_loss_dead(struct rs_core *core, const struct rs_inode *inode);

/* ---- due.c ---- */
/* The record about its times was taken back. */
void rs_due_note(struct rs_core *core, struct rs_inode *dir);

/* ---- policy.c ---- */
/* What counts for a directory at some place. */
struct rs_look {
	uint8_t eff, eff_sync, from, from_sync;
	uint8_t named; /* a rule names just this path */
	uint64_t limit, limit_inodes;
};
/* dir: its own settings, or NULL: has none. */
void rs_policy_look(const struct rs_core *core, const struct rs_spot *spot,
		    const struct rs_dir *dir, struct rs_look *ret);
enum rs_policy rs_policy_of(const struct rs_core *core,
			    const struct rs_inode *dir);
/* The strongest among the directories of its names. */
enum rs_policy rs_policy_inode(const struct rs_core *core,
			       const struct rs_inode *inode);
/* Are new entries of the directory logged? */
int rs_dir_logs(const struct rs_inode *dir);
/* Would a name of child there be logged? */
int rs_entry_logs(const struct rs_inode *dir, const struct rs_inode *child);
/* Find out what counts for a directory that has its name now. */
void rs_policy_refresh(struct rs_core *core, struct rs_inode *inode);
/* The same for all below it too, after a move or a change at the top. */
void rs_policy_refresh_tree(struct rs_core *core, struct rs_inode *top);
/* It is being freed. */
void rs_policy_drop(struct rs_core *core, struct rs_inode *dir);
/* Is there a directory of this policy? No lock needed. */
int rs_policy_any(const struct rs_core *core, enum rs_policy policy);

/* ---- number.c ---- */
/* Bytes that rs_number_next() may append. */
#define RS_NUMBER_BYTES 40u
/*
 * Before the transaction: is a number to be had? -EAGAIN: only after what
 * is appended is durable.
 */
RS_MUST_USE int rs_number_check(struct rs_core *core);
/* Will the next one take a record, and so room? */
int rs_number_logs(const struct rs_core *core);
/* In it: core->next_ino as it was. */
uint64_t rs_number_next(struct rs_core *core);
/* After -EAGAIN, without the lock: until numbers are there. */
RS_MUST_USE int rs_number_wait(struct rs_core *core);

/* ---- bury.c ---- */
/* Room for n subtrees of that height: the step that can fail. */
RS_MUST_USE int rs_grave_room(struct rs_core *core, size_t n);
void rs_grave_push(struct rs_core *core, uintptr_t slot, unsigned int height);
/* Free at most so many pages; true if work is left. */
int rs_grave_work(struct rs_core *core, unsigned int pages);

/* ---- file.c ---- */
uint64_t rs_page_up(uint64_t bytes); /* pages that hold so many bytes */
struct rs_tree rs_file_tree(struct rs_inode *inode);
/* All data goes, and all pages from the accounts. */
void rs_file_clear(struct rs_core *core, struct rs_inode *inode);
/* The store's data as loaded is made explicit, before the first change. */
RS_MUST_USE int rs_file_thaw(struct rs_core *core, struct rs_inode *inode);
/* An empty tree becomes "as the store has it". */
void rs_file_freeze(struct rs_inode *inode);
/* Is every page below data_end allocated? */
int rs_file_is_dense(const struct rs_inode *inode);
/* Pages are in RAM and were used: keep the clock. */
void rs_file_resident(struct rs_core *core, struct rs_inode *inode);
void rs_file_unclock(struct rs_core *core, struct rs_inode *inode);
/* Make room for taking the pages [first, end) away. -ENOMEM */
RS_MUST_USE int rs_file_cut_room(struct rs_core *core, struct rs_inode *inode,
				 uint64_t first, uint64_t end);
/* No mark ANY is in the range, unless it is the whole file. */
void rs_file_cut(struct rs_core *core, struct rs_inode *inode, uint64_t first,
		 uint64_t end);
/* Bytes [from, to) of one page become zero, if it is in RAM. */
void rs_file_zero(struct rs_inode *inode, uint64_t from, uint64_t to);

/* ---- pool.c ---- */
/* Pages taken before the append, to be put into a file after it. */
struct rs_pool {
	void *pages;
};
/* Make the paths to n pages and take `count` pages. -ENOMEM: took nothing. */
RS_MUST_USE int rs_pool_fill(struct rs_core *core, struct rs_pool *pool,
			     uint64_t count);
void rs_pool_drain(struct rs_core *core, struct rs_pool *pool);
/* A page of zeros in the place of a hole or cold page; path was made. */
unsigned char *rs_pool_put(struct rs_core *core, struct rs_pool *pool,
			   struct rs_inode *inode, uint64_t page);
/*
 * Write n bytes at off; whatever isn't in RAM becomes a page of the pool
 * (with zeros in the rest). Paths were made. Keeps data_end and blocks.
 */
void rs_pool_write(struct rs_core *core, struct rs_pool *pool,
		   struct rs_inode *inode, const uint8_t *buf, size_t n,
		   uint64_t off);
/* Make the paths to the pages [first, end). -ENOMEM */
RS_MUST_USE int rs_pool_paths(struct rs_core *core, struct rs_inode *inode,
			      uint64_t first, uint64_t end);

/* ---- space.c ---- */
/* Check and make room for a truncation: 0, RS_EPARK_COLD, -ENOMEM, -EIO */
RS_MUST_USE int rs_truncate_prepare(struct rs_core *core,
				    struct rs_inode *inode, uint64_t size);
/* In the transaction; sets size. */
void rs_truncate_apply(struct rs_core *core, struct rs_inode *inode,
		       uint64_t size);

/* ---- cold.c ---- */
/* Drop folded data from RAM, at least so many bytes if it can. */
uint64_t rs_clock_evict(struct rs_core *core, uint64_t bytes);

/* ---- closure.c ---- */
/*
 * Log an unlogged inode that is no directory whole, staged: without the
 * lock. After it the entry may be made.
 */
RS_MUST_USE int rs_closure_stage(struct rs_core *core, uint64_t ino);
/* The inode's first records but for its data, and the room they take. */
void rs_closure_born(struct rs_core *core, struct rs_inode *inode);
size_t rs_closure_bytes(const struct rs_inode *inode);
/* Room for data, waiting where a request could be parked. */
RS_MUST_USE int rs_closure_room(struct rs_core *core, struct rs_room *room,
				size_t bytes);
/* -ENOSPC: the log will never take so much. */
RS_MUST_USE int rs_closure_fits(struct rs_core *core, uint64_t bytes);
/* It was unlogged in the open group, which must be cut before (R5). */
int rs_closure_early(struct rs_core *core, const struct rs_inode *inode);
/* The last reference to one that was staged went; without the lock. */
void rs_closure_forget(struct rs_core *core, uint64_t ino);

/* ---- stale.c ---- */
void rs_stale_inode(struct rs_core *core, const struct rs_inode *inode);
void rs_stale_entry(struct rs_core *core, const struct rs_dentry *dentry);
void rs_stale_sort(struct rs_core *core);
void rs_stale_free(struct rs_core *core);
/* Log that some of it is gone; without the lock. */
void rs_closure_reap(struct rs_core *core);

/* ---- closure_ready.c ---- */
/*
 * May the inode get this place, as far as the log goes? 0, RS_AGAIN_ (with
 * op->close filled in).
 */
RS_MUST_USE int rs_closure_ready(struct rs_core *core, struct rs_op *op,
				 struct rs_inode *inode,
				 const struct rs_place *place);
/* The same for a policy that a directory is to get where it is. */
RS_MUST_USE int rs_closure_set_ready(struct rs_core *core, struct rs_op *op,
				     struct rs_inode *dir, uint8_t policy);
/* What a directory below the moving one will get: enum rs_policy. */
struct rs_target {
	uint8_t policy;
	uint8_t logged; /* it has to be logged itself */
};
void rs_closure_target(const struct rs_core *core, const struct rs_inode *dir,
		       struct rs_target *ret);
/* The directory of close is looked at as at its place to be, until end. */
RS_MUST_USE int rs_closure_move_begin(struct rs_core *core,
				      const struct rs_close *close);
void rs_closure_move_end(struct rs_core *core);

/* ---- closure_tree.c ---- */
/* Log what op->close names; afterwards the operation is tried again. */
RS_MUST_USE int rs_closure_run(struct rs_core *core, struct rs_op *op);
/* The operation is done, or failed: what was staged is no longer so. */
void rs_closure_end(struct rs_core *core, struct rs_op *op, int err);

/* ---- xattr.c ---- */
void rs_xattr_clear(struct rs_core *core, struct rs_inode *inode);
/* What its xattrs count as. */
uint64_t rs_xattr_bytes(const struct rs_inode *inode);
RS_MUST_USE int rs_xattr_load(struct rs_core *core, struct rs_inode *inode,
			      const uint8_t *name, size_t len,
			      const uint8_t *value, size_t value_len);
void rs_xattr_unload(struct rs_core *core, struct rs_inode *inode,
		     const uint8_t *name, size_t len);

#endif
