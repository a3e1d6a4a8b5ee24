/*
 * fuzz_options.c - the text behind -o, which a configuration file's lines
 * become too. What says no says so on stderr: /dev/null here.
 */
#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/lib_opt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void options(char *text)
{
	struct rs_opts opts;
	int rc;

	rs_opts_init(&opts);
	rc = rs_opts_parse(&opts, text);
	if (rc == 0) {
		assert(opts.policy >= RS_POLICY_VOLATILE &&
		       opts.policy <= RS_POLICY_ALWAYS);
		assert(opts.flush_interval > 0);
		assert(rs_opts_finish(&opts) == 0);
		assert(opts.all.n == opts.rules.n + opts.n_profile_rules);
	}
	rs_opts_release(&opts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	static int null = -1, err = -1;

	assert(text);
	memcpy(text, data, size);
	text[size] = '\0';
	if (null < 0) {
		null = open("/dev/null", O_WRONLY | O_CLOEXEC);
		err = dup(STDERR_FILENO);
	}
	/* a sanitizer's report must still be seen */
	dup2(null, STDERR_FILENO);
	options(text);
	dup2(err, STDERR_FILENO);
	free(text);
	return 0;
}
