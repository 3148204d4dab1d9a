/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of numbers as text: 0:10:60,120,180 */
#include "number_list.h"

#include "base/fail.h"
#include "core/size.h"

#include <math.h>
#include <string.h>

/* FIRST:STEP:LAST, or one number; values from v on (NULL: they are only counted), at most `most`. How
   many, -1 if there are more or it is neither. LAST must be a whole number of steps away. */
static int parse_item(double *v, int most, const char *text, size_t size)
{
	const char *colon = memchr(text, ':', size), *second;
	double first, step, last, steps;

	if (!colon) {
		if (most < 1 || !iso_number(&first, text, size)) return -1;
		if (v) v[0] = first;
		return 1;
	}
	if (!(second = memchr(colon + 1, ':', size - (size_t)(colon + 1 - text))) ||
	    !iso_number(&first, text, (size_t)(colon - text)) ||
	    !iso_number(&step, colon + 1, (size_t)(second - colon - 1)) ||
	    !iso_number(&last, second + 1, size - (size_t)(second + 1 - text)))
		return -1;
	steps = (last - first) / step;
	if (!(step > 0 && steps > .5 && steps < most - .5) || fabs(steps - round(steps)) > 1e-6) return -1;
	for (int i = 0; v && i <= (int)round(steps); i++)
		v[i] = i == (int)round(steps) ? last : first + i * step;
	return (int)round(steps) + 1;
}

/* A list of such items between commas: how many values, -1 if one is none or there are more. */
static int parse_list(double *v, int most, const char *text)
{
	for (int n = 0;;) {
		size_t size = strcspn(text, ",");
		int m = parse_item(v ? v + n : NULL, most - n, text, size);

		if (m < 0) return -1;
		n += m;
		if (text[size] == '\0') return n;
		text += size + 1;
	}
}

int number_list_read(double **v, int *n, int least, int most, const char *text)
{
	int room;

	*n = text ? parse_list(NULL, most, text) : 0;
	room = *n > least ? *n : least;
	if (!(*v = size_alloc(room, sizeof **v)))
		return iso_fail_memory("list of numbers", room * (int64_t)sizeof **v);
	if (*n > 0) parse_list(*v, most, text);
	return ISO_OK;
}
