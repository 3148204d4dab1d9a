/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of a command for readers other than people: its man page, and the words that may come next
   on its command line, which completion in shells asks for. */
#include "cmd.h"

#include <ctype.h>
#include <string.h>

/* ---- man page ---- */

static void print_roff(const char *text)
{
	bool begins = true; /* a line: a dot or an apostrophe there would be a request */

	for (; *text; text++) {
		if (begins && (*text == '.' || *text == '\'')) printf("\\&");
		if (*text == '\\' || *text == '-') putchar('\\');
		putchar(*text == '\\' ? 'e' : *text);
		begins = *text == '\n';
	}
}

/* "isotome-recon-strip", in capitals for the title; kind: "" if there is none. */
static void print_name(const char *command, const char *kind, bool capitals)
{
	char name[128];

	snprintf(name, sizeof name, "isotome-%s%s%s", command, *kind ? "-" : "", kind);
	for (char *c = name; capitals && *c; c++) *c = (char)toupper((unsigned char)*c);
	print_roff(name);
}

static void print_option(const struct opt *o)
{
	char text[1024];

	printf(".TP\n\\fB");
	if (o->letter) printf("\\-%c\\fR, \\fB", o->letter);
	print_roff(o->positional ? "" : "--");
	print_roff(o->positional ? "" : o->name);
	printf("\\fR%s\\fI", o->positional || o->flag ? "" : " ");
	if (!o->flag) print_roff(o->value);
	printf("\\fR\n");
	opt_help_text(text, sizeof text, o);
	print_roff(text);
	putchar('\n');
}

static void print_man(const struct opt_usage *u, const struct opt_set *sets, const char *kind)
{
	char line[512] = "", title[128];

	printf(".TH ");
	print_name(u->command, kind, true);
	printf(" 1 \"\" \"Isotome %s\" \"Isotome\"\n.SH NAME\n", iso_version());
	print_name(u->command, kind, false);
	printf(" \\- %.*s\n.SH SYNOPSIS\n.B isotome %s\n", (int)strcspn(u->purpose, ".:"), u->purpose,
	       u->command);
	opt_usage_text(line, sizeof line, sets);
	print_roff(line);
	printf("\n.SH DESCRIPTION\n");
	print_roff(u->purpose);
	putchar('\n');
	for (int i = 0; sets[i].opts; i++) {
		if (sets[i].title || i == 0 || sets[i - 1].title) {
			option_words(title, sizeof title, "recon",
			             sets[i].title ? sets[i].title : "Arguments");
			printf(".SH \"");
			print_roff(title);
			printf("\"\n");
		}
		for (const struct opt *o = sets[i].opts; o->name; o++)
			if (o->help) print_option(o);
	}
	printf(".SH EXAMPLES\n.nf\n");
	print_roff(u->examples);
	printf(".fi\n");
}

/* ---- what may come next ---- */

/* The option that a word names and whose value is the next word; NULL: none. */
static const struct opt *awaits(const struct opt_set *sets, const char *word)
{
	const struct opt *o;

	for (int k = 0; (o = opt_at(sets, k)); k++) {
		bool named = word[1] == '-' ? strcmp(word + 2, o->name) == 0
		                            : o->letter && word[1] == o->letter && !word[2];

		if (named && !o->flag && !o->bare && !o->positional) return o;
	}
	return NULL;
}

/* Positional number `place`; one that takes all the rest stands for those after it too. */
static const struct opt *positional(const struct opt_set *sets, int place)
{
	const struct opt *o;

	for (int k = 0; (o = opt_at(sets, k)); k++)
		if (o->positional && (o->rest || place-- == 0)) return o;
	return NULL;
}

static void print_word(const char *dashes, const char *word, const char *help)
{
	char words[1024];

	printf("%s%s\t%s\n", dashes, word, option_words(words, sizeof words, "recon", help));
}

static void print_values(const struct opt *o)
{
	for (int i = 0; o->words && o->words[i]; i++) print_word("", o->words[i], o->value);
	if (o->file == OPT_PLACE)
		print_word("", "@folder", o->help);
	else if (o->file)
		print_word("", "@file", o->help);
}

static void print_options(const struct opt_set *sets)
{
	const struct opt *o;

	for (int k = 0; (o = opt_at(sets, k)); k++) {
		if (o->positional || !o->help) continue;
		if (o->letter) print_word("-", (char[]){ o->letter, '\0' }, o->help);
		print_word("--", o->name, o->help);
	}
}

/* Of the words after argv[0]; `word` is what there is of the one that comes next. */
static void print_next(const struct opt_set *sets, int argc, char **argv, const char *word)
{
	const struct opt *open = NULL; /* waits for its value */
	bool options = true;
	int place = 0;

	for (int i = 1; i < argc; i++) {
		const char *w = argv[i];

		if (open)
			open = NULL;
		else if (options && strcmp(w, "--") == 0)
			options = false;
		else if (options && w[0] == '-' && w[1])
			open = awaits(sets, w);
		else
			place++;
	}
	if (!open && !(options && word[0] == '-')) open = positional(sets, place);
	/* one that may be left out: the next, or an option, may stand there; of words alone while there is no letter */
	for (; open && open->positional && !open->required && !open->rest; open = positional(sets, ++place)) {
		print_values(open);
		if (open->words && !*word) return;
	}
	if (open)
		print_values(open);
	else if (options)
		print_options(sets);
}

int opt_print_page(const struct opt_usage *u, const struct opt_set *sets, int argc, char **argv)
{
	const char *last = argv[argc - 1];

	if (strcmp(last, OPT_PAGE "man") == 0)
		print_man(u, sets, argc > 2 && argv[1][0] != '-' ? argv[1] : "");
	else if (strncmp(last, OPT_NEXT, strlen(OPT_NEXT)) == 0)
		print_next(sets, argc - 1, argv, last + strlen(OPT_NEXT));
	else
		return iso_fail(ISO_EARG, "%s: must be " OPT_PAGE "man, or " OPT_NEXT "WORD", last);
	return OPT_HELP;
}
