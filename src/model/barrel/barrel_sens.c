/* SPDX-License-Identifier: BSD-3-Clause */
/* The sensitivity of a barrel: the chance of an event summed over all pairs, in fixed point, so that it has the same bits for
   every number of threads and ranks. */
#include "barrel_sens.h"
#include "core/loop/fixed.h"
#include "core/size.h"
#include "core/sized.h"

#include <omp.h>

enum { LINED = 256 }; /* pairs whose factors are made at once */

struct sens {
	iso_ctx *ctx;
	const struct iso_barrel *b;
	const struct iso_array *mu; /* NULL: none */
	struct iso_grid grid;
	struct barrel_params p;
	struct barrel_fit fit;
	struct barrel_turns turns;
	struct barrel_chosen *pair;
	int64_t pairs;
	bool alike; /* all strips lie at one height and have one length: shadows do not depend on the tilt's place */
	bool factors; /* lines have factors */
	int planes;   /* that are made */
	int more;     /* planes of lines above and below the image, at most */
	struct iso_fixed acc;
	const struct barrel_sens_fn *fn; /* of the device, in place of acc; NULL: the CPU */
	struct barrel_sens_cuda *cuda;
	struct barrel_job *job;         /* BARREL_BATCH */
	struct iso_barrel_events lines; /* of LINED pairs, and their factors */
	iso_real *factor;
};

/* ---- a pair ---- */

static void add_column(struct sens *w, const struct barrel_job *j, int ix, int iy)
{
	const struct barrel_params *p = &w->p;
	struct barrel_tilt_sum s;
	double y, d;

	if (!barrel_sens_pixel(&y, &d, j, p, ix, iy) ||
	    !iso_barrel_tilt_sum(&s, &w->fit, j, y, d, (double)p->pixel))
		return;
	int64_t at = ((int64_t)iy * p->n[0] + ix) * p->n[2];

	for (int z = 0; z < w->planes; z++) {
		double value = barrel_sens_at(j, &s, y, (double)p->first[2] + z * (double)p->plane);

		if (value > 0)
			iso_fixed_add(&w->acc, omp_get_thread_num(), at + z,
			              value * j->weight * w->acc.scale);
	}
}

static void begin(struct barrel_job *j, const struct sens *w, int64_t i)
{
	const struct barrel_chosen *c = w->pair + i;
	const struct iso_barrel_strip *s[2] = { w->b->strip + c->a, w->b->strip + c->b };
	struct barrel_shade shade[BARREL_SHADES];

	*j = (struct barrel_job){ .weight = c->weight };
	const struct barrel_place place[2] = { barrel_place(s[0]), barrel_place(s[1]) };

	j->l.pair = barrel_pair(place, place + 1, w->b->mu);
	j->l.reach = j->l.pair.half;
	j->l.across = j->l.pair.widest;
	for (int k = 0; k < 2; k++) {
		j->end[k][0] = s[k]->z - s[k]->length / 2;
		j->end[k][1] = s[k]->z + s[k]->length / 2;
	}
	if (!w->b->shadow || !w->alike) return;
	int n = iso_barrel_shades(shade, BARREL_SHADES, w->b, c->a, c->b);

	for (int k = 0; k < n; k++) j->way += (double)shade[k].chord;
}

static void add_pair(struct sens *w, const struct barrel_job *j)
{
	const struct barrel_tube t = barrel_tube(&w->p, &j->l);

	for (int k = 0; k < t.n * t.wide; k++) {
		int ix, iy;

		if (barrel_candidate(&ix, &iy, &w->p, &t, k)) add_column(w, j, ix, iy);
	}
}

/* ---- with factors: lines of a batch of pairs ---- */

/* Lines through a voxel are told by their height in the middle, which may lie above or below the image. */
static void shape_factors(struct barrel_job *j, const struct sens *w, const iso_real *v)
{
	const struct barrel_params *p = &w->p;
	const struct barrel_pair *pair = &j->l.pair;
	struct barrel_factors *f = &j->f;
	double tau, far = 0;

	tau = fmax(fabs(j->end[0][1] - j->end[1][0]), fabs(j->end[1][1] - j->end[0][0])) /
	      (2 * (double)pair->half);
	for (int a = 0; a < 2; a++) {
		double half = p->n[a] * (double)p->pixel / 2, centre = w->grid.centre[a];

		far += (half + fabs(centre - (double)pair->middle[a])) * fabs((double)pair->e[a]);
	}
	int more = (int)ceil(fmin(far, (double)pair->half) * tau / (double)p->plane);

	if (more > w->more) more = w->more;
	f->planes = p->n[2] + 2 * more;
	f->low = (double)p->first[2] - more * (double)p->plane;
	f->plane = (double)p->plane;
	f->widest = atan(tau);
	f->v = v;
}

