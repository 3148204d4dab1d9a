/* SPDX-License-Identifier: BSD-3-Clause */
/* The study in turn: the image quality phantom, the uniform cylinder, the noise. */
#include "nema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char clinical_ring[] =
#include "embedded/clinical-ring.yaml.h"
	;
static const char template[] =
#include "embedded/nema.html.h"
	;

static const struct nema_scale scales[] = {
	/* in the order of enum study_scale */
	{ 1e5, 2e4, 2, 8, 24, 48, .1, 1e5, 3, 4, STUDY_SHORT_RING(6) },
	{ 4e6, 1e6, 3, 5, 5, 1e3, .02, 5e5, 6, 10, clinical_ring },
	{ 1e8, 2e7, 10, 4, 4, 1e3, .01, 4e6, 10, 10, clinical_ring },
};

enum { SPHERES_SEED = 1, CYLINDER_SEED = 2, ANNULI = 4, ZOOM = 3 };

#define LAST_COLOUR 2.5 /* of the background */
#define ANNULUS_MM 20.
#define WITHIN .6 /* of the cylinder's half length: planes of the annuli */

static const char outputs[] =
	"truth.nii mu.nii trues-tof.nii none-tof.nii estimated-tof.nii known-tof.nii trues.nii none.nii "
	"estimated.nii known.nii cylinder-trues.nii cylinder-none.nii cylinder-estimated.nii "
	"cylinder-known.nii";

/* ---- one image and what is measured of it ---- */

static json_t *scan_json(const struct nema_scan *s, double expected)
{
	const double scattered = (double)(s->single + s->multiple);

	return record_pack("{s:s, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:f}", "phantom", s->o->phantom,
	                   "events", (json_int_t)s->e.n, "trues", (json_int_t)s->trues.n, "single",
	                   (json_int_t)s->single, "multiple", (json_int_t)s->multiple, "share",
	                   scattered / (double)s->e.n, "multiple_over_single",
	                   (double)s->multiple / (double)s->single, "expected", expected,
	                   "expected_over_scanned", expected / scattered, "background", s->unit);
}

static int draw(struct nema *n, const char *key, const struct iso_array *x, double unit, const char *name,
                const char *note)
{
	const int64_t *size = x->grid.n;
	const iso_real *slice = x->v + size[2] / 2 * size[0] * size[1];
	const struct study_plane plane = { size[0],     size[1], 1, size[0], slice, LAST_COLOUR * unit,
		                           .zoom = ZOOM };

	return study_draw(&n->s, key, &plane, name, "transverse slice through the spheres", note);
}

/* ---- the phantom of spheres ---- */

struct quality {
	struct nema *n;
	struct nema_object o;
	struct nema_scan s;
	struct iso_nema places;
	iso_scatter_table *t[2]; /* expected: without and with time of flight */
	int64_t samples;
	double *place, *profile; /* (1 + NEMA_FORMS) profiles */
	json_t *rows, *rounds;
	double means[NEMA_FORMS]; /* background over the true one, of the images that are being made */
};

/* Along x through the lung and two spheres, in units of the true background. */
static int take_profile(struct quality *q, int k, const struct iso_array *x, double unit)
{
	const double half = .5 * (double)(x->grid.n[0] - 1) * x->grid.voxel[0];
	const struct iso_profile line = { { -half, 0, 0 }, { half, 0, 0 }, q->samples, 2 * x->grid.voxel[0] };
	double *value = q->profile + k * q->samples;
	int st = iso_measure_profile(value, x, &line);

	for (int64_t i = 0; i < q->samples && !st; i++) {
		value[i] /= unit;
		q->place[i] = -half + 2 * half * (double)i / (double)(q->samples - 1);
	}
	return st;
}

static json_t *figures(const struct quality *q, const struct iso_nema_result *r, double *background)
{
	double contrast[16], variability[16], sum = 0;
	const int m = q->places.n_spheres;

	for (int i = 0; i < m; i++) {
		contrast[i] = r->sphere[i].contrast;
		variability[i] = r->sphere[i].variability;
		sum += r->sphere[i].background / q->s.unit;
	}
	*background = sum / m;
	return record_pack("{s:o, s:o, s:f, s:f}", "contrast", record_reals(m, contrast), "variability",
	                   record_reals(m, variability), "lung", r->lung, "background", *background);
}

