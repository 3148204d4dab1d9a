/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfile images: a text header (.hv, .h33) and the file of voxels that it names (.v, .i33).

   Voxel centres in STIR's axes, from the middle of the scanner, mm:

	x_i = ox + (i - floor(nx/2)) dx     y alike;  ox = first pixel offset + floor(nx/2) dx, 0 where none is given
	z_i = oz + (i - (nz-1)/2) dz        oz = first pixel offset

   and the patient's position turns them to R, A, S. CASToR's images, whose headers say so, lie about the origin whatever
   their offsets, in its left-handed axes: x, y, -z.

   Images are written as of a patient who lies head first, supine: all three axes are turned round, so that the last
   voxel of the array is the first of the file. */
#include "text/interfile.h"
#include "core/size.h"
#include "io/events.h"
#include "io/format.h"

#include <math.h>

struct image {
	int64_t n[3]; /* along x, y, z */
	double voxel[3], first[3], slope;
	bool placed[3]; /* the header has a first pixel offset */
	bool castor;
	int sign[3];
};

/* ---- reading ---- */

/* Plain Interfile 3.3 counts slices, and their distance in pixels, where STIR has a third axis. */
static int get_slices(struct image *m, const struct iso_interfile *h)
{
	double pixels = 0;
	const struct iso_interfile_key keys[] = {
		{ "total number of images", .integer = &m->n[2], .min = 1, .max = 1e6 },
		{ "number of slices", .integer = &m->n[2], .min = 1, .max = 1e6 },
		{ "slice thickness (pixels)", .real = &pixels, .min = -1e6, .max = 1e6 },
		{ "centre-centre slice separation (pixels)", .real = &pixels, .min = -1e6, .max = 1e6 },
		{ 0 },
	};
	int st = iso_interfile_take(h, keys);

	m->voxel[2] = fabs(pixels) * m->voxel[0];
	return st;
}

static int get_axes(struct image *m, const struct iso_interfile *h)
{
	int st = ISO_OK;

	for (int a = 0; a < 3 && !st; a++) {
		if (a == 2 && (st = get_slices(m, h))) return st;
		const struct iso_interfile_key keys[] = {
			{ "matrix size", a + 1, .integer = &m->n[a], .min = 1, .max = 1e6,
			  .required = m->n[a] == 0 },
			{ "scaling factor (mm/pixel)", a + 1, .real = &m->voxel[a], .min = 1e-6, .max = 1e6,
			  .required = m->voxel[a] < 1e-6 || m->voxel[a] > 1e6 },
			{ "first pixel offset (mm)", a + 1, .real = &m->first[a], .min = -1e6, .max = 1e6 },
			{ 0 },
		};

		m->placed[a] = iso_interfile_find(h, "first pixel offset (mm)", a + 1);
		st = iso_interfile_take(h, keys);
	}
	return st;
}

static int get_image(struct image *m, const struct iso_interfile *h)
{
	const char *version = iso_interfile_find(h, "version of keys", 0);
	const char *status = iso_interfile_find(h, "process status", 0);
	int64_t axes = 3, frames = 1;
	bool known;
	const struct iso_interfile_key keys[] = {
		{ "number of dimensions", .integer = &axes, .min = 3, .max = 3 },
		{ "number of time frames", .integer = &frames, .min = 1, .max = 1 },
		{ "image scaling factor", .real = &m->slope, .min = -1e30, .max = 1e30 },
		{ "image scaling factor", 1, .real = &m->slope, .min = -1e30, .max = 1e30 },
		{ 0 },
	};
	int st = iso_interfile_take(h, keys);

	if (!st && status && iso_same_word(status, "acquired"))
		st = iso_refuse(
			h->path,
			"process status is '%.60s', an image was expected; projections of SPECT are not read",
			status);
	if (!st) st = get_axes(m, h);
	if (!st) st = iso_interfile_signs(m->sign, &known, h);
	m->castor = version && strlen(version) > 6 && iso_same_letters(version, "castor", 6);
	if (m->castor) memcpy(m->sign, (const int[]){ 1, 1, -1 }, sizeof m->sign);
	return st;
}

static void set_grid(struct iso_grid *g, const struct image *m)
{
	for (int a = 0; a < 3; a++) {
		double half = (double)(m->n[a] / 2), middle = .5 * (double)(m->n[a] - 1);
		double origin = m->first[a] + (a < 2 && m->placed[a] ? half * m->voxel[a] : 0);
		double centre = origin + (a < 2 ? (middle - half) * m->voxel[a] : 0);

		g->n[a] = m->n[a];
		g->voxel[a] = m->voxel[a];
		g->centre[a] = m->castor ? 0 : m->sign[a] * centre;
	}
}

