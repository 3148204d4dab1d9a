/* SPDX-License-Identifier: BSD-3-Clause */
/* Model ray and EM against reference vectors of independent float64 programs (tests/data/listmode,
   whose README says what each file holds); also built in double, for its float64 tolerances. */
#include "test.h"

#include "core/op.h"
#include "model/ray/ray.h"

enum { NX = 16, NY = 12, NZ = 10, VOXELS = NX * NY * NZ, LORS = 1500, EVENTS = 20181 };
enum { FACE = 2, DIAGONAL = 4 }; /* kinds that lie exactly in voxel faces */

#define grid_values                          \
	{                                    \
		{ NX, NY, NZ }, { 4, 5, 6 }, \
		{                            \
			0, 0, 0              \
		}                            \
	}
static const struct iso_grid grid = grid_values;
static const char scanner_text[] = "kind: cylinder\nradius_mm: 64\nrings: 6\ncrystals_per_ring: 32\n"
				   "ring_pitch_mm: 9\nmin_crystal_distance: 5\nmax_ring_difference: 6\n";
#define ADD_PER_LOR 0.30193236470222473
#define ADD_PER_MM 0.0016785633051767945
#define FWHM_PS 390
#define BIN_PS 66.712819039630409 /* 10 mm */

/* ---- files ---- */

static iso_real *load_f32(const char *name, int64_t n)
{
	float *f = test_data(TEST_DATA "/listmode", name, n, sizeof *f);
	iso_real *v = calloc((size_t)n, sizeof *v);

	for (int64_t i = 0; i < n; i++) v[i] = f[i];
	free(f);
	return v;
}

static iso_real *load_f64(const char *name, int64_t n)
{
	double *f = test_data(TEST_DATA "/listmode", name, n, sizeof *f);
	iso_real *v = calloc((size_t)n, sizeof *v);

	for (int64_t i = 0; i < n; i++) v[i] = (iso_real)f[i];
	free(f);
	return v;
}

static struct iso_events load_events(const char *name, int64_t n)
{
	char path[512];
	struct iso_events e = { 0 };

	snprintf(path, sizeof path, "%s/listmode/%s", TEST_DATA, name);
	OK(iso_events_read(&e, path, NULL));
	assert_int_equal(e.n, n);
	return e;
}

static iso_scanner *vector_scanner(void)
{
	iso_scanner *s = NULL;
	FILE *f = fopen("test_ray_scanner.yaml", "w");

	assert_non_null(f);
	fputs(scanner_text, f);
	fclose(f);
	OK(iso_scanner_read(&s, "test_ray_scanner.yaml"));
	remove("test_ray_scanner.yaml");
	assert_int_equal(iso_scanner_pairs(s), 13248);
	return s;
}

/* ---- comparisons, on the tolerances of the vectors' README ---- */

/* Largest |x - ref| over the largest |ref|. */
static double worst(int64_t n, const iso_real *x, const double *ref)
{
	double w = 0, m = 0;

	for (int64_t i = 0; i < n; i++) {
		double d = fabs(x[i] - ref[i]);

		w = d > w ? d : w;
		m = fabs(ref[i]) > m ? fabs(ref[i]) : m;
	}
	return w / m;
}

static void check_image(const iso_real *x, const char *name, double in_float)
{
	double *ref = test_data(TEST_DATA "/listmode", name, VOXELS, sizeof *ref);
	double w = worst(VOXELS, x, ref), most = sizeof *x == sizeof(float) ? in_float : 1e-9;

	if (!(w <= most)) print_error("%s: off by %g of the maximum\n", name, w);
	BELOW(w, most);
	free(ref);
}

/* Forward: |x - ref| <= 2e-5 (|ref| + 0.01 max ref) in float32; face and diagonal LORs may fall on
   either side there and are left out. */
static void check_forward(const iso_real *y, const char *name)
{
	double *ref = test_data(TEST_DATA "/listmode", name, LORS, sizeof *ref), top = 0;
	uint8_t *kind = test_data(TEST_DATA "/listmode", "lors_kind.u8", LORS, 1);

	for (int j = 0; j < LORS; j++) top = fmax(top, ref[j]);
	for (int j = 0; j < LORS; j++) {
		bool on_face = kind[j] == FACE || kind[j] == DIAGONAL;

		if (on_face && sizeof(iso_real) == sizeof(float)) continue;
		NEAR(y[j], ref[j], TOLERANCE(2e-5 * (ref[j] + .01 * top), 1e-9 * top));
	}
	free(ref);
	free(kind);
}

/* ---- an operator on a device, with vectors that come and go ---- */

static iso_real *apply_forward(iso_ctx *ctx, iso_op *op, const iso_real *x)
{
	iso_real *dx = to_device(ctx, op->n_in, x), *dy = to_device(ctx, op->n_out, NULL);

	OK(iso_forward(dy, op, ISO_ALL, dx));
	iso_real *sorted = to_host(ctx, op->n_out, dy), *y = calloc((size_t)op->n_out, sizeof *y);

	iso_op_unsort(y, op, sorted);
	free(sorted);
	device_free(ctx, dx);
	device_free(ctx, dy);
	return y;
}

static iso_real *apply_adjoint(iso_ctx *ctx, iso_op *op, const iso_real *y)
{
	iso_real *sorted = calloc((size_t)op->n_out, sizeof *sorted);

	iso_op_sort(sorted, op, y);
	iso_real *dy = to_device(ctx, op->n_out, sorted), *dx = to_device(ctx, op->n_in, NULL);

	OK(iso_adjoint(dx, op, ISO_ALL, dy));
	iso_real *x = to_host(ctx, op->n_in, dx);

	free(sorted);
	device_free(ctx, dx);
	device_free(ctx, dy);
	return x;
}

static iso_op *make_op(iso_ctx *ctx, const struct iso_events *e, struct iso_ray p)
{
	iso_op *op = NULL;

	OK(iso_ray_create(&op, ctx, &p, e));
	return op;
}

static iso_op *ray_op(iso_ctx *ctx, const struct iso_events *e, int n_sub, double fwhm, double k)
{
	struct iso_ray p = {
		.size = sizeof p, .grid = grid, .n_sub = n_sub, .tof_fwhm_ps = fwhm, .tof_truncate = k
	};

	return make_op(ctx, e, p);
}

/* Every way to weigh a row: projector, time of flight, cut, bins, several lines. */
static const struct iso_ray ways[] = {
	{ .size = sizeof(struct iso_ray), .grid = grid_values, .tof_fwhm_ps = 0 },
	{ .size = sizeof(struct iso_ray), .grid = grid_values, .tof_fwhm_ps = FWHM_PS },
	{ .size = sizeof(struct iso_ray), .grid = grid_values, .tof_fwhm_ps = FWHM_PS, .tof_truncate = 3 },
	{ .size = sizeof(struct iso_ray), .grid = grid_values, .tof_fwhm_ps = FWHM_PS, .tof_bin_ps = BIN_PS },
	{ .size = sizeof(struct iso_ray),
	  .grid = grid_values,
	  .tof_fwhm_ps = FWHM_PS,
	  .tof_truncate = 3,
	  .tof_bin_ps = BIN_PS },
	{ .size = sizeof(struct iso_ray), .grid = grid_values, .projector = ISO_JOSEPH },
	{ .size = sizeof(struct iso_ray),
	  .grid = grid_values,
	  .projector = ISO_JOSEPH,
	  .tof_fwhm_ps = FWHM_PS,
	  .tof_truncate = 3 },
	{ .size = sizeof(struct iso_ray),
	  .grid = grid_values,
	  .projector = ISO_JOSEPH,
	  .tof_fwhm_ps = FWHM_PS,
	  .tof_truncate = 2,
	  .tof_bin_ps = BIN_PS },
	{ .size = sizeof(struct iso_ray), .grid = grid_values, .rays = 5, .spread_mm = { 4, 6 } },
	{ .size = sizeof(struct iso_ray),
	  .grid = grid_values,
	  .rays = 3,
	  .spread_mm = { 9, 2 },
	  .projector = ISO_JOSEPH,
	  .tof_fwhm_ps = FWHM_PS,
	  .tof_truncate = 3,
	  .rule = ISO_RANDOM,
	  .seed = 3 },
};

