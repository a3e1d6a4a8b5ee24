/*
 * core.h - the tree in RAM: inodes, entries, data, xattrs, quota, policy.
 *
 * One function for each operation that changes or reads the tree. Each does,
 * in this order: check, take memory and space (journal reservation), append
 * the intent, apply, so that after the append nothing can fail. No function
 * does I/O or sleeps on it while it holds the tree lock; what would have to
 * wait returns one of the two RS_EPARK codes and is called again by the
 * layer above, unchanged, when told.
 *
 * Permissions are the kernel's (default_permissions); set-gid inheritance,
 * link counts, times and types are ours. Knows nothing of libfuse.
 *
 * LOCKS  core->lock (the tree) covers everything here; order: tree lock,
 * then the journal's group lock.
 */
#ifndef RS_CORE_H
#define RS_CORE_H

#include "include/rs_attr.h"
#include "include/rs_base.h"
#include "journal/journal.h"

/* Data is in the store and not in RAM: rs_core_load(), then call again. */
#define RS_EPARK_COLD (-20002)
/* RS_EPARK (journal.h): no room in ring or RAM now; again after space. */

struct rs_core;
struct rs_inode;

/*
 * One line of the configuration: what directories get whose path it matches.
 * The last one that says a key wins, key by key. glob: from the mount's
 * root, with a leading '/'; `*`, `?`, `[]` within a component, `**` any
 * number of components, none too: what ends in `**` names the top as well.
 */
struct rs_rule {
	const char *glob;
	uint8_t policy;	 /* enum rs_policy, 0: not said */
	uint8_t dirsync; /* RS_DIRSYNC_, 0: not said */
	uint8_t has_limit, has_inodes;
	uint64_t limit, limit_inodes; /* 0: none */
};

#define RS_DIRSYNC_STRICT 1u
#define RS_DIRSYNC_CALLER 2u

struct rs_core_cfg {
	struct rs_journal *journal; /* NULL: nothing is logged (tests) */
	uint64_t ram;	       /* bytes that data, names, inodes may take */
	uint64_t capacity;     /* bytes of file data (pages) */
	uint64_t inodes;       /* limit of their number */
	enum rs_policy policy; /* of the root; 0: fsync */
	uint8_t dirsync;       /* of the root; 0: strict */
	const struct rs_rule *rules; /* live as long as the core */
	size_t n_rules;
	int noatime;
	int xattr;
	int readonly;
	/* the clock; NULL: CLOCK_REALTIME (tests give their own) */
	void (*now)(void *arg, struct timespec *ret);
	void *arg;
};

/* Attributes with identity, for stat and entry replies. */
struct rs_stat {
	uint64_t ino;
	struct rs_attr attr;
};

/* Who asks. umask was applied by the kernel. */
struct rs_who {
	uint32_t uid, gid;
	int32_t pid; /* thread id, 0 from outside our pid namespace */
};

RS_MUST_USE int rs_core_new(const struct rs_core_cfg *cfg,
			    struct rs_core **ret_core);
void rs_core_free(struct rs_core *core);

/*
 * Fill an empty core from the journal: metadata from the store, then every
 * record of the frames not folded. Data stays cold in the store, except what
 * the frames bring. Then checks the tree: entries without inode (removed
 * from the tree, finding), inodes without entry (staged: dropped; else
 * finding; they stay reachable by nothing), link counts. -EUCLEAN never: damage
 * is in rep, the rest is served. Without a journal: makes an empty root.
 */
RS_MUST_USE int rs_core_load_tree(struct rs_core *core, struct rs_report *rep);

/* ---- lookup counts, as FUSE keeps them ---- */
/* Every function with ret_st that yields an inode adds one to its nlookup. */
void rs_core_forget(struct rs_core *core, uint64_t ino, uint64_t n);
/* For C4: removed, but the kernel still knows it. */
int rs_core_in_use(struct rs_core *core, uint64_t ino);

/* Is there anything removed that the kernel still knows? */
int rs_core_has_orphans(struct rs_core *core);

/* ---- names ---- */
/* -ENOENT if absent. */
RS_MUST_USE int rs_core_lookup(struct rs_core *core, uint64_t parent,
			       const char *name, struct rs_stat *ret_st);
RS_MUST_USE int rs_core_getattr(struct rs_core *core, uint64_t ino,
				struct rs_stat *ret_st);
/*
 * Regular file, FIFO, socket, device or directory (type from mode).
 * Errors: -EEXIST, -ENOENT (parent removed), -ENOTDIR, -ENAMETOOLONG,
 * -ENOSPC, -EMLINK (directories), -EROFS.
 */