static int keep(struct quality *q, const struct iso_array *x, const struct nema_recon *r, double seconds)
{
	const char *key = r->tof ? "pictures_tof" : "pictures";
	struct iso_nema_result result = { .size = sizeof result };
	double background;
	json_t *row;
	int st = iso_measure_nema(&result, x, &q->places);

	if (st) return st;
	row = figures(q, &result, &background);
	json_object_set_new(row, "form", json_string(nema_files[r->form]));
	json_object_set_new(row, "tof", json_boolean(r->tof));
	json_object_set_new(row, "seconds", record_real(seconds));
	json_array_append(q->rows, row);
	study_row(&q->n->s, r->tof ? "rows_tof" : "rows", record_pack("[s,o]", nema_names[r->form], row));
	if ((st = draw(q->n, key, x, q->s.unit, nema_names[r->form],
	               study_text("lung %.1f\u202f%%, background %.3f", result.lung, background))))
		return st;
	if ((st = take_profile(q, 1 + (int)r->form, x, q->s.unit))) return st;
	return cmd_write(q->n->s.c, study_text("%s%s.nii", nema_files[r->form], r->tof ? "-tof" : ""), x);
}

static void draw_profiles(struct quality *q, bool tof)
{
	struct iso_svg_curve curve[1 + NEMA_FORMS] = { { "Phantom", 0, q->samples, q->place, q->profile } };

	for (int k = 0; k < NEMA_FORMS; k++)
		curve[1 + k] = (struct iso_svg_curve){ nema_names[k], k + 1, q->samples, q->place,
			                               q->profile + (1 + k) * q->samples };
	study_chart(&q->n->s, tof ? "profile_tof" : "profile", "Profile along x through lung and spheres",
	            "x, mm", "activity, background = 1", 1 + NEMA_FORMS, curve);
}

static int run_images(struct quality *q, bool tof)
{
	int st = take_profile(q, 0, &q->o.truth, 1);

	for (int k = 0; k < NEMA_FORMS && !st; k++) {
		const struct nema_recon r = { (enum nema_form)k, tof, q->t[tof], 1 };
		struct iso_array x = { 0 };
		json_t *told = NULL;
		double start_s = iso_now_s();

		if (!(st = nema_recon(&x, &told, q->n, &q->s, &r)))
			st = keep(q, &x, &r, iso_now_s() - start_s);
		if (told) json_object_set_new(q->rounds, tof ? "tof" : "no_tof", told);
		iso_array_free(&x);
	}
	if (!st) draw_profiles(q, tof);
	return st;
}

static int run_distances(struct quality *q)
{
	double scanned[NEMA_BINS], expected[NEMA_BINS], middle[NEMA_BINS], sum = 0;
	const struct iso_svg_curve curve[] = { { "as scanned", 0, NEMA_BINS, middle, scanned },
		                               { "expected of the true activity", 1, NEMA_BINS, middle,
		                                 expected } };
	int st = nema_distances(scanned, expected, q->n, &q->s, q->t[0]);

	if (!st) st = iso_scatter_sum(&sum, q->n->s.fast, q->t[0], NULL, 1, 0);
	if (st) return st;
	for (int i = 0; i < NEMA_BINS; i++) middle[i] = (i + .5) * NEMA_BIN_MM;
	study_chart(&q->n->s, "distances",
	            "Scattered coincidences by the distance of their line from the axis", "distance, mm",
	            "coincidences", 2, curve);
	study_result(&q->n->s, "scan", scan_json(&q->s, sum));
	study_result(&q->n->s, "distances",
	             record_pack("{s:f, s:o, s:o}", "bin_mm", NEMA_BIN_MM, "scanned",
	                         record_reals(NEMA_BINS, scanned), "expected",
	                         record_reals(NEMA_BINS, expected)));
	return ISO_OK;
}

