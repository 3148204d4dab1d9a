/* SPDX-License-Identifier: BSD-3-Clause */
/* Benchmark ray: one EM step of list-mode PET over events of an ideal ring, in random order; and the
   writing of such events, to time files of any size. */
#include "bench.h"

#include "limits.h"
#include "core/ctx.h"
#include "core/room.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#define COUNTED 100000 /* events whose voxels are counted */
#define TOF_FWHM_PS 390.
#define BLOCK (1 << 20) /* events made and written at a time: 28 MiB */
#define HASHES 10

static const struct problem {
	const char *name;
	struct iso_grid grid;
	double radius, length;     /* of the ring, mm */
	double visits, visits_tof; /* known means; 0: not known */
} problems[] = {
	{ "128", { { 128, 128, 128 }, { 4, 4, 4 }, { 0 } }, 330, 200, 193, 52 },
	{ "256", { { 256, 256, 256 }, { 2, 2, 2 }, { 0 } }, 330, 200, 385, 103 },
	{ "512", { { 512, 512, 512 }, { 1, 1, 1 }, { 0 } }, 330, 200, 770, 205 },
	{ "body", { { 133, 86, 580 }, { 4, 4, 4 }, { 0 } }, 400, 2000, 202, 57 },
};

#define N_PROBLEMS ((int)(sizeof problems / sizeof problems[0]))

static const char *const cases[] = { "128", "256", "512", "body", "all", NULL };
static const char *const projectors[] = { "slice", "joseph", NULL };
static const char *const switches[] = { "on", "off", NULL };

static struct settings {
	double events;
	int64_t size[3], repeats, seed, images;
	double voxel[3], tof_fwhm_ps;
	const char *which, *projector, *file_order, *write;
} set = { 0, { 0 }, 5, 1, 0, { 4, 4, 4 }, TOF_FWHM_PS, "all", "slice", "on", NULL };

static struct opt opts[] = {
	{ 0, "case", .text = &set.which, .words = cases, .value = "NAME",
	  .help = "128 (voxels of 4 mm), 256 (2 mm), 512 (1 mm) cubed in a clinical ring, body "
	          "(133 x 86 x 580 of 4 mm) in a ring of 2 m, or all" },
	{ 0, "grid", .integer = set.size, .count = 3, .spread = true, .value = "NX,NY,NZ", .min = 1,
	  .max = 1e5, .absent = "the grid of --case", .help = "another image, in the clinical ring" },
	{ 0, "voxel", .real = set.voxel, .count = 3, .spread = true, .value = "DX,DY,DZ", .min = 1e-3,
	  .max = 1e4, .help = "size of the voxels of --grid, mm" },
	BENCH_EVENTS(&set.events),
	{ 0, "tof-fwhm-ps", .real = &set.tof_fwhm_ps, .value = "PS", .min = 0, .max = 1e5,
	  .help = "time-of-flight resolution of the second row, cut at 3 sigma; 0: no second "
	          "row" },
	{ 0, "projector", .text = &set.projector, .words = projectors, .value = "NAME",
	  .help = "slice or joseph" },
	{ 0, "file-order", .text = &set.file_order, .words = switches, .value = "on|off",
	  .help = "off: events are sorted by direction and position; on: events are in the "
	          "order in which scanners write them" },
	BENCH_REPEATS(&set.repeats),
	{ 0, "seed", .integer = &set.seed, .value = "N", .min = 0, .max = 9e15,
	  .help = "seed of the events" },
	{ 0, "images", .integer = &set.images, .value = "E", .min = 1, .max = 64, .absent = "none",
	  .help = "also a step of E images with weights of their own through one pass over the rays, as "
	          "'recon --replicates' takes it" },
	{ 0, "write", .text = &set.write, .file = OPT_WRITES, .value = "FILE",
	  .help = "only write the events as .lmdT, in blocks, and print the hashes of ten "
	          "blocks" },
	{ 0 },
};

/* One problem, with what all its rows share. */
struct run {
	struct cmd *c;
	const struct problem *p;
	struct iso_events e;
	struct iso_limits limits;
	double generate_s;
};

/* What one operator took. */
struct timing {
	double setup_s, ordering_s; /* creating it, and of that ordering */
	struct bench_steps s;
	struct bench_time ratio; /* of a step of ratios */
	struct bench_time many;  /* of a step of several images */
	double visits, known;    /* of an event, mean; known: 0 where it is not */
};

