/*
 * ll_count.c - how often each kind of request came. Counted where requests
 * are read, so that one that no handler exists for is counted too. Tests of
 * round trips rest on these numbers.
 */
#include "fs/ll_p.h"

#include <linux/fuse.h>

static const char *const names[RS_LL_OPCODES] = {
	[0] = "OTHER",
	[FUSE_LOOKUP] = "LOOKUP",
	[FUSE_FORGET] = "FORGET",
	[FUSE_GETATTR] = "GETATTR",
	[FUSE_SETATTR] = "SETATTR",
	[FUSE_READLINK] = "READLINK",
	[FUSE_SYMLINK] = "SYMLINK",
	[FUSE_MKNOD] = "MKNOD",
	[FUSE_MKDIR] = "MKDIR",
	[FUSE_UNLINK] = "UNLINK",
	[FUSE_RMDIR] = "RMDIR",
	[FUSE_RENAME] = "RENAME",
	[FUSE_LINK] = "LINK",
	[FUSE_OPEN] = "OPEN",
	[FUSE_READ] = "READ",
	[FUSE_WRITE] = "WRITE",
	[FUSE_STATFS] = "STATFS",
	[FUSE_RELEASE] = "RELEASE",
	[FUSE_FSYNC] = "FSYNC",
	[FUSE_SETXATTR] = "SETXATTR",
	[FUSE_GETXATTR] = "GETXATTR",
	[FUSE_LISTXATTR] = "LISTXATTR",
	[FUSE_REMOVEXATTR] = "REMOVEXATTR",
	[FUSE_FLUSH] = "FLUSH",
	[FUSE_INIT] = "INIT",
	[FUSE_OPENDIR] = "OPENDIR",
	[FUSE_READDIR] = "READDIR",
	[FUSE_RELEASEDIR] = "RELEASEDIR",
	[FUSE_FSYNCDIR] = "FSYNCDIR",
	[FUSE_GETLK] = "GETLK",
	[FUSE_SETLK] = "SETLK",
	[FUSE_SETLKW] = "SETLKW",
	[FUSE_ACCESS] = "ACCESS",
	[FUSE_CREATE] = "CREATE",
	[FUSE_INTERRUPT] = "INTERRUPT",
	[FUSE_BMAP] = "BMAP",
	[FUSE_DESTROY] = "DESTROY",
	[FUSE_IOCTL] = "IOCTL",
	[FUSE_POLL] = "POLL",
	[FUSE_NOTIFY_REPLY] = "NOTIFY_REPLY",
	[FUSE_BATCH_FORGET] = "BATCH_FORGET",
	[FUSE_FALLOCATE] = "FALLOCATE",
	[FUSE_READDIRPLUS] = "READDIRPLUS",
	[FUSE_RENAME2] = "RENAME2",
	[FUSE_LSEEK] = "LSEEK",
	[FUSE_COPY_FILE_RANGE] = "COPY_FILE_RANGE",
	[FUSE_SYNCFS] = "SYNCFS",
	[FUSE_TMPFILE] = "TMPFILE",
	/* since 6.6 and 6.18, not in Debian 12's header */
	[52] = "STATX",
	[53] = "COPY_FILE_RANGE_64",
};

void rs_ll_count(struct rs_ll_count *count, const void *buf, size_t len)
{
	struct fuse_in_header head;
	unsigned int op = 0;

	if (len < sizeof(head))
		return;
	memcpy(&head, buf, sizeof(head));
	if (head.opcode < RS_LL_OPCODES && names[head.opcode])
		op = head.opcode;
	atomic_fetch_add_explicit(&count->n[op], 1, memory_order_relaxed);
}

void rs_ll_requests(struct rs_ll *ll,
		    void (*fn)(void *arg, const char *name, uint64_t n),
		    void *arg)
{
	unsigned int i;
	uint64_t n;

	for (i = 0; i < RS_LL_OPCODES; i++) {
		n = atomic_load_explicit(&ll->count.n[i], memory_order_relaxed);
		if (n && names[i])
			fn(arg, names[i], n);
	}
}
