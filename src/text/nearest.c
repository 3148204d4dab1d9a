/* SPDX-License-Identifier: BSD-3-Clause */
/* Edit distance: letters put in, left out, exchanged, or swapped with their neighbour. */
#include "nearest.h"

#include <string.h>

enum { MAX_LENGTH = 64 }; /* no known word is longer */

static int least(int a, int b)
{
	return a < b ? a : b;
}

/* Row i of the table: distance between the first i letters of a and the first j of b. `up` and
   `up2` are the rows above. */
static void fill_row(int *row, const int *up, const int *up2, const char *a, int i, const char *b, int n)
{
	row[0] = i;
	for (int j = 1; j <= n; j++) {
		row[j] = least(up[j - 1] + (a[i - 1] != b[j - 1]), least(up[j], row[j - 1]) + 1);
		if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
			row[j] = least(row[j], up2[j - 2] + 1);
	}
}

static int distance(const char *a, int na, const char *b, int nb)
{
	int row[3][MAX_LENGTH + 1];

	for (int j = 0; j <= nb; j++) row[0][j] = j;
	for (int i = 1; i <= na; i++) fill_row(row[i % 3], row[(i + 2) % 3], row[(i + 1) % 3], a, i, b, nb);

	return row[na % 3][nb];
}

static const char *longer(const char *word, int length, int n, const char *const *known)
{
	for (int i = 0; i < n && length >= 3; i++)
		if (strncmp(known[i], word, (size_t)length) == 0) return known[i];

	return NULL;
}

const char *iso_nearest(const char *word, int n, const char *const *known)
{
	int length = (int)strnlen(word, MAX_LENGTH + 1);
	int limit = length < 3 ? 1 : length / 3; /* a third of the letters may be wrong */
	const char *best = NULL;

	if (length > MAX_LENGTH) return NULL;
	for (int i = 0; i < n; i++) {
		int nk = (int)strnlen(known[i], MAX_LENGTH + 1);
		int d = nk > MAX_LENGTH ? MAX_LENGTH : distance(word, length, known[i], nk);

		if (d <= limit && d < nk) { /* d = nk: no letter of the name is kept */
			best = known[i];
			limit = d - 1;
		}
	}
	return best ? best : longer(word, length, n, known);
}
