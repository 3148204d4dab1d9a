/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of what a medium does to delays, T - d/c0, at nodes over the image's box, as int16 of a power of two of us.
   They are made transducer by transducer: by first arrivals, or by sums of slowness along straight rays. */
#include "tissue_delays.h"

#include "core/comm.h"
#include "core/philox.h"
#include "core/size.h"

#include <omp.h>

#define MOST_INT 32767
#define ENOUGH .05 /* samples: nodes at half the step may change delays by less */

enum { LOOKS = 1000, EARS = 8 }; /* voxels and transducers that the choice of a step looks at */

static const double steps[] = { 1, .7, .5 };

enum { N_STEPS = sizeof steps / sizeof *steps };

/* ---- grids ---- */

/* Over the voxel centres, grown by one step. plane: the place of all transducers and voxels along an axis that is left
   alone; NAN: none, NULL: no axis is. */
struct sound_nodes iso_sound_nodes(const struct iso_grid *g, const double *plane, double h)
{
	struct sound_nodes v = { .h = h };

	for (int a = 0; a < 3; a++) {
		double length = (double)(g->n[a] - 1) * g->voxel[a];
		bool flat = plane && isfinite(plane[a]);

		v.n[a] = flat ? 1 : (int64_t)floor(length / h + 1e-9) + 4;
		v.first[a] = flat ? plane[a] : g->centre[a] - length / 2 - h;
		if (!flat && v.first[a] + (double)(v.n[a] - 2) * h >= g->centre[a] + length / 2) v.n[a]--;
	}
	return v;
}

/* The table's nodes and as many more as cover the medium's box and two steps round both. */
static void surround(struct sound_medium *w, const struct sound *m)
{
	w->whole = w->table;
	for (int a = 0; a < 3; a++) {
		double h = w->table.h, low = w->table.first[a], high = low + (double)(w->table.n[a] - 1) * h;
		double from = low - h, to = high + h;

		w->skip[a] = 0;
		if (w->table.n[a] < 2) continue;
		if (m->image && m->image_n[a] > 1) {
			from = fmin(from, m->image_first[a] - .5 * m->image_voxel[a] - 2 * h);
			to = fmax(to, m->image_first[a] + ((double)m->image_n[a] - .5) * m->image_voxel[a] +
			                      2 * h);
		} else if (!m->image && m->shape == ISO_TISSUE_ELLIPSOID) {
			double reach = 0; /* of the ellipsoid: the row of the inverse of wr */

			for (int i = 0; i < 3; i++) {
				double over = sound_dot(m->wr + 3 * i, m->wr + 3 * i);

				if (over > 0) reach += pow(m->wr[3 * i + a] / over, 2);
			}
			from = fmin(from, m->centre[a] - sqrt(reach) - 2 * h);
			to = fmax(to, m->centre[a] + sqrt(reach) + 2 * h);
		}
		w->skip[a] = (int64_t)ceil((low - from) / h - 1e-9);
		w->whole.first[a] = low - (double)w->skip[a] * h;
		w->whole.n[a] = w->skip[a] + w->table.n[a] + (int64_t)ceil((to - high) / h - 1e-9);
	}
}

/* ---- one transducer ---- */

struct maker {
	const struct sound *m;
	const struct sound_medium *w;
	double *u, *work; /* of a thread: first arrivals */
};

static void make_one(float *late, const struct maker *k, const double s[3])
{
	const struct sound_nodes *t = &k->w->table, *g = &k->w->whole;
	bool eikonal = k->m->path == ISO_SOUND_EIKONAL;
	double water = 1 / k->m->c0, s0 = water;

	if (eikonal) s0 = iso_eikonal(k->u, k->work, g, k->w->slow, water, s);
	for (int64_t i = 0; i < sound_nodes_all(t); i++) {
		const int64_t at[3] = { i % t->n[0], i / t->n[0] % t->n[1], i / t->n[0] / t->n[1] };
		const int64_t *skip = k->w->skip;
		double x[3];

		for (int a = 0; a < 3; a++) x[a] = t->first[a] + (double)at[a] * t->h;
		if (eikonal) {
			int64_t in =
				((at[2] + skip[2]) * g->n[1] + at[1] + skip[1]) * g->n[0] + at[0] + skip[0];

			late[i] = (float)((s0 - water) * sound_length(x, s) + k->u[in]);
		} else {
			late[i] = (float)iso_sound_along(k->w, water, s, x);
		}
	}
}

