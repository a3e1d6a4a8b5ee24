/*
 * ledger_match.h - is an object in the tree as one of its states says?
 */
#ifndef LEDGER_MATCH_H
#define LEDGER_MATCH_H

#include "ledger_hist.h"
#include "ledger_tree.h"

#define LED_WHY 300

/* What the tree has of one object. */
struct led_found {
	struct led_ent *ents[16];
	unsigned int n;
	unsigned char *buf; /* content, once read */
	size_t len;
	int err; /* of reading */
};

struct led_match {
	const struct led_hists *h;
	struct led_tree *tree;
	bool weak;
};

/* All entries under any name that the object ever had; marks them as its. */
void led_found_get(const struct led_match *m, const struct led_hist *o,
		   struct led_found *ret_found);
void led_found_release(struct led_found *found);

/* True if found is state number i of o; else why says what differs. */
bool led_match(const struct led_match *m, const struct led_hist *o, size_t i,
	       struct led_found *found, char why[LED_WHY]);
/* True if found is the state before i and a part of the write that made i. */
bool led_match_part(const struct led_match *m, const struct led_hist *o,
		    size_t i, struct led_found *found);

#endif
