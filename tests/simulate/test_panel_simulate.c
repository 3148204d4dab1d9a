/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole scans of two panels: numbers that are asked for, lists that agree with histograms, randoms by
   rate, delayed coincidences, the sensitivity at a point; and what is refused. */
#include "files.h"
#include "test.h"

static const char description[] = "kind: panels\n"
				  "crystals: [4, 6]\n"
				  "pitch_mm: [5, 6]\n"
				  "crystal_mm: [4.5, 6, 20]\n"
				  "gap_mm: 30\n"
				  "layers: 2\n"
				  "planes: 6\n"
				  "plane_mm: 5\n"
				  "time: {coincidence_ns: 10}\n";

struct scan {
	iso_ctx *ctx;
	iso_scanner *scanner;
	struct iso_array image, lors;
	struct iso_panel_simulate p;
	iso_panel_scan_run *run;
};

static struct scan begin(int threads)
{
	struct iso_grid g = { { 4, 4, 4 }, { 3, 3, 3 }, { 0, 0, 0 } };
	struct scan s = { .ctx = cpu(threads) };

	put_text("panels.yaml", description);
	OK(iso_scanner_read(&s.scanner, "panels.yaml"));
	OK(iso_array_on_grid(&s.image, &g));
	for (int64_t i = 0; i < s.image.n; i++) s.image.v[i] = 1;
	OK(iso_panel_histogram(&s.lors, iso_scanner_panels(s.scanner)));
	assert_int_equal(s.lors.n, iso_panels_lors(iso_scanner_panels(s.scanner)));
	s.p.size = sizeof s.p;
	s.p.scanner = s.scanner;
	s.p.transport.seed = 5;
	return s;
}

static const struct iso_panel_simulated *run(struct scan *s, iso_emit_fn emit, void *arg)
{
	s->p.activity = &s->image;
	OK(iso_panel_simulate_open(&s->run, s->ctx, &s->p));
	OK(iso_panel_simulate_events(s->lors.v, s->run, emit, arg));
	return iso_panel_simulate_info(s->run);
}

static void end(struct scan *s)
{
	iso_panel_simulate_free(s->run);
	iso_array_free(&s->image);
	iso_array_free(&s->lors);
	iso_scanner_free(s->scanner);
	iso_ctx_free(s->ctx);
}

static double sum(const struct iso_array *a)
{
	double all = 0;

	for (int64_t i = 0; i < a->n; i++) all += a->v[i];
	return all;
}

/* Events that came through `emit`, by LOR. */
static int count(void *histogram, const struct iso_events *e)
{
	struct iso_array *h = histogram;
	const uint32_t face = 4 * 6, head = 2 * face;

	for (int64_t i = 0; i < e->n; i++) {
		uint32_t u = e->crystal[2 * i], l = e->crystal[2 * i + 1] - head;

		assert_true(u < head && l < head);
		h->v[((u / face * 2 + l / face) * face + u % face) * face + l % face] += 1;
	}
	return ISO_OK;
}

static void exact_numbers(void **state)
{
	struct scan s = begin(1), t = begin(3);
	struct iso_array list = { 0 };
	int64_t delayed;

	(void)state;
	OK(iso_panel_histogram(&list, iso_scanner_panels(s.scanner)));
	s.p.counts = t.p.counts = 2000;
	s.p.exact = t.p.exact = true;
	s.p.randoms = t.p.randoms = .25;
	const struct iso_panel_simulated *i = run(&s, count, &list);

	assert_int_equal(i->expected, 2000);
	assert_int_equal(i->trues, 1500);
	assert_int_equal(i->randoms, 500);
	assert_true(i->decays > i->trues);
	assert_true(sum(&s.lors) == 2000);
	assert_memory_equal(s.lors.v, list.v, (size_t)list.n * sizeof *list.v);
	run(&t, NULL, NULL);
	assert_memory_equal(s.lors.v, t.lors.v, (size_t)t.lors.n * sizeof *t.lors.v);

	memset(list.v, 0, (size_t)list.n * sizeof *list.v);
	OK(iso_panel_simulate_delayed(list.v, &delayed, s.run));
	assert_int_equal(delayed, 500);
	assert_true(sum(&list) == 500);
	iso_array_free(&list);
	end(&s);
	end(&t);
}

