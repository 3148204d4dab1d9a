/* SPDX-License-Identifier: BSD-3-Clause */
/* The help of a command, from its tables. */
#include "cmd.h"

#include <ctype.h>
#include <string.h>

#define WIDTH 80
#define INDENT 28 /* column where the help texts begin */

/* Prints text from column `column` on, broken at blanks, further lines at `indent`. */
static void print_wrapped(const char *text, int column, int indent)
{
	while (*text) {
		int length = (int)strcspn(text, " ");

		if (column > indent && column + 1 + length > WIDTH) {
			printf("\n%*s", indent, "");
			column = indent;
		} else if (column > indent) {
			putchar(' ');
			column++;
		}
		printf("%.*s", length, text);
		column += length;
		text += length;
		text += strspn(text, " ");
	}
	putchar('\n');
}

static void append(char *to, size_t size, const char *text)
{
	size_t used = strlen(to);

	snprintf(to + used, size - used, "%s", text);
}

/* Whether a text has `word` with no letter or digit beside it. */
static bool has_word(const char *text, const char *word)
{
	const size_t n = strlen(word);

	for (const char *at = text; (at = strstr(at, word)); at += n)
		if ((at == text || !isalnum((unsigned char)at[-1])) && !isalnum((unsigned char)at[n]))
			return true;
	return false;
}

/* A help text that explains every word that may be given needs no list of them. */
static bool has_words(const char *text, const char *const *words)
{
	for (int i = 0; words[i]; i++)
		if (!has_word(text, words[i])) return false;
	return true;
}

void opt_help_text(char *to, size_t size, const struct opt *o)
{
	char text[1024] = "", value[256];
	const char *otherwise = o->absent ? o->absent : value;

	append(text, sizeof text, o->help);
	for (int i = 0; o->words && !has_words(o->help, o->words) && o->words[i]; i++) {
		append(text, sizeof text, i ? ", " : ": ");
		append(text, sizeof text, o->words[i]);
	}
	opt_value_text(value, sizeof value, o);
	if (o->required) {
		append(text, sizeof text, o->positional ? "" : " (required)");
	} else if (o->absent || (!o->flag && *value)) {
		append(text, sizeof text, " (default: ");
		append(text, sizeof text, otherwise);
		append(text, sizeof text, ")");
	}
	option_words(to, size, "recon", text);
}

static void print_option(const struct opt *o)
{
	char text[1024];
	int column = o->positional ? printf("  %s", o->value)
	                           : printf("  %c%c%c --%s%s%s", o->letter ? '-' : ' ',
	                                    o->letter ? o->letter : ' ', o->letter ? ',' : ' ', o->name,
	                                    o->flag ? "" : " ", o->flag ? "" : o->value);

	opt_help_text(text, sizeof text, o);
	if (column > INDENT - 2)
		printf("\n%*s", INDENT, "");
	else
		printf("%*s", INDENT - column, "");
	print_wrapped(text, INDENT, INDENT);
}

void opt_usage_text(char *to, size_t size, const struct opt_set *sets)
{
	const struct opt *o;

	for (int k = 0; (o = opt_at(sets, k)); k++) {
		char word[96];

		if (o->positional)
			snprintf(word, sizeof word, o->required ? "%s%s " : "[%s%s] ", o->value,
			         o->rest ? "..." : "");
		else if (o->required && o->letter)
			snprintf(word, sizeof word, "-%c %s ", o->letter, o->value);
		else if (o->required)
			snprintf(word, sizeof word, "--%s %s ", o->name, o->value);
		else
			continue;
		append(to, size, word);
	}
	append(to, size, "[options]");
}

void opt_print_help(const struct opt_usage *u, const struct opt_set *sets)
{
	char line[512] = "", title[128];

	print_wrapped(u->purpose, 0, 0);
	opt_usage_text(line, sizeof line, sets);
	print_wrapped(line, printf("\nusage: isotome %s", u->command) - 1, 7);
	for (int i = 0; sets[i].opts; i++) {
		option_words(title, sizeof title, "recon", sets[i].title ? sets[i].title : "Arguments");
		/* sets without a title that follow one another are one */
		if (sets[i].title || i == 0 || sets[i - 1].title) printf("\n%s:\n", title);
		for (const struct opt *o = sets[i].opts; o->name; o++)
			if (o->help) print_option(o);
	}
	printf("\nExamples:\n%s", u->examples);
}
