/*
 * report.h - what the disk says about itself, as JSON with stable keys (they
 * are listed in README.md). Each prints one line.
 */
#ifndef RS_DISK_REPORT_H
#define RS_DISK_REPORT_H

#include "tests/disk/disk.h"

#include <stdio.h>

void rs_dreport_counters(struct rs_disk *d, FILE *out);
void rs_dreport_reset(struct rs_disk *d);
void rs_dreport_cut(const struct rs_dcut_result *r, FILE *out);
void rs_dreport_status(struct rs_disk *d, const char *image, FILE *out);

#endif
