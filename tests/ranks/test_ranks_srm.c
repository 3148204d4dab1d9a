/* SPDX-License-Identifier: BSD-3-Clause */
/* Two panels over ranks: projections, EM steps, matrices and scans have the bytes of one process. Run by mpirun with
   one to four ranks; ISO_TEST_DEVICE: cpu or cuda. */
#include "bench/srm/strategies.h"
#include "files.h"
#include "model/srm/srm_share.h"
#include "model/srm/tensor/srm_single.h"
#include "model/srm/tensor/srm_stream.h"
#include "test.h"

/* The same work on all ranks together, and by this process alone. */
struct pair {
	iso_ctx *ranks, *alone;
};

static struct pair open_pair(void)
{
	const char *device = getenv("ISO_TEST_DEVICE");
	struct pair c = { 0 };

	if (!device) device = "cpu";
	OK(iso_ctx_create_ranks(&c.ranks, device, 1, NULL));
	OK(iso_ctx_create(&c.alone, device, 2));
	return c;
}

static void close_pair(struct pair c)
{
	iso_ctx_free(c.alone);
	iso_ctx_free(c.ranks);
}

static struct iso_panels panels(int ncx, int ncz, int per_pitch, int planes, int layers)
{
	return (struct iso_panels){
		.crystals = { ncx, ncz },
		.pitch = { 2, 2 },
		.crystal = { 1.8, 1.8, 6 },
		.gap = 10,
		.layers = layers,
		.formula = "Lu1.8Y0.2SiO5",
		.density = 7.1,
		.resolution = .2,
		.window = { 250, 750 },
		.per_pitch = { per_pitch, per_pitch },
		.planes = planes,
		.plane = 8. / planes,
	};
}

/* ---- the operator ---- */

static iso_real *values(int64_t n, double low, int seed)
{
	iso_real *v = malloc((size_t)n * sizeof *v);

	assert_non_null(v);
	srand((unsigned)seed);
	for (int64_t i = 0; i < n; i++) v[i] = (iso_real)(low + (1 - low) * rand() / RAND_MAX);
	return v;
}

enum work { FORWARD, BACK, STEP, RATIO };

/* What one operator makes of host vectors, of n values; what was there before, NaN, must be gone. */
static iso_real *result(iso_op *op, iso_ctx *ctx, int sub, enum work work, const iso_real *image,
                        const iso_real *data, struct iso_em_stat *stat)
{
	struct iso_rows rows = iso_op_rows(op, sub);
	struct iso_ratio_stat ratio;
	int64_t n = work == FORWARD ? iso_op_n_out(op) : iso_op_n_in(op);
	iso_real *x = to_device(ctx, iso_op_n_in(op), image), *y = to_device(ctx, iso_op_n_out(op), data);
	iso_real *bad = values(n, 0, 1), *out, *host;

	for (int64_t i = 0; i < n; i++)
		if (work != FORWARD || (i >= rows.first && i < rows.first + rows.n)) bad[i] = (iso_real)NAN;
	out = to_device(ctx, n, bad);
	if (work == FORWARD) OK(iso_forward(out, op, sub, x));
	if (work == BACK) OK(iso_adjoint(out, op, sub, y));
	if (work == STEP) OK(iso_op_em_step(out, stat, op, sub, x, &(struct iso_em_data){ .y = y }));
	if (work == RATIO) {
		iso_real *rho = to_device(ctx, iso_op_n_out(op), NULL);

		OK(iso_op_ratio_step(out, rho, &ratio, op, sub, false, x, x,
		                     &(struct iso_em_data){ .y = y }));
		*stat = ratio.em;
		device_free(ctx, rho);
	}
	host = to_host(ctx, n, out);
	device_free(ctx, x);
	device_free(ctx, y);
	device_free(ctx, out);
	free(bad);
	return host;
}

static void results_are_equal(struct pair c, iso_op *op[2], int sub)
{
	int64_t n_in = iso_op_n_in(op[0]), n_out = iso_op_n_out(op[0]);

	for (enum work work = FORWARD; work <= RATIO; work++) {
		iso_real *x = values(n_in, work >= STEP ? .1 : -1, 3),
			 *y = values(n_out, work >= STEP ? 0 : -1, 4);
		struct iso_em_stat stat[2] = { { 0 } };
		iso_real *a = result(op[0], c.ranks, sub, work, x, y, &stat[0]);
		iso_real *b = result(op[1], c.alone, sub, work, x, y, &stat[1]);
		int64_t n = work == FORWARD ? n_out : n_in;
		double sum = 0;

		for (int64_t i = 0; i < n; i++) sum += fabs((double)b[i]);
		assert_true(sum > 0 && isfinite(sum));
		assert_memory_equal(a, b, (size_t)n * sizeof *a);
		assert_true(stat[0].loglik == stat[1].loglik && stat[0].used == stat[1].used);
		free(x);
		free(y);
		free(a);
		free(b);
	}
}

