/* SPDX-License-Identifier: BSD-3-Clause */
/* A report: images side by side, beside the truth where it is known, and how they were made, as
   one HTML page that needs no other file, no network and no script. */
#ifndef ISO_PAGE_H
#define ISO_PAGE_H

#include "report_history.h"
#include "image/places.h"
#include "svg.h"
#include "text.h"

#define ISO_REPORT_MOST ISO_SVG_COLOURS /* images of one report: each has a colour of its own */

struct iso_report_image {
	const char *path;
	struct iso_array array;
	struct iso_volume volume; /* its first frame */
	struct iso_range range;
	struct iso_history history;
	int64_t cut[3];        /* the voxel where the slices shown cross */
	struct iso_rmse error; /* against the truth, with the scale that fits best */
};

struct iso_report {
	const char *title; /* NULL: the names of the files */
	int n;
	struct iso_report_image image[ISO_REPORT_MOST];
	bool has_truth;
	struct iso_report_image truth; /* no history */
	bool has_line;
	double from[3], to[3]; /* of the profile, mm; else along x through the slices */
};

/* The truth must lie on the grid of every image; NULL: there is none. */
int iso_report_read(struct iso_report *r, int n, char *const *paths, const char *truth);
void iso_report_free(struct iso_report *r);

/* Head and title of any page in this style, and its end; `title` is HTML, what it takes from files
   escaped. Between them stand sections. */
void iso_page_open(struct iso_text *t, const char *brand, const char *title);
void iso_page_close(struct iso_text *t, const char *command);

/* The whole page. */
int iso_report_page(struct iso_text *t, const struct iso_report *r);

/* ---- its sections ---- */

void iso_report_warnings(struct iso_text *t, const struct iso_report *r);
void iso_report_figures(struct iso_text *t, const struct iso_report *r);
int iso_report_pictures(struct iso_text *t, const struct iso_report *r);
int iso_report_profile(struct iso_text *t, const struct iso_report *r);
int iso_report_likelihood(struct iso_text *t, const struct iso_report *r);
void iso_report_times(struct iso_text *t, const struct iso_report *r);
void iso_report_steps(struct iso_text *t, const struct iso_report *r);
void iso_report_parameters(struct iso_text *t, const struct iso_report *r);

/* The record that says most about an image: of its reconstruction, else its own, else NULL. */
const json_t *iso_report_record(const struct iso_report_image *image);

#endif
