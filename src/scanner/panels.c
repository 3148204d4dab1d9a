/* SPDX-License-Identifier: BSD-3-Clause */
/* Two alike heads of crystals that face each other: y is normal to them, the upper one at +y.

   Crystal id = ((head * layers + layer) * Ncx + cx) * Ncz + cz, head 0 the upper one, layer 0 the
   one that faces the object. Ends of lines lie in the middle of a crystal. Every crystal of the
   upper head is in coincidence with every one of the lower: pairs are LORs, in their order. */
#include "text/formula.h"
#include "core/size.h"
#include "scanner.h"

#include <stdio.h>

enum { AXIS_MAX = 4096, LAYERS_MAX = 16, PER_PITCH_MAX = 64, PLANES_MAX = 65536 };

#define MM_MIN 1e-3
#define MM_MAX 1e5

static int read_material(struct iso_panels *p, const struct conf_node *material)
{
	const char *formula = NULL;
	const struct conf_key keys[] = {
		/* Of the crystals; without this map they are Lu1.8Y0.2SiO5. */
		{ "formula", CONF_TEXT, &formula, 1, 0, 0, true },
		/* g/cm^3; without this map 7.1. */
		{ "density", CONF_REAL, &p->density, 1, 1e-6, 30, true }, /* g/cm^3 */
		{ .name = NULL },
	};
	struct iso_formula parsed;
	int st;

	if (!material) return ISO_OK;
	if ((st = iso_conf_keys(material, keys))) return st;
	if (strlen(formula) >= sizeof p->formula)
		return iso_conf_fail(material, "formula has %zu letters, must have at most %zu",
		                     strlen(formula), sizeof p->formula - 1);
	if (iso_formula_parse(&parsed, formula)) return iso_conf_fail(material, "%s", iso_message());
	snprintf(p->formula, sizeof p->formula, "%s", formula);
	return ISO_OK;
}

static int read_energy(struct iso_panels *p, const struct conf_node *energy)
{
	const struct conf_key keys[] = {
		/* FWHM of an energy at 511 keV, as a share of it. Default 0.2. */
		{ "resolution", CONF_REAL, &p->resolution, 1, 0, 1, false },
		/* Least and greatest energy that counts. Default 250, 750. */
		{ "window_kev", CONF_REALS, p->window, 2, 0, 1e5, false },
		{ .name = NULL },
	};
	int st = energy ? iso_conf_keys(energy, keys) : ISO_OK;

	if (!st && !(p->window[0] < p->window[1]))
		return iso_conf_fail(energy, "window_kev is [%g, %g], the first must be below the second",
		                     p->window[0], p->window[1]);
	return st;
}

/* Voxels a pitch: said, or whole numbers of voxel_mm (to 1e-6): voxels end where pitch cells do. */
static int read_voxels(struct iso_panels *p, const struct conf_node *root, const int64_t said[2],
                       const double voxel[2])
{
	const struct conf_node *node = iso_conf_find(root, "voxel_mm");

	if (node && iso_conf_find(root, "voxels_per_pitch"))
		return iso_conf_fail(node, "voxel_mm and voxels_per_pitch say the same: keep one");
	for (int a = 0; a < 2; a++) {
		double n = node ? p->pitch[a] / voxel[a] : (double)said[a], whole = round(n);

		if (!(fabs(n - whole) <= 1e-6 * n))
			return iso_conf_fail(node, "voxel_mm is %g along %c, must divide the pitch of %g mm",
			                     voxel[a], "xz"[a], p -> pitch[a]);
		if (whole < 1 || whole > PER_PITCH_MAX)
			return iso_conf_fail(node,
			                     "voxel_mm is %g along %c, must be from 1/%d of the pitch of %g "
			                     "mm to all of it",
			                     voxel[a], "xz"[a], PER_PITCH_MAX, p -> pitch[a]);
		p->per_pitch[a] = (int)whole;
	}
	return ISO_OK;
}

