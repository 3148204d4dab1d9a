/* SPDX-License-Identifier: BSD-3-Clause */
/* The program isotome: picks the command. */
#include "cmd.h"

#include "text/nearest.h"

#include <string.h>

static void print_help(void)
{
	printf("Isotome %s: from tomography measurements to images.\n\n"
	       "usage: isotome COMMAND [arguments and options]\n\nCommands:\n",
	       iso_version());
	for (int k = 0; command_at(k); k++) printf("  %-12s %s\n", command_at(k)->name, command_at(k)->help);
	printf("\nA first run, in the folder of the source:\n"
	       "  isotome phantom spheres -o spheres.nii\n"
	       "  isotome simulate examples/scanners/clinical-ring.yaml spheres.nii \\\n"
	       "      --counts 1e6 -o spheres.lmdT\n"
	       "  isotome recon ray --scanner examples/scanners/clinical-ring.yaml \\\n"
	       "      --events spheres.lmdT --grid 79,62,49 --voxel 4 -o image.nii\n"
	       "\n'isotome COMMAND --help' explains a command, 'isotome --version' prints the version,\n"
	       "'isotome --built-with' prints the libraries and the processors of this build.\n");
}

/* For completion in shells: as opt_print_page. */
static void print_names(void)
{
	for (int k = 0; command_at(k); k++) printf("%s\t%s\n", command_at(k)->name, command_at(k)->help);
}

static int unknown(const char *name)
{
	const char *names[64], *near;
	int n = 0;

	for (; n < 64 && command_at(n); n++) names[n] = command_at(n)->name;
	near = iso_nearest(name, n, names);
	return iso_fail(ISO_EARG, "unknown command '%s'; %s%s%stry 'isotome --help'", name,
	                near ? "did you mean '" : "", near ? near : "", near ? "'? " : "");
}

/* The command in another program: its own, isotome-NAME, or that of the table, which may have several commands. */
static int run_outside(const struct command *c, int argc, char **argv)
{
	char name[NAME_MAX] = "";
	bool own = snprintf(name, sizeof name, "isotome-%s", argv[0]) < (int)sizeof name &&
	           (!c || strcmp(c->outside, name) == 0);
	int st;

	if (own ? outside_run(&st, name, argc - 1, argv + 1) : c && outside_run(&st, c->outside, argc, argv))
		return st;
	if (ranks_idle()) return CMD_DONE;
	if (!c) return unknown(argv[0]);
	return iso_fail(ISO_EARG,
	                "this command is in the program %s, which is neither beside isotome nor on the PATH; "
	                "make it by 'cmake --build build --target %s', or install the package %s",
	                c->outside, c->outside, c->outside);
}

static int run_command(const struct command **command, int argc, char **argv)
{
	*command = command_find(argv[0]);
	return *command && (*command)->run ? command_run(*command, argc, argv)
	                                   : run_outside(*command, argc, argv);
}

static int run(const struct command **command, int argc, char **argv)
{
	const char *first = argc > 1 ? argv[1] : "help";
	char option[] = "--help", *help_on[] = { argc > 2 ? argv[2] : NULL, option, NULL };

	if (strcmp(first, "help") == 0 && argc > 2) /* "isotome help X" is "isotome X --help" */
		return run_command(command, 2, help_on);
	if (first[0] != '-' && strcmp(first, "help") != 0) return run_command(command, argc - 1, argv + 1);
	if (ranks_idle()) return CMD_DONE;
	if (strcmp(first, "--version") == 0)
		printf("isotome %s\n", iso_version());
	else if (strcmp(first, "--built-with") == 0)
		printf("%s\n", iso_built_with());
	else if (strncmp(first, OPT_NEXT, strlen(OPT_NEXT)) == 0)
		print_names();
	else if (!strcmp(first, "help") || !strcmp(first, "--help") || !strcmp(first, "-h"))
		print_help();
	else
		return unknown(first);
	return ISO_OK;
}

int main(int argc, char **argv)
{
	return program_main(run, argc, argv);
}
