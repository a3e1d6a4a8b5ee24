/*
 * nocow.h - have a file written in place where the filesystem copies on
 * write. Otherwise each overwrite takes new space, which a full disk doesn't
 * have however much was reserved, and each flush costs more.
 */
#ifndef RS_NOCOW_H
#define RS_NOCOW_H

#include "include/rs_base.h"

/* fd: an empty file, the flag works only then. 0: it is written in place; 1:
 * the filesystem copies on write and can't be told not to. */
RS_MUST_USE int rs_nocow_set(int fd);

#endif
