/* store_box.c - see store_box.h. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

#include "tests/unit/store_box.h"

const uint8_t sbox_id[RS_ID_LEN] = "a store to test";
static const uint8_t site[RS_KEY_LEN] = "a key of a site that has one...";

static int set_up_with(void **state, const uint8_t *key)
{
	struct sbox *box = calloc(1, sizeof(*box));
	const struct timespec now = { .tv_sec = 1700000000, .tv_nsec = 5 };

	assert_non_null(box);
	*state = box;
	box->site_key = key;
	box->dir = fake_dir_make();
	box->rng = 88172645463325252u;
	rs_report_init(&box->rep);
	assert_int_equal(rs_crypto_new(sbox_id, key, &box->crypto), 0);
	assert_int_equal(rs_store_create(box->dir, box->crypto, sbox_id, 12, 34,
					 &now, 0),
			 0);
	sbox_open(box, RS_STORE_WRITE);
	return 0;
}

int sbox_set_up(void **state)
{
	return set_up_with(state, NULL);
}

int sbox_set_up_keyed(void **state)
{
	return set_up_with(state, site);
}

int sbox_tear_down(void **state)
{
	struct sbox *box = *state;

	while (box->n)
		sbox_lose(box);
	sbox_close(box);
	rs_crypto_free(box->crypto);
	rs_report_release(&box->rep);
	fake_dir_remove(box->dir);
	free(box->refs);
	free(box->body);
	free(box);
	return 0;
}

void sbox_open(struct sbox *box, enum rs_store_mode mode)
{
	struct rs_root root;

	assert_int_equal(rs_store_open(box->dir, box->crypto, sbox_id, mode,
				       &box->store),
			 0);
	rs_store_root(box->store, &root);
	box->number = root.applied;
	memcpy(box->tag, root.applied_tag, RS_TAG_LEN);
}

void sbox_close(struct sbox *box)
{
	rs_store_close(box->store);
	box->store = NULL;
}

int sbox_check(struct sbox *box, int inline_walk)
{
	struct rs_root root;

	return rs_store_check(box->dir, box->crypto, sbox_id, inline_walk,
			      &box->rep, &root);
}

uint64_t sbox_random(struct sbox *box, uint64_t below)
{
	box->rng ^= box->rng << 13;
	box->rng ^= box->rng >> 7;
	box->rng ^= box->rng << 17;
	return box->rng % below;
}

void sbox_rec(struct sbox *box, struct rs_rec *rec)
{
	uint64_t number = box->number + 1;
	size_t size;

	if (rec->ino) {
		assert_in_range(rec->ino, 1, SBOX_INOS - 1);
		if (box->last[rec->ino] != number) {
			box->before[rec->ino] = box->last[rec->ino];
			box->last[rec->ino] = number;
		}
		rec->prev = box->before[rec->ino];
	}
	size = rs_rec_size(rec);
	if (box->len + size > box->cap) {
		box->cap = 2 * (box->len + size);
		box->body = realloc(box->body, box->cap);
		assert_non_null(box->body);
	}
	box->len += rs_rec_encode(rec, box->body + box->len);
}

void sbox_inode(struct sbox *box, uint64_t ino, const struct rs_attr *attr)
{
	struct rs_rec rec = { .type = RS_REC_INODE, .ino = ino, .attr = *attr };

	sbox_rec(box, &rec);
}

void sbox_file(struct sbox *box, uint64_t ino, uint64_t size, uint64_t blocks)
{
	const struct rs_attr attr = { .mode = S_IFREG | 0600,
				      .nlink = 1,
				      .size = size,
				      .blocks = blocks,
				      .mtime = { 4000000000, 999999999 } };

	sbox_inode(box, ino, &attr);
}

void sbox_dir(struct sbox *box, uint64_t ino)
{
	const struct rs_attr attr = { .mode = S_IFDIR | 0700, .nlink = 2 };

	sbox_inode(box, ino, &attr);
}

void sbox_del(struct sbox *box, uint64_t ino)
{
	struct rs_rec rec = { .type = RS_REC_INODE_DEL, .ino = ino };

	sbox_rec(box, &rec);
	/* Should it be logged again, it is born again. */
	box->last[ino] = 0;
}