static void operators_are_equal(struct pair c, const struct iso_panels *p, struct iso_srm_model model,
                                enum srm_strategy strategy)
{
	iso_ctx *ctx[2] = { c.ranks, c.alone };
	iso_srm *m[2] = { NULL, NULL };
	iso_op *op[2] = { NULL, NULL };

	model.size = sizeof model;
	model.seed = 3;
	for (int i = 0; i < 2; i++) {
		OK(iso_srm_analytic(&m[i], ctx[i], p));
		OK(iso_srm_threshold(m[i], ctx[i], &(struct iso_srm_bound){ .share = .97 }));
		model.srm = m[i];
		OK(srm_strategy_create(&op[i], ctx[i], &model, strategy));
	}
	results_are_equal(c, op, ISO_ALL);
	for (int sub = 0; sub<model.n_sub; sub += model.n_sub> 8 ? 7 : 1) results_are_equal(c, op, sub);
	for (int i = 0; i < 2; i++) {
		iso_op_free(op[i]);
		iso_srm_free(m[i]);
	}
}

static void projections(void **state)
{
	const struct {
		struct iso_panels p;
		struct iso_srm_model model;
		enum srm_strategy strategy;
	} of[] = {
		{ panels(6, 7, 2, 6, 1), { .n_sub = 1 }, SRM_CORRELATION },
		{ panels(6, 7, 2, 5, 1), { .n_sub = 3, .rule = ISO_MOD }, SRM_CORRELATION },
		{ panels(9, 9, 2, 4, 1), { .n_sub = 5, .rule = ISO_GROUPS }, SRM_CORRELATION },
		{ panels(4, 5, 3, 7, 2), { .n_sub = 2, .rule = ISO_RANDOM }, SRM_CORRELATION },
		{ panels(2, 2, 1, 1, 1),
		  { .n_sub = 2, .rule = ISO_MOD },
		  SRM_CORRELATION }, /* less than ranks */
		{ panels(9, 9, 2, 6, 1),
		  { .n_sub = 36, .rule = ISO_RANDOM },
		  SRM_CORRELATION }, /* singly on CUDA */
		{ panels(4, 5, 2, 5, 2), { .n_sub = 2, .rule = ISO_MOD }, SRM_ROW },
		{ panels(4, 5, 2, 5, 2), { .n_sub = 2, .rule = ISO_MOD }, SRM_COLUMN },
		{ panels(5, 4, 2, 6, 1), { .n_sub = 1 }, SRM_COMBINED },
	};
	struct pair c = open_pair();

	(void)state;
	for (int i = 0; i < N_OF(of); i++) operators_are_equal(c, &of[i].p, of[i].model, of[i].strategy);
	close_pair(c);
}

/* Every direction and plane is one rank's, and none has much more than its share of the rows. */
static void dealt_evenly(void **state)
{
	struct iso_panels p = panels(12, 12, 2, 12, 1);
	struct iso_srm_model model = { .size = sizeof model, .n_sub = 3, .rule = ISO_GROUPS };
	struct pair c = open_pair();
	int ranks = iso_ctx_ranks(c.ranks);
	iso_srm *m = NULL;
	iso_op *op = NULL;

	(void)state;
	OK(iso_srm_analytic(&m, c.alone, &p));
	OK(iso_srm_threshold(m, c.alone, &(struct iso_srm_bound){ .share = .97 }));
	model.srm = m;
	OK(iso_srm_op_create(&op, c.ranks, &model));
	const struct srm_op *of = op->data;
	int64_t *owners = calloc((size_t)of->n_direction, sizeof *owners), rows = 0;

	assert_non_null(owners);
	for (int i = 0; i < of->n_direction; i++) {
		owners[i] = of->share->mine[i];
		rows += owners[i] ? (int64_t)of->direction[i].nx * of->direction[i].nz : 0;
	}
	assert_true((double)rows * ranks < 1.2 * (double)of->lors);
	assert_true((double)srm_my_planes(of).n * ranks <= 1.3 * p.planes);
	OK(iso_comm_sum(c.ranks, ISO_OK, owners, of->n_direction));
	for (int i = 0; i < of->n_direction; i++) assert_true(owners[i] == 1);
	free(owners);
	iso_op_free(op);
	iso_srm_free(m);
	close_pair(c);
}

