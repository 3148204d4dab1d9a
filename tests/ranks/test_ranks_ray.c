/* SPDX-License-Identifier: BSD-3-Clause */
/* Model ray over several ranks: every image, sum and row has the bits of one process. Run by mpirun with one to four
   ranks; the device is that of ISO_TEST_DEVICE, or the CPU. */
#include "core/comm.h"
#include "core/op.h"
#include "file/out.h"
#include "test.h"

#define RING TEST_EXAMPLES "/scanners/small-animal.yaml"

enum { N = 12, VOXELS = N * N * N, EVENTS = 4001, SUBSETS = 5, ITERATIONS = 2 };

static const struct iso_grid grid = { { N, N, N }, { 10, 10, 10 }, { 0, 0, 0 } };
static const enum iso_subset_rule rules[] = { ISO_INTERLEAVED, ISO_BLOCKS, ISO_RANDOM };

static const char *device(void)
{
	const char *d = getenv("ISO_TEST_DEVICE");

	return d ? d : "cpu";
}

/* All ranks, and this process by itself. */
static iso_ctx *all, *alone;

static int open_contexts(void **state)
{
	(void)state;
	OK(iso_ctx_create_ranks(&all, device(), 1, NULL));
	OK(iso_ctx_create(&alone, device(), 2));
	return 0;
}

static int close_contexts(void **state)
{
	(void)state;
	iso_ctx_free(alone);
	iso_ctx_free(all);
	return 0;
}

/* ---- events, and what each rank has of them ---- */

struct data {
	struct iso_event v[EVENTS];
	iso_real count[EVENTS], mult[EVENTS], add[EVENTS];
	int64_t number[EVENTS]; /* in the whole list */
	int64_t n;
};

static struct data whole;

static int make_events(void **state)
{
	struct iso_ring ring = { .radius = 160, .length = 100, .seed = 3 };
	iso_ctx *ctx = cpu(1);

	(void)state;
	OK(iso_ring_events(whole.v, ctx, &ring, 0, EVENTS));
	for (int j = 0; j < EVENTS; j++) {
		whole.v[j].dt_ps = (float)(100 * sin(j));
		whole.count[j] = (iso_real)(j % 5);
		whole.mult[j] = (iso_real)(j % 11 ? .2 + .1 * (j % 7) : 0);
		whole.add[j] = (iso_real)(.5 * (j % 3));
		whole.number[j] = j;
	}
	whole.v[100].p1[0] = NAN;
	whole.n = EVENTS;
	iso_ctx_free(ctx);
	return open_contexts(state);
}

/* How events are dealt to ranks. */
enum deal {
	ROUND,     /* chunks of 64 in turn */
	RUNS,      /* consecutive, numbers not said */
	UNEVEN,    /* a few to rank 0, none to rank 1 of more than 2, the rest to the last */
	ONE_HAS_IT /* all to the last rank */
};
enum { DEALS = ONE_HAS_IT + 1 };

static int owner(enum deal d, int64_t j)
{
	int ranks = iso_ctx_ranks(all);

	switch (d) {
	case ROUND:
		return (int)(j / 64 % ranks);
	case RUNS:
		return (int)(j * ranks / EVENTS);
	case UNEVEN:
		return j % 97 ? ranks - 1 : 0;
	default:
		return ranks - 1;
	}
}

static struct data *take(enum deal d)
{
	struct data *p = calloc(1, sizeof *p);

	assert_non_null(p);
	for (int64_t j = 0; j < EVENTS; j++) {
		if (owner(d, j) != iso_ctx_rank(all)) continue;
		p->v[p->n] = whole.v[j];
		p->count[p->n] = whole.count[j];
		p->mult[p->n] = whole.mult[j];
		p->add[p->n] = whole.add[j];
		p->number[p->n++] = j;
	}
	return p;
}

static struct iso_ray model(int n_sub, enum iso_subset_rule rule)
{
	return (struct iso_ray){
		.size = sizeof(struct iso_ray), .grid = grid, .n_sub = n_sub, .rule = rule, .seed = 7
	};
}

static iso_op *over(iso_ctx *ctx, struct iso_ray p, struct data *d, bool numbers)
{
	struct iso_events e = { .n = d->n, .v = d->v };
	iso_op *op = NULL;

	if (numbers) {
		p.number = d->number;
		p.total = EVENTS;
	}
	OK(iso_ray_create(&op, ctx, &p, &e));
	return op;
}

/* ---- EM ---- */

