/* SPDX-License-Identifier: BSD-3-Clause */
/* Model svoxel: optoacoustic spectra of an image of spherical voxels (Wang 2013, section III-B). */
#include "svoxel.h"

#include "core/comm.h"
#include "core/size.h"
#include "core/sized.h"
#include "tissue/tissue_delays.h"

/* Greatest number of bins that traces may have: delays of thousands of periods are a mistake. */
#define MOST_SPAN (1 << 24)
#define MOST_MM 1e9
#define ROUNDING .01 /* bins, more than delays in float can be wrong by */

/* Distance of a place from the box of voxel centres, mm; 0 inside. */
static double distance(const struct svoxel *p, const double at[3])
{
	double sum = 0;

	for (int a = 0; a < 3; a++) {
		double half = (double)(p->n[a] - 1) * p->ds / 2;
		double over = fabs(at[a] - p->first[a] - half) - half;

		sum += over > 0 ? over * over : 0;
	}
	return sqrt(sum);
}

double iso_svoxel_nearest(const struct svoxel *p)
{
	double nearest = INFINITY;

	for (int64_t i = 0; i < p->n_trans * p->points; i++) {
		double at[3];

		svoxel_point(at, p, i / p->points, (int)(i % p->points));
		nearest = fmin(nearest, distance(p, at));
	}
	return nearest;
}

/* Delays differ from that of the middle by no more than places do; half the delays across a rectangle by what
   the sine of an angle changes, at distance d at most 1/d a mm, and 1 at most. The view's bin is up to one
   before its delay, and the whole bins of a corner up to one before the corner's. */
struct svoxel_window iso_svoxel_window(const struct svoxel *p, int nx, int ny, int nz)
{
	double square = pow(nx - 1, 2) + pow(ny - 1, 2) + pow(nz - 1, 2);
	double reach = sqrt(square) / 2 * p->ds, bending = 0;
	bool rect = p->sir == ISO_SIR_RECT;

	for (int64_t q = 0; rect && q < p->n_trans; q++) {
		double d = distance(p, p->pos + 3 * q), half = (p->side[2 * q] + p->side[2 * q + 1]) / 2;

		bending = fmax(bending, half * (reach < d ? reach / d : 1));
	}
	double late = p->delays ? sound_differs(&p->sound, reach) * p->bins_per_us + 1 : 0;
	int before = (int)ceil(reach * p->bins_per_mm + bending * p->bins_per_mm + late + ROUNDING);

	return (struct svoxel_window){ 2 * before + (rect ? 3 : 2), before };
}

/* The most that corners of a rectangle are heard before or after its middle, mm. Seen from it the image lies in a ball
   of some radius; a direction to it has the cosine of the ball's middle to an axis, give or take the sine of the
   angle between the two. */
static double widest(const struct svoxel *p, int64_t q)
{
	const double *pos = p->pos + 3 * q, *axes[2] = { p->ex + 3 * q, p->ey + 3 * q };
	double r[3], radius = 0, d = 0, sum = 0;

	for (int a = 0; a < 3; a++) {
		double half = (double)(p->n[a] - 1) * p->ds / 2;

		r[a] = p->first[a] + half - pos[a];
		d += r[a] * r[a];
		radius += half * half;
	}
	radius = sqrt(radius);
	d = sqrt(d);
	for (int i = 0; i < 2; i++) {
		double along = fabs(r[0] * axes[i][0] + r[1] * axes[i][1] + r[2] * axes[i][2]);

		sum += p->side[2 * q + i] / 2 * (d > radius ? fmin(1, (along + radius) / d) : 1);
	}
	return sum;
}

struct svoxel_window iso_svoxel_window_all(const struct svoxel *p, int nx, int ny, int nz)
{
	struct svoxel_window w = iso_svoxel_window(p, nx, ny, nz);
	double most = 0;

	if (p->sir != ISO_SIR_RECT) return w;
	for (int64_t q = 0; q < p->n_trans; q++) most = fmax(most, widest(p, q));
	int beside = (int)ceil(most * p->bins_per_mm + p->least);

	return (struct svoxel_window){ w.rows + 2 * beside, w.before + beside };
}

