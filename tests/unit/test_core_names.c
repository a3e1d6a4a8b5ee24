/*
 * test_core_names.c - names, directories, links, times and readdir of the
 * tree in RAM.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "tests/unit/core_box.h"

static struct rs_box box;

static int setup(void **state)
{
	(void)state;
	rs_box_make(&box, NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rs_box_free(&box);
	return 0;
}

static int mknod_err(uint64_t dir, const char *name, uint32_t mode)
{
	struct rs_stat st;

	return rs_core_mknod(box.core, dir, name, &rs_box_root, mode, 0, &st);
}

static int unlink_err(uint64_t dir, const char *name)
{
	return rs_core_unlink(box.core, dir, name, &rs_box_root);
}

static int rmdir_err(uint64_t dir, const char *name)
{
	return rs_core_rmdir(box.core, dir, name, &rs_box_root);
}

static int rename_err(uint64_t from, const char *name, uint64_t to,
		      const char *newname, unsigned int flags)
{
	return rs_core_rename(box.core, from, name, to, newname, flags,
			      &rs_box_root);
}

static void test_create(void **state)
{
	char longest[RS_NAME_MAX + 2];
	uint64_t a, b;

	(void)state;
	a = rs_box_file(&box, 1, "a");
	b = rs_box_file(&box, 1, "b");
	assert_true(a != b && a >= RS_INO_FIRST);
	assert_int_equal(rs_box_find(&box, 1, "a"), a);
	assert_int_equal(rs_box_find(&box, 1, "c"), 0);
	assert_int_equal(mknod_err(1, "a", S_IFREG), -EEXIST);
	assert_int_equal(mknod_err(a, "x", S_IFREG), -ENOTDIR);
	assert_int_equal(mknod_err(999, "x", S_IFREG), -ESTALE);
	assert_int_equal(mknod_err(1, "", S_IFREG), -ENOENT);
	assert_int_equal(mknod_err(1, "x", S_IFLNK), -EINVAL);
	memset(longest, 0xff, sizeof(longest));
	longest[RS_NAME_MAX + 1] = '\0';
	assert_int_equal(mknod_err(1, longest, S_IFREG), -ENAMETOOLONG);
	longest[RS_NAME_MAX] = '\0';
	assert_int_equal(mknod_err(1, longest, S_IFREG), 0);
	assert_true(rs_box_find(&box, 1, longest) > b);
}

static void test_types(void **state)
{
	static const uint32_t types[] = { S_IFREG, S_IFIFO, S_IFSOCK, S_IFCHR,
					  S_IFBLK };
	struct rs_stat st;
	char target[RS_SYMLINK_MAX + 2], buf[RS_SYMLINK_MAX + 1];
	char name[] = "n0";
	size_t i;

	(void)state;
	for (i = 0; i < RS_ARRAY_LEN(types); i++, name[1]++) {
		assert_int_equal(rs_core_mknod(box.core, 1, name, &rs_box_root,
					       types[i] | 0640, 0x103, &st),
				 0);
		assert_int_equal(st.attr.mode, types[i] | 0640);
		assert_int_equal(st.attr.nlink, 1);
		assert_int_equal(st.attr.rdev, i >= 3 ? 0x103 : 0);
	}
	memset(target, 'x', sizeof(target));
	target[RS_SYMLINK_MAX + 1] = '\0';
	assert_int_equal(
		rs_core_symlink(box.core, 1, "s", &rs_box_root, target, &st),
		-ENAMETOOLONG);
	target[RS_SYMLINK_MAX] = '\0';
	assert_int_equal(
		rs_core_symlink(box.core, 1, "s", &rs_box_root, target, &st),
		0);
	assert_int_equal(st.attr.size, RS_SYMLINK_MAX);
	assert_int_equal(st.attr.mode, S_IFLNK | 0777);
	assert_int_equal(rs_core_readlink(box.core, st.ino, buf), 0);
	assert_string_equal(buf, target);
	assert_int_equal(rs_core_readlink(box.core, 1, buf), -EINVAL);
}

static void test_setgid_directory(void **state)
{
	const struct rs_who who = { 5, 6, 1 };
	struct rs_attr attr = { .mode = 02770, .gid = 77 };
	struct rs_stat st;
	uint64_t dir = rs_box_dir(&box, 1, "d");

	(void)state;
	assert_int_equal(rs_core_setattr(box.core, dir, &attr,
					 RS_SET_MODE | RS_SET_GID, &st),
			 0);
	assert_int_equal(st.attr.mode, S_IFDIR | 02770);
	assert_int_equal(
		rs_core_mknod(box.core, dir, "f", &who, S_IFREG | 0600, 0, &st),
		0);
	assert_int_equal(st.attr.uid, 5);
	assert_int_equal(st.attr.gid, 77);
	assert_int_equal(st.attr.mode, S_IFREG | 0600);
	assert_int_equal(
		rs_core_mknod(box.core, dir, "e", &who, S_IFDIR | 0700, 0, &st),
		0);
	assert_int_equal(st.attr.gid, 77);
	assert_int_equal(st.attr.mode, S_IFDIR | 02700);
}

static void test_dir_nlink(void **state)
{
	uint64_t d, e;

	(void)state;
	assert_int_equal(rs_box_stat(&box, 1).nlink, 2);
	d = rs_box_dir(&box, 1, "d");
	e = rs_box_dir(&box, d, "e");
	rs_box_file(&box, d, "f");
	assert_int_equal(rs_box_stat(&box, 1).nlink, 3);
	assert_int_equal(rs_box_stat(&box, d).nlink, 3);
	assert_int_equal(rmdir_err(1, "d"), -ENOTEMPTY);
	assert_int_equal(rmdir_err(d, "f"), -ENOTDIR);
	assert_int_equal(unlink_err(d, "e"), -EISDIR);
	assert_int_equal(rename_err(d, "e", 1, "e2", 0), 0);
	assert_int_equal(rs_box_stat(&box, d).nlink, 2);
	assert_int_equal(rs_box_stat(&box, 1).nlink, 4);
	assert_int_equal(rename_err(d, "f", 1, "e2", 0), -EISDIR);
	assert_int_equal(rename_err(1, "e2", d, "f", 0), -ENOTDIR);
	/* exchange of a directory and a file moves a link count */
	assert_int_equal(rename_err(d, "f", 1, "e2", RENAME_EXCHANGE), 0);
	assert_int_equal(rs_box_find(&box, d, "f"), e);
	assert_int_equal(rs_box_stat(&box, d).nlink, 3);
	assert_int_equal(rs_box_stat(&box, 1).nlink, 3);
	assert_int_equal(rmdir_err(d, "f"), 0);
	assert_int_equal(unlink_err(1, "e2"), 0);
	assert_int_equal(rmdir_err(1, "d"), 0);
	assert_int_equal(rs_box_stat(&box, 1).nlink, 2);
	rs_box_expect_empty(&box);
}

