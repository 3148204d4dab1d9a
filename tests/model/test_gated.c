/* SPDX-License-Identifier: BSD-3-Clause */
/* Model ray behind a warp, A W_g: the sensitivity of three gates, MLEM of their events, with and without randoms, against
   reference vectors. All gates as one operator: its adjoint, its steps against the plain pair, its subsets. */
#include "test.h"

#include "core/op.h"

enum { NX = 14, NY = 14, NZ = 10, N = NX * NY * NZ, GATES = 3, EVENTS = 2418, CRYSTALS = 288 };
#define RANDOMS 0.016121031746031748 /* of a pair, in the whole scan */

static const struct iso_grid grid = { { NX, NY, NZ }, { 8, 8, 6 }, { 0, 0, 0 } };

struct gated {
	iso_ctx *ctx;
	iso_scanner *scanner;
	iso_real *eff, *mu, *share, *fields;
	iso_op *warp[GATES], *op[GATES]; /* W_g and A W_g */
	struct iso_events events[GATES];
	iso_real *add[GATES]; /* r/(w m) of the events, in the operator's order */
	iso_real sens[N];
};

static iso_real *vector(const char *name, int64_t n)
{
	struct iso_array a = { 0 };
	char path[512];

	snprintf(path, sizeof path, TEST_DATA "/warp/%s.npy", name);
	OK(iso_read(&a, path, ISO_FINITE));
	assert_int_equal(a.n, n);
	return a.v;
}

static double worst(const iso_real *got, const char *name)
{
	iso_real *want = vector(name, N);
	double most = 0, found = 0;

	for (int i = 0; i < N; i++) {
		most = larger(most, (double)want[i]);
		found = larger(found, fabs((double)got[i] - (double)want[i]));
	}
	free(want);
	return found / most;
}

/* The events of each gate, and their crystals. */
static void take_events(struct gated *s, uint32_t *crystal[GATES])
{
	iso_real *pair = vector("gate_events_crystals", 2 * EVENTS),
		 *gate = vector("gate_events_gate", EVENTS);
	const double *at = iso_scanner_positions(s->scanner);

	for (int g = 0; g < GATES; g++) {
		s->events[g].v = calloc(EVENTS, sizeof *s->events[g].v);
		crystal[g] = calloc(2 * EVENTS, sizeof *crystal[g]);
		assert_true(s->events[g].v && crystal[g]);
	}
	for (int j = 0; j < EVENTS; j++) {
		const int g = (int)gate[j];
		const int64_t k = s->events[g].n++;
		struct iso_event *e = &s->events[g].v[k];

		for (int end = 0; end < 2; end++) {
			const uint32_t c = crystal[g][2 * k + end] = (uint32_t)pair[2 * j + end];

			for (int a = 0; a < 3; a++) (end ? e->p2 : e->p1)[a] = (float)at[3 * c + a];
		}
	}
	free(pair);
	free(gate);
}

/* W_g, the map warped into the gate, its share of S, A W_g, and r/(w m) = R/m of its events. */
static void make_gate(struct gated *s, int g, const uint32_t *crystal)
{
	const struct iso_warp p = { .size = sizeof p,
		                    .grid = grid,
		                    .field = g ? s->fields + 3 * N * g : NULL };
	const struct iso_ray ray = { .size = sizeof ray, .grid = grid, .n_sub = 1 };
	const int64_t n = s->events[g].n;
	struct iso_array mu = { 0 };
	struct iso_ray_sens q = {
		.size = sizeof q, .grid = grid, .scanner = s->scanner, .eff = s->eff, .share = 1
	};
	iso_real *alpha = calloc((size_t)n, sizeof *alpha), *add = calloc((size_t)n, sizeof *add), back[N],
		 part[N];
	iso_op *a = NULL;
	double error;

	assert_true(alpha && add);
	OK(iso_warp_create(&s->warp[g], s->ctx, &p));
	OK(iso_array_on_grid(&mu, &grid));
	OK(iso_forward(mu.v, s->warp[g], ISO_ALL, s->mu));
	q.mu = &mu;
	OK(iso_ray_sens(part, &error, s->ctx, &q));
	OK(iso_adjoint(back, s->warp[g], ISO_ALL, part));
	for (int i = 0; i < N; i++) s->sens[i] += s->share[g] * back[i];
	OK(iso_ray_create(&a, s->ctx, &ray, &s->events[g]));
	OK(iso_chain_create(&s->op[g], a, s->warp[g]));
	OK(iso_ray_attenuation(alpha, s->ctx, &mu, &s->events[g]));
	for (int64_t j = 0; j < n; j++)
		add[j] = (iso_real)(RANDOMS / ((double)alpha[j] * (double)s->eff[crystal[2 * j]] *
		                               (double)s->eff[crystal[2 * j + 1]]));
	s->add[g] = calloc((size_t)n, sizeof *s->add[g]);
	assert_non_null(s->add[g]);
	iso_op_sort(s->add[g], s->op[g], add);
	iso_op_free(a);
	iso_array_free(&mu);
	free(alpha);
	free(add);
}