struct image {
	iso_real x[VOXELS];
	double loglik[ITERATIONS * SUBSETS], lost;
	int64_t used, skipped;
};

static struct image *reconstruct(iso_op *op, const struct iso_em_data *d)
{
	static iso_real sens[VOXELS];
	struct image *i = calloc(1, sizeof *i);
	struct iso_em em = {
		.size = sizeof em, .op = op, .iterations = ITERATIONS, .sens = { 1, iso_op_n_sub(op), sens }
	};
	struct iso_em_result r = { .size = sizeof r };

	assert_non_null(i);
	if (d) em.data = *d;
	for (int v = 0; v < VOXELS; v++) {
		sens[v] = (iso_real)(50 + v % 3);
		i->x[v] = 1;
	}
	OK(iso_em_run(i->x, &r, &em, NULL));
	memcpy(i->loglik, r.loglik, (size_t)r.n * sizeof *r.loglik);
	i->used = r.used;
	i->skipped = r.skipped;
	i->lost = r.lost;
	iso_em_result_free(&r);
	iso_op_free(op);
	return i;
}

/* By all ranks and by one, with the data vectors of `with`. */
static void compare(const struct iso_ray *p, enum deal deal, struct iso_em_data with)
{
	struct data *own = take(deal);
	const struct iso_em_data here = { with.y ? own->count : NULL, with.add ? own->add : NULL,
		                          with.mult ? own->mult : NULL };
	struct image *a = reconstruct(over(alone, *p, &whole, false), &with);
	struct image *b = reconstruct(over(all, *p, own, deal != RUNS), &here);

	assert_true(a->used > EVENTS / 2);
	assert_memory_equal(a, b, sizeof *a);
	free(a);
	free(b);
	free(own);
}

static void mlem(void **state)
{
	struct iso_ray p = model(1, ISO_INTERLEAVED);

	(void)state;
	for (int d = 0; d < DEALS; d++) compare(&p, d, (struct iso_em_data){ 0 });
}

static void osem(void **state)
{
	(void)state;
	for (int r = 0; r < N_OF(rules); r++)
		for (int d = 0; d < DEALS; d++) {
			struct iso_ray p = model(SUBSETS, rules[r]);

			compare(&p, d, (struct iso_em_data){ 0 });
		}
}

static void counts_and_additive_term(void **state)
{
	struct iso_em_data all_of_it = { whole.count, whole.add, whole.mult }, few = { .mult = whole.mult };

	(void)state;
	for (int d = 0; d < DEALS; d++) {
		struct iso_ray p = model(SUBSETS, ISO_RANDOM);

		compare(&p, d, all_of_it);
		compare(&p, d, few);
	}
}

static void time_of_flight_and_spread(void **state)
{
	struct iso_ray p = model(SUBSETS, ISO_INTERLEAVED);

	(void)state;
	p.tof_fwhm_ps = 300;
	p.tof_truncate = 3;
	compare(&p, ROUND, (struct iso_em_data){ 0 });
	p.tof_bin_ps = 50;
	compare(&p, UNEVEN, (struct iso_em_data){ .add = whole.add });
	p = model(SUBSETS, ISO_BLOCKS);
	p.projector = ISO_JOSEPH;
	p.rays = 4;
	p.spread_mm[0] = p.spread_mm[1] = 4;
	compare(&p, ROUND, (struct iso_em_data){ 0 });
}

/* ---- penalised likelihood ---- */

static iso_real *penalised(iso_op *op, enum iso_map_method method, const struct iso_em_data *d, bool resumed)
{
	static iso_real sens[VOXELS];
	const struct iso_prior_spec rdp = {
		.size = sizeof rdp, .kind = ISO_PRIOR_RDP, .grid = grid, .parameter = { 2 }
	};
	struct iso_map map = { .size = sizeof map,
		               .op = op,
		               .data = *d,
		               .sens = { 1, iso_op_n_sub(op), sens },
		               .method = method,
		               .prior = &rdp,
		               .kappa_auto = true,
		               .relative = .2,
		               .passes = method == ISO_MAP_LBFGS ? 9 : 6 };
	char path[64];
	struct iso_run run = {
		.size = sizeof run, .checkpoint = path, .stop_after_minutes = 1e-9, .resume = true
	};
	iso_real *x = calloc(VOXELS, sizeof *x);
	int st;

	assert_non_null(x);
	snprintf(path, sizeof path, "test_ranks_ray_map%d.ckpt", (int)method);
	if (resumed && iso_ctx_rank(all) == 0) remove(path);
	if (resumed) OK(iso_comm_agree(all, ISO_OK));
	iso_out_mute(iso_ctx_rank(all) > 0); /* rank 0 alone writes */
	do {
		for (int v = 0; v < VOXELS; v++) {
			sens[v] = (iso_real)(50 + v % 3);
			x[v] = 1;
		}
	} while ((st = iso_map_run(x, NULL, &map, resumed ? &run : NULL)) == ISO_ECANCEL);
	iso_out_mute(false);
	OK(st);
	iso_op_free(op);
	return x;
}

