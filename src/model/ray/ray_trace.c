/* SPDX-License-Identifier: BSD-3-Clause */
/* Tracing on the CPU: the row of an event, which may have several lines, by either projector. */
#include "ray_trace.h"

#define RUN 64  /* samples at a time: stays in the first-level cache */
#define LANES 4 /* work on them goes on to a multiple */

/* ---- Joseph ---- */

struct samples {
	iso_real w[RUN + LANES], share[4][RUN];
	int voxel[4][RUN];
};

static int padded(int n)
{
	return (n + LANES - 1) / LANES * LANES;
}

static void sample_run(struct samples *restrict s, const struct ray *ray, int k, int n)
{
	const struct ray r = *ray;
	const int last = k + n - 1, slices = padded(n);

	for (int i = 0; i < slices; i++) {
		struct ray_sample a = ray_sample_slice(&r, k + i < last ? k + i : last);

		for (int p = 0; p < 4; p++) {
			s->share[p][i] = a.share[p];
			s->voxel[p][i] = a.voxel[p];
		}
	}
}

/* The slices' weights follow each other as pieces do. */
static void weigh_run(struct samples *s, const struct ray *r, const struct ray_tof *tof, int k, int n)
{
	iso_real x[RUN + 1];

	for (int i = 0; i <= n; i++) x[i] = ray_clamp((iso_real)(k + i), r->x0, r->x1);
	iso_ray_shares(x, n + 1, r, tof);
	iso_ray_weigh(s->w, x, x + 1, n, r, tof);
}

static int keep_samples(int *restrict voxel, iso_real *restrict w, const struct samples *restrict s, int n)
{
	int m = 0;

	for (int i = 0; i < n; i++)
		for (int p = 0; p < 4; p++) {
			voxel[m] = s->voxel[p][i];
			w[m] = s->share[p][i] * s->w[i];
			m += w[m] > 0;
		}
	return m;
}

static void trace_joseph(struct ray_list *l, const struct ray *r, const struct ray_tof *tof)
{
	struct samples s;

	for (int k = r->k0; k < r->k1; k += RUN) {
		int n = r->k1 - k < RUN ? r->k1 - k : RUN;

		sample_run(&s, r, k, n);
		weigh_run(&s, r, tof, k, n);
		l->n += keep_samples(l->voxel + l->n, l->w + l->n, &s, n);
	}
}

/* ---- a row ---- */

static int slices(const struct ray_grid *g)
{
	int n = g->n[0] > g->n[1] ? g->n[0] : g->n[1];

	return n > g->n[2] ? n : g->n[2];
}

/* Entries of the longest row, and some written and not kept. */
static int64_t longest(const struct ray_grid *g, const struct ray_spread *s)
{
	int64_t chords = iso_ray_cut_room(slices(g)), samples = 4 * (int64_t)slices(g);

	return s->lines * (chords > samples ? chords : samples) + 4;
}

#define ROUND_UP(n) (((n) + 127) / 128 * 128) /* lists of different threads share no cache line */

int64_t iso_ray_list_bytes(const struct ray_grid *g, const struct ray_spread *s)
{
	int64_t entry = sizeof(double) + sizeof(iso_real) + sizeof(int);

	return ROUND_UP(longest(g, s) * entry) + ROUND_UP(iso_ray_cuts_bytes(slices(g)));
}

struct ray_list iso_ray_list(void *memory, const struct ray_grid *g, const struct ray_spread *s)
{
	int64_t n = longest(g, s), entry = sizeof(double) + sizeof(iso_real) + sizeof(int);
	double *term = memory;
	iso_real *w = (iso_real *)(term + n);

	return (struct ray_list){ .term = term,
		                  .w = w,
		                  .voxel = (int *)(w + n),
		                  .cuts = iso_ray_cuts((char *)memory + ROUND_UP(n * entry), slices(g)) };
}

/* Entries that weigh nothing, so that there are whole fours. */
static void fill_up(struct ray_list *l)
{
	for (int n = l->n; l->n > 0 && n % 4 != 0; n++) {
		l->voxel[n] = l->voxel[0];
		l->w[n] = 0;
	}
}

void iso_ray_trace(struct ray_list *l, const struct ray_model *m, const struct iso_event *e)
{
	const struct ray_between_crystals b = ray_lines_of_event(m, e);

	l->n = 0;
	for (int i = 0; i < m->spread.lines; i++) {
		struct ray r = ray_of_lines(m, e, &b, i);

		if (r.k0 >= r.k1) continue;
		if (m->projector == ISO_JOSEPH)
			trace_joseph(l, &r, &m->tof);
		else
			l->n += iso_ray_cut(l->voxel + l->n, l->w + l->n, &l->cuts, &r, &m->tof);
	}
	if (m->spread.lines > 1)
		for (int i = 0; i < l->n; i++) l->w[i] /= (iso_real)m->spread.lines;
	fill_up(l);
}
