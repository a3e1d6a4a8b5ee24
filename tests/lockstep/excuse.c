/*
 * excuse.c - the documented differences between a FUSE mount with write
 * through and tmpfs, in one table. Everything else fails the run.
 */
#include "lockstep.h"

#include <stdio.h>

static const char *const reason[LS_EX_COUNT] = {
	[LS_EX_ATIME] =
		"atime moved on A only: side B is mounted noatime, and A moves "
		"it for reads that reach the daemon, not for those that the "
		"page cache answers. Set atimes must be equal",
	[LS_EX_DIR_SIZE] = "st_size of a directory has no meaning",
	[LS_EX_SYMLINK_BLOCKS] =
		"st_blocks of what is no regular file: short and long "
		"symlink targets are kept in different places",
	[LS_EX_FIFO_TIMES] =
		"what runs through a FIFO never reaches a FUSE filesystem, so "
		"its times stay (the kernel sets S_NOCMTIME)",
	[LS_EX_MMAP_TIMES] =
		"a store through MAP_SHARED: tmpfs leaves mtime, a filesystem "
		"with writeback moves it; POSIX allows both up to msync",
	[LS_EX_ZERO_RANGE] =
		"tmpfs has no FALLOC_FL_ZERO_RANGE: zeros are written there",
	[LS_EX_SEEK_HOLE] =
		"SEEK_HOLE and SEEK_DATA: a filesystem may call zeros data; "
		"checked is that no data is called a hole",
	[LS_EX_TMPFILE] = "one side has no O_TMPFILE (libfuse before 3.17)",
	[LS_EX_BLOCKS] =
		"st_blocks: side B holds zeros that were written for a zero "
		"range or that a mapping of a hole brought in (the kernel "
		"takes such pages of a tmpfs back when it likes, on one side "
		"sooner than on the other), or (no tmpfs) allocates late",
	[LS_EX_INO_REUSE] = "side B is no tmpfs and uses inode numbers again",
	[LS_EX_SGID_LOCK] =
		"left out: set-gid without group execute. A write by somebody "
		"outside the group clears it on tmpfs; the kernel's FUSE "
		"client keeps it, as mandatory locking once meant",
	[LS_EX_SAME_SIZE] =
		"left out: truncate of a path to the size that it has. tmpfs "
		"moves the times if it holds pages, ext4 never, POSIX always; "
		"FUSE can't tell it from ftruncate, which always does",
	[LS_EX_TRUSTED] =
		"listxattr shows the names (never the values) of trusted.* to "
		"everybody: a FUSE filesystem isn't told who is privileged",
	[LS_EX_SAME_TICK] =
		"a change in the same clock tick as the one before it",
};

static unsigned long used[LS_EX_COUNT];

void ls_excuse(enum ls_excuse which)
{
	used[which]++;
}

void ls_excuse_print(void)
{
	int i;

	for (i = 0; i < LS_EX_COUNT; i++) {
		if (used[i])
			printf("  %7lu x %s\n", used[i], reason[i]);
	}
}
