/* SPDX-License-Identifier: BSD-3-Clause */
/* Unmixing: how much of what absorbs light, from optoacoustic images of several wavelengths.

   At wavelength i a voxel has y_i = sum over j of E_ij C_j: C_j is how much there is of chromophore j, E_ij how much that
   absorbs. The C are those of the least sum of w_i (y_i - (E C)_i)^2. Wavelengths are nm.

   Threads: as the context; a struct iso_chromophores is not written after it was made. */
#ifndef ISOTOME_UNMIX_H
#define ISOTOME_UNMIX_H

#include "isotome/context.h"
#include "isotome/grid.h"

ISO_BEGIN_C

enum { ISO_CHROMOPHORES = 8 /* most of one fit */ };

/* What absorbs. HbO2 and Hb absorb 1/mm a mM, water and lipid 1/mm of a volume that holds nothing else, melanin 1/mm
   of melanosomes alone. */
struct iso_chromophores {
	size_t size; /* size of this struct */
	int wavelengths, n;
	double *e; /* (wavelengths, n) */
	char name[ISO_CHROMOPHORES][32];
	int oxygenated, deoxygenated; /* which are HbO2 and Hb; -1: not there */
	double condition;             /* of E: its largest singular value over its least */
};

/* `text`: names (HbO2, Hb, water, lipid, melanin) and tables with commas between them. A table is a FILE.csv: nm in the
   first column, a chromophore in each other, named by the first line; its numbers are taken as they are, those between its
   wavelengths linearly. ISO_EARG if there are more chromophores than wavelengths, or two absorb alike. */
ISO_CHECKED int iso_chromophores_create(struct iso_chromophores *c, const char *text, int wavelengths,
                                        const double *nm);
void iso_chromophores_free(struct iso_chromophores *c);

struct iso_unmix {
	size_t size; /* size of this struct */
	const struct iso_chromophores *of;
	const double *weight;  /* w of each wavelength; NULL: 1 */
	bool nonneg;           /* no C is below 0 */
	double floor;          /* no sO2 where HbO2 + Hb is less than this share of its 99.9 % quantile */
	const double *fluence; /* of each wavelength: images are divided by it; NULL: */
	const iso_real *fluence_map; /* of each wavelength and voxel; both NULL: 1 */
	const iso_real *mask;        /* 0 leaves a voxel out: its maps are 0; NULL: none */
};

/* Maps of n voxels each; NULL: not wanted. NaN: there is no value. */
struct iso_unmixed {
	size_t size;             /* size of this struct */
	iso_real *concentration; /* (chromophores, n) */
	iso_real *so2;           /* HbO2/(HbO2 + Hb) */
	iso_real *so2_sd; /* its standard error, by what is left; needs more wavelengths than chromophores */
	iso_real *thb;    /* HbO2 + Hb */
	iso_real *residual; /* sqrt(sum w (y - E C)^2/sum w) */
	int64_t dark;       /* voxels without light: their maps are NaN */
	int64_t pale;       /* voxels with too little blood for an sO2 */
};

/* images: (wavelengths, n), finite. The same bits for any number of threads. */
ISO_CHECKED int iso_unmix_images(struct iso_unmixed *to, iso_ctx *ctx, const struct iso_unmix *p, int64_t n,
                                 const iso_real *images);

/* The model `depth` of light in tissue that is lit from all sides: exp(-m d), d the distance from the surface. The tissue
   is alike everywhere: m = sqrt(3 a (a + s)), a is what blood and water absorb, and s = 1.89/mm (nm/500)^-1.286 is the
   reduced scattering of soft tissue (Jacques 2013). */
struct iso_fluence {
	size_t size;    /* size of this struct */
	double blood;   /* haemoglobin, mM */
	double so2;     /* its oxygen saturation, 0 to 1 */
	double water;   /* share of the volume, 0 to 1 */
	double *result; /* (wavelengths), m in 1/mm; NULL: not wanted */
};

/* map: (wavelengths, voxels of the grid); 1 where the mask is 0. ISO_EINPUT if the mask has no 0: no surface. */
ISO_CHECKED int iso_fluence_depth(iso_real *map, const struct iso_fluence *p, const struct iso_grid *g,
                                  const iso_real *mask, int wavelengths, const double *nm);

/* The voxels of a map that have a value and lie in a region. */
struct iso_region {
	size_t size; /* size of this struct, as the library has it */
	int label;
	int64_t n, without; /* voxels with a value, and without (NaN) */
	double mean, sd, median;
};

enum { ISO_REGIONS = 64 /* most of one image */ };

/* labels: a whole number for each of n voxels, 0: no region. Writes a region for each label in rising order, at most
   ISO_REGIONS, and how many there are. */
ISO_CHECKED int iso_regions(struct iso_region *to, int *regions, int64_t n, const iso_real *map,
                            const iso_real *labels);

ISO_END_C
#endif