static void test_dead_directory(void **state)
{
	struct rs_stat st;
	char list[64];
	uint64_t dir, file;

	(void)state;
	dir = rs_box_dir(&box, 1, "d");
	file = rs_box_file(&box, dir, "f");
	assert_int_equal(rs_core_lookup(box.core, dir, "f", &st), 0);
	assert_int_equal(rs_core_lookup(box.core, 1, "d", &st), 0);
	assert_int_equal(unlink_err(dir, "f"), 0);
	assert_int_equal(rmdir_err(1, "d"), 0);
	assert_int_equal(rs_box_stat(&box, dir).nlink, 0);
	assert_int_equal(mknod_err(dir, "x", S_IFREG), -ENOENT);
	assert_int_equal(mknod_err(dir, "x", S_IFDIR), -ENOENT);
	rs_box_file(&box, 1, "g");
	assert_int_equal(rename_err(1, "g", dir, "g", 0), -ENOENT);
	rs_box_list(&box, dir, list, sizeof(list));
	assert_string_equal(list, "");
	rs_box_put(&box, file, "still here");
	rs_box_expect(&box, file, "still here");
	assert_true(rs_core_in_use(box.core, file));
	rs_core_forget(box.core, file, 1);
	rs_core_forget(box.core, dir, 1);
	assert_false(rs_core_in_use(box.core, file));
	assert_int_equal(unlink_err(1, "g"), 0);
	rs_box_expect_empty(&box);
}

