/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of a command: tables that make the parser, its checks, the help and the record.

   Accepted are --name value, --name=value, -n value, -nvalue, and --no-name for a flag; options
   and positionals in any order; "--" ends the options. The last of several wins. */
#ifndef ISO_OPT_H
#define ISO_OPT_H

#include "isotome.h"

#include <jansson.h>

/* Positionals of a command that takes any number of them; v lies in the argv given. */
struct opt_list {
	int n;
	char **v;
};

/* What a text names. A record may say what is read, never what is written. */
enum opt_file {
	OPT_NO_FILE,
	OPT_READS,    /* a file that the run reads, which must be there */
	OPT_MAY_READ, /* such a file, several separated by commas, or none at all: a phantom */
	OPT_WRITES,   /* an output */
	OPT_PLACE,    /* a folder that the run writes to */
};

/* One option or positional. Exactly one of flag, integer, real, text, rest is set: the place of
   the value, holding its default. A table ends with an entry whose name is NULL. */
struct opt {
	char letter;      /* 0: none */
	const char *name; /* without dashes; also the key in the record */
	bool *flag;
	int64_t *integer;
	double *real;
	const char **text;
	enum opt_file file;       /* of a text, or of a rest */
	struct opt_list *rest;    /* all positionals from here on; never in the record */
	int count;                /* numbers in a comma separated list; 0: one */
	bool spread;              /* one number stands for all of the list */
	const char *const *words; /* what a text may be, ends with NULL; NULL: anything */
	double min, max;          /* of each number, where min < max; INFINITY: open */
	const char *value;        /* name of the value in the help: "FILE", "MM" */
	const char *help;
	const char *absent; /* what holds when not given, in words: no default value,
					   null in the record */
	bool positional, required;
	bool alone;     /* if given, nothing else is required */
	bool transient; /* not what a run computes: left out of the record */
	bool given;     /* set by opt_parse and opt_from_json */
	bool lone;      /* with spread: one number was given; set by opt_parse */
};

/* A titled group of options (title NULL: the command's own); an array ends with opts NULL. */
struct opt_set {
	const char *title;
	struct opt *opts;
};

struct opt_usage {
	const char *command;  /* "phantom" */
	const char *purpose;  /* one sentence or a few */
	const char *examples; /* lines that can be pasted */
};

#define OPT_HELP 1 /* opt_parse printed the help: nothing else to do */

/* Fills the values from the words after argv[0]; gathers a `rest` at the front of argv. ISO_EARG
   for what the tables do not allow. */
int opt_parse(const struct opt_usage *u, const struct opt_set *sets, int argc, char **argv);

/* ISO_EARG if a required option or positional has no value; after opt_parse and opt_from_json. */
int opt_check(const struct opt_usage *u, const struct opt_set *sets);

/* Entry k of all sets together, and the entry of a name; NULL if there is none. */
struct opt *opt_at(const struct opt_set *sets, int k);
struct opt *opt_find(const struct opt_set *sets, const char *name);

/* The place of a word in a list of them that ends with NULL; -1: it has none. */
int opt_place(const char *const *words, const char *word);

/* The value from text, and then its checks alone: every number in its range, a text one of its
   words. ISO_EARG, without the name of the option: "is 0, must be at least 1". */
int opt_value_parse(const struct opt *o, const char *text);
int opt_value_check(const struct opt *o);

void opt_print_help(const struct opt_usage *u, const struct opt_set *sets);

/* Parts of it, added to a text: the words after the command, and what is said of an option. */
void opt_usage_text(char *to, size_t size, const struct opt_set *sets);
void opt_help_text(char *to, size_t size, const struct opt *o);

/* The last word is --help=man: the man page of the command and the kind that is its first word; or
   --help=next:WORD: what may stand in the place of WORD, after the words before, a line each, with a tab
   and its help. "@file" and "@folder" stand for the names of all files and folders. OPT_HELP, or
   ISO_EARG. */
#define OPT_PAGE "--help="
#define OPT_NEXT OPT_PAGE "next:"
int opt_print_page(const struct opt_usage *u, const struct opt_set *sets, int argc, char **argv);

/* All parameters, defaults included; NULL without memory. */
json_t *opt_to_json(const struct opt_set *sets);

/* Sets what was not given from the parameters of a record, read from `file`; what names outputs stays
   as it is. ISO_EINPUT for an
   unknown key or a value not allowed. Texts belong to `parameters`, which must stay. */
int opt_from_json(const struct opt_set *sets, const json_t *parameters, const char *file);

#endif
