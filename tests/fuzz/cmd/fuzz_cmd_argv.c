/* SPDX-License-Identifier: BSD-3-Clause */
/* Words of a command line, one in each line of the input, for every verb, among the files of
   fixtures.h; a line ";" begins another command, for which nothing of the one before may be left but
   its files. No word holds a slash or two dots in a row, so no file outside the folder of work can
   be named; memory and threads are bounded by the words behind, which win. */
#define _GNU_SOURCE /* memmem */
#include "fixtures.h"

/* Verbs with --memory-limit and --threads. */
static bool computes(const char *verb)
{
	static const char *const verbs[] = { "phantom",   "simulate",    "srm",   "norm",   "sens",
		                             "project",   "backproject", "recon", "filter", "bench",
		                             "reproduce", "demo",        "mu" };

	for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
		if (strcmp(verb, verbs[i]) == 0) return true;
	return false;
}

/* They run for minutes whatever is asked: only what they would do is asked for. */
static bool only_dry(const char *verb)
{
	return !strcmp(verb, "bench") || !strcmp(verb, "reproduce") || !strcmp(verb, "demo");
}

static int split(char **argv, char *text)
{
	char *rest = NULL;
	int argc = 1;

	for (char *c = text; *c; c++)
		if (*c == '/' || (*c == '.' && c[1] == '.')) *c = '_';
	for (char *w = strtok_r(text, "\n", &rest); w && argc < MOST_WORDS; w = strtok_r(NULL, "\n", &rest))
		if (strcmp(w, "--") != 0) /* the bounds behind would be files */
			argv[argc++] = w;
	return argc;
}

static void run_text(const char *begin, size_t size)
{
	char *argv[MOST_WORDS + 8] = { "isotome" }, *text = strndup(begin, size);
	static char *const bounds[] = { "--memory-limit", "0.05", "--threads", "1" };
	int argc = split(argv, text);

	if (argc > 1 && computes(argv[1])) {
		for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) argv[argc++] = bounds[i];
		if (only_dry(argv[1])) argv[argc++] = "--dry-run";
	}
	run_words(argc, argv);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *at = (const char *)data, *end = at + size, *next;

	make_fixtures();
	command_enter();
	for (; at < end; at = next) {
		const char *stop = memmem(at, (size_t)(end - at), "\n;\n", 3);

		run_text(at, (size_t)((stop ? stop : end) - at));
		next = stop ? stop + 3 : end;
	}
	command_back();
	return 0;
}
