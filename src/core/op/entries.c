/* SPDX-License-Identifier: BSD-3-Clause */
/* A list of entries that grows. */
#include "entries.h"

#include <stdlib.h>

static void grow(struct iso_entries *l)
{
	const int64_t room = l->room ? 2 * l->room : 4096;
	int32_t *voxel = realloc(l->voxel, (size_t)room * sizeof *voxel);

	if (voxel) l->voxel = voxel;
	iso_real *w = voxel ? realloc(l->w, (size_t)room * sizeof *w) : NULL;

	if (w) l->w = w;
	l->failed = !w;
	if (w) l->room = room;
}

void iso_entries_add(struct iso_entries *l, int64_t voxel, iso_real w)
{
	if (!(w > 0)) return;
	if (l->n == l->room && !l->failed) grow(l);
	if (l->failed) return;
	l->voxel[l->n] = (int32_t)voxel;
	l->w[l->n++] = w;
}

void iso_entries_free(struct iso_entries *l)
{
	free(l->voxel);
	free(l->w);
	*l = (struct iso_entries){ 0 };
}
