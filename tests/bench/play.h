/*
 * play.h - the calls that sendmail, Exim and OpenSMTPD make on their spools
 * for a message, without them. (Postfix's: tests/replay.)
 *
 * Each of N processes accepts a message, which ends where the server would
 * answer 250, and then delivers and removes it. The *durable step* is the
 * time from the first call that waits for the disk until that answer: what a
 * client waits for because of the disk.
 */
#ifndef RS_PLAY_H
#define RS_PLAY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define RS_PLAY_PIECE 4096u /* bytes of a stdio buffer, of all three */
#define RS_PLAY_HEAD 900u   /* bytes of a qf, -H or envelope file */
#define RS_PLAY_PATH 64	    /* bytes of a path below the spool */

struct rs_play_mta;

struct rs_play_opts {
	const struct rs_play_mta *mta;
	const char *dir; /* the spool */
	unsigned int procs;
	unsigned int messages; /* of all processes */
	unsigned int seconds;  /* 0: until all messages are done */
	unsigned int size_low, size_high;
	unsigned int dirs; /* queue directories in use */
	uint64_t seed;
	bool mix;	   /* 1 KB, 25 KB and 500 KB as 1000:100:10 */
	bool accept_only;  /* nothing is delivered */
	bool sync_renames; /* fsync the directory after OpenSMTPD's commit */
};

/* One message on its way. */
struct rs_play_msg {
	unsigned int proc, number, size, dir;
	uint64_t began; /* of the durable step, ns; 0: not yet */
	uint32_t durable_us;
	const char *call; /* that failed */
};

/* All of them run inside the spool; 0 or -errno with msg->call set. */
struct rs_play_mta {
	const char *name;
	int (*prepare)(const struct rs_play_opts *opts);
	int (*accept)(const struct rs_play_opts *opts, struct rs_play_msg *msg);
	int (*deliver)(const struct rs_play_opts *opts,
		       struct rs_play_msg *msg);
};

extern const struct rs_play_mta rs_play_sendmail, rs_play_exim,
	rs_play_opensmtpd;

/* play_io.c: calls, each 0 or -errno with the call's name in the message. */
int rs_play_made(struct rs_play_msg *msg, const char *path, mode_t mode,
		 int *ret_fd);
int rs_play_write(struct rs_play_msg *msg, int fd, unsigned int size);
int rs_play_sync(struct rs_play_msg *msg, int fd);
int rs_play_sync_dir(struct rs_play_msg *msg, const char *path);
int rs_play_read(struct rs_play_msg *msg, const char *path, unsigned int size);
int rs_play_rename(struct rs_play_msg *msg, const char *from, const char *to);
int rs_play_unlink(struct rs_play_msg *msg, const char *path);
int rs_play_mkdir(struct rs_play_msg *msg, const char *path);
int rs_play_failed(struct rs_play_msg *msg, const char *call);
/* the durable step begins (once a message) and ends */
void rs_play_begin(struct rs_play_msg *msg);
void rs_play_end(struct rs_play_msg *msg);
/* directories prefix0 ... below the spool, those that are there are left */
int rs_play_dirs(const char *prefix, unsigned int n);

/* play_run.c: all processes; prints one line of JSON. An exit code. */
int rs_play_run(const struct rs_play_opts *opts);

#endif
