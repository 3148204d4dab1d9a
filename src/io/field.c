/* SPDX-License-Identifier: BSD-3-Clause */
/* Displacement fields from files: .npy as the library has them, and NIfTI as ITK, ANTs and NiftyReg write them. */
#include "core/size.h"
#include "core/status.h"
#include "file/suffix.h"
#include "volume.h"

#include <math.h>
#include <string.h>

enum { DISPVECT = 1006, VECTOR = 1007 }; /* nifti1.h */

/* How the values of a file are meant. */
struct meaning {
	bool lps;       /* x and y of the values point left and back */
	bool positions; /* u = value - x */
};

/* What the header says; `axes` wins over it. */
static int find_meaning(struct meaning *m, const struct iso_vectors *f, enum iso_field_axes axes,
                        const char *path)
{
	const bool nreg = f->intent == VECTOR && strncmp(f->name, "NREG_TRANS", sizeof f->name) == 0;
	const bool known = f->dim[4] == 3 && (f->intent == DISPVECT || f->intent == VECTOR);

	*m = (struct meaning){ 0 };
	if (nreg && f->p1 >= 2 && f->p1 <= 6)
		return iso_refuse(
			path,
			"a spline grid or velocities of NiftyReg (intent_p1 %g), a displacement field "
			"was expected; reg_transform -def makes one",
			f->p1);
	if (nreg && f->p1 != 0 && f->p1 != 1)
		return iso_refuse(path,
		                  "NREG_TRANS of intent_p1 %g, expected 0 (positions) or 1 (displacements)",
		                  f->p1);
	if (!known && axes == ISO_FIELD_AUTO)
		return iso_refuse(path,
		                  "sizes (%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64
		                  ") and intent %d do not tell which way its vectors point; 'field-axes' "
		                  "does, ras or lps",
		                  f->dim[0], f->dim[1], f->dim[2], f->dim[3], f->dim[4], f->intent);
	m->positions = nreg && f->p1 == 0;
	m->lps = axes == ISO_FIELD_AUTO ? f->intent == VECTOR && !nreg : axes == ISO_FIELD_LPS;
	return ISO_OK;
}

/* The last axis has the components: (nx, ny, nz, 1, 3), or (nx, ny, nz, 3). */
static int check_sizes(const struct iso_vectors *f, const char *path)
{
	if ((f->dim[3] == 1 && f->dim[4] == 3) || (f->dim[3] == 3 && f->dim[4] == 1)) return ISO_OK;
	return iso_refuse(path,
	                  "sizes (%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64
	                  "), a displacement field has (nx, ny, nz, 1, 3)",
	                  f->dim[0], f->dim[1], f->dim[2], f->dim[3], f->dim[4]);
}

/* The centre of voxel i along axis a, mm. */
static double centre_of(const struct iso_grid *g, int a, int64_t i)
{
	return g->centre[a] + ((double)i - .5 * (double)(g->n[a] - 1)) * g->voxel[a];
}

/* Voxels in the order of the world's axes, vectors as displacements towards R A S. */
static void turn(iso_real *u, const struct iso_vectors *f, const struct meaning *m)
{
	const int64_t *n = f->grid.n, step[3] = { 1, f->dim[0], f->dim[0] * f->dim[1] };
	const int64_t voxels = iso_grid_voxels(&f->grid);

	for (int64_t v = 0; v < voxels; v++) {
		const int64_t i[3] = { v % n[0], v / n[0] % n[1], v / n[0] / n[1] };
		int64_t from = 0;

		for (int a = 0; a < 3; a++)
			from += step[f->axis[a]] * (f->sign[a] < 0 ? n[a] - 1 - i[a] : i[a]);
		for (int c = 0; c < 3; c++) {
			const double value = (double)f->v[c * voxels + from] * (m->lps && c < 2 ? -1 : 1);

			u[3 * v + c] =
				(iso_real)(m->positions ? value - centre_of(&f->grid, c, i[c]) : value);
		}
	}
}

