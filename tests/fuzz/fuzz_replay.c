/*
 * fuzz_replay.c - records that are well formed but make no sense: the input
 * is the body of one whole, authentic frame after the store's last one.
 */
#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "fuzz_store.h"
#include "journal/journal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Append one frame with this body, as a process with its own salt would. */
static void append(const char *dir, const uint8_t *data, size_t size)
{
	struct rs_journal_cfg cfg = { .dir = dir,
				      .mode = RS_JOURNAL_RECOVER,
				      .manual = 1,
				      .inline_walk = 1 };
	struct rs_frame_ref ref;
	struct rs_report rep;
	struct rs_journal *j;
	struct rs_root root;
	uint8_t *buf;
	pid_t owner;

	rs_report_init(&rep);
	assert(!rs_journal_open(&cfg, &rep, &owner, &j));
	rs_store_root(rs_journal_store(j), &root);
	buf = aligned_alloc(RS_PAGE, rs_frame_size(size));
	assert(buf);
	memset(buf, 0, rs_frame_size(size));
	memcpy(buf + RS_FRAME_HEADER, data, size);
	assert(!rs_ring_write(rs_journal_ring(j), buf, size, 0,
			      root.applied + 1, root.next_place, &ref));
	free(buf);
	rs_journal_close(j);
	rs_report_release(&rep);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *dir = fuzz_store_reset();
	size_t off = 0, used = 0;
	struct rs_rec rec;

	if (size < 2 || size > 4096)
		return 0;
	/* only whole records: others are the frame decoder's business */
	while (off + 1 < size &&
	       !rs_rec_decode(data + 1 + off, size - 1 - off, &rec)) {
		/* a core has checked the capacity before it writes one */
		if (rec.type == RS_REC_ALLOC && rec.range > 1 << 20)
			return 0;
		off += rec.len;
		used = off;
	}
	if (!used)
		return 0;
	append(dir, data + 1, used);
	if (data[0] & 1)
		fuzz_store_recover(dir);
	fuzz_store_open(dir);
	return 0;
}
