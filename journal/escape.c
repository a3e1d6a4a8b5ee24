/*
 * escape.c - a name from mail as text that is safe on a terminal and in a
 * log: control bytes, backslash and what isn't ASCII as \ooo.
 */
#include "journal/report.h"

void rs_escape(const void *name, size_t len, char *ret_text, size_t size)
{
	const uint8_t *p = name;
	size_t n = 0, i;

	for (i = 0; i < len; i++) {
		if (n + 5 > size)
			break;
		if (p[i] >= 0x20 && p[i] < 0x7f && p[i] != '\\') {
			ret_text[n++] = (char)p[i];
			continue;
		}
		ret_text[n++] = '\\';
		ret_text[n++] = (char)('0' + (p[i] >> 6));
		ret_text[n++] = (char)('0' + (p[i] >> 3 & 7));
		ret_text[n++] = (char)('0' + (p[i] & 7));
	}
	if (size > 0)
		ret_text[n] = '\0';
}
