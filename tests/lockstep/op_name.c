/*
 * op_name.c - names: mkdir, mknod, symlink, link, unlink, rmdir, rename in
 * all their forms.
 */
#include "lockstep.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static bool pick_one(struct ls *ls, struct ls_call *c, const char *name)
{
	ls_pick_path(ls, c, c->op->makes ? LS_NEW : LS_OLD);
	ls_say(c, "%s(", name);
	ls_say_path(c, &c->path[0]);
	ls_say(c, ")");
	return true;
}

static bool pick_two(struct ls *ls, struct ls_call *c, const char *name)
{
	ls_pick_path(ls, c, LS_OLD);
	ls_pick_path(ls, c, ls_chance(ls, 70) ? LS_NEW : LS_OLD);
	ls_say(c, "%s(", name);
	ls_say_path(c, &c->path[0]);
	ls_say(c, ", ");
	ls_say_path(c, &c->path[1]);
	ls_say(c, ")");
	return true;
}

static bool pick_mkdir(struct ls *ls, struct ls_call *c)
{
	c->mode = ls_pick_mode(ls);
	/* mostly ones that others can enter, or little would happen there */
	if (ls_chance(ls, 70))
		c->mode |= 0777;
	pick_one(ls, c, "mkdir");
	ls_say(c, " mode %04o", c->mode);
	return true;
}

static long run_mkdir(struct ls *ls, struct ls_call *c, int side,
		      struct ls_result *r)
{
	(void)r;
	return mkdirat(ls_at(ls, c, 0, side), c->path[0].text, (mode_t)c->mode);
}

static bool pick_mknod(struct ls *ls, struct ls_call *c)
{
	static const mode_t types[] = { S_IFIFO, S_IFIFO, S_IFSOCK, S_IFREG,
					0,	 S_IFCHR, S_IFBLK,  S_IFDIR };
	static const unsigned minors[] = { 3, 5 }; /* null, zero */

	c->mode = ls_pick_mode(ls) | (int)types[ls_below(ls, 8)];
	c->rdev = makedev(1, minors[ls_below(ls, 2)]);
	/* no block device that could exist: opening one must be harmless */
	if (S_ISBLK(c->mode))
		c->rdev = makedev(4095, 1048575);
	pick_one(ls, c, "mknod");
	ls_say(c, " mode %06o", c->mode);
	return true;
}

static long run_mknod(struct ls *ls, struct ls_call *c, int side,
		      struct ls_result *r)
{
	(void)r;
	return mknodat(ls_at(ls, c, 0, side), c->path[0].text, (mode_t)c->mode,
		       c->rdev);
}

static void pick_target(struct ls *ls, struct ls_call *c)
{
	unsigned dice = ls_below(ls, 100);
	size_t len;

	if (dice < 80) {
		snprintf(c->target, sizeof(c->target), "%s%c",
			 dice < 20 ? "../" : "", 'a' + (int)ls_below(ls, 8));
	} else if (dice < 90) {
		c->target[0] = '/';
		ls_pick_name(ls, c->target + 1, sizeof(c->target) - 1);
	} else if (dice < 99) {
		len = dice < 95 ? ls_below(ls, 300) : 4090 + ls_below(ls, 7);
		memset(c->target, 't', len);
		c->target[len] = '\0';
	} else {
		c->target[0] = '\0';
	}
}

static bool pick_symlink(struct ls *ls, struct ls_call *c)
{
	pick_target(ls, c);
	pick_one(ls, c, "symlink");
	ls_say(c, " to \"%.60s\" (%zu bytes)", c->target, strlen(c->target));
	return true;
}

static long run_symlink(struct ls *ls, struct ls_call *c, int side,
			struct ls_result *r)
{
	(void)r;
	return symlinkat(c->target, ls_at(ls, c, 0, side), c->path[0].text);
}

static bool pick_readlink(struct ls *ls, struct ls_call *c)
{
	c->len = ls_chance(ls, 20) ? ls_below(ls, 10) : 5000;
	pick_one(ls, c, "readlink");
	ls_say(c, " into %zu bytes", c->len);
	return true;
}

