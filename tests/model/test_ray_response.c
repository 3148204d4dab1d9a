/* SPDX-License-Identifier: BSD-3-Clause */
/* Model ray with the response of crystals: lines where the table's nodes put them, laid by hand from the public interface; the
   adjoint; steps; weights of pairs in the sensitivity; both devices; also built in double. */
#include "response_table.h"

#include "core/op.h"
#include "model/ray/ray.h"
#include "scanner/scanner.h"

enum { NX = 14, NY = 12, NZ = 10, VOXELS = NX * NY * NZ, EVENTS = 300, LINES = 9, P = 3 };

static const struct iso_grid grid = { { NX, NY, NZ }, { 8, 9, 5 }, { 0, 0, 0 } };

struct scene {
	iso_ctx *ctx;
	iso_scanner *s;
	iso_response *r;
	struct iso_event v[EVENTS];
	struct iso_events e;
	struct iso_ray p;
	iso_real x[VOXELS];
};

static struct scene *begin(iso_ctx *ctx, int lines)
{
	struct scene *t = calloc(1, sizeof *t);
	int64_t a, b;

	assert_non_null(t);
	t->ctx = ctx;
	t->s = scanner_of_text(RING_OF_BLOCKS);
	t->r = made_response(t->s, 3000);
	for (int j = 0; j < EVENTS; j++) {
		iso_scanner_pair(&a, &b, t->s, iso_scanner_pairs(t->s) / EVENTS * j + j % 11);
		for (int i = 0; i < 3; i++) {
			t->v[j].p1[i] = (float)t->s->pos[3 * a + i];
			t->v[j].p2[i] = (float)t->s->pos[3 * b + i];
		}
		t->v[j].dt_ps = (float)(j % 5 * 40 - 80);
	}
	t->v[17].p1[0] = NAN;
	t->e = (struct iso_events){ .n = EVENTS, .v = t->v };
	t->p = (struct iso_ray){ .size = sizeof t->p,
		                 .grid = grid,
		                 .n_sub = 1,
		                 .rays = lines,
		                 .response = t->r,
		                 .scanner = t->s };
	for (int i = 0; i < VOXELS; i++) t->x[i] = (iso_real)(.5 + i % 13 * .1 + i % 7 * .2);
	return t;
}

static void end(struct scene *t)
{
	iso_response_free(t->r);
	iso_scanner_free(t->s);
	free(t);
}

static void forward(iso_real *y, struct scene *t, const struct iso_ray *p, const struct iso_events *e)
{
	iso_op *op;

	OK(iso_ray_create(&op, t->ctx, p, e));
	iso_real *x = to_device(t->ctx, VOXELS, t->x), *d = to_device(t->ctx, e->n, NULL);

	OK(iso_forward(d, op, ISO_ALL, x));
	iso_real *h = to_host(t->ctx, e->n, d);

	iso_op_unsort(y, op, h);
	free(h);
	device_free(t->ctx, x);
	device_free(t->ctx, d);
	iso_op_free(op);
}

/* ---- lines laid by hand ---- */

