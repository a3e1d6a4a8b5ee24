/*
 * ledger_rec.c - records: append, load, print; content from keys.
 */
#include "ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const led_dirs[LED_DIRS] = {
	"incoming", "active", "deferred", "mqueue",
	"input",    "tmp",    "new",	  "work",
};

static const char *const op_names[LED_OPS] = {
	"create", "mkdir",  "symlink", "write",	 "truncate",
	"chmod",  "chown",  "utimes",  "rename", "exchange",
	"link",	  "unlink", "rmdir",   "fsync",	 "fsyncdir",
};

static _Noreturn void die(const char *what, const char *path)
{
	fprintf(stderr, "ledger: %s '%s': %s\n", what, path, strerror(errno));
	exit(2);
}

int led_open(const char *path)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		die("cannot open ledger", path);
	return fd;
}

void led_append(int fd, const struct led_rec *rec)
{
	struct led_rec out = *rec;

	out.magic = LED_MAGIC;
	/* The inode's lock makes appends of several processes whole. */
	if (write(fd, &out, sizeof(out)) != (ssize_t)sizeof(out))
		die("cannot append to", "the ledger");
}

struct led_rec *led_load(const char *path, size_t *ret_count)
{
	FILE *file = fopen(path, "re");
	struct led_rec *recs;
	struct stat st;
	size_t count, i;

	if (!file || fstat(fileno(file), &st))
		die("cannot read ledger", path);
	count = (size_t)st.st_size / sizeof(*recs);
	recs = malloc((count + 1) * sizeof(*recs));
	if (!recs || fread(recs, sizeof(*recs), count, file) != count)
		die("cannot read ledger", path);
	fclose(file);
	for (i = 0; i < count; i++) {
		errno = EUCLEAN;
		if (recs[i].magic != LED_MAGIC)
			die("not a ledger:", path);
	}
	*ret_count = count;
	return recs;
}

size_t led_last_phase(const struct led_rec *recs, size_t count)
{
	while (count--)
		if (recs[count].kind == LED_PHASE)
			return count;
	errno = ENODATA;
	die("no phase in", "the ledger");
}

static int64_t ns_of(const struct timespec *ts)
{
	return (int64_t)ts->tv_sec * 1000000000 + ts->tv_nsec;
}

void led_stat_from(const struct stat *st, struct led_stat *ret)
{
	ret->ino = st->st_ino;
	ret->size = (uint64_t)st->st_size;
	ret->mtime = ns_of(&st->st_mtim);
	ret->ctime = ns_of(&st->st_ctim);
	ret->mode = st->st_mode;
	ret->uid = st->st_uid;
	ret->gid = st->st_gid;
	ret->nlink = (uint32_t)st->st_nlink;
}

const char *led_op_name(unsigned int op)
{
	return op < LED_OPS ? op_names[op] : "?";
}

void led_print(uint64_t fact, const struct led_rec *rec)
{
	static const char *const kinds[] = { "?",      "phase", "adopt",
					     "intent", "done",	"note" };

	printf("%8llu %-6s", (unsigned long long)fact,
	       kinds[rec->kind <= LED_NOTE ? rec->kind : 0]);
	if (rec->kind == LED_PHASE || rec->kind == LED_NOTE) {
		printf(" %u seed %llu\n", rec->op,
		       (unsigned long long)rec->key);
		return;
	}
	if (rec->kind != LED_ADOPT)
		printf(" w%u.%u %s", rec->writer, rec->n, led_op_name(rec->op));
	printf(" obj %x", rec->obj);
	if (*rec->name)
		printf(" %x/%s", rec->dir, rec->name);
	if (*rec->name2)
		printf(" to %x/%s", rec->dir2, rec->name2);
	if (rec->obj2)
		printf(" obj2 %x", rec->obj2);
	if (rec->op == LED_WRITE || rec->op == LED_TRUNC)
		printf(" off %llu len %llu", (unsigned long long)rec->off,
		       (unsigned long long)rec->len);
	if (rec->flags)
		printf(" flags %x", rec->flags);
	if (rec->kind == LED_DONE && rec->err)
		printf(" = %s", strerror(-rec->err));
	if (rec->known)
		printf(" ino %llu mode %o size %llu nlink %u mtime %lld",
		       (unsigned long long)rec->st.ino, rec->st.mode,
		       (unsigned long long)rec->st.size, rec->st.nlink,
		       (long long)rec->st.mtime);
	printf("\n");
}

static uint64_t scramble(uint64_t z)
{
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

uint64_t led_rand(uint64_t *state)
{
	*state += UINT64_C(0x9e3779b97f4a7c15);
	return scramble(*state);
}

void led_fill(uint64_t key, uint64_t off, void *buf, size_t len)
{
	unsigned char *p = buf;

	while (len) {
		size_t from = off % 8, n = 8 - from < len ? 8 - from : len;
		uint64_t word = scramble(key + off / 8);

		memcpy(p, (unsigned char *)&word + from, n);
		p += n;
		off += n;
		len -= n;
	}
}

uint64_t led_hash(uint64_t hash, const void *buf, size_t len)
{
	const unsigned char *p = buf;

	while (len--)
		hash = (hash ^ *p++) * UINT64_C(0x100000001b3);
	return hash;
}

void led_target(uint32_t obj, char ret[LED_NAME_MAX + 1])
{
	snprintf(ret, LED_NAME_MAX + 1, "../target/of-%08x", obj);
}
