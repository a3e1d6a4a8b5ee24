/*
 * test_format.c - the example in journal/FORMAT.md is what the code writes,
 * byte for byte, and what it reads.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>

#include "journal/group.h"
#include "tests/unit/fake_seam.h"

#define EXAMPLE 256

static const uint8_t id[RS_ID_LEN] = { 0, 1, 2,	 3,  4,	 5,  6,	 7,
				       8, 9, 10, 11, 12, 13, 14, 15 };

static int known_random(void *ctx, void *buf, size_t len)
{
	uint8_t *p = buf;
	size_t i;

	(void)ctx;
	for (i = 0; i < len; i++)
		p[i] = (uint8_t)(0x20 + i);
	return 0;
}

/* The lines "0000  52 53 ..." of the page. */
static void read_example(uint8_t *buf)
{
	const char *src = getenv("RS_SRC");
	unsigned long off;
	unsigned int want = 0, n;
	char path[4096], line[256], *p, *end;
	FILE *page;

	snprintf(path, sizeof(path), "%s/journal/FORMAT.md", src ? src : ".");
	page = fopen(path, "r");
	assert_non_null(page);
	while (fgets(line, sizeof(line), page)) {
		off = strtoul(line, &p, 16);
		if (p != line + 4 || off != want || p[0] != ' ' || p[1] != ' ')
			continue;
		for (n = 0; n < 16; n++, p = end) {
			buf[off + n] = (uint8_t)strtoul(p, &end, 16);
			if (end == p)
				break;
		}
		assert_int_equal(n, 16);
		want += 16;
		if (want == EXAMPLE)
			break;
	}
	fclose(page);
	assert_int_equal(want, EXAMPLE);
}

static void test_example(void **state)
{
	const struct rs_ring_head head = { .number = 1 };
	const struct rs_rec rec = { .type = RS_REC_CEILING,
				    .off = RS_INO_FIRST + RS_INO_STEP };
	struct rs_seam seam = rs_seam_posix;
	char *dir = fake_dir_make();
	int cow, dirfd = open(dir, O_RDONLY | O_DIRECTORY);
	uint8_t want[RS_PAGE] = { 0 }, *page = rs_ring_buffer(RS_PAGE);
	struct rs_frame_ref ref, got;
	struct rs_crypto *crypto;
	struct rs_ring *ring;
	uint64_t len;

	(void)state;
	read_example(want);
	seam.random = known_random;
	assert_non_null(page);
	assert_int_equal(rs_crypto_new(id, NULL, &crypto), 0);
	assert_int_equal(rs_ring_create(dirfd, "ring", RS_RING_MIN_TEST, &seam,
					NULL, NULL, &cow),
			 0);
	assert_int_equal(rs_ring_open(dirfd, "ring", RS_RING_MIN_TEST, id,
				      crypto, &seam, 0, &ring),
			 0);
	rs_ring_set_head(ring, &head);
	len = rs_rec_encode(&rec, page + RS_FRAME_HEADER);
	assert_int_equal(rs_ring_write(ring, page, len, 0, 0, 0, &ref), 0);
	assert_memory_equal(page, want, RS_PAGE);
	assert_int_equal(rs_ring_read(ring, 0, RS_PAGE, page), 0);
	assert_memory_equal(page, want, RS_PAGE);
	assert_int_equal(rs_ring_look(ring, 0, &got), 0);
	assert_int_equal(got.damaged, 0);
	assert_int_equal(got.number, 2);
	rs_ring_close(ring);
	rs_crypto_free(crypto);
	free(page);
	close(dirfd);
	fake_dir_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_example),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