static void set_layout(struct iso_layout *l, const struct image *m)
{
	int64_t step = 1;

	for (int a = 0; a < 3; step *= m->n[a++]) {
		l->stride[2 - a] = m->sign[a] * step;
		if (m->sign[a] < 0) l->first += (m->n[a] - 1) * step;
	}
}

static int open_data(struct iso_array *a, struct iso_stored *s, const struct image *m,
                     const struct iso_interfile_data *d)
{
	int64_t dim[3] = { m->n[2], m->n[1], m->n[0] }, bytes;
	int st;

	strcpy(s->data, d->path);
	if ((st = iso_in_open(&s->in, s->data, false))) return st;
	if (!size_product(&bytes, 3, dim) || !size_mul(&bytes, bytes, d->element.size) ||
	    !size_add(&bytes, bytes, d->offset))
		return iso_refuse(s->data, "its header has more voxels than 64 bits count");
	if ((st = iso_in_expect(&s->in, bytes)) || (st = iso_array_make(a, s->data, 3, dim, false)))
		return st;
	s->skip = d->offset;
	s->layout.element = d->element;
	set_layout(&s->layout, m);
	s->scaled = m->slope != 1;
	s->slope = m->slope;
	a->has_grid = true;
	set_grid(&a->grid, m);
	return ISO_OK;
}

static int open_image(struct iso_array *a, struct iso_stored *s, const char *path, bool pairs)
{
	struct image m = { .slope = 1 };
	struct iso_interfile_data d;
	struct iso_interfile h;
	const char *unit;
	int st = iso_interfile_read(&h, path);

	(void)pairs;
	if (st) return st;
	if (!(st = get_image(&m, &h)) && !(st = iso_interfile_data(&d, &h))) st = open_data(a, s, &m, &d);
	unit = iso_interfile_find(&h, "isotome unit", 0);
	if (!st && unit) snprintf(a->unit, sizeof a->unit, "%s", unit);
	iso_interfile_free(&h);
	return st;
}

/* ---- writing ---- */

/* The header gives the name to its file of voxels: one line, without a comment. */
static int check_name(const char *path)
{
	const char *name = iso_base_name(path);
	bool good = name[0] != ' ' && !strstr(name, "..");

	for (const char *c = name; *c; c++) good = good && (unsigned char)*c >= ' ' && *c != ';' && *c != 127;
	return good ? ISO_OK
	            : iso_fail(ISO_EARG,
	                       "%s: an Interfile header can't name files with ';', '..' or control "
	                       "characters, or a blank first",
	                       path);
}

static int write_axis(struct iso_out *o, const struct iso_grid *g, int a)
{
	double middle = .5 * (double)(g->n[a] - 1) * g->voxel[a];
	double first = a < 2 ? -g->centre[a] - middle : -g->centre[a];

	return iso_out_print(
		o,
		"matrix axis label [%d] := %c\n!matrix size [%d] := %" PRId64
		"\nscaling factor (mm/pixel) [%d] := %.17g\nfirst pixel offset (mm) [%d] := %.17g\n",
		a + 1, "xyz"[a], a + 1, g->n[a], a + 1, g->voxel[a], a + 1, first);
}

static int write_header(struct iso_out *o, const struct iso_array *a, const iso_real range[2])
{
	char data[PATH_MAX];
	int st;

	(void)range;
	if (a->n_dim != 3 || !a->has_grid)
		return iso_fail(ISO_EARG, "%s: an Interfile image has three axes and a voxel size", o->path);
	if ((st = check_name(o->path)) || (st = iso_format_values(data, o->path))) return st;
	st = iso_out_print(
		o,
		"!INTERFILE :=\n!imaging modality := PT\nname of data file := %.500s\n"
		"!version of keys := STIR6.0\n!GENERAL DATA :=\npatient orientation := head_in\n"
		"patient rotation := supine\n!GENERAL IMAGE DATA :=\n!type of data := PET\n"
		"imagedata byte order := LITTLEENDIAN\n!PET STUDY (General) :=\n!PET data type := Image\n"
		"process status := Reconstructed\n!number format := float\n"
		"!number of bytes per pixel := %d\nnumber of dimensions := 3\n",
		iso_base_name(data), (int)sizeof(iso_real));
	for (int i = 0; i < 3 && !st; i++) st = write_axis(o, &a->grid, i);
	if (!st && a->unit[0] && !a->unit[strcspn(a->unit, ";\r\n")])
		st = iso_out_print(o, "isotome unit := %s\n", a->unit);
	return st ? st
	          : iso_out_print(o, "number of time frames := 1\nimage scaling factor [1] := 1\n"
	                             "data offset in bytes [1] := 0\n!END OF INTERFILE :=\n");
}

const struct iso_format iso_interfile_hv_format = {
	.open = open_image, .lead = write_header, .values = ".v", .mu_per_cm = true
};
const struct iso_format iso_interfile_h33_format = {
	.open = open_image, .lead = write_header, .values = ".i33", .mu_per_cm = true
};
