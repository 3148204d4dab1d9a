/* SPDX-License-Identifier: BSD-3-Clause */
/* The arrays of Wang 2013, and parts of them: fewer rings and views, or a few transducers. */
#include "wang.h"

#include <stdlib.h>
#include <string.h>

const int wang_every[WANG_SETS][2] = { { 1, 1 }, { 2, 1 }, { 2, 2 }, { 4, 2 } };
const int wang_scan_every[WANG_SCANS][2] = { { 1, 1 }, { 1, 4 } };

const char *wang_set_name(const struct wang_array *a, const int every[2], const char *by)
{
	return study_text("%d%s%d", (int)a->rings / every[0], by, (int)a->views / every[1]);
}

int wang_transducers(struct iso_transducers *t, const struct wang_array *a)
{
	const bool poles = a->polar[1] == 0;
	const double degree = M_PI / 180, n = (double)a->rings;
	const struct iso_rings rings = {
		.radius = 65,
		.rings = a->rings,
		.views = a->views,
		.polar_first = poles ? M_PI / (2 * n) : a->polar[0] * degree,
		.polar_step = poles ? M_PI / n : (a->polar[1] - a->polar[0]) * degree / (n - 1),
		.azimuth_step = 2 * M_PI / (double)a->views,
	};
	int st;

	*t = (struct iso_transducers){ .speed = 1.54,
		                       .dt_us = 1 / a->sampling_mhz,
		                       .first_us = 17.5,
		                       .samples = a->samples,
		                       .gamma = 2000 };
	if ((st = iso_transducers_rings(t, &rings)) || a->aperture == 0) return st;
	st = STUDY_NEW(t->aperture, 2 * t->n);
	for (int64_t i = 0; i < 2 * t->n && !st; i++) t->aperture[i] = a->aperture;
	return st;
}

/* Rows `which` of an array of n columns, unless there is none. */
static int take(double **few, const double *all, int64_t n, int columns, const int64_t *which)
{
	int st = all ? STUDY_NEW(*few, n * columns) : ISO_OK;

	for (int64_t i = 0; all && !st && i < n * columns; i++)
		(*few)[i] = all[which[i / columns] * columns + i % columns];
	return st;
}

/* Each stands for the surface of those that were left out. */
static int pick(struct iso_transducers *few, const struct iso_transducers *t, int64_t n, const int64_t *which)
{
	const int64_t first = 0;
	int st;

	*few = *t;
	few->n = n;
	few->pos = few->normal = few->ex = few->ey = few->aperture = few->area = few->eir = NULL;
	if ((st = take(&few->pos, t->pos, n, 3, which))) return st;
	if ((st = take(&few->normal, t->normal, n, 3, which))) return st;
	if ((st = take(&few->ex, t->ex, n, 3, which))) return st;
	if ((st = take(&few->ey, t->ey, n, 3, which))) return st;
	if ((st = take(&few->aperture, t->aperture, n, 2, which))) return st;
	if ((st = take(&few->area, t->area, n, 1, which))) return st;
	for (int64_t i = 0; few->area && i < n; i++) few->area[i] *= (double)t->n / (double)n;
	return take(&few->eir, t->eir, 1, (int)t->n_eir, &first);
}

static int64_t thinned(const struct wang_array *a, const int every[2])
{
	return a->rings / every[0] * (a->views / every[1]);
}

/* Number, in the whole array, of transducer i of the thinned one. */
static int64_t origin(const struct wang_array *a, const int every[2], int64_t i)
{
	int64_t views = a->views / every[1];

	return i / views * every[0] * a->views + i % views * every[1];
}

int wang_thin(struct iso_transducers *few, const struct iso_transducers *t, const struct wang_array *a,
              const int every[2])
{
	int64_t n = thinned(a, every), *which;
	int st = STUDY_NEW(which, n);

	if (st) return st;
	for (int64_t i = 0; i < n; i++) which[i] = origin(a, every, i);
	st = pick(few, t, n, which);
	free(which);
	return st;
}

int wang_part(struct iso_transducers *few, const struct iso_transducers *t, int64_t n)
{
	int64_t *which;
	int st;

	n = n < t->n ? n : t->n;
	if ((st = STUDY_NEW(which, n))) return st;
	for (int64_t i = 0; i < n; i++) which[i] = (2 * i + 1) * t->n / (2 * n);
	st = pick(few, t, n, which);
	free(which);
	return st;
}

int wang_thin_traces(iso_real **y, const iso_real *all, const struct wang_array *a, const int every[2])
{
	int64_t n = thinned(a, every), k = a->samples;
	int st = STUDY_NEW(*y, n * k);

	for (int64_t i = 0; i < n && !st; i++)
		memcpy(*y + i * k, all + origin(a, every, i) * k, (size_t)k * sizeof **y);
	return st;
}
