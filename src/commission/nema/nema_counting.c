/* SPDX-License-Identifier: BSD-3-Clause */
/* Counting rates of a series of acquisitions: sinograms, the strip rule, rates, peaks, and the time resolution. */
#include "core/room.h"
#include "nema_rates.h"
#include "nema_run.h"
#include "nema_tof.h"

#include "base/fail.h"
#include "file/npy.h"

#include <math.h>
#include <string.h>

enum { TOF_ROWS = 80 }; /* of FWHM / 10: four FWHM either way */
#define TOF_BIN_MM 2.

/* What the acquisitions leave; arrays of a room. */
struct counted {
	struct nema_acquisition *a;
	struct nema_rates *rates;
	struct nema_tof_width *tof; /* fwhm_ps NaN: none */
	double *profile;            /* n x (2 bins - 1) */
	double *concentration;      /* kBq/ml */
	double *true_sf;            /* NaN: not known */
	int64_t used, outside;
	double tof_fwhm_ps;
};

struct work {
	int32_t *cells, *late;
	double *row;
	uint32_t *hist;
};

/* ---- time resolution ---- */

static int time_resolution(struct nema_tof_width *w, const struct nema_job *j, const struct nema_run *r,
                           const struct work *work, const struct ssrb_told *told, double fwhm)
{
	const struct nema_standard *q = &j->standard;
	double bin = fmax(fwhm / 10, told->tof_bin_ps);
	struct nema_tof t = { .rows = TOF_ROWS,
		              .columns = 2 * (int64_t)ceil(q->tof_reach_mm / TOF_BIN_MM),
		              .bin_ps = bin,
		              .first_ps = -bin * TOF_ROWS / 2,
		              .bin_mm = TOF_BIN_MM,
		              .half_mm = q->tof_strip_mm,
		              .count = work->hist };
	const struct ssrb_file f = iso_nema_file(j, r);
	struct nema_source line;
	int st;

	t.first_mm = -(double)t.columns / 2 * TOF_BIN_MM;
	memset(t.count, 0, (size_t)(t.rows * t.columns) * sizeof *t.count);
	if ((st = iso_nema_source_line(&line, work->cells, &j->g, j->series.phantom.cut_mm)) ||
	    (st = iso_nema_tof_count(&t, &f, &line)))
		return st;
	return iso_nema_tof_width(w, NULL, &t);
}

/* ---- truth ---- */

/* Kinds of events in the file of simulate --truth: 0 true, 1 scattered, 2 random. */
static int true_share(double *sf, const char *path)
{
	struct iso_array kinds = { 0 };
	double n[3] = { 0 };
	int st = iso_read(&kinds, path, ISO_NONNEGATIVE);

	for (int64_t i = 0; i < kinds.n && !st; i++) {
		int k = (int)kinds.v[i];

		n[k == 0 ? 0 : k == 255 ? 2 : 1]++;
	}
	iso_array_free(&kinds);
	*sf = n[1] / (n[0] + n[1]);
	return st;
}

/* ---- an acquisition ---- */

static int acquire(struct counted *c, const struct nema_job *j, int k, const struct work *w)
{
	const struct nema_rule rule = { j->series.phantom.cut_mm, j->series.phantom.strip_mm };
	const struct nema_run *r = &j->series.run[k];
	const int64_t slice = j->g.angles * j->g.bins;
	struct nema_acquisition *a = &c->a[k];
	struct ssrb_told told;
	int st;

	memset(w->cells, 0, (size_t)iso_ssrb_cells(&j->g) * sizeof *w->cells);
	memset(w->late, 0, (size_t)iso_ssrb_cells(&j->g) * sizeof *w->late);
	if ((st = iso_nema_prompts(w->cells, &told, j, r)) ||
	    (st = iso_nema_late(w->late, &a->has_delayed, j, r)))
		return st;
	for (int64_t i = 0; i < j->g.slices; i++) {
		iso_nema_slice(&a->slice[i], c->profile + k * (2 * j->g.bins - 1), w->row,
		               w->cells + i * slice, &j->g, &rule);
		a->slice[i].delayed = iso_nema_within(w->late + i * slice, &j->g, rule.cut_mm);
	}
	a->duration_s = r->duration_s;
	a->activity_mbq = iso_nema_activity(&j->series, r);
	a->low = j->series.low[k];
	c->concentration[k] = a->activity_mbq * 1e3 / j->series.phantom.volume_ml;
	c->used += told.used;
	c->outside += told.outside;
	c->true_sf[k] = NAN;
	c->tof[k].fwhm_ps = NAN;
	if (r->truth[0] && (st = true_share(&c->true_sf[k], r->truth))) return st;
	double fwhm = told.tof_fwhm_ps > 0 ? told.tof_fwhm_ps : iso_scanner_tof_fwhm_ps(j->scanner);

	c->tof_fwhm_ps = fwhm;
	return fwhm > 0 && told.has_dt ? time_resolution(&c->tof[k], j, r, w, &told, fwhm) : ISO_OK;
}

