/*
 * message.c - bytes and names of the messages. The bytes follow from seed and
 * offset alone, so that a check can make them again from any place on.
 */
#include <stdio.h>
#include <string.h>

#include "replay.h"

/* The finalizer of splitmix64: every input bit moves half of the output. */
uint64_t rs_mix(uint64_t v)
{
	v += UINT64_C(0x9e3779b97f4a7c15);
	v = (v ^ v >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	v = (v ^ v >> 27) * UINT64_C(0x94d049bb133111eb);
	return v ^ v >> 31;
}

/* `off` is a multiple of 8. */
void rs_fill(uint64_t seed, uint64_t off, void *buf, size_t len)
{
	unsigned char *p = buf;
	uint64_t word;
	size_t part;

	while (len > 0) {
		word = rs_mix(seed ^ rs_mix(off));
		part = len < sizeof(word) ? len : sizeof(word);
		memcpy(p, &word, part);
		p += part;
		off += part;
		len -= part;
	}
}

void rs_replay_path(const struct rs_replay_opts *opts, const char *queue,
		    const char *name, char ret_path[RS_REPLAY_PATH])
{
	snprintf(ret_path, RS_REPLAY_PATH, "%s/%s/%s", opts->dir, queue, name);
}
