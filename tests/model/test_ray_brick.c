/* SPDX-License-Identifier: BSD-3-Clause */
/* Many events through the fast EM step and the projections of CUDA, against the CPU: enough for several bricks, lists
   of packets, and sums that overflow the 32 bits of a brick; and in parts, against all at once. */
#include "test.h"

#include "core/ctx.h"
#include "model/ray/ray_near.h"

#define MANY 400000

struct setting {
	double radius, length; /* of the ring, mm */
	const struct iso_grid *grid;
	double fwhm_ps, truncate;
	int n_sub;
	enum iso_projector projector;
	double bin_ps;
	int rays; /* lines of an event */
};

/* Off centre: the lines of the ring would lie in faces between voxels, where rounding decides. */
static const struct iso_grid cubes = { { 64, 64, 64 }, { 6, 6, 6 }, { 1.3, .7, .4 } },
			     flat = { { 60, 71, 33 }, { 7, 6, 6 }, { 9, -4, 2 } },
			     row = { { 64, 1, 40 }, { 6, 9, 5 }, { 1.3, .7, .4 } },
			     along = { { 33, 21, 290 }, { 16, 16, 8 }, { 1.3, .7, .4 } }, /* all main axes */
	coarse = { { 50, 41, 145 }, { 10, 10, 16 }, { 1.3, .7, .4 } },
			     middle = { { 80, 76, 48 }, { 5, 5, 5 }, { 1.3, .7, .4 } },
			     fine = { { 96, 90, 56 }, { 4, 4, 4 }, { 1.3, .7, .4 } };

static const struct setting settings[] = {
	{ 330, 200, &cubes, 0, 0, 1, ISO_SLICE, 0, 1 },
	{ 330, 200, &flat, 0, 0, 3, ISO_SLICE, 0, 1 },
	{ 400, 2000, &along, 0, 0, 1, ISO_SLICE, 0, 1 },
	{ 330, 200, &fine, 390, 3, 1, ISO_SLICE, 0, 1 },
	{ 330, 200, &middle, 150, 3, 2, ISO_SLICE, 0, 1 },
	{ 400, 2000, &coarse, 900, 0, 1, ISO_SLICE, 0, 1 },
	{ 330, 200, &row, 0, 0, 1, ISO_SLICE, 0, 1 },
	/* Joseph: lengths, TOF by the middle of stretches and by erf */
	{ 330, 200, &flat, 0, 0, 3, ISO_JOSEPH, 0, 1 },
	{ 400, 2000, &along, 0, 0, 1, ISO_JOSEPH, 0, 1 },
	{ 330, 200, &fine, 390, 3, 1, ISO_JOSEPH, 0, 1 },
	{ 330, 200, &middle, 150, 3, 2, ISO_JOSEPH, 0, 1 },
	{ 330, 200, &row, 0, 0, 1, ISO_JOSEPH, 0, 1 },
	/* bins: narrow, wide, without cut, and of a Gaussian that is short against a voxel */
	{ 330, 200, &fine, 390, 3, 1, ISO_SLICE, 50, 1 },
	{ 400, 2000, &coarse, 390, 3, 2, ISO_SLICE, 2000, 1 },
	{ 330, 200, &middle, 300, 0, 1, ISO_SLICE, 83, 1 },
	{ 330, 200, &middle, 60, 3, 1, ISO_SLICE, 20, 1 },
	/* several lines, and all of it together */
	{ 330, 200, &cubes, 0, 0, 1, ISO_SLICE, 0, 4 },
	{ 330, 200, &fine, 390, 3, 3, ISO_SLICE, 0, 5 },
	{ 400, 2000, &coarse, 390, 3, 2, ISO_JOSEPH, 100, 3 },
};

static struct iso_events ring_events(const struct setting *s, int64_t n)
{
	struct iso_ring ring = { s->radius, s->length, s->fwhm_ps > 0 ? s->fwhm_ps : 390, 3 };
	struct iso_events e = { .n = n, .v = calloc((size_t)n, sizeof *e.v) };
	iso_ctx *ctx = cpu(2);

	OK(iso_ring_events(e.v, ctx, &ring, 0, n));
	iso_ctx_free(ctx);
	return e;
}

