/*
 * company.c - trials of waiting for company.
 *
 * MODEL
 *	leg 0 off | 1 on | 2 on | 3 off | 4 as the trial says | leg 0 ...
 * so that a load that grows or shrinks steadily favours neither.
 *
 * INVARIANTS
 * I1	With fewer than two callers about nobody waits.
 * I2	The time that counts is between frames, so a quiet hour must not fall
 *	into a trial: it begins anew after IDLE_US without a frame.
 */
#include "journal/journal_p.h"

#define IDLE_US 1000000u
#define LEGS 4u

static int is_on(const struct rs_company *c)
{
	if (c->leg == LEGS)
		return c->pays;
	return c->leg == 1 || c->leg == 2;
}

static void start_leg(struct rs_company *c, unsigned int leg,
		      const struct timespec *now)
{
	if (leg == 0)
		c->served[0] = c->served[1] = c->us[0] = c->us[1] = 0;
	c->leg = leg;
	c->frames = 0;
	c->leg_since = *now;
}

/*
 * Does it serve a tenth more callers a second? Everybody's answer comes later
 * for it by up to a flush; where that is next to nothing, a twentieth.
 */
static int has_paid(const struct rs_company *c)
{
	uint64_t part = c->flush_us < RS_COMPANY_FAST_US ? 20 : 10;

	return c->served[1] * c->us[0] * part >
	       c->served[0] * c->us[1] * (part + 1);
}

static void end_leg(struct rs_company *c, const struct timespec *now)
{
	if (c->leg == LEGS) {
		start_leg(c, 0, now);
		return;
	}
	c->us[is_on(c)] += rs_journal_us(&c->leg_since, now);
	if (c->leg == LEGS - 1)
		c->pays = has_paid(c);
	start_leg(c, c->leg + 1, now);
}

void rs_company_note(struct rs_company *c, size_t served, size_t waiting,
		     uint64_t flush_us, const struct timespec *now)
{
	unsigned int frames = c->leg == LEGS ? RS_COMPANY_KEEP : RS_COMPANY_LEG;
	int idle = !c->since.tv_sec || rs_journal_us(&c->since, now) > IDLE_US;

	c->crowd = served + waiting;
	c->flush_us = c->flush_us ? (c->flush_us * 7 + flush_us) / 8 : flush_us;
	c->since = *now;
	if (idle && c->leg < LEGS) {
		start_leg(c, 0, now);
		return;
	}
	/* What only a timer asked for says nothing about callers. */
	if (served == 0)
		return;
	c->served[is_on(c)] += served;
	if (++c->frames >= frames)
		end_leg(c, now);
}

static uint64_t limit_us(const struct rs_company *c)
{
	if (c->flush_us < RS_COMPANY_FAST_US)
		return RS_COMPANY_FAST_WAIT_US;
	return c->flush_us < RS_COMPANY_MAX_US ? c->flush_us
					       : RS_COMPANY_MAX_US;
}

uint64_t rs_company_due(const struct rs_company *c, size_t waiting,
			const struct timespec *now)
{
	uint64_t age, limit = limit_us(c);

	if (!is_on(c) || c->crowd < 2 || waiting >= c->crowd)
		return 0;
	age = rs_journal_us(&c->since, now);
	return age >= limit ? 0 : limit - age;
}
