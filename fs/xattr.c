/*
 * xattr.c - extended attributes: a short list at the inode.
 *
 * ACLs (system.*) are not taken: the kernel would have to check them, and
 * then ask for them at every turn.
 */
#include <linux/limits.h>
#include <linux/xattr.h>

#include "fs/core_p.h"

static size_t xattr_size(size_t name_len, size_t value_len)
{
	return sizeof(struct rs_xattr) + name_len + value_len;
}

static void xattr_free(struct rs_core *core, struct rs_xattr *xattr)
{
	core->xattr_bytes -= xattr_size(xattr->name_len, xattr->value_len);
	rs_mem_free(&core->mem, xattr,
		    xattr_size(xattr->name_len, xattr->value_len));
}

static struct rs_xattr *xattr_new(struct rs_core *core, const void *name,
				  size_t name_len, const void *value,
				  size_t value_len)
{
	struct rs_xattr *xattr =
		rs_mem_alloc(&core->mem, xattr_size(name_len, value_len));

	if (!xattr)
		return NULL;
	core->xattr_bytes += xattr_size(name_len, value_len);
	xattr->next = NULL;
	xattr->name_len = (uint8_t)name_len;
	xattr->value_len = (uint32_t)value_len;
	memcpy(xattr->name, name, name_len);
	if (value_len)
		memcpy(xattr->name + name_len, value, value_len);
	return xattr;
}

/* The pointer that leads to it, or to the end of the list. */
static struct rs_xattr **find(struct rs_inode *inode, const void *name,
			      size_t len)
{
	struct rs_xattr **at = &inode->xattrs;

	for (; *at; at = &(*at)->next) {
		if ((*at)->name_len == len && !memcmp((*at)->name, name, len))
			break;
	}
	return at;
}

void rs_xattr_clear(struct rs_core *core, struct rs_inode *inode)
{
	struct rs_xattr *xattr;

	while ((xattr = inode->xattrs)) {
		inode->xattrs = xattr->next;
		xattr_free(core, xattr);
	}
}

uint64_t rs_xattr_bytes(const struct rs_inode *inode)
{
	const struct rs_xattr *xattr;
	uint64_t bytes = 0;

	for (xattr = inode->xattrs; xattr; xattr = xattr->next)
		bytes += xattr_size(xattr->name_len, xattr->value_len);
	return bytes;
}

static void drop(struct rs_core *core, const struct rs_inode *inode,
		 struct rs_xattr *xattr)
{
	rs_limit_grow(core, inode,
		      -(uint64_t)xattr_size(xattr->name_len, xattr->value_len));
	xattr_free(core, xattr);
}

/* Puts it in the place of one of that name. */
static void replace(struct rs_core *core, struct rs_inode *inode,
		    struct rs_xattr *xattr)
{
	struct rs_xattr **at = find(inode, xattr->name, xattr->name_len);
	struct rs_xattr *old = *at;

	xattr->next = old ? old->next : NULL;
	*at = xattr;
	rs_limit_grow(core, inode,
		      xattr_size(xattr->name_len, xattr->value_len));
	if (old)
		drop(core, inode, old);
}

static void unlink_at(struct rs_core *core, struct rs_inode *inode,
		      struct rs_xattr **at)
{
	struct rs_xattr *old = *at;

	if (!old)
		return;
	*at = old->next;
	drop(core, inode, old);
}

int rs_xattr_load(struct rs_core *core, struct rs_inode *inode,
		  const uint8_t *name, size_t len, const uint8_t *value,
		  size_t value_len)
{
	struct rs_xattr *xattr = xattr_new(core, name, len, value, value_len);

	if (!xattr)
		return -ENOMEM;
	replace(core, inode, xattr);
	return 0;
}

void rs_xattr_unload(struct rs_core *core, struct rs_inode *inode,
		     const uint8_t *name, size_t len)
{
	unlink_at(core, inode, find(inode, name, len));
}

static size_t list_size(const struct rs_inode *inode)
{
	const struct rs_xattr *xattr;
	size_t size = 0;

	for (xattr = inode->xattrs; xattr; xattr = xattr->next)
		size += xattr->name_len + 1u;
	return size;
}

/* As the kernel does for the filesystems that leave the names to it. */
static int name_ok(struct rs_core *core, const char *name)
{
	static const char *const prefixes[] = { XATTR_USER_PREFIX,
						XATTR_TRUSTED_PREFIX,
						XATTR_SECURITY_PREFIX };
	size_t i, len;

	if (!core->cfg.xattr)
		return -EOPNOTSUPP;
	for (i = 0; i < RS_ARRAY_LEN(prefixes); i++) {
		len = strlen(prefixes[i]);
		if (strncmp(name, prefixes[i], len) != 0)
			continue;
		if (!name[len])
			return -EINVAL;
		return strlen(name) > RS_XATTR_NAME_MAX ? -ERANGE : 0;
	}
	return -EOPNOTSUPP;
}

static ssize_t get_locked(struct rs_inode *inode, const char *name, void *buf,
			  size_t size)
{
	const struct rs_xattr *xattr;

	if (!inode)
		return -ESTALE;
	xattr = *find(inode, name, strlen(name));
	if (!xattr)
		return -ENODATA;
	if (size && size < xattr->value_len)
		return -ERANGE;
	if (size && xattr->value_len)
		memcpy(buf, xattr->name + xattr->name_len, xattr->value_len);
	return (ssize_t)xattr->value_len;
}

