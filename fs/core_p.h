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
};

struct rs_inode {
	struct rs_hnode node; /* key: the number */
	uint64_t last, before;
	uint64_t nlookup;
	uint64_t size, data_end, blocks;
	int64_t sec[RS_TIMES];
	uint32_t nsec[RS_TIMES];
	uint32_t mode, uid, gid, nlink;
	uint32_t flags; /* RS_IF_ */
	uint32_t mark;	/* place + 1 of the INODE record in frame `last` */
	uint32_t gen;	/* raised when data leaves RAM for the store */
	uint8_t state;	/* RS_I_ */
	uint8_t height; /* of the tree of pages */
	uint8_t proved; /* its data in the store was compared as a whole */
	uint8_t pad;
	union {
		uintptr_t root; /* regular file */
		struct rs_dir *dir;
		char *target; /* symlink, size + 1 bytes */
		uint64_t rdev;
	} u;
	struct rs_dentry *names;
	struct rs_xattr *xattrs;
	/* the clock of inodes that have pages in RAM; NULL: not in it */
	struct rs_inode *clock_next, *clock_prev;
};

struct rs_dentry {
	struct rs_hnode node; /* key: rs_name_hash() */
	struct rs_inode *dir, *inode;
	struct rs_dentry *next, **link; /* names of the same inode */
	uint64_t cookie;
	uint64_t last; /* frame of its ENTRY_PUT */
	uint32_t mark; /* place + 1 of that record in the open group */
	uint32_t slot; /* index in the directory's array */
	uint8_t fresh; /* the name was free when that PUT was made */
	uint8_t len;
	char name[]; /* not terminated */
};

/* A subtree of pages that nobody can reach any more. */
struct rs_grave {
	uintptr_t slot;
	unsigned int height;
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
	uint64_t tx; /* number of the frame between begin and end */
	/* directories by effective policy; read without the lock too */
	uint64_t n_dirs[RS_POLICY_ALWAYS + 1];
	uint8_t any_caller; /* some directory has had dirsync=caller */
};

struct rs_stale {
	uint64_t ino, last;
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
void rs_dentry_point(struct rs_dentry *dentry, struct rs_inode *inode);

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
RS_MUST_USE int rs_quota_inode(struct rs_core *core);
/* How many of want pages fit in what is left of capacity. */
uint64_t rs_quota_pages(const struct rs_core *core, uint64_t want);
/* Is there room for an xattr of so many bytes? */
int rs_quota_xattr(const struct rs_core *core, uint64_t bytes);

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
/* First record of an inode; nothing happens in an unlogged place. */
void rs_intent_born(struct rs_core *core, struct rs_inode *inode);
/* The INODE record with the attributes as they are now. */
void rs_intent_inode(struct rs_core *core, struct rs_inode *inode);
/* nlink is 0: from now on it isn't logged. */
void rs_intent_dead(struct rs_core *core, struct rs_inode *inode);
/* The name leads to child from now on; was_live: it led somewhere before. */
void rs_intent_put(struct rs_core *core, struct rs_dentry *dentry,
		   const struct rs_inode *child, int was_live);
/* While dentry->inode is still logged. */
void rs_intent_del(struct rs_core *core, struct rs_dentry *dentry);
/* Any other record about inode: fills in ino and prev. */
void rs_intent_rec(struct rs_core *core, struct rs_inode *inode,
		   struct rs_rec *rec);

/* ---- glob.c ---- */
/* A directory by its name in its parent; the root has no name. */
struct rs_spot {
	const struct rs_inode *dir;
	const char *name;
	size_t len;
};
struct rs_spot rs_spot_of(const struct rs_core *core,
			  const struct rs_inode *dir);
/* See struct rs_rule. */
int rs_glob_match(const struct rs_core *core, const char *glob,
		  const struct rs_spot *spot);

/* ---- policy.c ---- */
enum rs_policy rs_policy_of(const struct rs_core *core,
			    const struct rs_inode *dir);
/* The strongest among the directories of its names. */
enum rs_policy rs_policy_inode(const struct rs_core *core,
			       const struct rs_inode *inode);
int rs_policy_logs(const struct rs_core *core, const struct rs_inode *dir);
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

/* ---- closure.c ---- */
/*
 * Log an unlogged inode whole, staged: without the lock. The caller holds a
 * reference (nlookup). After it the entry may be made.
 */
RS_MUST_USE int rs_closure_stage(struct rs_core *core, uint64_t ino);
/* The last reference to one that was staged went; without the lock. */
void rs_closure_forget(struct rs_core *core, uint64_t ino);
/* Log that inodes which loading dropped are gone; without the lock. */
void rs_closure_reap(struct rs_core *core);

/* ---- xattr.c ---- */
void rs_xattr_clear(struct rs_core *core, struct rs_inode *inode);
RS_MUST_USE int rs_xattr_load(struct rs_core *core, struct rs_inode *inode,
			      const uint8_t *name, size_t len,
			      const uint8_t *value, size_t value_len);
void rs_xattr_unload(struct rs_core *core, struct rs_inode *inode,
		     const uint8_t *name, size_t len);

#endif
