/*
 * lib_report.h - a recovery's report for people and for programs. The keys
 * of the JSON form are stable: only new ones are added.
 */
#ifndef RS_LIB_REPORT_H
#define RS_LIB_REPORT_H

#include <jansson.h>

#include "journal/report.h"

/* On stdout, some lines; store is the path shown. */
void rs_report_print(const char *store, const struct rs_report *rep);
/* New reference; NULL without memory. */
json_t *rs_report_json(const char *store, const struct rs_report *rep);
/* A JSON value and a newline on stdout; drops the reference. */
int rs_json_print(json_t *value);

#endif