static void make(struct gated *s)
{
	uint32_t *crystal[GATES];

	memset(s, 0, sizeof *s);
	s->ctx = cpu(2);
	OK(iso_scanner_read(&s->scanner, TEST_DATA "/warp/ring.yaml"));
	assert_int_equal(iso_scanner_crystals(s->scanner), CRYSTALS);
	s->eff = vector("eff", CRYSTALS);
	s->mu = vector("gate_mu", N);
	s->share = vector("gate_shares", GATES);
	s->fields = vector("gate_fields_ras", 3 * N * GATES);
	take_events(s, crystal);
	for (int g = 0; g < GATES; g++) {
		make_gate(s, g, crystal[g]);
		free(crystal[g]);
	}
}

static void release(struct gated *s)
{
	for (int g = 0; g < GATES; g++) {
		iso_op_free(s->warp[g]);
		iso_op_free(s->op[g]);
		iso_events_free(&s->events[g]);
		free(s->add[g]);
	}
	free(s->eff);
	free(s->mu);
	free(s->share);
	free(s->fields);
	iso_scanner_free(s->scanner);
	iso_ctx_free(s->ctx);
}

/* f <- f/S sum_g W_g^t sum_{j in g} a_j / ((A W_g f)_j + r_jg/(w_g m_jg)): em_step has the f. */
static void update(struct gated *s, iso_real *f, bool randoms)
{
	iso_real acc[N], sum[N] = { 0 };

	for (int g = 0; g < GATES; g++) {
		const struct iso_em_data d = { .add = randoms ? s->add[g] : NULL };
		struct iso_em_stat stat;

		OK(iso_op_em_step(acc, &stat, s->op[g], ISO_ALL, f, &d));
		for (int i = 0; i < N; i++) sum[i] += acc[i];
	}
	for (int i = 0; i < N; i++) f[i] = s->sens[i] > 0 ? sum[i] / s->sens[i] : 0;
}

static void mlem(struct gated *s, bool randoms)
{
	iso_real f[N];

	for (int i = 0; i < N; i++) f[i] = s->sens[i] > 0;
	for (int it = 1; it <= 5; it++) {
		update(s, f, randoms);
		if (it == 1) BELOW(worst(f, randoms ? "gate_em_add_it1" : "gate_em_it1"), 5e-5);
	}
	BELOW(worst(f, randoms ? "gate_em_add_it5" : "gate_em_it5"), 5e-5);
}

static void gated(void **state)
{
	struct gated *s = calloc(1, sizeof *s);
	double err = 1;

	(void)state;
	assert_non_null(s);
	make(s);
	BELOW(worst(s->sens, "gate_sens"), 2e-5);
	for (int g = 0; g < GATES; g++) {
		OK(iso_test_adjoint(&err, s->op[g], ISO_ALL, 1));
		BELOW(err, 1e-5);
	}
	mlem(s, false);
	mlem(s, true);
	release(s);
	free(s);
}

/* ---- all gates as one operator ---- */

