/* SPDX-License-Identifier: BSD-3-Clause */
/* Sensitivity of an object that moves: lines of crystal pairs, moved into the object's axes by the poses of the pieces of
   the scan. All pairs at all pieces, or, by lines, each pair at M of them: the golden ratio spreads the pieces of
   neighbouring pairs evenly, so that no pair is left out and no random number is drawn. */
#include "core/loop/fixed.h"
#include "core/room.h"
#include "core/size.h"
#include "core/sized.h"
#include "ray_sens_moved.h"
#include "scanner/scanner.h"

#include <omp.h>
#include <string.h>

enum {
	CHUNK = 1024,         /* lines between two looks at the request to stop */
	BESIDE = 2,           /* maps that do not move with the object */
	BLOCK = 1 << 22,      /* lines of an operator */
	SOME = 17,            /* one pair in so many counts lines, */
	SOME_FROM = 10000000, /* where there are more pairs than this */
	RINGS_MOST = 32 /* pieces that each have a sensitivity by rings; along z more, see ray_sens_along.c */
};

#define BUDGET_CPU 200000000
#define BUDGET_CUDA 3000000000
#define ERROR .005
#define OF_ERROR 1.2 /* n M = (OF_ERROR / error)^2: many voxels lie below the median n */
#define SEEN .1      /* share of the largest sum of chords; voxels below it are not looked at */
#define SMALL 1e-9

struct moved {
	struct ray_sens q;
	struct iso_ray_sens sens;
	iso_ctx *ctx;
	int64_t n;
	const double *weight;
	double *until;         /* n + 1: w_0 + ... + w_k-1 */
	struct iso_pose *back; /* from crystals to the object */
	struct {
		struct ray_grid grid;
		const struct iso_array *mu;
		struct iso_pose *back; /* to the map; NULL: it lies where the crystals are */
	} beside[BESIDE];
	int64_t each; /* M; 0: all pieces */
	bool counts;  /* every line weighs 1: n of a voxel is looked for */
	int64_t step; /* of pairs those with number % step == 0 */
	bool by_op;
};

/* ---- one line ---- */

/* Of pair i, its j-th piece: the one in which W (j + frac(i phi)) / M falls. */
static int64_t piece_of(const struct moved *m, int64_t i, int64_t j)
{
	double part = (double)((uint64_t)i * 11400714819323198485u) * 0x1p-64;
	double at = m->until[m->n] * ((double)j + part) / (double)m->each;
	int64_t low = 0, high = m->n;

	while (high - low > 1) {
		int64_t middle = low + (high - low) / 2;

		*(m->until[middle] <= at ? &low : &high) = middle;
	}
	return low;
}

struct moved_line {
	double p1[3], p2[3];
	struct ray_sens_pair pair; /* as the crystals are */
	int64_t piece;
	double weight; /* 0: there is no line */
};

static int64_t lines_of_pair(const struct moved *m)
{
	return m->each ? m->each : m->n;
}

/* Line l of all: j-th piece of line l / lines_of_pair. */
static void get_line(struct moved_line *line, const struct moved *m, int64_t l)
{
	int64_t of_pair = lines_of_pair(m), j = l % of_pair;

	line->pair = ray_sens_sample(&m->q, l / of_pair, RAY_SENS_WHOLE);
	line->weight = 0;
	if (!(line->pair.weight > 0) || line->pair.number % m->step > 0) return;
	line->piece = m->each ? piece_of(m, line->pair.number, j) : j;
	line->weight =
		line->pair.weight * (m->each ? m->until[m->n] / (double)m->each : m->weight[line->piece]);
	if (m->counts) line->weight = 1. / m->q.spread.lines;
	iso_pose_apply(line->p1, m->back + line->piece, line->pair.p1);
	iso_pose_apply(line->p2, m->back + line->piece, line->pair.p2);
}

