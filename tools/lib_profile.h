/*
 * lib_profile.h - rules for the directories of a mail server's spool.
 */
#ifndef RS_LIB_PROFILE_H
#define RS_LIB_PROFILE_H

#include "tools/lib_policy.h"

struct rs_profile {
	const char *name;
	const char *what; /* "Postfix's queue_directory, /var/spool/postfix" */
	int dev;	  /* device nodes in the spool have to work */
	const struct rs_rule *rules;
	const char *const *why; /* a reason for each rule */
	size_t n_rules;
};

/* The i-th; NULL after the last. */
const struct rs_profile *rs_profile_at(size_t i);
/* NULL: there is none of that name. */
const struct rs_profile *rs_profile_find(const char *name);

#define RS_PROFILES_MAX 4u
struct rs_profiles {
	const struct rs_profile *v[RS_PROFILES_MAX];
	size_t n;
};
/*
 * "NAME[+NAME...]" in place of what was there; "none": no profile. -EINVAL
 * and why.
 */
RS_MUST_USE int rs_profiles_take(struct rs_profiles *profiles, const char *text,
				 char why[RS_WHY_MAX]);
/* NULL after the last. */
const struct rs_profile *rs_profiles_get(const struct rs_profiles *profiles,
					 size_t i);

#endif
