/* SPDX-License-Identifier: BSD-3-Clause */
/* Several lines an event of an object that moves: against lines that are laid and moved here, one by one; a pose that
   changes nothing; the adjoint; the step of EM; threads; and what is refused. */
#include "tests/test.h"

#include "isotome/ray_moved.h"
#include "core/op.h"
#include "model/ray/ray.h"

enum { EVENTS = 600, VOXELS = 16 * 14 * 10, LINES = 4, SUBSETS = 3 };

#define RADIUS 110.

static const struct iso_grid grid = { { 16, 14, 10 }, { 7, 8, 6 }, { 5, -3, 2 } };

/* Pairs of a ring, which turns and goes up and down about the object, and what is seen where nothing moves. */
struct scene {
	iso_ctx *ctx;
	struct iso_event v[EVENTS], still[EVENTS];
	uint32_t time_ms[EVENTS];
	struct iso_events e;
	iso_poses *table;
	iso_motion *motion;
	struct iso_ray p;
};

static double uniform(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (double)(*seed >> 11) / 9007199254740992.;
}

static void make_pairs(struct scene *t)
{
	uint64_t seed = 7;

	for (int j = 0; j < EVENTS; j++) {
		double a = 2 * M_PI * uniform(&seed), b = a + M_PI + 1.2 * (uniform(&seed) - .5);

		t->still[j] = (struct iso_event){
			.p1 = { (float)(RADIUS * cos(a)), (float)(RADIUS * sin(a)),
			        (float)(40 * uniform(&seed) - 20) },
			.p2 = { (float)(RADIUS * cos(b)), (float)(RADIUS * sin(b)),
			        (float)(40 * uniform(&seed) - 20) },
			.dt_ps = (float)(200 * (uniform(&seed) - .5)),
		};
		t->time_ms[j] = (uint32_t)(100 * j);
	}
}

/* Rows of time, quaternion and shift; 8 numbers each. */
static struct scene *begin(iso_ctx *ctx, const double *rows, int n)
{
	struct scene *t = calloc(1, sizeof *t);
	struct iso_motion_parts parts = { .size = sizeof parts };
	struct iso_poses_options how = { .size = sizeof how };
	int64_t unknown;

	assert_non_null(t);
	t->ctx = ctx;
	make_pairs(t);
	memcpy(t->v, t->still, sizeof t->v);
	OK(iso_poses_create(&t->table, rows, n, 8, &how, "poses"));
	parts.poses = t->table;
	OK(iso_motion_create(&t->motion, &parts));
	OK(iso_motion_events(&unknown, ctx, t->motion, t->v, t->time_ms, EVENTS));
	t->e = (struct iso_events){ .n = EVENTS, .v = t->v, .time_ms = t->time_ms };
	t->p = (struct iso_ray){ .size = sizeof t->p,
		                 .grid = grid,
		                 .n_sub = SUBSETS,
		                 .rays = LINES,
		                 .spread_mm = { 9, 6 },
		                 .tof_fwhm_ps = 400 };
	return t;
}

static void end(struct scene *t)
{
	iso_motion_free(t->motion);
	iso_poses_free(t->table);
	iso_ctx_free(t->ctx);
	free(t);
}

static const double moving[] = {
	0,  1,   0,   0,   0,   0,   0,   0,  /* at 0 s */
	20, 1,   .1,  .05, .2,  8,   -5,  3,  /* linear between */
	35, 1,   -.1, 0,   -.3, -6,  4,   -2, /* at last the pose is not known */
	50, NAN, NAN, NAN, NAN, NAN, NAN, NAN,
};

/* ---- lines laid by hand ---- */

static void lay(float to[3], const float from[3], const float off[2], const struct iso_pose *back)
{
	double rho = hypot(from[0], from[1]), p[3];

	p[0] = from[0] - off[0] * from[1] / rho;
	p[1] = from[1] + off[0] * from[0] / rho;
	p[2] = from[2] + off[1];
	iso_pose_apply(p, back, p);
	for (int a = 0; a < 3; a++) to[a] = (float)p[a];
}

