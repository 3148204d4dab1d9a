/* SPDX-License-Identifier: BSD-3-Clause */
/* Sensitivity of a line in sleeves, and accuracy of images at high rates. */
#include "nema_line.h"
#include "nema_run.h"

#include "base/fail.h"
#include "base/number.h"
#include "core/room.h"
#include "image/places.h"
#include "isotome/array.h"
#include "isotome/physics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- sensitivity ---- */

/* Runs at one offset of the line. */
struct group {
	double offset_mm;
	int n, run[NEMA_RUNS];
};

/* Net counts and their variance of each slice of a run. */
static int count_slices(double *net, double *variance, const struct nema_job *j, const struct nema_run *r,
                        int32_t *cells)
{
	const int64_t slice = j->g.angles * j->g.bins;
	struct ssrb_told told;
	bool has_late;
	int st;

	for (int late = 0; late < 2; late++) {
		memset(cells, 0, (size_t)iso_ssrb_cells(&j->g) * sizeof *cells);
		st = late ? iso_nema_late(cells, &has_late, j, r) : iso_nema_prompts(cells, &told, j, r);
		if (st) return st;
		for (int64_t i = 0; i < j->g.slices; i++)
			for (int64_t k = 0; k < slice; k++) {
				net[i] += (late ? -1. : 1.) * cells[i * slice + k];
				variance[i] += cells[i * slice + k];
			}
	}
	return ISO_OK;
}

static void sum_sleeve(struct nema_sleeve *s, const struct nema_job *j, const struct nema_run *r,
                       const double *net, const double *variance)
{
	double from = r->start_s - j->series.activity_at_s;

	*s = (struct nema_sleeve){ .wall_mm = r->wall_mm,
		                   .duration_s = r->duration_s,
		                   .decay = iso_decay_mean(j->series.half_life_s, from,
		                                           from + r->duration_s) };
	for (int64_t i = 0; i < j->g.slices; i++) {
		s->counts += net[i];
		s->variance += variance[i];
	}
}

/* S_i = S R_1i / R_1 of the first sleeve. */
static void set_profile(json_t *o, const struct nema_job *j, double s, const double *net,
                        const double *variance)
{
	json_t *value = json_array(), *error = json_array(), *z = json_array();
	double sum = 0;

	for (int64_t i = 0; i < j->g.slices; i++) sum += net[i];
	for (int64_t i = 0; i < j->g.slices; i++) {
		json_array_append_new(value, iso_nema_real(s * net[i] / sum));
		json_array_append_new(error, iso_nema_real(s * sqrt(variance[i]) / sum));
		json_array_append_new(z, iso_nema_real(iso_ssrb_z(&j->g, i)));
	}
	json_object_set_new(o, "profile", value);
	json_object_set_new(o, "profile_err", error);
	json_object_set_new(o, "z_mm", z);
}

static json_t *sensitivity_json(const struct nema_job *j, const struct group *g,
                                const struct nema_sleeve *sleeve, const struct nema_sensitivity *s)
{
	json_t *o = json_object(), *start = json_array();

	for (int k = 0; k < g->n; k++)
		json_array_append_new(start,
		                      json_real(j->series.run[g->run[k]].start_s - j->series.activity_at_s));
	iso_nema_set(o, "offset_mm", g->offset_mm);
	json_object_set_new(o, "scanner", json_string(iso_scanner_name(j->scanner)));
	iso_nema_set(o, "half_life_s", j->series.half_life_s);
	json_object_set_new(o, "t_start_s", start);
	json_object_set_new(o, "T_s", iso_nema_list(&sleeve->duration_s, g->n, sizeof *sleeve));
	json_object_set_new(o, "wall_mm", iso_nema_list(&sleeve->wall_mm, g->n, sizeof *sleeve));
	json_object_set_new(o, "counts", iso_nema_list(&sleeve->counts, g->n, sizeof *sleeve));
	json_object_set_new(o, "decay", iso_nema_list(&sleeve->decay, g->n, sizeof *sleeve));
	iso_nema_set(o, "A_cal_MBq", j->series.activity_mbq);
	iso_nema_set(o, "R0_cps", s->r0);
	iso_nema_set(o, "R0_err_cps", s->r0_err);
	iso_nema_set(o, "mu_per_mm", s->mu);
	iso_nema_set(o, "mu_err_per_mm", s->mu_err);
	iso_nema_set(o, "S_cps_per_MBq", s->s);
	iso_nema_set(o, "err", s->s_err);
	return o;
}

