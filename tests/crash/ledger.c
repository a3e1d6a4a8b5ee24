/*
 * ledger.c - the program: see help().
 */
#include "ledger.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void help(FILE *to)
{
	fputs("usage: ledger init [-s SEED] LEDGER ROOT\n"
	      "       ledger run [OPTIONS] LEDGER ROOT\n"
	      "       ledger check [-w|-a|-l|-v] LEDGER ROOT\n"
	      "       ledger note begin|end LEDGER\n"
	      "       ledger show [-o OBJ] LEDGER\n"
	      "\n"
	      "init   a new phase: take what ROOT holds for acknowledged\n"
	      "run    writers work on ROOT and write down what they asked for\n"
	      "       and what was acknowledged; ends with 3 when ROOT died\n"
	      "  -s SEED -n WRITERS (4) -c OPERATIONS (400) -t SECONDS (10)\n"
	      "  -k FILES (30) that a writer keeps, -b BYTES (16000) a file\n"
	      "check  the last phase against ROOT: 1 if anything is wrong\n"
	      "  -w  a filesystem that only promises fsync (for the rig's own"
	      " test)\n"
	      "  -a  all was acknowledged: after an orderly unmount\n"
	      "  -l  no operation may have failed but for want of space\n"
	      "  -v  say how far each writer came\n"
	      "note   around a barrier such as rspoolctl sync\n"
	      "show   the records, readable\n",
	      to);
}

static uint64_t number(const char *word)
{
	char *end;
	unsigned long long n = strtoull(word, &end, 0);

	if (*end || end == word) {
		fprintf(stderr, "ledger: '%s' isn't a number\n", word);
		exit(2);
	}
	return n;
}

static unsigned int small(const char *word)
{
	uint64_t n = number(word);

	if (!n || n > 1000000000) {
		fprintf(stderr, "ledger: '%s' is out of range\n", word);
		exit(2);
	}
	return (unsigned int)n;
}

static int usage(void)
{
	help(stderr);
	return 2;
}

static int do_init(int argc, char **argv)
{
	uint64_t seed = 1;
	int c;

	while ((c = getopt(argc, argv, "s:")) != -1) {
		if (c != 's')
			return usage();
		seed = number(optarg);
	}
	if (argc - optind != 2)
		return usage();
	return led_init(argv[optind], argv[optind + 1], seed);
}

static bool run_option(struct led_run *run, int c)
{
	switch (c) {
	case 's':
		run->seed = number(optarg);
		return true;
	case 'n':
		run->writers = small(optarg);
		return run->writers < 1000;
	case 'c':
		run->ops = small(optarg);
		return true;
	case 't':
		run->seconds = small(optarg);
		return true;
	case 'k':
		run->live = small(optarg);
		return true;
	case 'b':
		run->bytes = small(optarg);
		return run->bytes >= 8;
	default:
		return false;
	}
}

static int do_run(int argc, char **argv)
{
	struct led_run run = { .writers = 4,
			       .ops = 400,
			       .seconds = 10,
			       .live = 30,
			       .bytes = 16000 };
	int c;

	while ((c = getopt(argc, argv, "s:n:c:t:k:b:")) != -1)
		if (!run_option(&run, c))
			return usage();
	if (argc - optind != 2)
		return usage();
	run.ledger = realpath(argv[optind], NULL);
	run.root = argv[optind + 1];
	if (!run.ledger) {
		fprintf(stderr, "ledger: no ledger '%s', see ledger init\n",
			argv[optind]);
		return 2;
	}
	c = led_run(&run);
	free((char *)(uintptr_t)run.ledger);
	return c;
}

static int do_check(int argc, char **argv)
{
	struct led_check check = { 0 };
	int c;

	while ((c = getopt(argc, argv, "walv")) != -1) {
		if (c == '?')
			return usage();
		check.weak |= c == 'w';
		check.all |= c == 'a';
		check.alive |= c == 'l';
		check.verbose |= c == 'v';
	}
	if (argc - optind != 2)
		return usage();
	check.ledger = argv[optind];
	check.root = argv[optind + 1];
	return led_check(&check);
}

static int do_note(int argc, char **argv)
{
	struct led_rec rec = { .kind = LED_NOTE };

	if (argc != 3)
		return usage();
	if (!strcmp(argv[1], "end"))
		rec.op = LED_SYNC_END;
	else if (strcmp(argv[1], "begin") != 0)
		return usage();
	led_append(led_open(argv[2]), &rec);
	return 0;
}

static int do_show(int argc, char **argv)
{
	struct led_rec *recs;
	size_t count, i;
	uint64_t obj = 0;
	int c;

	while ((c = getopt(argc, argv, "o:")) != -1) {
		if (c != 'o')
			return usage();
		obj = strtoull(optarg, NULL, 16);
	}
	if (argc - optind != 1)
		return usage();
	recs = led_load(argv[optind], &count);
	for (i = 0; i < count; i++)
		if (!obj || recs[i].obj == obj || recs[i].obj2 == obj)
			led_print(i, &recs[i]);
	free(recs);
	return 0;
}

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} verbs[] = {
	{ "init", do_init }, { "run", do_run },	  { "check", do_check },
	{ "note", do_note }, { "show", do_show },
};

int main(int argc, char **argv)
{
	size_t i;

	if (argc > 1 && !strcmp(argv[1], "--help")) {
		help(stdout);
		return 0;
	}
	for (i = 0; argc > 1 && i < sizeof(verbs) / sizeof(*verbs); i++)
		if (!strcmp(argv[1], verbs[i].name))
			return verbs[i].run(argc - 1, argv + 1);
	return usage();
}
