/* SPDX-License-Identifier: BSD-3-Clause */
/* What the record of a run with 'scatter' says of its counts: prompts, trues, scatter and randoms by s, phi and z, against
   a direct calculation over all crystal pairs, and against what iso_simulate knows of every event. */
#include "scanner/scanner.h"
#include "test.h"

#include <jansson.h>

enum { MOST = 512, GROUPS = 4, PLANES = 15 }; /* of 8 rings */

static struct world {
	iso_ctx *ctx;
	iso_scanner *ring;
	struct iso_array f, mu;
	struct iso_events e, late;
	uint8_t *order; /* of each event */
	int64_t ordered;
	struct iso_array x; /* their image, */
	json_t *record;     /* and what is told of it */
} w;

/* A profile of the record, and one of the test's own. */
struct counts {
	double v[MOST];
};

static void write_ring(const char *path, int rings, int crystals)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fprintf(f,
	        "kind: cylinder\nname: test ring\nradius_mm: 150\nrings: %d\nring_pitch_mm: "
	        "%d\ncrystals_per_ring: %d\n"
	        "crystal_mm: [%d, %d, 20]\nmin_crystal_distance: %d\ntof: {fwhm_ps: 300}\ntime: "
	        "{coincidence_ns: 3}\n"
	        "pair_weight: solid-angle\nenergy: {window_kev: [400, 650], resolution: 0.12}\n",
	        rings, 96 / rings, crystals, 930 / crystals, 96 / rings, crystals / 8);
	fclose(f);
}

static void make_object(void)
{
	const struct iso_grid g = { .n = { 28, 28, 24 }, .voxel = { 5, 5, 5 } };

	OK(iso_array_on_grid(&w.f, &g));
	OK(iso_array_on_grid(&w.mu, &g));
	for (int64_t i = 0; i < w.f.n; i++) {
		double x = ((double)(i % 28) - 13.5) * 5, y = ((double)(i / 28 % 28) - 13.5) * 5;
		double z = ((double)(i / 28 / 28) - 11.5) * 5;
		bool in = hypot(x, y) < 55 && fabs(z) < 45;

		w.mu.v[i] = (iso_real)(in ? .0096 : 0);
		w.f.v[i] = (iso_real)(in ? 1 + (hypot(x - 20, y - 5) < 15) : 0); /* not the same all round */
	}
}

static int take_order(void *arg, const uint8_t *order, int64_t n)
{
	(void)arg;
	w.order = realloc(w.order, (size_t)(w.ordered + n));
	assert_non_null(w.order);
	memcpy(w.order + w.ordered, order, (size_t)n);
	w.ordered += n;
	return ISO_OK;
}

static iso_problem *problem_of(const struct iso_events *e);
static json_t *record_of(iso_problem *p);

static void reconstruct(void)
{
	iso_problem *p = problem_of(&w.e);

	OK(iso_problem_set(p, "scatter", "sss+mc"));
	OK(iso_problem_set(p, "scatter-rounds", "3"));
	OK(iso_problem_recon(&w.x, NULL, p));
	w.record = record_of(p);
	iso_problem_free(p);
}

static int begin(void **state)
{
	struct iso_simulated info = { .size = sizeof info };

	(void)state;
	w.ctx = cpu(2);
	write_ring("seen-ring.yaml", 8, 64); /* 130816 pairs: all of them are looked at */
	write_ring("seen-fine.yaml", 12, 96);
	OK(iso_scanner_read(&w.ring, "seen-ring.yaml"));
	make_object();
	struct iso_simulate p = { .size = sizeof p,
		                  .scanner = w.ring,
		                  .activity = &w.f,
		                  .mu = &w.mu,
		                  .counts = sized(100000, 40000),
		                  .exact_counts = true,
		                  .randoms = .2,
		                  .tof_fwhm_ps = 300,
		                  .seed = 7,
		                  .physics = true,
		                  .truth = take_order };
	OK(iso_simulate(&w.e, &info, w.ctx, &p));
	assert_int_equal(w.ordered, w.e.n);
	p.truth = NULL;
	p.delayed = true;
	OK(iso_simulate(&w.late, &info, w.ctx, &p));
	OK(iso_events_write("seen.lmdT", &w.e, NULL));
	reconstruct();
	return 0;
}

static int end(void **state)
{
	(void)state;
	iso_events_free(&w.e);
	iso_events_free(&w.late);
	iso_array_free(&w.f);
	iso_array_free(&w.mu);
	iso_array_free(&w.x);
	json_decref(w.record);
	iso_scanner_free(w.ring);
	iso_ctx_free(w.ctx);
	free(w.order);
	return 0;
}

