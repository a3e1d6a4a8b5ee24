/*
 * test_chain.c - which frames follow the applied one: R1 to R8 of
 * journal/FORMAT.md on rings written by rs_ring_write().
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/stat.h>

#include "journal/record.h"
#include "journal/recover.h"
#include "journal/ring.h"
#include "tests/unit/fake_seam.h"

#define PAGES 64u
#define SIZE ((uint64_t)PAGES * RS_PAGE)

static const uint8_t id[RS_ID_LEN] = "a store's own id";

struct box {
	struct fake_seam fake;
	char *dir;
	int dirfd, fd;
	struct rs_crypto *crypto;
	struct rs_ring *ring;
	void *buf;
	struct rs_root root;
	struct rs_report rep;
	struct rs_chain chain;
	struct rs_frame_ref ref[PAGES]; /* frames as written */
	size_t n;
};

static void open_ring(struct box *box)
{
	assert_int_equal(rs_ring_open(box->dirfd, "ring", SIZE, id, box->crypto,
				      &box->fake.seam, 0, &box->ring),
			 0);
}

static int set_up(void **state)
{
	struct box *box = calloc(1, sizeof(*box));
	int cow;

	assert_non_null(box);
	*state = box;
	fake_seam_init(&box->fake);
	box->dir = fake_dir_make();
	box->dirfd = open(box->dir, O_RDONLY | O_DIRECTORY);
	assert_int_equal(rs_crypto_new(id, NULL, &box->crypto), 0);
	assert_int_equal(rs_ring_create(box->dirfd, "ring", SIZE,
					&box->fake.seam, NULL, NULL, &cow),
			 0);
	assert_int_equal(posix_memalign(&box->buf, RS_PAGE, SIZE), 0);
	box->fd = openat(box->dirfd, "ring", O_RDWR);
	rs_report_init(&box->rep);
	open_ring(box);
	return 0;
}

static int tear_down(void **state)
{
	struct box *box = *state;

	rs_chain_release(&box->chain);
	rs_report_release(&box->rep);
	rs_ring_close(box->ring);
	rs_crypto_free(box->crypto);
	close(box->fd);
	close(box->dirfd);
	fake_dir_remove(box->dir);
	free(box->buf);
	free(box);
	return 0;
}

/* A frame of that many pages. */
static struct rs_frame_ref *put(struct box *box, uint32_t pages)
{
	static uint8_t data[16 * RS_PAGE];
	struct rs_rec rec = { .type = RS_REC_DATA,
			      .ino = 9,
			      .data = data,
			      .data_len = (pages - 1) * RS_PAGE + 100 };
	struct rs_frame_ref *ref = &box->ref[box->n++];
	uint8_t *body = box->buf;
	uint64_t len;

	memset(data, (int)box->n, sizeof(data));
	len = rs_rec_encode(&rec, body + RS_FRAME_HEADER);
	assert_int_equal(rs_ring_write(box->ring, box->buf, len, 0, 0, 0, ref),
			 0);
	assert_int_equal(ref->size, pages * RS_PAGE);
	return ref;
}

static void seal(struct box *box, uint16_t flags)
{
	struct rs_frame_ref ref;

	assert_int_equal(rs_ring_write(box->ring, box->buf, 0,
				       (uint16_t)(RS_FF_SEAL | flags), 0, 0,
				       &ref),
			 0);
}

/* Everything up to this frame is in the store. */
static void applied(struct box *box, const struct rs_frame_ref *ref)
{
	box->root.applied = ref->number;
	box->root.applied_place = ref->place;
	memcpy(box->root.applied_tag, ref->tag, RS_TAG_LEN);
	box->root.next_place = ref->place + ref->size;
}

/* A new process: another salt. */
static void restart(struct box *box)
{
	struct rs_ring_head head;

	rs_ring_get_head(box->ring, &head);
	rs_ring_close(box->ring);
	open_ring(box);
	rs_ring_set_head(box->ring, &head);
}

