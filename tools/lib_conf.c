/*
 * lib_conf.c - NAME on a command line stands for /etc/rspool/NAME.conf.
 */
#include "tools/lib_conf.h"

#include <errno.h>
#include <ini.h>
#include <stdio.h>

#include "tools/lib_say.h"

struct reading {
	struct rs_conf *conf;
	const char *why;
	int nomem;
};

static int set_string(char **to, const char *value)
{
	free(*to);
	*to = strdup(value);
	return *to != NULL;
}

/* Append "key=value", or "key" for yes, or nothing for no. */
static int add_option(struct rs_conf *conf, const char *key, const char *value)
{
	const char *comma = conf->options[0] ? "," : "";
	char *text;
	int n;

	if (!strcmp(value, "no"))
		return 1;
	if (!strcmp(value, "yes"))
		n = asprintf(&text, "%s%s%s", conf->options, comma, key);
	else
		n = asprintf(&text, "%s%s%s=%s", conf->options, comma, key,
			     value);
	if (n < 0)
		return 0;
	free(conf->options);
	conf->options = text;
	return 1;
}

/* inih's shape: 0 is an error in this line */
static int handle(void *arg, const char *section, const char *key,
		  const char *value)
{
	struct reading *reading = arg;
	int ok;

	if (section[0] && strcmp(section, "rspool") != 0) {
		reading->why = "unknown section";
		return 0;
	}
	if (!value || !value[0] || strchr(value, ',')) {
		reading->why = "a value is missing or has a comma";
		return 0;
	}
	if (!strcmp(key, "store"))
		ok = set_string(&reading->conf->store, value);
	else
		ok = add_option(reading->conf, key, value);
	if (!ok)
		reading->nomem = 1;
	return ok;
}

static int read_file(struct rs_conf *conf, int *ret_line, const char **ret_why)
{
	struct reading reading = { .conf = conf, .why = "not 'key = value'" };
	int line;

	errno = 0;
	line = ini_parse(conf->file, handle, &reading);
	if (reading.nomem)
		return -ENOMEM;
	if (line == -1)
		return errno ? -errno : -EIO;
	if (line == 0 && !conf->store) {
		*ret_why = "the key 'store' is missing";
		return -EINVAL;
	}
	*ret_line = line;
	*ret_why = reading.why;
	return line ? -EINVAL : 0;
}

int rs_conf_resolve(const char *arg, struct rs_conf *ret_conf, int *ret_line,
		    const char **ret_why)
{
	struct rs_conf conf = { 0 };
	int err = 0;

	*ret_line = 0;
	conf.options = strdup("");
	if (!conf.options ||
	    asprintf(&conf.file, "%s/%s.conf", RS_CONF_DIR, arg) < 0) {
		free(conf.options);
		return -ENOMEM;
	}
	if (!strchr(arg, '/') && access(conf.file, F_OK) == 0) {
		err = read_file(&conf, ret_line, ret_why);
	} else {
		free(conf.file);
		conf.file = NULL;
		conf.store = strdup(arg);
		err = conf.store ? 0 : -ENOMEM;
	}
	if (err)
		rs_conf_release(&conf);
	else
		*ret_conf = conf;
	return err;
}

int rs_conf_take(const char *arg, struct rs_conf *ret_conf)
{
	const char *why = NULL;
	char where[32] = "";
	int err, line;

	err = rs_conf_resolve(arg, ret_conf, &line, &why);
	if (!err)
		return 0;
	if (line > 0)
		snprintf(where, sizeof(where), ", line %d", line);
	rs_say("cannot read '%s/%s.conf'%s: %s", RS_CONF_DIR, arg, where,
	       why ? why : strerror(-err));
	return err == -EINVAL ? RS_EXIT_USAGE : RS_EXIT_FAILED;
}

char *rs_conf_option(const struct rs_conf *conf, const char *key)
{
	size_t len = strlen(key);
	char *value = NULL;
	const char *at, *end;

	for (at = conf->options; *at; at = *end ? end + 1 : end) {
		end = strchrnul(at, ',');
		if (strncmp(at, key, len) != 0 || at[len] != '=')
			continue;
		free(value);
		value = strndup(at + len + 1, (size_t)(end - at) - len - 1);
	}
	return value;
}

void rs_conf_release(struct rs_conf *conf)
{
	free(conf->store);
	free(conf->options);
	free(conf->file);
	memset(conf, 0, sizeof(*conf));
}
