/* SPDX-License-Identifier: BSD-3-Clause */
/* Estimates of scatter: what must hold whatever the numbers are (exchanged ends, doubled activity, grids, threads,
   devices, scanners by table), and what is refused. */
#include "test.h"

#define C_MM_PER_PS .299792458

enum { LINES = 3000 };

/* A ring whose estimate takes a moment: few samples, large blocks. Object off the axis, denser on one side. */
struct object {
	iso_scanner *scanner;
	struct iso_array image, mu;
	struct iso_scatter p;
};

static const char ring_text[] = "kind: cylinder\n"
				"radius_mm: 150\n"
				"rings: 20\n"
				"ring_pitch_mm: 6\n"
				"crystals_per_ring: 120\n"
				"crystal_mm: [7, 6, 20]\n"
				"min_crystal_distance: 20\n"
				"tof: {fwhm_ps: 250, bin_ps: 50}\n"
				"energy: {window_kev: [435, 650], resolution: 0.11}\n";

static void write_text(const char *path, const char *text, const char *more)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fprintf(f, "%s%s", text, more);
	fclose(f);
}

/* Values of voxels of 4 mm, as means on a grid of larger ones. */
static void object_fill(struct object *o, int voxel)
{
	int64_t n = 120 / voxel, fine = voxel / 4;
	struct iso_grid g = { { n, n, n }, { voxel, voxel, voxel }, { 4, -8, 0 } };

	OK(iso_array_on_grid(&o->image, &g));
	OK(iso_array_on_grid(&o->mu, &g));
	for (int64_t i = 0; i < 30 * 30 * 30; i++) {
		double x = ((double)(i % 30) - 14.5) * 4, y = ((double)(i / 30 % 30) - 14.5) * 4;
		int64_t at = (i / 900 / fine * n + i / 30 % 30 / fine) * n + i % 30 / fine;
		double share = 1 / pow((double)fine, 3);

		if (x * x + y * y > 50 * 50) continue;
		o->mu.v[at] += (iso_real)(share * (x > 10 ? .003 : .0096));
		o->image.v[at] += (iso_real)(share * (y > 0 ? 2 : 1) * (i / 900 < 10 ? 3 : 1));
	}
}

static void object_make(struct object *o, int voxel)
{
	write_text("ring.yaml", ring_text, "pair_weight: solid-angle\n");
	OK(iso_scanner_read(&o->scanner, "ring.yaml"));
	object_fill(o, voxel);
	o->p = (struct iso_scatter){ .size = sizeof o->p,
		                     .method = ISO_SCATTER_SSS,
		                     .scanner = o->scanner,
		                     .image = &o->image,
		                     .mu = &o->mu,
		                     .tof_fwhm_ps = 250,
		                     .block_mm = 16,
		                     .detectors = 24,
		                     .ring_step_mm = 30 };
}

static void object_free(struct object *o)
{
	iso_array_free(&o->image);
	iso_array_free(&o->mu);
	iso_scanner_free(o->scanner);
}

/* Lines between crystals of drawn pairs, with drawn times. */
static void lines(struct iso_event e[LINES], const iso_scanner *s)
{
	const double *pos = iso_scanner_positions(s);
	uint64_t state = 3;

	for (int i = 0; i < LINES; i++) {
		int64_t a, b;

		state = state * 6364136223846793005u + 1442695040888963407u;
		iso_scanner_pair(&a, &b, s, (int64_t)((state >> 20) % (uint64_t)iso_scanner_pairs(s)));
		for (int k = 0; k < 3; k++) {
			e[i].p1[k] = (float)pos[3 * a + k];
			e[i].p2[k] = (float)pos[3 * b + k];
		}
		e[i].dt_ps = (float)((state >> 50) % 800) - 400;
	}
}

/* h of the lines by a table of its own. */
static void values(iso_real h[LINES], iso_ctx *ctx, const struct iso_scatter *p, struct iso_event *e,
                   double bin_ps)
{
	struct iso_events list = { .n = LINES, .v = e };
	iso_scatter_table *t = NULL;

	OK(iso_scatter_create(&t, ctx, p));
	OK(iso_scatter_at(h, ctx, t, &list, bin_ps));
	iso_scatter_free(t);
}

static double greatest(const iso_real h[LINES])
{
	iso_real most = 0;

	for (int i = 0; i < LINES; i++)
		if (h[i] > most) most = h[i];
	return (double)most;
}

