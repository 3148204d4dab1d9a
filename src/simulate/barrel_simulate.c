/* SPDX-License-Identifier: BSD-3-Clause */
/* Simulated events of a barrel: emissions of an image, photons that interact first-come in the strips of their way, so that
   strips in front shade those behind, what an object takes, and the errors of the scanner. */
#include "core/ctx.h"
#include "core/philox.h"
#include "core/progress.h"
#include "core/room.h"
#include "core/size.h"
#include "scanner/barrel_blur.h"

enum {
	SECTORS = 1440,  /* of azimuth, that list the strips in them */
	CROSSED = 64,    /* strips that a photon may meet */
	TRIES = 4000000, /* of a trial run, */
	ENOUGH = 20,     /* and the events that it must give */
	DRAWS = 4,       /* of a try: place, direction, photon, photon */
	PART = 256,      /* events that a thread takes at a time */
};

/* A place of the image, by activity. */
struct source {
	int64_t n;
	double *up_to; /* share of the voxels up to each */
	struct iso_grid grid;
};

struct scan {
	const struct iso_barrel *b;
	struct source source;
	double inner, outer; /* radii that hold the strips, mm */
	int32_t *list;       /* strips of each sector, one behind the other */
	int64_t first[SECTORS + 1];
	uint64_t seed;
};

/* ---- strips by azimuth ---- */

static int sector_of(double angle)
{
	double turn = angle / (2 * M_PI);
	int k = (int)((turn - floor(turn)) * SECTORS);

	return k < SECTORS ? k : 0;
}

/* Sectors from the first of a strip's corners to the last. */
static void span_of(int *first, int *n, const struct iso_barrel_strip *s)
{
	double corner[4][2], middle = atan2(s->y, s->x), low = 0, high = 0;

	iso_barrel_corners(corner, s);
	for (int k = 0; k < 4; k++) {
		double off = remainder(atan2(corner[k][1], corner[k][0]) - middle, 2 * M_PI);

		low = fmin(low, off);
		high = fmax(high, off);
	}
	*first = sector_of(middle + low);
	*n = (int)ceil((high - low) / (2 * M_PI) * SECTORS) + 1;
}

static int list_strips(struct scan *s, struct iso_room *room)
{
	int64_t count[SECTORS] = { 0 };
	int first, n;

	for (int64_t i = 0; i < s->b->n; i++) {
		span_of(&first, &n, s->b->strip + i);
		for (int k = 0; k < n; k++) count[(first + k) % SECTORS]++;
	}
	s->first[0] = 0;
	for (int k = 0; k < SECTORS; k++) s->first[k + 1] = s->first[k] + count[k];
	if (!ISO_HOST(room, s->list, s->first[SECTORS] + 1)) return room->status;
	memset(count, 0, sizeof count);
	s->inner = iso_barrel_inner(s->b);
	s->outer = 0;
	for (int64_t i = 0; i < s->b->n; i++) {
		double corner[4][2];

		iso_barrel_corners(corner, s->b->strip + i);
		for (int k = 0; k < 4; k++) s->outer = fmax(s->outer, hypot(corner[k][0], corner[k][1]));
		span_of(&first, &n, s->b->strip + i);
		for (int k = 0; k < n; k++) {
			int at = (first + k) % SECTORS;

			s->list[s->first[at] + count[at]++] = (int32_t)i;
		}
	}
	return ISO_OK;
}

/* ---- a photon ---- */

struct crossing {
	int32_t strip;
	double in, out; /* ways across the axis, mm */
};

/* Where the ray p + r (c, e) goes through a strip; false: it does not, in front of p. */
static bool cross(struct crossing *to, const struct iso_barrel_strip *s, const double p[3], double c,
                  double e)
{
	const double sc = cos(s->angle), ss = sin(s->angle), x = s->x - p[0], y = s->y - p[1];
	const double at[2] = { x * sc + y * ss, y * sc - x * ss },
		     v[2] = { c * sc + e * ss, e * sc - c * ss };
	const double half[2] = { s->depth / 2, s->width / 2 };

	to->in = 0;
	to->out = INFINITY;
	for (int k = 0; k < 2; k++) {
		if (fabs(v[k]) < 1e-12) {
			if (fabs(at[k]) > half[k]) return false;
			continue;
		}
		to->in = fmax(to->in, at[k] / v[k] - half[k] / fabs(v[k]));
		to->out = fmin(to->out, at[k] / v[k] + half[k] / fabs(v[k]));
	}
	return to->out > to->in;
}

