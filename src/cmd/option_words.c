/* SPDX-License-Identifier: BSD-3-Clause */
/* From the library's words to those of the command line: the parameter 'grid' is the option --grid. */
#include "cmd.h"

#include "problem/problem.h"

#include <string.h>

/* The commands that have a problem, whose parameters are their options. */
static bool has_problem(const char *command)
{
	static const char *const with[] = { "sens", "project", "backproject", "recon", NULL };

	return command && opt_place(with, command) >= 0;
}

/* The length of a name in quotes that begins here, without the quotes; 0: there is none. */
static size_t quoted(const char *text)
{
	size_t n = text[0] == '\'' ? strspn(text + 1, "abcdefghijklmnopqrstuvwxyz0123456789-") : 0;

	return n > 0 && text[n + 1] == '\'' ? n : 0;
}

const char *option_words(char *to, size_t size, const char *command, const char *text)
{
	bool key = strstr(text, "parameter '"); /* of a record: no option */
	bool any = has_problem(command) && !key;
	size_t used = 0;

	while (*text && used + 1 < size) {
		size_t n = quoted(text);
		char name[64];

		snprintf(name, sizeof name, "%.*s", n < sizeof name ? (int)n : 0, text + 1);
		if (n > 0 && ((any && problem_knows(name)) || (!key && strcmp(name, "force") == 0))) {
			used += (size_t)snprintf(to + used, size - used, "--%s", name);
			used = used < size ? used : size - 1;
			text += n + 2;
		} else {
			to[used++] = *text++;
		}
	}
	to[used] = '\0';
	return to;
}
