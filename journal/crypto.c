/*
 * crypto.c - the only door to libcrypto.
 *
 * MODEL
 *	key        = the site key, or HKDF(ikm = store id, "rspool no key")
 *	frame key  = HKDF(key, salt of the process, "frame")
 *	value key  = HKDF(key, salt of the transaction, "value")
 *	name key   = HKDF(key, store id, "name")
 *	digest key = HKDF(key, store id, "digest")
 *	key id     = first 8 bytes of HKDF(site key, "", "key id"), or 0
 *
 * INVARIANTS
 * I1	A (key, nonce) pair never seals twice: frame keys live as long as a
 *	process that counts numbers up, value keys as long as one attempt at a
 *	transaction that counts values up. The callers keep that.
 * I2	Threads share a struct rs_crypto: what libcrypto must write to is
 *	under a lock, or a duplicate if somebody else has that.
 *
 * Algorithms are fetched once: in OpenSSL 3 an implicit fetch costs more
 * than hashing a name, and so does duplicating a context.
 */
#include "journal/crypto.h"

#include <errno.h>
#include <limits.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <pthread.h>

struct keyed {
	EVP_MAC_CTX *ctx; /* only ever duplicated */
	EVP_MAC_CTX *work;
	pthread_mutex_t lock; /* work */
};

struct rs_crypto {
	EVP_CIPHER *cipher;
	EVP_KDF *kdf;
	EVP_MAC *mac;
	struct keyed *name, *digest;
	uint8_t key[RS_KEY_LEN];
	uint64_t key_id;
	int encrypts;
};

struct rs_aead {
	EVP_CIPHER_CTX *ctx;
	uint8_t key[RS_KEY_LEN];
	int encrypts;
};

static int hkdf(const struct rs_crypto *crypto, const uint8_t *ikm,
		size_t ikm_len, const uint8_t *salt, size_t salt_len,
		const char *info, uint8_t *ret_key, size_t key_len)
{
	static char sha256[] = "SHA256";
	EVP_KDF_CTX *ctx = EVP_KDF_CTX_new(crypto->kdf);
	OSSL_PARAM params[5], *p = params;
	uint8_t in[64], with[64];
	char label[32];
	size_t info_len = strlen(info);
	int ok;

	if (!ctx)
		return -ENOMEM;
	if (ikm_len > sizeof(in) || salt_len > sizeof(with) ||
	    info_len >= sizeof(label)) {
		EVP_KDF_CTX_free(ctx);
		return -EINVAL;
	}
	/* OSSL_PARAM wants pointers to what isn't const. */
	memcpy(in, ikm, ikm_len);
	memcpy(label, info, info_len + 1);
	*p++ = OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, sha256,
						0);
	*p++ = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, in,
						 ikm_len);
	if (salt_len > 0) {
		memcpy(with, salt, salt_len);
		*p++ = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT,
							 with, salt_len);
	}
	*p++ = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, label,
						 info_len);
	*p = OSSL_PARAM_construct_end();
	ok = EVP_KDF_derive(ctx, ret_key, key_len, params);
	EVP_KDF_CTX_free(ctx);
	OPENSSL_cleanse(in, sizeof(in));
	return ok == 1 ? 0 : -ENOMEM;
}

/* On error the caller frees what there is. */
static int keyed_mac(struct rs_crypto *crypto, const uint8_t *id,
		     const char *info, struct keyed **ret_keyed)
{
	static char sha256[] = "SHA256";
	OSSL_PARAM params[] = {
		OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, sha256,
						 0),
		OSSL_PARAM_construct_end(),
	};
	struct keyed *keyed = calloc(1, sizeof(*keyed));
	uint8_t key[RS_KEY_LEN];
	int err;

	if (!keyed)
		return -ENOMEM;
	pthread_mutex_init(&keyed->lock, NULL);
	*ret_keyed = keyed;
	err = hkdf(crypto, crypto->key, sizeof(crypto->key), id, RS_ID_LEN,
		   info, key, sizeof(key));
	if (err < 0)
		return err;
	keyed->ctx = EVP_MAC_CTX_new(crypto->mac);
	if (keyed->ctx &&
	    EVP_MAC_init(keyed->ctx, key, sizeof(key), params) == 1)
		keyed->work = EVP_MAC_CTX_dup(keyed->ctx);
	OPENSSL_cleanse(key, sizeof(key));
	return keyed->work ? 0 : -ENOMEM;
}