/* Way to the circle of a radius, from inside. */
static double way_to(const double p[3], double c, double e, double radius)
{
	double along = p[0] * c + p[1] * e, off = p[0] * p[0] + p[1] * p[1] - radius * radius;

	return -along + sqrt(fmax(along * along - off, 0));
}

/* Strips that the ray meets, by their distance. */
static int meet(struct crossing *to, const struct scan *s, const double p[3], double c, double e)
{
	double r0 = way_to(p, c, e, s->inner), r1 = way_to(p, c, e, s->outer);
	double a0 = atan2(p[1] + r0 * e, p[0] + r0 * c), a1 = atan2(p[1] + r1 * e, p[0] + r1 * c);
	double turn = remainder(a1 - a0, 2 * M_PI);
	int from = sector_of(turn < 0 ? a1 : a0), sectors = (int)(fabs(turn) / (2 * M_PI) * SECTORS) + 2,
	    n = 0;

	for (int k = 0; k < sectors; k++)
		for (int64_t i = s->first[(from + k) % SECTORS]; i < s->first[(from + k) % SECTORS + 1];
		     i++) {
			struct crossing x = { .strip = s->list[i] };
			int at = n;
			bool known = false;

			for (int j = 0; j < n; j++) known = known || to[j].strip == x.strip;
			if (known || n == CROSSED || !cross(&x, s->b->strip + x.strip, p, c, e)) continue;
			for (; at > 0 && to[at - 1].in > x.in; at--) to[at] = to[at - 1];
			to[at] = x;
			n++;
		}
	return n;
}

/* A photon that flies across along (c, e), rising by tau, and interacts after `free` mean free ways: strip and way across;
   false: in none. */
static bool interact(int32_t *strip, double *way, const struct scan *s, const double p[3], double c, double e,
                     double tau, double free)
{
	struct crossing x[CROSSED];
	const double longer = sqrt(1 + tau * tau), most = free / (s->b->mu * longer);
	int n = meet(x, s, p, c, e);
	double gone = 0;

	for (int k = 0; k < n; k++) {
		const struct iso_barrel_strip *t = s->b->strip + x[k].strip;
		/* the part of the crossing at heights of the strip */
		double in = x[k].in, out = x[k].out, low = t->z - t->length / 2 - p[2],
		       high = low + t->length;

		if (tau != 0) {
			in = fmax(in, fmin(low / tau, high / tau));
			out = fmin(out, fmax(low / tau, high / tau));
		} else if (low > 0 || high < 0) {
			continue;
		}
		if (!(out > in)) continue;
		if (gone + out - in > most) {
			*strip = x[k].strip;
			*way = in + most - gone;
			return true;
		}
		gone += out - in;
	}
	return false;
}

/* ---- an event ---- */

static double unit(struct philox p, int k)
{
	return philox_unit_double(p.w[2 * k], p.w[2 * k + 1]);
}

static void place(double p[3], const struct source *s, double share, struct philox q)
{
	int64_t low = 0, high = s->n - 1;

	while (low < high) {
		int64_t middle = (low + high) / 2;

		if (s->up_to[middle] > share)
			high = middle;
		else
			low = middle + 1;
	}
	const int64_t i[3] = { low % s->grid.n[0], low / s->grid.n[0] % s->grid.n[1],
		               low / (s->grid.n[0] * s->grid.n[1]) };

	for (int a = 0; a < 3; a++)
		p[a] = s->grid.centre[a] +
		       ((double)i[a] - .5 * (double)s->grid.n[a] + (double)philox_unit(q.w[a])) *
		               s->grid.voxel[a];
}

