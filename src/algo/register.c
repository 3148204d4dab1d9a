/* SPDX-License-Identifier: BSD-3-Clause */
/* Rigid registration by inverse compositional Gauss-Newton (Baker and Matthews, IJCV 56, 221, 2004): F fixed, H moved,

     minimise over M and kappa  sum_x (H(M x)/kappa - F(x))^2      x in the voxels of the object in F

   With c their centre, J(x) = [ grad F, (x - c) x grad F, F ] is known before H is. A step is

     kappa = (F.h)/(F.F),  d = (J^t J)^-1 J^t (h/kappa - F),  M <- M D^-1,      h = H(M x)

   D the rotation by d[3..5] about c, then the shift d[0..2]. As J's last column is F, all that a step needs of the voxels
   is J^t h. Voxels that M carries out of the image do not count: what they added to J^t J is taken off. */
#include "isotome/register.h"

#include "core/room.h"
#include "core/size.h"
#include "core/sized.h"

#include "isotome/filter.h"

#include <math.h>
#include <string.h>

enum {
	LEVELS = 3,
	MOST_STEPS = 30, /* of a level */
	UNKNOWNS = 7,
	PAIRS = UNKNOWNS * (UNKNOWNS + 1) / 2,
	CHUNK = 2048 /* voxels whose sums are one partial sum, added in their order */
};

#define RADIUS_MM 70. /* what a rotation by 1 rad is worth: a head's radius */
#define END_MM 1e-3   /* a step below this ends a level */
#define OBJECT .1     /* of the quantile QUANTILE of F: above it a voxel is of the object */
#define QUANTILE .999
#define FLAT \
	1e-9 /* share of a column of J that is not in the columns before it: below, the column is one of them */

static const double level_mm[LEVELS] = { 12, 6, 0 }; /* FWHM */

struct voxel {
	double x[3], j[UNKNOWNS];
};

struct level {
	struct voxel *v;
	double jtj[PAIRS], sum; /* J^t J, lower half by rows; sum of F */
};

struct iso_register {
	iso_ctx *ctx;
	struct iso_grid grid;
	struct iso_room room;
	int64_t n; /* voxels of the object */
	int64_t *at;
	double centre[3];
	struct level level[LEVELS];
	iso_real *moved[LEVELS];
	struct sums *part;
};

/* Over the voxels: of h, and of what those outside would have added to the sums of the level. */
struct sums {
	double jth[UNKNOWNS], h, hh, out[PAIRS], out_sum;
	int64_t inside;
};

/* ---- seven equations ---- */

static double *pair(double *a, int i, int j)
{
	return a + i * (i + 1) / 2 + j;
}

/* x = A^-1 x by Cholesky, with the columns scaled to length 1; false: A has no inverse. */
static bool solve(double x[UNKNOWNS], const double jtj[PAIRS])
{
	double l[PAIRS], scale[UNKNOWNS];

	memcpy(l, jtj, sizeof l);
	for (int i = 0; i < UNKNOWNS; i++) {
		if (!(*pair(l, i, i) > 0)) return false;
		scale[i] = 1 / sqrt(*pair(l, i, i));
	}
	for (int i = 0; i < UNKNOWNS; i++) {
		for (int j = 0; j <= i; j++) {
			double s = *pair(l, i, j) * scale[i] * scale[j];

			for (int k = 0; k < j; k++) s -= *pair(l, i, k) * *pair(l, j, k);
			if (i == j && !(s > FLAT)) return false;
			*pair(l, i, j) = i == j ? sqrt(s) : s / *pair(l, j, j);
		}
	}
	for (int i = 0; i < UNKNOWNS; i++) {
		x[i] *= scale[i];
		for (int k = 0; k < i; k++) x[i] -= *pair(l, i, k) * x[k];
		x[i] /= *pair(l, i, i);
	}
	for (int i = UNKNOWNS - 1; i >= 0; i--) {
		for (int k = i + 1; k < UNKNOWNS; k++) x[i] -= *pair(l, k, i) * x[k];
		x[i] /= *pair(l, i, i);
	}
	for (int i = 0; i < UNKNOWNS; i++) x[i] *= scale[i];
	return true;
}

