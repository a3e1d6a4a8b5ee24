/*
 * value_seal.c - the trailer by which a value proves itself.
 *
 * MODEL
 *	body | salt 16 | counter 4 | tag 16
 *
 *	The salt belongs to one transaction attempt and gives its key; the
 *	counter is the nonce. Associated data are store id and key, so a
 *	value can't pass for another's, nor for that of another store.
 *
 * INVARIANTS
 * I1	No (salt, counter) is used twice: the salt is drawn for each attempt,
 *	an aborted one included, and the counter never wraps.
 *
 * LOCKS  the opener's own, around its cache and the key in use
 */
#include "journal/value.h"

#include <errno.h>
#include <pthread.h>

#define AD_MAX (RS_ID_LEN + RS_KEY_MAX)
/*
 * A load meets the salts of many checkpoints, in any order; deriving a key
 * takes some 5 microseconds, keeping one some 2 KiB. Two salts that share a
 * slot derive theirs again and again, so there are plenty.
 */
#define CACHE_SLOTS 1024u

struct rs_sealer {
	uint8_t id[RS_ID_LEN];
	uint8_t salt[RS_VSALT_LEN];
	uint32_t counter;
	struct rs_aead *aead;
};

struct slot {
	uint8_t salt[RS_VSALT_LEN];
	struct rs_aead *aead;
};

struct rs_opener {
	const struct rs_crypto *crypto;
	uint8_t id[RS_ID_LEN];
	pthread_mutex_t lock;
	struct slot slots[CACHE_SLOTS];
};

static size_t make_ad(const uint8_t *id, const uint8_t *key, size_t key_len,
		      uint8_t ad[AD_MAX])
{
	memcpy(ad, id, RS_ID_LEN);
	memcpy(ad + RS_ID_LEN, key, key_len);
	return RS_ID_LEN + key_len;
}

int rs_sealer_new(const struct rs_crypto *crypto, const uint8_t id[RS_ID_LEN],
		  const struct rs_seam *seam, struct rs_sealer **ret_sealer)
{
	struct rs_sealer *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	memcpy(s->id, id, RS_ID_LEN);
	err = seam->random(seam->ctx, s->salt, sizeof(s->salt));
	if (err == 0)
		err = rs_aead_new(crypto, "value", s->salt, sizeof(s->salt),
				  &s->aead);
	if (err < 0) {
		free(s);
		return err;
	}
	*ret_sealer = s;
	return 0;
}

void rs_sealer_free(struct rs_sealer *sealer)
{
	if (!sealer)
		return;
	rs_aead_free(sealer->aead);
	free(sealer);
}

int rs_sealer_seal(struct rs_sealer *s, const struct rs_key *key, uint8_t *buf,
		   size_t len)
{
	uint8_t ad[AD_MAX], *trailer = buf + len;
	size_t ad_len = make_ad(s->id, key->buf, key->len, ad);

	if (s->counter == UINT32_MAX)
		return -EOVERFLOW;
	memcpy(trailer, s->salt, RS_VSALT_LEN);
	rs_put32(trailer + RS_VSALT_LEN, s->counter);
	return rs_aead_seal(s->aead, s->counter++, ad, ad_len, buf, len,
			    trailer + RS_VSALT_LEN + 4);
}

int rs_opener_new(const struct rs_crypto *crypto, const uint8_t id[RS_ID_LEN],
		  struct rs_opener **ret_opener)
{
	struct rs_opener *o = calloc(1, sizeof(*o));

	if (!o)
		return -ENOMEM;
	o->crypto = crypto;
	memcpy(o->id, id, RS_ID_LEN);
	pthread_mutex_init(&o->lock, NULL);
	*ret_opener = o;
	return 0;
}

void rs_opener_free(struct rs_opener *opener)
{
	size_t i;

	if (!opener)
		return;
	for (i = 0; i < CACHE_SLOTS; i++)
		rs_aead_free(opener->slots[i].aead);
	pthread_mutex_destroy(&opener->lock);
	free(opener);
}

/* Under the lock. Salts are random: two of their bytes spread them. */
static int get_aead(struct rs_opener *o, const uint8_t *salt,
		    struct rs_aead **ret_aead)
{
	struct slot *slot = &o->slots[rs_get16(salt) % CACHE_SLOTS];
	struct rs_aead *aead;
	int err;

	if (!slot->aead || memcmp(slot->salt, salt, RS_VSALT_LEN) != 0) {
		err = rs_aead_new(o->crypto, "value", salt, RS_VSALT_LEN,
				  &aead);
		if (err < 0)
			return err;
		rs_aead_free(slot->aead);
		slot->aead = aead;
		memcpy(slot->salt, salt, RS_VSALT_LEN);
	}
	*ret_aead = slot->aead;
	return 0;
}

int rs_opener_open(struct rs_opener *o, const uint8_t *key, size_t key_len,
		   uint8_t *buf, size_t len, size_t *ret_len)
{
	uint8_t ad[AD_MAX];
	struct rs_aead *aead;
	const uint8_t *trailer;
	size_t ad_len;
	int err;

	if (len < RS_TRAILER_LEN || len > RS_VALUE_MAX || key_len > RS_KEY_MAX)
		return -EBADMSG;
	len -= RS_TRAILER_LEN;
	trailer = buf + len;
	ad_len = make_ad(o->id, key, key_len, ad);
	pthread_mutex_lock(&o->lock);
	err = get_aead(o, trailer, &aead);
	if (err == 0)
		err = rs_aead_open(aead, rs_get32(trailer + RS_VSALT_LEN), ad,
				   ad_len, buf, len,
				   trailer + RS_VSALT_LEN + 4);
	pthread_mutex_unlock(&o->lock);
	if (err == 0)
		*ret_len = len;
	return err;
}
