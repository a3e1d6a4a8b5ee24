/*
 * namei.c - finding names and making new inodes.
 */
#include "fs/core_p.h"

#include <sys/sysmacros.h>

int rs_place_find(struct rs_core *core, uint64_t parent, const char *name,
		  struct rs_place *ret_place)
{
	struct rs_inode *dir = rs_inode_find(core, parent);
	size_t len = strlen(name);
	int err;

	if (!dir)
		return -ESTALE;
	if (!S_ISDIR(dir->mode))
		return -ENOTDIR;
	err = rs_name_check(name, len);
	if (err)
		return err;
	/* removed, but some process still stands in it */
	if (!dir->nlink)
		return -ENOENT;
	ret_place->dir = dir;
	ret_place->name = name;
	ret_place->len = len;
	ret_place->dentry = rs_dentry_find(core, dir, name, len);
	return 0;
}

int rs_core_lookup(struct rs_core *core, uint64_t parent, const char *name,
		   struct rs_stat *ret_st)
{
	struct rs_place place;
	int err;

	rs_core_lock(core);
	err = rs_place_find(core, parent, name, &place);
	if (!err && !place.dentry)
		err = -ENOENT;
	if (!err) {
		place.dentry->inode->nlookup++;
		rs_inode_stat(place.dentry->inode, ret_st);
	}
	rs_core_unlock(core);
	return err;
}

int rs_core_getattr(struct rs_core *core, uint64_t ino, struct rs_stat *ret_st)
{
	struct rs_inode *inode;

	rs_core_lock(core);
	inode = rs_inode_find(core, ino);
	if (inode)
		rs_inode_stat(inode, ret_st);
	rs_core_unlock(core);
	return inode ? 0 : -ESTALE;
}

int rs_core_readlink(struct rs_core *core, uint64_t ino,
		     char buf[RS_SYMLINK_MAX + 1])
{
	struct rs_inode *inode;
	int err = 0;

	rs_core_lock(core);
	inode = rs_inode_find(core, ino);
	if (!inode) {
		err = -ESTALE;
	} else if (!S_ISLNK(inode->mode)) {
		err = -EINVAL;
	} else if ((inode->flags & RS_IF_SUSPECT) || !inode->u.target) {
		err = -EIO;
	} else {
		memcpy(buf, inode->u.target, inode->size + 1);
		rs_times_access(core, inode);
	}
	rs_core_unlock(core);
	return err;
}

/* What a new inode is to be. */
struct birth {
	const struct rs_who *who;
	uint32_t mode;
	uint64_t rdev;
	const char *target; /* symlinks */
	size_t target_len;
	uint64_t ino; /* adopted; 0: the next one */
};

/* Below what is durable as used, so that it is never given away again. */
static int adopt_check(struct rs_core *core, uint64_t ino)
{
	if (ino <= RS_INO_ROOT || ino >= core->next_ino)
		return -EINVAL;
	return rs_inode_find(core, ino) ? -EEXIST : 0;
}

/* Everything that can fail: number, space, memory. Nothing is seen yet. */
static int conceive(struct rs_core *core, const struct rs_inode *dir,
		    const struct birth *birth, struct rs_inode **ret_inode)
{
	struct rs_inode *inode;
	int err;

	err = birth->ino ? adopt_check(core, birth->ino)
			 : rs_number_check(core);
	if (!err)
		err = rs_quota_inode(core, dir);
	if (err)
		return err;
	inode = rs_inode_new(core, birth->ino ? birth->ino : core->next_ino,
			     birth->mode);
	if (!inode)
		return -ENOMEM;
	if (birth->target) {
		inode->u.target =
			rs_mem_alloc(&core->mem, birth->target_len + 1);
		inode->size = birth->target_len;
		if (!inode->u.target) {
			rs_inode_free(core, inode);
			return -ENOMEM;
		}
		memcpy(inode->u.target, birth->target, birth->target_len + 1);
	}
	*ret_inode = inode;
	return 0;
}

static void bear(struct rs_core *core, const struct rs_inode *dir,
		 const struct birth *birth, struct rs_inode *inode,
		 const struct timespec *now)
{
	uint64_t ino = birth->ino ? birth->ino : rs_number_next(core);
	int i;

	assert(ino == inode->node.key);
	inode->uid = birth->who->uid;
	inode->gid = birth->who->gid;
	if (dir->mode & S_ISGID) {
		inode->gid = dir->gid;
		if (S_ISDIR(inode->mode))
			inode->mode |= S_ISGID;
	}
	if (S_ISCHR(inode->mode) || S_ISBLK(inode->mode))
		inode->u.rdev = birth->rdev;
	for (i = 0; i < RS_TIMES; i++)
		rs_times_set(inode, (enum rs_time)i, now);
	inode->nlookup = 1;
}