static void check_projections(iso_ctx *ctx)
{
	static const struct {
		int way;
		const char *forward, *back;
	} c[] = {
		{ 0, "fwd_nontof.f64", "back_nontof.f64" },
		{ 1, "fwd_tof.f64", "back_tof.f64" },
		{ 2, "fwd_tof3.f64", NULL },
		{ 3, "fwd_tofbin.f64", NULL },
		{ 5, "fwd_joseph.f64", NULL },
	};
	struct iso_events e = load_events("lors.lmdT", LORS);
	iso_real *image = load_f32("image.f32", VOXELS), *in = load_f32("back_in.f32", LORS);

	for (int i = 0; i < N_OF(c); i++)
		for (int n_sub = 1; n_sub < 9; n_sub += 7) {
			struct iso_ray p = ways[c[i].way];

			p.n_sub = n_sub;
			iso_op *op = make_op(ctx, &e, p);
			iso_real *y = apply_forward(ctx, op, image);

			check_forward(y, c[i].forward);
			free(y);
			if (c[i].back) {
				iso_real *x = apply_adjoint(ctx, op, in);

				check_image(x, c[i].back, 2e-5);
				free(x);
			}
			iso_op_free(op);
		}
	iso_events_free(&e);
	free(image);
	free(in);
}

static void projections(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_projections(ctx);
	iso_ctx_free(ctx);
}

/* Chord by chord, from the kernel itself; face and diagonal LORs voxel by voxel in double only. */
static void chords(void **state)
{
	struct iso_events e = load_events("lors.lmdT", LORS);
	int32_t *ptr = test_data(TEST_DATA "/listmode", "lors_ptr.i32", LORS + 1, sizeof *ptr);
	int32_t *vox = test_data(TEST_DATA "/listmode", "lors_vox.i32", ptr[LORS], sizeof *vox);
	double *len = test_data(TEST_DATA "/listmode", "lors_len.f64", ptr[LORS], sizeof *len), row[VOXELS];
	uint8_t *kind = test_data(TEST_DATA "/listmode", "lors_kind.u8", LORS, 1);
	struct ray_grid g = { { NX, NY, NZ }, { 1, NX, NX * NY }, { 4, 5, 6 }, { -32, -30, -30 } };
	const struct ray_tof none = { 0 };

	(void)state;
	for (int j = 0; j < LORS; j++) {
		double p1[3], p2[3], sum = 0, want = 0;

		for (int a = 0; a < 3; a++) {
			p1[a] = e.v[j].p1[a];
			p2[a] = e.v[j].p2[a];
		}
		struct ray r = ray_setup(&g, p1, p2, NULL, 0);

		memset(row, 0, sizeof row);
		for (int k = r.k0; k < r.k1; k++) {
			struct ray_piece piece[3];

			ray_slice(piece, &r, &none, k);
			for (int i = 0; i < 3; i++) {
				row[piece[i].voxel] += piece[i].w;
				sum += piece[i].w;
			}
		}
		for (int i = ptr[j]; i < ptr[j + 1]; i++) {
			row[vox[i]] -= len[i];
			want += len[i];
		}
		NEAR(sum, want, TOLERANCE(3e-4, 1e-9));
		if ((kind[j] == FACE || kind[j] == DIAGONAL) && sizeof(iso_real) == sizeof(float)) continue;
		for (int v = 0; v < VOXELS; v++) NEAR(row[v], 0, TOLERANCE(3e-4, 1e-9));
	}
	iso_events_free(&e);
	free(ptr);
	free(vox);
	free(len);
	free(kind);
}

/* Length of the segment inside the box, by Liang and Barsky's clipping, written anew here. */
static double box_chord(const struct iso_grid *g, const struct iso_event *e)
{
	double t0 = 0, t1 = 1, l2 = 0;

	for (int a = 0; a < 3; a++) {
		double d = (double)e->p2[a] - e->p1[a], half = .5 * (double)g->n[a] * g->voxel[a];
		double lo = g->centre[a] - half - e->p1[a], hi = g->centre[a] + half - e->p1[a];

		l2 += d * d;
		if (d == 0 && (lo > 0 || hi <= 0)) return 0;
		if (d == 0) continue;
		t0 = fmax(t0, d > 0 ? lo / d : hi / d);
		t1 = fmin(t1, d > 0 ? hi / d : lo / d);
	}
	return t1 > t0 ? (t1 - t0) * sqrt(l2) : 0;
}

/* Random LORs from a box twice the size of the grid's. */
static struct iso_events random_lors(iso_ctx *host, const struct iso_grid *g, int n)
{
	struct iso_events e = { .n = n, .v = calloc((size_t)n, sizeof *e.v) };
	iso_real *u = calloc((size_t)n * 7, sizeof *u);

	OK(iso_ctx_vec(host)->uniform(host, (int64_t)n * 7, u, 11));
	for (int j = 0; j < n; j++) {
		for (int a = 0; a < 3; a++) {
			double size = 2 * (double)g->n[a] * g->voxel[a];

			e.v[j].p1[a] = (float)(g->centre[a] + (u[7 * j + a] - .5) * size);
			e.v[j].p2[a] = (float)(g->centre[a] + (u[7 * j + 3 + a] - .5) * size);
		}
		e.v[j].dt_ps = (float)(800 * (u[7 * j + 6] - .5));
	}
	free(u);
	return e;
}

static void check_ones(iso_ctx *ctx)
{
	static const struct iso_grid grids[] = {
		{ { 16, 12, 10 }, { 4, 5, 6 }, { 0, 0, 0 } },
		{ { 1, 7, 129 }, { 3, .5, 2 }, { 10, -20, 5 } },
		{ { 128, 128, 50 }, { 4, 4, 4 }, { 0, 0, 0 } },
	};
	iso_ctx *host = cpu(1);

	for (int i = 0; i < 2 * N_OF(grids); i++) {
		const struct iso_grid *g = &grids[i / 2];
		struct iso_events e = random_lors(host, g, 3000);
		struct iso_ray p = {
			.size = sizeof p, .grid = *g, .n_sub = 1, .projector = i % 2 ? ISO_JOSEPH : ISO_SLICE
		};
		iso_op *op = NULL;

		OK(iso_ray_create(&op, ctx, &p, &e));
		iso_real *ones = calloc((size_t)op->n_in, sizeof *ones);

		for (int64_t v = 0; v < op->n_in; v++) ones[v] = 1;
		iso_real *y = apply_forward(ctx, op, ones);

		for (int j = 0; j < e.n; j++) NEAR(y[j], box_chord(g, e.v + j), TOLERANCE(3e-4, 1e-9));
		free(y);
		free(ones);
		iso_op_free(op);
		iso_events_free(&e);
	}
	iso_ctx_free(host);
}

static void ones_project_to_the_chord(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_ones(ctx);
	iso_ctx_free(ctx);
}

/* ---- adjoint, and em_step against the plain pair ---- */

static void check_adjoint(iso_ctx *ctx)
{
	struct iso_events e = load_events("lors.lmdT", LORS);

	for (int way = 0; way < N_OF(ways); way++) {
		struct iso_ray p = ways[way];

		p.n_sub = 4;
		iso_op *op = make_op(ctx, &e, p);

		for (int sub = ISO_ALL; sub < 4; sub++) {
			double err = 1;

			OK(iso_test_adjoint(&err, op, sub, (uint64_t)(7 + sub)));
			if (!(err < 1e-6))
				print_error("way %d, subset %d: adjoint error %g\n", way, sub, err);
			BELOW(err, 1e-6);
		}
		iso_op_free(op);
	}
	iso_events_free(&e);
}

static void adjoint(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_adjoint(ctx);
	iso_ctx_free(ctx);
}

/* ---- a resolution of each event ---- */

enum { OWN = 64 };

/* The sums of events that are a resolution of their own, and those of one for all. */
static void compare_widths(iso_ctx *ctx, struct iso_events *e, struct iso_ray p, const iso_real *x)
{
	static const double share[] = { 1, 2, .5 };
	iso_real own[OWN], *all[3], *each, most = 0;

	for (int j = 0; j < OWN; j++) own[j] = (iso_real)(p.tof_fwhm_ps * share[j % 3]);
	e->fwhm_ps = own;
	p.tof_each = true;
	iso_op *op = make_op(ctx, e, p);
	double err = 1;

	OK(iso_test_adjoint(&err, op, ISO_ALL, 5));
	BELOW(err, 1e-6);
	each = apply_forward(ctx, op, x);
	iso_op_free(op);
	p.tof_each = false;
	for (int k = 0; k < 3; k++) {
		struct iso_ray one = p;

		one.tof_fwhm_ps = p.tof_fwhm_ps * share[k];
		all[k] = apply_forward(ctx, op = make_op(ctx, e, one), x);
		iso_op_free(op);
	}
	for (int j = 0; j < OWN; j++) most = all[j % 3][j] > most ? all[j % 3][j] : most;
	for (int j = 0; j < OWN; j++)
		assert_true(iso_ctx_is_cuda(ctx) ? fabs(each[j] - all[j % 3][j]) < 2e-4 * most
		                                 : each[j] == all[j % 3][j]);
	e->fwhm_ps = NULL;
	for (int k = 0; k < 3; k++) free(all[k]);
	free(each);
}

