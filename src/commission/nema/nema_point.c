/* SPDX-License-Identifier: BSD-3-Clause */
/* Sensitivity of a point at each of its steps along the axis, and the means over middle lengths. */
#include "nema_point.h"

#include "nema_strip.h"

#include "base/fail.h"
#include "core/room.h"

#include <math.h>
#include <string.h>

#define STRAY_MM 5.     /* counts this far from z_mm, and ... */
#define STRAY_PITCHES 2 /* ... this many rings, are another step's */

/* One step, or the mean of some. */
struct step {
	double z_mm, activity_mbq, duration_s, counts, empty_cps;
	double s, variance; /* counts/s/MBq */
};

int64_t iso_nema_keep(double sum[POINT_KINDS], int32_t *const cells[POINT_KINDS], const struct ssrb *g,
                      double half_mm)
{
	const int64_t reach = (int64_t)floor(half_mm / g->bin_mm * (1 + 1e-9));
	double most = -1;
	int64_t top = 0;

	memset(sum, 0, POINT_KINDS * sizeof *sum);
	for (int64_t slice = 0; slice < g->slices; slice++) {
		double before = sum[POINT_PROMPTS];

		for (int64_t i = slice * g->angles; i < (slice + 1) * g->angles; i++) {
			int64_t middle = iso_nema_top(cells[POINT_PROMPTS] + i * g->bins, g, INFINITY);
			int64_t from = middle > reach ? middle - reach : 0;

			if (cells[POINT_PROMPTS][i * g->bins + middle] == 0) continue;
			for (int64_t b = from; b < g->bins && b <= middle + reach; b++)
				for (int k = 0; k < POINT_KINDS; k++) sum[k] += cells[k][i * g->bins + b];
		}
		if (sum[POINT_PROMPTS] - before > most) {
			most = sum[POINT_PROMPTS] - before;
			top = slice;
		}
	}
	return top;
}

/* Prompts and delayeds of a run, into zeroed cells. */
static int count_both(int32_t *const cells[2], const struct nema_job *j, const struct nema_run *r)
{
	const size_t bytes = (size_t)iso_ssrb_cells(&j->g) * sizeof(int32_t);
	struct ssrb_told told;
	bool has_late;
	int st;

	for (int k = 0; k < 2; k++) memset(cells[k], 0, bytes);
	return (st = iso_nema_prompts(cells[0], &told, j, r)) ? st : iso_nema_late(cells[1], &has_late, j, r);
}

static int check_place(const struct nema_job *j, const struct nema_run *r, int64_t top)
{
	double z = iso_ssrb_z(&j->g, top), far = fmax(STRAY_MM, STRAY_PITCHES * j->g.pitch_mm);

	if (fabs(z - r->z_mm) <= far) return ISO_OK;
	return iso_fail(ISO_EINPUT, "%s: z_mm is %g, but most counts lie at %g mm", r->events, r->z_mm, z);
}

static int run_step(struct step *s, int32_t *const cells[POINT_KINDS], const struct nema_job *j,
                    const struct nema_run *r)
{
	const double empty_s = j->series.empty.duration_s, a = iso_nema_activity(&j->series, r);
	double sum[POINT_KINDS], spread = 0;
	int st = count_both(cells, j, r);

	if (st || (st = check_place(j, r, iso_nema_keep(sum, cells, &j->g, j->standard.point_window_mm))))
		return st;
	*s = (struct step){ .z_mm = r->z_mm, .activity_mbq = a, .duration_s = r->duration_s };
	s->counts = sum[POINT_PROMPTS] - sum[POINT_DELAYED];
	if (empty_s > 0) {
		s->empty_cps = (sum[POINT_EMPTY] - sum[POINT_EMPTY_DELAYED]) / empty_s;
		spread = (sum[POINT_EMPTY] + sum[POINT_EMPTY_DELAYED]) / (empty_s * empty_s);
	}
	spread += (sum[POINT_PROMPTS] + sum[POINT_DELAYED]) / (r->duration_s * r->duration_s);
	s->s = (s->counts / r->duration_s - s->empty_cps) / a;
	s->variance = spread / (a * a);
	return ISO_OK;
}

