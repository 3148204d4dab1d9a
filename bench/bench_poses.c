/* SPDX-License-Identifier: BSD-3-Clause */
/* Benchmark poses: what an object that moves costs. Ends of events moved by their poses; the sensitivity by lines over many
   poses, and how far it is from that by many more lines; a warp and its transpose; a step of EM of moved events, and of
   gates with fields; a frame of `isotome motion`: four updates of EM, and a registration. The scanner is the clinical ring,
   voxels have 4 mm. */
#include "bench.h"

#include "core/philox.h"
#include "limits.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char clinical_ring[] =
#include "embedded/clinical-ring.yaml.h"
	;

static const char *const cases[] = {
	"move", "sens", "accuracy", "warp", "step", "gates", "frame", "all", NULL
};

/* Bytes, each read and written once. MOVE: both ends of an event. WARP: a voxel's field, its value and the result.
   TRANSPOSE: field and value, an integer that is added to and read again, and the result. */
enum { MOVE = 56, WARP = 20, TRANSPOSE = 36 };
enum { POSES = 300, UPDATES = 4, SAMPLE = 20000, GATES = 8 };
#define MORE_LINES 16. /* of the sensitivity that another one is compared with */
#define SEEN .1        /* share of its maximum; voxels below are not compared */
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
	  .help = "move (ends of events), sens (sensitivity by lines), accuracy (of that, against 16 times "
	          "as "
	          "many lines), warp (and its transpose), step (of EM, without poses and with them), gates "
	          "(a "
	          "step with 8 displacement fields), frame (of isotome motion), or all (without accuracy on "
	          "the "
	          "CPU)" },
	BENCH_EVENTS(&set.events),
	{ 0, "lines", .real = &set.lines, .value = "N", .min = 1e3, .max = 1e12,
	  .absent = "1e6 on the CPU; on CUDA as many as isotome takes",
	  .help = "lines of the sensitivity, about" },
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
	const struct iso_poses_options step = { .size = sizeof step, .rule = ISO_POSE_STEP };
	struct iso_motion_parts parts = { .size = sizeof parts };

	for (int k = 0; k < POSES; k++) {
		const double row[8] = { SCAN_S * k / POSES,    1,
			                TURN * draw(k, 1),     TURN * draw(k, 2),
			                TURN * draw(k, 3),     SHIFT_MM * draw(k, 4),
			                SHIFT_MM * draw(k, 5), SHIFT_MM * draw(k, 6) };

		memcpy(rows[k], row, sizeof row);
	}
	int st = iso_poses_create(&r->table, rows[0], POSES, 8, &step, "bench poses");

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

/* A row, with a number that a target is set for and its note; NULL: it has none. */
static int add_noted(struct run *r, const char *what, const char *limit, double *seconds, double events,
                     double limit_s, double bytes, double number, const char *note)
{
	struct bench_row row = { .bench = "poses", .events = events, .limit_s = limit_s, .bytes = bytes };

	if (note) snprintf(row.note, sizeof row.note, note, number);
	row.time = bench_time((int)set.repeats, seconds);
	row.limit = limit;
	snprintf(row.problem, sizeof row.problem, "%s", what);
	row.more = record_pack("{s:s, s:f}", "case", what, "per_s", events / row.time.median);
	if (note && row.more) json_object_set_new(row.more, "number", json_real(number));
	return bench_add(r->c, &row);
}

