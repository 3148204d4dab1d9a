/* SPDX-License-Identifier: BSD-3-Clause */
/* Sensitivity of an object that moves: lines of crystal pairs, moved into the object's axes by the poses of the pieces of
   the scan. All pairs at all pieces, or, by lines, each pair at M of them: the golden ratio spreads the pieces of
   neighbouring pairs evenly, so that no pair is left out and no random number is drawn. */
#include "core/loop/fixed.h"
#include "core/room.h"
#include "core/size.h"
#include "core/sized.h"
#include "ray_moved_kern.h"
#include "ray_sens_moved.h"
#include "scanner/scanner.h"

#include <omp.h>
#include <string.h>

enum {
	CHUNK = 1024,         /* lines between two looks at the request to stop */
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
	struct ray_moved l;
	struct iso_ray_sens sens;
	iso_ctx *ctx;
};

/* ---- one line ---- */

/* exp(-sum of chord x mu) along the whole line, of all maps. */
static double attenuation(const struct ray_moved *m, const struct moved_line *line)
{
	double sum = 0, p1[3], p2[3];

	if (m->counts) return 1;
	if (m->q.mu) {
		struct ray r = ray_setup(&m->q.mu_grid, line->p1, line->p2, NULL, 0);

		sum += ray_integral(&r, m->q.mu);
	}
	for (int b = 0; b < MOVED_BESIDE; b++) {
		if (!m->beside[b].mu) continue;
		moved_beside_ends(p1, p2, m, b, line);
		struct ray r = ray_setup(&m->beside[b].grid, p1, p2, NULL, 0);

		sum += ray_integral(&r, m->beside[b].mu);
	}
	return sum > 0 ? exp(-sum) : 1;
}

static void add_line(const struct iso_fixed *acc, const struct ray_moved *m, int64_t l)
{
	struct moved_line line;
	int thread = omp_get_thread_num();

	moved_get_line(&line, m, l);
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

/* No voxel's sum exceeds this. */
static double bound(const struct moved *m)
{
	double most = (double)m->l.q.pairs.n * iso_ray_largest_weight(&m->l.q.grid, NULL);

	return m->l.counts ? most : m->l.q.bound * m->l.until[m->l.n];
}

static struct iso_clock start_clock(const struct moved *m)
{
	struct iso_clock c = iso_clock_start_of(m->ctx, "sensitivity", "lines", 0, RAY_SENS_TICKS);

	iso_clock_count(&c, "lines", (double)moved_lines(&m->l) / RAY_SENS_TICKS);
	return c;
}

static int trace(struct iso_fixed *acc, const struct moved *m)
{
	iso_ctx *ctx = m->ctx;
	struct iso_clock clock = start_clock(m);
	int64_t n = moved_lines(&m->l), done = 0;

#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)
	for (int64_t c = iso_rank(ctx); c < (n + CHUNK - 1) / CHUNK; c += iso_ranks(ctx)) {
		for (int64_t l = c * CHUNK; !iso_stopped(ctx) && l < n && l < (c + 1) * CHUNK; l++)
			add_line(acc, &m->l, l);
		int64_t lines = CHUNK * iso_ranks(ctx) * __atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);

		if (omp_get_thread_num() == 0 && lines < n)
			iso_clock_step(&clock, (int64_t)(RAY_SENS_TICKS * ((double)lines / (double)n)), NULL);
	}
	iso_clock_step(&clock, RAY_SENS_TICKS, NULL);
	return iso_ctx_poll(ctx);
}

static int on_cpu(iso_real *s, const struct moved *m)
{
	iso_ctx *ctx = m->ctx;
	const struct ray_sens *q = &m->l.q;
	struct iso_fixed acc = { 0 };
	double additions = iso_ray_visits(&q->grid, NULL, q->projector) * (double)moved_lines(&m->l);
	int st = iso_fixed_create(&acc, ctx, ray_voxels(&q->grid), additions);

	if (!st) {
		iso_fixed_begin(&acc, ctx, bound(m));
		st = trace(&acc, m);
	}
	if (!(st = iso_fixed_sum(&acc, ctx, st))) iso_fixed_end(s, &acc, ctx);
	iso_fixed_free(&acc);
	return st;
}

static int on_cuda(iso_real *s, const struct moved *m)
{
	struct ray_moved l = m->l;
	void *fn = NULL;
	int st = iso_cuda_symbol(&fn, ISO_RAY_MOVED_CUDA);

	if (l.counts) {
		l.q.mu = NULL;
		for (int b = 0; b < MOVED_BESIDE; b++) l.beside[b].mu = NULL;
	}
	l.q.clock = start_clock(m);
	return st ? st : ((iso_ray_moved_fn *)fn)(s, m->ctx, &l);
}

