/*
 * crc.c - CRC32C, the check of headers and of the marker.
 *
 * By the processor's instruction where it has one, else by a table of 16
 * entries: what is checked is 192 bytes a frame, so a bigger table would
 * only cost cache.
 */
#include "journal/crypto.h"

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t crc_hardware(uint32_t crc,
							       const uint8_t *p,
							       size_t len)
{
	uint64_t wide = crc;

	for (; len >= 8; len -= 8, p += 8)
		wide = __builtin_ia32_crc32di(wide, rs_get64(p));
	crc = (uint32_t)wide;
	for (; len > 0; len--, p++)
		crc = __builtin_ia32_crc32qi(crc, *p);
	return crc;
}
#endif

/* Remainders of the 4-bit values, polynomial 0x82f63b78 (reflected). */
static const uint32_t nibbles[16] = {
	0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
	0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
	0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
};

static uint32_t crc_table(uint32_t crc, const uint8_t *p, size_t len)
{
	while (len--) {
		crc ^= *p++;
		crc = crc >> 4 ^ nibbles[crc & 15];
		crc = crc >> 4 ^ nibbles[crc & 15];
	}
	return crc;
}

uint32_t rs_crc32c_portable(const void *buf, size_t len)
{
	return ~crc_table(UINT32_MAX, buf, len);
}

uint32_t rs_crc32c(const void *buf, size_t len)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("sse4.2"))
		return ~crc_hardware(UINT32_MAX, buf, len);
#endif
	return rs_crc32c_portable(buf, len);
}
