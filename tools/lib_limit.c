/*
 * lib_limit.c - the machine's memory and the cgroups' limits.
 *
 * A cgroup's limit counts for all below it, so the whole path up to the root
 * is looked at. /proc/self/cgroup names the path: "0::/a/b" for v2,
 * "9:memory:/a/b" for v1. In a container the path may not exist under
 * /sys/fs/cgroup, whose root is then our own group.
 */
#include "tools/lib_limit.h"

#include <limits.h>
#include <stdio.h>

#define V2_ROOT "/sys/fs/cgroup"
#define V1_ROOT "/sys/fs/cgroup/memory"

static uint64_t total_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES);
	long size = sysconf(_SC_PAGESIZE);

	if (pages <= 0 || size <= 0)
		return UINT64_MAX;
	return (uint64_t)pages * (uint64_t)size;
}

/* The number in a file; UINT64_MAX for "max", no file, no number. */
static uint64_t read_limit(const char *dir, const char *name)
{
	char path[PATH_MAX], text[32] = "";
	unsigned long long v;
	FILE *file;
	char *end;
	int n;

	n = snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (n < 0 || (size_t)n >= sizeof(path))
		return UINT64_MAX;
	file = fopen(path, "re");
	if (!file)
		return UINT64_MAX;
	if (!fgets(text, sizeof(text), file))
		text[0] = '\0';
	fclose(file);
	v = strtoull(text, &end, 10);
	return end == text ? UINT64_MAX : v;
}

/* The least limit from root/path up to root itself. */
static uint64_t least(const char *root, const char *path, const char *name)
{
	char dir[PATH_MAX];
	uint64_t v, min = UINT64_MAX;
	char *slash;
	int n;

	n = snprintf(dir, sizeof(dir), "%s%s", root, path);
	if (n < 0 || (size_t)n >= sizeof(dir))
		return min;
	for (;;) {
		v = read_limit(dir, name);
		if (v < min)
			min = v;
		slash = strrchr(dir, '/');
		if (!slash || strlen(dir) <= strlen(root))
			return min;
		*slash = '\0';
	}
}

static int has_memory(const char *controllers)
{
	char copy[256], *save = NULL, *word;

	snprintf(copy, sizeof(copy), "%s", controllers);
	for (word = strtok_r(copy, ",", &save); word;
	     word = strtok_r(NULL, ",", &save))
		if (!strcmp(word, "memory"))
			return 1;
	return 0;
}

static uint64_t limit_of_line(char *line)
{
	char *controllers, *path;

	line[strcspn(line, "\n")] = '\0';
	controllers = strchr(line, ':');
	path = controllers ? strchr(controllers + 1, ':') : NULL;
	if (!path)
		return UINT64_MAX;
	*path++ = '\0';
	controllers++;
	if (!*controllers)
		return least(V2_ROOT, path, "memory.max");
	if (has_memory(controllers))
		return least(V1_ROOT, path, "memory.limit_in_bytes");
	return UINT64_MAX;
}

uint64_t rs_limit_memory(const char **ret_by)
{
	uint64_t min = total_memory(), v;
	RS_AUTO_FREE char *line = NULL;
	size_t size = 0;
	FILE *file;

	*ret_by = "machine";
	file = fopen("/proc/self/cgroup", "re");
	while (file && getline(&line, &size, file) >= 0) {
		v = limit_of_line(line);
		if (v >= min)
			continue;
		min = v;
		*ret_by = "cgroup";
	}
	if (file)
		fclose(file);
	return min;
}
