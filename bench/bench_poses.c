/* SPDX-License-Identifier: BSD-3-Clause */
/* Benchmark poses: what an object that moves costs. Ends of events moved by their poses; the sensitivity by lines over many
   poses; a warp and its transpose; a frame of `isotome motion`: four updates of EM, and a registration. The scanner is the
   clinical ring, voxels have 4 mm. */
#include "bench.h"

#include "core/philox.h"
#include "limits.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char clinical_ring[] =
#include "embedded/clinical-ring.yaml.h"
	;

static const char *const cases[] = { "move", "sens", "warp", "frame", "all", NULL };

/* Bytes, each read and written once. MOVE: both ends of an event. WARP: a voxel's field, its value and the result.
   TRANSPOSE: field and value, an integer that is added to and read again, and the result. */
enum { MOVE = 56, WARP = 20, TRANSPOSE = 36 };
enum { POSES = 100, UPDATES = 4, SAMPLE = 20000 };
#define SCAN_S 600.
#define TURN .05 /* of a quaternion's parts, 3 degrees or so */
#define SHIFT_MM 5.

static struct settings {
	double events, lines, frame_events;
	int64_t repeats, seed, size;
	const char *which;
} set = { .lines = 0, .frame_events = 4e5, .repeats = 3, .seed = 1, .size = 64, .which = "all" };

static struct opt opts[] = {
	{ 0, "case", .text = &set.which, .words = cases, .value = "NAME",
	  .help = "move (ends of events), sens (sensitivity by lines), warp (and its transpose), frame (of "
	          "isotome motion), or all" },
	BENCH_EVENTS(&set.events),
	{ 0, "lines", .real = &set.lines, .value = "N", .min = 1e3, .max = 1e12,
	  .absent = "1e6 on the CPU, 1e8 on CUDA", .help = "lines of the sensitivity, about" },
	{ 0, "frame-events", .real = &set.frame_events, .value = "N", .min = 1e3, .max = 1e9,
	  .help = "events of a frame" },
	{ 0, "size", .integer = &set.size, .value = "N", .min = 8, .max = 1024,
	  .help = "voxels along each axis, of 4 mm" },
	BENCH_REPEATS(&set.repeats),
	{ 0, "seed", .integer = &set.seed, .value = "N", .min = 0, .max = 9e15,
	  .help = "seed of poses, lines and fields" },
	{ 0 },
};

struct run {
	struct cmd *c;
	iso_scanner *scanner;
	struct iso_grid grid;
	struct iso_limits limits;
	iso_poses *table;
	iso_motion *motion;
};

/* A number from -1 to 1. */
static double draw(int64_t number, int of)
{
	struct philox d = philox_draw((uint64_t)set.seed, (uint64_t)number, (uint64_t)of);

	return 2 * philox_unit_double(d.w[0], d.w[1]) - 1;
}

static int open_motion(struct run *r)
{
	double rows[POSES][8];
	struct iso_motion_parts parts = { .size = sizeof parts };

	for (int k = 0; k < POSES; k++) {
		const double row[8] = { SCAN_S * k / POSES,    1,
			                TURN * draw(k, 1),     TURN * draw(k, 2),
			                TURN * draw(k, 3),     SHIFT_MM * draw(k, 4),
			                SHIFT_MM * draw(k, 5), SHIFT_MM * draw(k, 6) };

		memcpy(rows[k], row, sizeof row);
	}
	int st = iso_poses_create(&r->table, rows[0], POSES, 8, NULL, "bench poses");

	parts.poses = r->table;
	return st ? st : iso_motion_create(&r->motion, &parts);
}