static int derive_keys(struct rs_crypto *crypto, const uint8_t *id,
		       const uint8_t *site_key)
{
	uint8_t name[8];
	int err;

	if (site_key) {
		memcpy(crypto->key, site_key, RS_KEY_LEN);
		crypto->encrypts = 1;
		err = hkdf(crypto, site_key, RS_KEY_LEN, NULL, 0, "key id",
			   name, sizeof(name));
		/* 0 stands for no key. */
		crypto->key_id = err < 0 ? 0 : rs_get64(name);
		if (err == 0 && crypto->key_id == 0)
			crypto->key_id = 1;
	} else {
		err = hkdf(crypto, id, RS_ID_LEN, NULL, 0, "rspool no key",
			   crypto->key, sizeof(crypto->key));
	}
	if (err == 0)
		err = keyed_mac(crypto, id, "name", &crypto->name);
	if (err == 0)
		err = keyed_mac(crypto, id, "digest", &crypto->digest);
	return err;
}

int rs_crypto_new(const uint8_t id[RS_ID_LEN], const uint8_t *site_key,
		  struct rs_crypto **ret_crypto)
{
	struct rs_crypto *crypto = calloc(1, sizeof(*crypto));
	int err;

	if (!crypto)
		return -ENOMEM;
	crypto->cipher = EVP_CIPHER_fetch(NULL, "AES-256-GCM", NULL);
	crypto->kdf = EVP_KDF_fetch(NULL, OSSL_KDF_NAME_HKDF, NULL);
	crypto->mac = EVP_MAC_fetch(NULL, OSSL_MAC_NAME_HMAC, NULL);
	if (crypto->cipher && crypto->kdf && crypto->mac)
		err = derive_keys(crypto, id, site_key);
	else
		err = -EIO;
	if (err < 0) {
		rs_crypto_free(crypto);
		return err;
	}
	*ret_crypto = crypto;
	return 0;
}

static void free_keyed(struct keyed *keyed)
{
	if (!keyed)
		return;
	EVP_MAC_CTX_free(keyed->ctx);
	EVP_MAC_CTX_free(keyed->work);
	pthread_mutex_destroy(&keyed->lock);
	free(keyed);
}

void rs_crypto_free(struct rs_crypto *crypto)
{
	if (!crypto)
		return;
	free_keyed(crypto->name);
	free_keyed(crypto->digest);
	EVP_MAC_free(crypto->mac);
	EVP_KDF_free(crypto->kdf);
	EVP_CIPHER_free(crypto->cipher);
	OPENSSL_cleanse(crypto, sizeof(*crypto));
	free(crypto);
}

uint64_t rs_crypto_key_id(const struct rs_crypto *crypto)
{
	return crypto->key_id;
}

int rs_crypto_encrypts(const struct rs_crypto *crypto)
{
	return crypto->encrypts;
}

int rs_aead_new(const struct rs_crypto *crypto, const char *label,
		const uint8_t *salt, size_t salt_len, struct rs_aead **ret_aead)
{
	struct rs_aead *aead = calloc(1, sizeof(*aead));
	int err = -ENOMEM;

	if (!aead)
		return -ENOMEM;
	aead->encrypts = crypto->encrypts;
	aead->ctx = EVP_CIPHER_CTX_new();
	if (!aead->ctx)
		goto fail;
	err = hkdf(crypto, crypto->key, sizeof(crypto->key), salt, salt_len,
		   label, aead->key, sizeof(aead->key));
	if (err < 0)
		goto fail;
	/* Cipher and key schedule once; each use sets direction and nonce. */
	if (EVP_CipherInit_ex2(aead->ctx, crypto->cipher, aead->key, NULL, 1,
			       NULL) != 1) {
		err = -ENOMEM;
		goto fail;
	}
	*ret_aead = aead;
	return 0;
fail:
	rs_aead_free(aead);
	return err;
}

void rs_aead_free(struct rs_aead *aead)
{
	if (!aead)
		return;
	EVP_CIPHER_CTX_free(aead->ctx);
	OPENSSL_cleanse(aead, sizeof(*aead));
	free(aead);
}

static int feed(struct rs_aead *aead, uint8_t *out, const uint8_t *in,
		size_t len)
{
	int n;

	if (len == 0)
		return 0;
	if (len > INT_MAX ||
	    EVP_CipherUpdate(aead->ctx, out, &n, in, (int)len) != 1)
		return -EIO;
	return 0;
}

/* Set up for one use and take in ad and buf; the tag is still to come. */
static int run(struct rs_aead *aead, int enc, uint64_t nonce, const void *ad,
	       size_t ad_len, uint8_t *buf, size_t len)
{
	uint8_t iv[12] = { 0 };
	int err;

	rs_put64(iv, nonce);
	if (EVP_CipherInit_ex2(aead->ctx, NULL, NULL, iv, enc, NULL) != 1)
		return -EIO;
	err = feed(aead, NULL, ad, ad_len);
	if (err == 0)
		err = feed(aead, aead->encrypts ? buf : NULL, buf, len);
	return err;
}

