/*
 * lib_ctl.h - the daemon's control socket: one JSON object a line each way.
 *
 *	{"cmd":"status"}
 *	{"cmd":"sync"}
 *	{"cmd":"umount","fast":false}
 *	{"cmd":"flush_interval","ms":500}
 *	{"cmd":"sizes","ram":N,"capacity":N,"inodes":N}    one or more of them
 *	{"cmd":"policy"}                    what directories have, a list
 *	{"cmd":"policy","path":"/q"}        one of them
 *	{"cmd":"policy","path":"/q","set":{"policy":"rename","dirsync":"caller",
 *	 "limit":1073741824,"inodes":0}}    some of the four; "default": what
 *	                                    the configuration says
 *
 * Replies have "ok": true, and what was asked for beside it; or "ok": false
 * with "error" (text), "code" (errno) and, for a busy umount, "pids".
 */
#ifndef RS_LIB_CTL_H
#define RS_LIB_CTL_H

#include <jansson.h>
#include <limits.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "fs/core.h"
#include "include/rs_base.h"

#define RS_CTL_DIR "/run/rspool"
/* Longest request line in bytes, with its newline: a path, escaped. */
#define RS_CTL_LINE_MAX 32768u
/* Longest reply line that a client takes. */
#define RS_CTL_REPLY_MAX (4u << 20)

#define RS_FLUSH_INTERVAL_MIN 1u /* ms */
#define RS_FLUSH_INTERVAL_MAX 3600000u

enum rs_ctl_cmd {
	RS_CTL_STATUS,
	RS_CTL_SYNC,
	RS_CTL_UMOUNT,
	RS_CTL_FLUSH_INTERVAL,
	RS_CTL_POLICY,
	RS_CTL_SIZES,
};

struct rs_ctl_req {
	enum rs_ctl_cmd cmd;
	int fast;	 /* UMOUNT: leave the checkpoint to the next mount */
	unsigned int ms; /* FLUSH_INTERVAL */
	struct rs_limits sizes;	  /* SIZES; 0: not asked for */
	char path[PATH_MAX];	  /* POLICY: from the mount's root, or "" */
	struct rs_policy_set set; /* POLICY: what 0: only asked for */
};

/*
 * Decode one line (with or without newline, any bytes). Errors: -EINVAL, and
 * *ret_why says what is wrong in a static text.
 */
RS_MUST_USE int rs_ctl_parse(const char *line, size_t len,
			     struct rs_ctl_req *ret_req, const char **ret_why);

/* The socket of the store with this id. */
void rs_ctl_address(const uint8_t id[RS_ID_LEN], struct sockaddr_un *ret_addr);

/* ---- the client's side ---- */

/*
 * Connect. Errors: -ENOENT, -ECONNREFUSED (no daemon), -EACCES, ...
 * *ret_pid (may be NULL): the daemon's.
 */
RS_MUST_USE int rs_ctl_connect(const uint8_t id[RS_ID_LEN], pid_t *ret_pid,
			       int *ret_fd);
/*
 * Connect to the daemon that serves mnt, by asking all that run: for a store
 * whose disk doesn't answer any more. -ENOENT: none does.
 */
RS_MUST_USE int rs_ctl_find(const char *mnt, int *ret_fd);
/*
 * A pidfd of the process at the other end, readable once that is gone; -1 if
 * it can't be had.
 */
int rs_ctl_process(int fd);
/*
 * Send req (reference stays with the caller), wait for the answer at most
 * seconds (0: as long as it takes), calling step (may be NULL) while it
 * does. *ret_reply: new reference. Errors: -ETIMEDOUT, -EPIPE (the daemon
 * ended without an answer), -EBADMSG, ...
 */
RS_MUST_USE int rs_ctl_ask(int fd, json_t *req, unsigned int seconds,
			   void (*step)(void *, uint64_t, uint64_t), void *arg,
			   json_t **ret_reply);

#endif
