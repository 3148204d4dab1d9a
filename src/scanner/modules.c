/* SPDX-License-Identifier: BSD-3-Clause */
/* Flat modules of crystals: kind `modules`, and what `detector` adds to a cylinder and to panels.

   A scanner of kind `modules` is one of free detectors to all who know nothing of modules: places, and a rule for pairs. */
#include "modules.h"
#include "core/size.h"
#include "text/formula.h"
#include "scanner.h"

#include <stdio.h>

enum { ALONG_MAX = 4096, LAYERS_MAX = 16, COUNT_MAX = 100000 };

#define MM_MIN 1e-3
#define MM_MAX 1e5
#define DEEPEST 1e-3 /* mm that boxes may be in each other: rounding */
#define DEGREE (M_PI / 180)

const struct iso_modules *iso_scanner_modules(const iso_scanner *s)
{
	return s ? s->modules : NULL;
}

/* ---- what the crystals are made of ---- */

static int read_matter(struct modules_matter *to, double *mm, const struct conf_node *node)
{
	const char *formula = NULL;
	const struct conf_key keys[] = {
		/* Chemical formula, or that of its parts by number of atoms. */
		{ "formula", CONF_TEXT, &formula, 1, 0, 0, true },
		/* g/cm^3. */
		{ "density", CONF_REAL, &to->density, 1, 1e-6, 30, true },
		/* Of `cover` alone: its thickness. */
		{ mm ? "mm" : NULL, CONF_REAL, mm, 1, MM_MIN, MM_MAX, true },
		{ .name = NULL },
	};
	struct iso_formula parsed;
	int st = iso_conf_keys(node, keys);

	if (st) return st;
	if (strlen(formula) >= sizeof to->formula)
		return iso_conf_fail(node, "formula has %zu letters, must have at most %zu", strlen(formula),
		                     sizeof to->formula - 1);
	if (iso_formula_parse(&parsed, formula)) return iso_conf_fail(node, "%s", iso_message());
	snprintf(to->formula, sizeof to->formula, "%s", formula);
	return ISO_OK;
}

static int read_detector(struct iso_modules *m, const struct conf_node *detector)
{
	static const char *const readouts[] = { "module", "block", "crystal", NULL };
	static const char *const positions[] = { "largest", "centroid", NULL };
	const struct conf_node *material = NULL, *cover = NULL, *gap = NULL;
	int readout = MODULES_READ_BLOCK, position = 0, st;
	const struct conf_key keys[] = {
		/* Of the crystals: formula and density. */
		{ "material", CONF_NODE, &material, 1, 0, 0, true },
		/* In front of the crystals: formula, density and mm. Default: nothing. */
		{ "cover", CONF_NODE, &cover, 1, 0, 0, false },
		/* Between the crystals of a block: formula and density. Default: nothing. */
		{ "gap", CONF_NODE, &gap, 1, 0, 0, false },
		/* Whose deposits are summed: module, block, crystal. Default block. */
		{ .name = "readout", .kind = CONF_NODE },
		/* Which crystal an event gets: that of the largest deposit, or the one at the centroid. Default largest. */
		{ .name = "position", .kind = CONF_NODE },
		{ .name = NULL },
	};

	if ((st = iso_conf_keys(detector, keys)) ||
	    (st = iso_conf_word(&readout, detector, "readout", readouts)) ||
	    (st = iso_conf_word(&position, detector, "position", positions)) ||
	    (st = read_matter(&m->material, NULL, material)) ||
	    (cover && (st = read_matter(&m->cover_of, &m->cover, cover))))
		return st;
	m->readout = readout;
	m->centroid = position == 1;
	return gap ? read_matter(&m->gap, NULL, gap) : ISO_OK;
}

/* ---- geometry ---- */

void iso_modules_extent(double *inner, double *outer, double *half, const struct iso_modules *m)
{
	double across = .5 * modules_mm(m, 0), along = .5 * modules_mm(m, 1);

	*inner = INFINITY;
	*outer = *half = 0;
	for (int32_t r = 0; r < m->rings; r++) {
		*inner = fmin(*inner, m->ring[r].radius - m->cover);
		*outer = fmax(*outer, hypot(m->ring[r].radius + m->crystal[2], across));
		*half = fmax(*half, fabs(m->ring[r].z) + along);
	}
}

