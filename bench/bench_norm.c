/* SPDX-License-Identifier: BSD-3-Clause */
/* Benchmark norm: a pass over all crystal pairs of the clinical ring, of which the fit of a normalisation makes some dozens.
   It reads q of each pair: 4 bytes on the CPU; 8 on CUDA, where both rows of a pair have it. */
#include "bench.h"

#include "commission/norm/norm_fit.h"
#include "core/philox.h"
#include "limits.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The clinical ring of examples/scanners, which has 40 rings. */
static const char clinical_ring[] =
	"kind: cylinder\nname: clinical ring\nradius_mm: 330\nrings: %d\nring_pitch_mm: 5\n"
	"crystals_per_ring: 480\ncrystal_mm: [4.2, 4.8, 20]\nmin_crystal_distance: 80\n"
	"interaction_depth_mm: 7\nblock: {crystals: 12, gap_mm: 0.5}\n";

/* Multiplications, additions and a reciprocal of a pair, the least. */
enum { OPERATIONS = 12, CPU_BYTES = 4, CUDA_BYTES = 8 };
enum { PLACES = 4 }; /* x, y and two tilts: as many slopes of a pair are read beside q */

static const char *const cases[] = { "product", "fisher", "expected", "place", "all", NULL };

static struct settings {
	int64_t repeats, seed, rings;
	const char *which;
} set = { .repeats = 5, .seed = 1, .rings = 40, .which = "all" };

static struct opt opts[] = {
	{ 0, "case", .text = &set.which, .words = cases, .value = "NAME",
	  .help = "product (of the Fisher information and a vector), fisher (its diagonal), expected "
	          "(counts), "
	          "place (a product with the place of the source among the parameters), or all" },
	{ 0, "rings", .integer = &set.rings, .value = "N", .min = 1, .max = 1000,
	  .help = "rings of the scanner" },
	BENCH_REPEATS(&set.repeats),
	{ 0, "seed", .integer = &set.seed, .value = "N", .min = 0, .max = 9e15,
	  .help = "seed of the values of pairs" },
	{ 0 },
};

struct run {
	struct cmd *c;
	struct iso_room room;
	struct norm_rows rows;
	struct norm_classes classes;
	struct norm_scan scan;
	struct norm_fit fit;
	double *v, *to, *rate;
	double one[2];
	double bytes_per_s, operations_per_s;
};

static double draw(int64_t i, int of)
{
	const struct philox d = philox_draw((uint64_t)set.seed, (uint64_t)i, (uint64_t)of);

	return philox_unit(d.w[0]);
}

/* Values as of a source that fills a third of the field: the pass does not know them. */
static void fill(struct run *r, int places)
{
	const int64_t n = r->rows.n, pairs = r->rows.first[n];

#pragma omp parallel for
	for (int64_t i = 0; i < pairs; i++) {
		r->scan.q[i] = (float)(.5 + draw(i, 1));
		for (int c = 0; c < places; c++) r->scan.slope[c][i] = (float)(draw(i, 2 + c) - .5);
	}
	for (int64_t a = 0; a < n; a++) {
		r->fit.eps[a] = .8 + .4 * draw(a, 8);
		r->rate[a] = .3;
	}
	for (int64_t p = 0; p < norm_parameters(&r->fit); p++) r->v[p] = draw(p, 9) - .5;
}

static int open_fit(struct run *r, const iso_scanner *s, int places)
{
	int st = norm_rows_create(&r->rows, s);

	r->room = iso_room_of(NULL, "bench norm");
	if (st || (st = norm_classes_create(&r->classes, s, false, false, true))) return st;
	r->one[0] = r->one[1] = 1;
	r->scan.shifts = places;
	r->fit = (struct norm_fit){ .ctx = r->c->ctx,
		                    .rows = &r->rows,
		                    .classes = &r->classes,
		                    .scan = &r->scan,
		                    .scans = 1,
		                    .t = r->one,
		                    .z = r->one + 1 };
	ISO_HOST(&r->room, r->scan.q, r->rows.first[r->rows.n]);
	for (int c = 0; c < places; c++) ISO_HOST(&r->room, r->scan.slope[c], r->rows.first[r->rows.n]);
	ISO_HOST(&r->room, r->fit.eps, r->rows.n);
	ISO_HOST(&r->room, r->rate, r->rows.n);
	ISO_HOST(&r->room, r->v, norm_parameters(&r->fit));
	ISO_HOST(&r->room, r->to, norm_parameters(&r->fit));
	if (r->room.status) return r->room.status;
	r->scan.rate = r->rate;
	fill(r, places);
	return norm_sums_create(&r->fit);
}

