/*
 * lib_export.h - a tree as plain files: owners, modes, times, hard links,
 * xattrs, holes.
 */
#ifndef RS_LIB_EXPORT_H
#define RS_LIB_EXPORT_H

#include "tools/lib_source.h"

struct rs_export_result {
	uint64_t files;	  /* names written, directories aside */
	uint64_t kept;	  /* of them: an earlier run had them whole */
	uint64_t lost;	  /* could not be read whole and were left out; said */
	uint64_t failed;  /* could not be written to OUT; said */
	uint64_t removed; /* of an earlier run, not in the source any more */
};

/*
 * Write the whole tree of src below the directory out. again: out may hold
 * what an earlier run wrote; it is compared byte by byte (after a power cut
 * sizes and times can be there before the bytes are), completed, and what the
 * source doesn't have is removed, except the name keep at its top. Flushed on
 * return. 0 or an exit code; the reason was said.
 */
RS_MUST_USE int rs_export_tree(const struct rs_source *src, int out,
			       const char *out_name, int again,
			       const char *keep,
			       struct rs_export_result *ret_result);

#endif
