/* SPDX-License-Identifier: BSD-3-Clause */
/* Model sradon: optoacoustic traces by integrals over spheres (Wang 2013, section III-A), He D G; and the
   constructors of its parts, of which the loops of G, the spherical Radon transform, are in sradon_cpu.c. */
#include "sradon.h"
#include "sradon_brick.h"
#include "sradon_faces.h"

#include "core/size.h"
#include "core/sized.h"

/* The trilinear support: the grid's centres, grown by one voxel on every side. */
static double farthest_corner(const struct iso_grid *g, const double centre[3])
{
	double sum = 0;

	for (int a = 0; a < 3; a++) {
		double half = (double)(g->n[a] + 1) / 2 * g->voxel[a];
		double far = fabs(g->centre[a] - centre[a]) + half;

		sum += far * far;
	}
	return sqrt(sum);
}

/* Where the axes of the transducers meet: in the middle of their sphere, or of the image. */
static const double *centre_of(const struct iso_sradon *q)
{
	return q->t->rings ? q->t->centre : q->grid.centre;
}

/* Errors of traces (relative, L2) against those of a step of 1/8, for balls whose edges are blurred by a
   Gaussian of half a voxel; rounded up (docs/optoacoustic.md has them measured). */
static const struct {
	double step, error;
} steps[] = { { 2, 3e-2 },  { M_SQRT2, 2e-2 }, { 1, 6e-3 },   { M_SQRT1_2, 3e-3 },
	      { .5, 1e-3 }, { .25, 3e-4 },     { .125, 1e-4 } };

enum { N_STEPS = sizeof steps / sizeof *steps };

double iso_sradon_step(const struct iso_sradon *q)
{
	int i = 0;

	if (!q) return 0;
	if (q->step > 0) return q->step;
	if (!(q->accuracy > 0)) return 1;
	while (i < N_STEPS - 1 && steps[i].error > q->accuracy) i++;
	return steps[i].step;
}

/* From a place to the nearest voxel's border, mm; 0 inside. */
static double from_voxels(const struct iso_grid *g, const double x[3])
{
	double sum = 0;

	for (int a = 0; a < 3; a++) {
		double off = fabs(x[a] - g->centre[a]) - (double)g->n[a] / 2 * g->voxel[a];

		sum += off > 0 ? off * off : 0;
	}
	return sqrt(sum);
}

/* A voxel away from all voxels, a transducer lies outside of the trilinear support. */
static int check(const struct iso_sradon *q, const struct iso_transducers *stands)
{
	const double *v = q->grid.voxel;

	if (fabs(v[1] - v[0]) > 1e-6 * v[0] || fabs(v[2] - v[0]) > 1e-6 * v[0])
		return iso_fail(ISO_EARG, "sradon: voxels of %g x %g x %g mm, must be cubes", v[0], v[1],
		                v[2]);
	if (q->step != 0 && !(q->step >= .125 && q->step <= 4))
		return iso_fail(ISO_EARG, "sradon: a step of %g voxels, must be 0.125 to 4", q->step);
	if (q->accuracy != 0 && !(q->accuracy >= steps[N_STEPS - 1].error && q->accuracy < 1))
		return iso_fail(ISO_EARG, "sradon: accuracy %g, must be %g to below 1", q->accuracy,
		                steps[N_STEPS - 1].error);
	if (q->delays && (q->sampling != ISO_SRADON_MIDPOINT || q->adjoint == ISO_SRADON_GATHER))
		return iso_fail(ISO_EARG,
		                "sradon: through tissue only sampling midpoint and adjoint scatter go");
	int st = iso_delays_fit(q->delays, stands, &q->grid, "sradon");

	if (st) return st;
	for (int64_t i = 0; i < q->t->n; i++) {
		double d = from_voxels(&q->grid, q->t->pos + 3 * i);

		if (!(d > 0))
			return iso_fail(ISO_EINPUT,
			                "sradon: transducer %" PRId64
			                " lies inside of the image, must be at least a voxel (%g mm) outside",
			                i, v[0]);
		if (!(d > (1 - 1e-6) * v[0]))
			return iso_fail(ISO_EINPUT,
			                "sradon: transducer %" PRId64
			                " is %g mm from the image, must be at least a voxel (%g mm) outside",
			                i, d, v[0]);
	}
	return ISO_OK;
}