static int find(struct box *box)
{
	rs_chain_release(&box->chain);
	rs_report_release(&box->rep);
	rs_report_init(&box->rep);
	return rs_chain_find(box->ring, &box->root, &box->rep, &box->chain);
}

static void want(struct box *box, size_t n)
{
	assert_int_equal(find(box), 0);
	assert_int_equal(box->chain.n, n);
	assert_int_equal(box->rep.quarantined, 0);
	assert_int_equal(box->chain.first_gap, n);
}

/* The head that rs_ring_write() moved along says where writing goes on. */
static void want_head(struct box *box)
{
	struct rs_ring_head head;

	rs_ring_get_head(box->ring, &head);
	assert_int_equal(box->chain.head.place, head.place);
	assert_int_equal(box->chain.head.number, head.number);
	assert_int_equal(box->chain.head.prev, head.prev);
	assert_memory_equal(box->chain.head.prev_tag, head.prev_tag,
			    RS_TAG_LEN);
}

static void spoil(struct box *box, uint64_t at, size_t len)
{
	uint8_t junk[RS_PAGE];

	memset(junk, 0xdb, sizeof(junk));
	assert_in_range(len, 1, sizeof(junk));
	assert_int_equal(pwrite(box->fd, junk, len, (off_t)at), len);
	assert_int_equal(fsync(box->fd), 0);
}

static void test_new(void **state)
{
	struct box *box = *state;

	want(box, 0); /* prewritten, no seal: nothing ever was */
	assert_int_equal(box->chain.head.place, 0);
	seal(box, RS_FF_CLEAN);
	want(box, 0);
	assert_int_equal(box->chain.clean, 1);
	want_head(box);
	/* the first frame over the seal, torn: nothing that counts */
	spoil(box, 0, RS_PAGE);
	want(box, 0);
	assert_int_equal(box->chain.clean, 0);
}

static void test_plain(void **state)
{
	struct box *box = *state;
	size_t i;

	for (i = 0; i < 5; i++)
		put(box, 1 + (uint32_t)i);
	want(box, 5);
	want_head(box);
	for (i = 0; i < 5; i++) {
		assert_int_equal(box->chain.refs[i].number, i + 1);
		assert_memory_equal(box->chain.refs[i].tag, box->ref[i].tag,
				    RS_TAG_LEN);
	}
	applied(box, &box->ref[2]);
	want(box, 2);
	want_head(box);
	/* an idle seal shows that the last frame was flushed */
	seal(box, 0);
	want(box, 2);
	want_head(box);
	applied(box, &box->ref[4]);
	want(box, 0);
	assert_int_equal(box->chain.clean, 0);
	seal(box, RS_FF_CLEAN);
	want(box, 0);
	assert_int_equal(box->chain.clean, 1);
	want_head(box);
}

static void test_restart(void **state)
{
	struct box *box = *state;

	put(box, 2);
	put(box, 3);
	applied(box, &box->ref[1]);
	seal(box, RS_FF_CLEAN);
	restart(box);
	put(box, 1);
	put(box, 4);
	want(box, 2);
	want_head(box);
}

/* Several laps, with the applied frame following. */
static void test_wrap(void **state)
{
	struct box *box = *state;
	unsigned int i;

	for (i = 0; i < 60; i++) {
		box->n %= 40;
		put(box, 1 + i % 7);
		if (i < 4)
			continue;
		applied(box, &box->ref[(box->n + 37) % 40]);
		if (i % 9 == 0)
			seal(box, 0);
		want(box, 2);
		want_head(box);
	}
}

/* The last frame, torn at every page: dropped, named, no damage. */
static void test_unfinished(void **state)
{
	struct box *box = *state;
	struct rs_frame_ref *last;
	uint64_t page;

	put(box, 2);
	put(box, 2);
	last = put(box, 6);
	for (page = 5; page > 0; page--) {
		spoil(box, last->place + page * RS_PAGE, RS_PAGE);
		want(box, 2);
		assert_int_equal(box->rep.unfinished, 1);
		assert_int_equal(box->rep.unfinished_number, 3);
		assert_int_equal(box->rep.unfinished_place, last->place);
		assert_int_equal(box->chain.head.place, last->place);
		assert_int_equal(box->chain.head.number, 3);
		assert_int_equal(box->chain.head.prev, 2);
	}
	/* no header: nothing shows that there was one */
	spoil(box, last->place, RS_PAGE);
	want(box, 2);
	assert_int_equal(box->rep.unfinished, 0);
	assert_int_equal(box->chain.head.place, last->place);
}