/* ---- JSON ---- */

static json_t *rates_json(const struct nema_rates *r, int n)
{
	static const struct {
		const char *name;
		size_t at;
	} figures[] = {
#define FIGURE(f) { #f, offsetof(struct nema_rates, f) }
		FIGURE(total),     FIGURE(trues),       FIGURE(randoms),     FIGURE(scatter),
		FIGURE(sf),        FIGURE(necr),        FIGURE(necr2),       FIGURE(total_err),
		FIGURE(trues_err), FIGURE(randoms_err), FIGURE(scatter_err), FIGURE(sf_err),
		FIGURE(necr_err),  FIGURE(necr2_err),
#undef FIGURE
	};
	json_t *o = json_object();

	for (size_t k = 0; k < sizeof figures / sizeof *figures; k++)
		json_object_set_new(
			o, figures[k].name,
			iso_nema_list((const double *)(const void *)((const char *)r + figures[k].at), n,
		                      sizeof *r));
	return o;
}

static json_t *peak_json(const struct counted *c, const double *first, int n)
{
	double y[NEMA_RUNS];

	for (int k = 0; k < n; k++)
		y[k] = *(const double *)(const void *)((const char *)first +
		                                       (size_t)k * sizeof(struct nema_rates));
	struct nema_peak p = iso_nema_peak(c->concentration, y, n);
	json_t *o = json_object();

	iso_nema_set(o, "kBq_per_ml", p.x);
	iso_nema_set(o, "cps", p.y);
	json_object_set_new(o, "inside", json_boolean(p.inside));
	return o;
}

static void set_peaks(json_t *o, const struct counted *c, int n)
{
	json_object_set_new(o, "peak_necr", peak_json(c, &c->rates->necr, n));
	json_object_set_new(o, "peak_necr2", peak_json(c, &c->rates->necr2, n));
	json_object_set_new(o, "peak_trues", peak_json(c, &c->rates->trues, n));
}

static json_t *tof_json(const struct counted *c, const struct nema_job *j)
{
	const struct nema_tof_width *t = c->tof;
	const int n = j->series.n;
	double fwhm[NEMA_RUNS], error[NEMA_RUNS];
	json_t *o = json_object();

	for (int k = 0; k < n; k++) {
		fwhm[k] = t[k].fwhm_ps;
		error[k] = t[k].fwhm_err_ps;
	}
	iso_nema_set(o, "bin_ps", c->tof_fwhm_ps / 10);
	iso_nema_set(o, "bin_mm", TOF_BIN_MM);
	iso_nema_set(o, "strip_half_mm", j->standard.tof_strip_mm);
	json_object_set_new(o, "fwhm_ps", iso_nema_list(&t->fwhm_ps, n, sizeof *t));
	json_object_set_new(o, "fwhm_err_ps", iso_nema_list(&t->fwhm_err_ps, n, sizeof *t));
	json_object_set_new(o, "gauss_fwhm_ps", iso_nema_list(&t->gauss_fwhm_ps, n, sizeof *t));
	json_object_set_new(o, "net_counts", iso_nema_list(&t->net_counts, n, sizeof *t));
	iso_nema_set(o, "at_kBq_per_ml", j->standard.tof_kbq_per_ml);
	iso_nema_set(o, "at_fwhm_ps", iso_nema_at(c->concentration, fwhm, n, j->standard.tof_kbq_per_ml));
	iso_nema_set(o, "at_fwhm_err_ps",
	             iso_nema_at(c->concentration, error, n, j->standard.tof_kbq_per_ml));
	return o;
}

static json_t *low_json(const struct nema_series *s)
{
	json_t *list = json_array();

	for (int k = 0; k < s->n; k++)
		if (s->low[k]) json_array_append_new(list, json_integer(k + 1));
	return list;
}

