/* SPDX-License-Identifier: BSD-3-Clause */
/* What is told of a struct: a table of its fields makes JSON, a table in text, or lines.

	static const struct fact widths[] = {
		FACT("height", struct iso_width, height),                         in JSON alone
		COLUMN("fwhm_mm", struct iso_width, fwhm, "FWHM mm", 12, 6),      in text too
		{ 0 },
	}; */
#ifndef ISO_FACTS_H
#define ISO_FACTS_H

#include "core/status.h"

#include <jansson.h>
#include <stddef.h>

enum fact_type {
	FACT_REAL,
	FACT_INT,
	FACT_INT64,
	FACT_BOOL,
	FACT_TEXT,  /* const char * */
	FACT_CHARS, /* an array of char */
	FACT_REALS, /* arrays */
	FACT_INTS,
	/* never from FACT_TYPE: */
	FACT_ENUM,   /* one of `words` */
	FACT_OBJECT, /* a struct with a table of its own */
};

struct fact {
	const char *key; /* of JSON; NULL: in the text alone */
	enum fact_type type;
	size_t at, size;           /* of the field, in bytes from the beginning of the struct */
	const char *title;         /* in text; NULL: in JSON alone */
	int width, digits;         /* of the column, to the left if negative; of a real number */
	bool or_null;              /* instead of a number that is not above 0, or of two that do not rise */
	const char *const *words;  /* of a FACT_ENUM */
	const struct fact *inside; /* of a FACT_OBJECT */
};

#define FACT_TYPE(field) \
	_Generic((field),              \
	         double: FACT_REAL,    \
	         int: FACT_INT,        \
	         int64_t: FACT_INT64,  \
	         bool: FACT_BOOL,      \
	         const char *: FACT_TEXT, \
	         char *: FACT_CHARS,   \
	         double *: FACT_REALS, \
	         int *: FACT_INTS)

#define FACT_AS(name, as, of, field, ...)                                                                \
	{                                                                                                \
		.key = name, .type = as, .at = offsetof(of, field), .size = sizeof((*(of *)NULL).field), \
		__VA_ARGS__                                                                              \
	}
#define FACT(name, of, field) FACT_AS(name, FACT_TYPE((*(of *)NULL).field), of, field, .title = NULL)
#define FACT_OR_NULL(name, of, field) \
	FACT_AS(name, FACT_TYPE((*(of *)NULL).field), of, field, .or_null = true)
#define FACT_PART(name, of, field, table) FACT_AS(name, FACT_OBJECT, of, field, .inside = table)
#define COLUMN(name, of, field, head, wide, precise)                                           \
	FACT_AS(name, FACT_TYPE((*(of *)NULL).field), of, field, .title = head, .width = wide, \
	        .digits = precise)

/* As members of an object, a new object, and a list of n objects that lie `stride` bytes apart. */
void facts_set(json_t *o, const struct fact *f, const void *v);
json_t *facts_json(const struct fact *f, const void *v);
json_t *facts_list(const struct fact *f, const void *v, int64_t n, size_t stride);

/* "warnings" of an object; and where a grid lies: "grid" and "extent_mm". */
void facts_warn(json_t *o, const char *fmt, ...) ISO_PRINTF(2, 3);
void facts_grid(json_t *o, const struct iso_grid *g);

/* On stdout: titles above n rows; a line for each fact, values in column `width`. */
void facts_table(const struct fact *f, const void *v, int64_t n, size_t stride);
void facts_lines(const struct fact *f, const void *v, int width);

#endif
