/*
 * main.c - options and the loop of steps. See lockstep.h for the map.
 */
#include "lockstep.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char help[] =
	"usage: lockstep [OPTIONS] A B\n"
	"Run the same random system calls on the directories A and B and\n"
	"compare results, errno, attributes and bytes after each. As root.\n"
	"B is the yardstick: a tmpfs mounted with noatime,inode64,dev.\n"
	"  -s SEED   which sequence (default 1)\n"
	"  -n STEPS  how many calls (default 100000)\n"
	"  -w STEPS  compare the whole trees so often (default 500)\n"
	"  -c STEPS  close all files and run the command of -C so often\n"
	"  -C CMD    shell command between steps, such as a remount of A\n"
	"  -x        xattrs too\n"
	"  -A        A is mounted noatime: atime must not move either\n"
	"  -v        print each call, its answer and inode numbers of A\n"
	"Exit code 0 same, 1 different (with the replay), 2 could not run.\n";

static const struct ls_op *const tables[] = { ls_ops_file, ls_ops_data,
					      ls_ops_name, ls_ops_attr,
					      ls_ops_lock, ls_ops_map };

#define TABLES (sizeof(tables) / sizeof(tables[0]))

static uint64_t number(const char *text)
{
	char *end;
	uint64_t n = strtoull(text, &end, 10);

	if (!*text || *end) {
		fprintf(stderr, "lockstep: '%s' is no number\n", text);
		exit(2);
	}
	return n;
}

static void parse(struct ls_options *o, int argc, char **argv)
{
	int c;

	o->seed = 1;
	o->steps = 100000;
	o->walk_every = 500;
	while ((c = getopt(argc, argv, "s:n:w:c:C:xAvh")) != -1) {
		switch (c) {
		case 's':
			o->seed = number(optarg);
			break;
		case 'n':
			o->steps = number(optarg);
			break;
		case 'w':
			o->walk_every = number(optarg);
			break;
		case 'c':
			o->call_every = number(optarg);
			break;
		case 'C':
			o->between = optarg;
			break;
		case 'x':
			o->xattr = true;
			break;
		case 'A':
			o->noatime = true;
			break;
		case 'v':
			o->verbose = true;
			break;
		case 'h':
			fputs(help, stdout);
			exit(0);
		default:
			fputs("lockstep: try -h\n", stderr);
			exit(2);
		}
	}
	if (argc - optind != 2 || o->walk_every == 0) {
		fputs("lockstep: two directories are needed, try -h\n", stderr);
		exit(2);
	}
	o->root[LS_A] = argv[optind];
	o->root[LS_B] = argv[optind + 1];
}

static const struct ls_op *pick_op(struct ls *ls)
{
	const struct ls_op *op;
	unsigned sum = 0, dice;
	size_t t;

	for (t = 0; t < TABLES; t++) {
		for (op = tables[t]; op->name; op++)
			sum += op->xattr && !ls->opt.xattr ? 0 : op->weight;
	}
	dice = ls_below(ls, sum);
	for (t = 0; t < TABLES; t++) {
		for (op = tables[t]; op->name; op++) {
			if (op->xattr && !ls->opt.xattr)
				continue;
			if (dice < op->weight)
				return op;
			dice -= op->weight;
		}
	}
	return ls_ops_file;
}

static void pick_call(struct ls *ls, struct ls_call *c)
{
	do {
		memset(c, 0, sizeof(*c));
		c->into = -1;
		c->newfd[LS_A] = c->newfd[LS_B] = -1;
		c->say[0] = '\0';
		c->op = pick_op(ls);
		c->who = ls_chance(ls, 65)
				 ? 0
				 : 1 + (int)ls_below(ls, ls_users() - 1);
		ls_say(c, "[uid %u] ", ls_user_uid((unsigned)c->who));
	} while (!c->op->pick(ls, c));
}

static void run_call(struct ls *ls, struct ls_call *c)
{
	struct ls_result *r;
	int side;

	for (side = 0; side < LS_SIDES; side++) {
		r = &ls->result[side];
		r->len = 0;
		ls_enter(ls, side);
		ls_become(c->who);
		errno = 0;
		r->ret = c->op->run(ls, c, side, r);
		r->err = r->ret == -1 ? errno : 0;
		ls_become(0);
	}
	ls_compare_result(ls, c);
	if (c->paths && c->path[c->paths - 1].base < 0 && c->op->makes &&
	    ls->result[LS_A].ret == 0)
		ls_remember(ls, c->path[c->paths - 1].text,
			    strcmp(c->op->name, "mkdir") == 0);
	if (c->newfd[LS_A] >= 0) {
		ls_close_slot(ls, c->into);
		ls->slot[c->into].fd[LS_A] = c->newfd[LS_A];
		ls->slot[c->into].fd[LS_B] = c->newfd[LS_B];
	}
}