/* ---- events ---- */

static struct iso_ring ring_of(const struct problem *p)
{
	return (struct iso_ring){ p->radius, p->length, set.tof_fwhm_ps > 0 ? set.tof_fwhm_ps : TOF_FWHM_PS,
		                  (uint64_t)set.seed };
}

struct keyed {
	uint64_t key;
	struct iso_event e;
};

static int by_key(const void *a, const void *b)
{
	uint64_t x = ((const struct keyed *)a)->key, y = ((const struct keyed *)b)->key;

	return (x > y) - (x < y);
}

/* A coordinate within +-range as 16 bits. */
static uint64_t bits(double v, double range)
{
	return (uint64_t)fmin(fmax(32768 * (1 + v / range), 0), 65535);
}

/* Azimuth in 64 sectors, then tilt in 16, then where the line passes the axis: z, and distance. */
static uint64_t key_of(const struct iso_event *e, const struct problem *p)
{
	double dx = e->p2[0] - e->p1[0], dy = e->p2[1] - e->p1[1], dz = e->p2[2] - e->p1[2];
	double azimuth = atan2(dy, dx), across = hypot(dx, dy);

	if (azimuth < 0) { /* the same line the other way round */
		azimuth += M_PI;
		dz = -dz;
	}
	double distance = (e->p1[0] * dy - e->p1[1] * dx) / fmax(across, 1e-6) * (dy < 0 ? -1 : 1);
	double height = .5 * ((double)e->p1[2] + e->p2[2]);

	return bits(azimuth - M_PI / 2, M_PI / 2) >> 10 << 44 |
	       bits(dz / fmax(across, 1e-6), p->length / p->radius) >> 12 << 40 |
	       bits(height, p->length) >> 8 << 16 | bits(distance, p->radius);
}

static int sort_events(struct iso_events *e, const struct problem *p)
{
	struct keyed *k;
	int st = BENCH_NEW(k, e->n);

	if (st) return st;
	for (int64_t j = 0; j < e->n; j++) k[j] = (struct keyed){ key_of(&e->v[j], p), e->v[j] };
	qsort(k, (size_t)e->n, sizeof *k, by_key);
	for (int64_t j = 0; j < e->n; j++) e->v[j] = k[j].e;
	free(k);
	return ISO_OK;
}

static int make_events(struct run *r)
{
	const struct iso_ring ring = ring_of(r->p);
	double start_s = iso_now_s();
	int st;

	r->e.n = (int64_t)set.events;
	if ((st = BENCH_NEW(r->e.v, r->e.n))) return st;
	st = iso_ring_events(r->e.v, r->c->ctx, &ring, 0, r->e.n);
	r->generate_s = iso_now_s() - start_s;
	return st || strcmp(set.file_order, "off") != 0 ? st : sort_events(&r->e, r->p);
}

/* ---- one row ---- */

static struct iso_ray ray_of(const struct problem *p, bool tof)
{
	struct iso_ray ray = { .size = sizeof ray, .grid = p->grid, .n_sub = 1, .tof_truncate = 3 };

	ray.projector = strcmp(set.projector, "joseph") == 0 ? ISO_JOSEPH : ISO_SLICE;
	ray.tof_fwhm_ps = tof ? set.tof_fwhm_ps : 0;
	return ray;
}

/* Steps of several images whose counts are weights of replicates, after a first one; images are 1, and are not updated. */
static int time_many(struct bench_time *t, iso_op *op, int images)
{
	double seconds[1 + BENCH_MOST_REPEATS];
	iso_ctx *ctx = iso_op_ctx(op);
	struct iso_room room = iso_room_of(ctx, "images of a step");
	int64_t n = iso_op_n_in(op), rows = iso_op_n_out(op);
	iso_real *x, *acc, *y, *host;
	unsigned char *w;
	struct iso_em_stat stat[64];
	int st;

	ISO_DEVICE(&room, x, images * n);
	ISO_DEVICE(&room, acc, images * n);
	ISO_DEVICE(&room, y, images * rows);
	ISO_HOST(&room, host, rows);
	ISO_HOST(&room, w, rows);
	st = room.status ? room.status : iso_ctx_vec(ctx)->fill(ctx, images * n, x, 1);
	for (int e = 0; e < images && !st; e++) {
		st = iso_replicate_weights(w, rows, NULL, 1, e, ISO_DRAW_EVENTS);
		for (int64_t j = 0; j < rows && !st; j++) host[j] = w[j];
		if (!st) st = iso_ctx_vec(ctx)->upload(ctx, y + e * rows, host, rows * (int64_t)sizeof *y);
	}
	for (int i = 0; i <= set.repeats && !st; i++) {
		double start_s = iso_now_s();

		st = iso_op_em_step_many(acc, stat, op, 0, images, x, y, &(struct iso_em_data){ 0 });
		if (!st) st = iso_ctx_wait(ctx);
		seconds[i] = iso_now_s() - start_s;
	}
	if (!st) *t = bench_time((int)set.repeats, seconds + 1);
	iso_room_free(&room);
	return st;
}

