/*
 * lib_import.h - a tree of plain files into an empty store, inode numbers
 * and all.
 *
 * While an import is under way, and after one that was cut short, the store
 * has a file "import" that names where from: nothing mounts it then.
 */
#ifndef RS_LIB_IMPORT_H
#define RS_LIB_IMPORT_H

#include <limits.h>

#include "tools/lib_target.h"

#define RS_IMPORT_NAME "import"

struct rs_import_result {
	uint64_t files, bytes; /* names but directories; allocated bytes */
	uint64_t kept;	       /* of the files: an earlier run had them */
	uint64_t sockets;      /* left out; said */
	uint64_t no_xattr;     /* files whose xattrs were left out */
};

/*
 * Import src into the store of target. An import that was cut short is
 * continued. 0 or an exit code; the reason was said.
 */
RS_MUST_USE int rs_import_run(const struct rs_target *target, const char *src,
			      int xattr, struct rs_import_result *ret_result);

/*
 * Is an import under way in this store? 0; 1, and where from is in
 * ret_src; -errno.
 */
RS_MUST_USE int rs_import_mark_read(const char *store, char ret_src[PATH_MAX]);
RS_MUST_USE int rs_import_mark_write(const char *store, const char *src);
RS_MUST_USE int rs_import_mark_remove(const char *store);
/*
 * Refuse a store that is imported by half: 0, or an exit code, and what to
 * do was said.
 */
RS_MUST_USE int rs_import_refuse(const char *store);

#endif
