/*
 * test_model.c - the cache and the power cut against a second, plain model:
 * for each sector all its versions, and which of them is stable. A sector's
 * content is its version's number and its own, so the image tells which
 * version it holds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/disk/cut.h"
#include "tests/disk/rng.h"

#include <fcntl.h>
#include <unistd.h>

#define SECTORS 256u
#define SECTOR RS_DCACHE_SECTOR
#define VERSIONS 64u

struct model {
	char image[256];
	struct rs_dcache cache;
	/* versions 0..count of a sector, 0 is the empty image's */
	uint32_t count[SECTORS];
	uint32_t stable[SECTORS];
	uint64_t seed;
	uint64_t draws;
};

static uint64_t draw(struct model *m, uint64_t below)
{
	return rs_rng_at(m->seed, m->draws++, 99) % below;
}

static void fill(unsigned char *p, uint64_t sector, uint32_t version)
{
	size_t i;

	for (i = 0; i < SECTOR; i += 8) {
		rs_put32(p + i, version);
		rs_put32(p + i + 4, version ? (uint32_t)(sector + i) : 0);
	}
}

/* The version that a sector holds; fails if it is torn inside. */
static uint32_t version_of(const unsigned char *p, uint64_t sector)
{
	unsigned char want[SECTOR];
	uint32_t version = rs_get32(p);

	fill(want, sector, version);
	assert_memory_equal(p, want, SECTOR);
	return version;
}

static void start(struct model *m, uint64_t seed, uint64_t limit)
{
	int fd;

	memset(m, 0, sizeof(*m));
	m->seed = seed;
	snprintf(m->image, sizeof(m->image), "%s/model.XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	fd = mkstemp(m->image);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(rs_dcache_init(&m->cache, m->image,
					(uint64_t)SECTORS * SECTOR, limit),
			 0);
}

static void end(struct model *m)
{
	rs_dcache_release(&m->cache);
	unlink(m->image);
}

static void write_some(struct model *m)
{
	unsigned char buf[16 * SECTOR];
	uint64_t n = 1 + draw(m, 16);
	uint64_t s = draw(m, SECTORS - n + 1);
	uint64_t i;

	for (i = 0; i < n; i++)
		fill(buf + i * SECTOR, s + i, ++m->count[s + i]);
	assert_int_equal(
		rs_dcache_append(
			&m->cache,
			rs_dwrite_new(s * SECTOR, buf, (uint32_t)(n * SECTOR))),
		0);
}

static void flush_all(struct model *m)
{
	assert_int_equal(rs_dcache_flush(&m->cache, rs_dcache_mark(&m->cache)),
			 0);
	memcpy(m->stable, m->count, sizeof(m->stable));
}

static void check_reads(struct model *m)
{
	unsigned char buf[SECTORS * SECTOR];
	uint64_t s;

	assert_int_equal(rs_dcache_read(&m->cache, 0, buf, sizeof(buf)), 0);
	for (s = 0; s < SECTORS; s++)
		assert_int_equal(version_of(buf + s * SECTOR, s), m->count[s]);
}

static void random_life(struct model *m, unsigned steps)
{
	while (steps--) {
		if (draw(m, 12) == 0)
			flush_all(m);
		else
			write_some(m);
		if (draw(m, 8) == 0)
			check_reads(m);
	}
}

static void read_image(const struct model *m, unsigned char *ret_image)
{
	int fd = open(m->image, O_RDONLY);

	assert_true(fd >= 0);
	assert_int_equal(read(fd, ret_image, SECTORS * SECTOR),
			 (ssize_t)SECTORS * SECTOR);
	close(fd);
}

struct tally {
	uint64_t lost, kept, older;
};

/* Each sector shows its stable version or one that came after it. */
static void check_image(const struct model *m, struct tally *t)
{
	unsigned char image[SECTORS * SECTOR];
	uint64_t s;

	read_image(m, image);
	for (s = 0; s < SECTORS; s++) {
		uint32_t v = version_of(image + s * SECTOR, s);

		assert_in_range(v, m->stable[s], m->count[s]);
		if (m->stable[s] == m->count[s])
			continue;
		t->lost += v == m->stable[s];
		t->kept += v == m->count[s];
		t->older += v > m->stable[s] && v < m->count[s];
	}
}