void sbox_entry(struct sbox *box, uint64_t dir, const char *name,
		uint64_t child, int put)
{
	struct rs_rec rec = { .type = put ? RS_REC_ENTRY_PUT : RS_REC_ENTRY_DEL,
			      .ino = dir,
			      .child = child,
			      .dtype = put ? DT_REG : 0,
			      .name = (const uint8_t *)name,
			      .name_len = (uint32_t)strlen(name) };

	sbox_rec(box, &rec);
	sbox_dir(box, dir);
}

void sbox_data(struct sbox *box, uint64_t ino, uint64_t off, const void *data,
	       uint32_t len)
{
	struct rs_rec rec = { .type = RS_REC_DATA,
			      .ino = ino,
			      .off = off,
			      .data = data,
			      .data_len = len };

	sbox_rec(box, &rec);
}

void sbox_range(struct sbox *box, enum rs_rec_type type, uint64_t ino,
		uint64_t off, uint64_t len)
{
	struct rs_rec rec = {
		.type = type, .ino = ino, .off = off, .range = len
	};

	sbox_rec(box, &rec);
}

uint64_t sbox_frame(struct sbox *box)
{
	struct rs_frame_ref *ref;

	if (box->n == box->refs_cap) {
		box->refs_cap = 2 * box->refs_cap + 8;
		box->refs =
			realloc(box->refs, box->refs_cap * sizeof(*box->refs));
		assert_non_null(box->refs);
	}
	ref = &box->refs[box->n++];
	memset(ref, 0, sizeof(*ref));
	ref->prev = box->number;
	memcpy(ref->prev_tag, box->tag, RS_TAG_LEN);
	ref->number = ++box->number;
	memset(box->tag, (int)ref->number, RS_TAG_LEN);
	memcpy(ref->tag, box->tag, RS_TAG_LEN);
	ref->body_len = box->len;
	ref->size = rs_frame_size(box->len);
	ref->place = ref->number * RS_PAGE;
	ref->body = malloc(box->len + 1);
	assert_non_null(ref->body);
	if (box->len)
		memcpy(ref->body, box->body, box->len);
	box->len = 0;
	return ref->number;
}

static void drop(struct sbox *box, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		free(box->refs[i].body);
	memmove(box->refs, box->refs + n, (box->n - n) * sizeof(*box->refs));
	box->n -= n;
}

void sbox_lose(struct sbox *box)
{
	drop(box, 1);
}

int sbox_fold(struct sbox *box, uint64_t data_bytes, int gap)
{
	const struct rs_fold_limit limit = { .data_bytes = data_bytes };
	size_t done;
	int err;

	while (box->n) {
		err = rs_fold(box->store, NULL, box->refs, box->n, &limit, gap,
			      &box->rep, &done);
		if (err < 0)
			return err;
		assert_in_range(done, 1, box->n);
		drop(box, done);
	}
	return 0;
}

void sbox_fold_ok(struct sbox *box)
{
	assert_int_equal(sbox_fold(box, UINT64_C(16) << 20, 0), 0);
	assert_int_equal(box->rep.quarantined, 0);
}

unsigned int sbox_reap(struct sbox *box)
{
	unsigned int n = 0;
	int more = 1;

	while (more) {
		assert_int_equal(rs_store_reap(box->store, NULL, NULL, &more),
				 0);
		n += more != 0;
	}
	return n;
}

void sbox_verify(struct sbox *box)
{
	struct rs_report rep;
	size_t i;
	int err;

	rs_report_init(&rep);
	err = rs_store_verify(box->store, &rep, NULL, NULL);
	for (i = 0; i < rep.n_findings; i++)
		print_message("%s ino %llu: %s\n",
			      rs_finding_kind_name(rep.findings[i].kind),
			      (unsigned long long)rep.findings[i].ino,
			      rep.findings[i].why);
	rs_report_release(&rep);
	assert_int_equal(err, 0);
}

struct rs_root sbox_root(struct sbox *box)
{
	struct rs_root root;

	rs_store_root(box->store, &root);
	return root;
}

size_t sbox_findings(const struct sbox *box, enum rs_finding_kind kind)
{
	size_t i, n = 0;

	for (i = 0; i < box->rep.n_findings; i++)
		n += box->rep.findings[i].kind == kind;
	return n;
}

void sbox_path(const struct sbox *box, char *ret_path, size_t size)
{
	assert_in_range(snprintf(ret_path, size, "%s/data.mdb", box->dir), 1,
			size - 1);
}