/* Lines between crystals, at even times. */
static int draw_events(struct iso_events *e, const struct run *r, int64_t n)
{
	const double *at = iso_scanner_positions(r->scanner);
	int64_t pairs = iso_scanner_pairs(r->scanner), a, b;

	*e = (struct iso_events){ .n = n, .v = size_alloc(n, sizeof *e->v) };
	if (!e->v || !(e->time_ms = size_alloc(n, sizeof *e->time_ms))) {
		iso_events_free(e);
		return iso_fail_memory("bench poses", n * (int64_t)(sizeof *e->v + 4));
	}
	for (int64_t i = 0; i < n; i++) {
		iso_scanner_pair(&a, &b, r->scanner, (int64_t)(.5 * (draw(i, 7) + 1) * (double)(pairs - 1)));
		e->v[i] = (struct iso_event){ { 0 }, { 0 }, 0 };
		for (int k = 0; k < 3; k++) {
			e->v[i].p1[k] = (float)at[3 * a + k];
			e->v[i].p2[k] = (float)at[3 * b + k];
		}
		e->time_ms[i] = (uint32_t)(1e3 * SCAN_S * (double)i / (double)n);
	}
	return ISO_OK;
}

static int add_row(struct run *r, const char *what, const char *limit, double *seconds, double events,
                   double limit_s, double bytes)
{
	struct bench_row row = { .bench = "poses", .events = events, .limit_s = limit_s, .bytes = bytes };

	row.time = bench_time((int)set.repeats, seconds);
	row.limit = limit;
	snprintf(row.problem, sizeof row.problem, "%s", what);
	row.more = record_pack("{s:s, s:f}", "case", what, "per_s", events / row.time.median);
	return bench_add(r->c, &row);
}

/* ---- ends of events, on the host ---- */

static int time_move(struct run *r)
{
	int64_t n = (int64_t)(set.events > 0 ? set.events : bench_events(r->c->ctx)), unknown;
	double seconds[BENCH_MOST_REPEATS];
	struct iso_events e;
	int st = draw_events(&e, r, n);

	for (int64_t i = -1; i < set.repeats && !st; i++) {
		double from = iso_now_s();

		st = iso_motion_events(&unknown, r->c->ctx, r->motion, e.v, e.time_ms, n);
		if (i >= 0) seconds[i] = iso_now_s() - from;
	}
	iso_events_free(&e);
	/* the rates of a device say nothing of the host */
	double limit = iso_ctx_is_cuda(r->c->ctx) ? 0 : (double)n * MOVE / r->limits.triad;

	return st ? st : add_row(r, "move", "memory", seconds, (double)n, limit, (double)n * MOVE);
}

/* ---- the sensitivity ---- */

static struct iso_ray ray_of(const struct run *r)
{
	return (struct iso_ray){ .size = sizeof(struct iso_ray), .grid = r->grid, .n_sub = 1 };
}

/* Voxels of a line, from a sample. */
static int visits_of_line(double *visits, const struct run *r)
{
	struct iso_ray p = ray_of(r);
	struct iso_events e;
	int st = draw_events(&e, r, SAMPLE);

	if (st) return st;
	*visits = iso_bench_visits(&p, e.v, e.n);
	iso_events_free(&e);
	return ISO_OK;
}

static int time_sens(struct run *r)
{
	const struct iso_motion_span span = { .size = sizeof span, .to_s = SCAN_S, .live = 1 };
	struct iso_ray_moved_info is = { .size = sizeof is };
	double seconds[BENCH_MOST_REPEATS], visits = 0, most = set.lines;
	struct iso_piece *piece = NULL;
	iso_real *s = NULL;
	int64_t n = 0;
	int st = iso_motion_pieces(&piece, &n, r->motion, &span, &r->grid, .25 * r->grid.voxel[0]);

	if (!(most > 0)) most = iso_ctx_is_cuda(r->c->ctx) ? 1e8 : 1e6;
	struct iso_ray_sens_moved p = {
		.size = sizeof p,
		.sens = { .size = sizeof p.sens, .grid = r->grid, .scanner = r->scanner, .seed = 1 },
		.piece = piece,
		.n = n,
		.budget = 0,
		.most = most
	};

	if (!st) st = BENCH_NEW(s, iso_grid_voxels(&r->grid));
	if (!st) st = visits_of_line(&visits, r);
	for (int64_t i = -1; i < set.repeats && !st; i++) {
		double from = iso_now_s();

		st = iso_ray_sens_moved(s, &is, r->c->ctx, &p);
		if (i >= 0) seconds[i] = iso_now_s() - from;
	}
	double all = (double)iso_scanner_pairs(r->scanner), lines = fmin(all, most) * (double)is.pieces;

	free(piece);
	free(s);
	return st ? st
	          : add_row(r, "sens by lines", "additions", seconds, lines, lines * visits / r->limits.add_8,
	                    0);
}