/* ---- all ---- */

/* The plane that all transducers and voxels lie in, and the medium does not leave: then an axis is left alone. */
static void flat(double plane[3], const struct iso_delays *d)
{
	const struct sound *m = &d->m;

	for (int a = 0; a < 3; a++) {
		bool one = d->grid.n[a] == 1;

		if (m->image) one = one && m->image_n[a] == 1;
		if (!m->image && m->shape == ISO_TISSUE_PLANE) one = one && fabs(m->normal[a]) < 1e-9;
		for (int64_t q = 0; q < d->n && one; q++)
			one = fabs(d->pos[3 * q + a] - d->grid.centre[a]) < 1e-6 * d->grid.voxel[a];
		plane[a] = one ? d->grid.centre[a] : NAN;
	}
}

static int make_medium(struct iso_room *room, struct sound_medium *w, const struct iso_delays *d, double h)
{
	double plane[3];

	flat(plane, d);
	w->table = iso_sound_nodes(&d->grid, plane, h);
	surround(w, &d->m);
	if (!ISO_HOST(room, w->slow, sound_nodes_all(&w->whole))) return room->status;
	iso_sound_slow(w->slow, &d->m, &w->whole, iso_ctx_threads(room->ctx));
	return ISO_OK;
}

/* late: (n, nodes), of transducers which[0..n-1], or own if NULL. */
static int make_all(float *late, const struct iso_delays *d, const struct sound_medium *w, iso_ctx *ctx,
                    const int64_t *which, struct iso_rows own)
{
	int64_t n = sound_nodes_all(&w->whole), nodes = sound_nodes_all(&w->table);
	int threads = iso_ctx_threads(ctx);
	struct iso_room room = iso_room_of(ctx, "first arrivals");
	bool eikonal = d->m.path == ISO_SOUND_EIKONAL;
	double *u = NULL, *work = NULL;

	if (eikonal) {
		ISO_HOST(&room, u, threads * n);
		ISO_HOST(&room, work, threads * iso_eikonal_work(&w->whole));
	}
#pragma omp parallel for num_threads(threads) schedule(dynamic)
	for (int64_t i = own.first; i < own.first + own.n; i++) {
		int me = omp_get_thread_num();
		struct maker k = { &d->m, w, u, work };

		if (room.status || iso_ctx_cancelled(ctx)) continue;
		if (eikonal) {
			k.u += me * n;
			k.work += me * iso_eikonal_work(&w->whole);
		}
		make_one(late + i * nodes, &k, d->pos + 3 * (which ? which[i] : i));
	}
	int st = iso_room_free(&room);

	return st ? st : iso_ctx_poll(ctx);
}

/* The least power of two that the greatest fits in, and the rounded values. */
static void pack(int16_t *to, double *unit, const float *late, int64_t n)
{
	double most = 0;
	int e;

	for (int64_t i = 0; i < n; i++) most = fmax(most, fabs((double)late[i]));
	frexp(most / MOST_INT, &e);
	*unit = most > 0 ? ldexp(1, e - (ldexp(1, e - 1) >= most / MOST_INT)) : 1;
	for (int64_t i = 0; i < n; i++) to[i] = (int16_t)lrint((double)late[i] / *unit);
}

/* ---- the step ---- */

