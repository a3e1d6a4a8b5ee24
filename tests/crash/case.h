/*
 * case.h - one power cut: build what the disk holds, recover it in one of
 * the ways that exist, compare with what was promised.
 */
#ifndef CASE_H
#define CASE_H

#include "play.h"

/* An empty store with the smallest ring. Exits on failure. */
void case_make_store(const char *dir);
void case_empty_dir(const char *dir);
/* Copy FROM/NAME to TO/NAME, sparse. */
void case_copy(const char *from, const char *to, const char *name);

/*
 * The power goes before event cut; marker is a directory with the store's
 * rspool.id. Prints what is wrong with an id that replays it. Returns 0 if
 * all is well; *ret_found: the snapshot that came back.
 */
int case_run(struct play *play, uint64_t seed, size_t cut, unsigned int variant,
	     const char *dir, const char *marker, size_t *ret_found);

#endif
