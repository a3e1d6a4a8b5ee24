/*
 * lib_report.c - a recovery's report for people and for programs.
 */
#include "tools/lib_report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "tools/lib_size.h"

/* Findings that a screen gets; JSON has them all. */
#define SHOWN 40u

static void print_finding(const struct rs_finding *f)
{
	printf("  %s", rs_finding_kind_name(f->kind));
	if (f->ino)
		printf("%s %" PRIu64, f->kind == RS_FIND_INODE ? "" : " inode",
		       f->ino);
	if (f->number)
		printf(" frame %" PRIu64, f->number);
	if (f->place != UINT64_MAX)
		printf(" at %" PRIu64, f->place);
	if (f->name[0])
		printf(" '%s'", f->name);
	printf(": %s\n", f->why);
}

static void print_findings(const struct rs_report *rep)
{
	size_t i;

	if (!rep->quarantined) {
		puts("damage      none");
		return;
	}
	printf("damage      %" PRIu64 " findings\n", rep->quarantined);
	for (i = 0; i < rep->n_findings && i < SHOWN; i++)
		print_finding(&rep->findings[i]);
	if (rep->quarantined > i)
		printf("  and %" PRIu64 " more, see --json\n",
		       rep->quarantined - i);
}

void rs_report_print(const char *store, const struct rs_report *rep)
{
	char a[RS_SIZE_TEXT];

	printf("store       %s\n", store);
	printf("last end    %s\n",
	       rep->was_clean ? "in order" : "not in order, replayed");
	printf("frames      %" PRIu64 " replayed (%" PRIu64
	       " records, %s of data), highest %" PRIu64 "\n",
	       rep->frames_replayed, rep->records_replayed,
	       rs_size_text(rep->bytes_replayed, a), rep->highest_number);
	printf("recovered   %" PRIu64 " files (%s), %" PRIu64
	       " directories, %" PRIu64 " symlinks, %" PRIu64 " others\n",
	       rep->files, rs_size_text(rep->file_bytes, a), rep->dirs,
	       rep->symlinks, rep->specials);
	if (rep->reaped)
		printf("cleared     %" PRIu64 " unfinished or removed inodes\n",
		       rep->reaped);
	if (rep->unfinished)
		printf("unfinished  frame %" PRIu64 " at %" PRIu64
		       " is dropped, nothing in it was acknowledged\n",
		       rep->unfinished_number, rep->unfinished_place);
	print_findings(rep);
}

static json_t *number(uint64_t v)
{
	return json_integer((json_int_t)v);
}

static json_t *finding_json(const struct rs_finding *f)
{
	return json_pack(
		"{s:s, s:I, s:I, s:o, s:s, s:s}", "kind",
		rs_finding_kind_name(f->kind), "inode", (json_int_t)f->ino,
		"frame", (json_int_t)f->number, "place",
		f->place == UINT64_MAX ? json_null() : number(f->place), "name",
		f->name, "why", f->why);
}

static json_t *unfinished_json(const struct rs_report *rep)
{
	if (!rep->unfinished)
		return json_null();
	return json_pack("{s:I, s:I}", "frame",
			 (json_int_t)rep->unfinished_number, "place",
			 (json_int_t)rep->unfinished_place);
}

json_t *rs_report_json(const char *store, const struct rs_report *rep)
{
	json_t *root, *list = json_array();
	size_t i;

	for (i = 0; i < rep->n_findings; i++)
		json_array_append_new(list, finding_json(&rep->findings[i]));
	root = json_pack("{s:s, s:b, s:o, s:o, s:o, s:o}", "store", store,
			 "was_clean", rep->was_clean, "unfinished",
			 unfinished_json(rep), "damage",
			 number(rep->quarantined), "findings", list,
			 "findings_lost", number(rep->findings_lost));
	if (!root)
		return NULL;
	json_object_set_new(root, "frames_replayed",
			    number(rep->frames_replayed));
	json_object_set_new(root, "records_replayed",
			    number(rep->records_replayed));
	json_object_set_new(root, "bytes_replayed",
			    number(rep->bytes_replayed));
	json_object_set_new(root, "highest", number(rep->highest_number));
	json_object_set_new(root, "files", number(rep->files));
	json_object_set_new(root, "file_bytes", number(rep->file_bytes));
	json_object_set_new(root, "dirs", number(rep->dirs));
	json_object_set_new(root, "symlinks", number(rep->symlinks));
	json_object_set_new(root, "others", number(rep->specials));
	json_object_set_new(root, "reaped", number(rep->reaped));
	return root;
}

int rs_json_print(json_t *value)
{
	int err;

	if (!value)
		return -ENOMEM;
	err = json_dumpf(value, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(value);
	return err ? -EIO : 0;
}