/* One emission, number `number`: true if it is an event, with exact places. The photon that flies along the direction is a's. */
static bool emit(struct iso_barrel_event *e, const struct scan *s, uint64_t number, uint64_t attempt)
{
	const uint64_t draw = attempt * (DRAWS + 2);
	const struct philox q = philox_draw(s->seed, number, draw),
			    d = philox_draw(s->seed, number, draw + 1);
	const struct philox f = philox_draw(s->seed, number, draw + 2);
	double p[3], phi = 2 * M_PI * unit(d, 0), cosine = 2 * unit(d, 1) - 1, way[2];
	double tau = cosine / sqrt(1 - cosine * cosine), longer = sqrt(1 + tau * tau);
	int32_t strip[2];

	place(p, &s->source, unit(f, 0), q);
	const struct philox g = philox_draw(s->seed, number, draw + 3);

	if (!interact(&strip[0], &way[0], s, p, cos(phi), sin(phi), tau, -log(unit(g, 0))) ||
	    !interact(&strip[1], &way[1], s, p, -cos(phi), -sin(phi), -tau, -log(unit(g, 1))) ||
	    !iso_barrel_pair(s->b, strip[0], strip[1]))
		return false;
	*e = (struct iso_barrel_event){ strip[0], strip[1], (iso_real)(p[2] + way[0] * tau),
		                        (iso_real)(p[2] - way[1] * tau),
		                        (iso_real)((way[0] - way[1]) * longer) };
	return true;
}

/* The next event of a number, from *attempt on. */
static void next(struct iso_barrel_event *e, uint64_t *attempt, const struct scan *s, uint64_t number)
{
	while (!emit(e, s, number, (*attempt)++)) continue;
}

/* Where the emission was that a try made an event. */
static void place_again(float to[3], const struct scan *s, uint64_t number, uint64_t attempt)
{
	const uint64_t draw = attempt * (DRAWS + 2);
	double p[3];

	place(p, &s->source, unit(philox_draw(s->seed, number, draw + 2), 0),
	      philox_draw(s->seed, number, draw));
	for (int a = 0; a < 3; a++) to[a] = (float)p[a];
}

/* ---- a block of events ---- */

/* With mu: each event is kept with the chance alpha, else it is another try. */
static int attenuate(struct iso_barrel_event *e, uint64_t *attempt, iso_ctx *ctx, const struct scan *s,
                     const struct iso_array *mu, int64_t first, int64_t n, struct iso_room *room)
{
	struct iso_barrel_events some = { .n = n };
	iso_real *alpha;
	int64_t *which, left = n;
	int st = ISO_OK;

	ISO_HOST(room, alpha, n);
	ISO_HOST(room, which, n);
	if (!ISO_HOST(room, some.v, n)) return room->status;
	for (int64_t i = 0; i < n; i++) which[i] = i;
	while (left > 0 && !st) {
		int64_t kept = 0;

#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, PART)
		for (int64_t k = 0; k < left; k++) {
			int64_t i = which[k];

			if (iso_stopped(ctx)) continue;
			next(e + i, attempt + i, s, (uint64_t)(first + i));
			some.v[k] = e[i];
		}
		some.n = left;
		if ((st = iso_ctx_poll(ctx)) || (st = iso_barrel_attenuation(alpha, ctx, s->b, mu, &some)))
			break;
		for (int64_t k = 0; k < left; k++) {
			int64_t i = which[k];
			struct philox q = philox_draw(s->seed, (uint64_t)(first + i),
			                              (attempt[i] - 1) * (DRAWS + 2) + 4);

			if (unit(q, 0) >= (double)alpha[k]) which[kept++] = i;
		}
		left = kept;
	}
	return st;
}

static int make_events(struct iso_barrel_event *e, float *places, int64_t *decays, iso_ctx *ctx,
                       const struct scan *s, const struct iso_array *mu, int64_t first, int64_t n,
                       struct iso_room *room)
{
	uint64_t *attempt;
	int64_t sum = 0;
	int st = ISO_OK;

	if (!ISO_HOST(room, attempt, n)) return room->status;
	if (mu) {
		st = attenuate(e, attempt, ctx, s, mu, first, n, room);
	} else {
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, PART)
		for (int64_t i = 0; i < n; i++)
			if (!iso_stopped(ctx)) next(e + i, attempt + i, s, (uint64_t)(first + i));
		st = iso_ctx_poll(ctx);
	}
	for (int64_t i = 0; i < n && !st; i++) {
		sum += (int64_t)attempt[i];
		if (places) place_again(places + 3 * i, s, (uint64_t)(first + i), attempt[i] - 1);
		barrel_blur(e + i, s->b, s->seed, (uint64_t)(first + i), UINT64_MAX - 1);
	}
	*decays = sum;
	return st;
}

