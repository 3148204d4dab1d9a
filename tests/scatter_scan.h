/* SPDX-License-Identifier: BSD-3-Clause */
/* A scan with scatter that is known, for tests of its correction. The ring is small, so that an estimate takes 0.3 s of a
   core: five sample rings, and scatter points every 10 mm.

   The scan: trues of a water cylinder with a cold rod by iso_simulate; f is then known, as the sum of S f is their number.
   Scattered events are drawn from the estimate of that f: pair by pair, Poisson numbers, with times by its density. */
#ifndef ISO_SCATTER_SCAN_H
#define ISO_SCATTER_SCAN_H

#include "core/philox.h"
#include "scanner/scanner.h"
#include "test.h"

#include <jansson.h>

#define RADIUS 50.
#define ROD 15.
#define ROD_X 20.
#define HALF_LENGTH 40.
#define VOXEL 5.
#define MM_PER_PS .149896229 /* of u */

enum {
	STEPS = 20,   /* of u, from which times are drawn */
	LINES = 1024, /* that are looked at together */
	ACROSS = 26,  /* voxels */
	PLANES = 18,
};

static struct world {
	iso_ctx *ctx;
	iso_scanner *ring;
	struct iso_array f, mu;
	struct iso_events trues, all; /* all: with scatter */
	double scattered;             /* expected */
} w;

static inline void write_ring(void)
{
	FILE *f = fopen("ring.yaml", "w");

	assert_non_null(f);
	fputs("kind: cylinder\nname: test ring\nradius_mm: 150\nrings: 8\nring_pitch_mm: 10.6\n"
	      "crystals_per_ring: 96\ncrystal_mm: [9.5, 9.9, 20]\nmin_crystal_distance: 19\n"
	      "tof: {fwhm_ps: 300}\ntime: {coincidence_ns: 3}\npair_weight: solid-angle\n",
	      f);
	fclose(f);
}

/* Where voxel i of a grid of such voxels around 0 is. */
static inline void place_of(double at[3], const struct iso_grid *g, int64_t i)
{
	const int64_t of[3] = { i % g->n[0], i / g->n[0] % g->n[1], i / g->n[0] / g->n[1] };

	for (int a = 0; a < 3; a++) at[a] = ((double)of[a] - .5 * (double)(g->n[a] - 1)) * VOXEL;
}

/* The map ends where the object does. */
static inline void make_object(void)
{
	const struct iso_grid g = { .n = { ACROSS, ACROSS, PLANES }, .voxel = { VOXEL, VOXEL, VOXEL } };
	const struct iso_grid m = { .n = { ACROSS - 2, ACROSS - 2, PLANES - 2 },
		                    .voxel = { VOXEL, VOXEL, VOXEL } };
	double at[3];

	OK(iso_array_on_grid(&w.f, &g));
	OK(iso_array_on_grid(&w.mu, &m));
	for (int64_t i = 0; i < w.f.n; i++) {
		place_of(at, &g, i);
		w.f.v[i] = (iso_real)(hypot(at[0], at[1]) < RADIUS && fabs(at[2]) < HALF_LENGTH &&
		                      hypot(at[0] - ROD_X, at[1]) > ROD);
	}
	for (int64_t i = 0; i < w.mu.n; i++) {
		place_of(at, &m, i);
		w.mu.v[i] = (iso_real)(hypot(at[0], at[1]) < RADIUS ? .0096 : 0);
	}
}

/* The sensitivity of the ring with mu; f becomes counts per mm of so many trues. */
static inline void scale_image(double counts)
{
	struct iso_ray_sens p = {
		.size = sizeof p, .grid = w.f.grid, .scanner = w.ring, .mu = &w.mu, .share = 1
	};
	iso_real *s = calloc((size_t)w.f.n, sizeof *s);
	double error, sum = 0;

	OK(iso_ray_sens(s, &error, w.ctx, &p));
	for (int64_t i = 0; i < w.f.n; i++) sum += (double)s[i] * (double)w.f.v[i];
	for (int64_t i = 0; i < w.f.n; i++) w.f.v[i] = (iso_real)((double)w.f.v[i] * counts / sum);
	free(s);
}

static inline struct iso_scatter estimate_of(const struct iso_array *f)
{
	return (struct iso_scatter){ .size = sizeof(struct iso_scatter),
		                     .method = ISO_SCATTER_SSS,
		                     .scanner = w.ring,
		                     .image = f,
		                     .mu = &w.mu,
		                     .tof_fwhm_ps = 300,
		                     .window_kev = { 350, 650 },
		                     .resolution = .11 };
}

