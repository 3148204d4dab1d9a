/* SPDX-License-Identifier: BSD-3-Clause */
/* The program: picks the command, prints its message, turns its status into an exit code. */
#include "cmd.h"

#include "text/json_file.h"
#include "text/nearest.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

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

static int run_command(const struct command **command, int argc, char **argv)
{
	int st;

	*command = command_find(argv[0]);
	if (*command && (*command)->shares) return (st = ranks_begin()) ? st : (*command)->run(argc, argv);
	if (ranks_idle()) return CMD_DONE;
	return *command ? (*command)->run(argc, argv) : unknown(argv[0]);
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

static int exit_code(int st, int signal)
{
	return st == ISO_OK || st == CMD_DONE ? 0
	       : st == ISO_EARG               ? 2
	       : st == ISO_EINPUT             ? 3
	       : st == ISO_ENOMEM             ? 4
	       : st == ISO_EDEVICE            ? 5
	       : st != ISO_ECANCEL            ? 1
	       : signal == SIGHUP             ? 129
	       : signal == SIGINT             ? 130
	                                      : 143;
}

/* A closed standard stream would lend its number to the next file opened, and messages would go
   there. O_RDONLY: writing to it then still fails. */
static void fill_standard_streams(void)
{
	int fd;

	do fd = open("/dev/null", O_RDONLY);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0) close(fd);
}

int main(int argc, char **argv)
{
	const struct command *command = NULL;
	char words[2048];
	int st, signal_number;

	fill_standard_streams();
	signal(SIGXFSZ, SIG_IGN); /* past the file size limit, a write then just fails */
	st = run(&command, argc, argv);
	if (iso_json_failures() > 0 && st != ISO_ENOMEM) /* the reason, whatever came of it */
		st = iso_fail(ISO_ENOMEM, "no memory for the values of a JSON text");
	if ((fflush(stdout) != 0 || ferror(stdout)) && st >= 0)
		st = iso_fail(ISO_EIO, "standard output could not be written");
	signal_number = cmd_signal();
	st = ranks_end(st, &signal_number);
	if (st < 0 && ranks_speaks())
		fprintf(stderr, "isotome%s%s: %s\n", command ? " " : "", command ? command->name : "",
		        option_words(words, sizeof words, command ? command->name : NULL, iso_message()));
	ranks_close(); /* waits for the others, so that the line stands before a launcher ends them */
	return exit_code(st, signal_number);
}
