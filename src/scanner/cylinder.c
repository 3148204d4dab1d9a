/* SPDX-License-Identifier: BSD-3-Clause */
/* Rings of crystals on a cylinder around z, in blocks with gaps between them.

   Crystal id = ring * per_ring + c. Each block fills a sector of the same angle; its crystals lie
   side by side in the middle of the sector, half a gap off either border. */
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

static int place_crystals(iso_scanner *s)
{
	int64_t per_ring = s->pairs.per_ring;

	s->pos = size_alloc(s->n, 3 * sizeof *s->pos);
	if (!s->pos) return iso_fail_memory("crystal positions", s->n * 3 * (int64_t)sizeof *s->pos);
	for (int64_t i = 0; i < s->n; i++) {
		int64_t c = i % per_ring;
		double centre = 2 * M_PI * ((double)(c / s->block) + .5) / blocks(s);
		double arc = ((double)(c % s->block) - (double)(s->block - 1) / 2) * crystal_mm(s);
		double t = s->block_gap == 0 ? 2 * M_PI * ((double)c + .5) / (double)per_ring
		                             : centre + arc / s->radius;
		double *p = s->pos + 3 * i;

		p[0] = s->radius * cos(t);
		p[1] = s->radius * sin(t);
		p[2] = ((double)(i / per_ring) - (double)(s->pairs.rings - 1) / 2) * s->ring_pitch;
	}
	return ISO_OK;
}

static int read_block(iso_scanner *s, const struct conf_node *block)
{
	const struct conf_key keys[] = {
		{ "crystals", CONF_INT, &s->block, 1, 1, SCANNER_MAX, true },
		{ "gap_mm", CONF_REAL, &s->block_gap, 1, 0, 1e5, false },
		{ .name = NULL },
	};
	int st;

	s->block = s->pairs.per_ring;
	if (!block) return ISO_OK;
	if ((st = iso_conf_keys(block, keys))) return st;
	if (s->pairs.per_ring % s->block != 0)
		return iso_conf_fail(block,
		                     "crystals_per_ring is %" PRId64 ", must be a multiple of the %" PRId64
		                     " crystals of a block",
		                     s->pairs.per_ring, s->block);
	if (crystal_mm(s) < 1e-6 * sector_mm(s) / (double)s->block)
		return iso_conf_fail(block,
		                     "gap_mm is %g, must leave room for crystals in the %g mm of a block",
		                     s->block_gap, sector_mm(s));
	return ISO_OK;
}

static int read_cylinder(iso_scanner *s, const struct conf_node *root)
{
	static const char *const weights[] = { "uniform", "solid-angle", NULL };
	const struct conf_node *block = NULL;
	double depth = 0;
	struct iso_pairs *p = &s->pairs;
	const struct conf_key keys[] = {
		SCANNER_KEYS,
		{ "radius_mm", CONF_REAL, &s->radius, 1, 1e-3, 1e5, true },
		{ "rings", CONF_INT, &p->rings, 1, 1, SCANNER_MAX, true },
		{ "ring_pitch_mm", CONF_REAL, &s->ring_pitch, 1, 1e-3, 1e5, true },
		{ "crystals_per_ring", CONF_INT, &p->per_ring, 1, 2, SCANNER_MAX, true },
		{ "crystal_mm", CONF_REALS, s->crystal_mm, 3, 1e-3, 1e5, false },
		{ "block", CONF_NODE, &block, 1, 0, 0, false },
		{ "interaction_depth_mm", CONF_REAL, &depth, 1, 0, 1e5, false },
		{ "min_crystal_distance", CONF_INT, &p->min_distance, 1, 1, SCANNER_MAX, false },
		{ "max_ring_difference", CONF_INT, &p->max_ring_difference, 1, 0, SCANNER_MAX, false },
		{ .name = "pair_weight", .kind = CONF_NODE },
		{ .name = NULL },
	};
	int weight = 0, st;

	p->min_distance = 1;
	p->max_ring_difference = SCANNER_MAX;
	if ((st = iso_conf_keys(root, keys)) || (st = iso_conf_word(&weight, root, "pair_weight", weights)))
		return st;
	s->solid_angle = weight == 1;
	s->radius += depth;
	s->n = p->rings * p->per_ring;
	if (s->n > SCANNER_MAX)
		return iso_conf_fail(root,
		                     "%" PRId64 " rings of %" PRId64 " crystals are more than %d crystals",
		                     p->rings, p->per_ring, SCANNER_MAX);
	if (p->min_distance > p->per_ring / 2)
		return iso_conf_fail(iso_conf_find(root, "min_crystal_distance"),
		                     "min_crystal_distance is %" PRId64 ", must be at most %" PRId64
		                     ", half way round the ring",
		                     p->min_distance, p->per_ring / 2);
	if ((st = read_block(s, block))) return st;
	if (p->max_ring_difference > p->rings - 1) p->max_ring_difference = p->rings - 1;
	p->same = p->per_ring * (p->per_ring - 2 * p->min_distance + 1) / 2;
	p->n = pairs_first(p, p->max_ring_difference + 1);
	return place_crystals(s);
}

