/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a text is a table of poses, told from its first bytes: other tables have the suffix .csv as well. */
#include "poses.h"
#include "text/table_text.h"

#include <string.h>

/* All values are names of columns of poses, time_s among them; or they are YRT-PET's 14 numbers between commas. */
static bool is_first(struct table_value line)
{
	struct table_value v[POSES_COLUMNS_MOST];
	int n = table_split(v, POSES_COLUMNS_MOST, line), names = 0, numbers = 0;
	bool time = false;
	double x;

	for (int i = 0; i < n && i < POSES_COLUMNS_MOST; i++) {
		enum poses_column c = poses_column_of(v[i].begin, (size_t)v[i].length);

		names += c != POSES_COLUMNS;
		time = time || c == POSES_TIME;
		numbers += table_number(&x, v[i]);
	}
	return n == 14 ? numbers == n && memchr(line.begin, ',', (size_t)line.length)
	               : n > 1 && names == n && time;
}

bool iso_poses_begins(const uint8_t *head, int64_t n)
{
	static const char says[] = "# isotome poses";
	const char *p = (const char *)head, *end = p + n;

	if (n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0) p += 3;
	while (p < end) {
		const char *stop = memchr(p, '\n', (size_t)(end - p));
		struct table_value line = { p, (int)((stop ? stop : end) - p) };

		while (line.length > 0 &&
		       (line.begin[line.length - 1] == '\r' || line.begin[line.length - 1] == ' '))
			line.length--;
		if (line.length >= (int)strlen(says) && memcmp(p, says, strlen(says)) == 0) return true;
		if (line.length > 0 && *p != '#') return is_first(line);
		p = stop ? stop + 1 : end;
	}
	return false;
}
