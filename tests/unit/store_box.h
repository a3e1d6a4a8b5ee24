/*
 * store_box.h - a store in a temporary directory and frames made by hand in
 * memory, for the tests of store, fold and salvage.
 */
#ifndef RS_STORE_BOX_H
#define RS_STORE_BOX_H

#include "journal/fold.h"
#include "journal/record.h"
#include "journal/store.h"
#include "tests/unit/fake_seam.h"

#define SBOX_INOS 256u

struct sbox {
	char *dir;
	struct rs_crypto *crypto;
	struct rs_store *store;
	struct rs_report rep;
	const uint8_t *site_key;
	uint64_t rng;

	/* the open frame, and those not folded yet */
	uint8_t *body;
	size_t len, cap;
	struct rs_frame_ref *refs;
	size_t n, refs_cap;
	uint64_t number; /* of the last frame */
	uint8_t tag[RS_TAG_LEN];
	/* what the tree would know of each inode: see ARCH of prev */
	uint64_t last[SBOX_INOS], before[SBOX_INOS];
	uint64_t ceiling;
};

extern const uint8_t sbox_id[RS_ID_LEN];

/* cmocka fixtures */
int sbox_set_up(void **state);
int sbox_set_up_keyed(void **state);
int sbox_tear_down(void **state);

void sbox_open(struct sbox *box, enum rs_store_mode mode);
void sbox_close(struct sbox *box);
/* rs_store_check() in this process or in a child */
int sbox_check(struct sbox *box, int inline_walk);

uint64_t sbox_random(struct sbox *box, uint64_t below);

/* Records for the open frame; prev is filled in as the tree would. */
void sbox_rec(struct sbox *box, struct rs_rec *rec);
void sbox_inode(struct sbox *box, uint64_t ino, const struct rs_attr *attr);
/* a regular file of that many bytes and pages, a directory */
void sbox_file(struct sbox *box, uint64_t ino, uint64_t size, uint64_t blocks);
void sbox_dir(struct sbox *box, uint64_t ino);
void sbox_del(struct sbox *box, uint64_t ino);
void sbox_entry(struct sbox *box, uint64_t dir, const char *name,
		uint64_t child, int put);
void sbox_data(struct sbox *box, uint64_t ino, uint64_t off, const void *data,
	       uint32_t len);
void sbox_range(struct sbox *box, enum rs_rec_type type, uint64_t ino,
		uint64_t off, uint64_t len);
/* End the frame; its number. */
uint64_t sbox_frame(struct sbox *box);
/* Forget the oldest frame that isn't folded (a gap). */
void sbox_lose(struct sbox *box);

/* Fold all, at most data_bytes a transaction. What rs_fold() returned. */
int sbox_fold(struct sbox *box, uint64_t data_bytes, int gap);
void sbox_fold_ok(struct sbox *box);
/* Reap until nothing is left; the number of transactions. */
unsigned int sbox_reap(struct sbox *box);
/* rs_store_verify() must find nothing. */
void sbox_verify(struct sbox *box);
struct rs_root sbox_root(struct sbox *box);
/* Findings of this kind in box->rep. */
size_t sbox_findings(const struct sbox *box, enum rs_finding_kind kind);
/* dir/data.mdb */
void sbox_path(const struct sbox *box, char *ret_path, size_t size);

#endif