/* Across the axis: the corners of a box, cover included. */
static void corners(double to[4][2], const struct iso_modules *m, int32_t module)
{
	double radius = m->ring[modules_ring_of(m, module)].radius, t[3], n[3];

	modules_axes(t, n, m, module);
	for (int k = 0; k < 4; k++) {
		double deep = radius + (k & 1 ? m->crystal[2] : -m->cover);
		double across = (k & 2 ? .5 : -.5) * modules_mm(m, 0);

		for (int a = 0; a < 2; a++) to[k][a] = deep * n[a] + across * t[a];
	}
}

/* How deep two boxes are in each other, mm: the least over the separating axes, which lie along n and t of either. */
static double depth_of(const struct iso_modules *m, int32_t a, int32_t b)
{
	double p[4][2], q[4][2], axis[4][3];
	double deep =
		modules_mm(m, 1) - fabs(m->ring[modules_ring_of(m, a)].z - m->ring[modules_ring_of(m, b)].z);

	modules_axes(axis[0], axis[1], m, a);
	modules_axes(axis[2], axis[3], m, b);
	corners(p, m, a);
	corners(q, m, b);
	for (int k = 0; k < 4 && deep > 0; k++) {
		double low[2] = { INFINITY, INFINITY }, high[2] = { -INFINITY, -INFINITY };

		for (int i = 0; i < 4; i++) {
			double u = p[i][0] * axis[k][0] + p[i][1] * axis[k][1];
			double v = q[i][0] * axis[k][0] + q[i][1] * axis[k][1];

			low[0] = fmin(low[0], u);
			high[0] = fmax(high[0], u);
			low[1] = fmin(low[1], v);
			high[1] = fmax(high[1], v);
		}
		deep = fmin(deep, fmin(high[0], high[1]) - fmax(low[0], low[1]));
	}
	return deep;
}

int iso_modules_check(const struct iso_modules *m, const struct conf_node *at)
{
	for (int32_t a = 0; a < m->count; a++) {
		const struct modules_ring *own = m->ring + modules_ring_of(m, a);
		/* a ring looks the same from each of its modules: the first one speaks for all */
		int32_t from = a == own->first ? a + 1 : own->first + own->count;

		for (int32_t b = from; b < m->count; b++) {
			double deep = depth_of(m, a, b);

			if (deep > DEEPEST)
				return iso_conf_fail(
					at,
					"modules %d and %d overlap by %.3g mm: they may touch, not "
					"overlap",
					a, b, deep);
		}
	}
	for (int32_t r = 0; r < m->rings; r++)
		if (!(m->ring[r].radius > m->cover))
			return iso_conf_fail(at, "the cover of %g mm reaches the axis from a radius of %g mm",
			                     m->cover, m->ring[r].radius);
	return ISO_OK;
}

static int check_crystals(const struct iso_modules *m, const struct conf_node *at)
{
	for (int a = 0; a < 2; a++)
		if (m->crystal[a] > m->pitch[a] * (1 + 1e-9))
			return iso_conf_fail(
				at, "crystal_mm is %g along %c, must be at most the pitch of %.6g mm",
				m->crystal[a], "tz"[a], m -> pitch[a]);
	return ISO_OK;
}

/* What every kind has from its own keys. */
static void take_electronics(struct iso_modules *m, const iso_scanner *s)
{
	m->resolution = s->energy_resolution;
	m->trigger = s->trigger_kev;
	m->single_fwhm_ps = s->single_fwhm_ps > 0 ? s->single_fwhm_ps : s->tof_fwhm_ps / sqrt(2);
	m->coincidence_ns = s->coincidence_ns;
	m->dead_ns = s->dead_ns;
	m->paralysable = s->paralysable;
	m->pileup_ns = s->pileup_ns;
	m->delay_ns = s->delay_ns;
	memcpy(m->window, s->energy_kev, sizeof m->window);
	memcpy(m->prompt, s->prompt_kev, sizeof m->prompt);
}

static struct iso_modules *make(iso_scanner *s)
{
	s->modules = calloc(1, sizeof *s->modules);
	if (s->modules) s->modules->mirrored = -1;
	return s->modules;
}

/* ---- kind: modules ---- */