/* Rings of each sample, as many as any transducer needs; those of algorithm 4 are made on the way. */
static void make_rings(struct iso_room *room, struct sradon *s)
{
	const struct sradon_params *p = &s->p;

	for (int64_t k = 0; k < p->samples; k++) {
		double rho = sradon_radius(p, k), last = -1;
		int most = 0;

		for (int64_t q = 0; q < p->n_trans && rho > 0 && p->sampling == ISO_SRADON_MIDPOINT; q++) {
			if (fabs(s->frame[q].distance - last) < 1e-12 * last) continue;
			last = s->frame[q].distance;
			int n = sradon_n_rings(p, rho, sradon_theta_max(p, last, rho));

			most = n > most ? n : most;
		}
		s->start[k + 1] = s->start[k] + most;
	}
	ISO_HOST(room, s->ring, s->start[p->samples]);
	for (int64_t k = 0; s->ring && k < p->samples; k++)
		for (int64_t i = s->start[k]; i < s->start[k + 1]; i++) {
			double rho = sradon_radius(p, k);

			s->ring[i] = sradon_ring(p, rho, sradon_theta(p, rho, 0, (int)(i - s->start[k])));
		}
}

/* Tissue, and where the transducers stand that points belong to: a point is heard up to `off` mm earlier or later. */
static void set_up_tissue(struct iso_room *room, struct sradon *s, const struct iso_sradon *q,
                          const struct iso_transducers *stands)
{
	double off = 0;

	s->points = (int)(q->t->n / stands->n);
	if (!(s->delays = iso_delays_keep(q->delays))) return;
	s->sound = s->delays->m;
	if (!ISO_HOST(room, s->stands, 3 * stands->n)) return;
	memcpy(s->stands, stands->pos, (size_t)(3 * stands->n) * sizeof *s->stands);
	for (int64_t i = 0; i < q->t->n; i++)
		off = fmax(off, sound_length(q->t->pos + 3 * i, stands->pos + i / s->points * 3));
	s->sound.least -= fabs(s->sound.more) * off;
	s->sound.most += fabs(s->sound.more) * off;
}

static void set_up(struct iso_room *room, struct sradon *s, const struct iso_sradon *q,
                   const struct iso_transducers *stands, double support)
{
	const struct iso_transducers *t = q->t;
	struct sradon_params *p = &s->p;

	set_up_tissue(room, s, q, stands);
	ISO_HOST(room, s->frame, t->n);
	ISO_HOST(room, s->start, t->samples + 1);
	if (room->status) return;

	*p = (struct sradon_params){ .ds = q->grid.voxel[0],
		                     .n_trans = t->n,
		                     .samples = t->samples,
		                     .speed = t->speed,
		                     .dt_us = t->dt_us,
		                     .first_us = t->first_us,
		                     .support = support,
		                     .sampling = q->sampling };
	p->h = p->ds * iso_sradon_step(q);
	for (int a = 0; a < 3; a++) {
		p->n[a] = q->grid.n[a];
		p->first[a] = q->grid.centre[a] - (double)(p->n[a] - 1) / 2 * p->ds;
	}
	s->adjoint = q->adjoint;
	for (int64_t i = 0; i < t->n; i++) {
		struct sradon_frame *f = &s->frame[i];

		for (int a = 0; a < 3; a++) {
			f->pos[a] = t->pos[3 * i + a];
			f->n[a] = centre_of(q)[a] - f->pos[a];
			f->distance += f->n[a] * f->n[a];
		}
		f->distance = sqrt(f->distance);
		for (int a = 0; a < 3; a++) f->n[a] /= f->distance;
		iso_transducer_frame(f->ex, f->ey, f->n);
	}
	if (!s->delays) make_rings(room, s);
}