static void test_links(void **state)
{
	struct rs_stat st;
	uint64_t f = rs_box_file(&box, 1, "a"), d = rs_box_dir(&box, 1, "d");

	(void)state;
	assert_int_equal(rs_core_link(box.core, f, 1, "b", &rs_box_root, &st),
			 0);
	assert_int_equal(st.attr.nlink, 2);
	rs_core_forget(box.core, f, 1);
	assert_int_equal(rs_core_link(box.core, f, 1, "b", &rs_box_root, &st),
			 -EEXIST);
	assert_int_equal(rs_core_link(box.core, d, 1, "e", &rs_box_root, &st),
			 -EPERM);
	/* a rename onto another name of the same inode does nothing */
	assert_int_equal(rename_err(1, "a", 1, "b", 0), 0);
	assert_int_equal(rs_box_find(&box, 1, "a"), f);
	assert_int_equal(rs_box_find(&box, 1, "b"), f);
	assert_int_equal(rs_box_stat(&box, f).nlink, 2);
	assert_int_equal(unlink_err(1, "a"), 0);
	assert_int_equal(rs_box_stat(&box, f).nlink, 1);
	assert_int_equal(rs_core_lookup(box.core, 1, "b", &st), 0);
	assert_int_equal(unlink_err(1, "b"), 0);
	assert_int_equal(rs_box_stat(&box, f).nlink, 0);
	assert_int_equal(rs_core_link(box.core, f, 1, "c", &rs_box_root, &st),
			 -ENOENT);
	rs_core_forget(box.core, f, 1);
	assert_int_equal(rmdir_err(1, "d"), 0);
	rs_box_expect_empty(&box);
}

static void test_many_links(void **state)
{
	uint64_t f = rs_box_file(&box, 1, "f");
	struct rs_stat st;
	char name[16];
	int i;

	(void)state;
	for (i = 0; i < 65100; i++) {
		snprintf(name, sizeof(name), "l%d", i);
		assert_int_equal(
			rs_core_link(box.core, f, 1, name, &rs_box_root, &st),
			0);
	}
	assert_int_equal(st.attr.nlink, 65101);
	for (i = 0; i < 65100; i++) {
		snprintf(name, sizeof(name), "l%d", i);
		assert_int_equal(unlink_err(1, name), 0);
	}
	assert_int_equal(rs_box_stat(&box, f).nlink, 1);
}

static void test_tmpfile(void **state)
{
	struct rs_stat st;
	uint64_t ino;

	(void)state;
	assert_int_equal(rs_core_tmpfile(box.core, 1, &rs_box_root, 0600, &st),
			 0);
	ino = st.ino;
	assert_int_equal(st.attr.nlink, 0);
	rs_box_put(&box, ino, "text");
	assert_int_equal(rs_core_link(box.core, ino, 1, "t", &rs_box_root, &st),
			 0);
	assert_int_equal(st.attr.nlink, 1);
	rs_core_forget(box.core, ino, 2);
	rs_box_expect(&box, ino, "text");
	assert_int_equal(rs_core_tmpfile(box.core, 1, &rs_box_root, 0600, &st),
			 0);
	rs_core_forget(box.core, st.ino, 1);
	assert_int_equal(unlink_err(1, "t"), 0);
	rs_box_expect_empty(&box);
}

