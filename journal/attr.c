/* attr.c - an inode's attributes on disk; the byte table is in FORMAT.md. */
#include "journal/record.h"

static void put_times(const struct rs_attr *attr, uint8_t *buf)
{
	const struct timespec *ts[4] = { &attr->atime, &attr->mtime,
					 &attr->ctime, &attr->btime };
	size_t i;

	for (i = 0; i < RS_ARRAY_LEN(ts); i++) {
		rs_put64(buf + 8 * i, (uint64_t)ts[i]->tv_sec);
		rs_put32(buf + 32 + 4 * i, (uint32_t)ts[i]->tv_nsec);
	}
}

static void get_times(const uint8_t *buf, struct rs_attr *attr)
{
	struct timespec *ts[4] = { &attr->atime, &attr->mtime, &attr->ctime,
				   &attr->btime };
	size_t i;

	for (i = 0; i < RS_ARRAY_LEN(ts); i++) {
		ts[i]->tv_sec = (time_t)rs_get64(buf + 8 * i);
		ts[i]->tv_nsec = (long)rs_get32(buf + 32 + 4 * i);
	}
}

void rs_attr_encode(const struct rs_attr *attr, uint8_t *buf)
{
	memset(buf, 0, RS_ATTR_LEN);
	rs_put32(buf, attr->mode);
	rs_put32(buf + 4, attr->uid);
	rs_put32(buf + 8, attr->gid);
	rs_put32(buf + 12, attr->nlink);
	rs_put64(buf + 16, attr->rdev);
	rs_put64(buf + 24, attr->size);
	rs_put64(buf + 32, attr->blocks);
	rs_put64(buf + 40, attr->data_end);
	put_times(attr, buf + 48);
	rs_put32(buf + 96, attr->flags);
	buf[100] = attr->policy;
	buf[101] = attr->dirsync;
	rs_put64(buf + 104, attr->limit);
	rs_put64(buf + 112, attr->limit_inodes);
}

void rs_attr_decode(const uint8_t *buf, struct rs_attr *ret_attr)
{
	memset(ret_attr, 0, sizeof(*ret_attr));
	ret_attr->mode = rs_get32(buf);
	ret_attr->uid = rs_get32(buf + 4);
	ret_attr->gid = rs_get32(buf + 8);
	ret_attr->nlink = rs_get32(buf + 12);
	ret_attr->rdev = rs_get64(buf + 16);
	ret_attr->size = rs_get64(buf + 24);
	ret_attr->blocks = rs_get64(buf + 32);
	ret_attr->data_end = rs_get64(buf + 40);
	get_times(buf + 48, ret_attr);
	ret_attr->flags = rs_get32(buf + 96);
	ret_attr->policy = buf[100];
	ret_attr->dirsync = buf[101];
	ret_attr->limit = rs_get64(buf + 104);
	ret_attr->limit_inodes = rs_get64(buf + 112);
}
