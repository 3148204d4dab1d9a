/* SPDX-License-Identifier: BSD-3-Clause */
/* Scatter as an option of a reconstruction, together with randoms, histograms, efficiencies of crystals, of pairs and of
   events, and frames that are resumed. */
#include "problem/ray/model_ray.h"
#include "scatter_scan.h"

#include <unistd.h>

/* What the last round of a run says. */
struct said {
	double c, share, trues, scatter;
};

static struct said run(iso_problem *p, struct iso_array *x)
{
	struct said s;

	OK(iso_problem_recon(x, NULL, p));
	json_t *record = record_of(p);
	const json_t *rounds = json_object_get(scatter_of(record), "rounds");
	const json_t *last = json_array_get(rounds, json_array_size(rounds) - 1);

	s = (struct said){ number(last, "c"), number(last, "share"), number(last, "trues"),
		           number(last, "scatter") };
	json_decref(record);
	return s;
}

/* Images that differ by a factor and by rounding. */
static void same_but_for(const struct iso_array *a, const struct iso_array *b, double factor,
                         double tolerance)
{
	double most = 0;

	assert_int_equal(a->n, b->n);
	for (int64_t i = 0; i < a->n; i++) most = larger(most, (double)a->v[i]);
	for (int64_t i = 0; i < a->n; i++) NEAR((double)b->v[i] * factor, (double)a->v[i], tolerance * most);
}

/* ---- resolution ---- */

/* Rounds reconstruct without the PSF, on a sensitivity without it: what they say of the scatter does not depend on it. */
static void rounds_without_psf(void **state)
{
	struct said s[2];

	(void)state;
	for (int k = 0; k < 2; k++) {
		iso_problem *p = problem_of(&w.all, true);
		struct iso_array x = { 0 };

		if (k) OK(iso_problem_set(p, "psf", "30"));
		s[k] = run(p, &x);
		iso_array_free(&x);
		iso_problem_free(p);
	}
	NEAR(s[1].c, s[0].c, 1e-9);
	NEAR(s[1].trues, s[0].trues, 1e-9 * s[0].trues);
	NEAR(s[1].scatter, s[0].scatter, 1e-9 * s[0].scatter);
}

/* ---- randoms ---- */

/* n pairs of crystals, all alike, at any time of the window. */
static void add_randoms(struct iso_events *to, int64_t n, uint64_t seed)
{
	const double *at = iso_scanner_positions(w.ring);
	int64_t pairs = iso_scanner_pairs(w.ring);

	to->v = realloc(to->v, (size_t)(to->n + n) * sizeof *to->v);
	assert_non_null(to->v);
	for (int64_t i = 0; i < n; i++) {
		struct philox d = philox_draw(seed, (uint64_t)i, 0);
		int64_t pair = (int64_t)(philox_unit_double(d.w[0], d.w[1]) * (double)pairs), a, b;
		struct iso_event *e = to->v + to->n + i;

		iso_scanner_pair(&a, &b, w.ring, pair < pairs ? pair : pairs - 1);
		for (int c = 0; c < 3; c++) {
			e->p1[c] = (float)at[3 * a + c];
			e->p2[c] = (float)at[3 * b + c];
		}
		e->dt_ps = (2 * philox_unit(d.w[2]) - 1) * 3000;
	}
	to->n += n;
}

/* As many randoms as a third of the trues, told by as many delayed events: trues, scatter and image are what they are
   without. */
static void randoms_beside_scatter(void **state)
{
	struct iso_events e = { .n = w.all.n, .v = malloc((size_t)w.all.n * sizeof *e.v) }, late = { 0 };
	struct iso_array x = { 0 }, t = { 0 };
	int64_t n = w.trues.n / 3;

	(void)state;
	assert_non_null(e.v);
	memcpy(e.v, w.all.v, (size_t)e.n * sizeof *e.v);
	add_randoms(&e, n, 91);
	add_randoms(&late, n, 92);
	mix(&e);
	reconstruct(&t, &w.trues, false, "tof-fwhm-ps", "300");
	iso_problem *p = problem_of(&e, true);

	OK(iso_problem_set_events(p, "delayed", &late));
	OK(iso_problem_set(p, "tof-fwhm-ps", "300"));
	struct said s = run(p, &x);
	double body = mean_of(&t, false);

	print_message("with %lld randoms: c %.4f, trues x %.4f, scatter x %.4f, body x %.4f\n", (long long)n,
	              s.c, s.trues / (double)w.trues.n, s.scatter / w.scattered, mean_of(&x, false) / body);
	NEAR(s.c, 1, .02);
	NEAR(s.trues, (double)w.trues.n, .02 * (double)w.trues.n);
	NEAR(s.scatter, w.scattered, .04 * w.scattered);
	NEAR(s.share, s.scatter / (double)e.n, 1e-6);
	NEAR(mean_of(&x, false) / body, 1, .025);
	iso_problem_free(p);
	iso_events_free(&e);
	iso_events_free(&late);
	iso_array_free(&x);
	iso_array_free(&t);
}

