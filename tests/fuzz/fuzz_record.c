/*
 * fuzz_record.c - the record decoder: never reads outside of its input, and
 * what it takes is exactly what the encoder writes.
 */
#include <assert.h>

#include "journal/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t off = 0;

	while (off < size) {
		struct rs_rec rec;
		uint8_t *again;

		if (rs_rec_decode(data + off, size - off, &rec))
			return 0;
		assert(rec.len >= RS_REC_HEADER && rec.len <= size - off);
		assert(rec.len % 8 == 0 && rs_rec_size(&rec) == rec.len);
		again = calloc(1, rec.len);
		assert(again);
		assert(rs_rec_encode(&rec, again) == rec.len);
		assert(!memcmp(again, data + off, rec.len));
		free(again);
		off += rec.len;
	}
	return 0;
}
