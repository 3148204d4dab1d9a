/* SPDX-License-Identifier: BSD-3-Clause */
/* Displacement fields: an image as it lies in another state of the object, such as a gate of its breathing. Lengths mm.

     (W f)(x) = f(x + u(x))                      x: centre of a voxel in the gate; x + u: where that tissue is in f
     (W f)(x) = det(1 + du/dx) f(x + u(x))       with `mass`

   This is the resampling direction of ITK and NiftyReg: the registration had the gate as its fixed image, and the frame
   of f as its moving image.

   Threads: a field is read by any number of threads. An operator is one of op.h. */
#ifndef ISOTOME_WARP_H
#define ISOTOME_WARP_H

#include "isotome/grid.h"
#include "isotome/memory.h"
#include "isotome/motion.h"
#include "isotome/op.h"

ISO_BEGIN_C

/* A warp. f and W f lie on `grid`. W interpolates linearly. The outer half voxel repeats the border voxel, and beyond the
   box f is 0; the lower faces of the box belong to it, the upper ones do not.

   The components of a field on a grid of its own are interpolated in the same way; beyond its box they are those of its
   border. The derivatives of `mass` are central differences of u on `grid`, one-sided at its faces, and 0 along an axis
   of one voxel. */
struct iso_warp {
	size_t size; /* size of this struct */
	struct iso_grid grid;
	struct iso_grid field_grid; /* of the field; all 0: that of the image */
	const iso_real *field; /* u, (nz, ny, nx, 3), x y z in mm, on the host; copied; NULL: W = 1 exactly */
	bool mass;             /* times the determinant, as it is: activity moves with the tissue */
	const char *name;      /* names the field in messages, such as its file; NULL: "warp" */
	const struct iso_pose
		*pose; /* in place of a field: x + u = R x + T, which takes no memory; copied; NULL: none */
};

/* W as an operator. Its adjoint is the transpose: every value goes back to the same eight voxels with the same weights,
   summed as integers, so that it has the same bits for any number of threads. ISO_EARG for a field that is not finite, or
   longer than the diagonal of the grid's box, with the voxel. The CPU and CUDA give the same bits. */
ISO_CHECKED int iso_warp_create(iso_op **op, iso_ctx *ctx, const struct iso_warp *p);
void iso_warp_plan(struct iso_plan *plan, const iso_ctx *ctx,
                   const struct iso_warp *p); /* field may be NULL */

/* y = W x, or y = W^t x with `adjoint`, of images on the host, whatever the context's device. */
ISO_CHECKED int iso_warp_image(iso_real *y, iso_ctx *ctx, const struct iso_warp *p, bool adjoint,
                               const iso_real *x);

/* One image of the counts of all gates: y_g = A_g P W_g x for the rows of gate g. Gates are those of isotome/gates.h; the
   model has them as parts of its events (struct iso_ray). */
struct iso_gated {
	size_t size; /* size of this struct */
	int gates;
	const struct iso_warp *warp; /* one per gate, all on the grid of the model; copied */
	iso_op *psf;                 /* P, between model and warp; NULL: none */
};

/* `model` has K * gates subsets, of which s * gates + g has the rows of gate g in subset s; the operator has K. Both `model`
   and `psf` are kept. One gate is warped at a time: besides the fields there are three images and one of sums. */
ISO_CHECKED int iso_gated_create(iso_op **op, iso_op *model, const struct iso_gated *p);
/* Without model and psf; fields may be NULL. */
void iso_gated_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_gated *p);

/* Where a field folds: voxels with det(1 + du/dx) <= 0. */
struct iso_warp_folds {
	size_t size;    /* size of this struct */
	int64_t voxels; /* how many */
	double least;   /* the least determinant of all voxels */
};

/* det[i] = det(1 + du/dx) at each voxel of the grid, whatever `mass` says. det or folds may be NULL. */
ISO_CHECKED int iso_warp_jacobian(iso_real *det, struct iso_warp_folds *folds, iso_ctx *ctx,
                                  const struct iso_warp *p);

/* ---- files ---- */

/* Which way the components of a field file point. */
enum iso_field_axes {
	ISO_FIELD_AUTO, /* as the file's kind has it; a file without a kind is refused */
	ISO_FIELD_RAS,  /* right, anterior, superior: x y z of the library */
	ISO_FIELD_LPS,  /* left, posterior, superior: x and y change their sign */
};

/* A displacement field on the host: u, (nz, ny, nx, 3), x y z in mm. */
struct iso_field {
	struct iso_grid grid;
	iso_real *v;
};

/* A field from a file:

     .npy (nz, ny, nx, 3)                               displacements along x y z of the library
     .nii (nx, ny, nz, 1, 3), intent DISPVECT           displacements, R A S
     .nii, intent VECTOR, name NREG_TRANS               NiftyReg's: R A S, displacements (p1 = 1) or positions (p1 = 0)
     .nii, intent VECTOR, any other name                ANTs, ITK: displacements, L P S
     .nii (nx, ny, nz, 3), or another intent            refused unless `axes` says which way they point

   Also .nii.gz. Voxels are turned as those of images are; components stay those of the world. Oblique grids are refused,
   and values that are not finite. `axes` other than ISO_FIELD_AUTO counts for every file. A file without a grid (.npy) lies
   on `image`, and must have its sizes. */
ISO_CHECKED int iso_field_read(struct iso_field *f, const char *path, enum iso_field_axes axes,
                               const struct iso_grid *image);
void iso_field_free(struct iso_field *f); /* leaves zeros, which it takes too */

ISO_END_C
#endif
