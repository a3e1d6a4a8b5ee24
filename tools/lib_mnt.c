/*
 * lib_mnt.c - mount points as the tools meet them: live, dead, hung.
 */
#include "tools/lib_mnt.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>

#include "fs/mounts.h"

#define PROBE_MS 5000
#define POLL_MS 2

int rs_mnt_canon(const char *path, char ret_path[PATH_MAX])
{
	char link[40];
	RS_AUTO_FD int fd = -1;
	ssize_t n;

	/* O_PATH asks the filesystem for nothing once the name is found */
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, ret_path, PATH_MAX);
	if (n < 0)
		return -errno;
	if (n >= PATH_MAX)
		return -ENAMETOOLONG;
	ret_path[n] = '\0';
	return 0;
}

/* path as "parent/name" with the parent resolved. */
static int canon_parent(const char *path, char ret_path[PATH_MAX])
{
	char copy[PATH_MAX], dir[PATH_MAX] = "";
	const char *name;
	char *slash;
	size_t len = strlen(path);
	int n;

	while (len > 1 && path[len - 1] == '/')
		len--;
	if (len >= sizeof(copy))
		return -ENAMETOOLONG;
	memcpy(copy, path, len);
	copy[len] = '\0';
	slash = strrchr(copy, '/');
	name = slash ? slash + 1 : copy;
	if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
		return -ENOENT;
	if (slash)
		*slash = '\0';
	n = rs_mnt_canon(!slash ? "." : *copy ? copy : "/", dir);
	if (n)
		return n;
	n = snprintf(ret_path, PATH_MAX, "%s/%s", dir[1] ? dir : "", name);
	return n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

int rs_mnt_find(const char *path, char ret_path[PATH_MAX],
		char ret_source[PATH_MAX])
{
	char found[PATH_MAX];
	struct rs_mount m;
	int err;

	err = canon_parent(path, found);
	if (!err)
		err = rs_mounts_top(found, &m);
	if (err)
		return err;
	if (strcmp(m.type, RS_MOUNT_TYPE) != 0)
		err = -ENOENT;
	snprintf(ret_source, PATH_MAX, "%s", m.source);
	rs_mount_release(&m);
	if (!err)
		memcpy(ret_path, found, sizeof(found));
	return err;
}

/* In the child: exit status says how the mount answers. */
static void ask(const char *mnt)
{
	struct statfs st;

	if (statfs(mnt, &st) == 0)
		_exit(RS_MNT_LIVE);
	_exit(errno == ENOTCONN || errno == ECONNABORTED ? RS_MNT_DEAD
							 : RS_MNT_LIVE);
}

static enum rs_mnt_state answer_of(pid_t pid)
{
	struct timespec nap = { .tv_nsec = POLL_MS * 1000000 };
	int status, left = PROBE_MS / POLL_MS;
	pid_t got;

	for (;;) {
		got = waitpid(pid, &status, WNOHANG);
		if (got == pid)
			break;
		if (left-- == 0) {
			/* if it does not die, init gets it */
			kill(pid, SIGKILL);
			waitpid(pid, &status, WNOHANG);
			return RS_MNT_HUNG;
		}
		nanosleep(&nap, NULL);
	}
	return WIFEXITED(status) ? (enum rs_mnt_state)WEXITSTATUS(status)
				 : RS_MNT_HUNG;
}

int rs_mnt_probe(const char *mnt, enum rs_mnt_state *ret_state,
		 char ret_source[PATH_MAX])
{
	struct rs_mount m;
	pid_t pid;
	int err;

	*ret_state = RS_MNT_NONE;
	err = rs_mounts_top(mnt, &m);
	if (err == -ENOENT)
		return 0;
	if (err)
		return err;
	if (strcmp(m.type, RS_MOUNT_TYPE) != 0) {
		rs_mount_release(&m);
		return 0;
	}
	if (ret_source)
		snprintf(ret_source, PATH_MAX, "%s", m.source);
	rs_mount_release(&m);
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		ask(mnt);
	*ret_state = answer_of(pid);
	return 0;
}

int rs_mnt_clear(const char *mnt, unsigned int *ret_n)
{
	enum rs_mnt_state state;
	int err;

	*ret_n = 0;
	for (;;) {
		err = rs_mnt_probe(mnt, &state, NULL);
		if (err || state != RS_MNT_DEAD)
			return err;
		if (umount2(mnt, MNT_DETACH | UMOUNT_NOFOLLOW))
			return -errno;
		++*ret_n;
	}
}

int rs_mnt_is_empty(const char *path)
{
	struct dirent *ent;
	DIR *dir;
	int empty = 1;

	dir = opendir(path);
	if (!dir)
		return -errno;
	errno = 0;
	while (empty && (ent = readdir(dir)))
		empty = !strcmp(ent->d_name, ".") || !strcmp(ent->d_name, "..");
	if (empty && errno)
		empty = -errno;
	closedir(dir);
	return empty;
}

int rs_mnt_protect(const char *dir, int on)
{
	RS_AUTO_FD int fd = -1;
	unsigned int flags = 0, want;

	fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (ioctl(fd, FS_IOC_GETFLAGS, &flags))
		return errno == ENOTTY ? -EOPNOTSUPP : -errno;
	want = on ? flags | FS_IMMUTABLE_FL
		  : flags & ~(unsigned int)FS_IMMUTABLE_FL;
	if (want == flags)
		return 0;
	if (ioctl(fd, FS_IOC_SETFLAGS, &want))
		return errno == ENOTTY || errno == EINVAL ? -EOPNOTSUPP
							  : -errno;
	/* some filesystems take any flag and keep what they know */
	if (ioctl(fd, FS_IOC_GETFLAGS, &flags))
		return -errno;
	return (flags & FS_IMMUTABLE_FL) == (want & FS_IMMUTABLE_FL)
		       ? 0
		       : -EOPNOTSUPP;
}

struct each {
	int (*fn)(void *arg, const char *mnt, const char *source);
	void *arg;
};

static int if_ours(void *arg, const struct rs_mount *m)
{
	struct each *each = arg;

	if (strcmp(m->type, RS_MOUNT_TYPE) != 0)
		return 0;
	return each->fn(each->arg, m->mnt, m->source);
}

int rs_mnt_each(int (*fn)(void *arg, const char *mnt, const char *source),
		void *arg)
{
	struct each each = { fn, arg };

	return rs_mounts_each(if_ours, &each);
}