static struct iso_ray model_of(const struct setting *s, int n_sub)
{
	return (struct iso_ray){ .size = sizeof(struct iso_ray),
		                 .grid = *s->grid,
		                 .projector = s->projector,
		                 .n_sub = n_sub,
		                 .tof_fwhm_ps = s->fwhm_ps,
		                 .tof_truncate = s->truncate,
		                 .tof_bin_ps = s->bin_ps,
		                 .rays = s->rays,
		                 .spread_mm = { 4, 4 } };
}

/* acc of the first subset, on the host. */
static iso_real *step(iso_ctx *ctx, const struct setting *s, const struct iso_events *e,
                      const iso_real *image, const iso_real *add, struct iso_em_stat *stat)
{
	struct iso_ray p = model_of(s, s->n_sub);
	int64_t voxels = iso_grid_voxels(s->grid);
	iso_real *x = to_device(ctx, voxels, image), *acc = to_device(ctx, voxels, NULL);
	iso_real *a = to_device(ctx, e->n, add);
	struct iso_em_data d = { .add = a };
	iso_op *op = NULL;

	OK(iso_ray_create(&op, ctx, &p, e));
	OK(iso_op_em_step(acc, stat, op, 0, x, &d));
	iso_real *host = to_host(ctx, voxels, acc);

	iso_op_free(op);
	device_free(ctx, x);
	device_free(ctx, acc);
	device_free(ctx, a);
	return host;
}

static iso_real *some_image(const struct iso_grid *g)
{
	int64_t n = iso_grid_voxels(g);
	iso_real *x = calloc((size_t)n, sizeof *x);

	for (int64_t i = 0; i < n; i++) x[i] = (iso_real)(i % 7 == 0 ? 0 : 1 + i % 13);
	return x;
}

static void check_against_cpu(iso_ctx *cuda)
{
	iso_ctx *host = cpu(2);

	for (int i = 0; i < N_OF(settings); i++) {
		const struct setting *s = settings + i;
		struct iso_events e = ring_events(s, MANY);
		iso_real *x = some_image(s->grid), *add = calloc(MANY, sizeof *add);
		struct iso_em_stat a, b;
		double diff = 0, norm = 0;

		for (int64_t j = 0; j < MANY; j += 3) add[j] = (iso_real).5;
		iso_real *got = step(cuda, s, &e, x, add, &a), *want = step(host, s, &e, x, add, &b);

		for (int64_t v = 0; v < iso_grid_voxels(s->grid); v++) {
			diff += ((double)got[v] - want[v]) * ((double)got[v] - want[v]);
			norm += (double)want[v] * want[v];
		}
		print_message("setting %d: relative difference %.2g\n", i, sqrt(diff / norm));
		BELOW(sqrt(diff / norm), 1e-5);
		NEAR(a.loglik, b.loglik, 1e-6 * fabs(b.loglik));
		NEAR((double)a.used, (double)b.used, 1); /* a ray that touches a corner */
		NEAR(a.lost, (double)a.skipped, 0);
		iso_events_free(&e);
		free(x);
		free(add);
		free(got);
		free(want);
	}
	iso_ctx_free(host);
}

/* ---- the two projections ---- */

/* A or its adjoint, all rows, from host to host. */
static iso_real *project(iso_op *op, bool back, const iso_real *from)
{
	iso_ctx *ctx = iso_op_ctx(op);
	int64_t n_in = iso_op_n_in(op), n_out = iso_op_n_out(op);
	iso_real *of = to_device(ctx, back ? n_out : n_in, from),
		 *to = to_device(ctx, back ? n_in : n_out, NULL);

	OK((back ? iso_adjoint : iso_forward)(to, op, ISO_ALL, of));
	iso_real *host = to_host(ctx, back ? n_in : n_out, to);

	device_free(ctx, of);
	device_free(ctx, to);
	return host;
}

/* |a - b| / |b| where `unless` is 0; NULL: everywhere. */
static double off(int64_t n, const iso_real *a, const iso_real *b, const iso_real *unless)
{
	double diff = 0, norm = 0;

	for (int64_t i = 0; i < n; i++) {
		if (unless && unless[i] != 0) continue;
		diff += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
		norm += (double)b[i] * b[i];
	}
	return sqrt(diff / norm);
}

/* Of both devices; y: n_out values. */
static double off_back(iso_op *cuda, iso_op *host, const iso_real *y, const iso_real *unless)
{
	iso_real *got = project(cuda, true, y), *want = project(host, true, y);
	double d = off(iso_op_n_in(cuda), got, want, unless);

	free(got);
	free(want);
	return d;
}

