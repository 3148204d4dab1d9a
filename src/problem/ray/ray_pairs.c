/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines that the scatter of model ray is summed over: crystal pairs of the scanner, some of them, and events of a frame,
   block by block. */
#include "model_ray.h"

#include "core/philox.h"
#include "core/room.h"
#include "core/size.h"
#include "scanner/scanner.h"

enum { BLOCK = 1 << 18 }; /* events whose factors are made at a time */

/* ---- crystal pairs ---- */

static double efficiency(struct ray_problem *ray, int64_t a, int64_t b)
{
	if (ray_norm_per_crystal(ray))
		return (double)ray->factors.v[a] * (double)ray->factors.v[b] *
		       (ray_norm_of_pairs(ray) ? efficiency_of_crystals(ray->s->efficiencies, a, b) : 1);
	if (ray->s->efficiencies && !ray->norm) return efficiency_of_crystals(ray->s->efficiencies, a, b);
	return ray->scatter.eta;
}

/* Place i of the sample; a pair that is not in coincidence has the efficiency 0. */
static void set_pair(struct ray_pairs *p, struct ray_problem *ray, int64_t i, int64_t pair)
{
	const double *at = iso_scanner_positions(ray->s);
	struct iso_event *e = p->e.v + i;
	int64_t a, b;

	iso_scanner_pair(&a, &b, ray->s, pair);
	const double *p1 = at + 3 * a, *p2 = at + 3 * b;

	*e = (struct iso_event){ .p1 = { (float)p1[0], (float)p1[1], (float)p1[2] },
		                 .p2 = { (float)p2[0], (float)p2[1], (float)p2[2] } };
	double w = iso_scanner_met(ray->s, p1, p2);
	bool counts = w > 0 && iso_scanner_in_coincidence(ray->s, a, b);

	p->counted[i] = counts;
	p->eta[i] = counts ? efficiency(ray, a, b) / (iso_scanner_weighs(ray->s) ? 1 : w) : 0;
	if (p->randoms) p->randoms[i] = counts ? ray->rate[a] * ray->rate[b] * ray->share_randoms : 0;
}

int ray_pairs_part(struct ray_pairs *p, struct ray_problem *ray, int64_t n, uint64_t seed,
                   struct iso_rows part)
{
	int64_t all = iso_scanner_pairs(ray->s), m = part.n;
	struct ray_pairs made = { .e.n = m, .times = (double)all / (double)n };

	made.e.v = size_alloc(m, sizeof *made.e.v);
	made.eta = size_alloc(m, sizeof *made.eta);
	made.counted = size_alloc(m, sizeof *made.counted);
	if (ray->rate) made.randoms = size_alloc(m, sizeof *made.randoms);
	if (!made.e.v || !made.eta || !made.counted || (ray->rate && !made.randoms)) {
		ray_pairs_free(&made);
		return iso_fail_memory("pairs of crystals",
		                       m * (int64_t)(sizeof *made.e.v + 2 * sizeof *made.eta));
	}
#pragma omp parallel for num_threads(iso_ctx_threads(ray->p->ctx))
	for (int64_t j = 0; j < m; j++) { /* one of each n-th part of all pairs */
		int64_t i = part.first + j;
		struct philox w = philox_draw(seed, (uint64_t)i, 0);
		int64_t pair = (int64_t)(((double)i + philox_unit_double(w.w[0], w.w[1])) * made.times);

		set_pair(&made, ray, j, n == all ? i : pair < all ? pair : all - 1);
	}
	*p = made;
	return ISO_OK;
}

int ray_pairs_draw(struct ray_pairs *p, struct ray_problem *ray, int64_t n, uint64_t seed)
{
	int64_t all = iso_scanner_pairs(ray->s);

	n = n < all ? n : all;
	return ray_pairs_part(p, ray, n, seed, (struct iso_rows){ 0, n });
}

void ray_pairs_free(struct ray_pairs *p)
{
	iso_events_free(&p->e);
	free(p->eta);
	free(p->randoms);
	free(p->counted);
	*p = (struct ray_pairs){ 0 };
}

/* ---- events ---- */

struct block {
	struct iso_room room;
	struct iso_events e; /* with room for count, mult and add */
};

static int make_block(struct block *b, struct ray_problem *ray, int64_t n)
{
	b->room = iso_room_of(NULL, "events");
	if (ray->disk) ISO_HOST(&b->room, b->e.v, n);
	if (ray->disk && ray->motion.all) ISO_HOST(&b->room, b->e.time_ms, n);
	ISO_HOST(&b->room, b->e.count, n);
	ISO_HOST(&b->room, b->e.mult, n);
	ISO_HOST(&b->room, b->e.add, n);
	return b->room.status;
}

/* Events first ... first + m - 1 of those in memory; per-event values are told apart by `number`. */
static int fill_from_memory(struct block *b, struct ray_problem *ray, int64_t first, int64_t m)
{
	struct iso_events part = ray_from_place(&ray->now, first);
	int64_t skip = ray->number ? 0 : first;
	struct ray_part p = { &part, ray->number ? ray->number + first : NULL,
		              ray->factors.v ? ray->factors.v + skip : NULL,
		              ray->add.v ? ray->add.v + skip : NULL };

	part.n = b->e.n = m;
	b->e.v = part.v;
	b->e.time_ms = part.time_ms;
	return ray_fill(ray, &p, b->e.count, b->e.mult, ray_has_additive(ray) ? b->e.add : NULL);
}

int ray_each(struct ray_problem *ray,
             int (*block)(void *arg, struct ray_problem *ray, const struct ray_some *some), void *arg)
{
	struct iso_rows mine = { 0, ray->now.n };
	struct block b = { 0 };
	int st;

	if (ray->disk) mine = iso_share(ray->p->ctx, ray->p->found.rows);
	st = make_block(&b, ray, mine.n < BLOCK ? mine.n : BLOCK);
	for (int64_t i = 0, m; i < mine.n && !st; i += m) {
		m = mine.n - i < BLOCK ? mine.n - i : BLOCK;
		b.e.n = m;
		st = ray->disk ? ray_disk_block(ray, &b.e, mine.first + i, m)
		               : fill_from_memory(&b, ray, i, m);
		struct ray_some some = { .e = { .n = m, .v = b.e.v, .time_ms = b.e.time_ms },
			                 .count = b.e.count,
			                 .mult = b.e.mult,
			                 .add = b.e.add };

		if (!st) st = block(arg, ray, &some);
	}
	iso_room_free(&b.room);
	return iso_comm_agree(ray->p->ctx, st);
}
