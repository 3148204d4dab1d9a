/* SPDX-License-Identifier: BSD-3-Clause */
/* The dual-head experiments' tools: matrix, scans, reconstructions, times. */
#include "dual.h"

#include "core/philox.h"
#include "image/places.h"
#include "physics/panel_scan.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	PIECE = 1 << 22, /* decays at a time */
	SAMPLES = 5,     /* an axis, in voxels that a surface crosses */
	PIXELS = 420,    /* of a picture's longer side, about */
};

#define MATRIX_SEED 1
#define NO_EVENTS (1 << 28) /* decays without a coincidence: the source is out of view */

const char *const dual_strategies[DUAL_STRATEGIES] = { "correlation", "row", "column", "combined" };

/* ---- set-up ---- */

int dual_open(struct dual *d, const char *scanner_text)
{
	const struct iso_srm_options o = { .size = sizeof o, .seed = MATRIX_SEED };
	iso_scanner *scanner = NULL;
	int st = study_scanner(&scanner, scanner_text);

	if (st) return st;
	d->panels = *iso_scanner_panels(scanner);
	iso_scanner_free(scanner);
	iso_panels_grid(&d->grid, &d->panels);
	d->lors = iso_panels_lors(&d->panels);
	return iso_srm_create(&d->srm, &d->panels, &o);
}

void dual_close(struct dual *d)
{
	iso_srm_free(d->srm);
}

/* From a file that is gone at once: a dry run leaves none. */
int dual_plan(struct cmd *c, const char *scanner_text, int n_sub, int histograms)
{
	char path[] = "/tmp/isotome-scanner-XXXXXX.yaml";
	int fd = mkstemps(path, 5), st;
	struct iso_plan lines = { 0 };
	iso_scanner *s = NULL;
	struct iso_grid g;

	if (fd < 0) return iso_fail(ISO_EIO, "reproduce: can't make a file in /tmp");
	close(fd);
	if (!(st = study_write(path, scanner_text))) st = iso_scanner_read(&s, path);
	unlink(path);
	if (st) return st;
	int64_t lors = iso_panels_lors(iso_scanner_panels(s));

	iso_panels_grid(&g, iso_scanner_panels(s));
	iso_scanner_free(s);
	iso_plan_add(&lines, "histograms of LORs", histograms * lors, sizeof(iso_real), false);
	iso_plan_add(&lines, "events", PIECE, sizeof(struct panel_event), false);
	iso_em_plan(&lines, c->ctx, iso_grid_voxels(&g), lors, n_sub, 1);
	return cmd_plan(c, &lines);
}