/* Planes above the image that any line needs: no farther than strips reach. */
static int most_more(const struct sens *w)
{
	double reach = 0, centre = w->grid.centre[2], half = w->p.n[2] * (double)w->p.plane / 2;

	for (int64_t i = 0; i < w->b->n; i++)
		reach = fmax(reach, fabs(w->b->strip[i].z - centre) + w->b->strip[i].length / 2);
	return reach > half ? (int)ceil((reach - half) / (double)w->p.plane) : 0;
}

/* Lines of one tilt after another. */
static void fill_lines(struct iso_barrel_event *e, const struct sens *w, int64_t i,
                       const struct barrel_factors *f)
{
	const struct barrel_chosen *c = w->pair + i;
	const struct iso_barrel_strip *a = w->b->strip + c->a, *b = w->b->strip + c->b;
	double half = hypot(a->x - b->x, a->y - b->y) / 2;

	for (int k = 0; k < BARREL_TILTS; k++) {
		double tau = tan(f->widest * (2. * k / (BARREL_TILTS - 1) - 1));

		for (int z = 0; z < f->planes; z++) {
			double middle = f->low + z * f->plane;

			*e++ = (struct iso_barrel_event){ c->a, c->b, (iso_real)(middle + half * tau),
				                          (iso_real)(middle - half * tau), 0 };
		}
	}
}

static void shade_lines(const struct sens *w, int64_t i, const struct barrel_factors *f)
{
	iso_real *v = w->factor + (f->v - w->factor);
	const struct barrel_chosen *c = w->pair + i;
	struct barrel_shade shade[BARREL_SHADES];
	int n = iso_barrel_shades(shade, BARREL_SHADES, w->b, c->a, c->b);

	for (int k = 0; n > 0 && k < BARREL_TILTS; k++)
		for (int z = 0; z < f->planes; z++)
			v[k * f->planes + z] *= (iso_real)iso_barrel_shadow(
				w->b, shade, n, f->low + z * f->plane,
				tan(f->widest * (2. * k / (BARREL_TILTS - 1) - 1)));
}

/* Of n pairs from `first` on. */
static int make_factors(struct sens *w, int64_t first, int n)
{
	struct iso_barrel_events *lines = &w->lines;
	int st = ISO_OK;

	lines->n = 0;
	for (int k = 0; k < n; k++) {
		struct barrel_factors *f = &w->job[k].f;

		shape_factors(w->job + k, w, w->factor + lines->n);
		fill_lines(lines->v + lines->n, w, first + k, f);
		lines->n += (int64_t)BARREL_TILTS * f->planes;
	}
	for (int64_t i = 0; i < lines->n && !w->mu; i++) w->factor[i] = 1;
	if (w->mu && (st = iso_barrel_attenuation(w->factor, w->ctx, w->b, w->mu, lines))) return st;
	if (!w->b->shadow || w->alike) return ISO_OK;
#pragma omp parallel for num_threads(w->ctx->threads) schedule(dynamic)
	for (int k = 0; k < n; k++)
		if (!iso_stopped(w->ctx)) shade_lines(w, first + k, &w->job[k].f);
	return ISO_OK;
}

static int add_batch(struct sens *w, int64_t first, int n)
{
	int st = ISO_OK;

#pragma omp parallel for num_threads(w->ctx->threads) schedule(dynamic)
	for (int k = 0; k < n; k++) begin(w->job + k, w, first + k);
	if (w->factors && (st = make_factors(w, first, n))) return st;
	if (w->cuda) return w->fn->add(w->cuda, w->job, n, w->factor, w->lines.n);
#pragma omp parallel for num_threads(w->ctx->threads) schedule(dynamic)
	for (int k = 0; k < n; k++)
		if (!iso_stopped(w->ctx)) add_pair(w, w->job + k);
	return iso_ctx_poll(w->ctx);
}

/* ---- all pairs ---- */