/* Events of all gates, one behind the other, and their gates. */
static int32_t *join(struct iso_events *e, const struct gated *s)
{
	int32_t *gate = calloc(EVENTS, sizeof *gate);

	e->v = calloc(EVENTS, sizeof *e->v);
	assert_true(e->v && gate);
	for (int64_t j = 0, k[GATES] = { 0 }; j < EVENTS; j++) { /* in turn, while they last */
		int g = (int)(j % GATES);

		while (k[g] == s->events[g].n) g = (g + 1) % GATES;
		gate[e->n] = g;
		e->v[e->n++] = s->events[g].v[k[g]++];
	}
	return gate;
}

/* Fields that fold and leave the box, for the gates but the first. */
static iso_real *wild_fields(const struct gated *s)
{
	iso_real *u = calloc(3 * N * GATES, sizeof *u);

	assert_non_null(u);
	for (int i = 0; i < 3 * N * GATES; i++)
		u[i] = (iso_real)(4 * (double)s->fields[i] + 40 * sin(.37 * i) * (i >= 2 * 3 * N));
	return u;
}

static iso_op *one_operator(struct gated *s, const iso_real *fields, int n_sub, bool mass, double fwhm)
{
	struct iso_events e = { 0 };
	int32_t *gate = join(&e, s);
	const struct iso_ray ray = { .size = sizeof ray,
		                     .grid = grid,
		                     .n_sub = n_sub,
		                     .rule = ISO_RANDOM,
		                     .parts = GATES,
		                     .part = gate };
	struct iso_warp warp[GATES];
	struct iso_gated p = { .size = sizeof p, .gates = GATES, .warp = warp };
	iso_op *a = NULL, *op = NULL;

	for (int g = 0; g < GATES; g++)
		warp[g] = (struct iso_warp){ .size = sizeof warp[g],
			                     .grid = grid,
			                     .field = g ? fields + 3 * N * g : NULL,
			                     .mass = mass };
	if (fwhm > 0) OK(iso_psf_create(&p.psf, s->ctx, &grid, (const double[]){ fwhm, fwhm, fwhm }));
	OK(iso_ray_create(&a, s->ctx, &ray, &e));
	assert_int_equal(iso_op_n_sub(a), n_sub * GATES);
	OK(iso_gated_create(&op, a, &p));
	assert_int_equal(iso_op_n_sub(op), n_sub);
	iso_op_free(a);
	iso_op_free(p.psf);
	iso_events_free(&e);
	free(gate);
	return op;
}

static double far(const iso_real *a, const iso_real *b, int64_t n)
{
	double most = 0, found = 0;

	for (int64_t i = 0; i < n; i++) {
		most = larger(most, fabs((double)b[i]));
		found = larger(found, fabs((double)a[i] - (double)b[i]));
	}
	return found / most;
}

static void adjoints(struct gated *s, const iso_real *fields)
{
	for (int mass = 0; mass < 2; mass++)
		for (int psf = 0; psf < 2; psf++) {
			iso_op *op = one_operator(s, fields, 3, mass, psf * 7.);
			double err = 1;

			OK(iso_test_adjoint(&err, op, ISO_ALL, 1));
			BELOW(err, 1e-5);
			OK(iso_test_adjoint(&err, op, 1, 2));
			BELOW(err, 1e-5);
			iso_op_free(op);
		}
}

/* Rows of the subsets are those of the whole, and each is a range of events by their numbers, whatever their gates. */
static void subsets(struct gated *s)
{
	iso_op *op = one_operator(s, s->fields, 4, false, 0);
	iso_real x[N], *all = calloc(EVENTS, sizeof *all), *part = calloc(EVENTS, sizeof *part);
	int64_t next = 0;

	assert_true(all && part);
	for (int i = 0; i < N; i++) x[i] = (iso_real)(1 + sin(.1 * i));
	OK(iso_forward(all, op, ISO_ALL, x));
	for (int k = 0; k < 4; k++) {
		struct iso_rows r = iso_op_rows(op, k);

		assert_int_equal(r.first, next);
		assert_true(r.n == EVENTS / 4 || r.n == EVENTS / 4 + 1);
		next += r.n;
		OK(iso_forward(part, op, k, x));
	}
	assert_int_equal(next, EVENTS);
	assert_memory_equal(all, part, EVENTS * sizeof *all);
	iso_op_free(op);
	free(all);
	free(part);
}

