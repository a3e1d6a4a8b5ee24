/*
 * store_guard.c - SIGSEGV and SIGBUS inside a guarded read become an error.
 *
 * LMDB reads its file through a map. A sector that can't be read, a file cut
 * short under us, a damaged page number all end in a signal. While a thread
 * has a guard up the handler jumps back to it; otherwise, and for signals
 * that somebody sent, whoever handled the signal before gets it, so that our
 * own bugs still end in a core dump or a sanitizer's report.
 *
 * The mask is put back in the handler, from where the fault was, instead of
 * being saved by sigsetjmp(): no system call for each read.
 */
#include "journal/store_guard.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <ucontext.h>

static _Thread_local struct rs_guard *active;

static struct sigaction prev_segv, prev_bus;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for installing */

static void chain(int sig, siginfo_t *info, void *ctx)
{
	const struct sigaction *prev = sig == SIGBUS ? &prev_bus : &prev_segv;

	if (prev->sa_flags & SA_SIGINFO) {
		prev->sa_sigaction(sig, info, ctx);
		return;
	}
	if (prev->sa_handler != SIG_DFL && prev->sa_handler != SIG_IGN) {
		prev->sa_handler(sig);
		return;
	}
	/* The instruction runs again, or the signal is sent again. */
	sigaction(sig, prev, NULL);
	if (info->si_code <= 0)
		raise(sig);
}

static void on_fault(int sig, siginfo_t *info, void *ctx)
{
	const ucontext_t *at = ctx;

	if (info->si_code > 0 && active) {
		pthread_sigmask(SIG_SETMASK, &at->uc_sigmask, NULL);
		rs_guard_raise();
	}
	chain(sig, info, ctx);
}

/* Our handler for sig, if it isn't there; what was there is kept. */
static int install(int sig, struct sigaction *prev)
{
	struct sigaction sa, now;

	if (sigaction(sig, NULL, &now) < 0)
		return -errno;
	if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_fault)
		return 0;
	*prev = now;
	memset(&sa, 0, sizeof(sa));
	sa.sa_sigaction = on_fault;
	sa.sa_flags = SA_SIGINFO | SA_NODEFER;
	sigemptyset(&sa.sa_mask);
	return sigaction(sig, &sa, NULL) < 0 ? -errno : 0;
}

int rs_guard_install(void)
{
	int err;

	pthread_mutex_lock(&lock);
	err = install(SIGSEGV, &prev_segv);
	if (err == 0)
		err = install(SIGBUS, &prev_bus);
	pthread_mutex_unlock(&lock);
	return err;
}

void rs_guard_push(struct rs_guard *guard)
{
	guard->outer = active;
	active = guard;
}

void rs_guard_pop(struct rs_guard *guard)
{
	active = guard->outer;
}

void rs_guard_raise(void)
{
	struct rs_guard *guard = active;

	if (!guard)
		return;
	active = guard->outer;
	siglongjmp(guard->env, 1);
}
