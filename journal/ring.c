/*
 * ring.c - intent.log: where frames go and how they get to disk.
 *
 * MODEL
 *	0                                                     size
 *	| newest frames ... | head -> free | oldest needed ... |skipped|
 *	A frame goes to the head if it fits before the end, else to 0. Which
 *	places are free is the caller's book (space.c): this file only
 *	places, writes and flushes.
 *
 * INVARIANTS
 * I1	A number is taken before the first byte of its frame is written, and
 *	never again (FORMAT.md W1): the nonce of the frame key.
 * I2	A seal takes a number but leaves place, prev and prev_tag (W3, W4).
 * I3	After the first failed write or flush nothing is written any more: a
 *	flush that says 0 after one that failed proves nothing.
 * I4	One frame is one sequential write of its bytes, in blocks that were
 *	written when the ring was made; the flush is the caller's.
 *
 * LOCKS  One thread at a time writes; reading is safe beside it.
 *
 * CRASH  Between write and flush any of the frame's sectors may be missing:
 * its tag tells. The header of a frame whose predecessor was not flushed
 * can't be there, because the committer flushes before the next write.
 *
 * NOT HERE  making the file (ring_create.c), reading it whole
 * (ring_scan.c), what frames mean.
 */
#include "journal/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "journal/marker.h"
#include "journal/ring_p.h"

/* a continued write that stays on the same page this often has failed */
#define STALLS_MAX 8

void *rs_ring_buffer(uint64_t len)
{
	void *buf;

	if (posix_memalign(&buf, RS_PAGE, (size_t)len) != 0)
		return NULL;
	return buf;
}

/* O_DIRECT if the filesystem takes it for opening and for reading too. */
static int open_direct(int dirfd, const char *path, int flags,
		       const struct rs_seam *seam, int *ret_direct)
{
	RS_AUTO_FREE void *page = rs_ring_buffer(RS_PAGE);
	ssize_t n;
	int fd;

	if (!page)
		return -ENOMEM;
	fd = openat(dirfd, path, flags | O_DIRECT);
	if (fd >= 0) {
		n = seam->pread(seam->ctx, fd, page, RS_PAGE, 0);
		if (n != -EINVAL && n != -EOPNOTSUPP) {
			*ret_direct = 1;
			return fd;
		}
		close(fd);
	} else if (errno != EINVAL && errno != EOPNOTSUPP) {
		return -errno;
	}
	fd = openat(dirfd, path, flags);
	*ret_direct = 0;
	return fd < 0 ? -errno : fd;
}

static int check_file(int fd, uint64_t size)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size != size)
		return -EUCLEAN;
	return 0;
}

static int draw_key(struct rs_ring *ring)
{
	const struct rs_seam *seam = ring->seam;
	int err = seam->random(seam->ctx, ring->salt, sizeof(ring->salt));

	if (err < 0)
		return err;
	return rs_aead_new(ring->crypto, "frame", ring->salt,
			   sizeof(ring->salt), &ring->aead);
}

int rs_ring_open(int dirfd, const char *path, uint64_t size,
		 const uint8_t id[RS_ID_LEN], const struct rs_crypto *crypto,
		 const struct rs_seam *seam, int readonly,
		 struct rs_ring **ret_ring)
{
	const int flags = (readonly ? O_RDONLY : O_RDWR) | O_CLOEXEC |
			  O_NOCTTY | O_NONBLOCK;
	struct rs_ring *ring = calloc(1, sizeof(*ring));
	int err;

	if (!ring)
		return -ENOMEM;
	ring->seam = seam;
	ring->size = size;
	ring->crypto = crypto;
	memcpy(ring->id, id, RS_ID_LEN);
	ring->fd = open_direct(dirfd, path, flags, seam, &ring->direct);
	err = ring->fd < 0 ? ring->fd : check_file(ring->fd, size);
	if (err == 0 && !readonly)
		err = draw_key(ring);
	if (err < 0) {
		rs_ring_close(ring);
		return err;
	}
	*ret_ring = ring;
	return 0;
}

void rs_ring_close(struct rs_ring *ring)
{
	if (!ring)
		return;
	if (ring->fd >= 0)
		close(ring->fd);
	rs_aead_free(ring->aead);
	free(ring);
}

uint64_t rs_ring_size(const struct rs_ring *ring)
{
	return ring->size;
}

int rs_ring_is_direct(const struct rs_ring *ring)
{
	return ring->direct;
}

uint64_t rs_ring_body_max(const struct rs_ring *ring)
{
	uint64_t most = ring->size / 4 / RS_PAGE * RS_PAGE;

	if (most > RS_FRAME_MAX)
		most = RS_FRAME_MAX;
	return most - RS_FRAME_HEADER - RS_TAG_LEN;
}

void rs_ring_set_head(struct rs_ring *ring, const struct rs_ring_head *head)
{
	ring->head = *head;
}