static int time_operator(struct timing *t, const struct run *r, const struct iso_ray *ray)
{
	double start_s = iso_now_s();
	iso_op *op = NULL;
	int st = iso_ray_create(&op, r->c->ctx, ray, &r->e);

	t->setup_s = iso_now_s() - start_s;
	if (!st) {
		t->ordering_s = iso_ray_ordering_s(op);
		st = bench_steps(&t->s, op, (int)set.repeats);
		if (!st) st = bench_ratios(&t->ratio, op, (int)set.repeats);
		if (!st && set.images > 0) st = time_many(&t->many, op, (int)set.images);
	}
	iso_op_free(op);
	return st;
}

static void name_row(struct bench_row *row, const struct problem *p, bool tof)
{
	const int64_t *n = p->grid.n;
	char size[40], time[24] = "";

	snprintf(size, sizeof size, "%" PRId64 "x%" PRId64 "x%" PRId64, n[0], n[1], n[2]);
	if (n[0] == n[1] && n[1] == n[2]) snprintf(size, sizeof size, "%" PRId64 "^3", n[0]);
	if (tof) snprintf(time, sizeof time, " TOF %g ps", set.tof_fwhm_ps);
	snprintf(row->problem, sizeof row->problem, "%s %g mm%s", size, p->grid.voxel[0], time);
}

/* The mean of each problem is known for chords, and for times of 390 ps. */
static void count_visits(struct timing *t, const struct run *r, const struct iso_ray *ray)
{
	const int64_t counted = r->e.n < COUNTED ? r->e.n : COUNTED, stride = r->e.n / counted;
	const double fwhm = ray->tof_fwhm_ps;

	for (int64_t j = 0; j < counted; j++) t->visits += iso_bench_visits(ray, &r->e.v[j * stride], 1);
	t->visits /= (double)counted;
	if (ray->projector == ISO_SLICE && (fwhm == 0 || fwhm == TOF_FWHM_PS))
		t->known = fwhm > 0 ? r->p->visits_tof : r->p->visits;
}

/* A visit reads 4 bytes and adds to 4, at best with eight neighbours at a time. */
static int run_row(const struct run *r, bool tof)
{
	const struct iso_ray ray = ray_of(r->p, tof);
	struct bench_row row = { .bench = "ray", .events = (double)r->e.n };
	struct timing t = { 0 };
	char known[40] = "", many[100] = "";
	int st = time_operator(&t, r, &ray);

	if (st) return st;
	count_visits(&t, r, &ray);
	name_row(&row, r->p, tof);
	row.time = t.s.step;
	row.visits = t.visits * row.events;
	row.bytes = 8 * row.visits + (double)sizeof *r->e.v * row.events;
	row.limit_s = row.visits / r->limits.load_8 + row.visits / r->limits.add_8;
	row.more = record_pack(
		"{s:s, s:s, s:s, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:o, s:I, s:f}", "case",
		r->p->name, "projector", set.projector, "file_order", set.file_order, "events",
		(json_int_t)r->e.n, "events_used", (json_int_t)t.s.stat.used, "sum_of_image", t.s.sum,
		"loglik", t.s.stat.loglik, "visits_per_event", t.visits, "generate_s", r->generate_s,
		"setup_s", t.setup_s, "ordering_s", t.ordering_s, "first_step_s", t.s.first_s, "ratio_step_s",
		t.ratio.median, "visits_expected", t.known > 0 ? record_real(t.known) : json_null(), "images",
		(json_int_t)set.images, "many_step_s", t.many.median);
	if (set.images > 0)
		snprintf(many, sizeof many, "; step of %d images %.3g s, %.3g ms and %.2f of a step an image",
		         (int)set.images, t.many.median, 1e3 * t.many.median / (double)set.images,
		         t.many.median / t.s.step.median / (double)set.images);
	if (t.known > 0) snprintf(known, sizeof known, " (known: %g)", t.known);
	snprintf(row.note, sizeof row.note,
	         "set-up %.3g s, of which ordering %.3g s; first step %.3g s; step of ratios %.3g s; %.1f "
	         "visits an event%s; "
	         "%" PRId64 " events used, sum of image %.7g, log L %.7g%s",
	         t.setup_s, t.ordering_s, t.s.first_s, t.ratio.median, t.visits, known, t.s.stat.used,
	         t.s.sum, t.s.stat.loglik, many);
	return bench_add(r->c, &row);
}