static int make_integrals(iso_op **op, iso_ctx *ctx, const struct iso_sradon *q,
                          const struct iso_transducers *stands)
{
	struct iso_sradon full;
	int64_t n_out;
	int st = iso_sized_take(&full, "iso_sradon", sizeof full, q);

	if (st || (st = iso_transducers_check((q = &full)->t))) return st;
	if (q->focus) return iso_sradon_faces(op, ctx, q, make_integrals);
	if (!stands) stands = q->t;
	if ((st = iso_grid_check(&q->grid)) || (st = check(q, stands))) return st;
	double support = farthest_corner(&q->grid, centre_of(q));

	if (!size_mul(&n_out, q->t->n, q->t->samples)) return iso_fail_memory("traces", INT64_MAX);
	struct iso_room room = { .ctx = ctx, .what = "rings of sradon" };
	struct sradon *s;

	if (ISO_HOST(&room, s, 1)) set_up(&room, s, q, stands, support);
	return iso_op_create_in(op, ctx, q->delays ? &iso_sradon_tissue_fn : &iso_sradon_fn,
	                        iso_grid_voxels(&q->grid), n_out, 1, &room, s);
}

int iso_sradon_integrals(iso_op **op, iso_ctx *ctx, const struct iso_sradon *q)
{
	if (!op || !ctx || !q) return iso_fail_null(__func__);
	iso_op *made = NULL;
	int st = make_integrals(&made, ctx, q, NULL);

	return iso_op_agree(op, made, ctx, st);
}

/* ---- operators on traces: the derivative D and the impulse response He ---- */

static int every_sample(const iso_op *op, bool adjoint, iso_real *y, const iso_real *x)
{
	const struct sradon_time *p = op->data;

#pragma omp parallel for num_threads(op->ctx->threads)
	for (int64_t j = 0; j < op->n_out; j++) {
		int64_t k = j % p->samples;

		y[j] = (iso_real)sradon_time(p, adjoint, x + (j - k), k);
	}
	return ISO_OK;
}

static int forward(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	(void)sub; /* one subset only */
	return every_sample(op, false, y, x);
}

static int adjoint(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	(void)sub;
	return every_sample(op, true, x, y);
}

static const struct iso_op_fn time_fn = { .forward = forward,
	                                  .adjoint = adjoint,
	                                  .to_cuda = "iso_sradon_time_to_cuda" };

enum time { DERIVATIVE, PLAIN, RESPONSE };

static int make_time(iso_op **op, iso_ctx *ctx, const struct iso_transducers *t, enum time what)
{
	int64_t n;
	int st = iso_transducers_check(t);

	if (st) return st;
	if (!size_mul(&n, t->n, t->samples)) return iso_fail_memory("traces", INT64_MAX);
	struct iso_room room = { .ctx = ctx, .what = "impulse response" };
	double plain = t->gamma / (2 * t->dt_us), *eir;
	struct sradon_time *p;

	ISO_HOST(&room, p, 1);
	if (ISO_HOST(&room, eir, t->n_eir)) {
		*p = (struct sradon_time){
			t->samples,       t->first_us,
			t->dt_us,         what == PLAIN ? plain : plain / (4 * M_PI * t->speed * t->speed),
			t->n_eir,         eir,
			what == RESPONSE, what == PLAIN
		};
		if (t->n_eir) memcpy(eir, t->eir, (size_t)t->n_eir * sizeof *eir);
	}
	return iso_op_create_in(op, ctx, &time_fn, n, n, 1, &room, p);
}

