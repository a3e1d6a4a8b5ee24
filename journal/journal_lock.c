/*
 * journal_lock.c - one owner: flock on the marker.
 *
 * flock and not fcntl: LMDB drops every fcntl lock of a file in a process
 * when any descriptor of it is closed, and ours must hold for as long as
 * the process lives. The pid of the owner is written nowhere; the kernel
 * knows it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "journal/journal_p.h"

/* "1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF": pid if it is ours. */
static pid_t owner_in(const char *line, const struct stat *st)
{
	const char *colon = strrchr(line, ':');
	unsigned long inode;
	char how[8];
	long pid;
	int at = 0;

	if (!colon || sscanf(line, "%*s %7s %*s %*s %n", how, &at) < 1 || !at ||
	    strcmp(how, "FLOCK") != 0)
		return 0;
	pid = strtol(line + at, NULL, 10);
	inode = strtoul(colon + 1, NULL, 10);
	/*
	 * The device isn't compared: btrfs shows another one to stat(2) than
	 * the kernel's lock table. It is for a message only.
	 */
	return inode == (unsigned long)st->st_ino && pid > 0 ? (pid_t)pid : 0;
}

static pid_t find_owner(int fd)
{
	FILE *locks = fopen("/proc/locks", "re");
	char line[256];
	struct stat st;
	pid_t pid = 0;

	if (!locks)
		return 0;
	if (fstat(fd, &st) == 0)
		while (!pid && fgets(line, sizeof(line), locks))
			pid = owner_in(line, &st);
	fclose(locks);
	return pid;
}

/* Was the file replaced between open and lock? */
static int same_file(int dirfd, int fd)
{
	struct stat mine, there;

	return fstat(fd, &mine) == 0 &&
	       fstatat(dirfd, RS_MARKER_NAME, &there, 0) == 0 &&
	       mine.st_ino == there.st_ino && mine.st_dev == there.st_dev;
}

/*
 * A killed process holds its lock until its last thread is gone and its
 * memory given back; a start right behind must not fail for that.
 */
#define WAIT_LIVE 50u	    /* tries for an owner that looks alive */
#define WAIT_DYING 250u	    /* and for one that does not */
#define WAIT_STEP 20000000L /* ns between tries */

/* Its program can't be named any more once its memory goes. */
static int looks_alive(pid_t pid)
{
	char path[32], exe[8];

	snprintf(path, sizeof(path), "/proc/%ld/exe", (long)pid);
	return readlink(path, exe, sizeof(exe)) > 0;
}

/* 1: try again; 0: enough. */
static int wait_for_owner(pid_t owner, unsigned int tries)
{
	const struct timespec step = { 0, WAIT_STEP };

	if (tries >= (owner > 0 && looks_alive(owner) ? WAIT_LIVE : WAIT_DYING))
		return 0;
	nanosleep(&step, NULL);
	return 1;
}

int rs_journal_lock_store(int dirfd, int shared, pid_t *ret_owner, int *ret_fd)
{
	const int how = (shared ? LOCK_SH : LOCK_EX) | LOCK_NB;
	unsigned int tries = 0;
	pid_t owner;
	int fd, err;

	for (;;) {
		fd = openat(dirfd, RS_MARKER_NAME,
			    O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (fd < 0)
			return -errno;
		if (flock(fd, how) < 0) {
			err = errno == EWOULDBLOCK ? -EBUSY : -errno;
			owner = err == -EBUSY ? find_owner(fd) : 0;
			close(fd);
			if (err == -EBUSY && wait_for_owner(owner, tries++))
				continue;
			if (err == -EBUSY && ret_owner)
				*ret_owner = owner;
			return err;
		}
		if (same_file(dirfd, fd))
			break;
		close(fd);
	}
	*ret_fd = fd;
	return 0;
}
