/*
 * daemon_opt.c - the mount options, one table: name, argument, meaning, how
 * it is taken in.
 */
#include "tools/daemon_opt.h"

#include <errno.h>
#include <sys/mount.h>

#include "tools/lib_ctl.h"
#include "tools/lib_say.h"
#include "tools/lib_size.h"

/* Less than this holds no spool that works; bytes. */
#define RAM_MIN (UINT64_C(16) << 20)
#define CAPACITY_MIN (UINT64_C(1) << 20)
#define INODES_MIN 64u
/* More memory than machines have, 256 TiB: a slip of the unit. */
#define BYTES_MAX (UINT64_C(1) << 48)
#define INODES_MAX (UINT64_C(1) << 32)
#define SECONDS_MAX 86400u

struct option_def;

typedef int (*take_fn)(struct rs_opts *opts, const struct option_def *def,
		       const char *value);

struct option_def {
	const char *name, *arg, *help;
	take_fn take;
	size_t at;	 /* in struct rs_opts */
	uint64_t lo, hi; /* numbers; flags: MS_ bits to clear, to set */
};

static int bad(const struct option_def *def, const char *value,
	       const char *want)
{
	return rs_say_usage("option '%s=%s' is not %s", def->name, value, want);
}

static void *field(struct rs_opts *opts, const struct option_def *def)
{
	return (char *)opts + def->at;
}

static int range_error(const struct option_def *def, const char *value)
{
	char lo[RS_SIZE_TEXT], hi[RS_SIZE_TEXT];

	return rs_say_usage("option '%s=%s' makes no sense, it goes from %s"
			    " to %s",
			    def->name, value, rs_size_text(def->lo, lo),
			    rs_size_text(def->hi, hi));
}

static int take_size(struct rs_opts *opts, const struct option_def *def,
		     const char *value)
{
	uint64_t v;
	int err = rs_size_parse(value, &v);

	if (err == -EINVAL)
		return bad(def, value, "a size such as 256M");
	if (err || v < def->lo || v > def->hi)
		return range_error(def, value);
	memcpy(field(opts, def), &v, sizeof(v));
	return 0;
}

static int take_number(struct rs_opts *opts, const struct option_def *def,
		       const char *value)
{
	unsigned int n;
	uint64_t v;
	int err = rs_number_parse(value, &v);

	if (err == -EINVAL)
		return bad(def, value, "a number");
	if (err || v < def->lo || v > def->hi)
		return rs_say_usage("option '%s=%s' makes no sense, it goes"
				    " from %llu to %llu",
				    def->name, value,
				    (unsigned long long)def->lo,
				    (unsigned long long)def->hi);
	n = (unsigned int)v;
	memcpy(field(opts, def), &n, sizeof(n));
	return 0;
}

static int take_path(struct rs_opts *opts, const struct option_def *def,
		     const char *value)
{
	char **to = field(opts, def);

	if (value[0] != '/')
		return bad(def, value, "an absolute path");
	free(*to);
	*to = strdup(value);
	if (!*to) {
		rs_say("out of memory");
		return RS_EXIT_FAILED;
	}
	return 0;
}

static int take_policy(struct rs_opts *opts, const struct option_def *def,
		       const char *value)
{
	static const char *const later[] = { "volatile", "interval", "rename",
					     "always" };
	size_t i;

	for (i = 0; i < RS_ARRAY_LEN(later); i++)
		if (!strcmp(value, later[i]))
			return rs_say_usage("option 'policy=%s' is not in this"
					    " version, only policy=fsync",
					    value);
	if (strcmp(value, "fsync") != 0)
		return bad(def, value, "a policy");
	opts->policy = RS_POLICY_FSYNC;
	return 0;
}

static int take_profile(struct rs_opts *opts, const struct option_def *def,
			const char *value)
{
	(void)opts;
	return rs_say_usage("option '%s=%s' is not in this version", def->name,
			    value);
}

static int take_on(struct rs_opts *opts, const struct option_def *def,
		   const char *value)
{
	int on = 1;

	(void)value;
	memcpy(field(opts, def), &on, sizeof(on));
	return 0;
}

static int take_flag(struct rs_opts *opts, const struct option_def *def,
		     const char *value)
{
	(void)value;
	opts->flags &= ~(unsigned long)def->lo;
	opts->flags |= (unsigned long)def->hi;
	return 0;
}

static int take_noatime(struct rs_opts *opts, const struct option_def *def,
			const char *value)
{
	opts->noatime = def->hi != 0;
	return take_flag(opts, def, value);
}

static int take_data(struct rs_opts *opts, const struct option_def *def,
		     const char *value)
{
	char *text;
	int n;

	n = asprintf(&text, "%s%s%s=%s", opts->data ? opts->data : "",
		     opts->data ? "," : "", def->name, value);
	if (n < 0) {
		rs_say("out of memory");
		return RS_EXIT_FAILED;
	}
	free(opts->data);
	opts->data = text;
	return 0;
}

#define AT(member) offsetof(struct rs_opts, member)