/* ---- a warp ---- */

static int time_warp(struct run *r)
{
	int64_t n = iso_grid_voxels(&r->grid);
	double seconds[BENCH_MOST_REPEATS];
	struct iso_warp p = { .size = sizeof p, .grid = r->grid };
	struct bench_op b = { 0 };
	iso_op *op = NULL;
	iso_real *u;
	int st;

	if (iso_ctx_is_cuda(r->c->ctx) && strcmp(set.which, "warp")) return ISO_OK; /* on the CPU alone */
	if ((st = BENCH_NEW(u, 3 * n))) return st;
	for (int64_t i = 0; i < 3 * n; i++)
		u[i] = (iso_real)(5 * sin(.02 * (double)(i % (3 * r->grid.n[0]))));
	p.field = u;
	st = iso_warp_create(&op, r->c->ctx, &p);
	free(u);
	if (!st) st = bench_open(&b, op, true);
	if (!st) st = bench_task(seconds, &b, BENCH_FORWARD, true, (int)set.repeats);
	if (!st)
		st = add_row(r, "warp", "memory", seconds, (double)n, (double)n * WARP / r->limits.triad,
		             (double)n * WARP);
	if (!st) st = bench_task(seconds, &b, BENCH_ADJOINT, true, (int)set.repeats);
	if (!st)
		st = add_row(r, "warp, transpose", "memory", seconds, (double)n,
		             (double)n * TRANSPOSE / r->limits.triad, (double)n * TRANSPOSE);
	iso_room_free(&b.room);
	iso_op_free(op);
	return st;
}

/* ---- a frame of `isotome motion` ---- */

/* A box of ones with a hole: something to register. */
static void paint(iso_real *x, const struct iso_grid *g)
{
	for (int64_t i = 0; i < iso_grid_voxels(g); i++) {
		const int64_t at[3] = { i % g->n[0], i / g->n[0] % g->n[1], i / g->n[0] / g->n[1] };
		const double part[3] = { .3, .35, .25 };
		double most = 0, hole = 0;

		for (int k = 0; k < 3; k++) {
			double d = ((double)at[k] + .5) / (double)g->n[k] - .5;

			most = fmax(most, fabs(d) / part[k]);
			hole += pow(d - .07 * k, 2);
		}
		x[i] = (iso_real)(most < 1 ? hole < .01 ? .3 : 1 : 0);
	}
}

struct frame {
	struct run *r;
	struct iso_events e;
	iso_real *x, *sens, *fixed, *moved;
	iso_register *with;
	struct iso_room room;
};

static int one_frame(struct frame *f)
{
	struct iso_ray p = ray_of(f->r);
	struct iso_registered found = { .size = sizeof found };
	iso_op *op = NULL;
	int st;

	p.tof_fwhm_ps = iso_scanner_tof_fwhm_ps(f->r->scanner);
	st = iso_ray_create(&op, f->r->c->ctx, &p, &f->e);
	struct iso_em em = { .size = sizeof em,
		             .op = op,
		             .iterations = UPDATES,
		             .sens = { 1, 1, f->sens },
		             .grid = f->r->grid };
	struct iso_run run = { .size = sizeof run };

	for (int64_t i = 0; i < iso_grid_voxels(&f->r->grid); i++) f->x[i] = 1;
	if (!st) st = iso_em_run(f->x, NULL, &em, &run);
	iso_op_free(op);
	return st ? st : iso_register_find(&found, f->with, f->moved, NULL, 0);
}

