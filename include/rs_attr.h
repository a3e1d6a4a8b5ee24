/*
 * rs_attr.h - an inode's attributes, as the tree, the intent log and the
 * store all know them. Times are seconds since the epoch (negative before
 * it) and nanoseconds 0 to 999999999.
 */
#ifndef RS_ATTR_H
#define RS_ATTR_H

#include <stdint.h>
#include <time.h>

/* flags of an inode; kept on disk */
#define RS_IF_STAGED \
	0x1u		   /* logged before its entry (DESIGN "Closure"):
			   * without an entry it is reaped, not damage */
#define RS_IF_SUSPECT 0x2u /* bytes not trusted: reads give EIO */
#define RS_IF_GAP 0x4u	   /* directory: entries may be missing or be back */

/* the policies of DESIGN section 3, in order of strength */
enum rs_policy {
	RS_POLICY_VOLATILE = 1,
	RS_POLICY_INTERVAL = 2,
	RS_POLICY_FSYNC = 3,
	RS_POLICY_RENAME = 4,
	RS_POLICY_ALWAYS = 5,
};

struct rs_attr {
	uint32_t mode; /* type and permission bits, as st_mode */
	uint32_t uid, gid;
	uint32_t nlink;
	uint64_t rdev;
	uint64_t size;	 /* bytes; directories: 0, symlinks: target's length */
	uint64_t blocks; /* allocated pages of 4096 bytes */
	uint64_t data_end; /* no page is allocated at or after this byte;
			    * can lie past size (FALLOC_FL_KEEP_SIZE) */
	struct timespec atime, mtime, ctime, btime;
	uint32_t flags;	       /* RS_IF_ */
	uint8_t policy;	       /* directory: own policy set at run time or 0 */
	uint8_t dirsync;       /* directory: 0 unset, 1 strict, 2 caller */
	uint64_t limit;	       /* directory: bytes for its subtree, 0 = none */
	uint64_t limit_inodes; /* likewise in inodes */
};

#endif
