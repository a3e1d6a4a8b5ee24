/*
 * crypto.h - keys, tags and digests; the only door to OpenSSL is crypto.c.
 *
 * Without a site key the root key is derived from the store id: the same
 * code then only authenticates and there is no secret to lose.
 */
#ifndef RS_CRYPTO_H
#define RS_CRYPTO_H

#include "include/rs_base.h"

#define RS_KEY_LEN 32u
#define RS_VSALT_LEN 16u /* salt of a store transaction attempt */

struct rs_crypto; /* root key, name key, digest key; immutable, shared */
struct rs_aead;	  /* one derived AES-256-GCM key; one thread at a time */

/*
 * site_key: RS_KEY_LEN bytes or NULL. Errors: -ENOMEM, -EIO (library).
 */
RS_MUST_USE int rs_crypto_new(const uint8_t id[RS_ID_LEN],
			      const uint8_t *site_key,
			      struct rs_crypto **ret_crypto);
void rs_crypto_free(struct rs_crypto *crypto);

/* 8 bytes that name the site key (0 without one); stands in marker, frames */
uint64_t rs_crypto_key_id(const struct rs_crypto *crypto);
/* true if bodies and values are encrypted, not only authenticated */
int rs_crypto_encrypts(const struct rs_crypto *crypto);

/* label "frame" with a process salt (RS_SALT_LEN), "value" with RS_VSALT_LEN */
RS_MUST_USE int rs_aead_new(const struct rs_crypto *crypto, const char *label,
			    const uint8_t *salt, size_t salt_len,
			    struct rs_aead **ret_aead);
void rs_aead_free(struct rs_aead *aead);

/*
 * Seal or open len bytes at buf in place under nonce (never the same twice
 * for one key). Without a site key the bytes stay as they are and count as
 * associated data. ad comes first. open: -EBADMSG if the tag does not fit,
 * buf is then unspecified.
 */
RS_MUST_USE int rs_aead_seal(struct rs_aead *aead, uint64_t nonce,
			     const void *ad, size_t ad_len, uint8_t *buf,
			     size_t len, uint8_t ret_tag[RS_TAG_LEN]);
RS_MUST_USE int rs_aead_open(struct rs_aead *aead, uint64_t nonce,
			     const void *ad, size_t ad_len, uint8_t *buf,
			     size_t len, const uint8_t tag[RS_TAG_LEN]);

/* First 16 bytes of HMAC-SHA256(name key, name): the hashed entry key. */
RS_MUST_USE int rs_crypto_name_hash(const struct rs_crypto *crypto,
				    const void *name, size_t len,
				    uint8_t ret_hash[16]);

/* 128-bit keyed hash of two byte strings, for the set digest. */
RS_MUST_USE int rs_crypto_digest(const struct rs_crypto *crypto, const void *a,
				 size_t a_len, const void *b, size_t b_len,
				 uint8_t ret_hash[16]);

/* sum and difference mod 2^128, little-endian: the set digest's arithmetic */
void rs_digest_add(uint8_t sum[16], const uint8_t h[16]);
void rs_digest_sub(uint8_t sum[16], const uint8_t h[16]);

/* CRC32C (Castagnoli), the header's own check */
uint32_t rs_crc32c(const void *buf, size_t len);
/* The same without the processor's instruction; tests compare the two. */
uint32_t rs_crc32c_portable(const void *buf, size_t len);

#endif
