/*
 * ring_scan.c - the whole ring, read once from 0 to its end.
 *
 * MODEL
 *	A window of the ring moves forward; each page that begins a whole
 *	header is judged with its frame inside the window.
 *
 *	       base     place                base + have
 *	ring ---|=========#####################|--------------
 *	                  frame
 *
 * INVARIANTS
 * I1	Every byte is read at most once and no more than WINDOW is held.
 * I2	A frame is authenticated on a copy: decrypting one that isn't whole
 *	would spoil the pages after it, which may begin others.
 */
#include <errno.h>

#include "journal/ring_p.h"

/* at least RS_FRAME_MAX; twice that keeps reads large */
#define WINDOW (2 * RS_FRAME_MAX)

struct window {
	struct rs_ring *ring;
	uint8_t *buf, *copy;
	uint64_t base, have, room;
	uint64_t bad;
};

/* Make [place, place + len) stand in the window; the data's address. */
static int window_get(struct window *w, uint64_t place, uint64_t len,
		      uint8_t **ret_data)
{
	uint64_t keep, more;
	int n;

	if (place + len > w->base + w->have) {
		keep = w->base + w->have - place;
		memmove(w->buf, w->buf + (place - w->base), (size_t)keep);
		w->base = place;
		w->have = keep;
		more = w->room - keep;
		if (more > w->ring->size - place - keep)
			more = w->ring->size - place - keep;
		n = rs_ring_read(w->ring, place + keep, more, w->buf + keep);
		if (n < 0)
			return n;
		w->bad += (uint64_t)n;
		w->have += more;
	}
	*ret_data = w->buf + (place - w->base);
	return 0;
}

/* Judge the page at place; *ret_step: bytes to go on. -ENOENT: no header. */
static int judge(struct window *w, uint64_t place, int check,
		 struct rs_frame_ref *ret_ref, uint64_t *ret_step)
{
	uint8_t *data;
	int err;

	*ret_step = RS_PAGE;
	err = window_get(w, place, RS_PAGE, &data);
	if (err == 0)
		err = rs_ring_judge(w->ring, place, data, 0, ret_ref);
	if (err < 0 || !check)
		return err;
	err = window_get(w, place, ret_ref->size, &data);
	if (err < 0)
		return err;
	memcpy(w->copy, data, (size_t)ret_ref->size);
	err = rs_ring_judge(w->ring, place, w->copy, 1, ret_ref);
	if (err == 0 && !ret_ref->damaged)
		*ret_step = ret_ref->size;
	return err;
}

int rs_ring_scan(struct rs_ring *ring, int check,
		 int (*fn)(void *arg, const struct rs_frame_ref *ref),
		 void *arg, uint64_t *ret_bad)
{
	RS_AUTO_FREE uint8_t *buf = NULL;
	RS_AUTO_FREE uint8_t *copy = NULL;
	struct window w = { .ring = ring };
	struct rs_frame_ref ref;
	uint64_t place, step;
	int err;

	w.room = ring->size < WINDOW ? ring->size : WINDOW;
	w.buf = buf = rs_ring_buffer(w.room);
	w.copy = copy = rs_ring_buffer(RS_FRAME_MAX);
	if (!buf || !copy)
		return -ENOMEM;
	for (place = 0; place < ring->size; place += step) {
		err = judge(&w, place, check, &ref, &step);
		if (err == -ENOENT)
			continue;
		if (err == 0)
			err = fn(arg, &ref);
		if (err != 0)
			return err;
	}
	*ret_bad = w.bad;
	return 0;
}