/* Ends of the line in the axes of a map beside. */
static void beside_ends(double p1[3], double p2[3], const struct moved *m, int b,
                        const struct moved_line *line)
{
	memcpy(p1, line->pair.p1, 3 * sizeof *p1);
	memcpy(p2, line->pair.p2, 3 * sizeof *p2);
	if (!m->beside[b].back) return;
	iso_pose_apply(p1, m->beside[b].back + line->piece, line->pair.p1);
	iso_pose_apply(p2, m->beside[b].back + line->piece, line->pair.p2);
}

/* exp(-sum of chord x mu) along the whole line, of all maps. */
static double attenuation(const struct moved *m, const struct moved_line *line)
{
	double sum = 0, p1[3], p2[3];

	if (m->counts) return 1;
	if (m->q.mu) {
		struct ray r = ray_setup(&m->q.mu_grid, line->p1, line->p2, NULL, 0);

		sum += ray_integral(&r, m->q.mu);
	}
	for (int b = 0; b < BESIDE; b++) {
		if (!m->beside[b].mu) continue;
		beside_ends(p1, p2, m, b, line);
		struct ray r = ray_setup(&m->beside[b].grid, p1, p2, NULL, 0);

		sum += ray_integral(&r, m->beside[b].mu->v);
	}
	return sum > 0 ? exp(-sum) : 1;
}

static void add_line(const struct iso_fixed *acc, const struct moved *m, int64_t l)
{
	struct moved_line line;
	int thread = omp_get_thread_num();

	get_line(&line, m, l);
	if (!(line.weight > 0)) return;
	struct ray r = ray_setup(&m->q.grid, line.p1, line.p2, NULL, 0);

	if (r.k0 >= r.k1) return;
	double factor = acc->scale * line.weight * attenuation(m, &line);

	for (int k = r.k0; k < r.k1; k++) {
		struct ray_piece piece[RAY_PIECES];
		int n = ray_sens_pieces(piece, &m->q, &r, k);

		for (int i = 0; i < n; i++) iso_fixed_add(acc, thread, piece[i].voxel, piece[i].w * factor);
	}
}

/* ---- all lines ---- */

static int64_t count_lines(const struct moved *m)
{
	return ray_sens_lines(&m->q) * lines_of_pair(m);
}

/* No voxel's sum exceeds this. */
static double bound(const struct moved *m)
{
	double most = (double)m->q.pairs.n * iso_ray_largest_weight(&m->q.grid, NULL);

	return m->counts ? most : m->q.bound * m->until[m->n];
}

static struct iso_clock start_clock(const struct moved *m)
{
	struct iso_clock c = iso_clock_start_of(m->ctx, "sensitivity", "lines", 0, RAY_SENS_TICKS);

	iso_clock_count(&c, "lines", (double)count_lines(m) / RAY_SENS_TICKS);
	return c;
}

static int trace(struct iso_fixed *acc, const struct moved *m)
{
	iso_ctx *ctx = m->ctx;
	struct iso_clock clock = start_clock(m);
	int64_t n = count_lines(m), done = 0;

#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)
	for (int64_t c = iso_rank(ctx); c < (n + CHUNK - 1) / CHUNK; c += iso_ranks(ctx)) {
		for (int64_t l = c * CHUNK; !iso_stopped(ctx) && l < n && l < (c + 1) * CHUNK; l++)
			add_line(acc, m, l);
		int64_t lines = CHUNK * iso_ranks(ctx) * __atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);

		if (omp_get_thread_num() == 0 && lines < n)
			iso_clock_step(&clock, (int64_t)(RAY_SENS_TICKS * ((double)lines / (double)n)), NULL);
	}
	iso_clock_step(&clock, RAY_SENS_TICKS, NULL);
	return iso_ctx_poll(ctx);
}

/* Lines of a block, for an operator. */
struct block {
	struct iso_events moved, still;
	iso_real *weight, *alpha, *sorted, *image, *y, *x;
};

static void put_event(struct iso_event *e, const double p1[3], const double p2[3])
{
	*e = (struct iso_event){ { (float)p1[0], (float)p1[1], (float)p1[2] },
		                 { (float)p2[0], (float)p2[1], (float)p2[2] },
		                 0 };
}

