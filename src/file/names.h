/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of a run, known by what they are and not by how they are spelled: a file that exists by
   device and inode, one that does not by those of its folder and its name there. */
#ifndef ISO_NAMES_H
#define ISO_NAMES_H

#include "isotome.h"

struct iso_names {
	int64_t n;
	struct iso_name *v;
};

/* `what` the file is to the user: "--curve", "the record of --output". A path whose folder is not
   there is left out: it is no other file. */
int iso_names_add(struct iso_names *s, bool output, const char *path, const char *what);

/* ISO_EARG if an output is another output, or an input. */
int iso_names_check(const struct iso_names *s);

/* The same of one more input. */
int iso_names_check_input(const struct iso_names *s, const char *path);

void iso_names_free(struct iso_names *s);

#endif
