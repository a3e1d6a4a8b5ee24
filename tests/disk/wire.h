/*
 * wire.h - the socket calls that server and client of the control socket
 * share.
 */
#ifndef RS_DISK_WIRE_H
#define RS_DISK_WIRE_H

#include "include/rs_base.h"

/* -ENAMETOOLONG for paths that don't fit into a socket address (107 bytes) */
RS_MUST_USE int rs_dwire_listen(const char *path, int *ret_fd);
RS_MUST_USE int rs_dwire_connect(const char *path, int *ret_fd);
RS_MUST_USE int rs_dwire_write(int fd, const void *buf, size_t len);
/* Up to a line feed or the end, without it: its length, or -errno; -E2BIG if
 * it doesn't fit with a zero byte. */
RS_MUST_USE int rs_dwire_read_line(int fd, char *buf, size_t size);

#endif