static void sum_by_hand(double *y, struct scene *t, const iso_real *x)
{
	struct ray_spread spread;
	struct iso_ray one = t->p;
	iso_real part[EVENTS], sorted[EVENTS];

	one.rays = 1;
	OK(iso_ray_spread(&spread, LINES, t->p.spread_mm));
	for (int l = 0; l < LINES; l++) {
		struct iso_event v[EVENTS];
		struct iso_events e = { .n = EVENTS, .v = v };
		iso_op *op;

		for (int j = 0; j < EVENTS; j++) {
			struct iso_pose z;

			v[j] = t->v[j];
			if (!iso_motion_at(&z, t->motion, 1e-3 * t->time_ms[j])) continue;
			z = iso_pose_inverse(z);
			lay(v[j].p1, t->still[j].p1, spread.off[l], &z);
			lay(v[j].p2, t->still[j].p2, spread.off[l] + 2, &z);
		}
		OK(iso_ray_create(&op, t->ctx, &one, &e));
		OK(iso_forward(part, op, ISO_ALL, x));
		iso_op_unsort(sorted, op, part);
		for (int j = 0; j < EVENTS; j++) y[j] += (double)sorted[j] / LINES;
		iso_op_free(op);
	}
}

static void make_image(iso_real *x)
{
	uint64_t seed = 3;

	for (int i = 0; i < VOXELS; i++) x[i] = (iso_real)(.5 + uniform(&seed));
}

static void by_hand(void **state)
{
	(void)state;
	for (int projector = ISO_SLICE; projector <= ISO_JOSEPH; projector++) {
		struct scene *t = begin(cpu(2), moving, 4);
		iso_real x[VOXELS], y[EVENTS], got[EVENTS];
		double want[EVENTS] = { 0 }, most = 0, far = 0;
		iso_op *op;

		t->p.projector = projector;
		make_image(x);
		sum_by_hand(want, t, x);
		OK(iso_ray_create_moved(&op, t->ctx, &t->p, &t->e, t->motion));
		OK(iso_forward(y, op, ISO_ALL, x));
		iso_op_unsort(got, op, y);
		for (int j = 0; j < EVENTS; j++) {
			most = larger(most, want[j]);
			far = larger(far, fabs(want[j] - (double)got[j]));
			if (t->time_ms[j] >= 50000) assert_true(got[j] == 0);
		}
		BELOW(far / most, 1e-5);
		iso_op_free(op);
		end(t);
	}
}

/* Moved by one shift, of the events and of the grid: the sums of an object at rest. */
static void as_still(void **state)
{
	static const double shift[] = { 0, 1, 0, 0, 0, 14, -8, 12 };
	struct scene *t = begin(cpu(2), shift, 1);
	struct iso_events still = { .n = EVENTS, .v = t->still };
	struct iso_ray p = t->p;
	iso_real x[VOXELS], y[EVENTS], want[EVENTS];
	iso_op *op;

	(void)state;
	for (int a = 0; a < 3; a++) p.grid.centre[a] += shift[5 + a];
	make_image(x);
	OK(iso_ray_create(&op, t->ctx, &p, &still));
	OK(iso_forward(want, op, ISO_ALL, x));
	iso_op_free(op);
	OK(iso_ray_create_moved(&op, t->ctx, &t->p, &t->e, t->motion));
	OK(iso_forward(y, op, ISO_ALL, x));
	iso_op_free(op);
	BELOW(relative_difference(EVENTS, y, want), 1e-5);
	end(t);
}

/* ---- as an operator ---- */

static void operator_on(iso_ctx *ctx)
{
	struct scene *t = begin(ctx, moving, 4);
	iso_op *op;
	double err;

	OK(iso_ray_create_moved(&op, t->ctx, &t->p, &t->e, t->motion));
	assert_int_equal(iso_op_n_out(op), EVENTS);
	assert_int_equal(iso_op_n_sub(op), SUBSETS);
	for (int sub = ISO_ALL; sub < SUBSETS; sub++) {
		OK(iso_test_adjoint(&err, op, sub, 5));
		BELOW(err, 1e-5);
	}
	iso_op_free(op);
	end(t);
}

