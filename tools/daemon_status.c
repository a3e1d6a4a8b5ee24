/*
 * daemon_status.c - what `status` answers. The keys are stable: only new
 * ones are added.
 */
#include <stdio.h>

#include "tools/daemon.h"
#include "tools/daemon_log.h"
#include "tools/lib_pids.h"

static json_t *number(uint64_t v)
{
	return json_integer((json_int_t)v);
}

static json_t *hex_id(const uint8_t id[RS_ID_LEN])
{
	char text[2 * RS_ID_LEN + 1];
	size_t i;

	for (i = 0; i < RS_ID_LEN; i++)
		snprintf(text + 2 * i, 3, "%02x", id[i]);
	return json_string(text);
}

struct verdict {
	const char *state;
	char why[256];
};

static void judge(struct verdict *v, const char *state, const char *why)
{
	/* the first reason stands; callers go from worst to mildest */
	if (strcmp(v->state, "green") != 0)
		return;
	v->state = state;
	snprintf(v->why, sizeof(v->why), "%s", why);
}

static void judge_all(struct rs_daemon *d, const struct rs_journal_status *j,
		      const struct rs_ll_status *ll, int detached,
		      struct verdict *v)
{
	char full[128];

	v->state = "green";
	v->why[0] = '\0';
	if (j->poisoned)
		judge(v, "red", j->why);
	if (j->store_broken)
		judge(v, "red", j->why);
	if (j->damage || d->report.quarantined)
		judge(v, "red",
		      "damage was found: see rspoolctl recover --accept");
	if (j->store_amber)
		judge(v, "amber", "the last checkpoint failed, is tried again");
	if (rs_daemon_is_full(d, full, sizeof(full)))
		judge(v, "amber", full);
	if (j->ring_used > (j->ring_size - j->ring_reserve) / 10 * 9)
		judge(v, "amber", "the ring is full, checkpoints are behind");
	if (ll->parked)
		judge(v, "amber", "writes wait for room");
	if (detached)
		judge(v, "amber", "detached, but still in use");
}

static void add_request(void *arg, const char *name, uint64_t n)
{
	json_object_set_new(arg, name, number(n));
}

static void add_error(void *arg, int64_t when, const char *text)
{
	json_array_append_new(arg, json_pack("{s:I, s:s}", "time",
					     (json_int_t)when, "text", text));
}

static json_t *warnings_of(struct rs_daemon *d)
{
	json_t *list = json_array();
	unsigned int i;

	for (i = 0; i < d->warnings; i++)
		json_array_append_new(list, json_string(d->warning[i]));
	return list;
}

static json_t *pids_of(dev_t dev)
{
	json_t *list = json_array();
	struct rs_pids pids;
	unsigned int i;

	rs_pids_find(dev, &pids);
	for (i = 0; i < pids.n; i++)
		json_array_append_new(list, json_integer(pids.pid[i]));
	return list;
}

static void add_journal(json_t *root, const struct rs_journal_status *j)
{
	json_object_set_new(
		root, "ring",
		json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
			  "size", (json_int_t)j->ring_size, "used",
			  (json_int_t)j->ring_used, "reserve",
			  (json_int_t)j->ring_reserve, "frames",
			  (json_int_t)j->frames, "flushes",
			  (json_int_t)j->flushes, "seals", (json_int_t)j->seals,
			  "bytes", (json_int_t)j->frame_bytes, "kept",
			  (json_int_t)j->kept_bytes, "awaited",
			  (json_int_t)j->awaited));
	json_object_set_new(root, "unsynced",
			    json_pack("{s:I, s:I}", "bytes",
				      (json_int_t)j->unsynced_bytes, "age_ms",
				      (json_int_t)j->unsynced_age_ms));
	json_object_set_new(root, "store_db",
			    json_pack("{s:I, s:I, s:I, s:I, s:I}", "used",
				      (json_int_t)j->store_used, "reserved",
				      (json_int_t)j->store_reserved, "applied",
				      (json_int_t)j->applied, "checkpoints",
				      (json_int_t)j->checkpoints, "folded",
				      (json_int_t)j->folded_frames));
	json_object_set_new(root, "durable", number(j->durable));
	json_object_set_new(root, "open", number(j->open_number));
	json_object_set_new(root, "waiters_served", number(j->waiters_served));
	json_object_set_new(root, "flush_us",
			    json_pack("{s:I, s:I}", "last",
				      (json_int_t)j->flush_us_last, "avg",
				      (json_int_t)j->flush_us_avg));
	json_object_set_new(root, "damage", number(j->damage));
}

