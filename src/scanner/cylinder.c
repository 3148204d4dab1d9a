/* SPDX-License-Identifier: BSD-3-Clause */
/* Rings of crystals on a cylinder around z, in blocks with gaps between them.

   Crystal id = ring * per_ring + c. Each block fills a sector of the same angle; its crystals lie
   side by side in the middle of the sector, half a gap off either border. So do its rings along z. */
#include "core/size.h"
#include "scanner.h"

static double blocks(const iso_scanner *s)
{
	return (double)(s->pairs.per_ring / s->block);
}

/* mm of arc of a sector, and of a crystal. */
static double sector_mm(const iso_scanner *s)
{
	return 2 * M_PI * s->radius / blocks(s);
}

static double crystal_mm(const iso_scanner *s)
{
	return (sector_mm(s) - s->block_gap) / (double)s->block;
}

/* mm along z that a block fills, with its gap. */
static double storey_mm(const iso_scanner *s)
{
	return (double)s->block_rings * s->ring_pitch + s->ring_gap;
}

double iso_cylinder_length(const iso_scanner *s)
{
	double gaps = s->ring_gap > 0 ? (double)(s->pairs.rings / s->block_rings - 1) * s->ring_gap : 0;

	return (double)s->pairs.rings * s->ring_pitch + gaps;
}

static double ring_z(const iso_scanner *s, int64_t ring)
{
	double gaps = (double)(ring / s->block_rings) - (double)(s->pairs.rings / s->block_rings - 1) / 2;

	return ((double)ring - (double)(s->pairs.rings - 1) / 2) * s->ring_pitch + gaps * s->ring_gap;
}

static int place_crystals(iso_scanner *s)
{
	int64_t per_ring = s->pairs.per_ring;

	s->pos = size_alloc(s->n, 3 * sizeof *s->pos);
	if (!s->pos) return iso_fail_memory("crystal positions", s->n * 3 * (int64_t)sizeof *s->pos);
	for (int64_t c = 0; c < per_ring; c++) {
		double centre = 2 * M_PI * ((double)(c / s->block) + .5) / blocks(s);
		double arc = ((double)(c % s->block) - (double)(s->block - 1) / 2) * crystal_mm(s);
		double t = s->block_gap == 0 ? 2 * M_PI * ((double)c + .5) / (double)per_ring
		                             : centre + arc / s->radius;

		s->pos[3 * c] = s->radius * cos(t);
		s->pos[3 * c + 1] = s->radius * sin(t);
	}
	for (int64_t i = 0; i < s->n; i++) {
		if (i >= per_ring) memcpy(s->pos + 3 * i, s->pos + 3 * (i % per_ring), 2 * sizeof *s->pos);
		s->pos[3 * i + 2] = ring_z(s, i / per_ring);
	}
	return ISO_OK;
}

int iso_cylinder_finish(iso_scanner *s)
{
	struct iso_pairs *p = &s->pairs;

	s->n = p->rings * p->per_ring;
	if (s->block_rings == 0) s->block_rings = p->rings;
	if (p->max_ring_difference > p->rings - 1) p->max_ring_difference = p->rings - 1;
	p->same = p->per_ring * (p->per_ring - 2 * p->min_distance + 1) / 2;
	p->n = pairs_first(p, p->max_ring_difference + 1);
	return place_crystals(s);
}

static int read_block(iso_scanner *s, const struct conf_node *block)
{
	const struct conf_key keys[] = {
		/* Crystals of a block, round the ring. */
		{ "crystals", CONF_INT, &s->block, 1, 1, SCANNER_MAX, true },
		/* Between two blocks, where lines end. Default 0. */
		{ "gap_mm", CONF_REAL, &s->block_gap, 1, 0, 1e5, false },
		/* Rings of a block, along z. Default: all. */
		{ "rings", CONF_INT, &s->block_rings, 1, 1, SCANNER_MAX, false },
		/* Between two blocks along z. Default 0. */
		{ "ring_gap_mm", CONF_REAL, &s->ring_gap, 1, 0, 1e5, false },
		{ .name = NULL },
	};
	int st;

	s->block = s->pairs.per_ring;
	s->block_rings = s->pairs.rings;
	if (!block) return ISO_OK;
	if ((st = iso_conf_keys(block, keys))) return st;
	if (s->pairs.per_ring % s->block != 0)
		return iso_conf_fail(block,
		                     "crystals_per_ring is %" PRId64 ", must be a multiple of the %" PRId64
		                     " crystals of a block",
		                     s->pairs.per_ring, s->block);
	if (s->pairs.rings % s->block_rings != 0)
		return iso_conf_fail(
			block, "rings is %" PRId64 ", must be a multiple of the %" PRId64 " rings of a block",
			s->pairs.rings, s->block_rings);
	if (crystal_mm(s) < 1e-6 * sector_mm(s) / (double)s->block)
		return iso_conf_fail(block,
		                     "gap_mm is %g, must leave room for crystals in the %g mm of a block",
		                     s->block_gap, sector_mm(s));
	return ISO_OK;
}