/* Lines first ... first + n - 1, in the axes of map b, or where b < 0 of the object with their weights. */
static void fill_block(struct block *to, const struct moved *m, int64_t first, int64_t n, int b)
{
	struct iso_event *v = b < 0 ? to->moved.v : to->still.v;

#pragma omp parallel for num_threads(m->ctx->threads)
	for (int64_t i = 0; i < n; i++) {
		struct moved_line line;
		double p1[3], p2[3];

		get_line(&line, m, first + i);
		v[i] = (struct iso_event){ { NAN, NAN, NAN }, { NAN, NAN, NAN }, 0 };
		if (b < 0) to->weight[i] = (iso_real)line.weight;
		if (!(line.weight > 0)) continue;
		if (b < 0) {
			put_event(v + i, line.p1, line.p2);
		} else {
			beside_ends(p1, p2, m, b, &line);
			put_event(v + i, p1, p2);
		}
	}
}

static int attenuate_block(struct block *to, const struct moved *m, int64_t first, int64_t n)
{
	for (int b = -1; b < BESIDE && !m->counts; b++) {
		const struct iso_array *mu = b < 0 ? m->sens.mu : m->beside[b].mu;
		int st;

		if (!mu) continue;
		if (b >= 0) fill_block(to, m, first, n, b);
		if ((st = iso_ray_attenuation(to->alpha, m->ctx, mu, b < 0 ? &to->moved : &to->still)))
			return st;
		for (int64_t i = 0; i < n; i++)
			if (to->weight[i] > 0) to->weight[i] *= to->alpha[i];
	}
	return ISO_OK;
}

/* One block, of which each rank has a part: its image, of all ranks, into to->image. */
static int back_project(struct block *to, const struct moved *m, int64_t first, int64_t n)
{
	const struct iso_vec *v = iso_ctx_vec(m->ctx);
	const struct iso_ray p = {
		.size = sizeof p, .grid = m->sens.grid, .projector = m->q.projector, .n_sub = 1
	};
	int64_t voxels = ray_voxels(&m->q.grid);
	iso_op *op = NULL;
	int st;

	to->moved.n = to->still.n = n;
	fill_block(to, m, first, n, -1);
	if ((st = attenuate_block(to, m, first, n)) || (st = iso_ray_create(&op, m->ctx, &p, &to->moved)))
		return st;
	iso_op_sort(to->sorted, op, to->weight);
	if (!(st = v->upload(m->ctx, to->y, to->sorted, n * (int64_t)sizeof *to->y)) &&
	    !(st = iso_adjoint(to->x, op, ISO_ALL, to->y)))
		st = v->download(m->ctx, to->image, to->x, voxels * (int64_t)sizeof *to->x);
	iso_op_free(op);
	return st;
}

/* Block by block through the operator of events, which knows the device; their images are added as integers. */
static int trace_blocks(struct iso_fixed *acc, const struct moved *m)
{
	struct iso_clock clock = start_clock(m);
	int64_t n = count_lines(m), voxels = ray_voxels(&m->q.grid);
	int64_t most = n < BLOCK ? n : BLOCK;
	struct iso_room room = iso_room_of(m->ctx, "sensitivity");
	struct block b = { 0 };
	int st;

	ISO_HOST(&room, b.moved.v, most);
	ISO_HOST(&room, b.still.v, most);
	ISO_HOST(&room, b.weight, most);
	ISO_HOST(&room, b.alpha, most);
	ISO_HOST(&room, b.sorted, most);
	ISO_HOST(&room, b.image, voxels);
	ISO_DEVICE(&room, b.y, most);
	ISO_DEVICE(&room, b.x, voxels);
	st = iso_comm_agree(m->ctx, room.status);
	for (int64_t first = 0; first < n && !st; first += BLOCK) {
		int64_t size = n - first < BLOCK ? n - first : BLOCK;
		struct iso_rows mine = iso_share(m->ctx, size);

		if ((st = back_project(&b, m, first + mine.first, mine.n))) break;
		for (int64_t i = 0; i < voxels && iso_rank(m->ctx) == 0; i++)
			iso_fixed_add(acc, 0, i, acc->scale * (double)b.image[i]);
		iso_clock_step(&clock, (int64_t)(RAY_SENS_TICKS * ((double)(first + size) / (double)n)),
		               NULL);
		st = iso_ctx_poll(m->ctx);
	}
	iso_room_free(&room);
	return st;
}

