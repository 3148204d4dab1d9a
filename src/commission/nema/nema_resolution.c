/* SPDX-License-Identifier: BSD-3-Clause */
/* Resolution from points: each becomes a small image by filtered back-projection whose x axis is the radius, of which the
   widths are radial (x), tangential (y) and axial (z). */
#include "fbp.h"
#include "nema_run.h"
#include "nema_tof.h"

#include "base/fail.h"
#include "core/progress.h"
#include "core/room.h"
#include "core/sized.h"
#include "image/places.h"
#include "isotome/array.h"
#include "base/number.h"
#include "io/events.h"
#include "io/kinds.h"
#include "scanner/scanner.h"
#include "text/json_file.h"

#include <math.h>
#include <string.h>

#define HALF_MM 40. /* of the image about a point, in the plane */
enum { HALF_SLICES = 20, BLOCK = 1 << 18, POINTS = 64 };

struct point {
	const char *path;
	bool analytic;   /* made here, from events */
	double place[3]; /* mm */
	double radius, nominal;
	int64_t counts; /* of events */
	double samples; /* the fewest a FWHM */
	struct iso_width w[3];
};

struct points {
	struct nema_job job;
	struct iso_room room;
	int32_t *cells;
	double *weight, *p;
	bool weighed;
	struct iso_array eff;
	struct point point[POINTS];
	int n;
};

/* ---- what a line integral of 1 makes ---- */

struct pair {
	int64_t cell;
	double weight;
};

static struct pair pair_of(const struct points *q, int64_t i)
{
	const iso_scanner *s = q->job.scanner;
	struct pair r = { -1, 0 };
	int64_t a, b;

	iso_scanner_pair(&a, &b, s, i);
	const double *p1 = s->pos + 3 * a, *p2 = s->pos + 3 * b;
	double x = p2[0] - p1[0], y = p2[1] - p1[1], z = p2[2] - p1[2], flat = x * x + y * y;

	if (!(flat > 0) || !iso_scanner_in_coincidence(s, a, b)) return r;
	r.weight = iso_scanner_pair_weight(s, p1, p2) * sqrt(1 + z * z / flat); /* W L / L_xy */
	if (q->eff.v) r.weight *= (double)q->eff.v[a] * (double)q->eff.v[b];
	r.cell = iso_ssrb_cell(&q->job.g, p1, p2);
	return r;
}

/* In the order of pairs, whatever the number of threads. */
static int weigh(struct points *q)
{
	const int64_t all = iso_scanner_pairs(q->job.scanner);
	struct iso_clock clock = iso_clock_brief(q->job.ctx, "weigh", "pairs", all, NULL);
	struct pair *pair;
	int st;

	if (q->weighed) return ISO_OK;
	ISO_HOST(&q->room, pair, BLOCK);
	st = q->room.status;
	for (int64_t first = 0; first < all && !st; first += BLOCK) {
		int64_t n = all - first < BLOCK ? all - first : BLOCK;

#pragma omp parallel for num_threads(iso_ctx_threads(q->job.ctx))
		for (int64_t i = 0; i < n; i++) pair[i] = pair_of(q, first + i);
		for (int64_t i = 0; i < n; i++)
			if (pair[i].cell >= 0) q->weight[pair[i].cell] += pair[i].weight;
		iso_clock_add(&clock, n);
		st = iso_ctx_poll(q->job.ctx);
	}
	if (!st) iso_clock_end(&clock);
	iso_room_drop(&q->room, pair);
	q->weighed = !st;
	return st;
}

/* ---- the place of a point ---- */

/* z: the slice of most counts; x, y: the line of the sinogram's maxima there. */
static int find_point(double place[3], int64_t *slice, const struct points *q)
{
	const struct ssrb *g = &q->job.g;
	const int64_t size = g->angles * g->bins;
	struct nema_source line;
	int64_t most = -1;

	for (int64_t i = 0; i < g->slices; i++) {
		int64_t sum = 0;

		for (int64_t k = 0; k < size; k++) sum += q->cells[i * size + k];
		if (sum > most) {
			most = sum;
			*slice = i;
		}
	}
	struct ssrb one = *g;

	one.slices = 1;
	one.first = 0;
	int st = iso_nema_source_line(&line, q->cells + *slice * size, &one, 1e9);

	place[0] = line.x0;
	place[1] = line.y0;
	place[2] = iso_ssrb_z(g, *slice);
	return st;
}