/* ---- runs ---- */

static iso_problem *problem_of(const struct iso_events *e)
{
	iso_problem *p = NULL;

	OK(iso_problem_create(&p, w.ctx, "ray"));
	if (e)
		OK(iso_problem_set_events(p, "events", e));
	else
		OK(iso_problem_set(p, "events", "seen.lmdT"));
	OK(iso_problem_set_events(p, "delayed", &w.late));
	OK(iso_problem_set_array(p, "mu", &w.mu, false));
	OK(iso_problem_set(p, "scanner", "seen-ring.yaml"));
	OK(iso_problem_set(p, "grid", "28,28,24"));
	OK(iso_problem_set(p, "voxel", "5"));
	OK(iso_problem_set(p, "method", "osem"));
	OK(iso_problem_set(p, "iterations", "4"));
	OK(iso_problem_set(p, "subsets", "5"));
	OK(iso_problem_set(p, "scatter", "sss"));
	OK(iso_problem_set(p, "scatter-error", "0.05"));
	OK(iso_problem_set(p, "scatter-rounds", "1"));
	return p;
}

static json_t *record_of(iso_problem *p)
{
	char *text = NULL;
	json_t *root;

	OK(iso_problem_record(&text, p));
	root = json_loads(text, 0, NULL);
	assert_non_null(root);
	free(text);
	return root;
}

static const json_t *seen_of(const json_t *record, const char *key)
{
	const json_t *s = json_object_get(json_object_get(record, "results"), "scatter");
	const json_t *seen = json_object_get(s, "seen");

	assert_non_null(seen);
	return key ? json_object_get(seen, key) : seen;
}

static int take_list(struct counts *c, const json_t *profiles, const char *name)
{
	const json_t *list = json_object_get(profiles, name), *v;
	size_t i;

	assert_true(json_array_size(list) > 1 && json_array_size(list) <= MOST);
	json_array_foreach ((json_t *)list, i, v) c->v[i] = json_number_value(v);
	return (int)json_array_size(list);
}

/* Sums over s of the rows of a panel. */
static int take_rows(struct counts *c, const json_t *sinogram, const char *name)
{
	const json_t *rows = json_object_get(sinogram, name), *row;
	double step = json_number_value(json_object_get(sinogram, "step"));
	size_t i;

	assert_int_equal(json_array_size(rows), json_integer_value(json_object_get(sinogram, "phi")));
	json_array_foreach ((json_t *)rows, i, row) {
		const char *text = json_string_value(row);
		int n = 0;

		c->v[i] = 0;
		for (char *rest; *text; text = rest, n++) c->v[i] += (double)strtol(text, &rest, 10) * step;
		assert_int_equal(n, json_integer_value(json_object_get(sinogram, "s")));
	}
	return (int)json_array_size(rows);
}

/* ---- a direct calculation ---- */

/* Between the two nearest of n bins over [low, high]; around: the first follows the last. */
static void put(struct counts *c, double at, double low, double high, int n, bool around, double v)
{
	double place = (at - low) / (high - low) * n - .5;
	int i = (int)floor(place);
	double up = place - i;

	if (!around && place <= 0)
		c->v[0] += v;
	else if (!around && place >= n - 1)
		c->v[n - 1] += v;
	else {
		c->v[(i + n) % n] += v * (1 - up);
		c->v[(i + 1) % n] += v * up;
	}
}

struct direct {
	struct counts s, phi, z; /* s: both signs together */
};

static void add_line(struct direct *d, const json_t *seen, const struct iso_event *e, double v)
{
	double along = atan2((double)e->p2[1] - e->p1[1], (double)e->p2[0] - e->p1[0]);
	double phi = fmod(along + 1.5 * M_PI, M_PI);
	double s = fabs(e->p1[0] * cos(phi) + e->p1[1] * sin(phi));
	const json_t *z = json_object_get(seen, "z_mm");
	double most = json_number_value(json_array_get(json_object_get(seen, "s_mm"), 1));

	put(&d->s, s, -most, most, 80, false, v / 2);
	put(&d->s, -s, -most, most, 80, false, v / 2);
	put(&d->phi, phi, 0, M_PI, 48, true, v);
	put(&d->z, .5 * ((double)e->p1[2] + e->p2[2]), json_number_value(json_array_get(z, 0)),
	    json_number_value(json_array_get(z, 1)), PLANES, false, v);
}

static double greatest(const struct counts *c, int n)
{
	double most = 0;

	for (int i = 0; i < n; i++) most = fmax(most, c->v[i]);
	return most;
}

