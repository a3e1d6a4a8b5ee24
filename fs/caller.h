/*
 * caller.h - who changed which directory and isn't durable yet (DESIGN
 * "Directory sync", dirsync=caller).
 *
 * A table of (directory, thread id) -> number of the frame that covers all
 * that this thread has changed there. Bounded: what finds no place is not
 * kept, and until that is durable nobody is told "nothing of yours", but
 * "unknown", for which the caller takes the strict path.
 *
 * LOCKS  one of its own, nothing is called under it.
 */
#ifndef RS_CALLER_H
#define RS_CALLER_H

#include "include/rs_base.h"

struct rs_caller;

/* slots: a power of two, at least 8. -ENOMEM */
RS_MUST_USE int rs_caller_new(size_t slots, struct rs_caller **ret_caller);
void rs_caller_free(struct rs_caller *caller);

/* durable: the log's highest durable number; what is at or below it goes. */
void rs_caller_note(struct rs_caller *caller, uint64_t dir, int32_t tid,
		    uint64_t number, uint64_t durable);

enum rs_caller_answer {
	RS_CALLER_NONE, /* no change of its own that isn't durable */
	RS_CALLER_OWN,	/* *ret_number covers them */
	RS_CALLER_UNKNOWN,
};
enum rs_caller_answer rs_caller_ask(struct rs_caller *caller, uint64_t dir,
				    int32_t tid, uint64_t durable,
				    uint64_t *ret_number);

#endif
