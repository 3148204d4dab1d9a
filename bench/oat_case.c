/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases of benchmark oat: the operators of svoxel at sizes that others publish, at several accuracies. On CUDA with all
   transducers; on the CPU with a few of them, evenly spread, from which the time of all follows. */
#include "oat.h"

#include "model/svoxel/svoxel.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* PLANAR: 32 x 32 points in a square of 102.4 mm, 25.5 mm above the centre of the image. SPHERE: Wang 2013, 64
   rings of 90. ARC: 256 points over 145 degrees, 60 mm from the centre. */
enum array { PLANAR, SPHERE, ARC };

enum { PLANAR_SIDE = 32, FACE_MM = 2 };

static const struct problem {
	const char *name;
	int64_t grid[3];
	double voxel;
	enum array array;
	int64_t samples;
	double mhz, first_us, speed, fmax_mhz;
	enum iso_sir sir;
	int batch; /* images that also go through together, and frames are timed; 0: one at a time alone */
} problems[] = {
	{ "gpair-256", { 256, 256, 128 }, .1, PLANAR, 4096, 40, 0, 1.5, 10, ISO_SIR_POINT, 0 },
	{ "gpair-512", { 512, 512, 256 }, .1, PLANAR, 4096, 40, 0, 1.5, 10, ISO_SIR_POINT, 0 },
	{ "wang", { 210, 210, 440 }, .14, SPHERE, 1022, 20, 17.5, 1.54, 5, ISO_SIR_POINT, 0 },
	{ "wang-rect", { 210, 210, 440 }, .14, SPHERE, 1022, 20, 17.5, 1.54, 5, ISO_SIR_RECT, 0 },
	{ "slice", { 416, 416, 1 }, .1, ARC, 2030, 40, 12.5, 1.397, 5, ISO_SIR_POINT, 8 },
};

const char *const oat_cases[] = { "gpair-256", "gpair-512", "wang", "wang-rect", "slice", "sradon", NULL };

const char *const oat_tissues[] = { "none", "straight", "bent", "ellipsoid", "table", NULL };

#define QUICKER 1.054 /* the tissue */
#define TABLE_MM 1.

enum { MOST_ACCURACIES = 8 };
enum way { FORWARD, ADJOINT, SUM, WAYS };

static const char *const way_names[] = { "forward", "adjoint", "sum" };

/* Vectors and times of the operators. */
struct run {
	struct oat_run of;
	iso_op *op;
	struct iso_room room;
	iso_real *x, *y;
	enum way way;
	double setup_s, seconds[WAYS][BENCH_MOST_REPEATS + 1];
	double processor[WAYS][BENCH_MOST_REPEATS + 1]; /* the same of all threads, without other programs */
};

/* ---- the problem ---- */

/* By the golden section, or all would look from one side. */
static int64_t kept(int64_t i, int64_t n, int64_t all)
{
	double turn = .6180339887498949 * (double)i;
	int64_t q = (int64_t)(((double)i + turn - floor(turn)) * (double)all / (double)n);

	return q < i ? i : q >= all ? all - 1 : q;
}

static int make_planar(struct iso_transducers *t)
{
	const double pitch = 102.4 / PLANAR_SIDE;
	int64_t n = t->n = (int64_t)PLANAR_SIDE * PLANAR_SIDE;
	int st;

	if ((st = BENCH_NEW(t->pos, 3 * n)) || (st = BENCH_NEW(t->normal, 3 * n)) ||
	    (st = BENCH_NEW(t->ex, 3 * n)) || (st = BENCH_NEW(t->ey, 3 * n)))
		return st;
	t->radius = 25.5;
	for (int64_t i = 0; i < n; i++) {
		t->pos[3 * i] = ((double)(i % PLANAR_SIDE) - (PLANAR_SIDE - 1) / 2.) * pitch;
		t->pos[3 * i + 1] = ((double)(i / PLANAR_SIDE) - (PLANAR_SIDE - 1) / 2.) * pitch;
		t->pos[3 * i + 2] = 25.5;
		t->normal[3 * i + 2] = -1;
		iso_transducer_frame(t->ex + 3 * i, t->ey + 3 * i, t->normal + 3 * i);
	}
	return ISO_OK;
}

static int make_array(struct iso_transducers *t, enum array array)
{
	static const struct iso_rings rings[] = {
		[SPHERE] = { 65, 64, 90, M_PI / 256, M_PI / 64, 0, 2 * M_PI / 90 },
		[ARC] = { 60, 1, 256, M_PI / 2, M_PI, 17.5 * M_PI / 180, 145 * M_PI / 180 / 255 },
	};

	return array == PLANAR ? make_planar(t) : iso_transducers_rings(t, &rings[array]);
}