static void compare(const iso_real a[LINES], const iso_real b[LINES], double factor, double tolerance)
{
	double most = greatest(a);

	assert_true(most > 0);
	for (int i = 0; i < LINES; i++) NEAR(factor * (double)b[i] / most, (double)a[i] / most, tolerance);
}

static void exchanged_ends(void **state)
{
	static struct iso_event e[LINES], back[LINES];
	static iso_real h[LINES], turned[LINES];
	struct object o = { 0 };
	iso_ctx *ctx = cpu(2);

	(void)state;
	object_make(&o, 4);
	lines(e, o.scanner);
	for (int i = 0; i < LINES; i++) {
		memcpy(back[i].p1, e[i].p2, sizeof e[i].p2);
		memcpy(back[i].p2, e[i].p1, sizeof e[i].p1);
		back[i].dt_ps = -e[i].dt_ps;
	}
	values(h, ctx, &o.p, e, 0);
	values(turned, ctx, &o.p, back, 0);
	compare(h, turned, 1, 1e-5);
	object_free(&o);
	iso_ctx_free(ctx);
}

/* The formula without a table says the same of time of flight, and of exchanged ends. */
static void lines_without_a_table(void **state)
{
	static struct iso_event e[LINES];
	static iso_real h[LINES];
	static double at[LINES], all[LINES], plain[LINES];
	struct iso_events list = { .n = 60, .v = e };
	struct object o = { 0 };
	double u[1] = { 0 }, most = 0;
	iso_ctx *ctx = cpu(2);

	(void)state;
	object_make(&o, 4);
	lines(e, o.scanner);
	o.p.detectors = 60;
	o.p.ring_step_mm = 10;
	o.p.block_mm = 12;
	for (int i = 0; i < 60; i++) e[i].dt_ps = 0;
	values(h, ctx, &o.p, e, 0);
	OK(iso_scatter_single(at, ctx, &o.p, &list, u, 1));
	OK(iso_scatter_single(all, ctx, &o.p, &list, NULL, 0));
	o.p.tof_fwhm_ps = 0;
	OK(iso_scatter_single(plain, ctx, &o.p, &list, NULL, 0));
	REFUSED(iso_scatter_single(plain, ctx, &o.p, &list, u, 1), ISO_EARG, "need a TOF resolution");
	for (int i = 0; i < 60; i++) most = fmax(most, at[i]);
	for (int i = 0; i < 60; i++) {
		NEAR((double)h[i] / most, at[i] / most, .02);
		NEAR(all[i], plain[i], 1e-4 * plain[i]);
	}
	object_free(&o);
	iso_ctx_free(ctx);
}

static void times_and_activity(void **state)
{
	static struct iso_event e[LINES];
	static iso_real a[LINES], b[LINES];
	struct object o = { 0 };
	iso_ctx *ctx = cpu(2);

	(void)state;
	object_make(&o, 4);
	lines(e, o.scanner);
	for (int i = 0; i < LINES; i++) e[i].dt_ps = 0;
	values(a, ctx, &o.p, e, 1e5);
	o.p.tof_fwhm_ps = 0;
	values(b, ctx, &o.p, e, 0);
	compare(a, b, 1, 1e-4);
	for (int64_t i = 0; i < o.image.n; i++) o.image.v[i] *= 2;
	values(a, ctx, &o.p, e, 0);
	compare(a, b, 2, 1e-6);
	object_free(&o);
	iso_ctx_free(ctx);
}

/* A bin is the integral over its parts, however wide it is. */
static void bins_add_up(void **state)
{
	static struct iso_event e[LINES];
	static iso_real whole[LINES], part[LINES], sum[LINES];
	struct object o = { 0 };
	struct iso_events list = { .n = LINES, .v = e };
	iso_scatter_table *t = NULL;
	iso_ctx *ctx = cpu(2);

	(void)state;
	object_make(&o, 4);
	lines(e, o.scanner);
	OK(iso_scatter_create(&t, ctx, &o.p));
	OK(iso_scatter_at(whole, ctx, t, &list, 800));
	for (int i = 0; i < LINES; i++) e[i].dt_ps -= 400 - 5;
	for (int k = 0; k < 80; k++) {
		OK(iso_scatter_at(part, ctx, t, &list, 10));
		for (int i = 0; i < LINES; i++) {
			sum[i] += part[i];
			e[i].dt_ps += 10;
		}
	}
	compare(whole, sum, 1, 5e-3);
	iso_scatter_free(t);
	object_free(&o);
	iso_ctx_free(ctx);
}

