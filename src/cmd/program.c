/* SPDX-License-Identifier: BSD-3-Clause */
/* A program of commands: runs one, prints its message, turns its status into an exit code. */
#include "cmd.h"

#include "text/json_file.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- other programs ---- */

static bool is_there(const char path[PATH_MAX], int length)
{
	struct stat s;

	return length < PATH_MAX && stat(path, &s) == 0 && S_ISREG(s.st_mode) && access(path, X_OK) == 0;
}

static bool beside(char path[PATH_MAX], const char *name)
{
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX);

	while (n > 0 && path[n - 1] != '/') n--;
	return n > 0 && is_there(path, (int)n + snprintf(path + n, (size_t)(PATH_MAX - n), "%s", name));
}

bool program_find(char path[PATH_MAX], const char *name)
{
	const char *next = getenv("PATH");

	if (strchr(name, '/')) return false;
	if (beside(path, name)) return true;
	while (next && *next) {
		int n = (int)strcspn(next, ":");

		if (n > 0 && is_there(path, snprintf(path, PATH_MAX, "%.*s/%s", n, next, name))) return true;
		next += n + (next[n] == ':');
	}
	return false;
}

/* ---- this one ---- */

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

const struct command *command_find(const char *name)
{
	const struct command *c = NULL;

	for (int k = 0; name && (c = command_at(k)) && strcmp(c->name, name) != 0; k++)
		;
	return c;
}

int command_run(const struct command *c, int argc, char **argv)
{
	int st;

	if (c->shares) return (st = ranks_begin()) ? st : c->run(argc, argv);
	return ranks_idle() ? CMD_DONE : c->run(argc, argv);
}

int program_main(int (*run)(const struct command **c, int argc, char **argv), int argc, char **argv)
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
