/*
 * ledger_check.h - the whole tree: what each object can be, then whether
 * there is one moment at which all of them were so.
 */
#ifndef LEDGER_CHECK_H
#define LEDGER_CHECK_H

#include "ledger_match.h"

/* Positions (ledger_hist.h) at which an object was as found. */
struct led_span {
	uint32_t obj;
	uint32_t first, last;
};

struct led_spans {
	struct led_span *spans;
	size_t n, cap;
	uint64_t objects; /* that have at least one */
};

/*
 * ledger_prefix.c: G1. spans: for each writer, of all its objects that have
 * any. Reports violations on stdout and returns their number. In a clean
 * result prints how far each writer came if verbose.
 */
uint64_t led_check_prefix(const struct led_hists *h, struct led_spans *spans,
			  bool verbose);

#endif