static void log_birth(struct rs_core *core, const struct birth *birth,
		      struct rs_inode *inode)
{
	struct rs_rec rec = { .type = RS_REC_LINK };

	rs_intent_born(core, inode);
	if (!birth->target)
		return;
	rec.data = (const uint8_t *)birth->target;
	rec.data_len = (uint32_t)birth->target_len;
	rs_intent_rec(core, inode, &rec);
}

/*
 * Is the new inode logged? A directory in a volatile one is if it has
 * another policy, or a rule names it.
 */
static int is_loud(const struct rs_core *core, const struct rs_place *place,
		   uint32_t mode)
{
	struct rs_spot spot = { place->dir, place->name, place->len };
	struct rs_look look;

	if (rs_dir_logs(place->dir) || !S_ISDIR(mode))
		return rs_dir_logs(place->dir);
	rs_policy_look(core, &spot, NULL, &look);
	return look.eff != RS_POLICY_VOLATILE || look.named;
}

/*
 * A directory with a policy of its own, in one that a closure has staged:
 * what is synced in it couldn't be reached yet.
 */
static int is_early(const struct rs_core *core, const struct rs_op *op,
		    const struct rs_place *place, uint32_t mode)
{
	struct rs_spot spot = { place->dir, place->name, place->len };
	struct rs_look look;

	if (op->owns || !S_ISDIR(mode) || !(place->dir->flags & RS_IF_STAGED))
		return 0;
	rs_policy_look(core, &spot, NULL, &look);
	return look.eff != RS_POLICY_VOLATILE && look.from != RS_ORIGIN_PARENT;
}

static void make_apply(struct rs_core *core, struct rs_place *place,
		       const struct birth *birth, struct rs_inode *inode,
		       int loud)
{
	struct timespec now;

	rs_times_now(core, &now);
	rs_intent_begin(core);
	bear(core, place->dir, birth, inode, &now);
	inode->nlink = S_ISDIR(inode->mode) ? 2 : 1;
	inode->log_nlink = S_ISDIR(inode->mode) ? 2 : 0;
	rs_times_change(place->dir, &now);
	if (S_ISDIR(inode->mode))
		place->dir->nlink++;
	core->maker = place->dir;
	if (loud) {
		inode->state |= RS_I_WHOLE;
		log_birth(core, birth, inode);
	}
	rs_intent_entry(core, place->dentry, inode, loud);
	rs_dentry_add(core, place->dentry, inode);
	core->maker = NULL;
	rs_intent_settle(core, inode, 0);
	if (S_ISDIR(inode->mode))
		rs_policy_refresh(core, inode);
	/* what is made where a closure is at work is part of it */
	if (S_ISDIR(inode->mode))
		inode->u.dir->staging = place->dir->u.dir->staging &&
					inode->u.dir->from == RS_ORIGIN_PARENT;
	rs_intent_end(core);
}

static int make_check(struct rs_core *core, struct rs_op *op,
		      const struct rs_place *place, const struct birth *birth,
		      int loud)
{
	if (place->dentry)
		return -EEXIST;
	if (S_ISDIR(birth->mode) && place->dir->nlink >= RS_NLINK_MAX)
		return -EMLINK;
	if (loud && !rs_inode_logged(place->dir)) {
		op->close = (struct rs_close){ .ino = place->dir->node.key };
		return RS_AGAIN_CLOSE;
	}
	if (is_early(core, op, place, birth->mode))
		return RS_AGAIN_WAIT;
	return rs_op_short(core, op, loud || rs_number_logs(core));
}

static int make_locked(struct rs_core *core, struct rs_op *op, uint64_t parent,
		       const char *name, const struct birth *birth,
		       struct rs_stat *ret_st)
{
	struct rs_place place;
	struct rs_inode *inode;
	int err, loud;

	err = rs_place_find(core, parent, name, &place);
	if (err)
		return err;
	loud = is_loud(core, &place, birth->mode);
	err = make_check(core, op, &place, birth, loud);
	if (err)
		return err;
	place.dentry = rs_dentry_alloc(core, place.dir, name, place.len);
	if (!place.dentry)
		return -ENOMEM;
	err = conceive(core, place.dir, birth, &inode);
	if (err) {
		rs_dentry_free(core, place.dentry);
		return err;
	}
	make_apply(core, &place, birth, inode, loud);
	rs_inode_stat(inode, ret_st);
	return 0;
}

