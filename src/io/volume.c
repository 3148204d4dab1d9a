/* SPDX-License-Identifier: BSD-3-Clause */
/* Volumes of any orientation, read by the format of the file. */
#include "volume.h"
#include "core/size.h"
#include "core/status.h"
#include "file/suffix.h"
#include "text/json_file.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

int iso_volume_room(struct iso_volume *v, const iso_ctx *ctx, const char *path, int64_t n_files, bool values)
{
	int64_t n;
	int st;

	if (!size_product(&n, 3, v->dim) || n > INT64_MAX / (int64_t)sizeof *v->v)
		return iso_refuse(path, "more voxels than 64 bits count");
	if (values && (st = iso_memory_check(ctx, path, n * (int64_t)sizeof *v->v))) return st;
	if (values && !(v->v = size_alloc(n, sizeof *v->v)))
		return iso_fail_memory(path, n * (int64_t)sizeof *v->v);
	if (!(v->file = size_alloc(n_files, sizeof *v->file)))
		return iso_fail_memory(path, n_files * (int64_t)sizeof *v->file);
	v->n_files = n_files;
	return ISO_OK;
}

/* ---- axes ---- */

static bool is_nifti(const char *path)
{
	return iso_has_suffix(path, ".nii") || iso_has_suffix(path, ".nii.gz");
}

int iso_image_place(struct iso_volume *v, const char *path)
{
	if (is_nifti(path)) return iso_nifti_place(v, path);
	if (iso_is_dicom(path)) return iso_dicom_place(v, path);
	memset(v->dim, 0, sizeof v->dim);
	memset(v->affine, 0, sizeof v->affine);
	return ISO_OK;
}

/* ---- volumes ---- */

/* An image on a straight grid. */
static int image_volume(struct iso_volume *v, const iso_ctx *ctx, const char *path, bool values)
{
	struct iso_array a = { 0 };
	int st = iso_peek(&a, path);

	if (!st && (a.n_dim != 3 || !a.has_grid))
		st = iso_refuse(path, "a volume (nz, ny, nx) with voxel sizes was expected, as in .nii");
	if (st) return st;
	memcpy(v->dim, a.grid.n, sizeof v->dim);
	for (int r = 0; r < 3; r++) {
		v->affine[r][r] = a.grid.voxel[r];
		v->affine[r][3] = a.grid.centre[r] - .5 * (double)(a.grid.n[r] - 1) * a.grid.voxel[r];
	}
	if ((st = iso_volume_room(v, ctx, path, 1, false)) ||
	    (values && (st = iso_read_within(&a, ctx, path, ISO_FINITE))))
		return st;
	v->v = a.v;
	return (v->file[0] = strdup(path)) ? ISO_OK : iso_fail_memory(path, PATH_MAX);
}

/* The tube voltage and the unit from the JSON file beside a NIfTI image, as dcm2niix and this library write it. */
static int look_beside(struct iso_volume *v, const char *path)
{
	char sidecar[PATH_MAX];
	json_t *root = NULL;

	if (iso_sidecar_path(sidecar, sizeof sidecar, path) || access(sidecar, R_OK) != 0) return ISO_OK;
	if (iso_json_read(&root, sidecar) == ISO_ENOMEM) return ISO_ENOMEM;
	double kvp = json_number_value(json_object_get(root, "KVP"));
	const char *unit = json_string_value(json_object_get(root, "Units"));

	v->kvp = kvp > 0 ? kvp : 0;
	if (unit) snprintf(v->unit, sizeof v->unit, "%s", unit);
	json_decref(root);
	return ISO_OK;
}

static int read_volume(struct iso_volume *v, const iso_ctx *ctx, const char *path, bool values)
{
	if (iso_is_dicom(path)) return iso_dicom_volume(v, ctx, path, values);
	int st = (is_nifti(path) ? iso_nifti_volume : image_volume)(v, ctx, path, values);

	return st ? st : look_beside(v, path);
}

static int read_whole(struct iso_volume *v, const iso_ctx *ctx, const char *path, bool values)
{
	struct iso_volume r = { 0 };
	int st = read_volume(&r, ctx, path, values);

	if (st)
		iso_volume_free(&r);
	else
		*v = r;
	return st;
}

int iso_volume_read(struct iso_volume *v, const iso_ctx *ctx, const char *path)
{
	return v && path ? read_whole(v, ctx, path, true) : iso_fail_null(__func__);
}

int iso_volume_peek(struct iso_volume *v, const char *path)
{
	return v && path ? read_whole(v, NULL, path, false) : iso_fail_null(__func__);
}

void iso_volume_free(struct iso_volume *v)
{
	if (!v) return;
	for (int64_t i = 0; v->file && i < v->n_files; i++) free(v->file[i]);
	free(v->file);
	free(v->v);
	*v = (struct iso_volume){ 0 };
}
