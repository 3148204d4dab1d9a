/* SPDX-License-Identifier: BSD-3-Clause */
/* The words of the command line: from the library's, where the parameter 'grid' is the option --grid; and as
   text for the record, that can be pasted into a shell. */
#include "cmd.h"

#include "problem/problem.h"

#include <stdlib.h>
#include <string.h>

/* Whether a key or label of PET-BIDS has this name. */
static bool bids_knows(const char *name)
{
	static const char *const labels[] = { "subject", "session", "tracer", "reconstruction", "run", NULL };

	for (int k = 0; iso_bids_key(k); k++)
		if (strcmp(iso_bids_key(k)->name, name) == 0) return true;
	return opt_place(labels, name) >= 0;
}

/* Whether the command has an option of this name. */
static bool has_option(const struct command *c, const char *name)
{
	static const char *const common[] = { "force", "output", "memory-limit", "device-memory-limit",
		                              NULL };

	return opt_place(common, name) >= 0 || (c && c->options && opt_place(c->options, name) >= 0) ||
	       (c && c->has_problem && (iso_problem_knows(name) || bids_knows(name)));
}

/* The length of a name in quotes that begins here, without the quotes; 0: there is none. */
static size_t quoted(const char *text)
{
	size_t n = text[0] == '\'' ? strspn(text + 1, "abcdefghijklmnopqrstuvwxyz0123456789-") : 0;

	return n > 0 && text[n + 1] == '\'' ? n : 0;
}

const char *option_words(char *to, size_t size, const char *command, const char *text)
{
	const struct command *c = command_find(command);
	bool key = strstr(text, "parameter '"); /* of a record: no option */
	size_t used = 0;

	while (*text && used + 1 < size) {
		size_t n = quoted(text);
		char name[64];

		snprintf(name, sizeof name, "%.*s", n < sizeof name ? (int)n : 0, text + 1);
		if (n > 0 && !key && has_option(c, name)) {
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

static bool is_plain(const char *word)
{
	return word[0] && !word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	                                     "0123456789_-+=:,./%@")];
}

static void put_word(FILE *f, const char *word)
{
	bool plain = is_plain(word);

	fputs(plain ? " " : " '", f);
	for (; *word; word++) fprintf(f, *word == '\'' ? "'\\%c'" : "%c", *word);
	fputs(plain ? "" : "'", f);
}

char *command_line(int argc, char **argv)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f) return NULL;
	fputs("isotome", f);
	for (int i = 0; i < argc; i++) put_word(f, argv[i]);
	if (fclose(f) == 0) return text;
	free(text);
	return NULL;
}
