/*
 * lib_opt.c - the mount options, one table: name, argument, meaning, how it
 * is taken in.
 */
#include "tools/lib_opt.h"

#include <errno.h>
#include <sys/mount.h>

#include "tools/lib_ctl.h"
#include "tools/lib_say.h"
#include "tools/lib_size.h"

/* More memory than machines have, 256 TiB: a slip of the unit. */
#define BYTES_MAX (UINT64_C(1) << 48)
#define INODES_MAX (UINT64_C(1) << 32)
#define SECONDS_MAX 86400u

struct option_def;

struct taking {
	struct rs_opts *opts;
	const struct option_def *def;
	const char *value;
	char *why; /* RS_WHY_MAX bytes */
};

struct option_def {
	const char *name, *arg, *help;
	int (*take)(const struct taking *t);
	size_t at;	 /* in struct rs_opts */
	uint64_t lo, hi; /* numbers; flags: MS_ bits to clear, to set */
};

static int bad(const struct taking *t, const char *want)
{
	snprintf(t->why, RS_WHY_MAX, "'%s' is not %s", t->value, want);
	return -EINVAL;
}

static void *field(const struct taking *t)
{
	return (char *)t->opts + t->def->at;
}

static int take_size(const struct taking *t)
{
	char lo[RS_SIZE_TEXT], hi[RS_SIZE_TEXT];
	uint64_t v;
	int err = rs_size_parse(t->value, &v);

	if (err == -EINVAL)
		return bad(t, "a size such as 256M");
	if ((err || v < t->def->lo || v > t->def->hi) &&
	    !strcmp(t->def->arg, "N")) {
		snprintf(t->why, RS_WHY_MAX,
			 "'%s' makes no sense, it goes from %llu to %llu",
			 t->value, (unsigned long long)t->def->lo,
			 (unsigned long long)t->def->hi);
		return -EINVAL;
	}
	if (err || v < t->def->lo || v > t->def->hi) {
		snprintf(t->why, RS_WHY_MAX,
			 "'%s' makes no sense, it goes from %s to %s", t->value,
			 rs_size_text(t->def->lo, lo),
			 rs_size_text(t->def->hi, hi));
		return -EINVAL;
	}
	memcpy(field(t), &v, sizeof(v));
	return 0;
}

static int take_number(const struct taking *t)
{
	unsigned int n;
	uint64_t v;
	int err = rs_number_parse(t->value, &v);

	if (err == -EINVAL)
		return bad(t, "a number");
	if (err || v < t->def->lo || v > t->def->hi) {
		snprintf(t->why, RS_WHY_MAX,
			 "'%s' makes no sense, it goes from %llu to %llu",
			 t->value, (unsigned long long)t->def->lo,
			 (unsigned long long)t->def->hi);
		return -EINVAL;
	}
	n = (unsigned int)v;
	memcpy(field(t), &n, sizeof(n));
	return 0;
}

static int take_path(const struct taking *t)
{
	char **to = field(t), *copy;

	if (t->value[0] != '/')
		return bad(t, "an absolute path");
	copy = strdup(t->value);
	if (!copy)
		return -ENOMEM;
	free(*to);
	*to = copy;
	return 0;
}

/* "NAME" for the mount, "/GLOB:WORD..." for some directories. */
static int take_policy(const struct taking *t)
{
	struct rs_rule rule = { 0 };

	if (t->value[0] == '/')
		return rs_rules_take(&t->opts->rules, t->value, t->why);
	if (rs_rule_take(&rule, "policy", t->value, t->why))
		return -EINVAL;
	t->opts->policy = (enum rs_policy)rule.policy;
	return 0;
}

static int take_dirsync(const struct taking *t)
{
	struct rs_rule rule = { 0 };

	if (rs_rule_take(&rule, "dirsync", t->value, t->why))
		return -EINVAL;
	t->opts->dirsync = rule.dirsync;
	return 0;
}

static int take_profile(const struct taking *t)
{
	return rs_profiles_take(&t->opts->profiles, t->value, t->why);
}

static int take_on(const struct taking *t)
{
	int on = 1;

	memcpy(field(t), &on, sizeof(on));
	return 0;
}

static int take_flag(const struct taking *t)
{
	t->opts->flags &= ~(unsigned long)t->def->lo;
	t->opts->flags |= (unsigned long)t->def->hi;
	t->opts->said |= (unsigned long)(t->def->lo | t->def->hi);
	return 0;
}

static int take_noatime(const struct taking *t)
{
	t->opts->noatime = t->def->hi != 0;
	return take_flag(t);
}

static int take_data(const struct taking *t)
{
	char *text;
	int n;

	n = asprintf(&text, "%s%s%s=%s", t->opts->data ? t->opts->data : "",
		     t->opts->data ? "," : "", t->def->name, t->value);
	if (n < 0)
		return -ENOMEM;
	free(t->opts->data);
	t->opts->data = text;
	return 0;
}

#define AT(member) offsetof(struct rs_opts, member)