static void test_rename_matrix(void **state)
{
	uint64_t d, e, f, g;

	(void)state;
	d = rs_box_dir(&box, 1, "d");
	e = rs_box_dir(&box, d, "e");
	f = rs_box_file(&box, 1, "f");
	g = rs_box_file(&box, 1, "g");
	assert_int_equal(rename_err(1, "x", 1, "y", 0), -ENOENT);
	assert_int_equal(rename_err(1, "f", 1, "g", RENAME_NOREPLACE), -EEXIST);
	assert_int_equal(rename_err(1, "f", 1, "x", RENAME_EXCHANGE), -ENOENT);
	assert_int_equal(
		rename_err(1, "f", 1, "g", RENAME_EXCHANGE | RENAME_NOREPLACE),
		-EINVAL);
	assert_int_equal(rename_err(1, "f", 1, "g", RENAME_WHITEOUT), -EINVAL);
	assert_int_equal(rename_err(1, "d", e, "x", 0), -EINVAL);
	assert_int_equal(rename_err(1, "d", d, "x", 0), -EINVAL);
	assert_int_equal(rename_err(1, "d", d, "e", RENAME_EXCHANGE), -EINVAL);
	assert_int_equal(rename_err(d, "e", 1, "d", RENAME_EXCHANGE), -EINVAL);
	assert_int_equal(rename_err(d, "e", 1, "d", 0), -ENOTEMPTY);
	assert_int_equal(rename_err(1, "f", 1, "g", RENAME_EXCHANGE), 0);
	assert_int_equal(rs_box_find(&box, 1, "f"), g);
	assert_int_equal(rs_box_find(&box, 1, "g"), f);
	assert_int_equal(rename_err(1, "f", 1, "g", 0), 0);
	assert_int_equal(rs_box_find(&box, 1, "g"), g);
	assert_int_equal(rs_box_find(&box, 1, "f"), 0);
	assert_false(rs_core_in_use(box.core, f));
	assert_int_equal(rename_err(1, "g", e, "h", RENAME_NOREPLACE), 0);
	assert_int_equal(rs_box_find(&box, e, "h"), g);
	/* an empty directory is replaced, and its link count goes */
	rs_box_dir(&box, 1, "i");
	assert_int_equal(rs_box_stat(&box, 1).nlink, 4);
	assert_int_equal(rename_err(d, "e", 1, "i", 0), 0);
	assert_int_equal(rs_box_find(&box, 1, "i"), e);
	assert_int_equal(rs_box_stat(&box, 1).nlink, 4);
	assert_int_equal(rs_box_stat(&box, d).nlink, 2);
}

static void test_times(void **state)
{
	struct rs_attr was, is, dir;
	uint64_t f = rs_box_file(&box, 1, "f");
	struct rs_stat st;
	struct rs_attr set = { .mode = 0700 };
	char buf[8];

	(void)state;
	was = rs_box_stat(&box, f);
	assert_int_equal(was.atime.tv_sec, was.mtime.tv_sec);
	assert_int_equal(was.btime.tv_sec, was.ctime.tv_sec);
	assert_int_equal(rs_box_stat(&box, 1).mtime.tv_sec, was.mtime.tv_sec);
	/* chmod: ctime alone */
	assert_int_equal(rs_core_setattr(box.core, f, &set, RS_SET_MODE, &st),
			 0);
	assert_true(st.attr.ctime.tv_sec > was.ctime.tv_sec);
	assert_int_equal(st.attr.mtime.tv_sec, was.mtime.tv_sec);
	/* link, rename, unlink: ctime of the inode, both of the directory */
	was = rs_box_stat(&box, f);
	assert_int_equal(rs_core_link(box.core, f, 1, "l", &rs_box_root, &st),
			 0);
	rs_core_forget(box.core, f, 1);
	is = rs_box_stat(&box, f);
	dir = rs_box_stat(&box, 1);
	assert_true(is.ctime.tv_sec > was.ctime.tv_sec);
	assert_int_equal(dir.mtime.tv_sec, is.ctime.tv_sec);
	assert_int_equal(dir.ctime.tv_sec, is.ctime.tv_sec);
	assert_int_equal(rename_err(1, "l", 1, "m", 0), 0);
	assert_true(rs_box_stat(&box, f).ctime.tv_sec > is.ctime.tv_sec);
	is = rs_box_stat(&box, f);
	assert_int_equal(unlink_err(1, "m"), 0);
	assert_true(rs_box_stat(&box, f).ctime.tv_sec > is.ctime.tv_sec);
	assert_int_equal(is.mtime.tv_sec, was.mtime.tv_sec);
	/* set times, into the future, to the nanosecond */
	set.mtime = (struct timespec){ 4000000000, 123456789 };
	assert_int_equal(rs_core_setattr(box.core, f, &set, RS_SET_MTIME, &st),
			 0);
	assert_int_equal(st.attr.mtime.tv_sec, 4000000000);
	assert_int_equal(st.attr.mtime.tv_nsec, 123456789);
	set.mtime.tv_nsec = 1000000000;
	assert_int_equal(rs_core_setattr(box.core, f, &set, RS_SET_MTIME, &st),
			 -EINVAL);
	/* relatime: behind mtime it moves, then it rests */
	assert_int_equal(rs_core_write(box.core, f, "abc", 3, 0, 0), 3);
	was = rs_box_stat(&box, f);
	assert_true(was.atime.tv_sec < was.mtime.tv_sec);
	assert_int_equal(rs_core_read(box.core, f, buf, 8, 0), 3);
	is = rs_box_stat(&box, f);
	assert_true(is.atime.tv_sec > was.mtime.tv_sec);
	assert_int_equal(rs_core_read(box.core, f, buf, 8, 0), 3);
	assert_int_equal(rs_box_stat(&box, f).atime.tv_sec, is.atime.tv_sec);
	box.seconds += 86400;
	assert_int_equal(rs_core_read(box.core, f, buf, 8, 0), 3);
	assert_true(rs_box_stat(&box, f).atime.tv_sec >
		    is.atime.tv_sec + 86399);
}

