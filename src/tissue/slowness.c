/* SPDX-License-Identifier: BSD-3-Clause */
/* The slowness of a medium at the nodes that its tables are made on, and between them. */
#include "tissue_delays.h"

enum { POINTS = 8 }; /* along each edge of the cube round a node */

/* A mean over the cube where the medium has borders, or is finer than the nodes. */
static bool is_fine(const struct sound *m, double h)
{
	if (m->shape != ISO_TISSUE_MAP) return true;
	for (int a = 0; a < 3; a++)
		if (m->image_n[a] > 1 && m->image_voxel[a] < h) return true;
	return false;
}

static double at_node(const struct sound *m, const struct sound_nodes *g, const double x[3], bool fine)
{
	int n[3];
	double sum = 0;

	if (!fine) return sound_slowness(m, x);
	for (int a = 0; a < 3; a++) n[a] = g->n[a] > 1 ? POINTS : 1;
	for (int i = 0; i < n[0] * n[1] * n[2]; i++) {
		const int at[3] = { i % n[0], i / n[0] % n[1], i / n[0] / n[1] };
		double p[3];

		for (int a = 0; a < 3; a++) p[a] = x[a] + ((at[a] + .5) / n[a] - .5) * (n[a] > 1 ? g->h : 0);
		sum += sound_slowness(m, p);
	}
	return sum / (n[0] * n[1] * n[2]);
}

void iso_sound_slow(double *slow, const struct sound *m, const struct sound_nodes *g, int threads)
{
	bool fine = is_fine(m, g->h);

#pragma omp parallel for num_threads(threads) schedule(dynamic, 64)
	for (int64_t i = 0; i < sound_nodes_all(g); i++) {
		const int64_t at[3] = { i % g->n[0], i / g->n[0] % g->n[1], i / g->n[0] / g->n[1] };
		double x[3];

		for (int a = 0; a < 3; a++) x[a] = g->first[a] + (double)at[a] * g->h;
		slow[i] = at_node(m, g, x, fine);
	}
}

double iso_sound_between(const double *slow, const struct sound_nodes *g, double water, const double x[3])
{
	int64_t first = 0, step = 1, across[3];
	double f[3], sum = 0;

	for (int a = 0; a < 3; a++) {
		double at = g->n[a] > 1 ? (x[a] - g->first[a]) / g->h : 0, last = (double)(g->n[a] - 1);

		if (!(at >= 0 && at <= last)) return water;
		int64_t low = (int64_t)at;

		if (low > 0 && low == g->n[a] - 1) low--;
		f[a] = at - (double)low;
		across[a] = g->n[a] > 1 ? step : 0;
		first += low * step;
		step *= g->n[a];
	}
	for (int k = 0; k < 8; k++) {
		int64_t i = first;
		double w = 1;

		for (int a = 0; a < 3; a++) {
			w *= k >> a & 1 ? f[a] : 1 - f[a];
			i += k >> a & 1 ? across[a] : 0;
		}
		sum += w * slow[i];
	}
	return sum;
}

double iso_sound_along(const struct sound_medium *w, double water, const double s[3], const double r[3])
{
	double d = sound_length(s, r), sum = 0;
	int64_t n = (int64_t)ceil(2 * d / w->whole.h);

	for (int64_t i = 0; i < n; i++) {
		double part = ((double)i + .5) / (double)n, x[3];

		for (int a = 0; a < 3; a++) x[a] = s[a] + part * (r[a] - s[a]);
		sum += iso_sound_between(w->slow, &w->whole, water, x) - water;
	}
	return n > 0 ? sum * d / (double)n : 0;
}