/* 1 for rows that miss the lower half of the image. */
static iso_real *upper_rows(iso_op *host)
{
	iso_real *half = calloc((size_t)iso_op_n_in(host), sizeof *half);

	for (int64_t i = 0; i < iso_op_n_in(host) / 2; i++) half[i] = 1;
	iso_real *y = project(host, false, half);

	for (int j = 0; j < MANY; j++) y[j] = y[j] == 0;
	free(half);
	return y;
}

/* Rows of `low`, and rows of `high` that miss the lower half, as many as are no few: how far off the lowest quarter
   is, which no rounding of where they pass brings near to them. */
static double off_beside(iso_op *cuda, iso_op *host, iso_real low, iso_real high)
{
	iso_real *large = upper_rows(host), *y = calloc(MANY, sizeof *y);
	int many = 0;

	for (int j = 0; j < MANY; j++) {
		y[j] = large[j] != 0 ? high : low;
		many += large[j] != 0;
	}
	assert_true(many > MANY / 100);
	int64_t n = iso_op_n_in(host);
	iso_real *near = calloc((size_t)n, sizeof *near);

	for (int64_t i = n / 4; i < n; i++) near[i] = 1;
	double d = off_back(cuda, host, y, near);

	free(y);
	free(large);
	free(near);
	return d;
}

/* Values of one sign, of both, and a few that are 1e8 times larger: what these leave to the other voxels. */
static void check_pair(iso_op *cuda, iso_op *host, int number, const iso_real *x)
{
	iso_real *got = project(cuda, false, x), *want = project(host, false, x);
	iso_real *y = calloc(MANY, sizeof *y), *few = calloc(MANY, sizeof *few);
	double error = 1, forward = off(MANY, got, want, NULL), positive, both, beside;

	for (int j = 0; j < MANY; j++) y[j] = (iso_real)(1 + j % 3);
	positive = off_back(cuda, host, y, NULL);
	for (int j = 0; j < 10; j++) y[j * 1001] = few[j * 1001] = 1e8f;
	iso_real *hit = project(host, true, few);

	beside = off_back(cuda, host, y, hit);
	for (int j = 0; j < MANY; j++) y[j] = (iso_real)(j % 5 - 1.7);
	both = off_back(cuda, host, y, NULL);
	double large = off_beside(cuda, host, 1, 1e6f), small = off_beside(cuda, host, -1e-7f, 1);

	print_message("setting %d: 1 beside many of 1e6 %.2g, -1e-7 beside many of 1 %.2g\n", number, large,
	              small);
	BELOW(large, 1e-5);
	BELOW(small, 1e-5);
	OK(iso_test_adjoint(&error, cuda, ISO_ALL, 3));
	print_message("setting %d: forward %.2g, back %.2g, of both signs %.2g, beside large values %.2g, "
	              "adjoint %.2g\n",
	              number, forward, positive, both, beside, error);
	BELOW(forward, 1e-5);
	BELOW(positive, 1e-5);
	BELOW(both, 1e-5);
	BELOW(beside, 1e-5);
	BELOW(error, 1e-6);
	free(got);
	free(want);
	free(y);
	free(few);
	free(hit);
}

static void check_projections(iso_ctx *cuda)
{
	iso_ctx *host = cpu(2);

	for (int i = 0; i < N_OF(settings); i++) {
		const struct setting *s = settings + i;
		struct iso_events e = ring_events(s, MANY);
		struct iso_ray p = model_of(s, s->n_sub);
		iso_real *x = some_image(s->grid);
		iso_op *a = NULL, *b = NULL;

		OK(iso_ray_create(&a, cuda, &p, &e));
		OK(iso_ray_create(&b, host, &p, &e));
		check_pair(a, b, i, x);
		iso_op_free(a);
		iso_op_free(b);
		iso_events_free(&e);
		free(x);
	}
	iso_ctx_free(host);
}

/* Sums are of integers: the order of events is no matter. */
static void check_order(iso_ctx *cuda)
{
	for (int i = 0; i < N_OF(settings); i++) {
		struct setting s = settings[i];
		struct iso_events e = ring_events(&s, MANY / 4);
		iso_real *x = some_image(s.grid), *none = calloc(MANY / 4, sizeof *none);
		struct iso_em_stat stat;

		s.n_sub = 1;
		iso_real *a = step(cuda, &s, &e, x, none, &stat), *b = step(cuda, &s, &e, x, none, &stat);

		for (int64_t j = 0; j < e.n / 2; j++) {
			struct iso_event swap = e.v[j];

			e.v[j] = e.v[e.n - 1 - j];
			e.v[e.n - 1 - j] = swap;
		}
		iso_real *c = step(cuda, &s, &e, x, none, &stat);
		size_t bytes = (size_t)iso_grid_voxels(s.grid) * sizeof *a;

		assert_memory_equal(a, b, bytes);
		assert_memory_equal(a, c, bytes);
		iso_events_free(&e);
		free(x);
		free(none);
		free(a);
		free(b);
		free(c);
	}
}