/* ---- the object ---- */

static int by_value(const void *a, const void *b)
{
	iso_real x = *(const iso_real *)a, y = *(const iso_real *)b;

	return (x > y) - (x < y);
}

/* OBJECT of the quantile, linear between the two values around it. */
static int find_least(double *least, const iso_real *f, int64_t n)
{
	iso_real *v = size_alloc(n, sizeof *v);
	double at = QUANTILE * (double)(n - 1);
	int64_t below = (int64_t)at, above = below + 1 < n ? below + 1 : below;

	if (!v) return iso_fail_memory("register", n * (int64_t)sizeof *v);
	memcpy(v, f, (size_t)n * sizeof *v);
	qsort(v, (size_t)n, sizeof *v, by_value);
	*least = OBJECT * ((double)v[below] + (at - (double)below) * ((double)v[above] - (double)v[below]));
	free(v);
	return *least > 0 ? ISO_OK
	                  : iso_fail(ISO_EINPUT, "register: the fixed image is empty, must show an object");
}

static void grow(unsigned char *to, const unsigned char *from, const struct iso_grid *g)
{
	const int64_t *n = g->n, stride[3] = { 1, n[0], n[0] * n[1] }, all = iso_grid_voxels(g);

	for (int64_t i = 0; i < all; i++) {
		to[i] = from[i];
		for (int a = 0; a < 3 && !to[i]; a++) {
			int64_t k = i / stride[a] % n[a];

			to[i] = (k > 0 && from[i - stride[a]]) || (k < n[a] - 1 && from[i + stride[a]]);
		}
	}
}

static double place(const struct iso_grid *g, int axis, int64_t i)
{
	return g->centre[axis] + ((double)i - .5 * (double)(g->n[axis] - 1)) * g->voxel[axis];
}

static void place_of(double x[3], const struct iso_grid *g, int64_t i)
{
	x[0] = place(g, 0, i % g->n[0]);
	x[1] = place(g, 1, i / g->n[0] % g->n[1]);
	x[2] = place(g, 2, i / g->n[0] / g->n[1]);
}

static void list_object(struct iso_register *r, const iso_real *f, const unsigned char *in)
{
	int64_t all = iso_grid_voxels(&r->grid);
	double sum = 0, x[3];

	for (int64_t i = 0, n = 0; i < all; i++) {
		if (!in[i]) continue;
		r->at[n++] = i;
		place_of(x, &r->grid, i);
		sum += (double)f[i];
		for (int a = 0; a < 3; a++) r->centre[a] += (double)f[i] * x[a];
	}
	for (int a = 0; a < 3; a++) r->centre[a] /= sum;
}

static int find_object(struct iso_register *r, const iso_real *f)
{
	struct iso_room room = iso_room_of(NULL, "register");
	int64_t all = iso_grid_voxels(&r->grid);
	unsigned char *in, *grown;
	double least = 0;
	int st;

	ISO_HOST(&room, in, all);
	ISO_HOST(&room, grown, all);
	if (!(st = room.status) && !(st = find_least(&least, f, all))) {
		for (int64_t i = 0; i < all; i++) in[i] = (double)f[i] > least;
		grow(grown, in, &r->grid);
		grow(in, grown, &r->grid);
		for (int64_t i = 0; i < all; i++) r->n += in[i];
		if (ISO_HOST(&r->room, r->at, r->n)) list_object(r, f, in);
		st = r->room.status;
	}
	iso_room_free(&room);
	return st;
}

/* ---- the fixed image ---- */

/* Central differences, at the border of the image from one side. */
static double slope(const struct iso_grid *g, const iso_real *f, int64_t i, int axis)
{
	const int64_t stride[3] = { 1, g->n[0], g->n[0] * g->n[1] };
	int64_t k = i / stride[axis] % g->n[axis], back = k > 0, on = k < g->n[axis] - 1;

	if (back + on == 0) return 0;
	return ((double)f[i + on * stride[axis]] - (double)f[i - back * stride[axis]]) /
	       ((double)(back + on) * g->voxel[axis]);
}

