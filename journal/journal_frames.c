/*
 * journal_frames.c - the frames that aren't folded yet, oldest first.
 *
 * A circle of fixed size: a frame has at least one page, so the ring can't
 * hold more than size / page of them and a commit never needs memory. What
 * isn't touched of it is never backed by RAM.
 */
#include <assert.h>
#include <errno.h>

#include "journal/journal_p.h"

int rs_frames_init(struct rs_frames *f, uint64_t ring_size)
{
	f->cap = (size_t)(ring_size / RS_PAGE);
	f->first = 0;
	f->n = 0;
	f->ref = calloc(f->cap, sizeof(*f->ref));
	return f->ref ? 0 : -ENOMEM;
}

void rs_frames_release(struct rs_frames *f)
{
	size_t i;

	for (i = 0; i < f->n; i++)
		free(rs_frames_at(f, i)->body);
	free(f->ref);
	f->ref = NULL;
	f->n = 0;
}

struct rs_frame_ref *rs_frames_at(const struct rs_frames *f, size_t i)
{
	assert(i < f->n);
	return &f->ref[(f->first + i) % f->cap];
}

void rs_frames_push(struct rs_frames *f, const struct rs_frame_ref *ref)
{
	assert(f->n < f->cap);
	f->ref[(f->first + f->n) % f->cap] = *ref;
	f->n++;
}

struct rs_frame_ref *rs_frames_run(const struct rs_frames *f, size_t *ret_n)
{
	size_t n = f->cap - f->first;

	*ret_n = n < f->n ? n : f->n;
	return &f->ref[f->first];
}

void rs_frames_pop(struct rs_frames *f, size_t n)
{
	assert(n <= f->n);
	f->n -= n;
	/* An empty circle starts over, so that few of its pages are used. */
	f->first = f->n ? (f->first + n) % f->cap : 0;
}
