/* SPDX-License-Identifier: BSD-3-Clause */
/* One photon through an object and through the crystals of a scanner of modules, until nothing stops it any more.

   Flights: an optical distance is drawn, and spent in the object's box and in the modules' boxes one after the other, in
   mean free paths of the densest thing in each; a collision is real with the share that the matter there is of the densest
   (Woodcock 1965). A photon that leaves a module may enter any other, or the object, from any side.

   Random numbers: Philox keyed by the seed; the counter is (history, draw). Draws of a photon are its own, so a photon
   that is not followed changes nothing else. Only sums, products, quotients, roots and tables are used, all in float, and
   the CUDA files that include this are compiled without fusing: every device has the same histories, bit by bit. */
#ifndef ISO_CRYSTAL_KERN_H
#define ISO_CRYSTAL_KERN_H

#include "deposit.h"
#include "physics/photon_kern.h"
#include "scanner/modules_kern.h"

enum {
	CRYSTAL_TOP = 2048,     /* keV: entry k of a table over energy is k keV */
	CRYSTAL_FINE = 64,      /* rows of the Compton table: every 8 keV to 512, */
	CRYSTAL_ROWS = 64 + 48, /* then every 32 keV to CRYSTAL_TOP */
	CRYSTAL_PHOTONS = 5,    /* of a decay */
	CRYSTAL_MOST = CRYSTAL_PHOTONS * DEPOSIT_MOST,
	CRYSTAL_SCATTERS = 250, /* in the object, of one photon; it ends after more */
	CRYSTAL_ALL = 4,        /* rings of so few modules are searched one by one */
};

enum crystal_part { CRYSTAL_LSO, CRYSTAL_COVER, CRYSTAL_GAP, CRYSTAL_PARTS };
enum crystal_fate { CRYSTAL_LEFT, CRYSTAL_IN_CRYSTAL, CRYSTAL_IN_PASSIVE, CRYSTAL_IN_OBJECT, CRYSTAL_FATES };

#define CRYSTAL_CUT 10.f                 /* keV: a photon below is absorbed on the spot */
#define CRYSTAL_FLIGHT 0x40000000u       /* + photon << 26 | step */
#define CRYSTAL_TICKS_PER_MM 213.480997f /* 64 / 0.299792458 */
#define CRYSTAL_NOWHERE (-1e9f)          /* depth of what did not happen */
#define CRYSTAL_SLACK .01f               /* mm that the search for modules looks farther */

/* Entry k is k keV; 1/mm, running sums: photoelectric, + Compton, + Rayleigh. */
struct crystal_matter {
	float mu[CRYSTAL_TOP + 1][4];
	struct iso_material material; /* for the angles of Rayleigh scatter */
};

/* What flights need: plain data that goes to any device. */
struct crystal_table {
	float compton[CRYSTAL_ROWS + 1][TRANSPORT_SHARES + 1]; /* as iso_compton_rows has them */
	float path[CRYSTAL_TOP + 1];                           /* mean flight in modules, mm */
	float object_path[CRYSTAL_TOP + 1];                    /* in the densest of the object */
	struct crystal_matter part[CRYSTAL_PARTS];
};

/* Voxels with matter, in a box. */
struct crystal_object {
	const uint16_t *cell; /* x fastest; NULL: no object */
	const struct crystal_matter *matter;
	int32_t n[3];
	float low[3], high[3], per_mm[3]; /* of the box of voxels that are not empty */
	bool labels;   /* cell: number of the matter, 0 empty; else PHOTON_FULL x density over the greatest */
	bool apart;    /* the box lies inside of all modules */
	float density; /* greatest, relative to water */
};

struct crystal_ring {
	float radius, z, half; /* face; middle; half the length, with slack: mm */
	float inner2, outer2;  /* squares of the radii between which its boxes lie */
	float first, per_rad;  /* azimuth of module 0; modules a radian */
	int32_t count, module; /* number of its first module */
};

/* Direction of n of a module. */
struct crystal_axis {
	float c, s;
};

