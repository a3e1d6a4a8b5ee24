/*
 * lib_out.c - the directory that a tree is written to.
 */
#include "tools/lib_out.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "tools/lib_mnt.h"
#include "tools/lib_place.h"
#include "tools/lib_say.h"

/* path need not exist yet, but what it stands in does. */
static int lies_inside(const char *path, const char *store)
{
	char real[PATH_MAX], parent[PATH_MAX];
	int n;

	if (rs_mnt_canon(path, real) == 0)
		return rs_place_inside(real, store);
	n = snprintf(parent, sizeof(parent), "%s", path);
	if (n < 0 || n >= (int)sizeof(parent))
		return 0; /* mkdir says why not */
	return rs_mnt_canon(dirname(parent), real) == 0 &&
	       rs_place_inside(real, store);
}

static int say(const char *path, const char *what, int err)
{
	rs_say("cannot %s '%s': %s", what, path, strerror(err));
	return RS_EXIT_FAILED;
}

/* 0 or an exit code */
static int look_at(const char *path, int fd, int may_continue, int *ret_again)
{
	int empty;

	if (may_continue && !faccessat(fd, RS_OUT_NAME, F_OK, 0)) {
		*ret_again = 1;
		return 0;
	}
	empty = rs_mnt_is_empty(path);
	if (empty < 0)
		return say(path, "write to", -empty);
	*ret_again = 0;
	if (empty)
		return 0;
	rs_say("cannot write to '%s': it is not empty", path);
	return RS_EXIT_FAILED;
}

static int put_name(const char *path, int fd)
{
	RS_AUTO_FD int mark =
		openat(fd, RS_OUT_NAME,
		       O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (mark < 0 || fsync(fd))
		return say(path, "write to", errno);
	return 0;
}

int rs_out_open(const char *path, const char *store, int *ret_again,
		int *ret_fd)
{
	RS_AUTO_FD int fd = -1;
	int code, again;

	if (lies_inside(path, store)) {
		rs_say("cannot write to '%s': it lies inside '%s'", path,
		       store);
		return RS_EXIT_FAILED;
	}
	if (mkdir(path, 0700) && errno != EEXIST)
		return say(path, "make", errno);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return say(path, "open", errno);
	code = look_at(path, fd, ret_again != NULL, &again);
	if (!code && ret_again && !again)
		code = put_name(path, fd);
	if (code)
		return code;
	if (ret_again)
		*ret_again = again;
	*ret_fd = rs_steal_fd(&fd);
	return 0;
}

int rs_out_finish(const char *path, int fd)
{
	struct timespec times[2];
	struct stat st;

	if (fstat(fd, &st))
		return say(path, "write to", errno);
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	/* the name's going moves the time that the top was given */
	if ((unlinkat(fd, RS_OUT_NAME, 0) && errno != ENOENT) ||
	    futimens(fd, times) || fsync(fd))
		return say(path, "write to", errno);
	return 0;
}
