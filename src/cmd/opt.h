/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of a command: tables of parameters (problem/param.h) as words, and as the help.

   Accepted are --name value, --name=value, -n value, -nvalue, and --no-name for a flag; options
   and positionals in any order; "--" ends the options. The last of several wins. */
#ifndef ISO_OPT_H
#define ISO_OPT_H

#include "problem/param.h"

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

void opt_print_help(const struct opt_usage *u, const struct opt_set *sets);

/* Parts of it: the words after the command, added to a text, and what is said of an option. */
void opt_usage_text(char *to, size_t size, const struct opt_set *sets);
void opt_help_text(char *to, size_t size, const struct opt *o);

/* The last word is --help=man: the man page of the command and the kind that is its first word; or
   --help=next:WORD: what may stand in the place of WORD, after the words before, a line each, with a tab and
   its help. "@file" and "@folder" stand for the names of all files and folders. OPT_HELP, or ISO_EARG. */
#define OPT_PAGE "--help="
#define OPT_NEXT OPT_PAGE "next:"
int opt_print_page(const struct opt_usage *u, const struct opt_set *sets, int argc, char **argv);

#endif
