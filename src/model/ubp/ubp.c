/* SPDX-License-Identifier: BSD-3-Clause */
/* Model ubp: from transducers and grid to the operator, and its loops on the CPU. Voxels of a few
   rows hear one transducer after the other, so that its pairs stay in the cache. A rank has its share of the rows. */
#include "ubp_kern.h"
#include "core/comm.h"
#include "core/op.h"
#include "core/sized.h"

enum {
	ROWS = 8,
	WIDTH = 128
};                             /* rows along x, and voxels of each, at a time: sums stay in the first cache */
enum { CHUNK = 64 };           /* transducers whose terms are added in iso_real, then to a double */
enum { MOST_PAIRS = 1 << 21 }; /* of samples that a transducer hears of the image */

#define MIN(a, b) ((a) < (b) ? (a) : (b))

/* ---- making the operator ---- */

/* The first sample of each transducer's pairs, and the number of pairs of the one that needs most. The
   whole part of a delay must be exact in float, and no table without end. */
static int spans(int64_t *first, int64_t *pairs, const struct iso_ubp *p)
{
	const struct iso_transducers *t = p->transducers;
	const double per_mm = 1 / (t->speed * t->dt_us), start = t->first_us / t->dt_us;

	*pairs = 0;
	for (int64_t q = 0; q < t->n; q++) {
		double least = 0, most = 0;

		for (int a = 0; a < 3; a++) {
			double half = .5 * (double)(p->grid.n[a] - 1) * p->grid.voxel[a];
			double d = fabs(t->pos[3 * q + a] - p->grid.centre[a]), below = fmax(0, d - half);

			least += below * below;
			most += (d + half) * (d + half);
		}
		/* samples of delay, from the first, to the nearest and the farthest voxel centre */
		double near = sqrt(least) * per_mm - start, far = sqrt(most) * per_mm - start;

		if (p->delays) {
			near += p->delays->m.least / t->dt_us;
			far += p->delays->m.most / t->dt_us;
		}

		if (!(far - near < MOST_PAIRS) || !(fabs(far) < 1e12))
			return iso_fail(ISO_EARG,
			                "ubp: the image is heard over %g samples, at most %d are possible",
			                far - near, MOST_PAIRS);
		/* rounding of distances in float moves a delay by less than this many samples */
		int64_t margin = 2 + (int64_t)(1e-6 * (fabs(far) + fabs(start)));
		int64_t low = (int64_t)floor(near) - margin, n = (int64_t)floor(far) + margin + 1 - low;

		if (first) first[q] = low;
		*pairs = n > *pairs ? n : *pairs;
	}
	return ISO_OK;
}

static double area(const struct iso_transducers *t, int64_t q)
{
	return t->area ? t->area[q] : 4 * M_PI * t->radius * t->radius / (double)t->n;
}

/* Without a weight above 0 the image would be 0 whatever the traces are. */
static int check_weights(const struct iso_ubp *p, const struct iso_hearing *h)
{
	const struct iso_transducers *t = p->transducers;
	int64_t heavy = 0, seeing = 0;

	for (int64_t q = 0; q < t->n; q++) {
		double most = 0; /* how far a voxel centre lies in front of the transducer */

		for (int a = 0; a < 3; a++) {
			double n = t->normal[3 * q + a],
			       half = .5 * (double)(p->grid.n[a] - 1) * p->grid.voxel[a];

			most += (p->grid.centre[a] - t->pos[3 * q + a]) * n + half * fabs(n);
		}
		heavy += area(t, q) > 0;
		seeing += area(t, q) > 0 && most > 0;
	}
	if (heavy == 0)
		return iso_fail(ISO_EINPUT,
		                "ubp: the areas of all %" PRId64 " transducers are 0, one must be above 0",
		                t->n);
	if (seeing == 0 && p->weights == ISO_UBP_SOLID_ANGLE)
		return iso_fail(ISO_EINPUT,
		                "ubp: no transducer faces the image: %" PRId64 " of %" PRId64
		                " normals point away from the grid's centre, they must point at the object",
		                h->away, t->n);
	return ISO_OK;
}

