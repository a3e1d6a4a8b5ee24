/* tape.c - see tape.h. */
#define _GNU_SOURCE
/* Both names of each call are defined here: 64-bit libraries use either. */
#undef _FILE_OFFSET_BITS
#include "tape.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static const char *const names[TAPE_FILES] = { "intent.log", "data.mdb" };

static struct tape *current; /* the tape that records, or NULL */
int tape_allocates;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

uint64_t rng_next(struct rng *rng)
{
	uint64_t z = (rng->state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

uint64_t rng_below(struct rng *rng, uint64_t n)
{
	return rng_next(rng) % n;
}

static struct tape_event *add(struct tape *tape)
{
	struct tape_event *ev;

	if (tape->n == tape->cap) {
		tape->cap = tape->cap ? 2 * tape->cap : 256;
		tape->events = realloc(tape->events,
				       tape->cap * sizeof(*tape->events));
		assert(tape->events);
	}
	ev = &tape->events[tape->n++];
	memset(ev, 0, sizeof(*ev));
	return ev;
}

/* Which file of the tape is fd? TAPE_FILES if none. Lock held. */
static enum tape_file which(int fd)
{
	struct stat st;
	unsigned int i;

	if (!current || fstat(fd, &st))
		return TAPE_FILES;
	for (i = 0; i < TAPE_FILES; i++)
		if (st.st_ino == current->ino[i] &&
		    st.st_dev == current->dev[i])
			return (enum tape_file)i;
	return TAPE_FILES;
}

static void record_write(int fd, const void *buf, size_t len, off_t off)
{
	struct tape_event *ev;
	enum tape_file file;

	pthread_mutex_lock(&lock);
	file = which(fd);
	if (file != TAPE_FILES) {
		tape_allocates = 1;
		ev = add(current);
		ev->type = TAPE_WRITE;
		ev->file = file;
		ev->off = (uint64_t)off;
		ev->len = len;
		ev->data = malloc(len ? len : 1);
		assert(ev->data);
		memcpy(ev->data, buf, len);
		if (fcntl(fd, F_GETFL) & O_DSYNC) {
			ev = add(current);
			ev->type = TAPE_FLUSH_ONE;
			ev->file = file;
		}
		tape_allocates = 0;
	}
	pthread_mutex_unlock(&lock);
}

static void record_flush(int fd)
{
	struct tape_event *ev;
	enum tape_file file;

	pthread_mutex_lock(&lock);
	file = which(fd);
	if (file != TAPE_FILES) {
		tape_allocates = 1;
		ev = add(current);
		ev->type = TAPE_FLUSH;
		ev->file = file;
		tape_allocates = 0;
	}
	pthread_mutex_unlock(&lock);
}

/* ---- faults ---- */

static struct tape_fault *plan;

void tape_fault(struct tape_fault *fault)
{
	pthread_mutex_lock(&lock);
	plan = fault && (fault->err || fault->short_len) ? fault : NULL;
	pthread_mutex_unlock(&lock);
}

/* Is this call the one? Returns 1 and sets errno, or shortens *len. */
static int strikes(int fd, int flush, size_t *len)
{
	int ret = 0;

	pthread_mutex_lock(&lock);
	if (plan && plan->flush == flush && which(fd) == plan->file &&
	    (plan->nth == 0 ? plan->forever : --plan->nth == 0)) {
		plan->hit = 1;
		if (plan->short_len && len) {
			if (*len > plan->short_len)
				*len = plan->short_len;
		} else {
			errno = plan->err;
			ret = 1;
		}
	}
	pthread_mutex_unlock(&lock);
	return ret;
}

/* The interposed calls; LMDB and the seam reach these by name. */
ssize_t pwrite(int fd, const void *buf, size_t len, off_t off)
{
	ssize_t n;

	if (strikes(fd, 0, &len))
		return -1;
	n = syscall(SYS_pwrite64, fd, buf, len, off);
	if (n > 0)
		record_write(fd, buf, (size_t)n, off);
	return n;
}

ssize_t pwrite64(int fd, const void *buf, size_t len, off64_t off)
	__attribute__((alias("pwrite")));

ssize_t pwritev(int fd, const struct iovec *iov, int n_iov, off_t off)
{
	ssize_t done = 0;
	int i;

	for (i = 0; i < n_iov; i++) {
		ssize_t n = pwrite(fd, iov[i].iov_base, iov[i].iov_len, off);

		if (n < 0)
			return done ? done : n;
		done += n;
		off += n;
		if ((size_t)n < iov[i].iov_len)
			break;
	}
	return done;
}

ssize_t pwritev64(int fd, const struct iovec *iov, int n_iov, off64_t off)
	__attribute__((alias("pwritev")));

ssize_t write(int fd, const void *buf, size_t len)
{
	off_t off = lseek(fd, 0, SEEK_CUR);
	ssize_t n;

	if (strikes(fd, 0, &len))
		return -1;
	n = syscall(SYS_write, fd, buf, len);

	if (n > 0 && off >= 0)
		record_write(fd, buf, (size_t)n, off);
	return n;
}

/* LMDB's way with several pages: lseek, then this. */
ssize_t writev(int fd, const struct iovec *iov, int n_iov)
{
	ssize_t done = 0;
	int i;

	for (i = 0; i < n_iov; i++) {
		ssize_t n = write(fd, iov[i].iov_base, iov[i].iov_len);

		if (n < 0)
			return done ? done : n;
		done += n;
		if ((size_t)n < iov[i].iov_len)
			break;
	}
	return done;
}

int fdatasync(int fd)
{
	if (strikes(fd, 1, NULL))
		return -1;
	record_flush(fd); /* tmpfs: nothing to do for real */
	return 0;
}

int fsync(int fd)
{
	if (strikes(fd, 1, NULL))
		return -1;
	record_flush(fd);
	return 0;
}

static void read_base(struct tape *tape, unsigned int i, const char *dir)
{
	char path[4096];
	struct stat st;
	size_t len;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
	f = fopen(path, "rb");
	assert(f && !fstat(fileno(f), &st));
	tape->dev[i] = st.st_dev;
	tape->ino[i] = st.st_ino;
	tape->file_len[i] = (uint64_t)st.st_size;
	tape->base[i] = malloc((size_t)st.st_size + 1);
	assert(tape->base[i]);
	len = fread(tape->base[i], 1, (size_t)st.st_size, f);
	assert(len == (size_t)st.st_size);
	fclose(f);
	while (len && !tape->base[i][len - 1])
		len--;
	tape->base_len[i] = len;
}

void tape_start(struct tape *tape, const char *dir)
{
	unsigned int i;

	memset(tape, 0, sizeof(*tape));
	for (i = 0; i < TAPE_FILES; i++)
		read_base(tape, i, dir);
	pthread_mutex_lock(&lock);
	assert(!current);
	current = tape;
	pthread_mutex_unlock(&lock);
}

void tape_rebind(struct tape *tape)
{
	pthread_mutex_lock(&lock);
	current = tape;
	pthread_mutex_unlock(&lock);
}

void tape_stop(struct tape *tape)
{
	pthread_mutex_lock(&lock);
	assert(current == tape);
	current = NULL;
	pthread_mutex_unlock(&lock);
}

void tape_release(struct tape *tape)
{
	size_t i;

	for (i = 0; i < tape->n; i++)
		free(tape->events[i].data);
	for (i = 0; i < TAPE_FILES; i++)
		free(tape->base[i]);
	free(tape->events);
	memset(tape, 0, sizeof(*tape));
}

void tape_note(struct tape *tape, enum tape_type type, uint64_t arg)
{
	struct tape_event *ev;

	pthread_mutex_lock(&lock);
	tape_allocates = 1;
	ev = add(tape);
	tape_allocates = 0;
	ev->type = type;
	ev->arg = arg;
	pthread_mutex_unlock(&lock);
}

/* Was the write at index i certainly on the disk when the power went? */
static int is_durable(const struct tape *tape, size_t i, size_t cut)
{
	const struct tape_event *ev = &tape->events[i];
	size_t k;

	if (i + 1 < cut && tape->events[i + 1].type == TAPE_FLUSH_ONE &&
	    tape->events[i + 1].file == ev->file)
		return 1;
	for (k = i + 1; k < cut; k++)
		if (tape->events[k].type == TAPE_FLUSH &&
		    tape->events[k].file == ev->file)
			return 1;
	return 0;
}

static void put(int fd, const uint8_t *data, size_t len, uint64_t off)
{
	while (len) {
		ssize_t n = syscall(SYS_pwrite64, fd, data, len, off);

		assert(n > 0);
		data += n;
		len -= (size_t)n;
		off += (uint64_t)n;
	}
}

/* Some sectors of an unflushed write arrive, each for itself. */
static void put_some(int fd, const struct tape_event *ev, unsigned int variant,
		     unsigned int keep, struct rng *rng)
{
	size_t done = 0;

	while (done < ev->len) {
		uint64_t off = ev->off + done;
		size_t len = TAPE_SECTOR - (size_t)(off % TAPE_SECTOR);

		if (len > ev->len - done)
			len = ev->len - done;
		if (variant == 1 || (variant > 1 && rng_below(rng, 100) < keep))
			put(fd, ev->data + done, len, off);
		done += len;
	}
}

static void build_file(const struct tape *tape, unsigned int i, size_t cut,
		       unsigned int variant, struct rng *rng, const char *dir)
{
	static const unsigned int keeps[] = { 50, 90, 10, 97 };
	unsigned int keep = keeps[rng_below(rng, 4)];
	char path[4096];
	size_t k;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert(fd >= 0);
	assert(!ftruncate(fd, (off_t)tape->file_len[i]));
	put(fd, tape->base[i], tape->base_len[i], 0);
	for (k = 0; k < cut; k++) {
		const struct tape_event *ev = &tape->events[k];

		if (ev->type != TAPE_WRITE || ev->file != i)
			continue;
		if (is_durable(tape, k, cut))
			put(fd, ev->data, ev->len, ev->off);
		else
			put_some(fd, ev, variant, keep, rng);
	}
	close(fd);
}

void tape_build(const struct tape *tape, size_t cut, unsigned int variant,
		struct rng *rng, const char *dir)
{
	unsigned int i;

	for (i = 0; i < TAPE_FILES; i++)
		build_file(tape, i, cut, variant, rng, dir);
}

void tape_print(const struct tape *tape, size_t cut)
{
	static const char *const types[] = { "write", "flush", "flush-one",
					     "op", "ack" };
	size_t i;

	for (i = 0; i < tape->n; i++) {
		const struct tape_event *ev = &tape->events[i];

		if (i == cut)
			printf("---- power cut ----\n");
		if (ev->type >= TAPE_OP)
			printf("%4zu %s %llu\n", i, types[ev->type],
			       (unsigned long long)ev->arg);
		else
			printf("%4zu %s %s off %llu len %zu\n", i,
			       types[ev->type], names[ev->file],
			       (unsigned long long)ev->off, ev->len);
	}
}