static inline int64_t poisson(double mean, uint64_t number)
{
	struct philox d = philox_draw(77, number, 0);
	double u = philox_unit_double(d.w[0], d.w[1]), p = exp(-mean);
	int64_t k = 0;

	for (; u > p && k < 1000; k++) {
		u -= p;
		p *= mean / (double)(k + 1);
	}
	return k;
}

/* Times of n events of a line, from its density at STEPS places. */
static inline void draw_times(struct iso_event *e, int64_t n, const iso_real *h, double step_ps,
                              uint64_t number)
{
	double sum = 0;

	for (int k = 0; k < STEPS; k++) sum += (double)h[k];
	for (int64_t j = 0; j < n; j++) {
		struct philox d = philox_draw(78, number, (uint64_t)j);
		double u = philox_unit_double(d.w[0], d.w[1]) * sum;
		int k = 0;

		while (k < STEPS - 1 && u > (double)h[k]) u -= (double)h[k++];
		e[j].dt_ps = (float)((k - STEPS / 2 + .5 + philox_unit(d.w[2]) - .5) * step_ps);
	}
}

/* Places along the line of a pair. */
static inline void set_line(struct iso_event line[STEPS], int64_t pair, double step_ps)
{
	const double *at = iso_scanner_positions(w.ring);
	int64_t a, b;

	iso_scanner_pair(&a, &b, w.ring, pair);
	for (int k = 0; k < STEPS; k++) {
		for (int c = 0; c < 3; c++) {
			line[k].p1[c] = (float)at[3 * a + c];
			line[k].p2[c] = (float)at[3 * b + c];
		}
		line[k].dt_ps = (float)((k - STEPS / 2 + .5) * step_ps);
	}
}

static inline void append(struct iso_events *to, int64_t *room, const struct iso_event *line, int64_t n)
{
	if (to->n + n > *room) {
		*room = (to->n + n) * 2;
		to->v = realloc(to->v, (size_t)*room * sizeof *to->v);
		assert_non_null(to->v);
	}
	for (int64_t j = 0; j < n; j++) to->v[to->n + j] = *line;
	to->n += n;
}

/* Appends the scattered events of a table; returns how many are expected. */
static inline double add_scatter(struct iso_events *to, const iso_scatter_table *t)
{
	double step_ps = 2 * 150 / MM_PER_PS / STEPS * 1.2, all = 0;
	int64_t pairs = iso_scanner_pairs(w.ring), room = to->n;
	struct iso_event *line = malloc(LINES * STEPS * sizeof *line);
	iso_real *h = malloc(LINES * STEPS * sizeof *h);

	assert_true(line && h);
	for (int64_t first = 0; first < pairs; first += LINES) {
		int64_t m = pairs - first < LINES ? pairs - first : LINES;
		struct iso_events e = { .n = m * STEPS, .v = line };

		for (int64_t i = 0; i < m; i++) set_line(line + i * STEPS, first + i, step_ps);
		OK(iso_scatter_at(h, w.ctx, t, &e, 0));
		for (int64_t i = 0; i < m; i++) {
			const iso_real *own = h + i * STEPS;
			double sum = 0;

			for (int k = 0; k < STEPS; k++) sum += (double)own[k] * step_ps * MM_PER_PS;
			int64_t n = poisson(sum, (uint64_t)(first + i));

			all += sum;
			append(to, &room, line + i * STEPS, n);
			draw_times(to->v + to->n - n, n, own, step_ps, (uint64_t)(first + i));
		}
	}
	free(line);
	free(h);
	return all;
}

/* Trues and scatter in turn, as a scan has them. */
static inline void mix(struct iso_events *e)
{
	for (int64_t i = e->n - 1; i > 0; i--) {
		struct philox d = philox_draw(79, (uint64_t)i, 0);
		int64_t j = (int64_t)(philox_unit_double(d.w[0], d.w[1]) * (double)(i + 1));
		struct iso_event x = e->v[i];

		e->v[i] = e->v[j];
		e->v[j] = x;
	}
}

static inline void simulate_trues(struct iso_events *e, double counts)
{
	struct iso_simulated info = { .size = sizeof info };
	struct iso_simulate p = { .size = sizeof p,
		                  .scanner = w.ring,
		                  .activity = &w.f,
		                  .mu = &w.mu,
		                  .counts = counts,
		                  .exact_counts = true,
		                  .tof_fwhm_ps = 300,
		                  .seed = 5 };

	OK(iso_simulate(e, &info, w.ctx, &p));
}