static int check_lines(const struct iso_svoxel *p)
{
	if (p->lines < 1 || p->first_line < 0 || p->first_line + p->lines > 1 << 22)
		return iso_fail(ISO_EARG,
		                "svoxel: %" PRId64 " lines from number %" PRId64 ", must lie in 0 to %d",
		                p->lines, p->first_line, 1 << 22);
	if (!(p->df_mhz > 0) || !isfinite(p->df_mhz))
		return iso_fail(ISO_EARG, "svoxel: lines are %g MHz apart, must be positive", p->df_mhz);
	if (p->first_line + p->lines < 2 && p->offset_mhz == 0)
		return iso_fail(ISO_EARG, "svoxel: the only line is at 0 MHz, where nothing is heard");
	if (!(p->offset_mhz >= 0 && p->offset_mhz < p->df_mhz))
		return iso_fail(ISO_EARG,
		                "svoxel: lines are %g MHz beside multiples of %g, must be 0 to below it",
		                p->offset_mhz, p->df_mhz);
	if (p->width != 0 && (p->width < 2 || p->width > SVOXEL_TAPS))
		return iso_fail(ISO_EARG, "svoxel: the kernel's width is %d, must be 2 to %d", p->width,
		                SVOXEL_TAPS);
	if (p->sir == ISO_SIR_RECT && p->width != 0 && p->width < SVOXEL_NARROW)
		return iso_fail(ISO_EARG, "svoxel: the kernel's width is %d, rectangles need %d", p->width,
		                SVOXEL_NARROW);
	if (p->bins_per_wave != 0 && (p->bins_per_wave < 3 || p->bins_per_wave > 64))
		return iso_fail(ISO_EARG, "svoxel: %d bins a wave, must be 3 to 64", p->bins_per_wave);
	if (!(p->accuracy >= 0 && p->accuracy < 1))
		return iso_fail(ISO_EARG, "svoxel: accuracy %g, must be 0 to below 1", p->accuracy);
	if (p->batch < 0 || p->batch > 4096)
		return iso_fail(ISO_EARG, "svoxel: a batch of %d images, must be 0 to 4096", p->batch);
	return ISO_OK;
}

static int check(const struct iso_svoxel *p, const iso_ctx *ctx)
{
	const struct iso_grid *g = &p->grid;
	const double *v = g->voxel;
	int st;

	if ((st = iso_transducers_check(p->t)) || (st = iso_grid_check(g))) return st;
	if (fabs(v[1] - v[0]) > 1e-6 * v[0] || fabs(v[2] - v[0]) > 1e-6 * v[0])
		return iso_fail(ISO_EARG, "svoxel: voxels of %g x %g x %g mm, must be cubes", v[0], v[1],
		                v[2]);
	for (int a = 0; a < 3; a++) { /* a float holds the squares of lengths */
		double far = fabs(g->centre[a]) + (double)g->n[a] * v[a];

		if (!(v[a] >= 1 / MOST_MM) || !(far <= MOST_MM))
			return iso_fail(
				ISO_EARG,
				"svoxel: voxels of %g mm up to %g mm from the origin, must be %g to %g", v[a],
				far, 1 / MOST_MM, MOST_MM);
	}
	if ((st = check_lines(p))) return st;
	if (p->transform == ISO_SVOXEL_DIRECT && iso_ctx_is_cuda(ctx))
		return iso_fail(ISO_EARG, "svoxel: direct sums run on the CPU alone");
	if ((st = iso_svoxel_check_faces(p))) return st;
	return iso_delays_fit(p->delays, p->t, g, "svoxel");
}

static int check_span(const struct iso_svoxel *p)
{
	double per_us = p->df_mhz * (double)iso_svoxel_bins(p);
	int64_t low, span;

	iso_svoxel_span(&low, &span, per_us / p->t->speed, p);
	if (span > MOST_SPAN)
		return iso_fail(ISO_EARG,
		                "svoxel: delays over %" PRId64
		                " bins of %g us, most are %d: lines %g MHz apart do not suit this distance",
		                span, 1 / per_us, MOST_SPAN, p->df_mhz);
	return ISO_OK;
}

static double *copy(struct iso_room *room, const double *v, int64_t n)
{
	double *to;

	if (ISO_HOST(room, to, n) && v) memcpy(to, v, (size_t)n * sizeof *to);
	return to;
}

