/*
 * ledger_op.h - a writer's system calls, each between its two records.
 */
#ifndef LEDGER_OP_H
#define LEDGER_OP_H

#include "ledger.h"

struct led_name {
	uint32_t dir;
	char name[LED_NAME_MAX + 1];
};

/* An object as its writer knows it. */
struct led_obj {
	uint32_t id;
	uint32_t mode;
	bool mine;    /* may be changed */
	bool adopted; /* content known by hash only: not to be written */
	bool alive;
	struct led_name names[LED_NAMES];
	unsigned int n_names;
	uint64_t ino, size;
	int fd; /* -1: opened for each operation */
};

struct led_writer {
	int log;
	uint16_t id;
	uint32_t n;	    /* next operation */
	unsigned int phase; /* counted from 1 */
	uint64_t seed;	    /* of the phase: content keys */
	uint64_t rng;
	uint32_t next_obj;
	int dead; /* -errno after which nothing can be expected */
	const struct led_run *run;
	uint32_t dirs[LED_DIRS]; /* object numbers */
	struct led_obj *objs;
	size_t count, cap;
};

uint64_t led_below(struct led_writer *w, uint64_t n);
/* A new object, not alive yet. Pointers to others become invalid: they are
 * kept by number. */
uint32_t led_new_obj(struct led_writer *w);
struct led_obj *led_obj(struct led_writer *w, uint32_t id);
void led_close(struct led_writer *w, uint32_t id);

/*
 * All return 0 or -errno; after an error that means the tree is gone they
 * set w->dead. dir is an object number.
 */
/* Open flags beside O_CREAT|O_EXCL|O_RDWR; the descriptor stays open. */
int led_create(struct led_writer *w, uint32_t id, uint32_t dir,
	       const char *name, int flags);
int led_mkdir(struct led_writer *w, uint32_t id, uint32_t dir,
	      const char *name);
int led_symlink(struct led_writer *w, uint32_t id, uint32_t dir,
		const char *name);
/* flags: LED_F_. off is ignored with LED_F_APPEND; O_SYNC and O_DSYNC need
 * LED_F_SYNC from the caller. LED_F_MMAP: within the size. */
int led_write(struct led_writer *w, uint32_t id, uint64_t off, uint64_t len,
	      unsigned int flags);
int led_truncate(struct led_writer *w, uint32_t id, uint64_t size);
int led_chmod(struct led_writer *w, uint32_t id, uint32_t mode);
int led_chown(struct led_writer *w, uint32_t id, uint32_t uid, uint32_t gid);
int led_utimes(struct led_writer *w, uint32_t id, int64_t mtime);
/* Name number i of id goes to dir/name; replaced: whose name it was, or 0. */
int led_rename(struct led_writer *w, uint32_t id, unsigned int i, uint32_t dir,
	       const char *name, uint32_t replaced);
int led_exchange(struct led_writer *w, uint32_t a, uint32_t b);
int led_link(struct led_writer *w, uint32_t id, uint32_t dir, const char *name);
int led_unlink(struct led_writer *w, uint32_t id, unsigned int i);
int led_rmdir(struct led_writer *w, uint32_t id);
int led_fsync(struct led_writer *w, uint32_t id);
int led_fsyncdir(struct led_writer *w, uint32_t dir);

/* ledger_mix.c: one pattern of an MTA, chosen at random. */
void led_mix(struct led_writer *w);

#endif