static void test_every_cut_is_allowed(void **state)
{
	static const enum rs_dcut_by by[] = { RS_DCUT_MIX, RS_DCUT_SECTOR,
					      RS_DCUT_WRITE, RS_DCUT_PREFIX };
	struct tally t[RS_ARRAY_LEN(by)] = { { 0, 0, 0 } };
	uint64_t seed;
	size_t i;

	(void)state;
	for (seed = 0; seed < 2000; seed++) {
		size_t way = seed % RS_ARRAY_LEN(by);
		struct rs_dcut cut = { .seed = seed,
				       .sector = seed / 4 % 2 ? 512 : 4096,
				       .keep = -1,
				       .by = by[way] };
		struct rs_dcut_result result;
		struct model m;

		start(&m, seed, 1 << 20);
		random_life(&m, 10 + (unsigned)draw(&m, 40));
		assert_int_equal(rs_dcut_apply(&m.cache, &cut, &result), 0);
		assert_int_equal(m.cache.count, 0);
		check_image(&m, &t[way]);
		end(&m);
	}
	/* All three must happen, or the cut proves nothing. */
	for (i = 0; i < RS_ARRAY_LEN(by); i++) {
		assert_true(t[i].lost > 1000);
		assert_true(t[i].kept > 1000);
		assert_true(t[i].older > 100);
	}
}

static void cut_image(uint64_t life, uint64_t seed, unsigned char *ret_image)
{
	struct rs_dcut cut = {
		.seed = seed, .sector = 512, .keep = 50, .by = RS_DCUT_SECTOR
	};
	struct rs_dcut_result result;
	struct model m;

	start(&m, life, 1 << 20);
	random_life(&m, 30);
	write_some(&m);
	assert_int_equal(rs_dcut_apply(&m.cache, &cut, &result), 0);
	assert_true(result.units > 0);
	read_image(&m, ret_image);
	end(&m);
}

static void test_same_seed_same_image(void **state)
{
	unsigned char a[SECTORS * SECTOR], b[SECTORS * SECTOR];
	unsigned different = 0;
	uint64_t life;

	(void)state;
	for (life = 0; life < 50; life++) {
		cut_image(life, 7, a);
		cut_image(life, 7, b);
		assert_memory_equal(a, b, sizeof(a));
		cut_image(life, 8, b);
		different += memcmp(a, b, sizeof(a)) != 0;
	}
	assert_true(different > 40);
}

/* keep=0 leaves nothing unflushed and keep=100 all, whatever the way. */
static void test_keep_has_its_extremes(void **state)
{
	uint64_t seed;

	(void)state;
	for (seed = 0; seed < 80; seed++) {
		struct rs_dcut cut = { .seed = seed,
				       .sector = 512,
				       .keep = seed % 2 ? 100 : 0,
				       .by = (enum rs_dcut_by)(seed / 2 % 4) };
		struct rs_dcut_result result;
		struct tally t = { 0, 0, 0 };
		struct model m;

		start(&m, seed, 1 << 20);
		random_life(&m, 20);
		write_some(&m);
		assert_int_equal(rs_dcut_apply(&m.cache, &cut, &result), 0);
		check_image(&m, &t);
		assert_true(cut.keep ? t.kept > 0 : t.lost > 0);
		assert_int_equal(cut.keep ? t.lost : t.kept, 0);
		/* An older version is what by=sector may draw. */
		if (!cut.keep || result.used.by != RS_DCUT_SECTOR)
			assert_int_equal(t.older, 0);
		end(&m);
	}
}

/* A unit of 4096 bytes is never torn: its eight sectors hold what one moment
 * between two writes showed. */
static void test_big_sectors_are_whole(void **state)
{
	uint64_t seed;

	(void)state;
	for (seed = 0; seed < 200; seed++) {
		struct rs_dcut cut = { .seed = seed,
				       .sector = 4096,
				       .keep = 60,
				       .by = RS_DCUT_SECTOR };
		unsigned char buf[4096], image[SECTORS * SECTOR];
		struct rs_dcut_result result;
		struct model m;
		unsigned i, k;

		start(&m, seed, 1 << 20);
		for (k = 1; k <= 5; k++) {
			for (i = 0; i < 8; i++)
				fill(buf + i * SECTOR, 8 + i, k);
			assert_int_equal(
				rs_dcache_append(
					&m.cache,
					rs_dwrite_new(4096, buf, 4096)),
				0);
		}
		assert_int_equal(rs_dcut_apply(&m.cache, &cut, &result), 0);
		read_image(&m, image);
		k = version_of(image + 4096, 8);
		for (i = 1; i < 8; i++)
			assert_int_equal(
				version_of(image + 4096 + i * SECTOR, 8 + i),
				k);
		end(&m);
	}
}

