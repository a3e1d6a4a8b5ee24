/*
 * cut.h - which unflushed sectors a power cut leaves on the medium.
 */
#ifndef RS_DISK_CUT_H
#define RS_DISK_CUT_H

#include "tests/disk/cache.h"

enum rs_dcut_by {
	RS_DCUT_MIX,	/* the seed chooses one of the following */
	RS_DCUT_SECTOR, /* each sector by itself, any of its versions */
	RS_DCUT_WRITE,	/* whole writes, in any order */
	RS_DCUT_PREFIX, /* the writes up to one, which is torn */
};

struct rs_dcut {
	uint64_t seed;
	uint32_t sector; /* bytes kept or lost together: 512 or 4096 */
	int keep;	 /* percent kept; -1: the seed chooses */
	enum rs_dcut_by by;
};

struct rs_dcut_result {
	struct rs_dcut used; /* with what the seed chose filled in */
	/* by=sector: units of used.sector bytes that had something unflushed;
	 * else 512-byte sectors of the unflushed writes */
	uint64_t units;
	uint64_t kept;	/* of these: with the newest version, or written */
	uint64_t older; /* by=sector: with an older unflushed version */
};

/* Put the choice on the medium and empty the cache. The same log and the same
 * cut give the same image. */
RS_MUST_USE int rs_dcut_apply(struct rs_dcache *c, const struct rs_dcut *cut,
			      struct rs_dcut_result *ret_result);

/* "sector", …, or NULL */
const char *rs_dcut_by_name(enum rs_dcut_by by);
/* -EINVAL for an unknown name */
RS_MUST_USE int rs_dcut_by_parse(const char *name, enum rs_dcut_by *ret_by);

#endif
