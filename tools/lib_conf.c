/*
 * lib_conf.c - NAME on a command line stands for /etc/rspool/NAME.conf.
 *
 * inih reads it, line by line through read_line(): a section's name is taken
 * there, because inih cuts it at 49 bytes and at the first ']', and a path
 * with a [class] has both; and lines that inih would cut off or take for a
 * continuation of the line before must not pass unseen.
 */
#include "tools/lib_conf.h"

#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdio.h>

#include "tools/lib_say.h"

struct reading {
	struct rs_conf *conf;
	FILE *file;
	char *text; /* getline's */
	size_t size;
	unsigned int line;
	char *section; /* "" at first; NULL: not one of ours, lines are lost */
	int nomem;
};

__attribute__((format(printf, 3, 4))) static int add_fault(struct rs_conf *conf,
							   unsigned int line,
							   const char *fmt, ...)
{
	struct rs_conf_fault *faults;
	va_list ap;
	int n;

	faults =
		reallocarray(conf->faults, conf->n_faults + 1, sizeof(*faults));
	if (!faults)
		return -ENOMEM;
	conf->faults = faults;
	va_start(ap, fmt);
	n = vasprintf(&faults[conf->n_faults].text, fmt, ap);
	va_end(ap);
	if (n < 0)
		return -ENOMEM;
	faults[conf->n_faults++].line = line;
	return 0;
}

static void enter_section(struct reading *r, const char *name)
{
	char why[RS_WHY_MAX];

	free(r->section);
	r->section = NULL;
	if (!strcmp(name, "rspool")) {
		r->section = strdup("");
	} else if (name[0] == '/') {
		if (!rs_glob_check(name, why))
			r->section = strdup(name);
		else if (add_fault(r->conf, r->line, "section: %s", why))
			r->nomem = 1;
		return;
	} else if (add_fault(r->conf, r->line,
			     "section: '%s' is neither rspool nor a path from"
			     " the mount's root such as /incoming/**",
			     name)) {
		r->nomem = 1;
	}
}

/* "[name]", and nothing but a comment behind it. */
static void take_header(struct reading *r, char *text)
{
	char *end = strrchr(text, ']'), *rest;

	if (!end) {
		free(r->section);
		r->section = NULL;
		if (add_fault(r->conf, r->line, "section: the ']' is missing"))
			r->nomem = 1;
		return;
	}
	rest = end + 1;
	rest += strspn(rest, " \t");
	*end = '\0';
	if (*rest && *rest != ';' && *rest != '#' &&
	    add_fault(r->conf, r->line, "section: '%s' stands behind the ']'",
		      rest))
		r->nomem = 1;
	enter_section(r, text + 1);
}

/* A line without the white space, and the byte order mark, before it. */
static char *content(char *text, unsigned int line)
{
	if (line == 1 && !strncmp(text, "\xef\xbb\xbf", 3))
		text += 3;
	return text + strspn(text, " \t\r\n");
}

/* inih's shape; size: of buf */
static char *read_line(char *buf, int size, void *stream)
{
	struct reading *r = stream;
	char *text;
	ssize_t n;

	n = getline(&r->text, &r->size, r->file);
	if (n < 0)
		return NULL;
	r->line++;
	if (r->text[n - 1] == '\n')
		r->text[--n] = '\0';
	while (n > 0 && isspace((unsigned char)r->text[n - 1]))
		r->text[--n] = '\0';
	text = content(r->text, r->line);
	buf[0] = '\0';
	if (strlen(r->text) != (size_t)n) {
		if (add_fault(r->conf, r->line, "a NUL byte is no text"))
			r->nomem = 1;
	} else if (text[0] == '[') {
		take_header(r, text);
	} else if (text[0] != '#' && text[0] != ';') {
		if (snprintf(buf, (size_t)size, "%s", text) < size)
			return buf;
		buf[0] = '\0';
		if (add_fault(r->conf, r->line,
			      "the line is longer than %d bytes", size - 1))
			r->nomem = 1;
	}
	return buf;
}

static int add_line(struct reading *r, const char *key, const char *value)
{
	struct rs_conf *conf = r->conf;
	struct rs_conf_line *lines, *line;

	lines = reallocarray(conf->lines, conf->n_lines + 1, sizeof(*lines));
	if (!lines)
		return 0;
	conf->lines = lines;
	line = &lines[conf->n_lines];
	line->section = strdup(r->section);
	line->key = strdup(key);
	line->value = strdup(value);
	line->line = r->line;
	conf->n_lines++;
	return line->section && line->key && line->value;
}