int dual_simulate(struct dual *d, double pairs, double share)
{
	const struct iso_srm_bound bound = { .share = share };
	struct iso_srm_info info;
	double start_s = iso_now_s();
	int st = ISO_OK;

	iso_srm_info(&info, d->srm);
	if (pairs > (double)info.pairs)
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

/* ---- data ---- */

static void add(iso_real *y, const struct dual *d, const struct panel_event *e, int64_t n)
{
	const int64_t face = (int64_t)d->panels.crystals[0] * d->panels.crystals[1];

	for (int64_t i = 0; i < n; i++) {
		int64_t table = e[i].upper / face * d->panels.layers + e[i].lower / face;

		y[(table * face + e[i].upper % face) * face + e[i].lower % face] += 1;
	}
}

/* Events of one kind, until there are so many. */
static int fill(iso_real *y, const struct dual *d, const struct iso_panel_scan *scan, enum panel_kind kind,
                int64_t wanted)
{
	struct panel_event *e;
	int64_t done = 0, first = 0;
	int st = STUDY_NEW(e, PIECE);

	while (done < wanted && !st) {
		int64_t left = kind == PANEL_TRUES ? 16 * (wanted - done) + 65536 : wanted - done, found;
		int64_t n = left < PIECE ? left : PIECE;

		if ((st = iso_panel_scan_events(e, &found, scan, kind, first, n)) || (st = study_poll(&d->s)))
			break;
		found = found < wanted - done ? found : wanted - done;
		add(y, d, e, found);
		done += found;
		first += n;
		if (done == 0 && first > NO_EVENTS)
			st = iso_fail(ISO_EINPUT, "reproduce: in %" PRId64 " decays there was no coincidence",
			              first);
	}
	free(e);
	return st;
}

int dual_scan(iso_real *y, iso_real *delayed, const struct dual *d, const struct dual_scan *s)
{
	const struct iso_transport_options o = { .seed = s->seed };
	struct iso_panel_scan scan = { 0 };
	int64_t randoms = llround(s->randoms);
	int st;

	memset(y, 0, (size_t)d->lors * sizeof *y);
	if ((st = iso_panel_scan_create(&scan, d->s.fast, &d->panels, &o, s->activity))) goto done;
	if ((st = fill(y, d, &scan, PANEL_TRUES, llround(s->trues)))) goto done;
	if ((st = fill(y, d, &scan, PANEL_RANDOMS, randoms))) goto done;
	if (delayed) {
		memset(delayed, 0, (size_t)d->lors * sizeof *delayed);
		st = fill(delayed, d, &scan, PANEL_DELAYED, randoms);
	}
done:
	iso_panel_scan_free(&scan);
	return st;
}

int dual_project(iso_real *y, struct dual *d, const struct iso_array *activity, double total, uint64_t seed)
{
	const struct dual_way way = { .ctx = d->s.fast, .n_sub = 1, .rule = ISO_GROUPS };
	struct dual_model m = { 0 };
	iso_real *sorted = NULL;
	double sum = 0;
	int st;

	if ((st = dual_model_open(&m, d, &way))) return st;
	if (!(st = STUDY_NEW(sorted, d->lors)) && !(st = study_apply(sorted, m.op, false, activity->v)))
		iso_op_unsort(m.op, y, sorted);
	free(sorted);
	dual_model_close(&m);
	for (int64_t i = 0; i < d->lors; i++) sum += y[i];
	if (!st && !(sum > 0))
		st = iso_fail(ISO_EINPUT, "reproduce: the phantom is out of the scanner's view");
	for (int64_t i = 0; i < d->lors && !st; i++)
		y[i] = (iso_real)iso_poisson(y[i] / sum * total, seed, (uint64_t)i);
	return st;
}

/* ---- reconstruction ---- */

int dual_model_open(struct dual_model *m, const struct dual *d, const struct dual_way *w)
{
	const struct iso_srm_model p = { .size = sizeof p,
		                         .srm = d->srm,
		                         .strategy = w->strategy,
		                         .n_sub = w->n_sub,
		                         .rule = w->rule,
		                         .seed = w->seed };

	*m = (struct dual_model){ .grid = d->grid };
	return iso_srm_op_create(&m->op, w->ctx, &p);
}

void dual_model_close(struct dual_model *m)
{
	iso_op_free(m->op);
	free(m->sens);
	*m = (struct dual_model){ 0 };
}

/* Sensitivity of each subset: its adjoint of ones. */
static int fill_sens(iso_real *sens, iso_op *op)
{
	iso_ctx *ctx = iso_op_ctx(op);
	const struct iso_vec *v = iso_ctx_vec(ctx);
	const int64_t n = iso_op_n_in(op), rows = iso_op_n_out(op);
	iso_real *x = NULL, *ones = NULL;
	iso_real **const vectors[] = { &x, &ones };
	int st = bench_vectors(ctx, 2, vectors, (const int64_t[]){ n, rows });

	if (!st) st = v->fill(ctx, rows, ones, 1);
	for (int k = 0; k < iso_op_n_sub(op) && !st; k++)
		if (!(st = iso_adjoint(op, k, x, ones)))
			st = v->download(ctx, sens + k * n, x, n * (int64_t)sizeof *x);
	bench_vectors_free(ctx, 2, vectors);
	return st;
}

static int make_sens(struct dual_model *m)
{
	const int64_t n = iso_op_n_in(m->op) * iso_op_n_sub(m->op);
	int st;

	if (m->sens) return ISO_OK;
	if ((st = STUDY_NEW(m->sens, n)) || !(st = fill_sens(m->sens, m->op))) return st;
	free(m->sens);
	m->sens = NULL;
	return st;
}

/* Ones where the scanner sees anything. */
static void start(struct iso_array *x, const iso_real *sens, int n_sub)
{
	for (int64_t i = 0; i < x->n; i++) {
		x->v[i] = 0;
		for (int k = 0; k < n_sub; k++) x->v[i] = sens[k * x->n + i] > 0 ? 1 : x->v[i];
	}
}

int dual_recon(struct iso_array *x, double *seconds, struct dual_model *m, const struct dual_recon *r,
               const iso_real *y)
{
	struct iso_em em = { .size = sizeof em,
		             .op = m->op,
		             .data = { .y = y },
		             .iterations = r->iterations,
		             .grid = m->grid };
	const struct iso_run run = { .size = sizeof run, .each = r->each, .arg = r->arg };
	int n_sub = iso_op_n_sub(m->op), st;
	double start_s;

	if ((st = make_sens(m)) || (st = iso_array_on_grid(x, &m->grid))) return st;
	em.sens = (struct iso_sens){ n_sub, n_sub, m->sens };
	start(x, m->sens, n_sub);
	start_s = iso_now_s();
	st = iso_em_run(x->v, NULL, &em, &run);
	if (seconds) *seconds = (iso_now_s() - start_s) / r->iterations;
	strcpy(x->unit, "decays");
	return st;
}

/* ---- slices ---- */

int dual_slab(struct iso_array *mean, const struct iso_array *x, int axis, double half)
{
	const int64_t step[3] = { 1, x->grid.n[0], x->grid.n[0] * x->grid.n[1] };
	const int b = axis == 0 ? 1 : 0, c = axis == 2 ? 1 : 2;
	struct iso_grid g = x->grid;
	int64_t first, last;
	int st;

	iso_measure_range(&first, &last, &g, axis, -fmax(half, g.voxel[axis] / 2),
	                  fmax(half, g.voxel[axis] / 2));
	g.n[axis] = 1;
	g.centre[axis] = 0;
	if ((st = iso_array_on_grid(mean, &g))) return st;
	for (int64_t i = 0; i < mean->n; i++) {
		const iso_real *v = x->v + i % g.n[b] * step[b] + i / g.n[b] * step[c];
		double sum = 0;

		for (int64_t k = first; k <= last; k++) sum += v[k * step[axis]];
		mean->v[i] = (iso_real)(sum / (double)(last - first + 1));
	}
	return ISO_OK;
}

int dual_pstd(double *pstd, const struct iso_array *x, int axis, double half, const double centre[3],
              double radius)
{
	const struct iso_roi disc = { ISO_ROI_CYLINDER,
		                      { centre[0], centre[1], centre[2] },
		                      .radius = radius,
		                      .length = 1,
		                      .axis = axis };
	struct iso_array mean = { 0 };
	struct iso_roi_stats stats = { 0 };
	int st = dual_slab(&mean, x, axis, half);

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

/* The value that one pixel in 500 exceeds: voxels at the corners, which hardly any LOR sees, must
   not set the colours of all others. */
static int last_colour(double *top, const struct iso_array *plane)
{
	iso_real *v;
	int st = STUDY_NEW(v, plane->n);

	if (st) return st;
	memcpy(v, plane->v, (size_t)plane->n * sizeof *v);
	qsort(v, (size_t)plane->n, sizeof *v, by_value);
	*top = v[plane->n - 1 - plane->n / 500];
	free(v);
	return ISO_OK;
}

/* Of x and y one has a single place. */
static int paint(struct dual *d, const struct iso_array *plane, const struct dual_view *v)
{
	const struct iso_grid *g = &plane->grid;
	const int64_t up = g->n[0] * g->n[1], nz = g->n[2];
	struct study_plane s = { nz,
		                 up,
		                 up,
		                 1,
		                 .zoom = PIXELS / (up > nz ? up : nz) + 1,
		                 .stretch = lround(g->voxel[g->n[0] == 1] / g->voxel[2]),
		                 .v = plane->v };
	int st = last_colour(&s.top, plane);

	return st ? st : study_draw(&d->s, v->key, &s, v->name, v->alt, v->note ? v->note : "");
}

/* Voxels within `reach` mm of the middle. */
static int cut_out(struct iso_array *part, const struct iso_array *x, double reach)
{
	struct iso_grid g = x->grid;
	int64_t first[3], last[3];
	int st;

	for (int a = 0; a < 3; a++) {
		iso_measure_range(&first[a], &last[a], &x->grid, a, -fmax(reach, g.voxel[a] / 2),
		                  fmax(reach, g.voxel[a] / 2));
		g.n[a] = last[a] - first[a] + 1;
		g.centre[a] = 0;
	}
	if ((st = iso_array_on_grid(part, &g))) return st;
	for (int64_t i = 0; i < part->n; i++) {
		int64_t at[3] = { i % g.n[0], i / g.n[0] % g.n[1], i / g.n[0] / g.n[1] };

		part->v[i] = x->v[((first[2] + at[2]) * x->grid.n[1] + first[1] + at[1]) * x->grid.n[0] +
		                  first[0] + at[0]];
	}
	return ISO_OK;
}

int dual_draw(struct dual *d, const struct iso_array *x, const struct dual_view *v)
{
	struct iso_array plane = { 0 }, part = { 0 };
	int st = dual_slab(&plane, x, v->axis, v->half);

	if (!st && v->reach > 0) st = cut_out(&part, &plane, v->reach);
	if (!st) st = paint(d, v->reach > 0 ? &part : &plane, v);
	iso_array_free(&plane);
	iso_array_free(&part);
	return st;
}

int dual_profile(double value[DUAL_SAMPLES], double place[DUAL_SAMPLES], const struct iso_array *x, double at,
                 double half)
{
	const struct iso_profile p = { .from = { at, 0, -half },
		                       .to = { at, 0, half },
		                       .samples = DUAL_SAMPLES };
	struct iso_array mean = { 0 };
	double sum = 0;
	int st = dual_slab(&mean, x, 1, DUAL_SLICES);

	if (!st) st = iso_measure_profile(value, &mean, &p);
	for (int i = 0; i < DUAL_SAMPLES && !st; i++) {
		place[i] = -half + 2 * half * i / (DUAL_SAMPLES - 1);
		sum += value[i];
	}
	for (int i = 0; i < DUAL_SAMPLES && sum > 0; i++) value[i] *= DUAL_SAMPLES / sum;
	iso_array_free(&mean);
	return st;
}

static json_t *width(const struct iso_quartiles *q)
{
	return record_pack("[f,f,f,i]", q->median, q->n > 0 ? q->low : NAN, q->high, q->n);
}

json_t *dual_rod(const struct iso_rods_size *s)
{
	return record_pack("{s:f, s:i, s:i, s:i, s:[o,o], s:f, s:f, s:b, s:f}", "diameter", s->diameter,
	                   "number", s->rods, "profiles", s->profiles, "pairs", s->pairs, "widths",
	                   width(&s->fwhm), width(&s->fwtm), "valley", s->valley, "peak", 1 / s->valley,
	                   "resolved", s->valley < ISO_RODS_VALLEY, "share", s->resolved);
}
