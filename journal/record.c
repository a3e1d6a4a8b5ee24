/*
 * record.c - intent records to bytes and back.
 *
 * MODEL
 *	A table says for each type how its payload begins: a fixed part of
 *	numbers, then a name, then bytes. Encoding and size go by the table;
 *	decoding too, and then each type's own values are checked.
 *
 * INVARIANTS
 * I1	What encodes decodes, and encodes again to the same bytes.
 * I2	Decoding reads nothing past the length that it was given, and refuses
 *	every byte that it has no meaning for, so that a frame of a later
 *	version is never half understood.
 *
 * NOT HERE  which records a change emits (fs core), how they combine (fold).
 */
#include "journal/record.h"

#include <errno.h>
#include <sys/stat.h>

/* What follows the common header. */
struct shape {
	const char *type;
	uint16_t fixed; /* bytes of numbers before name and data */
	uint8_t has_name, has_data;
};

static const struct shape shapes[RS_REC_TYPES] = {
	[RS_REC_VOID] = { "void", 0, 0, 0 },
	[RS_REC_INODE] = { "inode", RS_ATTR_LEN, 0, 0 },
	[RS_REC_INODE_DEL] = { "inode-del", 0, 0, 0 },
	[RS_REC_ENTRY_PUT] = { "entry-put", 12, 1, 0 },
	[RS_REC_ENTRY_DEL] = { "entry-del", 12, 1, 0 },
	[RS_REC_DATA] = { "data", 16, 0, 1 },
	[RS_REC_TRUNC] = { "trunc", 8, 0, 0 },
	[RS_REC_PUNCH] = { "punch", 16, 0, 0 },
	[RS_REC_ALLOC] = { "alloc", 16, 0, 0 },
	[RS_REC_XATTR_PUT] = { "xattr-put", 8, 1, 1 },
	[RS_REC_XATTR_DEL] = { "xattr-del", 8, 1, 0 },
	[RS_REC_LINK] = { "link", 8, 0, 1 },
	[RS_REC_CEILING] = { "ceiling", 8, 0, 0 },
};

const char *rs_rec_type_name(enum rs_rec_type type)
{
	if ((unsigned int)type >= RS_REC_TYPES)
		return "unknown";
	return shapes[type].type;
}

static size_t shape_len(const struct rs_rec *rec)
{
	const struct shape *shape = &shapes[rec->type];
	size_t len = RS_REC_HEADER + shape->fixed;

	if (shape->has_name)
		len += rec->name_len;
	if (shape->has_data)
		len += rec->data_len;
	return len;
}

size_t rs_rec_size(const struct rs_rec *rec)
{
	return (shape_len(rec) + 7) / 8 * 8;
}

static void put_fixed(const struct rs_rec *rec, uint8_t *p)
{
	switch (rec->type) {
	case RS_REC_INODE:
		rs_attr_encode(&rec->attr, p);
		break;
	case RS_REC_ENTRY_PUT:
		p[8] = rec->dtype;
		/* fall through */
	case RS_REC_ENTRY_DEL:
		rs_put64(p, rec->child);
		rs_put16(p + 10, (uint16_t)rec->name_len);
		break;
	case RS_REC_DATA:
		rs_put64(p, rec->off);
		rs_put32(p + 8, rec->data_len);
		break;
	case RS_REC_PUNCH:
	case RS_REC_ALLOC:
		rs_put64(p + 8, rec->range);
		/* fall through */
	case RS_REC_TRUNC:
	case RS_REC_CEILING:
		rs_put64(p, rec->off);
		break;
	case RS_REC_XATTR_PUT:
		rs_put32(p + 4, rec->data_len);
		/* fall through */
	case RS_REC_XATTR_DEL:
		rs_put16(p, (uint16_t)rec->name_len);
		break;
	case RS_REC_LINK:
		rs_put32(p, rec->data_len);
		break;
	default:
		break;
	}
}

size_t rs_rec_encode(const struct rs_rec *rec, uint8_t *buf)
{
	const struct shape *shape = &shapes[rec->type];
	size_t len = shape_len(rec), size = rs_rec_size(rec);
	uint8_t *p = buf + RS_REC_HEADER;

	memset(buf, 0, RS_REC_HEADER + (size_t)shape->fixed);
	rs_put32(buf, (uint32_t)size);
	rs_put16(buf + 4, (uint16_t)rec->type);
	rs_put16(buf + 6, rec->flags);
	rs_put64(buf + 8, rec->ino);
	rs_put64(buf + 16, rec->prev);
	put_fixed(rec, p);
	p += shape->fixed;
	if (shape->has_name) {
		memcpy(p, rec->name, rec->name_len);
		p += rec->name_len;
	}
	if (shape->has_data)
		memcpy(p, rec->data, rec->data_len);
	memset(buf + len, 0, size - len);
	return size;
}

static int is_zero(const uint8_t *p, size_t len)
{
	while (len--)
		if (*p++)
			return 0;
	return 1;
}