struct crystal_world {
	uint64_t seed;
	const struct crystal_table *table;
	const struct crystal_axis *axis; /* of each module */
	struct crystal_object object;
	struct crystal_ring ring[MODULES_RINGS];
	int32_t rings;
	/* of every module, mm */
	float half[2], depth, cover;
	float block_per_mm[2], block_mm[2], block_full[2]; /* along t and z: with gap, without */
	float per_mm[2], fill[2], layers_per_mm;           /* cells; half a crystal, in pitches */
	int32_t cells[2], blocks[2], layers;               /* cells: of a block */
	int32_t stride_module, stride_t, stride_z, stride_layer, mirrored, along_t;
	bool cover_there, gap_there, rayleigh; /* rayleigh: in the object */
};

/* A photon that leaves so many ticks after its decay. */
struct crystal_photon {
	float at[3], dir[3], kev;
	int32_t ticks;
};

/* What the photons of a decay did. */
struct crystal_trace {
	uint64_t history;
	int32_t n;
	uint8_t met, hit; /* bit i: photon i met a module, interacted in one (cover and gap included) */
	uint8_t full;     /* bit i: it had more than DEPOSIT_MOST deposits: the last took the rest */
	uint8_t fate[CRYSTAL_PHOTONS]; /* enum crystal_fate */
	float depth,
		first_depth; /* photon 0: of its first deposit, of its first interaction in a module, mm */
	float object_kev, passive_kev, left_kev;
	float z[CRYSTAL_MOST]; /* of each deposit, the first of those merged, mm */
	struct deposit d[CRYSTAL_MOST];
};

ISO_HD void crystal_begin(struct crystal_trace *t, uint64_t history)
{
	t->history = history;
	t->n = 0;
	t->met = t->hit = t->full = 0;
	t->depth = t->first_depth = CRYSTAL_NOWHERE;
	t->object_kev = t->passive_kev = t->left_kev = 0;
	for (int i = 0; i < CRYSTAL_PHOTONS; i++) t->fate[i] = CRYSTAL_LEFT;
}

/* ---- tables ---- */

ISO_HD int crystal_energy(float *share, float kev)
{
	int i = (int)kev < CRYSTAL_TOP - 1 ? (int)kev : CRYSTAL_TOP - 1;

	*share = kev - (float)i;
	return i;
}

ISO_HD float crystal_path(const float path[CRYSTAL_TOP + 1], float kev)
{
	float share;
	int i = crystal_energy(&share, kev);

	return path[i] + share * (path[i + 1] - path[i]);
}

ISO_HD void crystal_mu(float mu[3], const struct crystal_matter *m, float kev)
{
	float share;
	int i = crystal_energy(&share, kev);

	for (int k = 0; k < 3; k++) mu[k] = m->mu[i][k] + share * (m->mu[i + 1][k] - m->mu[i][k]);
}

/* cos(theta) after Klein and Nishina, linear in energy and in the number. */
ISO_HD float crystal_compton(const float rows[][TRANSPORT_SHARES + 1], float kev, float unit)
{
	float e = kev < 512 ? kev * (1 / 8.f) : CRYSTAL_FINE + (kev - 512) * (1 / 32.f),
	      u = unit * TRANSPORT_SHARES;
	int i = (int)e < CRYSTAL_ROWS - 1 ? (int)e : CRYSTAL_ROWS - 1, j = (int)u;
	const float *a = rows[i] + j, *b = rows[i + 1] + j;
	float f = e - (float)i, g = u - (float)j;
	float low = a[0] + g * (a[1] - a[0]), high = b[0] + g * (b[1] - b[0]);

	return low + f * (high - low);
}

/* ---- a photon in flight ---- */

struct crystal_flight {
	float at[3], dir[3], kev, way,
		tau; /* tau: mean free paths to the next collision; below 0: not drawn yet */
	uint64_t history, seed;
	uint32_t draw;
	int32_t from, first, ticks; /* module that it left last, -1: none; its first deposit; of its start */
	uint8_t number, object_compton, object_rayleigh, crystal_compton;
};

ISO_HD struct philox crystal_draw(struct crystal_flight *f)
{
	return philox_draw(f->seed, f->history, ++f->draw);
}

