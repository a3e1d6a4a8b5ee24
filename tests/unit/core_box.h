/*
 * core_box.h - a tree for a test: made, driven by short calls, freed.
 */
#ifndef RS_CORE_BOX_H
#define RS_CORE_BOX_H

#include "fs/core.h"

/* settable clock: a step of a second at each change */
struct rs_box {
	struct rs_core *core;
	int64_t seconds;
};

extern const struct rs_who rs_box_root;

/* Defaults where cfg (may be NULL) says 0; asserts that all goes well. */
void rs_box_make(struct rs_box *box, const struct rs_core_cfg *cfg);
void rs_box_free(struct rs_box *box);

/* Numbers of new inodes; reference dropped at once. Assert success. */
uint64_t rs_box_file(struct rs_box *box, uint64_t dir, const char *name);
uint64_t rs_box_dir(struct rs_box *box, uint64_t dir, const char *name);
/* 0 if there is no such name */
uint64_t rs_box_find(struct rs_box *box, uint64_t dir, const char *name);
struct rs_attr rs_box_stat(struct rs_box *box, uint64_t ino);
/* Whole text of a file written at its beginning, and compared. */
void rs_box_put(struct rs_box *box, uint64_t ino, const char *text);
void rs_box_expect(struct rs_box *box, uint64_t ino, const char *text);
/* Names in the order of readdir, joined with spaces, without dots. */
void rs_box_list(struct rs_box *box, uint64_t dir, char *ret_text, size_t size);
/* Every number that must be what it was once all is deleted again. */
void rs_box_expect_empty(struct rs_box *box);

#endif
