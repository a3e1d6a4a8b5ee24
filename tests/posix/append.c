/* append.c - O_APPEND from several processes at once (case B25). */
#include "posix.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECORD 96

static void record(char *buf, int proc, int number)
{
	memset(buf, 'a' + proc % 26, RECORD);
	snprintf(buf, RECORD, "%03d:%08d:", proc, number);
	buf[13] = 'a' + (char)(proc % 26);
	buf[RECORD - 1] = '\n';
}

static void writer(int proc, int records)
{
	int fd = px_open("log", O_WRONLY | O_APPEND), i;
	char buf[RECORD];

	for (i = 0; i < records; i++) {
		record(buf, proc, i);
		/* a position that O_APPEND has to ignore */
		if (i % 50 == 0)
			MUST(lseek(fd, 0, SEEK_SET));
		CHECK(write(fd, buf, RECORD) == RECORD);
	}
	close(fd);
	px_end();
}

/* Each process's records are all there, whole and in its order. */
static void verify(int procs, int records)
{
	int *next = calloc((size_t)procs, sizeof(int));
	FILE *f = fopen("log", "r");
	char got[RECORD + 1] = "", want[RECORD];
	int proc;

	if (!f || !next)
		px_die("can't read the log");
	while (fread(got, RECORD, 1, f) == 1) {
		proc = atoi(got);
		if (proc < 0 || proc >= procs)
			px_die("a torn record");
		record(want, proc, next[proc]++);
		CHECK(memcmp(got, want, RECORD) == 0);
	}
	for (proc = 0; proc < procs; proc++)
		CHECK(next[proc] == records);
	fclose(f);
	free(next);
}

/* '>>' right after another process cut the file to nothing. */
static void after_truncate(void)
{
	int fd = px_open("log", O_WRONLY | O_APPEND);
	pid_t pid = px_fork();

	if (pid == 0) {
		MUST(truncate("log", 0));
		px_end();
	}
	px_join(pid);
	MUST(write(fd, "first\n", 6));
	CHECK(px_stat("log").st_size == 6);
	close(fd);
}

int px_append(int argc, char **argv)
{
	int procs, records, i;
	pid_t pid[64];

	if (argc != 2)
		return 2;
	procs = atoi(argv[0]);
	records = atoi(argv[1]);
	if (procs < 1 || procs > 64)
		return 2;
	px_make("log", "");
	for (i = 0; i < procs; i++) {
		pid[i] = px_fork();
		if (pid[i] == 0)
			writer(i, records);
	}
	for (i = 0; i < procs; i++)
		px_join(pid[i]);
	CHECK(px_stat("log").st_size == (off_t)procs * records * RECORD);
	verify(procs, records);
	after_truncate();
	MUST(unlink("log"));
	return 0;
}