/* Rayleigh scatter: F^2 d(q^2), accepted with (1 + cos^2) / 2. */
ISO_HD float crystal_rayleigh(const struct crystal_flight *f, const struct iso_material *m)
{
	float cosine = 1;

	for (uint64_t k = 1; k <= 16; k++) {
		struct philox again = philox_draw(f->seed, f->history, k << 32 | f->draw);

		cosine = material_rayleigh(m, f->kev, philox_unit(again.w[0]));
		if (2 * philox_unit(again.w[1]) <= 1 + cosine * cosine) break;
	}
	return cosine;
}

enum crystal_outcome { CRYSTAL_NOTHING, CRYSTAL_SCATTER, CRYSTAL_END };

/* What a collision does, by the words of its draw: `level` below the total, in 1/mm. dir: in the axes of the place; *kev:
   what stays there. */
ISO_HD enum crystal_outcome crystal_collide(struct crystal_flight *f, float dir[3], float *kev, bool *compton,
                                            const struct crystal_world *w, const struct crystal_matter *m,
                                            const float mu[3], float level, struct philox draw)
{
	float cosine;

	*kev = f->kev;
	*compton = false;
	if (level < mu[0]) return CRYSTAL_END;
	if (level < mu[1]) {
		cosine = crystal_compton(w->table->compton, f->kev, philox_unit(draw.w[1]));
		float after = f->kev / (1 + f->kev * (1 / 510.99895f) * (1 - cosine));

		if (after < CRYSTAL_CUT) return CRYSTAL_END;
		*kev = f->kev - after;
		*compton = true;
		f->kev = after;
	} else {
		*kev = 0;
		cosine = crystal_rayleigh(f, &m->material);
	}
	transport_deflect(dir, cosine, draw.w[2]);
	return CRYSTAL_SCATTER;
}

/* ---- object ---- */

/* The part of the way that lies in the box of matter: from *in to the value returned, mm. */
ISO_HD float crystal_box(float *in, const struct crystal_object *o, const float at[3], const float dir[3])
{
	float from = 0, to = 1e30f;

	for (int a = 0; a < 3; a++) {
		float over = 1 / dir[a], p = (o->low[a] - at[a]) * over, q = (o->high[a] - at[a]) * over;

		from = fmaxf(from, fminf(p, q)); /* dir[a] = 0: infinite, or NaN, which both ignore */
		to = fminf(to, fmaxf(p, q));
	}
	*in = from;
	return to;
}

/* Cell at a place, which lies in the box but for rounding. */
ISO_HD uint32_t crystal_cell(const struct crystal_object *o, const float at[3])
{
	int32_t i[3];

	for (int a = 0; a < 3; a++) {
		i[a] = (int32_t)((at[a] - o->low[a]) * o->per_mm[a]);
		i[a] = i[a] < 0 ? 0 : i[a] < o->n[a] ? i[a] : o->n[a] - 1;
	}
	return o->cell[((int64_t)i[2] * o->n[1] + i[1]) * o->n[0] + i[0]];
}

