/*
 * lib_ctl.c - what the control socket understands.
 *
 * rs_ctl_parse() is fed by a fuzzer: no byte string may do more than fail.
 */
#include "tools/lib_ctl.h"

#include <errno.h>
#include <stdio.h>

static const struct {
	const char *name;
	enum rs_ctl_cmd cmd;
} commands[] = {
	{ "status", RS_CTL_STATUS },
	{ "sync", RS_CTL_SYNC },
	{ "umount", RS_CTL_UMOUNT },
	{ "flush_interval", RS_CTL_FLUSH_INTERVAL },
	{ "policy", RS_CTL_POLICY },
};

static int decode_cmd(json_t *object, enum rs_ctl_cmd *ret)
{
	const char *name = json_string_value(json_object_get(object, "cmd"));
	size_t i;

	for (i = 0; name && i < RS_ARRAY_LEN(commands); i++) {
		if (!strcmp(name, commands[i].name)) {
			*ret = commands[i].cmd;
			return 0;
		}
	}
	return -EINVAL;
}

static int decode(json_t *object, struct rs_ctl_req *req, const char **ret_why)
{
	json_t *fast = json_object_get(object, "fast");
	json_t *ms = json_object_get(object, "ms");
	json_int_t v;

	*ret_why = "unknown command";
	if (decode_cmd(object, &req->cmd))
		return -EINVAL;
	*ret_why = "'fast' is not true or false";
	if (fast && !json_is_boolean(fast))
		return -EINVAL;
	req->fast = json_is_true(fast);
	if (req->cmd != RS_CTL_FLUSH_INTERVAL)
		return 0;
	*ret_why = "'ms' is not a number from 1 to 3600000";
	if (!json_is_integer(ms))
		return -EINVAL;
	v = json_integer_value(ms);
	if (v < RS_FLUSH_INTERVAL_MIN || v > RS_FLUSH_INTERVAL_MAX)
		return -EINVAL;
	req->ms = (unsigned int)v;
	return 0;
}

int rs_ctl_parse(const char *line, size_t len, struct rs_ctl_req *ret_req,
		 const char **ret_why)
{
	struct rs_ctl_req req = { 0 };
	json_error_t error;
	json_t *object;
	int err;

	*ret_why = "line too long";
	if (len > RS_CTL_LINE_MAX)
		return -EINVAL;
	*ret_why = "not a JSON object";
	object = json_loadb(line, len, JSON_REJECT_DUPLICATES, &error);
	if (!object)
		return -EINVAL;
	err = json_is_object(object) ? decode(object, &req, ret_why) : -EINVAL;
	json_decref(object);
	if (err)
		return err;
	*ret_req = req;
	return 0;
}

void rs_ctl_address(const uint8_t id[RS_ID_LEN], struct sockaddr_un *ret_addr)
{
	size_t i, len;

	memset(ret_addr, 0, sizeof(*ret_addr));
	ret_addr->sun_family = AF_UNIX;
	len = (size_t)snprintf(ret_addr->sun_path, sizeof(ret_addr->sun_path),
			       "%s/", RS_CTL_DIR);
	for (i = 0; i < RS_ID_LEN; i++)
		len += (size_t)snprintf(ret_addr->sun_path + len,
					sizeof(ret_addr->sun_path) - len,
					"%02x", id[i]);
	snprintf(ret_addr->sun_path + len, sizeof(ret_addr->sun_path) - len,
		 ".sock");
}
