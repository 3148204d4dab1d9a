/* SPDX-License-Identifier: BSD-3-Clause */
/* A report: images side by side, beside the truth where it is known, and how they were made, as
   one HTML page that needs no other file and no network. A script of its own lets one look around in the images;
   without it the page is whole. */
#ifndef ISO_PAGE_H
#define ISO_PAGE_H

#include "core/status.h"
#include "image/window.h"
#include "isotome/measure.h"
#include "isotome/picture.h"
#include "isotome/report.h"
#include "report/markup/svg.h"
#include "report/markup/text.h"

#include <jansson.h>

#define ISO_REPORT_MOST ISO_SVG_COLOURS /* images of one report: each has a colour of its own */

#define ISO_MOST_STEPS 32

struct iso_step {
	char *file;     /* the output that the record lies beside */
	json_t *record; /* an object with a "verb"; all else in it may be anything */
	int order;      /* of the files: those it was made from come before it */
};

/* How an image was made: the record beside it, and those beside what it was made from. */
struct iso_history {
	int n;
	struct iso_step step[ISO_MOST_STEPS]; /* the oldest first, the image's own last */
	char problem
		[512]; /* why the image's own record could not be used; "" if it could, or there is none */
};

/* Never fails for what it finds: no record and a damaged one give no steps. ISO_ENOMEM alone. */
int iso_history_read(struct iso_history *h, const char *path);
void iso_history_free(struct iso_history *h);

/* The record of the image itself, and of its last reconstruction; NULL if there is none. */
const json_t *iso_history_own(const struct iso_history *h);
const json_t *iso_history_recon(const struct iso_history *h);

struct iso_report_image {
	const char *path;
	struct iso_array array;
	struct iso_shown volume; /* its first frame */
	struct iso_range range;
	struct iso_history history;
	bool empty;                  /* no value is above 0, nor below where that means something */
	enum iso_window_kind kind;   /* what its values are, */
	double window[2];            /* those of the first and the last colour, */
	int64_t cut[3];              /* the voxel where the slices shown cross, */
	int64_t frame;               /* and the frame that chose both */
	struct iso_rmse error;       /* against the truth, with the scale that fits best */
	struct iso_nema_result nema; /* where the report has spheres */
	char no_nema[256];           /* why they could not be measured; "" if they could */
};

struct iso_report {
	const char *title; /* NULL: the names of the files */
	int n;
	struct iso_report_image image[ISO_REPORT_MOST];
	bool has_truth;
	struct iso_report_image truth; /* no history */
	bool has_overlay;
	struct iso_report_image overlay; /* for the viewer, which lays it under the images */
	bool viewer;
	int64_t frame;                  /* that the viewer shows first, */
	const double *window;           /* in these values of the first and the last colour, */
	const char *map;                /* and these colours; NULL: what suits the values */
	const char *overlay_map;        /* of the overlay; NULL: grey */
	double opacity;                 /* of the overlay; 0: 0.4 */
	enum iso_picture_labels labels; /* at the edges of the viewer's planes */
	bool has_line;
	double from[3], to[3]; /* of the profile, mm; else along x through the slices */
	bool has_spheres;
	struct iso_nema spheres;
};

/* The truth must lie on the grid of every image; NULL: there is none. */
int iso_report_read(struct iso_report *r, int n, const char *const *paths, const char *truth);

/* Adds an image of any grid; one that has no grid must have the voxels of the first image, and lies there. */
int iso_report_read_overlay(struct iso_report *r, const char *path);

/* The same for arrays: m is about the array, which stays the caller's (no iso_report_free), and has no history; r->overlay,
   borrowed so, is laid over the first image. */
int iso_report_borrow(struct iso_report_image *m, const struct iso_array *array, const char *name);
int iso_report_lay(struct iso_report *r);

/* The slices shown cross in the voxel around a place. */
int iso_report_place(struct iso_report_image *m, const double at[3]);

/* What a report, or the viewer alone, of images that were read is to show; arrays of o must stay. */
int iso_report_set(struct iso_report *r, const struct iso_report_options *o);
int iso_viewer_set(struct iso_report *r, const struct iso_viewer_options *o);
void iso_report_free(struct iso_report *r);

/* Measures the spheres of a phantom after NEMA NU 2, where the description has them. NULL: those of the
   phantom `spheres`, if the records say that an image or the truth comes of it; else there are none. */
int iso_report_spheres(struct iso_report *r, const char *description);

/* Head and title of any page in this style, and its end; `title` is HTML, what it takes from files
   escaped. Between them stand sections; with `viewer`, one may be the viewer's. */
void iso_page_open(struct iso_text *t, const char *brand, const char *title, bool viewer);
void iso_page_close(struct iso_text *t, const char *command, bool viewer);

/* ISO_EARG for a name that is not .html or .htm. */
int iso_page_check(const char *path);

/* The whole page; and one with the viewer, and pictures where it can't run, alone. */
int iso_report_page(struct iso_text *t, const struct iso_report *r);
int iso_report_view(struct iso_text *t, const struct iso_report *r);

/* ---- its sections ---- */

void iso_report_warnings(struct iso_text *t, const struct iso_report *r);
void iso_report_figures(struct iso_text *t, const struct iso_report *r);
int iso_report_pictures(struct iso_text *t, const struct iso_report *r);
int iso_report_profile(struct iso_text *t, const struct iso_report *r);
void iso_report_regions(struct iso_text *t, const struct iso_report *r);
void iso_report_decay(struct iso_text *t, const struct iso_report *r);
void iso_report_nema(struct iso_text *t, const struct iso_report *r);
int iso_report_likelihood(struct iso_text *t, const struct iso_report *r);
int iso_report_scatter(struct iso_text *t, const struct iso_report *r);
int iso_report_objective(struct iso_text *t, const struct iso_report *r); /* of penalised likelihood */
void iso_report_times(struct iso_text *t, const struct iso_report *r);
void iso_report_steps(struct iso_text *t, const struct iso_report *r);
void iso_report_parameters(struct iso_text *t, const struct iso_report *r);
void iso_report_checks(struct iso_text *t, const struct iso_report *r);
void iso_report_notes(struct iso_text *t, const struct iso_report *r);

/* Values in colours, rows upwards: from 0, or symmetric about it, to `most`. */
struct iso_panel {
	const char *name, *alt; /* markup of our own */
	int64_t w, h;
	const iso_real *v;
	double most;
	bool symmetric;
};

int iso_report_panel(struct iso_text *t, const struct iso_panel *p);
int iso_report_panel_scale(struct iso_text *t, const struct iso_panel *p, const char *name, const char *unit);

/* Whether the image has values below 0 that are shown as 0, as its quantity is never negative. */
bool iso_report_hides_negative(const struct iso_report_image *image);

/* The record that says most about an image: of its reconstruction, else its own, else NULL. */
const json_t *iso_report_record(const struct iso_report_image *image);

#endif
