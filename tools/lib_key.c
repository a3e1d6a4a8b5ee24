/*
 * lib_key.c - the site key's file.
 */
#include "tools/lib_key.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

static int check_file(int fd, const char **ret_why)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode)) {
		*ret_why = "it is not a regular file";
		return -EINVAL;
	}
	if (st.st_uid != 0 && st.st_uid != geteuid()) {
		*ret_why = "it belongs to another user";
		return -EPERM;
	}
	if (st.st_mode & 077) {
		*ret_why = "others can read it, chmod it to 0600";
		return -EPERM;
	}
	return 0;
}

static int nibble(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (uint8_t)tolower(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int from_hex(const uint8_t *text, uint8_t *ret_key)
{
	uint8_t key[RS_KEY_LEN];
	size_t i;
	int high, low;

	for (i = 0; i < RS_KEY_LEN; i++) {
		high = nibble(text[2 * i]);
		low = nibble(text[2 * i + 1]);
		if (high < 0 || low < 0)
			return -EINVAL;
		key[i] = (uint8_t)(high << 4 | low);
	}
	memcpy(ret_key, key, RS_KEY_LEN);
	return 0;
}

int rs_key_read(const char *path, uint8_t ret_key[RS_KEY_LEN],
		const char **ret_why)
{
	uint8_t buf[2 * RS_KEY_LEN + 2];
	RS_AUTO_FD int fd = -1;
	ssize_t n;
	int err;

	*ret_why = NULL;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	err = check_file(fd, ret_why);
	if (err)
		return err;
	n = read(fd, buf, sizeof(buf));
	if (n < 0)
		return -errno;
	if (n == RS_KEY_LEN) {
		memcpy(ret_key, buf, RS_KEY_LEN);
		err = 0;
	} else if (n == 2 * RS_KEY_LEN ||
		   (n == 2 * RS_KEY_LEN + 1 && buf[n - 1] == '\n')) {
		err = from_hex(buf, ret_key);
	} else {
		err = -EINVAL;
	}
	explicit_bzero(buf, sizeof(buf));
	if (err)
		*ret_why = "a key is 64 hex digits or 32 bytes";
	return err;
}
