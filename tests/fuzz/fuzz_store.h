/* fuzz_store.h - a small store in RAM that a fuzz target may damage. */
#ifndef FUZZ_STORE_H
#define FUZZ_STORE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Make DIR (once) a copy of a small good store with a few frames not folded;
 * further calls put its files back as they were. Returns its path.
 */
const char *fuzz_store_reset(void);
/* Open it read-only and serve its tree; all results are fine but a crash. */
void fuzz_store_open(const char *dir);
/* The same as rspoolctl recover does: fold everything. */
void fuzz_store_recover(const char *dir);

#endif
