/* SPDX-License-Identifier: BSD-3-Clause */
/* The dual-head experiments' tools: matrix, scans, reconstructions, times. */
#include "dual.h"

#include "core/philox.h"
#include "image/places.h"

#include <stdlib.h>
#include <string.h>

enum {
	PIECE = 1 << 22, /* decays that a scan simulates at a time, */
	EVENT = 12,      /* and bytes of each */
	SAMPLES = 5,     /* an axis, in voxels that a surface crosses */
	PIXELS = 420,    /* of a picture's longer side, about */
};

#define MATRIX_SEED 1
#define LONG_S 1. /* work that takes longer is timed once */

/* ---- set-up ---- */

int dual_open(struct dual *d, const char *scanner_text)
{
	const struct iso_srm_options o = { .size = sizeof o, .seed = MATRIX_SEED };
	int st = study_scanner(&d->scanner, scanner_text);

	if (st) return st;
	const struct iso_panels *p = iso_scanner_panels(d->scanner);

	iso_panels_grid(&d->grid, p);
	d->lors = iso_panels_lors(p);
	return iso_srm_create(&d->srm, p, &o);
}

int dual_plan(struct cmd *c, const char *scanner_text, int n_sub, int histograms)
{
	struct iso_plan lines = { 0 };
	iso_scanner *s = NULL;
	struct iso_grid g;
	int st = bench_scanner(&s, scanner_text);

	if (st) return st;
	int64_t lors = iso_panels_lors(iso_scanner_panels(s));

	iso_panels_grid(&g, iso_scanner_panels(s));
	iso_scanner_free(s);
	iso_plan_add(&lines, "histograms of LORs", histograms * lors, sizeof(iso_real), false);
	iso_plan_add(&lines, "events", PIECE, EVENT, false);
	iso_em_plan(&lines, c->ctx, iso_grid_voxels(&g), lors, n_sub, 1);
	return cmd_plan(c, &lines);
}

int dual_simulate(struct dual *d, double pairs, double share)
{
	const struct iso_srm_bound bound = { .share = share };
	struct iso_srm_info info = { .size = sizeof info };
	double start_s = iso_now_s();
	int st = iso_srm_info(&info, d->srm);

	if (!st && pairs > (double)info.pairs)
		st = iso_srm_simulate(d->srm, d->s.fast, info.pairs ? iso_srm_next(d->srm) : 0,
		                      (int64_t)pairs - info.pairs, 0);
	if (!st) st = iso_srm_threshold(d->srm, d->s.cpu, &bound);
	d->matrix_s += iso_now_s() - start_s;
	return st;
}

int dual_phantom(struct iso_array *x, const struct dual *d, const char *name, const double at[3])
{
	return study_phantom(x, &d->s, name, at, &d->grid, SAMPLES);
}

int dual_scan(iso_real **y, iso_real **delayed, const struct dual *d, const struct dual_scan *s)
{
	struct iso_array truth = { 0 };
	struct iso_panel_simulate p = {
		.size = sizeof p, .scanner = d->scanner, .activity = &truth, .exact = true
	};
	iso_panel_scan_run *run = NULL;
	int64_t n;
	int st;

	p.transport.seed = s->seed;
	p.counts = s->trues + s->randoms;
	p.randoms = s->randoms / p.counts;
	if ((st = dual_phantom(&truth, d, s->phantom, s->at)) || (st = STUDY_NEW(*y, d->lors))) goto done;
	if ((st = iso_panel_simulate_open(&run, d->s.fast, &p))) goto done;
	if ((st = iso_panel_simulate_events(*y, run, NULL, NULL)) || !delayed) goto done;
	if (!(st = STUDY_NEW(*delayed, d->lors))) st = iso_panel_simulate_delayed(*delayed, &n, run);
done:
	iso_panel_simulate_free(run);
	iso_array_free(&truth);
	return st ? st : study_poll(&d->s);
}

/* ---- reconstruction ---- */

int dual_model_open(struct dual_model *m, const struct dual *d, iso_ctx *ctx, enum srm_strategy s, int n_sub)
{
	struct iso_srm_model p = { .size = sizeof p, .srm = d->srm, .n_sub = n_sub };

	p.rule = n_sub > 1 && d->deal ? ISO_RANDOM : ISO_GROUPS;
	p.seed = d->deal;
	*m = (struct dual_model){ .grid = d->grid };
	return srm_strategy_create(&m->op, ctx, &p, s);
}

void dual_model_close(struct dual_model *m)
{
	iso_op_free(m->op);
	free(m->sens);
	*m = (struct dual_model){ 0 };
}

void dual_release(void *state)
{
	struct dual *d = state;

	dual_model_close(&d->model);
	iso_scanner_free(d->scanner);
	iso_srm_free(d->srm);
}

