/*
 * chain.c - which frames of the ring follow the applied one: R1 to R8 of
 * FORMAT.md, "Log end and seals".
 *
 * MODEL
 *	                                     M: highest number that counts
 *	 applied <-- a <-- b <-- (c) <-- d   frame, seal, or unfinished
 *	 (root)                  gap     E   the log's last frame
 *
 *	E goes back by prev to the applied frame. What is named and isn't
 *	there whole is a gap: it had been acknowledged. Behind a gap a damaged
 *	header still says what came before; without one the authentic frames
 *	of lower numbers go on.
 *
 * NOT HERE  folding and comparing records behind a gap (fold.c).
 */
#include <errno.h>

#include "journal/chain_p.h"

struct search {
	struct rs_ring *ring;
	const struct rs_root *root;
	struct rs_report *rep;
	struct rs_chain *chain;
	struct rs_found found;
	/* the log's end: number and tag that the frame must have */
	uint64_t end;
	uint8_t end_tag[RS_TAG_LEN];
	uint64_t end_place; /* where writing goes on if E isn't found */
	size_t gap;	    /* refs (from the end) before the lowest gap */
	int has_gap;
};

static int other_ring(struct search *s, const char *why)
{
	rs_report_add(s->rep, RS_FIND_RING, 0, s->found.highest, UINT64_MAX,
		      NULL, 0,
		      "%s: another ring or an old copy (the store is at %llu)",
		      why, (unsigned long long)s->root->applied);
	return -EUCLEAN;
}

static void set_head(struct search *s, uint64_t place, uint64_t number)
{
	struct rs_ring_head *head = &s->chain->head;

	head->place = place;
	head->number = number > s->root->applied ? number : s->root->applied;
	head->prev = s->root->applied;
	memcpy(head->prev_tag, s->root->applied_tag, RS_TAG_LEN);
	s->rep->highest_number = head->number;
}

static int chains_to_root(const struct search *s,
			  const struct rs_frame_ref *ref)
{
	return ref->prev == s->root->applied &&
	       memcmp(ref->prev_tag, s->root->applied_tag, RS_TAG_LEN) == 0;
}

/* R1. 1: the log is empty after the applied frame, by an orderly end. */
static int ends_clean(struct search *s)
{
	uint64_t place = s->root->next_place;
	struct rs_frame_ref ref;
	int err;

	if (place + RS_PAGE > rs_ring_size(s->ring))
		place = 0;
	err = rs_ring_look(s->ring, place, &ref);
	if (err == -ENOENT || err == -EIO)
		return 0;
	if (err < 0)
		return err;
	if (ref.damaged || !(ref.flags & RS_FF_CLEAN) ||
	    !chains_to_root(s, &ref))
		return 0;
	set_head(s, place, ref.number);
	s->chain->clean = 1;
	s->rep->was_clean = 1;
	return 1;
}

/* R4: M, and what it says of the end. */
static int find_end(struct search *s)
{
	const struct rs_frame_ref *m;

	s->end = s->root->applied;
	memcpy(s->end_tag, s->root->applied_tag, RS_TAG_LEN);
	s->end_place = s->root->next_place;
	if (s->found.n == 0) {
		/* A first frame that was torn leaves nothing that counts. */
		return s->root->applied == 0
			       ? 0
			       : other_ring(s, "intent.log has no frame that "
					       "follows");
	}
	m = &s->found.ref[s->found.n - 1];
	if (m->number > s->found.highest)
		s->found.highest = m->number;
	if (m->number <= s->root->applied)
		return 0;
	if (!(m->flags & RS_FF_SEAL) && !m->damaged) {
		s->end = m->number;
		memcpy(s->end_tag, m->tag, RS_TAG_LEN);
		return 0;
	}
	if (!(m->flags & RS_FF_SEAL)) {
		s->rep->unfinished = 1;
		s->rep->unfinished_number = m->number;
		s->rep->unfinished_place = m->place;
	}
	if (m->prev < s->root->applied)
		return other_ring(s, "intent.log ends before");
	s->end = m->prev;
	memcpy(s->end_tag, m->prev_tag, RS_TAG_LEN);
	if (m->prev > s->root->applied)
		s->end_place = m->place;
	if (!m->damaged && (m->flags & RS_FF_CLEAN) && chains_to_root(s, m)) {
		s->chain->clean = 1;
		s->rep->was_clean = 1;
	}
	return 0;
}

/* A frame that was acknowledged isn't there; damaged: what is left of it. */
static void lost(struct search *s, uint64_t number,
		 const struct rs_frame_ref *damaged)
{
	const char *why = "it is not in intent.log";

	if (damaged)
		why = damaged->damaged == -EIO
			      ? "parts of it can't be read"
			      : "its bytes are not what was written";
	rs_report_add(s->rep, RS_FIND_FRAME, 0, number,
		      damaged ? damaged->place : UINT64_MAX, NULL, 0, "%s",
		      why);
	s->has_gap = 1;
	s->gap = s->chain->n;
}

