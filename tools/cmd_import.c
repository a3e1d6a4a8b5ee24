/*
 * cmd_import.c - rspoolctl import: an existing spool into an empty store.
 */
#include <stdio.h>

#include "tools/cmd.h"
#include "tools/lib_import.h"
#include "tools/lib_size.h"

static int has_xattr(const struct rs_conf *conf)
{
	RS_AUTO_FREE char *value = rs_conf_option(conf, "xattr");

	return value && !strcmp(value, "yes");
}

static void report(const char *store, const char *src,
		   const struct rs_import_result *result)
{
	char bytes[RS_SIZE_TEXT];

	printf("imported %llu files (%s) from '%s' into '%s'",
	       (unsigned long long)result->files,
	       rs_size_text(result->bytes, bytes), src, store);
	if (result->sockets)
		printf(", left out %llu sockets",
		       (unsigned long long)result->sockets);
	printf("\n");
	if (result->no_xattr)
		printf("%llu files lost extended attributes, which the store"
		       " has with the option xattr only\n",
		       (unsigned long long)result->no_xattr);
}

static int run(const struct rs_args *args)
{
	struct rs_import_result result;
	struct rs_target target;
	int code;

	code = rs_target_init(&target, args->pos[0], args->key, args->ring);
	if (code)
		return code;
	code = rs_import_run(&target, args->pos[1],
			     args->xattr || has_xattr(&target.conf), &result);
	if (!code)
		report(target.store, args->pos[1], &result);
	rs_target_release(&target);
	return code;
}

const struct rs_cmd rs_cmd_import = {
	.name = "import",
	.args = "DIR SRC",
	.what = "take an existing spool in",
	.help = "Copy the tree below SRC into the new store DIR, inode numbers,"
		" hard links, times,\n"
		"owners and modes as they are. Sockets are left out. Stop the"
		" mail server first.\n"
		"SRC is only read. It can be killed and repeated; until it is"
		" finished DIR can't be\n"
		"mounted.",
	.options = RS_O_KEY | RS_O_RING | RS_O_XATTR,
	.min = 2,
	.max = 2,
	.run = run,
};
