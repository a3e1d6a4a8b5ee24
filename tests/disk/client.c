/*
 * client.c - "disksim ctl SOCK COMMAND…": send the words, print the answer.
 */
#include "tests/disk/ctl.h"

#include "tests/disk/wire.h"

#include <errno.h>

static int fail(const char *what, const char *path, int err)
{
	fprintf(stderr, "disksim: %s '%s': %s\n", what, path, strerror(-err));
	return 1;
}

static int send_words(int fd, int argc, char **argv)
{
	int i;

	for (i = 0; i < argc; i++) {
		int err = rs_dwire_write(fd, argv[i], strlen(argv[i]));

		if (!err)
			err = rs_dwire_write(fd, i + 1 < argc ? " " : "\n", 1);
		if (err)
			return err;
	}
	return 0;
}

/* The first line tells which it is. 0, 1 for an error, or -errno. */
static int print_answer(int fd)
{
	static const char error[] = "error: ";
	char buf[4096];
	ssize_t n, total = 0;
	FILE *to = stdout;

	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		if (!total && n >= (ssize_t)sizeof(error) - 1 &&
		    memcmp(buf, error, sizeof(error) - 1) == 0) {
			to = stderr;
			fputs("disksim: ", stderr);
		}
		fwrite(buf, 1, (size_t)n, to);
		total += n;
	}
	if (n < 0)
		return -errno;
	if (!total)
		return -ECONNRESET;
	return to == stderr;
}

int rs_dctl_client(int argc, char **argv)
{
	RS_AUTO_FD int fd = -1;
	int err;

	if (argc < 2) {
		fputs("disksim: usage: disksim ctl SOCK COMMAND..., see"
		      " disksim --help\n",
		      stderr);
		return 2;
	}
	err = rs_dwire_connect(argv[0], &fd);
	if (err)
		return fail("cannot connect to", argv[0], err);
	err = send_words(fd, argc - 1, argv + 1);
	if (!err)
		err = print_answer(fd);
	return err < 0 ? fail("no answer from", argv[0], err) : err;
}