/* The line where key stands before, outside of the sections; 0: nowhere. */
static unsigned int stands_at(const struct rs_conf *conf, const char *key)
{
	size_t i;

	for (i = 0; i < conf->n_lines; i++)
		if (!conf->lines[i].section[0] &&
		    !strcmp(conf->lines[i].key, key))
			return conf->lines[i].line;
	return 0;
}

/* The keys that are no mount options; 0 without memory. */
static int take_place(struct reading *r, const char *key, const char *value)
{
	struct rs_conf *conf = r->conf;
	int is_store = !strcmp(key, "store");
	char **to = is_store ? &conf->store : &conf->mnt;

	if (r->section[0] || (!is_store && strcmp(key, "mount") != 0))
		return 1;
	if (value[0] != '/' &&
	    add_fault(r->conf, r->line, "%s: '%s' is not an absolute path", key,
		      value))
		return 0;
	free(*to);
	*to = strdup(value);
	return *to != NULL;
}

/* inih's shape: 0 is an error in this line */
static int handle(void *arg, const char *section, const char *key,
		  const char *value)
{
	struct reading *r = arg;
	unsigned int before;
	int ok;

	(void)section;
	if (!r->section) /* its header was told */
		return 1;
	before = r->section[0] ? 0 : stands_at(r->conf, key);
	if (!value || !value[0])
		ok = !add_fault(r->conf, r->line, "%s: the value is missing",
				key);
	else if (strchr(value, ','))
		ok = !add_fault(r->conf, r->line,
				"%s: '%s' has a comma, one line is for one"
				" value",
				key, value);
	else if (before && strcmp(key, "policy") != 0)
		ok = !add_fault(r->conf, r->line, "%s: stands in line %u too",
				key, before);
	else
		ok = add_line(r, key, value) && take_place(r, key, value);
	if (!ok)
		r->nomem = 1;
	return ok;
}

/* A line that has no '=': inih tells the first one only. */
static int find_no_pairs(struct rs_conf *conf, FILE *file)
{
	RS_AUTO_FREE char *text = NULL;
	unsigned int line = 0;
	const char *s;
	size_t size = 0;
	int err = 0;

	rewind(file);
	while (!err && getline(&text, &size, file) >= 0) {
		s = content(text, ++line);
		if (*s && !strchr("#;[", *s) && !strpbrk(s, "=:"))
			err = add_fault(conf, line, "not 'key = value'");
	}
	return err;
}

static int by_line(const void *a, const void *b)
{
	const struct rs_conf_fault *x = a, *y = b;

	return (x->line > y->line) - (x->line < y->line);
}

static void sort_faults(struct rs_conf *conf)
{
	if (conf->n_faults)
		qsort(conf->faults, conf->n_faults, sizeof(*conf->faults),
		      by_line);
}

static int parse(struct rs_conf *conf, FILE *file)
{
	struct reading r = { .conf = conf, .file = file };
	int err;

	r.section = strdup("");
	if (!r.section)
		return -ENOMEM;
	err = ini_parse_stream(read_line, &r, handle, &r) == -2 ? -ENOMEM : 0;
	free(r.text);
	free(r.section);
	if (r.nomem)
		err = -ENOMEM;
	if (!err && ferror(file))
		err = -EIO;
	if (!err)
		err = find_no_pairs(conf, file);
	if (!err && !conf->store)
		err = add_fault(conf, 0, "store: the key is missing");
	sort_faults(conf);
	return err;
}

int rs_conf_read(const char *path, struct rs_conf *ret_conf)
{
	struct rs_conf conf = { 0 };
	FILE *file;
	int err;

	conf.file = strdup(path);
	if (!conf.file)
		return -ENOMEM;
	file = fopen(path, "re");
	err = file ? parse(&conf, file) : -errno;
	if (file)
		fclose(file);
	if (err)
		rs_conf_release(&conf);
	else
		*ret_conf = conf;
	return err;
}

