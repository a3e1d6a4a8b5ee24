/*
 * lib_pids.c - who has something open on a mount.
 *
 * statx(2) with AT_STATX_DONT_SYNC through /proc's magic links tells the
 * device without a request to the mount: the daemon of a mount must not ask
 * itself, and a hung one must not hang us.
 */
#include "tools/lib_pids.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "journal/report.h"

static int on_dev(int dirfd, const char *name, dev_t dev)
{
	struct statx stx;

	if (statx(dirfd, name, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE,
		  &stx))
		return 0;
	return makedev(stx.stx_dev_major, stx.stx_dev_minor) == dev;
}

static int has_open(int proc, dev_t dev)
{
	struct dirent *ent;
	int fd, found = 0;
	DIR *dir;

	fd = openat(proc, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return 0;
	}
	while (!found && (ent = readdir(dir)))
		if (isdigit((unsigned char)ent->d_name[0]))
			found = on_dev(dirfd(dir), ent->d_name, dev);
	closedir(dir);
	return found;
}

/* "address perms offset 00:29 inode path", numbers in hex */
static dev_t dev_of_map(const char *line)
{
	unsigned long major, minor;
	char *end;
	int i;

	for (i = 0; line && i < 3; i++) {
		line = strchr(line, ' ');
		line = line ? line + 1 : NULL;
	}
	if (!line)
		return 0;
	major = strtoul(line, &end, 16);
	if (*end != ':')
		return 0;
	minor = strtoul(end + 1, NULL, 16);
	return makedev((unsigned int)major, (unsigned int)minor);
}

static int has_mapped(int proc, dev_t dev)
{
	RS_AUTO_FREE char *line = NULL;
	size_t size = 0;
	int fd, found = 0;
	FILE *file;

	fd = openat(proc, "maps", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	file = fdopen(fd, "r");
	if (!file) {
		close(fd);
		return 0;
	}
	while (!found && getline(&line, &size, file) >= 0)
		found = dev_of_map(line) == dev;
	fclose(file);
	return found;
}

static int uses(int proc, dev_t dev)
{
	return on_dev(proc, "cwd", dev) || on_dev(proc, "root", dev) ||
	       on_dev(proc, "exe", dev) || has_open(proc, dev) ||
	       has_mapped(proc, dev);
}

static void add(struct rs_pids *pids, int proc, const char *pid)
{
	char name[16] = "";
	RS_AUTO_FD int fd = -1;
	ssize_t n;

	if (pids->n == RS_PIDS_MAX) {
		pids->more++;
		return;
	}
	fd = openat(proc, "comm", O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, name, sizeof(name));
	while (n > 0 && name[n - 1] == '\n')
		n--;
	rs_escape(name, n > 0 ? (size_t)n : 0, pids->name[pids->n],
		  sizeof(pids->name[0]));
	pids->pid[pids->n++] = (pid_t)strtol(pid, NULL, 10);
}

void rs_pids_find(dev_t dev, struct rs_pids *ret_pids)
{
	struct dirent *ent;
	DIR *dir;
	int proc;

	memset(ret_pids, 0, sizeof(*ret_pids));
	dir = opendir("/proc");
	if (!dir)
		return;
	while ((ent = readdir(dir))) {
		if (!isdigit((unsigned char)ent->d_name[0]))
			continue;
		proc = openat(dirfd(dir), ent->d_name,
			      O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (proc < 0)
			continue;
		if (uses(proc, dev))
			add(ret_pids, proc, ent->d_name);
		close(proc);
	}
	closedir(dir);
}

void rs_pids_text(const struct rs_pids *pids, char *ret_text, size_t size)
{
	size_t len = 0;
	unsigned int i;
	int n;

	ret_text[0] = '\0';
	for (i = 0; i < pids->n && len < size; i++) {
		n = snprintf(ret_text + len, size - len, "%s%s (%d)",
			     i ? ", " : "", pids->name[i], (int)pids->pid[i]);
		len += n > 0 ? (size_t)n : 0;
	}
	if (pids->more && len < size)
		snprintf(ret_text + len, size - len, " and %u more",
			 pids->more);
}
