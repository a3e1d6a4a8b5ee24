/*
 * parse.h - words of the command line and of the control socket.
 * All return -EINVAL, and leave the result untouched, for what they can't
 * understand.
 */
#ifndef RS_DISK_PARSE_H
#define RS_DISK_PARSE_H

#include "tests/disk/arm.h"
#include "tests/disk/cut.h"

/* a decimal number */
RS_MUST_USE int rs_dparse_number(const char *word, uint64_t *ret_n);
/* a decimal number with an optional K, M or G */
RS_MUST_USE int rs_dparse_size(const char *word, uint64_t *ret_size);
/* "on" or "off" */
RS_MUST_USE int rs_dparse_switch(const char *word, bool *ret_on);
/* "flush=US", "write=US", "read=US", "seek=US" */
RS_MUST_USE int rs_dparse_time(const char *word, struct rs_darm_times *times);
/* "hdd", "ssd", "none" */
RS_MUST_USE int rs_dparse_preset(const char *name,
				 struct rs_darm_times *ret_times);
/* "512", "4096" */
RS_MUST_USE int rs_dparse_sector(const char *word, uint32_t *ret_sector);
/* SEED [sector=512|4096] [keep=PERCENT] [by=mix|sector|write|prefix]; sector
 * is what the disk has if the words don't say. */
RS_MUST_USE int rs_dparse_cut(int argc, char **argv, uint32_t sector,
			      struct rs_dcut *ret_cut);

#endif