/* ---- histograms ---- */

/* Rows of the pairs whose number is a multiple of `step`, `bins` times each. */
static void histogram(struct iso_events *to, const struct iso_events *e, int64_t step, int bins,
                      double bin_ps)
{
	const double *at = iso_scanner_positions(w.ring);
	int64_t crystals = iso_scanner_crystals(w.ring), pairs = iso_scanner_pairs(w.ring);
	int64_t *row = calloc((size_t)(crystals * crystals), sizeof *row),
		n = (pairs + step - 1) / step * bins;

	*to = (struct iso_events){ .n = n,
		                   .v = calloc((size_t)n, sizeof *to->v),
		                   .count = calloc((size_t)n, sizeof *to->count),
		                   .tof_bin_ps = bins > 1 ? bin_ps : 0,
		                   .lists_all = true };
	assert_true(row && to->v && to->count);
	for (int64_t i = 0; i < pairs; i += step) {
		int64_t a, b;

		iso_scanner_pair(&a, &b, w.ring, i);
		row[a * crystals + b] = i / step * bins + 1;
		for (int k = 0; k < bins; k++)
			for (int c = 0; c < 3; c++) {
				struct iso_event *line = to->v + i / step * bins + k;

				line->p1[c] = (float)at[3 * a + c];
				line->p2[c] = (float)at[3 * b + c];
				line->dt_ps = (float)((k - bins / 2) * bin_ps);
			}
	}
	for (int64_t j = 0; j < e->n; j++) {
		const struct iso_event *v = e->v + j;
		double off;
		int64_t a = iso_scanner_nearest(&off, w.ring, (double[]){ v->p1[0], v->p1[1], v->p1[2] });
		int64_t b = iso_scanner_nearest(&off, w.ring, (double[]){ v->p2[0], v->p2[1], v->p2[2] });
		bool turned = row[a * crystals + b] == 0;
		int64_t first = turned ? row[b * crystals + a] : row[a * crystals + b];
		double bin = round((turned ? -1 : 1) * v->dt_ps / bin_ps) + bins / 2;

		if (first > 0) to->count[first - 1 + (int64_t)fmin(fmax(bin, 0), bins - 1)] += 1;
	}
	free(row);
}

static double total(const struct iso_events *e)
{
	double sum = 0;

	for (int64_t i = 0; i < e->n; i++) sum += (double)e->count[i];
	return sum;
}

/* Lists of all lines, some of the scanner's, with time of flight in bins and without. */
static void histograms(void **state)
{
	static const struct {
		int64_t step;
		int bins;
		const char *tof;
	} of[2] = { { 2, 1, "0" }, { 4, 5, "300" } };

	(void)state;
	for (int k = 0; k < 2; k++) {
		struct iso_events e = { 0 }, t = { 0 };
		struct iso_array x = { 0 };

		histogram(&e, &w.all, of[k].step, of[k].bins, 480);
		histogram(&t, &w.trues, of[k].step, of[k].bins, 480);
		iso_problem *p = problem_of(&e, true);

		OK(iso_problem_set(p, "tof-fwhm-ps", of[k].tof));
		OK(iso_problem_set(p, "iterations", "1"));
		struct said s = run(p, &x);

		print_message("histogram, tof %s ps: %.0f counts, c %.4f, trues x %.4f, scatter x %.4f\n",
		              of[k].tof, total(&e), s.c, s.trues / total(&t),
		              s.scatter / w.scattered * (double)of[k].step);
		NEAR(s.c, 1, .03);
		NEAR(s.trues, total(&t), .025 * total(&t));
		NEAR(s.scatter, w.scattered / (double)of[k].step, .06 * w.scattered / (double)of[k].step);
		iso_problem_free(p);
		iso_events_free(&e);
		iso_events_free(&t);
		iso_array_free(&x);
	}
}

/* ---- efficiencies ---- */