static int read_ring(struct modules_ring *r, const struct conf_node *node)
{
	int64_t count = 0;
	double first = 0;
	const struct conf_key keys[] = {
		/* Modules of the ring, alike and evenly round the axis. */
		{ "modules", CONF_INT, &count, 1, 1, COUNT_MAX, true },
		/* From the axis to the faces of the crystals, in the middle of a module. */
		{ "radius_mm", CONF_REAL, &r->radius, 1, MM_MIN, MM_MAX, true },
		/* Azimuth of the middle of module 0. Default 0. */
		{ "first_deg", CONF_REAL, &first, 1, -360, 360, false },
		/* Of the middles of the modules. Default 0. */
		{ "z_mm", CONF_REAL, &r->z, 1, -MM_MAX, MM_MAX, false },
		{ .name = NULL },
	};
	int st = iso_conf_keys(node, keys);

	r->count = (int32_t)count;
	r->first_rad = first * DEGREE;
	return st;
}

static int read_rings(struct iso_modules *m, const struct conf_node *list)
{
	int st = ISO_OK;

	if (list->type != CONF_LIST || list->n_child < 1 || list->n_child > MODULES_RINGS)
		return iso_conf_fail(list, "rings must be a list of 1 to %d rings of modules", MODULES_RINGS);
	for (const struct conf_node *n = list->child; n && !st; n = n->next) {
		struct modules_ring *r = &m->ring[m->rings++];

		st = read_ring(r, n);
		r->first = m->count;
		m->count += r->count;
	}
	return st;
}

static int read_module(struct iso_modules *m, const struct conf_node *node)
{
	int64_t crystals[2] = { 1, 1 }, blocks[2] = { 1, 1 }, layers = 1;
	const struct conf_key keys[] = {
		/* Crystals of a block: round the ring, along z. */
		{ "crystals", CONF_INTS, crystals, 2, 1, ALONG_MAX, true },
		/* From crystal to crystal: round the ring, along z. */
		{ "pitch_mm", CONF_REALS, m->pitch, 2, MM_MIN, MM_MAX, true },
		/* Size of a crystal: round the ring, along z, depth of all layers together. */
		{ "crystal_mm", CONF_REALS, m->crystal, 3, MM_MIN, MM_MAX, true },
		/* Blocks of a module: round the ring, along z. Default 1, 1. */
		{ "blocks", CONF_INTS, blocks, 2, 1, ALONG_MAX, false },
		/* Gap between two blocks: round the ring, along z. Default 0, 0. */
		{ "block_gap_mm", CONF_REALS, m->block_gap, 2, 0, MM_MAX, false },
		/* Layers of crystals, which share the depth. Default 1. */
		{ "layers", CONF_INT, &layers, 1, 1, LAYERS_MAX, false },
		{ .name = NULL },
	};
	int st = iso_conf_keys(node, keys);

	if (st) return st;
	for (int a = 0; a < 2; a++) {
		m->crystals[a] = (int32_t)crystals[a];
		m->blocks[a] = (int32_t)blocks[a];
		if (crystals[a] * blocks[a] > ALONG_MAX)
			return iso_conf_fail(node, "%" PRId64 " crystals along %c, must be at most %d",
			                     crystals[a] * blocks[a], "tz"[a], ALONG_MAX);
	}
	m->layers = (int32_t)layers;
	return check_crystals(m, node);
}

static int read_pairs(struct iso_modules *m, const struct conf_node *node)
{
	int64_t distance = 1, rings = -1;
	const struct conf_key keys[] = {
		/* Modules of a pair are at least so many apart round the ring. Default 1. */
		{ "min_module_distance", CONF_INT, &distance, 1, 1, COUNT_MAX, false },
		/* And its crystals at most so many rings of crystals. Default: all. */
		{ "max_ring_difference", CONF_INT, &rings, 1, 0, ALONG_MAX, false },
		{ .name = NULL },
	};
	int st = node ? iso_conf_keys(node, keys) : ISO_OK;
	int32_t most = 0;

	for (int32_t r = 0; r < m->rings; r++) most = m->ring[r].count > most ? m->ring[r].count : most;
	if (!st && distance > 1 && distance > most / 2)
		st = iso_conf_fail(node,
		                   "min_module_distance is %" PRId64
		                   ", must be at most %d, half way round the ring",
		                   distance, most / 2);
	m->min_distance = (int32_t)distance;
	/* half way to the next ring of crystals, were there as many gaps as there may be */
	if (rings >= 0)
		m->max_axial = (double)rings * m->pitch[1] + .5 * m->pitch[1] +
		               ceil((double)rings / m->crystals[1]) * m->block_gap[1] -
		               (m->block_gap[1] < m->pitch[1] ? .5 * m->block_gap[1] : 0);
	return st;
}