static void compare(const char *what, const struct counts *have, const struct counts *want, int n,
                    double share)
{
	double off = 0, most = greatest(want, n);

	assert_true(most > 0);
	for (int i = 0; i < n; i++) off = fmax(off, fabs(have->v[i] - want->v[i]));
	print_message("%s: off by at most %.2g of the greatest value\n", what, off / most);
	assert_true(off < share * most);
}

static void compare_all(const json_t *seen, const char *name, const struct direct *d)
{
	struct counts c = { 0 }, both = { 0 };

	assert_int_equal(take_list(&c, json_object_get(seen, "over_s"), name), 80);
	for (int i = 0; i < 80; i++) both.v[i] = (c.v[i] + c.v[79 - i]) / 2;
	compare("over s", &both, &d->s, 80, 1e-3);
	assert_int_equal(take_list(&c, json_object_get(seen, "over_z"), name), PLANES);
	compare("over z", &c, &d->z, PLANES, 1e-3);
	assert_int_equal(take_rows(&c, json_object_get(seen, "sinogram"), name), 48);
	compare("over phi", &c, &d->phi, 48, 5e-3); /* in steps of a thousandth */
}

/* W alpha A f of all crystal pairs. */
static void expect_trues(struct direct *d, const json_t *seen, const struct iso_array *x)
{
	int64_t n = iso_scanner_pairs(w.ring);
	const double *at = iso_scanner_positions(w.ring);
	struct iso_events e = { .n = n, .v = calloc((size_t)n, sizeof *e.v) };
	iso_real *y = malloc((size_t)n * sizeof *y), *alpha = malloc((size_t)n * sizeof *alpha);
	struct iso_ray p = { .size = sizeof p, .grid = x->grid, .n_sub = 1 };
	iso_real *sorted = malloc((size_t)n * sizeof *sorted);
	iso_op *op = NULL;

	assert_true(e.v && y && alpha && sorted);
	for (int64_t i = 0; i < n; i++) {
		int64_t a, b;

		iso_scanner_pair(&a, &b, w.ring, i);
		for (int k = 0; k < 3; k++) {
			e.v[i].p1[k] = (float)at[3 * a + k];
			e.v[i].p2[k] = (float)at[3 * b + k];
		}
	}
	OK(iso_ray_create(&op, w.ctx, &p, &e));
	OK(iso_forward(sorted, op, ISO_ALL, x->v));
	iso_op_unsort(y, op, sorted);
	OK(iso_ray_attenuation(alpha, w.ctx, &w.mu, &e));
	for (int64_t i = 0; i < n; i++) {
		int64_t a, b;

		iso_scanner_pair(&a, &b, w.ring, i);
		add_line(d, seen, e.v + i,
		         (double)y[i] * (double)alpha[i] *
		                 iso_scanner_pair_weight(w.ring, at + 3 * a, at + 3 * b));
	}
	iso_op_free(op);
	free(e.v);
	free(y);
	free(alpha);
	free(sorted);
}

static void as_calculated_directly(void **state)
{
	struct direct prompts = { 0 }, trues = { 0 };
	const json_t *seen = seen_of(w.record, NULL);

	(void)state;
	assert_int_equal(json_integer_value(json_object_get(seen, "lines")), iso_scanner_pairs(w.ring));
	for (int64_t j = 0; j < w.e.n; j++) add_line(&prompts, seen, w.e.v + j, 1);
	compare_all(seen, "prompts", &prompts);
	expect_trues(&trues, seen, &w.x);
	compare_all(seen, "trues", &trues);
}

/* ---- against the truth ---- */

/* Of events of one kind: 0 trues, 1 scattered, 2 randoms. */
static int kind_of(uint8_t order)
{
	return order == ISO_ORDER_RANDOM ? 2 : order > 0;
}

/* GROUPS of equal width, the middle first and both sides together, and what is allowed of each: 4 standard deviations, 5 %,
   and a little of all counts, for the noise of the image beside the object and the ends of the estimate. */
static void near_truth(const json_t *profiles, const struct counts truth[3], int n)
{
	static const char *const names[] = { "trues", "scatter", "randoms" };
	int failures = 0;

	for (int k = 0; k < 3; k++) {
		struct counts c = { 0 };

		assert_int_equal(take_list(&c, profiles, names[k]), n);
		for (int g = 0; g < GROUPS; g++) {
			double have = 0, want = 0;

			for (int i = 0; i < n; i++)
				if (abs(2 * i + 1 - n) * GROUPS / n == g) {
					have += c.v[i];
					want += truth[k].v[i];
				}
			double allowed =
				4 * sqrt(want + 1) + .05 * want + (k > 0 ? .001 : .004) * (double)w.e.n;

			print_message("%s, part %d: %.0f, true are %.0f\n", names[k], g, have, want);
			failures += fabs(have - want) > allowed;
		}
	}
	assert_int_equal(failures, 0);
}

