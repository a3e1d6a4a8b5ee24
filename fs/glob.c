/*
 * glob.c - does a rule's glob match a directory's path?
 *
 * Both are read from their ends: a directory knows its name and the one
 * above it, so no path has to be put together. `**` takes as little as it
 * can and one more after each mismatch behind it; only the last one that was
 * met ever has to be tried again, so the cost is at most length times depth.
 */
#include <fnmatch.h>

#include "fs/core_p.h"

struct rs_spot rs_spot_of(const struct rs_core *core,
			  const struct rs_inode *dir)
{
	const struct rs_dentry *dentry = dir->names;

	if (dir == core->moving.dir)
		return core->moving.spot;
	if (dir == core->root || !dentry)
		return (struct rs_spot){ NULL, NULL, 0 };
	return (struct rs_spot){ dentry->dir, dentry->name, dentry->len };
}

/* The last component of glob[0, *n), which becomes what is before it. */
static const char *last_part(const char *glob, size_t *n, size_t *ret_len)
{
	size_t end = *n, at;

	while (end && glob[end - 1] == '/')
		end--;
	for (at = end; at && glob[at - 1] != '/';)
		at--;
	*n = at;
	*ret_len = end - at;
	return glob + at;
}

static int part_matches(const char *part, size_t len,
			const struct rs_spot *spot)
{
	char pattern[2 * RS_NAME_MAX + 1], name[RS_NAME_MAX + 1];

	if (len >= sizeof(pattern))
		return 0;
	memcpy(pattern, part, len);
	pattern[len] = '\0';
	memcpy(name, spot->name, spot->len);
	name[spot->len] = '\0';
	return fnmatch(pattern, name, 0) == 0;
}

static int match(const struct rs_core *core, const char *glob, size_t n,
		 const struct rs_spot *spot)
{
	struct rs_spot at = *spot, star = { NULL, NULL, 0 };
	size_t star_n = 0, before, len;
	int has_star = 0;
	const char *part;

	for (;;) {
		before = n;
		part = last_part(glob, &before, &len);
		if (len == 2 && !memcmp(part, "**", 2)) {
			has_star = 1;
			star = at;
			star_n = n = before;
		} else if (!len && !at.name) {
			return 1;
		} else if (len && at.name && part_matches(part, len, &at)) {
			at = rs_spot_of(core, at.dir);
			n = before;
		} else if (has_star && star.name) {
			star = at = rs_spot_of(core, star.dir);
			n = star_n;
		} else {
			return 0;
		}
	}
}

int rs_glob_match(const struct rs_core *core, const char *glob,
		  const struct rs_spot *spot)
{
	return match(core, glob, strlen(glob), spot);
}

int rs_glob_names(const struct rs_core *core, const char *glob,
		  const struct rs_spot *spot)
{
	size_t n = strlen(glob);

	while (n && glob[n - 1] == '/')
		n--;
	if (n >= 3 && !memcmp(glob + n - 3, "/**", 3))
		n -= 3;
	return strcspn(glob, "*?[\\") >= n && match(core, glob, n, spot);
}