static long run_readlink(struct ls *ls, struct ls_call *c, int side,
			 struct ls_result *r)
{
	long got = readlinkat(ls_at(ls, c, 0, side), c->path[0].text,
			      (char *)r->out, c->len);

	r->len = got > 0 ? (size_t)got : 0;
	return got;
}

static bool pick_unlink(struct ls *ls, struct ls_call *c)
{
	return pick_one(ls, c, "unlink");
}

static long run_unlink(struct ls *ls, struct ls_call *c, int side,
		       struct ls_result *r)
{
	(void)r;
	return unlinkat(ls_at(ls, c, 0, side), c->path[0].text, 0);
}

static bool pick_rmdir(struct ls *ls, struct ls_call *c)
{
	return pick_one(ls, c, "rmdir");
}

static long run_rmdir(struct ls *ls, struct ls_call *c, int side,
		      struct ls_result *r)
{
	(void)r;
	return unlinkat(ls_at(ls, c, 0, side), c->path[0].text, AT_REMOVEDIR);
}

static bool pick_link(struct ls *ls, struct ls_call *c)
{
	c->flags = ls_chance(ls, 30) ? AT_SYMLINK_FOLLOW : 0;
	pick_two(ls, c, "link");
	ls_say(c, " flags 0x%x", c->flags);
	return true;
}

static long run_link(struct ls *ls, struct ls_call *c, int side,
		     struct ls_result *r)
{
	(void)r;
	return linkat(ls_at(ls, c, 0, side), c->path[0].text,
		      ls_at(ls, c, 1, side), c->path[1].text, c->flags);
}

static bool pick_link_fd(struct ls *ls, struct ls_call *c)
{
	if (!ls_pick_slot(ls, c))
		return false;
	pick_one(ls, c, "link_fd");
	ls_say(c, " of slot %d", c->slot[0]);
	return true;
}

static long run_link_fd(struct ls *ls, struct ls_call *c, int side,
			struct ls_result *r)
{
	(void)r;
	return linkat(ls_fd(ls, c, 0, side), "", ls_at(ls, c, 0, side),
		      c->path[0].text, AT_EMPTY_PATH);
}

static bool pick_rename(struct ls *ls, struct ls_call *c)
{
	return pick_two(ls, c, "rename");
}

static bool pick_rename2(struct ls *ls, struct ls_call *c)
{
	static const int flags[] = { RENAME_NOREPLACE,
				     RENAME_EXCHANGE,
				     RENAME_EXCHANGE,
				     RENAME_NOREPLACE | RENAME_EXCHANGE,
				     0,
				     RENAME_NOREPLACE };

	c->flags = flags[ls_below(ls, 6)];
	pick_two(ls, c, "renameat2");
	ls_say(c, " flags 0x%x", c->flags);
	return true;
}

static long run_rename(struct ls *ls, struct ls_call *c, int side,
		       struct ls_result *r)
{
	(void)r;
	return renameat2(ls_at(ls, c, 0, side), c->path[0].text,
			 ls_at(ls, c, 1, side), c->path[1].text,
			 (unsigned)c->flags);
}

const struct ls_op ls_ops_name[] = {
	{ "mkdir", 55, pick_mkdir, run_mkdir, true, false, false },
	{ "mknod", 25, pick_mknod, run_mknod, true, false, false },
	{ "symlink", 25, pick_symlink, run_symlink, true, false, false },
	{ "readlink", 12, pick_readlink, run_readlink, false, false, false },
	{ "unlink", 60, pick_unlink, run_unlink, false, false, false },
	{ "rmdir", 30, pick_rmdir, run_rmdir, false, false, false },
	{ "link", 40, pick_link, run_link, true, false, false },
	{ "link_fd", 10, pick_link_fd, run_link_fd, true, false, false },
	{ "rename", 70, pick_rename, run_rename, true, false, false },
	{ "renameat2", 35, pick_rename2, run_rename, true, false, false },
	{ 0 },
};