static void adjoint(void **state)
{
	(void)state;
	operator_on(cpu(2));
}

static void cuda_adjoint(void **state)
{
	(void)state;
	operator_on(cuda_or_skip());
}

/* acc and its statistics, on the host. */
static struct iso_em_stat em_of(iso_real *acc, struct scene *t)
{
	struct iso_em_stat stat;
	iso_real host[VOXELS], y[EVENTS];
	iso_op *op;

	make_image(host);
	for (int j = 0; j < EVENTS; j++) y[j] = (iso_real)(1 + j % 3);
	OK(iso_ray_create_moved(&op, t->ctx, &t->p, &t->e, t->motion));
	iso_real *x = to_device(t->ctx, VOXELS, host), *to = to_device(t->ctx, VOXELS, host);
	const struct iso_em_data d = { .y = to_device(t->ctx, EVENTS, y) };

	OK(iso_op_em_step(to, &stat, op, 1, x, &d));
	iso_real *back = to_host(t->ctx, VOXELS, to);

	memcpy(acc, back, sizeof host);
	free(back);
	device_free(t->ctx, x);
	device_free(t->ctx, to);
	device_free(t->ctx, (void *)d.y);
	iso_op_free(op);
	return stat;
}

/* Against the step spelled out, and with the same bits for any number of threads. */
static void em_step(void **state)
{
	iso_real acc[3][VOXELS], x[VOXELS], y[EVENTS];
	struct iso_em_stat stat[3];
	struct iso_em_data d = { .y = y };
	iso_op *op;

	(void)state;
	for (int k = 0; k < 2; k++) {
		struct scene *t = begin(cpu(1 + 2 * k), moving, 4);

		stat[k] = em_of(acc[k], t);
		end(t);
	}
	assert_memory_equal(acc[0], acc[1], sizeof acc[0]);
	struct scene *t = begin(cpu(2), moving, 4);

	make_image(x);
	for (int j = 0; j < EVENTS; j++) y[j] = (iso_real)(1 + j % 3);
	OK(iso_ray_create_moved(&op, t->ctx, &t->p, &t->e, t->motion));
	OK(iso_em_step_plain(op, 1, acc[2], x, &d, &stat[2]));
	BELOW(relative_difference(VOXELS, acc[0], acc[2]), 1e-5);
	assert_int_equal(stat[0].used, stat[2].used);
	assert_int_equal(stat[0].skipped, stat[2].skipped);
	BELOW(fabs(stat[0].loglik / stat[2].loglik - 1), 1e-5);
	iso_op_free(op);
	end(t);
}

static void cuda_em_step(void **state)
{
	iso_real there[VOXELS], here[VOXELS];
	iso_ctx *ctx = cuda_or_skip();

	(void)state;
	struct scene *t = begin(ctx, moving, 4);

	em_of(there, t);
	end(t);
	t = begin(cpu(2), moving, 4);
	em_of(here, t);
	BELOW(relative_difference(VOXELS, there, here), 1e-5);
	end(t);
}

static void refused(void **state)
{
	struct scene *t = begin(cpu(1), moving, 4);
	iso_op *op;

	(void)state;
	t->e.time_ms = NULL;
	REFUSED(iso_ray_create_moved(&op, t->ctx, &t->p, &t->e, t->motion), ISO_EARG, "no times");
	t->e.time_ms = t->time_ms;
	t->p.rays = 65;
	REFUSED(iso_ray_create_moved(&op, t->ctx, &t->p, &t->e, t->motion), ISO_EARG, "65 lines");
	end(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_hand),      cmocka_unit_test(as_still), cmocka_unit_test(adjoint),
		cmocka_unit_test(cuda_adjoint), cmocka_unit_test(em_step),  cmocka_unit_test(cuda_em_step),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
