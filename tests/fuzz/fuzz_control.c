/* fuzz_control.c - one line to the control socket, any bytes. */
#include <assert.h>

#include "tools/lib_ctl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *why = NULL;
	static struct rs_ctl_req req;
	char *line = malloc(size ? size : 1);
	int rc;

	assert(line);
	memcpy(line, data, size);
	rc = rs_ctl_parse(line, size, &req, &why);
	if (rc) {
		assert(why);
	} else {
		assert(req.cmd <= RS_CTL_POLICY);
		assert(req.cmd != RS_CTL_FLUSH_INTERVAL ||
		       (req.ms >= RS_FLUSH_INTERVAL_MIN &&
			req.ms <= RS_FLUSH_INTERVAL_MAX));
		assert(!req.set.what || req.path[0]);
		assert(req.set.policy <= RS_POLICY_ALWAYS);
		assert(req.set.dirsync <= RS_DIRSYNC_CALLER);
		assert(memchr(req.path, '\0', sizeof(req.path)));
	}
	free(line);
	return 0;
}