RS_MUST_USE int rs_core_mknod(struct rs_core *core, uint64_t parent,
			      const char *name, const struct rs_who *who,
			      uint32_t mode, uint64_t rdev,
			      struct rs_stat *ret_st);
RS_MUST_USE int rs_core_symlink(struct rs_core *core, uint64_t parent,
				const char *name, const struct rs_who *who,
				const char *target, struct rs_stat *ret_st);
/*
 * Import: a name and inode as they were elsewhere, under the number as->ino,
 * which rs_core_raise() was told before and which is in use nowhere; only in
 * a store that never gave a number away (G9). Type, rdev, owner and mode are
 * taken from as->attr; a set-gid directory's rule may change the latter two,
 * rs_core_setattr() has the last word. target: symlinks, else NULL. Errors
 * as rs_core_mknod(); -EINVAL (not below the raised number), -EEXIST also for
 * a number that is in use.
 */
RS_MUST_USE int rs_core_adopt(struct rs_core *core, uint64_t parent,
			      const char *name, const struct rs_stat *as,
			      const char *target, struct rs_stat *ret_st);
/*
 * From now on new inodes get numbers from above on; durable on return. Does
 * I/O. Errors: -EOVERFLOW, -EIO, -EROFS.
 */
RS_MUST_USE int rs_core_raise(struct rs_core *core, uint64_t above);
/* O_TMPFILE: an inode without a name, not logged until it is linked. */
RS_MUST_USE int rs_core_tmpfile(struct rs_core *core, uint64_t parent,
				const struct rs_who *who, uint32_t mode,
				struct rs_stat *ret_st);
RS_MUST_USE int rs_core_link(struct rs_core *core, uint64_t ino,
			     uint64_t parent, const char *name,
			     const struct rs_who *who, struct rs_stat *ret_st);
RS_MUST_USE int rs_core_unlink(struct rs_core *core, uint64_t parent,
			       const char *name, const struct rs_who *who);
RS_MUST_USE int rs_core_rmdir(struct rs_core *core, uint64_t parent,
			      const char *name, const struct rs_who *who);
/* flags: RENAME_NOREPLACE, RENAME_EXCHANGE; others -EINVAL. */
RS_MUST_USE int rs_core_rename(struct rs_core *core, uint64_t parent,
			       const char *name, uint64_t newparent,
			       const char *newname, unsigned int flags,
			       const struct rs_who *who);
/*
 * Would a link or rename have to log something unlogged before (DESIGN
 * "Closure")? Then it may take long, and wait for a flush and for room, and
 * belongs into a thread that has time. Only a guess: the tree goes on. Takes
 * no lock while no directory is volatile.
 */
enum rs_closes {
	RS_CLOSES_NOTHING,
	RS_CLOSES_FILE, /* one file */
	RS_CLOSES_TREE, /* what a directory holds; one at a time */
};
enum rs_closes rs_core_link_closes(struct rs_core *core, uint64_t ino,
				   uint64_t parent);
enum rs_closes rs_core_rename_closes(struct rs_core *core, uint64_t parent,
				     const char *name, uint64_t newparent,
				     const char *newname, unsigned int flags);
/* Up to RS_SYMLINK_MAX bytes and a NUL into buf. */
RS_MUST_USE int rs_core_readlink(struct rs_core *core, uint64_t ino,
				 char buf[RS_SYMLINK_MAX + 1]);

/* ---- attributes ---- */
#define RS_SET_MODE 0x01u
#define RS_SET_UID 0x02u
#define RS_SET_GID 0x04u
#define RS_SET_SIZE 0x08u
#define RS_SET_ATIME 0x10u
#define RS_SET_MTIME 0x20u
#define RS_SET_ATIME_NOW 0x40u
#define RS_SET_MTIME_NOW 0x80u
#define RS_SET_CTIME 0x100u
/* May park (SIZE). */
RS_MUST_USE int rs_core_setattr(struct rs_core *core, uint64_t ino,
				const struct rs_attr *attr, unsigned int set,
				struct rs_stat *ret_st);

/* ---- data ---- */
/* Bytes read (0 at the end), RS_EPARK_COLD, -EIO (suspect), -EISDIR. */
RS_MUST_USE ssize_t rs_core_read(struct rs_core *core, uint64_t ino, void *buf,
				 size_t len, uint64_t off);
/*
 * Bytes written; fewer than len only when space ended in the middle (then
 * what was written is logged and applied). append: off is ignored.
 * Errors: RS_EPARK, RS_EPARK_COLD, -ENOSPC, -EFBIG, -EROFS, -EIO.
 */
RS_MUST_USE ssize_t rs_core_write(struct rs_core *core, uint64_t ino,
				  const void *buf, size_t len, uint64_t off,
				  int append);