int rs_conf_find(const char *arg, struct rs_conf *ret_conf)
{
	RS_AUTO_FREE char *path = NULL;
	struct rs_conf conf = { 0 };

	if (asprintf(&path, "%s/%s.conf", RS_CONF_DIR, arg) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	if (!strchr(arg, '/') && access(path, F_OK) == 0)
		return rs_conf_read(path, ret_conf);
	conf.store = strdup(arg);
	if (!conf.store)
		return -ENOMEM;
	*ret_conf = conf;
	return 0;
}

/* 0, -EINVAL with why, -ENOMEM */
static int take_option(struct rs_opts *opts, const struct rs_conf_line *line,
		       char why[RS_WHY_MAX])
{
	const char *value = line->value;

	if (!rs_opts_is_flag(line->key))
		return rs_opts_take(opts, line->key, value, why);
	if (!strcmp(value, "no"))
		return 0;
	if (!strcmp(value, "yes"))
		return rs_opts_take(opts, line->key, NULL, why);
	snprintf(why, RS_WHY_MAX, "'%s' is neither yes nor no", value);
	return -EINVAL;
}

static int take_rule(struct rs_opts *opts, const struct rs_conf_line *line,
		     int is_new, char why[RS_WHY_MAX])
{
	struct rs_rules *rules = &opts->rules;
	struct rs_rule *rule;
	int err = 0;

	if (is_new)
		err = rs_rules_add(rules, line->section, &rule);
	else
		rule = &rules->v[rules->n - 1];
	if (!err)
		err = rs_rule_take(rule, line->key, line->value, why);
	return err;
}

int rs_conf_options(struct rs_conf *conf, struct rs_opts *opts)
{
	const struct rs_conf_line *line;
	const char *section = "";
	char why[RS_WHY_MAX];
	size_t i;
	int err;

	for (i = 0; i < conf->n_lines; i++) {
		line = &conf->lines[i];
		if (line->section[0])
			err = take_rule(opts, line,
					strcmp(section, line->section) != 0,
					why);
		else if (!strcmp(line->key, "store") ||
			 !strcmp(line->key, "mount"))
			err = 0;
		else
			err = take_option(opts, line, why);
		section = line->section;
		if (err == -ENOENT && !line->section[0])
			snprintf(why, sizeof(why), "no such key");
		if (err && err != -ENOMEM)
			err = add_fault(conf, line->line, "%s: %s", line->key,
					why);
		if (err)
			return err;
	}
	sort_faults(conf);
	return 0;
}

int rs_conf_say(const struct rs_conf *conf)
{
	const struct rs_conf_fault *fault = conf->faults;
	char more[80] = "";

	if (!conf->n_faults)
		return 0;
	if (conf->n_faults > 1)
		snprintf(more, sizeof(more),
			 " (and %zu more, see rspoolctl check)",
			 conf->n_faults - 1);
	if (fault->line)
		rs_say("%s:%u: %s%s", conf->file, fault->line, fault->text,
		       more);
	else
		rs_say("%s: %s%s", conf->file, fault->text, more);
	return RS_EXIT_USAGE;
}

int rs_conf_say_no_mount(const struct rs_conf *conf)
{
	if (!conf->file && !strchr(conf->store, '/'))
		return rs_say_usage("a mount point is wanted, and there is no"
				    " '%s/%s.conf'",
				    RS_CONF_DIR, conf->store);
	return rs_say_usage("a mount point is wanted, '%s' names none",
			    conf->file ? conf->file : conf->store);
}

int rs_conf_take(const char *arg, struct rs_conf *ret_conf)
{
	struct rs_conf conf;
	int err, code;

	err = rs_conf_find(arg, &conf);
	if (err) {
		rs_say("cannot read '%s/%s.conf': %s", RS_CONF_DIR, arg,
		       strerror(-err));
		return RS_EXIT_FAILED;
	}
	code = rs_conf_say(&conf);
	if (code)
		rs_conf_release(&conf);
	else
		*ret_conf = conf;
	return code;
}

char *rs_conf_option(const struct rs_conf *conf, const char *key)
{
	size_t i;

	for (i = 0; i < conf->n_lines; i++)
		if (!conf->lines[i].section[0] &&
		    !strcmp(conf->lines[i].key, key))
			return strdup(conf->lines[i].value);
	return NULL;
}

void rs_conf_release(struct rs_conf *conf)
{
	size_t i;

	for (i = 0; i < conf->n_lines; i++) {
		free(conf->lines[i].section);
		free(conf->lines[i].key);
		free(conf->lines[i].value);
	}
	for (i = 0; i < conf->n_faults; i++)
		free(conf->faults[i].text);
	free(conf->lines);
	free(conf->faults);
	free(conf->store);
	free(conf->mnt);
	free(conf->file);
	memset(conf, 0, sizeof(*conf));
}
