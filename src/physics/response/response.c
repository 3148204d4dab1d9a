/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of a crystal's response: its memory, its scanner, its values. */
#include "response.h"

#include "core/size.h"
#include "core/sized.h"
#include "scanner/scanner.h"

#include <stdio.h>
#include <xxhash.h>

int response_create(iso_response **out, const struct response_shape *s)
{
	const int32_t size[5] = { s->block[0], s->block[1], s->blocks[0], s->blocks[1], s->layers };
	double crystals = 1;
	iso_response *r;
	int st;

	for (int i = 0; i < 5; i++) crystals *= size[i] > 0 ? size[i] : INFINITY;
	if (!(crystals <= RESPONSE_MOST))
		return iso_fail(
			ISO_EINPUT,
			"response: blocks of %d x %d crystals, %d x %d of them, in %d layers: must be 1 to "
			"%d in all",
			(int)size[0], (int)size[1], (int)size[2], (int)size[3], (int)size[4], RESPONSE_MOST);
	if (!(r = calloc(1, sizeof *r))) return iso_fail_memory("response", sizeof *r);
	int64_t n = RESPONSE_DIRECTIONS * response_crystals_of(s),
		places = RESPONSE_DIRECTIONS * response_places_of(s);

	r->shape = *s;
	r->room = iso_room_of(NULL, "response");
	ISO_HOST(&r->room, r->d, n);
	ISO_HOST(&r->room, r->count, n);
	ISO_HOST(&r->room, r->area, n);
	ISO_HOST(&r->room, r->d_energy, RESPONSE_ENERGIES * RESPONSE_DIRECTIONS);
	ISO_HOST(&r->room, r->mean, RESPONSE_DIRECTIONS);
	ISO_HOST(&r->room, r->beyond, places);
	for (int a = 0; a < 2; a++) ISO_HOST(&r->room, r->hist[a], places * RESPONSE_BINS);
	for (int t = 0; t < RESPONSE_TABLES; t++) ISO_HOST(&r->room, r->node[t], places * 2 * (2 * t + 3));
	if ((st = r->room.status))
		iso_response_free(r);
	else
		*out = r;
	return st;
}

void iso_response_free(iso_response *r)
{
	if (!r) return;
	iso_room_free(&r->room);
	free(r);
}

static int check_values(const iso_response *r, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		if (!(r->d[i] >= 0) || !isfinite(r->d[i]))
			return iso_fail(ISO_EINPUT,
			                "response: an effective area of %g mm^2, must be 0 or above",
			                (double)r->d[i]);
	for (int64_t i = 0; i < RESPONSE_ENERGIES * RESPONSE_DIRECTIONS; i++)
		if (!(r->d_energy[i] >= 0) || !isfinite(r->d_energy[i]))
			return iso_fail(ISO_EINPUT,
			                "response: an effective area of %g mm^2, must be 0 or above",
			                (double)r->d_energy[i]);
	return ISO_OK;
}

/* d of a crystal; along the normal the mean with its mirror images, which are the same crystal seen from the other side. */
static double area_of(const iso_response *r, int64_t direction, int64_t crystal)
{
	const struct response_shape *s = &r->shape;
	const int turns_t = direction / RESPONSE_THETAS == 0, turns_z = direction % RESPONSE_THETAS == 0;
	int64_t nt = (int64_t)s->block[0] * s->blocks[0], nz = (int64_t)s->block[1] * s->blocks[1];
	int64_t layer = crystal % s->layers, it = crystal / s->layers % nt, iz = crystal / s->layers / nt;
	double sum = 0;

	for (int t = 0; t <= turns_t; t++)
		for (int z = 0; z <= turns_z; z++) {
			int64_t x = t ? nt - 1 - it : it, y = z ? nz - 1 - iz : iz;

			sum += (double)r->d[direction * nt * nz * s->layers + (y * nt + x) * s->layers +
			                    layer];
		}
	return sum / ((1 + turns_t) * (1 + turns_z));
}

