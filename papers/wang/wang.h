/* SPDX-License-Identifier: BSD-3-Clause */
/* The experiments of Wang et al. 2013, "Accelerating image reconstruction in three-dimensional
   optoacoustic tomography on graphics processing units", measured with Isotome: the numerical study
   (Figures 2 to 6), the experiment on a tree of vessels in place of a mouse (Figure 7), Table I. */
#ifndef ISO_WANG_H
#define ISO_WANG_H

#include "papers/study/study.h"

enum wang_method { WANG_FBP, WANG_INT, WANG_SPH };

enum {
	WANG_METHODS = 3,
	WANG_SETS = 4,  /* of the study, from all transducers to the fewest */
	WANG_SCANS = 2, /* of the experiment: full and quarter data */
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
	const struct iso_grid *grid;
	const struct wang_array *arrays; /* of the study, and of the experiment */
	int first_node, node_step;       /* of the coarse grid that the RMSE is also taken on */
	double fwhm;                     /* of the phantoms, mm; 0: their own */
	double fmax_mhz;
	int iterations;
	/* Table I: */
	const struct iso_grid *times_grid;
	const struct wang_array *times_arrays;
	int part; /* transducers a thread that the CPU is timed with */
};

struct wang {
	struct study s;
	const struct wang_scale *scale;
};

extern const char *const wang_methods[WANG_METHODS];
extern const char *const wang_files[WANG_METHODS]; /* of their images: "fbp", ... */

/* How sets are thinned out: every so many rings, every so many views. */
extern const int wang_every[WANG_SETS][2], wang_scan_every[WANG_SCANS][2]; /* powers of 2; the first: 1 */

int wang_study(struct wang *w); /* both write images into the current folder */
int wang_scan(struct wang *w);
int wang_slice(struct wang *w); /* of the recording that was given */

/* ---- what they share ---- */

/* "64x90", of the study or the experiment; with another sign for "x" */
const char *wang_set_name(const struct wang_array *a, const int every[2], const char *by);

/* The transducers of every so many rings and views of an array, whose areas grow as they get fewer. Free
   with iso_transducers_free. */
int wang_transducers(struct iso_transducers *t, const struct wang_array *a, const int every[2]);

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

/* Sound of a phantom of spheres: the truth on the scale's grid, and traces, which are closed forms, of
   no grid and no operator; and the set of transducers in hand. */
struct wang_sound {
	struct wang *w;
	const struct wang_array *array;
	struct iso_spheres spheres;
	struct iso_array truth;
	struct iso_transducers all, t; /* t: those of the set in hand; borrows the response */
	iso_real *traces, *y;          /* of all; of the set in hand */
	int set;
	json_t *rows; /* of the results */
};

int wang_sound_truth(struct wang_sound *s, const char *phantom, const char *path);
int wang_sound_traces(struct wang_sound *s, double noise);    /* of s->all; noise: of the greatest value */
int wang_sound_set(struct wang_sound *s, const int every[2]); /* the one before is freed */
void wang_sound_free(struct wang_sound *s);

/* The problem of the set in hand. */
struct wang_problem wang_sound_problem(const struct wang_sound *s, enum wang_method method);

/* What is kept of an image: RMSE against the truth, over all voxels and over the nodes of the coarse
   grid, NaN where not measured; seconds of FBP or of an iteration. */
struct wang_image {
	double rmse, nodes, seconds;
};

/* An image on the fast device, and its errors; x is made. */
int wang_sound_image(struct iso_array *x, struct wang_image *image, const struct wang_sound *s,
                     const struct wang_problem *p);

/* A row of the results, at this place; -1: at the end. */
void wang_sound_row(struct wang_sound *s, int place, const char *method, const char *data,
                    const struct wang_image *i);

/* Adds a picture: plane j across y, z to the right, x upwards, `top` in the last colour. */
int wang_draw_plane(struct wang *w, const char *key, const struct iso_array *x, int64_t j, double top,
                    const char *name, const char *alt, const char *note);

#endif