/* The slices about the point alone, and the plane turned so that the point lies on the x axis. */
static int make_image(struct iso_array *x, const struct points *q, const double place[3], int64_t slice)
{
	struct ssrb g = q->job.g;
	double radius = hypot(place[0], place[1]), turn = radius > 1 ? atan2(place[1], place[0]) : 0;
	int64_t low = slice < HALF_SLICES ? 0 : slice - HALF_SLICES;
	int64_t high = slice + HALF_SLICES < g.slices ? slice + HALF_SLICES : g.slices - 1;
	const int64_t size = g.angles * g.bins;
	double voxel = q->job.o.voxel_mm > 0 ? q->job.o.voxel_mm : g.bin_mm / 2;
	int64_t side = 2 * (int64_t)(HALF_MM / voxel) + 1;
	int st;

	g.slices = high - low + 1;
	g.first += low;
	const struct iso_grid grid = { { side, side, g.slices },
		                       { voxel, voxel, g.pitch_mm / 2 },
		                       { radius > 1 ? radius : place[0], radius > 1 ? 0 : place[1],
		                         (iso_ssrb_z(&g, 0) + iso_ssrb_z(&g, g.slices - 1)) / 2 } };

	iso_fbp_divide(q->p, q->cells + low * size, q->weight + low * size, &g);
	if ((st = iso_fbp_filter(q->p, q->job.ctx, &g, 0)) || (st = iso_array_on_grid(x, &grid))) return st;
	g.turn -= turn * (double)g.angles / M_PI;
	return iso_fbp_image(x->v, q->job.ctx, &grid, q->p, &g);
}

/* ---- images that others made ---- */

static double trilinear(const struct iso_array *x, const double at[3])
{
	const int64_t *n = x->grid.n;
	int64_t i[3][2];
	double part[3], sum = 0;

	for (int a = 0; a < 3; a++) {
		double where = iso_measure_index(&x->grid, a, at[a]);

		if (where < 0 || where > (double)(n[a] - 1)) return 0;
		part[a] = iso_measure_between(i[a], where, n[a]);
	}
	for (int k = 0; k < 8; k++) {
		double w = 1;

		for (int a = 0; a < 3; a++) w *= k >> a & 1 ? part[a] : 1 - part[a];
		sum += w * x->v[(i[2][k >> 2 & 1] * n[1] + i[1][k >> 1 & 1]) * n[0] + i[0][k & 1]];
	}
	return sum;
}

/* About the highest voxel; turned, in steps of half a voxel, unless the point lies on an axis. */
static int take_image(struct iso_array *to, struct point *p)
{
	struct iso_array x = { 0 };
	int64_t top = 0;
	int st = iso_read_image(&x, p->path, ISO_FINITE, NULL);

	if (st) return st;
	for (int64_t i = 0; i < x.n; i++) top = x.v[i] > x.v[top] ? i : top;
	const int64_t *n = x.grid.n, at[3] = { top % n[0], top / n[0] % n[1], top / n[0] / n[1] };

	for (int a = 0; a < 3; a++) p->place[a] = iso_measure_place(&x.grid, a, at[a]);
	double radius = hypot(p->place[0], p->place[1]);
	bool on_axis = fabs(p->place[1]) <= x.grid.voxel[1] || fabs(p->place[0]) <= x.grid.voxel[0];
	double turn = on_axis ? (fabs(p->place[1]) > fabs(p->place[0]) ? M_PI / 2 : 0)
	                      : atan2(p->place[1], p->place[0]);
	double step = fmin(x.grid.voxel[0], x.grid.voxel[1]) / (on_axis ? 1 : 2);
	int64_t side = 2 * (int64_t)(HALF_MM / step) + 1;
	const struct iso_grid grid = { { side, side, n[2] },
		                       { step, step, x.grid.voxel[2] },
		                       { on_axis ? p->place[0] * cos(turn) + p->place[1] * sin(turn) : radius,
		                         on_axis ? -p->place[0] * sin(turn) + p->place[1] * cos(turn) : 0,
		                         x.grid.centre[2] } };

	st = iso_array_on_grid(to, &grid);
	for (int64_t i = 0; i < to->n && !st; i++) {
		double r = iso_measure_place(&grid, 0, i % side),
		       t = iso_measure_place(&grid, 1, i / side % side);
		double z = iso_measure_place(&grid, 2, i / side / side);
		const double from[3] = { r * cos(turn) - t * sin(turn), r * sin(turn) + t * cos(turn), z };

		to->v[i] = (iso_real)trilinear(&x, from);
	}
	iso_array_free(&x);
	return st;
}

/* ---- a point ---- */

static int image_of_events(struct iso_array *x, struct points *q, struct point *p)
{
	struct nema_run r = { .no_delayed = true };
	struct ssrb_told told;
	int64_t slice = 0;
	int st;

	snprintf(r.events, sizeof r.events, "%s", p->path);
	memset(q->cells, 0, (size_t)iso_ssrb_cells(&q->job.g) * sizeof *q->cells);
	if ((st = iso_nema_prompts(q->cells, &told, &q->job, &r)) || (st = weigh(q)) ||
	    (st = find_point(p->place, &slice, q)))
		return st;
	p->counts = told.used;
	return make_image(x, q, p->place, slice);
}

