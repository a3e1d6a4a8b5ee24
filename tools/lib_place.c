/*
 * lib_place.c - is this a filesystem that a store can live on?
 *
 * LMDB's locks and maps, O_DIRECT and what a flush means are only known for
 * local disks. The numbers are those of statfs(2) and linux/magic.h; they
 * stand here as numbers because not all are in Debian 12's headers.
 */
#include "tools/lib_place.h"

#include <errno.h>
#include <sys/vfs.h>

static const struct {
	uint32_t magic;
	enum rs_place place;
	const char *name;
} known[] = {
	{ 0x65735546, RS_PLACE_REFUSED, "fuse" },
	{ 0x00006969, RS_PLACE_REFUSED, "nfs" },
	{ 0xff534d42, RS_PLACE_REFUSED, "cifs" },
	{ 0xfe534d42, RS_PLACE_REFUSED, "smb2" },
	{ 0x0000517b, RS_PLACE_REFUSED, "smb" },
	{ 0x01021997, RS_PLACE_REFUSED, "9p" },
	{ 0x00c36400, RS_PLACE_REFUSED, "ceph" },
	{ 0x5346414f, RS_PLACE_REFUSED, "afs" },
	{ 0x6b414653, RS_PLACE_REFUSED, "kafs" },
	{ 0x73757245, RS_PLACE_REFUSED, "coda" },
	{ 0x0000564c, RS_PLACE_REFUSED, "ncp" },
	{ 0x0bd00bd0, RS_PLACE_REFUSED, "lustre" },
	{ 0x47504653, RS_PLACE_REFUSED, "gpfs" },
	{ 0x19830326, RS_PLACE_REFUSED, "beegfs" },
	{ 0x20030528, RS_PLACE_REFUSED, "orangefs" },
	{ 0x786f4256, RS_PLACE_REFUSED, "vboxsf" },
	{ 0x01021994, RS_PLACE_RISKY, "tmpfs" },
	{ 0x858458f6, RS_PLACE_RISKY, "ramfs" },
	{ 0x794c7630, RS_PLACE_RISKY, "overlay" },
	{ 0x61756673, RS_PLACE_RISKY, "aufs" },
};

static int look_at(const char *path, struct statfs *ret)
{
	char *parent, *slash;
	int err;

	if (statfs(path, ret) == 0)
		return 0;
	if (errno != ENOENT)
		return -errno;
	parent = strdup(path);
	if (!parent)
		return -ENOMEM;
	while (strlen(parent) > 1 && parent[strlen(parent) - 1] == '/')
		parent[strlen(parent) - 1] = '\0';
	slash = strrchr(parent, '/');
	if (slash)
		slash[slash == parent] = '\0';
	err = statfs(slash ? parent : ".", ret) ? -errno : 0;
	free(parent);
	return err;
}

int rs_place_look(const char *path, enum rs_place *ret_place,
		  const char **ret_name)
{
	struct statfs st;
	size_t i;
	int err;

	err = look_at(path, &st);
	if (err)
		return err;
	*ret_place = RS_PLACE_GOOD;
	*ret_name = "";
	for (i = 0; i < RS_ARRAY_LEN(known); i++) {
		if ((uint32_t)st.f_type != known[i].magic)
			continue;
		*ret_place = known[i].place;
		*ret_name = known[i].name;
	}
	return 0;
}

int rs_place_inside(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	while (len > 1 && dir[len - 1] == '/')
		len--;
	if (strncmp(path, dir, len) != 0)
		return 0;
	return len == 1 || path[len] == '\0' || path[len] == '/';
}
