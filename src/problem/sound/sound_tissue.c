/* SPDX-License-Identifier: BSD-3-Clause */
/* Tissue as users give it: a shape, an image of where it is, or one of speeds. */
#include "sound_tissue.h"

#include "scanner/scanner.h"

#include <math.h>
#include <string.h>

#define DEGREE (M_PI / 180)
#define METRES 100 /* speeds above it are m/s */

static const char *const paths[] = { "straight", "snell", "eikonal", NULL }; /* as enum iso_sound_path */
static const char *const amplitudes[] = { "distance", "spread", NULL };      /* as enum iso_sound_amplitude */

int tissue_params(struct opt *table, struct tissue *tissue)
{
	const struct opt own[TISSUE_PARAMS] = {
		{ 0, "tissue", .text = &tissue->shape, .file = OPT_MAY_READ, .value = "SHAPE|FILE",
		  .absent = "one speed everywhere",
		  .help = "where the speed of sound is 'tissue-speed', in mm: circle:X,Y,R, "
		          "ellipse:X,Y,A,B[,DEGREES], sphere:X,Y,Z,R, ellipsoid:X,Y,Z,A,B,C, "
		          "plane:NX,NY,NZ,H "
		          "(where NX x + NY y + NZ z < H), or an image whose voxels above 0.5 are tissue. "
		          "Circle and "
		          "ellipse go on without end along the axis of a planar array, or along z" },
		{ 0, "tissue-speed", .real = &tissue->speed, .unit = "mm/us", .with = "tissue", .value = "C",
		  .min = .3, .max = 10, .absent = "none: 'tissue' needs one",
		  .help = "speed of sound in the tissue, mm/us; 'speed' is that of the water round it" },
		{ 0, "speed-map", .text = &tissue->map, .file = OPT_READS, .value = "FILE",
		  .absent = "one speed everywhere",
		  .help = "image of the speed of sound, mm/us, instead of 'tissue'; outside of it 'speed' "
		          "holds" },
		{ 0, "sound-path", .text = &tissue->path, .words = paths, .value = "NAME",
		  .help = "the way of the sound: straight; snell, bent at the border (sphere, plane; circle "
		          "in the "
		          "plane of the transducers); eikonal, the first arrival in any tissue or map" },
		{ 0, "sound-amplitude", .text = &tissue->amplitude, .words = amplitudes, .value = "NAME",
		  .help = "how loud a voxel is: distance, 1/d; spread, by the bent rays, with 'sound-path' "
		          "snell and a "
		          "sphere or a plane" },
		{ 0, "table-mm", .real = &tissue->table_mm, .unit = "mm", .value = "H", .min = .01,
		  .max = 100, .absent = "1, 0.7 or 0.5, by the sampling rate",
		  .help = "step of the tables of delays, of an image of tissue, a map, or 'sound-path' "
		          "eikonal" },
	};

	tissue->path = paths[0];
	tissue->amplitude = amplitudes[0];
	memcpy(table, own, sizeof own);
	return TISSUE_PARAMS;
}

/* ---- shapes ---- */

/* The axis that a circle goes on along, and the two others in rising order. */
static void plane_axes(int axes[3], const struct iso_transducers *t)
{
	double seen[6];
	int flat = 2;

	iso_transducers_field(seen, t);
	for (int a = 0; a < 3; a++)
		if (seen[2 * a] == seen[2 * a + 1]) flat = a;
	axes[2] = flat;
	axes[0] = flat == 0 ? 1 : 0;
	axes[1] = flat == 2 ? 1 : 2;
}

static void make_circle(struct iso_tissue *p, const double *v, const struct iso_transducers *t)
{
	int axes[3];

	plane_axes(axes, t);
	for (int k = 0; k < 2; k++) {
		p->centre[axes[k]] = v[k];
		p->axes[axes[k]] = v[2];
	}
	p->axes[axes[2]] = INFINITY;
}