/* A small cache writes back by itself; what it holds it still answers. */
static void test_full_cache_spills(void **state)
{
	struct tally t = { 0, 0, 0 };
	struct model m;

	(void)state;
	start(&m, 3, 20 * SECTOR);
	random_life(&m, 400);
	check_reads(&m);
	assert_true(m.cache.spilled > 0);
	assert_true(m.cache.bytes <= m.cache.limit);
	rs_dcache_drop(&m.cache);
	check_image(&m, &t);
	end(&m);
}

/* A flush saves what came before its mark, though newer writes cover it and
 * are lost. */
static void test_mark_protects_older_version(void **state)
{
	unsigned char buf[SECTOR], image[SECTORS * SECTOR];
	struct model m;
	uint32_t mark;

	(void)state;
	start(&m, 4, 1 << 20);
	fill(buf, 5, 1);
	assert_int_equal(rs_dcache_append(&m.cache, rs_dwrite_new(5 * SECTOR,
								  buf, SECTOR)),
			 0);
	mark = rs_dcache_mark(&m.cache);
	fill(buf, 5, 2);
	assert_int_equal(rs_dcache_append(&m.cache, rs_dwrite_new(5 * SECTOR,
								  buf, SECTOR)),
			 0);
	assert_int_equal(rs_dcache_flush(&m.cache, mark), 0);
	m.count[5] = 2;
	check_reads(&m);
	rs_dcache_drop(&m.cache);
	read_image(&m, image);
	assert_int_equal(version_of(image + 5 * SECTOR, 5), 1);
	end(&m);
}

/* What a failed flush gave up is read, but no later flush saves it. */
static void test_given_up_writes_stay_volatile(void **state)
{
	unsigned char buf[SECTOR], image[SECTORS * SECTOR];
	struct model m;
	unsigned i;

	(void)state;
	start(&m, 5, 1 << 20);
	for (i = 0; i < 2; i++) {
		fill(buf, 5 + i, 1);
		assert_int_equal(
			rs_dcache_append(
				&m.cache,
				rs_dwrite_new((5 + i) * SECTOR, buf, SECTOR)),
			0);
		if (i == 0)
			rs_dcache_lose(&m.cache, rs_dcache_mark(&m.cache));
		m.count[5 + i] = 1;
	}
	for (i = 0; i < 3; i++) {
		assert_int_equal(rs_dcache_flush(&m.cache, UINT32_MAX), 0);
		check_reads(&m);
		assert_int_equal(m.cache.count, 1);
	}
	read_image(&m, image);
	assert_int_equal(version_of(image + 5 * SECTOR, 5), 0);
	assert_int_equal(version_of(image + 6 * SECTOR, 6), 1);
	end(&m);
}

static void test_rot_flips_one_bit_a_byte(void **state)
{
	unsigned char before[SECTORS * SECTOR], after[SECTORS * SECTOR];
	struct model m;
	size_t i;

	(void)state;
	start(&m, 6, 1 << 20);
	random_life(&m, 50);
	assert_int_equal(rs_dcache_read(&m.cache, 0, before, sizeof(before)),
			 0);
	assert_int_equal(rs_dcache_rot(&m.cache, 1000, 3000, 9), 0);
	assert_int_equal(rs_dcache_read(&m.cache, 0, after, sizeof(after)), 0);
	for (i = 0; i < sizeof(before); i++) {
		int flipped = __builtin_popcount(before[i] ^ after[i]);

		assert_int_equal(flipped, i >= 1000 && i < 4000);
	}
	end(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_cut_is_allowed),
		cmocka_unit_test(test_same_seed_same_image),
		cmocka_unit_test(test_keep_has_its_extremes),
		cmocka_unit_test(test_big_sectors_are_whole),
		cmocka_unit_test(test_full_cache_spills),
		cmocka_unit_test(test_mark_protects_older_version),
		cmocka_unit_test(test_given_up_writes_stay_volatile),
		cmocka_unit_test(test_rot_flips_one_bit_a_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