static bool are_alike(const struct iso_barrel *b)
{
	for (int64_t i = 1; i < b->n; i++)
		if (b->strip[i].z != b->strip[0].z || b->strip[i].length != b->strip[0].length) return false;
	return true;
}

static int add_pairs(struct sens *w)
{
	const struct iso_rows own = iso_share(w->ctx, w->pairs);
	const int batch = w->factors ? LINED : BARREL_BATCH;
	struct iso_clock clock = iso_clock_brief(w->ctx, "sensitivity", "pairs", own.n, NULL);
	int st = ISO_OK;

	for (int64_t i = own.first; i < own.first + own.n && !st; i += batch) {
		const int64_t left = own.first + own.n - i, n = left < batch ? left : batch;

		if (!(st = add_batch(w, i, (int)n))) st = iso_ctx_poll(w->ctx);
		iso_clock_step(&clock, n, NULL);
	}
	if (!st) iso_clock_end(&clock);
	return st;
}

/* A chance is bounded before the mean over the turns. */
static int add_up(struct sens *w, iso_real *sum)
{
	const int64_t voxels = iso_grid_voxels(&w->grid);
	const double bound = 2 * w->turns.n;
	void *fn = NULL;
	int st;

	if (!iso_ctx_is_cuda(w->ctx)) {
		if ((st = iso_fixed_create(&w->acc, w->ctx, voxels, 1e9))) return st;
		iso_fixed_begin(&w->acc, w->ctx, bound);
		if (!(st = iso_fixed_sum(&w->acc, w->ctx, add_pairs(w)))) iso_fixed_end(sum, &w->acc, w->ctx);
		iso_fixed_free(&w->acc);
		return st;
	}
	if ((st = iso_cuda_symbol(&fn, ISO_BARREL_SENS_CUDA))) return st;
	w->fn = fn;
	st = w->fn->open(&w->cuda, w->ctx, &w->p, &w->fit, w->planes,
	                 w->factors ? LINED * BARREL_TILTS * ((int64_t)w->p.n[2] + 2 * w->more) : 0, bound);
	if (w->cuda) st = w->fn->end(sum, w->cuda, st ? st : add_pairs(w));
	w->fn->close(w->cuda);
	return st;
}

static int run(struct sens *w, struct iso_room *room, iso_real *s)
{
	const int64_t each = BARREL_TILTS * ((int64_t)w->p.n[2] + 2 * w->more);
	struct barrel_turns none = { 0 };
	iso_real *sum;
	int st = iso_barrel_turns(&w->turns, room, w->b, &w->grid);

	if (st) return st;
	if (w->mu) { /* which has no symmetry */
		none.n = 1;
		memcpy(none.m[0], w->turns.m[0], sizeof none.m[0]);
		none.strip[0] = w->turns.strip[0];
		w->turns = none;
	}
	if ((st = iso_barrel_choose(&w->pair, &w->pairs, room, w->b, &w->turns))) return st;
	w->planes = w->turns.mirror ? (w->p.n[2] + 1) / 2 : w->p.n[2];
	ISO_HOST(room, w->job, BARREL_BATCH);
	if (w->factors) ISO_HOST(room, w->lines.v, LINED * each);
	if (w->factors) ISO_HOST(room, w->factor, LINED * each);
	if (!ISO_HOST(room, sum, iso_grid_voxels(&w->grid))) return room->status;
	if (!(st = add_up(w, sum))) iso_barrel_spread(s, sum, &w->turns, &w->grid, w->ctx->threads);
	return st;
}

int iso_barrel_sens(iso_real *s, iso_ctx *ctx, const struct iso_barrel_model *p, const struct iso_array *mu)
{
	if (!s || !ctx || !p) return iso_fail_null(__func__);
	struct iso_barrel_model full = { 0 };
	struct iso_room room = { .what = "sensitivity" };
	struct sens w = { .ctx = ctx, .mu = mu };
	int st = iso_sized_take(&full, "iso_barrel_model", sizeof full, p);

	if (st || (st = iso_barrel_model_check(&full))) return st;
	w.b = full.barrel;
	w.grid = full.grid;
	w.alike = are_alike(w.b);
	iso_barrel_params(&w.p, &full);
	w.factors = mu || (w.b->shadow && !w.alike);
	w.more = most_more(&w);
	iso_barrel_fit(&w.fit);
	st = run(&w, &room, s);
	int freed = iso_room_free(&room);

	return st ? st : freed;
}