static void make_ellipse(struct iso_tissue *p, const double *v, const struct iso_transducers *t)
{
	int axes[3];

	if (v[2] == v[3]) {
		make_circle(p, v, t);
		return;
	}
	plane_axes(axes, t);
	for (int k = 0; k < 2; k++) {
		p->centre[axes[k]] = v[k];
		p->axes[k] = v[2 + k];
		p->rotation[3 * k + axes[k]] = cos(v[4] * DEGREE);
		p->rotation[3 * k + axes[!k]] = (k ? -1 : 1) * sin(v[4] * DEGREE);
	}
	p->axes[2] = INFINITY;
	p->rotation[6 + axes[2]] = 1;
}

static void make_sphere(struct iso_tissue *p, const double *v, const struct iso_transducers *t)
{
	(void)t;
	for (int a = 0; a < 3; a++) {
		p->centre[a] = v[a];
		p->axes[a] = v[3];
	}
}

static void make_ellipsoid(struct iso_tissue *p, const double *v, const struct iso_transducers *t)
{
	(void)t;
	memcpy(p->centre, v, sizeof p->centre);
	memcpy(p->axes, v + 3, sizeof p->axes);
}

static void make_plane(struct iso_tissue *p, const double *v, const struct iso_transducers *t)
{
	(void)t;
	p->shape = ISO_TISSUE_PLANE;
	memcpy(p->normal, v, sizeof p->normal);
	p->offset = v[3];
}

enum { MOST = 6 };

static const struct shape {
	const char *name, *numbers;
	int least, most;
	void (*make)(struct iso_tissue *p, const double *v, const struct iso_transducers *t);
} shapes[] = {
	{ "circle", "X,Y,R", 3, 3, make_circle },
	{ "ellipse", "X,Y,A,B or X,Y,A,B,DEGREES", 4, 5, make_ellipse },
	{ "sphere", "X,Y,Z,R", 4, 4, make_sphere },
	{ "ellipsoid", "X,Y,Z,A,B,C", 6, 6, make_ellipsoid },
	{ "plane", "NX,NY,NZ,H", 4, 4, make_plane },
};

/* NULL: the name of a file. */
static const struct shape *shape_of(const char *text)
{
	size_t n = strcspn(text, ":");

	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		if (strlen(shapes[i].name) == n && strncmp(text, shapes[i].name, n) == 0) return shapes + i;
	return NULL;
}

static int load_shape(struct tissue *tissue, const struct shape *shape, const struct iso_transducers *t)
{
	const char *colon = strchr(tissue->shape, ':');
	double v[MOST] = { 0 };
	int n = colon ? iso_numbers(v, MOST, colon + 1) : 0;

	if (n < shape->least || n > shape->most)
		return iso_fail(ISO_EARG, "'tissue' is '%s', must be %s:%s", tissue->shape, shape->name,
		                shape->numbers);
	memcpy(tissue->is.rotation, tissue->rotation, sizeof tissue->is.rotation);
	shape->make(&tissue->is, v, t);
	return ISO_OK;
}

/* ---- images ---- */

/* Speeds in m/s become mm/us. */
static void mend_unit(struct tissue *tissue, struct record *r)
{
	struct iso_array *x = &tissue->image;
	int64_t n = 0;

	for (int64_t i = 0; i < x->n; i++) n += x->v[i] >= METRES;
	if (n == 0) return;
	record_warn(r, "%s: speeds of %d and more are taken as m/s and divided by 1000", tissue->map, METRES);
	for (int64_t i = 0; i < x->n; i++)
		if (x->v[i] >= METRES) x->v[i] /= 1000;
}

static int load_image(struct tissue *tissue, struct record *r, const char *path)
{
	struct iso_array *x = &tissue->image;
	int st;

	if ((st = record_read(r, x, path, ISO_FINITE)) || (st = record_input(r, path))) return st;
	if (x->n_dim > 3 || x->n < 1)
		return iso_fail(ISO_EINPUT,
		                "%s: an image of %d axes and %" PRId64 " voxels, must be of three axes", path,
		                x->n_dim, x->n);
	if (!x->has_grid)
		return iso_fail(ISO_EINPUT, "%s: does not say where its voxels are; .nii does", path);
	if (tissue->map && x->v) mend_unit(tissue, r);
	tissue->is.shape = tissue->map ? ISO_TISSUE_MAP : ISO_TISSUE_MASK;
	tissue->is.image = x->v;
	tissue->is.image_grid = x->grid;
	return ISO_OK;
}

