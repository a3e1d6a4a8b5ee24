/*
 * test_tools.c - sizes, control lines, places, key files of the tools.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "fs/mounts.h"
#include "tools/lib_ctl.h"
#include "tools/lib_key.h"
#include "tools/lib_mnt.h"
#include "tools/lib_place.h"
#include "tools/lib_size.h"

static void sizes_are_read(void **state)
{
	static const struct {
		const char *text;
		int err;
		uint64_t value;
	} cases[] = {
		{ "0", 0, 0 },
		{ "4096", 0, 4096 },
		{ "64K", 0, 65536 },
		{ "64k", 0, 65536 },
		{ "1G", 0, UINT64_C(1) << 30 },
		{ "2T", 0, UINT64_C(2) << 40 },
		{ "9223372036854775807", 0, INT64_MAX },
		{ "9223372036854775808", -ERANGE, 0 },
		{ "99999999999999999999", -ERANGE, 0 },
		{ "8388608T", -ERANGE, 0 },
		{ "", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "+1", -EINVAL, 0 },
		{ " 1", -EINVAL, 0 },
		{ "1.5M", -EINVAL, 0 },
		{ "1Q", -EINVAL, 0 },
		{ "1MB", -EINVAL, 0 },
		{ "M", -EINVAL, 0 },
		{ "0x10", -EINVAL, 0 },
	};
	uint64_t value;
	size_t i;

	(void)state;
	for (i = 0; i < RS_ARRAY_LEN(cases); i++) {
		value = 77;
		assert_int_equal(rs_size_parse(cases[i].text, &value),
				 cases[i].err);
		assert_int_equal(value, cases[i].err ? 77 : cases[i].value);
	}
	assert_int_equal(rs_number_parse("64K", &value), -EINVAL);
	assert_int_equal(rs_number_parse("64", &value), 0);
	assert_int_equal(value, 64);
}

static void sizes_are_written(void **state)
{
	char buf[RS_SIZE_TEXT];

	(void)state;
	assert_string_equal(rs_size_text(17, buf), "17");
	assert_string_equal(rs_size_text(1536, buf), "1.5K");
	assert_string_equal(rs_size_text(UINT64_C(256) << 20, buf), "256M");
	assert_string_equal(rs_size_text(UINT64_C(3) << 50, buf), "3072T");
	assert_string_equal(rs_time_text(340, buf), "340 ms");
	assert_string_equal(rs_time_text(12500, buf), "12.5 s");
	assert_string_equal(rs_time_text(180000, buf), "3 min");
}

static int parse(const char *line, struct rs_ctl_req *req)
{
	const char *why = NULL;
	int err = rs_ctl_parse(line, strlen(line), req, &why);

	if (err)
		assert_non_null(why);
	return err;
}

static void control_lines_are_read(void **state)
{
	struct rs_ctl_req req = { 0 };

	(void)state;
	assert_int_equal(parse("{\"cmd\":\"status\"}", &req), 0);
	assert_int_equal(req.cmd, RS_CTL_STATUS);
	assert_int_equal(parse("{\"cmd\":\"umount\",\"fast\":true}\n", &req),
			 0);
	assert_int_equal(req.cmd, RS_CTL_UMOUNT);
	assert_true(req.fast);
	assert_int_equal(parse("{\"cmd\":\"flush_interval\",\"ms\":250}", &req),
			 0);
	assert_int_equal(req.ms, 250);
}

static void bad_control_lines_are_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"\n",
		"status",
		"[]",
		"7",
		"null",
		"{}",
		"{\"cmd\":null}",
		"{\"cmd\":\"nonsense\"}",
		"{\"cmd\":\"status\"",
		"{\"cmd\":\"status\"} x",
		"{\"cmd\":\"status\",\"cmd\":\"umount\"}",
		"{\"cmd\":\"umount\",\"fast\":1}",
		"{\"cmd\":\"flush_interval\"}",
		"{\"cmd\":\"flush_interval\",\"ms\":0}",
		"{\"cmd\":\"flush_interval\",\"ms\":3600001}",
		"{\"cmd\":\"flush_interval\",\"ms\":1.5}",
		"{\"cmd\":\"flush_interval\",\"ms\":99999999999999999999}",
		"{\"cmd\":\"\xff\xfe\"}",
	};
	static char longer[RS_CTL_LINE_MAX + 1];
	struct rs_ctl_req req = { .ms = 99 };
	const char *why;
	size_t i;

	(void)state;
	for (i = 0; i < RS_ARRAY_LEN(bad); i++)
		assert_int_equal(parse(bad[i], &req), -EINVAL);
	memset(longer, '[', sizeof(longer));
	assert_int_equal(rs_ctl_parse(longer, sizeof(longer), &req, &why),
			 -EINVAL);
	assert_int_equal(rs_ctl_parse(longer, 4000, &req, &why), -EINVAL);
	assert_int_equal(req.ms, 99);
}

static void places_inside_are_told(void **state)
{
	(void)state;
	assert_true(rs_place_inside("/a/b", "/a"));
	assert_true(rs_place_inside("/a", "/a"));
	assert_true(rs_place_inside("/a", "/a/"));
	assert_true(rs_place_inside("/a", "/"));
	assert_false(rs_place_inside("/ab", "/a"));
	assert_false(rs_place_inside("/", "/a"));
}

static void mount_table_is_read(void **state)
{
	char path[PATH_MAX], source[PATH_MAX];
	struct rs_mount m;

	(void)state;
	assert_int_equal(rs_mounts_top("/proc", &m), 0);
	assert_string_equal(m.type, "proc");
	rs_mount_release(&m);
	assert_int_equal(rs_mounts_top("/proc/nothing", &m), -ENOENT);
	assert_int_equal(rs_mnt_find("/proc", path, source), -ENOENT);
	assert_int_equal(rs_mnt_canon("/proc/../proc/.", path), 0);
	assert_string_equal(path, "/proc");
}

static void write_file(const char *path, const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static void keys_are_read(void **state)
{
	static const char hex[] = "000102030405060708090a0b0c0d0e0f"
				  "101112131415161718191A1B1C1D1E1F";
	char path[] = "/tmp/rs-key.XXXXXX", text[80];
	uint8_t key[RS_KEY_LEN] = { 0 };
	const char *why;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	write_file(path, hex, 0600);
	assert_int_equal(rs_key_read(path, key, &why), 0);
	assert_int_equal(key[31], 31);
	snprintf(text, sizeof(text), "%s\n", hex);
	write_file(path, text, 0400);
	assert_int_equal(rs_key_read(path, key, &why), 0);
	write_file(path, "abcdefghijklmnopqrstuvwxyz012345", 0600);
	assert_int_equal(rs_key_read(path, key, &why), 0);
	assert_int_equal(key[0], 'a');
	write_file(path, hex, 0640);
	assert_int_equal(rs_key_read(path, key, &why), -EPERM);
	assert_non_null(why);
	write_file(path, "tooshort", 0600);
	assert_int_equal(rs_key_read(path, key, &why), -EINVAL);
	text[3] = 'x';
	write_file(path, text, 0600);
	assert_int_equal(rs_key_read(path, key, &why), -EINVAL);
	assert_int_equal(key[0], 'a');
	unlink(path);
	assert_int_equal(rs_key_read(path, key, &why), -ENOENT);
	assert_int_equal(rs_key_read("/dev/null", key, &why), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_read),
		cmocka_unit_test(sizes_are_written),
		cmocka_unit_test(control_lines_are_read),
		cmocka_unit_test(bad_control_lines_are_refused),
		cmocka_unit_test(places_inside_are_told),
		cmocka_unit_test(mount_table_is_read),
		cmocka_unit_test(keys_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
