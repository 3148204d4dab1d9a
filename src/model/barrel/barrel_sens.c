/* SPDX-License-Identifier: BSD-3-Clause */
/* The sensitivity of a barrel: the chance of an event summed over all pairs, in fixed point, so that it has the same bits for
   every number of threads and ranks. */
#include "barrel_sens.h"
#include "core/loop/fixed.h"
#include "core/size.h"
#include "core/sized.h"

#include <omp.h>

enum { BATCH = 256, POINTS = 16 }; /* pairs whose factors are made at once; Gauss points between the ends */

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
	int planes; /* that are made */
	int more;   /* planes of lines above and below the image, at most */
	struct iso_fixed acc;
	iso_real *factor; /* BATCH tables */
};

/* A pair at work. */
struct job {
	struct barrel_line l; /* as an event whose tube is the whole way between the strips */
	double end[2][2];
	double way; /* through strips in between, where these are alike */
	const struct barrel_factors *f;
	double weight;
};

/* ---- a column ---- */

static double clamp(double v, double most)
{
	return fmin(fmax(v, -most), most);
}

/* Directions between which both hits lie on their strips, for nearer and farther hits, in each. */
struct tilts {
	double high[4], low[4]; /* theta: a nearer, a farther, b nearer, b farther */
};

static struct tilts tilts_at(const struct job *j, const struct barrel_tilt_sum *s, double z)
{
	struct tilts t;

	for (int k = 0; k < 2; k++) {
		t.high[k] = clamp(atan((j->end[0][1] - z) / s->at[k]), s->widest);
		t.low[k] = clamp(atan((j->end[0][0] - z) / s->at[k]), s->widest);
		t.high[2 + k] = clamp(atan((z - j->end[1][0]) / s->at[2 + k]), s->widest);
		t.low[2 + k] = clamp(atan((z - j->end[1][1]) / s->at[2 + k]), s->widest);
	}
	return t;
}

/* The mean factor between two tilts, by h. */
static double mean_factor(const struct job *j, const struct barrel_tilt_sum *s, double low, double high,
                          double y, double z)
{
	static const double at[POINTS / 2] = { 0.9894009349916499, 0.9445750230732326, 0.8656312023878318,
		                               0.755404408355003,  0.6178762444026438, 0.4580167776572274,
		                               0.2816035507792589, 0.09501250983763744 };
	static const double of[POINTS / 2] = { 0.02715245941175406, 0.06225352393864778, 0.0951585116824929,
		                               0.1246289712555339,  0.1495959888165768,  0.1691565193950026,
		                               0.1826034150449236,  0.1894506104550685 };
	double sum = 0, all = 0;

	for (int k = 0; k < POINTS; k++) {
		double side = k % 2 ? at[k / 2] : -at[k / 2];
		double theta = (low + high) / 2 + (high - low) / 2 * side;
		double w = of[k / 2] * barrel_tilt_value(s, theta);

		sum += w * iso_barrel_factor(j->f, theta, z - y * tan(theta));
		all += w;
	}
	return all > 0 ? sum / all : 0;
}

/* The mean over nearer and farther hits in either strip. */
static double voxel(const struct job *j, const struct barrel_tilt_sum *s, double y, double z)
{
	const struct tilts t = tilts_at(j, s, z);
	double high[4], low[4], sum = 0, ends[2] = { 0, 0 };
	int n = 0;

	for (int k = 0; k < 4; k++) {
		high[k] = barrel_tilt_integral(s, t.high[k]);
		low[k] = barrel_tilt_integral(s, t.low[k]);
	}
	for (int a = 0; a < 2; a++)
		for (int b = 2; b < 4; b++) {
			double part = fmin(high[a], high[b]) - fmax(low[a], low[b]);

			if (!(part > 0)) continue;
			sum += part / 4;
			ends[0] += fmax(t.low[a], t.low[b]);
			ends[1] += fmin(t.high[a], t.high[b]);
			n++;
		}
	if (!j->f || n == 0) return sum;
	return sum * mean_factor(j, s, ends[0] / n, ends[1] / n, y, z);
}

static void add_column(struct sens *w, const struct job *j, int ix, int iy)
{
	const struct barrel_params *p = &w->p;
	const struct barrel_pair *pair = &j->l.pair;
	const double u = (double)p->first[0] + ix * (double)p->pixel - (double)pair->middle[0];
	const double v = (double)p->first[1] + iy * (double)p->pixel - (double)pair->middle[1];
	const double y = u * (double)pair->e[0] + v * (double)pair->e[1];
	const double d = v * (double)pair->e[0] - u * (double)pair->e[1];
	struct barrel_tilt_sum s;

	if (!(fabs(y) < (double)pair->half) ||
	    !iso_barrel_tilt_sum(&s, &w->fit, pair, j->end, y, d, (double)p->pixel, j->way))
		return;
	int64_t at = ((int64_t)iy * p->n[0] + ix) * p->n[2];

	for (int z = 0; z < w->planes; z++) {
		double value = voxel(j, &s, y, (double)p->first[2] + z * (double)p->plane);

		if (value > 0)
			iso_fixed_add(&w->acc, omp_get_thread_num(), at + z,
			              value * j->weight * w->acc.scale);
	}
}

/* ---- a pair ---- */

