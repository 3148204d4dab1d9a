/* SPDX-License-Identifier: BSD-3-Clause */
/* Volumes of any orientation, read by the format of the file. */
#include "volume.h"
#include "core/size.h"
#include "core/status.h"
#include "file/suffix.h"
#include "text/json_file.h"

#include <limits.h>
#include <math.h>
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

static double length(const double affine[3][4], int axis)
{
	return sqrt(affine[0][axis] * affine[0][axis] + affine[1][axis] * affine[1][axis] +
	            affine[2][axis] * affine[2][axis]);
}

static bool in_plane(const double m[3][4])
{
	double det = m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
	             m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
	             m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);

	return !(fabs(det) > 1e-6 * length(m, 0) * length(m, 1) * length(m, 2));
}

/* Of the six ways to name the axes, the one with the largest cosines in sum. */
int iso_axes_find(int axis[3], int sign[3], const double affine[3][4], const char *path)
{
	static const int orders[6][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
		                          { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
	double best = -1;

	for (int c = 0; c < 3; c++)
		if (!(length(affine, c) > 0)) return iso_refuse(path, "voxel size 0 along axis %d", c + 1);
	if (in_plane(affine)) return iso_refuse(path, "its three axes lie in a plane");
	for (int i = 0; i < 6; i++) {
		double sum = 0;

		for (int r = 0; r < 3; r++)
			sum += fabs(affine[r][orders[i][r]]) / length(affine, orders[i][r]);
		if (sum > best) memcpy(axis, orders[i], sizeof orders[i]);
		best = fmax(best, sum);
	}
	for (int r = 0; r < 3; r++) sign[r] = affine[r][axis[r]] < 0 ? -1 : 1;
	return ISO_OK;
}

double iso_axes_tilt(double each[3], const double affine[3][4], const int axis[3])
{
	double most = 0;

	for (int r = 0; r < 3; r++) {
		double along = fabs(affine[r][axis[r]]), x = affine[(r + 1) % 3][axis[r]],
		       y = affine[(r + 2) % 3][axis[r]];
		bool straight = fabs(x) <= 1e-4 * along && fabs(y) <= 1e-4 * along;
		double angle = straight ? 0 : atan2(hypot(x, y), along) * 180 / M_PI;

		if (each) each[r] = angle;
		most = fmax(most, angle);
	}
	return most;
}

void iso_axes_grid(struct iso_grid *g, const int64_t dim[3], const double affine[3][4], const int axis[3])
{
	bool straight = !(iso_axes_tilt(NULL, affine, axis) > 0);

	for (int r = 0; r < 3; r++) {
		g->n[r] = dim[axis[r]];
		g->voxel[r] = straight ? fabs(affine[r][axis[r]]) : length(affine, axis[r]);
		g->centre[r] = affine[r][3];
		for (int c = 0; c < 3; c++) g->centre[r] += affine[r][c] * .5 * (double)(dim[c] - 1);
	}
}

int iso_axes_refuse(const char *path)
{
	return iso_refuse(path, "its axes are oblique; command mu resamples a CT to straight ones");
}

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

int iso_image_tilt(double *degrees, const char *path)
{
	struct iso_volume v = { 0 };
	int axis[3], sign[3], st = iso_image_place(&v, path);

	*degrees = 0;
	if (st || v.dim[0] == 0) return st;
	if (!(st = iso_axes_find(axis, sign, v.affine, path))) *degrees = iso_axes_tilt(NULL, v.affine, axis);
	return st;
}

bool iso_axes_same(const struct iso_volume *a, const struct iso_volume *b)
{
	for (int r = 0; r < 3; r++)
		for (int c = 0; c < 3; c++)
			if (fabs(a->affine[r][c] / length(a->affine, c) -
			         b->affine[r][c] / length(b->affine, c)) > 1e-4)
				return false;
	return true;
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
