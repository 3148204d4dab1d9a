/* SPDX-License-Identifier: BSD-3-Clause */
/* Scanners of Interfile projection data: a cylinder, flat blocks about a cylinder, or a map of crystals.

   Blocks stand in buckets, and B flat buckets about the axis. With R the radius, block b of n_b and crystal c of n_c in
   a bucket, their distances d_b and d_c, a crystal lies at

	x = (b - (n_b - 1)/2) d_b + (c - (n_c - 1)/2) d_c   along the bucket, and likewise along z over the whole length
	a = offset + 2 pi bucket / B + pi / B (1 - 2 / d_b (d_c / 2 + gap)),   gap = d_b - n_c d_c
	(R sin a + x cos a, -R cos a + x sin a, z)

   in STIR's axes (its class GeometryBlocksOnCylindrical): bucket 0 is turned so that crystal 0 lies near (0, -R). */
#include "interfile_scanner.h"
#include "core/status.h"
#include "file/in.h"
#include "file/suffix.h"
#include "scanner/known.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CM 10. /* mm */

void iso_interfile_tell(char *told, size_t size, const char *fmt, ...)
{
	size_t n = strlen(told);
	va_list ap;

	if (n > 0 && n + 3 < size) n += (size_t)snprintf(told + n, size - n, "; ");
	va_start(ap, fmt);
	iso_vsnprintf(told + n, size - n, fmt, ap);
	va_end(ap);
}

/* ---- sizes ---- */

static const struct iso_known *known_of(const char **name, const struct iso_interfile *h)
{
	static const char *const key[] = { "originating system", "scanner type" };
	const struct iso_known *k = NULL;

	for (int i = 0; i < 2 && !k; i++) {
		*name = iso_interfile_find(h, key[i], 0);
		k = *name ? iso_known_scanner(*name) : NULL;
	}
	return k;
}

/* The keys that were not there, and the values that hold instead. */
static void tell_missing(struct interfile_scanner *s, const struct iso_interfile_key *keys, const char *name,
                         const struct iso_interfile *h)
{
	char list[INTERFILE_TOLD] = "";

	for (; keys->key; keys++) {
		size_t n = strlen(list);

		if (iso_interfile_find(h, keys->key, 0)) continue;
		iso_snprintf(list + n, sizeof list - n, "%s%s %.7g", n ? ", " : "", keys->key,
		             keys->integer ? (double)*keys->integer : *keys->real);
	}
	if (*list && name)
		iso_interfile_tell(s->told, sizeof s->told,
		                   "scanner %.60s is the one known by that name, with %s", name, list);
}

/* What the header says holds; the table of known scanners has the rest. A map needs no more than its numbers. */
static int get_sizes(struct interfile_scanner *s, const struct iso_interfile *h)
{
	static const struct iso_known nothing = { 0 };
	const char *name;
	const struct iso_known *k = known_of(&name, h);
	const struct iso_known *from = k ? k : &nothing;
	bool map = s->geometry == INTERFILE_MAP, needed = !k && !map;
	double diameter = 2 * from->radius / CM, depth = from->depth / CM, pitch = from->pitch / CM;
	const struct iso_interfile_key keys[] = {
		{ "number of rings", .integer = &s->rings, .min = 1, .max = 1e5,
		  .required = from->rings == 0 },
		{ "number of detectors per ring", .integer = &s->detectors, .min = 2, .max = 1e6,
		  .required = !k },
		{ "inner ring diameter (cm)", .real = &diameter, .min = 1e-3, .max = 1e4,
		  .required = needed },
		{ "average depth of interaction (cm)", .real = &depth, .min = 0, .max = 1e3,
		  .required = needed },
		{ "distance between rings (cm)", .real = &pitch, .min = 1e-4, .max = 1e3,
		  .required = needed },
		{ 0 },
	};
	int st;

	s->rings = from->rings;
	s->detectors = from->detectors;
	if ((st = iso_interfile_take(h, keys))) return st;
	if (k) tell_missing(s, keys, name, h);
	s->radius = CM * (diameter / 2 + depth);
	s->pitch = CM * pitch;
	s->bin = from->bin;
	s->tof_bin_ps = from->tof_bin_ps;
	s->tof_fwhm_ps = from->tof_fwhm_ps;
	return ISO_OK;
}