static int run_group(struct nema_job *j, const struct group *g, const char *key)
{
	struct iso_room room = iso_room_of(NULL, "sinograms");
	struct nema_sensitivity s;
	struct nema_sleeve *sleeve;
	double *net, *variance;
	int32_t *cells;
	int st;

	ISO_HOST(&room, sleeve, g->n);
	ISO_HOST(&room, net, g->n * j->g.slices);
	ISO_HOST(&room, variance, g->n * j->g.slices);
	ISO_HOST(&room, cells, iso_ssrb_cells(&j->g));
	st = room.status;
	for (int k = 0; k < g->n && !st; k++) {
		double *c = net + k * j->g.slices, *v = variance + k * j->g.slices;
		const struct nema_run *r = &j->series.run[g->run[k]];

		if (!(st = count_slices(c, v, j, r, cells))) sum_sleeve(&sleeve[k], j, r, c, v);
	}
	if (!st && !(st = iso_nema_sensitivity_fit(&s, sleeve, g->n, j->series.activity_mbq))) {
		json_t *o = sensitivity_json(j, g, sleeve, &s);
		int first = 0;

		for (int k = 1; k < g->n; k++)
			if (sleeve[k].wall_mm < sleeve[first].wall_mm) first = k;
		set_profile(o, j, s.s, net + first * j->g.slices, variance + first * j->g.slices);
		json_object_set_new(j->json, key, o);
	}
	iso_room_free(&room);
	return st;
}

int iso_nema_sensitivity(struct nema_job *j)
{
	bool done[NEMA_RUNS] = { false };
	struct group g;
	char key[64];
	int st = ISO_OK;

	for (int k = 0; k < j->series.n && !st; k++) {
		if (done[k]) continue;
		g = (struct group){ .offset_mm = j->series.run[k].offset_mm };
		for (int i = k; i < j->series.n; i++)
			if (j->series.run[i].offset_mm == g.offset_mm) {
				done[i] = true;
				g.run[g.n++] = i;
			}
		iso_snprintf(key, sizeof key, k ? "sensitivity_at_%.6g_mm" : "sensitivity", g.offset_mm);
		st = run_group(j, &g, key);
	}
	return st;
}

/* ---- accuracy ---- */

/* Slices within the middle share of the image's length, at most length_mm: [first, last]. */
static void middle_slices(int64_t *first, int64_t *last, const struct iso_grid *g,
                          const struct nema_standard *q)
{
	double length = fmin((double)g->n[2] * g->voxel[2] * q->axial_share, q->accuracy_length_mm) / 2;
	double middle = iso_measure_place(g, 2, 0) + (double)(g->n[2] - 1) / 2 * g->voxel[2];

	iso_measure_range(first, last, g, 2, middle - length, middle + length);
}

/* Sums over the disc about the axis, slice by slice. */
static int disc_sums(double *sum, const struct iso_array *x, double radius, int64_t first, int64_t last,
                     const char *path)
{
	const struct iso_grid *g = &x->grid;

	if (!iso_measure_inside(g, 0, -radius) || !iso_measure_inside(g, 0, radius) ||
	    !iso_measure_inside(g, 1, -radius) || !iso_measure_inside(g, 1, radius))
		return iso_fail(ISO_EINPUT,
		                "%s: the disc of %g mm about the axis leaves the image, which reaches %s mm",
		                path, 2 * radius, iso_measure_extent(g).text);
	for (int64_t iz = first; iz <= last; iz++)
		for (int64_t iy = 0; iy < g->n[1]; iy++)
			for (int64_t ix = 0; ix < g->n[0]; ix++)
				if (hypot(iso_measure_place(g, 0, ix), iso_measure_place(g, 1, iy)) <= radius)
					sum[iz - first] += x->v[(iz * g->n[1] + iy) * g->n[0] + ix];
	return ISO_OK;
}

