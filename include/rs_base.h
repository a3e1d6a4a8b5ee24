/*
 * rs_base.h - what every layer uses: cleanup attributes, little-endian
 * access, sizes and alignment. No function here allocates or fails.
 */
#ifndef RS_BASE_H
#define RS_BASE_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* bytes of a page of file data, of a ring place, of an O_DIRECT unit */
#define RS_PAGE 4096u
#define RS_PAGE_SHIFT 12

/* longest name in bytes (POSIX NAME_MAX), and symlink target */
#define RS_NAME_MAX 255u
#define RS_SYMLINK_MAX 4095u
/* Linux limits for extended attributes (linux/limits.h) */
#define RS_XATTR_NAME_MAX 255u
#define RS_XATTR_SIZE_MAX 65536u

/* the root directory's inode number; FUSE demands 1 as root node id */
#define RS_INO_ROOT UINT64_C(1)
/* first number that is given to a new inode */
#define RS_INO_FIRST UINT64_C(2)
/* the ceiling moves in steps of this many numbers (DESIGN G9) */
#define RS_INO_STEP (UINT64_C(1) << 20)

#define RS_ID_LEN 16u	/* bytes of a store id */
#define RS_SALT_LEN 32u /* bytes of a process's frame salt */
#define RS_TAG_LEN 16u	/* bytes of an AES-256-GCM tag */

#define RS_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define RS_UNUSED __attribute__((unused))
#define RS_MUST_USE __attribute__((warn_unused_result))

static inline void rs_cleanup_free(void *p)
{
	void *mem;

	memcpy(&mem, p, sizeof(mem));
	free(mem);
}

static inline void rs_cleanup_fd(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

#define RS_AUTO_FREE __attribute__((cleanup(rs_cleanup_free)))
#define RS_AUTO_FD __attribute__((cleanup(rs_cleanup_fd)))

static inline int rs_steal_fd(int *fd)
{
	int ret = *fd;

	*fd = -1;
	return ret;
}

static inline uint64_t rs_align_up(uint64_t v, uint64_t unit)
{
	return (v + unit - 1) / unit * unit;
}

static inline void rs_put16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
}

static inline void rs_put32(uint8_t *p, uint32_t v)
{
	rs_put16(p, (uint16_t)v);
	rs_put16(p + 2, (uint16_t)(v >> 16));
}

static inline void rs_put64(uint8_t *p, uint64_t v)
{
	rs_put32(p, (uint32_t)v);
	rs_put32(p + 4, (uint32_t)(v >> 32));
}

static inline uint16_t rs_get16(const uint8_t *p)
{
	return (uint16_t)(p[0] | (uint16_t)p[1] << 8);
}

static inline uint32_t rs_get32(const uint8_t *p)
{
	return (uint32_t)rs_get16(p) | (uint32_t)rs_get16(p + 2) << 16;
}

static inline uint64_t rs_get64(const uint8_t *p)
{
	return (uint64_t)rs_get32(p) | (uint64_t)rs_get32(p + 4) << 32;
}

/* Big-endian, only for LMDB keys: their byte order is the sort order. */
static inline void rs_putbe64(uint8_t *p, uint64_t v)
{
	int i;

	for (i = 0; i < 8; i++)
		p[i] = (uint8_t)(v >> (56 - 8 * i));
}

static inline uint64_t rs_getbe64(const uint8_t *p)
{
	uint64_t v = 0;
	int i;

	for (i = 0; i < 8; i++)
		v = v << 8 | p[i];
	return v;
}

#endif