static int measure(struct points *q, struct point *p, bool mouse)
{
	struct iso_array x = { 0 };
	int64_t top = 0;
	int st = p->analytic ? image_of_events(&x, q, p) : take_image(&x, p);

	if (!st) {
		for (int64_t i = 0; i < x.n; i++) top = x.v[i] > x.v[top] ? i : top;
		const int64_t *n = x.grid.n, at[3] = { top % n[0], top / n[0] % n[1], top / n[0] / n[1] };
		struct iso_fwhm f = { .window = 4 * HALF_MM };

		for (int a = 0; a < 3; a++) f.at[a] = iso_measure_place(&x.grid, a, at[a]);
		st = iso_measure_fwhm_window(p->w, &x, &f, q->job.standard.window_fwhm);
	}
	if (!st && !(isfinite(p->w[0].fwhm) && isfinite(p->w[1].fwhm) && isfinite(p->w[2].fwhm)))
		st = iso_fail(ISO_EINPUT, "%s: no point whose profiles fall to half their height", p->path);
	p->radius = hypot(p->place[0], p->place[1]);
	p->samples = INFINITY;
	for (int a = 0; a < 3 && !st; a++) p->samples = fmin(p->samples, p->w[a].fwhm / x.grid.voxel[a]);
	p->nominal = q->job.standard.radii_mm[mouse][0];
	for (int k = 1; k < q->job.standard.n_radii[mouse]; k++) {
		double r = q->job.standard.radii_mm[mouse][k];

		if (fabs(r - p->radius) < fabs(p->nominal - p->radius)) p->nominal = r;
	}
	iso_array_free(&x);
	return st;
}

/* ---- JSON ---- */

static const char *const ways[3] = { "radial", "tangential", "axial" };

static void set_widths(json_t *o, const double fwhm[3], const double fwtm[3])
{
	for (int a = 0; a < 3; a++) {
		json_t *w = json_object();

		iso_nema_set(w, "fwhm_mm", fwhm[a]);
		iso_nema_set(w, "fwtm_mm", fwtm[a]);
		json_object_set_new(o, ways[a], w);
	}
}

static json_t *point_json(const struct point *p)
{
	double fwhm[3], fwtm[3];
	json_t *o = json_object();

	for (int a = 0; a < 3; a++) {
		fwhm[a] = p->w[a].fwhm;
		fwtm[a] = p->w[a].fwtm;
	}
	json_object_set_new(o, "file", json_string(p->path));
	json_object_set_new(o, "method", json_string(p->analytic ? "fbp" : "image"));
	json_object_set_new(o, "place_mm", iso_nema_list(p->place, 3, sizeof(double)));
	iso_nema_set(o, "radius_mm", p->radius);
	iso_nema_set(o, "found_radius_mm", p->w[0].centre);
	iso_nema_set(o, "found_tangential_mm", p->w[1].centre);
	iso_nema_set(o, "nominal_radius_mm", p->nominal);
	if (p->analytic) json_object_set_new(o, "counts", json_integer(p->counts));
	iso_nema_set(o, "samples_per_fwhm", p->samples);
	set_widths(o, fwhm, fwtm);
	return o;
}

/* Means over the points of one radius. */
static json_t *mean_json(const struct points *q, double nominal)
{
	double fwhm[3] = { 0 }, fwtm[3] = { 0 };
	json_t *o = json_object();
	int n = 0;

	for (int k = 0; k < q->n; k++) n += q->point[k].nominal == nominal;
	for (int k = 0; k < q->n; k++)
		for (int a = 0; a < 3 && q->point[k].nominal == nominal; a++) {
			fwhm[a] += q->point[k].w[a].fwhm / n;
			fwtm[a] += q->point[k].w[a].fwtm / n;
		}
	iso_nema_set(o, "radius_mm", nominal);
	json_object_set_new(o, "points", json_integer(n));
	set_widths(o, fwhm, fwtm);
	return o;
}

static void warn(json_t *list, const struct points *q, bool mouse)
{
	const struct nema_standard *s = &q->job.standard;
	char text[400];

	for (int k = 0; k < q->n; k++) {
		const struct point *p = &q->point[k];

		if (p->analytic && p->counts < s->least_events) {
			snprintf(text, sizeof text, "%.200s: %" PRId64 " counts, fewer than %" PRId64,
			         p->path, p->counts, s->least_events);
			json_array_append_new(list, json_string(text));
		}
		if (p->samples < s->least_samples[mouse]) {
			iso_snprintf(text, sizeof text,
			             "%.200s: %.2g samples a FWHM, fewer than %g: widths come out too large",
			             p->path, p->samples, s->least_samples[mouse]);
			json_array_append_new(list, json_string(text));
		}
	}
}

