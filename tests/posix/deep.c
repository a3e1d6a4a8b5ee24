/* deep.c - paths longer than PATH_MAX, by relative steps (case B23). */
#include "posix.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *step_name(const char *len)
{
	size_t n = (size_t)atol(len);
	char *name = calloc(n + 1, 1);

	if (!name || n < 1 || n > 255)
		px_die("bad length");
	memset(name, 'd', n);
	return name;
}

int px_deep(int argc, char **argv)
{
	char *name, *path;
	int i, n;

	if (argc != 2)
		return 2;
	n = atoi(argv[0]);
	name = step_name(argv[1]);
	for (i = 0; i < n; i++) {
		MUST(mkdir(name, 0755));
		MUST(chdir(name));
	}
	px_make("bottom", "here");
	/* one argument that is too long is the kernel's to refuse */
	path = calloc(5000, 1);
	memset(path, 'x', 4999);
	FAILS(ENAMETOOLONG, open(path, O_RDONLY));
	free(path);
	free(name);
	return 0;
}

int px_deep_check(int argc, char **argv)
{
	char *name, buf[5] = "";
	int i, n, fd;

	if (argc != 2)
		return 2;
	n = atoi(argv[0]);
	name = step_name(argv[1]);
	for (i = 0; i < n; i++)
		MUST(chdir(name));
	fd = px_open("bottom", O_RDONLY);
	MUST(read(fd, buf, 4));
	CHECK(strcmp(buf, "here") == 0);
	close(fd);
	free(name);
	return 0;
}
