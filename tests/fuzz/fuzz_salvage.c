/*
 * fuzz_salvage.c - the salvage reader and the first look at data.mdb, over a
 * damaged file. LMDB itself is not fuzzed: it is never given bytes that were
 * not looked at (DESIGN "The store").
 */
#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "fuzz_store.h"
#include "journal/marker.h"
#include "journal/store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int inode(void *arg, uint64_t ino, const struct rs_attr *attr,
		 uint64_t frame)
{
	(void)arg;
	(void)attr;
	(void)frame;
	assert(ino);
	return 0;
}

static int entry(void *arg, uint64_t parent, const uint8_t *name, size_t len,
		 uint64_t child, uint8_t dtype, uint64_t frame)
{
	(void)arg;
	(void)dtype;
	(void)frame;
	assert(parent && child && len && len <= RS_NAME_MAX);
	assert(!memchr(name, '/', len));
	return 0;
}

static int chunk(void *arg, uint64_t ino, uint64_t off, const uint8_t *data,
		 size_t len)
{
	(void)arg;
	(void)off;
	assert(ino && len <= RS_CHUNK && (!len || data));
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct rs_load_ops ops = { .inode = inode, .entry = entry };
	const char *dir = fuzz_store_reset();
	struct rs_crypto *crypto;
	struct rs_marker marker;
	struct rs_report rep;
	char path[256];
	int dirfd, fd;
	size_t i;

	dirfd = open(dir, O_RDONLY | O_DIRECTORY);
	assert(dirfd >= 0 && !rs_marker_read(dirfd, &marker));
	snprintf(path, sizeof(path), "%s/data.mdb", dir);
	fd = open(path, O_WRONLY);
	assert(fd >= 0);
	if (size && data[0] & 1 && size >= 3)
		assert(!ftruncate(fd, rs_get16(data + 1) * 2));
	for (i = 3; i + 4 <= size; i += 4) {
		off_t off = rs_get16(data + i) % 16 * RS_PAGE +
			    rs_get16(data + i + 1) % RS_PAGE;

		assert(pwrite(fd, data + i + 3, 1, off) == 1);
	}
	close(fd);
	assert(!rs_crypto_new(marker.id, NULL, &crypto));
	rs_report_init(&rep);
	(void)!rs_store_salvage(dir, crypto, marker.id, &ops, chunk, NULL,
				&rep);
	rs_report_release(&rep);
	rs_crypto_free(crypto);
	close(dirfd);
	return 0;
}
