/*
 * core.c - a tree's birth, end, and lock.
 *
 * LOCKS  one mutex for the whole tree. Operations are RAM work of a few
 * microseconds, the kernel already serialises what concerns one directory,
 * and two worker threads are all there are: finer locks would cost more
 * than they let run. Rooms in the journal are taken before the lock, since
 * that may sleep until a flush ends (rs_room_take).
 */
#include <sys/random.h>

#include "fs/core_p.h"

/* pages given back in one hold of the lock */
#define BURY_STEP 4096u

void rs_core_lock(struct rs_core *core)
{
	pthread_mutex_lock(&core->lock);
}

/*
 * A file of 5 GiB has a million pages; they go in portions, so that others
 * get their turn between.
 */
void rs_core_unlock(struct rs_core *core)
{
	int more;

	do {
		more = core->n_graves && rs_grave_work(core, BURY_STEP);
		pthread_mutex_unlock(&core->lock);
		if (more)
			pthread_mutex_lock(&core->lock);
	} while (more);
}

static int make_root(struct rs_core *core)
{
	struct timespec now;
	struct rs_inode *root;
	int i;

	root = rs_inode_new(core, RS_INO_ROOT, S_IFDIR | 0755);
	if (!root)
		return -ENOMEM;
	root->nlink = root->log_nlink = 2;
	root->uid = (uint32_t)geteuid();
	root->gid = (uint32_t)getegid();
	root->state = RS_I_LOGGED;
	rs_times_now(core, &now);
	for (i = 0; i < RS_TIMES; i++)
		rs_times_set(root, (enum rs_time)i, &now);
	core->root = root;
	rs_policy_refresh(core, root);
	return 0;
}

int rs_core_new(const struct rs_core_cfg *cfg, struct rs_core **ret_core)
{
	struct rs_core *core = calloc(1, sizeof(*core));
	int err;

	if (!core)
		return -ENOMEM;
	core->cfg = *cfg;
	core->next_ino = RS_INO_FIRST;
	pthread_mutex_init(&core->lock, NULL);
	pthread_mutex_init(&core->closing, NULL);
	rs_mem_init(&core->mem);
	err = rs_table_init(&core->inodes, &core->mem);
	if (!err)
		err = rs_table_init(&core->dentries, &core->mem);
	/* from then on a full stack can always be worked off instead */
	if (!err)
		err = rs_grave_room(core, 1);
	if (!err &&
	    getrandom(core->seed, sizeof(core->seed), 0) != sizeof(core->seed))
		err = -EIO;
	if (!err)
		err = make_root(core);
	if (err) {
		rs_core_free(core);
		return err;
	}
	*ret_core = core;
	return 0;
}

/* Only what isn't in the slabs. */
static void free_outside(void *arg, struct rs_hnode *node)
{
	struct rs_core *core = arg;
	struct rs_inode *inode = rs_inode_of(node);

	if (S_ISDIR(inode->mode))
		rs_dir_free(core, inode->u.dir);
	rs_xattr_clear(core, inode);
}

void rs_core_free(struct rs_core *core)
{
	if (!core)
		return;
	if (core->inodes.now)
		rs_table_each(&core->inodes, free_outside, core);
	rs_table_release(&core->inodes);
	rs_table_release(&core->dentries);
	rs_mem_release(&core->mem);
	free(core->graves);
	free(core->due);
	rs_stale_free(core);
	pthread_mutex_destroy(&core->lock);
	pthread_mutex_destroy(&core->closing);
	free(core);
}