static void as_the_simulation_knows(void **state)
{
	struct direct truth[3] = { 0 };
	struct counts s[3], z[3];
	const json_t *seen = seen_of(w.record, NULL);
	const json_t *told = json_object_get(json_object_get(w.record, "results"), "scatter");

	(void)state;
	for (int64_t j = 0; j < w.e.n; j++) add_line(&truth[kind_of(w.order[j])], seen, w.e.v + j, 1);
	for (int k = 0; k < 3; k++) {
		s[k] = truth[k].s;
		z[k] = truth[k].z;
	}
	near_truth(json_object_get(seen, "over_s"), s, 80);
	near_truth(json_object_get(seen, "over_z"), z, PLANES);
	NEAR(json_number_value(json_object_get(told, "randoms_share")), .2, .01);
}

/* ---- the same of any number of threads, from disk, of frames ---- */

static json_t *seen_with(iso_ctx *ctx, const char *name, const char *value)
{
	iso_ctx *before = w.ctx;
	struct iso_array x = { 0 };

	w.ctx = ctx;
	iso_problem *p = problem_of(NULL);

	if (name) OK(iso_problem_set(p, name, value));
	OK(iso_problem_recon(&x, NULL, p));
	w.ctx = before;
	json_t *record = record_of(p), *seen = json_deep_copy(seen_of(record, NULL));

	json_decref(record);
	iso_array_free(&x);
	iso_problem_free(p);
	return seen;
}

static void same_bits(void **state)
{
	iso_ctx *one = cpu(1);
	json_t *a = seen_with(w.ctx, NULL, NULL), *b = seen_with(one, "block", "10007");

	(void)state;
	assert_true(json_equal(a, b));
	json_decref(a);
	json_decref(b);
	iso_ctx_free(one);
}

static void frames_add_up(void **state)
{
	struct iso_events e = w.e;
	struct iso_array x = { 0 };
	double sum = 0;

	(void)state;
	e.time_ms = calloc((size_t)e.n, sizeof *e.time_ms);
	assert_non_null(e.time_ms);
	for (int64_t i = 0; i < e.n; i++) e.time_ms[i] = (uint32_t)(i * 10000 / e.n);
	e.duration_s = 10;
	iso_problem *p = problem_of(&e);

	OK(iso_problem_set(p, "frames", "0,4,10"));
	OK(iso_problem_recon(&x, NULL, p));
	json_t *record = record_of(p);
	const json_t *frames = json_object_get(json_object_get(record, "results"), "frames"), *frame;
	size_t k;

	assert_int_equal(json_array_size(frames), 2);
	json_array_foreach ((json_t *)frames, k, frame) {
		const json_t *seen = json_object_get(json_object_get(frame, "scatter"), "seen");

		sum += json_number_value(json_object_get(json_object_get(seen, "totals"), "prompts"));
	}
	NEAR(sum, (double)e.n, .01);
	json_decref(record);
	free(e.time_ms);
	iso_array_free(&x);
	iso_problem_free(p);
}

/* ---- rows that list all lines ---- */

static void write_sinogram(void)
{
	FILE *f = fopen("seen.hs", "w");

	assert_non_null(f);
	fputs("!INTERFILE :=\nname of data file := seen.s\n!number format := unsigned integer\n!number of "
	      "bytes per pixel "
	      ":= 1\napplied corrections := {None}\nnumber of dimensions := 4\nmatrix axis label [4] := "
	      "segment\nmatrix "
	      "size [4] := 1\nmatrix axis label [3] := view\nmatrix size [3] := 32\nmatrix axis label [2] := "
	      "axial "
	      "coordinate\nmatrix size [2] := {8}\nmatrix axis label [1] := tangential coordinate\nmatrix "
	      "size [1] := "
	      "25\nminimum ring difference per segment := {0}\nmaximum ring difference per segment := "
	      "{0}\nNumber of "
	      "rings := 8\nNumber of detectors per ring := 64\nInner ring diameter (cm) := 30\nAverage depth "
	      "of "
	      "interaction (cm) := 0\nDistance between rings (cm) := 1.2\nView offset (degrees) := 0\n",
	      f);
	fclose(f);
	assert_non_null(f = fopen("seen.s", "wb"));
	for (int i = 0; i < 32 * 8; i++)
		for (int k = 0; k < 25; k++) fputc(abs(k - 12) < 6 ? 120 : 6, f);
	fclose(f);
}

