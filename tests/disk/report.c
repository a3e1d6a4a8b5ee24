/* report.c - see report.h */
#include "tests/disk/report.h"

#include <inttypes.h>

static void print_string(const char *s, FILE *out)
{
	fputc('"', out);
	for (; *s; s++) {
		if ((unsigned char)*s < ' ')
			fprintf(out, "\\u%04x", (unsigned)*s);
		else if (*s == '"' || *s == '\\')
			fprintf(out, "\\%c", *s);
		else
			fputc(*s, out);
	}
	fputc('"', out);
}

static const char *truth(bool on)
{
	return on ? "true" : "false";
}

/* without the line feed */
static void print_counters(struct rs_disk *d, FILE *out)
{
	struct rs_disk_counters n;
	uint64_t seeks, busy, cached, spilled;

	pthread_mutex_lock(&d->gate);
	n = d->counters;
	pthread_mutex_unlock(&d->gate);
	pthread_mutex_lock(&d->arm.lock);
	seeks = d->arm.seeks;
	busy = d->arm.busy_ns;
	pthread_mutex_unlock(&d->arm.lock);
	pthread_rwlock_rdlock(&d->lock);
	cached = d->cache.bytes;
	spilled = d->cache.spilled;
	pthread_rwlock_unlock(&d->lock);
	fprintf(out,
		"{\"reads\":%" PRIu64 ",\"writes\":%" PRIu64
		",\"flushes\":%" PRIu64 ",\"read_bytes\":%" PRIu64
		",\"written_bytes\":%" PRIu64 ",\"seeks\":%" PRIu64,
		n.requests[RS_DREAD], n.requests[RS_DWRITE],
		n.requests[RS_DFLUSH], n.bytes[RS_DREAD], n.bytes[RS_DWRITE],
		seeks);
	fprintf(out,
		",\"read_errors\":%" PRIu64 ",\"write_errors\":%" PRIu64
		",\"flush_errors\":%" PRIu64 ",\"lies\":%" PRIu64
		",\"busy_us\":%" PRIu64 ",\"unflushed_bytes\":%" PRIu64
		",\"spilled_bytes\":%" PRIu64 "}",
		n.errors[RS_DREAD], n.errors[RS_DWRITE], n.errors[RS_DFLUSH],
		n.lies, busy / 1000, cached, spilled);
}

void rs_dreport_counters(struct rs_disk *d, FILE *out)
{
	print_counters(d, out);
	fputc('\n', out);
}

void rs_dreport_reset(struct rs_disk *d)
{
	pthread_mutex_lock(&d->gate);
	memset(&d->counters, 0, sizeof(d->counters));
	pthread_mutex_unlock(&d->gate);
	pthread_mutex_lock(&d->arm.lock);
	d->arm.seeks = 0;
	d->arm.busy_ns = 0;
	pthread_mutex_unlock(&d->arm.lock);
	pthread_rwlock_wrlock(&d->lock);
	d->cache.spilled = 0;
	pthread_rwlock_unlock(&d->lock);
}

static void print_cut(const struct rs_dcut_result *r, FILE *out)
{
	fprintf(out,
		"{\"seed\":%" PRIu64 ",\"sector\":%u,\"by\":\"%s\",\"keep\":%d"
		",\"unflushed\":%" PRIu64 ",\"kept\":%" PRIu64
		",\"older\":%" PRIu64 "}",
		r->used.seed, r->used.sector, rs_dcut_by_name(r->used.by),
		r->used.keep, r->units, r->kept, r->older);
}

void rs_dreport_cut(const struct rs_dcut_result *r, FILE *out)
{
	print_cut(r, out);
	fputc('\n', out);
}

static void print_faults(struct rs_disk *d, FILE *out)
{
	struct rs_dfaults *f = &d->faults;
	int i;

	pthread_mutex_lock(&d->gate);
	fprintf(out, "\"sector\":%u,\"lie\":%s,\"full\":%s,\"bad_ranges\":%zu",
		d->sector, truth(d->lie), truth(f->full), f->bad_count);
	for (i = 0; i < RS_DKINDS; i++) {
		const char *name = rs_dkind_name((enum rs_dkind)i);

		fprintf(out, ",\"fail_%s\":%" PRIu64 ",\"cut_at_%s\":%" PRIu64,
			name, f->fail[i].left, name, f->cut_left[i]);
	}
	pthread_mutex_unlock(&d->gate);
}

static void print_arm(struct rs_disk *d, FILE *out)
{
	struct rs_darm *a = &d->arm;

	pthread_mutex_lock(&a->lock);
	fprintf(out, "\"frozen\":%s,\"held\":%" PRIu64, truth(a->frozen),
		a->held_count);
	fprintf(out,
		",\"flush_us\":%" PRIu64 ",\"write_us\":%" PRIu64
		",\"read_us\":%" PRIu64 ",\"seek_us\":%" PRIu64,
		a->times.us[RS_DFLUSH], a->times.us[RS_DWRITE],
		a->times.us[RS_DREAD], a->times.seek_us);
	pthread_mutex_unlock(&a->lock);
}

void rs_dreport_status(struct rs_disk *d, const char *image, FILE *out)
{
	struct rs_dcut_result cut;
	bool is_cut;

	pthread_rwlock_rdlock(&d->lock);
	is_cut = d->cut;
	cut = d->cut_result;
	pthread_rwlock_unlock(&d->lock);
	fprintf(out, "{\"image\":");
	print_string(image, out);
	fprintf(out, ",\"size\":%" PRIu64 ",\"pid\":%d,\"state\":\"%s\",",
		d->cache.size, (int)getpid(), is_cut ? "cut" : "on");
	print_faults(d, out);
	fputc(',', out);
	print_arm(d, out);
	fprintf(out, ",\"counters\":");
	print_counters(d, out);
	if (is_cut) {
		fprintf(out, ",\"cut\":");
		print_cut(&cut, out);
	}
	fprintf(out, "}\n");
}
