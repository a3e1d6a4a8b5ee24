/*
 * op_attr.c - attributes: stat, modes, owners, times, umask, access, xattrs,
 * statfs.
 */
#include "lockstep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

static void pick_path(struct ls *ls, struct ls_call *c, const char *name)
{
	ls_pick_path(ls, c, LS_OLD);
	ls_say(c, "%s(", name);
	ls_say_path(c, &c->path[0]);
	ls_say(c, ")");
}

/* The xattr calls have no form with a dirfd. */
static void pick_from_root(struct ls *ls, struct ls_call *c, const char *name)
{
	do {
		c->paths = 0;
		ls_pick_path(ls, c, LS_OLD);
	} while (c->path[0].base >= 0);
	ls_say(c, "%s(", name);
	ls_say_path(c, &c->path[0]);
	ls_say(c, ")");
}

static bool pick_fd(struct ls *ls, struct ls_call *c, const char *name)
{
	if (!ls_pick_slot(ls, c))
		return false;
	ls_say(c, "%s(slot %d)", name, c->slot[0]);
	return true;
}

static bool pick_stat(struct ls *ls, struct ls_call *c)
{
	c->flags = ls_chance(ls, 70) ? 0 : AT_SYMLINK_NOFOLLOW;
	pick_path(ls, c, c->flags ? "lstat" : "stat");
	return true;
}

/* Mode and links as this user's call sees them; the rest as root, later. */
static long run_stat(struct ls *ls, struct ls_call *c, int side,
		     struct ls_result *r)
{
	struct stat st;

	if (fstatat(ls_at(ls, c, 0, side), c->path[0].text, &st, c->flags) < 0)
		return -1;
	r->len = (size_t)snprintf((char *)r->out, 64, "%o %lu %u %u",
				  st.st_mode, (unsigned long)st.st_nlink,
				  st.st_uid, st.st_gid);
	return 0;
}

static bool pick_chmod(struct ls *ls, struct ls_call *c)
{
	c->mode = ls_pick_mode(ls);
	pick_path(ls, c, "chmod");
	ls_say(c, " to %04o", c->mode);
	return true;
}

static long run_chmod(struct ls *ls, struct ls_call *c, int side,
		      struct ls_result *r)
{
	(void)r;
	return fchmodat(ls_at(ls, c, 0, side), c->path[0].text, (mode_t)c->mode,
			0);
}

static bool pick_fchmod(struct ls *ls, struct ls_call *c)
{
	c->mode = ls_pick_mode(ls);
	if (!pick_fd(ls, c, "fchmod"))
		return false;
	ls_say(c, " to %04o", c->mode);
	return true;
}

static long run_fchmod(struct ls *ls, struct ls_call *c, int side,
		       struct ls_result *r)
{
	(void)r;
	return fchmod(ls_fd(ls, c, 0, side), (mode_t)c->mode);
}

static void pick_owner(struct ls *ls, struct ls_call *c)
{
	c->uid = ls_chance(ls, 30) ? (uid_t)-1
				   : ls_user_uid(ls_below(ls, ls_users()));
	c->gid = ls_chance(ls, 30) ? (gid_t)-1
				   : ls_user_gid(ls_below(ls, ls_users() + 1));
	ls_say(c, " to %d:%d", (int)c->uid, (int)c->gid);
}

static bool pick_chown(struct ls *ls, struct ls_call *c)
{
	c->flags = ls_chance(ls, 30) ? AT_SYMLINK_NOFOLLOW : 0;
	pick_path(ls, c, c->flags ? "lchown" : "chown");
	pick_owner(ls, c);
	return true;
}

static long run_chown(struct ls *ls, struct ls_call *c, int side,
		      struct ls_result *r)
{
	(void)r;
	return fchownat(ls_at(ls, c, 0, side), c->path[0].text, c->uid, c->gid,
			c->flags);
}

static bool pick_fchown(struct ls *ls, struct ls_call *c)
{
	if (!pick_fd(ls, c, "fchown"))
		return false;
	pick_owner(ls, c);
	return true;
}

static long run_fchown(struct ls *ls, struct ls_call *c, int side,
		       struct ls_result *r)
{
	(void)r;
	return fchown(ls_fd(ls, c, 0, side), c->uid, c->gid);
}