int response_finish(iso_response *r)
{
	int64_t crystals = response_crystals_of(&r->shape), n = RESPONSE_DIRECTIONS * crystals;
	int st = check_values(r, n);

	if (st) return st;
	for (int i = 0; i < RESPONSE_DIRECTIONS; i++) {
		double sum = 0;

		for (int64_t c = 0; c < crystals; c++) sum += (double)r->d[i * crystals + c];
		r->mean[i] = (float)(sum / (double)crystals);
	}
	r->info.size = sizeof r->info;
	r->info.area_mm2 = (double)r->mean[0];
	if (!(r->info.area_mm2 > 0))
		return iso_fail(ISO_EINPUT,
		                "response: no photon along the normal was recorded; take more photons");
	for (int64_t i = 0; i < n; i++)
		r->area[i] = (float)(area_of(r, i / crystals, i % crystals) / r->info.area_mm2);
	return response_nodes_fill(r, &r->info.joined);
}

int iso_response_describe(struct iso_response_info *info, const iso_response *r)
{
	int st;

	if (!info || !r) return iso_fail_null(__func__);
	if ((st = iso_sized_clear(info, "iso_response_info", sizeof *info))) return st;
	iso_sized_give(info, sizeof *info, &r->info);
	return ISO_OK;
}

/* ---- the scanner ---- */

/* Blocks of a cylinder: each is a module of its own, which along z is as long as the ring. */
static void crystals_of_cylinder(struct response_crystals *c, const iso_scanner *s)
{
	c->cylinder = iso_cylinder_of(s);
	c->block[0] = c->cylinder.block;
	c->block[1] = c->cylinder.rings;
	c->blocks[0] = 1;
	c->blocks[1] = c->cylinder.storeys;
	c->layers = 1;
	c->two_rho = 2 * s->radius;
}

/* Of all that places crystals, number by number, and of what they and their readout are made of; m may be NULL. */
static void hash_crystals(char hash[17], const struct response_crystals *c, const struct iso_modules *m)
{
	const struct cylinder *k = &c->cylinder;
	double v[24 + 4 * RESPONSE_RINGS] = {
		c->flat,       c->rings,    c->layers,    c->depth,     c->two_rho,  k->storey_mm,
		k->ring_pitch, k->rings,    k->storeys,   k->block,     k->blocks,   k->crystals_per_sector,
		c->block[0],   c->block[1], c->blocks[0], c->blocks[1], c->pitch[0], c->pitch[1],
		c->gap[0],     c->gap[1],
	};

	for (int r = 0; r < c->rings; r++) {
		const struct response_ring *ring = c->ring + r;

		memcpy(v + 24 + 4 * r, (double[]){ ring->face, ring->first, ring->z, (double)ring->modules },
		       4 * sizeof *v);
	}
	uint64_t h = XXH64(v, sizeof v, 0);

	if (m) {
		const double of[] = { m->crystal[0],
			              m->crystal[1],
			              m->crystal[2],
			              m->cover,
			              m->depth,
			              m->readout,
			              m->centroid,
			              m->resolution,
			              m->window[0],
			              m->window[1],
			              m->trigger,
			              m->z_blur,
			              m->material.density,
			              m->cover_of.density,
			              m->gap.density };

		h = XXH64(of, sizeof of, h);
		h = XXH64(m->material.formula, strlen(m->material.formula), h);
		h = XXH64(m->cover_of.formula, strlen(m->cover_of.formula), h);
		h = XXH64(m->gap.formula, strlen(m->gap.formula), h);
	}
	snprintf(hash, 17, "%016llx", (unsigned long long)h);
}

/* Rings of flat modules. */
static int crystals_of_modules(struct response_crystals *c, const struct iso_modules *m, const char *name)
{
	if (m->rings > RESPONSE_RINGS || m->mirrored >= 0)
		return iso_fail(
			ISO_EINPUT,
			"response: scanner %s has %d rings of modules, must have 1 to %d, and no heads that "
			"face each other",
			name, (int)m->rings, RESPONSE_RINGS);
	c->flat = true;
	c->rings = m->rings;
	for (int r = 0; r < m->rings; r++)
		c->ring[r] = (struct response_ring){ .face = m->ring[r].radius,
			                             .first = m->ring[r].first_rad,
			                             .z = m->ring[r].z,
			                             .modules = m->ring[r].count };
	for (int a = 0; a < 2; a++) {
		c->block[a] = m->crystals[a];
		c->blocks[a] = m->blocks[a];
		c->pitch[a] = m->pitch[a];
		c->gap[a] = m->block_gap[a];
	}
	c->layers = m->layers;
	c->depth = m->crystal[2];
	c->two_rho = 2 * (m->ring[0].radius + m->depth);
	return ISO_OK;
}

