/* SPDX-License-Identifier: BSD-3-Clause */
/* What a DICOM series holds, and how an oblique image lies. */
#include "describe.h"

#include "cmd/cmd.h"
#include "io/volume.h"

#include <math.h>
#include <string.h>

/* Where each axis of the file goes, mm a voxel towards right, anterior, superior. */
static json_t *axes(const struct iso_volume *v)
{
	json_t *o = json_array();

	for (int a = 0; a < 3; a++)
		json_array_append_new(
			o, record_reals(3, (double[]){ v->affine[0][a], v->affine[1][a], v->affine[2][a] }));
	return o;
}

/* Sizes, axes and angles, as the file has them. */
static int describe_place(json_t *o, const struct iso_volume *v, const char *path)
{
	int axis[3], sign[3], st = iso_axes_find(axis, sign, v->affine, path);
	double degrees[3];

	if (st) return st;
	set(o, "axes_mm", axes(v));
	set(o, "first_voxel_mm",
	    record_reals(3, (double[]){ v->affine[0][3], v->affine[1][3], v->affine[2][3] }));
	if (iso_axes_tilt(degrees, v->affine, axis) > 0) set(o, "oblique_degrees", record_reals(3, degrees));
	return ISO_OK;
}

int describe_oblique(json_t *o, const char *path)
{
	struct iso_volume v = { 0 };
	struct iso_grid g;
	int st;

	if ((st = iso_image_place(&v, path)) || (st = describe_place(o, &v, path)) ||
	    (st = iso_volume_grid(&g, &v)))
		return st;
	facts_grid(o, &g);
	set(o, "use",
	    json_string("'isotome view' shows it on its own axes; 'isotome mu' makes attenuation of a "
	                "CT, on that grid or another"));
	return ISO_OK;
}

static void describe_values(json_t *o, const struct iso_volume *v)
{
	struct iso_array a = { .n = v->dim[0] * v->dim[1] * v->dim[2], .v = v->v };
	struct iso_array_stats s = { .size = sizeof s };

	if (iso_array_stats(&s, &a)) return;
	set(o, "min", record_real(s.min));
	set(o, "max", record_real(s.max));
	set(o, "mean", record_real(s.mean));
}

/* Of all files of a series. */
static int64_t bytes_of(int64_t n, char *const *file)
{
	int64_t sum = 0, bytes;

	for (int64_t i = 0; i < n; i++)
		if (record_bytes_of(&bytes, file[i]) == ISO_OK) sum += bytes;
	return sum;
}

static int describe_ct(json_t *o, const char *path)
{
	struct iso_volume v = { 0 };
	struct iso_grid g;
	int st = iso_volume_read(&v, NULL, path);

	if (st || (st = iso_volume_grid(&g, &v))) goto done;
	set(o, "kind", json_string("CT series in DICOM"));
	set(o, "files", json_integer(v.n_files));
	set(o, "bytes", json_integer(bytes_of(v.n_files, v.file)));
	set(o, "shape",
	    record_pack("[I,I,I]", (json_int_t)v.dim[2], (json_int_t)v.dim[1], (json_int_t)v.dim[0]));
	if ((st = describe_place(o, &v, path))) goto done;
	set(o, "kvp", v.kvp > 0 ? record_real(v.kvp) : json_null());
	set(o, "unit", json_string("HU"));
	describe_values(o, &v);
	facts_grid(o, &g);
	set(o, "use", json_string("'isotome mu' makes attenuation of it, on that grid or another"));
done:
	iso_volume_free(&v);
	return st;
}

static int describe_pet(json_t *o, const char *path, const struct iso_dicom_about *about)
{
	int st = describe_array(o, path, NULL);

	set(o, "kind", json_string("PET series in DICOM"));
	set(o, "files", json_integer(about->n_files));
	set(o, "bytes", json_integer(bytes_of(about->n_files, about->file)));
	set(o, "frame_time_s", record_reals((int)about->frames, about->reference_s));
	set(o, "frame_duration_s", record_reals((int)about->frames, about->duration_s));
	return st;
}

int describe_volume(json_t *o, const char *path)
{
	struct iso_dicom_about about = { 0 };
	int st = iso_dicom_about(&about, path);

	if (st) return st;
	set(o, "kind", json_string(""));
	if (about.description[0]) set(o, "description", record_string(about.description));
	st = strcmp(about.modality, "PT") == 0 ? describe_pet(o, path, &about) : describe_ct(o, path);
	iso_dicom_about_free(&about);
	return st;
}
