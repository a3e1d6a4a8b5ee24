/* main.c - the table of posixhelp's commands and their dispatch. */
#include "posix.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct command {
	const char *name;
	const char *args; /* after DIR */
	const char *help;
	int (*run)(int argc, char **argv);
};

static const struct command commands[] = {
	{ "append", "PROCS RECORDS", "O_APPEND from several processes",
	  px_append },
	{ "ctime", "", "which call moves which time", px_ctime },
	{ "deep", "N LEN", "make N directories below each other", px_deep },
	{ "deep-check", "N LEN", "find the file below them", px_deep_check },
	{ "flip", "N", "rename to and fro under a watcher", px_flip },
	{ "grow", "NAME BYTES", "write until BYTES or an error", px_grow },
	{ "link-pairs", "N SEED", "hard links share one inode", px_link_pairs },
	{ "links", "N", "N links to one file", px_links },
	{ "list", "", "count entries, check d_type and d_ino", px_list },
	{ "locks", "", "fcntl, flock and OFD locks between processes",
	  px_locks },
	{ "lock-move", "", "a lock goes with its inode", px_lock_move },
	{ "map", "", "mmap agrees with read and write", px_map },
	{ "map-sync", "NAME", "store through a mapping, msync", px_map_sync },
	{ "mkfiles", "N PREFIX", "N empty files", px_mkfiles },
	{ "orphan", "", "use of files and directories without a name",
	  px_orphan },
	{ "rename", "", "the rules of rename", px_rename },
	{ "rename2", "OLD NEW FLAGS", "one renameat2, prints the errno",
	  px_rename2 },
	{ "rmfiles", "N PREFIX", "remove what mkfiles made", px_rmfiles },
	{ "rss", "COMMAND...", "run it, print its peak memory in KiB", px_rss },
	{ "scan-churn", "N SECONDS", "scans while names come and go",
	  px_scan_churn },
	{ "scan-rename", "N", "a scan that renames as it goes",
	  px_scan_rename },
	{ "seekdir", "N", "telldir and seekdir", px_seekdir },
	{ "setid", "", "who clears set-id bits and when", px_setid },
	{ "signals", "N", "calls under a timer signal", px_signals },
	{ "sparse", "", "holes, truncate, fallocate", px_sparse },
	{ "special", "", "FIFOs and sockets", px_special },
	{ "statfiles", "N PREFIX COUNT", "stat COUNT of them at random",
	  px_statfiles },
	{ "sync-call", "KIND NAME", "one write that is durable on return",
	  px_sync_call },
	{ "sync-storm", "PROCS N", "fsync from many processes", px_sync_storm },
	{ "utimes", "", "utimensat in all its forms", px_utimes },
	{ "xattr", "", "the rules of extended attributes", px_xattr },
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void usage(void)
{
	size_t i;

	printf("usage: posixhelp COMMAND DIR [ARGUMENT...]\n");
	for (i = 0; i < COMMANDS; i++)
		printf("  %-12s %-16s %s\n", commands[i].name, commands[i].args,
		       commands[i].help);
}

static const struct command *find(const char *name)
{
	size_t i;

	for (i = 0; i < COMMANDS; i++) {
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const struct command *c = argc > 2 ? find(argv[1]) : NULL;
	int rc;

	if (!c) {
		usage();
		return argc == 2 && strcmp(argv[1], "--help") == 0 ? 0 : 2;
	}
	if (chdir(argv[2]) < 0)
		px_die("'%s': %s", argv[2], strerror(errno));
	signal(SIGPIPE, SIG_IGN);
	umask(022);
	rc = c->run(argc - 3, argv + 3);
	if (rc == 2)
		fprintf(stderr, "usage: posixhelp %s DIR %s\n", c->name,
			c->args);
	return rc ? rc : px_failures() ? 1 : 0;
}
