/* test_marker.c - rspool.id, whole and in every way broken. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "journal/crypto.h"
#include "journal/marker.h"
#include "tests/unit/fake_seam.h"

static const struct rs_marker sample = {
	.id = "an id of a stor",
	.version = RS_FORMAT_VERSION,
	.created = 1700000000,
	.ring_size = 256 << 20,
	.capacity = 1 << 30,
	.inodes = 100000,
	.key_id = 12345,
	.ring_path = "/other/disk/ring",
};

static int set_up(void **state)
{
	*state = fake_dir_make();
	return 0;
}

static int tear_down(void **state)
{
	fake_dir_remove(*state);
	return 0;
}

static int open_dir(void **state)
{
	int fd = open(*state, O_RDONLY | O_DIRECTORY);

	assert_true(fd >= 0);
	return fd;
}

static void spoil(int dirfd, const uint8_t *buf, size_t len)
{
	int fd = openat(dirfd, RS_MARKER_NAME, O_WRONLY | O_CREAT | O_TRUNC,
			0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, buf, len), len);
	close(fd);
}

static size_t slurp(int dirfd, uint8_t *buf, size_t size)
{
	int fd = openat(dirfd, RS_MARKER_NAME, O_RDONLY);
	ssize_t n;

	assert_true(fd >= 0);
	n = read(fd, buf, size);
	close(fd);
	assert_true(n > 0);
	return (size_t)n;
}

static void test_round_trip(void **state)
{
	int dirfd = open_dir(state);
	struct rs_marker got;
	struct stat st;

	assert_int_equal(rs_marker_read(dirfd, &got), -ENOENT);
	assert_int_equal(rs_marker_write(dirfd, &sample), 0);
	assert_int_equal(rs_marker_read(dirfd, &got), 0);
	assert_memory_equal(got.id, sample.id, RS_ID_LEN);
	assert_int_equal(got.created, sample.created);
	assert_int_equal(got.ring_size, sample.ring_size);
	assert_int_equal(got.capacity, sample.capacity);
	assert_int_equal(got.inodes, sample.inodes);
	assert_int_equal(got.key_id, sample.key_id);
	assert_string_equal(got.ring_path, sample.ring_path);
	assert_int_equal(fstatat(dirfd, RS_MARKER_NAME, &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(fstatat(dirfd, RS_MARKER_NAME ".new", &st, 0), -1);
	close(dirfd);
}

static void test_broken(void **state)
{
	int dirfd = open_dir(state);
	struct rs_marker got;
	uint8_t buf[8192];
	size_t len, i;

	assert_int_equal(rs_marker_write(dirfd, &sample), 0);
	len = slurp(dirfd, buf, sizeof(buf));
	for (i = 0; i < len; i += i < 160 ? 1 : 61) {
		buf[i] ^= 0x10;
		spoil(dirfd, buf, len);
		assert_int_equal(rs_marker_read(dirfd, &got), -EUCLEAN);
		buf[i] ^= 0x10;
	}
	for (i = 0; i < len; i += 512) {
		spoil(dirfd, buf, i);
		assert_int_equal(rs_marker_read(dirfd, &got), -EUCLEAN);
	}
	assert_int_equal(unlinkat(dirfd, RS_MARKER_NAME, 0), 0);
	assert_int_equal(mkfifoat(dirfd, RS_MARKER_NAME, 0600), 0);
	assert_int_equal(rs_marker_read(dirfd, &got), -EUCLEAN);
	close(dirfd);
}

static void test_newer(void **state)
{
	int dirfd = open_dir(state);
	struct rs_marker got;
	uint8_t buf[8192] = { 0 };
	size_t len;

	assert_int_equal(rs_marker_write(dirfd, &sample), 0);
	len = slurp(dirfd, buf, sizeof(buf));
	/* a later version may be longer; its check is where ours is */
	len += 100;
	rs_put32(buf + 8, RS_FORMAT_VERSION + 1);
	rs_put32(buf + 12, 0);
	rs_put32(buf + 12, rs_crc32c(buf, len));
	spoil(dirfd, buf, len);
	assert_int_equal(rs_marker_read(dirfd, &got), -EPROTONOSUPPORT);
	close(dirfd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_round_trip, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_broken, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_newer, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
