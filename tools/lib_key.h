/*
 * lib_key.h - the site key's file: 64 hex digits, or 32 bytes as they are.
 */
#ifndef RS_LIB_KEY_H
#define RS_LIB_KEY_H

#include "include/rs_base.h"
#include "journal/crypto.h"

/*
 * Read the key at path. The file must be a regular one that nobody but its
 * owner (root or us) may read or write: checked on the open descriptor.
 * *ret_why names what is wrong. Errors: -EACCES, -EPERM (mode, owner),
 * -EINVAL (content), other -errno of open.
 */
RS_MUST_USE int rs_key_read(const char *path, uint8_t ret_key[RS_KEY_LEN],
			    const char **ret_why);

#endif
