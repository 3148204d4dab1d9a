/* SPDX-License-Identifier: BSD-3-Clause */
/* Penalties on the CPU: each pair of neighbours once, a row of voxels at a time, so that the loops are vectors.

   Work is cut into tiles of rows, fixed by the grid alone. A tile writes its own rows and no others. It goes through its
   rows and through those just before them, whose neighbours in front lie in the tile. What a pair adds to a row of another
   tile goes to scratch and is forgotten: that tile computes the pair again. So threads never write to the same row, and
   the bits do not depend on the number of threads. */
#include "core/size.h"
#include "prior_in.h"

#include <omp.h>

#define INLINE static inline __attribute__((always_inline))

enum { ROWS = 32, PLANES = 16 };       /* of a tile */
enum { G, C, H, OUTPUTS };             /* gradient, curvature, Hessian */
enum { GRADIENT, CURVATURE, HESSIAN }; /* how deep: that alone; value, gradient and curvature; all */

/* Scratch of a thread, rows of nx values: for outputs that are not wanted or not the tile's, of the row itself and of the
   one in front; values of R. */
enum { OWN = 0, FRONT = OUTPUTS, SAME = 2 * OUTPUTS, VALUE = 3 * OUTPUTS, SCRATCH };

/* A run of pairs: voxel i of a row with voxel i of another, which has been moved by dx. */
struct run {
	int64_t n;
	const iso_real *x, *y, *kx, *ky;
	const uint32_t *bits;
	int shift;
	iso_real w;
	iso_real *to[OUTPUTS], *front[OUTPUTS], *value;
};

struct work {
	const iso_prior *r;
	const iso_real *x;
	const struct prior_want *want;
	const struct prior_update *u;
	iso_real *out[OUTPUTS];
	int depth;
	void (*pairs)(const struct prior_par *p, const struct run *t);
};

struct tile {
	int64_t y0, y1, z0, z1;
	iso_real *scratch;
	double value;
};

/* ---- pairs ---- */

INLINE void pairs(const struct prior_par *par, const struct run *t, enum iso_prior_kind kind, int depth,
                  bool kappa, bool weighted)
{
	const struct prior_par p = *par;
	const iso_real *restrict x = t->x, *restrict y = t->y, *restrict kx = t->kx, *restrict ky = t->ky;
	const uint32_t *restrict bits = t->bits;
	iso_real *restrict gx = t->to[G], *restrict gy = t->front[G], *restrict cx = t->to[C],
			   *restrict cy = t->front[C];
	iso_real *restrict hx = t->to[H], *restrict hy = t->front[H], *restrict value = t->value;
	const iso_real w = weighted ? t->w / 2 : t->w;
	const int64_t n = t->n;
	const int shift = t->shift;

#pragma omp simd
	for (int64_t i = 0; i < n; i++) {
		const struct prior_pair q = prior_pair_of(kind, &p, x[i], y[i]);
		iso_real wi = kappa ? w * (kx[i] * ky[i]) : w;

		if (weighted) wi *= (iso_real)(int32_t)(bits[i] >> shift & 3);
		gx[i] += wi * q.f1;
		gy[i] += wi * q.f2;
		if (depth > GRADIENT) {
			value[i] += wi * q.f;
			cx[i] += wi * q.c1;
			cy[i] += wi * q.c2;
		}
		if (depth > CURVATURE) {
			hx[i] += wi * q.h1;
			hy[i] += wi * q.h2;
		}
	}
}

/* One loop for each kind, for kappa or not, for weights or not. */
INLINE void pairs_of(const struct prior_par *p, const struct run *t, enum iso_prior_kind kind, int depth)
{
	if (t->bits)
		t->kx ? pairs(p, t, kind, depth, true, true) : pairs(p, t, kind, depth, false, true);
	else
		t->kx ? pairs(p, t, kind, depth, true, false) : pairs(p, t, kind, depth, false, false);
}

