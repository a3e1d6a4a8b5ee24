/*
 * record.h - intent records: the encoding shared by the open group, the
 * frames of the ring, the fold into the store and the replay into RAM.
 *
 * All integers little-endian, every record padded with zeros to 8 bytes:
 *
 *   0  4  length of the whole record with padding
 *   4  2  type (enum rs_rec_type)
 *   6  2  flags (RS_RF_)
 *   8  8  ino: the inode the record is about; entries: the directory
 *  16  8  prev: number of the frame that last had a record about ino
 *         before this frame; 0: ino was born in this frame
 *  24     payload by type, see FORMAT.md
 *
 * A frame is all or nothing, so the order of records within one matters
 * only for records about the same key and for DATA, TRUNC, PUNCH, ALLOC of
 * one inode.
 */
#ifndef RS_RECORD_H
#define RS_RECORD_H

#include "include/rs_attr.h"
#include "include/rs_base.h"

enum rs_rec_type {
	RS_REC_VOID = 0, /* taken back before the cut; never on disk */
	RS_REC_INODE = 1,
	RS_REC_INODE_DEL = 2,
	RS_REC_ENTRY_PUT = 3,
	RS_REC_ENTRY_DEL = 4,
	RS_REC_DATA = 5,  /* bytes at off */
	RS_REC_TRUNC = 6, /* nothing is left at or after off (= new size) */
	RS_REC_PUNCH = 7, /* [off, off+len) reads zero; whole pages freed */
	RS_REC_ALLOC = 8, /* pages of [off, off+len) exist; bytes unchanged */
	RS_REC_XATTR_PUT = 9,
	RS_REC_XATTR_DEL = 10,
	RS_REC_LINK = 11,    /* target of a symlink */
	RS_REC_CEILING = 12, /* inode numbers below off may be used; ino 0 */
	RS_REC_TYPES = 13,
};

#define RS_REC_HEADER 24u
#define RS_ATTR_LEN 144u /* bytes of an encoded rs_attr */

/* upper bounds of whole records, for reservations */
#define RS_REC_INODE_LEN (RS_REC_HEADER + RS_ATTR_LEN)
#define RS_REC_ENTRY_LEN (RS_REC_HEADER + 12u + RS_NAME_MAX + 7u)
#define RS_REC_DATA_LEN(n) (RS_REC_HEADER + 16u + (n) + 7u)

/*
 * A decoded record; pointers lead into the buffer it was decoded from, and
 * are NULL for types that have no such field.
 */
struct rs_rec {
	enum rs_rec_type type;
	uint16_t flags;
	uint32_t len; /* whole record with padding */
	uint64_t ino;
	uint64_t prev;
	struct rs_attr attr; /* INODE */
	uint64_t child;	     /* ENTRY_PUT, ENTRY_DEL */
	uint8_t dtype;	     /* ENTRY_PUT: DT_REG and so on */
	const uint8_t *name; /* ENTRY_*, XATTR_*: not terminated */
	uint32_t name_len;
	uint64_t off;	     /* DATA, TRUNC, PUNCH, ALLOC, CEILING */
	uint64_t range;	     /* PUNCH, ALLOC: bytes */
	const uint8_t *data; /* DATA, XATTR_PUT, LINK */
	uint32_t data_len;
};

/* Encode RS_ATTR_LEN bytes. */
void rs_attr_encode(const struct rs_attr *attr, uint8_t *buf);
void rs_attr_decode(const uint8_t *buf, struct rs_attr *ret_attr);

/* Bytes that rs_rec_encode() will write for rec. */
size_t rs_rec_size(const struct rs_rec *rec);

/* Write rec at buf, which has rs_rec_size() bytes; returns that size. */
size_t rs_rec_encode(const struct rs_rec *rec, uint8_t *buf);

/*
 * Decode the record at buf, of which len bytes may be looked at. Every
 * length and value is checked (types, name without NUL or '/', neither
 * empty nor "." nor "..", nanoseconds, dtype, ranges that do not overflow).
 * Errors: -EUCLEAN. len is at least 1.
 */
RS_MUST_USE int rs_rec_decode(const uint8_t *buf, size_t len,
			      struct rs_rec *ret_rec);

/* "inode", "entry-put", ...: for dumps and reports. */
const char *rs_rec_type_name(enum rs_rec_type type);

#endif