static void histograms_have_them(void **state)
{
	iso_problem *p = NULL;
	struct iso_array x = { 0 };

	(void)state;
	write_sinogram();
	OK(iso_problem_create(&p, w.ctx, "ray"));
	OK(iso_problem_set(p, "events", "seen.hs"));
	OK(iso_problem_set(p, "scanner", "seen-ring.yaml"));
	OK(iso_problem_set_array(p, "mu", &w.mu, false));
	OK(iso_problem_set(p, "grid", "28,28,24"));
	OK(iso_problem_set(p, "voxel", "5"));
	OK(iso_problem_set(p, "iterations", "10"));
	OK(iso_problem_set(p, "scatter", "sss"));
	OK(iso_problem_recon(&x, NULL, p));
	json_t *record = record_of(p);
	const json_t *totals = seen_of(record, "totals");
	double prompts = json_number_value(json_object_get(totals, "prompts"));
	double trues = json_number_value(json_object_get(totals, "trues"));
	double scatter = json_number_value(json_object_get(totals, "scatter"));
	const json_t *told = json_object_get(json_object_get(record, "results"), "scatter");

	print_message("%.0f counts, %.0f trues, %.0f scattered\n", prompts, trues, scatter);
	NEAR(prompts, 32 * 8 * (11 * 120 + 14 * 6), .01);
	assert_int_equal(json_integer_value(json_object_get(seen_of(record, NULL), "lines")), 32 * 8 * 25);
	const json_t *events = json_object_get(json_object_get(record, "results"), "events");
	double sum = json_number_value(json_object_get(events, "sum_of_sensitivity_times_image"));

	NEAR(trues, sum, 1e-3 * sum);
	NEAR(scatter, json_number_value(json_object_get(told, "share")) * prompts, 1e-3 * prompts);
	json_decref(record);
	iso_array_free(&x);
	iso_problem_free(p);
}

/* Of many pairs, some. */
static void a_sample_of_pairs_agrees(void **state)
{
	iso_problem *p = problem_of(&w.e);
	struct iso_array x = { 0 };

	(void)state;
	OK(iso_problem_set(p, "scanner", "seen-fine.yaml"));
	OK(iso_problem_set(p, "delayed", "none"));
	OK(iso_problem_recon(&x, NULL, p));
	json_t *record = record_of(p);
	const json_t *results = json_object_get(record, "results"), *totals = seen_of(record, "totals");
	double trues = json_number_value(
		json_object_get(json_object_get(results, "events"), "sum_of_sensitivity_times_image"));
	double scatter = json_number_value(json_object_get(json_object_get(results, "scatter"), "share")) *
	                 json_number_value(json_object_get(totals, "prompts"));

	assert_int_equal(json_integer_value(json_object_get(seen_of(record, NULL), "lines")), 1 << 17);
	NEAR(json_number_value(json_object_get(totals, "trues")), trues, .01 * trues);
	NEAR(json_number_value(json_object_get(totals, "scatter")), scatter, .01 * scatter);
	json_decref(record);
	iso_array_free(&x);
	iso_problem_free(p);
}

/* A map that ends in the body: the tails are too high for what is left of it. */
static void says_what_cannot_be_right(void **state)
{
	iso_problem *p = problem_of(&w.e);
	struct iso_array x = { 0 }, cut = { 0 };
	char *text = NULL;
	struct iso_grid g = w.mu.grid;

	(void)state;
	g.n[0] = g.n[1] = 12;
	OK(iso_array_on_grid(&cut, &g));
	for (int64_t i = 0; i < cut.n; i++) cut.v[i] = (iso_real).0096;
	OK(iso_problem_set_array(p, "mu", &cut, false));
	OK(iso_problem_recon(&x, NULL, p));
	OK(iso_problem_record(&text, p));
	assert_non_null(strstr(text, "has matter at its edge across"));
	assert_non_null(strstr(text, "\"map_cut\": true"));
	assert_non_null(strstr(text, "of the activity lies where"));
	free(text);
	iso_array_free(&cut);
	iso_array_free(&x);
	iso_problem_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_calculated_directly),
		cmocka_unit_test(as_the_simulation_knows),
		cmocka_unit_test(same_bits),
		cmocka_unit_test(frames_add_up),
		cmocka_unit_test(histograms_have_them),
		cmocka_unit_test(says_what_cannot_be_right),
		cmocka_unit_test(a_sample_of_pairs_agrees),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
