/* nocow.c - see nocow.h */
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>

#include "journal/nocow.h"

/* not in linux/magic.h */
#define MAGIC_ZFS 0x2fc12fc1
#define MAGIC_BCACHEFS 0xca451a4e
#define MAGIC_NILFS 0x3434

static int copies_on_write(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return 0;
	switch ((uint32_t)fs.f_type) {
	case BTRFS_SUPER_MAGIC:
	case MAGIC_BCACHEFS:
	case MAGIC_ZFS:
	case MAGIC_NILFS:
		return 1;
	default:
		return 0;
	}
}

int rs_nocow_set(int fd)
{
	int flags = 0;

	if (!copies_on_write(fd))
		return 0;
	if (ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0)
		return 1;
	flags |= FS_NOCOW_FL;
	if (ioctl(fd, FS_IOC_SETFLAGS, &flags) < 0)
		return 1;
	/* Some take the flag and don't keep it: ask. */
	flags = 0;
	if (ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0)
		return 1;
	return !(flags & FS_NOCOW_FL);
}