/* ---- the streams of CUDA, made on the host ---- */

enum { BLOCKS, RANGES, OUTS, STEPS, ROWS, WEIGHTS, OFFSETS, WORK, USEFUL, DONE, STRIPS, QUADS, SIZES };

/* What a stream has, in numbers that add up over its pieces. */
static void add_sizes(int64_t *sum, const struct srm_stream *s)
{
	struct stream_weights *w = malloc((size_t)(s->n_row + 1) * sizeof *w);

	assert_non_null(w);
	sum[BLOCKS] += s->block_of[s->n_sub];
	sum[RANGES] += s->n_range;
	sum[OUTS] += s->n_out;
	sum[STEPS] += s->n_step;
	sum[ROWS] += s->n_row;
	sum[USEFUL] += s->useful;
	sum[DONE] += s->done;
	iso_stream_rows(w, s, 0, s->n_row, 1);
	for (int64_t i = 0; i < s->n_row; i++)
		for (int k = 0; k < 64; k++) sum[WEIGHTS] += w[i].v[k / 2][k % 2];
	for (int64_t i = 0; i < s->n_step; i++)
		for (int k = 0; k < 8; k++) sum[OFFSETS] += s->offset[i].v[k / 2][k % 2];
	for (int64_t i = 0; i < s->block_of[s->n_sub]; i++) sum[WORK] += s->block[i].work;
	free(w);
}

static void stream_sizes(int64_t *sum, iso_ctx *ctx, const iso_srm *srm, struct iso_srm_model model)
{
	struct iso_room room = { .ctx = ctx, .what = "streams" };
	struct stream_layout layout;
	struct stream_taps taps;
	struct srm_stream s;
	struct srm_single single;
	iso_op *op = NULL;

	model.size = sizeof model;
	model.srm = srm;
	OK(iso_srm_op_create(&op, ctx, &model));
	struct srm_op *m = op->data;

	m->srm = srm; /* as while the operator is made */
	OK(iso_stream_layout(&layout, &room, m));
	OK(iso_stream_taps(&taps, &room, m));
	OK(iso_stream_forward(&s, &room, m, &taps, &layout));
	add_sizes(sum, &s);
	OK(iso_stream_adjoint(&s, &room, m, &taps, &layout));
	add_sizes(sum, &s);
	OK(iso_single_make(&single, &room, m, taps.rows));
	sum[STRIPS] += single.n_strip;
	sum[QUADS] += single.n_quad;
	iso_stream_taps_free(&taps);
	iso_room_free(&room);
	iso_op_free(op);
}

/* All ranks together have what one alone has, and no rank much more than its share of the weights and the work, where
   a subset has groups enough. */
static void streams_are_dealt(void **state)
{
	const struct iso_srm_model of[] = { { .n_sub = 1 },
		                            { .n_sub = 4, .rule = ISO_GROUPS },
		                            { .n_sub = 36, .rule = ISO_RANDOM } };
	struct iso_panels p = panels(16, 15, 3, 12, 1);
	struct pair c = { 0 };
	iso_srm *m = NULL;

	(void)state;
	OK(iso_ctx_create_ranks(&c.ranks, "cpu", 1, NULL));
	c.alone = cpu(2);
	OK(iso_srm_analytic(&m, c.alone, &p));
	OK(iso_srm_threshold(m, c.alone, &(struct iso_srm_bound){ .share = .97 }));
	for (int i = 0; i < N_OF(of); i++) {
		int64_t mine[SIZES] = { 0 }, all[SIZES] = { 0 };

		stream_sizes(mine, c.ranks, m, of[i]);
		stream_sizes(all, c.alone, m, of[i]);
		for (int k = ROWS; k <= WORK && of[i].n_sub <= 4; k += WORK - ROWS)
			assert_true((double)mine[k] * iso_ctx_ranks(c.ranks) < 1.2 * (double)all[k]);
		OK(iso_comm_sum(c.ranks, ISO_OK, mine, SIZES));
		assert_memory_equal(mine, all, sizeof all);
	}
	iso_srm_free(m);
	close_pair(c);
}

/* ---- matrices ---- */

