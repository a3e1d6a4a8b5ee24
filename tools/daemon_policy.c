/*
 * daemon_policy.c - policies of directories, asked for and set at run time.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/mount.h>

#include "journal/report.h"
#include "tools/daemon.h"
#include "tools/daemon_log.h"

static json_t *number(uint64_t v)
{
	return json_integer((json_int_t)v);
}

/* Names are bytes, JSON wants UTF-8. */
static json_t *path_text(const char *path)
{
	char safe[4 * PATH_MAX + 1];
	json_t *text = json_string(path);

	if (text)
		return text;
	rs_escape(path, strlen(path), safe, sizeof(safe));
	return json_string(safe);
}

/* What the rules say of path, key by key; a key that none says is 0. */
static struct rs_rule rule_of(const struct rs_daemon *d, const char *path)
{
	const struct rs_rules *all = &d->opts.all;
	struct rs_rule said = { 0 };
	const struct rs_rule *rule;
	size_t i;

	for (i = 0; i < all->n; i++) {
		rule = &all->v[i];
		if (!rs_glob_path(rule->glob, path))
			continue;
		if (rule->policy)
			said.policy = rule->policy;
		if (rule->dirsync)
			said.dirsync = rule->dirsync;
		if (rule->has_limit)
			said.limit = rule->limit;
		if (rule->has_inodes)
			said.limit_inodes = rule->limit_inodes;
		said.has_limit |= rule->has_limit;
		said.has_inodes |= rule->has_inodes;
	}
	return said;
}

/* Does the last rule that says this of path come from a profile? */
static int is_of_profile(const struct rs_daemon *d, const char *path,
			 int is_policy)
{
	const struct rs_rules *all = &d->opts.all;
	size_t i;

	for (i = all->n; i-- > 0;)
		if ((is_policy ? all->v[i].policy : all->v[i].dirsync) &&
		    rs_glob_path(all->v[i].glob, path))
			return i < d->opts.n_profile_rules;
	return 0;
}

static const char *origin_text(const struct rs_daemon *d, const char *path,
			       enum rs_origin origin, int is_policy)
{
	switch (origin) {
	case RS_ORIGIN_MOUNT:
		return "mount";
	case RS_ORIGIN_PARENT:
		return "parent";
	case RS_ORIGIN_RUNTIME:
		return "runtime";
	case RS_ORIGIN_RULE:
		break;
	}
	return is_of_profile(d, path, is_policy) ? "profile" : "rule";
}

static json_t *describe(const struct rs_daemon *d, const char *path,
			const struct rs_policy_info *info)
{
	return json_pack(
		"{s:o, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "path",
		path_text(path), "policy", rs_policy_name(info->policy),
		"origin", origin_text(d, path, info->policy_origin, 1),
		"dirsync", rs_dirsync_name(info->dirsync), "dirsync_origin",
		origin_text(d, path, info->dirsync_origin, 0), "limit",
		number(info->limit), "inodes", number(info->limit_inodes),
		"used", number(info->used), "used_inodes",
		number(info->used_inodes));
}

/* The directories above the last one told, as they come from the walk. */
#define DEPTH_MAX 64u

struct listing {
	const struct rs_daemon *d;
	json_t *list;
	struct {
		size_t len; /* of the path, without its '/' at the end */
		enum rs_policy policy;
		uint8_t dirsync;
	} above[DEPTH_MAX];
	char path[PATH_MAX]; /* the innermost of them */
	size_t depth;
};

static size_t length_of(const char *path)
{
	return path[1] ? strlen(path) : 0;
}

/*
 * A rule such as /queue/ and everything below names thousands of directories
 * that all have the same: what is as the one above is not worth a line.
 */