/* mode: FALLOC_FL_ flags KEEP_SIZE, PUNCH_HOLE, ZERO_RANGE; else EOPNOTSUPP */
RS_MUST_USE int rs_core_fallocate(struct rs_core *core, uint64_t ino, int mode,
				  uint64_t off, uint64_t len);
/* SEEK_DATA, SEEK_HOLE. -ENXIO as lseek(2), RS_EPARK_COLD. */
RS_MUST_USE int64_t rs_core_lseek(struct rs_core *core, uint64_t ino,
				  int64_t off, int whence);
/*
 * After RS_EPARK_COLD from a read or write: bring the cold data of
 * [off, off+len) into RAM. After an appending write: off RS_OFF_END. Does
 * I/O without the tree lock; called by a reader thread. RS_EPARK: no RAM
 * now. -EIO: the store can't give it.
 */
#define RS_OFF_END UINT64_MAX
RS_MUST_USE int rs_core_load(struct rs_core *core, uint64_t ino, uint64_t off,
			     uint64_t len);
/*
 * After RS_EPARK_COLD from setattr(size) (off: the size, len: UINT64_MAX),
 * fallocate (its range) or lseek (off, len: UINT64_MAX): bring in the pages
 * at the range's two edges, and learn which pages of a sparse file are
 * allocated. Otherwise as rs_core_load().
 */
RS_MUST_USE int rs_core_load_edges(struct rs_core *core, uint64_t ino,
				   uint64_t off, uint64_t len);

/* ---- directories ---- */
struct rs_dirent {
	const char *name;
	size_t len;
	uint64_t cookie; /* the offset that continues after this entry */
	struct rs_stat st;
};
/* An upper bound for the cookies of a scan that starts now. */
uint64_t rs_core_dir_bound(struct rs_core *core, uint64_t ino);
/*
 * Calls fill for entries with cookie > after and <= bound in rising order
 * ("." and ".." have cookies 1 and 2 and come first) until it returns
 * non-zero (that entry was not taken) or the end. With plus, takes a
 * reference (nlookup) for each entry taken that is neither "." nor "..".
 */
RS_MUST_USE int rs_core_readdir(struct rs_core *core, uint64_t ino,
				uint64_t after, uint64_t bound, int plus,
				int (*fill)(void *arg,
					    const struct rs_dirent *ent),
				void *arg);

/* ---- xattrs (only with cfg.xattr) ---- */
/* size 0: only the length. Errors: -ENODATA, -ERANGE, -ENOSPC, -EEXIST */
RS_MUST_USE ssize_t rs_core_getxattr(struct rs_core *core, uint64_t ino,
				     const char *name, void *buf, size_t size);
RS_MUST_USE ssize_t rs_core_listxattr(struct rs_core *core, uint64_t ino,
				      char *buf, size_t size);
/* flags: XATTR_CREATE, XATTR_REPLACE */
RS_MUST_USE int rs_core_setxattr(struct rs_core *core, uint64_t ino,
				 const char *name, const void *value,
				 size_t size, int flags);
RS_MUST_USE int rs_core_removexattr(struct rs_core *core, uint64_t ino,
				    const char *name);

/* ---- durability ---- */
/*
 * The policy that a change in a directory, or of an inode (the strongest
 * among its names' directories), falls under.
 */
enum rs_policy rs_core_policy(struct rs_core *core, uint64_t ino);
/*
 * Frame number that fsync of ino has to wait for: covers the inode, every
 * name it has, all directories above (G2); for a directory also every entry
 * change in it (G3). 0: nothing to wait for (already durable, or the inode
 * isn't logged). The caller goes to rs_journal_wait() with it.
 */
uint64_t rs_core_sync_number(struct rs_core *core, uint64_t ino);

/*
 * Has the directory dirsync=caller? Then *ret_number is as from
 * rs_core_sync_number(). Takes no lock while no directory has.
 */
int rs_core_dirsync_caller(struct rs_core *core, uint64_t ino,
			   uint64_t *ret_number);

/*
 * Before a barrier and an orderly end: append the times of directories that
 * come and went under interval left behind. Errors: -EROFS, -ENOSPC.
 */
int rs_core_log_times(struct rs_core *core);

/* what a change was, as the reply to it sees it */
enum rs_change {
	RS_CHANGE_ENTRY, /* a name made or removed in this directory */
	RS_CHANGE_INTO,	 /* a rename or link into this directory */
	RS_CHANGE_INODE, /* data or attributes of this inode */
};
/*
 * After the operation: the frame that its reply has to wait for under the
 * policy of ino; 0: none. Takes no lock while no directory has a policy that
 * makes changes wait.
 */
uint64_t rs_core_change_number(struct rs_core *core, uint64_t ino,
			       enum rs_change change);