static void set_voxel(struct voxel *v, const struct iso_register *r, const iso_real *f, int64_t i)
{
	double g[3], a[3];

	place_of(v->x, &r->grid, i);
	for (int k = 0; k < 3; k++) {
		g[k] = slope(&r->grid, f, i, k);
		a[k] = v->x[k] - r->centre[k];
	}
	for (int k = 0; k < 3; k++) {
		v->j[k] = g[k];
		v->j[3 + k] = a[(k + 1) % 3] * g[(k + 2) % 3] - a[(k + 2) % 3] * g[(k + 1) % 3];
	}
	v->j[6] = (double)f[i];
}

static void add_pairs(double sum[PAIRS], const double j[UNKNOWNS])
{
	for (int i = 0, p = 0; i < UNKNOWNS; i++)
		for (int k = 0; k <= i; k++, p++) sum[p] += j[i] * j[k];
}

/* f: F as this level has it. */
static int set_level(struct level *l, struct iso_register *r, const iso_real *f)
{
	double none[UNKNOWNS] = { 0 };

	if (!ISO_HOST(&r->room, l->v, r->n)) return r->room.status;
	for (int64_t i = 0; i < r->n; i++) {
		set_voxel(&l->v[i], r, f, r->at[i]);
		add_pairs(l->jtj, l->v[i].j);
		l->sum += l->v[i].j[6];
	}
	return solve(none, l->jtj)
	               ? ISO_OK
	               : iso_fail(ISO_EINPUT, "register: the fixed image is round or flat, so that not all "
	                                      "shifts and rotations can be told from it");
}

static int smooth(iso_real *v, const struct iso_register *r, int level)
{
	const double mm = level_mm[level];
	const struct iso_filter f = { .kind = ISO_GAUSSIAN, .fwhm = { mm, mm, mm } };

	return mm > 0 ? iso_filter_host(v, r->ctx, &f, &r->grid) : ISO_OK;
}

static int prepare(struct iso_register *r, const iso_real *fixed)
{
	int64_t all = iso_grid_voxels(&r->grid);
	size_t bytes = (size_t)all * sizeof *fixed;
	int st = find_object(r, fixed);

	for (int k = 0; k < LEVELS && !st; k++) ISO_HOST(&r->room, r->moved[k], all);
	if (!st) ISO_HOST(&r->room, r->part, (r->n + CHUNK - 1) / CHUNK);
	if (!st) st = r->room.status;
	for (int k = 0; k < LEVELS && !st; k++) {
		memcpy(r->moved[k], fixed, bytes); /* work, before there is a moved image */
		if (!(st = smooth(r->moved[k], r, k))) st = set_level(&r->level[k], r, r->moved[k]);
	}
	return st;
}

int iso_register_create(iso_register **r, iso_ctx *ctx, const struct iso_grid *g, const iso_real *fixed)
{
	if (!r || !ctx || !g || !fixed) return iso_fail_null(__func__);
	int st = iso_grid_check(g);

	if (st) return st;
	struct iso_register *made = size_alloc(1, sizeof *made);

	if (!made) return iso_fail_memory("register", sizeof *made);
	made->ctx = ctx;
	made->grid = *g;
	made->room = iso_room_of(NULL, "register");
	if ((st = prepare(made, fixed)))
		iso_register_free(made);
	else
		*r = made;
	return st;
}

void iso_register_free(iso_register *r)
{
	if (!r) return;
	iso_room_free(&r->room);
	free(r);
}

/* ---- the moved image ---- */

