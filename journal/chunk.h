/*
 * chunk.h - where pages of 4096 bytes and chunks of RS_CHUNK bytes meet.
 *
 *	pages   |     0     |     1     |     2     |
 *	chunks  |    0     |    1     |    2     |    3     |
 *
 * A chunk is shorter than a page, so it overlaps one or two pages, and a
 * page two or three chunks.
 */
#ifndef RS_CHUNK_H
#define RS_CHUNK_H

#include "journal/value.h"

static inline uint64_t rs_chunk_first_page(uint64_t chunk)
{
	return chunk * RS_CHUNK / RS_PAGE;
}

static inline uint64_t rs_chunk_last_page(uint64_t chunk)
{
	return (chunk * RS_CHUNK + RS_CHUNK - 1) / RS_PAGE;
}

/* First chunk that overlaps the page, and the first after it that does not */
static inline uint64_t rs_page_first_chunk(uint64_t page)
{
	return page * RS_PAGE / RS_CHUNK;
}

static inline uint64_t rs_page_end_chunk(uint64_t page)
{
	return ((page + 1) * RS_PAGE - 1) / RS_CHUNK + 1;
}

/* First chunk that begins at or after the page's first byte. */
static inline uint64_t rs_page_next_chunk(uint64_t page)
{
	return (page * RS_PAGE + RS_CHUNK - 1) / RS_CHUNK;
}

/* The flags of the chunk's pages that lie in [page, end). */
static inline uint8_t rs_chunk_flags_in(uint64_t chunk, uint64_t page,
					uint64_t end)
{
	uint64_t first = rs_chunk_first_page(chunk);
	uint64_t last = rs_chunk_last_page(chunk);
	uint8_t flags = 0;

	if (first >= page && first < end)
		flags |= RS_VD_FIRST;
	if (last != first && last >= page && last < end)
		flags |= RS_VD_SECOND;
	return flags;
}

#endif
