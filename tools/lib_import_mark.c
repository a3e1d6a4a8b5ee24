/*
 * lib_import_mark.c - the file that says that an import is under way.
 *
 * Made, durable, before the first byte of the tree; removed after the last.
 * So a power cut leaves a store that is empty, marked, or whole. A cut that
 * brings the file back costs one more run, which finds everything there.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "tools/lib_import.h"
#include "tools/lib_say.h"

#define NEW_NAME RS_IMPORT_NAME ".new"

static int open_store(const char *store)
{
	int fd = open(store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int rs_import_mark_read(const char *store, char ret_src[PATH_MAX])
{
	RS_AUTO_FD int dir = open_store(store), fd = -1;
	ssize_t n;

	if (dir < 0)
		return dir;
	fd = openat(dir, RS_IMPORT_NAME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	n = read(fd, ret_src, PATH_MAX - 1);
	if (n < 0)
		return -errno;
	ret_src[n] = '\0';
	return 1;
}

/* It is there with all that it says, or not at all. */
int rs_import_mark_write(const char *store, const char *src)
{
	RS_AUTO_FD int dir = open_store(store), fd = -1;
	size_t len = strlen(src);

	if (dir < 0)
		return dir;
	fd = openat(dir, NEW_NAME,
		    O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return -errno;
	errno = 0;
	if (write(fd, src, len) != (ssize_t)len)
		return errno ? -errno : -EIO;
	if (fsync(fd) || renameat(dir, NEW_NAME, dir, RS_IMPORT_NAME))
		return -errno;
	return fsync(dir) ? -errno : 0;
}

int rs_import_mark_remove(const char *store)
{
	RS_AUTO_FD int dir = open_store(store);

	if (dir < 0)
		return dir;
	if (unlinkat(dir, RS_IMPORT_NAME, 0) && errno != ENOENT)
		return -errno;
	return fsync(dir) ? -errno : 0;
}

int rs_import_refuse(const char *store)
{
	char src[PATH_MAX];
	int n = rs_import_mark_read(store, src);

	if (n == 0)
		return 0;
	if (n < 0)
		rs_say("cannot read '%s/" RS_IMPORT_NAME "': %s", store,
		       strerror(-n));
	else
		rs_say("the import of '%s' into '%s' was not finished: repeat"
		       " 'rspoolctl import', or make the store anew",
		       src, store);
	return RS_EXIT_FAILED;
}
