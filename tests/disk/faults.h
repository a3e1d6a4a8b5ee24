/*
 * faults.h - errors to order: the n-th request, bad sectors, short requests,
 * a full disk. No locks: the caller serialises.
 */
#ifndef RS_DISK_FAULTS_H
#define RS_DISK_FAULTS_H

#include "include/rs_base.h"

#include <stdbool.h>

enum rs_dkind {
	RS_DREAD,
	RS_DWRITE,
	RS_DFLUSH,
	RS_DKINDS
};

struct rs_dfail {
	uint64_t left; /* the left-th request from now fails; 0: none */
	bool forever;  /* and all after it */
	bool drop;     /* a failed flush gives up what it should have saved */
};

struct rs_dbad {
	uint64_t off;
	uint64_t len;
	bool forever; /* also after it was written again */
};

struct rs_dfaults {
	struct rs_dfail fail[RS_DKINDS];
	uint64_t cut_left[RS_DKINDS]; /* power cut at the left-th; 0: none */
	/* bytes that the next read or write does; 0 bytes is no order */
	uint32_t shorten[RS_DKINDS];
	bool full; /* writes get ENOSPC */
	struct rs_dbad *bad;
	size_t bad_count;
};

void rs_dfaults_release(struct rs_dfaults *f);

/* "read", "write", "flush"; -EINVAL for others */
RS_MUST_USE int rs_dkind_parse(const char *name, enum rs_dkind *ret_kind);
const char *rs_dkind_name(enum rs_dkind kind);

/* One request arrives: 0, or the -errno that it gets. For a flush *ret_drop
 * says whether it gives up what it should have saved. */
RS_MUST_USE int rs_dfaults_arrive(struct rs_dfaults *f, enum rs_dkind kind,
				  uint64_t off, uint64_t len, bool *ret_drop);
/* True if this request is where the power goes. Called before arrive. */
bool rs_dfaults_cut_here(struct rs_dfaults *f, enum rs_dkind kind);
/* How much of len bytes is done, in whole sectors of the given size. */
uint32_t rs_dfaults_shorten(struct rs_dfaults *f, enum rs_dkind kind,
			    uint32_t len, uint32_t sector);

RS_MUST_USE int rs_dfaults_bad_add(struct rs_dfaults *f, uint64_t off,
				   uint64_t len, bool forever);
void rs_dfaults_bad_clear(struct rs_dfaults *f);
/* The range was written: its bad sectors are good again, save the ones that
 * are bad for ever. */
RS_MUST_USE int rs_dfaults_rewritten(struct rs_dfaults *f, uint64_t off,
				     uint64_t len);

#endif
