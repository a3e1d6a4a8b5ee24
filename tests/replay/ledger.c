/* ledger.c - the writing side of the ledger. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "replay.h"

int rs_ledger_open(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

	return fd < 0 ? -errno : fd;
}

void rs_ledger_line(int fd, const char *fmt, ...)
{
	char line[160];
	va_list ap;
	int len;

	if (fd < 0)
		return;
	va_start(ap, fmt);
	len = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	/* One write with O_APPEND: lines of two processes don't mix. */
	if (write(fd, line, (size_t)len) != len) {
		perror("replay: write of the ledger");
		_exit(2);
	}
}