/* Trues and scatter of a scan with so many trues, f in counts of it; *trues: the former alone, or NULL. */
static inline void make_scan(struct iso_events *all, struct iso_events *trues, double counts,
                             double *scattered)
{
	struct iso_scatter s = estimate_of(&w.f);
	iso_scatter_table *t = NULL;
	double sum = 0;

	scale_image(counts);
	simulate_trues(all, counts);
	if (trues) {
		*trues = (struct iso_events){ .n = all->n, .v = malloc((size_t)all->n * sizeof *all->v) };
		assert_non_null(trues->v);
		memcpy(trues->v, all->v, (size_t)all->n * sizeof *all->v);
	}
	OK(iso_scatter_create(&t, w.ctx, &s));
	*scattered = add_scatter(all, t);
	mix(all);
	OK(iso_scatter_sum(&sum, w.ctx, t, NULL, 1, 1));
	print_message("%.0f trues, %.0f scattered, %.0f by all pairs\n", counts, *scattered, sum);
	NEAR(sum, *scattered, .01 * sum);
	iso_scatter_free(t);
}

static inline int begin(void **state)
{
	(void)state;
	w.ctx = cpu(2);
	write_ring();
	OK(iso_scanner_read(&w.ring, "ring.yaml"));
	make_object();
	make_scan(&w.all, &w.trues, sized(100000, 40000), &w.scattered);
	OK(iso_events_write("all.lmdT", &w.all, NULL));
	return 0;
}

static inline int end(void **state)
{
	(void)state;
	iso_events_free(&w.trues);
	iso_events_free(&w.all);
	iso_array_free(&w.f);
	iso_array_free(&w.mu);
	iso_scanner_free(w.ring);
	iso_ctx_free(w.ctx);
	return 0;
}

/* ---- runs ---- */

static inline iso_problem *problem_of(const struct iso_events *e, bool scatter)
{
	iso_problem *p = NULL;

	OK(iso_problem_create(&p, w.ctx, "ray"));
	if (e)
		OK(iso_problem_set_events(p, "events", e));
	else
		OK(iso_problem_set(p, "events", "all.lmdT"));
	OK(iso_problem_set_array(p, "mu", &w.mu, false));
	OK(iso_problem_set(p, "scanner", "ring.yaml"));
	OK(iso_problem_set(p, "grid", "26,26,18"));
	OK(iso_problem_set(p, "voxel", "5"));
	OK(iso_problem_set(p, "tof-fwhm-ps", "0"));
	OK(iso_problem_set(p, "method", "osem"));
	OK(iso_problem_set(p, "iterations", "3"));
	if (!scatter) return p;
	OK(iso_problem_set(p, "scatter", "sss"));
	OK(iso_problem_set(p, "scatter-rounds", "2"));
	OK(iso_problem_set(p, "energy-window", "350,650"));
	OK(iso_problem_set(p, "energy-resolution", "0.11"));
	return p;
}

static inline void reconstruct(struct iso_array *x, const struct iso_events *e, bool scatter,
                               const char *name, const char *value)
{
	iso_problem *p = problem_of(e, scatter);

	if (name) OK(iso_problem_set(p, name, value));
	OK(iso_problem_recon(x, NULL, p));
	iso_problem_free(p);
}

/* Mean of the body in the middle planes, away from the rod; of the rod. */
static inline double mean_of(const struct iso_array *x, bool rod)
{
	double sum = 0, n = 0;

	for (int64_t i = 0; i < x->n; i++) {
		double at[3];

		place_of(at, &x->grid, i);
		double far = hypot(at[0] - ROD_X, at[1]);
		bool in = hypot(at[0], at[1]) < 42 && fabs(at[2]) < 26 &&
		          (rod ? far < ROD - 6 : far > ROD + 10);

		sum += in ? (double)x->v[i] : 0;
		n += in;
	}
	return sum / n;
}

static inline json_t *record_of(iso_problem *p)
{
	char *text = NULL;
	json_error_t error;
	json_t *root;

	OK(iso_problem_record(&text, p));
	root = json_loads(text, 0, &error);
	assert_non_null(root);
	free(text);
	return root;
}

static inline const json_t *scatter_of(const json_t *record)
{
	return json_object_get(json_object_get(record, "results"), "scatter");
}

static inline double number(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	assert_true(json_is_number(v));
	return json_number_value(v);
}

#endif