static void wait_tick(void)
{
	struct timespec t = { 0, 12000000 };

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}

/* With inode numbers of A: to find what else happened to a file. */
static void print_answer(struct ls *ls, const struct ls_call *c)
{
	const struct ls_result *r = &ls->result[LS_A];
	struct stat st;
	int i;

	printf("%ld %s", r->ret, r->err ? strerror(r->err) : "");
	for (i = 0; i < c->slots; i++) {
		if (fstat(ls_fd(ls, c, i, LS_A), &st) == 0)
			printf(" ino=%" PRIu64, (uint64_t)st.st_ino);
	}
	ls_enter(ls, LS_A);
	for (i = 0; i < c->paths; i++) {
		if (fstatat(ls_at(ls, c, i, LS_A), c->path[i].text, &st,
			    AT_SYMLINK_NOFOLLOW) == 0)
			printf(" ino=%" PRIu64, (uint64_t)st.st_ino);
	}
	printf("\n");
}

static void one_step(struct ls *ls)
{
	struct ls_call *c = &ls->call;
	bool look, tick;

	ls_reseed(ls, ls->step);
	pick_call(ls, c);
	/* Not after each: a stat refreshes what the kernel has cached. */
	look = ls_chance(ls, 75) || c->op->loosens ||
	       strstr(c->op->name, "utimens");
	tick = ls_chance(ls, ls->step < 2000 ? 8 : 2);
	memcpy(ls->history[ls->step % LS_HISTORY], c->say, LS_SAY_LEN);
	if (ls->opt.verbose)
		printf("%" PRIu64 " %s: ", ls->step, c->say);
	if (tick) {
		wait_tick();
		ls_check_call(ls, c);
	}
	run_call(ls, c);
	if (ls->opt.verbose)
		print_answer(ls, c);
	if (look || tick)
		ls_check_call(ls, c);
}

static void close_all(struct ls *ls)
{
	int i;

	for (i = 0; i < LS_SLOTS; i++)
		ls_close_slot(ls, i);
}

static void run_between(struct ls *ls)
{
	int rc, side;

	close_all(ls);
	ls_leave(ls);
	for (side = 0; side < LS_SIDES; side++)
		close(ls->root[side]);
	fflush(stdout);
	rc = system(ls->opt.between);
	if (rc != 0) {
		fprintf(stderr, "lockstep: '%s' gave status 0x%x\n",
			ls->opt.between, rc);
		exit(2);
	}
	ls_sides_open(ls);
	ls_walk(ls, true);
}

static void run_steps(struct ls *ls)
{
	for (ls->step = 1; ls->step <= ls->opt.steps; ls->step++) {
		one_step(ls);
		if (ls->step % ls->opt.walk_every == 0)
			ls_walk(ls, ls->step / ls->opt.walk_every % 4 == 0);
		if (ls->opt.call_every && ls->step % ls->opt.call_every == 0)
			run_between(ls);
	}
	ls->step = ls->opt.steps;
	ls_walk(ls, true);
	close_all(ls);
}

int main(int argc, char **argv)
{
	static struct ls ls;
	int i;

	parse(&ls.opt, argc, argv);
	if (geteuid() != 0) {
		fputs("lockstep: must be root\n", stderr);
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	ls.umask = 022;
	umask(ls.umask);
	ls.real_root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (i = 0; i < LS_SLOTS; i++)
		ls.slot[i].fd[LS_A] = ls.slot[i].fd[LS_B] = -1;
	for (i = 0; i < LS_SIDES; i++) {
		ls.result[i].out = malloc(LS_OUT_LEN);
		if (!ls.result[i].out)
			ls_die("memory");
	}
	ls.pairs = ls_pairs_new();
	ls_sides_open(&ls);
	for (i = 0; i < LS_SIDES; i++) {
		if (fchmod(ls.root[i], 0755) < 0 ||
		    fchown(ls.root[i], 0, 0) < 0)
			ls_die("prepare the roots");
	}
	ls_walk(&ls, false);
	run_steps(&ls);
	ls_leave(&ls);
	printf("lockstep: %" PRIu64 " calls, seed %" PRIu64
	       ", %zu inodes, no difference. Excused:\n",
	       ls.opt.steps, ls.opt.seed, ls_pairs_count(ls.pairs));
	ls_excuse_print();
	for (i = 0; i < LS_SIDES; i++)
		free(ls.result[i].out);
	ls_pairs_free(ls.pairs);
	return 0;
}