static int sum_lines(iso_real *s, const struct moved *m)
{
	iso_ctx *ctx = m->ctx;
	struct iso_fixed acc = { 0 };
	double additions =
		m->by_op ? 0 : iso_ray_visits(&m->q.grid, NULL, m->q.projector) * (double)count_lines(m);
	int st = iso_fixed_create(&acc, ctx, ray_voxels(&m->q.grid), additions);

	if (!st) {
		iso_fixed_begin(&acc, ctx, bound(m));
		st = (m->by_op ? trace_blocks : trace)(&acc, m);
	}
	if (!(st = iso_fixed_sum(&acc, ctx, st))) iso_fixed_end(s, &acc, ctx);
	iso_fixed_free(&acc);
	return st;
}

/* ---- how many pieces a pair takes ---- */

static int rising(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median of S_1 / (2 v / 3) over the voxels that are seen: lines of a voxel, v the geometric mean side, 2 v / 3 the
   mean chord. */
static int median_lines(double *median, const iso_real *s, const struct moved *m)
{
	const struct iso_grid *g = &m->sens.grid;
	int64_t voxels = iso_grid_voxels(g), n = 0;
	double most = 0, chord = 2. / 3 * cbrt(g->voxel[0] * g->voxel[1] * g->voxel[2]);
	double *v = size_alloc(voxels, sizeof *v);

	if (!v) return iso_fail_memory("sensitivity", voxels * (int64_t)sizeof *v);
	for (int64_t i = 0; i < voxels; i++) most = s[i] > most ? (double)s[i] : most;
	for (int64_t i = 0; i < voxels; i++)
		if (s[i] > SEEN * most) v[n++] = (double)s[i] * (double)m->step / chord;
	qsort(v, (size_t)n, sizeof *v, rising);
	*median = n > 0 ? .5 * (v[(n - 1) / 2] + v[n / 2]) : 0;
	free(v);
	return ISO_OK;
}

/* m->each from the wanted error, and the error that there will be; `s` is work space. */
static int choose_each(struct moved *m, struct iso_ray_moved_info *is, iso_real *s,
                       const struct iso_ray_sens_moved *p)
{
	double wanted = OF_ERROR / (p->error > 0 ? p->error : ERROR), *lines = &is->lines;
	struct ray_sens q = m->q;
	int st;

	m->q.eff = NULL;
	m->q.solid_angle = false;
	m->q.coincidence_alone = true;
	m->counts = true;
	m->each = 1;
	m->step = m->q.pairs.n > SOME_FROM ? SOME : 1;
	if (!(st = sum_lines(s, m))) st = median_lines(lines, s, m);
	m->q = q;
	m->counts = false;
	m->step = 1;
	if (st) return st;
	double each = *lines > 0 ? ceil(wanted * wanted / *lines) : 1;

	if (p->most > 0) each = fmin(each, floor(p->most / (double)ray_sens_lines(&m->q)));
	m->each = each < 1 ? 1 : each > (double)m->n ? m->n : (int64_t)each;
	is->error = *lines > 0 ? OF_ERROR / sqrt(*lines * (double)m->each) : 0;
	return ISO_OK;
}

/* ---- by rings ---- */

/* All rotations move the box by less than a quarter of a voxel. */
static bool only_translations(const struct iso_ray_sens_moved *p)
{
	const struct iso_grid *g = &p->sens.grid;
	double least = fmin(g->voxel[0], fmin(g->voxel[1], g->voxel[2])), r2 = 0;

	for (int a = 0; a < 3; a++) {
		double far = fabs(g->centre[a]) + .5 * (double)g->n[a] * g->voxel[a];

		r2 += far * far;
	}
	for (int64_t k = 0; k < p->n; k++)
		for (int i = 0; i < 3; i++)
			for (int j = 0; j < 3; j++)
				if (fabs(p->piece[k].z.m[4 * i + j] - (i == j)) > .25 * least / sqrt(r2))
					return false;
	return true;
}

static bool rings_serve(const struct iso_ray_sens_moved *p)
{
	struct iso_ray_sens one = p->sens;

	one.share = 0;
	return (p->n <= RINGS_MOST || ray_sens_along_z(p)) && !(p->sens.share > 0 && p->sens.share < 1) &&
	       !p->beside[0].mu && !p->beside[1].mu && only_translations(p) && iso_ray_sens_by_rings(&one);
}

/* S at pose (1, T) is that of an object at rest on the grid, and with the map, moved by T. */
static int by_rings(iso_real *s, iso_ctx *ctx, const struct iso_ray_sens_moved *p)
{
	int64_t voxels = iso_grid_voxels(&p->sens.grid);
	struct iso_room room = iso_room_of(ctx, "sensitivity");
	iso_real *one;
	double *sum, error;
	int st;

	ISO_HOST(&room, one, voxels);
	ISO_HOST(&room, sum, voxels);
	st = iso_comm_agree(ctx, room.status);
	for (int64_t i = 0; i < voxels && !st; i++) sum[i] = 0;
	for (int64_t k = 0; k < p->n && !st; k++) {
		struct iso_ray_sens at = p->sens;
		struct iso_array mu = { 0 };

		at.share = 0;
		if (p->sens.mu) {
			mu = *p->sens.mu;
			at.mu = &mu;
		}
		for (int a = 0; a < 3; a++) {
			at.grid.centre[a] += p->piece[k].z.m[4 * a + 3];
			mu.grid.centre[a] += p->piece[k].z.m[4 * a + 3];
		}
		st = iso_ray_sens(one, &error, ctx, &at);
		for (int64_t i = 0; i < voxels && !st; i++) sum[i] += p->piece[k].weight * (double)one[i];
	}
	for (int64_t i = 0; i < voxels && !st; i++) s[i] = (iso_real)sum[i];
	iso_room_free(&room);
	return st;
}

/* ---- what is asked for ---- */

static int check(const struct iso_ray_sens_moved *p)
{
	bool some = false;

	if (!p->piece || p->n < 1) return iso_fail(ISO_EARG, "sensitivity: there are no pieces of the scan");
	if (!(p->error >= 0) || !isfinite(p->error))
		return iso_fail(ISO_EARG, "sensitivity: error is %g, must be 0 or above", p->error);
	if (!(p->most >= 0))
		return iso_fail(ISO_EARG, "sensitivity: at most %g lines, must be 0 or above", p->most);
	for (int64_t k = 0; k < p->n; k++) {
		bool finite = p->piece[k].weight >= 0 && isfinite(p->piece[k].weight);

		for (int i = 0; i < 12; i++) finite = finite && isfinite(p->piece[k].z.m[i]);
		if (!finite)
			return iso_fail(
				ISO_EARG,
				"sensitivity: piece %" PRId64
				" has a pose that is not finite, or a weight of %g, which must be 0 or "
				"above",
				k, p->piece[k].weight);
		some = some || p->piece[k].weight > 0;
	}
	return some ? ISO_OK : iso_fail(ISO_EARG, "sensitivity: all pieces have weight 0");
}

static int make_poses(struct moved *m, struct iso_room *room, const struct iso_ray_sens_moved *p)
{
	double *weight;
	int st = ISO_OK;

	ISO_HOST(room, m->until, m->n + 1);
	ISO_HOST(room, weight, m->n);
	ISO_HOST(room, m->back, m->n);
	for (int b = 0; b < BESIDE; b++) {
		m->beside[b].mu = p->beside[b].mu;
		if (!m->beside[b].mu) continue;
		if (!st) st = iso_ray_grid(&m->beside[b].grid, &m->beside[b].mu->grid);
		if (p->beside[b].at) ISO_HOST(room, m->beside[b].back, m->n);
	}
	if (st || room->status) return st ? st : room->status;
	m->weight = weight;
	m->until[0] = 0;
	for (int64_t k = 0; k < m->n; k++) {
		weight[k] = p->piece[k].weight;
		m->until[k + 1] = m->until[k] + weight[k];
		m->back[k] = iso_pose_inverse(p->piece[k].z);
		for (int b = 0; b < BESIDE; b++)
			if (m->beside[b].back) m->beside[b].back[k] = iso_pose_inverse(p->beside[b].at[k]);
	}
	return ISO_OK;
}

/* All pairs at all pieces, where these are few lines; else each pair at some. */
static int by_lines(iso_real *s, struct iso_ray_moved_info *is, struct moved *m,
                    const struct iso_ray_sens_moved *p, int64_t budget)
{
	double lines = (double)ray_sens_lines(&m->q) * (double)m->n;
	int st = ISO_OK;

	is->way = ISO_RAY_MOVED_ALL;
	is->pieces = m->n;
	if (lines > (double)budget) {
		st = choose_each(m, is, s, p);
		is->way = ISO_RAY_MOVED_LINES;
		is->pieces = m->each;
	}
	return st ? st : sum_lines(s, m);
}

/* Of the pairs, where the caller does not say: all, unless these are more lines than he wants. */
static double share_of(const struct iso_ray_sens_moved *p, int64_t budget)
{
	const struct iso_ray_sens *q = &p->sens;
	double lines = q->scanner ? (double)iso_scanner_pairs(q->scanner) * fmax(q->rays, 1) : 0;

	if (q->share > 0) return q->share;
	if (lines * (double)p->n <= (double)budget || !(p->most > 0) || rings_serve(p)) return 1;
	return fmin(1, p->most / lines);
}

static int run(iso_real *s, struct iso_ray_moved_info *info, iso_ctx *ctx, const struct iso_ray_sens_moved *p,
               bool by_op)
{
	struct iso_ray_sens_moved full;
	struct iso_ray_moved_info is = { 0 };
	struct moved m = { .ctx = ctx, .step = 1, .by_op = by_op };
	struct iso_room room = iso_room_of(ctx, "sensitivity");
	int st = iso_sized_take(&full, "iso_ray_sens_moved", sizeof full, p);

	if (!st && info) st = iso_sized_clear(info, "iso_ray_moved_info", sizeof *info);
	if (st || (st = check(&full))) return st;
	int64_t budget = full.budget >= 0 ? full.budget : iso_ctx_is_cuda(ctx) ? BUDGET_CUDA : BUDGET_CPU;
	struct iso_ray_sens sens = full.sens;

	sens.share = share_of(&full, budget);
	m.n = full.n;
	st = iso_ray_sens_make(&m.q, &m.sens, &sens);
	if (!st) st = make_poses(&m, &room, &full);
	bool few = !st && (double)ray_sens_lines(&m.q) * (double)m.n <= (double)budget;

	if (!(st = iso_comm_agree(ctx, st)) && !few && budget > 0 && rings_serve(&full)) {
		is.way = ISO_RAY_MOVED_RINGS;
		is.pieces = m.n;
		st = (full.n > RINGS_MOST ? ray_sens_along : by_rings)(s, ctx, &full);
	} else if (!st) {
		st = by_lines(s, &is, &m, &full, budget);
	}
	iso_ray_sens_unmake(&m.q);
	iso_room_free(&room);
	if (!st && info) iso_sized_give(info, sizeof is, &is);
	return st;
}

int iso_ray_sens_moved(iso_real *s, struct iso_ray_moved_info *info, iso_ctx *ctx,
                       const struct iso_ray_sens_moved *p)
{
	if (!s || !ctx || !p) return iso_fail_null(__func__);
	return run(s, info, ctx, p, iso_ctx_is_cuda(ctx));
}

int iso_ray_sens_moved_by_op(iso_real *s, iso_ctx *ctx, const struct iso_ray_sens_moved *p)
{
	return run(s, NULL, ctx, p, true);
}