/* A seal after it proves that it was acknowledged: then it is damage. */
static void test_sealed_damage(void **state)
{
	struct box *box = *state;
	struct rs_frame_ref *last;

	put(box, 2);
	last = put(box, 6);
	seal(box, 0);
	spoil(box, last->place + RS_PAGE, 1);
	assert_int_equal(find(box), 0);
	assert_int_equal(box->chain.n, 1);
	assert_int_equal(box->chain.first_gap, 1);
	assert_int_equal(box->rep.quarantined, 1);
	assert_int_equal(box->rep.findings[0].kind, RS_FIND_FRAME);
	assert_int_equal(box->rep.findings[0].number, 2);
	assert_int_equal(box->rep.findings[0].place, last->place);
	assert_int_equal(box->rep.unfinished, 0);
	/* writing goes on behind it, chained to the last whole one */
	assert_int_equal(box->chain.head.place, last->place + last->size);
	assert_int_equal(box->chain.head.number, 3);
	assert_int_equal(box->chain.head.prev, 1);
	/* the header too: the seal alone still tells */
	spoil(box, last->place, RS_PAGE);
	assert_int_equal(find(box), 0);
	assert_int_equal(box->rep.quarantined, 1);
	assert_int_equal(box->rep.findings[0].place, last->place);
	assert_int_equal(box->chain.head.place, last->place + last->size);
}

static void check_middle(struct box *box, size_t lost)
{
	size_t i;

	assert_int_equal(find(box), 0);
	assert_int_equal(box->chain.n, 5 - 1);
	assert_int_equal(box->chain.first_gap, lost);
	assert_int_equal(box->rep.quarantined, 1);
	assert_int_equal(box->rep.findings[0].number, lost + 1);
	for (i = 0; i < 4; i++)
		assert_int_equal(box->chain.refs[i].number,
				 i + 1 + (i >= lost));
	want_head(box);
}

static void test_middle(void **state)
{
	struct box *box = *state;
	size_t i;

	for (i = 0; i < 5; i++)
		put(box, 2);
	for (i = 0; i < 4; i++) {
		uint8_t keep[2 * RS_PAGE];
		off_t at = (off_t)box->ref[i].place;

		assert_int_equal(pread(box->fd, keep, sizeof(keep), at),
				 sizeof(keep));
		spoil(box, box->ref[i].place + RS_PAGE, 8);
		check_middle(box, i);
		assert_int_equal(box->rep.findings[0].place, at);
		spoil(box, box->ref[i].place, RS_PAGE);
		check_middle(box, i);
		assert_int_equal(pwrite(box->fd, keep, sizeof(keep), at),
				 sizeof(keep));
	}
	want(box, 5);
	/* two that are lost, one behind the other and apart */
	spoil(box, box->ref[1].place, RS_PAGE);
	spoil(box, box->ref[3].place, RS_PAGE);
	assert_int_equal(find(box), 0);
	assert_int_equal(box->chain.n, 3);
	assert_int_equal(box->chain.first_gap, 1);
	assert_int_equal(box->rep.quarantined, 2);
}

static void test_unreadable(void **state)
{
	struct box *box = *state;
	size_t i;

	for (i = 0; i < 5; i++)
		put(box, 2);
	box->fake.bad_byte = (int64_t)box->ref[2].place + RS_PAGE + 5;
	check_middle(box, 2);
	box->fake.bad_byte = (int64_t)box->ref[2].place + 5;
	check_middle(box, 2);
	/* behind the end: nobody knows what was there */
	box->fake.bad_byte = (int64_t)(box->ref[4].place + box->ref[4].size);
	assert_int_equal(find(box), 0);
	assert_int_equal(box->chain.n, 5);
	assert_int_equal(box->rep.quarantined, 1);
	assert_int_equal(box->rep.findings[0].kind, RS_FIND_RING);
	/* elsewhere it is of no interest */
	box->fake.bad_byte = (int64_t)SIZE - 1;
	want(box, 5);
	box->fake.bad_byte = -1;
}