/* Sensitivity of each subset, once: its adjoint of ones. */
static int make_sens(struct dual_model *m)
{
	iso_ctx *ctx = iso_op_ctx(m->op);
	const struct iso_vec *v = iso_ctx_vec(ctx);
	const int64_t n = iso_op_n_in(m->op), rows = iso_op_n_out(m->op), n_sub = iso_op_n_sub(m->op);
	struct iso_room room = iso_room_of(ctx, "reproduce");
	iso_real *x, *ones;
	int st;

	if (m->sens) return ISO_OK;
	ISO_DEVICE(&room, x, n);
	ISO_DEVICE(&room, ones, rows);
	if ((st = room.status) || (st = v->fill(ctx, rows, ones, 1))) goto done;
	st = STUDY_NEW(m->sens, n * n_sub);
	for (int k = 0; k < n_sub && !st; k++)
		if (!(st = iso_adjoint(x, m->op, k, ones)))
			st = v->download(ctx, m->sens + k * n, x, n * (int64_t)sizeof *x);
done:
	iso_room_free(&room);
	return st;
}

int dual_recon(struct iso_array *x, double *seconds, struct dual_model *m, int iterations, const iso_real *y,
               const struct iso_run *run)
{
	struct iso_em em = { .size = sizeof em, .op = m->op, .iterations = iterations, .grid = m->grid };
	int n_sub = iso_op_n_sub(m->op), st;
	double start_s;

	if ((st = make_sens(m)) || (st = iso_array_on_grid(x, &m->grid))) return st;
	strcpy(x->unit, "decays");
	em.data.y = y;
	em.sens = (struct iso_sens){ n_sub, n_sub, m->sens };
	for (int64_t i = 0; i < n_sub * x->n; i++) /* ones where the scanner sees anything */
		if (m->sens[i] > 0) x->v[i % x->n] = 1;
	start_s = iso_now_s();
	st = iso_em_run(x->v, NULL, &em, run);
	if (seconds) *seconds = (iso_now_s() - start_s) / iterations;
	return st;
}

/* ---- times: of ones, and of a first update from ones ---- */

static int median(double *out, struct bench_op *b, enum bench_task task, bool all, int repeats)
{
	double s[BENCH_MOST_REPEATS];
	int st = bench_task(s, b, task, all, 1);

	if (st) return st;
	if (s[0] > LONG_S)
		repeats = 1;
	else
		st = bench_task(s, b, task, all, repeats);
	if (!st) *out = bench_time(repeats, s).median;
	return st;
}

/* In a step of EM the counts are those of the ones: every quotient is 1. */
int dual_time(struct dual_times *t, const struct dual_model *m, int what, int repeats)
{
	struct bench_op b;
	int st = bench_open(&b, m->op, true);

	*t = DUAL_NO_TIMES;
	if (!st && what & DUAL_SUBSET) st = median(&t->forward_sub, &b, BENCH_FORWARD, false, repeats);
	if (!st && what & DUAL_SUBSET) st = median(&t->back_sub, &b, BENCH_ADJOINT, false, repeats);
	if (!st && what & DUAL_ALL) st = median(&t->forward, &b, BENCH_FORWARD, true, repeats);
	if (!st && what & DUAL_ALL) st = median(&t->back, &b, BENCH_ADJOINT, true, repeats);
	if (!st && what & DUAL_ITERATION && !(st = iso_forward(b.y, b.op, ISO_ALL, b.ones)))
		st = median(&t->iteration, &b, BENCH_STEP, true, repeats);
	iso_room_free(&b.room);
	return st;
}

int dual_ladder(struct dual_ladder *l, const struct dual *d, int repeats)
{
	double s[BENCH_MOST_REPEATS];
	struct dual_model m = { 0 };
	struct bench_op b;
	int st;

	*l = (struct dual_ladder){ { NAN, NAN, NAN, NAN }, { NAN, NAN } };
	if (!d->s.cuda) return ISO_OK;
	if ((st = dual_model_open(&m, d, d->s.cuda, SRM_COMBINED, 1))) return st;
	st = bench_open(&b, m.op, true);
	for (int k = 0; k <= ISO_SRM_STEPS && !st; k++) {
		const bool last = k == ISO_SRM_STEPS;
		const struct iso_srm_ladder p = { last ? ISO_SRM_SHARED : (enum iso_srm_step)k,
			                          last ? 1 : 128 };

		for (int i = -1; i < repeats && !st; i++) /* the first warms up */
			st = iso_srm_ladder_forward(s + (i < 0 ? 0 : i), m.op, &p, b.q, b.ones);
		if (!st) l->step[k] = bench_time(repeats, s).median;
	}
	for (int k = 0; k < 2 && !st; k++)
		if (!(st = iso_srm_ladder_columns(m.op, d->srm, k == 1)))
			st = median(&l->columns[k], &b, BENCH_ADJOINT, true, repeats);
	iso_room_free(&b.room);
	dual_model_close(&m);
	return st;
}