static int is_news(struct listing *l, const char *path,
		   const struct rs_policy_info *info)
{
	size_t len = length_of(path);

	while (l->depth &&
	       (strncmp(l->path, path, l->above[l->depth - 1].len) != 0 ||
		(path[l->above[l->depth - 1].len] != '/')))
		l->depth--;
	if (l->depth && info->policy == l->above[l->depth - 1].policy &&
	    info->dirsync == l->above[l->depth - 1].dirsync &&
	    info->policy_origin != RS_ORIGIN_RUNTIME &&
	    info->dirsync_origin != RS_ORIGIN_RUNTIME && !info->limit &&
	    !info->limit_inodes)
		return 0;
	if (l->depth < DEPTH_MAX && len < sizeof(l->path)) {
		snprintf(l->path, sizeof(l->path), "%s", path);
		l->above[l->depth].len = len;
		l->above[l->depth].policy = info->policy;
		l->above[l->depth].dirsync = info->dirsync;
		l->depth++;
	}
	return 1;
}

static int add_dir(void *arg, const char *path,
		   const struct rs_policy_info *info)
{
	struct listing *l = arg;

	if (!is_news(l, path, info))
		return 0;
	return json_array_append_new(l->list, describe(l->d, path, info))
		       ? -ENOMEM
		       : 0;
}

static json_t *failure(int err, const char *text)
{
	return json_pack("{s:b, s:s, s:i}", "ok", 0, "error", text, "code",
			 -err);
}

static json_t *mount_settings(struct rs_daemon *d, json_t *dirs)
{
	json_t *profiles = json_array();
	size_t i;

	for (i = 0; i < d->opts.profiles.n; i++)
		json_array_append_new(profiles,
				      json_string(d->opts.profiles.v[i]->name));
	return json_pack("{s:b, s:s, s:s, s:s, s:i, s:o, s:o}", "ok", 1,
			 "policy", rs_policy_name(d->opts.policy), "dirsync",
			 rs_dirsync_name(d->opts.dirsync), "origin", "mount",
			 "flush_interval", (int)rs_daemon_interval(d),
			 "profiles", profiles, "directories", dirs);
}

static json_t *list_all(struct rs_daemon *d)
{
	struct listing *l = calloc(1, sizeof(*l));
	json_t *list = json_array();
	int err = -ENOMEM;

	if (l && list) {
		l->d = d;
		l->list = list;
		err = rs_core_policy_walk(d->core, add_dir, l);
	}
	free(l);
	if (!err)
		return mount_settings(d, list);
	json_decref(list);
	return failure(err, strerror(-err));
}

static const char *reason(int err)
{
	switch (err) {
	case -ENOENT:
	case -ESTALE:
		return "there is no such directory";
	case -ENOTDIR:
		return "it is no directory";
	case -ENOSPC:
		return "there is no room for what would have to be logged";
	case -EROFS:
		return "the mount is read-only";
	default:
		return strerror(-err);
	}
}

static void log_change(const struct rs_daemon *d, const char *path,
		       const struct rs_policy_set *set)
{
	const char *policy = rs_policy_name(set->policy);
	const char *dirsync = rs_dirsync_name(set->dirsync);

	if (set->what & RS_POLSET_POLICY)
		rs_log(LOG_INFO, "'%s': policy of '%s' is %s now", d->mnt, path,
		       policy ? policy : "as configured");
	if (set->what & RS_POLSET_DIRSYNC)
		rs_log(LOG_INFO, "'%s': dirsync of '%s' is %s now", d->mnt,
		       path, dirsync ? dirsync : "as configured");
	if (set->what & RS_POLSET_LIMIT)
		rs_log(LOG_INFO, "'%s': limit of '%s' is %llu bytes now",
		       d->mnt, path, (unsigned long long)set->limit);
	if (set->what & RS_POLSET_INODES)
		rs_log(LOG_INFO, "'%s': limit of '%s' is %llu inodes now",
		       d->mnt, path, (unsigned long long)set->limit_inodes);
}

/* The setting itself and, when raised, what it made be logged: on disk. */
static int set_durably(struct rs_daemon *d, uint64_t ino,
		       const struct rs_policy_set *set)
{
	uint64_t number = 0;
	int err;

	err = rs_core_policy_set(d->core, ino, set, &number);
	if (!err && number)
		err = rs_journal_sync(d->journal);
	return err;
}