/* The steps of all gates against the reference by forward and adjoint. */
static void steps(struct gated *s)
{
	iso_op *op = one_operator(s, s->fields, 2, false, 6);
	iso_real x[N], got[N], want[N], *add = calloc(EVENTS, sizeof *add), *rho[2];
	struct iso_em_stat a, b;
	struct iso_ratio_stat ra, rb;

	assert_non_null(add);
	for (int i = 0; i < N; i++) x[i] = (iso_real)(1 + .5 * sin(.1 * i));
	for (int j = 0; j < EVENTS; j++) add[j] = (iso_real)(.1 + .01 * (j % 7));
	const struct iso_em_data d = { .add = add };

	for (int sub = ISO_ALL; sub < 2; sub++) {
		OK(iso_op_em_step(got, &a, op, sub, x, &d));
		OK(iso_em_step_plain(op, sub, want, x, &d, &b));
		BELOW(far(got, want, N), 1e-5);
		assert_int_equal(a.used + a.skipped, b.used + b.skipped);
		NEAR(a.loglik, b.loglik, 1e-5 * fabs(b.loglik));
	}
	for (int k = 0; k < 2; k++) assert_non_null(rho[k] = calloc(EVENTS, sizeof *rho[k]));
	OK(iso_op_ratio_step(got, rho[0], &ra, op, 1, false, x, x, &d));
	OK(iso_ratio_step_plain(op, 1, want, rho[1], false, x, x, &d, &rb));
	BELOW(far(got, want, N), 1e-5);
	BELOW(far(rho[0], rho[1], EVENTS), 1e-5);
	for (int k = 0; k < 2; k++) free(rho[k]);
	free(add);
	iso_op_free(op);
}

static void refused(struct gated *s)
{
	struct iso_events e = { 0 };
	int32_t *gate = join(&e, s);
	struct iso_ray ray = { .size = sizeof ray, .grid = grid, .n_sub = 1, .parts = GATES, .part = gate };
	struct iso_warp warp[GATES];
	struct iso_gated p = { .size = sizeof p, .gates = GATES, .warp = warp };
	iso_op *a = NULL, *op = NULL;

	for (int g = 0; g < GATES; g++) warp[g] = (struct iso_warp){ .size = sizeof warp[g], .grid = grid };
	OK(iso_ray_create(&a, s->ctx, &ray, &e));
	p.gates = 2;
	REFUSED(iso_gated_create(&op, a, &p), ISO_EARG, "must be a multiple of 2 gates");
	p.gates = GATES;
	warp[1].grid.n[0] = 5;
	REFUSED(iso_gated_create(&op, a, &p), ISO_EARG, "the warp of gate 1");
	iso_op_free(a);
	gate[7] = GATES;
	a = NULL;
	REFUSED(iso_ray_create(&a, s->ctx, &ray, &e), ISO_EARG, "part 3 of event 7");
	ray.parts = 0;
	REFUSED(iso_ray_create(&a, s->ctx, &ray, &e), ISO_EARG, "0 parts");
	iso_events_free(&e);
	free(gate);
}

static void as_one(void **state)
{
	struct gated *s = calloc(1, sizeof *s);

	(void)state;
	assert_non_null(s);
	make(s);
	iso_real *wild = wild_fields(s);

	adjoints(s, wild);
	subsets(s);
	steps(s);
	refused(s);
	free(wild);
	release(s);
	free(s);
}

/* ---- CUDA against the CPU ---- */

/* A copy of host values on the operator's device. */
static iso_real *on_device(struct iso_room *room, const iso_real *host, int64_t n)
{
	iso_real *v;

	ISO_UPLOAD(room, v, host, n);
	OK(room->status);
	return v;
}

