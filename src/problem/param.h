/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters of a run, in tables: name, type, unit, default, range, help. A table is all that is said of
   them: from it the library checks what is set, writes and reads the record, and describes them to
   bindings; the command line makes its options and 'help'. */
#ifndef ISO_PARAM_H
#define ISO_PARAM_H

#include "isotome.h"

#include <jansson.h>
#include <limits.h>

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
	OPT_FIRST,    /* files and settings separated by commas: the first is a file that must be there */
	OPT_LIST,     /* a file that must be there, or several separated by commas */
	OPT_RECORD,   /* the record of an earlier run, which the run may replace */
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
	enum opt_file file;         /* of a text, or of a rest */
	const char *or_word;        /* in place of the file: "none"; NULL: no word */
	bool or_number;             /* a number may stand in place of the file */
	enum iso_param_takes takes; /* in place of a file that is read */
	struct opt_list *rest;      /* all positionals from here on; never in the record */
	int count;                  /* numbers in a comma separated list; 0: one */
	bool spread;                /* one number stands for all of the list */
	const char *const *words;   /* what a text may be, ends with NULL; NULL: anything */
	double min, max;            /* of each number, where min < max; INFINITY: open */
	const char *value;          /* name of the value in the help: "FILE", "MM" */
	const char *unit;           /* of each number: "mm"; NULL: none, or told by the name */
	const char *help;           /* NULL: it is about to go, and no help speaks of it */
	const char *absent;         /* what holds when not given, in words: no default value,
					   null in the record */
	unsigned
		goes; /* what it is for, of enum method_takes and enum model_has: refused where that is not; 0: all */
	const char *with; /* the parameter without which it has no meaning, a flag or a text; NULL: none */
	bool positional, required;
	const char *bare; /* of a text: its value where no number stands behind it; NULL: it needs a value */
	bool alone;       /* if given, nothing else is required */
	bool transient;   /* not what a run computes: left out of the record */
	bool given;       /* set by opt_parse and opt_from_json */
	bool lone;        /* with spread: one number was given; set by opt_parse */
};

/* A titled group of options (title NULL: the command's own); an array ends with opts NULL. */
struct opt_set {
	const char *title;
	struct opt *opts;
};

/* Entry k of all sets together, and the entry of a name; NULL if there is none. */
struct opt *opt_at(const struct opt_set *sets, int k);
struct opt *opt_find(const struct opt_set *sets, const char *name);

/* The name nearest to a mistyped one, of those that `among` (NULL: all) is true of; NULL: none is near. */
const char *opt_nearest(const struct opt_set *sets, const char *name, bool (*among)(const struct opt *));

/* The place of a word in a list of them that ends with NULL; -1: it has none. */
int opt_place(const char *const *words, const char *word);

/* The value from text, every number in its range, a text one of its words. ISO_EARG, without the name of
   the option: "is 0, must be at least 1". */
int opt_value_parse(const struct opt *o, const char *text);

/* opt_value_parse of a flag too ("true", "false"), and marks the parameter as given; where it fails the
   value stays as it was. */
int opt_take(struct opt *o, const char *text);

/* ISO_EINPUT if `text` as the value of an OPT_READS, OPT_FIRST or OPT_LIST names a file that can't be read. The file is not
   opened: that would take away the writer of a pipe. */
int opt_check_file(const struct opt *o, const char *text);

/* The file that a list of files begins with, into `path`, and where the next begins; NULL: there is none. A file whose whole
   name is `list` is the only one. */
const char *opt_next_file(char path[PATH_MAX], const char *list);

/* The value as opt_take reads it, cut to `size`; "" if there is none. */
void opt_value_text(char *text, size_t size, const struct opt *o);

/* All parameters, defaults included; NULL without memory. A parameter that has had another name is written by its own,
   and read by either. */
json_t *opt_to_json(const struct opt_set *sets);

/* Sets what was not given from the parameters of a record, read from `file`; what names outputs stays as it
   is. ISO_EINPUT for an unknown key or a value not allowed. Texts belong to `parameters`, which must stay. */
int opt_from_json(const struct opt_set *sets, const json_t *parameters, const char *file);

#endif
