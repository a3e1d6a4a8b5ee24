/*
 * journal_append.c - intents into the open group.
 *
 * begin takes the group lock and end gives it back, so all records of an
 * operation stand together and the number can't change between them.
 */
#include <assert.h>

#include "journal/journal_p.h"

uint64_t rs_journal_begin(struct rs_journal *j)
{
	pthread_mutex_lock(&j->lock);
	return j->group.number;
}

static void note_first(struct rs_journal *j, size_t fill)
{
	if (fill == 0 && j->group.fill > 0)
		rs_journal_now(j, &j->opened);
}

void rs_journal_put(struct rs_journal *j, const struct rs_rec *rec,
		    struct rs_mark *mark)
{
	size_t fill = j->group.fill;

	rs_group_put(&j->group, rec, mark);
	note_first(j, fill);
}

void rs_journal_replace(struct rs_journal *j, const struct rs_rec *rec,
			struct rs_mark *mark)
{
	size_t fill = j->group.fill;

	rs_group_replace(&j->group, rec, mark);
	note_first(j, fill);
}

void rs_journal_void(struct rs_journal *j, struct rs_mark *mark)
{
	rs_group_void(&j->group, mark);
}

void rs_journal_elide(struct rs_journal *j, uint64_t ino)
{
	size_t fill = j->group.fill;

	rs_group_elide(&j->group, ino);
	note_first(j, fill);
}

/*
 * The committer wakes for the first operation of a group, to set its timer,
 * and for the one that fills half of it: the rest then fills while the disk
 * is busy.
 */
void rs_journal_end(struct rs_journal *j)
{
	size_t before = j->group.ended;

	rs_group_end(&j->group);
	if (!j->in_flight && j->group.fill > before &&
	    (before == 0 || rs_group_is_half(&j->group)))
		pthread_cond_signal(&j->work);
	pthread_mutex_unlock(&j->lock);
}

uint64_t rs_journal_open_number(struct rs_journal *j)
{
	uint64_t number;

	pthread_mutex_lock(&j->lock);
	number = j->group.number;
	pthread_mutex_unlock(&j->lock);
	return number;
}

uint64_t rs_journal_durable(struct rs_journal *j)
{
	uint64_t number;

	pthread_mutex_lock(&j->lock);
	number = j->durable;
	pthread_mutex_unlock(&j->lock);
	return number;
}