/* Crystals ten times as efficient: f a hundredth, the scatter as it was. */
static void efficiencies_cancel(void **state)
{
	int64_t n = iso_scanner_crystals(w.ring);
	struct iso_array eff = { 0 }, x[2] = { 0 };
	struct said s[2];

	(void)state;
	OK(iso_array_create(&eff, 1, &n));
	for (int k = 0; k < 2; k++) {
		iso_problem *p = problem_of(&w.all, true);

		for (int64_t i = 0; i < n; i++)
			eff.v[i] = (iso_real)((k ? 10 : 1) * (1 + .1 * sin((double)i)));
		OK(iso_problem_set_array(p, "norm", &eff, false));
		s[k] = run(p, &x[k]);
		iso_problem_free(p);
	}
	NEAR(s[1].share, s[0].share, 1e-5 * s[0].share);
	NEAR(s[1].trues, s[0].trues, 1e-5 * s[0].trues);
	same_but_for(&x[0], &x[1], 100, 1e-4);
	iso_array_free(&eff);
	iso_array_free(&x[0]);
	iso_array_free(&x[1]);
}

/* A factor of 1/2 for every event: not in a sensitivity that is made here, and then of no effect; in one that is given,
   and then the image is twice as high. */
static void factors_of_events(void **state)
{
	struct iso_array half = { 0 }, sens = { 0 }, x[3] = { 0 };
	struct said s[3];
	iso_problem *p;

	(void)state;
	OK(iso_array_create(&half, 1, &w.all.n));
	for (int64_t i = 0; i < half.n; i++) {
		const struct iso_event *e = w.all.v + i;

		half.v[i] = (iso_real)(.5 * iso_scanner_pair_weight(
						    w.ring, (double[]){ e->p1[0], e->p1[1], e->p1[2] },
						    (double[]){ e->p2[0], e->p2[1], e->p2[2] }));
	}
	for (int k = 0; k < 3; k++) {
		p = problem_of(&w.all, true);
		if (k > 0) OK(iso_problem_set_array(p, "norm", &half, false));
		if (k == 2) {
			for (int64_t i = 0; i < sens.n; i++) sens.v[i] /= 2;
			OK(iso_problem_set_array(p, "sens", &sens, false));
		}
		OK(iso_problem_set(p, "scatter-rounds", "1"));
		OK(iso_problem_set(p, "iterations", "1"));
		s[k] = run(p, &x[k]);
		if (k == 0) OK(iso_problem_sens(&sens, p));
		iso_problem_free(p);
	}
	for (int k = 1; k < 3; k++) {
		NEAR(s[k].scatter, s[0].scatter, 1e-4 * s[0].scatter);
		NEAR(s[k].c, s[0].c, 1e-4);
		same_but_for(&x[0], &x[k], k == 2 ? .5 : 1,
		             k == 2 ? 1e-3 : 1e-4); /* 2: its start is not twice as high */
	}
	for (int k = 0; k < 3; k++) iso_array_free(&x[k]);
	iso_array_free(&half);
	iso_array_free(&sens);
}

/* The crystals as a table of places, with efficiencies as PETSIRD brings them: of bins, and of modules that do not meet. */
static iso_scanner *table_with_efficiencies(void)
{
	int64_t n = iso_scanner_crystals(w.ring);
	struct iso_array places = { 0 };
	struct iso_efficiencies *e = calloc(1, sizeof *e);
	float *bin = calloc((size_t)n, sizeof *bin), *value = calloc(96 * 96, sizeof *value);
	int32_t *group = calloc(64, sizeof *group);
	iso_scanner *s = NULL;
	FILE *f = fopen("table.yaml", "w");

	assert_true(e && bin && value && group && f);
	OK(iso_array_create(&places, 2, (const int64_t[]){ n, 3 }));
	for (int64_t i = 0; i < places.n; i++) places.v[i] = (iso_real)iso_scanner_positions(w.ring)[i];
	OK(iso_write("places.npy", &places, NULL));
	fputs("kind: detectors\npositions: places.npy\n", f);
	fclose(f);
	OK(iso_scanner_read(&s, "table.yaml"));
	for (int64_t i = 0; i < n; i++) bin[i] = (float)(1 + .5 * sin((double)i));
	for (int i = 0; i < 96 * 96; i++) value[i] = (float)(1 + .3 * cos((double)i));
	for (int i = 0; i < 64; i++) group[i] = abs(i / 8 - i % 8) > 6 ? EFFICIENCY_APART : 0;
	*e = (struct iso_efficiencies){ .kinds = 1,
		                        .kind = { { .modules = 8, .elements = 96, .windows = 1 } },
		                        .bins = n,
		                        .groups = 64,
		                        .values = 96 * 96,
		                        .bin = bin,
		                        .group = group,
		                        .value = value,
		                        .scale = 2,
		                        .most = 10 };
	s->efficiencies = e;
	iso_array_free(&places);
	return s;
}

