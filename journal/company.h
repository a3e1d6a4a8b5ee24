/*
 * company.h - does it pay to wait for company before a cut?
 *
 * A caller that was answered just now comes back soon, if an MTA's processes
 * take one message after the other. A group that is cut at once has only
 * those in it who came while the disk was busy, so two half-size groups take
 * turns and each flush carries half of the callers. Whoever waits until as
 * many are there as were seen last, has half of the flushes; on a disk that
 * is fast beside the callers that costs time and gains nothing.
 *
 * Nobody knows which beforehand, so it is tried: some frames without, with,
 * with and without waiting, and then what served more callers a second, by a
 * margin, is kept for a while. Ties go to not waiting, which answers sooner.
 *
 * Not thread-safe: the group lock covers it.
 */
#ifndef RS_COMPANY_H
#define RS_COMPANY_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* frames in each of a trial's four legs, and until the next trial */
#define RS_COMPANY_LEG 16u
#define RS_COMPANY_KEEP 512u
/*
 * us. Nobody waits longer than a flush takes, nor than MAX. Where a flush takes
 * less than FAST it is the processor's time that it costs, not the disk's, and
 * it takes some callers to make up for that: FAST_WAIT.
 */
#define RS_COMPANY_MAX_US 20000u
#define RS_COMPANY_FAST_US 700u
#define RS_COMPANY_FAST_WAIT_US 2000u

struct rs_company {
	size_t crowd;	       /* answered by the last frame, or waiting then */
	uint64_t flush_us;     /* moving average */
	struct timespec since; /* the last frame; 0: none yet */
	int pays;	       /* the last trial's result */
	unsigned int leg;      /* 0 to 3: trial, 4: kept */
	unsigned int frames;   /* in this leg */
	struct timespec leg_since;
	uint64_t served[2], us[2]; /* [1]: with waiting */
};

/*
 * A frame was made durable at now, after a flush of flush_us; served callers
 * are answered and waiting others have come since it was cut.
 */
void rs_company_note(struct rs_company *c, size_t served, size_t waiting,
		     uint64_t flush_us, const struct timespec *now);

/*
 * Microseconds that a cut may be put off while only `waiting` callers ask for
 * it; 0: cut. crowd of them are worth waiting for.
 */
uint64_t rs_company_due(const struct rs_company *c, size_t waiting,
			const struct timespec *now);

#endif
