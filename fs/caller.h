/*
 * caller.h - who changed which directory and isn't durable yet (DESIGN
 * "Directory sync", dirsync=caller).
 *
 * A table of (directory, thread id) -> number of the frame that covers all
 * that this thread has changed there. An entry stays for a moment after that
 * is durable: sendmail syncs the renamed file itself before the directory, so
 * its changes are durable by then, and still it is no stranger.
 *
 * Bounded: what finds no place is not kept, and until that is durable nobody
 * is told "nothing of yours", but "unknown", for which the caller takes the
 * strict path.
 *
 * LOCKS  one of its own, nothing is called under it.
 */
#ifndef RS_CALLER_H
#define RS_CALLER_H

#include "include/rs_base.h"

struct rs_caller;

/* How long an entry stays at least, in ms. */
#define RS_CALLER_LINGER 2000u

/* What the time is: the log's highest durable number, and a clock in ms. */
struct rs_caller_now {
	uint64_t durable, ms;
};

/* slots: a power of two, at least 8. -ENOMEM */
RS_MUST_USE int rs_caller_new(size_t slots, struct rs_caller **ret_caller);
void rs_caller_free(struct rs_caller *caller);

/* number 0: the change is durable already, or never will be. */
void rs_caller_note(struct rs_caller *caller, uint64_t dir, int32_t tid,
		    uint64_t number, const struct rs_caller_now *now);

enum rs_caller_answer {
	RS_CALLER_NONE,	  /* it has changed nothing, or long ago */
	RS_CALLER_RECENT, /* it has, and all of it is durable */
	RS_CALLER_OWN,	  /* *ret_number covers what isn't durable */
	RS_CALLER_UNKNOWN,
};
enum rs_caller_answer rs_caller_ask(struct rs_caller *caller, uint64_t dir,
				    int32_t tid,
				    const struct rs_caller_now *now,
				    uint64_t *ret_number);

#endif