static int check(const struct iso_ubp *p)
{
	const struct iso_transducers *t = p->transducers;
	const double *v = p->grid.voxel;
	struct iso_hearing h = { .size = sizeof h };
	int st = iso_transducers_hear(&h, t, &p->grid);

	if (st) return st;
	if (fabs(v[0] - v[1]) > 1e-6 * v[0] || fabs(v[0] - v[2]) > 1e-6 * v[0])
		return iso_fail(ISO_EARG, "ubp: voxels of %g x %g x %g mm, must be cubes", v[0], v[1], v[2]);
	if (p->weights != ISO_UBP_SPHERE && p->weights != ISO_UBP_SOLID_ANGLE)
		return iso_fail(ISO_EARG, "ubp: there are no weights %d", (int)p->weights);
	if (p->weights == ISO_UBP_SPHERE && !(t->radius > 0))
		return iso_fail(ISO_EARG, "ubp: the transducers' sphere has radius %g mm, must be above 0",
		                t->radius);
	return (st = iso_delays_fit(p->delays, t, &p->grid, "ubp")) ? st : check_weights(p, &h);
}

static void make(struct iso_room *room, struct ubp_model *m, const struct iso_ubp *p)
{
	const struct iso_transducers *t = p->transducers;
	int64_t pairs;

	m->weights = p->weights;
	if ((m->delays = iso_delays_keep(p->delays))) m->sound = p->delays->m;
	ISO_HOST(room, m->source, t->n);
	ISO_HOST(room, m->face, t->n);
	ISO_HOST(room, m->first, t->n);
	if (room->status || (room->status = spans(m->first, &pairs, p))) return;
	m->p = (struct ubp_params){
		.n = { p->grid.n[0], p->grid.n[1], p->grid.n[2] },
		.voxel = p->grid.voxel[0],
		.sources = (int)t->n,
		.samples = (int)t->samples,
		.pairs = (int)pairs,
		.per_mm = (iso_real)(1 / (t->speed * t->dt_us)),
		.scale = p->weights == ISO_UBP_SPHERE ? -1 / (2 * M_PI * t->gamma * t->radius) : 1 / t->gamma,
	};
	for (int a = 0; a < 3; a++)
		m->p.first[a] = p->grid.centre[a] - .5 * (double)(p->grid.n[a] - 1) * p->grid.voxel[a];
	for (int64_t q = 0; q < t->n; q++) {
		for (int a = 0; a < 3; a++) {
			m->source[q].at[a] = (iso_real)t->pos[3 * q + a];
			m->face[q].normal[a] = (iso_real)t->normal[3 * q + a];
		}
		m->source[q].offset = (iso_real)(t->first_us / t->dt_us + (double)m->first[q]);
		m->face[q].area = (iso_real)area(t, q);
	}
}

/* ---- the loops ---- */

/* The work space: (sources, pairs). */
static int ubp_open(iso_op *op)
{
	const struct ubp_model *m = op->data;

	op->work = iso_room_host(&op->room, (int64_t)m->p.sources * m->p.pairs, sizeof(struct ubp_pair));
	return op->room.status;
}

/* Voxels of a row that are summed together: x of the first, y and z. */
struct row {
	int n;
	iso_real x, y, z, step;
	double first[3];       /* x, y, z */
	const iso_real *ratio; /* tissue's speed over that at each voxel; NULL: no tissue */
	double sum[WIDTH];     /* of terms; with solid angles beside: */
	double angle[WIDTH];
};

/* Where the voxels of a row hear one transducer. */
struct heard {
	iso_real d[WIDTH], per_d[WIDTH], f[WIDTH];
	int whole[WIDTH];
};

/* By itself, because it becomes vector code also where loads from tables do not. */
static void hear(struct heard *h, const struct row *r, const struct ubp_source *s, iso_real per_mm)
{
	iso_real dy = r->y - s->at[1], dz = r->z - s->at[2], across = dy * dy + dz * dz;
	iso_real x = r->x - s->at[0], step = r->step, offset = s->offset;

#pragma omp simd
	for (int i = 0; i < r->n; i++) {
		iso_real dx = iso_fma((iso_real)i, step, x);
		iso_real d = iso_sqrt(iso_fma(dx, dx, across));
		iso_real k = iso_fma(d, per_mm, -offset);
		int whole = (int)k;

		h->d[i] = d;
		h->per_d[i] = 1 / d;
		h->f[i] = k - (iso_real)whole;
		h->whole[i] = whole;
	}
}