static void check_widths(iso_ctx *ctx)
{
	static struct iso_event v[OWN];
	struct iso_ring ring = { .radius = 250, .length = 100, .seed = 9 };
	struct iso_events e = { .n = OWN, .v = v };
	struct iso_ray p = {
		.size = sizeof p, .grid = grid, .n_sub = 1, .tof_fwhm_ps = 213.7, .tof_truncate = 3
	};
	iso_real x[VOXELS];

	OK(iso_ring_events(v, ctx, &ring, 0, OWN));
	for (int j = 0; j < OWN; j++) v[j].dt_ps = (float)(11 * (j % 20) - 100);
	for (int i = 0; i < VOXELS; i++) x[i] = (iso_real)(1 + i % 7);
	compare_widths(ctx, &e, p, x);
	p.projector = ISO_JOSEPH;
	p.tof_truncate = 0;
	compare_widths(ctx, &e, p, x);
	p.projector = ISO_SLICE;
	p.rays = 3;
	p.spread_mm[0] = p.spread_mm[1] = 4;
	compare_widths(ctx, &e, p, x);
}

static void a_resolution_of_each_event(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_widths(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_a_resolution_of_each_event, check_widths)

/* On a dozen voxels the whole matrix, forward of each unit image against adjoint of each unit
   datum. */
static void check_matrix(iso_ctx *ctx, const struct iso_events *e, const struct iso_ray *p)
{
	iso_op *op = make_op(ctx, e, *p);
	iso_real a[12][40];

	for (int v = 0; v < 12; v++) {
		iso_real x[12] = { 0 };

		x[v] = 1;
		iso_real *y = apply_forward(ctx, op, x);

		memcpy(a[v], y, sizeof a[v]);
		free(y);
	}
	for (int j = 0; j < 40; j++) {
		iso_real y[40] = { 0 };

		y[j] = 1;
		iso_real *x = apply_adjoint(ctx, op, y);

		for (int v = 0; v < 12; v++) NEAR(x[v], a[v][j], 1e-6);
		free(x);
	}
	iso_op_free(op);
}

static void check_whole_matrix(iso_ctx *ctx)
{
	struct iso_grid g = { { 3, 2, 2 }, { 2, 3, 4 }, { 1, 0, -1 } };
	iso_ctx *host = cpu(1);
	struct iso_events e = random_lors(host, &g, 40);

	for (int way = 0; way < N_OF(ways); way++) {
		struct iso_ray p = ways[way];

		p.grid = g;
		p.n_sub = 3;
		check_matrix(ctx, &e, &p);
	}
	iso_events_free(&e);
	iso_ctx_free(host);
}

static void whole_matrix(void **state)
{
	iso_ctx *ctx = cpu(1);

	(void)state;
	check_whole_matrix(ctx);
	iso_ctx_free(ctx);
}

static void check_em_step(iso_ctx *ctx)
{
	/* on CUDA the step follows rays from face to face, the pair takes some of them slice by slice */
	double tolerance = iso_ctx_is_cuda(ctx) ? 1e-4 : TOLERANCE(2e-6, 1e-10);
	/* real events: a LOR that touches a corner over 1e-14 mm has a ratio of 1e13, which the
	   plain pair's fixed-point image can't hold beside the others */
	struct iso_events e = load_events("events.lmdT", EVENTS);

	e.n = LORS;
	iso_real *hy = calloc(LORS, sizeof *hy), *ha = calloc(LORS, sizeof *ha);
	iso_real *hm = calloc(LORS, sizeof *hm), *image = load_f32("image.f32", VOXELS);

	for (int j = 0; j < LORS; j++) {
		hy[j] = (iso_real)(j % 5);
		ha[j] = (iso_real)(j % 3 * .4);
		hm[j] = (iso_real)(j % 11 == 0 ? 0 : .2 + j % 4);
	}
	iso_real *y = to_device(ctx, LORS, hy), *a = to_device(ctx, LORS, ha);
	iso_real *m = to_device(ctx, LORS, hm), *x = to_device(ctx, VOXELS, image);
	iso_real *acc = to_device(ctx, VOXELS, NULL), *ref = to_device(ctx, VOXELS, NULL);

	for (int which = 0; which < 8 * N_OF(ways); which++) { /* each of y, a, m there or not */
		struct iso_em_data d = { which & 1 ? y : NULL, which & 2 ? a : NULL, which & 4 ? m : NULL };
		struct iso_ray p = ways[which / 8];

		p.n_sub = 3;
		iso_op *op = make_op(ctx, &e, p);

		for (int sub = ISO_ALL; sub < 3; sub++) {
			struct iso_em_stat s, t;

			OK(iso_op_em_step(acc, &s, op, sub, x, &d));
			OK(iso_em_step_plain(op, sub, ref, x, &d, &t));
			iso_real *got = to_host(ctx, VOXELS, acc), *want = to_host(ctx, VOXELS, ref);

			double off = relative_difference(VOXELS, got, want);

			if (off >= tolerance)
				print_error("way %d, data %d, subset %d: %g\n", which / 8, which % 8, sub,
				            off);
			BELOW(off, tolerance);
			NEAR(s.loglik, t.loglik, tolerance / 2 * (fabs(t.loglik) + 100));
			NEAR(s.counts, t.counts, 1e-9);
			assert_int_equal(s.used, t.used);
			assert_int_equal(s.skipped, t.skipped);
			NEAR(s.lost, d.y ? t.lost : (double)s.skipped, 1e-9);
			assert_true(!d.y || !d.mult || (s.lost > 0 && s.lost != (double)s.skipped));
			assert_int_equal(s.used + s.skipped, iso_op_rows(op, sub).n);
			free(got);
			free(want);
		}
		iso_op_free(op);
	}
	device_free(ctx, y);
	device_free(ctx, a);
	device_free(ctx, m);
	device_free(ctx, x);
	device_free(ctx, acc);
	device_free(ctx, ref);
	iso_events_free(&e);
	free(hy);
	free(ha);
	free(hm);
	free(image);
}

static void em_step_is_the_plain_pair(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_em_step(ctx);
	iso_ctx_free(ctx);
}

/* The step does not depend on the scale of the image, however small: every term is w x / q. */
static void check_tiny_images(iso_ctx *ctx)
{
	struct iso_events e = load_events("events.lmdT", EVENTS);
	iso_real *image = load_f32("image.f32", VOXELS), *x = to_device(ctx, VOXELS, image);
	iso_real *acc = to_device(ctx, VOXELS, NULL);
	iso_op *op = ray_op(ctx, &e, 1, FWHM_PS, 3);
	struct iso_em_data d = { 0 };
	struct iso_em_stat s;

	OK(iso_op_em_step(acc, &s, op, ISO_ALL, x, &d));
	iso_real *want = to_host(ctx, VOXELS, acc);

	for (int i = 0; i < VOXELS; i++) image[i] *= (iso_real)1e-30;
	device_free(ctx, x);
	x = to_device(ctx, VOXELS, image);
	OK(iso_op_em_step(acc, &s, op, ISO_ALL, x, &d));
	iso_real *got = to_host(ctx, VOXELS, acc);

	BELOW(relative_difference(VOXELS, got, want), 1e-5);
	device_free(ctx, x);
	device_free(ctx, acc);
	iso_op_free(op);
	iso_events_free(&e);
	free(image);
	free(want);
	free(got);
}

static void tiny_images(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_tiny_images(ctx);
	iso_ctx_free(ctx);
}

/* ---- binned time of flight ---- */

/* Sum of the row of one event whose time lies in bin b. */
static double binned_row(iso_ctx *ctx, const struct iso_ray *p, struct iso_event e, double b)
{
	struct iso_events one = { .n = 1, .v = &e };
	int64_t n = iso_grid_voxels(&p->grid);
	iso_real *x = calloc((size_t)n, sizeof *x);

	for (int64_t i = 0; i < n; i++) x[i] = (iso_real)(1 + i % 3);
	e.dt_ps = (float)(b * p->tof_bin_ps);
	iso_op *op = make_op(ctx, &one, *p);
	iso_real *y = apply_forward(ctx, op, x);
	double sum = y[0];

	iso_op_free(op);
	free(x);
	free(y);
	return sum;
}

static const struct iso_event oblique = { { -90, -31, 12 }, { 95, 44, -25 }, 0 };

/* The row over all bins is the row without time of flight, cut or not, for voxels small and large
   against sigma, for either projector, with a bin around time 0 or a border there. */
static void check_bins_sum_to_the_chord(iso_ctx *ctx)
{
	static const struct iso_grid large = { { 3, 2, 2 }, { 60, 70, 50 }, { 0, 0, 0 } };

	for (int way = 0; way < 16; way++) {
		struct iso_ray p = { .size = sizeof p,
			             .grid = way & 1 ? large : grid,
			             .n_sub = 1,
			             .tof_centred = way & 8,
			             .projector = way & 2 ? ISO_JOSEPH : ISO_SLICE,
			             .tof_fwhm_ps = FWHM_PS,
			             .tof_truncate = way & 4 ? 3 : 0,
			             .tof_bin_ps = 83 };
		struct iso_ray chord = p;
		double sum = 0;

		for (int b = -35; b <= 35; b++)
			sum += binned_row(ctx, &p, oblique, p.tof_centred ? b + .5 : b);
		chord.tof_fwhm_ps = 0;
		/* in float what rounding leaves far out is never negative */
		NEAR(sum, binned_row(ctx, &chord, oblique, 0), TOLERANCE(1e-5, 1e-9) * sum);
	}
}

static void bins_sum_to_the_chord(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_bins_sum_to_the_chord(ctx);
	iso_ctx_free(ctx);
}

/* Integral over bin b of the row without bins: midpoints of n parts of the times in it. */
static double integral_over_bin(iso_ctx *ctx, const struct iso_ray *p, int b, int n)
{
	struct iso_event *v = calloc((size_t)n, sizeof *v);
	struct iso_events e = { .n = n, .v = v };
	struct iso_ray free_times = *p;
	iso_real *x = calloc((size_t)iso_grid_voxels(&p->grid), sizeof *x);
	double sum = 0;

	for (int64_t i = 0; i < iso_grid_voxels(&p->grid); i++) x[i] = (iso_real)(1 + i % 3);
	for (int i = 0; i < n; i++) {
		v[i] = oblique;
		v[i].dt_ps = (float)((b + (i + .5) / n - .5) * p->tof_bin_ps);
	}
	free_times.tof_bin_ps = 0;
	iso_op *op = make_op(ctx, &e, free_times);
	iso_real *y = apply_forward(ctx, op, x);

	for (int i = 0; i < n; i++) sum += y[i];
	iso_op_free(op);
	free(x);
	free(y);
	free(v);
	return sum / n * p->tof_bin_ps * ISO_C_MM_PER_PS / 2;
}

/* Bins cut at k sigma, also where the cut falls inside the image; most of all bins of 1000 ps,
   whose flat middle has no Gaussian left. */
static void check_truncated_bins(iso_ctx *ctx)
{
	static const double bin[] = { 83, 300, 1000 };

	for (int i = 0; i < N_OF(bin); i++)
		for (int b = -2; b <= 2; b++) {
			struct iso_ray p = { .size = sizeof p,
				             .grid = grid,
				             .n_sub = 1,
				             .tof_fwhm_ps = 150,
				             .tof_truncate = 1.5,
				             .tof_bin_ps = bin[i] };
			double want = integral_over_bin(ctx, &p, b, 4000);

			NEAR(binned_row(ctx, &p, oblique, b), want, 2e-5 * want + 2e-5);
		}
}

static void truncated_bins_are_integrals(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_truncated_bins(ctx);
	iso_ctx_free(ctx);
}

/* ---- subset rules ---- */

/* Each rule is a bijection with its inverse, and its subsets differ by one row at most. */
static void subset_rules_are_permutations(void **state)
{
	static const int sizes[] = { 1, 2, 3, 7, 64, 65, 1000, 4097 };
	static bool seen[4097];

	(void)state;
	for (int rule = ISO_INTERLEAVED; rule <= ISO_RANDOM; rule++)
		for (int i = 0; i < N_OF(sizes); i++)
			for (int n_sub = 1; n_sub <= sizes[i] && n_sub < 80; n_sub += 13) {
				struct iso_order o = { .n = sizes[i],
					               .n_sub = n_sub,
					               .rule = rule,
					               .seed = 12345678901234567u };
				int64_t next = 0;

				memset(seen, 0, sizeof seen);
				for (int64_t row = 0; row < o.n; row++) {
					int64_t event = order_event(&o, row);

					assert_true(event >= 0 && event < o.n && !seen[event]);
					seen[event] = true;
					assert_int_equal(order_row(&o, event), row);
				}
				for (int b = 0; b < n_sub; b++) {
					struct iso_rows r = order_rows(&o, b);

					assert_int_equal(r.first, next);
					assert_int_equal(r.n, o.n / n_sub + (b < o.n % n_sub));
					next += r.n;
				}
				assert_int_equal(next, o.n);
			}
}

static void subset_rules_by_hand(void **state)
{
	struct iso_order deal = { .n = 10, .n_sub = 3, .rule = ISO_INTERLEAVED },
			 blocks = { .n = 10, .n_sub = 3, .rule = ISO_BLOCKS };
	static const int dealt[10] = { 0, 3, 6, 9, 1, 4, 7, 2, 5, 8 };

	(void)state;
	for (int i = 0; i < 10; i++) {
		assert_int_equal(order_event(&deal, i), dealt[i]);
		assert_int_equal(order_event(&blocks, i), i);
	}
}

/* Where an event lands at random has no trend, does not remember its neighbour, and depends on
   the seed: with 50000 events each correlation has a standard deviation of 0.0045. */
static void random_subsets_are_random(void **state)
{
	enum { N = 50000 };
	struct iso_order o = { .n = N, .n_sub = 8, .rule = ISO_RANDOM, .seed = 1 },
			 other = { .n = N, .n_sub = 8, .rule = ISO_RANDOM, .seed = 2 };
	double with_number = 0, with_next = 0, with_other = 0, scale = N / 12.;
	int low_half = 0;

	(void)state;
	for (int64_t i = 0; i < N; i++) {
		double at = (double)order_row(&o, i) / N - .5;

		with_number += at * ((double)i / N - .5) / scale;
		with_next += at * ((double)order_row(&o, (i + 1) % N) / N - .5) / scale;
		with_other += at * ((double)order_row(&other, i) / N - .5) / scale;
		low_half += i < N / 2 && at < 0;
	}
	NEAR(with_number, 0, .025);
	NEAR(with_next, 0, .025);
	NEAR(with_other, 0, .025);
	NEAR(low_half, N / 4, 300);
}

/* From the file's order to the operator's, and back. */
static void check_sorting_on_device(iso_ctx *ctx, iso_op *op, const iso_real *in, const iso_real *sorted)
{
	iso_real *from = to_device(ctx, LORS, in), *to = to_device(ctx, LORS, NULL);

	OK(iso_op_sort_device(to, op, from));
	iso_real *got = to_host(ctx, LORS, to);

	assert_memory_equal(got, sorted, LORS * sizeof *got);
	free(got);
	OK(iso_ctx_vec(ctx)->fill(ctx, LORS, from, -1));
	OK(iso_op_unsort_device(from, op, to));
	got = to_host(ctx, LORS, from);
	assert_memory_equal(got, in, LORS * sizeof *got);
	free(got);
	device_free(ctx, from);
	device_free(ctx, to);
}

/* Subsets add up to the whole, and what the user sees is in the file's order, for each rule. */
static void check_subsets_add_up(iso_ctx *ctx)
{
	struct iso_events e = load_events("lors.lmdT", LORS);
	iso_real *in = load_f32("back_in.f32", LORS), *image = load_f32("image.f32", VOXELS);
	double sum[VOXELS];

	for (int rule = ISO_INTERLEAVED; rule <= ISO_RANDOM; rule++) {
		struct iso_ray p = { .size = sizeof p, .grid = grid, .n_sub = 7, .rule = rule, .seed = 9 };
		iso_op *op = make_op(ctx, &e, p);
		iso_real *sorted = calloc(LORS, sizeof *sorted), *y = apply_forward(ctx, op, image);

		check_forward(y, "fwd_nontof.f64");
		iso_op_sort(sorted, op, in);
		iso_real *dy = to_device(ctx, LORS, sorted), *dx = to_device(ctx, VOXELS, NULL);

		check_sorting_on_device(ctx, op, in, sorted);
		memset(sum, 0, sizeof sum);
		for (int b = 0; b < 7; b++) {
			OK(iso_adjoint(dx, op, b, dy));
			iso_real *x = to_host(ctx, VOXELS, dx);

			for (int i = 0; i < VOXELS; i++) sum[i] += x[i];
			free(x);
		}
		for (int i = 0; i < VOXELS; i++) image[i] = (iso_real)sum[i];
		check_image(image, "back_nontof.f64", 2e-5);
		free(image);
		image = load_f32("image.f32", VOXELS);
		free(sorted);
		free(y);
		device_free(ctx, dx);
		device_free(ctx, dy);
		iso_op_free(op);
	}
	iso_events_free(&e);
	free(in);
	free(image);
}

static void subsets_add_up(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_subsets_add_up(ctx);
	iso_ctx_free(ctx);
}

/* ---- several lines an event ---- */

/* Every coordinate takes the middle of each of R parts once; the two ends differ. */
static void spread_points_are_a_latin_hypercube(void **state)
{
	struct iso_event one = oblique;
	struct iso_events e = { .n = 1, .v = &one };
	iso_ctx *ctx = cpu(1);

	(void)state;
	for (int lines = 2; lines <= RAY_LINES; lines++) {
		struct iso_ray p = {
			.size = sizeof p, .grid = grid, .n_sub = 1, .rays = lines, .spread_mm = { 1, 1 }
		};
		iso_op *op = make_op(ctx, &e, p);
		const struct ray_spread *s = &((const struct ray_model *)op->data)->spread;
		int other = 0;

		assert_int_equal(s->lines, lines);
		for (int c = 0; c < 4; c++) {
			uint64_t parts = 0;

			for (int i = 0; i < lines; i++)
				parts |= (uint64_t)1 << (int)((s->off[i][c] + .5) * lines);
			assert_true(parts == (lines < 64 ? ((uint64_t)1 << lines) - 1 : UINT64_MAX));
		}
		for (int i = 0; i < lines; i++)
			other += s->off[i][0] != s->off[i][2] || s->off[i][1] != s->off[i][3];
		assert_true(other >= lines - 1);
		iso_op_free(op);
	}
	iso_ctx_free(ctx);
}

/* Two lines between opposite points of a ring: the ends are a quarter of the face off centre, the
   tangents there are +y and -y. The row is the mean of the rows of those two lines. */
static void check_spread_by_hand(iso_ctx *ctx)
{
	struct iso_event v[2] = { { { 64, 0, 1 }, { -64, 0, 2 }, 30 } };
	struct iso_events e = { .n = 1, .v = v };
	struct iso_ray p = { .size = sizeof p,
		             .grid = grid,
		             .n_sub = 1,
		             .rays = 2,
		             .spread_mm = { 8, 12 },
		             .tof_fwhm_ps = FWHM_PS };
	iso_real *image = load_f32("image.f32", VOXELS);
	iso_op *op = make_op(ctx, &e, p);
	iso_real *y = apply_forward(ctx, op, image);

	iso_op_free(op);
	v[1] = v[0];
	v[0].p1[1] -= 2;
	v[0].p1[2] += 3;
	v[0].p2[1] -= 2;
	v[0].p2[2] -= 3;
	v[1].p1[1] += 2;
	v[1].p1[2] -= 3;
	v[1].p2[1] += 2;
	v[1].p2[2] += 3;
	e.n = 2;
	p.rays = 0;
	op = make_op(ctx, &e, p);
	iso_real *two = apply_forward(ctx, op, image);

	NEAR(y[0], (two[0] + two[1]) / 2, TOLERANCE(1e-6, 1e-12) * y[0]);
	iso_op_free(op);
	free(image);
	free(y);
	free(two);
}

static void spread_by_hand(void **state)
{
	iso_ctx *ctx = cpu(1);

	(void)state;
	check_spread_by_hand(ctx);
	iso_ctx_free(ctx);
}

/* ---- attenuation and sensitivity ---- */

static void check_sens(iso_ctx *ctx)
{
	iso_scanner *s = vector_scanner();
	struct iso_array mu = { .n_dim = 3,
		                .dim = { NZ, NY, NX },
		                .n = VOXELS,
		                .has_grid = true,
		                .grid = grid,
		                .v = load_f32("mu.f32", VOXELS) };
	iso_real *eff = load_f32("crystal_eff.f32", 192), *x = calloc(VOXELS, sizeof *x);
	struct iso_ray_sens p = { .size = sizeof p, .grid = grid, .scanner = s, .share = 1 };
	double error = 1;

	OK(iso_ray_sens(x, &error, ctx, &p));
	check_image(x, "sens_geom.f64", 2e-5);
	assert_true(error == 0);
	p.mu = &mu;
	p.eff = eff;
	OK(iso_ray_sens(x, &error, ctx, &p));
	check_image(x, "sens_full.f64", 2e-5);

	/* a small share is off by the error it states, on average over many */
	double *ref = test_data(TEST_DATA "/listmode", "sens_full.f64", VOXELS, sizeof *ref), off = 0,
	       stated = 0;

	p.share = .05;
	for (p.seed = 1; p.seed <= 20; p.seed++) {
		double diff = 0, norm = 0;

		OK(iso_ray_sens(x, &error, ctx, &p));
		for (int i = 0; i < VOXELS; i++) {
			diff += (x[i] - ref[i]) * (x[i] - ref[i]);
			norm += ref[i] * ref[i];
		}
		off += diff / norm / 20;
		stated += error * error / 20;
	}
	assert_true(stated > 0);
	NEAR(sqrt(off / stated), 1, .15);

	p.share = -1;
	REFUSED(iso_ray_sens(x, &error, ctx, &p), ISO_EARG, "share of pairs is -1");
	p.share = 1;
	eff[3] = -1;
	REFUSED(iso_ray_sens(x, &error, ctx, &p), ISO_EINPUT, "crystal 3 is -1");
	iso_array_free(&mu);
	iso_scanner_free(s);
	free(eff);
	free(x);
	free(ref);
}

static void sensitivity(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_sens(ctx);
	iso_ctx_free(ctx);
}

/* By Joseph's rule and with several lines too: the sensitivity is the back projection of 1 from
   every pair. */
static void check_sens_lines(iso_ctx *ctx, enum iso_projector projector, int rays)
{
	iso_scanner *s = vector_scanner();
	const double *pos = iso_scanner_positions(s);
	struct iso_events e = { .n = iso_scanner_pairs(s) };
	struct iso_ray_sens p = { .size = sizeof p,
		                  .grid = grid,
		                  .scanner = s,
		                  .share = 1,
		                  .projector = projector,
		                  .rays = rays,
		                  .spread_mm = { 6, 8 } };
	struct iso_ray ray = { .size = sizeof ray,
		               .grid = grid,
		               .n_sub = 1,
		               .projector = projector,
		               .rays = rays,
		               .spread_mm = { 6, 8 } };
	iso_real *x = calloc(VOXELS, sizeof *x), *ones = calloc((size_t)e.n, sizeof *ones);
	double error;

	e.v = calloc((size_t)e.n, sizeof *e.v);
	for (int64_t i = 0; i < e.n; i++) {
		int64_t a, b;

		iso_scanner_pair(&a, &b, s, i);
		for (int c = 0; c < 3; c++) {
			e.v[i].p1[c] = (float)pos[3 * a + c];
			e.v[i].p2[c] = (float)pos[3 * b + c];
		}
		ones[i] = 1;
	}
	iso_op *op = make_op(ctx, &e, ray);
	iso_real *want = apply_adjoint(ctx, op, ones);

	OK(iso_ray_sens(x, &error, ctx, &p));
	BELOW(relative_difference(VOXELS, x, want), 1e-5); /* ends rounded to float */
	p.projector = ISO_SLICE;
	p.rays = 1;
	OK(iso_ray_sens(x, &error, ctx, &p));
	assert_true(relative_difference(VOXELS, x, want) > 1e-3);
	p.rays = 65;
	REFUSED(iso_ray_sens(x, &error, ctx, &p), ISO_EARG, "65 lines per event");
	iso_op_free(op);
	iso_events_free(&e);
	iso_scanner_free(s);
	free(x);
	free(ones);
	free(want);
}

static void check_sens_all_lines(iso_ctx *ctx)
{
	check_sens_lines(ctx, ISO_JOSEPH, 1);
	check_sens_lines(ctx, ISO_SLICE, 5);
	check_sens_lines(ctx, ISO_JOSEPH, 4);
}

static void sensitivity_as_back_projection(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_sens_all_lines(ctx);
	iso_ctx_free(ctx);
}

static void check_attenuation(iso_ctx *ctx)
{
	struct iso_events e = load_events("events.lmdT", EVENTS);
	struct iso_array mu = {
		.n = VOXELS, .has_grid = true, .grid = grid, .v = load_f32("mu.f32", VOXELS)
	};
	iso_real *alpha = calloc(EVENTS, sizeof *alpha);
	double *ref = test_data(TEST_DATA "/listmode", "events_att.f64", EVENTS, sizeof *ref);

	OK(iso_ray_attenuation(alpha, ctx, &mu, &e));
	for (int j = 0; j < EVENTS; j++) NEAR(alpha[j], ref[j], TOLERANCE(5e-6, 1e-9));
	iso_events_free(&e);
	iso_array_free(&mu);
	free(alpha);
	free(ref);
}

static void attenuation(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_attenuation(ctx);
	iso_ctx_free(ctx);
}

/* ---- EM against the vectors ---- */

struct em_case {
	const char *name, *sens;
	bool mult;
	double add, fwhm, k;
	int subsets, iterations;
	int64_t skipped;
	double loglik[8]; /* before each update */
};

static const struct em_case em_cases[] = {
	{ "mlem_a_nontof_geom",
	  "sens_geom.f64",
	  false,
	  0,
	  0,
	  0,
	  1,
	  5,
	  1693,
	  { -297065.47327420197, 1336.228147733178, 1629.3607561507451, 1784.9979309552218,
	    1875.018510716378 } },
	{ "mlem_b_nontof_full",
	  "sens_full.f64",
	  true,
	  ADD_PER_LOR,
	  0,
	  0,
	  1,
	  5,
	  0,
	  { -137612.64681981958, 1136.4406478324563, 2132.383227126247, 2476.2478138886145,
	    2615.6303016751226 } },
	{ "mlem_c_tof_full",
	  "sens_full.f64",
	  true,
	  ADD_PER_MM,
	  FWHM_PS,
	  0,
	  1,
	  5,
	  0,
	  { -237000.5879984091, -97553.90878792576, -96502.17854603693, -96171.36388118342,
	    -96040.04673895931 } },
	{ "mlem_d_nontof_att_noadd",
	  "sens_full.f64",
	  true,
	  0,
	  0,
	  0,
	  1,
	  5,
	  1693,
	  { -135812.80469721765, 1079.6697051033334, 1934.4637192027876, 2217.435746632822,
	    2327.256506129783 } },
	{ "mlem_e_tof3_full",
	  "sens_full.f64",
	  true,
	  ADD_PER_MM,
	  FWHM_PS,
	  3,
	  1,
	  5,
	  0,
	  { -237033.2945629674, -97535.55849456946, -96488.4557612253, -96158.64253600754,
	    -96027.60950873818 } },
	{ "osem4_nontof_full",
	  "sens_full.f64",
	  true,
	  ADD_PER_LOR,
	  0,
	  0,
	  4,
	  2,
	  0,
	  { -34373.2882439323, 287.68314133592594, 418.1541411437747, 555.1865407881892, 660.7280079800921,
	    664.6024264961507, 570.3009485468046, 638.1029208002019 } },
};

/* One case on one context; the image stays with the caller. r may be NULL. */
static iso_real *run_case(iso_ctx *ctx, const struct em_case *c, int iterations, struct iso_em_result *r)
{
	struct iso_events e = load_events("events.lmdT", EVENTS);
	iso_real *sens = load_f64(c->sens, VOXELS), *mult = load_f64("events_mult.f64", EVENTS);
	iso_real *add = calloc(EVENTS, sizeof *add), *x = calloc(VOXELS, sizeof *x);
	iso_op *op = ray_op(ctx, &e, c->subsets, c->fwhm, c->k);

	for (int j = 0; j < EVENTS; j++) add[j] = (iso_real)c->add;
	for (int i = 0; i < VOXELS; i++) x[i] = 1;
	struct iso_em em = {
		.size = sizeof em,
		.op = op,
		.iterations = iterations,
		.sens = { 1, c->subsets, sens },
		.data = { NULL, c->add > 0 ? add : NULL, c->mult ? mult : NULL },
	};

	OK(iso_em_run(x, r, &em, NULL));
	/* without an additive term the image explains each event used, exactly */
	if (c->add == 0 && r) {
		double sum = 0;

		for (int i = 0; i < VOXELS; i++) sum += (double)x[i] * sens[i];
		NEAR(sum, (double)r->used, 1e-5 * (double)r->used);
	}
	iso_op_free(op);
	iso_events_free(&e);
	free(sens);
	free(mult);
	free(add);
	return x;
}

static void check_em_vectors(iso_ctx *ctx)
{
	for (int i = 0; i < N_OF(em_cases); i++) {
		const struct em_case *c = &em_cases[i];
		char name[64];

		for (int it = 1; it <= c->iterations; it += c->iterations - 1) {
			struct iso_em_result r = { .size = sizeof r };
			iso_real *x = run_case(ctx, c, it, &r);

			snprintf(name, sizeof name, "%s_it%d.f64", c->name, it);
			check_image(x, name, 2e-4);
			assert_int_equal(r.skipped, c->skipped);
			NEAR(r.lost, (double)c->skipped, 0);
			assert_int_equal(r.used, EVENTS - c->skipped);
			assert_int_equal(r.n, it * c->subsets);
			for (int k = 0; k < r.n; k++)
				NEAR(r.loglik[k], c->loglik[k], TOLERANCE(1e-5, 1e-9) * fabs(c->loglik[k]));
			free(x);
			iso_em_result_free(&r);
		}
	}
}

static void em_vectors(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_em_vectors(ctx);
	iso_ctx_free(ctx);
}

static void check_likelihood_rises(iso_ctx *ctx)
{
	for (int i = 0; i < 5; i++) { /* the MLEM cases */
		struct iso_em_result r = { .size = sizeof r };

		free(run_case(ctx, &em_cases[i], 40, &r));
		for (int k = 1; k < r.n; k++)
			assert_true(r.loglik[k] >= r.loglik[k - 1] - 1e-7 * fabs(r.loglik[k - 1]));
		iso_em_result_free(&r);
	}
}

static void likelihood_rises(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_likelihood_rises(ctx);
	iso_ctx_free(ctx);
}

static void same_bits_for_every_number_of_threads(void **state)
{
	static const int threads[] = { 1, 2, 7, 3 }; /* the last ones share an image */

	(void)state;
	for (int i = 0; i < N_OF(em_cases); i += 5) { /* MLEM and OSEM */
		iso_real *first = NULL;

		for (int t = 0; t < N_OF(threads); t++) {
			iso_ctx *ctx = cpu(threads[t]);

			if (t == N_OF(threads) - 1) iso_ctx_set_memory_limit(ctx, 1000);
			iso_real *x = run_case(ctx, &em_cases[i], 3, NULL);

			if (first)
				assert_memory_equal(first, x, VOXELS * sizeof *x);
			else
				first = x;
			if (x != first) free(x);
			iso_ctx_free(ctx);
		}
		free(first);
	}
}

/* Nor does the order of the events matter to MLEM. */
static void same_bits_for_every_order_of_events(void **state)
{
	struct iso_events e = load_events("events.lmdT", EVENTS);
	iso_real *x = load_f32("image.f32", VOXELS), *a = calloc(VOXELS, sizeof *a);
	iso_real *b = calloc(VOXELS, sizeof *b);
	iso_ctx *ctx = cpu(2);
	struct iso_em_data d = { 0 };
	struct iso_em_stat s;
	iso_op *op = ray_op(ctx, &e, 1, FWHM_PS, 3);

	(void)state;
	OK(iso_op_em_step(a, &s, op, ISO_ALL, x, &d));
	iso_op_free(op);
	for (int i = 0; i < EVENTS / 2; i++) {
		struct iso_event v = e.v[i];

		e.v[i] = e.v[EVENTS - 1 - i];
		e.v[EVENTS - 1 - i] = v;
	}
	op = ray_op(ctx, &e, 1, FWHM_PS, 3);
	OK(iso_op_em_step(b, &s, op, ISO_ALL, x, &d));
	assert_memory_equal(a, b, VOXELS * sizeof *a);
	iso_op_free(op);
	iso_events_free(&e);
	free(x);
	free(a);
	free(b);
	iso_ctx_free(ctx);
}

/* One sensitivity image per subset: each a quarter of the whole gives OSEM with the whole; a voxel
   that one subset does not see keeps its value there, one that none sees is 0. */
static void check_sens_per_subset(iso_ctx *ctx)
{
	struct iso_events e = load_events("events.lmdT", EVENTS);
	iso_real *sens = load_f64("sens_geom.f64", VOXELS), *four = calloc(4 * VOXELS, sizeof *four);
	iso_real *x = calloc(VOXELS, sizeof *x), *y = calloc(VOXELS, sizeof *y);
	iso_op *op = ray_op(ctx, &e, 4, 0, 0);
	struct iso_em em = { .size = sizeof em, .op = op, .iterations = 1, .sens = { 1, 4, sens } };
	int seen = 0;

	for (int i = 0; i < VOXELS; i++)
		for (int k = 0; k < 4; k++) four[k * VOXELS + i] = sens[i] / 4;
	for (int i = 0; i < VOXELS; i++) x[i] = y[i] = 1;
	OK(iso_em_run(x, NULL, &em, NULL));
	em.sens = (struct iso_sens){ 4, 4, four };
	OK(iso_em_run(y, NULL, &em, NULL));
	BELOW(relative_difference(VOXELS, y, x), 1e-6);
	while (sens[seen] == 0) seen++;
	for (int k = 0; k < 4; k++) four[k * VOXELS + seen] = k == 3 ? sens[seen] : 0;
	for (int i = 0; i < VOXELS; i++) y[i] = 1;
	em.sens.n_sub = 4;
	OK(iso_em_run(y, NULL, &em, NULL));
	assert_true(y[seen] > 0 && y[seen] != x[seen]);
	assert_true(sens[0] == 0 && y[0] == 0);
	iso_op_free(op);
	iso_events_free(&e);
	free(sens);
	free(four);
	free(x);
	free(y);
}

static void sensitivity_per_subset(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_sens_per_subset(ctx);
	iso_ctx_free(ctx);
}

/* Interrupted after any update, a run goes on to the same bits. */
struct stopper {
	iso_ctx *ctx;
	int after;
};

static int stop_after(void *arg, int iteration, const iso_real *x)
{
	struct stopper *s = arg;

	(void)x;
	if (iteration == s->after) iso_ctx_cancel(s->ctx);
	return ISO_OK;
}

static void resume_gives_the_unbroken_image(void **state)
{
	struct iso_events e = load_events("events.lmdT", EVENTS);
	iso_real *sens = load_f64("sens_geom.f64", VOXELS), *whole = calloc(VOXELS, sizeof *whole);
	iso_real *x = calloc(VOXELS, sizeof *x);
	iso_ctx *ctx = cpu(2), *second = cpu(1);
	iso_op *op = ray_op(ctx, &e, 4, 0, 0), *op2 = ray_op(second, &e, 4, 0, 0);
	struct stopper s = { ctx, 2 };
	struct iso_em em = { .size = sizeof em, .op = op, .iterations = 4, .sens = { 1, 4, sens } };
	struct iso_run run = { .size = sizeof run,
		               .checkpoint = "test_ray.ckpt",
		               .checkpoint_minutes = 1e9,
		               .key = 77,
		               .each = stop_after,
		               .arg = &s };
	struct iso_em_result r = { .size = sizeof r };

	(void)state;
	for (int i = 0; i < VOXELS; i++) x[i] = whole[i] = 1;
	OK(iso_em_run(whole, NULL, &em, NULL));
	remove(run.checkpoint);
	REFUSED(iso_em_run(x, &r, &em, &run), ISO_ECANCEL, "stopped after 8 of 16 updates");
	em.op = op2;
	run.each = NULL;
	run.resume = true;
	run.key = 78;
	REFUSED(iso_em_run(x, &r, &em, &run), ISO_EINPUT, "other inputs or options");
	run.key = 77;
	OK(iso_em_run(x, &r, &em, &run));
	assert_int_equal(r.resumed_from, 8);
	assert_int_equal(r.n, 16);
	assert_true(r.loglik[0] != 0);
	assert_memory_equal(x, whole, VOXELS * sizeof *x);
	iso_em_result_free(&r);
	remove(run.checkpoint);
	iso_op_free(op);
	iso_op_free(op2);
	iso_events_free(&e);
	free(sens);
	free(x);
	free(whole);
	iso_ctx_free(ctx);
	iso_ctx_free(second);
}

/* ---- what is refused, and what is left out ---- */

static void bad_arguments_are_refused(void **state)
{
	iso_ctx *ctx = cpu(1);
	struct iso_event one = { { -100, 0, 0 }, { 100, 1, 1 }, 0 };
	struct iso_events e = { .n = 1, .v = &one }, none = { 0 };
	struct iso_ray p = { .size = sizeof p, .grid = grid, .n_sub = 1 }, q;
	iso_real x[VOXELS], sens[VOXELS];
	struct iso_em_result r = { .size = sizeof r };
	iso_op *op = NULL;

	(void)state;
	REFUSED(iso_ray_create(&op, ctx, &p, &none), ISO_EARG, "no events");
	q = p;
	q.n_sub = 2;
	REFUSED(iso_ray_create(&op, ctx, &q, &e), ISO_EARG, "2 subsets of 1 events");
	q = p;
	q.grid.n[0] = 1 << 22;
	q.grid.n[1] = 1 << 10;
	REFUSED(iso_ray_create(&op, ctx, &q, &e), ISO_EARG, "at most 2147483647");
	q = p;
	q.tof_fwhm_ps = NAN;
	REFUSED(iso_ray_create(&op, ctx, &q, &e), ISO_EARG, "TOF resolution is nan");
	q = p;
	q.tof_fwhm_ps = 300;
	q.tof_truncate = -1;
	REFUSED(iso_ray_create(&op, ctx, &q, &e), ISO_EARG, "TOF truncation is -1");
	q = p;
	q.tof_bin_ps = -2;
	REFUSED(iso_ray_create(&op, ctx, &q, &e), ISO_EARG, "TOF bins are -2 ps wide");
	q = p;
	q.tof_each = true;
	REFUSED(iso_ray_create(&op, ctx, &q, &e), ISO_EARG, "tof_fwhm_ps is 0");
	q.tof_fwhm_ps = 300;
	REFUSED(iso_ray_create(&op, ctx, &q, &e), ISO_EARG, "needs fwhm_ps of the events");
	e.fwhm_ps = (iso_real[]){ 0 };
	REFUSED(iso_ray_create(&op, ctx, &q, &e), ISO_EARG, "event 0 is 0 ps");
	q.tof_bin_ps = 20;
	REFUSED(iso_ray_create(&op, ctx, &q, &e), ISO_EARG, "can't be in bins");
	e.fwhm_ps = NULL;
	q = p;
	q.rays = 65;
	REFUSED(iso_ray_create(&op, ctx, &q, &e), ISO_EARG, "65 lines per event");
	q = p;
	q.spread_mm[1] = INFINITY;
	REFUSED(iso_ray_create(&op, ctx, &q, &e), ISO_EARG, "crystal faces are 0 x inf mm");
	q = p;
	q.projector = 7;
	REFUSED(iso_ray_create(&op, ctx, &q, &e), ISO_EARG, "no projector 7");
	q = p;
	q.rule = 8;
	REFUSED(iso_ray_create(&op, ctx, &q, &e), ISO_EARG, "no subset rule 8");
	OK(iso_ray_create(&op, ctx, &p, &e));
	iso_real y = NAN;

	REFUSED(iso_adjoint(x, op, ISO_ALL, &y), ISO_EARG, "not finite");
	for (int i = 0; i < VOXELS; i++) x[i] = sens[i] = 1;
	struct iso_em em = { .size = sizeof em, .op = op, .iterations = 1, .sens = { 1, 1, sens } };

	x[5] = -1;
	REFUSED(iso_em_run(x, &r, &em, NULL), ISO_EINPUT, "start image holds -1 at 5");
	x[5] = 1;
	sens[2] = NAN;
	REFUSED(iso_em_run(x, &r, &em, NULL), ISO_EINPUT, "sensitivity holds nan at 2");
	sens[2] = 1;
	y = -1;
	em.data.add = &y;
	REFUSED(iso_em_run(x, &r, &em, NULL), ISO_EINPUT, "additive term holds -1");
#ifndef ISO_DOUBLE
	iso_real tiny = 1e-40f;

	y = 1;
	em.data.mult = &tiny;
	REFUSED(iso_em_run(x, &r, &em, NULL), ISO_EINPUT, "additive term 1 over factor 9.99995e-41");
	em.data.mult = NULL;
#endif
	em.data.add = NULL;
	x[0] = INFINITY;
	REFUSED(iso_em_run(x, &r, &em, NULL), ISO_EINPUT, "start image holds inf");
	x[0] = 1;
	em.iterations = 0;
	REFUSED(iso_em_run(x, &r, &em, NULL), ISO_EARG, "0 iterations");
	em.iterations = 1;
	em.sens.n_images = 2;
	REFUSED(iso_em_run(x, &r, &em, NULL), ISO_EARG, "2 sensitivity images");
	iso_op_free(op);
	iso_ctx_free(ctx);
}

/* Rejected events keep their number, project to 0, and are skipped; absurd ones do no harm. */
static void check_bad_events(iso_ctx *ctx)
{
	struct iso_event v[] = {
		{ { -100, 1, 2 }, { 100, 3, 4 }, 0 },
		{ { NAN, 0, 0 }, { 100, 0, 0 }, 0 },
		{ { 1, 1, 1 }, { 1, 1, 1 }, 0 },
		{ { -INFINITY, 0, 0 }, { INFINITY, 0, 0 }, 0 },
		{ { -3e38f, 1, 1 }, { 3e38f, 3e38f, -3e38f }, 0 },
		{ { -1e30f, 2, 2 }, { 1e30f, 2, 2 }, 0 },
		{ { 500, 500, 500 }, { 600, 500, 500 }, 0 },
		{ { -100, 1, 2 }, { 100, 3, 4 }, NAN },
	};
	struct iso_events e = { .n = N_OF(v), .v = v };
	iso_real ones[VOXELS];

	for (int i = 0; i < VOXELS; i++) ones[i] = 1;
	for (int way = 1; way < N_OF(ways); way++) {
		struct iso_ray p = ways[way];

		p.n_sub = 1;
		iso_op *any = make_op(ctx, &e, p);
		iso_real *z = apply_forward(ctx, any, ones);

		for (int j = 1; j < N_OF(v); j++)
			assert_true(isfinite(z[j]) && z[j] >= 0 && (j == 4 || j == 5 || z[j] == 0));
		free(z);
		iso_op_free(any);
	}
	iso_op *op = ray_op(ctx, &e, 1, 0, 0);
	iso_real *y = apply_forward(ctx, op, ones);

	NEAR(y[0], box_chord(&grid, v), 3e-4);
	for (int j = 1; j < N_OF(v); j++)
		assert_true(isfinite(y[j]) && y[j] >= 0 && (j == 4 || j == 5 || y[j] == 0));
	free(y);
	iso_real *dx = to_device(ctx, VOXELS, ones), *acc = to_device(ctx, VOXELS, NULL);
	struct iso_em_data d = { 0 };
	struct iso_em_stat s;

	OK(iso_op_em_step(acc, &s, op, ISO_ALL, dx, &d));
	assert_true(s.used >= 1 && s.skipped >= 4);
	device_free(ctx, dx);
	device_free(ctx, acc);
	iso_op_free(op);
}

static void bad_events(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_bad_events(ctx);
	iso_ctx_free(ctx);
}

/* ---- CUDA ---- */

#ifndef ISO_DOUBLE
CUDA_TEST(cuda_projections, check_projections)
CUDA_TEST(cuda_ones_project_to_the_chord, check_ones)
CUDA_TEST(cuda_adjoint, check_adjoint)
CUDA_TEST(cuda_whole_matrix, check_whole_matrix)
CUDA_TEST(cuda_em_step_is_the_plain_pair, check_em_step)
CUDA_TEST(cuda_tiny_images, check_tiny_images)
CUDA_TEST(cuda_bins_sum_to_the_chord, check_bins_sum_to_the_chord)
CUDA_TEST(cuda_truncated_bins_are_integrals, check_truncated_bins)
CUDA_TEST(cuda_subsets_add_up, check_subsets_add_up)
CUDA_TEST(cuda_spread_by_hand, check_spread_by_hand)
CUDA_TEST(cuda_sensitivity, check_sens)
CUDA_TEST(cuda_sensitivity_as_back_projection, check_sens_all_lines)
CUDA_TEST(cuda_attenuation, check_attenuation)
CUDA_TEST(cuda_em_vectors, check_em_vectors)
CUDA_TEST(cuda_likelihood_rises, check_likelihood_rises)
CUDA_TEST(cuda_bad_events, check_bad_events)
CUDA_TEST(cuda_sensitivity_per_subset, check_sens_per_subset)

/* After 10 iterations the two devices are within 1e-4, and CUDA repeats itself to the bit. */
static void cuda_image_is_the_cpu_image(void **state)
{
	iso_ctx *ctx = cuda_or_skip(), *host = cpu(0);

	(void)state;
	for (int i = 0; i < N_OF(em_cases); i++) {
		iso_real *a = run_case(ctx, &em_cases[i], 10, NULL);
		iso_real *b = run_case(host, &em_cases[i], 10, NULL);
		iso_real *again = run_case(ctx, &em_cases[i], 10, NULL);

		print_message("%s: CPU and CUDA differ by %.2g\n", em_cases[i].name,
		              relative_difference(VOXELS, a, b));
		BELOW(relative_difference(VOXELS, a, b), 1e-4);
		assert_memory_equal(a, again, VOXELS * sizeof *a);
		free(a);
		free(b);
		free(again);
	}
	iso_ctx_free(ctx);
	iso_ctx_free(host);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chords),
		cmocka_unit_test(projections),
		cmocka_unit_test(ones_project_to_the_chord),
		cmocka_unit_test(adjoint),
		cmocka_unit_test(a_resolution_of_each_event),
		cmocka_unit_test(whole_matrix),
		cmocka_unit_test(em_step_is_the_plain_pair),
		cmocka_unit_test(tiny_images),
		cmocka_unit_test(bins_sum_to_the_chord),
		cmocka_unit_test(truncated_bins_are_integrals),
		cmocka_unit_test(subset_rules_are_permutations),
		cmocka_unit_test(subset_rules_by_hand),
		cmocka_unit_test(random_subsets_are_random),
		cmocka_unit_test(subsets_add_up),
		cmocka_unit_test(spread_points_are_a_latin_hypercube),
		cmocka_unit_test(spread_by_hand),
		cmocka_unit_test(sensitivity),
		cmocka_unit_test(sensitivity_as_back_projection),
		cmocka_unit_test(attenuation),
		cmocka_unit_test(em_vectors),
		cmocka_unit_test(likelihood_rises),
		cmocka_unit_test(same_bits_for_every_number_of_threads),
		cmocka_unit_test(same_bits_for_every_order_of_events),
		cmocka_unit_test(sensitivity_per_subset),
		cmocka_unit_test(resume_gives_the_unbroken_image),
		cmocka_unit_test(bad_arguments_are_refused),
		cmocka_unit_test(bad_events),
#ifndef ISO_DOUBLE
		cmocka_unit_test(cuda_projections),
		cmocka_unit_test(cuda_ones_project_to_the_chord),
		cmocka_unit_test(cuda_adjoint),
		cmocka_unit_test(cuda_a_resolution_of_each_event),
		cmocka_unit_test(cuda_whole_matrix),
		cmocka_unit_test(cuda_em_step_is_the_plain_pair),
		cmocka_unit_test(cuda_tiny_images),
		cmocka_unit_test(cuda_bins_sum_to_the_chord),
		cmocka_unit_test(cuda_truncated_bins_are_integrals),
		cmocka_unit_test(cuda_subsets_add_up),
		cmocka_unit_test(cuda_spread_by_hand),
		cmocka_unit_test(cuda_sensitivity),
		cmocka_unit_test(cuda_sensitivity_as_back_projection),
		cmocka_unit_test(cuda_attenuation),
		cmocka_unit_test(cuda_em_vectors),
		cmocka_unit_test(cuda_likelihood_rises),
		cmocka_unit_test(cuda_bad_events),
		cmocka_unit_test(cuda_sensitivity_per_subset),
		cmocka_unit_test(cuda_image_is_the_cpu_image),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
