/*
 * lib_limit.h - how much memory may we take? (cases B02, D05)
 */
#ifndef RS_LIB_LIMIT_H
#define RS_LIB_LIMIT_H

#include "include/rs_base.h"

/*
 * Bytes of memory that this process can have at most: the machine's, or less
 * by a memory cgroup (v2 or v1) above us. *ret_by: "machine" or "cgroup".
 * Never fails: what can't be read does not limit.
 */
uint64_t rs_limit_memory(const char **ret_by);

#endif
