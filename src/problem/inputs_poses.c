/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of poses as models read them. */
#include "inputs.h"

#include "core/size.h"

static int of_array(iso_poses **p, const struct iso_array *a, const char *path,
                    const struct iso_poses_options *o)
{
	int columns = a->n_dim == 2 ? (int)a->dim[1] : 0;
	double *rows;
	int st;

	if (columns < 1)
		return iso_fail(ISO_EARG, "%s: an array of poses has two axes, rows of 8 or 13", path);
	if (!(rows = size_alloc(a->n, sizeof *rows)))
		return iso_fail_memory("poses", a->n * (int64_t)sizeof *rows);
	for (int64_t i = 0; i < a->n; i++) rows[i] = (double)a->v[i];
	st = iso_poses_create(p, rows, a->dim[0], columns, o, path);
	free(rows);
	return st;
}

int input_poses(iso_poses **p, struct record *record, const char *path, const struct iso_poses_options *o)
{
	const struct iso_array *given = &record_given(record, path)->array;
	int st = given->v ? of_array(p, given, path, o) : iso_poses_read(p, path, o);

	if (!st) st = record_input(record, path);
	if (!st && iso_poses_note(*p)[0]) record_warn(record, "%s: %s", path, iso_poses_note(*p));
	return st;
}
