/* parse.c - see parse.h */
#include "tests/disk/parse.h"

#include <errno.h>

int rs_dparse_number(const char *word, uint64_t *ret_n)
{
	unsigned long long n;
	char *end;

	if (*word < '0' || *word > '9')
		return -EINVAL;
	errno = 0;
	n = strtoull(word, &end, 10);
	if (errno || *end)
		return -EINVAL;
	*ret_n = n;
	return 0;
}

int rs_dparse_size(const char *word, uint64_t *ret_size)
{
	static const char units[] = "KMG";
	unsigned long long n;
	unsigned shift = 0;
	char *end;

	if (*word < '0' || *word > '9')
		return -EINVAL;
	errno = 0;
	n = strtoull(word, &end, 10);
	if (errno)
		return -EINVAL;
	if (*end) {
		const char *unit = strchr(units, *end);

		if (!unit || end[1])
			return -EINVAL;
		shift = 10 * (unsigned)(unit - units + 1);
	}
	if (n > UINT64_MAX >> shift)
		return -EINVAL;
	*ret_size = (uint64_t)n << shift;
	return 0;
}

int rs_dparse_switch(const char *word, bool *ret_on)
{
	if (strcmp(word, "on") != 0 && strcmp(word, "off") != 0)
		return -EINVAL;
	*ret_on = strcmp(word, "on") == 0;
	return 0;
}

/* The value if word is "KEY=VALUE" with this key, else NULL. */
static const char *value_of(const char *word, const char *key)
{
	size_t n = strlen(key);

	return strncmp(word, key, n) == 0 && word[n] == '=' ? word + n + 1
							    : NULL;
}

int rs_dparse_time(const char *word, struct rs_darm_times *times)
{
	int i;

	for (i = 0; i <= RS_DKINDS; i++) {
		const char *key = i == RS_DKINDS
					  ? "seek"
					  : rs_dkind_name((enum rs_dkind)i);
		const char *value = value_of(word, key);
		uint64_t us;

		if (!value)
			continue;
		/* More than an hour is a mistake. */
		if (rs_dparse_number(value, &us) || us > 3600000000u)
			return -EINVAL;
		*(i == RS_DKINDS ? &times->seek_us : &times->us[i]) = us;
		return 0;
	}
	return -EINVAL;
}

/* hdd: 7200 turns a minute are 8.3 ms each, so a flush waits for one;
 * ssd: a consumer's, without capacitors. */
static const struct {
	const char *name;
	struct rs_darm_times times;
} presets[] = {
	{ "hdd", { .us = { [RS_DFLUSH] = 8000 }, .seek_us = 4000 } },
	{ "ssd", { .us = { [RS_DFLUSH] = 1000, [RS_DWRITE] = 20 } } },
	{ "none", { .seek_us = 0 } },
};

int rs_dparse_preset(const char *name, struct rs_darm_times *ret_times)
{
	size_t i;

	for (i = 0; i < RS_ARRAY_LEN(presets); i++) {
		if (strcmp(name, presets[i].name) == 0) {
			*ret_times = presets[i].times;
			return 0;
		}
	}
	return -EINVAL;
}

int rs_dparse_sector(const char *word, uint32_t *ret_sector)
{
	uint64_t n;

	if (rs_dparse_number(word, &n) || (n != 512 && n != 4096))
		return -EINVAL;
	*ret_sector = (uint32_t)n;
	return 0;
}

static int cut_word(const char *word, struct rs_dcut *cut)
{
	const char *value;
	uint64_t n;

	value = value_of(word, "by");
	if (value)
		return rs_dcut_by_parse(value, &cut->by);
	value = value_of(word, "keep");
	if (value) {
		if (rs_dparse_number(value, &n) || n > 100)
			return -EINVAL;
		cut->keep = (int)n;
		return 0;
	}
	value = value_of(word, "sector");
	return value ? rs_dparse_sector(value, &cut->sector) : -EINVAL;
}

int rs_dparse_cut(int argc, char **argv, uint32_t sector,
		  struct rs_dcut *ret_cut)
{
	struct rs_dcut cut = { .sector = sector,
			       .keep = -1,
			       .by = RS_DCUT_MIX };
	int i;

	if (argc < 1 || rs_dparse_number(argv[0], &cut.seed))
		return -EINVAL;
	for (i = 1; i < argc; i++)
		if (cut_word(argv[i], &cut))
			return -EINVAL;
	*ret_cut = cut;
	return 0;
}
