/*
 * journal_replay.c - the records of the frames that aren't folded, frame by
 * frame: never more than one frame of them in memory.
 */
#include <errno.h>

#include "journal/journal_p.h"

typedef int replay_fn(void *arg, const struct rs_rec *rec, uint64_t number);

static int each_record(const uint8_t *body, uint64_t len, uint64_t number,
		       replay_fn *fn, void *arg, struct rs_report *rep)
{
	struct rs_rec rec;
	int err;

	while (len > 0) {
		err = rs_rec_decode(body, (size_t)len, &rec);
		if (err < 0)
			return err;
		err = fn(arg, &rec, number);
		if (err != 0)
			return err;
		if (rep) {
			rep->records_replayed++;
			if (rec.type == RS_REC_DATA)
				rep->bytes_replayed += rec.data_len;
		}
		body += rec.len;
		len -= rec.len;
	}
	return 0;
}

static int each_frame(struct rs_journal *j, const struct rs_frame_ref *ref,
		      replay_fn *fn, void *arg, struct rs_report *rep)
{
	RS_AUTO_FREE uint8_t *buf = NULL;
	int err;

	if (ref->body)
		return each_record(ref->body, ref->body_len, ref->number, fn,
				   arg, rep);
	err = rs_ring_read_frame(j->ring, ref, &buf);
	if (err < 0)
		return err;
	return each_record(buf + RS_FRAME_HEADER, ref->body_len, ref->number,
			   fn, arg, rep);
}

static int replay(struct rs_journal *j, replay_fn *fn, void *arg,
		  struct rs_report *rep)
{
	size_t i;
	int err;

	for (i = 0; i < j->frames.n; i++) {
		err = each_frame(j, rs_frames_at(&j->frames, i), fn, arg, rep);
		if (err != 0)
			return err;
		if (rep)
			rep->frames_replayed++;
	}
	return 0;
}

struct watch {
	replay_fn *fn;
	void *arg;
	uint64_t ceiling;
};

static int watch_ceiling(void *arg, const struct rs_rec *rec, uint64_t number)
{
	struct watch *w = arg;

	if (rec->type == RS_REC_CEILING && rec->off > w->ceiling)
		w->ceiling = rec->off;
	return w->fn ? w->fn(w->arg, rec, number) : 0;
}

/* The ceiling comes out as the records go by: no reading of its own. */
static int replay_watched(struct rs_journal *j, replay_fn *fn, void *arg,
			  struct rs_report *rep)
{
	struct watch w = { fn, arg, j->ceiling };
	int err = replay(j, watch_ceiling, &w, rep);

	if (err == 0 && !j->ceiling_known) {
		pthread_mutex_lock(&j->lock);
		j->ceiling = w.ceiling;
		j->ceiling_known = 1;
		pthread_mutex_unlock(&j->lock);
	}
	return err;
}

int rs_journal_replay(struct rs_journal *j,
		      int (*fn)(void *arg, const struct rs_rec *rec,
				uint64_t number),
		      void *arg, struct rs_report *rep)
{
	return replay_watched(j, fn, arg, rep);
}

int rs_journal_know_ceiling(struct rs_journal *j)
{
	return j->ceiling_known ? 0 : replay_watched(j, NULL, NULL, NULL);
}

uint64_t rs_journal_ceiling(struct rs_journal *j)
{
	uint64_t ceiling;

	/* An unreadable frame is damage that others report; start refuses. */
	(void)!rs_journal_know_ceiling(j);
	pthread_mutex_lock(&j->lock);
	ceiling = j->ceiling;
	pthread_mutex_unlock(&j->lock);
	return ceiling;
}