/* Flies from f->at + in to + out through the object. CRYSTAL_NOTHING: it came through. */
ISO_HD enum crystal_outcome crystal_through(struct crystal_trace *t, struct crystal_flight *f,
                                            const struct crystal_world *w, float in, float out)
{
	const struct crystal_object *o = &w->object;
	float path = crystal_path(w->table->object_path, f->kev), s = in;

	if (f->tau < 0) f->tau = photon_exponential(crystal_draw(f).w[3]);
	for (;;) {
		float to = s + f->tau * path;

		if (!(to < out)) {
			f->tau -= (out - s) / path;
			f->tau = fmaxf(f->tau, 0);
			return CRYSTAL_NOTHING;
		}
		s = to;
		struct philox draw = crystal_draw(f);
		float there[3] = { f->at[0] + s * f->dir[0], f->at[1] + s * f->dir[1],
			           f->at[2] + s * f->dir[2] };
		uint32_t cell = crystal_cell(o, there);

		f->tau = photon_exponential(draw.w[3]);
		if (cell == 0) continue;
		const struct crystal_matter *m = o->matter + (o->labels ? cell - 1 : 0);
		float scale = o->labels ? 1 : (float)cell * (1.f / PHOTON_FULL), mu[3], kev;
		float level = philox_unit(draw.w[0]) / path;
		bool compton;

		crystal_mu(mu, m, f->kev);
		for (int k = 0; k < 3; k++) mu[k] *= scale;
		if (!(level < mu[w->rayleigh ? 2 : 1])) continue;
		for (int a = 0; a < 3; a++) f->at[a] = there[a];
		f->way += s;
		enum crystal_outcome e = crystal_collide(f, f->dir, &kev, &compton, w, m, mu, level, draw);

		t->object_kev += kev;
		if (compton)
			f->object_compton = f->object_compton < 255 ? f->object_compton + 1 : 255;
		else if (e == CRYSTAL_SCATTER)
			f->object_rayleigh = f->object_rayleigh < 255 ? f->object_rayleigh + 1 : 255;
		if (e == CRYSTAL_SCATTER && f->object_compton + f->object_rayleigh > CRYSTAL_SCATTERS) {
			t->object_kev += f->kev;
			e = CRYSTAL_END;
		}
		return e;
	}
}

/* ---- which module next ---- */

/* Azimuth of a point, -pi to pi, to 2e-5 rad. */
ISO_HD float crystal_azimuth(float x, float y)
{
	float a = fabsf(x), b = fabsf(y), big = fmaxf(a, b), q = big > 0 ? fminf(a, b) / big : 0, p = q * q;
	float turn = q * (.99997726f +
	                  p * (-.33262347f +
	                       p * (.19354346f + p * (-.11643287f + p * (.05265332f - p * .01172120f)))));

	if (b > a) turn = 1.57079633f - turn;
	if (x < 0) turn = 3.14159265f - turn;
	return y < 0 ? -turn : turn;
}

/* The ray in the axes of a module: t, z, n. */
ISO_HD void crystal_to_local(float p[3], float d[3], const struct crystal_world *w,
                             const struct crystal_ring *r, int32_t module, const float at[3],
                             const float dir[3])
{
	struct crystal_axis a = w->axis[module];

	p[0] = at[1] * a.c - at[0] * a.s;
	p[1] = at[2] - r->z;
	p[2] = at[0] * a.c + at[1] * a.s - r->radius;
	d[0] = dir[1] * a.c - dir[0] * a.s;
	d[1] = dir[2];
	d[2] = dir[0] * a.c + dir[1] * a.s;
}

/* The part of a ray in the axes of a module that lies in its box; *out <= *in: none. */
ISO_HD void crystal_clip(float *in, float *out, const struct crystal_world *w, const float p[3],
                         const float d[3])
{
	float from = 0, to = 1e30f;

	for (int a = 0; a < 3; a++) {
		float low = a < 2 ? -w->half[a] : -w->cover, high = a < 2 ? w->half[a] : w->depth;
		float over = 1 / d[a], u = (low - p[a]) * over, v = (high - p[a]) * over;

		from = fmaxf(from, fminf(u, v));
		to = fminf(to, fmaxf(u, v));
	}
	*in = from;
	*out = to;
}

/* Where a ray goes on in a module. */
struct crystal_entry {
	float in, out; /* mm along the ray */
	int32_t module, ring;
};

/* Whether a module is met before e->in; then it becomes the entry. */
ISO_HD bool crystal_try(struct crystal_entry *e, const struct crystal_world *w, int32_t ring, int32_t number,
                        const float at[3], const float dir[3], int32_t from)
{
	const struct crystal_ring *r = w->ring + ring;
	int32_t module = r->module + number;
	float p[3], d[3], in, out;

	if (module == from) return false;
	crystal_to_local(p, d, w, r, module, at, dir);
	crystal_clip(&in, &out, w, p, d);
	if (!(in < out) || !(in < e->in)) return false;
	e->in = in;
	e->out = out;
	e->module = module;
	e->ring = ring;
	return true;
}