static const struct option_def defs[] = {
	{ "policy", "POLICY", "volatile, interval, fsync, rename or always",
	  take_policy, 0, 0, 0 },
	{ "flush_interval", "MS", "the rest is on disk after (1000)",
	  take_number, AT(flush_interval), RS_FLUSH_INTERVAL_MIN,
	  RS_FLUSH_INTERVAL_MAX },
	{ "ram", "SIZE", "memory that the daemon keeps", take_size, AT(ram),
	  RS_RAM_MIN, BYTES_MAX },
	{ "capacity", "SIZE", "bytes that the spool may hold", take_size,
	  AT(capacity), RS_CAPACITY_MIN, BYTES_MAX },
	{ "inodes", "N", "files that the spool may hold", take_size, AT(inodes),
	  RS_INODES_MIN, INODES_MAX },
	{ "ring", "FILE", "the ring, when it is on another disk", take_path,
	  AT(ring), 0, 0 },
	{ "key", "FILE", "the site key of the store", take_path, AT(key), 0,
	  0 },
	{ "dirsync", "HOW", "fsync of directories: strict or caller",
	  take_dirsync, 0, 0, 0 },
	{ "profile", "NAME", "rules for an MTA, see rspool-profiles(5)",
	  take_profile, 0, 0, 0 },
	{ "stall", "SECONDS", "a write waits so long for room (30)",
	  take_number, AT(stall), 0, SECONDS_MAX },
	{ "stop_timeout", "SECONDS", "SIGTERM waits so long for users (10)",
	  take_number, AT(stop_timeout), 0, SECONDS_MAX },
	{ "on_mount", "PROGRAM", "run when it serves", take_path, AT(on_mount),
	  0, 0 },
	{ "on_poison", "PROGRAM", "run when the log is broken", take_path,
	  AT(on_poison), 0, 0 },
	{ "on_lost", "PROGRAM", "run when the daemon is dead", take_path,
	  AT(on_lost), 0, 0 },
	{ "protect", NULL, "make the bare mount point immutable", take_on,
	  AT(protect), 0, 0 },
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
	opts->dirsync = RS_DIRSYNC_STRICT;
	opts->flush_interval = 1000;
	opts->stall = 30;
	opts->stop_timeout = 10;
	opts->flags = MS_NOSUID | MS_NODEV;
}

void rs_opts_release(struct rs_opts *opts)
{
	free(opts->ring);
	free(opts->key);
	free(opts->on_mount);
	free(opts->on_poison);
	free(opts->on_lost);
	free(opts->data);
	rs_rules_release(&opts->rules);
	rs_rules_release(&opts->all);
	memset(opts, 0, sizeof(*opts));
}

static const struct option_def *find(const char *name)
{
	size_t i;

	for (i = 0; i < RS_ARRAY_LEN(defs); i++)
		if (!strcmp(defs[i].name, name))
			return &defs[i];
	return NULL;
}

int rs_opts_is_flag(const char *name)
{
	const struct option_def *def = find(name);

	return def && !def->arg;
}

int rs_opts_take(struct rs_opts *opts, const char *name, const char *value,
		 char why[RS_WHY_MAX])
{
	const struct option_def *def = find(name);
	struct taking t = { opts, def, value, why };

	if (!def) {
		snprintf(why, RS_WHY_MAX, "no such option");
		return -ENOENT;
	}
	if (def->arg && (!value || !value[0])) {
		snprintf(why, RS_WHY_MAX, "wants a value");
		return -EINVAL;
	}
	if (!def->arg && value) {
		snprintf(why, RS_WHY_MAX, "takes no value");
		return -EINVAL;
	}
	return def->take(&t);
}

static int take_word(struct rs_opts *opts, char *word)
{
	char *value = strchr(word, '='), why[RS_WHY_MAX];
	int err;

	if (value)
		*value++ = '\0';
	err = rs_opts_take(opts, word, value, why);
	if (err == -ENOMEM) {
		rs_say("out of memory");
		return RS_EXIT_FAILED;
	}
	if (err == -ENOENT)
		return rs_say_usage("unknown option '%s'", word);
	if (err)
		return rs_say_usage("option '%s': %s", word, why);
	return 0;
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
		code = take_word(opts, word);
		if (code)
			return code;
	}
	return 0;
}

static int add_rules(struct rs_rules *to, const struct rs_rule *from, size_t n)
{
	struct rs_rule *rule;
	const char *glob;
	size_t i;

	for (i = 0; i < n; i++) {
		if (rs_rules_add(to, from[i].glob, &rule))
			return -ENOMEM;
		glob = rule->glob;
		*rule = from[i];
		rule->glob = glob;
	}
	return 0;
}

int rs_opts_join(char **to, const char *text)
{
	const char *before = *to ? *to : "";
	char *joined;

	if (asprintf(&joined, "%s%s%s", before, before[0] ? "," : "", text) < 0)
		return -ENOMEM;
	free(*to);
	*to = joined;
	return 0;
}

int rs_opts_finish(struct rs_opts *opts)
{
	const struct rs_profile *profile;
	int err = 0;
	size_t i;

	rs_rules_release(&opts->all);
	for (i = 0; (profile = rs_profiles_get(&opts->profiles, i)); i++) {
		if (!err)
			err = add_rules(&opts->all, profile->rules,
					profile->n_rules);
		if (profile->dev && !(opts->said & MS_NODEV))
			opts->flags &= ~(unsigned long)MS_NODEV;
	}
	opts->n_profile_rules = opts->all.n;
	if (!err)
		err = add_rules(&opts->all, opts->rules.v, opts->rules.n);
	return err;
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
	fputs("  policy=/GLOB:WORD[:WORD...]\n"
	      "                         for directories of that path from the"
	      " mount's root; WORD: a\n"
	      "                         policy, dirsync=HOW, limit=SIZE,"
	      " inodes=N\n",
	      to);
}
