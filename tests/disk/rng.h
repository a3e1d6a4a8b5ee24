/*
 * rng.h - seeded choices of the simulated disk.
 *
 * A choice depends on the seed and on what it is about (a sector's number,
 * a write's place in the log), never on what was drawn before: one sector
 * more in the cache doesn't change what happens to the others.
 */
#ifndef RS_DISK_RNG_H
#define RS_DISK_RNG_H

#include <stdint.h>

/* splitmix64's output function */
static inline uint64_t rs_rng_mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* the draw number salt about subject, all 64 bits */
static inline uint64_t rs_rng_at(uint64_t seed, uint64_t subject, uint64_t salt)
{
	return rs_rng_mix(rs_rng_mix(rs_rng_mix(seed) ^ subject) ^ salt);
}

#endif