static void coarser_voxels(void **state)
{
	static struct iso_event e[LINES];
	static iso_real a[LINES], b[LINES];
	struct object o = { 0 };
	iso_ctx *ctx = cpu(2);
	double sum[2] = { 0, 0 };

	(void)state;
	object_make(&o, 4);
	lines(e, o.scanner);
	values(a, ctx, &o.p, e, 0);
	iso_array_free(&o.image);
	iso_array_free(&o.mu);
	object_fill(&o, 8);
	values(b, ctx, &o.p, e, 0);
	compare(a, b, 1, .05);
	for (int i = 0; i < LINES; i++) {
		sum[0] += (double)a[i];
		sum[1] += (double)b[i];
	}
	NEAR(sum[1] / sum[0], 1, .01);
	object_free(&o);
	iso_ctx_free(ctx);
}

static void any_number_of_threads(void **state)
{
	static struct iso_event e[LINES];
	static iso_real a[LINES], b[LINES];
	struct object o = { 0 };
	iso_ctx *one = cpu(1), *three = cpu(3);
	double sum[2];
	iso_scatter_table *t = NULL;

	(void)state;
	object_make(&o, 4);
	lines(e, o.scanner);
	values(a, one, &o.p, e, 0);
	values(b, three, &o.p, e, 0);
	assert_memory_equal(a, b, sizeof a);
	OK(iso_scatter_create(&t, one, &o.p));
	OK(iso_scatter_sum(&sum[0], one, t, NULL, 1, 1));
	OK(iso_scatter_sum(&sum[1], three, t, NULL, 1, 1));
	assert_memory_equal(&sum[0], &sum[1], sizeof sum[0]);
	iso_scatter_free(t);
	object_free(&o);
	iso_ctx_free(one);
	iso_ctx_free(three);
}

/* The sum is that of the pairs one by one, weighted by efficiencies; a share of the pairs comes near it. Uniform pairs
   with eta = W have the sum of solid-angle ones. */
static void sum_of_pairs(void **state)
{
	static struct iso_event e[1];
	struct object o = { 0 }, flat = { 0 };
	iso_ctx *ctx = cpu(2);
	iso_scatter_table *t = NULL;
	double sum, share, want = 0, weighted = 0;

	(void)state;
	object_make(&o, 4);
	o.p.tof_fwhm_ps = 0;
	OK(iso_scatter_create(&t, ctx, &o.p));
	int64_t n = iso_scanner_pairs(o.scanner), crystals = iso_scanner_crystals(o.scanner);
	struct iso_events list = { .n = n, .v = calloc((size_t)n, sizeof *e) };
	iso_real *h = calloc((size_t)n, sizeof *h), *eff = calloc((size_t)crystals, sizeof *eff);
	const double *pos = iso_scanner_positions(o.scanner);

	for (int64_t i = 0; i < crystals; i++) eff[i] = (iso_real)(1 + .5 * sin((double)i));
	for (int64_t i = 0; i < n; i++) {
		int64_t a, b;

		iso_scanner_pair(&a, &b, o.scanner, i);
		for (int k = 0; k < 3; k++) {
			list.v[i].p1[k] = (float)pos[3 * a + k];
			list.v[i].p2[k] = (float)pos[3 * b + k];
		}
	}
	OK(iso_scatter_at(h, ctx, t, &list, 0));
	write_text("flat.yaml", ring_text, "");
	OK(iso_scanner_read(&flat.scanner, "flat.yaml"));
	for (int64_t i = 0; i < n; i++) {
		int64_t a, b;

		iso_scanner_pair(&a, &b, o.scanner, i);
		want += (double)h[i] * (double)eff[a] * (double)eff[b];
		weighted += (double)h[i] / iso_scanner_pair_weight(o.scanner, pos + 3 * a, pos + 3 * b);
	}
	OK(iso_scatter_sum(&sum, ctx, t, eff, 1, 1));
	NEAR(sum / want, 1, 1e-4);
	OK(iso_scatter_sum(&share, ctx, t, eff, .1, 1));
	print_message("of a tenth of the pairs: %.5f of the sum\n", share / want);
	NEAR(share / want, 1, .01);
	assert_true(fabs(share / want - 1) > 1e-6);
	REFUSED(iso_scatter_sum(&share, ctx, t, eff, 0, 1), ISO_EARG, "share is 0");
	iso_scatter_free(t);
	o.p.scanner = flat.scanner;
	OK(iso_scatter_create(&t, ctx, &o.p));
	OK(iso_scatter_sum(&sum, ctx, t, NULL, 1, 1));
	NEAR(sum / weighted, 1, 1e-4);
	iso_scatter_free(t);
	object_free(&o);
	iso_scanner_free(flat.scanner);
	free(list.v);
	free(h);
	free(eff);
	iso_ctx_free(ctx);
}