struct seen {
	unsigned int count[4096];
	unsigned int limit, taken;
	uint64_t last;
};

static int see(void *arg, const struct rs_dirent *ent)
{
	struct seen *seen = arg;
	char name[RS_NAME_MAX + 1];

	if (seen->taken == seen->limit)
		return 1;
	seen->taken++;
	assert_true(ent->cookie > seen->last);
	seen->last = ent->cookie;
	if (ent->name[0] == '.')
		return 0;
	memcpy(name, ent->name, ent->len);
	name[ent->len] = '\0';
	seen->count[(unsigned int)atoi(name + 1) % 4096]++;
	return 0;
}

static void test_scan_under_change(void **state)
{
	struct seen seen = { .limit = 7 };
	uint64_t bound;
	char name[16];
	unsigned int i;

	(void)state;
	for (i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		rs_box_file(&box, 1, name);
	}
	bound = rs_core_dir_bound(box.core, 1);
	do {
		seen.taken = 0;
		assert_int_equal(rs_core_readdir(box.core, 1, seen.last, bound,
						 0, see, &seen),
				 0);
		/* take each away as it was seen, and put it back */
		for (i = 0; i < 2000; i++) {
			snprintf(name, sizeof(name), "f%u", i);
			if (seen.count[i] != 1)
				continue;
			seen.count[i] = 2;
			assert_int_equal(rename_err(1, name, 1, "t", 0), 0);
			assert_int_equal(rename_err(1, "t", 1, name, 0), 0);
		}
	} while (seen.taken == seen.limit);
	for (i = 0; i < 2000; i++)
		assert_int_equal(seen.count[i], 2);
}

static void test_scan_and_remove(void **state)
{
	struct seen seen = { .limit = 5 };
	char name[16];
	unsigned int i, left = 3000;

	(void)state;
	for (i = 0; i < 3000; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		rs_box_file(&box, 1, name);
	}
	do {
		seen.taken = 0;
		assert_int_equal(rs_core_readdir(box.core, 1, seen.last,
						 UINT64_MAX, 0, see, &seen),
				 0);
		for (i = 0; i < 3000; i++) {
			if (seen.count[i] != 1)
				continue;
			snprintf(name, sizeof(name), "f%u", i);
			assert_int_equal(unlink_err(1, name), 0);
			seen.count[i] = 2;
			left--;
		}
	} while (seen.taken);
	assert_int_equal(left, 0);
	rs_box_expect_empty(&box);
}

static void test_replaced_name_stays_in_scan(void **state)
{
	char list[64];

	(void)state;
	rs_box_file(&box, 1, "a");
	rs_box_file(&box, 1, "b");
	rs_box_file(&box, 1, "c");
	assert_int_equal(rename_err(1, "c", 1, "a", 0), 0);
	rs_box_list(&box, 1, list, sizeof(list));
	assert_string_equal(list, "a b");
}

static int plus(void *arg, const struct rs_dirent *ent)
{
	unsigned int *n = arg;

	assert_true(ent->st.ino);
	return (*n)++ == 3;
}

static void test_readdirplus_takes_references(void **state)
{
	uint64_t a = rs_box_file(&box, 1, "a"), b = rs_box_file(&box, 1, "b");
	unsigned int n = 0;

	(void)state;
	/* ".", "..", "a" are taken, "b" is refused */
	assert_int_equal(
		rs_core_readdir(box.core, 1, 0, UINT64_MAX, 1, plus, &n), 0);
	assert_int_equal(unlink_err(1, "a"), 0);
	assert_int_equal(unlink_err(1, "b"), 0);
	assert_true(rs_core_in_use(box.core, a));
	assert_false(rs_core_in_use(box.core, b));
	rs_core_forget(box.core, a, 1);
	rs_box_expect_empty(&box);
}