json_t *rs_daemon_policy(struct rs_daemon *d, const struct rs_ctl_req *req)
{
	struct rs_policy_info info;
	json_t *dir;
	uint64_t ino;
	int err;

	if (!req->path[0])
		return list_all(d);
	err = rs_core_resolve(d->core, req->path, &ino);
	if (!err && req->set.what) {
		err = set_durably(d, ino, &req->set);
		if (!err)
			log_change(d, req->path, &req->set);
	}
	if (!err)
		err = rs_core_policy_get(d->core, ino, &info);
	if (err)
		return failure(err, reason(err));
	dir = describe(d, req->path, &info);
	return json_pack("{s:b, s:o}", "ok", 1, "directory", dir);
}

json_t *rs_daemon_at_risk(struct rs_daemon *d)
{
	struct rs_core_loss loss[RS_POLICY_ALWAYS + 1] = { 0 };
	json_t *all = json_object();
	unsigned int i;

	rs_core_loss(d->core, loss);
	for (i = RS_POLICY_VOLATILE; i <= RS_POLICY_ALWAYS; i++)
		json_object_set_new(all, rs_policy_name(i),
				    json_pack("{s:o, s:o, s:o}", "files",
					      number(loss[i].files), "bytes",
					      number(loss[i].bytes),
					      "oldest_ms",
					      number(loss[i].oldest_ms)));
	return all;
}

/* ---- at the start ---- */

#define TOLD_MAX 4u

struct settling {
	struct rs_daemon *d;
	unsigned int n; /* directories whose setting went */
};

static void tell(struct settling *s, const char *path)
{
	if (s->n++ < TOLD_MAX)
		rs_daemon_warn(s->d,
			       "what was set at run time for '%s' gives way to"
			       " the configuration",
			       path);
}

static int take_none(void *arg, const struct rs_dirent *ent)
{
	*(int *)arg = ent->cookie > 2; /* "." and ".." */
	return *(int *)arg;
}

static int is_empty(struct rs_core *core, uint64_t ino)
{
	int full = 0;

	return !rs_core_readdir(core, ino, 0, UINT64_MAX, 0, take_none,
				&full) &&
	       !full;
}

static int settle(void *arg, const char *path,
		  const struct rs_policy_info *info)
{
	struct settling *s = arg;
	const struct rs_rule rule = rule_of(s->d, path);
	struct rs_policy_set set = { 0 };
	uint64_t number;

	if (info->policy == RS_POLICY_VOLATILE &&
	    is_empty(s->d->core, info->ino))
		s->d->came_empty++;
	if (info->policy_origin == RS_ORIGIN_RUNTIME && rule.policy &&
	    rule.policy != info->policy)
		set.what |= RS_POLSET_POLICY;
	if (info->dirsync_origin == RS_ORIGIN_RUNTIME && rule.dirsync &&
	    rule.dirsync != info->dirsync)
		set.what |= RS_POLSET_DIRSYNC;
	if (rule.has_limit && rule.limit != info->limit)
		set.what |= RS_POLSET_LIMIT;
	if (rule.has_inodes && rule.limit_inodes != info->limit_inodes)
		set.what |= RS_POLSET_INODES;
	if (!set.what || (s->d->opts.flags & MS_RDONLY))
		return 0;
	tell(s, path);
	return rs_core_policy_set(s->d->core, info->ino, &set, &number);
}

int rs_daemon_settle(struct rs_daemon *d)
{
	struct settling s = { .d = d };
	int err;

	err = rs_core_policy_walk(d->core, settle, &s);
	if (d->came_empty)
		rs_log(LOG_INFO,
		       "%u volatile directories of '%s' came back empty, as"
		       " they do",
		       d->came_empty, d->mnt);
	if (s.n > TOLD_MAX)
		rs_daemon_warn(d,
			       "and so do the settings of %u other directories",
			       s.n - TOLD_MAX);
	return err;
}