/* ---- in parts ---- */

/* Along the axis, so that parts of the list cross other parts of the grid. */
static int by_z(const void *a, const void *b)
{
	const struct iso_event *p = a, *q = b;
	float z = p->p1[2] + p->p2[2], w = q->p1[2] + q->p2[2];

	return (z > w) - (z < w);
}

/* Of event j. */
static iso_real some_count(int64_t j)
{
	return (iso_real)(j % 4 * .3);
}

static int read_events(void *arg, struct iso_events *b, int64_t first, int64_t n)
{
	const struct iso_events *e = arg;

	memcpy(b->v, e->v + first, (size_t)n * sizeof *b->v);
	for (int64_t j = 0; b->count && j < n; j++) b->count[j] = some_count(first + j);
	return ISO_OK;
}

/* One step over all events, by an operator that it frees. */
static iso_real *step_of(iso_op *op, const iso_real *image, const iso_real *count, struct iso_em_stat *stat)
{
	iso_ctx *ctx = iso_op_ctx(op);
	int64_t voxels = iso_op_n_in(op);
	iso_real *x = to_device(ctx, voxels, image), *acc = to_device(ctx, voxels, NULL);
	iso_real *y = count ? to_device(ctx, iso_op_n_out(op), count) : NULL;
	struct iso_em_data d = { .y = y };

	OK(iso_op_em_step(acc, stat, op, ISO_ALL, x, &d));
	iso_real *host = to_host(ctx, voxels, acc);

	iso_op_free(op);
	device_free(ctx, x);
	device_free(ctx, acc);
	device_free(ctx, y);
	return host;
}

static void check_setting(iso_ctx *ctx, const struct setting *s, bool counts)
{
	struct iso_events e = ring_events(s, MANY / 8);
	struct iso_ray p = model_of(s, 1);
	struct iso_ray_source source = {
		.size = sizeof source, .n = e.n, .has_count = counts, .read = read_events, .arg = &e
	};
	iso_real *x = some_image(s->grid), *count = calloc((size_t)e.n, sizeof *count);
	struct iso_em_stat a = { 0 }, b = { 0 };
	iso_op *op = NULL;

	qsort(e.v, (size_t)e.n, sizeof *e.v, by_z);
	for (int64_t j = 0; j < e.n; j++) count[j] = some_count(j);
	OK(iso_ray_create(&op, ctx, &p, &e));
	iso_real *want = step_of(op, x, counts ? count : NULL, &a);

	OK(iso_ray_stream_create(&op, ctx, &p, &source, 7001));
	iso_real *got = step_of(op, x, NULL, &b);

	assert_memory_equal(got, want, (size_t)iso_grid_voxels(s->grid) * sizeof *got);
	assert_memory_equal(&a, &b, sizeof a);
	assert_true(a.used > 0 && a.loglik != 0);
	iso_events_free(&e);
	free(x);
	free(count);
	free(got);
	free(want);
}

static void check_parts(iso_ctx *ctx)
{
	for (int i = 0; i < N_OF(settings); i++) {
		print_message("setting %d\n", i);
		check_setting(ctx, settings + i, false);
		check_setting(ctx, settings + i, true);
	}
}