static void same_files(const char *a, const char *b)
{
	enum { MOST = 1 << 24 };
	char *text = malloc(2 * MOST);
	size_t n = get(a, text, MOST);

	assert_true(n > 0 && n < MOST && get(b, text + MOST, MOST) == n);
	assert_memory_equal(text, text + MOST, n);
	free(text);
}

static void write_matrix(const char *path, iso_ctx *ctx, const struct iso_panels *p, struct iso_srm_options o,
                         int64_t n, double until)
{
	iso_srm *m = NULL;

	o.size = sizeof o;
	OK(iso_srm_create(&m, p, &o));
	OK(iso_srm_simulate(m, ctx, 0, n, until));
	OK(iso_srm_simulate(m, ctx, n + 1000, n, 0));
	OK(iso_srm_threshold(m, ctx, &(struct iso_srm_bound){ .share = .9 }));
	OK(iso_srm_write(path, m, false, "", NULL));
	iso_srm_free(m);
}

/* Many parts of a voxel, fewer voxels than ranks, several outcomes, and as many pairs as an accuracy takes. */
static void generation(void **state)
{
	const struct {
		struct iso_panels p;
		struct iso_srm_options o;
		int64_t n;
		double until;
	} of[] = {
		{ panels(5, 6, 2, 4, 1), { .seed = 7 }, 100000, 0 },
		{ panels(4, 4, 3, 5, 2), { .seed = 8, .symmetry = ISO_SRM_NONE }, 700, 0 },
		{ panels(4, 4, 1, 1, 1), { .seed = 9, .outcomes = 2 }, 300001, 0 },
		{ panels(4, 4, 1, 2, 1), { .seed = 9 }, 1000000, 300 },
	};
	struct pair c = open_pair();
	char shared[64], own[64];

	(void)state;
	snprintf(shared, sizeof shared, "ranks%d.srm", iso_ctx_rank(c.ranks));
	snprintf(own, sizeof own, "alone%d.srm", iso_ctx_rank(c.ranks));
	for (int i = 0; i < N_OF(of); i++) {
		write_matrix(shared, c.ranks, &of[i].p, of[i].o, of[i].n, of[i].until);
		write_matrix(own, c.alone, &of[i].p, of[i].o, of[i].n, of[i].until);
		same_files(shared, own);
	}
	close_pair(c);
}

/* ---- failures ---- */

static void stop(void *ctx, const struct iso_progress *p)
{
	(void)p;
	iso_ctx_cancel(ctx);
}

/* The last rank is told to stop, in the first of several rounds: all do. */
static void one_stops_all(void **state)
{
	struct iso_panels p = panels(6, 6, 2, 4, 1);
	struct iso_srm_options o = { .size = sizeof o };
	struct iso_srm_model model = { .size = sizeof model, .n_sub = 1 };
	struct pair c = open_pair();
	iso_srm *m = NULL;
	iso_op *op = NULL;
	iso_real *x, *y;

	(void)state;
	OK(iso_srm_analytic(&m, c.ranks, &p));
	OK(iso_srm_threshold(m, c.ranks, &(struct iso_srm_bound){ .share = .97 }));
	model.srm = m;
	OK(iso_srm_op_create(&op, c.ranks, &model));
	x = to_device(c.ranks, iso_op_n_in(op), NULL);
	y = to_device(c.ranks, iso_op_n_out(op), NULL);
	OK(iso_forward(y, op, ISO_ALL, x));
	iso_srm_free(m);
	OK(iso_srm_create(&m, &p, &o));
	if (iso_ctx_rank(c.ranks) == iso_ctx_ranks(c.ranks) - 1) iso_ctx_set_progress(c.ranks, stop, c.ranks);
	assert_int_equal(iso_srm_simulate(m, c.ranks, 0, 400000000, 0), ISO_ECANCEL);
	if (iso_ctx_ranks(c.ranks) > 1) assert_int_equal(iso_forward(y, op, ISO_ALL, x), ISO_ECANCEL);
	device_free(c.ranks, x);
	device_free(c.ranks, y);
	iso_op_free(op);
	iso_srm_free(m);
	close_pair(c);
}

/* ---- scans ---- */

static const char description[] = "kind: panels\n"
				  "crystals: [4, 6]\n"
				  "pitch_mm: [5, 6]\n"
				  "crystal_mm: [4.5, 6, 20]\n"
				  "gap_mm: 30\n"
				  "layers: 2\n"
				  "planes: 6\n"
				  "plane_mm: 5\n"
				  "time: {coincidence_ns: 10}\n";

struct list {
	int64_t n;
	uint32_t crystal[200000];
};

