/* SPDX-License-Identifier: BSD-3-Clause */
/* The program isotome-bench: `isotome bench X` is `isotome-bench X`, `isotome reproduce X` is
   `isotome-bench reproduce X`. */
#include "cmd/cmd.h"

#include <string.h>

static const struct command commands[] = {
	{ .name = "bench", .run = main_bench, .shares = true },
	{ .name = "reproduce", .run = main_reproduce },
	{ .name = "recon", .has_problem = true }, /* in its words --help tells of parameters */
};

const struct command *command_at(int k)
{
	return k >= 0 && k < (int)(sizeof commands / sizeof *commands) ? &commands[k] : NULL;
}

static int run(const struct command **command, int argc, char **argv)
{
	static char bench[] = "bench";

	*command = command_find(argc > 1 && strcmp(argv[1], "reproduce") == 0 ? argv[1] : bench);
	if (strcmp((*command)->name, bench) != 0) return command_run(*command, argc - 1, argv + 1);
	argv[0] = bench;
	return command_run(*command, argc, argv);
}

int main(int argc, char **argv)
{
	return program_main(run, argc, argv);
}