static void say_time(struct ls_call *c, const struct timespec *t)
{
	if (t->tv_nsec == UTIME_NOW)
		ls_say(c, " NOW");
	else if (t->tv_nsec == UTIME_OMIT)
		ls_say(c, " OMIT");
	else
		ls_say(c, " %lld.%09ld", (long long)t->tv_sec, t->tv_nsec);
}

static void pick_times(struct ls *ls, struct ls_call *c)
{
	c->time[0] = ls_pick_time(ls);
	c->time[1] = ls_pick_time(ls);
	c->how = ls_chance(ls, 10); /* no times at all: both now */
	if (c->how) {
		ls_say(c, " to NULL");
		return;
	}
	say_time(c, &c->time[0]);
	say_time(c, &c->time[1]);
}

static bool pick_utimens(struct ls *ls, struct ls_call *c)
{
	c->flags = ls_chance(ls, 30) ? AT_SYMLINK_NOFOLLOW : 0;
	pick_path(ls, c, c->flags ? "lutimens" : "utimens");
	pick_times(ls, c);
	return true;
}

static long run_utimens(struct ls *ls, struct ls_call *c, int side,
			struct ls_result *r)
{
	(void)r;
	return utimensat(ls_at(ls, c, 0, side), c->path[0].text,
			 c->how ? NULL : c->time, c->flags);
}

static bool pick_futimens(struct ls *ls, struct ls_call *c)
{
	if (!pick_fd(ls, c, "futimens"))
		return false;
	pick_times(ls, c);
	return true;
}

static long run_futimens(struct ls *ls, struct ls_call *c, int side,
			 struct ls_result *r)
{
	(void)r;
	return futimens(ls_fd(ls, c, 0, side), c->how ? NULL : c->time);
}

static bool pick_umask(struct ls *ls, struct ls_call *c)
{
	static const int masks[] = { 022, 0, 077, 027, 002, 0777 };

	c->mode = masks[ls_below(ls, ls_chance(ls, 10) ? 6 : 5)];
	ls_say(c, "umask(%03o)", c->mode);
	return true;
}

static long run_umask(struct ls *ls, struct ls_call *c, int side,
		      struct ls_result *r)
{
	(void)side;
	(void)r;
	ls->umask = (mode_t)c->mode;
	umask(ls->umask);
	return 0;
}

static bool pick_access(struct ls *ls, struct ls_call *c)
{
	c->mode = (int)ls_below(ls, 8);
	c->flags = ls_chance(ls, 70) ? AT_EACCESS : 0;
	pick_path(ls, c, "faccessat");
	ls_say(c, " mode %o flags 0x%x", c->mode, c->flags);
	return true;
}

static long run_access(struct ls *ls, struct ls_call *c, int side,
		       struct ls_result *r)
{
	(void)r;
	return faccessat(ls_at(ls, c, 0, side), c->path[0].text, c->mode,
			 c->flags);
}

static bool pick_statfs(struct ls *ls, struct ls_call *c)
{
	(void)ls;
	ls_say(c, "statvfs(\".\")");
	return true;
}

/* The numbers are each side's own; that they make sense is checked. */
static long run_statfs(struct ls *ls, struct ls_call *c, int side,
		       struct ls_result *r)
{
	struct statvfs v;

	(void)c;
	if (fstatvfs(ls->root[side], &v) < 0)
		return -1;
	r->len = (size_t)snprintf(
		(char *)r->out, 64, "namemax %lu %s", v.f_namemax,
		v.f_bavail <= v.f_bfree && v.f_bfree <= v.f_blocks &&
				v.f_favail <= v.f_ffree &&
				v.f_ffree <= v.f_files && v.f_favail > 0 &&
				v.f_bsize > 0 && v.f_frsize > 0
			? "sane"
			: "free is not between 0 and all");
	return 0;
}

static const char *const xattr_names[] = {
	"user.a",  "user.b", "trusted.t", "security.rs", "security.capability",
	"bogus.x", "user."
};

static const char *pick_xattr(struct ls *ls, struct ls_call *c)
{
	c->how = (int)ls_below(ls, 7);
	if (ls_chance(ls, 60))
		c->how %= 2;
	return xattr_names[c->how];
}

