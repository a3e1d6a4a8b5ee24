/*
 * lib_policy.h - policies as people write them, and lists of rules.
 *
 * What a rule says is a row of words joined by colons, of a policy's name,
 * dirsync=strict|caller, limit=SIZE and inodes=N:
 *
 *	/scratch:volatile:limit=2G
 */
#ifndef RS_LIB_POLICY_H
#define RS_LIB_POLICY_H

#include "fs/core.h"

/* Bytes of a reason that a fault gets, with its NUL. */
#define RS_WHY_MAX 256u

/* NULL for a number that is none. */
const char *rs_policy_name(unsigned int policy);
const char *rs_dirsync_name(unsigned int dirsync);
/* -EINVAL for a word that is none. */
RS_MUST_USE int rs_policy_parse(const char *word, uint8_t *ret_policy);
RS_MUST_USE int rs_dirsync_parse(const char *word, uint8_t *ret_dirsync);

/* A limit of less would not hold one message; bytes, inodes. */
#define RS_LIMIT_MIN UINT64_C(65536)
#define RS_LIMIT_INODES_MIN UINT64_C(2)

/*
 * Take one key in: "policy", "dirsync", "limit", "inodes". limit and inodes
 * may be "none": no limit. Errors: -ENOENT (no such key), -EINVAL, and why.
 */
RS_MUST_USE int rs_rule_take(struct rs_rule *rule, const char *key,
			     const char *value, char why[RS_WHY_MAX]);
/* The same with "volatile", "limit=2G" ... as on a command line. */
RS_MUST_USE int rs_rule_take_word(struct rs_rule *rule, const char *word,
				  char why[RS_WHY_MAX]);
/* -EINVAL: it would match nothing, or not what was meant. */
RS_MUST_USE int rs_glob_check(const char *glob, char why[RS_WHY_MAX]);

/*
 * Does glob match a path from the mount's root (with a leading '/')? As the
 * core does it for directories: `*` `?` `[]` within a part, `**` any number
 * of parts.
 */
int rs_glob_path(const char *glob, const char *path);

/* Rules that own their globs. Zeroed: empty. */
struct rs_rules {
	struct rs_rule *v;
	size_t n;
};
/* A new last rule with a copy of glob; *ret_rule until the next one. */
RS_MUST_USE int rs_rules_add(struct rs_rules *rules, const char *glob,
			     struct rs_rule **ret_rule);
void rs_rules_release(struct rs_rules *rules);
/* "/GLOB:WORD[:WORD...]". Errors: -EINVAL and why, -ENOMEM. */
RS_MUST_USE int rs_rules_take(struct rs_rules *rules, const char *text,
			      char why[RS_WHY_MAX]);

#endif