static double dot(const double a[3], const double b[3])
{
	return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Place in its block of the crystal at p, and the axes of the block: from the crystal's number alone. */
static void find(int64_t place[2], double t[3], double n[3], const iso_scanner *s, const float p[3])
{
	double off;
	int64_t crystal = iso_scanner_nearest(&off, s, (double[]){ p[0], p[1], p[2] });
	int64_t column = crystal % 48, ring = crystal / 48;
	double angle = 2 * M_PI * ((double)(column / 4) + .5) / 12;

	place[0] = column % 4;
	place[1] = ring % 3;
	n[0] = cos(angle);
	n[1] = sin(angle);
	t[0] = -n[1];
	t[1] = n[0];
	n[2] = t[2] = 0;
}

/* The p points that an end has along u and along v: off[k] of u, off[P + k] of v. */
static void points(double off[2 * P][3], struct scene *t, const float at[3], const double d[3])
{
	double ax[3], n[3], e_u[3], e_v[3], u[P], v[P];
	int64_t place[2];

	find(place, ax, n, t->s, at);
	double phi = atan2(dot(d, ax), dot(d, n)), theta = asin(d[2]);

	for (int a = 0; a < 3; a++) {
		e_u[a] = cos(phi) * ax[a] - sin(phi) * n[a];
		e_v[a] = (a == 2) * cos(theta) - sin(theta) * (sin(phi) * ax[a] + cos(phi) * n[a]);
	}
	NEAR(dot(e_u, d), 0, 1e-9);
	NEAR(dot(e_v, d), 0, 1e-9);
	OK(iso_response_nodes(u, v, t->r, P, place, 0, phi * 180 / M_PI, theta * 180 / M_PI));
	for (int k = 0; k < P; k++)
		for (int a = 0; a < 3; a++) {
			off[k][a] = u[k] * e_u[a];
			off[P + k][a] = v[k] * e_v[a];
		}
}

static struct iso_event line_by_hand(struct scene *t, const struct iso_event *e, int line)
{
	const int a = line / P, b = line % P;
	double d[3], back[3], length = 0, one[2 * P][3], two[2 * P][3];
	struct iso_event r = *e;

	for (int i = 0; i < 3; i++) {
		d[i] = (double)e->p2[i] - e->p1[i];
		length += d[i] * d[i];
	}
	for (int i = 0; i < 3; i++) {
		d[i] /= sqrt(length);
		back[i] = -d[i];
	}
	points(one, t, e->p1, back);
	points(two, t, e->p2, d);
	for (int i = 0; i < 3; i++) {
		r.p1[i] += (float)(one[a][i] + one[P + b][i]);
		r.p2[i] += (float)(two[(a + b) % P][i] + two[P + (a + 2 * b) % P][i]);
	}
	return r;
}

static void check_lines_by_hand(iso_ctx *ctx)
{
	struct scene *t = begin(ctx, LINES);
	struct iso_ray one = t->p;
	double sum[EVENTS] = { 0 }, most = 0, worst = 0;
	iso_real y[EVENTS], part[EVENTS];

	forward(y, t, &t->p, &t->e);
	one.rays = 1;
	one.response = NULL;
	for (int l = 0; l < LINES; l++) {
		struct iso_event v[EVENTS];
		struct iso_events e = { .n = EVENTS, .v = v };

		for (int j = 0; j < EVENTS; j++) v[j] = j == 17 ? t->v[j] : line_by_hand(t, t->v + j, l);
		forward(part, t, &one, &e);
		for (int j = 0; j < EVENTS; j++) sum[j] += (double)part[j] / LINES;
	}
	for (int j = 0; j < EVENTS; j++) {
		most = larger(most, sum[j]);
		worst = larger(worst, fabs(sum[j] - (double)y[j]));
	}
	BELOW(worst / most, 2e-5);
	assert_true(y[17] == 0);
	end(t);
}

static void lines_by_hand(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_lines_by_hand(ctx);
	iso_ctx_free(ctx);
}

/* ---- the operator ---- */

static void check_adjoint(iso_ctx *ctx)
{
	for (int lines = 9; lines <= 49; lines += lines == 9 ? 16 : 24)
		for (int tof = 0; tof < 2; tof++) {
			struct scene *t = begin(ctx, lines);
			iso_op *op;
			double err = 1;

			t->p.tof_fwhm_ps = tof ? 300 : 0;
			t->p.tof_truncate = 3;
			OK(iso_ray_create(&op, ctx, &t->p, &t->e));
			OK(iso_test_adjoint(&err, op, ISO_ALL, 5));
			BELOW(err, TOLERANCE(1e-6, 1e-12));
			iso_op_free(op);
			end(t);
		}
}

static void adjoint(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_adjoint(ctx);
	iso_ctx_free(ctx);
}

/* A table without offsets has the lines of none. */
static void no_offsets(void **state)
{
	iso_ctx *ctx = cpu(1);
	struct scene *t = begin(ctx, 25);
	struct iso_ray one = t->p;
	iso_real y[EVENTS], want[EVENTS];

	(void)state;
	iso_response_free(t->r);
	t->r = made_response(t->s, 0);
	t->p.response = one.response = t->r;
	one.rays = 1; /* the table then weighs pairs alone */
	forward(y, t, &t->p, &t->e);
	forward(want, t, &one, &t->e);
	BELOW(relative_difference(EVENTS, y, want), 1e-6);
	end(t);
	iso_ctx_free(ctx);
}

/* Events of an object that stands still, but is said to move, have the same lines. */
static void moved(void **state)
{
	static const double rest[] = { 0, 1, 0, 0, 0, 0, 0, 0 };
	const struct iso_poses_options how = { .size = sizeof how };
	iso_ctx *ctx = cpu(2);
	struct scene *t = begin(ctx, 25);
	iso_poses *table;
	iso_motion *motion;
	struct iso_motion_parts parts = { .size = sizeof parts };
	uint32_t ms[EVENTS] = { 0 };
	iso_op *op;
	iso_real y[EVENTS], want[EVENTS], z[EVENTS];

	(void)state;
	OK(iso_poses_create(&table, rest, 1, 8, &how, "poses"));
	parts.poses = table;
	OK(iso_motion_create(&motion, &parts));
	t->e.time_ms = ms;
	OK(iso_ray_create_moved(&op, ctx, &t->p, &t->e, motion));
	OK(iso_forward(z, op, ISO_ALL, t->x));
	iso_op_unsort(y, op, z);
	iso_op_free(op);
	forward(want, t, &t->p, &t->e);
	BELOW(relative_difference(EVENTS, y, want), 1e-5);
	iso_motion_free(motion);
	iso_poses_free(table);
	end(t);
	iso_ctx_free(ctx);
}

/* ---- sensitivity ---- */

/* All pairs with all their lines are the weighted back projection of a list of them. */
static void check_sens(iso_ctx *ctx)
{
	struct scene *t = begin(ctx, LINES);
	struct iso_ray_sens p = {
		.size = sizeof p, .grid = grid, .rays = LINES, .scanner = t->s, .share = 1, .response = t->r
	};
	int64_t n = iso_scanner_pairs(t->s), a, b;
	struct iso_event *v = calloc((size_t)n, sizeof *v);
	struct response_view view;
	struct iso_events e = { .n = n, .v = v };
	iso_real *w = calloc((size_t)n, sizeof *w), *sorted = calloc((size_t)n, sizeof *w), s[VOXELS],
		 some[VOXELS];
	double error;
	iso_op *op;

	OK(response_view(&view, t->r, t->s, P));
	for (int64_t i = 0; i < n; i++) {
		double ends[2][3];

		iso_scanner_pair(&a, &b, t->s, i);
		for (int k = 0; k < 3; k++) {
			v[i].p1[k] = (float)(ends[0][k] = t->s->pos[3 * a + k]);
			v[i].p2[k] = (float)(ends[1][k] = t->s->pos[3 * b + k]);
		}
		w[i] = (iso_real)response_pair_weight(&view, ends[0], ends[1]);
	}
	OK(iso_ray_sens(s, &error, ctx, &p));
	assert_true(error == 0);
	OK(iso_ray_create(&op, ctx, &t->p, &e));
	iso_op_sort(sorted, op, w);
	iso_real *y = to_device(ctx, n, sorted), *x = to_device(ctx, VOXELS, NULL);

	OK(iso_adjoint(x, op, ISO_ALL, y));
	iso_real *want = to_host(ctx, VOXELS, x);

	BELOW(relative_difference(VOXELS, s, want), 2e-5);
	/* half of the pairs, each with one of its lines */
	p.share = .5;
	OK(iso_ray_sens(some, &error, ctx, &p));
	BELOW(relative_difference(VOXELS, some, want), .1);
	BELOW(error, .2);
	BELOW(.001, error);
	p.share = 0;
	REFUSED(iso_ray_sens(some, &error, ctx, &p), ISO_EARG, "share of pairs is 0");
	free(want);
	device_free(ctx, x);
	device_free(ctx, y);
	iso_op_free(op);
	free(v);
	free(w);
	free(sorted);
	end(t);
}

static void sensitivity(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_sens(ctx);
	iso_ctx_free(ctx);
}

/* w = D_a D_b (2 rho)^2 / (L^2 D_0^2) by hand, for photons along the normals. */
static void pair_weight(void **state)
{
	iso_ctx *ctx = cpu(1);
	struct scene *t = begin(ctx, LINES);
	struct response_view view;
	/* crystal 1 of block 0, and one of block 6 across: photons leave both normals by 3.75 degrees */
	int64_t a = 1, b = 24 + 3;
	const double *p1 = t->s->pos + 3 * a, *p2 = t->s->pos + 3 * b;
	double d[3], length, angle = 15 * M_PI / 180;

	(void)state;
	OK(response_view(&view, t->r, t->s, P));
	for (int i = 0; i < 3; i++) d[i] = p2[i] - p1[i];
	length = sqrt(dot(d, d));
	/* end 1 flies along -d; n = (cos 15, sin 15), t = (-sin 15, cos 15): phi of both ends is small */
	double phi1 =
		atan2((-d[1] * cos(angle) + d[0] * sin(angle)), (-d[0] * cos(angle) - d[1] * sin(angle)));
	const float *area = t->r->d;
	int64_t crystals = response_crystals_of(&t->r->shape);
	double at = fabs(phi1) * 180 / M_PI / 2.5, up = at - floor(at);
	int64_t k = (int64_t)at * RESPONSE_THETAS * crystals;
	/* ring 0 of 6, at theta 0 as much as its mirror image, ring 5 */
	int64_t c1 = 1, c2 = 3, far = 5 * 4;

	NEAR(phi1 * 180 / M_PI, 3.75, 1e-9);
	const float *next = area + k + RESPONSE_THETAS * crystals;
	double w1 = ((1 - up) * (double)(area[k + c1] + area[k + c1 + far]) +
	             up * (double)(next[c1] + next[c1 + far])) /
	            2;
	double w2 = ((1 - up) * (double)(area[k + c2] + area[k + c2 + far]) +
	             up * (double)(next[c2] + next[c2 + far])) /
	            2;
	double d0 = t->r->info.area_mm2, two_rho = 2 * 107;

	NEAR(response_pair_weight(&view, p1, p2), w1 * w2 / (d0 * d0) * two_rho * two_rho / (length * length),
	     1e-5);
	end(t);
	iso_ctx_free(ctx);
}

static void refused(void **state)
{
	iso_ctx *ctx = cpu(1);
	struct scene *t = begin(ctx, 16);
	iso_op *op;

	(void)state;
	REFUSED(iso_ray_create(&op, ctx, &t->p, &t->e), ISO_EARG, "9, 25 or 49");
	t->p.rays = 12;
	REFUSED(iso_ray_create(&op, ctx, &t->p, &t->e), ISO_EARG, "9, 25 or 49");
	t->p.rays = 25;
	t->p.scanner = NULL;
	REFUSED(iso_ray_create(&op, ctx, &t->p, &t->e), ISO_EARG, "needs the scanner");
	end(t);
	iso_ctx_free(ctx);
}

#ifndef ISO_DOUBLE
CUDA_TEST(cuda_lines_by_hand, check_lines_by_hand)
CUDA_TEST(cuda_adjoint, check_adjoint)
CUDA_TEST(cuda_sensitivity, check_sens)

/* An EM step of 25 lines on both devices. */
static void cuda_step(void **state)
{
	iso_ctx *cuda = cuda_or_skip(), *ctx[2] = { cpu(0), cuda };
	iso_real *got[2];

	(void)state;
	for (int k = 0; k < 2; k++) {
		struct scene *t = begin(ctx[k], 25);
		struct iso_em_data d = { 0 };
		struct iso_em_stat s;
		iso_op *op;

		OK(iso_ray_create(&op, ctx[k], &t->p, &t->e));
		iso_real *x = to_device(ctx[k], VOXELS, t->x), *acc = to_device(ctx[k], VOXELS, NULL);

		OK(iso_op_em_step(acc, &s, op, ISO_ALL, x, &d));
		got[k] = to_host(ctx[k], VOXELS, acc);
		device_free(ctx[k], x);
		device_free(ctx[k], acc);
		iso_op_free(op);
		end(t);
	}
	BELOW(relative_difference(VOXELS, got[1], got[0]), 1e-5);
	for (int k = 0; k < 2; k++) {
		free(got[k]);
		iso_ctx_free(ctx[k]);
	}
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_by_hand),
		cmocka_unit_test(adjoint),
		cmocka_unit_test(no_offsets),
		cmocka_unit_test(moved),
		cmocka_unit_test(sensitivity),
		cmocka_unit_test(pair_weight),
		cmocka_unit_test(refused),
#ifndef ISO_DOUBLE
		cmocka_unit_test(cuda_lines_by_hand),
		cmocka_unit_test(cuda_adjoint),
		cmocka_unit_test(cuda_sensitivity),
		cmocka_unit_test(cuda_step),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