static void close_fit(struct run *r)
{
	norm_sums_free(&r->fit);
	norm_classes_free(&r->classes);
	norm_rows_free(&r->rows);
	iso_room_free(&r->room);
}

static int measure(struct run *r)
{
	struct iso_limits limits;
	int st = iso_limits_measure(&limits, r->c->ctx, 1 << 20);

	if (st) return st;
	r->bytes_per_s = limits.triad;
	return iso_arithmetic_rate(&r->operations_per_s, r->c->ctx);
}

static int time_pass(struct run *r, const char *name, enum norm_sum what, int tables)
{
	const double pairs = (double)r->rows.first[r->rows.n];
	const bool cuda = iso_ctx_is_cuda(r->c->ctx);
	struct bench_row row = { .bench = "norm", .events = pairs };
	double seconds[1 + BENCH_MOST_REPEATS], total = 0;

	for (int i = 0; i <= set.repeats && !r->fit.status; i++) { /* the first warms up, and loads tables */
		const double from = iso_now_s();

		norm_pairs_sum(r->to, &total, &r->fit, what, r->v);
		seconds[i] = iso_now_s() - from;
	}
	if (r->fit.status) return r->fit.status;
	row.time = bench_time((int)set.repeats, seconds + 1);
	row.bytes = pairs * (cuda ? CUDA_BYTES : CPU_BYTES) * tables;
	const double by_memory = row.bytes / r->bytes_per_s;
	const double by_arithmetic = OPERATIONS * pairs / r->operations_per_s;

	row.limit_s = cuda ? by_memory : fmax(by_memory, by_arithmetic);
	row.limit = row.limit_s > by_memory ? "arithmetic" : "memory";
	row.more = record_pack("{s:s, s:f, s:f, s:f, s:f, s:f}", "case", name, "pairs", pairs, "bytes",
	                       row.bytes, "times_floor", row.time.median / row.limit_s, "first_s", seconds[0],
	                       "sum", total);
	snprintf(row.problem, sizeof row.problem, "%s", name);
	snprintf(row.note, sizeof row.note,
	         "%.4g pairs, %.3g GB, %.3g times the floor; first pass %.3g s; the sum is %.6g", pairs,
	         1e-9 * row.bytes, row.time.median / row.limit_s, seconds[0], total);
	return bench_add(r->c, &row);
}

static int run_place(struct run *r, const iso_scanner *s)
{
	int st = open_fit(r, s, PLACES);

	if (!st) st = time_pass(r, "place", NORM_PRODUCT, 1 + PLACES);
	close_fit(r);
	return st;
}

static int plan(struct run *r, const iso_scanner *s)
{
	const bool place = bench_chosen(set.which, "place");
	const int64_t tables = place ? 1 + PLACES : 1, pairs = iso_scanner_pairs(s);
	struct iso_plan p = { 0 };

	iso_plan_add(&p, "expected counts of pairs, and how they change with the place", pairs * tables,
	             sizeof(float), false);
	if (iso_ctx_is_cuda(r->c->ctx))
		iso_plan_add(&p, "the same for both crystals", pairs * tables, 2 * sizeof(float), true);
	return cmd_plan(r->c, &p);
}

static int run_passes(struct run *r, const iso_scanner *s)
{
	static const struct {
		const char *name;
		enum norm_sum what;
	} passes[] = { { "product", NORM_PRODUCT },
		       { "fisher", NORM_FISHER },
		       { "expected", NORM_EXPECTED } };
	int st = open_fit(r, s, 0);

	for (int i = 0; i < 3 && !st; i++)
		if (bench_chosen(set.which, passes[i].name))
			st = time_pass(r, passes[i].name, passes[i].what, 1);
	close_fit(r);
	return st;
}

static int run(struct cmd *c, const struct opt_set *sets)
{
	char text[sizeof clinical_ring + 32];
	struct run r = { .c = c };
	iso_scanner *s = NULL;

	(void)sets;
	snprintf(text, sizeof text, clinical_ring, (int)set.rings);
	int st = bench_scanner(&s, text);

	if (!st && !(st = plan(&r, s))) st = measure(&r);
	if (!st && bench_says(c)) printf(": %.3g bytes a second measured\n", r.bytes_per_s);
	if (!st && strcmp(set.which, "place") != 0) st = run_passes(&r, s);
	if (!st && bench_chosen(set.which, "place")) st = run_place(&r, s);
	iso_scanner_free(s);
	return st;
}

const struct bench bench_norm = { "norm", "Benchmark norm", opts, run, &set, sizeof set, false };