/* ---- slices ---- */

/* The mean of the slices across an axis within `half` mm of 0: an image of one slice, which ends `reach`
   mm from the middle (0: with the image). At least the voxels next to 0 are taken. */
static int slab(struct iso_array *mean, const struct iso_array *x, int axis, double half, double reach)
{
	const int64_t step[3] = { 1, x->grid.n[0], x->grid.n[0] * x->grid.n[1] };
	struct iso_grid g = x->grid;
	int64_t first[3] = { 0 }, last, slices = 0;
	int st;

	for (int a = 0; a < 3; a++) {
		double to = fmax(a == axis ? half : reach, g.voxel[a] / 2);

		if (a != axis && reach == 0) continue;
		iso_measure_range(&first[a], &last, &x->grid, a, -to, to);
		g.n[a] = last - first[a] + 1;
		g.centre[a] = 0;
		if (a == axis) slices = g.n[a];
	}
	g.n[axis] = 1;
	if ((st = iso_array_on_grid(mean, &g))) return st;
	for (int64_t i = 0; i < mean->n; i++) {
		const int64_t at[3] = { i % g.n[0], i / g.n[0] % g.n[1], i / g.n[0] / g.n[1] };
		const iso_real *v = x->v;
		double sum = 0;

		for (int a = 0; a < 3; a++) v += (first[a] + at[a]) * step[a];
		for (int64_t k = 0; k < slices; k++) sum += v[k * step[axis]];
		mean->v[i] = (iso_real)(sum / (double)slices);
	}
	return ISO_OK;
}

int dual_pstd(double *pstd, const struct iso_array *x, int axis, const double centre[3], double radius)
{
	struct iso_roi disc = { ISO_ROI_CYLINDER, .radius = radius, .length = 1, .axis = axis };
	struct iso_array mean = { 0 };
	struct iso_roi_stats stats = { .size = sizeof stats };
	int st = slab(&mean, x, axis, DUAL_SLICES, 0);

	memcpy(disc.centre, centre, sizeof disc.centre);
	if (!st) st = iso_measure_roi(&stats, &mean, &disc);
	*pstd = stats.pstd;
	iso_array_free(&mean);
	return st;
}

static int by_value(const void *a, const void *b)
{
	iso_real x = *(const iso_real *)a, y = *(const iso_real *)b;

	return (x > y) - (x < y);
}

/* Of x and y one has a single place in the plane. One pixel in 500 exceeds the last colour: voxels at the
   corners, which hardly any LOR sees, must not set the colours of all others. */
int dual_draw(struct dual *d, const struct iso_array *x, const struct dual_view *v)
{
	struct iso_array plane = { 0 };
	const int64_t *n = plane.grid.n;
	struct study_plane s = { 0 };
	iso_real *sorted = NULL;
	int st = slab(&plane, x, v->across_x ? 0 : 1, v->half > 0 ? v->half : DUAL_SLICES, v->reach);

	if (st || (st = STUDY_NEW(sorted, plane.n))) goto done;
	memcpy(sorted, plane.v, (size_t)plane.n * sizeof *sorted);
	qsort(sorted, (size_t)plane.n, sizeof *sorted, by_value);
	s.top = sorted[plane.n - 1 - plane.n / 500];
	s.right = n[2];
	s.up = s.step_right = n[0] * n[1];
	s.step_up = 1;
	s.v = plane.v;
	s.zoom = PIXELS / (s.up > s.right ? s.up : s.right) + 1;
	s.stretch = lround(plane.grid.voxel[n[0] == 1] / plane.grid.voxel[2]);
	st = study_draw(&d->s, v->key, &s, v->name, v->alt, v->note ? v->note : "");
done:
	free(sorted);
	iso_array_free(&plane);
	return st;
}

int dual_profile(double *value, double *place, const struct iso_array *x, double at, double half)
{
	const struct iso_profile p = { { at, 0, -half }, { at, 0, half }, .samples = DUAL_SAMPLES };
	struct iso_array mean = { 0 };
	double sum = 0;
	int st = slab(&mean, x, 1, DUAL_SLICES, 0);

	if (!st) st = iso_measure_profile(value, &mean, &p);
	for (int i = 0; i < DUAL_SAMPLES && !st; i++) {
		place[i] = -half + 2 * half * i / (DUAL_SAMPLES - 1);
		sum += value[i];
	}
	for (int i = 0; i < DUAL_SAMPLES && sum > 0; i++) value[i] *= DUAL_SAMPLES / sum;
	iso_array_free(&mean);
	return st;
}