/* By all ranks and by one; by all ranks also in pieces, where there can be checkpoints. */
static void maps(void **state)
{
	static const enum iso_map_method methods[] = { ISO_MAP_SVRG, ISO_MAP_SAGA, ISO_MAP_BSREM,
		                                       ISO_MAP_LBFGS };
	const struct iso_em_data with = { whole.count, whole.add, whole.mult };
	struct iso_ray p = model(SUBSETS, ISO_INTERLEAVED);

	(void)state;
	for (int k = 0; k < N_OF(methods); k++) {
		struct data *own = take(ROUND);
		const struct iso_em_data here = { own->count, own->add, own->mult };
		iso_real *a = penalised(over(alone, p, &whole, false), methods[k], &with, false);
		iso_real *b = penalised(over(all, p, own, true), methods[k], &here, false);

		assert_memory_equal(a, b, VOXELS * sizeof *a);
		free(b);
		if (methods[k] != ISO_MAP_SAGA) {
			b = penalised(over(all, p, own, true), methods[k], &here, true);
			assert_memory_equal(a, b, VOXELS * sizeof *a);
			free(b);
		}
		free(a);
		free(own);
	}
}

/* ---- steps of ratios ---- */

/* Images and statistics of a pass from ratios of 0, and of one at another image that goes on from it. */
struct ratios {
	iso_real z[2 * SUBSETS][VOXELS];
	struct iso_ratio_stat s[2 * SUBSETS];
};

static struct ratios *ratios_of(iso_op *op, const struct iso_em_data *given)
{
	static iso_real host[VOXELS], scale[VOXELS];
	struct ratios *r = calloc(1, sizeof *r);
	iso_ctx *ctx = iso_op_ctx(op);
	int64_t n = iso_op_n_out(op);
	const iso_real *from[3] = { given->y, given->add, given->mult };
	iso_real *rho = to_device(ctx, n, NULL), *z = to_device(ctx, VOXELS, NULL),
		 *v[3] = { NULL, NULL, NULL };
	iso_real *sorted = calloc((size_t)n + 1, sizeof *sorted);

	assert_non_null(r);
	assert_non_null(sorted);
	for (int i = 0; i < 3; i++) {
		if (!from[i]) continue;
		iso_op_sort(sorted, op, from[i]);
		for (int64_t j = 0; i == 1 && j < n; j++) sorted[j] += 1; /* no row is without expectation */
		v[i] = to_device(ctx, n, sorted);
	}
	for (int k = 0; k < 2 * SUBSETS; k++) {
		for (int i = 0; i < VOXELS; i++) {
			host[i] = (iso_real)(1 + (i + k / SUBSETS) % 5);
			scale[i] = host[i] + 1;
		}
		iso_real *x = to_device(ctx, VOXELS, host), *u = to_device(ctx, VOXELS, scale);
		struct iso_em_data d = { v[0], v[1], v[2] };

		OK(iso_op_ratio_step(z, rho, r->s + k, op, k % SUBSETS, false, x, u, &d));
		OK(iso_ctx_vec(ctx)->download(ctx, r->z[k], z, VOXELS * (int64_t)sizeof *z));
		device_free(ctx, x);
		device_free(ctx, u);
	}
	for (int i = 0; i < 3; i++) device_free(ctx, v[i]);
	device_free(ctx, rho);
	device_free(ctx, z);
	free(sorted);
	iso_op_free(op);
	return r;
}

static void same_ratios(struct ratios *a, struct ratios *b)
{
	for (int k = 0; k < 2 * SUBSETS; k++) assert_true(a->s[k].em.used > EVENTS / SUBSETS / 2);
	assert_memory_equal(a, b, sizeof *a);
	free(a);
	free(b);
}