/* ---- both ---- */

/* Options go before the description. */
static void take_description(struct tissue *tissue, const iso_scanner *s)
{
	if (!s || !s->tissue.shape[0] || tissue->shape || tissue->map) return;
	tissue->shape = s->tissue.shape;
	if (!(tissue->speed > 0)) tissue->speed = s->tissue.speed;
	memcpy(tissue->rotation, s->tissue.rotation, sizeof tissue->rotation);
}

int tissue_load(struct tissue *tissue, struct record *r, const iso_scanner *s,
                const struct iso_transducers *t, bool needs_speed)
{
	take_description(tissue, s);
	const struct shape *shape = tissue->shape ? shape_of(tissue->shape) : NULL;

	tissue->on = tissue->shape || tissue->map;
	if (!tissue->on && (strcmp(tissue->path, paths[0]) != 0 ||
	                    strcmp(tissue->amplitude, amplitudes[0]) != 0 || tissue->table_mm > 0))
		return iso_fail(
			ISO_EARG,
			"'sound-path', 'sound-amplitude' and 'table-mm' are for 'tissue' or 'speed-map'");
	if (!tissue->on) return ISO_OK;
	if (tissue->shape && tissue->map)
		return iso_fail(ISO_EARG, "'tissue' and 'speed-map': give one of them");
	if (tissue->shape && needs_speed && !(tissue->speed > 0))
		return iso_fail(ISO_EARG,
		                "'tissue-speed' is missing: the speed of sound in the tissue, mm/us");
	tissue->is = (struct iso_tissue){
		.size = sizeof tissue->is,
		.speed = tissue->speed,
		.path = (enum iso_sound_path)opt_place(paths, tissue->path),
		.amplitude = (enum iso_sound_amplitude)opt_place(amplitudes, tissue->amplitude),
		.table_mm = tissue->table_mm,
	};
	return shape ? load_shape(tissue, shape, t)
	             : load_image(tissue, r, tissue->map ? tissue->map : tissue->shape);
}

void tissue_unload(struct tissue *tissue)
{
	iso_array_free(&tissue->image);
}

static void warn(const struct iso_delays_info *info, struct record *r)
{
	if (info->voxels_in == 0) record_warn(r, "no voxel of the image lies in the tissue");
	if (info->voxels_in == info->voxels && info->transducers_in == info->transducers)
		record_warn(r, "all voxels and transducers lie in the tissue: one speed does the same");
	if (info->focuses)
		record_warn(r, "slow tissue bends sound to a focus: from behind it voxels are heard twice, "
		               "of which the "
		               "model has the first");
}

int tissue_delays(iso_delays **d, const struct tissue *tissue, struct record *r, iso_ctx *ctx,
                  const struct iso_transducers *t, const struct iso_grid *g)
{
	struct iso_delays_info info = { .size = sizeof info };
	int st;

	if (!tissue->on) return ISO_OK;
	if ((st = iso_delays_create(d, ctx, t, &tissue->is, g)) || (st = iso_delays_look(&info, *d)))
		return st;
	warn(&info, r);
	return record_set(
		r, "tissue",
		record_pack("{s:s, s:f, s:f, s:s, s:s, s:o, s:I, s:o, s:I}", "region",
	                    tissue->map ? tissue->map : tissue->shape, "speed_mm_per_us", info.mean_speed,
	                    "water_mm_per_us", t->speed, "path", tissue->path, "amplitude", tissue->amplitude,
	                    "table_mm", info.table_mm > 0 ? record_real(info.table_mm) : json_null(),
	                    "table_bytes", (json_int_t)info.table_bytes, "table_error_us",
	                    isfinite(info.table_error_us) ? record_real(info.table_error_us) : json_null(),
	                    "voxels_in_tissue", (json_int_t)info.voxels_in));
}