static int set_up(struct iso_room *room, struct svoxel *p, const struct iso_svoxel *q)
{
	const struct iso_transducers *t = q->t;
	const struct iso_grid *g = &q->grid;
	int st;

	*p = (struct svoxel){
		.n = { g->n[0], g->n[1], g->n[2] },
		.ds = g->voxel[0],
		.n_trans = t->n,
		.pos = copy(room, t->pos, 3 * t->n),
		.ex = copy(room, t->ex, 3 * t->n),
		.ey = copy(room, t->ey, 3 * t->n),
		.side = copy(room, t->aperture, 2 * t->n),
		.speed = t->speed,
		.sir = q->sir,
		.first_line = q->first_line,
		.lines = q->lines,
		.df_mhz = q->df_mhz,
		.offset_mhz = q->offset_mhz,
		.batch = q->batch > 0 ? q->batch : 1,
	};
	if ((p->delays = iso_delays_keep(q->delays))) p->sound = q->delays->m;
	for (int a = 0; a < 3; a++) p->first[a] = g->centre[a] - (double)(p->n[a] - 1) / 2 * p->ds;
	if ((st = iso_svoxel_tables(room, p, q))) return st;
	/* a transducer, all points of its face, is outside of all spheres */
	for (int64_t i = 0; i < p->n_trans * p->points; i++) {
		double at[3];

		svoxel_point(at, p, i / p->points, (int)(i % p->points));
		if (!(distance(p, at) > p->ds / 2))
			return iso_fail(ISO_EINPUT,
			                "svoxel: transducer %" PRId64 " at (%g, %g, %g) mm lies in the image",
			                i / p->points, at[0], at[1], at[2]);
	}
	return ISO_OK;
}

void iso_svoxel_free(iso_op *op)
{
	iso_delays_free(((struct svoxel *)op->data)->delays);
}

int iso_svoxel_each(const iso_op *op, int (*one)(const iso_op *op, iso_real *to, const iso_real *from),
                    iso_real *to, int64_t n_to, const iso_real *from, int64_t n_from)
{
	const struct svoxel *p = op->data;
	int st = ISO_OK;

	for (int64_t b = 0; b < p->batch && !st; b++)
		st = one(op, to + b * (n_to / p->batch), from + b * (n_from / p->batch));
	return st;
}

/* Says by width and bins a wave what was asked for by accuracy. */
static void settle_kernel(struct iso_svoxel *q)
{
	struct svoxel_kernel k = iso_svoxel_kernel(q);

	q->width = k.width;
	q->bins_per_wave = k.per_wave;
}

int iso_svoxel_points(struct iso_face_points *n, const struct iso_svoxel *p)
{
	struct iso_svoxel full;
	struct aperture_count c;
	int st;

	if (!n || !p || !p->t) return iso_fail_null(__func__);
	if ((st = iso_sized_take(&full, "iso_svoxel", sizeof full, p)) ||
	    (st = iso_svoxel_check_faces(&full)) || (st = iso_svoxel_face_count(&c, &full)))
		return st;
	const struct iso_face_points found = { .size = sizeof found,
		                               .along = { c.n[0], c.n[1] },
		                               .computed = iso_aperture_size(&c) };

	return iso_sized_put(n, "iso_face_points", sizeof found, &found);
}

int64_t iso_svoxel_settle(struct iso_svoxel *p)
{
	struct iso_svoxel full;

	if (!p || iso_sized_take(&full, "iso_svoxel", sizeof full, p) || !full.t || check_lines(&full))
		return 0;
	settle_kernel(&full);
	p->accuracy = iso_svoxel_error(&full);
	p->width = full.width;
	p->bins_per_wave = full.bins_per_wave;
	return iso_svoxel_bins(&full);
}

static int make_op(iso_op **op, iso_ctx *ctx, const struct iso_svoxel *q)
{
	struct iso_svoxel full;
	int64_t n_out;
	int st = iso_sized_take(&full, "iso_svoxel", sizeof full, q);

	if (st || (st = check(q = &full, ctx))) return st;
	settle_kernel(&full);
	if ((st = check_span(q))) return st;
	int64_t batch = q->batch > 0 ? q->batch : 1;

	if (!size_mul(&n_out, 2 * q->lines * batch, q->t->n)) return iso_fail_memory("spectra", INT64_MAX);
	struct iso_room room = { .ctx = ctx, .what = "tables of svoxel" };
	const struct iso_op_fn *fn = q->transform == ISO_SVOXEL_DIRECT ? &iso_svoxel_direct_fn
	                             : q->width > SVOXEL_NARROW        ? &iso_svoxel_fast_fn
	                                                               : &iso_svoxel_narrow_fn;
	struct svoxel *p;

	if (ISO_HOST(&room, p, 1)) room.status = set_up(&room, p, q);
	return iso_op_create_in(op, ctx, fn, batch * iso_grid_voxels(&q->grid), n_out, 1, &room, p);
}