static void begin(struct job *j, const struct sens *w, int64_t i)
{
	const struct barrel_chosen *c = w->pair + i;
	const struct iso_barrel_strip *s[2] = { w->b->strip + c->a, w->b->strip + c->b };
	struct barrel_shade shade[BARREL_SHADES];

	*j = (struct job){ .weight = c->weight };
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

static void add_pair(struct sens *w, int64_t i, const struct barrel_factors *f)
{
	struct job j;

	begin(&j, w, i);
	j.f = f;
	const struct barrel_tube t = barrel_tube(&w->p, &j.l);

	for (int k = 0; k < t.n * t.wide; k++) {
		int ix, iy;

		if (barrel_candidate(&ix, &iy, &w->p, &t, k)) add_column(w, &j, ix, iy);
	}
}

/* ---- with factors: lines of a batch of pairs ---- */

/* Lines through a voxel are told by their height in the middle, which may lie above or below the image. */
static void shape_factors(struct barrel_factors *f, const struct sens *w, int64_t i, iso_real *v)
{
	const struct barrel_params *p = &w->p;
	struct job j;
	double tau, far = 0;

	begin(&j, w, i);
	tau = fmax(fabs(j.end[0][1] - j.end[1][0]), fabs(j.end[1][1] - j.end[0][0])) /
	      (2 * (double)j.l.pair.half);
	for (int a = 0; a < 2; a++) {
		double half = p->n[a] * (double)p->pixel / 2, centre = w->grid.centre[a];

		far += (half + fabs(centre - (double)j.l.pair.middle[a])) * fabs((double)j.l.pair.e[a]);
	}
	int more = (int)ceil(fmin(far, (double)j.l.pair.half) * tau / (double)p->plane);

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
	const struct barrel_chosen *c = w->pair + i;
	struct barrel_shade shade[BARREL_SHADES];
	int n = iso_barrel_shades(shade, BARREL_SHADES, w->b, c->a, c->b);

	for (int k = 0; n > 0 && k < BARREL_TILTS; k++)
		for (int z = 0; z < f->planes; z++)
			f->v[k * f->planes + z] *= (iso_real)iso_barrel_shadow(
				w->b, shade, n, f->low + z * f->plane,
				tan(f->widest * (2. * k / (BARREL_TILTS - 1) - 1)));
}

static int add_batch(struct sens *w, int64_t first, int64_t n, struct iso_barrel_events *lines)
{
	struct barrel_factors f[BATCH];
	int st = ISO_OK;

	lines->n = 0;
	for (int64_t k = 0; k < n; k++) {
		shape_factors(f + k, w, first + k, w->factor + lines->n);
		fill_lines(lines->v + lines->n, w, first + k, f + k);
		lines->n += (int64_t)BARREL_TILTS * f[k].planes;
	}
	for (int64_t i = 0; i < lines->n && !w->mu; i++) w->factor[i] = 1;
	if (w->mu && (st = iso_barrel_attenuation(w->factor, w->ctx, w->b, w->mu, lines))) return st;
#pragma omp parallel for num_threads(w->ctx->threads) schedule(dynamic)
	for (int64_t k = 0; k < n; k++) {
		if (iso_stopped(w->ctx)) continue;
		if (w->b->shadow && !w->alike) shade_lines(w, first + k, f + k);
		add_pair(w, first + k, f + k);
	}
	return iso_ctx_poll(w->ctx);
}

/* ---- all pairs ---- */

static bool are_alike(const struct iso_barrel *b)
{
	for (int64_t i = 1; i < b->n; i++)
		if (b->strip[i].z != b->strip[0].z || b->strip[i].length != b->strip[0].length) return false;
	return true;
}

static int add_pairs(struct sens *w, struct iso_room *room)
{
	const bool factors = w->mu || (w->b->shadow && !w->alike);
	const struct iso_rows own = iso_share(w->ctx, w->pairs);
	const int64_t each = BARREL_TILTS * ((int64_t)w->p.n[2] + 2 * w->more);
	struct iso_clock clock = iso_clock_brief(w->ctx, "sensitivity", "pairs", own.n, NULL);
	struct iso_barrel_events lines = { 0 };
	int st = ISO_OK;

	if (factors) ISO_HOST(room, lines.v, BATCH * each);
	if (factors && !ISO_HOST(room, w->factor, BATCH * each)) return room->status;
	for (int64_t i = own.first; i < own.first + own.n && !st; i += BATCH) {
		int64_t n = own.first + own.n - i < BATCH ? own.first + own.n - i : BATCH;

		if (factors) {
			st = add_batch(w, i, n, &lines);
		} else {
#pragma omp parallel for num_threads(w->ctx->threads) schedule(dynamic)
			for (int64_t k = i; k < i + n; k++)
				if (!iso_stopped(w->ctx)) add_pair(w, k, NULL);
			st = iso_ctx_poll(w->ctx);
		}
		iso_clock_step(&clock, n, NULL);
	}
	if (!st) iso_clock_end(&clock);
	return st;
}

static int run(struct sens *w, struct iso_room *room, iso_real *s)
{
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
	if (!ISO_HOST(room, sum, iso_grid_voxels(&w->grid))) return room->status;
	if ((st = iso_fixed_create(&w->acc, w->ctx, iso_grid_voxels(&w->grid), 1e9))) return st;
	iso_fixed_begin(&w->acc, w->ctx, 2 * w->turns.n); /* a chance, before the mean over the turns */
	if (!(st = iso_fixed_sum(&w->acc, w->ctx, add_pairs(w, room)))) {
		iso_fixed_end(sum, &w->acc, w->ctx);
		iso_barrel_spread(s, sum, &w->turns, &w->grid, w->ctx->threads);
	}
	iso_fixed_free(&w->acc);
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
	w.more = most_more(&w);
	iso_barrel_fit(&w.fit);
	st = run(&w, &room, s);
	int freed = iso_room_free(&room);

	return st ? st : freed;
}