/* Trilinear at x; false: x is not between the centres of voxels. */
static bool sample(double *h, const struct iso_grid *g, const iso_real *image, const double x[3])
{
	const int64_t stride[3] = { 1, g->n[0], g->n[0] * g->n[1] };
	double share[3], v[4];
	int64_t first = 0, on[3];

	for (int a = 0; a < 3; a++) {
		double u = (x[a] - g->centre[a]) / g->voxel[a] + .5 * (double)(g->n[a] - 1);

		if (!(u >= 0 && u <= (double)(g->n[a] - 1))) return false;
		int64_t i = (int64_t)u;

		share[a] = u - (double)i;
		first += i * stride[a];
		on[a] = i < g->n[a] - 1 ? stride[a] : 0;
	}
	for (int k = 0; k < 4; k++) {
		const iso_real *p = image + first + (k & 1 ? on[1] : 0) + (k & 2 ? on[2] : 0);

		v[k] = (1 - share[0]) * (double)p[0] + share[0] * (double)p[on[0]];
	}
	v[0] = (1 - share[1]) * v[0] + share[1] * v[1];
	v[2] = (1 - share[1]) * v[2] + share[1] * v[3];
	*h = (1 - share[2]) * v[0] + share[2] * v[2];
	return true;
}

static struct sums add_chunk(const struct iso_register *r, const struct voxel *v, int64_t n,
                             const iso_real *image, const struct iso_pose *m)
{
	struct sums s = { 0 };

	for (int64_t i = 0; i < n; i++) {
		double y[3], h;

		iso_pose_apply(y, m, v[i].x);
		if (!sample(&h, &r->grid, image, y)) {
			add_pairs(s.out, v[i].j);
			s.out_sum += v[i].j[6];
			continue;
		}
		for (int k = 0; k < UNKNOWNS; k++) s.jth[k] += v[i].j[k] * h;
		s.h += h;
		s.hh += h * h;
		s.inside++;
	}
	return s;
}

static struct sums add_all(const struct iso_register *r, int level, const struct iso_pose *m)
{
	int64_t chunks = (r->n + CHUNK - 1) / CHUNK;
	struct sums s = { 0 };

#pragma omp parallel for num_threads(iso_ctx_threads(r->ctx))
	for (int64_t c = 0; c < chunks; c++) {
		int64_t first = c * CHUNK, left = r->n - first;

		r->part[c] = add_chunk(r, r->level[level].v + first, left < CHUNK ? left : CHUNK,
		                       r->moved[level], m);
	}
	for (int64_t c = 0; c < chunks; c++) {
		const struct sums *p = &r->part[c];

		for (int k = 0; k < UNKNOWNS; k++) s.jth[k] += p->jth[k];
		for (int k = 0; k < PAIRS; k++) s.out[k] += p->out[k];
		s.h += p->h;
		s.hh += p->hh;
		s.out_sum += p->out_sum;
		s.inside += p->inside;
	}
	return s;
}

/* Pearson's, over the voxels inside; NaN: there is nothing to compare. */
static double correlation(const struct iso_register *r, int level, const struct sums *s)
{
	const struct level *l = &r->level[level];
	double n = (double)s->inside, f = l->sum - s->out_sum;
	double ff = l->jtj[PAIRS - 1] - s->out[PAIRS - 1] - f * f / n, hh = s->hh - s->h * s->h / n;

	return n > 1 && ff > 0 && hh > 0 ? (s->jth[6] - f * s->h / n) / sqrt(ff * hh) : NAN;
}

/* The inverse of D: x -> R^t (x - c - t) + c, R the rotation by d[3..5]. */
static struct iso_pose step_back(const double d[UNKNOWNS], const double c[3])
{
	double angle = sqrt(d[3] * d[3] + d[4] * d[4] + d[5] * d[5]), s = sin(angle), w = 1 - cos(angle);
	double u[3] = { 0 }, from[3], to[3];
	struct iso_pose back;

