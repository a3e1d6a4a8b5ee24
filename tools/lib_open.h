/*
 * lib_open.h - open a store's journal and say in one line why not.
 */
#ifndef RS_LIB_OPEN_H
#define RS_LIB_OPEN_H

#include "journal/journal.h"

/*
 * rs_journal_open(), after a look at the marker. Returns 0 or an exit code;
 * the reason was said on stderr, findings are in rep.
 */
RS_MUST_USE int rs_open_store(const struct rs_journal_cfg *cfg,
			      struct rs_report *rep,
			      struct rs_journal **ret_journal);
/* The marker of dir alone; likewise. */
RS_MUST_USE int rs_open_marker(const char *dir, struct rs_marker *ret_marker);

#endif