/* The first module of a ring that the ray meets between two places. Modules of a ring do not overlap, so that each keeps to
   its sector, and the ray meets them in the order of azimuth. */
ISO_HD void crystal_walk(struct crystal_entry *e, const struct crystal_world *w, int32_t ring,
                         const float at[3], const float dir[3], int32_t from, float low, float high)
{
	const struct crystal_ring *r = w->ring + ring;
	float turn = at[0] * dir[1] - at[1] * dir[0] < 0 ? -1.f : 1.f, slack = .01f * turn;
	float u =
		(crystal_azimuth(at[0] + low * dir[0], at[1] + low * dir[1]) - r->first) * r->per_rad - slack;
	float v = (crystal_azimuth(at[0] + high * dir[0], at[1] + high * dir[1]) - r->first) * r->per_rad +
	          slack;
	int32_t m = (int32_t)floorf(u + .5f), last = (int32_t)floorf(v + .5f);
	int32_t step = turn < 0 ? -1 : 1, more = (last - m) * step;

	more = more % r->count;
	more = more < 0 ? more + r->count : more;
	m = m % r->count;
	m = m < 0 ? m + r->count : m;
	for (; more >= 0; more--) {
		if (crystal_try(e, w, ring, m, at, dir, from)) return;
		m += step;
		m = m < 0 ? r->count - 1 : m < r->count ? m : 0;
	}
}

/* The next module of a ring, if it comes before e->in. Boxes lie between two circles. */
ISO_HD void crystal_search(struct crystal_entry *e, const struct crystal_world *w, int32_t ring,
                           const float at[3], const float dir[3], int32_t from)
{
	const struct crystal_ring *r = w->ring + ring;
	float a = fmaxf(dir[0] * dir[0] + dir[1] * dir[1], 1e-12f), b = at[0] * dir[0] + at[1] * dir[1];
	float c = at[0] * at[0] + at[1] * at[1], over = 1 / dir[2];
	float z1 = (r->z - r->half - at[2]) * over, z2 = (r->z + r->half - at[2]) * over;
	float outer = b * b - a * (c - r->outer2), inner = b * b - a * (c - r->inner2);

	if (!(outer > 0)) return;
	float root = sqrtf(outer), per = 1 / a;
	float low = fmaxf(fmaxf(0, (-b - root) * per), fminf(z1, z2));
	float high = fminf(fminf(e->in, (-b + root) * per), fmaxf(z1, z2));

	if (!(low < high)) return;
	if (r->count <= CRYSTAL_ALL) {
		for (int32_t m = 0; m < r->count; m++) crystal_try(e, w, ring, m, at, dir, from);
		return;
	}
	if (!(inner > 0)) {
		crystal_walk(e, w, ring, at, dir, from, low, high);
		return;
	}
	root = sqrtf(inner);
	float before = (-b - root) * per, after = fmaxf(low, (-b + root) * per);

	if (low < fminf(high, before)) {
		float best = e->in;

		crystal_walk(e, w, ring, at, dir, from, low, fminf(high, before));
		if (e->in < best) return;
	}
	if (after < high) crystal_walk(e, w, ring, at, dir, from, after, high);
}

/* The next module along a ray from outside of all of them. false: none. */
ISO_HD bool crystal_next(struct crystal_entry *e, const struct crystal_world *w, const float at[3],
                         const float dir[3], int32_t from)
{
	e->in = 1e30f;
	e->module = -1;
	for (int32_t r = 0; r < w->rings; r++) crystal_search(e, w, r, at, dir, from);
	return e->module >= 0;
}

/* ---- in a module ---- */

/* Cell along t or z; false: between cells or crystals. *cell is -1 between blocks. */
ISO_HD bool crystal_along(int32_t *cell, const struct crystal_world *w, int axis, float place)
{
	float u = place + w->half[axis];
	int32_t block = 0;

	*cell = -1;
	if (w->blocks[axis] > 1) {
		block = (int32_t)(u * w->block_per_mm[axis]);
		block = block < w->blocks[axis] ? block : w->blocks[axis] - 1;
		u -= (float)block * w->block_mm[axis];
		if (u > w->block_full[axis]) return false;
	}
	float v = u * w->per_mm[axis];
	int32_t i = (int32_t)v;

	i = i < w->cells[axis] ? i : w->cells[axis] - 1;
	*cell = block * w->cells[axis] + i;
	return fabsf(v - (float)i - .5f) <= w->fill[axis];
}

