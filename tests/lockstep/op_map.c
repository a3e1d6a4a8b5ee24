/*
 * op_map.c - mmap, each a small scene of its own: map, load or store, sync,
 * unmap, read back with pread.
 */
#include "lockstep.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096

static sigjmp_buf on_fault;

static void fault(int sig)
{
	siglongjmp(on_fault, sig);
}

static bool pick_map(struct ls *ls, struct ls_call *c, const char *name)
{
	if (!ls_pick_slot(ls, c))
		return false;
	c->off[0] = ls_pick_offset(ls);
	c->len = 1 + ls_below(ls, 9000);
	c->pattern = ls_rand(ls);
	ls_say(c, "%s(slot %d, %zu bytes at %lld)", name, c->slot[0], c->len,
	       (long long)c->off[0]);
	return c->off[0] >= 0;
}

static bool pick_store(struct ls *ls, struct ls_call *c)
{
	c->how = ls_chance(ls, 80) ? MAP_SHARED : MAP_PRIVATE;
	c->flags = ls_chance(ls, 50) ? MS_SYNC : 0;
	return pick_map(ls, c,
			c->how == MAP_SHARED ? "mmap_store"
					     : "mmap_store private");
}

static bool pick_load(struct ls *ls, struct ls_call *c)
{
	return pick_map(ls, c, "mmap_load");
}

/* Clip to the file; false if nothing of it can be mapped. */
static bool clip(int fd, const struct ls_call *c, size_t *ret_len)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    c->off[0] >= st.st_size)
		return false;
	*ret_len = c->len;
	if ((int64_t)c->len > st.st_size - c->off[0])
		*ret_len = (size_t)(st.st_size - c->off[0]);
	return true;
}

static long copy_guarded(uint8_t *to, const uint8_t *from, size_t len)
{
	struct sigaction act = { .sa_handler = fault }, old;
	long ret = 0;

	sigaction(SIGBUS, &act, &old);
	if (sigsetjmp(on_fault, 1) == 0)
		memcpy(to, from, len);
	else
		ret = -1;
	sigaction(SIGBUS, &old, NULL);
	if (ret < 0)
		errno = EFAULT;
	return ret;
}

static long run_store(struct ls *ls, struct ls_call *c, int side,
		      struct ls_result *r)
{
	int fd = ls_fd(ls, c, 0, side), err;
	size_t len, skip = (size_t)(c->off[0] % PAGE);
	uint8_t *map;
	long ret;

	if (!clip(fd, c, &len))
		return 0;
	map = mmap(NULL, len + skip, PROT_READ | PROT_WRITE, c->how, fd,
		   c->off[0] - (int64_t)skip);
	if (map == MAP_FAILED)
		return -1;
	ls_fill(c->pattern, r->out, len);
	ret = copy_guarded(map + skip, r->out, len);
	err = errno;
	if (c->flags && msync(map, len + skip, MS_SYNC) < 0)
		ret = -1, err = errno;
	munmap(map, len + skip);
	/* readers by the descriptor must see it (or not, if private) */
	if (ret == 0) {
		ret = pread(fd, r->out, len, c->off[0]);
		err = errno;
		r->len = ret > 0 ? (size_t)ret : 0;
	}
	errno = err;
	return ret;
}

static long run_load(struct ls *ls, struct ls_call *c, int side,
		     struct ls_result *r)
{
	int fd = ls_fd(ls, c, 0, side), err;
	size_t len, skip = (size_t)(c->off[0] % PAGE);
	uint8_t *map;
	long ret;

	if (!clip(fd, c, &len))
		return 0;
	map = mmap(NULL, len + skip, PROT_READ, MAP_SHARED, fd,
		   c->off[0] - (int64_t)skip);
	if (map == MAP_FAILED)
		return -1;
	ret = copy_guarded(r->out, map + skip, len);
	err = errno;
	munmap(map, len + skip);
	r->len = ret == 0 ? len : 0;
	errno = err;
	return ret;
}

const struct ls_op ls_ops_map[] = {
	{ "mmap_store", 25, pick_store, run_store, false, true, false },
	{ "mmap_load", 12, pick_load, run_load, false, true, false },
	{ 0 },
};
