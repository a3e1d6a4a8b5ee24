/*
 * lib_size.c - sizes as people write and read them.
 */
#include "tools/lib_size.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>

static const char units[] = "KMGT";

static int digits(const char *text, uint64_t *ret, const char **ret_end)
{
	uint64_t v = 0;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	for (; isdigit((unsigned char)*text); text++) {
		unsigned int d = (unsigned int)(*text - '0');

		if (v > ((uint64_t)INT64_MAX - d) / 10)
			return -ERANGE;
		v = v * 10 + d;
	}
	*ret = v;
	*ret_end = text;
	return 0;
}

int rs_size_parse(const char *text, uint64_t *ret_bytes)
{
	const char *end, *unit;
	uint64_t v;
	int err, shift = 0;

	err = digits(text, &v, &end);
	if (err)
		return err;
	if (*end) {
		unit = strchr(units, toupper((unsigned char)*end));
		if (!unit || end[1])
			return -EINVAL;
		shift = 10 * (int)(unit - units + 1);
	}
	if (v > (uint64_t)INT64_MAX >> shift)
		return -ERANGE;
	*ret_bytes = v << shift;
	return 0;
}

int rs_number_parse(const char *text, uint64_t *ret_number)
{
	const char *end;
	uint64_t v;
	int err;

	err = digits(text, &v, &end);
	if (err)
		return err;
	if (*end)
		return -EINVAL;
	*ret_number = v;
	return 0;
}

const char *rs_size_text(uint64_t bytes, char buf[RS_SIZE_TEXT])
{
	double v = (double)bytes;
	int unit = -1;

	while (v >= 1024 && unit < 3) {
		v /= 1024;
		unit++;
	}
	if (unit < 0)
		snprintf(buf, RS_SIZE_TEXT, "%u", (unsigned int)bytes);
	else
		snprintf(buf, RS_SIZE_TEXT, v < 9.95 ? "%.1f%c" : "%.0f%c", v,
			 units[unit]);
	return buf;
}

const char *rs_time_text(uint64_t ms, char buf[RS_SIZE_TEXT])
{
	if (ms < 1000)
		snprintf(buf, RS_SIZE_TEXT, "%u ms", (unsigned int)ms);
	else if (ms < 120000)
		snprintf(buf, RS_SIZE_TEXT, "%.1f s", (double)ms / 1000);
	else
		snprintf(buf, RS_SIZE_TEXT, "%llu min",
			 (unsigned long long)(ms / 60000));
	return buf;
}
