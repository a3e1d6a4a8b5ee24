/*
 * cmd_dump.c - rspoolctl dump: the frames not folded yet and the store, a
 * record a line. Names are escaped, bytes of files are never shown.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "tools/cmd.h"
#include "tools/lib_report.h"
#include "tools/lib_target.h"

struct dump {
	json_t *list; /* with --json: records under way */
};

static void escape_name(const uint8_t *name, size_t len,
			char text[4 * RS_NAME_MAX + 1])
{
	text[0] = '\0';
	if (name)
		rs_escape(name, len < RS_NAME_MAX ? len : RS_NAME_MAX, text,
			  4 * RS_NAME_MAX + 1);
}

static int print_frame(struct dump *dump, const struct rs_rec *rec,
		       uint64_t number, const char *name)
{
	json_t *entry;

	if (dump->list) {
		entry = json_pack(
			"{s:I, s:s, s:I, s:I, s:s, s:I, s:I, s:I, s:I}",
			"frame", (json_int_t)number, "type",
			rs_rec_type_name(rec->type), "inode",
			(json_int_t)rec->ino, "prev", (json_int_t)rec->prev,
			"name", name, "child", (json_int_t)rec->child, "off",
			(json_int_t)rec->off, "range", (json_int_t)rec->range,
			"len", (json_int_t)rec->data_len);
		return json_array_append_new(dump->list, entry) ? -ENOMEM : 0;
	}
	printf("frame %" PRIu64 " %s inode %" PRIu64 " prev %" PRIu64, number,
	       rs_rec_type_name(rec->type), rec->ino, rec->prev);
	if (name[0])
		printf(" '%s'", name);
	if (rec->child)
		printf(" child %" PRIu64, rec->child);
	if (rec->type == RS_REC_INODE)
		printf(" mode %06o uid %u gid %u nlink %u size %" PRIu64,
		       rec->attr.mode, rec->attr.uid, rec->attr.gid,
		       rec->attr.nlink, rec->attr.size);
	if (rec->type >= RS_REC_DATA && rec->type <= RS_REC_ALLOC)
		printf(" off %" PRIu64 " len %" PRIu64, rec->off,
		       rec->type == RS_REC_DATA ? rec->data_len : rec->range);
	if (rec->type == RS_REC_CEILING)
		printf(" below %" PRIu64, rec->off);
	putchar('\n');
	return 0;
}

static int on_frame(void *arg, const struct rs_rec *rec, uint64_t number)
{
	char name[4 * RS_NAME_MAX + 1];

	escape_name(rec->name, rec->name_len, name);
	return print_frame(arg, rec, number, name);
}

static int on_record(void *arg, char kind, uint64_t ino, uint64_t frame,
		     const uint8_t *name, size_t name_len, uint64_t number,
		     size_t value_len)
{
	struct dump *dump = arg;
	char text[4 * RS_NAME_MAX + 1], kind_text[2] = { kind, '\0' };
	json_t *entry;

	escape_name(name, name_len, text);
	if (dump->list) {
		entry = json_pack("{s:s, s:I, s:I, s:s, s:I, s:I}", "kind",
				  kind_text, "inode", (json_int_t)ino, "frame",
				  (json_int_t)frame, "name", text, "number",
				  (json_int_t)number, "len",
				  (json_int_t)value_len);
		return json_array_append_new(dump->list, entry) ? -ENOMEM : 0;
	}
	printf("store %c %" PRIu64 " frame %" PRIu64 " number %" PRIu64
	       " len %zu",
	       kind, ino, frame, number, value_len);
	if (text[0])
		printf(" '%s'", text);
	putchar('\n');
	return 0;
}

static int dump_store(struct rs_journal *journal, struct dump *dump)
{
	static const struct rs_dump_ops ops = { .record = on_record };

	return rs_store_dump(rs_journal_store(journal), &ops, dump);
}

static int dump_all(const struct rs_args *args, struct rs_journal *journal,
		    struct rs_report *rep)
{
	struct dump dump = { 0 };
	json_t *root = NULL;
	int err;

	if (args->json) {
		root = json_object();
		dump.list = json_array();
		json_object_set_new(root, "frames", dump.list);
	}
	err = rs_journal_replay(journal, on_frame, &dump, rep);
	if (args->json) {
		dump.list = json_array();
		json_object_set_new(root, "store", dump.list);
	}
	if (!err || err == -EUCLEAN)
		err = dump_store(journal, &dump);
	if (root && (!err || err == -EUCLEAN))
		(void)!rs_json_print(root);
	else
		json_decref(root);
	return err;
}

static int dump(const struct rs_args *args, const struct rs_target *target)
{
	struct rs_journal *journal;
	struct rs_report rep;
	int code, err;

	rs_report_init(&rep);
	code = rs_target_open(target, RS_JOURNAL_RDONLY, &rep, &journal);
	if (!code) {
		err = dump_all(args, journal, &rep);
		if (err)
			rs_say("cannot dump all of '%s': %s", target->store,
			       strerror(-err));
		if (err == -EUCLEAN || rep.quarantined)
			code = RS_EXIT_DAMAGE;
		else if (err)
			code = RS_EXIT_FAILED;
		rs_journal_close(journal);
	}
	rs_report_release(&rep);
	return code;
}

static int run(const struct rs_args *args)
{
	struct rs_target target;
	int code;

	code = rs_target_init(&target, args->pos[0], args->key, args->ring);
	if (code)
		return code;
	code = dump(args, &target);
	rs_target_release(&target);
	return code;
}

const struct rs_cmd rs_cmd_dump = {
	.name = "dump",
	.args = "DIR",
	.what = "the frames and the store, a record a line",
	.help = "Print every record of the frames that are not folded yet and"
		" of the store DIR.\n"
		"Names are escaped, no byte of a file is shown.",
	.options = RS_O_KEY | RS_O_RING | RS_O_JSON,
	.min = 1,
	.max = 1,
	.run = run,
};
