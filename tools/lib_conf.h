/*
 * lib_conf.h - NAME on a command line stands for /etc/rspool/NAME.conf.
 *
 * The file has "key = value" lines, '#' and ';' comments, and sections:
 *
 *	store = /srv/rspool/postfix        "store" and "mount" are places,
 *	mount = /var/spool/postfix         the other keys mount options by
 *	ram = 1G                           their own names; an option without
 *	noexec = yes                       a value is "yes" or "no"
 *
 *	[/scratch]                          a rule for directories: policy,
 *	policy = volatile                  dirsync, limit, inodes
 *	limit = 2G
 *
 * Lines may stand below [rspool] as well as before any section. Every fault
 * is found, not only the first.
 */
#ifndef RS_LIB_CONF_H
#define RS_LIB_CONF_H

#include "include/rs_base.h"
#include "tools/lib_opt.h"

#define RS_CONF_DIR "/etc/rspool"

struct rs_conf_line {
	char *section; /* "" or "/GLOB" */
	char *key, *value;
	unsigned int line;
};

struct rs_conf_fault {
	unsigned int line; /* 0: of the file as a whole */
	char *text;	   /* "key: what" */
};

struct rs_conf {
	char *store; /* as written, or the argument itself */
	char *mnt;   /* the key "mount", or NULL */
	char *file;  /* path of the file, or NULL */
	struct rs_conf_line *lines;
	size_t n_lines;
	struct rs_conf_fault *faults;
	size_t n_faults;
};

/*
 * An argument without '/' whose file exists is a NAME; any other is the
 * directory. Faults are in ret_conf and no error. -errno: not readable.
 */
RS_MUST_USE int rs_conf_find(const char *arg, struct rs_conf *ret_conf);
/* The file itself, by its path. */
RS_MUST_USE int rs_conf_read(const char *path, struct rs_conf *ret_conf);
/*
 * Take the options of the file in, after those that opts has. What is wrong
 * becomes a fault. -ENOMEM.
 */
RS_MUST_USE int rs_conf_options(struct rs_conf *conf, struct rs_opts *opts);
/*
 * For a command line: rs_conf_find(), and a fault is an error. 0, or an exit
 * code and the first fault was said.
 */
RS_MUST_USE int rs_conf_take(const char *arg, struct rs_conf *ret_conf);
/* Say the first fault; returns an exit code, 0 without any. */
RS_MUST_USE int rs_conf_say(const struct rs_conf *conf);
/* Neither the file nor the command line names one; RS_EXIT_USAGE. */
RS_MUST_USE int rs_conf_say_no_mount(const struct rs_conf *conf);
/* The value of a key before the sections; NULL without it. malloc'ed. */
char *rs_conf_option(const struct rs_conf *conf, const char *key);
void rs_conf_release(struct rs_conf *conf);

#endif