static int begin_problem(struct oat_run *r, const struct problem *of)
{
	struct iso_transducers *t = &r->t;
	int64_t few = 2 * iso_ctx_threads(r->c->ctx);
	int st;

	r->name = of->name;
	r->frames_of = of->batch;
	*t = (struct iso_transducers){ .speed = of->speed,
		                       .dt_us = 1 / of->mhz,
		                       .first_us = of->first_us,
		                       .samples = of->samples,
		                       .gamma = 2000 };
	if ((st = make_array(t, of->array))) return st;
	r->all = t->n;
	few = r->s->transducers > 0        ? r->s->transducers
	      : iso_ctx_is_cuda(r->c->ctx) ? t->n
	      : few < 4                    ? 4
	                                   : few;
	bench_pick(t, few, kept);
	if (of->sir != ISO_SIR_POINT && (st = BENCH_NEW(t->aperture, 2 * t->n))) return st;
	for (int64_t i = 0; i < 2 * t->n && t->aperture; i++) t->aperture[i] = FACE_MM;
	r->p = (struct iso_svoxel){ .size = sizeof r->p, .t = t, .sir = of->sir };
	for (int a = 0; a < 3; a++) {
		r->p.grid.n[a] = r->s->grid[a] > 0 ? r->s->grid[a] : of->grid[a];
		r->p.grid.voxel[a] = r->s->voxel > 0 ? r->s->voxel : of->voxel;
	}
	return iso_svoxel_lines(&r->p, of->fmax_mhz);
}

/* A ball drawn on voxels of TABLE_MM / 2. */
static int draw_ball(iso_real **mask, struct iso_tissue *tissue, const struct oat_run *r)
{
	struct iso_grid *g = &tissue->image_grid;
	int st;

	for (int a = 0; a < 3; a++) {
		g->voxel[a] = TABLE_MM / 2;
		g->n[a] = (int64_t)ceil((double)r->p.grid.n[a] * r->p.grid.voxel[a] / g->voxel[a]);
	}
	if ((st = BENCH_NEW(*mask, iso_grid_voxels(g)))) return st;
	for (int64_t i = 0; i < iso_grid_voxels(g); i++) {
		const int64_t at[3] = { i % g->n[0], i / g->n[0] % g->n[1], i / g->n[0] / g->n[1] };
		double square = 0;

		for (int a = 0; a < 3; a++)
			square += pow(((double)at[a] - .5 * (double)(g->n[a] - 1)) * g->voxel[a], 2);
		(*mask)[i] = square < r->s->radius * r->s->radius;
	}
	tissue->image = *mask;
	tissue->shape = ISO_TISSUE_MASK;
	tissue->table_mm = TABLE_MM;
	return ISO_OK;
}

static int begin_tissue(struct oat_run *r)
{
	const char *through = r->s->through;
	const double a = r->s->radius, b = strcmp(through, "ellipsoid") == 0 ? .9 * a : a;
	struct iso_tissue tissue = { .size = sizeof tissue, .axes = { a, b, a } };
	iso_real *mask = NULL;
	int st = ISO_OK;

	if (strcmp(through, "none") == 0) return ISO_OK;
	tissue.speed = QUICKER * r->t.speed;
	if (strcmp(through, "bent") == 0) tissue.path = ISO_SOUND_SNELL;
	if (strcmp(through, "table") == 0) st = draw_ball(&mask, &tissue, r);
	if (!st) st = iso_delays_create(&r->delays, r->c->ctx, &r->t, &tissue, &r->p.grid);
	r->p.delays = r->delays;
	free(mask);
	return st;
}

static int plan(const struct oat_run *r)
{
	bool cuda = iso_ctx_is_cuda(r->c->ctx);
	struct iso_plan lines = { 0 };

	iso_plan_add(&lines, "image", iso_grid_voxels(&r->p.grid), r->p.batch * (int64_t)sizeof(iso_real),
	             cuda);
	iso_plan_add(&lines, "data", 2 * r->p.lines * r->t.n, r->p.batch * (int64_t)sizeof(iso_real), cuda);
	iso_svoxel_plan(&lines, r->c->ctx, &r->p);
	return cmd_plan(r->c, &lines);
}

/* ---- the least that a pair takes ---- */

