/* SPDX-License-Identifier: BSD-3-Clause */
/* Setting up the photons of an object inside a ring: the tables, the box of matter, where decays happen. */
#include "photon.h"
#include "core/size.h"
#include "transport.h"
#include "water.h"

/* ---- tables ---- */

/* `densest`: greatest density. Entry 0 is that of 1 keV: no photon gets there. */
static int make_table(struct photon_table *t, const struct photon_setting *s, double densest)
{
	int st = s->rayleigh ? iso_material_make(&t->material, "H2O", 1) : ISO_OK;

	if (st) return st;
	for (int k = 0; k < PHOTON_ENERGIES; k++) {
		int at = k > 0 ? k : 1;
		double mu = (double)s->water[at], photo = mu - (double)s->compton[at], coherent = 0;

		if (s->rayleigh) {
			float sum[3];

			material_mu(sum, &t->material, (float)at);
			coherent = (double)(sum[2] - sum[1]);
		}
		/* a 16-bit number is below PHOTON_FULL with the share PHOTON_FULL / 65536 */
		t->water[k].path = (float)(PHOTON_FULL / 65536. / ((mu + coherent) * densest));
		t->water[k].photo = (float)(65536 * photo / (mu + coherent));
		t->water[k].rayleigh = (float)(65536 * (photo + coherent) / (mu + coherent));
	}
	iso_compton_rows(t->compton);
	return ISO_OK;
}

/* ---- matter ---- */

/* Lowest and highest voxel with matter along each axis; the greatest density, 0: there is none. */
static double find_matter(int32_t first[3], int32_t last[3], const struct photon_volume *q)
{
	float densest = 0;
	int64_t i = 0;

	for (int a = 0; a < 3; a++) {
		first[a] = q->n[a];
		last[a] = -1;
	}
	for (int32_t z = 0; z < q->n[2]; z++)
		for (int32_t y = 0; y < q->n[1]; y++)
			for (int32_t x = 0; x < q->n[0]; x++, i++) {
				int32_t at[3] = { x, y, z };

				if (!(q->v[i] > 0)) continue;
				densest = fmaxf(densest, q->v[i]);
				for (int a = 0; a < 3; a++) {
					if (at[a] < first[a]) first[a] = at[a];
					if (at[a] > last[a]) last[a] = at[a];
				}
			}
	return (double)densest;
}

/* The box of matter and its densities; without matter a box that no line meets. */
static void make_matter(struct photon_world *w, uint16_t **density, struct iso_room *room,
                        const struct photon_volume *q, const int32_t first[3], const int32_t last[3],
                        double densest)
{
	int64_t n = 1, i = 0;

	*density = NULL;
	for (int a = 0; a < 3; a++) {
		w->n[a] = densest > 0 ? last[a] - first[a] + 1 : 0;
		w->per_mm[a] = 1 / q->voxel[a];
		w->low[a] = densest > 0 ? q->low[a] + (float)first[a] * q->voxel[a] : 1e20f;
		w->high[a] = w->low[a] + (float)w->n[a] * q->voxel[a];
		n *= w->n[a];
	}
	if (n == 0 || !ISO_HOST(room, *density, n)) return;
	for (int32_t z = first[2]; z <= last[2]; z++)
		for (int32_t y = first[1]; y <= last[1]; y++)
			for (int32_t x = first[0]; x <= last[0]; x++, i++) {
				float v = q->v[((int64_t)z * q->n[1] + y) * q->n[0] + x];

				(*density)[i] = (uint16_t)lrint(fmax(0, (double)v) / densest * PHOTON_FULL);
			}
}

/* ---- decays ---- */

static int make_emission(struct iso_emission *e, const struct photon_volume *f)
{
	int64_t n = (int64_t)f->n[0] * f->n[1] * f->n[2];
	struct iso_array a = { .n = n, .grid = { .n = { f->n[0], f->n[1], f->n[2] } } };
	iso_real *v = size_alloc(n, sizeof *v);

	if (!v) return iso_fail_memory("photons", n * (int64_t)sizeof *v);
	for (int64_t i = 0; i < n; i++) v[i] = (iso_real)f->v[i];
	for (int k = 0; k < 3; k++) {
		a.grid.voxel[k] = (double)f->voxel[k];
		a.grid.centre[k] = (double)f->low[k] + .5 * f->n[k] * (double)f->voxel[k];
	}
	a.v = v;
	int st = iso_emission_create(e, &a, 0, 0, ISO_ALL_DECAYS);

	free(v);
	return st;
}