static void test_other_ring(void **state)
{
	struct box *box = *state;

	put(box, 2);
	put(box, 2);
	applied(box, &box->ref[1]);
	want(box, 0);
	/* an old copy: its numbers end before */
	box->root.applied = 7;
	assert_int_equal(find(box), -EUCLEAN);
	assert_int_equal(box->rep.findings[0].kind, RS_FIND_RING);
	/* another ring: the number is there with another tag */
	applied(box, &box->ref[1]);
	box->root.applied_tag[0] ^= 1;
	assert_int_equal(find(box), -EUCLEAN);
	applied(box, &box->ref[0]);
	box->root.applied_tag[0] ^= 1;
	assert_int_equal(find(box), -EUCLEAN);
	/* no frame at all */
	applied(box, &box->ref[1]);
	spoil(box, box->ref[0].place, RS_PAGE);
	spoil(box, box->ref[1].place, RS_PAGE);
	assert_int_equal(find(box), -EUCLEAN);
}

static void slurp(struct box *box, const char *name, char *buf, size_t size)
{
	int fd = openat(box->dirfd, name, O_RDONLY);
	ssize_t n;

	assert_true(fd >= 0);
	n = read(fd, buf, size - 1);
	assert_true(n >= 0);
	buf[n] = '\0';
	close(fd);
}

static void test_quarantine(void **state)
{
	struct box *box = *state;
	char index[4096], again[4096], page[RS_PAGE + 1];
	struct stat st;

	put(box, 2);
	put(box, 2);
	put(box, 2);
	spoil(box, box->ref[1].place + RS_PAGE, 8);
	assert_int_equal(find(box), 0);
	assert_int_equal(rs_quarantine_frames(box->dirfd, box->ring, &box->rep),
			 0);
	assert_int_equal(
		fstatat(box->dirfd, "quarantine/frame-2-at-8192", &st, 0), 0);
	assert_int_equal(st.st_size, 2 * RS_PAGE);
	assert_int_equal(st.st_mode & 0777, 0600);
	slurp(box, "quarantine/frame-2-at-8192", page, sizeof(page));
	assert_memory_equal(page, "RSPFRAME", 8);
	slurp(box, "quarantine/index.json", index, sizeof(index));
	assert_non_null(strstr(index, "\"kind\":\"frame\",\"number\":2,"));
	assert_non_null(strstr(index, "\"file\":\"frame-2-at-8192\""));
	assert_int_equal(strncmp(index, "[\n{", 3), 0);
	assert_string_equal(index + strlen(index) - 4, "}\n]\n");
	/* again: nothing new */
	assert_int_equal(rs_quarantine_frames(box->dirfd, box->ring, &box->rep),
			 0);
	slurp(box, "quarantine/index.json", again, sizeof(again));
	assert_string_equal(index, again);
	/* another one is added */
	spoil(box, box->ref[0].place + 300, 8);
	assert_int_equal(find(box), 0);
	rs_report_add(&box->rep, RS_FIND_INODE, 5, 3, UINT64_MAX, "a\"b\n", 4,
		      "of a test");
	assert_int_equal(rs_quarantine_frames(box->dirfd, box->ring, &box->rep),
			 0);
	slurp(box, "quarantine/index.json", again, sizeof(again));
	assert_memory_equal(index, again, strlen(index) - 3);
	assert_non_null(strstr(again, "frame-1-at-0"));
	assert_non_null(strstr(again, "\"ino\":5,\"place\":null,"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_new, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_plain, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_restart, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_wrap, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_unfinished, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_sealed_damage, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_middle, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_unreadable, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_other_ring, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_quarantine, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