static int open_frame(struct frame *f)
{
	struct run *r = f->r;
	int64_t n = iso_grid_voxels(&r->grid);
	struct iso_pose z;
	int st = draw_events(&f->e, r, (int64_t)set.frame_events);

	f->room = iso_room_of(NULL, "bench poses");
	ISO_HOST(&f->room, f->x, n);
	ISO_HOST(&f->room, f->sens, n);
	ISO_HOST(&f->room, f->fixed, n);
	ISO_HOST(&f->room, f->moved, n);
	if (st || f->room.status) return st ? st : f->room.status;
	for (int64_t i = 0; i < n; i++) f->sens[i] = 1;
	paint(f->fixed, &r->grid);
	(void)iso_poses_row(&z, r->table, 1);
	st = iso_register_resample(f->moved, r->c->ctx, &r->grid, f->fixed, &z);
	return st ? st : iso_register_create(&f->with, r->c->ctx, &r->grid, f->fixed);
}

static int time_frame(struct run *r)
{
	struct frame f = { .r = r };
	struct iso_ray p = ray_of(r);
	double seconds[BENCH_MOST_REPEATS];
	int st = open_frame(&f);

	for (int64_t i = -1; i < set.repeats && !st; i++) {
		double from = iso_now_s();

		st = one_frame(&f);
		if (i >= 0) seconds[i] = iso_now_s() - from;
	}
	p.tof_fwhm_ps = iso_scanner_tof_fwhm_ps(r->scanner);
	double visits =
		st ? 0
		   : UPDATES * (double)f.e.n * iso_bench_visits(&p, f.e.v, f.e.n < SAMPLE ? f.e.n : SAMPLE);

	iso_register_free(f.with);
	iso_events_free(&f.e);
	if (!st)
		st = add_row(r, "frame of motion", "updates", seconds, set.frame_events,
		             visits * (1 / r->limits.load_8 + 1 / r->limits.add_8), 0);
	iso_room_free(&f.room);
	return st;
}

/* ---- all ---- */

static int plan(struct run *r)
{
	double events = set.events > 0 ? set.events : bench_events(r->c->ctx);
	struct iso_plan lines = { 0 };

	iso_plan_add(&lines, "events", (int64_t)fmax(events, set.frame_events), 2 * sizeof(struct iso_event),
	             false);
	iso_plan_add(&lines, "images", iso_grid_voxels(&r->grid), 16 * sizeof(iso_real), false);
	return cmd_plan(r->c, &lines);
}

static int run(struct cmd *c, const struct opt_set *sets)
{
	struct run r = { .c = c, .grid = { { set.size, set.size, set.size }, { 4, 4, 4 }, { 0 } } };
	int (*const time[])(struct run *) = { time_move, time_sens, time_warp, time_frame };
	int st = plan(&r);

	(void)sets;
	if (!st) st = bench_scanner(&r.scanner, clinical_ring);
	if (!st) st = iso_limits_measure(&r.limits, c->ctx, iso_grid_voxels(&r.grid) * 4);
	if (!st) st = open_motion(&r);
	if (!st && bench_says(c)) printf(": %.3g bytes a second measured\n", r.limits.triad);
	for (int k = 0; k < 4 && !st; k++)
		if (bench_chosen(set.which, cases[k])) st = time[k](&r);
	iso_motion_free(r.motion);
	iso_poses_free(r.table);
	iso_scanner_free(r.scanner);
	return st;
}

const struct bench bench_poses = { "poses", "Benchmark poses", opts, run, &set, sizeof set, false };
