/*
 * lib_say.c - one line on stderr: lower case, what failed first.
 */
#include "tools/lib_say.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static const char *program = "rspool";

void rs_say_name(const char *name)
{
	program = name;
}

void rs_say(const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fprintf(stderr, "%s: %s\n", program, text);
}

int rs_say_usage(const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fprintf(stderr, "%s: %s (see --help)\n", program, text);
	return RS_EXIT_USAGE;
}

int rs_say_end(int code)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	rs_say("cannot write to the standard output: %s", strerror(errno));
	return code == RS_EXIT_OK ? RS_EXIT_FAILED : code;
}
