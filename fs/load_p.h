/*
 * load_p.h - what the three steps of loading a tree share: the store's
 * metadata (load.c), the frames not folded (replay.c), the checks (check.c).
 * Nobody else uses the core meanwhile.
 */
#ifndef RS_LOAD_P_H
#define RS_LOAD_P_H

#include "fs/core_p.h"

struct rs_load {
	struct rs_core *core;
	struct rs_report *rep;
};

/*
 * The inode of that number; one that is only named so far is made as a
 * ghost, of the type that mode says (0: unknown). NULL: no memory.
 */
struct rs_inode *rs_load_inode(struct rs_load *load, uint64_t ino,
			       uint32_t mode);
/* Give it the attributes, turning a ghost into an inode. -ENOMEM */
RS_MUST_USE int rs_load_attr(struct rs_load *load, struct rs_inode *inode,
			     const struct rs_attr *attr);
/* Name in dir leads to child, whatever it did before. -ENOMEM */
RS_MUST_USE int rs_load_entry(struct rs_load *load, struct rs_inode *dir,
			      const uint8_t *name, size_t len,
			      struct rs_inode *child, uint64_t frame);
void rs_load_unentry(struct rs_load *load, struct rs_dentry *dentry);
RS_MUST_USE int rs_load_target(struct rs_load *load, struct rs_inode *inode,
			       const uint8_t *target, size_t len);

/* A record of a frame that is not folded; fn of rs_journal_replay(). */
int rs_load_record(void *arg, const struct rs_rec *rec, uint64_t number);

/* Entries lead to inodes, inodes have entries, link counts are right. */
RS_MUST_USE int rs_load_check(struct rs_load *load);

#endif
