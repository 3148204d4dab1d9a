/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures of images and arrays in host memory; images have 3 axes and a grid. Places are mm.

   Threads: any number of measures at a time. */
#ifndef ISOTOME_MEASURE_H
#define ISOTOME_MEASURE_H

#include "isotome/array.h"
#include "isotome/phantom.h"
#include "isotome/picture.h"

ISO_BEGIN_C

enum iso_roi_kind { ISO_ROI_SPHERE, ISO_ROI_CYLINDER, ISO_ROI_BOX, ISO_ROI_MASK };

/* The voxels whose centre lies inside, or on the surface (to 1e-4 of a voxel). */
struct iso_roi {
	enum iso_roi_kind kind;
	double centre[3]; /* sphere and cylinder */
	double radius, length;
	int axis;                     /* axis of the cylinder: 0, 1, 2 */
	double low[3], high[3];       /* box */
	const struct iso_array *mask; /* on the image's grid: voxels that are not 0 */
};

/* From text: sphere:X,Y,Z,R or cylinder:X,Y,Z,R,LENGTH[,AXIS] (AXIS x, y or z, which is the default) or
   box:X0,X1,Y0,Y1,Z0,Z1. */
ISO_CHECKED int iso_roi_parse(struct iso_roi *r, const char *text);

struct iso_roi_stats {
	size_t size; /* size of this struct, set by the caller */
	int64_t voxels;
	double volume;    /* mm^3 */
	double mean, std; /* std over all voxels: divided by their number */
	double pstd;      /* 100 std / mean; NaN where the mean is 0 */
	double min, max, sum;
};

/* Statistics of the values in a region. ISO_EINPUT if the region contains the centre of no voxel. */
ISO_CHECKED int iso_measure_roi(struct iso_roi_stats *s, const struct iso_array *x, const struct iso_roi *r);

/* Mean of the tumour over mean of the background; ISO_EINPUT if the latter is 0. */
ISO_CHECKED int iso_measure_tbr(double *tbr, const struct iso_array *x, const struct iso_roi *tumour,
                                const struct iso_roi *background);

struct iso_profile {
	double from[3], to[3]; /* inside the image */
	int64_t samples;       /* at least 2, ends included */
	double width;          /* mm: mean over a disc of this diameter across the line; 0: none */
};

/* `samples` values, trilinear between voxel centres. */
ISO_CHECKED int iso_measure_profile(double *value, const struct iso_array *x, const struct iso_profile *p);

struct iso_fwhm {
	double at[3];
	double window;     /* length of the profiles, mm; 0: 20 voxels. The peak lies in the
				   middle half of that box around `at` */
	double background; /* taken off first */
};

/* Profiles along the axes through the highest voxel. The height comes from the parabola through the three
   highest points. The widths come from straight lines from voxel to voxel (NEMA NU 2). NaN if there is no peak,
   or if the profile ends above that height. */
struct iso_width {
	double centre, height; /* of the top: mm; less the background */
	double fwhm, fwtm;     /* at half, at a tenth of the height: mm */
};

/* w[0], w[1], w[2]: the widths along x, y, z. */
ISO_CHECKED int iso_measure_fwhm(struct iso_width w[3], const struct iso_array *x, const struct iso_fwhm *p);

/* The same of profiles that are sums over a window of `window_fwhm` FWHM along the two other axes: the voxels whose
   centres lie within half of it from the highest voxel. Three rounds: one voxel wide, then twice with the FWHM found.
   NEMA NU 2 and NU 4 have 2; 0: one voxel wide. */
ISO_CHECKED int iso_measure_fwhm_window(struct iso_width w[3], const struct iso_array *x,
                                        const struct iso_fwhm *p, double window_fwhm);

/* Quartiles of n values, with straight lines between the ordered values; NaN if n is 0. */
struct iso_quartiles {
	int n;
	double least, low, median, high, most;
};

/* Sorts the values, and leaves out values that are not finite. */
struct iso_quartiles iso_measure_quartiles(double *value, int n);

/* The rods of one diameter in an image. */
struct iso_rods_size {
	double diameter;                 /* mm */
	int rods, pairs;                 /* pairs have at most 2.1 diameters from centre to centre */
	int profiles;                    /* two a rod, along the axes across it */
	struct iso_quartiles fwhm, fwtm; /* mm, of the profiles that fall so far between the rod
						   and its neighbours */
	double valley;                   /* value halfway between two neighbours over the mean of theirs: mean
				   over the pairs; NaN: no pair, or no activity */
	double resolved;                 /* share of the pairs whose valley is below ISO_RODS_VALLEY */
};

#define ISO_RODS_VALLEY .735 /* of the peak: the criterion of Rayleigh */

struct iso_rods {
	size_t size; /* size of this struct, set by the caller */
	int n;
	struct iso_rods_size group[16]; /* rising diameters */
};