/* The crystals of the ring as a table of places, moved along z with the object: the same values. */
static void scanner_by_table(void **state)
{
	static struct iso_event e[LINES];
	static iso_real a[LINES], b[LINES];
	struct object o = { 0 };
	struct iso_array places = { 0 };
	iso_ctx *ctx = cpu(2);
	iso_scanner *table = NULL;

	(void)state;
	object_make(&o, 4);
	lines(e, o.scanner);
	values(a, ctx, &o.p, e, 0);
	OK(iso_array_create(&places, 2, (const int64_t[]){ iso_scanner_crystals(o.scanner), 3 }));
	for (int64_t i = 0; i < places.n; i++)
		places.v[i] = (iso_real)(iso_scanner_positions(o.scanner)[i] + (i % 3 == 2 ? 25 : 0));
	OK(iso_write("places.npy", &places, NULL));
	write_text("table.yaml", "kind: detectors\npositions: places.npy\n",
	           "energy: {window_kev: [435, 650], resolution: 0.11}\n");
	OK(iso_scanner_read(&table, "table.yaml"));
	o.p.scanner = table;
	o.image.grid.centre[2] += 25;
	o.mu.grid.centre[2] += 25;
	for (int i = 0; i < LINES; i++) {
		e[i].p1[2] += 25;
		e[i].p2[2] += 25;
	}
	values(b, ctx, &o.p, e, 0);
	compare(a, b, 1, 1e-4);
	/* ends that lie deeper in the crystals are on the same line, and so is the decay */
	for (int i = 0; i < LINES; i++) {
		double d[3], length = 0;

		for (int k = 0; k < 3; k++) {
			d[k] = (double)e[i].p2[k] - (double)e[i].p1[k];
			length += d[k] * d[k];
		}
		for (int k = 0; k < 3; k++) e[i].p2[k] += (float)(.05 * d[k]);
		e[i].dt_ps -= (float)(.05 * sqrt(length) / C_MM_PER_PS);
	}
	values(b, ctx, &o.p, e, 0);
	compare(a, b, 1, 1e-3);
	iso_scanner_free(table);
	iso_array_free(&places);
	object_free(&o);
	iso_ctx_free(ctx);
}

/* An object that goes on beyond the image scatters more into the ring's ends. */
static void extended(void **state)
{
	struct object o = { 0 };
	struct iso_scatter_info info = { .size = sizeof info };
	iso_ctx *ctx = cpu(2);
	iso_scatter_table *t = NULL;
	double sum[2];

	(void)state;
	object_make(&o, 4);
	for (int k = 0; k < 2; k++) {
		o.p.extend = k > 0;
		OK(iso_scatter_create(&t, ctx, &o.p));
		OK(iso_scatter_describe(&info, t));
		assert_true(info.ends_active && !info.cut);
		OK(iso_scatter_sum(&sum[k], ctx, t, NULL, 1, 1));
		iso_scatter_free(t);
	}
	assert_true(sum[1] > 1.01 * sum[0] && sum[1] < 1.5 * sum[0]);
	object_free(&o);
	iso_ctx_free(ctx);
}