INLINE void run_pairs(const struct prior_par *p, const struct run *t, int depth)
{
	switch (p->kind) {
#define CASE(KIND, word)                                 \
	case ISO_PRIOR_##KIND:                           \
		pairs_of(p, t, ISO_PRIOR_##KIND, depth); \
		return;
		PRIOR_EACH(CASE)
#undef CASE
	default:
		return;
	}
}

static void run_gradient(const struct prior_par *p, const struct run *t)
{
	run_pairs(p, t, GRADIENT);
}

static void run_curvature(const struct prior_par *p, const struct run *t)
{
	run_pairs(p, t, CURVATURE);
}

static void run_hessian(const struct prior_par *p, const struct run *t)
{
	run_pairs(p, t, HESSIAN);
}

/* ---- rows ---- */

static bool within(const struct tile *t, int64_t y, int64_t z)
{
	return y >= t->y0 && y < t->y1 && z >= t->z0 && z < t->z1;
}

/* Where output `o` of row (y, z) goes: scratch `or_else` if it is not wanted, or not the tile's. */
static iso_real *target(const struct work *w, const struct tile *t, int o, int64_t y, int64_t z, int or_else)
{
	const int64_t *n = w->r->par.n;

	if (w->out[o] && within(t, y, z)) return w->out[o] + (z * n[1] + y) * n[0];
	return t->scratch + (or_else + o) * n[0];
}

static void add_row(int64_t n, iso_real *restrict to, const iso_real *restrict from)
{
	for (int64_t i = 0; i < n; i++) to[i] += from[i];
}

/* Pairs of row (y, z) with the one at offset d, number `o`. */
static void row_pairs(const struct work *w, struct tile *t, int64_t y, int64_t z, int o, const int d[3])
{
	const struct prior_par *p = &w->r->par;
	const int64_t nx = p->n[0], from = d[0] < 0, n = nx - (d[0] != 0);
	const int64_t at = (z * p->n[1] + y) * nx, there = ((z + d[2]) * p->n[1] + y + d[1]) * nx;
	const int64_t to = from + d[0];
	const bool same = at == there;
	struct run r = {
		.n = n,
		.x = w->x + at + from,
		.y = w->x + there + to,
		.kx = w->r->kappa ? w->r->kappa + at + from : NULL,
		.ky = w->r->kappa ? w->r->kappa + there + to : NULL,
		.bits = w->r->bits ? w->r->bits + at + from : NULL,
		.shift = 2 * o,
		.w = p->w[o],
		.value = t->scratch + VALUE * nx + from,
	};

	for (int k = 0; k < OUTPUTS; k++) {
		r.to[k] = target(w, t, k, y, z, OWN) + from;
		r.front[k] =
			same ? t->scratch + (SAME + k) * nx : target(w, t, k, y + d[1], z + d[2], FRONT) + to;
		if (same) memset(r.front[k], 0, (size_t)n * sizeof *r.front[k]);
	}
	w->pairs(p, &r);
	for (int k = 0; k <= w->depth && same; k++) add_row(n, r.to[k] + 1, r.front[k]);
}

/* Row (y, z) of tv: its own term, and what that gives to the neighbours in front. */
static void row_tv(const struct work *w, struct tile *t, int64_t y, int64_t z)
{
	const struct prior_par *p = &w->r->par;
	const int64_t nx = p->n[0], at = (z * p->n[1] + y) * nx, step[3] = { 1, nx, nx * p->n[1] };
	const bool in[3] = { true, y + 1 < p->n[1], z + 1 < p->n[2] };
	const iso_real *k = w->r->kappa;
	iso_real *own[OUTPUTS], *front[OUTPUTS][3], *value = t->scratch + VALUE * nx;

	for (int o = 0; o < OUTPUTS; o++) {
		own[o] = target(w, t, o, y, z, OWN);
		front[o][0] = own[o] + 1;
		front[o][1] = target(w, t, o, y + 1, z, FRONT);
		front[o][2] = target(w, t, o, y, z + 1, SAME);
	}
	for (int64_t i = 0; i < nx; i++) {
		iso_real next[3], there[3];

		for (int a = 0; a < 3; a++) {
			bool inside = in[a] && (a > 0 || i + 1 < nx);

			next[a] = inside ? w->x[at + i + step[a]] : 0;
			there[a] = inside && (!k || k[at + i + step[a]] > 0);
		}
		const struct prior_tv q = prior_tv_of(p, k ? k[at + i] : 1, w->x[at + i], next, there);
		const iso_real *of[OUTPUTS] = { q.ga, q.ca, q.ha }, self[OUTPUTS] = { q.g, q.c, q.h };

		for (int o = 0; o <= w->depth; o++) {
			own[o][i] += self[o];
			for (int a = 0; a < 3; a++)
				if (there[a] > 0) front[o][a][i] += of[o][a];
		}
		value[i] += q.f;
	}
}

/* ---- tiles ---- */

static void clear_plane(const struct work *w, const struct tile *t, int64_t z)
{
	const int64_t *n = w->r->par.n, rows = t->y1 - t->y0;

	memset(t->scratch, 0, (size_t)(SCRATCH * n[0]) * sizeof *t->scratch);
	for (int o = 0; o < OUTPUTS && z < t->z1; o++)
		if (w->out[o])
			memset(w->out[o] + (z * n[1] + t->y0) * n[0], 0,
			       (size_t)(rows * n[0]) * sizeof *w->x);
}

/* The terms of row (y, z) with all rows in front of it; to the tile's value if the row is its own. */
static void one_row(const struct work *w, struct tile *t, int64_t y, int64_t z)
{
	const struct prior_par *p = &w->r->par;
	const iso_real *value = t->scratch + VALUE * p->n[0];
	double sum = 0;

	if (!w->r->pairs) row_tv(w, t, y, z);
	for (int o = 0; o < PRIOR_PAIRS && w->r->pairs; o++) {
		int d[3];

		prior_offset(d, o);
		int64_t to_y = y + d[1], to_z = z + d[2];

		if (to_y < 0 || to_y >= p->n[1] || to_z >= p->n[2]) continue;
		if (within(t, y, z) || within(t, to_y, to_z)) row_pairs(w, t, y, z, o, d);
	}
	if (w->depth == GRADIENT) return;
	for (int64_t i = 0; i < p->n[0]; i++) sum += value[i];
	if (within(t, y, z)) t->value += sum;
	memset(t->scratch + VALUE * p->n[0], 0, (size_t)p->n[0] * sizeof *value);
}

static void update_plane(const struct work *w, const struct tile *t, int64_t z)
{
	const int64_t *n = w->r->par.n, at = (z * n[1] + t->y0) * n[0], voxels = (t->y1 - t->y0) * n[0];
	const struct prior_update u = *w->u;
	const iso_real *restrict x = w->x + at, *restrict g = u.g + at, *restrict p = u.p + at;
	iso_real *restrict to = w->out[G] + at, *restrict z_at = u.z + at;

	for (int64_t i = 0; i < voxels; i++) {
		to[i] = prior_updated(&u, x[i], z_at[i], g[i], p[i], to[i]);
		z_at[i] = 0;
	}
}

/* Plane by plane; a plane of the result is whole when the rows of the plane are done. */
static void one_tile(const struct work *w, struct tile *t)
{
	const int64_t *n = w->r->par.n;
	const int64_t first = t->y0 > 0 ? t->y0 - 1 : 0, last = t->y1 < n[1] ? t->y1 : n[1] - 1;

	clear_plane(w, t, t->z0);
	for (int64_t z = t->z0 > 0 ? t->z0 - 1 : 0; z < t->z1; z++) {
		if (z >= t->z0) clear_plane(w, t, z + 1);
		for (int64_t y = first; y <= last; y++) one_row(w, t, y, z);
		if (w->u && z >= t->z0) update_plane(w, t, z);
	}
}

int iso_prior_cpu(iso_prior *r, const struct prior_want *want, const iso_real *x,
                  const struct prior_update *u)
{
	const int depth = want->hessian ? HESSIAN : want->curvature || want->value ? CURVATURE : GRADIENT;
	const struct work w = {
		.r = r,
		.x = x,
		.want = want,
		.u = u,
		.out = { want->gradient, want->curvature, want->hessian },
		.depth = depth,
		.pairs = depth == GRADIENT    ? run_gradient
		         : depth == CURVATURE ? run_curvature
		                              : run_hessian,
	};
	const int64_t *n = r->par.n, ny = (n[1] + ROWS - 1) / ROWS, nz = (n[2] + PLANES - 1) / PLANES;
	struct iso_room room = iso_room_of(r->ctx, "prior");
	iso_real *scratch;
	double *value;

	ISO_HOST(&room, scratch, r->ctx->threads * SCRATCH * n[0]);
	ISO_HOST(&room, value, ny * nz);
	if (room.status) return iso_room_free(&room);
#pragma omp parallel for num_threads(r->ctx->threads) schedule(dynamic)
	for (int64_t i = 0; i < ny * nz; i++) {
		int64_t y = i % ny * ROWS, z = i / ny * PLANES;
		struct tile t = { y,
			          y + ROWS < n[1] ? y + ROWS : n[1],
			          z,
			          z + PLANES < n[2] ? z + PLANES : n[2],
			          scratch + omp_get_thread_num() * SCRATCH * n[0],
			          0 };

		if (iso_stopped(r->ctx)) continue;
		one_tile(&w, &t);
		value[i] = t.value;
	}
	if (want->value) *want->value = 0;
	for (int64_t i = 0; i < ny * nz && want->value; i++) *want->value += value[i];
	iso_room_free(&room);
	return iso_ctx_poll(r->ctx);
}
