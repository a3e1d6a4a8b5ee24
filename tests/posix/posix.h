/*
 * posix.h - what the parts of posixhelp share. Each part is one command; it
 * works in the current directory, which main.c has changed to the DIR that
 * was given, and leaves it empty when all went well.
 */
#ifndef POSIX_H
#define POSIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

/* A rule: prints what failed and goes on; the exit code will be 1. */
#define CHECK(cond) px_check((cond), #cond, __FILE__, __LINE__)
/* Something that has to work before a rule can be looked at: ends if not. */
#define MUST(call) px_must((long)(call), #call, __FILE__, __LINE__)
/* A call that has to fail with this errno. */
#define FAILS(err, call) \
	px_fails((long)(call), (err), #call, __FILE__, __LINE__)

void px_check(bool ok, const char *what, const char *file, int line);
long px_must(long ret, const char *what, const char *file, int line);
void px_fails(long ret, int err, const char *what, const char *file, int line);
int px_failures(void);
void px_die(const char *fmt, ...)
	__attribute__((noreturn, format(printf, 1, 2)));

/* files */
int px_open(const char *name, int flags); /* 0644, dies on failure */
void px_make(const char *name, const char *text);
struct stat px_stat(const char *name); /* lstat, dies on failure */
struct stat px_fstat(int fd);
bool px_exists(const char *name);
bool px_same_time(struct timespec a, struct timespec b);
bool px_later(struct timespec a, struct timespec b); /* a after b */
void px_tick(void); /* until the coarsest clock has moved on */
uint64_t px_rand(uint64_t *state);

/* processes */
pid_t px_fork(void);	 /* dies on failure */
void px_join(pid_t pid); /* a child that doesn't exit with 0 is a failure */
void px_end(void) __attribute__((noreturn)); /* a child's exit */
/* run fn in a child as this user; what it checks counts here too */
void px_as(uid_t uid, gid_t gid, void (*fn)(void));

/* the commands: 0, or 2 for wrong arguments; failures are counted apart */
int px_append(int argc, char **argv);
int px_ctime(int argc, char **argv);
int px_deep(int argc, char **argv);
int px_deep_check(int argc, char **argv);
int px_flip(int argc, char **argv);
int px_grow(int argc, char **argv);
int px_link_pairs(int argc, char **argv);
int px_links(int argc, char **argv);
int px_list(int argc, char **argv);
int px_locks(int argc, char **argv);
int px_lock_move(int argc, char **argv);
int px_map(int argc, char **argv);
int px_map_sync(int argc, char **argv);
int px_mkfiles(int argc, char **argv);
int px_orphan(int argc, char **argv);
int px_rename(int argc, char **argv);
int px_rename2(int argc, char **argv);
int px_rmfiles(int argc, char **argv);
int px_rss(int argc, char **argv);
int px_scan_churn(int argc, char **argv);
int px_scan_rename(int argc, char **argv);
int px_seekdir(int argc, char **argv);
int px_setid(int argc, char **argv);
int px_signals(int argc, char **argv);
int px_sparse(int argc, char **argv);
int px_special(int argc, char **argv);
int px_statfiles(int argc, char **argv);
int px_sync_call(int argc, char **argv);
int px_sync_storm(int argc, char **argv);
int px_utimes(int argc, char **argv);
int px_xattr(int argc, char **argv);

#endif
