/*
 * ledger_adopt.c - begin a phase: what the tree holds now is taken as
 * acknowledged. So it must have been checked (or be new), and nothing may
 * change it meanwhile.
 */
#include "ledger_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int sync_dir(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int err = fd < 0 || fsync(fd) ? -errno : 0;

	if (fd >= 0)
		close(fd);
	return err;
}

static int make_dirs(const char *root)
{
	char path[4096];
	int i, made = 0, err = 0;

	for (i = 0; i < LED_DIRS && !err; i++) {
		snprintf(path, sizeof(path), "%s/%s", root, led_dirs[i]);
		if (mkdir(path, 0755)) {
			err = errno == EEXIST ? 0 : -errno;
			continue;
		}
		made++;
		err = sync_dir(path);
	}
	if (!err && made)
		err = sync_dir(root);
	if (err)
		fprintf(stderr, "ledger: cannot make directories in '%s': %s\n",
			root, strerror(-err));
	return err;
}

struct adopt {
	int fd;
	struct led_tree tree;
	uint32_t *ids; /* object of entry i, 0: not yet */
};

static bool is_fixed(const struct adopt *ad, const struct led_ent *ent)
{
	int i;

	if (ent->parent != ad->tree.root_st.ino)
		return false;
	for (i = 0; i < LED_DIRS; i++)
		if (!strcmp(ent->name, led_dirs[i]))
			return true;
	return false;
}

/* Object number of the directory with this inode number. */
static uint32_t dir_id(const struct adopt *ad, uint64_t ino)
{
	size_t i;

	if (ino == ad->tree.root_st.ino)
		return LED_ROOT;
	for (i = 0; i < ad->tree.count; i++)
		if (ad->tree.ents[i].st.ino == ino)
			return ad->ids[i];
	return 0;
}

/* A further name of a file gets the number of the first. */
static void number(struct adopt *ad)
{
	const struct led_ent *ents = ad->tree.ents;
	uint32_t next = LED_ROOT + 1;
	size_t i, j;

	for (i = 0; i < ad->tree.count; i++) {
		bool links = !S_ISDIR(ents[i].st.mode) && ents[i].st.nlink > 1;

		for (j = 0; links && j < i; j++)
			if (ents[j].st.ino == ents[i].st.ino)
				ad->ids[i] = ad->ids[j];
		if (!ad->ids[i])
			ad->ids[i] = next++;
	}
}

static int adopt_one(struct adopt *ad, size_t i)
{
	const struct led_ent *ent = &ad->tree.ents[i];
	struct led_rec rec = { .kind = LED_ADOPT, .known = 1 };
	unsigned char *buf;
	size_t len;
	int err;

	rec.obj = ad->ids[i];
	rec.writer = is_fixed(ad, ent) ? LED_SHARED : 0;
	rec.dir = dir_id(ad, ent->parent);
	rec.st = ent->st;
	if (strlen(ent->name) > LED_NAME_MAX) {
		fprintf(stderr, "ledger: '%s' isn't ours\n", ent->path);
		return -ENAMETOOLONG;
	}
	strcpy(rec.name, ent->name);
	if (!S_ISDIR(ent->st.mode)) {
		err = led_tree_read(&ad->tree, ent, &buf, &len);
		if (err) {
			fprintf(stderr, "ledger: cannot read '%s': %s\n",
				ent->path, strerror(-err));
			return err;
		}
		rec.key = led_hash(LED_HASH_INIT, buf, len);
		free(buf);
	}
	led_append(ad->fd, &rec);
	return 0;
}

int led_init(const char *ledger, const char *root, uint64_t seed)
{
	struct led_rec phase = { .kind = LED_PHASE, .key = seed };
	struct led_rec top = { .kind = LED_ADOPT,
			       .writer = LED_SHARED,
			       .obj = LED_ROOT,
			       .known = 1 };
	struct adopt ad = { 0 };
	size_t i;
	int err = make_dirs(root);

	if (!err)
		err = led_tree_walk(root, &ad.tree);
	if (err)
		return 1;
	ad.ids = calloc(ad.tree.count + 1, sizeof(*ad.ids));
	if (!ad.ids)
		return 1;
	ad.fd = led_open(ledger);
	number(&ad);
	led_append(ad.fd, &phase);
	top.st = ad.tree.root_st;
	led_append(ad.fd, &top);
	for (i = 0; i < ad.tree.count && !err; i++)
		err = adopt_one(&ad, i);
	close(ad.fd);
	free(ad.ids);
	led_tree_release(&ad.tree);
	return err ? 1 : 0;
}