/* The images of the runs: rate[k * slices + i] = sum / T. *slices: of the first; the others must have its grid. */
static int read_rates(double **rate, int64_t *slices, double *z0, double *step, const struct nema_job *j,
                      struct iso_room *room)
{
	struct iso_grid grid = { 0 };
	int64_t first = 0, last = -1;
	int st = ISO_OK;

	for (int k = 0; k < j->series.n && !st; k++) {
		const struct nema_run *r = &j->series.run[k];
		struct iso_array x = { 0 };

		if ((st = iso_read_image(&x, r->image, ISO_FINITE, k ? &grid : NULL))) return st;
		if (k == 0) {
			grid = x.grid;
			middle_slices(&first, &last, &grid, &j->standard);
			*slices = last - first + 1;
			*z0 = iso_measure_place(&grid, 2, first);
			*step = grid.voxel[2];
			ISO_HOST(room, *rate, j->series.n * *slices);
			st = room->status;
		}
		if (!st)
			st = disc_sums(*rate + k * *slices, &x, j->standard.disc_mm / 2, first, last,
			               r->image);
		for (int64_t i = 0; i < *slices && !st; i++) (*rate)[k * *slices + i] /= r->duration_s;
		iso_array_free(&x);
	}
	return st;
}

/* The runs of least activity. */
static void choose_lowest(bool *low, const double *activity, int n, int64_t lowest)
{
	for (int64_t m = 0; m < lowest && m < n; m++) {
		int least = -1;

		for (int k = 0; k < n; k++)
			if (!low[k] && (least < 0 || activity[k] < activity[least])) least = k;
		low[least] = true;
	}
}

/* 100 (R_ij / (A_j mean of R_ik / A_k over the lowest) - 1): least, greatest and mean over slices. */
static void set_errors(json_t *o, const double *rate, const double *activity, int n, int64_t slices,
                       const bool *low)
{
	json_t *least = json_array(), *most = json_array(), *mean = json_array();

	for (int k = 0; k < n; k++) {
		double a = INFINITY, b = -INFINITY, sum = 0;

		for (int64_t i = 0; i < slices; i++) {
			double expected = 0;
			int m = 0;

			for (int c = 0; c < n; c++)
				if (low[c]) {
					expected += rate[c * slices + i] / activity[c];
					m++;
				}
			double e = 100 * (rate[k * slices + i] / (activity[k] * expected / m) - 1);

			a = fmin(a, e);
			b = fmax(b, e);
			sum += e;
		}
		json_array_append_new(least, iso_nema_real(a));
		json_array_append_new(most, iso_nema_real(b));
		json_array_append_new(mean, iso_nema_real(sum / (double)slices));
	}
	json_object_set_new(o, "least_percent", least);
	json_object_set_new(o, "most_percent", most);
	json_object_set_new(o, "mean_percent", mean);
}

int iso_nema_accuracy(struct nema_job *j)
{
	struct iso_room room = iso_room_of(NULL, "accuracy");
	double activity[NEMA_RUNS], concentration[NEMA_RUNS], *rate = NULL, z0 = 0, step = 0;
	bool low[NEMA_RUNS] = { false };
	const int n = j->series.n;
	int64_t slices = 0;
	int st = read_rates(&rate, &slices, &z0, &step, j, &room);

	if (!st) {
		json_t *o = json_object();

		for (int k = 0; k < n; k++) {
			activity[k] = iso_nema_activity(&j->series, &j->series.run[k]);
			concentration[k] = activity[k] * 1e3 / j->series.phantom.volume_ml;
		}
		choose_lowest(low, activity, n, j->standard.lowest);
		json_object_set_new(o, "A_MBq", iso_nema_list(activity, n, sizeof *activity));
		json_object_set_new(o, "kBq_per_ml", iso_nema_list(concentration, n, sizeof *concentration));
		json_object_set_new(o, "slices", json_integer(slices));
		iso_nema_set(o, "first_z_mm", z0);
		iso_nema_set(o, "step_z_mm", step);
		iso_nema_set(o, "disc_mm", j->standard.disc_mm);
		set_errors(o, rate, activity, n, slices, low);
		json_object_set_new(j->json, "accuracy", o);
	}
	iso_room_free(&room);
	return st;
}