/* ---- one problem ---- */

static int tell_limits(const struct run *r)
{
	const struct iso_limits *l = &r->limits;
	char key[32];

	if (bench_says(r->c))
		printf(", %s: 10^9 words/s in random pieces of 8, 32: load %.3g, %.3g, add %.3g, %.3g; "
		       "triad %.3g GB/s\n",
		       iso_bytes((int64_t)l->bytes), 1e-9 * l->load_8, 1e-9 * l->load_32, 1e-9 * l->add_8,
		       1e-9 * l->add_32, 1e-9 * l->triad);
	snprintf(key, sizeof key, "limits_%s", r->p->name);
	return record_result(&r->c->record, key,
	                     record_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "set_bytes", l->bytes,
	                                 "load_8_per_s", l->load_8, "load_32_per_s", l->load_32,
	                                 "add_8_per_s", l->add_8, "add_32_per_s", l->add_32,
	                                 "triad_bytes_per_s", l->triad));
}

static int run_problem(struct cmd *c, const struct problem *p)
{
	const int64_t bytes = iso_grid_voxels(&p->grid) * (int64_t)sizeof(iso_real);
	struct run r = { .c = c, .p = p };
	int st = make_events(&r);

	if (!st) st = iso_limits_measure(&r.limits, c->ctx, bytes);
	if (!st) st = tell_limits(&r);
	if (!st) st = run_row(&r, false);
	if (!st && set.tof_fwhm_ps > 0) st = run_row(&r, true);
	iso_events_free(&r.e);
	return st;
}

static int plan(struct cmd *c, const struct problem *p)
{
	struct iso_ray ray = ray_of(p, set.tof_fwhm_ps > 0);
	int64_t n = (int64_t)set.events;
	struct iso_plan lines = { 0 };

	iso_plan_add(&lines, "events", n, sizeof(struct iso_event), false);
	iso_plan_add(&lines, "image and its update", iso_grid_voxels(&p->grid), 2 * sizeof(iso_real),
	             iso_ctx_is_cuda(c->ctx));
	iso_ray_plan(&lines, c->ctx, &ray, n);
	if (set.images > 0) {
		bool cuda = iso_ctx_is_cuda(c->ctx);

		iso_plan_add(&lines, "images of a step, and their updates", iso_grid_voxels(&p->grid),
		             set.images * 2 * (int64_t)sizeof(iso_real), cuda);
		iso_plan_add(&lines, "weights of events", n, set.images * (int64_t)sizeof(iso_real), cuda);
		iso_ray_many_plan(&lines, c->ctx, &ray, n);
	}
	return cmd_plan(c, &lines);
}

/* The one with the most voxels is what memory must hold. */
static const struct problem *largest(void)
{
	const struct problem *most = NULL;

	for (const struct problem *p = problems; p < problems + N_PROBLEMS; p++)
		if (bench_chosen(set.which, p->name) &&
		    (!most || iso_grid_voxels(&p->grid) > iso_grid_voxels(&most->grid)))
			most = p;
	return most;
}

static int run_grid(struct cmd *c)
{
	struct problem p = { "grid", .radius = problems[0].radius, .length = problems[0].length };
	int st;

	memcpy(p.grid.n, set.size, sizeof p.grid.n);
	memcpy(p.grid.voxel, set.voxel, sizeof p.grid.voxel);
	if ((st = iso_grid_check(&p.grid)) || (st = plan(c, &p))) return st;
	return run_problem(c, &p);
}

/* ---- events as a file: in blocks, so that any number takes bounded memory ---- */

struct writing {
	struct cmd *c;
	struct iso_ring ring;
	int64_t n, blocks;
	struct iso_events e; /* one block */
	iso_event_writer *out;
	json_t *hashes;
};