static int add_row(struct run *r, const char *what, const char *limit, double *seconds, double events,
                   double limit_s, double bytes)
{
	return add_noted(r, what, limit, seconds, events, limit_s, bytes, 0, NULL);
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

/* The pieces of the whole scan, one a pose. */
static int sens_parameters(struct iso_ray_sens_moved *p, struct iso_piece **piece, const struct run *r)
{
	const struct iso_motion_span span = { .size = sizeof span, .to_s = SCAN_S, .live = 1 };
	const bool few = !(set.lines > 0) && !iso_ctx_is_cuda(r->c->ctx);

	*p = (struct iso_ray_sens_moved){
		.size = sizeof *p,
		.sens = { .size = sizeof p->sens, .grid = r->grid, .scanner = r->scanner, .seed = 1 },
		.most = few ? 1e6 : set.lines
	};
	int st = iso_motion_pieces(piece, &p->n, r->motion, &span, &r->grid, .25 * r->grid.voxel[0]);

	p->piece = *piece;
	return st;
}

static double lines_of(const struct run *r, const struct iso_ray_sens_moved *p,
                       const struct iso_ray_moved_info *is)
{
	double all = (double)iso_scanner_pairs(r->scanner);

	return (p->most > 0 ? fmin(all, p->most) : all) * (double)is->pieces;
}

static int time_sens(struct run *r)
{
	struct iso_ray_moved_info is = { .size = sizeof is };
	double seconds[BENCH_MOST_REPEATS], visits = 0;
	struct iso_ray_sens_moved p;
	struct iso_piece *piece = NULL;
	iso_real *s = NULL;
	int st = sens_parameters(&p, &piece, r);

	if (!st) st = BENCH_NEW(s, iso_grid_voxels(&r->grid));
	if (!st) st = visits_of_line(&visits, r);
	for (int64_t i = -1; i < set.repeats && !st; i++) {
		double from = iso_now_s();

		st = iso_ray_sens_moved(s, &is, r->c->ctx, &p);
		if (i >= 0) seconds[i] = iso_now_s() - from;
	}
	free(piece);
	free(s);
	if (st) return st;
	const double lines = lines_of(r, &p, &is);

	return add_noted(r, "sens by lines", "additions", seconds, lines, lines * visits / r->limits.add_8, 0,
	                 (double)is.pieces, "each pair at %g of 300 poses");
}

/* Root of the mean square of s / want - 1, per cent, over the voxels that are seen. */
static double rms_apart(const iso_real *s, const iso_real *want, int64_t n)
{
	double most = 0, sum = 0, voxels = 0;

	for (int64_t i = 0; i < n; i++) most = fmax(most, (double)want[i]);
	for (int64_t i = 0; i < n; i++) {
		if (!((double)want[i] > SEEN * most)) continue;
		sum += pow((double)s[i] / (double)want[i] - 1, 2);
		voxels++;
	}
	return 100 * sqrt(sum / voxels);
}

/* Timed is the sensitivity by many lines. */
static int measure_accuracy(struct run *r)
{
	const int64_t n = iso_grid_voxels(&r->grid);
	struct iso_ray_moved_info is = { .size = sizeof is };
	double seconds[BENCH_MOST_REPEATS], from;
	struct iso_ray_sens_moved p;
	struct iso_piece *piece = NULL;
	iso_real *s = NULL;

	if (!iso_ctx_is_cuda(r->c->ctx) && strcmp(set.which, "accuracy")) return ISO_OK; /* minutes */
	int st = sens_parameters(&p, &piece, r);

	if (!st) st = BENCH_NEW(s, 2 * n);
	if (!st) st = iso_ray_sens_moved(s, &is, r->c->ctx, &p);
	p.error = .005 / sqrt(MORE_LINES);
	p.most *= MORE_LINES;
	from = iso_now_s();
	if (!st) st = iso_ray_sens_moved(s + n, &is, r->c->ctx, &p);
	for (int64_t i = 0; i < set.repeats; i++) seconds[i] = iso_now_s() - from;
	const double rms = st ? 0 : rms_apart(s, s + n, n);

	free(piece);
	free(s);
	return st ? st
	          : add_noted(r, "sens by 16 times as many lines", NULL, seconds, lines_of(r, &p, &is), 0, 0,
	                      rms,
	                      "the sensitivity by lines is %.3g %% rms from it where it is above a tenth");
}

/* ---- a warp ---- */

/* A smooth field, 5 mm times `size`. */
static int draw_field(iso_real **u, const struct run *r, double size)
{
	const int64_t n = iso_grid_voxels(&r->grid);
	int st = BENCH_NEW(*u, 3 * n);

	for (int64_t i = 0; i < 3 * n && !st; i++)
		(*u)[i] = (iso_real)(5 * size * sin(.02 * (double)(i % (3 * r->grid.n[0]))));
	return st;
}

static int time_warp(struct run *r)
{
	int64_t n = iso_grid_voxels(&r->grid);
	double seconds[BENCH_MOST_REPEATS];
	struct iso_warp p = { .size = sizeof p, .grid = r->grid };
	struct bench_op b = { 0 };
	iso_op *op = NULL;
	iso_real *u = NULL;
	int st = draw_field(&u, r, 1);

	p.field = u;
	if (!st) st = iso_warp_create(&op, r->c->ctx, &p);
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

/* ---- steps of EM ---- */

/* Of list-mode events, all of them. *visits: of voxels. */
static int time_step(double *seconds, double *visits, struct run *r, const struct iso_ray *p,
                     const struct iso_events *e, const struct iso_gated *gated)
{
	iso_op *model = NULL, *op = NULL;
	struct bench_op b = { 0 };
	int st = iso_ray_create(&model, r->c->ctx, p, e);

	if (!st && gated) st = iso_gated_create(&op, model, gated);
	if (!st) st = bench_open(&b, gated ? op : model, false);
	if (!st) st = bench_task(seconds, &b, BENCH_STEP, true, (int)set.repeats);
	*visits = st ? 0 : (double)e->n * iso_bench_visits(p, e->v, e->n < SAMPLE ? e->n : SAMPLE);
	iso_room_free(&b.room);
	iso_op_free(op);
	iso_op_free(model);
	return st;
}

static double median_of(const double *seconds)
{
	double copy[BENCH_MOST_REPEATS];

	memcpy(copy, seconds, (size_t)set.repeats * sizeof *copy);
	return bench_time((int)set.repeats, copy).median;
}

static int add_step(struct run *r, const char *what, double *seconds, int64_t events, double visits,
                    double number, const char *note)
{
	const double least = visits * (1 / r->limits.load_8 + 1 / r->limits.add_8);

	return add_noted(r, what, "updates", seconds, (double)events, least, 0, number, note);
}

/* The same events as they are, and moved by their poses. */
static int time_steps(struct run *r)
{
	const struct iso_ray p = ray_of(r);
	double still[BENCH_MOST_REPEATS], moved[BENCH_MOST_REPEATS], visits;
	struct iso_events e;
	int64_t unknown;
	int st = draw_events(&e, r, (int64_t)(set.events > 0 ? set.events : bench_events(r->c->ctx)));

	if (st) return st;
	if (!(st = time_step(still, &visits, r, &p, &e, NULL)) &&
	    !(st = add_step(r, "EM step", still, e.n, visits, 0, NULL)) &&
	    !(st = iso_motion_events(&unknown, r->c->ctx, r->motion, e.v, e.time_ms, e.n)) &&
	    !(st = time_step(moved, &visits, r, &p, &e, NULL)))
		st = add_step(r, "EM step of moved events", moved, e.n, visits,
		              median_of(moved) / median_of(still), "%.3f of the step without poses");
	iso_events_free(&e);
	return st;
}

/* ---- a step of gates with fields ---- */

struct gates {
	struct iso_events e;
	int32_t *of;
	struct iso_warp warp[GATES];
	iso_real *field[GATES];
};

static int open_gates(struct gates *g, struct run *r)
{
	int st = draw_events(&g->e, r, (int64_t)(set.events > 0 ? set.events : bench_events(r->c->ctx)));

	if (!st) st = BENCH_NEW(g->of, g->e.n);
	for (int64_t j = 0; j < g->e.n && !st; j++) g->of[j] = (int32_t)(j % GATES);
	for (int k = 0; k < GATES && !st; k++) {
		st = draw_field(&g->field[k], r, (double)(k + 1) / GATES);
		g->warp[k] = (struct iso_warp){ .size = sizeof(struct iso_warp),
			                        .grid = r->grid,
			                        .field = g->field[k] };
	}
	return st;
}

static void close_gates(struct gates *g)
{
	for (int k = 0; k < GATES; k++) free(g->field[k]);
	iso_events_free(&g->e);
	free(g->of);
}

/* W and its transpose, one after the other. */
static int time_both(double *both, struct run *r, const struct iso_warp *p)
{
	double seconds[BENCH_MOST_REPEATS];
	struct bench_op b = { 0 };
	iso_op *op = NULL;
	int st = iso_warp_create(&op, r->c->ctx, p);

	*both = 0;
	if (!st) st = bench_open(&b, op, true);
	for (int back = 0; back < 2 && !st; back++) {
		st = bench_task(seconds, &b, back ? BENCH_ADJOINT : BENCH_FORWARD, true, (int)set.repeats);
		*both += st ? 0 : median_of(seconds);
	}
	iso_room_free(&b.room);
	iso_op_free(op);
	return st;
}

static int time_gates(struct run *r)
{
	struct gates g = { 0 };
	struct iso_ray p = ray_of(r);
	double still[BENCH_MOST_REPEATS], gated[BENCH_MOST_REPEATS], visits, warps;
	int st = open_gates(&g, r);
	const struct iso_gated all = { .size = sizeof all, .gates = GATES, .warp = g.warp };

	if (!st) st = time_both(&warps, r, &g.warp[GATES - 1]);
	if (!st) st = time_step(still, &visits, r, &p, &g.e, NULL);
	p.parts = GATES;
	p.part = g.of;
	if (!st) st = time_step(gated, &visits, r, &p, &g.e, &all);
	if (!st)
		st = add_step(r, "EM step of 8 gates with fields", gated, g.e.n, visits,
		              median_of(gated) / (median_of(still) + GATES * warps),
		              "%.3f of a step without gates and 8 warps with their transposes");
	close_gates(&g);
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

/* Of a frame; the last one stands in the row. */
enum { ORDER, EM, REGISTER, STAGES };

static int one_frame(struct frame *f, double stage[STAGES])
{
	struct iso_ray p = ray_of(f->r);
	struct iso_registered found = { .size = sizeof found };
	iso_op *op = NULL;
	int st;

	double from = iso_now_s();

	p.tof_fwhm_ps = iso_scanner_tof_fwhm_ps(f->r->scanner);
	st = iso_ray_create(&op, f->r->c->ctx, &p, &f->e);
	stage[ORDER] = iso_now_s() - from;
	struct iso_em em = { .size = sizeof em,
		             .op = op,
		             .iterations = UPDATES,
		             .sens = { 1, 1, f->sens },
		             .grid = f->r->grid };
	struct iso_run run = { .size = sizeof run };

	for (int64_t i = 0; i < iso_grid_voxels(&f->r->grid); i++) f->x[i] = 1;
	from = iso_now_s();
	if (!st) st = iso_em_run(f->x, NULL, &em, &run);
	iso_op_free(op);
	stage[EM] = iso_now_s() - from;
	from = iso_now_s();
	if (!st) st = iso_register_find(&found, f->with, f->moved, NULL, 0);
	stage[REGISTER] = iso_now_s() - from;
	return st;
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
	double seconds[BENCH_MOST_REPEATS], stage[STAGES] = { 0 };
	char note[128];
	int st = open_frame(&f);

	for (int64_t i = -1; i < set.repeats && !st; i++) {
		double from = iso_now_s();

		st = one_frame(&f, stage);
		if (i >= 0) seconds[i] = iso_now_s() - from;
	}
	p.tof_fwhm_ps = iso_scanner_tof_fwhm_ps(r->scanner);
	double visits =
		st ? 0
		   : UPDATES * (double)f.e.n * iso_bench_visits(&p, f.e.v, f.e.n < SAMPLE ? f.e.n : SAMPLE);

	iso_register_free(f.with);
	iso_events_free(&f.e);
	snprintf(note, sizeof note, "ms: events ordered %.3g, EM %.3g, registration %%.3g",
	         1e3 * stage[ORDER], 1e3 * stage[EM]);
	if (!st)
		st = add_step(r, "frame of motion", seconds, (int64_t)set.frame_events, visits,
		              1e3 * stage[REGISTER], note);
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
	iso_plan_add(&lines, "images and fields", iso_grid_voxels(&r->grid),
	             (16 + 3 * GATES) * sizeof(iso_real), false);
	return cmd_plan(r->c, &lines);
}

static int run(struct cmd *c, const struct opt_set *sets)
{
	struct run r = { .c = c, .grid = { { set.size, set.size, set.size }, { 4, 4, 4 }, { 0 } } };
	int (*const time[])(struct run *) = { time_move,  time_sens,  measure_accuracy, time_warp,
		                              time_steps, time_gates, time_frame };
	int st = plan(&r);

	(void)sets;
	if (!st) st = bench_scanner(&r.scanner, clinical_ring);
	if (!st) st = iso_limits_measure(&r.limits, c->ctx, iso_grid_voxels(&r.grid) * 4);
	if (!st) st = open_motion(&r);
	if (!st && bench_says(c)) printf(": %.3g bytes a second measured\n", r.limits.triad);
	for (int k = 0; cases[k + 1] && !st; k++)
		if (bench_chosen(set.which, cases[k])) st = time[k](&r);
	iso_motion_free(r.motion);
	iso_poses_free(r.table);
	iso_scanner_free(r.scanner);
	return st;
}

const struct bench bench_poses = { "poses", "Benchmark poses", opts, run, &set, sizeof set, false };