void rs_ring_get_head(const struct rs_ring *ring, struct rs_ring_head *ret)
{
	*ret = ring->head;
}

uint64_t rs_ring_next_place(const struct rs_ring *ring, uint64_t size)
{
	uint64_t place = ring->head.place;

	return place + size <= ring->size ? place : 0;
}

int rs_ring_write_all(const struct rs_seam *seam, int fd, int direct,
		      const uint8_t *buf, uint64_t len, uint64_t off)
{
	uint64_t done = 0, at;
	int stalls = 0;
	ssize_t n;

	while (done < len) {
		n = seam->pwrite(seam->ctx, fd, buf + done,
				 (size_t)(len - done), (off_t)(off + done));
		if (n < 0)
			return (int)n;
		if ((uint64_t)n > len - done)
			return -EIO;
		at = done + (uint64_t)n;
		/* O_DIRECT wants whole pages: the rest of one again. */
		if (direct && at < len)
			at -= at % RS_PAGE;
		if (at == done && ++stalls >= STALLS_MAX)
			return -EIO;
		done = at;
	}
	return 0;
}

static void fill_ref(const struct rs_frame_head *head, struct rs_frame_ref *ref)
{
	memset(ref, 0, sizeof(*ref));
	ref->number = head->number;
	ref->prev = head->prev;
	ref->place = head->place;
	ref->size = rs_frame_size(head->body_len);
	ref->body_len = head->body_len;
	ref->flags = head->flags;
	memcpy(ref->prev_tag, head->prev_tag, RS_TAG_LEN);
	memcpy(ref->salt, head->salt, RS_SALT_LEN);
}

static void next_head(struct rs_ring *ring, uint64_t body_len, uint16_t flags,
		      struct rs_frame_head *head)
{
	memset(head, 0, sizeof(*head));
	head->version = RS_FORMAT_VERSION;
	head->flags = flags;
	if (rs_crypto_encrypts(ring->crypto))
		head->flags |= RS_FF_ENCRYPTED;
	memcpy(head->id, ring->id, RS_ID_LEN);
	memcpy(head->salt, ring->salt, RS_SALT_LEN);
	head->number = ++ring->head.number;
	head->prev = ring->head.prev;
	memcpy(head->prev_tag, ring->head.prev_tag, RS_TAG_LEN);
	head->place = rs_ring_next_place(ring, rs_frame_size(body_len));
	head->body_len = body_len;
	head->key_id = rs_crypto_key_id(ring->crypto);
}

int rs_ring_write(struct rs_ring *ring, uint8_t *buf, uint64_t body_len,
		  uint16_t flags, uint64_t oldest, uint64_t oldest_place,
		  struct rs_frame_ref *ret_ref)
{
	struct rs_frame_head head;
	struct rs_frame_ref ref;
	int err;

	if (!ring->aead)
		return -EROFS;
	if (ring->broken)
		return ring->broken;
	next_head(ring, body_len, flags, &head);
	/* 0: nothing older is needed than this frame itself */
	head.oldest = oldest ? oldest : head.number;
	head.oldest_place = oldest ? oldest_place : head.place;
	fill_ref(&head, &ref);
	ring->unflushed = 1;
	err = rs_frame_seal(ring->aead, &head, buf, ref.tag);
	if (err == 0)
		err = rs_ring_write_all(ring->seam, ring->fd, ring->direct, buf,
					ref.size, ref.place);
	if (err < 0) {
		ring->broken = err;
		return err;
	}
	if (!(flags & RS_FF_SEAL)) {
		ring->head.place = ref.place + ref.size;
		ring->head.prev = ref.number;
		memcpy(ring->head.prev_tag, ref.tag, RS_TAG_LEN);
	}
	*ret_ref = ref;
	return 0;
}

int rs_ring_flush(struct rs_ring *ring)
{
	int err;

	if (ring->broken)
		return ring->broken;
	err = ring->seam->flush(ring->seam->ctx, ring->fd);
	if (err < 0)
		ring->broken = err;
	else
		ring->unflushed = 0;
	return err;
}

int rs_ring_is_flushed(const struct rs_ring *ring)
{
	return !ring->unflushed;
}

int rs_ring_judge(const struct rs_ring *ring, uint64_t place, uint8_t *buf,
		  int check, struct rs_frame_ref *ret_ref)
{
	struct rs_frame_head head;
	struct rs_frame_ref ref;
	int err;

	err = rs_frame_decode_head(buf, ring->id, place, ring->size, &head);
	/*
	 * The marker says which versions a store holds; a header that claims
	 * a later one is none (FORMAT.md "Versions").
	 */
	if (err < 0)
		return -ENOENT;
	fill_ref(&head, &ref);
	if (check) {
		err = rs_frame_open(ring->crypto, &head, buf, ref.tag);
		if (err == -ENOMEM)
			return err;
		ref.damaged = err;
	}
	*ret_ref = ref;
	return 0;
}
