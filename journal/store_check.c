/*
 * store_check.c - is data.mdb whole enough to let LMDB near it?
 *
 * LMDB 0.9.24 dies on damage: SIGBUS, SIGSEGV, assert, endless loops. So the
 * file's size, both meta pages, the pages of metadata and the list of free
 * pages are looked at with pread first, and then a child process opens it and
 * walks all metadata. A child that dies, makes no progress or ends with
 * another count or digest than the root record has means damage; the caller
 * is never in danger. Data isn't walked here: each file's chunks are proved
 * when they are read.
 *
 * The child gets nothing from us but the file's name and sends back one
 * struct report (same program, same machine) after a byte now and then.
 */
#include "journal/salvage_p.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "journal/store_guard.h"

/* a disk that retries a bad sector can take this long for one page */
#define STALL_MS 60000
#define TICK_RECORDS 1024u
#define MAX_FINDINGS 32u /* sent by the child; the rest is only counted */

struct result {
	int err;
	uint64_t bad;
	struct rs_root root, met;
	uint32_t n_findings;
	struct rs_finding findings[MAX_FINDINGS];
};

struct walk_arg {
	const char *dir;
	const struct rs_crypto *crypto;
	const uint8_t *id;
	int pipe; /* where to send a byte as a sign of life, or -1 */
	unsigned int ticks;
};

static int tick(void *p)
{
	struct walk_arg *arg = p;
	ssize_t n;

	if (++arg->ticks % TICK_RECORDS == 0 && arg->pipe >= 0) {
		n = write(arg->pipe, "", 1);
		if (n != 1)
			return -EPIPE;
	}
	return 0;
}

static int walk_txn(struct walk_arg *arg, struct rs_opener *opener,
		    struct rs_kv *kv, struct result *res, struct rs_report *rep)
{
	struct rs_walk *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->crypto = arg->crypto;
	w->opener = opener;
	w->rep = rep;
	w->tick = tick;
	w->tick_arg = arg;
	err = rs_kv_begin(kv, 0, &w->txn);
	if (err == 0) {
		err = rs_walk_root(opener, w->txn, &res->root);
		if (err == 0)
			err = rs_walk_meta(w);
		rs_kv_abort(w->txn);
	}
	res->met = w->met;
	res->bad = w->bad;
	free(w);
	return err;
}

/* Everything that may die of damage. */
static void walk(struct walk_arg *arg, struct result *res)
{
	struct rs_opener *opener = NULL;
	struct rs_kv *kv = NULL;
	struct rs_report rep;
	size_t n;
	int err;

	rs_report_init(&rep);
	err = rs_opener_new(arg->crypto, arg->id, &opener);
	if (err == 0)
		err = rs_kv_open(arg->dir, RS_KV_RDONLY, &kv);
	if (err == 0)
		err = walk_txn(arg, opener, kv, res, &rep);
	rs_kv_close(kv);
	rs_opener_free(opener);
	n = rep.n_findings < MAX_FINDINGS ? rep.n_findings : MAX_FINDINGS;
	if (n)
		memcpy(res->findings, rep.findings, n * sizeof(*rep.findings));
	res->n_findings = (uint32_t)n;
	res->err = err;
	rs_report_release(&rep);
}

static void send_all(int fd, const void *buf, size_t len)
{
	const uint8_t *p = buf;
	ssize_t n;

	while (len > 0) {
		n = write(fd, p, len);
		if (n <= 0)
			return;
		p += n;
		len -= (size_t)n;
	}
}

/* Die quietly: no core of a file that is known to be damaged, no message of
 * LMDB's assert or of a sanitizer on the tool's stderr. */
static void hush(void)
{
	static const int signals[] = { SIGSEGV, SIGBUS,	 SIGABRT, SIGILL,
				       SIGFPE,	SIGPIPE, SIGTERM, SIGALRM };
	const struct rlimit none = { 0, 0 };
	size_t i;
	int fd;

	for (i = 0; i < RS_ARRAY_LEN(signals); i++)
		signal(signals[i], SIG_DFL);
	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_DUMPABLE, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (fd >= 0)
		dup2(fd, STDERR_FILENO);
}

static void child(struct walk_arg *arg)
{
	struct result *res = calloc(1, sizeof(*res));

	hush();
	if (!res)
		_exit(1);
	walk(arg, res);
	send_all(arg->pipe, "\1", 1);
	send_all(arg->pipe, res, sizeof(*res));
	_exit(0);
}