/* The CPU orders a few million events at a time: rows, and every bit of a step, are those of shorter lists. */
static void more_events_than_a_piece(void **state)
{
	static const struct iso_grid tiny = { { 12, 12, 8 }, { 30, 30, 30 }, { 1.3, .7, .4 } };
	const struct setting s = { .radius = 330, .length = 200, .grid = &tiny, .n_sub = 1, .rays = 1 };
	const int64_t some = 1000, n = ISO_RAY_NEAR_PIECE + some;
	struct iso_events e = ring_events(&s, n), last = { .n = some, .v = e.v + n - some };
	struct iso_ray p = model_of(&s, 1);
	struct iso_ray_source source = { .size = sizeof source, .n = n, .read = read_events, .arg = &e };
	iso_real *x = some_image(&tiny), *y = calloc((size_t)n, sizeof *y),
		 *of_last = calloc((size_t)some, sizeof *y);
	struct iso_em_stat a = { 0 }, b = { 0 };
	iso_ctx *ctx = cpu(2);
	iso_op *op = NULL;

	(void)state;
	OK(iso_ray_create(&op, ctx, &p, &last));
	OK(iso_forward(of_last, op, ISO_ALL, x));
	iso_op_free(op);
	OK(iso_ray_create(&op, ctx, &p, &e));
	OK(iso_forward(y, op, ISO_ALL, x));
	assert_memory_equal(y + n - some, of_last, (size_t)some * sizeof *y);
	iso_real *want = step_of(op, x, NULL, &a);

	OK(iso_ray_stream_create(&op, ctx, &p, &source, 1000000));
	iso_real *got = step_of(op, x, NULL, &b);

	assert_memory_equal(got, want, (size_t)iso_grid_voxels(&tiny) * sizeof *got);
	assert_memory_equal(&a, &b, sizeof a);
	iso_events_free(&e);
	iso_ctx_free(ctx);
	free(x);
	free(y);
	free(of_last);
	free(got);
	free(want);
}

/* Host bytes of an event of the operator on the CPU, of 1e8 events. */
static void bytes_on_the_cpu(void **state)
{
	struct iso_ray p = model_of(settings, 1);
	struct iso_plan plan = { 0 }, sums = { 0 };
	int64_t host, of_sums, device, n = 100000000;
	iso_ctx *ctx = cpu(2);

	(void)state;
	iso_ray_plan(&plan, ctx, &p, n);
	iso_plan_total(&host, &device, &plan);
	iso_ray_plan(&sums, ctx, &p, 1);
	iso_plan_total(&of_sums, &device, &sums);
	BELOW((double)(host - of_sums) / (double)n, 40);
	assert_true(host - of_sums >= 36 * (n - 1)); /* the event, and its row */
	iso_plan_free(&plan);
	iso_plan_free(&sums);
	iso_ctx_free(ctx);
}

static void events_in_parts(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_parts(ctx);
	iso_ctx_free(ctx);
}

/* ---- short of memory ---- */

/* Memory of a device on which so many bytes are left: the card's own, which other tests use at the same time, is not
   filled for it. */
static struct {
	const struct iso_vec *card;
	int64_t left;
	struct {
		void *p;
		int64_t bytes;
	} taken[256];
} small;

static int take_some(iso_ctx *ctx, void **p, int64_t bytes)
{
	int i = 0, st;

	if (bytes > small.left) return iso_fail(ISO_ENOMEM, "out of memory: the small device");
	while (i < N_OF(small.taken) && small.taken[i].p) i++;
	assert_true(i < N_OF(small.taken));
	if ((st = small.card->alloc(ctx, p, bytes))) return st;
	small.taken[i].p = *p;
	small.taken[i].bytes = bytes;
	small.left -= bytes;
	return ISO_OK;
}

static void give_some(iso_ctx *ctx, void *p)
{
	for (int i = 0; p && i < N_OF(small.taken); i++)
		if (small.taken[i].p == p) {
			small.left += small.taken[i].bytes;
			small.taken[i].p = NULL;
		}
	small.card->free(ctx, p);
}

/* Without memory to order events, they are traced one by one; an operator says so. */
static void check_short_memory(iso_ctx *cuda)
{
	const struct setting *s = settings + 3;
	struct iso_events e = ring_events(s, MANY);
	struct iso_ray p = model_of(s, 1);
	iso_real *x = some_image(s->grid);
	struct iso_em_stat a = { 0 }, b = { 0 };
	struct iso_vec vec = *cuda->vec;
	iso_op *op = NULL;

	OK(iso_ray_create(&op, cuda, &p, &e));
	assert_null(iso_ray_plain(op));
	iso_real *want = step_of(op, x, NULL, &a);

	small.card = cuda->vec;
	small.left = 18 << 20; /* the events take 11 MB, their order 20, without the lists of rays */
	vec.alloc = take_some;
	vec.free = give_some;
	cuda->vec = &vec;
	OK(iso_ray_create(&op, cuda, &p, &e));
	assert_non_null(iso_ray_plain(op));
	assert_non_null(strstr(iso_ray_plain(op), "memory"));
	assert_true(iso_ray_ordering_s(op) == 0);
	small.left += 64 << 20; /* for images */
	iso_real *got = step_of(op, x, NULL, &b);
	double diff = 0, norm = 0;

	for (int64_t i = 0; i < iso_grid_voxels(s->grid); i++) {
		diff += ((double)got[i] - want[i]) * ((double)got[i] - want[i]);
		norm += (double)want[i] * want[i];
	}
	BELOW(sqrt(diff / norm), 1e-5);
	NEAR(a.loglik, b.loglik, 1e-6 * fabs(b.loglik));
	cuda->vec = small.card;
	iso_events_free(&e);
	free(x);
	free(got);
	free(want);
}