/* Measures the phantom's cylinders with activity, all along one axis, in the mean of the slices within slab /
   2 of their middle. slab 0 means half their length. Profiles go through the voxels, interpolated
   across; widths as iso_measure_fwhm takes them, no background taken off. */
ISO_CHECKED int iso_measure_rods(struct iso_rods *r, const struct iso_array *x, const iso_phantom *p,
                                 double slab);

/* Boxes from quartile to quartile with the median, whiskers to the ends, a label below each. */
struct iso_boxplot {
	int n;
	const struct iso_quartiles *box;
	const char *const *label; /* UTF-8 */
	const char *title;
};

/* A picture of them; free it with iso_pixels_free. */
ISO_CHECKED int iso_boxplot_render(struct iso_pixels *pixels, const struct iso_boxplot *b);

struct iso_diff {
	size_t size;          /* size of this struct, set by the caller */
	double max_abs, mean; /* max |a - b|, mean of a - b */
	double l2;            /* |a - b| / |b|, root of the sum of squares */
	double percent;       /* 100 sum |a - b| / sum |b| */
};

/* Infinite where b is 0 and a is not. */
ISO_CHECKED int iso_measure_diff(struct iso_diff *d, int64_t n, const iso_real *a, const iso_real *b);

/* n sum x^2 / (sum |x|)^2: greater where the object stands out of its background more sharply,
   whatever the scale. ISO_EINPUT where all is 0. */
ISO_CHECKED int iso_measure_sharpness(double *sharpness, const struct iso_array *x);

/* Images of unknown scale: k a is compared, with k = 1, sum ref / sum a, or the k that makes the
   error smallest. */
enum iso_scale { ISO_SCALE_NONE, ISO_SCALE_SUM, ISO_SCALE_FIT };

struct iso_rmse {
	size_t size; /* size of this struct, set by the caller */
	int64_t n;   /* values compared */
	double scale, rmse;
	double nrmse; /* rmse / mean of ref; infinite where that is 0 */
};

/* Where mask, unless NULL, is not 0. */
ISO_CHECKED int iso_measure_rmse(struct iso_rmse *r, int64_t n, const iso_real *a, const iso_real *ref,
                                 const iso_real *mask, enum iso_scale scale);

/* How far an image is from a converged one, as PETRIC has it; all over the mean of the converged image in the
   background. Below 0.01, 0.01 and, in every region, 0.005 it counts as converged. */
struct iso_petric {
	size_t size;                        /* size of this struct, set by the caller */
	double norm;                        /* that mean */
	double rmse_whole, rmse_background; /* RMSE_W, RMSE_Bg: root of the mean squared difference */
};

/* Masks are voxels that are not 0. aem: |mean of a - mean of ref| for each of n_voi regions; NULL if there are no regions.
   ISO_EINPUT if a mask is empty, or if the mean in the background is not above 0. */
ISO_CHECKED int iso_measure_petric(struct iso_petric *p, double *aem, int64_t n, const iso_real *a,
                                   const iso_real *ref, const iso_real *whole, const iso_real *background,
                                   int n_voi, const iso_real *const *voi);

/* Image quality after NEMA NU 2: where the spheres and the discs of background are. */
struct iso_nema {
	size_t size; /* size of this struct, set by the caller */
	int n_spheres, n_background, n_slices;
	struct iso_nema_sphere {
		double centre[3], diameter;
		double ratio; /* true activity over that of the background; not 1 */
	} sphere[16];
	double background[64][2]; /* x, y of the discs, in every slice */
	double slice[16];         /* z */
	bool has_lung;
	double lung[2], lung_diameter; /* a disc where no activity is, in every slice */
	bool find; /* the places are those of a phantom that lies elsewhere: iso_nema_find */
};

struct iso_nema_result {
	size_t size; /* size of this struct, set by the caller */
	struct iso_nema_figures {
		double mean, background; /* C_H and C_B */
		double contrast;         /* recovery, per cent */
		double variability;      /* variability of the background, per cent */
	} sphere[16];
	double lung; /* residual, per cent of the background; NaN if there is no lung */
};

/* From a YAML or JSON description; NULL: those of the phantom `spheres`. */
ISO_CHECKED int iso_nema_read(struct iso_nema *n, const char *path);

/* Moves all places, if n->find, to where the spheres are in the image: the sum of their contrasts is largest there, among
   places up to 10 mm away along each axis, in steps of 0.5 mm, turned about z by up to 10 degrees, in steps of 0.5. moved: x, y,
   z in mm, and degrees; 0 without n->find. ISO_EINPUT if it is largest at the end of these ranges. */
ISO_CHECKED int iso_nema_find(struct iso_nema *n, double moved[4], const struct iso_array *x);
ISO_CHECKED int iso_measure_nema(struct iso_nema_result *r, const struct iso_array *x,
                                 const struct iso_nema *n);

ISO_END_C
#endif
