/*
 * lib_ctl.c - what the control socket understands.
 *
 * rs_ctl_parse() is fed by a fuzzer: no byte string may do more than fail.
 */
#include "tools/lib_ctl.h"

#include <errno.h>
#include <stdio.h>

#include "tools/lib_policy.h"
#include "tools/lib_size.h"

static const struct {
	const char *name;
	enum rs_ctl_cmd cmd;
} commands[] = {
	{ "status", RS_CTL_STATUS },
	{ "sync", RS_CTL_SYNC },
	{ "umount", RS_CTL_UMOUNT },
	{ "flush_interval", RS_CTL_FLUSH_INTERVAL },
	{ "policy", RS_CTL_POLICY },
	{ "sizes", RS_CTL_SIZES },
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

static int decode_ms(json_t *object, struct rs_ctl_req *req,
		     const char **ret_why)
{
	json_t *ms = json_object_get(object, "ms");
	json_int_t v = json_integer_value(ms);

	*ret_why = "'ms' is not a number from 1 to 3600000";
	if (!json_is_integer(ms) || v < RS_FLUSH_INTERVAL_MIN ||
	    v > RS_FLUSH_INTERVAL_MAX)
		return -EINVAL;
	req->ms = (unsigned int)v;
	return 0;
}

static int decode_size(json_t *object, const char *key, uint64_t lo,
		       uint64_t *ret)
{
	json_t *v = json_object_get(object, key);

	if (!v)
		return 0;
	if (!json_is_integer(v) || json_integer_value(v) < (json_int_t)lo)
		return -EINVAL;
	*ret = (uint64_t)json_integer_value(v);
	return 0;
}

static int decode_sizes(json_t *object, struct rs_ctl_req *req,
			const char **ret_why)
{
	struct rs_limits *to = &req->sizes;

	*ret_why = "one of ram from 16M, capacity from 1M and inodes from 64"
		   " is wanted";
	if (decode_size(object, "ram", RS_RAM_MIN, &to->ram) ||
	    decode_size(object, "capacity", RS_CAPACITY_MIN, &to->capacity) ||
	    decode_size(object, "inodes", RS_INODES_MIN, &to->inodes))
		return -EINVAL;
	return to->ram || to->capacity || to->inodes ? 0 : -EINVAL;
}

static int decode_path(json_t *object, struct rs_ctl_req *req,
		       const char **ret_why)
{
	json_t *path = json_object_get(object, "path");

	*ret_why = "'path' is not a path";
	if (!path)
		return 0;
	if (!json_is_string(path) || !json_string_length(path) ||
	    json_string_length(path) >= sizeof(req->path))
		return -EINVAL;
	memcpy(req->path, json_string_value(path),
	       json_string_length(path) + 1);
	return 0;
}

/* "default" is 0: what the configuration says. */
static int decode_word(json_t *set, const char *key,
		       int (*parse)(const char *word, uint8_t *ret),
		       unsigned int bit, struct rs_policy_set *ret_set,
		       uint8_t *ret)
{
	json_t *v = json_object_get(set, key);
	const char *word = json_string_value(v);

	if (!v)
		return 0;
	if (!word)
		return -EINVAL;
	*ret = 0;
	if (strcmp(word, "default") != 0 && parse(word, ret))
		return -EINVAL;
	ret_set->what |= bit;
	return 0;
}

static int decode_limit(json_t *set, const char *key, unsigned int bit,
			struct rs_policy_set *ret_set, uint64_t *ret)
{
	json_t *v = json_object_get(set, key);

	if (!v)
		return 0;
	if (!json_is_integer(v) || json_integer_value(v) < 0)
		return -EINVAL;
	*ret = (uint64_t)json_integer_value(v);
	ret_set->what |= bit;
	return 0;
}

static int decode_set(json_t *object, struct rs_ctl_req *req,
		      const char **ret_why)
{
	json_t *set = json_object_get(object, "set");
	struct rs_policy_set *to = &req->set;

	if (!set)
		return 0;
	*ret_why = "'set' goes with 'path' and has policy, dirsync, limit or"
		   " inodes";
	if (!req->path[0] || !json_is_object(set) ||
	    decode_word(set, "policy", rs_policy_parse, RS_POLSET_POLICY, to,
			&to->policy) ||
	    decode_word(set, "dirsync", rs_dirsync_parse, RS_POLSET_DIRSYNC, to,
			&to->dirsync) ||
	    decode_limit(set, "limit", RS_POLSET_LIMIT, to, &to->limit) ||
	    decode_limit(set, "inodes", RS_POLSET_INODES, to,
			 &to->limit_inodes))
		return -EINVAL;
	/* each key that is there was taken */
	return json_object_size(set) == (size_t)__builtin_popcount(to->what) &&
			       to->what
		       ? 0
		       : -EINVAL;
}

static int decode(json_t *object, struct rs_ctl_req *req, const char **ret_why)
{
	json_t *fast = json_object_get(object, "fast");
	int err;

	*ret_why = "unknown command";
	if (decode_cmd(object, &req->cmd))
		return -EINVAL;
	*ret_why = "'fast' is not true or false";
	if (fast && !json_is_boolean(fast))
		return -EINVAL;
	req->fast = json_is_true(fast);
	if (req->cmd == RS_CTL_FLUSH_INTERVAL)
		return decode_ms(object, req, ret_why);
	if (req->cmd == RS_CTL_SIZES)
		return decode_sizes(object, req, ret_why);
	if (req->cmd != RS_CTL_POLICY)
		return 0;
	err = decode_path(object, req, ret_why);
	return err ? err : decode_set(object, req, ret_why);
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