/* D decays in T seconds: r D / (q + r D) of the events are random, which grows with 1 / T. */
static void randoms_by_rate(void **state)
{
	double share[2];

	(void)state;
	for (int k = 0; k < 2; k++) {
		struct scan s = begin(2);

		s.p.decays = 40000;
		s.p.exact = s.p.by_rate = true;
		s.p.duration_s = k ? 1e-3 : 1e-4;
		const struct iso_panel_simulated *i = run(&s, NULL, NULL);

		assert_int_equal(i->decays, 40000);
		assert_float_equal(i->decays_per_s, 40000 / s.p.duration_s, 1);
		share[k] = i->share / (1 - i->share);
		assert_float_equal((double)i->randoms, share[k] * (double)i->trues, 1.5);
		end(&s);
	}
	assert_float_equal(share[0] / share[1], 10, 1e-6);
}

/* A ball of water about the source: pairs without a scatter fall by exp(-mu 2 r), and scattered ones come in. */
static void photons_go_through_the_object(void **state)
{
	const struct iso_grid g = { { 28, 28, 28 }, { 1, 1, 1 }, { 0, 0, 0 } };
	const double mu = .0096, radius = 13, decays = sized(400000, 40000);
	int64_t without[ISO_ORDERS], with[ISO_ORDERS], scattered = 0;
	struct iso_array ball = { 0 };

	(void)state;
	OK(iso_array_on_grid(&ball, &g));
	for (int64_t i = 0; i < ball.n; i++) {
		double x = (double)(i % 28) - 13.5, y = (double)(i / 28 % 28) - 13.5,
		       z = (double)(i / 784) - 13.5;

		ball.v[i] = (iso_real)(x * x + y * y + z * z < radius * radius ? mu : 0);
	}
	for (int k = 0; k < 2; k++) {
		struct scan s = begin(2), t = begin(1);

		s.image.grid.voxel[0] = s.image.grid.voxel[1] = s.image.grid.voxel[2] = .1;
		s.p.decays = decays;
		s.p.exact = true;
		s.p.mu = k ? &ball : NULL;
		run(&s, NULL, NULL);
		OK(iso_panel_simulate_orders(k ? with : without, s.run));
		t.image.grid = s.image.grid;
		t.p = s.p;
		t.p.scanner = t.scanner;
		run(&t, NULL, NULL);
		assert_memory_equal(s.lors.v, t.lors.v, (size_t)t.lors.n * sizeof *t.lors.v);
		end(&s);
		end(&t);
	}
	for (int k = 1; k < ISO_ORDERS; k++) {
		assert_int_equal(without[k], 0);
		scattered += with[k];
	}
	double n = (double)without[0], want = exp(-2 * radius * mu);

	NEAR((double)with[0] / n, want, .01 + 4 * sqrt(want / n));
	assert_true((double)scattered > .02 * (double)with[0] &&
	            (double)scattered < (1 / want - 1) * (double)with[0]);
	iso_array_free(&ball);
}

/* ---- what events are ---- */

struct truth {
	int64_t trues[ISO_ORDERS], randoms, n, listed;
};

static int add_truth(void *arg, const uint8_t *order, int64_t n)
{
	struct truth *t = arg;

	assert_int_equal(t->n, t->listed); /* those before were seen by emit */
	for (int64_t i = 0; i < n; i++)
		if (order[i] == ISO_ORDER_RANDOM)
			t->randoms++;
		else
			t->trues[order[i] < ISO_ORDERS ? order[i] : ISO_ORDERS - 1]++;
	t->n += n;
	return ISO_OK;
}

static int list(void *arg, const struct iso_events *e)
{
	((struct truth *)arg)->listed += e->n;
	return ISO_OK;
}

/* A scan of two slabs of water with a source between them, by a context; what its events are. */
static struct truth tell(iso_ctx *ctx)
{
	const struct iso_grid g = { { 20, 28, 20 }, { 1, 1, 1 }, { 0, 0, 0 } };
	struct truth t = { 0 };
	struct scan s = begin(2);
	struct iso_array mu = { 0 };
	int64_t by_order[ISO_ORDERS];

	OK(iso_array_on_grid(&mu, &g));
	for (int64_t i = 0; i < mu.n; i++) mu.v[i] = (iso_real)(i / 20 % 28 / 7 % 3 == 0 ? .0096 : 0);
	if (ctx) {
		iso_ctx_free(s.ctx);
		s.ctx = ctx;
	}
	s.p.mu = &mu;
	s.p.decays = sized(400000, 40000);
	s.p.exact = true;
	s.p.randoms = .2;
	s.p.truth = add_truth;
	s.p.truth_arg = &t;
	const struct iso_panel_simulated *i = run(&s, list, &t);