/* What a place in a module's axes is: a part, or CRYSTAL_PARTS where it is empty; and the crystal's number. */
ISO_HD int crystal_part_at(uint32_t *id, const struct crystal_world *w, int32_t module, const float p[3])
{
	int32_t it, iz, layer = 0;

	if (p[2] < 0) return w->cover_there ? CRYSTAL_COVER : CRYSTAL_PARTS;
	bool in_t = crystal_along(&it, w, 0, p[0]), in_z = crystal_along(&iz, w, 1, p[1]);

	if (it < 0 || iz < 0) return CRYSTAL_PARTS;
	if (!in_t || !in_z) return w->gap_there ? CRYSTAL_GAP : CRYSTAL_PARTS;
	if (w->layers > 1) {
		layer = (int32_t)(p[2] * w->layers_per_mm);
		layer = layer < w->layers ? layer : w->layers - 1;
	}
	if (module == w->mirrored) it = w->along_t - 1 - it;
	*id = (uint32_t)(module * w->stride_module + it * w->stride_t + iz * w->stride_z +
	                 layer * w->stride_layer);
	return CRYSTAL_LSO;
}

/* Deposits in one crystal are merged as they come; more than DEPOSIT_MOST: the last takes the rest. */
ISO_HD void crystal_deposit(struct crystal_trace *t, const struct crystal_flight *f, uint32_t id, float kev,
                            float z)
{
	for (int32_t i = f->first; i < t->n; i++)
		if (t->d[i].crystal == id) {
			t->d[i].kev += kev;
			return;
		}
	if (t->n - f->first >= DEPOSIT_MOST) {
		t->d[t->n - 1].kev += kev;
		t->full |= (uint8_t)(1 << f->number);
		return;
	}
	t->z[t->n] = z;
	struct deposit *d = t->d + t->n++;

	d->decay = f->history;
	d->crystal = id;
	d->kev = kev;
	d->ticks = f->ticks + (int32_t)(f->way * CRYSTAL_TICKS_PER_MM + .5f);
	d->photon = f->number;
	d->object_compton = f->object_compton;
	d->object_rayleigh = f->object_rayleigh;
	d->crystal_compton = f->crystal_compton;
}

/* A real collision in a part of a module, at a place in its axes. */
ISO_HD enum crystal_outcome crystal_hit(struct crystal_trace *t, struct crystal_flight *f,
                                        const struct crystal_world *w, int part, uint32_t id,
                                        const float p[3], float z, float d[3], const float mu[3], float level,
                                        struct philox draw)
{
	float kev;
	bool compton;
	enum crystal_outcome e =
		crystal_collide(f, d, &kev, &compton, w, w->table->part + part, mu, level, draw);

	t->hit |= (uint8_t)(1 << f->number);
	if (f->number == 0 && !(t->first_depth > CRYSTAL_NOWHERE)) t->first_depth = p[2];
	if (part != CRYSTAL_LSO) {
		t->passive_kev += kev;
	} else if (kev > 0) {
		if (f->number == 0 && !(t->depth > CRYSTAL_NOWHERE)) t->depth = p[2];
		crystal_deposit(t, f, id, kev, z);
	}
	if (compton) f->crystal_compton = f->crystal_compton < 255 ? f->crystal_compton + 1 : 255;
	if (e == CRYSTAL_END)
		t->fate[f->number] = part == CRYSTAL_LSO ? CRYSTAL_IN_CRYSTAL : CRYSTAL_IN_PASSIVE;
	return e;
}

