/* test_ring.c - places, numbers, seals, short writes, the scan. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/stat.h>

#include "journal/marker.h"
#include "journal/record.h"
#include "journal/ring.h"
#include "tests/unit/fake_seam.h"

#define SIZE (UINT64_C(64) * RS_PAGE)

static const uint8_t id[RS_ID_LEN] = "a store's own id";
static const uint8_t site[RS_KEY_LEN] = "a key of a site that has one...";

struct box {
	struct fake_seam fake;
	char *dir;
	int dirfd;
	struct rs_crypto *crypto;
	struct rs_ring *ring;
	uint8_t *buf; /* a frame image */
};

static void open_ring(struct box *box, int readonly)
{
	assert_int_equal(rs_ring_open(box->dirfd, "ring", SIZE, id, box->crypto,
				      &box->fake.seam, readonly, &box->ring),
			 0);
}

static int set_up_with(void **state, const uint8_t *key)
{
	struct box *box = calloc(1, sizeof(*box));
	int cow = 7;

	assert_non_null(box);
	*state = box;
	fake_seam_init(&box->fake);
	box->dir = fake_dir_make();
	box->dirfd = open(box->dir, O_RDONLY | O_DIRECTORY);
	assert_int_equal(rs_crypto_new(id, key, &box->crypto), 0);
	assert_int_equal(rs_ring_create(box->dirfd, "ring", SIZE,
					&box->fake.seam, NULL, NULL, &cow),
			 0);
	assert_in_range(cow, 0, 1);
	box->buf = rs_ring_buffer(16 * RS_PAGE);
	assert_non_null(box->buf);
	open_ring(box, 0);
	box->fake.n_events = 0;
	box->fake.writes = box->fake.flushes = box->fake.reads = 0;
	return 0;
}

static int set_up(void **state)
{
	return set_up_with(state, NULL);
}

static int set_up_keyed(void **state)
{
	return set_up_with(state, site);
}

static int tear_down(void **state)
{
	struct box *box = *state;

	rs_ring_close(box->ring);
	rs_crypto_free(box->crypto);
	close(box->dirfd);
	fake_dir_remove(box->dir);
	free(box->buf);
	free(box);
	return 0;
}

/* A frame whose body is one DATA record of n bytes. */
static uint64_t fill(struct box *box, uint32_t n, uint8_t with)
{
	static uint8_t data[16 * RS_PAGE];
	struct rs_rec rec = {
		.type = RS_REC_DATA, .ino = 9, .data = data, .data_len = n
	};

	memset(data, with, n);
	return rs_rec_encode(&rec, box->buf + RS_FRAME_HEADER);
}

static struct rs_frame_ref put(struct box *box, uint32_t n, uint8_t with)
{
	uint64_t len = fill(box, n, with);
	struct rs_frame_ref ref;

	assert_int_equal(rs_ring_write(box->ring, box->buf, len, 0, 0, 0, &ref),
			 0);
	return ref;
}

static struct rs_frame_ref seal(struct box *box, unsigned int flags)
{
	struct rs_frame_ref ref;

	assert_int_equal(rs_ring_write(box->ring, box->buf, 0,
				       (uint16_t)(RS_FF_SEAL | flags), 0, 0,
				       &ref),
			 0);
	return ref;
}

static void test_create(void **state)
{
	struct box *box = *state;
	struct stat st;
	int cow;

	assert_int_equal(fstatat(box->dirfd, "ring", &st, 0), 0);
	assert_int_equal(st.st_size, SIZE);
	assert_int_equal(st.st_mode & 07777, 0600);
	/* all of it is there: no hole */
	assert_true((uint64_t)st.st_blocks * 512 >= SIZE);
	assert_int_equal(rs_ring_create(box->dirfd, "ring", SIZE,
					&box->fake.seam, NULL, NULL, &cow),
			 -EEXIST);
	box->fake.fail_write = box->fake.writes + 1;
	box->fake.error = -ENOSPC;
	assert_int_equal(rs_ring_create(box->dirfd, "two", SIZE,
					&box->fake.seam, NULL, NULL, &cow),
			 -ENOSPC);
	assert_int_equal(fstatat(box->dirfd, "two", &st, 0), -1);
}

