/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line as text, for the record: what was typed can be pasted into a shell. */
#include "cmd.h"

#include <stdlib.h>
#include <string.h>

static bool is_plain(const char *word)
{
	return word[0] && !word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	                                     "0123456789_-+=:,./%@")];
}

static void put_word(FILE *f, const char *word)
{
	if (is_plain(word)) {
		fprintf(f, " %s", word);
		return;
	}
	fputs(" '", f);
	for (; *word; word++) {
		if (*word == '\'')
			fputs("'\\''", f);
		else
			fputc(*word, f);
	}
	fputc('\'', f);
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