/* Late at a place between the nodes of float tables. */
static double between(const float *late, const struct sound_nodes *t, const double x[3])
{
	double f[3], sum = 0;
	int64_t low[3];

	for (int a = 0; a < 3; a++) {
		double at = t->n[a] > 1 ? fmax(0, (x[a] - t->first[a]) / t->h) : 0;

		low[a] = (int64_t)fmin(floor(at), (double)(t->n[a] > 1 ? t->n[a] - 2 : 0));
		f[a] = at - (double)low[a];
	}
	for (int k = 0; k < 8; k++) {
		int64_t i[3];
		double w = 1;

		for (int a = 0; a < 3; a++) {
			w *= k >> a & 1 ? f[a] : 1 - f[a];
			i[a] = low[a] + (t->n[a] > 1 ? k >> a & 1 : 0);
		}
		if (w != 0) sum += w * (double)late[(i[2] * t->n[1] + i[1]) * t->n[0] + i[0]];
	}
	return sum;
}

/* Tables of step h for a few transducers, at places of the image. */
static int look(double *at, const struct iso_delays *d, iso_ctx *ctx, double h, const int64_t *which, int n,
                const double *places)
{
	struct iso_room room = iso_room_of(ctx, "tables of delays");
	struct sound_medium w;
	int64_t nodes;
	float *late;
	int st = make_medium(&room, &w, d, h);

	if (st) goto done;
	nodes = sound_nodes_all(&w.table);
	ISO_HOST(&room, late, n * nodes);
	if ((st = room.status) || (st = make_all(late, d, &w, ctx, which, (struct iso_rows){ 0, n })))
		goto done;
	for (int i = 0; i < n; i++)
		for (int k = 0; k < LOOKS; k++)
			at[i * LOOKS + k] = between(late + i * nodes, &w.table, places + 3 * k);
done:
	iso_room_free(&room);
	return st;
}

