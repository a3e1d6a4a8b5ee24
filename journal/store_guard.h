/*
 * store_guard.h - reading a mapped file that may be damaged or cut short
 * without dying of it.
 *
 *	struct rs_guard g;
 *
 *	rs_guard_push(&g);
 *	if (sigsetjmp(g.env, 0))
 *		return -EIO;	(SIGSEGV or SIGBUS: already popped)
 *	...only LMDB calls and copies out of its map...
 *	rs_guard_pop(&g);
 */
#ifndef RS_STORE_GUARD_H
#define RS_STORE_GUARD_H

#include <setjmp.h>

struct rs_guard {
	sigjmp_buf env;
	struct rs_guard *outer;
};

/*
 * Set the handlers if they are not ours; each rs_store_open() does. Errors:
 * those of sigaction(2).
 */
int rs_guard_install(void);
/* Guards nest; they belong to the calling thread. */
void rs_guard_push(struct rs_guard *guard);
void rs_guard_pop(struct rs_guard *guard);
/* Jump to the innermost guard of this thread; returns if there is none. */
void rs_guard_raise(void);

#endif