/* Over the steps of the middle length_mm; returns how many there are. */
static int mean_of(struct step *mean, const struct step *step, int n, double length_mm)
{
	int m = 0;

	*mean = (struct step){ 0 };
	for (int k = 0; k < n; k++)
		if (fabs(step[k].z_mm) <= length_mm / 2 * (1 + 1e-9)) {
			mean->s += step[k].s;
			mean->variance += step[k].variance;
			m++;
		}
	if (m == 0) return 0;
	mean->s /= m;
	mean->variance /= (double)m * m;
	return m;
}

static double percent(const struct nema_job *j, double s)
{
	return s / 1e6 / j->standard.point_branching * 100;
}

/* Over all steps, and over each length of the standard that the scanner has. */
static json_t *means_json(const struct nema_job *j, const struct step *step, int n)
{
	const double field = (double)j->g.slices * j->g.pitch_mm / 2;
	json_t *list = json_array();

	for (int k = -1; k < j->standard.n_point_lengths; k++) {
		double length = k < 0 ? INFINITY : j->standard.point_lengths_mm[k];
		json_t *o = json_object();
		struct step mean;
		int steps;

		if (k >= 0 && length > field) continue;
		steps = mean_of(&mean, step, n, length);
		iso_nema_set(o, "length_mm", length); /* null: the whole field */
		json_object_set_new(o, "steps", json_integer(steps));
		iso_nema_set(o, "S_cps_per_MBq", steps ? mean.s : NAN);
		iso_nema_set(o, "err", steps ? sqrt(mean.variance) : NAN);
		iso_nema_set(o, "percent", steps ? percent(j, mean.s) : NAN);
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *steps_json(const struct nema_job *j, const struct step *step, int n)
{
	json_t *o = json_object(), *error = json_array(), *share = json_array();

	for (int k = 0; k < n; k++) {
		json_array_append_new(error, iso_nema_real(sqrt(step[k].variance)));
		json_array_append_new(share, iso_nema_real(percent(j, step[k].s)));
	}
	json_object_set_new(o, "scanner", json_string(iso_scanner_name(j->scanner)));
	iso_nema_set(o, "half_life_s", j->series.half_life_s);
	iso_nema_set(o, "A_cal_MBq", j->series.activity_mbq);
	iso_nema_set(o, "branching", j->standard.point_branching);
	iso_nema_set(o, "window_mm", j->standard.point_window_mm);
	json_object_set_new(o, "z_mm", iso_nema_list(&step->z_mm, n, sizeof *step));
	json_object_set_new(o, "A_MBq", iso_nema_list(&step->activity_mbq, n, sizeof *step));
	json_object_set_new(o, "T_s", iso_nema_list(&step->duration_s, n, sizeof *step));
	json_object_set_new(o, "counts", iso_nema_list(&step->counts, n, sizeof *step));
	json_object_set_new(o, "background_cps", iso_nema_list(&step->empty_cps, n, sizeof *step));
	json_object_set_new(o, "S_cps_per_MBq", iso_nema_list(&step->s, n, sizeof *step));
	json_object_set_new(o, "err", error);
	json_object_set_new(o, "percent", share);
	json_object_set_new(o, "means", means_json(j, step, n));
	return o;
}

int iso_nema_point_sensitivity(struct nema_job *j)
{
	struct iso_room room = iso_room_of(NULL, "sinograms");
	const int n = j->series.n;
	int32_t *cells[POINT_KINDS];
	struct step *step;
	int st;

	ISO_HOST(&room, step, n);
	for (int k = 0; k < POINT_KINDS; k++) ISO_HOST(&room, cells[k], iso_ssrb_cells(&j->g));
	st = room.status;
	if (!st && j->series.empty.events[0]) st = count_both(cells + POINT_EMPTY, j, &j->series.empty);
	for (int k = 0; k < n && !st; k++) st = run_step(&step[k], cells, j, &j->series.run[k]);
	if (!st) json_object_set_new(j->json, "point_sensitivity", steps_json(j, step, n));
	iso_room_free(&room);
	return st;
}