static int open_quality(struct quality *q)
{
	struct nema *n = q->n;
	int st;

	q->places.size = sizeof q->places;
	if ((st = nema_object_open(&q->o, n, "spheres")) || (st = iso_nema_read(&q->places, NULL))) return st;
	if ((st = cmd_write(n->s.c, "truth.nii", &q->o.truth)) ||
	    (st = cmd_write(n->s.c, "mu.nii", &q->o.mu)))
		return st;
	q->samples = 2 * q->o.truth.grid.n[0] - 1;
	if ((st = STUDY_NEW(q->place, q->samples)) ||
	    (st = STUDY_NEW(q->profile, (1 + NEMA_FORMS) * q->samples)))
		return st;
	if ((st = draw(n, "truth", &q->o.truth, 1, "Phantom", "")) || (st = study_stage(&n->s, "simulate")))
		return st;
	if ((st = nema_scan_open(&q->s, n, &q->o, n->scale.events, SPHERES_SEED))) return st;
	for (int k = 0; k < 2 && !st; k++) st = nema_expected(&q->t[k], n, &q->s, k);
	return st;
}

static int run_quality(struct nema *n)
{
	struct quality q = { .n = n, .rows = json_array(), .rounds = json_object() };
	int st = open_quality(&q);

	if (!st) st = run_distances(&q);
	if (!st) st = study_stage(&n->s, "image quality");
	if (!st) st = run_images(&q, true);
	if (!st) st = run_images(&q, false);
	study_result(&n->s, "image_quality", q.rows);
	study_result(&n->s, "scatter", q.rounds);
	nema_scan_close(&q.s);
	for (int k = 0; k < 2; k++) iso_scatter_free(q.t[k]);
	if (!st) st = study_stage(&n->s, "noise");
	if (!st) st = nema_noise(n, &q.o);
	nema_object_close(&q.o);
	free(q.place);
	free(q.profile);
	return st;
}

/* ---- the uniform cylinder ---- */

/* Means of annuli around the axis in the inner planes, in units of the true activity. */
static void annuli(double mean[ANNULI], const struct iso_array *x, double unit)
{
	const int64_t *size = x->grid.n;
	double sum[ANNULI] = { 0 };
	int64_t voxels[ANNULI] = { 0 };

	for (int64_t i = 0; i < x->n; i++) {
		const int64_t at[3] = { i % size[0], i / size[0] % size[1], i / size[0] / size[1] };
		double mm[3];

		for (int a = 0; a < 3; a++)
			mm[a] = ((double)at[a] + .5 - .5 * (double)size[a]) * x->grid.voxel[a];
		const int k = (int)(hypot(mm[0], mm[1]) / ANNULUS_MM);

		if (k >= ANNULI || fabs(mm[2]) > WITHIN * .5 * (double)size[2] * x->grid.voxel[2]) continue;
		sum[k] += (double)x->v[i];
		voxels[k]++;
	}
	for (int k = 0; k < ANNULI; k++) mean[k] = sum[k] / (double)voxels[k] / unit;
}

static json_t *cylinder_json(const double mean[ANNULI], enum nema_form form)
{
	double least = INFINITY, most = -INFINITY;

	for (int k = 0; k < ANNULI; k++) {
		least = fmin(least, mean[k]);
		most = fmax(most, mean[k]);
	}
	return record_pack("{s:s, s:o, s:f, s:f}", "form", nema_files[form], "annuli",
	                   record_reals(ANNULI, mean), "least", least, "most", most);
}

