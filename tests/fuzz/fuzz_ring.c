/*
 * fuzz_ring.c - the search for frames and their replay over a damaged ring:
 * the input says which bytes of intent.log become what.
 */
#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "fuzz_store.h"
#include "include/rs_base.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *dir = fuzz_store_reset();
	char path[256];
	size_t i;
	int fd;

	if (size < 1)
		return 0;
	snprintf(path, sizeof(path), "%s/intent.log", dir);
	fd = open(path, O_WRONLY);
	assert(fd >= 0);
	for (i = 1; i + 4 <= size; i += 4) {
		/* the used part: 20 pages, mostly the headers */
		off_t off = rs_get16(data + i) % 20 * RS_PAGE +
			    rs_get16(data + i + 1) % 512;

		assert(pwrite(fd, data + i + 3, 1, off) == 1);
	}
	close(fd);
	if (data[0] & 1)
		fuzz_store_recover(dir);
	else
		fuzz_store_open(dir);
	return 0;
}