static void test_open_refuses(void **state)
{
	struct box *box = *state;
	struct rs_ring *ring;

	assert_int_equal(rs_ring_open(box->dirfd, "none", SIZE, id, box->crypto,
				      &box->fake.seam, 0, &ring),
			 -ENOENT);
	assert_int_equal(rs_ring_open(box->dirfd, "ring", SIZE + RS_PAGE, id,
				      box->crypto, &box->fake.seam, 0, &ring),
			 -EUCLEAN);
	assert_int_equal(rs_ring_open(box->dirfd, ".", SIZE, id, box->crypto,
				      &box->fake.seam, 1, &ring),
			 -EUCLEAN);
}

static void test_places(void **state)
{
	struct box *box = *state;
	struct rs_frame_ref a, b, c;
	struct rs_ring_head head;
	uint8_t *buf;

	a = put(box, 100, 1);
	assert_int_equal(a.number, 1);
	assert_int_equal(a.prev, 0);
	assert_int_equal(a.place, 0);
	assert_int_equal(a.size, RS_PAGE);
	b = put(box, 5000, 2);
	assert_int_equal(b.place, RS_PAGE);
	assert_int_equal(b.size, 2 * RS_PAGE);
	assert_int_equal(b.prev, 1);
	assert_memory_equal(b.prev_tag, a.tag, RS_TAG_LEN);
	/* one write each, no flush */
	assert_int_equal(box->fake.writes, 2);
	assert_int_equal(box->fake.flushes, 0);

	/* what doesn't fit before the end starts at 0 */
	rs_ring_get_head(box->ring, &head);
	head.place = SIZE - RS_PAGE;
	rs_ring_set_head(box->ring, &head);
	c = put(box, 5000, 3);
	assert_int_equal(c.place, 0);
	assert_int_equal(c.prev, 2);
	/* and one that fits to the byte stays */
	rs_ring_get_head(box->ring, &head);
	head.place = SIZE - 2 * RS_PAGE;
	rs_ring_set_head(box->ring, &head);
	c = put(box, 5000, 4);
	assert_int_equal(c.place, SIZE - 2 * RS_PAGE);
	assert_int_equal(rs_ring_next_place(box->ring, RS_PAGE), 0);

	assert_int_equal(rs_ring_read_frame(box->ring, &c, &buf), 0);
	assert_int_equal(buf[RS_FRAME_HEADER + RS_REC_HEADER + 16], 4);
	free(buf);
}

static void test_seals(void **state)
{
	struct box *box = *state;
	struct rs_frame_ref a, s, t, b;
	struct rs_ring_head head;

	a = put(box, 100, 1);
	s = seal(box, 0);
	assert_int_equal(s.number, 2);
	assert_int_equal(s.prev, a.number);
	assert_int_equal(s.place, RS_PAGE);
	assert_memory_equal(s.prev_tag, a.tag, RS_TAG_LEN);
	t = seal(box, RS_FF_CLEAN);
	assert_int_equal(t.number, 3);
	assert_int_equal(t.place, RS_PAGE);
	/* the next frame is written over it and names the frame before */
	b = put(box, 100, 2);
	assert_int_equal(b.number, 4);
	assert_int_equal(b.place, RS_PAGE);
	assert_int_equal(b.prev, a.number);
	assert_memory_equal(b.prev_tag, a.tag, RS_TAG_LEN);
	/* a seal at the very end goes to 0 */
	rs_ring_get_head(box->ring, &head);
	head.place = SIZE;
	rs_ring_set_head(box->ring, &head);
	s = seal(box, 0);
	assert_int_equal(s.place, 0);
	rs_ring_get_head(box->ring, &head);
	assert_int_equal(head.place, SIZE);
	assert_int_equal(head.prev, b.number);
	assert_int_equal(rs_ring_look(box->ring, 0, &t), 0);
	assert_int_equal(t.damaged, 0);
	assert_int_equal(t.number, s.number);
	assert_int_equal(t.flags & RS_FF_SEAL, RS_FF_SEAL);
}

