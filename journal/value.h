/*
 * value.h - keys and values of data.mdb: encoding, and the trailer by which
 * each value proves itself. Byte tables are in FORMAT.md, "The store".
 *
 * A value is a 12-byte header (version, flags, length, frame number), what
 * its kind needs, and a trailer: salt of its transaction, counter, tag.
 */
#ifndef RS_VALUE_H
#define RS_VALUE_H

#include "journal/store.h"

#define RS_KEY_MAX 32u
#define RS_VALUE_MAX 4080u /* one overflow page of LMDB without its header */
#define RS_VALUE_VERSION 1u
#define RS_VALUE_HEADER 12u
#define RS_TRAILER_LEN 36u
#define RS_BODY_MAX (RS_VALUE_MAX - RS_TRAILER_LEN)
/* bytes of a symlink's target or of an xattr in one value */
#define RS_PART 4028u
/* chunk ranges that one reap list entry can hold */
#define RS_REAP_RANGES 100u

/* flags of a 'D' value */
#define RS_VD_FIRST 0x1u  /* the first page that the chunk overlaps exists */
#define RS_VD_SECOND 0x2u /* the second one does */

struct rs_key {
	uint8_t buf[RS_KEY_MAX];
	size_t len;
};

void rs_key_root(struct rs_key *key);
/* kind 'I' or 'Z' */
void rs_key_ino(struct rs_key *key, char kind, uint64_t ino);
void rs_key_entry(struct rs_key *key, uint64_t parent, const uint8_t hash[16]);
void rs_key_link(struct rs_key *key, uint64_t ino, unsigned int part);
void rs_key_xattr(struct rs_key *key, uint64_t ino, const uint8_t hash[16],
		  unsigned int part);
void rs_key_chunk(struct rs_key *key, uint64_t ino, uint64_t chunk);
/*
 * Is it a key of ours: known kind, right length? Fills what the kind has:
 * the number after the kind letter, the last number (chunk or part).
 */
RS_MUST_USE int rs_key_parse(const uint8_t *key, size_t len, char *ret_kind,
			     uint64_t *ret_ino, uint64_t *ret_number);

/* ---- proof ---- */

struct rs_sealer; /* one transaction attempt; one thread */
struct rs_opener; /* any transaction; keeps the last keys; any thread */

/* Draws a fresh salt. Errors: -ENOMEM, -EIO and the seam's. */
RS_MUST_USE int rs_sealer_new(const struct rs_crypto *crypto,
			      const uint8_t id[RS_ID_LEN],
			      const struct rs_seam *seam,
			      struct rs_sealer **ret_sealer);
void rs_sealer_free(struct rs_sealer *sealer);
/* buf holds len bytes of body and has room for the trailer. */
RS_MUST_USE int rs_sealer_seal(struct rs_sealer *sealer,
			       const struct rs_key *key, uint8_t *buf,
			       size_t len);

RS_MUST_USE int rs_opener_new(const struct rs_crypto *crypto,
			      const uint8_t id[RS_ID_LEN],
			      struct rs_opener **ret_opener);
void rs_opener_free(struct rs_opener *opener);
/*
 * Prove (and decrypt in place) the value of len bytes at buf; *ret_len: its
 * body. Errors: -EBADMSG (does not prove itself), -ENOMEM.
 */
RS_MUST_USE int rs_opener_open(struct rs_opener *opener, const uint8_t *key,
			       size_t key_len, uint8_t *buf, size_t len,
			       size_t *ret_len);

/* ---- what stands in a body; decoding: -EUCLEAN ---- */

struct rs_vinode {	/* 'I' */
	uint64_t frame; /* the last with a record about it */
	uint64_t nchunks;
	uint8_t sum[16]; /* set digest of its 'D' records */
	struct rs_attr attr;
};

struct rs_ventry { /* 'E' */
	uint64_t frame, child;
	uint8_t dtype;
	const uint8_t *name;
	size_t name_len;
};

struct rs_vpart { /* 'L', 'X' */
	uint64_t frame;
	uint32_t total; /* bytes of the whole target or xattr value */
	const uint8_t *data;
	size_t len;
};

/* chunks [from, to) of a frame number up to until are dead */
struct rs_vrange {
	uint64_t from, to, until;
};

struct rs_vreap { /* 'Z' */
	uint64_t frame;
	int removed;	  /* the inode is gone; otherwise only the ranges are */
	uint64_t nchunks; /* removed: as in its 'I' value before */
	uint8_t sum[16];
	unsigned int n;
	struct rs_vrange range[RS_REAP_RANGES];
};

struct rs_vchunk { /* 'D' */
	uint64_t frame;
	uint8_t flags;	     /* RS_VD_ */
	const uint8_t *data; /* trailing zeros are not there */
	size_t len;
};

/* buf has RS_BODY_MAX bytes; the body's length is returned. */
size_t rs_vroot_encode(const struct rs_root *root, uint8_t *buf);
size_t rs_vinode_encode(const struct rs_vinode *v, uint8_t *buf);
size_t rs_ventry_encode(const struct rs_ventry *v, uint8_t *buf);
size_t rs_vpart_encode(const struct rs_vpart *v, uint8_t *buf);
size_t rs_vreap_encode(const struct rs_vreap *v, uint8_t *buf);
size_t rs_vchunk_encode(const struct rs_vchunk *v, uint8_t *buf);

RS_MUST_USE int rs_vroot_decode(const uint8_t *buf, size_t len,
				struct rs_root *ret_root);
RS_MUST_USE int rs_vinode_decode(const uint8_t *buf, size_t len,
				 struct rs_vinode *ret_v);
RS_MUST_USE int rs_ventry_decode(const uint8_t *buf, size_t len,
				 struct rs_ventry *ret_v);
RS_MUST_USE int rs_vpart_decode(const uint8_t *buf, size_t len,
				struct rs_vpart *ret_v);
RS_MUST_USE int rs_vreap_decode(const uint8_t *buf, size_t len,
				struct rs_vreap *ret_v);
RS_MUST_USE int rs_vchunk_decode(const uint8_t *buf, size_t len,
				 struct rs_vchunk *ret_v);

/* frame number of any body; 0 if it is too short to have one */
uint64_t rs_value_frame(const uint8_t *buf, size_t len);

/* Is this chunk, last changed in frame, cut off by one of the ranges? */
int rs_vreap_cuts(const struct rs_vreap *v, uint64_t chunk, uint64_t frame);

#endif