/* ---- policies ---- */
/* where a setting of a directory comes from */
enum rs_origin {
	RS_ORIGIN_MOUNT,   /* the mount's default */
	RS_ORIGIN_PARENT,  /* the directory above */
	RS_ORIGIN_RULE,	   /* the configuration */
	RS_ORIGIN_RUNTIME, /* rs_core_policy_set(), kept in the store */
};

struct rs_policy_info {
	uint64_t ino;
	enum rs_policy policy;
	enum rs_origin policy_origin;
	uint8_t dirsync; /* RS_DIRSYNC_ */
	enum rs_origin dirsync_origin;
	/* of the subtree, 0: none; used is only told where one is set */
	uint64_t limit, limit_inodes, used, used_inodes;
};
/* -ESTALE, -ENOTDIR */
RS_MUST_USE int rs_core_policy_get(struct rs_core *core, uint64_t ino,
				   struct rs_policy_info *ret_info);

#define RS_POLSET_POLICY 0x1u
#define RS_POLSET_DIRSYNC 0x2u
#define RS_POLSET_LIMIT 0x4u
#define RS_POLSET_INODES 0x8u
struct rs_policy_set {
	unsigned int what; /* RS_POLSET_ */
	/* 0: no setting of its own any more, the configuration's again */
	uint8_t policy, dirsync;
	uint64_t limit, limit_inodes;
};
/*
 * Set at run time, and keep it in the store. Raised from volatile: logs what
 * is there first, in pieces, without the tree lock: from a control thread.
 * *ret_number: the frame that makes all of it durable, for the caller to
 * wait for; 0: nothing to wait for. Errors: -ESTALE, -ENOTDIR, -ENOENT
 * (removed), -EINVAL, -ENOSPC, -EROFS, -EIO.
 */
RS_MUST_USE int rs_core_policy_set(struct rs_core *core, uint64_t ino,
				   const struct rs_policy_set *set,
				   uint64_t *ret_number);
/*
 * Every directory that has a setting of its own, root first (always told),
 * path with a leading '/'. fn's non-zero value ends it and is returned. fn
 * is called without the tree lock. -ENOMEM
 */
RS_MUST_USE int rs_core_policy_walk(
	struct rs_core *core,
	int (*fn)(void *arg, const char *path,
		  const struct rs_policy_info *info),
	void *arg);

/* What would be gone if the power went now, of the files under a policy. */
struct rs_core_loss {
	uint64_t files, bytes, oldest_ms;
};
void rs_core_loss(struct rs_core *core,
		  struct rs_core_loss ret[RS_POLICY_ALWAYS + 1]);
/*
 * The directory or file at path, from the mount's root, with or without a
 * leading '/'; symlinks aren't followed. -ENOENT, -ENOTDIR, -ENAMETOOLONG
 */
RS_MUST_USE int rs_core_resolve(struct rs_core *core, const char *path,
				uint64_t *ret_ino);

/* ---- numbers ---- */
struct rs_statfs {
	uint64_t blocks, bfree, bavail; /* of 4096 bytes */
	uint64_t files, ffree;
};
void rs_core_statfs(struct rs_core *core, struct rs_statfs *ret);
/* As seen from inside ino: the limits of the directories above count too. */
void rs_core_statfs_at(struct rs_core *core, uint64_t ino,
		       struct rs_statfs *ret);

struct rs_core_status {
	uint64_t inodes, inodes_max;
	uint64_t data_bytes, capacity; /* allocated pages, logical */
	uint64_t ram_bytes, ram;       /* what the daemon keeps */
	uint64_t cold_bytes;	       /* in the store only */
	uint64_t orphans;	       /* removed, still open */
	uint64_t suspects;
	int locked; /* all of it is locked in RAM */
};
/*
 * New limits while it serves; 0 leaves one as it is. All or nothing. -EBUSY:
 * less than is in use; of RAM, than what can't be dropped.
 */
struct rs_limits {
	uint64_t ram, capacity, inodes;
};
RS_MUST_USE int rs_core_set_limits(struct rs_core *core,
				   const struct rs_limits *limits);
void rs_core_status(struct rs_core *core, struct rs_core_status *ret);
/* Drop cold, folded, unneeded data until at most target bytes are kept. */
uint64_t rs_core_shrink(struct rs_core *core, uint64_t target);

/* Walk the whole tree in path order (export, recover --list and --to). */
struct rs_walk_ops {
	/* path has no leading slash; "" is the root */
	int (*inode)(void *arg, const char *path, const struct rs_stat *st,
		     int first_name); /* 0: a further hard link */
};
RS_MUST_USE int rs_core_walk(struct rs_core *core,
			     const struct rs_walk_ops *ops, void *arg);

#endif
