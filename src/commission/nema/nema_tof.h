/* SPDX-License-Identifier: BSD-3-Clause */
/* Time resolution from the events of a line source: a histogram of time errors and distances from the line, and its width. */
#ifndef ISO_NEMA_TOF_H
#define ISO_NEMA_TOF_H

#include "ssrb.h"

/* A histogram: row i has errors of time about (i + 0.5) bin_ps + first_ps, column k distances about (k + 0.5) bin_mm +
   first_mm. */
struct nema_tof {
	int64_t rows, columns;
	double bin_ps, first_ps, bin_mm, first_mm;
	double half_mm; /* of the strip about the line */
	uint32_t *count;
};

struct nema_tof_width {
	double fwhm_ps, fwhm_err_ps, gauss_fwhm_ps, net_counts;
};

/* Counts within the strip less the background, row by row (net: `rows` values; NULL: not wanted); FWHM of that by the
   rule of measure fwhm, its error by 100 Poisson draws of the histogram, and the FWHM of a Gaussian by least squares. */
int iso_nema_tof_width(struct nema_tof_width *w, double *net, const struct nema_tof *t);

/* A straight line in space: x = x0 + ax z, y = y0 + ay z. */
struct nema_source {
	double x0, ax, y0, ay;
};

/* Least squares through the maxima (by parabola) of the rows of a sinogram, each weighed by its largest count. */
int iso_nema_source_line(struct nema_source *l, const int32_t *cells, const struct ssrb *g, double cut_mm);

/* dt less that of the source, and the signed distance from it; false: the event's line is parallel to the source. */
bool iso_nema_time_error(double *error_ps, double *distance_mm, const struct iso_event *e,
                         const struct nema_source *l);

/* Counts the events of a file within reach of the histogram. */
int iso_nema_tof_count(struct nema_tof *t, const struct ssrb_file *f, const struct nema_source *l);

#endif