ssize_t rs_core_getxattr(struct rs_core *core, uint64_t ino, const char *name,
			 void *buf, size_t size)
{
	ssize_t ret = name_ok(core, name);

	if (ret)
		return ret;
	rs_core_lock(core);
	ret = get_locked(rs_inode_find(core, ino), name, buf, size);
	rs_core_unlock(core);
	return ret;
}

static ssize_t list_locked(struct rs_inode *inode, char *buf, size_t size)
{
	const struct rs_xattr *xattr;
	size_t need;

	if (!inode)
		return -ESTALE;
	need = list_size(inode);
	if (size && size < need)
		return -ERANGE;
	if (!size)
		return (ssize_t)need;
	for (xattr = inode->xattrs; xattr; xattr = xattr->next) {
		memcpy(buf, xattr->name, xattr->name_len);
		buf += xattr->name_len;
		*buf++ = '\0';
	}
	return (ssize_t)need;
}

ssize_t rs_core_listxattr(struct rs_core *core, uint64_t ino, char *buf,
			  size_t size)
{
	ssize_t ret;

	if (!core->cfg.xattr)
		return -EOPNOTSUPP;
	rs_core_lock(core);
	ret = list_locked(rs_inode_find(core, ino), buf, size);
	rs_core_unlock(core);
	return ret;
}

struct setxattr {
	const char *name;
	const void *value;
	size_t len, size;
	int flags;
};

static int set_check(struct rs_core *core, struct rs_inode *inode,
		     const struct setxattr *set)
{
	const struct rs_xattr *old;

	if (!inode)
		return -ESTALE;
	old = *find(inode, set->name, set->len);
	if (old && (set->flags & XATTR_CREATE))
		return -EEXIST;
	if (!old && (set->flags & XATTR_REPLACE))
		return -ENODATA;
	/* listxattr could never return them all */
	if (!old && list_size(inode) + set->len + 1 > XATTR_LIST_MAX)
		return -ENOSPC;
	if (!rs_quota_xattr(core, inode, xattr_size(set->len, set->size)))
		return -ENOSPC;
	return rs_quota_ram(core, xattr_size(set->len, set->size),
			    RS_NEED_SMALL);
}

static void log_xattr(struct rs_core *core, struct rs_inode *inode,
		      struct rs_rec *rec)
{
	struct timespec now;

	rs_times_now(core, &now);
	rs_times_set(inode, RS_CTIME, &now);
	rs_intent_begin(core);
	rs_intent_rec(core, inode, rec);
	rs_intent_inode(core, inode);
	rs_intent_end(core);
}

static int set_locked(struct rs_core *core, const struct rs_op *op,
		      struct rs_inode *inode, const struct setxattr *set)
{
	struct rs_rec rec = { .type = RS_REC_XATTR_PUT };
	struct rs_xattr *xattr;
	int err;

	err = set_check(core, inode, set);
	if (!err)
		err = rs_op_short(core, op, rs_inode_logged(inode));
	if (err)
		return err;
	xattr = xattr_new(core, set->name, set->len, set->value, set->size);
	if (!xattr)
		return -ENOMEM;
	rec.name = (const uint8_t *)set->name;
	rec.name_len = (uint32_t)set->len;
	rec.data = set->value;
	rec.data_len = (uint32_t)set->size;
	log_xattr(core, inode, &rec);
	replace(core, inode, xattr);
	return 0;
}

int rs_core_setxattr(struct rs_core *core, uint64_t ino, const char *name,
		     const void *value, size_t size, int flags)
{
	struct setxattr set = { name, value, strlen(name), size, flags };
	struct rs_op op;
	int err;

	err = name_ok(core, name);
	if (err)
		return err;
	if (size > RS_XATTR_SIZE_MAX)
		return -E2BIG;
	rs_op_init(core, &op, ino,
		   2 * RS_REC_INODE_LEN + RS_XATTR_NAME_MAX + size,
		   RS_NEED_SMALL);
	do {
		err = rs_op_enter(core, &op);
		if (!err)
			err = set_locked(core, &op, rs_inode_find(core, ino),
					 &set);
	} while (rs_op_again(core, &op, &err));
	return err;
}

static int remove_locked(struct rs_core *core, const struct rs_op *op,
			 struct rs_inode *inode, const char *name)
{
	struct rs_rec rec = { .type = RS_REC_XATTR_DEL };
	struct rs_xattr **at;
	int err;

	if (!inode)
		return -ESTALE;
	at = find(inode, name, strlen(name));
	if (!*at)
		return -ENODATA;
	err = rs_op_short(core, op, rs_inode_logged(inode));
	if (err)
		return err;
	rec.name = (const uint8_t *)name;
	rec.name_len = (uint32_t)strlen(name);
	log_xattr(core, inode, &rec);
	unlink_at(core, inode, at);
	return 0;
}

int rs_core_removexattr(struct rs_core *core, uint64_t ino, const char *name)
{
	struct rs_op op;
	int err;

	err = name_ok(core, name);
	if (err)
		return err;
	rs_op_init(core, &op, ino, 2 * RS_REC_INODE_LEN + RS_XATTR_NAME_MAX,
		   RS_NEED_SMALL);
	do {
		err = rs_op_enter(core, &op);
		if (!err)
			err = remove_locked(core, &op, rs_inode_find(core, ino),
					    name);
	} while (rs_op_again(core, &op, &err));
	return err;
}