	for (int a = 0; a < 3; a++) {
		u[a] = angle > 0 ? d[3 + a] / angle : 0;
		from[a] = c[a] + d[a];
	}
	for (int i = 0; i < 3; i++) {
		for (int j = 0; j < 3; j++) back.m[4 * i + j] = w * u[i] * u[j] + (i == j ? 1 - w : 0);
		back.m[4 * i + (i + 1) % 3] += s * u[(i + 2) % 3]; /* those of R^t */
		back.m[4 * i + (i + 2) % 3] -= s * u[(i + 1) % 3];
		back.m[4 * i + 3] = 0;
	}
	iso_pose_apply(to, &back, from);
	for (int i = 0; i < 3; i++) back.m[4 * i + 3] = c[i] - to[i];
	return back;
}

/* One step of a level. *way: how far it goes, mm; false: the image has nothing where M carries the object. */
static bool step(struct iso_pose *m, double *way, const struct iso_register *r, int level)
{
	struct sums s = add_all(r, level, m);
	double jtj[PAIRS], d[UNKNOWNS];

	for (int k = 0; k < PAIRS; k++) jtj[k] = r->level[level].jtj[k] - s.out[k];
	double kappa = s.jth[6] / jtj[PAIRS - 1];

	if (!(kappa > 0)) return false;
	for (int k = 0; k < UNKNOWNS; k++) d[k] = s.jth[k] / kappa - *pair(jtj, 6, k);
	if (!solve(d, jtj)) return false;
	*m = iso_pose_multiply(*m, step_back(d, r->centre));
	*way = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]) +
	       RADIUS_MM * sqrt(d[3] * d[3] + d[4] * d[4] + d[5] * d[5]);
	return isfinite(*way);
}

static struct iso_pose best_of(const struct iso_register *r, const struct iso_pose *start, int n)
{
	struct iso_pose best = n > 0 ? start[0] : iso_pose_identity();
	double most = -2;

	for (int k = 0; k < n && n > 1; k++) {
		struct sums s = add_all(r, 0, &start[k]);
		double c = correlation(r, 0, &s);

		if (c > most) {
			most = c;
			best = start[k];
		}
	}
	return best;
}

int iso_register_find(struct iso_registered *found, iso_register *r, const iso_real *moved,
                      const struct iso_pose *start, int n)
{
	if (!found || !r || !moved || (n > 0 && !start)) return iso_fail_null(__func__);
	size_t bytes = (size_t)iso_grid_voxels(&r->grid) * sizeof *moved;
	struct iso_registered f = { .size = sizeof f };
	bool good = true;
	int st = ISO_OK;

	for (int level = 0; level < LEVELS && !st; level++) {
		memcpy(r->moved[level], moved, bytes);
		st = smooth(r->moved[level], r, level);
	}
	if (st || (st = iso_ctx_poll(r->ctx))) return st;
	f.pose = best_of(r, start, n);
	for (int level = 0; level < LEVELS && good; level++) {
		double way = INFINITY;

		for (int k = 0; k < MOST_STEPS && good && way >= END_MM; k++, f.steps++)
			good = step(&f.pose, &way, r, level);
		f.ended = good && way < END_MM;
	}
	struct sums s = add_all(r, LEVELS - 1, &f.pose);

	f.correlation = correlation(r, LEVELS - 1, &s);
	return iso_sized_put(found, "iso_registered", sizeof f, &f);
}

int iso_register_resample(iso_real *y, iso_ctx *ctx, const struct iso_grid *g, const iso_real *image,
                          const struct iso_pose *pose)
{
	if (!y || !ctx || !g || !image || !pose) return iso_fail_null(__func__);
	int st = iso_grid_check(g);

	if (st) return st;
	if (y == image)
		return iso_fail(ISO_EARG, "register: result and image are the same array, must be two");
	int64_t n = iso_grid_voxels(g);

#pragma omp parallel for num_threads(iso_ctx_threads(ctx))
	for (int64_t i = 0; i < n; i++) {
		double x[3], at[3], h = 0;

		place_of(x, g, i);
		iso_pose_apply(at, pose, x);
		y[i] = sample(&h, g, image, at) ? (iso_real)h : 0;
	}
	return ISO_OK;
}