static int read_nifti(struct iso_field *to, const char *path, enum iso_field_axes axes)
{
	struct iso_vectors f = { 0 };
	struct meaning m;
	int st = iso_nifti_vectors(&f, path);

	if (st || (st = check_sizes(&f, path)) || (st = find_meaning(&m, &f, axes, path))) goto done;
	const int64_t n = 3 * iso_grid_voxels(&f.grid);

	to->grid = f.grid;
	if ((to->v = size_alloc(n, sizeof *to->v)))
		turn(to->v, &f, &m);
	else
		st = iso_fail_memory(path, n * (int64_t)sizeof *to->v);
done:
	free(f.v);
	return st;
}

static int read_npy(struct iso_field *to, const char *path, enum iso_field_axes axes,
                    const struct iso_grid *image)
{
	struct iso_array a;
	int st = iso_peek(&a, path);

	if (!st && (a.n_dim != 4 || a.dim[3] != 3))
		st = iso_refuse(path,
		                "%d axes, the last of %" PRId64 "; a displacement field has (nz, ny, nx, 3)",
		                a.n_dim, a.dim[a.n_dim - 1]);
	for (int i = 0; i < 3 && !st; i++)
		if (a.dim[2 - i] != image->n[i])
			st = iso_refuse(path,
			                "%" PRId64 " x %" PRId64 " x %" PRId64
			                " voxels, the image has %" PRId64 " x %" PRId64 " x %" PRId64
			                "; a field of .npy lies on the image's grid",
			                a.dim[2], a.dim[1], a.dim[0], image->n[0], image->n[1], image->n[2]);
	if (st || (st = iso_read_within(&a, NULL, path, ISO_ANY))) return st;
	to->v = a.v;
	to->grid = *image;
	for (int64_t i = 0; axes == ISO_FIELD_LPS && i < a.n; i++)
		if (i % 3 < 2) to->v[i] = -to->v[i];
	return ISO_OK;
}

static int check_values(const struct iso_field *f, const char *path)
{
	const int64_t *n = f->grid.n;

	for (int64_t i = 0; i < 3 * iso_grid_voxels(&f->grid); i++)
		if (!isfinite(f->v[i]))
			return iso_refuse(path,
			                  "component %c at (iz, iy, ix) = (%" PRId64 ", %" PRId64 ", %" PRId64
			                  ") is %g, must be finite",
			                  "xyz"[i % 3], i / 3 / n[0] / n[1], i / 3 / n[0] % n[1],
			                  i / 3 % n[0], (double)f->v[i]);
	return ISO_OK;
}

int iso_field_read(struct iso_field *to, const char *path, enum iso_field_axes axes,
                   const struct iso_grid *image)
{
	if (!to || !path || !image) return iso_fail_null(__func__);
	struct iso_field f = { 0 };
	const bool npy = iso_has_suffix(path, ".npy");
	int st;

	if (axes != ISO_FIELD_AUTO && axes != ISO_FIELD_RAS && axes != ISO_FIELD_LPS)
		return iso_fail(ISO_EARG,
		                "field: there are no axes %d, expected those of enum iso_field_axes",
		                (int)axes);
	if (!npy && !iso_has_suffix(path, ".nii") && !iso_has_suffix(path, ".nii.gz"))
		return iso_refuse(path, "a displacement field is .nii, .nii.gz or .npy");
	if ((st = iso_grid_check(image))) return st;
	st = npy ? read_npy(&f, path, axes, image) : read_nifti(&f, path, axes);
	if (!st) st = check_values(&f, path);
	if (st)
		iso_field_free(&f);
	else
		*to = f;
	return st;
}

void iso_field_free(struct iso_field *f)
{
	if (!f) return;
	free(f->v);
	*f = (struct iso_field){ 0 };
}
