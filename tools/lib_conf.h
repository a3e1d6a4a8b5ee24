/*
 * lib_conf.h - NAME on a command line stands for /etc/rspool/NAME.conf.
 *
 * The file has "key = value" lines (ini(5) style, '#' comments, an optional
 * section header [rspool]): "store" names the directory, the other keys are
 * mount options by their own names; an option without a value is "yes" or
 * "no".
 */
#ifndef RS_LIB_CONF_H
#define RS_LIB_CONF_H

#include "include/rs_base.h"

#define RS_CONF_DIR "/etc/rspool"

struct rs_conf {
	char *store;   /* as written, or the argument itself */
	char *options; /* "key=value,flag", "" without a file */
	char *file;    /* path of the file, or NULL */
};

/*
 * An argument without '/' whose file exists is a NAME; any other is the
 * directory. Errors: -EINVAL (*ret_why: line, a static text), -errno.
 */
RS_MUST_USE int rs_conf_resolve(const char *arg, struct rs_conf *ret_conf,
				int *ret_line, const char **ret_why);
/* The same for a command line: 0, or an exit code and the reason was said. */
RS_MUST_USE int rs_conf_take(const char *arg, struct rs_conf *ret_conf);
/* The last value of the option key=; NULL without it. malloc'ed. */
char *rs_conf_option(const struct rs_conf *conf, const char *key);
void rs_conf_release(struct rs_conf *conf);

#endif
