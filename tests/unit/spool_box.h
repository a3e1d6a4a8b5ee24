/*
 * spool_box.h - core and journal on a store in a temporary directory, by
 * path, for the tests of policies. Without threads commits are by hand.
 */
#ifndef RS_SPOOL_BOX_H
#define RS_SPOOL_BOX_H

#include "fs/core.h"

#define SPOOL_RING (UINT64_C(512) << 10)

struct spool {
	char dir[64];
	const struct rs_rule *rules; /* set before spool_open() */
	size_t n_rules;
	enum rs_policy policy;
	uint64_t ram, capacity;
	int threads; /* with committer and checkpointer */
	struct rs_core *core;
	struct rs_journal *j;
	struct rs_report rep;
};

extern struct spool spool;
extern const struct rs_who spool_who;

/* cmocka fixtures: an empty store, closed. */
int spool_set_up(void **state);
int spool_tear_down(void **state);
/* Likewise, but open, with these rules and the directories q and v. */
int spool_set_up_qv(void **state, const struct rs_rule *rules, size_t n);

/* Open and load; no finding is expected. */
void spool_open(void);
/* As if the process had died. */
void spool_crash(void);
/* The crash, and the next mount. */
void spool_again(void);
/* An orderly end. */
void spool_stop(void);
void spool_commit(void);
void spool_fold(void);

/* By path from the root, without a leading slash; assert success. */
uint64_t spool_ino(const char *path); /* 0: there is none */
uint64_t spool_mkdir(const char *path);
uint64_t spool_file(const char *path, const char *text);
/* n bytes of a pattern that hangs on seed */
uint64_t spool_big(const char *path, size_t n, unsigned int seed);
int spool_rename(const char *from, const char *to, unsigned int flags);
int spool_link(const char *from, const char *to);
int spool_unlink(const char *path);
int spool_rmdir(const char *path);
int spool_set(const char *path, enum rs_policy policy);
void spool_expect(const char *path, const char *text);
void spool_expect_big(const char *path, size_t n, unsigned int seed);
/* All paths of the tree but the root, sorted, joined with spaces. */
void spool_expect_tree(const char *want);
char *spool_tree(void); /* to be freed */
/* bytes of frames written so far */
uint64_t spool_written(void);

#endif