static double rms(const double *a, const double *b, int n)
{
	double sum = 0;

	for (int i = 0; i < n; i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
	return sqrt(sum / n);
}

/* The coarsest step whose half changes delays by less than ENOUGH samples. */
static int choose_step(double *h, double *error, const struct iso_delays *d, iso_ctx *ctx, double dt_us)
{
	int n = d->n < EARS ? (int)d->n : EARS, st = ISO_OK;
	struct iso_room room = iso_room_of(ctx, "tables of delays");
	double *places, *coarse, *fine;
	int64_t which[EARS];

	ISO_HOST(&room, places, 3 * LOOKS);
	ISO_HOST(&room, coarse, n * LOOKS);
	ISO_HOST(&room, fine, n * LOOKS);
	if (room.status) return iso_room_free(&room);
	for (int i = 0; i < LOOKS; i++) {
		struct philox w = philox_draw(1, (uint64_t)i, 0);

		for (int a = 0; a < 3; a++)
			places[3 * i + a] = d->grid.centre[a] + (w.w[a] / 4294967296. - .5) *
			                                                (double)(d->grid.n[a] - 1) *
			                                                d->grid.voxel[a];
	}
	for (int i = 0; i < n; i++)
		which[i] = (int64_t)(philox_draw(2, (uint64_t)i, 0).w[0] / 4294967296. * (double)d->n);
	for (int i = 0; i < N_STEPS && !st; i++) {
		*h = steps[i];
		if ((st = look(coarse, d, ctx, *h, which, n, places))) break;
		if ((st = look(fine, d, ctx, *h / 2, which, n, places))) break;
		*error = rms(coarse, fine, n * LOOKS);
		if (*error < ENOUGH * dt_us) break;
	}
	iso_room_free(&room);
	return st;
}

/* ---- bounds ---- */

/* In a cell a slope along an axis lies between those of its four edges; the square of the most that all three make. */
static double steepest(const int16_t *cell, const int64_t step[3])
{
	double square = 0;

	for (int a = 0; a < 3; a++) {
		int most = 0;

		for (int k = 0; k < 4 && step[a] > 0; k++) {
			const int16_t *at =
				cell + (k & 1 ? step[(a + 1) % 3] : 0) + (k & 2 ? step[(a + 2) % 3] : 0);
			int rise = abs(at[step[a]] - at[0]);

			most = rise > most ? rise : most;
		}
		square += (double)most * most;
	}
	return square;
}

static void bound(struct sound *m, int64_t n)
{
	int64_t step[3] = { 1, m->nodes[0], m->nodes[0] * m->nodes[1] }, row = m->nodes[0], rows = n / row;
	const int64_t cells = row > 1 ? row - 1 : 1;
	int least = INT16_MAX, most = INT16_MIN;
	double square = 0;

	for (int a = 0; a < 3; a++)
		if (m->nodes[a] == 1) step[a] = 0;
	for (int64_t i = 0; i < n; i++) {
		least = m->table[i] < least ? m->table[i] : least;
		most = m->table[i] > most ? m->table[i] : most;
	}
	for (int64_t r = 0; r < rows; r++) {
		const int64_t y = r % m->nodes[1], z = r / m->nodes[1] % m->nodes[2];

		if ((step[1] && y + 1 == m->nodes[1]) || (step[2] && z + 1 == m->nodes[2])) continue;
		for (int64_t x = 0; x < cells; x++)
			square = fmax(square, steepest(m->table + r * row + x, step));
	}
	m->least = least * m->unit;
	m->most = most * m->unit;
	m->steep = sqrt(square) * m->unit / m->h;
	m->root = 0;
}

static int check_memory(const struct iso_delays *d, iso_ctx *ctx, double h, int64_t bytes)
{
	double plane[3], fits = h;

	if (iso_memory_check(ctx, "tables of delays", bytes) == ISO_OK) return ISO_OK;
	flat(plane, d);
	for (int i = 0; i < 200; i++, fits *= 1.05) {
		struct sound_nodes g = iso_sound_nodes(&d->grid, plane, fits);

		if (iso_memory_check(ctx, "tables of delays", 6 * d->n * sound_nodes_all(&g)) == ISO_OK)
			return iso_fail(
				ISO_ENOMEM,
				"tables of delays of %g mm take %.3g GB, which is over the memory limit; "
				"a table step of %.2g mm fits",
				h, 1e-9 * (double)bytes, fits);
	}
	return iso_fail(ISO_ENOMEM, "tables of delays of %g mm take %.3g GB, which is over the memory limit",
	                h, 1e-9 * (double)bytes);
}

int iso_sound_tables(struct iso_delays *d, const struct iso_transducers *t, double step)
{
	iso_ctx *ctx = d->room.ctx;
	struct iso_room room = iso_room_of(ctx, "tables of delays");
	struct sound *m = &d->m;
	struct sound_medium *w = &d->medium;
	double error = NAN;
	int64_t all;
	int16_t *table;
	float *late = NULL;
	int st;

	if (!(step > 0) && (st = choose_step(&step, &error, d, ctx, t->dt_us))) return st;
	if ((st = make_medium(&d->room, w, d, step))) goto done;
	all = d->n * sound_nodes_all(&w->table);
	if ((st = check_memory(d, ctx, step, 6 * all))) goto done;
	ISO_HOST(&room, late, all);
	ISO_HOST(&d->room, table, all);
	st = room.status ? room.status : d->room.status;
	if (!st) st = make_all(late, d, w, ctx, NULL, iso_share(ctx, d->n));
	if ((st = iso_comm_gather(ctx, st, late, d->n, sound_nodes_all(&w->table) * (int64_t)sizeof *late)))
		goto done;
	pack(table, &m->unit, late, all);
	m->table = table;
	m->h = step;
	for (int a = 0; a < 3; a++) {
		m->nodes[a] = w->table.n[a];
		m->node_first[a] = w->table.first[a];
	}
	bound(m, all);
	d->info.table_mm = step;
	d->info.table_bytes = all * (int64_t)sizeof *table;
	d->info.table_error_us = error;
done:
	iso_room_free(&room);
	return st;
}
