/*
 * ring_read.c - bytes and single frames out of the ring, past the page
 * cache: by O_DIRECT, or else the cached pages are dropped first. What the
 * cache holds after a failed flush isn't what the disk holds.
 */
#include <errno.h>
#include <fcntl.h>

#include "journal/ring_p.h"

/* Errors of the medium: a page is lost, the rest may be whole. */
static int is_medium(ssize_t err)
{
	return err == -EIO || err == -ENODATA || err == -EREMOTEIO ||
	       err == -EILSEQ || err == -EBADMSG || err == -EUCLEAN;
}

/* All of it; 1 for an error of the medium, -errno for any other. */
static int read_range(struct rs_ring *ring, uint64_t place, uint64_t len,
		      uint8_t *buf)
{
	const struct rs_seam *seam = ring->seam;
	uint64_t done = 0;
	int stalls = 0;
	ssize_t n;

	while (done < len) {
		n = seam->pread(seam->ctx, ring->fd, buf + done,
				(size_t)(len - done), (off_t)(place + done));
		if (is_medium(n) || n == 0)
			return 1;
		if (n < 0)
			return (int)n;
		done += (uint64_t)n;
		if (ring->direct && done < len) {
			done -= done % RS_PAGE;
			if (n < (ssize_t)RS_PAGE && ++stalls > 8)
				return 1;
		}
	}
	return 0;
}

int rs_ring_read(struct rs_ring *ring, uint64_t place, uint64_t len,
		 uint8_t *buf)
{
	uint64_t off;
	int bad = 0, err;

	if (place > ring->size || len > ring->size - place)
		return -EINVAL;
	if (!ring->direct)
		posix_fadvise(ring->fd, (off_t)place, (off_t)len,
			      POSIX_FADV_DONTNEED);
	err = read_range(ring, place, len, buf);
	if (err <= 0)
		return err;
	for (off = 0; off < len; off += RS_PAGE) {
		err = read_range(ring, place + off, RS_PAGE, buf + off);
		if (err < 0)
			return err;
		if (err > 0) {
			memset(buf + off, 0, RS_PAGE);
			bad++;
		}
	}
	return bad;
}

int rs_ring_look(struct rs_ring *ring, uint64_t place,
		 struct rs_frame_ref *ret_ref)
{
	RS_AUTO_FREE uint8_t *page = rs_ring_buffer(RS_PAGE);
	RS_AUTO_FREE uint8_t *whole = NULL;
	struct rs_frame_ref ref;
	int err;

	if (!page)
		return -ENOMEM;
	err = rs_ring_read(ring, place, RS_PAGE, page);
	if (err != 0)
		return err < 0 ? err : -EIO;
	err = rs_ring_judge(ring, place, page, 0, &ref);
	if (err < 0)
		return err;
	whole = rs_ring_buffer(ref.size);
	if (!whole)
		return -ENOMEM;
	err = rs_ring_read(ring, place, ref.size, whole);
	if (err < 0)
		return err;
	return rs_ring_judge(ring, place, whole, 1, ret_ref);
}

int rs_ring_read_frame(struct rs_ring *ring, const struct rs_frame_ref *ref,
		       uint8_t **ret_buf)
{
	RS_AUTO_FREE uint8_t *buf = rs_ring_buffer(ref->size);
	struct rs_frame_head head;
	uint8_t tag[RS_TAG_LEN];
	int err;

	if (!buf)
		return -ENOMEM;
	err = rs_ring_read(ring, ref->place, ref->size, buf);
	if (err != 0)
		return err < 0 ? err : -EIO;
	err = rs_frame_decode_head(buf, ring->id, ref->place, ring->size,
				   &head);
	if (err < 0)
		return err;
	if (head.number != ref->number || head.body_len != ref->body_len)
		return -EUCLEAN;
	err = rs_frame_open(ring->crypto, &head, buf, tag);
	if (err < 0)
		return err;
	if (memcmp(tag, ref->tag, RS_TAG_LEN) != 0)
		return -EBADMSG;
	*ret_buf = buf;
	buf = NULL;
	return 0;
}