/* Ten blocks spread evenly from the first to the last; all if there are fewer. */
static bool is_hashed(const struct writing *w, int64_t block)
{
	bool hashed = w->blocks <= HASHES;

	for (int64_t k = 0; k < HASHES; k++) hashed |= block == k * (w->blocks - 1) / (HASHES - 1);
	return hashed;
}

/* The hash is of the file's bytes: lmdT stores t2 - t1. */
static int tell_hash(struct writing *w, int64_t first)
{
	const int64_t n = w->e.n;

	for (int64_t j = 0; j < n; j++) w->e.v[j].dt_ps = 0 - w->e.v[j].dt_ps;
	unsigned long long hash = XXH64(w->e.v, (size_t)n * sizeof *w->e.v, 0);
	json_t *one = json_pack("{s:I, s:I, s:o}", "first", (json_int_t)first, "events", (json_int_t)n,
	                        "xxh64", json_sprintf("%016llx", hash));

	term_clear(&w->c->term);
	if (!w->c->json)
		printf("events %12" PRId64 " to %12" PRId64 "  xxh64 %016llx\n", first, first + n - 1, hash);
	return json_array_append_new(w->hashes, one) ? iso_fail_memory("bench", 0) : ISO_OK;
}

static int write_all(struct writing *w)
{
	struct iso_clock clock = iso_clock_start_of(w->c->ctx, "write", "events", 0, w->n);
	char *text = NULL;
	int st = iso_event_writer_open(&w->out, set.write, NULL, w->n);

	for (int64_t b = 0; b < w->blocks && !st; b++) {
		w->e.n = w->n - b * BLOCK < BLOCK ? w->n - b * BLOCK : BLOCK;
		st = iso_ring_events(w->e.v, w->c->ctx, &w->ring, b * BLOCK, w->e.n);
		if (!st) st = iso_event_writer_append(w->out, &w->e);
		if (!st && is_hashed(w, b)) st = tell_hash(w, b * BLOCK);
		if (!st) st = iso_ctx_poll(w->c->ctx);
		iso_clock_step(&clock, b * BLOCK + w->e.n, NULL);
	}
	if (!st) st = record_text(&w->c->record, &text);
	if (st)
		iso_event_writer_free(w->out);
	else
		st = iso_event_writer_close(w->out, text);
	free(text);
	return st;
}

static int write_events(struct cmd *c)
{
	const int64_t n = (int64_t)set.events;
	struct writing w = { c, .n = n, .blocks = (n + BLOCK - 1) / BLOCK, .hashes = json_array() };
	double start_s = iso_now_s(), bytes = (double)n * sizeof *w.e.v;
	struct iso_plan lines = { 0 };
	int st = record_result(&c->record, "blocks", w.hashes);

	w.ring = ring_of(strcmp(set.which, "all") == 0 ? &problems[0] : largest());
	if (!st) st = cmd_check_output(c, set.write);
	if (!st && !cmd_is_events(set.write))
		st = iso_fail(ISO_EARG, "%s: events are written as .lmdT", set.write);
	if (st) return st;
	iso_plan_add(&lines, "one block of events", BLOCK, sizeof *w.e.v, false);
	if ((st = cmd_plan(c, &lines)) || (st = BENCH_NEW(w.e.v, BLOCK))) return st;
	st = write_all(&w);
	free(w.e.v);
	if (!st && !c->json)
		printf("%s: %" PRId64 " events, %s, %.2f GB/s\n", set.write, n, iso_bytes((int64_t)bytes),
		       1e-9 * bytes / (iso_now_s() - start_s));
	return st;
}

static int run(struct cmd *c, const struct opt_set *sets)
{
	int st;

	if (!opt_find(sets, "events")->given) set.events = bench_events(c->ctx);
	if (opt_find(sets, "voxel")->given && !opt_find(sets, "grid")->given)
		return iso_fail(ISO_EARG, "--voxel goes with --grid");
	if (set.write) return write_events(c);
	if (opt_find(sets, "grid")->given) return run_grid(c);
	st = plan(c, largest());
	for (int i = 0; i < N_PROBLEMS && !st; i++)
		if (bench_chosen(set.which, problems[i].name)) st = run_problem(c, &problems[i]);
	return st;
}

const struct bench bench_ray = { "ray", "Benchmark ray", opts, run, &set, sizeof set, false };