/* Places, and pairs as free detectors have them. */
static int place_crystals(iso_scanner *s)
{
	const struct iso_modules *m = s->modules;

	s->n = modules_crystals(m);
	s->pos = size_alloc(s->n, 3 * sizeof *s->pos);
	if (!s->pos) return iso_fail_memory("crystal positions", s->n * 3 * (int64_t)sizeof *s->pos);
	for (int64_t i = 0; i < s->n; i++) {
		modules_point(s->pos + 3 * i, m, (int32_t)i);
		for (int a = 0; a < 3; a++) s->pos[3 * i + a] = (double)(iso_real)s->pos[3 * i + a];
	}
	memcpy(s->crystal_mm, m->crystal, sizeof s->crystal_mm);
	s->crystal_mm[2] /= m->layers;
	int st = iso_detectors_finish(s);
	const struct modules_ring *r = m->ring;
	bool alike = true;

	for (int32_t k = 1; k < m->rings; k++)
		alike = alike && m->ring[k].count == r->count && m->ring[k].first_rad == r->first_rad;
	s->pairs.min_angle = m->min_distance > 1 || alike ? modules_min_angle(m) : 0;
	s->pairs.cos_min_angle = cos(s->pairs.min_angle);
	s->pairs.max_axial = m->max_axial;
	s->pairs.modules = alike ? r->count : 0;
	s->pairs.first_rad = r->first_rad;
	return st;
}

static int read_modules(iso_scanner *s, const struct conf_node *root)
{
	const struct conf_node *rings = NULL, *pairs = NULL, *module = NULL, *detector = NULL, *energy = NULL;
	struct iso_modules *m = make(s);
	int st;

	if (!m) return iso_fail_memory("modules", sizeof *m);
	const struct conf_key keys[] = {
		SCANNER_KEYS,
		/* A list of rings of modules. */
		{ "rings", CONF_NODE, &rings, 1, 0, 0, true },
		/* Which crystals make pairs. Default: those of different modules. */
		{ "pairs", CONF_NODE, &pairs, 1, 0, 0, false },
		/* The crystals of a module; all modules are alike. */
		{ "module", CONF_NODE, &module, 1, 0, 0, true },
		/* What the crystals are made of and how they are read out, for `simulate --crystals`. */
		{ "detector", CONF_NODE, &detector, 1, 0, 0, true },
		/* Window and resolution. */
		{ "energy", CONF_NODE, &energy, 1, 0, 0, true },
		/* Lines end this deep in the crystals. With several layers, they end in the middle of a layer. Default 0. */
		{ "interaction_depth_mm", CONF_REAL, &m->depth, 1, 0, MM_MAX, false },
		/* Places along z are measured, not the crystal: FWHM. Default: the crystal's middle. */
		{ "z_blur_mm", CONF_REAL, &m->z_blur, 1, 1e-3, MM_MAX, false },
		{ .name = NULL },
	};

	if ((st = iso_conf_keys(root, keys)) || (st = iso_scanner_read_energy(s, root, energy)) ||
	    (st = read_rings(m, rings)) || (st = read_module(m, module)) || (st = read_pairs(m, pairs)) ||
	    (st = read_detector(m, detector)))
		return st;
	if (m->count > COUNT_MAX || modules_crystals(m) > SCANNER_MAX || modules_crystals(m) < 2)
		return iso_conf_fail(root, "%d modules of %d x %d x %d crystals, must be 2 to %d crystals",
		                     m->count, modules_along(m, 0), modules_along(m, 1), m->layers,
		                     SCANNER_MAX);
	if (m->depth > m->crystal[2])
		return iso_conf_fail(root, "interaction_depth_mm is %g, must be at most the depth of %g mm",
		                     m->depth, m->crystal[2]);
	m->stride_layer = 1;
	m->stride_t = m->layers;
	m->stride_z = modules_along(m, 0) * m->layers;
	m->stride_module = modules_along(m, 1) * m->stride_z;
	if (!(s->tof_fwhm_ps > 0)) s->tof_fwhm_ps = sqrt(2) * s->single_fwhm_ps;
	take_electronics(m, s);
	if ((st = iso_modules_check(m, rings))) return st;
	return place_crystals(s);
}

