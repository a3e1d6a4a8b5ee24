/*
 * marker.c - rspool.id.
 *
 *   0   8  magic "RSPSTORE"
 *   8   4  format version
 *  12   4  CRC32C over the whole file with this field as zeros
 *  16  16  store id
 *  32   8  made when, seconds since the epoch
 *  40   8  ring size
 *  48   8  capacity
 *  56   8  inodes
 *  64   8  key id, 0 without a site key
 *  72   2  length of the ring's path, 0: intent.log beside the marker
 *  74  54  zeros
 * 128      path of the ring, zeros up to the end of the file at 4224
 *
 * CRASH  Written under another name, flushed, renamed, directory flushed: at
 * any cut there is the old one or the new one, or none, which is no store.
 */
#include "journal/marker.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <stdio.h>
#include <sys/stat.h>

#include "journal/crypto.h"

#define MARKER_PATH 128u
#define MARKER_LEN (MARKER_PATH + PATH_MAX)
/* no version may be larger: more isn't read */
#define MARKER_MOST 65536u

static const uint8_t magic[8] = { 'R', 'S', 'P', 'S', 'T', 'O', 'R', 'E' };

static uint32_t file_check(uint8_t *buf, size_t len)
{
	uint32_t stored = rs_get32(buf + 12), crc;

	rs_put32(buf + 12, 0);
	crc = rs_crc32c(buf, len);
	rs_put32(buf + 12, stored);
	return crc;
}

/* Up to size bytes; the count or -errno. */
static ssize_t read_all(int fd, uint8_t *buf, size_t size)
{
	size_t done = 0;
	ssize_t n;

	while (done < size) {
		n = read(fd, buf + done, size - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

static int decode(uint8_t *buf, size_t len, struct rs_marker *marker)
{
	size_t path;

	if (len < MARKER_PATH || memcmp(buf, magic, sizeof(magic)) != 0 ||
	    rs_get32(buf + 12) != file_check(buf, len))
		return -EUCLEAN;
	marker->version = rs_get32(buf + 8);
	if (marker->version > RS_FORMAT_VERSION)
		return -EPROTONOSUPPORT;
	path = rs_get16(buf + 72);
	if (marker->version == 0 || len != MARKER_LEN || path >= PATH_MAX)
		return -EUCLEAN;
	memcpy(marker->id, buf + 16, RS_ID_LEN);
	marker->created = rs_get64(buf + 32);
	marker->ring_size = rs_get64(buf + 40);
	marker->capacity = rs_get64(buf + 48);
	marker->inodes = rs_get64(buf + 56);
	marker->key_id = rs_get64(buf + 64);
	memcpy(marker->ring_path, buf + MARKER_PATH, path);
	return 0;
}

static int read_marker(int dirfd, uint8_t *buf, struct rs_marker *marker)
{
	RS_AUTO_FD int fd = -1;
	struct stat st;
	ssize_t len;

	/* O_NONBLOCK: a FIFO of that name must not hang us. */
	fd = openat(dirfd, RS_MARKER_NAME,
		    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return errno == ELOOP ? -EUCLEAN : -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EUCLEAN;
	len = read_all(fd, buf, MARKER_MOST);
	if (len < 0)
		return (int)len;
	return decode(buf, (size_t)len, marker);
}

int rs_marker_read(int dirfd, struct rs_marker *ret_marker)
{
	struct rs_marker marker = { 0 };
	uint8_t *buf = malloc(MARKER_MOST);
	int err;

	if (!buf)
		return -ENOMEM;
	err = read_marker(dirfd, buf, &marker);
	free(buf);
	if (err == 0)
		*ret_marker = marker;
	return err;
}

static void encode(const struct rs_marker *marker, uint8_t *buf)
{
	size_t path = strlen(marker->ring_path);

	memset(buf, 0, MARKER_LEN);
	memcpy(buf, magic, sizeof(magic));
	rs_put32(buf + 8, marker->version);
	memcpy(buf + 16, marker->id, RS_ID_LEN);
	rs_put64(buf + 32, marker->created);
	rs_put64(buf + 40, marker->ring_size);
	rs_put64(buf + 48, marker->capacity);
	rs_put64(buf + 56, marker->inodes);
	rs_put64(buf + 64, marker->key_id);
	rs_put16(buf + 72, (uint16_t)path);
	memcpy(buf + MARKER_PATH, marker->ring_path, path);
	rs_put32(buf + 12, file_check(buf, MARKER_LEN));
}

static int write_flushed(int fd, const uint8_t *buf, size_t len)
{
	ssize_t n;

	while (len > 0) {
		n = write(fd, buf, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		buf += n;
		len -= (size_t)n;
	}
	return fsync(fd) < 0 ? -errno : 0;
}

/* ret_lockfd may be NULL */
static int replace(int dirfd, const uint8_t *buf, int *ret_lockfd)
{
	static const char tmp[] = RS_MARKER_NAME ".new";
	RS_AUTO_FD int fd = -1;
	int err;

	fd = openat(dirfd, tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = write_flushed(fd, buf, MARKER_LEN);
	if (err == 0 && ret_lockfd && flock(fd, LOCK_EX | LOCK_NB) < 0)
		err = -errno;
	if (err == 0 && renameat(dirfd, tmp, dirfd, RS_MARKER_NAME) < 0)
		err = -errno;
	if (err < 0) {
		unlinkat(dirfd, tmp, 0);
		return err;
	}
	/* from here on it is the marker, whatever else fails */
	if (ret_lockfd)
		*ret_lockfd = rs_steal_fd(&fd);
	return fsync(dirfd) < 0 ? -errno : 0;
}

static int write_marker(int dirfd, const struct rs_marker *marker,
			int *ret_lockfd)
{
	uint8_t *buf = malloc(MARKER_LEN);
	int err;

	if (!buf)
		return -ENOMEM;
	encode(marker, buf);
	err = replace(dirfd, buf, ret_lockfd);
	free(buf);
	return err;
}

int rs_marker_write(int dirfd, const struct rs_marker *marker)
{
	return write_marker(dirfd, marker, NULL);
}

int rs_marker_replace(int dirfd, const struct rs_marker *marker,
		      int *ret_lockfd)
{
	return write_marker(dirfd, marker, ret_lockfd);
}
