/*
 * journal_box.h - a store in a temporary directory with a fake seam, for the
 * tests of the journal as a whole.
 */
#ifndef RS_JOURNAL_BOX_H
#define RS_JOURNAL_BOX_H

#include "journal/journal.h"
#include "tests/unit/fake_seam.h"

#define BOX_RING (UINT64_C(256) << 10)

struct box {
	struct fake_seam fake;
	char *tmp, *dir;
	struct rs_journal *j;
	struct rs_report rep;
	int threads; /* open with the committer and the checkpointer */
	unsigned int flush_interval; /* ms */
	const uint8_t *site_key;
	unsigned int spaces, poisons; /* calls of the callbacks */
	int poison_err;
	uint64_t ino; /* the next inode's, in its name too */
	/* frames of the root's last records, as the core keeps them */
	uint64_t root_last, root_before;
	int learned;
};

/* cmocka fixtures: a fresh store, closed. */
int box_set_up(void **state);
int box_set_up_large(void **state); /* frames of 1 MiB */
int box_tear_down(void **state);

/* Open; whatever rs_journal_open() returns. */
int box_try_open(struct box *box, enum rs_journal_mode mode);
/* The same, and it must work; for SERVE start too, with the tree loaded. */
void box_open(struct box *box, enum rs_journal_mode mode);
void box_stop(struct box *box, int fast);
/* As a crash: nothing more is written. */
void box_crash(struct box *box);

/*
 * One operation: make a file in the root with n bytes of data. Its number;
 * ret_ino may be NULL.
 */
uint64_t box_file(struct box *box, uint32_t n, uint64_t *ret_ino);

/* A waiter that counts. */
struct box_wait {
	struct rs_waiter w;
	int calls, err;
};
void box_wait_init(struct box_wait *wait);

#endif
