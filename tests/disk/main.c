/*
 * main.c - the program disksim: options, start, end.
 *
 * The order of the ends matters: first no new requests (the session), then
 * no new commands, then the cache goes to the image.
 */
#include "tests/disk/ctl.h"
#include "tests/disk/mount.h"
#include "tests/disk/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <malloc.h>
#include <sched.h>
#include <sys/prctl.h>

#define CACHE_DEFAULT (UINT64_C(64) << 20)

struct options {
	uint64_t size;
	uint64_t cache;
	struct rs_darm_times times;
	const char *sock;
	const char *pidfile;
	bool background;
	bool help;
	char image[PATH_MAX];
	char dir[PATH_MAX];
	char sock_path[PATH_MAX];
};

static const struct option long_options[] = {
	{ "size", required_argument, NULL, 's' },
	{ "cache", required_argument, NULL, 'c' },
	{ "preset", required_argument, NULL, 'p' },
	{ "times", required_argument, NULL, 't' },
	{ "sock", required_argument, NULL, 'S' },
	{ "pidfile", required_argument, NULL, 'P' },
	{ "background", no_argument, NULL, 'b' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static void help(void)
{
	fputs("usage: disksim [OPTIONS] IMAGE DIR\n"
	      "       disksim ctl SOCK COMMAND...\n"
	      "\n"
	      "Mount a simulated disk at DIR: the file DIR/disk, for a loop"
	      " device, with\nIMAGE as its medium.\n"
	      "\n"
	      "  -s, --size SIZE       make a new IMAGE so large\n"
	      "  -c, --cache SIZE      the drive's volatile cache (64M)\n"
	      "  -p, --preset NAME     hdd: 8 ms a flush, 4 ms a seek; ssd:"
	      " 1 ms a flush,\n"
	      "                        20 us a write; none: no delays\n"
	      "  -t, --times LIST      flush=US,seek=US,write=US,read=US\n"
	      "  -S, --sock PATH       the control socket (IMAGE.sock)\n"
	      "  -P, --pidfile PATH    write the process id there\n"
	      "  -b, --background      return when the disk is there\n"
	      "  -h, --help\n"
	      "\n"
	      "Commands:\n",
	      stdout);
	rs_dctl_help(stdout);
}

static int parse_times(const char *list, struct rs_darm_times *times)
{
	RS_AUTO_FREE char *copy = strdup(list);
	char *save = NULL, *word;

	if (!copy)
		return -ENOMEM;
	for (word = strtok_r(copy, ",", &save); word;
	     word = strtok_r(NULL, ",", &save))
		if (rs_dparse_time(word, times))
			return -EINVAL;
	return 0;
}

static int parse_option(struct options *o, int c)
{
	switch (c) {
	case 's':
		return rs_dparse_size(optarg, &o->size);
	case 'c':
		return rs_dparse_size(optarg, &o->cache);
	case 'p':
		return rs_dparse_preset(optarg, &o->times);
	case 't':
		return parse_times(optarg, &o->times);
	case 'S':
		o->sock = optarg;
		return 0;
	case 'P':
		o->pidfile = optarg;
		return 0;
	case 'b':
		o->background = true;
		return 0;
	case 'h':
		o->help = true;
		return 0;
	default:
		return -EINVAL;
	}
}

/* Absolute, because the background process leaves the directory. The last
 * part of the path need not exist. */
static int absolute(const char *path, char *ret_path)
{
	RS_AUTO_FREE char *cwd = getcwd(NULL, 0);
	int n;

	if (!cwd)
		return -errno;
	n = snprintf(ret_path, PATH_MAX, "%s%s%s", *path == '/' ? "" : cwd,
		     *path == '/' ? "" : "/", path);
	return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static int parse(int argc, char **argv, struct options *o)
{
	int c, err = 0;

	while (!err && (c = getopt_long(argc, argv, "s:c:p:t:S:P:bh",
					long_options, NULL)) != -1)
		err = parse_option(o, c);
	if (err || o->help)
		return err;
	if (argc - optind != 2)
		return -EINVAL;
	err = absolute(argv[optind], o->image);
	if (!err)
		err = absolute(argv[optind + 1], o->dir);
	if (err)
		return err;
	if (o->sock)
		return absolute(o->sock, o->sock_path);
	if (strlen(o->image) + sizeof(".sock") > sizeof(o->sock_path))
		return -ENAMETOOLONG;
	stpcpy(stpcpy(o->sock_path, o->image), ".sock");
	return 0;
}

static int complain(const char *what, const char *subject, int err)
{
	fprintf(stderr, "disksim: %s '%s': %s\n", what, subject,
		strerror(-err));
	return 1;
}

/* The child goes on and has to write a byte to *ret_fd when it serves; the
 * parent waits for that and ends with the child's success. */
static int go_background(int *ret_fd)
{
	int fds[2];
	char byte;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid) {
		close(fds[1]);
		_exit(read(fds[0], &byte, 1) == 1 ? 0 : 1);
	}
	close(fds[0]);
	setsid();
	*ret_fd = fds[1];
	return chdir("/") ? -errno : 0;
}

static int write_pid(const char *path)
{
	FILE *f = fopen(path, "we");

	if (!f)
		return -errno;
	fprintf(f, "%d\n", (int)getpid());
	return fclose(f) ? -errno : 0;
}

/* stderr stays the caller's until here, for messages */
static void announce(int ready_fd)
{
	int null;

	if (ready_fd < 0)
		return;
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null >= 0) {
		dup2(null, 0);
		dup2(null, 1);
		dup2(null, 2);
		close(null);
	}
	(void)!write(ready_fd, "", 1);
	close(ready_fd);
}

/*
 * We are below a filesystem of this host: memory that we ask for must not
 * wait for that filesystem's writeback, which waits for us. And buffers of
 * a megabyte come and go: keep them in the heap instead of faulting in fresh
 * pages for each.
 */
static void prepare_memory(void)
{
#ifdef PR_SET_IO_FLUSHER
	prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0);
#endif
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, 256 << 20);
	mallopt(M_ARENA_MAX, 1);
}