/* Through a module that the photon enters. false: it ended there. */
ISO_HD bool crystal_inside(struct crystal_trace *t, struct crystal_flight *f, const struct crystal_world *w,
                           const struct crystal_entry *e)
{
	const struct crystal_ring *r = w->ring + e->ring;
	float p[3], d[3], out = e->out - e->in, in;
	float path = crystal_path(w->table->path, f->kev);

	crystal_to_local(p, d, w, r, e->module, f->at, f->dir);
	for (int a = 0; a < 3; a++) p[a] += e->in * d[a];
	f->way += e->in;
	t->met |= (uint8_t)(1 << f->number);
	if (f->tau < 0) f->tau = photon_exponential(crystal_draw(f).w[3]);
	for (;;) {
		float s = f->tau * path;

		if (!(s < out)) break;
		for (int a = 0; a < 3; a++) p[a] += s * d[a];
		f->way += s;
		out -= s;
		struct philox draw = crystal_draw(f);
		uint32_t id = 0;
		int part = crystal_part_at(&id, w, e->module, p);

		f->tau = photon_exponential(draw.w[3]);
		if (part == CRYSTAL_PARTS) continue;
		float mu[3], level = philox_unit(draw.w[0]) / path;

		crystal_mu(mu, w->table->part + part, f->kev);
		if (!(level < mu[2])) continue;
		if (crystal_hit(t, f, w, part, id, p, p[1] + r->z, d, mu, level, draw) == CRYSTAL_END)
			return false;
		path = crystal_path(w->table->path, f->kev);
		crystal_clip(&in, &out, w, p, d);
	}
	f->tau = fmaxf(f->tau - out / path, 0);
	out = fmaxf(out, 0);
	f->way += out;
	for (int a = 0; a < 3; a++) p[a] += out * d[a];
	struct crystal_axis a = w->axis[e->module];
	float deep = p[2] + r->radius;

	f->at[0] = deep * a.c - p[0] * a.s;
	f->at[1] = deep * a.s + p[0] * a.c;
	f->at[2] = p[1] + r->z;
	f->dir[0] = d[2] * a.c - d[0] * a.s;
	f->dir[1] = d[2] * a.s + d[0] * a.c;
	f->dir[2] = d[1];
	f->from = e->module;
	return true;
}

/* ---- all of it ---- */

/* Photon `number` of the decay, from outside of all modules. Its deposits are added to the trace. */
ISO_HD void crystal_follow(struct crystal_trace *t, const struct crystal_world *w,
                           const struct crystal_photon *p, int number)
{
	struct crystal_flight f;
	bool object = w->object.cell != NULL; /* may lie ahead */
	struct crystal_entry e;

	for (int a = 0; a < 3; a++) {
		f.at[a] = p->at[a];
		f.dir[a] = p->dir[a];
	}
	f.kev = p->kev;
	f.way = 0;
	f.tau = -1;
	f.history = t->history;
	f.seed = w->seed;
	f.draw = CRYSTAL_FLIGHT | (uint32_t)number << 26;
	f.from = -1;
	f.first = t->n;
	f.ticks = p->ticks;
	f.number = (uint8_t)number;
	f.object_compton = f.object_rayleigh = f.crystal_compton = 0;
	for (;;) {
		bool searched = false, there = false;
		float in = 0, out = 0;

		if (object) {
			out = crystal_box(&in, &w->object, f.at, f.dir);
			object = in < out;
		}
		if (object && !(w->object.apart && f.from < 0)) { /* which comes first? */
			there = crystal_next(&e, w, f.at, f.dir, f.from);
			searched = true;
			if (there) out = fminf(out, e.in);
		}
		if (object && in < out) {
			enum crystal_outcome event = crystal_through(t, &f, w, in, out);

			if (event == CRYSTAL_END) {
				t->fate[number] = CRYSTAL_IN_OBJECT;
				return;
			}
			if (event == CRYSTAL_SCATTER) {
				f.from = -1;
				continue;
			}
		}
		if (!searched) there = crystal_next(&e, w, f.at, f.dir, f.from);
		if (!there) break;
		if (!crystal_inside(t, &f, w, &e)) return;
		object = w->object.cell != NULL;
	}
	t->left_kev += f.kev;
}

#endif