static int64_t face(const struct iso_panels *p)
{
	return (int64_t)p->crystals[0] * p->crystals[1];
}

/* The bounds of the keys keep every product within 64 bits; that of crystals bounds the memory. */
static int check_cells(const struct iso_panels *p, const struct conf_node *root)
{
	if (2 * p->layers * face(p) > SCANNER_MAX)
		return iso_conf_fail(root,
		                     "2 heads of %d layers of %d x %d crystals are more than %d crystals",
		                     p->layers, p->crystals[0], p->crystals[1], SCANNER_MAX);
	if (p->readout == ISO_READ_BLOCK && p->block == 0)
		return iso_conf_fail(root,
		                     "key 'block' is missing: readout block sums so many crystals an axis");
	for (int a = 0; a < 2; a++) {
		if (p->crystal[a] > p->pitch[a] * (1 + 1e-9))
			return iso_conf_fail(iso_conf_find(root, "crystal_mm"),
			                     "crystal_mm is %g along %c, must be at most the pitch of %g mm",
			                     p->crystal[a], "xz"[a], p -> pitch[a]);
		if (p->block > 0 && p->crystals[a] % p->block != 0) /* a head is whole blocks */
			return iso_conf_fail(iso_conf_find(root, "block"),
			                     "block is %d, must divide the %d crystals along %c", p->block,
			                     p->crystals[a], "xz"[a]);
	}
	if (p->planes * p->plane > p->gap * (1 + 1e-9))
		return iso_conf_fail(root,
		                     "planes: %d planes of %g mm are %g mm, must fit into the gap of %g mm",
		                     p->planes, p->plane, p->planes * p->plane, p->gap);
	return ISO_OK;
}

static double centred(int i, int n, double pitch)
{
	return (i - (n - 1) / 2.) * pitch;
}

static int place_crystals(iso_scanner *s)
{
	const struct iso_panels *p = &s->panels;

	s->n = 2 * p->layers * face(p);
	s->pos = size_alloc(s->n, 3 * sizeof *s->pos);
	if (!s->pos) return iso_fail_memory("crystal positions", s->n * 3 * (int64_t)sizeof *s->pos);
	for (int64_t i = 0; i < s->n; i++) {
		int row = (int)(i / p->crystals[1]), layer = (int)(i / face(p)) % p->layers;
		double y = p->gap / 2 + (layer + .5) * p->crystal[2] / p->layers, *pos = s->pos + 3 * i;

		pos[0] = centred(row % p->crystals[0], p->crystals[0], p->pitch[0]);
		pos[1] = i < s->n / 2 ? y : -y;
		pos[2] = centred((int)(i % p->crystals[1]), p->crystals[1], p->pitch[1]);
	}
	s->pairs = (struct iso_pairs){
		.n = iso_panels_lors(p), .detectors = s->n, .face = face(p), .layers = p->layers
	};
	return ISO_OK;
}