int response_crystals(struct response_crystals *c, struct response_shape *shape, char hash[17],
                      const iso_scanner *s)
{
	int st;

	*c = (struct response_crystals){ .flat = false };
	if (s->kind == ISO_CYLINDER)
		crystals_of_cylinder(c, s);
	else if (!s->modules)
		return iso_fail(ISO_EINPUT, "response: scanner %s is no ring of blocks or modules",
		                iso_scanner_name(s));
	else if ((st = crystals_of_modules(c, s->modules, iso_scanner_name(s))))
		return st;
	*shape = (struct response_shape){ .block = { c->block[0], c->block[1] },
		                          .blocks = { c->blocks[0], c->blocks[1] },
		                          .layers = c->layers };
	hash_crystals(hash, c, s->modules);
	return ISO_OK;
}

static int fits(struct response_crystals *c, const iso_response *r, const iso_scanner *s)
{
	struct response_shape shape;
	char hash[17];
	int st = response_crystals(c, &shape, hash, s);

	if (st) return st;
	if (memcmp(&shape, &r->shape, sizeof shape) != 0 || strcmp(hash, r->info.scanner) != 0)
		return iso_fail(ISO_EINPUT,
		                "response: made for a scanner with hash %s, %s has %s: make the table anew",
		                r->info.scanner, iso_scanner_name(s), hash);
	return ISO_OK;
}

int iso_response_fits(const iso_response *r, const iso_scanner *s)
{
	struct response_crystals c;

	return r && s ? fits(&c, r, s) : iso_fail_null(__func__);
}

int response_view(struct response_view *v, const iso_response *r, const iso_scanner *s, int p)
{
	int st = fits(&v->at, r, s);

	if (st) return st;
	if (p != 3 && p != 5 && p != 7)
		return iso_fail(ISO_EARG, "response: %d lines an event, must be 9, 25 or 49", p * p);
	v->p = p;
	v->node = r->node[(p - 3) / 2];
	v->area = r->area;
	return ISO_OK;
}

/* ---- values ---- */

double iso_response_area(const iso_response *r, double kev, double phi_deg, double theta_deg)
{
	if (!r) return NAN;
	struct response_angles a = response_angles_of(phi_deg * M_PI / 180, theta_deg * M_PI / 180);
	double at = kev < 510 ? (kev - 300) / 10 : RESPONSE_ENERGIES - 2 + (kev - 510);
	double up;

	if (!(kev >= 300)) return 0;
	int32_t i = response_between(&up, at, RESPONSE_ENERGIES);
	const float *low = r->d_energy + i * RESPONSE_DIRECTIONS;

	return (1 - up) * response_value(low, 1, 0, &a) +
	       up * response_value(low + RESPONSE_DIRECTIONS, 1, 0, &a);
}

int iso_response_nodes(double *u, double *v, const iso_response *r, int p, const int64_t place[2],
                       int64_t layer, double phi_deg, double theta_deg)
{
	if (!u || !v || !r || !place) return iso_fail_null(__func__);
	const struct response_shape *s = &r->shape;
	const int64_t most[3] = { s->block[0], s->block[1], s->layers },
		      at[3] = { place[0], place[1], layer };

	if (p != 3 && p != 5 && p != 7)
		return iso_fail(ISO_EARG, "iso_response_nodes: %d nodes, must be 3, 5 or 7", p);
	for (int i = 0; i < 3; i++)
		if (at[i] < 0 || at[i] >= most[i])
			return iso_fail(ISO_EARG,
			                "iso_response_nodes: place %" PRId64 ", must be 0 to %" PRId64, at[i],
			                most[i] - 1);
	struct response_view view = { .at = { .block = { s->block[0], s->block[1] }, .layers = s->layers },
		                      .p = p,
		                      .node = r->node[(p - 3) / 2] };
	struct response_end e = { .angles =
		                          response_angles_of(phi_deg * M_PI / 180, theta_deg * M_PI / 180) };
	int64_t it = e.angles.turn_t ? s->block[0] - 1 - place[0] : place[0];
	int64_t iz = e.angles.turn_z ? s->block[1] - 1 - place[1] : place[1];

	e.place = (iz * s->block[0] + it) * s->layers + layer;
	for (int k = 0; k < p; k++) {
		u[k] = response_node(&view, &e, 0, k);
		v[k] = response_node(&view, &e, 1, k);
	}
	return ISO_OK;
}