/* The same through tissue, at transducer q. */
static void hear_late(struct heard *h, const struct row *r, const struct ubp_model *m, int q)
{
	const double *at = m->delays->pos + 3 * (int64_t)q;
	iso_real late[WIDTH], per_us = (iso_real)((double)m->p.per_mm * m->sound.c0);
	iso_real offset = m->source[q].offset;

	iso_sound_row(late, NULL, &m->sound, q, at, at, r->first, (double)r->step, r->n);
	for (int i = 0; i < r->n; i++) {
		iso_real k = iso_fma(late[i], per_us, iso_fma(h->d[i], m->p.per_mm, -offset));
		int whole = (int)k;

		h->f[i] = k - (iso_real)whole;
		h->whole[i] = whole;
	}
}

/* Samples of a way of a mm at voxel i. */
static iso_real own_per_mm(const struct row *r, const struct ubp_model *m, int i)
{
	return r->ratio ? m->p.per_mm * (iso_real)(m->sound.c0 / m->sound.c1) * r->ratio[i] : m->p.per_mm;
}

static void add_sphere(struct row *r, const struct ubp_model *m, const struct ubp_pair *pair, int from,
                       int to)
{
	iso_real near[WIDTH] = { 0 }, slope[WIDTH] = { 0 };
	struct heard h;

	for (int q = from; q < to; q++) {
		const struct ubp_pair *trace = pair + (int64_t)q * m->p.pairs;

		hear(&h, r, m->source + q, m->p.per_mm);
		if (r->ratio) hear_late(&h, r, m, q);
		for (int i = 0; i < r->n; i++) {
			struct ubp_pair v = trace[h.whole[i]];

			near[i] += ubp_near(h.per_d[i], h.f[i], v);
			slope[i] += v.slope;
		}
	}
	for (int i = 0; i < r->n; i++)
		r->sum[i] += (double)near[i] + .5 * (double)own_per_mm(r, m, i) * (double)slope[i];
}

static void add_angles(struct row *r, const struct ubp_model *m, const struct ubp_pair *pair, int from,
                       int to)
{
	iso_real sum[WIDTH] = { 0 }, angle[WIDTH] = { 0 };
	struct heard h;

	for (int q = from; q < to; q++) {
		const struct ubp_pair *trace = pair + (int64_t)q * m->p.pairs;
		const iso_real *normal = m->face[q].normal, *at = m->source[q].at;
		iso_real area = m->face[q].area, along = (r->x - at[0]) * normal[0] +
		                                         (r->y - at[1]) * normal[1] +
		                                         (r->z - at[2]) * normal[2];

		hear(&h, r, m->source + q, m->p.per_mm);
		if (r->ratio) hear_late(&h, r, m, q);
		for (int i = 0; i < r->n; i++) {
			iso_real w = ubp_angle(h.per_d[i], along + (iso_real)i * r->step * normal[0]);

			sum[i] += w * ubp_term(h.d[i] * own_per_mm(r, m, i), h.f[i], trace[h.whole[i]]);
			angle[i] += w * area;
		}
	}
	for (int i = 0; i < r->n; i++) {
		r->sum[i] += sum[i];
		r->angle[i] += angle[i];
	}
}

/* Up to ROWS rows from number `first` (of ny nz), voxels x0 ... x0 + n - 1 of each. */
static void tile(iso_real *image, const struct ubp_model *m, const struct ubp_pair *pair, int64_t first,
                 int rows, int64_t x0, int n)
{
	const struct ubp_params *p = &m->p;
	struct row r[ROWS];

	for (int i = 0; i < rows; i++)
		r[i] = (struct row){
			.n = n,
			.x = (iso_real)(p->first[0] + (double)x0 * p->voxel),
			.y = (iso_real)(p->first[1] + (double)((first + i) % p->n[1]) * p->voxel),
			.z = (iso_real)(p->first[2] + (double)((first + i) / p->n[1]) * p->voxel),
			.step = (iso_real)p->voxel,
			.first = { p->first[0] + (double)x0 * p->voxel,
			           p->first[1] + (double)((first + i) % p->n[1]) * p->voxel,
			           p->first[2] + (double)((first + i) / p->n[1]) * p->voxel },
			.ratio = m->delays ? m->sound.ratio + (first + i) * p->n[0] + x0 : NULL,
		};
	for (int q = 0; q < p->sources; q += CHUNK)
		for (int i = 0; i < rows; i++)
			(m->weights == ISO_UBP_SPHERE ? add_sphere : add_angles)(
				r + i, m, pair, q, q + CHUNK < p->sources ? q + CHUNK : p->sources);
	for (int i = 0; i < rows; i++)
		for (int k = 0; k < n; k++) {
			double v = p->scale * r[i].sum[k];

			if (m->weights == ISO_UBP_SOLID_ANGLE) v = r[i].angle[k] > 0 ? v / r[i].angle[k] : 0;
			image[(first + i) * p->n[0] + x0 + k] = (iso_real)v;
		}
}