int iso_photon_make(struct photon_world *w, struct iso_room *room, const struct photon_setting *s)
{
	struct photon_world made = {
		.seed = s->seed,
		.rho2 = (float)(s->rho * s->rho),
		.half = (float)s->half,
		.least_kev = (float)s->least_kev,
		.nx = (uint32_t)s->activity.n[0],
		.ny = (uint32_t)s->activity.n[1],
	};
	struct iso_emission emission = { 0 };
	struct photon_table *table;
	uint16_t *density;
	int32_t first[3], last[3];
	double densest = find_matter(first, last, &s->density);
	int st = make_emission(&emission, &s->activity);

	if (st) return st;
	made.voxels = (uint32_t)emission.n;
	for (int a = 0; a < 3; a++) {
		made.image_low[a] = s->activity.low[a];
		made.image_voxel[a] = s->activity.voxel[a];
	}
	ISO_HOST(room, table, 1);
	make_matter(&made, &density, room, &s->density, first, last, densest);
	if (!room->status) st = make_table(table, s, densest > 0 ? densest : 1);
	if (!st) st = room->status;
	if (!st) {
		made.table = ISO_MOVE(room, table, 1);
		made.density = ISO_MOVE(room, density, (int64_t)made.n[0] * made.n[1] * made.n[2]);
		ISO_UPLOAD(room, made.slot, emission.slot, (int64_t)emission.n);
		st = room->status;
	}
	iso_emission_free(&emission);
	if (!st) *w = made;
	return st;
}

/* ---- from images ---- */

#define MU_MOST .05 /* 1/mm; bone has 0.02 */

int iso_photon_check_mu(const struct iso_array *mu)
{
	int st = iso_check_values(mu->v, mu->n, "simulate: mu of voxel");

	for (int64_t i = 0; i < mu->n && !st; i++)
		if ((double)mu->v[i] > MU_MOST)
			st = iso_fail(ISO_EINPUT,
			              "simulate: mu of voxel %" PRId64
			              " is %.3g, must be 1/mm and at most %g: is it 1/cm?",
			              i, (double)mu->v[i], MU_MOST);
	return st;
}

/* A copy in float, times `scale`. */
static void take_volume(struct photon_volume *v, struct iso_room *room, const struct iso_array *a,
                        double scale)
{
	float *copy;

	if (!ISO_HOST(room, copy, a->n)) return;
	for (int64_t i = 0; i < a->n; i++) copy[i] = (float)(scale * (double)a->v[i]);
	v->v = copy;
	for (int k = 0; k < 3; k++) {
		v->n[k] = (int32_t)a->grid.n[k];
		v->voxel[k] = (float)a->grid.voxel[k];
		v->low[k] = (float)(a->grid.centre[k] - .5 * (double)a->grid.n[k] * a->grid.voxel[k]);
	}
}

int iso_photon_make_of(struct photon_world *w, struct iso_room *room, const struct photon_setting *s,
                       const struct iso_array *activity, const struct iso_array *mu)
{
	struct iso_room copies = { .what = "photons" };
	struct photon_setting set = *s;
	float water[PHOTON_ENERGIES], compton[PHOTON_ENERGIES];
	int st;

	for (int k = 0; k < PHOTON_ENERGIES; k++) {
		water[k] = (float)water_mu(k > 0 ? k : 1);
		compton[k] = (float)water_compton(k > 0 ? k : 1);
	}
	set.water = water;
	set.compton = compton;
	take_volume(&set.density, &copies, mu, 1 / water_mu(WATER_E0));
	take_volume(&set.activity, &copies, activity, 1);
	if (!(st = copies.status)) st = iso_photon_make(w, room, &set);
	iso_room_free(&copies);
	return st;
}
