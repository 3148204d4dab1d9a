/* SPDX-License-Identifier: BSD-3-Clause */
/* Flat modules of crystals round the axis: where each crystal is, by its number, and which pairs of them count.

   A module is a box. Its axes: n away from the axis, z along it, t = z x n; n = 0 at the faces of the crystals. It holds
   blocks[0] x blocks[1] blocks along t and z of crystals[0] x crystals[1] crystals each, in the middles of their cells of
   one pitch. Plain data without pointers, which goes to any device. */
#ifndef ISO_MODULES_KERN_H
#define ISO_MODULES_KERN_H

#include "core/hd.h"

enum { MODULES_RINGS = 32, MODULES_FORMULA = 64 };
enum modules_readout { MODULES_READ_MODULE, MODULES_READ_BLOCK, MODULES_READ_CRYSTAL };

/* Modules at first_rad + 2 pi m / count, m = 0..count-1, their faces `radius` from the axis, their middles at z: mm. */
struct modules_ring {
	double radius, first_rad, z;
	int32_t count, first; /* number of its first module */
};

struct modules_matter {
	char formula[MODULES_FORMULA]; /* "": nothing */
	double density;                /* g/cm^3 */
};

struct iso_modules {
	struct modules_ring ring[MODULES_RINGS];
	int32_t rings, count;           /* modules of all rings */
	int32_t crystals[2], blocks[2]; /* t, z: of a block; of a module */
	double pitch[2], crystal[3], block_gap[2],
		cover;  /* mm; crystal: t, z, depth; cover: before the faces */
	int32_t layers; /* share the depth */
	double depth;   /* of the ends of lines; layers > 1: their middles instead */
	/* number of a crystal: module stride_module + it stride_t + iz stride_z + layer stride_layer */
	int32_t stride_module, stride_t, stride_z, stride_layer;
	int32_t mirrored; /* module whose crystals are counted against t; -1: none */
	int32_t readout;  /* enum modules_readout */
	bool centroid, paralysable;
	double resolution, window[2], trigger, prompt[2]; /* keV; resolution: FWHM at 511 keV */
	double single_fwhm_ps, coincidence_ns, dead_ns, pileup_ns, delay_ns; /* 0: none, not said */
	double z_blur; /* FWHM along z, mm; 0: by crystal */
	/* pairs: modules at least so many apart round the ring, crystals at most so far along z, mm (0: any) */
	int32_t min_distance;
	double max_axial;
	/* a cylinder's rule instead, where per_ring > 0: crystals apart round the ring, and rings */
	int32_t per_ring, min_crystals, max_rings;
	struct modules_matter material, cover_of, gap;
};

struct modules_place {
	int32_t module, ring, in_ring; /* in_ring: number of the module in its ring */
	int32_t it, iz, layer;         /* counted through the blocks */
	int32_t block;                 /* along z, then along t: block[1] * blocks[0] + block[0] */
};

ISO_HD int32_t modules_along(const struct iso_modules *m, int axis)
{
	return m->crystals[axis] * m->blocks[axis];
}

/* mm from one block to the next, and of a module. */
ISO_HD double modules_block_mm(const struct iso_modules *m, int axis)
{
	return m->crystals[axis] * m->pitch[axis] + m->block_gap[axis];
}

ISO_HD double modules_mm(const struct iso_modules *m, int axis)
{
	return m->blocks[axis] * modules_block_mm(m, axis) - m->block_gap[axis];
}

/* Middle of crystal i along t or z, from that of the module. */
ISO_HD double modules_middle(const struct iso_modules *m, int axis, int32_t i)
{
	return (i + .5) * m->pitch[axis] + i / m->crystals[axis] * m->block_gap[axis] -
	       .5 * modules_mm(m, axis);
}

/* Depth of the ends of lines in a layer. */
ISO_HD double modules_depth(const struct iso_modules *m, int32_t layer)
{
	return m->layers > 1 ? (layer + .5) * m->crystal[2] / m->layers : m->depth;
}

ISO_HD int32_t modules_ring_of(const struct iso_modules *m, int32_t module)
{
	int32_t r = 0;

	while (r < m->rings - 1 && module >= m->ring[r + 1].first) r++;
	return r;
}

ISO_HD int64_t modules_crystals(const struct iso_modules *m)
{
	return (int64_t)m->count * modules_along(m, 0) * modules_along(m, 1) * m->layers;
}

ISO_HD int32_t modules_id(const struct iso_modules *m, int32_t module, int32_t it, int32_t iz, int32_t layer)
{
	if (module == m->mirrored) it = modules_along(m, 0) - 1 - it;
	return module * m->stride_module + it * m->stride_t + iz * m->stride_z + layer * m->stride_layer;
}

