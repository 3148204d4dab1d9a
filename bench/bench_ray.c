/* SPDX-License-Identifier: BSD-3-Clause */
/* Benchmark ray: one EM step of list-mode PET over events of an ideal ring, in random order. */
#include "bench.h"

#include "limits.h"
#include "visits.h"
#include "core/progress.h"
#include "core/size.h"
#include "core/status.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define EVENTS_CPU 1e6
#define EVENTS_CUDA 1e7
#define MOST_REPEATS 1000
#define COUNTED 100000 /* events whose voxels are counted */
#define TOF_FWHM_PS 390.

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
	int64_t size[3], repeats, seed;
	double voxel[3], tof_fwhm_ps;
	const char *which, *projector, *file_order, *write;
} set = { .repeats = 5,
	  .seed = 1,
	  .voxel = { 4, 4, 4 },
	  .tof_fwhm_ps = TOF_FWHM_PS,
	  .which = "all",
	  .projector = "slice",
	  .file_order = "on" };

static struct opt opts[] = {
	{ 0, "case", .text = &set.which, .words = cases, .value = "NAME",
	  .help = "128 (voxels of 4 mm), 256 (2 mm), 512 (1 mm) cubed in a clinical ring, body "
	          "(133 x 86 x 580 of 4 mm) in a ring of 2 m, or all" },
	{ 0, "grid", .integer = set.size, .count = 3, .spread = true, .value = "NX,NY,NZ", .min = 1,
	  .max = 1e5, .absent = "those of --case", .help = "another image, in the clinical ring" },
	{ 0, "voxel", .real = set.voxel, .count = 3, .spread = true, .value = "DX,DY,DZ", .min = 1e-3,
	  .max = 1e4, .help = "its voxels, mm" },
	{ 0, "events", .real = &set.events, .value = "N", .min = 1, .max = 1e12,
	  .absent = "1e6 on the CPU, 1e7 on CUDA", .help = "number of events" },
	{ 0, "tof-fwhm-ps", .real = &set.tof_fwhm_ps, .value = "PS", .min = 0, .max = 1e5,
	  .help = "time-of-flight resolution of the second row, cut at 3 sigma; 0: no such row" },
	{ 0, "projector", .text = &set.projector, .words = projectors, .value = "NAME",
	  .help = "slice or joseph" },
	{ 0, "file-order", .text = &set.file_order, .words = switches, .value = "on|off",
	  .help = "off: events come sorted by direction and place; on: as scanners write them" },
	{ 0, "repeats", .integer = &set.repeats, .value = "N", .min = 1, .max = MOST_REPEATS,
	  .help = "repeats after the warm-up" },
	{ 0, "seed", .integer = &set.seed, .value = "N", .min = 0, .max = 9e15, .help = "of the events" },
	{ 0, "write", .text = &set.write, .file = OPT_WRITES, .value = "FILE",
	  .help = "only write the events, as .lmdT in blocks, and tell hashes of ten of them" },
	{ 0 },
};

/* One problem, with what all its rows share. */
struct run {
	struct cmd *c;
	const struct problem *p;
	struct iso_events e;
	struct iso_limits limits;
	double generate_s;
	iso_real *x, *acc; /* on the device */
};

/* What one operator took. */
struct timing {
	double setup_s, ordering_s, first_s; /* creating it, and of that ordering; first step */
	struct bench_time step;
	struct iso_em_stat stat;
	double sum; /* of the image after one update with S = 1 */
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
	struct keyed *k = size_alloc(e->n, sizeof *k);

	if (!k) return iso_fail_memory("bench", e->n * (int64_t)sizeof *k);
	for (int64_t j = 0; j < e->n; j++) k[j] = (struct keyed){ key_of(&e->v[j], p), e->v[j] };
	qsort(k, (size_t)e->n, sizeof *k, by_key);
	for (int64_t j = 0; j < e->n; j++) e->v[j] = k[j].e;
	free(k);
	return ISO_OK;
}

static int make_events(struct run *r)
{
	struct iso_ring ring = ring_of(r->p);
	double start_s = iso_now_s();
	int st;

	r->e.n = (int64_t)set.events;
	if (!(r->e.v = size_alloc(r->e.n, sizeof *r->e.v)))
		return iso_fail_memory("bench", r->e.n * (int64_t)sizeof *r->e.v);
	st = iso_ring_events(r->e.v, r->c->ctx, &ring, 0, r->e.n);
	r->generate_s = iso_now_s() - start_s;
	return st;
}

/* ---- one row ---- */

static struct iso_ray ray_of(const struct problem *p, bool tof)
{
	return (struct iso_ray){
		.size = sizeof(struct iso_ray),
		.grid = p->grid,
		.n_sub = 1,
		.tof_truncate = 3,
		.projector = strcmp(set.projector, "joseph") == 0 ? ISO_JOSEPH : ISO_SLICE,
		.tof_fwhm_ps = tof ? set.tof_fwhm_ps : 0,
	};
}

/* Waits for the device: what was asked for before is done. */
static int wait_for(const struct run *r)
{
	iso_real one;

	return iso_ctx_vec(r->c->ctx)->download(r->c->ctx, &one, r->acc, sizeof one);
}