static void steps_of_ratios(void **state)
{
	struct iso_em_data all_of_it = { whole.count, whole.add, whole.mult };

	(void)state;
	for (int r = 0; r < N_OF(rules); r++)
		for (int d = 0; d < DEALS; d++) {
			struct iso_ray p = model(SUBSETS, rules[r]);
			struct data *own = take(d);
			struct iso_em_data here = { own->count, own->add, own->mult }, none = { 0 };

			same_ratios(ratios_of(over(alone, p, &whole, false), &all_of_it),
			            ratios_of(over(all, p, own, d != RUNS), &here));
			same_ratios(ratios_of(over(alone, p, &whole, false), &none),
			            ratios_of(over(all, p, own, d != RUNS), &none));
			free(own);
		}
}

/* ---- events that are streamed ---- */

static int read_whole(void *arg, struct iso_events *b, int64_t first, int64_t n)
{
	(void)arg;
	memcpy(b->v, whole.v + first, (size_t)n * sizeof *b->v);
	if (b->count) memcpy(b->count, whole.count + first, (size_t)n * sizeof *b->count);
	if (b->mult) memcpy(b->mult, whole.mult + first, (size_t)n * sizeof *b->mult);
	if (b->add) memcpy(b->add, whole.add + first, (size_t)n * sizeof *b->add);
	return ISO_OK;
}

static void streams(void **state)
{
	struct iso_em_data all_of_it = { whole.count, whole.add, whole.mult };

	(void)state;
	for (int r = 0; r < N_OF(rules); r++)
		for (int data = 0; data < 2; data++) {
			struct iso_ray_source s = { .size = sizeof s,
				                    .n = EVENTS,
				                    .has_count = data,
				                    .has_mult = data,
				                    .has_add = data,
				                    .read = read_whole };
			struct iso_ray p = model(SUBSETS, rules[r]);
			iso_op *op = NULL;

			OK(iso_ray_stream_create(&op, all, &p, &s, 150));
			struct image *a =
				reconstruct(over(alone, p, &whole, false), data ? &all_of_it : NULL);
			struct image *b = reconstruct(op, NULL);

			assert_memory_equal(a, b, sizeof *a);
			free(a);
			free(b);
			if (data) continue;
			OK(iso_ray_stream_create(&op, all, &p, &s, 150));
			same_ratios(ratios_of(over(alone, p, &whole, false), &(struct iso_em_data){ 0 }),
			            ratios_of(op, &(struct iso_em_data){ 0 }));
		}
}

/* ---- projections ---- */

static void image(iso_real *x)
{
	for (int v = 0; v < VOXELS; v++) x[v] = (iso_real)(1 + v % 7);
}

/* y = A x in the order of the list, on the host. */
static void project(iso_real *y, iso_op *op)
{
	static iso_real x[VOXELS];
	iso_ctx *ctx = iso_op_ctx(op);
	iso_real *there, *rows = to_device(ctx, iso_op_n_out(op), NULL), *host;

	image(x);
	there = to_device(ctx, VOXELS, x);
	OK(iso_forward(rows, op, ISO_ALL, there));
	host = to_host(ctx, iso_op_n_out(op), rows);
	iso_op_unsort(y, op, host);
	free(host);
	device_free(ctx, rows);
	device_free(ctx, there);
}

/* Each subset back, one image behind the other, and all at once. */
static iso_real *back(iso_op *op, const iso_real *y)
{
	int64_t n = iso_op_n_out(op);
	iso_real *x = calloc((SUBSETS + 1) * VOXELS, sizeof *x),
		 *sorted = calloc((size_t)n + 1, sizeof *sorted);
	iso_ctx *ctx = iso_op_ctx(op);

	assert_non_null(x);
	assert_non_null(sorted);
	iso_op_sort(sorted, op, y);
	iso_real *rows = to_device(ctx, n, sorted), *there = to_device(ctx, VOXELS, NULL);

	for (int k = 0; k <= SUBSETS; k++) {
		OK(iso_adjoint(there, op, k < SUBSETS ? k : ISO_ALL, rows));
		OK(iso_ctx_vec(ctx)->download(ctx, x + k * VOXELS, there, VOXELS * sizeof *x));
	}
	device_free(ctx, rows);
	device_free(ctx, there);
	free(sorted);
	return x;
}

