/* wire.c - see wire.h */
#include "tests/disk/wire.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

static int socket_at(const char *path, struct sockaddr_un *ret_addr)
{
	int fd;

	if (strlen(path) >= sizeof(ret_addr->sun_path))
		return -ENAMETOOLONG;
	memset(ret_addr, 0, sizeof(*ret_addr));
	ret_addr->sun_family = AF_UNIX;
	strcpy(ret_addr->sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return fd < 0 ? -errno : fd;
}

int rs_dwire_connect(const char *path, int *ret_fd)
{
	struct sockaddr_un addr;
	RS_AUTO_FD int fd = socket_at(path, &addr);

	if (fd < 0)
		return fd;
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		return -errno;
	*ret_fd = rs_steal_fd(&fd);
	return 0;
}

/* A socket that nobody listens at is left from a killed process. */
static int remove_stale(const char *path)
{
	struct stat st;
	int fd = -1, err;

	if (lstat(path, &st))
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	err = rs_dwire_connect(path, &fd);
	if (!err) {
		close(fd);
		return -EADDRINUSE;
	}
	if (err != -ECONNREFUSED)
		return err;
	return unlink(path) ? -errno : 0;
}

int rs_dwire_listen(const char *path, int *ret_fd)
{
	struct sockaddr_un addr;
	RS_AUTO_FD int fd = socket_at(path, &addr);
	int err;

	if (fd < 0)
		return fd;
	err = remove_stale(path);
	if (err)
		return err;
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)))
		return -errno;
	if (chmod(path, 0600) || listen(fd, 8)) {
		err = -errno;
		unlink(path);
		return err;
	}
	*ret_fd = rs_steal_fd(&fd);
	return 0;
}

int rs_dwire_write(int fd, const void *buf, size_t len)
{
	const char *p = buf;

	while (len) {
		ssize_t n = send(fd, p, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int rs_dwire_read_line(int fd, char *buf, size_t size)
{
	size_t used = 0;

	while (used < size - 1) {
		ssize_t n = read(fd, buf + used, 1);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0 || buf[used] == '\n') {
			buf[used] = '\0';
			return (int)used;
		}
		used++;
	}
	return -E2BIG;
}