static int one_step(double *seconds, struct timing *t, const struct run *r, iso_op *op)
{
	int st = wait_for(r);
	double start_s = iso_now_s();

	if (!st) st = iso_em_step(op, 0, r->acc, r->x, &(struct iso_em_data){ 0 }, &t->stat);
	if (!st) st = wait_for(r);
	*seconds = iso_now_s() - start_s;
	return st;
}

static int time_steps(struct timing *t, const struct run *r, iso_op *op)
{
	double seconds[MOST_REPEATS];
	int n = (int)set.repeats, st = one_step(&t->first_s, t, r, op);

	for (int i = 0; i < n && !st; i++) st = one_step(&seconds[i], t, r, op);
	if (st) return st;
	t->step = bench_time(n, seconds);
	return iso_ctx_vec(r->c->ctx)->asum(r->c->ctx, iso_op_n_in(op), &t->sum, r->acc);
}

static int time_operator(struct timing *t, const struct run *r, const struct iso_ray *ray)
{
	double start_s = iso_now_s();
	iso_op *op = NULL;
	int st = iso_ray_create(&op, r->c->ctx, ray, &r->e);

	t->setup_s = iso_now_s() - start_s;
	if (!st) {
		t->ordering_s = iso_ray_ordering_s(op);
		st = time_steps(t, r, op);
	}
	iso_op_free(op);
	return st;
}

static void name_row(struct bench_row *row, const struct problem *p, bool tof)
{
	const struct iso_grid *g = &p->grid;
	int n;

	if (g->n[0] == g->n[1] && g->n[1] == g->n[2])
		n = snprintf(row->problem, sizeof row->problem, "%" PRId64 "^3", g->n[0]);
	else
		n = snprintf(row->problem, sizeof row->problem, "%" PRId64 "x%" PRId64 "x%" PRId64, g->n[0],
		             g->n[1], g->n[2]);
	n += snprintf(row->problem + n, sizeof row->problem - (size_t)n, " %g mm", g->voxel[0]);
	if (tof) snprintf(row->problem + n, sizeof row->problem - (size_t)n, " TOF %g ps", set.tof_fwhm_ps);
}

/* The mean of each problem is known for chords, and for times of 390 ps. */
static double known_visits(const struct problem *p, bool tof)
{
	if (strcmp(set.projector, "slice") != 0 || (tof && set.tof_fwhm_ps != TOF_FWHM_PS)) return 0;
	return tof ? p->visits_tof : p->visits;
}

static json_t *more_json(const struct run *r, const struct timing *t, double visits, bool tof)
{
	double known = known_visits(r->p, tof);

	return record_pack("{s:s, s:s, s:s, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:o}", "case",
	                   r->p->name, "projector", set.projector, "file_order", set.file_order, "events",
	                   (json_int_t)r->e.n, "events_used", (json_int_t)t->stat.used, "sum_of_image",
	                   t->sum, "loglik", t->stat.loglik, "visits_per_event", visits, "generate_s",
	                   r->generate_s, "setup_s", t->setup_s, "ordering_s", t->ordering_s, "first_step_s",
	                   t->first_s, "visits_expected", known > 0 ? record_real(known) : json_null());
}

static void describe(struct bench_row *row, const struct run *r, const struct timing *t, double visits,
                     bool tof)
{
	double known = known_visits(r->p, tof);
	int n = snprintf(row->note, sizeof row->note,
	                 "set-up %.3g s, of which ordering %.3g s; "
	                 "first step %.3g s; %.1f visits an event",
	                 t->setup_s, t->ordering_s, t->first_s, visits);

	if (known > 0) n += snprintf(row->note + n, sizeof row->note - (size_t)n, " (known: %g)", known);
	snprintf(row->note + n, sizeof row->note - (size_t)n,
	         "; %" PRId64 " events used, sum of "
	         "image %.7g, log L %.7g",
	         t->stat.used, t->sum, t->stat.loglik);
}

/* 4 bytes read and 4 added to for each voxel visit, 28 for each event. */
static double bytes_of(double events, double visits)
{
	return 8 * visits + (double)sizeof(struct iso_event) * events;
}

static int run_row(const struct run *r, bool tof)
{
	struct iso_ray ray = ray_of(r->p, tof);
	int64_t counted = r->e.n < COUNTED ? r->e.n : COUNTED, stride = r->e.n / counted;
	struct bench_row row = { .bench = "ray" };
	struct timing t = { 0 };
	double visits = 0;
	int st = time_operator(&t, r, &ray);

	if (st) return st;
	for (int64_t j = 0; j < counted; j++) visits += iso_bench_visits(&ray, &r->e.v[j * stride], 1);
	visits /= (double)counted;
	name_row(&row, r->p, tof);
	row.time = t.step;
	row.events = (double)r->e.n;
	row.visits = visits * row.events;
	row.bytes = bytes_of(row.events, row.visits);
	row.limit_s = iso_limits_visits_s(&r->limits, row.visits);
	row.more = more_json(r, &t, visits, tof);
	describe(&row, r, &t, visits, tof);
	return bench_add(r->c, &row);
}