	OK(iso_panel_simulate_orders(by_order, s.run));
	assert_memory_equal(by_order, t.trues, sizeof by_order);
	assert_int_equal(t.randoms, i->randoms);
	assert_int_equal(t.n, i->trues + i->randoms);
	assert_int_equal(t.listed, t.n);
	iso_array_free(&mu);
	if (ctx) s.ctx = NULL;
	end(&s);
	return t;
}

static void events_are_told(void **state)
{
	struct truth t = tell(NULL);

	(void)state;
	assert_true(t.trues[0] > 1000 && t.trues[1] > 50 && t.trues[2] > 0 && t.randoms > 100);
}

/* The same random numbers: only rounding parts the devices. */
static void check_told(iso_ctx *ctx)
{
	struct truth a = tell(NULL), b = tell(ctx);

	for (int k = 0; k < ISO_ORDERS; k++)
		NEAR((double)b.trues[k], (double)a.trues[k], 10 + .002 * (double)a.trues[k]);
	NEAR((double)b.randoms, (double)a.randoms, 10 + .002 * (double)a.randoms);
}

CUDA_TEST(cuda_tells_the_same, check_told)

static int stop(void *arg, const struct iso_events *e)
{
	(void)arg;
	(void)e;
	return ISO_EIO;
}

static void refused(void **state)
{
	struct scan s = begin(1);

	(void)state;
	s.p.activity = &s.image;
	s.p.counts = 100;
	s.p.randoms = 1;
	REFUSED(iso_panel_simulate_open(&s.run, s.ctx, &s.p), ISO_EARG, "share of randoms");
	s.p.randoms = 0;
	s.p.by_rate = true;
	REFUSED(iso_panel_simulate_open(&s.run, s.ctx, &s.p), ISO_EARG, "a duration");
	s.p.by_rate = false;
	struct iso_array wide = { 0 };

	OK(iso_array_on_grid(&wide, &(struct iso_grid){ { 4, 12, 4 }, { 3, 3, 3 }, { 0, 0, 0 } }));
	for (int64_t i = 0; i < wide.n; i++) wide.v[i] = (iso_real).0096;
	s.p.mu = &wide;
	REFUSED(iso_panel_simulate_open(&s.run, s.ctx, &s.p), ISO_EINPUT, "the object reaches the heads");
	wide.v[0] = (iso_real).096;
	REFUSED(iso_panel_simulate_open(&s.run, s.ctx, &s.p), ISO_EINPUT, "is it 1/cm?");
	iso_array_free(&wide);
	s.p.mu = NULL;
	OK(iso_panel_simulate_open(&s.run, s.ctx, &s.p));
	assert_int_equal(iso_panel_simulate_events(s.lors.v, s.run, stop, NULL), ISO_EIO);
	end(&s);
}

/* A wider window sees more, and none sees more than a head that sums all deposits. */
static void sensitivity(void **state)
{
	struct iso_panel_reading r[3] = { { ISO_READ_HEAD, { 250, 750 }, 0, 0 },
		                          { ISO_READ_HEAD, { 400, 750 }, 0, 0 },
		                          { ISO_READ_CRYSTAL, { 400, 750 }, 0, 0 } };
	struct scan s = begin(2);
	const double at[3] = { 0, 0, 0 };

	(void)state;
	OK(iso_panel_sensitivity(r, 3, s.ctx, iso_scanner_panels(s.scanner), &s.p.transport, at, 20000));
	assert_true(r[0].share > r[1].share && r[1].share > r[2].share && r[2].share > 0);
	assert_float_equal(r[0].error, sqrt(r[0].share * (1 - r[0].share) / 20000), 1e-12);
	REFUSED(iso_panel_sensitivity(r, 17, s.ctx, iso_scanner_panels(s.scanner), NULL, at, 1), ISO_EARG,
	        "17 readings");
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exact_numbers),
		cmocka_unit_test(randoms_by_rate),
		cmocka_unit_test(photons_go_through_the_object),
		cmocka_unit_test(events_are_told),
		cmocka_unit_test(cuda_tells_the_same),
		cmocka_unit_test(refused),
		cmocka_unit_test(sensitivity),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