/* Narrow, forward: distance 1, its root, delay 1, place 3, address 1, amplitude 1, and the terms of the taps, each made,
   made a whole number and added to a window; back: the same less the amplitude, a load, the taps, the sum. A rectangle has
   16 for its sides, two inverses, and four corners, each with a place and taps of its own. Bytes are those of shared
   memory. Wide: of moments and pieces, as in bench_oat.c. */
struct oat_cost oat_cost(const struct oat_run *r, bool back)
{
	static const struct oat_cost narrow[][2] = { { { 1, 8, 17 }, { 1, 8, 12 } },
		                                     { { 1, 12, 18 }, { 1, 16, 11 } },
		                                     { { 1, 16, 22 }, { 1, 16, 12 } } },
				     corners[2] = { { 3, 64, 92 }, { 3, 64, 56 } },
				     wide[2][2] = { { { 1, 56, 29 }, { 1, 28, 23 } },
		                                    { { 1, 256, 102 }, { 1, 128, 76 } } };
	const bool rect = r->p.sir == ISO_SIR_RECT;
	struct iso_svoxel p = r->p;

	iso_svoxel_settle(&p);
	if (p.width > SVOXEL_NARROW) return wide[rect][back];
	return rect ? corners[back] : narrow[p.width - 2][back];
}

enum {
	ROOT_SLOTS = 8
}; /* CUDA: 16 lanes make roots where 128 compute; about so many of a CPU's vectors, too */

double oat_pairs(const struct oat_run *r)
{
	return (double)iso_grid_voxels(&r->p.grid) * (double)r->t.n * r->p.batch;
}

double oat_least_s(const struct oat_run *r, bool back, const char **limit)
{
	static const char *const names[] = { "roots", "shared memory", "issue slots" };
	const struct oat_cost c = oat_cost(r, back);
	const double pairs = oat_pairs(r), seconds[] = { pairs * c.roots * ROOT_SLOTS / r->rates->operations,
		                                         pairs * c.bytes / r->rates->cache,
		                                         pairs * c.slots / r->rates->operations };
	int most = 0;

	for (int i = 1; i < 3; i++) most = seconds[i] > seconds[most] ? i : most;
	*limit = names[most];
	return seconds[most];
}

/* ---- rows ---- */

static int add_row(const struct run *run, enum way way)
{
	const struct oat_run *r = &run->of;
	struct iso_svoxel kernel = r->p;
	double seconds[BENCH_MOST_REPEATS], processor[BENCH_MOST_REPEATS];
	double pairs = oat_pairs(r) * (way == SUM ? 2 : 1);
	char core[64] = "";
	struct bench_row row = { .bench = "oat", .visits = pairs };
	struct oat_cost cost = { 0 };

	iso_svoxel_settle(&kernel);
	memcpy(seconds, run->seconds[way] + 1, (size_t)r->s->repeats * sizeof *seconds);
	memcpy(processor, run->processor[way] + 1, (size_t)r->s->repeats * sizeof *processor);
	row.time = bench_time((int)r->s->repeats, seconds);
	const double worked_s = bench_time((int)r->s->repeats, processor).median;
	const double s = row.time.median, full_s = s * (double)r->all / (double)r->t.n;

	for (int back = 0; back < 2; back++) {
		if (way != SUM && back != (way == ADJOINT)) continue;
		struct oat_cost one = oat_cost(r, back);

		row.limit_s += oat_least_s(r, back, &row.limit);
		cost = (struct oat_cost){ cost.roots + one.roots, cost.bytes + one.bytes,
			                  cost.slots + one.slots };
	}
	row.more = record_pack(
		"{s:s, s:s, s:s, s:f, s:f, s:i, s:i, s:i, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:s, s:f, s:f, "
		"s:f, s:f}",
		"case", r->name, "through", r->s->through, "what", way_names[way], "accuracy", r->p.accuracy,
		"expected_error", kernel.accuracy, "width", kernel.width, "bins_per_wave",
		kernel.bins_per_wave, "batch", r->p.batch, "voxels", (json_int_t)iso_grid_voxels(&r->p.grid),
		"transducers", (json_int_t)r->t.n, "pairs", pairs, "pairs_per_s", pairs / s, "roots_per_pair",
		cost.roots, "shared_bytes_per_pair", cost.bytes, "slots_per_pair", cost.slots, "limited_by",
		row.limit, "full_size_s", full_s, "processor_s", worked_s, "setup_s", run->setup_s, "first_s",
		run->seconds[way][0]);
	if (!iso_ctx_is_cuda(r->c->ctx)) iso_snprintf(core, sizeof core, " (%.3g a core)", pairs / worked_s);
	iso_snprintf(row.problem, sizeof row.problem, "%s %g %s%s%s", r->name, r->p.accuracy, way_names[way],
	             r->delays ? ", tissue: " : "", r->delays ? r->s->through : "");
	iso_snprintf(
		row.note, sizeof row.note,
		"%d taps, %d bins a wave, batch %d: %.3g pairs/s%s; a pair: %g roots, %g bytes, %g slots; "
		"set-up %.3g s; all %" PRId64 " transducers %.3g s",
		kernel.width, kernel.bins_per_wave, r->p.batch, pairs / s, core, cost.roots, cost.bytes,
		cost.slots, run->setup_s, r->all, full_s);
	return bench_add(r->c, &row);
}