/* A disk doesn't compete with the host's programs for its processor. All
 * threads inherit it; where it isn't allowed the times are less exact. */
static void prepare_scheduling(void)
{
	const struct sched_param param = { .sched_priority = 1 };

	sched_setscheduler(0, SCHED_FIFO, &param);
}

static int serve(const struct options *o, struct rs_disk *disk, int ready_fd)
{
	struct rs_dmount mount = { 0 };
	struct rs_dctl ctl;
	int err, rc = 0;

	err = rs_dmount_init(&mount, disk, o->dir);
	if (err)
		return complain("cannot mount at", o->dir, err);
	err = rs_dctl_init(&ctl, disk, o->image, o->sock_path);
	if (err) {
		rc = complain("cannot listen at", o->sock_path, err);
		rs_dmount_release(&mount);
		return rc;
	}
	if (o->pidfile)
		err = write_pid(o->pidfile);
	if (err)
		rc = complain("cannot write", o->pidfile, err);
	if (!err) {
		announce(ready_fd);
		err = rs_dmount_serve(&mount);
	}
	if (err && !rc)
		rc = complain("cannot serve", o->dir, err);
	rs_dmount_release(&mount);
	rs_dctl_release(&ctl);
	if (o->pidfile)
		unlink(o->pidfile);
	return rc;
}

static int run(const struct options *o)
{
	struct rs_disk disk;
	int err, rc, ready_fd = -1;

	/* Threads begin in rs_disk_init, and a fork takes none along. */
	if (o->background) {
		err = go_background(&ready_fd);
		if (err)
			return complain("cannot go to", "background", err);
	}
	prepare_memory();
	prepare_scheduling();
	err = rs_disk_init(&disk, o->image, o->size, o->cache);
	if (err)
		return complain("cannot open image", o->image, err);
	disk.arm.times = o->times;
	rc = serve(o, &disk, ready_fd);
	err = rs_disk_release(&disk);
	if (err)
		rc = complain("cannot write back to", o->image, err);
	return rc;
}

int main(int argc, char **argv)
{
	struct options o = { .cache = CACHE_DEFAULT };
	int err;

	if (argc > 1 && strcmp(argv[1], "ctl") == 0)
		return rs_dctl_client(argc - 2, argv + 2);
	err = parse(argc, argv, &o);
	if (err) {
		fputs("disksim: wrong usage, see disksim --help\n", stderr);
		return 2;
	}
	if (o.help) {
		help();
		return 0;
	}
	return run(&o);
}