static int make(struct rs_core *core, uint64_t parent, const char *name,
		const struct birth *birth, struct rs_stat *ret_st)
{
	struct rs_op op;
	int err;

	rs_op_init(core, &op, parent,
		   2 * RS_REC_INODE_LEN + RS_REC_ENTRY_LEN + RS_NUMBER_BYTES +
			   RS_REC_DATA_LEN(birth->target_len),
		   RS_NEED_SMALL);
	do {
		err = rs_op_enter(core, &op);
		if (!err)
			err = make_locked(core, &op, parent, name, birth,
					  ret_st);
	} while (rs_op_again(core, &op, &err));
	return err;
}

int rs_core_mknod(struct rs_core *core, uint64_t parent, const char *name,
		  const struct rs_who *who, uint32_t mode, uint64_t rdev,
		  struct rs_stat *ret_st)
{
	struct birth birth = { .who = who, .mode = mode, .rdev = rdev };

	switch (mode & S_IFMT) {
	case 0:
		birth.mode |= S_IFREG;
		break;
	case S_IFREG:
	case S_IFDIR:
	case S_IFIFO:
	case S_IFSOCK:
	case S_IFCHR:
	case S_IFBLK:
		break;
	default:
		return -EINVAL;
	}
	return make(core, parent, name, &birth, ret_st);
}

int rs_core_symlink(struct rs_core *core, uint64_t parent, const char *name,
		    const struct rs_who *who, const char *target,
		    struct rs_stat *ret_st)
{
	struct birth birth = {
		.who = who,
		.mode = S_IFLNK | 0777,
		.target = target,
		.target_len = strlen(target),
	};

	if (!birth.target_len)
		return -ENOENT;
	if (birth.target_len > RS_SYMLINK_MAX)
		return -ENAMETOOLONG;
	return make(core, parent, name, &birth, ret_st);
}

int rs_core_adopt(struct rs_core *core, uint64_t parent, const char *name,
		  const struct rs_stat *as, const char *target,
		  struct rs_stat *ret_st)
{
	const struct rs_who who = { .uid = as->attr.uid, .gid = as->attr.gid };
	struct birth birth = {
		.who = &who,
		.mode = as->attr.mode,
		.rdev = as->attr.rdev,
		.target = target,
		.target_len = target ? strlen(target) : 0,
		.ino = as->ino,
	};

	if (!as->ino || !(as->attr.mode & S_IFMT) ||
	    S_ISLNK(as->attr.mode) != (target && *target))
		return -EINVAL;
	if (birth.target_len > RS_SYMLINK_MAX)
		return -ENAMETOOLONG;
	return make(core, parent, name, &birth, ret_st);
}

static int tmpfile_locked(struct rs_core *core, const struct rs_op *op,
			  uint64_t parent, const struct birth *birth,
			  struct rs_stat *ret_st)
{
	struct rs_inode *dir = rs_inode_find(core, parent), *inode;
	struct timespec now;
	int err;

	if (!dir)
		return -ESTALE;
	if (!S_ISDIR(dir->mode))
		return -ENOTDIR;
	if (!dir->nlink)
		return -ENOENT;
	err = rs_op_short(core, op, rs_number_logs(core));
	if (!err)
		err = conceive(core, dir, birth, &inode);
	if (err)
		return err;
	rs_times_now(core, &now);
	rs_intent_begin(core);
	bear(core, dir, birth, inode, &now);
	rs_intent_end(core);
	inode->state |= RS_I_TMPFILE;
	core->orphans++;
	rs_inode_stat(inode, ret_st);
	return 0;
}

int rs_core_tmpfile(struct rs_core *core, uint64_t parent,
		    const struct rs_who *who, uint32_t mode,
		    struct rs_stat *ret_st)
{
	struct birth birth = { .who = who, .mode = (mode & 07777) | S_IFREG };
	struct rs_op op;
	int err;

	rs_op_init(core, &op, parent, RS_NUMBER_BYTES, RS_NEED_SMALL);
	do {
		err = rs_op_enter(core, &op);
		if (!err)
			err = tmpfile_locked(core, &op, parent, &birth, ret_st);
	} while (rs_op_again(core, &op, &err));
	return err;
}