static void forward_and_adjoint(void **state)
{
	static iso_real y[EVENTS], part[EVENTS];

	(void)state;
	for (int r = 0; r < N_OF(rules); r++)
		for (int d = 0; d < DEALS; d++) {
			struct iso_ray p = model(SUBSETS, rules[r]);
			struct data *own = take(d);
			iso_op *one = over(alone, p, &whole, false), *op = over(all, p, own, d != RUNS);

			project(y, one);
			project(part, op);
			for (int64_t j = 0; j < own->n; j++)
				assert_memory_equal(part + j, y + own->number[j], sizeof *y);
			iso_real *a = back(one, whole.mult), *b = back(op, own->mult);

			assert_memory_equal(a, b, (SUBSETS + 1) * VOXELS * sizeof *a);
			free(a);
			free(b);
			iso_op_free(one);
			iso_op_free(op);
			free(own);
		}
}

/* ---- sensitivity ---- */

static void same_sensitivity(const struct iso_ray_sens *p)
{
	int64_t n = iso_grid_voxels(&p->grid);
	iso_real *a = calloc((size_t)n, sizeof *a), *b = calloc((size_t)n, sizeof *b);
	double error[2] = { -1, -2 };

	assert_non_null(a);
	assert_non_null(b);
	OK(iso_ray_sens(a, &error[0], alone, p));
	OK(iso_ray_sens(b, &error[1], all, p));
	assert_memory_equal(a, b, (size_t)n * sizeof *a);
	assert_true(a[n / 2] > 0 && error[0] == error[1]);
	free(a);
	free(b);
}

/* From a draw of pairs, and from all by rings; without and with attenuation and efficiencies. */
static void sensitivity(void **state)
{
	const struct iso_grid wide = { { 14, 14, 36 }, { 3, 3, 1 }, { 0, 0, 0 } };
	struct iso_ray_sens p = { .size = sizeof p, .grid = wide, .seed = 5 };
	struct iso_array mu = { 0 };
	iso_scanner *ring = NULL;

	(void)state;
	OK(iso_scanner_read(&ring, RING));
	OK(iso_array_on_grid(&mu, &grid));
	int64_t n = iso_scanner_crystals(ring);
	iso_real *eff = calloc((size_t)n, sizeof *eff);

	assert_non_null(eff);
	for (int64_t i = 0; i < mu.n; i++) mu.v[i] = (iso_real)(.01 * (double)(i % 3));
	for (int64_t i = 0; i < n; i++) eff[i] = (iso_real)(.8 + .01 * (double)(i % 7));
	p.scanner = ring;
	for (int k = 0; k < 4; k++) {
		p.mu = k % 2 ? &mu : NULL;
		p.eff = k % 2 ? eff : NULL;
		p.share = k < 2 ? 2e-4 : 0;
		same_sensitivity(&p);
	}
	p.projector = ISO_JOSEPH;
	p.share = 1e-4;
	same_sensitivity(&p);
	iso_array_free(&mu);
	iso_scanner_free(ring);
	free(eff);
}

/* ---- what is refused, on all ranks alike ---- */

/* Each by ranks of its own: after a failure a context is good for nothing more. */
static void refuse(struct iso_ray p, struct data *d, const char *words)
{
	struct iso_events e = { .n = d->n, .v = d->v };
	iso_ctx *ctx = NULL;
	iso_op *op = NULL;

	OK(iso_ctx_create_ranks(&ctx, device(), 1, NULL));
	REFUSED(iso_ray_create(&op, ctx, &p, &e), ISO_EARG, words);
	assert_null(op);
	iso_ctx_free(ctx);
}

static void refusals(void **state)
{
	struct data *own = take(ROUND), none = { .n = 0 };
	struct iso_ray p = model(1, ISO_INTERLEAVED);

	(void)state;
	refuse(p, &none, "there are no events");
	p.n_sub = EVENTS + 1;
	refuse(p, own, "4002 subsets of 4001 events");
	p.n_sub = 1;
	p.number = own->number;
	p.total = EVENTS + 1;
	refuse(p, own, "numbers are of 4002 events, the ranks have 4001 in all");
	p.total = EVENTS;
	if (iso_ctx_rank(all) == iso_ctx_ranks(all) - 1) own->number[3] = EVENTS;
	refuse(p, own, "number 4001 of event 3, must be 0 to 4000");
	free(own);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mlem),
		cmocka_unit_test(osem),
		cmocka_unit_test(counts_and_additive_term),
		cmocka_unit_test(time_of_flight_and_spread),
		cmocka_unit_test(maps),
		cmocka_unit_test(steps_of_ratios),
		cmocka_unit_test(streams),
		cmocka_unit_test(forward_and_adjoint),
		cmocka_unit_test(sensitivity),
		cmocka_unit_test(refusals),
	};

	return cmocka_run_group_tests(tests, make_events, close_contexts);
}