int iso_sradon_derivative(iso_op **op, iso_ctx *ctx, const struct iso_transducers *t)
{
	if (!op || !ctx || !t) return iso_fail_null(__func__);
	iso_op *made = NULL;
	int st = make_time(&made, ctx, t, DERIVATIVE);

	return iso_op_agree(op, made, ctx, st);
}

int iso_sradon_response(iso_op **op, iso_ctx *ctx, const struct iso_transducers *t)
{
	if (!op || !ctx || !t) return iso_fail_null(__func__);
	if (!t->eir || t->n_eir < 1)
		return iso_fail(ISO_EARG, "sradon: the transducers have no impulse response");
	iso_op *made = NULL;
	int st = make_time(&made, ctx, t, RESPONSE);

	return iso_op_agree(op, made, ctx, st);
}

/* ---- the chain ---- */

/* He D G, the first without an impulse response. Through tissue G is divided by 4 pi c^2 t where c is known. */
int iso_sradon_create(iso_op **op, iso_ctx *ctx, const struct iso_sradon *q)
{
	if (!op || !ctx || !q) return iso_fail_null(__func__);
	iso_op *g = NULL, *d = NULL, *dg = NULL, *he = NULL;
	int st;

	if ((st = iso_sradon_integrals(&g, ctx, q))) goto done;
	if ((st = q->delays ? make_time(&d, ctx, q->t, PLAIN) : iso_sradon_derivative(&d, ctx, q->t)))
		goto done;
	if ((st = iso_chain_create(q->t->eir ? &dg : op, d, g)) || !q->t->eir) goto done;
	if ((st = iso_sradon_response(&he, ctx, q->t))) goto done;
	st = iso_chain_create(op, he, dg);
done:
	iso_op_free(g);
	iso_op_free(d);
	iso_op_free(dg);
	iso_op_free(he);
	return st;
}

/* Work space of the chain: it works on clones of its parts and keeps the parts, so with a response,
   where G is in a chain inside of another, there are three of all. A sphere has at most pi R/h rings
   or so, R the radius of the support and h the edge of a patch. */
void iso_sradon_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_sradon *q)
{
	if (!plan || !ctx || !q) return;

	struct iso_sradon full;

	if (iso_sized_take(&full, "iso_sradon", sizeof full, q)) return; /* iso_sradon_create will say so */
	q = &full;
	double h = q->grid.voxel[0] * iso_sradon_step(q),
	       rings = M_PI * farthest_corner(&q->grid, centre_of(q)) / h + 1;
	int64_t chains = q->t->eir ? 3 : 1, g = q->t->eir ? 3 : 2, real = sizeof(iso_real);
	int points = 1;

	if (iso_sradon_face_points(&points, q)) return;
	int64_t voxels = iso_grid_voxels(&q->grid), traces = q->t->n * q->t->samples * points, around;
	const int64_t padded[3] = { q->grid.n[0] + 4, q->grid.n[1] + 4, q->grid.n[2] + 4 }; /* at most */
	const struct sradon_params p = { .n = { q->grid.n[0], q->grid.n[1], q->grid.n[2] } };
	bool cuda = iso_ctx_is_cuda(ctx);
	int64_t ring = (int64_t)(sizeof(struct sradon_ring) + (cuda ? sizeof(struct sradon_row) : 0));

	if (!size_product(&around, 3, padded)) around = INT64_MAX;
	iso_plan_add(plan, "rings", q->t->samples, (int64_t)rings * ring, cuda);
	iso_plan_add(plan, "traces between the steps", traces, 2 * chains * real, cuda);
	iso_plan_add(plan, "images between the steps", voxels, chains * real, cuda);
	if (cuda) {
		iso_plan_add(plan, "sums", voxels > traces ? voxels : traces, g * (int64_t)sizeof(int64_t),
		             true);
		return;
	}
	iso_plan_add(plan, "image with zeros around", around, g * real, false);
	iso_plan_add(plan, "slabs of the adjoint", iso_sradon_slab_cells(&p, ctx->threads),
	             g * (int64_t)sizeof(double), false);
}