static bool pick_setxattr(struct ls *ls, struct ls_call *c)
{
	static const int flags[] = { 0, 0, XATTR_CREATE, XATTR_REPLACE };
	static const size_t lens[] = { 0, 1, 20, 500, 4080, 4096 };
	const char *name = pick_xattr(ls, c);

	c->flags = flags[ls_below(ls, 4)];
	c->len = lens[ls_below(ls, 6)];
	c->pattern = ls_rand(ls);
	pick_from_root(ls, c, "lsetxattr");
	ls_say(c, " %s %zu bytes flags %d", name, c->len, c->flags);
	return true;
}

/* a well-formed value for a file capability: cap_net_raw=ep, version 2 */
static const uint8_t capability[20] = { 1, 0, 0, 2, 0, 0x20 };

static long run_setxattr(struct ls *ls, struct ls_call *c, int side,
			 struct ls_result *r)
{
	(void)ls;
	(void)side;
	ls_fill(c->pattern, r->out, c->len);
	if (c->how == 4)
		return lsetxattr(c->path[0].text, xattr_names[4], capability,
				 sizeof(capability), c->flags);
	return lsetxattr(c->path[0].text, xattr_names[c->how], r->out, c->len,
			 c->flags);
}

static bool pick_getxattr(struct ls *ls, struct ls_call *c)
{
	const char *name = pick_xattr(ls, c);

	c->len = ls_chance(ls, 20) ? ls_below(ls, 30) : 70000;
	pick_from_root(ls, c, "lgetxattr");
	ls_say(c, " %s into %zu", name, c->len);
	return true;
}

static long run_getxattr(struct ls *ls, struct ls_call *c, int side,
			 struct ls_result *r)
{
	long got =
		lgetxattr(c->path[0].text, xattr_names[c->how], r->out, c->len);

	(void)ls;
	(void)side;
	r->len = got > 0 && c->len ? (size_t)got : 0;
	return got;
}

static bool pick_listxattr(struct ls *ls, struct ls_call *c)
{
	pick_from_root(ls, c, "llistxattr");
	return true;
}

/*
 * In which order they come is nobody's promise: the length is compared,
 * without names that only the privileged may see.
 */
static long run_listxattr(struct ls *ls, struct ls_call *c, int side,
			  struct ls_result *r)
{
	const char *names = (const char *)r->out, *p;
	long got = llistxattr(c->path[0].text, (char *)r->out, 70000);
	long all = got;

	(void)ls;
	(void)side;
	if (c->who == 0)
		return got;
	for (p = names; all > 0 && p < names + all; p += strlen(p) + 1) {
		if (strncmp(p, "trusted.", 8) == 0) {
			got -= (long)strlen(p) + 1;
			ls_excuse(LS_EX_TRUSTED);
		}
	}
	return got;
}

static bool pick_removexattr(struct ls *ls, struct ls_call *c)
{
	const char *name = pick_xattr(ls, c);

	pick_from_root(ls, c, "lremovexattr");
	ls_say(c, " %s", name);
	return true;
}

static long run_removexattr(struct ls *ls, struct ls_call *c, int side,
			    struct ls_result *r)
{
	(void)ls;
	(void)side;
	(void)r;
	return lremovexattr(c->path[0].text, xattr_names[c->how]);
}

const struct ls_op ls_ops_attr[] = {
	{ "stat", 20, pick_stat, run_stat, false, false, false },
	{ "chmod", 35, pick_chmod, run_chmod, false, false, false },
	{ "fchmod", 15, pick_fchmod, run_fchmod, false, false, false },
	{ "chown", 30, pick_chown, run_chown, false, false, false },
	{ "fchown", 12, pick_fchown, run_fchown, false, false, false },
	{ "utimens", 25, pick_utimens, run_utimens, false, false, false },
	{ "futimens", 15, pick_futimens, run_futimens, false, false, false },
	{ "umask", 5, pick_umask, run_umask, false, false, false },
	{ "access", 20, pick_access, run_access, false, false, false },
	{ "statfs", 3, pick_statfs, run_statfs, false, false, false },
	{ "setxattr", 40, pick_setxattr, run_setxattr, false, false, true },
	{ "getxattr", 20, pick_getxattr, run_getxattr, false, false, true },
	{ "listxattr", 10, pick_listxattr, run_listxattr, false, false, true },
	{ "removexattr", 15, pick_removexattr, run_removexattr, false, false,
	  true },
	{ 0 },
};