int rs_aead_seal(struct rs_aead *aead, uint64_t nonce, const void *ad,
		 size_t ad_len, uint8_t *buf, size_t len,
		 uint8_t ret_tag[RS_TAG_LEN])
{
	uint8_t none[16];
	int n, err;

	err = run(aead, 1, nonce, ad, ad_len, buf, len);
	if (err < 0)
		return err;
	if (EVP_CipherFinal_ex(aead->ctx, none, &n) != 1 ||
	    EVP_CIPHER_CTX_ctrl(aead->ctx, EVP_CTRL_AEAD_GET_TAG, RS_TAG_LEN,
				ret_tag) != 1)
		return -EIO;
	return 0;
}

int rs_aead_open(struct rs_aead *aead, uint64_t nonce, const void *ad,
		 size_t ad_len, uint8_t *buf, size_t len,
		 const uint8_t tag[RS_TAG_LEN])
{
	uint8_t none[16], want[RS_TAG_LEN];
	int n, err;

	err = run(aead, 0, nonce, ad, ad_len, buf, len);
	if (err < 0)
		return err;
	memcpy(want, tag, RS_TAG_LEN);
	if (EVP_CIPHER_CTX_ctrl(aead->ctx, EVP_CTRL_AEAD_SET_TAG, RS_TAG_LEN,
				want) != 1)
		return -EIO;
	return EVP_CipherFinal_ex(aead->ctx, none, &n) == 1 ? 0 : -EBADMSG;
}

struct part {
	const void *base;
	size_t len;
};

static int mac_with(EVP_MAC_CTX *ctx, const struct part *part, size_t n,
		    uint8_t ret_hash[16])
{
	uint8_t full[32];
	size_t i, len;
	int ok = 1;

	for (i = 0; i < n && ok == 1; i++)
		if (part[i].len > 0)
			ok = EVP_MAC_update(ctx, part[i].base, part[i].len);
	if (ok == 1)
		ok = EVP_MAC_final(ctx, full, &len, sizeof(full));
	if (ok != 1)
		return -EIO;
	memcpy(ret_hash, full, 16);
	return 0;
}

/* HMAC of n strings, one after the other, cut to 16 bytes. */
static int mac16(struct keyed *keyed, const struct part *part, size_t n,
		 uint8_t ret_hash[16])
{
	EVP_MAC_CTX *ctx;
	int err;

	if (pthread_mutex_trylock(&keyed->lock) == 0) {
		/* without a key: begin anew with the one that it has */
		err = EVP_MAC_init(keyed->work, NULL, 0, NULL) == 1
			      ? mac_with(keyed->work, part, n, ret_hash)
			      : -EIO;
		pthread_mutex_unlock(&keyed->lock);
		return err;
	}
	ctx = EVP_MAC_CTX_dup(keyed->ctx);
	if (!ctx)
		return -ENOMEM;
	err = mac_with(ctx, part, n, ret_hash);
	EVP_MAC_CTX_free(ctx);
	return err;
}

int rs_crypto_name_hash(const struct rs_crypto *crypto, const void *name,
			size_t len, uint8_t ret_hash[16])
{
	const struct part part = { name, len };

	return mac16(crypto->name, &part, 1, ret_hash);
}

int rs_crypto_digest(const struct rs_crypto *crypto, const void *a,
		     size_t a_len, const void *b, size_t b_len,
		     uint8_t ret_hash[16])
{
	uint8_t head[8];
	const struct part part[] = {
		{ head, sizeof(head) },
		{ a, a_len },
		{ b, b_len },
	};

	/* Otherwise ("ab", "c") would be ("a", "bc"). */
	rs_put64(head, a_len);
	return mac16(crypto->digest, part, RS_ARRAY_LEN(part), ret_hash);
}

void rs_digest_add(uint8_t sum[16], const uint8_t h[16])
{
	uint64_t low = rs_get64(sum) + rs_get64(h);
	uint64_t carry = low < rs_get64(h);

	rs_put64(sum + 8, rs_get64(sum + 8) + rs_get64(h + 8) + carry);
	rs_put64(sum, low);
}

void rs_digest_sub(uint8_t sum[16], const uint8_t h[16])
{
	uint64_t borrow = rs_get64(sum) < rs_get64(h);

	rs_put64(sum + 8, rs_get64(sum + 8) - rs_get64(h + 8) - borrow);
	rs_put64(sum, rs_get64(sum) - rs_get64(h));
}