/* ---- packs ---- */

/* An operator over events, whose packs are as small as they come. */
static iso_op *small_packs(iso_ctx *cuda, const struct iso_ray *p, const struct iso_events *e)
{
	iso_op *op = NULL;

	iso_ctx_set_device_memory_limit(cuda, 1 << 20);
	OK(iso_ray_create(&op, cuda, p, e));
	iso_ctx_set_device_memory_limit(cuda, 0);
	assert_null(iso_ray_plain(op));
	return op;
}

/* Values of both signs, of which a few are so large, and a few so small, that they go one by one. */
static iso_real *some_data(int64_t n)
{
	iso_real *y = calloc((size_t)n, sizeof *y);

	for (int64_t j = 0; j < n; j++)
		y[j] = (iso_real)(j % 5 - 1.7) * (j % 999 == 0 ? 1e8f : j % 997 == 0 ? 1e-8f : 1);
	return y;
}

/* Both projections of two operators, bit for bit. */
static void same_projections(iso_op *a, iso_op *b, const iso_real *x, const iso_real *y)
{
	for (int back = 0; back < 2; back++) {
		size_t n = (size_t)(back ? iso_op_n_in(a) : iso_op_n_out(a));
		iso_real *want = project(a, back, back ? y : x), *got = project(b, back, back ? y : x);

		assert_memory_equal(got, want, n * sizeof *got);
		free(want);
		free(got);
	}
}

/* How many packs the events are in does not show. */
static void check_packs(iso_ctx *cuda)
{
	for (int i = 0; i < N_OF(settings); i++) {
		const struct setting *s = settings + i;
		struct iso_events e = ring_events(s, MANY / 4);
		struct iso_ray p = model_of(s, s->n_sub);
		iso_real *x = some_image(s->grid), *y = some_data(e.n),
			 *count = calloc((size_t)e.n, sizeof *count);
		struct iso_em_stat a = { 0 }, b = { 0 };
		iso_op *whole = NULL, *packs = small_packs(cuda, &p, &e);

		for (int64_t j = 0; j < e.n; j++) count[j] = some_count(j);
		OK(iso_ray_create(&whole, cuda, &p, &e));
		same_projections(whole, packs, x, y);
		iso_real *want = step_of(whole, x, count, &a), *got = step_of(packs, x, count, &b);

		assert_memory_equal(got, want, (size_t)iso_grid_voxels(s->grid) * sizeof *got);
		assert_memory_equal(&a, &b, sizeof a);
		iso_events_free(&e);
		free(x);
		free(y);
		free(count);
		free(want);
		free(got);
	}
}

/* Rows of packs, one by one, are those of their events: with counts that bricks do not serve, and an image that is not
   finite. Of so many subsets that there are no packs come the events'. */
static void check_rows(iso_ctx *cuda)
{
	for (int i = 0; i < N_OF(settings); i++) {
		const struct setting *s = settings + i;
		struct iso_events e = ring_events(s, MANY / 16);
		struct iso_ray p = model_of(s, 1);
		iso_real *x = some_image(s->grid), *count = calloc((size_t)e.n, sizeof *count);
		struct iso_em_stat a = { 0 }, b = { 0 };
		iso_op *plain = NULL, *packs = small_packs(cuda, &p, &e);

		p.n_sub = 5000;
		p.rule = ISO_BLOCKS;
		for (int64_t j = 0; j < e.n; j++) count[j] = (iso_real)(2 * ISO_RAY_MOST_COUNT + j % 3);
		OK(iso_ray_create(&plain, cuda, &p, &e));
		assert_non_null(iso_ray_plain(plain));
		x[iso_grid_voxels(s->grid) / 2] = INFINITY;
		iso_real *want = project(plain, false, x), *got = project(packs, false, x);

		assert_memory_equal(got, want, (size_t)e.n * sizeof *got);
		free(want);
		free(got);
		x[iso_grid_voxels(s->grid) / 2] = 1;
		want = step_of(plain, x, count, &a);
		got = step_of(packs, x, count, &b);
		assert_memory_equal(got, want, (size_t)iso_grid_voxels(s->grid) * sizeof *got);
		assert_memory_equal(&a, &b, sizeof a);
		assert_true(a.used > 0);
		iso_events_free(&e);
		free(x);
		free(count);
		free(want);
		free(got);
	}
}