static int take(struct search *s, const struct rs_frame_ref *ref)
{
	struct rs_chain *chain = s->chain;
	struct rs_frame_ref *more;

	if ((chain->n & (chain->n - 1)) == 0) {
		more = realloc(chain->refs,
			       (chain->n ? 2 * chain->n : 1) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		chain->refs = more;
	}
	chain->refs[chain->n++] = *ref;
	return 0;
}

/*
 * R5, R6: from the end back to the applied frame; refs come last one first.
 * Numbers fall with every step, whatever the headers say.
 */
static int walk_back(struct search *s)
{
	uint64_t number = s->end;
	const uint8_t *tag = s->end_tag;
	const struct rs_frame_ref *ref;
	int err;

	while (number > s->root->applied) {
		ref = rs_found_frame(&s->found, number, tag);
		if (!ref) {
			ref = rs_found_damaged(&s->found, number);
			lost(s, number, ref);
		}
		if (!ref) {
			ref = rs_found_below(&s->found, number);
			if (!ref || ref->number <= s->root->applied)
				return 0;
		}
		if (!ref->damaged) {
			err = take(s, ref);
			if (err < 0)
				return err;
		}
		if (ref->prev >= ref->number || ref->prev < s->root->applied)
			return other_ring(s, "intent.log does not join on");
		number = ref->prev;
		tag = ref->prev_tag;
	}
	if (memcmp(tag, s->root->applied_tag, RS_TAG_LEN) != 0)
		return other_ring(s, "the applied frame has another tag");
	return 0;
}

static void turn_round(struct rs_chain *chain)
{
	struct rs_frame_ref swap;
	size_t i;

	for (i = 0; i < chain->n / 2; i++) {
		swap = chain->refs[i];
		chain->refs[i] = chain->refs[chain->n - 1 - i];
		chain->refs[chain->n - 1 - i] = swap;
	}
}

/* A frame of which nothing is left stood behind the one before it. */
static void guess_places(struct search *s)
{
	const struct rs_chain *chain = s->chain;
	struct rs_finding *f;
	uint64_t place;
	size_t i, k;

	for (i = 0; i < s->rep->n_findings; i++) {
		f = &s->rep->findings[i];
		if (f->kind != RS_FIND_FRAME || f->place != UINT64_MAX)
			continue;
		place = s->root->next_place;
		for (k = 0; k < chain->n && chain->refs[k].number < f->number;
		     k++)
			place = chain->refs[k].place + chain->refs[k].size;
		f->place = place < rs_ring_size(s->ring) ? place : 0;
	}
}

/* R8. */
static void go_on(struct search *s)
{
	struct rs_chain *chain = s->chain;
	const struct rs_frame_ref *last, *end;

	end = rs_found_frame(&s->found, s->end, s->end_tag);
	if (!end)
		end = rs_found_damaged(&s->found, s->end);
	if (end && s->end > s->root->applied)
		s->end_place = end->place + end->size;
	set_head(s, s->end_place, s->found.highest);
	if (chain->n) {
		last = &chain->refs[chain->n - 1];
		chain->head.prev = last->number;
		memcpy(chain->head.prev_tag, last->tag, RS_TAG_LEN);
	}
	chain->first_gap = s->has_gap ? chain->n - s->gap : chain->n;
	s->rep->frames_found += chain->n;
}

/*
 * A page that can't be read just where a frame after the last one would
 * begin may have been one that was acknowledged.
 */
static int look_behind(struct search *s)
{
	uint64_t place = s->chain->head.place;
	void *page;
	int bad;

	if (s->found.bad == 0 || s->chain->clean || s->rep->unfinished)
		return 0;
	if (place + RS_PAGE > rs_ring_size(s->ring))
		place = 0;
	if (posix_memalign(&page, RS_PAGE, RS_PAGE) != 0)
		return -ENOMEM;
	bad = rs_ring_read(s->ring, place, RS_PAGE, page);
	free(page);
	if (bad > 0)
		rs_report_add(s->rep, RS_FIND_RING, 0, 0, place, NULL, 0,
			      "the page behind the last frame can't be read: "
			      "a frame may be lost");
	return bad < 0 ? bad : 0;
}

/* The applied frame, as far as its bytes are still there. */
static int check_applied(struct search *s)
{
	uint64_t applied = s->root->applied;

	if (s->found.highest < applied)
		return other_ring(s, "intent.log ends before");
	if (applied && rs_found_frame(&s->found, applied, NULL) &&
	    !rs_found_frame(&s->found, applied, s->root->applied_tag))
		return other_ring(s, "the applied frame has another tag");
	return 0;
}

static int search(struct search *s)
{
	int err;

	err = ends_clean(s);
	if (err != 0)
		return err < 0 ? err : 0;
	err = rs_found_collect(s->ring, s->root->applied, &s->found);
	if (err < 0)
		return err;
	err = find_end(s);
	if (err == 0)
		err = check_applied(s);
	if (err == 0)
		err = walk_back(s);
	if (err == 0) {
		turn_round(s->chain);
		guess_places(s);
		go_on(s);
		err = look_behind(s);
	}
	rs_found_release(&s->found);
	return err;
}

int rs_chain_find(struct rs_ring *ring, const struct rs_root *root,
		  struct rs_report *rep, struct rs_chain *ret_chain)
{
	struct search s = {
		.ring = ring, .root = root, .rep = rep, .chain = ret_chain
	};
	int err;

	memset(ret_chain, 0, sizeof(*ret_chain));
	err = search(&s);
	if (err < 0)
		rs_chain_release(ret_chain);
	return err;
}

void rs_chain_release(struct rs_chain *chain)
{
	free(chain->refs);
	memset(chain, 0, sizeof(*chain));
}