static void test_big_directory(void **state)
{
	char name[32];
	unsigned int i;
	struct rs_core_status status;

	(void)state;
	for (i = 0; i < 100000; i++) {
		snprintf(name, sizeof(name), "A%08XB%u", i * 7919u, i);
		rs_box_file(&box, 1, name);
	}
	rs_core_status(box.core, &status);
	/* an empty file with its name, all in */
	assert_true(status.ram_bytes / 100000 <= 512);
	for (i = 0; i < 100000; i++) {
		snprintf(name, sizeof(name), "A%08XB%u", i * 7919u, i);
		assert_int_equal(unlink_err(1, name), 0);
	}
	rs_box_expect_empty(&box);
}

static void test_inode_limit(void **state)
{
	struct rs_core_cfg cfg = { .inodes = 4 };
	struct rs_statfs fs;
	struct rs_stat st;

	(void)state;
	rs_box_free(&box);
	rs_box_make(&box, &cfg);
	rs_box_file(&box, 1, "a");
	rs_core_statfs(box.core, &fs);
	assert_int_equal(fs.files, 4);
	assert_int_equal(fs.ffree, 2);
	rs_box_file(&box, 1, "b");
	rs_box_file(&box, 1, "c");
	assert_int_equal(mknod_err(1, "d", S_IFREG), -ENOSPC);
	assert_int_equal(
		rs_core_symlink(box.core, 1, "d", &rs_box_root, "x", &st),
		-ENOSPC);
	assert_int_equal(rename_err(1, "a", 1, "e", 0), 0);
	assert_int_equal(unlink_err(1, "b"), 0);
	rs_box_file(&box, 1, "d");
}

static int each_path(void *arg, const char *path, const struct rs_stat *st,
		     int first_name)
{
	char *text = arg;
	size_t len = strlen(text);

	(void)st;
	snprintf(text + len, 256 - len, "%s%s,", path, first_name ? "" : "+");
	return 0;
}

static void test_walk(void **state)
{
	const struct rs_walk_ops ops = { each_path };
	char text[256] = "";
	uint64_t d, e, f;
	struct rs_stat st;

	(void)state;
	rs_box_file(&box, 1, "z");
	d = rs_box_dir(&box, 1, "d");
	e = rs_box_dir(&box, d, "e");
	f = rs_box_file(&box, e, "f");
	rs_box_file(&box, 1, "a");
	assert_int_equal(rs_core_link(box.core, f, 1, "l", &rs_box_root, &st),
			 0);
	assert_int_equal(rs_core_walk(box.core, &ops, text), 0);
	assert_string_equal(text, ",a,d,d/e,d/e/f,l+,z,");
}

static void test_deep_tree(void **state)
{
	const struct rs_walk_ops ops = { each_path };
	uint64_t dirs[2001] = { 1 };
	char text[256] = "";
	int i;

	(void)state;
	for (i = 0; i < 2000; i++)
		dirs[i + 1] = rs_box_dir(
			&box, dirs[i],
			"a-name-of-some-fifty-bytes-so-that-PATH_MAX-is-passed");
	assert_int_equal(rs_core_walk(box.core, &ops, text), 0);
	for (i = 2000; i--;)
		assert_int_equal(
			rmdir_err(
				dirs[i],
				"a-name-of-some-fifty-bytes-so-that-PATH_MAX-is-passed"),
			0);
	rs_box_expect_empty(&box);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_create),
		TEST(test_types),
		TEST(test_setgid_directory),
		TEST(test_dir_nlink),
		TEST(test_dead_directory),
		TEST(test_links),
		TEST(test_many_links),
		TEST(test_tmpfile),
		TEST(test_rename_matrix),
		TEST(test_times),
		TEST(test_scan_under_change),
		TEST(test_scan_and_remove),
		TEST(test_replaced_name_stays_in_scan),
		TEST(test_readdirplus_takes_references),
		TEST(test_big_directory),
		TEST(test_inode_limit),
		TEST(test_walk),
		TEST(test_deep_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
