/*
 * lib_say.h - exit codes, and the one line on stderr that says what failed.
 */
#ifndef RS_LIB_SAY_H
#define RS_LIB_SAY_H

#include "include/rs_base.h"

/* DESIGN section 5 */
enum rs_exit {
	RS_EXIT_OK = 0,
	RS_EXIT_FAILED = 1,
	RS_EXIT_USAGE = 2,
	RS_EXIT_NOT_RUNNING = 3,
	RS_EXIT_DEGRADED = 4,
	RS_EXIT_DAMAGE = 5,
};

/* name stands before every line of rs_say(); kept, not copied */
void rs_say_name(const char *name);
/* "name: text" on stderr */
void rs_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same with a hint at --help; returns RS_EXIT_USAGE. */
int rs_say_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/*
 * Flush stdout and return code, or RS_EXIT_FAILED when what was printed
 * could not be written (full disk, closed pipe).
 */
int rs_say_end(int code);

#endif