static void add_core(json_t *root, const struct rs_core_status *c)
{
	json_object_set_new(root, "ram",
			    json_pack("{s:I, s:I}", "used",
				      (json_int_t)c->ram_bytes, "limit",
				      (json_int_t)c->ram));
	json_object_set_new(root, "space",
			    json_pack("{s:I, s:I, s:I}", "used",
				      (json_int_t)c->data_bytes, "capacity",
				      (json_int_t)c->capacity, "cold",
				      (json_int_t)c->cold_bytes));
	json_object_set_new(root, "inodes",
			    json_pack("{s:I, s:I, s:I, s:I}", "used",
				      (json_int_t)c->inodes, "limit",
				      (json_int_t)c->inodes_max, "removed_open",
				      (json_int_t)c->orphans, "suspect",
				      (json_int_t)c->suspects));
}

static void add_ll(struct rs_daemon *d, json_t *root,
		   const struct rs_ll_status *ll, int detached)
{
	json_t *requests = json_object(), *errors = json_array();

	rs_ll_requests(d->ll, add_request, requests);
	json_object_set_new(root, "requests", requests);
	json_object_set_new(root, "parked", number(ll->parked));
	json_object_set_new(root, "parked_bytes", number(ll->parked_bytes));
	json_object_set_new(root, "stalled", number(ll->stalled));
	json_object_set_new(root, "waits", number(ll->waits));
	json_object_set_new(root, "readonly", json_boolean(ll->readonly));
	json_object_set_new(root, "detached", json_boolean(detached));
	if (detached)
		json_object_set_new(root, "pids", pids_of(rs_ll_dev(d->ll)));
	rs_log_recent(add_error, errors);
	json_object_set_new(root, "errors", errors);
	json_object_set_new(root, "warnings", warnings_of(d));
}

unsigned int rs_daemon_interval(struct rs_daemon *d)
{
	unsigned int ms;

	pthread_mutex_lock(&d->lock);
	ms = d->opts.flush_interval;
	pthread_mutex_unlock(&d->lock);
	return ms;
}

json_t *rs_daemon_status(struct rs_daemon *d)
{
	const struct rs_marker *marker = rs_journal_marker(d->journal);
	struct rs_journal_status j;
	struct rs_core_status c;
	struct rs_ll_status ll;
	struct verdict v;
	json_t *root;
	int detached;

	rs_journal_status(d->journal, &j);
	rs_core_status(d->core, &c);
	rs_ll_status(d->ll, &ll);
	detached = !rs_ll_is_mounted(d->ll);
	judge_all(d, &j, &ll, detached, &v);
	root = json_pack("{s:b, s:s, s:o, s:s, s:i, s:s, s:s, s:s, s:s}", "ok",
			 1, "store", d->store, "id", hex_id(marker->id),
			 "mount", d->mnt, "pid", (int)getpid(), "version",
			 RS_VERSION, "state", v.state, "why", v.why, "policy",
			 rs_policy_name(d->opts.policy));
	if (!root)
		return NULL;
	json_object_set_new(root, "flush_interval",
			    number(rs_daemon_interval(d)));
	json_object_set_new(root, "came_back_empty", number(d->came_empty));
	json_object_set_new(root, "at_risk", rs_daemon_at_risk(d));
	add_core(root, &c);
	add_journal(root, &j);
	add_ll(d, root, &ll, detached);
	json_object_set_new(root, "uptime_s",
			    number((rs_daemon_now_ms() - d->started) / 1000));
	return root;
}
