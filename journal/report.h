/*
 * report.h - what recovery, verification and salvage found (DESIGN G7).
 * Filled by the journal, printed by tools/. Counts are never negative.
 */
#ifndef RS_REPORT_H
#define RS_REPORT_H

#include "include/rs_base.h"

enum rs_finding_kind {
	RS_FIND_FRAME,	 /* a frame that can't be read: number, place */
	RS_FIND_INODE,	 /* a suspect inode: bytes not served */
	RS_FIND_ENTRY,	 /* an entry without an inode */
	RS_FIND_ORPHAN,	 /* an inode without an entry */
	RS_FIND_DIR_GAP, /* directory: entries may be missing or be back */
	RS_FIND_VALUE,	 /* a store value that does not prove itself */
	RS_FIND_STORE,	 /* data.mdb as a whole: why says what */
	RS_FIND_RING,	 /* intent.log as a whole */
};

struct rs_finding {
	enum rs_finding_kind kind;
	uint64_t ino;	 /* inode or directory, 0 if unknown */
	uint64_t number; /* frame, 0 if unknown */
	uint64_t place;	 /* byte in the file, UINT64_MAX if unknown */
	char name[4 * RS_NAME_MAX + 1]; /* escaped for printing, or "" */
	char why[160];
};

struct rs_report {
	uint64_t frames_found, frames_replayed, records_replayed;
	uint64_t bytes_replayed;		  /* of DATA records */
	uint64_t files, dirs, symlinks, specials; /* in the recovered tree */
	uint64_t file_bytes; /* sum of sizes of regular files */
	uint64_t reaped;     /* staged or removed inodes that were cleared */
	int unfinished;	     /* 1: an unfinished last frame was dropped */
	uint64_t unfinished_number, unfinished_place;
	int was_clean; /* orderly end before */
	uint64_t highest_number;
	uint64_t quarantined; /* findings that are damage */
	struct rs_finding *findings;
	size_t n_findings, cap_findings;
	uint64_t findings_lost; /* more than the list may hold */
};

/* Most findings kept in the list; further ones are only counted. */
#define RS_REPORT_MAX 100000u

void rs_report_init(struct rs_report *rep);
void rs_report_release(struct rs_report *rep);
/*
 * Add damage. name: len raw bytes or NULL. why: printf format. Never fails:
 * without memory the finding is counted in findings_lost.
 */
void rs_report_add(struct rs_report *rep, enum rs_finding_kind kind,
		   uint64_t ino, uint64_t number, uint64_t place,
		   const void *name, size_t len, const char *why, ...)
	__attribute__((format(printf, 8, 9)));
const char *rs_finding_kind_name(enum rs_finding_kind kind);
/* Escape len bytes for a terminal: control bytes, backslash, non-ASCII. */
void rs_escape(const void *name, size_t len, char *ret_text, size_t size);

#endif