static void refusals(void **state)
{
	struct object o = { 0 };
	iso_ctx *ctx = cpu(1);
	iso_scatter_table *t = NULL;
	iso_scanner *other = NULL;
	struct iso_scatter bad;

	(void)state;
	object_make(&o, 4);
#define BAD(change, text)                                                   \
	do {                                                                \
		bad = o.p;                                                  \
		change;                                                     \
		REFUSED(iso_scatter_create(&t, ctx, &bad), ISO_EARG, text); \
	} while (0)
	BAD(bad.mu = NULL, "no attenuation map");
	BAD(bad.image = NULL, "no image");
	BAD(bad.scanner = NULL, "no scanner");
	BAD(bad.resolution = 1, "resolution is 1");
	BAD((bad.window_kev[0] = 500, bad.window_kev[1] = 400), "500 to 400 keV");
	BAD((bad.window_kev[0] = 100, bad.window_kev[1] = 200), "is its energy window right");
	BAD(bad.tof_fwhm_ps = -1, "TOF resolution is -1");
	BAD(bad.detectors = 5, "5 sample detectors");
	BAD(bad.block_mm = -1, "blocks of -1 mm");
	write_text("mute.yaml",
	           "kind: cylinder\nradius_mm: 150\nrings: 20\nring_pitch_mm: 6\ncrystals_per_ring: 120\n",
	           "");
	OK(iso_scanner_read(&other, "mute.yaml"));
	BAD(bad.scanner = other, "energy: {window_kev: [435, 650], resolution: 0.11}");
	iso_scanner_free(other);
	OK(iso_scanner_read(&other, TEST_EXAMPLES "/scanners/meng2019.yaml"));
	BAD(bad.scanner = other, "no crystals on a cylinder");
	iso_scanner_free(other);
	o.mu.grid.centre[0] = 130;
	BAD(, "do not overlap");
	o.image.grid.centre[0] = 100;
	BAD(, "object reaches the ring");
	o.mu.grid.centre[0] = o.image.grid.centre[0] = 0;
	for (int64_t i = 0; i < o.mu.n; i++) o.mu.v[i] *= 10;
	BAD(, "is it 1/cm?");
	o.mu.v[0] = -1;
	bad = o.p;
	REFUSED(iso_scatter_create(&t, ctx, &bad), ISO_EINPUT, "voxel 0 of the attenuation map is -1");
	memset(o.mu.v, 0, (size_t)o.mu.n * sizeof *o.mu.v);
	BAD(, "map is 0 everywhere");
	o.mu.v[o.mu.n / 2] = (iso_real).01;
	o.image.v[3] = (iso_real)NAN;
	bad = o.p;
	REFUSED(iso_scatter_create(&t, ctx, &bad), ISO_EINPUT, "voxel 3 of the image is nan");
	memset(o.image.v, 0, (size_t)o.image.n * sizeof *o.image.v);
	BAD(, "image is 0 everywhere");
	object_free(&o);
	iso_ctx_free(ctx);
}

/* A table of efficiencies in place of window and resolution; and what a description may not say. */
static void energies(void **state)
{
	static struct iso_event e[LINES];
	static iso_real a[LINES], b[LINES];
	struct object o = { 0 };
	iso_ctx *ctx = cpu(2);
	iso_scanner *s = NULL;
	char head[400];

	(void)state;
	object_make(&o, 4);
	lines(e, o.scanner);
	values(a, ctx, &o.p, e, 0);
	FILE *f = fopen("efficiency.txt", "w");

	assert_non_null(f);
	fprintf(f, "# keV efficiency\n");
	for (int k = 0; k <= 520; k += 2) {
		double sigma = .11 / 2.3548200450309493 * sqrt(510.999 * k) + 1e-9;

		fprintf(f, "%d %.9f\n", k,
		        (erf((650 - k) / sigma / M_SQRT2) - erf((435 - k) / sigma / M_SQRT2)) / 2);
	}
	fclose(f);
	memcpy(head, ring_text, strstr(ring_text, "energy") - ring_text);
	head[strstr(ring_text, "energy") - ring_text] = '\0';
	write_text("by-file.yaml", head,
	           "energy: {window_kev: [100, 200], resolution: 0.5, efficiency_file: efficiency.txt}\n");
	OK(iso_scanner_read(&s, "by-file.yaml"));
	o.p.scanner = s;
	values(b, ctx, &o.p, e, 0);
	compare(a, b, 1, 2e-3);
	iso_scanner_free(s);
	write_text("efficiency.txt", "400 0.5\n", "300 0.5\n");
	REFUSED(iso_scanner_read(&s, "by-file.yaml"), ISO_EINPUT, "energies must grow");
	write_text("efficiency.txt", "400 0.5 7\n", "");
	REFUSED(iso_scanner_read(&s, "by-file.yaml"), ISO_EINPUT, "line 1 must be an energy");
	write_text("bad.yaml", head, "energy: {window_kev: [650, 435], resolution: 0.11}\n");
	REFUSED(iso_scanner_read(&s, "bad.yaml"), ISO_EINPUT, "first must be below the second");
	write_text("bad.yaml", head, "energy: {window_kev: [435, 650]}\n");
	REFUSED(iso_scanner_read(&s, "bad.yaml"), ISO_EINPUT, "resolution");
	object_free(&o);
	iso_ctx_free(ctx);
}