static int keep(void *list, const struct iso_events *e)
{
	struct list *l = list;

	assert_true(l->n + 2 * e->n <= N_OF(l->crystal));
	memcpy(l->crystal + l->n, e->crystal, (size_t)(2 * e->n) * sizeof *l->crystal);
	l->n += 2 * e->n;
	return ISO_OK;
}

struct scan {
	struct iso_array lors, delayed;
	struct iso_panel_simulated info;
	int64_t n_delayed;
	struct list list;
};

static void run_scan(struct scan *s, iso_ctx *ctx, struct iso_panel_simulate p)
{
	struct iso_grid g = { { 4, 4, 4 }, { 3, 3, 3 }, { 0, 0, 0 } };
	struct iso_array image = { 0 };
	iso_panel_scan_run *run = NULL;

	OK(iso_array_on_grid(&image, &g));
	for (int64_t i = 0; i < image.n; i++) image.v[i] = (iso_real)(1 + i % 5);
	OK(iso_panel_histogram(&s->lors, iso_scanner_panels(p.scanner)));
	OK(iso_panel_histogram(&s->delayed, iso_scanner_panels(p.scanner)));
	p.activity = &image;
	OK(iso_panel_simulate_open(&run, ctx, &p));
	OK(iso_panel_simulate_events(s->lors.v, run, keep, &s->list));
	OK(iso_panel_simulate_delayed(s->delayed.v, &s->n_delayed, run));
	s->info = *iso_panel_simulate_info(run);
	iso_panel_simulate_free(run);
	iso_array_free(&image);
}

static void scans_are_equal(struct pair c, struct iso_panel_simulate p)
{
	struct scan *s = calloc(2, sizeof *s);

	assert_non_null(s);
	run_scan(&s[0], c.ranks, p);
	run_scan(&s[1], c.alone, p);
	assert_memory_equal(s[0].lors.v, s[1].lors.v, (size_t)s[0].lors.n * sizeof *s->lors.v);
	assert_memory_equal(s[0].delayed.v, s[1].delayed.v, (size_t)s[0].delayed.n * sizeof *s->lors.v);
	assert_memory_equal(&s[0].info, &s[1].info, sizeof s[0].info);
	assert_true(s[0].n_delayed == s[1].n_delayed && s[0].list.n == s[1].list.n && s[0].list.n > 1000);
	assert_memory_equal(s[0].list.crystal, s[1].list.crystal,
	                    (size_t)s[0].list.n * sizeof *s->list.crystal);
	for (int i = 0; i < 2; i++) {
		iso_array_free(&s[i].lors);
		iso_array_free(&s[i].delayed);
	}
	free(s);
}

static void scans(void **state)
{
	struct iso_panel_simulate p = { .size = sizeof p, .transport.seed = 5 };
	struct pair c = open_pair();
	iso_scanner *scanner = NULL;
	char path[64];

	(void)state;
	snprintf(path, sizeof path, "panels%d.yaml", iso_ctx_rank(c.ranks));
	put_text(path, description);
	OK(iso_scanner_read(&scanner, path));
	p.scanner = scanner;
	p.counts = 20000;
	p.randoms = .2;
	scans_are_equal(c, p);
	p.counts = 0;
	p.decays = 500000;
	p.by_rate = true;
	p.duration_s = 1;
	scans_are_equal(c, p);
	iso_scanner_free(scanner);
	close_pair(c);
}

static void point_sensitivity(void **state)
{
	struct iso_panels p = panels(5, 6, 2, 4, 1);
	struct iso_panel_reading r[2][2] = { { { .readout = ISO_READ_HEAD, .window = { 250, 750 } },
		                               { .readout = ISO_READ_CRYSTAL, .window = { 400, 600 } } } };
	const double at[3] = { 1, 0, -1 };
	struct pair c = open_pair();

	(void)state;
	memcpy(r[1], r[0], sizeof r[0]);
	OK(iso_panel_sensitivity(r[0], 2, c.ranks, &p, NULL, at, 1000003));
	OK(iso_panel_sensitivity(r[1], 2, c.alone, &p, NULL, at, 1000003));
	for (int i = 0; i < 2; i++) assert_true(r[0][i].share == r[1][i].share && r[0][i].share > 0);
	close_pair(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(projections),
		cmocka_unit_test(dealt_evenly),
		cmocka_unit_test(streams_are_dealt),
		cmocka_unit_test(generation),
		cmocka_unit_test(scans),
		cmocka_unit_test(point_sensitivity),
		cmocka_unit_test(one_stops_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