/* Device bytes of an event, of some 1e8. */
static void check_bytes(iso_ctx *cuda)
{
	static const struct iso_grid clinical = { { 200, 200, 80 }, { 2.5, 2.5, 2.5 }, { 0, 0, 0 } };
	const struct setting s = { .grid = &clinical, .fwhm_ps = 390, .truncate = 3, .rays = 1 };
	int64_t host, device[2], n = 100000000;

	for (int n_sub = 1; n_sub < 22; n_sub += 20) {
		for (int k = 0; k < 2; k++) {
			struct iso_ray p = model_of(&s, n_sub);
			struct iso_plan plan = { 0 };

			iso_ray_plan(&plan, cuda, &p, (k + 1) * n);
			iso_plan_total(&host, device + k, &plan);
			iso_plan_free(&plan);
			assert_int_equal(host, 0);
		}
		BELOW((double)(device[1] - device[0]) / (double)n, n_sub == 1 ? 64 : 72);
		assert_true(device[1] - device[0] >= 40 * n);
	}
}

/* ---- several images through one traversal ---- */

enum { IMAGES = 5 };

/* Images of different sizes and their counts: weights of replicates; the last has a line of too many counts for bricks. */
struct images {
	iso_op *op;
	int64_t voxels;
	iso_real *x, *y; /* on the device */
	struct iso_em_data d;
	iso_real *acc; /* on the host */
	struct iso_em_stat stat[IMAGES];
};

static struct images images_begin(iso_ctx *ctx, const struct setting *s, const struct iso_events *e)
{
	struct iso_ray p = model_of(s, s->n_sub);
	struct images m = { .voxels = iso_grid_voxels(s->grid) };
	iso_real *x = calloc((size_t)(IMAGES * m.voxels), sizeof *x), *one = some_image(s->grid);
	iso_real *y = calloc((size_t)(IMAGES * e->n), sizeof *y), *add = calloc((size_t)e->n, sizeof *add),
		 *mult = calloc((size_t)e->n, sizeof *mult);
	unsigned char *w = calloc((size_t)e->n, 1);

	for (int k = 0; k < IMAGES; k++) {
		OK(iso_replicate_weights(w, e->n, NULL, 1, k, ISO_DRAW_EVENTS));
		for (int64_t i = 0; i < m.voxels; i++)
			x[k * m.voxels + i] = (iso_real)(pow(.1, k) * (one[(i + 5 * k) % m.voxels] + .1));
		for (int64_t j = 0; j < e->n; j++) y[k * e->n + j] = w[j];
	}
	y[(IMAGES - 1) * e->n + 1] = 300; /* in every first subset */
	for (int64_t j = 0; j < e->n; j++) {
		add[j] = (iso_real)(j % 3 == 0 ? .5 : 0);
		mult[j] = (iso_real)(j % 11 == 0 ? 0 : 1);
	}
	OK(iso_ray_create(&m.op, ctx, &p, e));
	m.x = to_device(ctx, IMAGES * m.voxels, x);
	m.y = to_device(ctx, IMAGES * e->n, y);
	m.d = (struct iso_em_data){ NULL, to_device(ctx, e->n, add), to_device(ctx, e->n, mult) };
	free(x);
	free(y);
	free(one);
	free(add);
	free(mult);
	free(w);
	return m;
}

static void images_end(struct images *m)
{
	iso_ctx *ctx = iso_op_ctx(m->op);

	device_free(ctx, m->x);
	device_free(ctx, m->y);
	device_free(ctx, (void *)m->d.add);
	device_free(ctx, (void *)m->d.mult);
	iso_op_free(m->op);
}

