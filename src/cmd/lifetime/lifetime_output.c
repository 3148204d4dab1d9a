/* SPDX-License-Identifier: BSD-3-Clause */
/* What isotome lifetime writes: maps, what they are worth, regions with their curves, a page. */
#include "lifetime_work.h"

#include "file/suffix.h"
#include "core/size.h"
#include "io/format.h"
#include "isotome/report.h"

#define TISSUES_APART .05 /* ns: what differs between tissues, at least and at most */
#define TISSUES_APART_MOST .2
#define SEEN .98       /* share of triples that the image should explain */
#define LARGE_ERROR .1 /* of tau: above, the bound no longer describes the error */

/* ---- names ---- */

/* tau.nii.gz -> tau_NAME.nii.gz */
static int map_path(struct lifetime_map *m, const char *out)
{
	const char *base = iso_base_name(out), *dot = strrchr(base, '.');

	if (dot && iso_has_suffix(out, ".gz"))
		while (dot > base && *--dot != '.') {
		}
	const int stem = (int)((dot ? dot : base + strlen(base)) - out);
	const int n = iso_snprintf(m->path, sizeof m->path, "%.*s%s%s%s", stem, out, *m->name ? "_" : "",
	                           m->name, out + stem);

	return n < (int)sizeof m->path ? ISO_OK : iso_fail(ISO_EARG, "%.200s: the path is too long", out);
}

int lifetime_name_maps(struct lifetime_work *w)
{
	static const struct {
		const char *name, *unit;
	} of[LIFETIME_MAPS] = { { "", "ns" },     { "error", "ns" },    { "counts", "triples" },
		                { "mean", "ns" }, { "intensity", "1" }, { "intensity_error", "1" } };
	const bool free_w = strcmp(w->s.intensity, "free") == 0 && strcmp(w->s.method, "posterior") != 0 &&
	                    strcmp(w->s.components, "none") != 0;
	int st = ISO_OK;

	for (int k = 0; k < LIFETIME_MAPS && !st; k++) {
		struct lifetime_map *m = w->map + k;

		m->name = of[k].name;
		m->unit = of[k].unit;
		m->wanted = k < MAP_W || free_w;
		if (!m->wanted) continue;
		if ((st = map_path(m, w->s.out))) break;
		if (k != MAP_TAU) st = cmd_add_output(w->c, m->path, m->name);
		if (!st) st = cmd_check_array(w->c, m->path);
	}
	return st;
}

/* ---- what the maps are worth ---- */

