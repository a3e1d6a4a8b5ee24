/*
 * lib_pids.h - who has something open on a mount.
 */
#ifndef RS_LIB_PIDS_H
#define RS_LIB_PIDS_H

#include "include/rs_base.h"

#define RS_PIDS_MAX 32u

struct rs_pids {
	pid_t pid[RS_PIDS_MAX];
	char name[RS_PIDS_MAX][20]; /* command, escaped for printing */
	unsigned int n;		    /* listed */
	unsigned int more;	    /* found beyond those */
};

/*
 * Processes with an open file, a working or root directory or a mapping on
 * device dev. No request goes to the mount, so a daemon may ask about its
 * own. What can't be looked at (permission) is left out.
 */
void rs_pids_find(dev_t dev, struct rs_pids *ret_pids);
/* "postfix/qmgr (812), cp (900)" */
void rs_pids_text(const struct rs_pids *pids, char *ret_text, size_t size);

#endif