/* The sum of r is that of the pairs one by one, each with its efficiency, once. With 'norm', which takes the place of the
   scanner's efficiencies, that of the crystals, or of events: none. */
static void efficiencies_of_pairs(void **state)
{
	iso_scanner *s = table_with_efficiencies();
	int64_t n = iso_scanner_pairs(s), crystals = iso_scanner_crystals(s);
	iso_problem problem = { .ctx = w.ctx };
	struct ray_problem ray = { .p = &problem, .s = s, .frame = { .factor = 3, .units = 2 } };
	struct iso_scatter how = estimate_of(&w.f);
	iso_real *r = calloc((size_t)n, sizeof *r);

	(void)state;
	how.scanner = s;
	how.tof_fwhm_ps = 0;
	how.detectors = 24;
	how.ring_step_mm = 40;
	OK(iso_scatter_create(&ray.scatter.table, w.ctx, &how));
	struct ray_scatter_pose pose = { .table = ray.scatter.table, .weight = 1, .z = iso_pose_identity() };

	ray.scatter.pose = &pose;
	ray.scatter.poses = 1;
	OK(iso_array_create(&ray.factors, 1, &crystals));
	for (int64_t i = 0; i < crystals; i++) ray.factors.v[i] = (iso_real)(1 + .2 * cos((double)i));
	for (int k = 0; k < 3; k++) {
		struct ray_pairs pairs = { 0 };
		double sum = 0, want = 0;

		ray.scatter.eta = k == 2 ? .7 : 1;
		ray.norm = k > 0 ? "norm.npy" : NULL;
		ray.factors.n = k == 1 ? crystals : 0;
		OK(ray_pairs_draw(&pairs, &ray, n, 1));
		OK(ray_pairs_scatter(r, &pairs, &ray));
		OK(ray_scatter_sum(&sum, &ray));
		for (int64_t i = 0; i < n; i++) want += (double)r[i] * 3 / 2;
		NEAR(sum / want, 1, 1e-4);
		ray_pairs_free(&pairs);
	}
	ray.factors.n = crystals;
	iso_array_free(&ray.factors);
	iso_scatter_free(ray.scatter.table);
	iso_scanner_free(s);
	free(r);
}

/* ---- frames ---- */

static int stop_in_second(void *arg, const struct iso_iteration *step)
{
	int *calls = arg;

	(void)step;
	return ++*calls > 1 ? ISO_ECANCEL : ISO_OK;
}

/* Stopped in the second of two frames, behind its rounds: resumed, the same bits. */
static void frames_are_resumed(void **state)
{
	struct iso_events e = w.all;
	struct iso_array x = { 0 }, y = { 0 };
	int calls = 0;

	(void)state;
	remove("frames.nii");
	remove("frames.json");
	e.time_ms = calloc((size_t)e.n, sizeof *e.time_ms);
	assert_non_null(e.time_ms);
	for (int64_t i = 0; i < e.n; i++) e.time_ms[i] = (uint32_t)(i * 10000 / e.n);
	e.duration_s = 10;
	for (int k = 0; k < 2; k++) {
		iso_problem *p = problem_of(&e, true);

		OK(iso_problem_set(p, "frames", "0,4,10"));
		OK(iso_problem_set(p, "scatter-rounds", "2"));
		OK(iso_problem_set(p, "iterations", "1"));
		OK(iso_problem_set(p, "force", "true"));
		if (k == 0) {
			OK(iso_problem_recon(&x, NULL, p));
		} else {
			iso_problem_set_each(p, stop_in_second, &calls);
			assert_int_equal(iso_problem_recon(NULL, "frames.nii", p), ISO_ECANCEL);
			assert_int_equal(access("frames.nii.rounds", F_OK), 0);
			iso_problem_set_each(p, NULL, NULL);
			OK(iso_problem_set(p, "resume", "true"));
			OK(iso_problem_recon(&y, "frames.nii", p));
			assert_int_not_equal(access("frames.nii.rounds", F_OK), 0);
		}
		iso_problem_free(p);
	}
	assert_int_equal(calls, 2);
	assert_int_equal(x.n, y.n);
	assert_memory_equal(x.v, y.v, (size_t)x.n * sizeof *x.v);
	free(e.time_ms);
	iso_array_free(&x);
	iso_array_free(&y);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rounds_without_psf), cmocka_unit_test(randoms_beside_scatter),
		cmocka_unit_test(histograms),         cmocka_unit_test(efficiencies_cancel),
		cmocka_unit_test(factors_of_events),  cmocka_unit_test(efficiencies_of_pairs),
		cmocka_unit_test(frames_are_resumed),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
