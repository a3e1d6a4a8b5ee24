/*
 * lib_policy.c - policies as people write them, and lists of rules.
 */
#include "tools/lib_policy.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>

#include "tools/lib_size.h"

static const char *const policy_names[] = {
	[RS_POLICY_VOLATILE] = "volatile", [RS_POLICY_INTERVAL] = "interval",
	[RS_POLICY_FSYNC] = "fsync",	   [RS_POLICY_RENAME] = "rename",
	[RS_POLICY_ALWAYS] = "always",
};
static const char *const dirsync_names[] = {
	[RS_DIRSYNC_STRICT] = "strict",
	[RS_DIRSYNC_CALLER] = "caller",
};

const char *rs_policy_name(unsigned int policy)
{
	return policy < RS_ARRAY_LEN(policy_names) ? policy_names[policy]
						   : NULL;
}

const char *rs_dirsync_name(unsigned int dirsync)
{
	return dirsync < RS_ARRAY_LEN(dirsync_names) ? dirsync_names[dirsync]
						     : NULL;
}

static int find(const char *const *names, size_t n, const char *word,
		uint8_t *ret)
{
	size_t i;

	for (i = 1; i < n; i++) {
		if (strcmp(names[i], word) != 0)
			continue;
		*ret = (uint8_t)i;
		return 0;
	}
	return -EINVAL;
}

int rs_policy_parse(const char *word, uint8_t *ret_policy)
{
	return find(policy_names, RS_ARRAY_LEN(policy_names), word, ret_policy);
}

int rs_dirsync_parse(const char *word, uint8_t *ret_dirsync)
{
	return find(dirsync_names, RS_ARRAY_LEN(dirsync_names), word,
		    ret_dirsync);
}

static int fault(char why[RS_WHY_MAX], const char *value, const char *text)
{
	snprintf(why, RS_WHY_MAX, "'%s' %s", value, text);
	return -EINVAL;
}

static int take_policy(struct rs_rule *rule, const char *value,
		       char why[RS_WHY_MAX])
{
	if (rs_policy_parse(value, &rule->policy))
		return fault(why, value,
			     "is none of volatile, interval, fsync, rename,"
			     " always");
	return 0;
}

static int take_dirsync(struct rs_rule *rule, const char *value,
			char why[RS_WHY_MAX])
{
	if (rs_dirsync_parse(value, &rule->dirsync))
		return fault(why, value, "is neither strict nor caller");
	return 0;
}

static int take_limit(struct rs_rule *rule, const char *value,
		      char why[RS_WHY_MAX])
{
	uint64_t v = 0;

	if (strcmp(value, "none") != 0) {
		if (rs_size_parse(value, &v))
			return fault(why, value, "is not a size such as 2G");
		if (v < RS_LIMIT_MIN)
			return fault(why, value, "is less than 64K");
	}
	rule->limit = v;
	rule->has_limit = 1;
	return 0;
}

static int take_inodes(struct rs_rule *rule, const char *value,
		       char why[RS_WHY_MAX])
{
	uint64_t v = 0;

	if (strcmp(value, "none") != 0) {
		if (rs_size_parse(value, &v))
			return fault(why, value, "is not a number");
		if (v < RS_LIMIT_INODES_MIN)
			return fault(why, value, "is less than 2");
	}
	rule->limit_inodes = v;
	rule->has_inodes = 1;
	return 0;
}

static const struct {
	const char *key;
	int (*take)(struct rs_rule *rule, const char *value,
		    char why[RS_WHY_MAX]);
} keys[] = {
	{ "policy", take_policy },
	{ "dirsync", take_dirsync },
	{ "limit", take_limit },
	{ "inodes", take_inodes },
};

int rs_rule_take(struct rs_rule *rule, const char *key, const char *value,
		 char why[RS_WHY_MAX])
{
	size_t i;

	for (i = 0; i < RS_ARRAY_LEN(keys); i++)
		if (!strcmp(keys[i].key, key))
			return keys[i].take(rule, value, why);
	fault(why, key, "is none of policy, dirsync, limit, inodes");
	return -ENOENT;
}

int rs_rule_take_word(struct rs_rule *rule, const char *word,
		      char why[RS_WHY_MAX])
{
	const char *equals = strchr(word, '=');
	char key[16];
	size_t len;

	if (!equals)
		return take_policy(rule, word, why);
	len = (size_t)(equals - word);
	if (len >= sizeof(key))
		return fault(why, word,
			     "is none of policy, dirsync, limit, inodes");
	memcpy(key, word, len);
	key[len] = '\0';
	if (rs_rule_take(rule, key, equals + 1, why))
		return -EINVAL;
	return 0;
}

