/*
 * side.c - entering one of the two trees, and taking a user's rights in it.
 *
 * The process changes its root to a side's before each call there, so that
 * absolute symlinks and ".." stay inside and every path text is the same on
 * both. Cheaper and simpler than a process for each side: descriptors, locks
 * and umask are those of one process.
 */
#include "lockstep.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

struct user {
	uid_t uid;
	gid_t gid;
	gid_t more[2]; /* supplementary groups */
};

/* Numbers without an account are as good as any and belong to nobody. */
static const struct user users[] = {
	{ 0, 0, { 0, 0 } },
	{ 61001, 61001, { 62001, 62001 } },
	{ 61002, 61002, { 62001, 61001 } },
};

unsigned ls_users(void)
{
	return sizeof(users) / sizeof(users[0]);
}

uid_t ls_user_uid(unsigned who)
{
	return users[who].uid;
}

gid_t ls_user_gid(unsigned who)
{
	return who == ls_users() ? users[1].more[0] : users[who].gid;
}

void ls_become(int who)
{
	const struct user *u = &users[who];

	if (seteuid(0) < 0 || setgroups(who ? 2 : 0, u->more) < 0 ||
	    setegid(u->gid) < 0 || seteuid(u->uid) < 0)
		ls_die("take a user's rights");
}

void ls_enter(struct ls *ls, int side)
{
	if (fchdir(ls->root[side]) < 0 || chroot(".") < 0)
		ls_die("enter a side");
}

void ls_leave(struct ls *ls)
{
	if (fchdir(ls->real_root) < 0 || chroot(".") < 0)
		ls_die("leave a side");
}

static bool has_tmpfile(int root)
{
	int fd = openat(root, ".", O_TMPFILE | O_RDWR, 0600);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

static bool has_direct(int root)
{
	int fd = openat(root, "probe", O_CREAT | O_RDWR | O_DIRECT, 0600);

	unlinkat(root, "probe", 0);
	if (fd < 0)
		return false;
	close(fd);
	return true;
}

/* Open both roots, also again after the mount was replaced. */
void ls_sides_open(struct ls *ls)
{
	struct statfs fs;
	int side;

	for (side = 0; side < LS_SIDES; side++) {
		ls->root[side] = open(ls->opt.root[side],
				      O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (ls->root[side] < 0)
			ls_die(ls->opt.root[side]);
		if (fstatfs(ls->root[side], &fs) < 0)
			ls_die("statfs");
		ls->tmpfs[side] = fs.f_type == TMPFS_MAGIC;
	}
	ls->tmpfile =
		has_tmpfile(ls->root[LS_A]) && has_tmpfile(ls->root[LS_B]);
	if (ls->step == 0)
		ls->direct = has_direct(ls->root[LS_A]) &&
			     has_direct(ls->root[LS_B]);
	if (!ls->tmpfile)
		ls_excuse(LS_EX_TMPFILE);
}

int ls_base_fd(const struct ls *ls, const struct ls_path *p, int side)
{
	return p->base < 0 ? AT_FDCWD : ls->slot[p->base].fd[side];
}

void ls_close_slot(struct ls *ls, int slot)
{
	int side;

	for (side = 0; side < LS_SIDES; side++) {
		if (ls->slot[slot].fd[side] >= 0)
			close(ls->slot[slot].fd[side]);
		ls->slot[slot].fd[side] = -1;
	}
}
