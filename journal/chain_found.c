/*
 * chain_found.c - the whole headers of a ring, kept as far as they count
 * (FORMAT.md R2, R3): authentic ones, and others whose salt is that of an
 * authentic one. Whatever is older than the applied frame is passed over at
 * once, so a long ring costs memory only for what isn't folded.
 */
#include <errno.h>

#include "journal/chain_p.h"

struct collect {
	struct rs_found *found;
	uint64_t applied;
};

static int knows_salt(const struct rs_found *found, const uint8_t *salt)
{
	size_t i;

	/* The last ones are the likely ones. */
	for (i = found->n_salts; i > 0; i--)
		if (memcmp(found->salt[i - 1], salt, RS_SALT_LEN) == 0)
			return 1;
	return 0;
}

static int keep_salt(struct rs_found *found, const uint8_t *salt)
{
	uint8_t(*more)[RS_SALT_LEN];

	if (knows_salt(found, salt))
		return 0;
	more = realloc(found->salt, (found->n_salts + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	found->salt = more;
	memcpy(more[found->n_salts++], salt, RS_SALT_LEN);
	return 0;
}

static int keep_ref(struct rs_found *found, const struct rs_frame_ref *ref)
{
	struct rs_frame_ref *more;
	size_t cap;

	if (found->n == found->cap) {
		cap = found->cap ? 2 * found->cap : 64;
		more = realloc(found->ref, cap * sizeof(*more));
		if (!more)
			return -ENOMEM;
		found->ref = more;
		found->cap = cap;
	}
	found->ref[found->n++] = *ref;
	return 0;
}

static int on_header(void *arg, const struct rs_frame_ref *ref)
{
	const struct collect *c = arg;
	struct rs_found *found = c->found;
	int err;

	if (!ref->damaged) {
		err = keep_salt(found, ref->salt);
		if (err < 0)
			return err;
		if (ref->number > found->highest)
			found->highest = ref->number;
	}
	return ref->number < c->applied ? 0 : keep_ref(found, ref);
}

/* By number; of equal ones the authentic first. */
static int by_number(const void *a, const void *b)
{
	const struct rs_frame_ref *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return (x->damaged != 0) - (y->damaged != 0);
}

int rs_found_collect(struct rs_ring *ring, uint64_t applied,
		     struct rs_found *ret_found)
{
	struct collect c = { .found = ret_found, .applied = applied };
	struct rs_found *found = ret_found;
	size_t i, n = 0;
	int err;

	memset(found, 0, sizeof(*found));
	err = rs_ring_scan(ring, 1, on_header, &c, &found->bad);
	if (err < 0) {
		rs_found_release(found);
		return err;
	}
	for (i = 0; i < found->n; i++) {
		if (!found->ref[i].damaged ||
		    knows_salt(found, found->ref[i].salt))
			found->ref[n++] = found->ref[i];
	}
	found->n = n;
	if (n)
		qsort(found->ref, n, sizeof(*found->ref), by_number);
	return 0;
}

void rs_found_release(struct rs_found *found)
{
	free(found->ref);
	free(found->salt);
	memset(found, 0, sizeof(*found));
}

/* Index of the first with at least this number. */
static size_t lower_bound(const struct rs_found *found, uint64_t number)
{
	size_t lo = 0, hi = found->n, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (found->ref[mid].number < number)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static int is_frame(const struct rs_frame_ref *ref)
{
	return !(ref->flags & RS_FF_SEAL);
}

const struct rs_frame_ref *rs_found_frame(const struct rs_found *found,
					  uint64_t number, const uint8_t *tag)
{
	const struct rs_frame_ref *ref;
	size_t i;

	for (i = lower_bound(found, number);
	     i < found->n && found->ref[i].number == number; i++) {
		ref = &found->ref[i];
		if (is_frame(ref) && !ref->damaged &&
		    (!tag || memcmp(ref->tag, tag, RS_TAG_LEN) == 0))
			return ref;
	}
	return NULL;
}

const struct rs_frame_ref *rs_found_damaged(const struct rs_found *found,
					    uint64_t number)
{
	size_t i;

	for (i = lower_bound(found, number);
	     i < found->n && found->ref[i].number == number; i++)
		if (is_frame(&found->ref[i]) && found->ref[i].damaged)
			return &found->ref[i];
	return NULL;
}

const struct rs_frame_ref *rs_found_below(const struct rs_found *found,
					  uint64_t number)
{
	size_t i;

	for (i = lower_bound(found, number); i > 0; i--)
		if (is_frame(&found->ref[i - 1]) && !found->ref[i - 1].damaged)
			return &found->ref[i - 1];
	return NULL;
}
