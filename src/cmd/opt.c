/* SPDX-License-Identifier: BSD-3-Clause */
/* From the words of a command line to the values of its options. */
#include "opt.h"

#include "core/status.h"

#include <ctype.h>
#include <string.h>

struct words {
	const struct opt_usage *usage;
	const struct opt_set *sets;
	int argc, at; /* at: the word being read */
	char **argv;
	int n_rest;
};

static struct opt *find_long(const struct words *w, const char *name)
{
	struct opt *o = opt_find(w->sets, name);

	return o && !o->positional ? o : NULL;
}

static struct opt *find_letter(const struct words *w, char letter)
{
	struct opt *o;

	for (int k = 0; (o = opt_at(w->sets, k)); k++)
		if (o->letter && o->letter == letter) return o;
	return NULL;
}

/* The next positional without a value; a rest never has enough. */
static struct opt *next_positional(const struct words *w)
{
	struct opt *o;

	for (int k = 0; (o = opt_at(w->sets, k)); k++)
		if (o->positional && (o->rest || !o->given)) return o;
	return NULL;
}

/* A negative number is a value, and "-" alone is one too. */
static bool is_option(const char *word)
{
	if (word[0] != '-' || word[1] == '\0') return false;
	return !isdigit((unsigned char)word[1]) && !(word[1] == '.' && isdigit((unsigned char)word[2]));
}

static bool is_named(const struct opt *o)
{
	return !o->positional;
}

static int unknown(const struct words *w, const char *word, const char *name)
{
	const char *near = opt_nearest(w->sets, name, is_named);

	return iso_fail(ISO_EARG, "unknown option '%s'; %s%s%stry 'isotome %s --help'", word,
	                near ? "did you mean '--" : "", near ? near : "", near ? "'? " : "",
	                w->usage->command);
}

/* Another option or positional of the same place that was given, which has another value: one of the two would be
   dropped. Of one option that stands twice the last counts. */
static int check_alone(const struct words *w, const struct opt *o, const char *shown, const char *text)
{
	const struct opt *other;

	for (int k = 0; o->text && (other = opt_at(w->sets, k)); k++)
		if (other != o && other->text == o->text && other->given && strcmp(*other->text, text) != 0)
			return iso_fail(ISO_EARG, "%s%s %s and %s %s name the same thing: give one of them",
			                other->positional ? "" : "--",
			                other->positional ? other->value : other->name, *other->text, shown,
			                text);
	return ISO_OK;
}

/* `shown` is the option or positional as the user knows it. */
static int take(const struct words *w, struct opt *o, const char *shown, const char *text)
{
	int st = check_alone(w, o, shown, text);

	if (st) return st;
	st = opt_take(o, text);
	return st ? iso_fail(st, "%s %s", shown, iso_message()) : ISO_OK;
}

static int take_next(struct words *w, struct opt *o, const char *shown)
{
	const char *next = w->at + 1 < w->argc ? w->argv[w->at + 1] : "";

	if (o->bare && !isdigit((unsigned char)next[0])) return take(w, o, shown, o->bare);
	if (w->at + 1 >= w->argc || is_option(w->argv[w->at + 1]))
		return iso_fail(ISO_EARG, "%s needs a value %s; try 'isotome %s --help'", shown, o->value,
		                w->usage->command);
	return take(w, o, shown, w->argv[++w->at]);
}

static int take_flag(struct opt *o, bool value)
{
	*o->flag = value;
	o->given = true;
	return ISO_OK;
}

/* "--name", "--name=value", "--no-name" */
static int parse_long(struct words *w)
{
	const char *word = w->argv[w->at], *equals = strchr(word, '=');
	char shown[64];
	const char *name = shown + 2;
	int length = equals ? (int)(equals - word) : (int)strlen(word);

	if (length >= (int)sizeof shown) return unknown(w, word, "");
	memcpy(shown, word, (size_t)length);
	shown[length] = '\0';

	struct opt *o = find_long(w, name);
	struct opt *no = !o && strncmp(name, "no-", 3) == 0 ? find_long(w, name + 3) : NULL;

	if (no && no->flag && !equals) return take_flag(no, false);
	if (!o) return unknown(w, shown, name);
	if (o->flag && equals) return iso_fail(ISO_EARG, "%s takes no value, got '%s'", shown, equals + 1);
	if (o->flag) return take_flag(o, true);
	return equals ? take(w, o, shown, equals + 1) : take_next(w, o, shown);
}

/* "-n value", "-nvalue", or several flags in one word */
static int parse_letters(struct words *w)
{
	const char *word = w->argv[w->at];

	for (const char *c = word + 1; *c; c++) {
		struct opt *o = find_letter(w, *c);
		const char shown[] = { '-', *c, '\0' };

		if (!o) return unknown(w, word, word + 1);
		if (!o->flag) return c[1] ? take(w, o, shown, c + 1) : take_next(w, o, shown);
		take_flag(o, true);
	}
	return ISO_OK;
}

static int parse_positional(struct words *w)
{
	struct opt *o = next_positional(w);
	char *word = w->argv[w->at];

	if (!o)
		return iso_fail(ISO_EARG, "'%s' is one argument too many; try 'isotome %s --help'", word,
		                w->usage->command);
	if (!o->rest) return take(w, o, o->value, word);
	w->argv[w->n_rest++] = word; /* at or before the word itself: nothing unread is lost */
	*o->rest = (struct opt_list){ w->n_rest, w->argv };
	o->given = true;
	return ISO_OK;
}

static bool asks_for_help(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0) return true;
	return false;
}

int opt_parse(const struct opt_usage *u, const struct opt_set *sets, int argc, char **argv)
{
	struct words w = { .usage = u, .sets = sets, .argc = argc, .argv = argv };
	bool options = true;
	int st = ISO_OK;

	if (argc > 1 && strncmp(argv[argc - 1], OPT_PAGE, strlen(OPT_PAGE)) == 0)
		return opt_print_page(u, sets, argc, argv);
	if (asks_for_help(argc, argv)) { /* first, while the values are the defaults */
		opt_print_help(u, sets);
		return OPT_HELP;
	}
	for (w.at = 1; w.at < argc && !st; w.at++) {
		const char *word = argv[w.at];

		if (!options || !is_option(word))
			st = parse_positional(&w);
		else if (strcmp(word, "--") == 0)
			options = false;
		else
			st = word[1] == '-' ? parse_long(&w) : parse_letters(&w);
	}
	return st;
}

int opt_check(const struct opt_usage *u, const struct opt_set *sets)
{
	const struct opt *o, *missing = NULL;

	for (int k = 0; (o = opt_at(sets, k)); k++) {
		if (o->alone && o->given) return ISO_OK;
		if (!missing && o->required && !o->given) missing = o;
	}
	if (!missing) return ISO_OK;
	return iso_fail(ISO_EARG, "%s%s is missing: %s; try 'isotome %s --help'",
	                missing->positional ? "" : "--", missing->positional ? missing->value : missing->name,
	                missing->help, u->command);
}