static void test_short_write(void **state)
{
	static const size_t lens[] = { 0, 1, 512, 4095, 4096, 4097, 8191 };
	struct box *box = *state;
	struct rs_frame_ref ref;
	uint8_t *buf;
	size_t i;

	for (i = 0; i < RS_ARRAY_LEN(lens); i++) {
		box->fake.short_write = box->fake.writes + 1;
		box->fake.short_len = lens[i];
		ref = put(box, 9000, (uint8_t)i);
		assert_int_equal(rs_ring_read_frame(box->ring, &ref, &buf), 0);
		assert_int_equal(buf[RS_FRAME_HEADER + 9000], i);
		free(buf);
	}
}

static void test_error_is_final(void **state)
{
	struct box *box = *state;
	struct rs_frame_ref ref;
	unsigned int writes;
	uint64_t len;

	put(box, 100, 1);
	assert_int_equal(rs_ring_flush(box->ring), 0);
	box->fake.fail_flush = 2;
	assert_int_equal(rs_ring_flush(box->ring), -EIO);
	/* the disk would say yes now; we don't ask */
	assert_int_equal(rs_ring_flush(box->ring), -EIO);
	assert_int_equal(box->fake.flushes, 2);
	writes = box->fake.writes;
	len = fill(box, 100, 2);
	assert_int_equal(rs_ring_write(box->ring, box->buf, len, 0, 0, 0, &ref),
			 -EIO);
	assert_int_equal(box->fake.writes, writes);
}

static void test_write_error(void **state)
{
	struct box *box = *state;
	struct rs_frame_ref ref;
	uint64_t len = fill(box, 100, 2);

	box->fake.fail_write = 1;
	box->fake.error = -ENOSPC;
	assert_int_equal(rs_ring_write(box->ring, box->buf, len, 0, 0, 0, &ref),
			 -ENOSPC);
	assert_int_equal(rs_ring_flush(box->ring), -ENOSPC);
	assert_int_equal(box->fake.flushes, 0);
}

static void test_readonly(void **state)
{
	struct box *box = *state;
	struct rs_frame_ref ref;

	rs_ring_close(box->ring);
	open_ring(box, 1);
	assert_int_equal(
		rs_ring_write(box->ring, box->buf, 0, RS_FF_SEAL, 0, 0, &ref),
		-EROFS);
	assert_int_equal(box->fake.writes, 0);
}

struct seen {
	struct rs_frame_ref ref[64];
	size_t n;
};

static int see(void *arg, const struct rs_frame_ref *ref)
{
	struct seen *seen = arg;

	assert_true(seen->n < 64);
	seen->ref[seen->n++] = *ref;
	return 0;
}

static size_t scan(struct box *box, int check, struct seen *seen,
		   uint64_t *ret_bad)
{
	seen->n = 0;
	assert_int_equal(rs_ring_scan(box->ring, check, see, seen, ret_bad), 0);
	return seen->n;
}

static void test_scan(void **state)
{
	struct box *box = *state;
	struct rs_frame_ref a, b, c;
	struct seen seen;
	uint64_t bad;
	int fd;

	assert_int_equal(scan(box, 1, &seen, &bad), 0);
	a = put(box, 100, 1);
	b = put(box, 9000, 2);
	c = put(box, 100, 3);
	seal(box, 0);
	assert_int_equal(scan(box, 1, &seen, &bad), 4);
	assert_int_equal(bad, 0);
	assert_int_equal(seen.ref[0].number, a.number);
	assert_int_equal(seen.ref[1].number, b.number);
	assert_int_equal(seen.ref[1].damaged, 0);
	assert_memory_equal(seen.ref[1].tag, b.tag, RS_TAG_LEN);
	assert_memory_equal(seen.ref[1].salt, a.salt, RS_SALT_LEN);
	assert_int_equal(seen.ref[3].prev, c.number);

	/* a flipped byte in the body: header whole, the rest not */
	fd = openat(box->dirfd, "ring", O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, "!", 1, (off_t)b.place + 7000), 1);
	assert_int_equal(fsync(fd), 0);
	assert_int_equal(scan(box, 1, &seen, &bad), 4);
	assert_int_equal(seen.ref[1].damaged, -EBADMSG);
	/* in the header: no frame at all */
	assert_int_equal(pwrite(fd, "!", 1, (off_t)b.place + 70), 1);
	assert_int_equal(fsync(fd), 0);
	close(fd);
	assert_int_equal(scan(box, 1, &seen, &bad), 3);
	assert_int_equal(seen.ref[1].number, c.number);
}