static json_t *profiles_json(const struct counted *c, const struct nema_job *j)
{
	const int64_t n = 2 * j->g.bins - 1;
	int64_t reach = (int64_t)ceil((j->series.phantom.cut_mm * 1.2) / j->g.bin_mm);
	int64_t first = reach < j->g.bins ? j->g.bins - 1 - reach : 0;
	json_t *o = json_object(), *all = json_array();

	for (int k = 0; k < j->series.n; k++)
		json_array_append_new(
			all, iso_nema_list(c->profile + k * n + first, n - 2 * first, sizeof(double)));
	iso_nema_set(o, "first_mm", (double)(first - j->g.bins + 1) * j->g.bin_mm);
	iso_nema_set(o, "step_mm", j->g.bin_mm);
	json_object_set_new(o, "counts", all);
	return o;
}

static void set_geometry(json_t *o, const struct nema_job *j, const struct counted *c)
{
	const struct nema_phantom *p = &j->series.phantom;

	iso_nema_set(o, "bin_mm", j->g.bin_mm);
	json_object_set_new(o, "slices", json_integer(j->g.slices));
	json_object_set_new(o, "angles", json_integer(j->g.angles));
	json_object_set_new(o, "bins", json_integer(j->g.bins));
	json_object_set_new(o, "prompts", json_integer(c->used));
	json_object_set_new(o, "outside", json_integer(c->outside));
	json_object_set_new(o, "phantom", json_string(p->name));
	iso_nema_set(o, "cut_mm", p->cut_mm);
	iso_nema_set(o, "strip_half_mm", p->strip_mm);
	iso_nema_set(o, "volume_ml", p->volume_ml);
	json_object_set_new(o, "scanner", json_string(iso_scanner_name(j->scanner)));
	iso_nema_set(o, "half_life_s", j->series.half_life_s);
	json_object_set_new(o, "low", low_json(&j->series));
}

static void put(struct nema_job *j, struct counted *c)
{
	const int n = j->series.n;
	json_t *o = json_object();
	bool delayed = true, tof = false, truth = false;

	set_geometry(o, j, c);
	json_object_set_new(o, "T_s", iso_nema_list(&c->a->duration_s, n, sizeof *c->a));
	json_object_set_new(o, "A_MBq", iso_nema_list(&c->a->activity_mbq, n, sizeof *c->a));
	json_object_set_new(o, "kBq_per_ml", iso_nema_list(c->concentration, n, sizeof(double)));
	for (int k = 0; k < n; k++) {
		delayed &= c->a[k].has_delayed;
		tof |= isfinite(c->tof[k].fwhm_ps);
		truth |= isfinite(c->true_sf[k]);
	}
	iso_nema_rates_plain(c->rates, c->a, n, j->g.slices);
	json_object_set_new(o, "without", rates_json(c->rates, n));
	if (delayed) {
		iso_nema_rates_delayed(c->rates, c->a, n, j->g.slices);
		json_object_set_new(o, "with_delayed", rates_json(c->rates, n));
	}
	set_peaks(o, c, n);
	if (truth) json_object_set_new(o, "true_sf", iso_nema_list(c->true_sf, n, sizeof(double)));
	json_object_set_new(o, "profiles", profiles_json(c, j));
	json_object_set_new(j->json, "counting", o);
	if (tof) json_object_set_new(j->json, "tof", tof_json(c, j));
}

/* ---- all of it ---- */

static int take_room(struct counted *c, struct work *w, struct iso_room *room, const struct nema_job *j)
{
	const int n = j->series.n;
	const int64_t columns = 2 * (int64_t)ceil(j->standard.tof_reach_mm / TOF_BIN_MM);

	ISO_HOST(room, c->a, n);
	ISO_HOST(room, c->rates, n);
	ISO_HOST(room, c->tof, n);
	ISO_HOST(room, c->profile, n * (2 * j->g.bins - 1));
	ISO_HOST(room, c->concentration, n);
	ISO_HOST(room, c->true_sf, n);
	ISO_HOST(room, w->cells, iso_ssrb_cells(&j->g));
	ISO_HOST(room, w->late, iso_ssrb_cells(&j->g));
	ISO_HOST(room, w->row, 4 * j->g.bins - 2);
	ISO_HOST(room, w->hist, TOF_ROWS * columns);
	for (int k = 0; k < n && !room->status; k++) ISO_HOST(room, c->a[k].slice, j->g.slices);
	return room->status;
}

int iso_nema_counting(struct nema_job *j)
{
	struct iso_room room = iso_room_of(NULL, "sinograms");
	struct counted c = { 0 };
	struct work w;
	int st;

	if ((st = iso_nema_scanner(j, j->standard.length_mm))) return st;
	st = take_room(&c, &w, &room, j);
	for (int k = 0; k < j->series.n && !st; k++) st = acquire(&c, j, k, &w);
	if (!st) put(j, &c);
	iso_room_free(&room);
	return st;
}
