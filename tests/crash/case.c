/* case.c - see case.h. */
#define _GNU_SOURCE
#include "case.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RING UINT64_C(262144) /* the test-only minimum */
#define CAPACITY UINT64_C(4194304)
#define INODES 2000u

enum way {
	WAY_SERVE,
	WAY_RECOVER,
	WAY_RDONLY,
	WAYS
};

static const char *const way_names[WAYS] = { "mount", "recover", "read-only" };

void case_empty_dir(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *ent;

	if (!d)
		return;
	while ((ent = readdir(d)))
		if (strcmp(ent->d_name, ".") && strcmp(ent->d_name, ".."))
			(void)!unlinkat(dirfd(d), ent->d_name, 0);
	closedir(d);
}

void case_copy(const char *from, const char *to, const char *name)
{
	char a[4096], b[4096], buf[65536];
	struct stat st;
	FILE *in, *out;
	size_t n;

	snprintf(a, sizeof(a), "%s/%s", from, name);
	snprintf(b, sizeof(b), "%s/%s", to, name);
	in = fopen(a, "rb");
	out = fopen(b, "wb");
	assert(in && out && !fstat(fileno(in), &st));
	while ((n = fread(buf, 1, sizeof(buf), in))) {
		size_t i;

		for (i = 0; i < n && !buf[i]; i++)
			;
		if (i == n) /* keep it sparse */
			fseek(out, (long)n, SEEK_CUR);
		else
			assert(fwrite(buf, 1, n, out) == n);
	}
	fclose(in);
	fflush(out);
	assert(!ftruncate(fileno(out), st.st_size));
	fclose(out);
}

void case_make_store(const char *dir)
{
	struct rs_store_spec spec = { .dir = dir,
				      .ring_size = RING,
				      .capacity = CAPACITY,
				      .inodes = INODES };
	int cow, rc;

	setenv("RSPOOL_TEST_RING", "1", 1);
	rc = rs_journal_init_store(&spec, &cow);
	if (rc) {
		fprintf(stderr, "init of '%s': %s\n", dir, strerror(-rc));
		exit(1);
	}
}

/* ---- one case ---- */

/* Recover what stands in dir in the given way and take its tree. */
static int recover(struct play *scratch, const char *dir, enum way way,
		   struct snap *ret_snap, uint64_t *ret_ceiling,
		   uint64_t *ret_quarantined)
{
	static const enum rs_journal_mode modes[WAYS] = { RS_JOURNAL_SERVE,
							  RS_JOURNAL_RECOVER,
							  RS_JOURNAL_RDONLY };
	struct rs_core *core = NULL;
	struct rs_journal *j;
	struct rs_report rep;
	size_t i;
	int rc;

	rs_report_init(&rep);
	rc = play_open(scratch, dir, modes[way], &rep, &j, &core);
	if (rc)
		goto out;
	if (way == WAY_RECOVER) {
		rc = rs_journal_fold_all(j, NULL, NULL, &rep);
		rs_journal_close(j);
		if (!rc)
			rc = play_open(scratch, dir, RS_JOURNAL_RDONLY, &rep,
				       &j, &core);
		if (rc)
			goto out;
	}
	snap_take(ret_snap, core, NULL);
	*ret_ceiling = rs_journal_ceiling(j);
	rs_core_free(core);
	rs_journal_close(j);
out:
	for (i = 0; i < rep.n_findings; i++)
		printf("  finding: %s ino %llu frame %llu: %s\n",
		       rs_finding_kind_name(rep.findings[i].kind),
		       (unsigned long long)rep.findings[i].ino,
		       (unsigned long long)rep.findings[i].number,
		       rep.findings[i].why);
	*ret_quarantined = rep.quarantined;
	rs_report_release(&rep);
	return rc;
}

static int fail(const struct play *play, uint64_t seed, size_t cut,
		unsigned int variant, enum way way, const char *what)
{
	printf("FAILED %s:%llu:%zu:%u (%s): %s\n",
	       play->policies ? "policy" : "crash", (unsigned long long)seed,
	       cut, variant, way_names[way], what);
	return 1;
}

static int judge(const struct play *play, const struct snap *snap, size_t cut,
		 uint64_t seed, unsigned int variant, enum way way,
		 size_t *ret_found)
{
	size_t must = play_must(play, cut), can = play_can(play, cut), i;

	for (i = can + 1; i-- > 0;)
		if (play->snaps[i].hash == snap->hash)
			break;
	if (i != SIZE_MAX && i >= must) {
		*ret_found = i;
		return 0;
	}
	if (i != SIZE_MAX) {
		printf("tree is that of snapshot %zu, acknowledged %zu\n", i,
		       must);
		snap_diff(&play->snaps[must], snap);
		return fail(play, seed, cut, variant, way,
			    "acknowledged change is lost");
	}
	for (i = can + 1; i-- > must;) {
		if (i && play->loose[i] &&
		    snap_is_between(snap, &play->snaps[i - 1],
				    &play->snaps[i])) {
			*ret_found = i - 1;
			return 0;
		}
	}
	printf("against snapshot %zu (acknowledged):\n", must);
	snap_diff(&play->snaps[must], snap);
	printf("against snapshot %zu (last):\n", can);
	snap_diff(&play->snaps[can], snap);
	return fail(play, seed, cut, variant, way, "tree is no prefix");
}

/* Returns 0 if all is well; *ret_found: the snapshot that came back. */
int case_run(struct play *play, uint64_t seed, size_t cut, unsigned int variant,
	     const char *dir, const char *marker, size_t *ret_found)
{
	struct rng rng = { seed * 1000003 + cut * 131 + variant };
	enum way way = (enum way)((cut + variant) % WAYS);
	struct play scratch = { .clock = play->clock,
				.policies = play->policies };
	uint64_t ceiling = 0, quarantined = 0;
	struct snap snap = { 0 };
	int rc;

	case_empty_dir(dir);
	case_copy(marker, dir, "rspool.id");
	tape_build(&play->tape, cut, variant, &rng, dir);
	rc = recover(&scratch, dir, way, &snap, &ceiling, &quarantined);
	if (rc) {
		printf("recovery gives %d\n", rc);
		return fail(play, seed, cut, variant, way, "not recovered");
	}
	rc = judge(play, &snap, cut, seed, variant, way, ret_found);
	if (!rc && quarantined)
		rc = fail(play, seed, cut, variant, way, "false damage");
	if (!rc && ceiling <= play->max_ino && cut == play->tape.n)
		rc = fail(play, seed, cut, variant, way,
			  "inode number above the ceiling");
	snap_release(&snap);
	return rc;
}