static int run_cylinder_images(json_t *rows, json_t **told, struct nema *n, const struct nema_scan *s,
                               const iso_scatter_table *t)
{
	double place[ANNULI], mean[NEMA_FORMS][ANNULI];
	struct iso_svg_curve curve[NEMA_FORMS];
	int st = ISO_OK;

	for (int k = 0; k < ANNULI; k++) place[k] = (k + .5) * ANNULUS_MM;
	for (int k = 0; k < NEMA_FORMS && !st; k++) {
		const struct nema_recon r = { (enum nema_form)k, true, t, 1 };
		struct iso_array x = { 0 };
		json_t *row;

		if ((st = nema_recon(&x, told, n, s, &r))) return st;
		annuli(mean[k], &x, s->unit);
		row = cylinder_json(mean[k], r.form);
		json_array_append(rows, row);
		study_row(&n->s, "cylinder_rows", record_pack("[s,o]", nema_names[k], row));
		curve[k] = (struct iso_svg_curve){ nema_names[k], k + 1, ANNULI, place, mean[k] };
		st = cmd_write(n->s.c, study_text("cylinder-%s.nii", nema_files[k]), &x);
		iso_array_free(&x);
	}
	if (!st)
		study_chart(&n->s, "radial", "Activity of the cylinder by distance from its axis",
		            "distance from the axis, mm", "activity, truth = 1", NEMA_FORMS, curve);
	return st;
}

static int run_cylinder(struct nema *n)
{
	struct nema_object o = { 0 };
	struct nema_scan s = { 0 };
	iso_scatter_table *t = NULL;
	json_t *rows = json_array(), *told = NULL;
	double sum = NAN;
	int st;

	if ((st = study_stage(&n->s, "cylinder")) || (st = nema_object_open(&o, n, "cylinder"))) goto done;
	if ((st = nema_scan_open(&s, n, &o, n->scale.events, CYLINDER_SEED))) goto done;
	if ((st = nema_expected(&t, n, &s, true)) || (st = iso_scatter_sum(&sum, n->s.fast, t, NULL, 1, 0)))
		goto done;
	st = run_cylinder_images(rows, &told, n, &s, t);
done:
	study_result(&n->s, "cylinder",
	             record_pack("{s:o, s:o, s:o}", "scan", st ? json_null() : scan_json(&s, sum), "rows",
	                         rows, "scatter", told ? told : json_null()));
	iso_scatter_free(t);
	nema_scan_close(&s);
	nema_object_close(&o);
	return st;
}

/* ---- all of it ---- */

/* Two lists of events, the trues and a copy of either for the problem, with orders and expected scatter. */
static int plan(void *state)
{
	struct nema *n = state;
	struct cmd *c = n->s.c;
	struct iso_ray ray = { .size = sizeof ray, .n_sub = 1, .tof_truncate = 3, .tof_fwhm_ps = 390 };
	struct iso_plan lines = { 0 };
	int64_t events;

	n->scale = scales[n->s.scale];
	if (n->s.events > 0) {
		n->scale.noise_events *= n->s.events / n->scale.events;
		n->scale.events = n->s.events;
	}
	if (n->s.seeds > 0) n->scale.seeds = n->s.seeds;
	events = (int64_t)n->scale.events;
	for (int a = 0; a < 3; a++) {
		ray.grid.n[a] = (int64_t)(320 / n->scale.voxel);
		ray.grid.voxel[a] = n->scale.voxel;
	}
	ray.n_sub = n->scale.subsets;
	iso_plan_add(&lines, "images, maps and sensitivities", iso_grid_voxels(&ray.grid),
	             12 * sizeof(iso_real), false);
	iso_plan_add(&lines, "events", events, 3 * sizeof(struct iso_event) + 24 + 3 * sizeof(iso_real),
	             false);
	iso_ray_plan(&lines, c->ctx, &ray, events);
	iso_em_plan(&lines, c->ctx, iso_grid_voxels(&ray.grid), events, ray.n_sub, 1);
	return cmd_plan(c, &lines);
}

static int run(void *state)
{
	struct nema *n = state;
	int st = study_scanner(&n->scanner, n->scale.scanner);

	study_show(&n->s, "iterations", json_integer(n->scale.iterations));
	study_show(&n->s, "subsets", json_integer(n->scale.subsets));
	study_show(&n->s, "voxel", record_real(n->scale.voxel));
	if (!st) st = run_quality(n);
	return st ? st : run_cylinder(n);
}

static void release(void *state)
{
	iso_scanner_free(((struct nema *)state)->scanner);
}

const struct paper paper_nema = { template, outputs, sizeof(struct nema), plan, run, release, STUDY_COUNTS };