/* The end of a [...] that begins at s; NULL: there is none. */
static const char *class_end(const char *s)
{
	s++;
	if (*s == '!' || *s == '^')
		s++;
	if (*s == ']')
		s++;
	while (*s && *s != ']' && *s != '/')
		s++;
	return *s == ']' ? s : NULL;
}

/* One component, from s to the next slash or the end. */
static const char *component_fault(const char *s, size_t len)
{
	const char *end = s + len;

	if (len == 0)
		return "has an empty part between two slashes or at its end";
	if (!strncmp(s, ".", len) || (len == 2 && !strncmp(s, "..", len)))
		return "has a part that is a dot or two";
	if (len > RS_NAME_MAX)
		return "has a part that is longer than names can be";
	for (; s < end; s++) {
		if (*s != '[')
			continue;
		s = class_end(s);
		if (!s)
			return "has a '[' without its ']'";
	}
	return NULL;
}

int rs_glob_check(const char *glob, char why[RS_WHY_MAX])
{
	const char *s = glob, *bad;
	size_t len;

	if (glob[0] != '/')
		return fault(why, glob,
			     "does not begin with a slash, which is the"
			     " mount's root");
	while (s[0] == '/' && glob[1]) {
		len = strcspn(s + 1, "/");
		bad = component_fault(s + 1, len);
		if (bad)
			return fault(why, glob, bad);
		s += 1 + len;
	}
	return 0;
}

static const char *skip(const char *s)
{
	return s + strspn(s, "/");
}

static int part_matches(const char *glob, size_t glob_len, const char *path,
			size_t len)
{
	char pattern[2 * RS_NAME_MAX + 1], name[RS_NAME_MAX + 1];

	if (glob_len >= sizeof(pattern) || len >= sizeof(name))
		return 0;
	memcpy(pattern, glob, glob_len);
	pattern[glob_len] = '\0';
	memcpy(name, path, len);
	name[len] = '\0';
	return fnmatch(pattern, name, 0) == 0;
}

int rs_glob_path(const char *glob, const char *path)
{
	const char *star = NULL, *star_path = NULL;
	size_t glob_len, len;

	glob = skip(glob);
	path = skip(path);
	while (*path || *glob) {
		glob_len = strcspn(glob, "/");
		len = strcspn(path, "/");
		if (glob_len == 2 && !memcmp(glob, "**", 2)) {
			star = glob = skip(glob + 2);
			star_path = path;
		} else if (*glob && *path &&
			   part_matches(glob, glob_len, path, len)) {
			glob = skip(glob + glob_len);
			path = skip(path + len);
		} else if (star && *star_path) {
			/* the ** takes one part more */
			star_path = skip(star_path + strcspn(star_path, "/"));
			path = star_path;
			glob = star;
		} else {
			return 0;
		}
	}
	return 1;
}

int rs_rules_add(struct rs_rules *rules, const char *glob,
		 struct rs_rule **ret_rule)
{
	struct rs_rule *v;
	char *copy;

	v = reallocarray(rules->v, rules->n + 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	rules->v = v;
	copy = strdup(glob);
	if (!copy)
		return -ENOMEM;
	v[rules->n] = (struct rs_rule){ .glob = copy };
	*ret_rule = &v[rules->n++];
	return 0;
}

static void free_glob(const char *glob)
{
	void *p;

	memcpy(&p, &glob, sizeof(p));
	free(p);
}

void rs_rules_release(struct rs_rules *rules)
{
	size_t i;

	for (i = 0; i < rules->n; i++)
		free_glob(rules->v[i].glob);
	free(rules->v);
	memset(rules, 0, sizeof(*rules));
}

/* text: ours to cut up */
static int take_text(struct rs_rules *rules, char *text, char *words,
		     char why[RS_WHY_MAX])
{
	struct rs_rule said = { 0 }, *rule;
	char *word;
	int err;

	*words++ = '\0';
	err = rs_glob_check(text, why);
	while (!err && (word = strsep(&words, ":")))
		err = rs_rule_take_word(&said, word, why);
	if (!err)
		err = rs_rules_add(rules, text, &rule);
	if (err)
		return err;
	said.glob = rule->glob;
	*rule = said;
	return 0;
}

int rs_rules_take(struct rs_rules *rules, const char *text,
		  char why[RS_WHY_MAX])
{
	const char *colon = strchr(text, ':');
	char *copy;
	int err;

	if (!colon)
		return fault(why, text,
			     "has no ':' and policy behind the path");
	copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	err = take_text(rules, copy, copy + (colon - text), why);
	free(copy);
	return err;
}
