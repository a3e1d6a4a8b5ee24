/*
 * lib_say.c - one line on stderr: lower case, what failed first.
 */
#include "tools/lib_say.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "journal/report.h"

/* Bytes of a message: two paths and some words. */
#define TEXT_MAX 1500

static const char *program = "rspool";

void rs_say_name(const char *name)
{
	program = name;
}

/*
 * Names come from whoever made the files: no byte of a message may be one
 * that a terminal obeys or that makes a second line of it.
 */
__attribute__((format(printf, 1, 0))) static void say(const char *fmt,
						      va_list ap,
						      const char *hint)
{
	char text[TEXT_MAX], safe[4 * TEXT_MAX + 1];

	vsnprintf(text, sizeof(text), fmt, ap);
	rs_escape(text, strlen(text), safe, sizeof(safe));
	fprintf(stderr, "%s: %s%s\n", program, safe, hint);
}

void rs_say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap, "");
	va_end(ap);
}

int rs_say_usage(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap, " (see --help)");
	va_end(ap);
	return RS_EXIT_USAGE;
}

int rs_say_end(int code)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	rs_say("cannot write to the standard output: %s", strerror(errno));
	return code == RS_EXIT_OK ? RS_EXIT_FAILED : code;
}