/* Keys that have a default whatever the scanner; STIR's are the same. */
static int get_rest(struct interfile_scanner *s, const struct iso_interfile *h)
{
	double bin = 0, offset = 0;
	const struct iso_interfile_key keys[] = {
		{ "default bin size (cm)", .real = &bin, .min = -1e3, .max = 1e3 },
		{ "effective central bin size (cm)", .real = &bin, .min = -1e3, .max = 1e3 },
		{ "view offset (degrees)", .real = &offset, .min = -360, .max = 360 },
		{ 0 },
	};
	int st = iso_interfile_take(h, keys);

	if (st) return st;
	if (bin > 0) s->bin = CM * bin;
	s->offset = offset * M_PI / 180;
	if (!iso_interfile_find(h, "view offset (degrees)", 0) && s->geometry != INTERFILE_MAP)
		iso_interfile_tell(s->told, sizeof s->told, "the view offset is 0 degrees");
	if (s->detectors % 2)
		return iso_refuse(h->path, "number of detectors per ring is %" PRId64 ", must be even",
		                  s->detectors);
	return ISO_OK;
}

static int get_geometry(struct interfile_scanner *s, const struct iso_interfile *h)
{
	static const char *const words[] = { [INTERFILE_CYLINDER] = "cylindrical",
		                             [INTERFILE_BLOCKS] = "blocksoncylindrical",
		                             [INTERFILE_MAP] = "generic" };
	const char *got = iso_interfile_find(h, ISO_INTERFILE_GEOMETRY, 0);

	if (!got) got = iso_interfile_find(h, "scanner geometry", 0);
	s->geometry = INTERFILE_CYLINDER;
	if (!got) return ISO_OK;
	for (int i = 0; i < 3; i++)
		if (iso_same_word(got, words[i])) {
			s->geometry = (enum interfile_geometry)i;
			return ISO_OK;
		}
	return iso_refuse(h->path,
	                  "Scanner geometry is '%.60s', must be Cylindrical, BlocksOnCylindrical or Generic",
	                  got);
}

int iso_interfile_scanner(struct interfile_scanner *s, const struct iso_interfile *h)
{
	int st;

	*s = (struct interfile_scanner){ 0 };
	if ((st = get_geometry(s, h)) || (st = get_sizes(s, h))) return st;
	return get_rest(s, h);
}

/* ---- blocks ---- */

/* Along a bucket, or along z: blocks of one bucket, crystals of a block, and their distances in mm. */
struct blocks {
	int64_t blocks, crystals;
	double block_mm, crystal_mm;
};

static int get_blocks(struct blocks *b, const struct iso_interfile *h, const char *axis, int64_t all,
                      const char *what)
{
	char key[4][80];
	const struct iso_interfile_key keys[] = {
		{ key[0], .integer = &b->blocks, .min = 1, .max = 1e5, .required = true },
		{ key[1], .integer = &b->crystals, .min = 1, .max = 1e5, .required = true },
		{ key[2], .real = &b->block_mm, .min = 1e-4, .max = 1e3, .required = true },
		{ key[3], .real = &b->crystal_mm, .min = 1e-4, .max = 1e3, .required = true },
		{ 0 },
	};
	int st;

	snprintf(key[0], sizeof key[0], "number of blocks per bucket in %s direction", axis);
	snprintf(key[1], sizeof key[1], "number of crystals per block in %s direction", axis);
	snprintf(key[2], sizeof key[2], "distance between blocks in %s direction (cm)", axis);
	snprintf(key[3], sizeof key[3], "distance between crystals in %s direction (cm)", axis);
	if ((st = iso_interfile_take(h, keys))) return st;
	b->block_mm *= CM;
	b->crystal_mm *= CM;
	if (all % (b->blocks * b->crystals) == 0) return ISO_OK;
	return iso_refuse(h->path,
	                  "%" PRId64 " %s, not a multiple of %" PRId64 " blocks of %" PRId64
	                  " crystals in %s direction",
	                  all, what, b->blocks, b->crystals, axis);
}

/* Of crystal i of n that stand in blocks one behind the other, from their middle. */
static double along(const struct blocks *b, int64_t i, int64_t n)
{
	int64_t block = i / b->crystals, crystal = i % b->crystals;

	return ((double)block - .5 * (double)(n / b->crystals - 1)) * b->block_mm +
	       ((double)crystal - .5 * (double)(b->crystals - 1)) * b->crystal_mm;
}