static const struct option_def defs[] = {
	{ "policy", "NAME", "what is durable when: fsync (default)",
	  take_policy, 0, 0, 0 },
	{ "flush_interval", "MS", "the rest is on disk after (1000)",
	  take_number, AT(flush_interval), RS_FLUSH_INTERVAL_MIN,
	  RS_FLUSH_INTERVAL_MAX },
	{ "ram", "SIZE", "memory that the daemon keeps", take_size, AT(ram),
	  RAM_MIN, BYTES_MAX },
	{ "capacity", "SIZE", "bytes that the spool may hold", take_size,
	  AT(capacity), CAPACITY_MIN, BYTES_MAX },
	{ "inodes", "N", "files that the spool may hold", take_size, AT(inodes),
	  INODES_MIN, INODES_MAX },
	{ "ring", "FILE", "the ring, when it is on another disk", take_path,
	  AT(ring), 0, 0 },
	{ "key", "FILE", "the site key of the store", take_path, AT(key), 0,
	  0 },
	{ "profile", "NAME", "settings for an MTA (not in this version)",
	  take_profile, 0, 0, 0 },
	{ "stall", "SECONDS", "a write waits so long for room (30)",
	  take_number, AT(stall), 0, SECONDS_MAX },
	{ "stop_timeout", "SECONDS", "SIGTERM waits so long for users (10)",
	  take_number, AT(stop_timeout), 0, SECONDS_MAX },
	{ "xattr", NULL, "keep extended attributes", take_on, AT(xattr), 0, 0 },
	{ "ro", NULL, "mount read-only", take_flag, 0, 0, MS_RDONLY },
	{ "rw", NULL, "mount for reading and writing (default)", take_flag, 0,
	  MS_RDONLY, 0 },
	{ "nosuid", NULL, "set-id bits do nothing (default)", take_flag, 0, 0,
	  MS_NOSUID },
	{ "suid", NULL, "set-id bits work", take_flag, 0, MS_NOSUID, 0 },
	{ "nodev", NULL, "device nodes do nothing (default)", take_flag, 0, 0,
	  MS_NODEV },
	{ "dev", NULL, "device nodes work", take_flag, 0, MS_NODEV, 0 },
	{ "noexec", NULL, "programs can't be run", take_flag, 0, 0, MS_NOEXEC },
	{ "exec", NULL, "programs can be run (default)", take_flag, 0,
	  MS_NOEXEC, 0 },
	{ "noatime", NULL, "reading does not move atime", take_noatime, 0,
	  MS_RELATIME, MS_NOATIME },
	{ "relatime", NULL, "atime moves when it is older (default)",
	  take_noatime, 0, MS_NOATIME, 0 },
	{ "context", "LABEL", "SELinux label, passed to the kernel", take_data,
	  0, 0, 0 },
	{ "fscontext", "LABEL", "likewise", take_data, 0, 0, 0 },
	{ "defcontext", "LABEL", "likewise", take_data, 0, 0, 0 },
	{ "rootcontext", "LABEL", "likewise", take_data, 0, 0, 0 },
};

void rs_opts_init(struct rs_opts *opts)
{
	memset(opts, 0, sizeof(*opts));
	opts->policy = RS_POLICY_FSYNC;
	opts->flush_interval = 1000;
	opts->stall = 30;
	opts->stop_timeout = 10;
	opts->flags = MS_NOSUID | MS_NODEV;
}

void rs_opts_release(struct rs_opts *opts)
{
	free(opts->ring);
	free(opts->key);
	free(opts->data);
	memset(opts, 0, sizeof(*opts));
}

static int take_one(struct rs_opts *opts, const char *word)
{
	size_t len = strcspn(word, "="), i;
	const char *value = word[len] ? word + len + 1 : NULL;

	for (i = 0; i < RS_ARRAY_LEN(defs); i++) {
		if (strlen(defs[i].name) != len ||
		    strncmp(defs[i].name, word, len) != 0)
			continue;
		if (defs[i].arg && (!value || !value[0]))
			return rs_say_usage("option '%s' wants a value",
					    defs[i].name);
		if (!defs[i].arg && value)
			return rs_say_usage("option '%s' takes no value",
					    defs[i].name);
		return defs[i].take(opts, &defs[i], value);
	}
	return rs_say_usage("unknown option '%s'", word);
}

/* Cut the next option off; commas between double quotes belong to it. */
static char *next_word(char **text)
{
	char *word = *text, *s;
	int quoted = 0;

	for (s = word; *s && (quoted || *s != ','); s++)
		if (*s == '"')
			quoted = !quoted;
	*text = *s ? s + 1 : NULL;
	*s = '\0';
	return word;
}

int rs_opts_parse(struct rs_opts *opts, char *text)
{
	char *word;
	int code;

	while (text) {
		word = next_word(&text);
		if (!*word)
			continue;
		code = take_one(opts, word);
		if (code)
			return code;
	}
	return 0;
}

void rs_opts_help(FILE *to)
{
	char left[40];
	size_t i;

	for (i = 0; i < RS_ARRAY_LEN(defs); i++) {
		snprintf(left, sizeof(left), "%s%s%s", defs[i].name,
			 defs[i].arg ? "=" : "",
			 defs[i].arg ? defs[i].arg : "");
		fprintf(to, "  %-22s %s\n", left, defs[i].help);
	}
}
