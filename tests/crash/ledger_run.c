/*
 * ledger_run.c - the writers: one process each, on what the phase adopted.
 */
#include "ledger_op.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The name itself or the uppermost directory below a fixed one: one writer
 * has all of a subtree. */
static uint32_t top_of(const struct led_rec *recs, size_t count,
		       const struct led_rec *rec)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (recs[i].kind == LED_ADOPT && recs[i].obj == rec->dir &&
		    recs[i].writer != LED_SHARED)
			return top_of(recs, count, &recs[i]);
	return rec->obj;
}

static void adopt(struct led_writer *w, const struct led_rec *recs,
		  size_t count, const struct led_rec *rec)
{
	struct led_obj *o = NULL;
	size_t i;
	int k;

	for (i = 0; i < w->count; i++)
		if (w->objs[i].id == rec->obj)
			o = &w->objs[i];
	if (!o) {
		led_new_obj(w);
		o = &w->objs[w->count - 1];
		o->id = rec->obj;
		o->mode = rec->st.mode;
		o->size = rec->st.size;
		o->ino = rec->st.ino;
		o->alive = o->adopted = true;
		o->mine = rec->writer != LED_SHARED &&
			  top_of(recs, count, rec) % w->run->writers == w->id;
		for (k = 0; k < LED_DIRS; k++)
			if (rec->dir == LED_ROOT &&
			    !strcmp(rec->name, led_dirs[k]))
				w->dirs[k] = rec->obj;
	}
	if (o->n_names < LED_NAMES) {
		o->names[o->n_names].dir = rec->dir;
		strcpy(o->names[o->n_names++].name, rec->name);
	} else {
		o->mine = false;
	}
}

/* recs: the phase's. */
static int writer(const struct led_run *run, struct led_writer w,
		  const struct led_rec *recs, size_t count)
{
	time_t until = time(NULL) + run->seconds;
	size_t i;

	w.log = led_open(run->ledger);
	w.seed = recs[0].key * 1000003 + run->seed;
	w.rng = w.seed + w.id * 7919u;
	for (i = 0; i < count; i++)
		if (recs[i].kind == LED_ADOPT && recs[i].obj != LED_ROOT)
			adopt(&w, recs, count, &recs[i]);
	w.next_obj = (w.id + 1u) << 20;
	/* It may have died before we came. */
	if (chdir(run->root))
		return errno == ENOENT ? 1 : 3;
	while (!w.dead && w.n < run->ops && time(NULL) < until)
		led_mix(&w);
	for (i = 0; i < w.count; i++)
		led_close(&w, w.objs[i].id);
	return w.dead ? 3 : 0;
}

int led_run(const struct led_run *run)
{
	struct led_writer w = { .run = run };
	struct led_rec *recs;
	size_t count, phase, i;
	unsigned int id;
	int status, rc = 0;

	recs = led_load(run->ledger, &count);
	phase = led_last_phase(recs, count);
	for (i = 0; i < count; i++) {
		w.phase += recs[i].kind == LED_PHASE;
		if (i < phase || recs[i].kind != LED_INTENT)
			continue;
		fprintf(stderr, "ledger: this phase has had its run\n");
		free(recs);
		return 1;
	}
	/* A file limit or a closed pipe is an error code, not an end. */
	signal(SIGPIPE, SIG_IGN);
	for (id = 0; id < run->writers; id++) {
		pid_t pid = fork();

		if (pid < 0)
			rc = 1;
		w.id = (uint16_t)id;
		if (!pid)
			_exit(writer(run, w, recs + phase, count - phase));
	}
	while (wait(&status) > 0) {
		int code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;

		if (code && rc != 1)
			rc = code;
	}
	free(recs);
	return rc;
}