/* A page that can't be read costs what is in it, no more. */
static void test_bad_page(void **state)
{
	struct box *box = *state;
	struct rs_frame_ref b;
	struct seen seen;
	uint64_t bad;
	uint8_t *buf;

	put(box, 100, 1);
	b = put(box, 9000, 2);
	put(box, 100, 3);
	box->fake.bad_byte = (int64_t)b.place + RS_PAGE + 5;
	assert_int_equal(scan(box, 1, &seen, &bad), 3);
	assert_int_equal(bad, 1);
	assert_int_equal(seen.ref[1].damaged, -EBADMSG);
	assert_int_equal(seen.ref[2].damaged, 0);
	assert_int_equal(rs_ring_read_frame(box->ring, &b, &buf), -EIO);
}

/*
 * Mail that looks like a frame: a copy of a real one, with its place, in the
 * body of another. Nothing inside an authentic frame is a candidate.
 */
static void test_forged(void **state)
{
	struct box *box = *state;
	static uint8_t data[3 * RS_PAGE];
	struct rs_rec rec = { .type = RS_REC_DATA,
			      .ino = 9,
			      .data = data,
			      .data_len = sizeof(data) };
	struct rs_frame_ref ref, got;
	struct seen seen;
	uint64_t bad, len;
	size_t off;

	/* make a frame for place 1, read it, start over at place 0 */
	put(box, 100, 1);
	put(box, 100, 2);
	assert_int_equal(rs_ring_read(box->ring, RS_PAGE, RS_PAGE, box->buf),
			 0);
	off = RS_PAGE - RS_FRAME_HEADER - RS_REC_HEADER - 16;
	memcpy(data + off, box->buf, RS_PAGE);
	rs_ring_set_head(box->ring, &(struct rs_ring_head){ .number = 10 });
	len = rs_rec_encode(&rec, box->buf + RS_FRAME_HEADER);
	assert_int_equal(rs_ring_write(box->ring, box->buf, len, 0, 0, 0, &ref),
			 0);
	assert_int_equal(rs_ring_look(box->ring, RS_PAGE, &got), 0);
	assert_int_equal(got.number, 2);
	assert_int_equal(scan(box, 0, &seen, &bad), 2);
	assert_int_equal(scan(box, 1, &seen, &bad), 1);
	assert_int_equal(seen.ref[0].number, 11);
}

static void test_keyed(void **state)
{
	struct box *box = *state;
	struct rs_frame_ref a, b;
	struct seen seen;
	uint8_t *buf;
	uint64_t bad;

	a = put(box, 9000, 'A');
	assert_int_equal(a.flags, RS_FF_ENCRYPTED);
	b = put(box, 100, 'B');
	/* the text isn't on disk */
	assert_int_equal(rs_ring_read(box->ring, 0, 4 * RS_PAGE, box->buf), 0);
	assert_null(memmem(box->buf, 4 * RS_PAGE, "AAAA", 4));
	assert_int_equal(scan(box, 1, &seen, &bad), 2);
	assert_int_equal(seen.ref[1].number, b.number);
	assert_int_equal(rs_ring_read_frame(box->ring, &a, &buf), 0);
	assert_int_equal(buf[RS_FRAME_HEADER + 5000], 'A');
	free(buf);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_create),
		TEST(test_open_refuses),
		TEST(test_places),
		TEST(test_seals),
		TEST(test_short_write),
		TEST(test_error_is_final),
		TEST(test_write_error),
		TEST(test_readonly),
		TEST(test_scan),
		TEST(test_bad_page),
		TEST(test_forged),
		cmocka_unit_test_setup_teardown(test_keyed, set_up_keyed,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
