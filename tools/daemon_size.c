/*
 * daemon_size.c - ram, capacity and inodes: what the options, the marker, the
 * machine and the spool itself allow, at the start and while it serves.
 */
#include <errno.h>
#include <stdio.h>

#include "tools/daemon.h"
#include "tools/daemon_log.h"
#include "tools/lib_limit.h"
#include "tools/lib_say.h"
#include "tools/lib_size.h"

/* Beside `ram`: two group segments, frames in flight, threads, LMDB. */
#define OVERHEAD (UINT64_C(48) << 20)
/* Rough cost of an inode and its name in RAM, for the default of ram=. */
#define INODE_RAM 512u
#define WHY_MAX 256

/* Everything in RAM, the ring's frames until they are folded, a reserve. */
static uint64_t ram_wanted(const struct rs_marker *marker,
			   const struct rs_core_cfg *cfg)
{
	uint64_t need = cfg->capacity + cfg->capacity / 16 + marker->ring_size +
			cfg->inodes * INODE_RAM;

	return need + need / 8 + OVERHEAD;
}

/* 0, or -E2BIG with why */
static int machine_holds(uint64_t ram, char why[WHY_MAX])
{
	char a[RS_SIZE_TEXT], b[RS_SIZE_TEXT];
	const char *by;
	uint64_t limit = rs_limit_memory(&by);

	if (ram + OVERHEAD <= limit - limit / 20)
		return 0;
	snprintf(why, WHY_MAX,
		 "option 'ram=%s' and 48M beside it are more than the %s has"
		 " (%s)",
		 rs_size_text(ram, a), by, rs_size_text(limit, b));
	return -E2BIG;
}

/* As much as the spool can need, at most half of what is. */
static uint64_t default_ram(const struct rs_marker *marker,
			    const struct rs_core_cfg *cfg)
{
	uint64_t need = ram_wanted(marker, cfg);
	const char *by;
	uint64_t limit = rs_limit_memory(&by);

	return need < limit / 2 ? need : limit / 2;
}

/* More than the store was made for: it is made larger. */
static int grow(struct rs_daemon *d, uint64_t capacity, uint64_t inodes,
		char why[WHY_MAX])
{
	const struct rs_marker *marker = rs_journal_marker(d->journal);
	char a[RS_SIZE_TEXT];
	int err;

	if (capacity <= marker->capacity && inodes <= marker->inodes)
		return 0;
	err = rs_journal_grow(d->journal, capacity, inodes);
	if (!err) {
		rs_log(LOG_NOTICE,
		       "the store '%s' is for %s and %llu files now", d->store,
		       rs_size_text(marker->capacity, a),
		       (unsigned long long)marker->inodes);
		return 0;
	}
	snprintf(why, WHY_MAX,
		 "cannot make the store larger than it was made for (%s, %llu"
		 " files): %s",
		 rs_size_text(marker->capacity, a),
		 (unsigned long long)marker->inodes,
		 err == -ENOSPC ? "its disk has no room" : strerror(-err));
	return err;
}

int rs_daemon_limits(struct rs_daemon *d, struct rs_core_cfg *cfg)
{
	const struct rs_marker *marker = rs_journal_marker(d->journal);
	const struct rs_opts *opts = &d->opts;
	char why[WHY_MAX];

	if ((opts->ram && machine_holds(opts->ram, why)) ||
	    grow(d, opts->capacity, opts->inodes, why)) {
		rs_say("%s", why);
		return RS_EXIT_FAILED;
	}
	cfg->capacity = opts->capacity ? opts->capacity : marker->capacity;
	cfg->inodes = opts->inodes ? opts->inodes : marker->inodes;
	cfg->ram = opts->ram ? opts->ram : default_ram(marker, cfg);
	return 0;
}

/*
 * Is what is in use more than asked for? Then why. A limit of 0 was not asked
 * for.
 */
static int in_the_way(const struct rs_core_status *st,
		      const struct rs_limits *limits, char why[WHY_MAX])
{
	char a[RS_SIZE_TEXT], b[RS_SIZE_TEXT];

	if (limits->capacity && st->data_bytes > limits->capacity)
		snprintf(why, WHY_MAX,
			 "the spool holds %s, more than capacity=%s allows",
			 rs_size_text(st->data_bytes, a),
			 rs_size_text(limits->capacity, b));
	else if (limits->inodes && st->inodes > limits->inodes)
		snprintf(why, WHY_MAX,
			 "the spool has %llu files, more than inodes=%llu"
			 " allows",
			 (unsigned long long)st->inodes,
			 (unsigned long long)limits->inodes);
	else if (limits->ram && st->ram_bytes > limits->ram)
		snprintf(why, WHY_MAX,
			 "the spool needs %s of memory, more than ram=%s"
			 " allows",
			 rs_size_text(st->ram_bytes, a),
			 rs_size_text(limits->ram, b));
	else
		return 0;
	return 1;
}

int rs_daemon_fits(struct rs_daemon *d)
{
	struct rs_core_status st;
	struct rs_limits limits;
	char why[WHY_MAX];

	rs_core_status(d->core, &st);
	limits = (struct rs_limits){ st.ram, st.capacity, st.inodes_max };
	if (!in_the_way(&st, &limits, why))
		return 0;
	rs_say("%s: give it more", why);
	return RS_EXIT_FAILED;
}

/* ---- while it serves ---- */

/* Under d->lock: one at a time. */
static int set_limits(struct rs_daemon *d, const struct rs_limits *limits,
		      char why[WHY_MAX])
{
	struct rs_core_status st;
	int err;

	rs_core_status(d->core, &st);
	/* of its memory most can be dropped: that is tried below */
	if (in_the_way(
		    &st,
		    &(struct rs_limits){ 0, limits->capacity, limits->inodes },
		    why))
		return -EBUSY;
	err = limits->ram ? machine_holds(limits->ram, why) : 0;
	if (!err)
		err = grow(d, limits->capacity, limits->inodes, why);
	if (err)
		return err;
	err = rs_core_set_limits(d->core, limits);
	if (err)
		snprintf(why, WHY_MAX,
			 "the spool needs more than that now, nothing was"
			 " changed");
	return err;
}

json_t *rs_daemon_sizes(struct rs_daemon *d, const struct rs_limits *limits)
{
	struct rs_core_status st;
	char why[WHY_MAX] = "";
	int err;

	pthread_mutex_lock(&d->lock);
	err = set_limits(d, limits, why);
	pthread_mutex_unlock(&d->lock);
	if (err)
		return json_pack("{s:b, s:s, s:i}", "ok", 0, "error", why,
				 "code", -err);
	rs_ll_space(d->ll);
	rs_core_status(d->core, &st);
	rs_log(LOG_INFO, "ram=%llu, capacity=%llu, inodes=%llu from now",
	       (unsigned long long)st.ram, (unsigned long long)st.capacity,
	       (unsigned long long)st.inodes_max);
	return json_pack("{s:b, s:I, s:I, s:I}", "ok", 1, "ram",
			 (json_int_t)st.ram, "capacity",
			 (json_int_t)st.capacity, "inodes",
			 (json_int_t)st.inodes_max);
}
