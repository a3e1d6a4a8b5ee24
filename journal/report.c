/* report.c - the list of what recovery found. */
#include "journal/report.h"

#include <stdarg.h>
#include <stdio.h>

void rs_report_init(struct rs_report *rep)
{
	memset(rep, 0, sizeof(*rep));
}

void rs_report_release(struct rs_report *rep)
{
	free(rep->findings);
	rep->findings = NULL;
	rep->n_findings = 0;
	rep->cap_findings = 0;
}

static struct rs_finding *more_room(struct rs_report *rep)
{
	struct rs_finding *list;
	size_t cap;

	if (rep->n_findings < rep->cap_findings)
		return &rep->findings[rep->n_findings++];
	if (rep->n_findings >= RS_REPORT_MAX)
		return NULL;
	cap = rep->cap_findings ? 2 * rep->cap_findings : 16;
	if (cap > RS_REPORT_MAX)
		cap = RS_REPORT_MAX;
	list = realloc(rep->findings, cap * sizeof(*list));
	if (!list)
		return NULL;
	rep->findings = list;
	rep->cap_findings = cap;
	return &list[rep->n_findings++];
}

void rs_report_add(struct rs_report *rep, enum rs_finding_kind kind,
		   uint64_t ino, uint64_t number, uint64_t place,
		   const void *name, size_t len, const char *why, ...)
{
	struct rs_finding *found = more_room(rep);
	va_list args;

	rep->quarantined++;
	if (!found) {
		rep->findings_lost++;
		return;
	}
	found->kind = kind;
	found->ino = ino;
	found->number = number;
	found->place = place;
	found->name[0] = '\0';
	if (name)
		rs_escape(name, len, found->name, sizeof(found->name));
	va_start(args, why);
	vsnprintf(found->why, sizeof(found->why), why, args);
	va_end(args);
}

const char *rs_finding_kind_name(enum rs_finding_kind kind)
{
	static const char *const names[] = {
		[RS_FIND_FRAME] = "frame",	 [RS_FIND_INODE] = "inode",
		[RS_FIND_ENTRY] = "entry",	 [RS_FIND_ORPHAN] = "orphan",
		[RS_FIND_DIR_GAP] = "directory", [RS_FIND_VALUE] = "value",
		[RS_FIND_STORE] = "store",	 [RS_FIND_RING] = "ring",
	};

	if ((unsigned int)kind >= RS_ARRAY_LEN(names))
		return "unknown";
	return names[kind];
}
