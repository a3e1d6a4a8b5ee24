/*
 * lib_out.h - the directory that a tree is written to.
 */
#ifndef RS_LIB_OUT_H
#define RS_LIB_OUT_H

#include "include/rs_base.h"

/* Stands in OUT while it is written, and after a run that was cut short. */
#define RS_OUT_NAME ".rspool-export"

/*
 * Open path, made when it isn't there; not inside store. It must be empty;
 * with ret_again (else NULL) it may hold what an earlier run wrote (1 then),
 * and RS_OUT_NAME is there on return. 0 or an exit code; the reason was said.
 */
RS_MUST_USE int rs_out_open(const char *path, const char *store, int *ret_again,
			    int *ret_fd);
/* All is written: the name goes. 0 or an exit code. */
RS_MUST_USE int rs_out_finish(const char *path, int fd);

#endif