int iso_svoxel_create(iso_op **op, iso_ctx *ctx, const struct iso_svoxel *q)
{
	if (!op || !ctx || !q) return iso_fail_null(__func__);
	iso_op *made = NULL;
	int st = make_op(&made, ctx, q);

	return iso_op_agree(op, made, ctx, st);
}

/* On CUDA: the most that parts can take, since bricks may be fewer. */
static void plan_wide(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_svoxel *q, int64_t span,
                      int64_t bins)
{
	int64_t n = q->t->n, number = sizeof(double), turned = q->offset_mhz > 0;

	iso_plan_add(plan, "traces of delays", n, span * SVOXEL_PIECE_BYTES, true);
	iso_plan_add(plan, "traces in parts", iso_share_of(n, 0, iso_ranks(ctx)).n * svoxel_parts(n, span),
	             span * number, true);
	iso_plan_add(plan, "spectra of delays", n, ((2 + turned) * bins + 2) * number, true);
}

static void plan_narrow(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_svoxel *q, int64_t span,
                        int64_t bins)
{
	int64_t batch = q->batch > 0 ? q->batch : 1, n = batch * q->t->n, turned = q->offset_mhz > 0;
	int64_t number = q->sir == ISO_SIR_RECT ? sizeof(double) : sizeof(float);

	iso_plan_add(plan, "traces of delays", batch * iso_share_of(q->t->n, 0, iso_ranks(ctx)).n,
	             span * (int64_t)sizeof(int64_t), true);
	iso_plan_add(plan, "terms of delays", n, span * q->width * (int64_t)sizeof(float), true);
	iso_plan_add(plan, "spectra of delays", n, ((2 + turned) * bins + 2) * number, true);
}

void iso_svoxel_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_svoxel *q)
{
	if (!plan || !ctx || !q) return;

	struct iso_svoxel full;

	if (iso_sized_take(&full, "iso_svoxel", sizeof full, q)) return; /* iso_svoxel_create will say so */
	settle_kernel(&full);
	q = &full;
	int64_t low, span, bins = iso_svoxel_bins(q), n = q->t->n, number = sizeof(double);
	int64_t turned = q->offset_mhz > 0; /* then two real transforms make a complex one */
	bool cuda = iso_ctx_is_cuda(ctx);

	iso_svoxel_span(&low, &span, q->df_mhz * (double)bins / q->t->speed, q);
	iso_plan_add(plan, "transducers and lines", 11 * n + 4 * q->lines + bins + 2 * turned * span, number,
	             false);
	if (!cuda && q->width <= SVOXEL_NARROW) {
		iso_svoxel_narrow_plan(plan, ctx, q, span);
		return;
	}
	if (!cuda) {
		iso_plan_add(plan, "traces of delays", n, span * SVOXEL_PIECE_BYTES, false);
		iso_plan_add(plan, "delays of threads", ctx->threads,
		             span * SVOXEL_COPIES * SVOXEL_PIECE_BYTES +
		                     (1 + turned) * (2 * bins + 2) * number,
		             false);
		return;
	}
	iso_plan_add(plan, "transducers and lines", 11 * n + 2 * q->lines + 2 * turned * span, number, true);
	if (q->width <= SVOXEL_NARROW)
		plan_narrow(plan, ctx, q, span, bins);
	else
		plan_wide(plan, ctx, q, span, bins);
	if (iso_ranks(ctx) > 1) /* whole bricks of up to 16 x 32 x 16 */
		iso_plan_add(plan, "bricks of the ranks", (q->grid.n[0] + 15) * (q->grid.n[1] + 31),
		             (q->grid.n[2] + 15) * (int64_t)sizeof(iso_real), true);
}