static int read_panels(iso_scanner *s, const struct conf_node *root)
{
	static const char *const readouts[] = { "head", "block", "crystal", NULL };
	const struct conf_node *material = NULL, *energy = NULL;
	struct iso_panels *p = &s->panels;
	int64_t crystals[2], layers = 1, block = 0, per_pitch[2] = { 4, 4 }, planes;
	double voxel[2] = { 0 };
	int readout = ISO_READ_HEAD, st;
	const struct conf_key keys[] = {
		SCANNER_KEYS,
		/* Of a head along x and z. */
		{ "crystals", CONF_INTS, crystals, 2, 1, AXIS_MAX, true },
		/* From crystal to crystal along x and z. */
		{ "pitch_mm", CONF_REALS, p->pitch, 2, MM_MIN, MM_MAX, true },
		/* x, z, and depth of all layers together. */
		{ "crystal_mm", CONF_REALS, p->crystal, 3, MM_MIN, MM_MAX, true },
		/* From face to face of the two heads. */
		{ "gap_mm", CONF_REAL, &p->gap, 1, MM_MIN, MM_MAX, true },
		/* Layers of crystals, which share the depth. Default 1. */
		{ "layers", CONF_INT, &layers, 1, 1, LAYERS_MAX, false },
		/* Crystals of a readout block along each axis. Default: no blocks. */
		{ "block", CONF_INT, &block, 1, 1, AXIS_MAX, false },
		/* Of the crystals. */
		{ "material", CONF_NODE, &material, 1, 0, 0, false },
		/* Along x and z. Default 4, 4. */
		{ "voxels_per_pitch", CONF_INTS, per_pitch, 2, 1, PER_PITCH_MAX, false },
		/* The same as a size, which divides the pitch. */
		{ "voxel_mm", CONF_REALS, voxel, 2, 1e-6, MM_MAX, false },
		/* Planes of voxels, along y. */
		{ "planes", CONF_INT, &planes, 1, 1, PLANES_MAX, true },
		/* Thickness of a plane. */
		{ "plane_mm", CONF_REAL, &p->plane, 1, MM_MIN, MM_MAX, true },
		/* Resolution and window. */
		{ "energy", CONF_NODE, &energy, 1, 0, 0, false },
		/* Whose deposits are summed. Default head. */
		{ .name = "readout", .kind = CONF_NODE },
		{ .name = NULL },
	};

	*p = (struct iso_panels){ .formula = "Lu1.8Y0.2SiO5",
		                  .density = 7.1,
		                  .resolution = .2,
		                  .window = { 250, 750 },
		                  .time_fwhm = p->time_fwhm,
		                  .coincidence = s->coincidence_ns };
	if ((st = iso_conf_keys(root, keys))) return st;
	for (int a = 0; a < 2; a++) p->crystals[a] = (int)crystals[a];
	p->layers = (int)layers;
	p->block = (int)block;
	p->planes = (int)planes;
	if ((st = read_voxels(p, root, per_pitch, voxel)) || (st = read_material(p, material)) ||
	    (st = read_energy(p, energy)) || (st = iso_conf_word(&readout, root, "readout", readouts)))
		return st;
	p->readout = (enum iso_readout)readout;
	if ((st = check_cells(p, root))) return st;
	st = place_crystals(s);
	return st ? st : iso_modules_of_panels(s);
}

/* The axes are apart: nearest cell along x and z, nearest layer along y. */
static int64_t nearest(const iso_scanner *s, const double at[3])
{
	const struct iso_panels *p = &s->panels;
	int64_t cx = scanner_cell(at[0] / p->pitch[0] + p->crystals[0] / 2., p->crystals[0]);
	int64_t cz = scanner_cell(at[2] / p->pitch[1] + p->crystals[1] / 2., p->crystals[1]);
	int64_t layer = scanner_cell((fabs(at[1]) - p->gap / 2) / (p->crystal[2] / p->layers), p->layers);

	return ((at[1] < 0) * p->layers + layer) * face(p) + cx * p->crystals[1] + cz;
}

static bool in_coincidence(const iso_scanner *s, int64_t a, int64_t b)
{
	return (a < s->n / 2) != (b < s->n / 2);
}

const struct iso_scanner_fn iso_panels_fn = {
	.read = read_panels,
	.nearest = nearest,
	.in_coincidence = in_coincidence,
};

const struct iso_panels *iso_scanner_panels(const iso_scanner *s)
{
	return s && s->kind == ISO_PANELS ? &s->panels : NULL;
}

void iso_panels_grid(struct iso_grid *g, const struct iso_panels *p)
{
	if (!g || !p) return;
	*g = (struct iso_grid){
		.n = { (int64_t)p->crystals[0] * p->per_pitch[0], p->planes,
		       (int64_t)p->crystals[1] * p->per_pitch[1] },
		.voxel = { p->pitch[0] / p->per_pitch[0], p->plane, p->pitch[1] / p->per_pitch[1] },
	};
}

int64_t iso_panels_lors(const struct iso_panels *p)
{
	if (!p) return 0;

	int64_t head = p->layers * face(p);

	return head * head;
}