static int do_once(void *arg)
{
	struct run *r = arg;

	return r->way == FORWARD ? iso_forward(r->y, r->op, ISO_ALL, r->x)
	                         : iso_adjoint(r->x, r->op, ISO_ALL, r->y);
}

/* An image of noise and its data. */
static int begin_vectors(struct run *r)
{
	iso_ctx *ctx = r->of.c->ctx;

	r->room = iso_room_of(ctx, "bench");
	ISO_DEVICE(&r->room, r->x, iso_op_n_in(r->op));
	ISO_DEVICE(&r->room, r->y, iso_op_n_out(r->op));
	return r->room.status ? r->room.status : iso_ctx_vec(ctx)->uniform(ctx, iso_op_n_in(r->op), r->x, 1);
}

/* Forward and adjoint in turn would change the image: the one, then the other. */
static int time_ways(struct run *r)
{
	const int n = 1 + (int)r->of.s->repeats;
	int st = ISO_OK;

	for (r->way = FORWARD; r->way < SUM && !st; r->way++) {
		struct bench_work work = { r->of.c->ctx, r->way == FORWARD ? r->y : r->x, do_once, r,
			                   r->processor[r->way] };

		st = bench_repeat(n, r->seconds[r->way], &work);
	}
	for (int i = 0; i < n; i++) {
		r->seconds[SUM][i] = r->seconds[FORWARD][i] + r->seconds[ADJOINT][i];
		r->processor[SUM][i] = r->processor[FORWARD][i] + r->processor[ADJOINT][i];
	}
	for (int way = 0; way < WAYS && !st; way++) st = add_row(r, (enum way)way);
	return st;
}

static int work(struct run *r)
{
	double start_s = iso_now_s();
	int st = iso_svoxel_create(&r->op, r->of.c->ctx, &r->of.p);

	r->setup_s = iso_now_s() - start_s;
	if (!st && !(st = begin_vectors(r))) st = time_ways(r);
	iso_room_free(&r->room);
	iso_op_free(r->op);
	r->op = NULL;
	return !st && r->of.frames_of ? oat_frames(&r->of) : st;
}

/* ---- accuracies and batches ---- */

static int each_accuracy(struct run *r, int n, const double *accuracy)
{
	int st = ISO_OK, all = ISO_OK;

	for (int i = 0; i < n; i++)
		for (int many = 0; many < (r->of.frames_of ? 2 : 1); many++) {
			r->of.p.accuracy = accuracy[i];
			r->of.p.batch = many ? r->of.frames_of : 1;
			st = r->of.rates ? work(r) : plan(&r->of);
			if (st && st != CMD_DONE) return st;
			all = st ? st : all;
		}
	return all;
}

int oat_case(struct cmd *c, const struct oat_settings *s, const struct oat_rates *rates)
{
	struct run r = { .of = { .c = c, .s = s, .rates = rates } };
	double accuracy[MOST_ACCURACIES];
	int n = iso_numbers(accuracy, MOST_ACCURACIES, s->accuracies), st = ISO_OK, k = 0;

	for (int i = 0; i < n; i++)
		if (!(accuracy[i] > 0 && accuracy[i] < 1)) n = 0;
	if (n == 0)
		return iso_fail(ISO_EARG, "--accuracy is '%s', must be up to %d numbers above 0 and below 1",
		                s->accuracies, MOST_ACCURACIES);
	while (strcmp(problems[k].name, s->which) != 0) k++; /* the words of the option are these */
	if (!(st = begin_problem(&r.of, &problems[k])) && (!rates || !(st = begin_tissue(&r.of))))
		st = each_accuracy(&r, n, accuracy);
	iso_delays_free(r.of.delays);
	iso_transducers_free(&r.of.t);
	return st;
}
