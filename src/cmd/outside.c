/* SPDX-License-Identifier: BSD-3-Clause */
/* A command that is a program of its own. */
#include "cmd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool outside_run(int *st, const char *program, int argc, char **argv)
{
	char path[PATH_MAX], **words;

	if (!program_find(path, program)) return false;
	if ((words = calloc((size_t)argc + 2, sizeof *words))) {
		words[0] = path;
		for (int i = 0; i < argc; i++) words[i + 1] = argv[i];
		execv(path, words);
		*st = iso_fail(ISO_EIO, "%s can't be run: %s", path, strerror(errno));
		free(words);
	} else {
		*st = iso_fail_memory("the words of a command", argc);
	}
	return true;
}