/* Ring by height, in rings from the lower end: ring r is [r, r + 1). */
static double ring_at(const iso_scanner *s, double z)
{
	return z / s->ring_pitch + (double)s->pairs.rings / 2;
}

/* Block by azimuth, and the place in it, in crystals from its first one's border: crystal j is
   [j, j + 1); outside of [0, block) lies the gap. */
static int64_t block_at(const iso_scanner *s, double x, double y, double *place)
{
	double turn = atan2(y, x) / (2 * M_PI);
	double sector = (turn < 0 ? turn + 1 : turn) * blocks(s);
	int64_t b = scanner_cell(sector, s->pairs.per_ring / s->block);

	*place = (sector - (double)b - .5) * sector_mm(s) / crystal_mm(s) + (double)s->block / 2;
	return b;
}

/* Sectors mirror each other at their borders: the nearest crystal is of the point's own block. */
static int64_t nearest(const iso_scanner *s, const double p[3])
{
	double place;
	int64_t ring = scanner_cell(ring_at(s, p[2]), s->pairs.rings);
	int64_t b = block_at(s, p[0], p[1], &place);

	return ring * s->pairs.per_ring + b * s->block + scanner_cell(place, s->block);
}

int64_t iso_scanner_hit(const iso_scanner *s, const double origin[3], const double dir[3])
{
	/* |origin + t dir| = radius in x, y: a t^2 + 2 b t + c = 0, with c <= 0 inside */
	double a = dir[0] * dir[0] + dir[1] * dir[1];
	double b = origin[0] * dir[0] + origin[1] * dir[1];
	double c = origin[0] * origin[0] + origin[1] * origin[1] - s->radius * s->radius;

	if (s->kind != ISO_CYLINDER || !(a > 0 && c <= 0)) return -1;
	double t = (sqrt(b * b - a * c) - b) / a, place;
	double ring = ring_at(s, origin[2] + t * dir[2]);

	if (!(ring >= 0 && ring < (double)s->pairs.rings)) return -1;
	int64_t block = block_at(s, origin[0] + t * dir[0], origin[1] + t * dir[1], &place);

	if (s->block_gap > 0 && !(place >= 0 && place < (double)s->block)) return -1;
	return (int64_t)ring * s->pairs.per_ring + block * s->block + scanner_cell(place, s->block);
}

static bool in_coincidence(const iso_scanner *s, int64_t a, int64_t b)
{
	const struct iso_pairs *p = &s->pairs;
	int64_t rings = llabs(a / p->per_ring - b / p->per_ring);
	int64_t apart = llabs(a % p->per_ring - b % p->per_ring);

	if (apart > p->per_ring - apart) apart = p->per_ring - apart;
	return apart >= p->min_distance && rings <= p->max_ring_difference;
}

const struct iso_scanner_fn iso_cylinder_fn = {
	.read = read_cylinder,
	.nearest = nearest,
	.in_coincidence = in_coincidence,
};