static int rising(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Median of the errors that are known, and how many there are; how many of them are large. */
struct worth {
	int64_t n, above[2], doubtful;
	double median;
};

static int weigh(struct worth *q, const struct lifetime_work *w, int64_t n)
{
	const double *tau = w->map[MAP_TAU].v, *error = w->map[MAP_ERROR].v;
	double *known = size_alloc(n, sizeof *known);

	*q = (struct worth){ .median = NAN };
	if (!known) return iso_fail_memory("errors", n * (int64_t)sizeof *known);
	for (int64_t v = 0; v < n; v++) {
		if (!isfinite(tau[v])) continue;
		q->above[0] += error[v] > TISSUES_APART;
		q->above[1] += error[v] > TISSUES_APART_MOST;
		q->doubtful += error[v] > LARGE_ERROR * tau[v];
		known[q->n++] = error[v];
	}
	if (q->n > 0) {
		qsort(known, (size_t)q->n, sizeof *known, rising);
		q->median = known[q->n / 2];
	}
	free(known);
	return ISO_OK;
}

/* Triples that no voxel explains are in no map. */
static void warn_unseen(const struct lifetime_work *w, int64_t n)
{
	const double all = (double)iso_triples_count(w->t) - w->ask.randoms.number;
	double seen = 0;

	for (int64_t v = 0; v < n; v++) seen += w->map[MAP_COUNTS].v[v];
	if (seen < SEEN * all)
		record_warn(
			&w->c->record,
			"the image explains %.0f of %.0f triples: others are of places outside of it, or its "
			"voxels are larger than the resolution",
			seen, all);
}

static void warn(const struct lifetime_work *w, const struct worth *q)
{
	struct record *r = &w->c->record;

	if (q->n == 0)
		record_warn(
			r, "no voxel has %g triples and a life: larger voxels, more triples, or --min-counts",
			w->s.min_counts);
	if (q->above[0] > 0)
		record_warn(r,
		            "%" PRId64 " of %" PRId64 " voxels have an error above 50 ps, %" PRId64
		            " above 200 ps; tissues differ by 50 to 200 ps",
		            q->above[0], q->n, q->above[1]);
	if (q->doubtful > 0)
		record_warn(r,
		            "%" PRId64 " of %" PRId64
		            " voxels have an error above a tenth of the life: there it is a rough guess",
		            q->doubtful, q->n);
	if (w->ask.error == ISO_LIFETIME_DIAGONAL)
		record_warn(r, "errors are of each voxel by itself: too small where voxels are blurred into "
		               "each other");
	if (strcmp(w->s.method, "emg") == 0 && !w->maps.converged)
		record_warn(r, "after %d iterations the gradient is %.2g of that at the start, above 1e-3",
		            w->maps.iterations, w->maps.residual);
}

/* ---- record ---- */

static json_t *curve_json(const struct lifetime_work *w, int region, const double *v)
{
	(void)w;
	return record_reals(LIFETIME_BINS, v + region * LIFETIME_BINS);
}

static int tell_regions(struct lifetime_work *w)
{
	json_t *list = w->regions ? json_array() : NULL;

	for (int k = 0; k < w->regions; k++)
		json_array_append_new(list, record_pack("{s:i, s:f, s:f, s:o, s:o}", "label", k + 1, "tau_ns",
		                                        w->region_tau[k], "error_ns", w->region_error[k],
		                                        "curve_counts", curve_json(w, k, w->curve_counts),
		                                        "curve_fit", curve_json(w, k, w->curve_fit)));
	return list ? record_result(&w->c->record, "lifetime_regions", list) : ISO_OK;
}

static int tell(struct lifetime_work *w, int64_t n)
{
	struct worth q;
	int st = weigh(&q, w, n);

	if (st) return st;
	warn(w, &q);
	warn_unseen(w, n);
	st = record_result(
		&w->c->record, "lifetime",
		record_pack(
			"{s:s, s:I, s:I, s:f, s:f, s:f, s:I, s:f, s:I, s:I, s:I, s:i, s:f, s:f, s:f, s:b}",
			"method", w->s.method, "triples", (json_int_t)iso_triples_count(w->t),
			"outside_window", (json_int_t)(iso_triples_given(w->t) - iso_triples_count(w->t)),
			"random", w->ask.randoms.number, "window_from_ns", w->model.lo, "window_to_ns",
			w->model.hi, "voxels", (json_int_t)q.n, "median_error_ns", q.median,
			"voxels_above_50_ps", (json_int_t)q.above[0], "voxels_above_200_ps",
			(json_int_t)q.above[1], "voxels_above_a_tenth", (json_int_t)q.doubtful, "iterations",
			w->maps.iterations, "objective", w->maps.objective[1], "residual", w->maps.residual,
			"beta", w->maps.beta, "converged", (int)w->maps.converged));
	return st ? st : tell_regions(w);
}

/* ---- files ---- */

static int write_map(struct lifetime_work *w, const struct lifetime_map *m)
{
	struct iso_array a = { 0 };
	int st = iso_array_on_grid(&a, &w->p->found.grid);

	for (int64_t v = 0; v < a.n && !st; v++) a.v[v] = (iso_real)m->v[v];
	iso_snprintf(a.unit, sizeof a.unit, "%s", m->unit);
	if (!st) st = cmd_write(w->c, m->path, &a);
	iso_array_free(&a);
	return st;
}

static int write_page(const struct lifetime_work *w)
{
	static const int shown[] = { MAP_COUNTS, MAP_TAU, MAP_ERROR, MAP_W, MAP_W_ERROR };
	const struct iso_report_options o = { .size = sizeof o, .title = "Lifetime of positronium" };
	const char *path[5];
	int n = 0;

	if (!w->s.page) return ISO_OK;
	for (int k = 0; k < 5; k++)
		if (w->map[shown[k]].wanted) path[n++] = w->map[shown[k]].path;
	return iso_report_write(w->s.page, n, path, &o);
}

int lifetime_write(struct lifetime_work *w)
{
	const int64_t n = iso_grid_voxels(&w->p->found.grid);
	int st = tell(w, n);

	for (int k = 0; k < LIFETIME_MAPS && !st; k++)
		if (w->map[k].wanted) st = write_map(w, w->map + k);
	return st ? st : write_page(w);
}
