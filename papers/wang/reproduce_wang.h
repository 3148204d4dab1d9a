/* SPDX-License-Identifier: BSD-3-Clause */
/* The experiments of Wang et al. 2013, "Accelerating image reconstruction in three-dimensional
   optoacoustic tomography on graphics processing units", measured with Isotome: the numerical study
   (Figures 2 to 6), the experiment on a tree of vessels in place of a mouse (Figure 7), Table I. */
#ifndef ISO_WANG_H
#define ISO_WANG_H

#include "papers/reproduce.h"

enum wang_part { WANG_STUDY, WANG_EXPERIMENT, WANG_TIMES };

enum wang_method { WANG_FBP, WANG_INT, WANG_SPH };

enum {
	WANG_METHODS = 3,
	WANG_SETS = 4,                      /* of the study, from all transducers to the fewest */
	WANG_SCANS = 2,                     /* of the experiment: full and quarter data */
	WANG_ROWS = WANG_SETS + WANG_SCANS, /* of Table I */
	WANG_SAMPLES = 221,                 /* of a profile */
};

/* Rings on the sphere of 65 mm, and what is recorded. */
struct wang_array {
	int64_t rings, views;
	double polar[2]; /* first and last, degrees; both 0: from pole to pole */
	double aperture; /* edge of the flat squares, mm; 0: points */
	double sampling_mhz;
	int64_t samples;
};

struct wang_scale {
	const char *name, *what;
	struct iso_grid grid;
	int first_node, node_step; /* of the coarse grid that the RMSE is also taken on */
	double fwhm;               /* of the phantoms, mm; 0: their own */
	double fmax_mhz;
	int iterations;
	struct wang_array study, scan;
	double mu[WANG_SCANS]; /* of the penalty; Figure 7 */
	/* Table I: */
	struct iso_grid times_grid;
	struct wang_array times_study, times_scan;
	int part; /* transducers a thread that the CPU is timed with */
	int repeats;
};

/* What is kept of an image. */
struct wang_image {
	struct iso_pixels pixels;     /* plane y = 0; or the greatest values along y */
	double rmse, nodes;           /* all voxels, and the coarse grid; NaN: not measured */
	double seconds;               /* FBP; or one iteration */
	double profile[WANG_SAMPLES]; /* at (x, y) = (-6.58, 0), along z */
};

/* Seconds of the whole array, in the order of enum wang_method; NaN: not measured. */
struct wang_times {
	double cpu[WANG_METHODS], cuda[WANG_METHODS];
	int64_t transducers, part;
};

struct wang {
	struct cmd *c;
	const struct wang_scale *scale;
	bool wants[3]; /* by enum wang_part */
	struct reproduce_devices devices;
	iso_ctx *fast; /* CUDA where there is one, else the CPU */
	/* the study */
	struct wang_image truth;
	double place[WANG_SAMPLES];                         /* z, mm */
	struct wang_image image[WANG_METHODS][WANG_SETS];   /* no PLS of the first set */
	struct wang_image by_area[WANG_METHODS][WANG_SETS]; /* PLS with weights: RMSE alone */
	struct wang_image cpu[WANG_SETS];                   /* FBP on the CPU, where CUDA made the others */
	double apart[WANG_SETS]; /* CPU and CUDA in that plane: greatest difference */
	/* the experiment */
	struct wang_image vessels;
	double vessels_top; /* the greatest value of the truth */
	struct wang_image scan[WANG_METHODS][WANG_SCANS];
	double eir_mhz; /* centre of the response */
	struct wang_times times[WANG_ROWS];
	const char *msot;        /* a recording; NULL: none is given */
	struct wang_image slice; /* of it */
};

extern const char *const wang_methods[WANG_METHODS];

/* How sets are thinned out: every so many rings, every so many views. */
extern const int wang_every[WANG_SETS][2], wang_scan_every[WANG_SCANS][2];

int wang_study(struct wang *w); /* both write images into the current folder */
int wang_scan(struct wang *w);
int wang_time(struct wang *w);  /* Table I */
int wang_slice(struct wang *w); /* of the recording that was given */
int wang_page(struct iso_text *t, const struct wang *w);
int wang_record(const struct wang *w);

/* ---- what they share ---- */

int wang_poll(const struct wang *w);

/* "64x90", of the study or the experiment */
void wang_set_name(char name[32], const struct wang_array *a, const int every[2]);

/* The transducers of an array; those of every so many rings and views, whose areas grow as they
   get fewer; n of them, spread evenly. Free with iso_transducers_free. */
int wang_transducers(struct iso_transducers *t, const struct wang_array *a);
int wang_thin(struct iso_transducers *few, const struct iso_transducers *t, const struct wang_array *a,
              const int every[2]);
int wang_part(struct iso_transducers *few, const struct iso_transducers *t, int64_t n);

/* Their rows of the traces of all; y is made. */
int wang_thin_traces(iso_real **y, const iso_real *all, const struct wang_array *a, const int every[2]);

/* Operator and data of a method on these traces; y is made, NULL asks for none. */
struct wang_problem {
	enum wang_method method;
	const struct iso_transducers *t;
	const iso_real *traces;
	struct iso_grid grid;
	double fmax_mhz, mu;
	int iterations;
	bool by_area; /* transducers count by their areas */
};

int wang_op(iso_op **op, iso_real **y, iso_ctx *ctx, const struct wang_problem *p);

/* The image, made on the problem's grid, and seconds of FBP or of an iteration. */
int wang_recon(struct iso_array *x, double *seconds, iso_ctx *ctx, const struct wang_problem *p);

/* The spheres of a phantom with the FWHM of the scale; free s->v. */
int wang_spheres(struct iso_spheres *s, const struct wang *w, const char *phantom);

/* RMSE against the truth, over all voxels and over the nodes of the coarse grid. */
int wang_rmse(struct wang_image *image, const struct wang *w, const struct iso_array *x,
              const struct iso_array *truth);

/* Plane j across y, or the greatest values along y; z to the right, x upwards, `top` in the last
   colour. */
int wang_draw_plane(struct iso_pixels *p, const struct iso_array *x, int64_t j, double top);
int wang_draw_mip(struct iso_pixels *p, const struct iso_array *x, double top);

#endif
