/* rss.c - run a command and tell its peak memory. */
#include "posix.h"

#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int px_rss(int argc, char **argv)
{
	struct rusage usage;
	int status;
	pid_t pid;

	if (argc < 1)
		return 2;
	pid = px_fork();
	if (pid == 0) {
		/* the number alone goes to stdout */
		if (dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
			px_die("dup2");
		execvp(argv[0], argv);
		px_die("can't run '%s'", argv[0]);
	}
	MUST(wait4(pid, &status, 0, &usage));
	printf("%ld\n", usage.ru_maxrss);
	CHECK(status == 0);
	return 0;
}