static int sum_lines(iso_real *s, const struct moved *m)
{
	return iso_ctx_is_cuda(m->ctx) ? on_cuda(s, m) : on_cpu(s, m);
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
		if (s[i] > SEEN * most) v[n++] = (double)s[i] * (double)m->l.step / chord;
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
	struct ray_moved *l = &m->l;
	struct ray_sens q = l->q;
	int st;

	l->q.eff = NULL;
	l->q.solid_angle = false;
	l->q.coincidence_alone = true;
	l->counts = true;
	l->each = 1;
	l->step = l->q.pairs.n > SOME_FROM ? SOME : 1;
	if (l->q.drawn[l->q.n_strata] == l->q.pairs.n) l->stride = l->step; /* sample i is pair i */
	if (!(st = sum_lines(s, m))) st = median_lines(lines, s, m);
	l->q = q;
	l->counts = false;
	l->step = l->stride = 1;
	if (st) return st;
	double each = *lines > 0 ? ceil(wanted * wanted / *lines) : 1;

	if (p->most > 0) each = fmin(each, floor(p->most / (double)ray_sens_lines(&l->q)));
	l->each = each < 1 ? 1 : each > (double)l->n ? l->n : (int64_t)each;
	is->error = *lines > 0 ? OF_ERROR / sqrt(*lines * (double)l->each) : 0;
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

static struct iso_pose *make_backs(struct iso_room *room, const struct iso_pose *z, int64_t n)
{
	struct iso_pose *back;

	if (!z || !ISO_HOST(room, back, n)) return NULL;
	for (int64_t k = 0; k < n; k++) back[k] = iso_pose_inverse(z[k]);
	return back;
}

static int make_poses(struct ray_moved *l, struct iso_room *room, const struct iso_ray_sens_moved *p)
{
	double *weight, *until;
	struct iso_pose *back;
	int st = ISO_OK;

	ISO_HOST(room, until, l->n + 1);
	ISO_HOST(room, weight, l->n);
	ISO_HOST(room, back, l->n);
	for (int b = 0; b < MOVED_BESIDE && !st; b++) {
		if (!p->beside[b].mu) continue;
		l->beside[b].mu = p->beside[b].mu->v;
		l->beside[b].back = make_backs(room, p->beside[b].at, l->n);
		st = iso_ray_grid(&l->beside[b].grid, &p->beside[b].mu->grid);
	}
	if (st || room->status) return st ? st : room->status;
	until[0] = 0;
	for (int64_t k = 0; k < l->n; k++) {
		weight[k] = p->piece[k].weight;
		until[k + 1] = until[k] + weight[k];
		back[k] = iso_pose_inverse(p->piece[k].z);
	}
	l->weight = weight;
	l->until = until;
	l->back = back;
	return ISO_OK;
}

/* All pairs at all pieces, where these are few lines; else each pair at some. */
static int by_lines(iso_real *s, struct iso_ray_moved_info *is, struct moved *m,
                    const struct iso_ray_sens_moved *p, int64_t budget)
{
	double lines = (double)ray_sens_lines(&m->l.q) * (double)m->l.n;
	int st = ISO_OK;

	is->way = ISO_RAY_MOVED_ALL;
	is->pieces = m->l.n;
	if (lines > (double)budget) {
		st = choose_each(m, is, s, p);
		is->way = ISO_RAY_MOVED_LINES;
		is->pieces = m->l.each;
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

static int run(iso_real *s, struct iso_ray_moved_info *info, iso_ctx *ctx, const struct iso_ray_sens_moved *p)
{
	struct iso_ray_sens_moved full;
	struct iso_ray_moved_info is = { 0 };
	struct moved m = { .ctx = ctx, .l = { .step = 1, .stride = 1 } };
	struct iso_room room = iso_room_of(ctx, "sensitivity");
	int st = iso_sized_take(&full, "iso_ray_sens_moved", sizeof full, p);

	if (!st && info) st = iso_sized_clear(info, "iso_ray_moved_info", sizeof *info);
	if (st || (st = check(&full))) return st;
	int64_t budget = full.budget >= 0 ? full.budget : iso_ctx_is_cuda(ctx) ? BUDGET_CUDA : BUDGET_CPU;
	struct iso_ray_sens sens = full.sens;

	sens.share = share_of(&full, budget);
	m.l.n = full.n;
	st = iso_ray_sens_make(&m.l.q, &m.sens, &sens);
	if (!st) st = make_poses(&m.l, &room, &full);
	bool few = !st && (double)ray_sens_lines(&m.l.q) * (double)m.l.n <= (double)budget;

	if (!(st = iso_comm_agree(ctx, st)) && !few && budget > 0 && rings_serve(&full)) {
		is.way = ISO_RAY_MOVED_RINGS;
		is.pieces = m.l.n;
		st = (full.n > RINGS_MOST ? ray_sens_along : by_rings)(s, ctx, &full);
	} else if (!st) {
		st = by_lines(s, &is, &m, &full, budget);
	}
	iso_ray_sens_unmake(&m.l.q);
	iso_room_free(&room);
	if (!st && info) iso_sized_give(info, sizeof is, &is);
	return st;
}

int iso_ray_sens_moved(iso_real *s, struct iso_ray_moved_info *info, iso_ctx *ctx,
                       const struct iso_ray_sens_moved *p)
{
	if (!s || !ctx || !p) return iso_fail_null(__func__);
	return run(s, info, ctx, p);
}