/* Images first ... first + n - 1 of the step of a subset, in one call, or each by itself. */
static iso_real *step_of_images(struct images *m, int sub, int first, int n, bool each)
{
	iso_ctx *ctx = iso_op_ctx(m->op);
	int64_t rows = iso_op_n_out(m->op);
	iso_real *acc = to_device(ctx, n * m->voxels, NULL);

	if (!each)
		OK(iso_op_em_step_many(acc, m->stat + first, m->op, sub, n, m->x + first * m->voxels,
		                       m->y + first * rows, &m->d));
	for (int k = first; each && k < first + n; k++) {
		struct iso_em_data d = m->d;

		d.y = m->y + k * rows;
		OK(iso_op_em_step(acc + (k - first) * m->voxels, m->stat + k, m->op, sub,
		                  m->x + k * m->voxels, &d));
	}
	iso_real *host = to_host(ctx, n * m->voxels, acc);

	device_free(ctx, acc);
	return host;
}

static void check_each(struct images *m, int number, const iso_real *all)
{
	const size_t bytes = (size_t)m->voxels * sizeof *all;
	struct iso_em_stat stat[IMAGES];

	memcpy(stat, m->stat, sizeof stat);
	iso_real *each = step_of_images(m, 0, 0, IMAGES, true);

	for (int k = 0; k < IMAGES; k++) {
		const iso_real *got = all + k * m->voxels, *want = each + k * m->voxels;
		double d = off(m->voxels, got, want, NULL);

		print_message("setting %d, image %d of %d: relative difference %.2g\n", number, k, IMAGES, d);
		BELOW(d, 1e-5);
		NEAR((double)stat[k].used, (double)m->stat[k].used, 1);
		NEAR(stat[k].counts, m->stat[k].counts, 12);
		NEAR(stat[k].lost, m->stat[k].lost, 12);
		assert_true(isnan(stat[k].loglik));
	}
	assert_memory_equal(all + (IMAGES - 1) * m->voxels, each + (IMAGES - 1) * m->voxels, bytes);
	free(each);
}

/* Every batch, at any place in it. */
static void check_batches(struct images *m, const iso_real *all)
{
	for (int n = 1; n < IMAGES; n++)
		for (int first = 0; first + n <= IMAGES; first += n) {
			iso_real *got = step_of_images(m, 0, first, n, false);

			assert_memory_equal(got, all + first * m->voxels, n * m->voxels * sizeof *got);
			free(got);
		}
}

static void check_images(iso_ctx *cuda)
{
	/* lengths, all axes, TOF by the middle, by erf, in bins, the same by Joseph, several lines */
	static const int which[] = { 1, 2, 3, 5, 7, 8, 10, 12, 17, 18 };

	for (int i = 0; i < N_OF(which); i++) {
		const struct setting *s = settings + which[i];
		struct iso_events e = ring_events(s, MANY);
		struct images m = images_begin(cuda, s, &e);
		iso_real *all = step_of_images(&m, 0, 0, IMAGES, false);

		check_each(&m, which[i], all);
		check_batches(&m, all);
		if (s->n_sub == 1) { /* all rows are those of the one subset */
			iso_real *rows = step_of_images(&m, ISO_ALL, 0, IMAGES, false);

			assert_memory_equal(rows, all, IMAGES * m.voxels * sizeof *all);
			free(rows);
		}
		free(all);
		images_end(&m);
		iso_events_free(&e);
	}
}

CUDA_TEST(cuda_packs, check_packs)
CUDA_TEST(cuda_rows_of_packs, check_rows)
CUDA_TEST(cuda_bytes_of_an_event, check_bytes)
CUDA_TEST(cuda_short_of_memory, check_short_memory)
CUDA_TEST(cuda_many_events_as_on_the_cpu, check_against_cpu)
CUDA_TEST(cuda_several_images, check_images)
CUDA_TEST(cuda_projections_as_on_the_cpu, check_projections)
CUDA_TEST(cuda_events_in_any_order, check_order)
CUDA_TEST(cuda_events_in_parts, check_parts)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cuda_many_events_as_on_the_cpu),
		cmocka_unit_test(cuda_several_images),
		cmocka_unit_test(cuda_projections_as_on_the_cpu),
		cmocka_unit_test(cuda_events_in_any_order),
		cmocka_unit_test(events_in_parts),
		cmocka_unit_test(more_events_than_a_piece),
		cmocka_unit_test(bytes_on_the_cpu),
		cmocka_unit_test(cuda_events_in_parts),
		cmocka_unit_test(cuda_packs),
		cmocka_unit_test(cuda_rows_of_packs),
		cmocka_unit_test(cuda_bytes_of_an_event),
		cmocka_unit_test(cuda_short_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