static void written(void **state)
{
	struct object o = { 0 };
	iso_ctx *ctx = cpu(2);
	iso_scatter_table *t = NULL;

	(void)state;
	object_make(&o, 4);
	OK(iso_scatter_create(&t, ctx, &o.p));
	REFUSED(iso_scatter_write("scatter.npy", t), ISO_EARG, "written as .h5");
	assert_null(fopen("scatter.npy", "rb"));
#ifdef ISO_HDF5
	struct iso_scatter_info info = { .size = sizeof info };
	char head[8] = "";

	OK(iso_scatter_write("scatter.h5", t));
	OK(iso_scatter_describe(&info, t));
	FILE *f = fopen("scatter.h5", "rb");

	assert_non_null(f);
	assert_int_equal(fread(head, 1, sizeof head, f), sizeof head);
	assert_memory_equal(head, "\x89HDF\r\n\x1a\n", sizeof head);
	assert_int_equal(fseek(f, 0, SEEK_END), 0);
	assert_true(ftell(f) > info.pairs * (info.cells * 4 + 16));
	fclose(f);
#else
	REFUSED(iso_scatter_write("scatter.h5", t), ISO_EARG, "no HDF5");
#endif
	iso_scatter_free(t);
	object_free(&o);
	iso_ctx_free(ctx);
}

/* Lines of a plan, and that its table is at least as large as the true one. */
static void planned(void **state)
{
	struct object o = { 0 };
	struct iso_plan plan = { 0 };
	struct iso_scatter_info info = { .size = sizeof info };
	iso_ctx *ctx = cpu(2);
	iso_scatter_table *t = NULL;
	int64_t host, device;

	(void)state;
	object_make(&o, 4);
	OK(iso_scatter_plan(&plan, ctx, &o.p));
	iso_plan_total(&host, &device, &plan);
	OK(iso_scatter_create(&t, ctx, &o.p));
	OK(iso_scatter_describe(&info, t));
	assert_true(host >= info.pairs * info.cells * 4 && device == 0);
	assert_true(host < 50 * info.pairs * info.cells * 4);
	iso_plan_free(&plan);
	iso_scatter_free(t);
	object_free(&o);
	iso_ctx_free(ctx);
}

/* CPU and CUDA, with and without time of flight; twice the same bits. */
static void check_devices(iso_ctx *cuda)
{
	static struct iso_event e[LINES];
	static iso_real a[LINES], b[LINES], again[LINES];
	struct object o = { 0 };
	iso_ctx *ctx = cpu(2);

	object_make(&o, 4);
	lines(e, o.scanner);
	for (int k = 0; k < 3; k++) {
		double bin = k == 1 ? 50 : 0;

		o.p.tof_fwhm_ps = k < 2 ? 250 : 0;
		values(a, ctx, &o.p, e, bin);
		values(b, cuda, &o.p, e, bin);
		values(again, cuda, &o.p, e, bin);
		compare(a, b, 1, 1e-4);
		assert_memory_equal(b, again, sizeof b);
	}
	object_free(&o);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_same_values, check_devices)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exchanged_ends),
		cmocka_unit_test(lines_without_a_table),
		cmocka_unit_test(times_and_activity),
		cmocka_unit_test(bins_add_up),
		cmocka_unit_test(coarser_voxels),
		cmocka_unit_test(any_number_of_threads),
		cmocka_unit_test(sum_of_pairs),
		cmocka_unit_test(scanner_by_table),
		cmocka_unit_test(extended),
		cmocka_unit_test(refusals),
		cmocka_unit_test(energies),
		cmocka_unit_test(written),
		cmocka_unit_test(planned),
		cmocka_unit_test(cuda_same_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