/* Of one block along t and z: its number in the module. */
ISO_HD int32_t modules_block(const struct iso_modules *m, int32_t it, int32_t iz)
{
	return iz / m->crystals[1] * m->blocks[0] + it / m->crystals[0];
}

ISO_HD void modules_place(struct modules_place *p, const struct iso_modules *m, int32_t id)
{
	int32_t nt = modules_along(m, 0), nz = modules_along(m, 1);

	if (m->per_ring > 0) { /* a cylinder: rings, then crystals round them */
		p->iz = id / m->stride_z;
		p->module = id % m->stride_z / m->stride_module;
		p->it = id % m->stride_module;
		p->layer = 0;
	} else {
		int32_t rest = id % m->stride_module;

		p->module = id / m->stride_module;
		p->it = rest / m->stride_t % nt;
		p->iz = rest / m->stride_z % nz;
		p->layer = rest / m->stride_layer % m->layers;
	}
	if (p->module == m->mirrored) p->it = nt - 1 - p->it;
	p->ring = modules_ring_of(m, p->module);
	p->in_ring = p->module - m->ring[p->ring].first;
	p->block = modules_block(m, p->it, p->iz);
}

/* The unit that a crystal is read out in. */
ISO_HD int32_t modules_unit(const struct iso_modules *m, int32_t id)
{
	struct modules_place p;

	if (m->readout == MODULES_READ_CRYSTAL) return id;
	modules_place(&p, m, id);
	return m->readout == MODULES_READ_BLOCK ? p.module * m->blocks[0] * m->blocks[1] + p.block : p.module;
}

ISO_HD int64_t modules_units(const struct iso_modules *m)
{
	if (m->readout == MODULES_READ_CRYSTAL) return modules_crystals(m);
	return (int64_t)m->count * (m->readout == MODULES_READ_BLOCK ? m->blocks[0] * m->blocks[1] : 1);
}

/* Azimuth of a module's middle. */
ISO_HD double modules_azimuth(const struct iso_modules *m, int32_t module)
{
	const struct modules_ring *r = m->ring + modules_ring_of(m, module);

	return r->first_rad + 2 * M_PI * (module - r->first) / r->count;
}

ISO_HD void modules_axes(double t[3], double n[3], const struct iso_modules *m, int32_t module)
{
	double a = modules_azimuth(m, module), c = cos(a), s = sin(a);

	n[0] = c;
	n[1] = s;
	t[0] = -s;
	t[1] = c;
	t[2] = n[2] = 0;
}

/* End of the lines of a crystal, mm. */
ISO_HD void modules_point(double p[3], const struct iso_modules *m, int32_t id)
{
	struct modules_place at;
	double t[3], n[3];

	modules_place(&at, m, id);
	modules_axes(t, n, m, at.module);
	double deep = m->ring[at.ring].radius + modules_depth(m, at.layer);
	double across = modules_middle(m, 0, at.it);

	for (int k = 0; k < 2; k++) p[k] = deep * n[k] + across * t[k];
	p[2] = m->ring[at.ring].z + modules_middle(m, 1, at.iz);
}

/* Least angle between the middles of two modules of a pair, rad: half a module less than the least distance. */
ISO_HD double modules_min_angle(const struct iso_modules *m)
{
	int32_t most = 0;

	for (int32_t r = 0; r < m->rings; r++) most = m->ring[r].count > most ? m->ring[r].count : most;
	return (m->min_distance - .5) * 2 * M_PI / most;
}

/* Whether crystals a and b may make a pair. */
ISO_HD bool modules_good(const struct iso_modules *m, int32_t a, int32_t b)
{
	if (m->per_ring > 0) {
		int32_t rings = a / m->per_ring - b / m->per_ring, apart = a % m->per_ring - b % m->per_ring;

		apart = apart < 0 ? -apart : apart;
		apart = apart > m->per_ring - apart ? m->per_ring - apart : apart;
		return apart >= m->min_crystals && (rings < 0 ? -rings : rings) <= m->max_rings;
	}
	struct modules_place p, q;

	modules_place(&p, m, a);
	modules_place(&q, m, b);
	if (m->min_distance <= 1 && p.module == q.module) return false;
	double turn = fabs(remainder(modules_azimuth(m, p.module) - modules_azimuth(m, q.module), 2 * M_PI));

	if (m->min_distance > 1 && turn < modules_min_angle(m)) return false;
	if (!(m->max_axial > 0)) return true;
	return fabs(m->ring[p.ring].z + modules_middle(m, 1, p.iz) - m->ring[q.ring].z -
	            modules_middle(m, 1, q.iz)) <= m->max_axial;
}

#endif