static int ubp_adjoint(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	const struct ubp_model *m = op->data;
	struct ubp_pair *pair = op->work;
	int64_t rows = m->p.n[1] * m->p.n[2];
	const struct iso_rows own = iso_share(op->ctx, rows);

	(void)sub; /* one subset only */
	iso_op_counts(op, "backproject", "voxels", own.n * m->p.n[0]);
#pragma omp parallel for num_threads(op->ctx->threads)
	for (int64_t q = 0; q < m->p.sources; q++)
		for (int j = 0; j < m->p.pairs; j++)
			pair[q * m->p.pairs + j] = ubp_pair_of(y + q * m->p.samples, m->p.samples,
			                                       m->first[q], j, 2. * m->face[q].area);
#pragma omp parallel for num_threads(op->ctx->threads) schedule(dynamic)
	for (int64_t i = 0; i < own.n; i += ROWS) {
		for (int64_t x0 = 0; x0 < m->p.n[0] && !iso_ctx_cancelled(op->ctx); x0 += WIDTH)
			tile(x, m, pair, own.first + i, (int)MIN(own.n - i, ROWS), x0,
			     (int)MIN(m->p.n[0] - x0, WIDTH));
		iso_op_count(op, MIN(own.n - i, ROWS) * m->p.n[0]);
	}
	return iso_comm_gather(op->ctx, iso_ctx_poll(op->ctx), x, rows, m->p.n[0] * (int64_t)sizeof *x);
}

void iso_ubp_free(iso_op *op)
{
	iso_delays_free(((struct ubp_model *)op->data)->delays);
}

static const struct iso_op_fn ubp_fn = {
	.adjoint = ubp_adjoint,
	.open = ubp_open,
	.free = iso_ubp_free,
	.to_cuda = "iso_ubp_to_cuda",
	.cannot = UBP_CANNOT,
};

static int make_op(iso_op **op, iso_ctx *ctx, const struct iso_ubp *p)
{
	struct iso_room room = { .ctx = ctx, .what = "transducers" };
	struct ubp_model *m;
	struct iso_ubp full;
	int st = iso_sized_take(&full, "iso_ubp", sizeof full, p);

	if (st || (st = check(p = &full))) return st;
	if (ISO_HOST(&room, m, 1)) make(&room, m, p);
	return iso_op_create_in(op, ctx, &ubp_fn, iso_grid_voxels(&p->grid),
	                        p->transducers->n * p->transducers->samples, 1, &room, m);
}

int iso_ubp_create(iso_op **op, iso_ctx *ctx, const struct iso_ubp *p)
{
	if (!op || !ctx || !p) return iso_fail_null(__func__);
	iso_op *made = NULL;
	int st = make_op(&made, ctx, p);

	return iso_op_agree(op, made, ctx, st);
}

void iso_ubp_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_ubp *p)
{
	bool cuda = iso_ctx_is_cuda(ctx);
	struct iso_ubp full;
	int64_t pairs;

	if (iso_sized_take(&full, "iso_ubp", sizeof full, p) || check(p = &full) || spans(NULL, &pairs, p))
		return; /* iso_ubp_create will say what is wrong */
	int64_t n = p->transducers->n;

	iso_plan_add(plan, "pairs of samples", n * pairs, sizeof(struct ubp_pair), cuda);
	iso_plan_add(plan, "transducers", n,
	             sizeof(struct ubp_source) + sizeof(struct ubp_face) + sizeof(int64_t), cuda);
	if (cuda && iso_ranks(ctx) > 1) /* whole bricks of 8 x 8 x 32 */
		iso_plan_add(plan, "bricks of the ranks", (p->grid.n[0] + 7) * (p->grid.n[1] + 7),
		             (p->grid.n[2] + 31) * (int64_t)sizeof(iso_real), true);
}