static json_t *put(const struct points *q, bool mouse)
{
	json_t *root = json_object(), *o = json_object(), *points = json_array(), *means = json_array(),
	       *warnings = json_array();
	bool analytic = true;

	for (int k = 0; k < q->n; k++) {
		json_array_append_new(points, point_json(&q->point[k]));
		analytic &= q->point[k].analytic;
	}
	for (int k = 0; k < q->job.standard.n_radii[mouse]; k++) {
		bool any = false;

		for (int i = 0; i < q->n; i++)
			any |= q->point[i].nominal == q->job.standard.radii_mm[mouse][k];
		if (any) json_array_append_new(means, mean_json(q, q->job.standard.radii_mm[mouse][k]));
	}
	warn(warnings, q, mouse);
	json_object_set_new(o, "standard", json_string(mouse ? "NEMA NU 4-2008" : "NEMA NU 2-2018"));
	json_object_set_new(o, "analytic", json_boolean(analytic));
	iso_nema_set(o, "window_fwhm", q->job.standard.window_fwhm);
	json_object_set_new(o, "points", points);
	json_object_set_new(o, "means", means);
	json_object_set_new(o, "warnings", warnings);
	json_object_set_new(root, "resolution", o);
	return root;
}

/* ---- all of it ---- */

/* The scanner and room for its sinograms, where there are events. */
static int begin(struct points *q)
{
	const char *first = NULL;
	int st;

	for (int k = 0; k < q->n && !first; k++)
		if (q->point[k].analytic) first = q->point[k].path;
	if (!first) return ISO_OK;
	q->job.series.run = calloc(1, sizeof *q->job.series.run);
	if (!q->job.series.run) return iso_fail_memory("nema", sizeof *q->job.series.run);
	snprintf(q->job.series.run->events, PATH_MAX, "%s", first);
	if ((st = iso_nema_scanner(&q->job, 0))) return st;
	if (q->job.o.norm && (st = iso_read(&q->eff, q->job.o.norm, ISO_NONNEGATIVE))) return st;
	if (q->eff.v && q->eff.n != iso_scanner_crystals(q->job.scanner))
		return iso_fail(ISO_EINPUT,
		                "%s: %" PRId64 " values, must be one for each of the %" PRId64 " crystals",
		                q->job.o.norm, q->eff.n, iso_scanner_crystals(q->job.scanner));
	ISO_HOST(&q->room, q->cells, iso_ssrb_cells(&q->job.g));
	ISO_HOST(&q->room, q->weight, iso_ssrb_cells(&q->job.g));
	ISO_HOST(&q->room, q->p, iso_ssrb_cells(&q->job.g));
	return q->room.status;
}

int iso_nema_resolution(char **json, iso_ctx *ctx, int n, const char *const *files,
                        const struct iso_nema_options *o)
{
	if (!json || !ctx || !files) return iso_fail_null(__func__);
	struct points *q = calloc(1, sizeof *q);
	int st = ISO_OK;

	if (!q) return iso_fail_memory("nema", sizeof *q);
	q->room = iso_room_of(NULL, "sinograms");
	q->job.ctx = ctx;
	q->job.o.size = sizeof q->job.o;
	q->n = n;
	if (n < 1 || n > POINTS) st = iso_fail(ISO_EARG, "nema: %d points, must be 1 to %d", n, POINTS);
	for (int k = 0; k < n && !st; k++) {
		if (!files[k])
			st = iso_fail_null(__func__);
		else
			q->point[k] = (struct point){ .path = files[k],
				                      .analytic = iso_event_format_find(files[k]) };
	}
	if (!st && o) st = iso_sized_take(&q->job.o, "iso_nema_options", sizeof q->job.o, o);
	if (!st && !(st = iso_nema_standard_read(&q->job.standard, q->job.o.standard))) st = begin(q);
	for (int k = 0; k < n && !st; k++) st = measure(q, &q->point[k], q->job.o.mouse);
	if (!st) {
		json_t *root = put(q, q->job.o.mouse);

		*json = iso_json_text(root, JSON_INDENT(1));
		if (!*json) st = iso_fail_memory("nema", 1 << 16);
		json_decref(root);
	}
	iso_room_free(&q->room);
	iso_array_free(&q->eff);
	iso_nema_series_free(&q->job.series);
	iso_scanner_free(q->job.scanner);
	free(q);
	return st;
}