/* ---- what is asked for ---- */

static int set_source(struct source *s, struct iso_room *room, const struct iso_array *activity)
{
	double sum = 0;

	s->n = activity->n;
	s->grid = activity->grid;
	if (!ISO_HOST(room, s->up_to, s->n)) return room->status;
	for (int64_t i = 0; i < s->n; i++) s->up_to[i] = sum += fmax((double)activity->v[i], 0);
	if (!(sum > 0) || !isfinite(sum))
		return iso_fail(ISO_EARG, "barrel simulation: the image has no activity");
	for (int64_t i = 0; i < s->n; i++) s->up_to[i] /= sum;
	return ISO_OK;
}

/* Activity beside the strips would keep us for ever, and outside of the barrel rays are not what they are here. */
static int check_scan(const struct scan *s)
{
	const struct iso_grid *g = &s->source.grid;
	struct iso_barrel_event e;
	int kept = 0;

	for (int64_t i = 0; i < s->source.n; i++) {
		double before = i > 0 ? s->source.up_to[i - 1] : 0, r2 = 0;
		const int64_t at[2] = { i % g->n[0], i / g->n[0] % g->n[1] };

		if (!(s->source.up_to[i] > before)) continue;
		for (int a = 0; a < 2; a++) {
			double off = fabs(g->centre[a] +
			                  ((double)at[a] - .5 * (double)(g->n[a] - 1)) * g->voxel[a]) +
			             g->voxel[a] / 2;

			r2 += off * off;
		}
		if (r2 >= s->inner * s->inner)
			return iso_fail(ISO_EARG,
			                "barrel simulation: activity %.4g mm from the axis, must be within "
			                "the strips, "
			                "%.4g mm",
			                sqrt(r2), s->inner);
	}
	for (uint64_t i = 0; i < TRIES && kept < ENOUGH; i++) kept += emit(&e, s, UINT64_MAX, i);
	if (kept < ENOUGH)
		return iso_fail(ISO_EARG,
		                "barrel simulation: %d of %d emissions reach two strips, must be at least %d",
		                kept, TRIES, ENOUGH);
	return ISO_OK;
}

static int simulate(struct iso_barrel_event *e, float *places, int64_t *decays, iso_ctx *ctx,
                    const struct iso_barrel *b, const struct iso_array *activity, const struct iso_array *mu,
                    uint64_t seed, int64_t first, int64_t n)
{
	struct iso_room room = { .what = "barrel simulation" };
	struct scan s = { .b = b, .seed = seed };
	int st;

	if (first < 0 || n < 0 || first > INT64_MAX - n)
		return iso_fail(ISO_EARG,
		                "barrel simulation: %" PRId64 " events from number %" PRId64
		                ", must both be 0 or above",
		                n, first);
	if (!(st = set_source(&s.source, &room, activity)) && !(st = list_strips(&s, &room)) &&
	    !(st = check_scan(&s)))
		st = make_events(e, places, decays, ctx, &s, mu, first, n, &room);
	int freed = iso_room_free(&room);

	return st ? st : freed;
}

int iso_barrel_simulate(struct iso_barrel_event *e, int64_t *decays, iso_ctx *ctx, const struct iso_barrel *b,
                        const struct iso_array *activity, const struct iso_array *mu, uint64_t seed,
                        int64_t first, int64_t n)
{
	if (!e || !decays || !ctx || !b || !activity) return iso_fail_null(__func__);
	return simulate(e, NULL, decays, ctx, b, activity, mu, seed, first, n);
}

int iso_barrel_simulate_places(struct iso_barrel_event *e, float *places, int64_t *decays, iso_ctx *ctx,
                               const struct iso_barrel *b, const struct iso_array *activity,
                               const struct iso_array *mu, uint64_t seed, int64_t first, int64_t n)
{
	if (!e || !places || !decays || !ctx || !b || !activity) return iso_fail_null(__func__);
	return simulate(e, places, decays, ctx, b, activity, mu, seed, first, n);
}
