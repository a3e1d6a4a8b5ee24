/*
 * mounts.c - /proc/self/mountinfo, see proc(5):
 *
 *	36 35 98:0 /root /mnt rw,noatime master:1 - ext3 /dev/root rw
 *	id    dev        mount point      tags    - type source
 *
 * Blank, tab, newline and backslash stand as octal escapes.
 */
#include "fs/mounts.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

static int is_octal(char c)
{
	return c >= '0' && c <= '7';
}

static void unescape(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (s[0] == '\\' && is_octal(s[1]) && is_octal(s[2]) &&
		    is_octal(s[3])) {
			*to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 |
				       (s[3] - '0'));
			s += 3;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

/* A decimal number that ends with end; -1 if it is none. */
static long number(char *word, char end)
{
	char *rest;
	long v;

	if (!word || !*word)
		return -1;
	errno = 0;
	v = strtol(word, &rest, 10);
	return errno || *rest != end || v > INT_MAX ? -1 : v;
}

/* "0:41" */
static int parse_dev(char *word, struct rs_mount *m)
{
	char *colon = word ? strchr(word, ':') : NULL;
	long major, minor;

	if (!colon)
		return 0;
	major = number(word, ':');
	minor = number(colon + 1, '\0');
	m->major = (unsigned int)major;
	m->minor = (unsigned int)minor;
	return major >= 0 && minor >= 0;
}

/* Cut line into m, which points into it. 0 if it is not as expected. */
static int parse(char *line, struct rs_mount *m)
{
	char *save = NULL, *word;
	long id;

	line[strcspn(line, "\n")] = '\0';
	id = number(strtok_r(line, " ", &save), '\0');
	m->id = (int)id;
	(void)strtok_r(NULL, " ", &save); /* its parent */
	if (id < 0 || !parse_dev(strtok_r(NULL, " ", &save), m))
		return 0;
	(void)strtok_r(NULL, " ", &save); /* root within its filesystem */
	m->mnt = strtok_r(NULL, " ", &save);
	do {
		word = strtok_r(NULL, " ", &save);
	} while (word && strcmp(word, "-") != 0);
	m->type = strtok_r(NULL, " ", &save);
	m->source = strtok_r(NULL, " ", &save);
	if (!m->mnt || !m->type || !m->source)
		return 0;
	unescape(m->mnt);
	unescape(m->source);
	return 1;
}

int rs_mounts_each(int (*fn)(void *arg, const struct rs_mount *m), void *arg)
{
	RS_AUTO_FREE char *line = NULL;
	struct rs_mount m;
	size_t size = 0;
	FILE *file;
	int ret = 0;

	file = fopen("/proc/self/mountinfo", "re");
	if (!file)
		return -errno;
	while (ret == 0 && getline(&line, &size, file) >= 0)
		if (parse(line, &m))
			ret = fn(arg, &m);
	if (ret == 0 && ferror(file))
		ret = -EIO;
	fclose(file);
	return ret;
}

struct wanted {
	const char *mnt;
	struct rs_mount *ret;
	int found;
};

void rs_mount_release(struct rs_mount *m)
{
	free(m->mnt);
	free(m->type);
	free(m->source);
	memset(m, 0, sizeof(*m));
}

static int keep_last(void *arg, const struct rs_mount *m)
{
	struct wanted *want = arg;
	struct rs_mount copy = *m;

	if (strcmp(m->mnt, want->mnt) != 0)
		return 0;
	copy.mnt = strdup(m->mnt);
	copy.type = strdup(m->type);
	copy.source = strdup(m->source);
	if (!copy.mnt || !copy.type || !copy.source) {
		rs_mount_release(&copy);
		return -ENOMEM;
	}
	rs_mount_release(want->ret);
	*want->ret = copy;
	want->found = 1;
	return 0;
}

int rs_mounts_top(const char *mnt, struct rs_mount *ret)
{
	struct rs_mount top = { 0 };
	struct wanted want = { .mnt = mnt, .ret = &top };
	int err;

	err = rs_mounts_each(keep_last, &want);
	if (err == 0 && !want.found)
		err = -ENOENT;
	if (err) {
		rs_mount_release(&top);
		return err;
	}
	*ret = top;
	return 0;
}
