/*
 * lib_profile.c - rules for the directories of a mail server's spool.
 *
 * Each rule has its reason beside it; rspool-profiles(5) has them at length
 * and says where in the MTA's sources or manuals they come from. A rule that
 * is not here falls to the mount's policy: what is not known to be scratch
 * is a queue.
 *
 * Volatile directories are named themselves, without a glob: what is made in
 * them takes after them, and only a directory that a rule names comes back
 * after a crash, empty, with owner and mode.
 */
#include "tools/lib_profile.h"

#include <errno.h>
#include <stdio.h>

#define MIB (UINT64_C(1) << 20)

static const struct rs_rule postfix_rules[] = {
	{ .glob = "/pid", .policy = RS_POLICY_VOLATILE },
	{ .glob = "/public", .policy = RS_POLICY_VOLATILE },
	{ .glob = "/private", .policy = RS_POLICY_VOLATILE },
	{ .glob = "/defer/**", .policy = RS_POLICY_INTERVAL },
};
static const char *const postfix_why[] = {
	"lock files of master(8), made anew at each start",
	"sockets and FIFOs, made anew at each start",
	"sockets, made anew at each start",
	"why mail is late, for mailq: each failed delivery has an fsync",
};

static const struct rs_rule sendmail_rules[] = {
	{ .glob = "/**", .dirsync = RS_DIRSYNC_CALLER },
	{ .glob = "/**/xf", .policy = RS_POLICY_VOLATILE },
};
static const char *const sendmail_why[] = {
	"each message opens the queue and syncs its own renames in it",
	"transcripts of one session, where the queue is split into qf, df, xf",
};

static const struct rs_rule exim_rules[] = {
	{ .glob = "/**", .dirsync = RS_DIRSYNC_CALLER },
	{ .glob = "/scan",
	  .policy = RS_POLICY_VOLATILE,
	  .has_limit = 1,
	  .limit = 512 * MIB },
	{ .glob = "/db", .policy = RS_POLICY_INTERVAL },
};
static const char *const exim_why[] = {
	"each message opens input and syncs its own rename in it",
	"mail unpacked for a scanner while its SMTP session lasts",
	"hints: without them a delivery is tried too early",
};

static const struct rs_rule opensmtpd_rules[] = {
	{ .glob = "/queue/**", .policy = RS_POLICY_RENAME },
	{ .glob = "/incoming/**", .policy = RS_POLICY_INTERVAL },
	{ .glob = "/temporary", .policy = RS_POLICY_INTERVAL },
	{ .glob = "/purge/**", .policy = RS_POLICY_INTERVAL },
};
static const char *const opensmtpd_why[] = {
	"a message is accepted by a rename into it, without any fsync",
	"thrown away at each start; the rename out of it waits for all",
	"bodies before that rename, thrown away at each start too",
	"what is being removed",
};

static const struct rs_rule mailscanner_rules[] = {
	{ .glob = "/MailScanner/incoming",
	  .policy = RS_POLICY_VOLATILE,
	  .has_limit = 1,
	  .limit = 1024 * MIB,
	  .has_inodes = 1,
	  .limit_inodes = 200000 },
};
static const char *const mailscanner_why[] = {
	"batches unpacked for scanning, wiped at each start; the mail itself"
	" stays in the queues",
};

static const struct rs_rule amavis_rules[] = {
	{ .glob = "/tmp",
	  .policy = RS_POLICY_VOLATILE,
	  .has_limit = 1,
	  .limit = 1024 * MIB,
	  .has_inodes = 1,
	  .limit_inodes = 200000 },
	{ .glob = "/db", .policy = RS_POLICY_VOLATILE },
	{ .glob = "/virusmails/**", .policy = RS_POLICY_ALWAYS },
};
static const char *const amavis_why[] = {
	"mail unpacked for scanning: the MTA keeps it until amavis has passed"
	" it on",
	"counters and states of the children, made anew at each start",
	"quarantined mail is written without fsync, and the sender is told"
	" that it was taken",
};

#define RULES(name)                                                         \
	.rules = name##_rules, .why = name##_why,                           \
	.n_rules = RS_ARRAY_LEN(name##_rules) +                             \
		   0 * sizeof(char[RS_ARRAY_LEN(name##_rules) ==            \
						   RS_ARRAY_LEN(name##_why) \
					   ? 1                              \
					   : -1])

static const struct rs_profile all[] = {
	{ .name = "postfix",
	  .what = "Postfix's queue_directory, /var/spool/postfix",
	  .dev = 1,
	  RULES(postfix) },
	{ .name = "sendmail",
	  .what = "sendmail's queues, /var/spool/mqueue or what holds them",
	  RULES(sendmail) },
	{ .name = "exim",
	  .what = "Exim's spool_directory, /var/spool/exim4",
	  RULES(exim) },
	{ .name = "opensmtpd",
	  .what = "OpenSMTPD's spool, /var/spool/smtpd",
	  RULES(opensmtpd) },
	{ .name = "mailscanner",
	  .what = "what holds MailScanner's directory and the queues,"
		  " /var/spool",
	  RULES(mailscanner) },
	{ .name = "amavis",
	  .what = "amavis' home, /var/lib/amavis",
	  RULES(amavis) },
};

const struct rs_profile *rs_profile_at(size_t i)
{
	return i < RS_ARRAY_LEN(all) ? &all[i] : NULL;
}

const struct rs_profile *rs_profile_find(const char *name)
{
	size_t i;

	for (i = 0; i < RS_ARRAY_LEN(all); i++)
		if (!strcmp(all[i].name, name))
			return &all[i];
	return NULL;
}

static int unknown(const char *name, char why[RS_WHY_MAX])
{
	size_t i, len;

	len = (size_t)snprintf(why, RS_WHY_MAX, "'%.60s' is none of", name);
	for (i = 0; i < RS_ARRAY_LEN(all) && len < RS_WHY_MAX; i++)
		len += (size_t)snprintf(why + len, RS_WHY_MAX - len, "%s %s",
					i ? "," : "", all[i].name);
	return -EINVAL;
}

int rs_profiles_take(struct rs_profiles *profiles, const char *text,
		     char why[RS_WHY_MAX])
{
	struct rs_profiles taken = { 0 };
	const struct rs_profile *profile;
	char copy[128], *rest = copy, *name;

	if (!strcmp(text, "none")) {
		*profiles = taken;
		return 0;
	}
	if (strlen(text) >= sizeof(copy))
		return unknown(text, why);
	snprintf(copy, sizeof(copy), "%s", text);
	while ((name = strsep(&rest, "+"))) {
		profile = rs_profile_find(name);
		if (!profile)
			return unknown(name, why);
		if (taken.n == RS_PROFILES_MAX) {
			snprintf(why, RS_WHY_MAX, "more than %u profiles",
				 RS_PROFILES_MAX);
			return -EINVAL;
		}
		taken.v[taken.n++] = profile;
	}
	*profiles = taken;
	return 0;
}

const struct rs_profile *rs_profiles_get(const struct rs_profiles *profiles,
					 size_t i)
{
	return i < profiles->n ? profiles->v[i] : NULL;
}