static int place_blocks(double *place, const struct interfile_scanner *s, const struct iso_interfile *h)
{
	struct blocks t, z;
	int st = get_blocks(&t, h, "transaxial", s->detectors, "detectors a ring");

	if (st || (st = get_blocks(&z, h, "axial", s->rings, "rings"))) return st;
	int64_t each = t.blocks * t.crystals;
	double step = 2 * M_PI * (double)each / (double)s->detectors;
	double gap = t.block_mm - (double)t.crystals * t.crystal_mm;
	double turn = step / 2 * (1 - 2 / t.block_mm * (t.crystal_mm / 2 + gap));

	for (int64_t i = 0; i < s->rings * s->detectors; i++) {
		int64_t d = i % s->detectors;
		double a = s->offset + (double)(d / each) * step + turn, x = along(&t, d % each, each);

		place[3 * i] = s->radius * sin(a) + x * cos(a);
		place[3 * i + 1] = -s->radius * cos(a) + x * sin(a);
		place[3 * i + 2] = along(&z, i / s->detectors, s->rings);
	}
	return ISO_OK;
}

/* ---- a map ---- */

enum { MAP_MIB = 256 };

/* Numbers of a line, apart by blanks, tabs or commas; -1: another word. The line ends before `end`. */
static int line_numbers(double v[7], const char *p, const char *end)
{
	static const char between[] = " \t\r,";
	int n = 0;

	while (n < 7) {
		while (p < end && strchr(between, *p)) p++;
		const char *word = p;

		while (p < end && !strchr(between, *p)) p++;
		if (p == word) break;
		if (!iso_number(&v[n++], word, (size_t)(p - word))) return -1;
	}
	return n;
}

/* "ring, detector, x, y, z", or with the layer, which must be 0, before x. */
static int take_line(double *place, bool *seen, const struct interfile_scanner *s, const char *path, int line,
                     const double *v, int n)
{
	int64_t all = s->rings * s->detectors;

	if ((n != 5 && n != 6) || (n == 6 && v[2] != 0))
		return iso_fail(ISO_EINPUT,
		                "%s:%d: 'ring detector x y z' was expected, or 'ring detector layer x y z' "
		                "of layer 0",
		                path, line);
	if (!(v[0] >= 0 && v[0] < (double)s->rings && v[0] == floor(v[0]) && v[1] >= 0 &&
	      v[1] < (double)s->detectors && v[1] == floor(v[1])))
		return iso_fail(ISO_EINPUT,
		                "%s:%d: ring %.10g, detector %.10g; its header says %" PRId64
		                " rings of %" PRId64 " detectors",
		                path, line, v[0], v[1], s->rings, s->detectors);
	int64_t i = (int64_t)v[0] * s->detectors + (int64_t)v[1];

	if (i >= all || seen[i])
		return iso_fail(ISO_EINPUT, "%s:%d: ring %g, detector %g stands there twice", path, line,
		                v[0], v[1]);
	seen[i] = true;
	memcpy(place + 3 * i, v + n - 3, 3 * sizeof *place);
	return ISO_OK;
}

static int take_map(double *place, bool *seen, const struct interfile_scanner *s, const char *path,
                    char *text)
{
	int64_t found = 0, all = s->rings * s->detectors;
	int st = ISO_OK, line = 1;

	for (char *p = text, *end; *p && !st; p = *end ? end + 1 : end, line++) {
		double v[7];

		end = p + strcspn(p, "\n");
		int n = *p == '#' ? 0 : line_numbers(v, p, end);

		if (n == 0) continue;
		st = take_line(place, seen, s, path, line, v, n);
		found++;
	}
	if (!st && found < all)
		st = iso_refuse(path, "has %" PRId64 " crystals, its header says %" PRId64, found, all);
	return st;
}

static int place_map(double *place, const struct interfile_scanner *s, const struct iso_interfile *h)
{
	bool *seen = calloc((size_t)(s->rings * s->detectors), sizeof *seen);
	char path[PATH_MAX], *text = NULL;
	size_t size;
	int st = seen ? iso_interfile_beside(path, h, "name of crystal map")
	              : iso_fail_memory("map of crystals", s->rings * s->detectors);

	if (!st) st = iso_text_read(&text, &size, path, MAP_MIB, "map of crystals");
	if (!st) st = take_map(place, seen, s, path, text);
	free(seen);
	free(text);
	return st;
}

int iso_interfile_crystals(double *place, const struct interfile_scanner *s, const struct iso_interfile *h)
{
	return (s->geometry == INTERFILE_MAP ? place_map : place_blocks)(place, s, h);
}