/*
 * Read signs of life, then the result. 0; -ETIMEDOUT; -EUCLEAN: the child
 * went away before it was done.
 */
static int receive(int fd, struct result *res)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	uint8_t *p = (uint8_t *)res;
	size_t have = 0;
	int done = 0, rc;
	uint8_t sign;
	ssize_t n;

	while (have < sizeof(*res)) {
		rc = poll(&pfd, 1, STALL_MS);
		if (rc < 0 && errno == EINTR)
			continue;
		if (rc == 0)
			return -ETIMEDOUT;
		n = done ? read(fd, p + have, sizeof(*res) - have)
			 : read(fd, &sign, 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EUCLEAN;
		if (done)
			have += (size_t)n;
		else
			done = sign == 1;
	}
	return 0;
}

static const char *how_died(int status, int err)
{
	if (err == -ETIMEDOUT)
		return "reading it makes no progress";
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS)
		return "reading it ends in a bus error";
	return "reading it fails: its pages are damaged";
}

static int walk_in_child(struct walk_arg *arg, struct result *res,
			 const char **ret_why)
{
	int fds[2], status = 0, err;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid < 0) {
		err = -errno;
		close(fds[0]);
		close(fds[1]);
		return err;
	}
	if (pid == 0) {
		close(fds[0]);
		arg->pipe = fds[1];
		child(arg);
	}
	close(fds[1]);
	err = receive(fds[0], res);
	close(fds[0]);
	if (err < 0)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (err < 0) {
		*ret_why = how_died(status, err);
		return -EUCLEAN;
	}
	return 0;
}

/* Size and metas. */
static int check_file(const char *dir, const char **ret_why)
{
	RS_AUTO_FD int fd = -1;
	struct rs_meta meta;
	char path[PATH_MAX];
	struct stat st;
	int err;

	err = rs_store_path(dir, "data.mdb", path);
	if (err < 0)
		return err;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode)) {
		*ret_why = "it is not a regular file";
		return -EUCLEAN;
	}
	return rs_meta_newest(fd, (uint64_t)st.st_size, &meta, ret_why);
}

/* What the walk means; findings of the child go to rep. */
static int judge(const struct result *res, struct rs_report *rep,
		 const char **ret_why)
{
	uint32_t i;

	for (i = 0; i < res->n_findings && i < MAX_FINDINGS; i++) {
		const struct rs_finding *f = &res->findings[i];

		rs_report_add(rep, f->kind, f->ino, f->number, f->place, NULL,
			      0, "%.*s", (int)sizeof(f->why) - 1, f->why);
	}
	if (res->err == -ENOMEM || res->err == -EMFILE || res->err == -ENFILE)
		return res->err;
	if (res->err < 0) {
		*ret_why = res->err == -EUCLEAN
				   ? "the root record is missing or its pages "
				     "are damaged"
				   : "its pages can't be read";
		return -EUCLEAN;
	}
	if (res->bad) {
		*ret_why = "records do not prove themselves";
		return -EUCLEAN;
	}
	*ret_why = rs_walk_differs(&res->met, &res->root);
	return *ret_why ? -EUCLEAN : 0;
}

int rs_store_check(const char *dir, const struct rs_crypto *crypto,
		   const uint8_t id[RS_ID_LEN], int inline_walk,
		   struct rs_report *rep, struct rs_root *ret_root)
{
	struct walk_arg arg = {
		.dir = dir, .crypto = crypto, .id = id, .pipe = -1
	};
	RS_AUTO_FREE struct result *res = rs_store_alloc(sizeof(*res));
	const char *why = NULL;
	int err;

	if (!res)
		return -ENOMEM;
	err = check_file(dir, &why);
	if (err == 0)
		err = rs_pages_check(dir, 1, &why);
	if (err == 0 && inline_walk)
		walk(&arg, res);
	else if (err == 0)
		err = walk_in_child(&arg, res, &why);
	if (err == 0)
		err = judge(res, rep, &why);
	if (why) {
		rs_report_add(rep, RS_FIND_STORE, 0, 0, UINT64_MAX, NULL, 0,
			      "data.mdb: %s", why);
		return -EUCLEAN;
	}
	if (err == 0)
		*ret_root = res->root;
	return err;
}