/* ---- one problem ---- */

static int allocate(struct run *r)
{
	const struct iso_vec *v = iso_ctx_vec(r->c->ctx);
	int64_t n = iso_grid_voxels(&r->p->grid), bytes = n * (int64_t)sizeof *r->x;
	void *x = NULL, *acc = NULL;
	int st = v->alloc(r->c->ctx, &x, bytes);

	r->x = x;
	if (!st) st = v->alloc(r->c->ctx, &acc, bytes);
	r->acc = acc;
	return st ? st : v->fill(r->c->ctx, n, r->x, 1);
}

static int tell_limits(const struct run *r)
{
	const struct iso_limits *l = &r->limits;
	char key[32];

	if (!r->c->json) {
		term_clear(&r->c->term);
		printf("%s (%s), %s: 10^9 words/s in random pieces of 8, 32: load %.3g, %.3g, "
		       "add %.3g, %.3g; triad %.3g GB/s\n",
		       iso_ctx_device(r->c->ctx), iso_ctx_device_name(r->c->ctx),
		       iso_bytes((int64_t)l->bytes), 1e-9 * l->load_8, 1e-9 * l->load_32, 1e-9 * l->add_8,
		       1e-9 * l->add_32, 1e-9 * l->triad);
	}
	snprintf(key, sizeof key, "limits_%s", r->p->name);
	return record_result(&r->c->record, key,
	                     record_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "set_bytes", l->bytes,
	                                 "load_8_per_s", l->load_8, "load_32_per_s", l->load_32,
	                                 "add_8_per_s", l->add_8, "add_32_per_s", l->add_32,
	                                 "triad_bytes_per_s", l->triad));
}

static int measure(struct run *r)
{
	int64_t bytes = iso_grid_voxels(&r->p->grid) * (int64_t)sizeof *r->x;
	int st;

	if ((st = make_events(r))) return st;
	if (strcmp(set.file_order, "off") == 0 && (st = sort_events(&r->e, r->p))) return st;
	if ((st = iso_limits_measure(&r->limits, r->c->ctx, bytes))) return st;
	if ((st = tell_limits(r))) return st;
	if ((st = allocate(r))) return st;
	if ((st = run_row(r, false))) return st;
	return set.tof_fwhm_ps > 0 ? run_row(r, true) : ISO_OK;
}

static int run_problem(struct cmd *c, const struct problem *p)
{
	struct run r = { .c = c, .p = p };
	int st = measure(&r);

	iso_ctx_vec(c->ctx)->free(c->ctx, r.x);
	iso_ctx_vec(c->ctx)->free(c->ctx, r.acc);
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
	return cmd_plan(c, &lines);
}

static bool chosen(const struct problem *p)
{
	return strcmp(set.which, "all") == 0 || strcmp(set.which, p->name) == 0;
}

/* The one with the most voxels is what memory must hold. */
static const struct problem *largest(void)
{
	const struct problem *most = NULL;

	for (int i = 0; i < N_PROBLEMS; i++)
		if (chosen(&problems[i]) &&
		    (!most || iso_grid_voxels(&problems[i].grid) > iso_grid_voxels(&most->grid)))
			most = &problems[i];
	return most;
}

static int run_cases(struct cmd *c)
{
	int st = plan(c, largest());

	for (int i = 0; i < N_PROBLEMS && !st; i++)
		if (chosen(&problems[i])) st = run_problem(c, &problems[i]);
	return st;
}

static int run_grid(struct cmd *c)
{
	struct problem p = { "grid", { { 0 }, { 0 }, { 0 } }, problems[0].radius, problems[0].length, 0, 0 };
	int st;

	memcpy(p.grid.n, set.size, sizeof p.grid.n);
	memcpy(p.grid.voxel, set.voxel, sizeof p.grid.voxel);
	if ((st = iso_grid_check(&p.grid)) || (st = plan(c, &p))) return st;
	return run_problem(c, &p);
}

static int write_events(struct cmd *c)
{
	struct iso_ring ring = ring_of(strcmp(set.which, "all") == 0 ? &problems[0] : largest());
	int st = cmd_check_output(c, set.write);

	if (!st && !cmd_is_events(set.write))
		st = iso_fail(ISO_EARG, "%s: events are written as .lmdT", set.write);
	return st ? st : bench_write_events(c, set.write, &ring, (int64_t)set.events);
}

static int run(struct cmd *c, const struct opt_set *sets)
{
	if (!opt_find(sets, "events")->given) set.events = iso_ctx_is_cuda(c->ctx) ? EVENTS_CUDA : EVENTS_CPU;
	if (opt_find(sets, "voxel")->given && !opt_find(sets, "grid")->given)
		return iso_fail(ISO_EARG, "--voxel goes with --grid");
	if (set.write) return write_events(c);
	return opt_find(sets, "grid")->given ? run_grid(c) : run_cases(c);
}

const struct bench bench_ray = { "ray", "Benchmark ray", opts, run, &set, sizeof set };