struct results {
	iso_real em[N], ratio[N], back[N];
	iso_real *forward; /* EVENTS, in the order of the events */
	struct iso_em_stat stat;
};

/* Everything that the operator of all gates does with a subset, or with all. */
static void use(struct results *r, iso_op *op, int sub, const iso_real *x, const iso_real *add)
{
	struct iso_room room = iso_room_of(op->ctx, "test");
	const struct iso_vec *v = op->ctx->vec;
	iso_real *y = calloc(EVENTS, sizeof *y), *to, *rows, *rho;
	struct iso_ratio_stat ratio;

	assert_non_null(y);
	ISO_DEVICE(&room, to, N);
	ISO_DEVICE(&room, rows, EVENTS);
	ISO_DEVICE(&room, rho, EVENTS);
	OK(room.status);
	const iso_real *image = on_device(&room, x, N);

	iso_op_sort(y, op, add);
	const struct iso_em_data d = { .add = on_device(&room, y, EVENTS) };

	OK(iso_forward(rows, op, sub, image));
	OK(v->download(op->ctx, y, rows, EVENTS * (int64_t)sizeof *y));
	iso_op_unsort(r->forward, op, y);
	OK(iso_adjoint(to, op, sub, rows));
	OK(v->download(op->ctx, r->back, to, sizeof r->back));
	OK(iso_op_em_step(to, &r->stat, op, sub, image, &d));
	OK(v->download(op->ctx, r->em, to, sizeof r->em));
	OK(iso_op_ratio_step(to, rho, &ratio, op, sub, true, image, image, &d));
	OK(v->download(op->ctx, r->ratio, to, sizeof r->ratio));
	iso_room_free(&room);
	free(y);
}

static void compare(struct gated *s, iso_ctx *gpu, double fwhm, bool mass)
{
	iso_ctx *host = s->ctx;
	static struct results got, want;
	iso_real x[N], *add = calloc(EVENTS, sizeof *add);
	iso_op *on_host = one_operator(s, s->fields, 2, mass, fwhm);
	double err = 1;

	s->ctx = gpu;
	iso_op *on_gpu = one_operator(s, s->fields, 2, mass, fwhm);

	s->ctx = host;
	got.forward = calloc(EVENTS, sizeof *got.forward);
	want.forward = calloc(EVENTS, sizeof *want.forward);
	assert_true(add && got.forward && want.forward);
	for (int i = 0; i < N; i++) x[i] = (iso_real)(1 + .5 * sin(.1 * i));
	for (int j = 0; j < EVENTS; j++) add[j] = (iso_real)(.1 + .01 * (j % 7));
	for (int sub = ISO_ALL; sub < 2; sub++) {
		use(&got, on_gpu, sub, x, add);
		use(&want, on_host, sub, x, add);
		BELOW(far(got.forward, want.forward, EVENTS), 1e-5);
		BELOW(far(got.back, want.back, N), 1e-5);
		BELOW(far(got.em, want.em, N), 1e-5);
		BELOW(far(got.ratio, want.ratio, N), 1e-5);
		NEAR(got.stat.loglik, want.stat.loglik, 1e-5 * fabs(want.stat.loglik));
		assert_int_equal(got.stat.used, want.stat.used);
	}
	OK(iso_test_adjoint(&err, on_gpu, 1, 2));
	BELOW(err, 1e-6);
	free(got.forward);
	free(want.forward);
	free(add);
	iso_op_free(on_host);
	iso_op_free(on_gpu);
}

static void cuda_as_one(void **state)
{
	iso_ctx *gpu = cuda_or_skip();
	struct gated *s = calloc(1, sizeof *s);

	(void)state;
	assert_non_null(s);
	make(s);
	for (int psf = 0; psf < 2; psf++)
		for (int mass = 0; mass < 2; mass++) compare(s, gpu, psf * 7., mass);
	release(s);
	free(s);
	iso_ctx_free(gpu);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(gated), cmocka_unit_test(as_one),
		                            cmocka_unit_test(cuda_as_one) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
