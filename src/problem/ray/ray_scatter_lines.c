/* SPDX-License-Identifier: BSD-3-Clause */
/* Estimates of scatter at lines: events, whose lines go with the object to where the nearest estimate has it and are cut anew
   by the cylinder; and pairs of crystals, which stay. */
#include "model_ray.h"

#include "core/room.h"
#include "motion/pose.h"
#include "scanner/scanner.h"
#include "scatter/table.h"

enum {
	PIECE = 1 << 20, /* events at a time */
};

/* ---- events ---- */

/* Events in the order of their poses. */
struct dealt {
	struct iso_room room;
	struct iso_event *v;
	iso_real *h;
	int64_t *place, *first; /* of each of v among the events; of each pose in v, and one more */
};

static void move(struct iso_event *e, const struct iso_pose *z)
{
	double p1[3] = { e->p1[0], e->p1[1], e->p1[2] }, p2[3] = { e->p2[0], e->p2[1], e->p2[2] };

	iso_pose_apply(p1, z, p1);
	iso_pose_apply(p2, z, p2);
	for (int a = 0; a < 3; a++) {
		e->p1[a] = (float)p1[a];
		e->p2[a] = (float)p2[a];
	}
}

/* The ends of an event lie in the object's axes: pose c takes them to the scanner's, Z_c Z_j^-1 of where they were. */
static void deal(struct dealt *d, const struct ray_problem *ray, const struct iso_events *e, int64_t from,
                 int64_t n)
{
	const struct ray_scatter *s = &ray->scatter;

	memset(d->first, 0, (size_t)(s->poses + 2) * sizeof *d->first);
	for (int64_t j = 0; j < n; j++) d->first[ray_scatter_pose_at(s, e->time_ms[from + j]) + 2]++;
	for (int64_t c = 0; c < s->poses; c++) d->first[c + 2] += d->first[c + 1];
	for (int64_t j = 0; j < n; j++)
		d->place[d->first[ray_scatter_pose_at(s, e->time_ms[from + j]) + 1]++] = from + j;
	for (int64_t c = 0; c < s->poses; c++)
#pragma omp parallel for num_threads(iso_ctx_threads(ray->p->ctx))
		for (int64_t i = d->first[c]; i < d->first[c + 1]; i++) {
			d->v[i] = e->v[d->place[i]];
			if (!iso_event_bad(d->v + i)) move(d->v + i, &s->pose[c].z);
		}
}

/* W of the ends at which the line meets the cylinder. */
static double weight_of(const iso_scanner *s, const struct scatter_grid *g, const struct iso_event *e)
{
	double p1[3], p2[3], u;

	return !iso_event_bad(e) && table_line(p1, p2, &u, g, e) ? iso_scanner_met(s, p1, p2) : 0;
}

static int look_up(struct dealt *d, iso_real *h, iso_real *w, struct ray_problem *ray, double bin_ps)
{
	const struct ray_scatter *s = &ray->scatter;
	int st = ISO_OK;

	for (int64_t c = 0; c < s->poses && !st; c++) {
		int64_t first = d->first[c], n = d->first[c + 1] - first;
		struct iso_events e = { .n = n, .v = d->v + first };

		if (n > 0) st = iso_scatter_at(d->h, ray->p->ctx, s->pose[c].table, &e, bin_ps);
#pragma omp parallel for num_threads(iso_ctx_threads(ray->p->ctx))
		for (int64_t i = 0; i < (st ? 0 : n); i++) {
			int64_t j = d->place[first + i];

			h[j] = d->h[i];
			w[j] = (iso_real)weight_of(ray->s, &s->pose[c].table->grid, e.v + i);
		}
	}
	return st;
}

int ray_scatter_moved_at(iso_real *h, iso_real *w, struct ray_problem *ray, const struct iso_events *e,
                         double bin_ps)
{
	struct dealt d = { .room = iso_room_of(NULL, "scatter of events that moved") };
	int64_t most = e->n < PIECE ? e->n : PIECE;
	int st;

	ISO_HOST(&d.room, d.v, most);
	ISO_HOST(&d.room, d.h, most);
	ISO_HOST(&d.room, d.place, most);
	ISO_HOST(&d.room, d.first, ray->scatter.poses + 2);
	st = d.room.status;
	for (int64_t from = 0; from < e->n && !st; from += PIECE) {
		deal(&d, ray, e, from, e->n - from < PIECE ? e->n - from : PIECE);
		st = look_up(&d, h, w, ray, bin_ps);
	}
	iso_room_free(&d.room);
	return st;
}

/* ---- crystal pairs ---- */

#define ALL_TIMES 1e5 /* ps: a bin that holds every time of flight of a ring */

int ray_pairs_scatter_of(iso_real *r, const struct ray_pairs *p, struct ray_problem *ray, int64_t c)
{
	int st = iso_scatter_at(r, ray->p->ctx, ray->scatter.pose[c].table, &p->e,
	                        ray->tof > 0 ? ALL_TIMES : 0);

	for (int64_t i = 0; i < p->e.n && !st; i++) r[i] = (iso_real)((double)r[i] * p->eta[i]);
	return st;
}

int ray_pairs_scatter(iso_real *r, const struct ray_pairs *p, struct ray_problem *ray)
{
	const struct ray_scatter *s = &ray->scatter;
	iso_real *one = NULL;
	int st = ray_pairs_scatter_of(r, p, ray, 0);

	if (st || (s->poses == 1 && s->pose[0].weight == 1)) return st;
	for (int64_t i = 0; i < p->e.n; i++) r[i] = (iso_real)(s->pose[0].weight * (double)r[i]);
	st = model_vector(&one, p->e.n, "scatter");
	for (int64_t c = 1; c < s->poses && !st; c++) {
		st = ray_pairs_scatter_of(one, p, ray, c);
		for (int64_t i = 0; i < p->e.n && !st; i++)
			r[i] = (iso_real)((double)r[i] + s->pose[c].weight * (double)one[i]);
	}
	free(one);
	return st;
}

/* ---- pairs in the object's axes ---- */

int ray_pairs_attenuation(iso_real *alpha, const struct ray_pairs *p, struct ray_problem *ray,
                          const struct iso_array *mu, int64_t c)
{
	const struct ray_scatter_pose *pose = &ray->scatter.pose[c];
	struct iso_room room = iso_room_of(NULL, "lines of pairs");
	struct iso_events lines = { .n = p->e.n };
	iso_real *one;
	int st;

	ISO_HOST(&room, lines.v, p->e.n);
	ISO_HOST(&room, one, p->e.n);
	st = room.status;
	for (int b = -1; b < 2 && !st; b++) { /* the object, then what does not move with it */
		const struct iso_array *map = b < 0 ? mu : &ray->motion.beside[b].mu;
		struct iso_pose back = iso_pose_inverse(b < 0 ? pose->z : pose->beside[b]);

		if (map->n == 0) continue;
		for (int64_t i = 0; i < p->e.n; i++) {
			lines.v[i] = p->e.v[i];
			if (ray->motion.all) move(lines.v + i, &back);
		}
		st = iso_ray_attenuation(b < 0 ? alpha : one, ray->p->ctx, map, &lines);
		for (int64_t i = 0; i < p->e.n && b >= 0 && !st; i++) alpha[i] *= one[i];
	}
	iso_room_free(&room);
	return st;
}