const struct iso_scanner_fn iso_modules_fn = { .read = read_modules };

/* ---- the other kinds ---- */

int iso_modules_of_cylinder(iso_scanner *s, const struct conf_node *root, const struct conf_node *detector)
{
	const struct iso_pairs *p = &s->pairs;
	struct iso_modules *m;
	int64_t blocks = p->per_ring / s->block;
	int st;

	if (!detector) return ISO_OK;
	if (!(m = make(s))) return iso_fail_memory("modules", sizeof *m);
	if (!(s->crystal_mm[2] > 0))
		return iso_conf_fail(detector, "detector needs crystal_mm: the sizes of the crystals");
	if (!(s->energy_kev[1] > 0))
		return iso_conf_fail(detector, "detector needs energy: {window_kev: [435, 650], resolution: "
		                               "0.115}");
	if (s->block == p->per_ring)
		return iso_conf_fail(detector, "detector needs block: {crystals: 13}: flat blocks of so many "
		                               "crystals");
	if ((st = read_detector(m, detector))) return st;
	double face = s->radius - s->depth;

	m->ring[0] = (struct modules_ring){ face, M_PI / (double)blocks, 0, (int32_t)blocks, 0 };
	m->rings = 1;
	m->count = (int32_t)blocks;
	m->crystals[0] = (int32_t)s->block;
	m->crystals[1] = (int32_t)s->block_rings;
	m->blocks[0] = 1;
	m->blocks[1] = (int32_t)(p->rings / s->block_rings);
	m->pitch[0] = (2 * M_PI * face / (double)blocks - s->block_gap) / (double)s->block;
	m->pitch[1] = s->ring_pitch;
	memcpy(m->crystal, s->crystal_mm, sizeof m->crystal);
	m->block_gap[1] = s->ring_gap;
	m->layers = 1;
	m->depth = s->depth;
	m->stride_module = (int32_t)s->block;
	m->stride_t = m->stride_layer = 1;
	m->stride_z = m->per_ring = (int32_t)p->per_ring;
	m->min_distance = 1;
	m->min_crystals = (int32_t)p->min_distance;
	m->max_rings = (int32_t)p->max_ring_difference;
	take_electronics(m, s);
	st = check_crystals(m, detector);
	return st ? st : iso_modules_check(m, root);
}

int iso_modules_of_panels(iso_scanner *s)
{
	const struct iso_panels *p = &s->panels;
	struct iso_modules *m = make(s);
	bool blocks = p->block > 0;

	if (!m) return iso_fail_memory("modules", sizeof *m);
	m->ring[0] = (struct modules_ring){ p->gap / 2, M_PI / 2, 0, 2, 0 };
	m->rings = 1;
	m->count = 2;
	for (int a = 0; a < 2; a++) {
		m->crystals[a] = blocks ? p->block : p->crystals[a];
		m->blocks[a] = p->crystals[a] / m->crystals[a];
		m->pitch[a] = p->pitch[a];
	}
	memcpy(m->crystal, p->crystal, sizeof m->crystal);
	m->layers = p->layers;
	m->depth = .5 * p->crystal[2];
	m->stride_z = 1;
	m->stride_t = p->crystals[1];
	m->stride_layer = p->crystals[0] * p->crystals[1];
	m->stride_module = p->layers * m->stride_layer;
	m->mirrored = 0; /* t of the upper head is -x */
	m->min_distance = 1;
	m->readout = (int32_t)p->readout;
	take_electronics(m, s);
	m->resolution = p->resolution;
	memcpy(m->window, p->window, sizeof m->window);
	if (!(s->single_fwhm_ps > 0)) m->single_fwhm_ps = 1e3 * p->time_fwhm / sqrt(2);
	snprintf(m->material.formula, sizeof m->material.formula, "%s", p->formula);
	m->material.density = p->density;
	return ISO_OK;
}