/* Numbers of the fixed part; -EUCLEAN for what must be zero and is not. */
static int get_fixed(const uint8_t *p, struct rs_rec *rec)
{
	int zero = 1;

	switch (rec->type) {
	case RS_REC_INODE:
		rs_attr_decode(p, &rec->attr);
		zero = is_zero(p + 102, 2) && is_zero(p + 120, 24);
		break;
	case RS_REC_ENTRY_PUT:
	case RS_REC_ENTRY_DEL:
		rec->child = rs_get64(p);
		rec->dtype = p[8];
		rec->name_len = rs_get16(p + 10);
		zero = is_zero(p + 9, 1);
		break;
	case RS_REC_DATA:
		rec->off = rs_get64(p);
		rec->data_len = rs_get32(p + 8);
		zero = is_zero(p + 12, 4);
		break;
	case RS_REC_PUNCH:
	case RS_REC_ALLOC:
		rec->range = rs_get64(p + 8);
		/* fall through */
	case RS_REC_TRUNC:
	case RS_REC_CEILING:
		rec->off = rs_get64(p);
		break;
	case RS_REC_XATTR_PUT:
	case RS_REC_XATTR_DEL:
		rec->name_len = rs_get16(p);
		rec->data_len = rs_get32(p + 4);
		zero = is_zero(p + 2, 2) &&
		       (rec->type == RS_REC_XATTR_PUT || !rec->data_len);
		break;
	case RS_REC_LINK:
		rec->data_len = rs_get32(p);
		zero = is_zero(p + 4, 4);
		break;
	default:
		break;
	}
	return zero ? 0 : -EUCLEAN;
}

static int time_ok(const struct timespec *ts)
{
	return ts->tv_nsec >= 0 && ts->tv_nsec < 1000000000;
}

static int attr_ok(const struct rs_attr *attr)
{
	switch (attr->mode & S_IFMT) {
	case S_IFREG:
	case S_IFDIR:
	case S_IFLNK:
	case S_IFIFO:
	case S_IFSOCK:
	case S_IFCHR:
	case S_IFBLK:
		break;
	default:
		return 0;
	}
	return !(attr->mode & ~(uint32_t)(S_IFMT | 07777)) &&
	       attr->size <= INT64_MAX && attr->data_end <= INT64_MAX &&
	       time_ok(&attr->atime) && time_ok(&attr->mtime) &&
	       time_ok(&attr->ctime) && time_ok(&attr->btime) &&
	       !(attr->flags & ~(RS_IF_STAGED | RS_IF_SUSPECT | RS_IF_GAP)) &&
	       attr->policy <= RS_POLICY_ALWAYS && attr->dirsync <= 2;
}

static int name_ok(const uint8_t *name, size_t len)
{
	if (!name || len == 0 || len > RS_NAME_MAX)
		return 0;
	if (name[0] == '.' && (len == 1 || (len == 2 && name[1] == '.')))
		return 0;
	return !memchr(name, 0, len) && !memchr(name, '/', len);
}

/* The DT_ values of readdir(3), which are the type bits of st_mode >> 12. */
static int dtype_ok(uint8_t dtype)
{
	return dtype == 1 || dtype == 2 || dtype == 4 || dtype == 6 ||
	       dtype == 8 || dtype == 10 || dtype == 12;
}

static int range_ok(uint64_t off, uint64_t len)
{
	return len > 0 && off <= INT64_MAX && len <= INT64_MAX - off;
}

static int values_ok(const struct rs_rec *rec)
{
	switch (rec->type) {
	case RS_REC_INODE:
		return attr_ok(&rec->attr);
	case RS_REC_ENTRY_PUT:
		return rec->child && dtype_ok(rec->dtype) &&
		       name_ok(rec->name, rec->name_len);
	case RS_REC_ENTRY_DEL:
		return rec->child && !rec->dtype &&
		       name_ok(rec->name, rec->name_len);
	case RS_REC_DATA:
		return range_ok(rec->off, rec->data_len);
	case RS_REC_TRUNC:
		return rec->off <= INT64_MAX;
	case RS_REC_PUNCH:
	case RS_REC_ALLOC:
		return range_ok(rec->off, rec->range);
	case RS_REC_XATTR_PUT:
	case RS_REC_XATTR_DEL:
		return rec->name && rec->name_len &&
		       rec->name_len <= RS_XATTR_NAME_MAX &&
		       rec->data_len <= RS_XATTR_SIZE_MAX &&
		       !memchr(rec->name, 0, rec->name_len);
	case RS_REC_LINK:
		return rec->data && rec->data_len &&
		       rec->data_len <= RS_SYMLINK_MAX &&
		       !memchr(rec->data, 0, rec->data_len);
	case RS_REC_CEILING:
		return rec->prev == 0 && rec->off >= RS_INO_FIRST;
	default:
		return 1;
	}
}

/* Header, lengths and pointers; values are looked at by the caller. */
static int decode_shape(const uint8_t *buf, size_t len, struct rs_rec *rec)
{
	const struct shape *shape;
	size_t used;
	uint16_t type;

	if (len < RS_REC_HEADER)
		return -EUCLEAN;
	type = rs_get16(buf + 4);
	rec->len = rs_get32(buf);
	if (type == RS_REC_VOID || type >= RS_REC_TYPES || rec->len > len ||
	    rec->len % 8 || rs_get16(buf + 6))
		return -EUCLEAN;
	rec->type = (enum rs_rec_type)type;
	rec->ino = rs_get64(buf + 8);
	rec->prev = rs_get64(buf + 16);
	shape = &shapes[type];
	used = RS_REC_HEADER + (size_t)shape->fixed;
	if (used > rec->len || get_fixed(buf + RS_REC_HEADER, rec) < 0)
		return -EUCLEAN;
	if (shape->has_name) {
		rec->name = buf + used;
		used += rec->name_len;
	}
	if (shape->has_data) {
		rec->data = buf + used;
		used += rec->data_len;
	}
	if (used > rec->len || rec->len - used >= 8 ||
	    !is_zero(buf + used, rec->len - used))
		return -EUCLEAN;
	return 0;
}

int rs_rec_decode(const uint8_t *buf, size_t len, struct rs_rec *ret_rec)
{
	struct rs_rec rec;

	memset(&rec, 0, sizeof(rec));
	if (decode_shape(buf, len, &rec) < 0 || !values_ok(&rec) ||
	    (rec.ino == 0) != (rec.type == RS_REC_CEILING))
		return -EUCLEAN;
	*ret_rec = rec;
	return 0;
}