static int read_cylinder(iso_scanner *s, const struct conf_node *root)
{
	static const char *const weights[] = { "uniform", "solid-angle", NULL };
	const struct conf_node *block = NULL, *energy = NULL, *detector = NULL;
	struct iso_pairs *p = &s->pairs;
	const struct conf_key keys[] = {
		SCANNER_KEYS,
		/* Inner face of the crystals. */
		{ "radius_mm", CONF_REAL, &s->radius, 1, 1e-3, 1e5, true },
		/* Rings of crystals along z. */
		{ "rings", CONF_INT, &p->rings, 1, 1, SCANNER_MAX, true },
		/* From ring to ring. */
		{ "ring_pitch_mm", CONF_REAL, &s->ring_pitch, 1, 1e-3, 1e5, true },
		/* Crystals round a ring. */
		{ "crystals_per_ring", CONF_INT, &p->per_ring, 1, 2, SCANNER_MAX, true },
		/* Tangential, axial, depth: for `--rays`, and for the size of a voxel that is not given. */
		{ "crystal_mm", CONF_REALS, s->crystal_mm, 3, 1e-3, 1e5, false },
		/* Blocks of crystals round the ring. Default: no gaps. */
		{ "block", CONF_NODE, &block, 1, 0, 0, false },
		/* Lines end so deep in the crystals. Default 0. */
		{ "interaction_depth_mm", CONF_REAL, &s->depth, 1, 0, 1e5, false },
		/* Crystals of a pair are at least so many apart round the ring. Default 1. */
		{ "min_crystal_distance", CONF_INT, &p->min_distance, 1, 1, SCANNER_MAX, false },
		/* And at most so many rings. Default: all. */
		{ "max_ring_difference", CONF_INT, &p->max_ring_difference, 1, 0, SCANNER_MAX, false },
		/* uniform: all pairs count alike; solid-angle: as isotropic decays meet them. Default uniform. */
		{ .name = "pair_weight", .kind = CONF_NODE },
		/* Window and resolution, for scatter. Default: not said. */
		{ "energy", CONF_NODE, &energy, 1, 0, 0, false },
		/* What the crystals are made of and how they are read out, for `simulate --crystals`. Default: not said. */
		{ "detector", CONF_NODE, &detector, 1, 0, 0, false },
		{ .name = NULL },
	};
	int weight = 0, st;

	p->min_distance = 1;
	p->max_ring_difference = SCANNER_MAX;
	if ((st = iso_conf_keys(root, keys)) || (st = iso_conf_word(&weight, root, "pair_weight", weights)))
		return st;
	s->solid_angle = weight == 1;
	s->radius += s->depth;
	if (p->rings * p->per_ring > SCANNER_MAX)
		return iso_conf_fail(root,
		                     "%" PRId64 " rings of %" PRId64 " crystals are more than %d crystals",
		                     p->rings, p->per_ring, SCANNER_MAX);
	if (p->min_distance > p->per_ring / 2)
		return iso_conf_fail(iso_conf_find(root, "min_crystal_distance"),
		                     "min_crystal_distance is %" PRId64 ", must be at most %" PRId64
		                     ", half way round the ring",
		                     p->min_distance, p->per_ring / 2);
	if ((st = read_block(s, block)) || (st = iso_scanner_read_energy(s, root, energy))) return st;
	st = iso_cylinder_finish(s);
	return st ? st : iso_modules_of_cylinder(s, root, detector);
}

struct cylinder iso_cylinder_of(const iso_scanner *s)
{
	return (struct cylinder){
		.storey_mm = storey_mm(s),
		.ring_pitch = s->ring_pitch,
		.crystals_per_sector = sector_mm(s) / crystal_mm(s),
		.rings = (int32_t)s->block_rings,
		.storeys = (int32_t)(s->pairs.rings / s->block_rings),
		.block = (int32_t)s->block,
		.blocks = (int32_t)(s->pairs.per_ring / s->block),
		.gaps = s->block_gap > 0,
	};
}

static int64_t nearest(const iso_scanner *s, const double p[3])
{
	const struct cylinder c = iso_cylinder_of(s);
	bool inside;
	int64_t ring = cylinder_ring(&c, p[2], &inside);

	return ring * s->pairs.per_ring + cylinder_column(&c, p[0], p[1], &inside);
}

int64_t iso_scanner_hit(const iso_scanner *s, const double origin[3], const double dir[3])
{
	if (s->kind != ISO_CYLINDER) return -1;
	const struct cylinder ring = iso_cylinder_of(s);

	return cylinder_hit(&ring, s->radius, origin, dir);
}

static bool in_coincidence(const iso_scanner *s, int64_t a, int64_t b)
{
	return pairs_coincide(&s->pairs, a, b);
}

const struct iso_scanner_fn iso_cylinder_fn = {
	.read = read_cylinder,
	.nearest = nearest,
	.in_coincidence = in_coincidence,
};
