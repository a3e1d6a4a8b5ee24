/*
 * lib_size.h - sizes as people write and read them.
 */
#ifndef RS_LIB_SIZE_H
#define RS_LIB_SIZE_H

#include "include/rs_base.h"

/* Less than this holds no spool that works, or is a slip of the unit. */
#define RS_RAM_MIN (UINT64_C(16) << 20)
#define RS_CAPACITY_MIN (UINT64_C(1) << 20)
#define RS_INODES_MIN 64u

/*
 * "4096", "64K", "256M", "1G", "2T" (powers of 1024; lower case too).
 * Errors: -EINVAL (no number, something behind it), -ERANGE (over 2^63-1).
 */
RS_MUST_USE int rs_size_parse(const char *text, uint64_t *ret_bytes);
/* A plain decimal number; the same errors. */
RS_MUST_USE int rs_number_parse(const char *text, uint64_t *ret_number);

#define RS_SIZE_TEXT 24
/* "1.5G", "256M", "17": three digits that matter; returns buf. */
const char *rs_size_text(uint64_t bytes, char buf[RS_SIZE_TEXT]);
/* "340 ms", "12.5 s", "3 min" */
const char *rs_time_text(uint64_t ms, char buf[RS_SIZE_TEXT]);

#endif
