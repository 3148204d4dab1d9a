/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome measure fwhm: widths of a peak. */
#include "measure.h"

#include <string.h>

static const char *const axes[] = { "x", "y", "z", "all", NULL };

struct fwhm_settings {
	struct iso_fwhm p;
	const char *in, *axis;
	double window_fwhm;
};

struct row {
	const char *axis;
	struct iso_width w;
};

static const struct fact widths[] = {
	COLUMN(NULL, struct row, axis, "axis", -4, 0),
	COLUMN("centre_mm", struct row, w.centre, "centre mm", 12, 6),
	COLUMN("height", struct row, w.height, "height", 12, 6),
	COLUMN("fwhm_mm", struct row, w.fwhm, "FWHM mm", 12, 6),
	COLUMN("fwtm_mm", struct row, w.fwtm, "FWTM mm", 12, 6),
	{ 0 },
};

static int run(struct measure *m, const struct fwhm_settings *s)
{
	struct iso_width w[3];
	struct row row[3];
	bool any = false;
	int st, n = 0;

	if ((st = measure_read(m, s->in, NULL)) ||
	    (st = iso_measure_fwhm_window(w, &m->x[0], &s->p, s->window_fwhm)))
		return st;
	for (int a = 0; a < 3; a++)
		if (strcmp(s->axis, "all") == 0 || strcmp(s->axis, axes[a]) == 0) {
			row[n++] = (struct row){ axes[a], w[a] };
			any |= isfinite(w[a].fwhm);
		}
	if (!any)
		return iso_fail(ISO_EINPUT,
		                "%s: no peak at (%g, %g, %g) falls to half its height on both sides inside "
		                "the window",
		                s->in, s->p.at[0], s->p.at[1], s->p.at[2]);
	for (int i = 0; i < n && !st; i++)
		st = record_result(&m->c.record, row[i].axis, facts_json(widths, &row[i]));
	if (!st && !m->c.json) facts_table(widths, row, n, sizeof *row);
	m->figure = measure_largest(&row[0].w.fwhm, n, sizeof *row);
	return st;
}

static const struct opt_usage usage = {
	"measure",
	"Measure the widths of a peak at half and at a tenth of its height (FWHM, FWTM), as NEMA NU 2 "
	"measures a point source. Profiles run along the axes through the highest voxel near the given "
	"place. The height comes from the parabola through the three highest points. The widths come from "
	"straight lines between voxels. nan means that a profile does not fall so far inside the window.",
	"  isotome measure fwhm point.nii --at 10,0,0\n"
	"  isotome measure fwhm point.nii --at 10,0,0 --window-fwhm 2\n"
	"  isotome measure fwhm rods.nii --at 12.5,-3,0 --axis x --window 6 --background 0.1\n"
};

int measure_fwhm(struct measure *m)
{
	struct fwhm_settings s = { .axis = "all" };
	struct opt own[] = {
		measure_word(m, "widths of a peak"),
		CMD_ARGUMENT("image", s.in, OPT_NO_FILE, "IMAGE", "image with a voxel size"),
		{ 0, "at", .real = s.p.at, .count = 3, .value = "X,Y,Z", .required = true,
		  .help = "place near which to look for the peak, mm" },
		{ 0, "axis", .text = &s.axis, .words = axes, .value = "AXIS", .help = "axis of the profile" },
		{ 0, "window", .real = &s.p.window, .value = "MM", .min = 1e-6, .max = 1e6,
		  .absent = "20 voxels",
		  .help = "length of the profiles; the peak must lie in the middle half of this box around "
		          "--at" },
		{ 0, "window-fwhm", .real = &s.window_fwhm, .value = "N", .min = 0, .max = 100,
		  .help = "add up voxels over a window of N FWHM along the two other axes; 2 is NEMA's; 0: "
		          "one voxel wide" },
		{ 0, "background", .real = &s.p.background, .value = "V",
		  .help = "value that is subtracted from the image first" },
		measure_below(m, "largest FWHM in mm", "the largest FWHM must be below X"),
		{ 0 },
	};
	int st = measure_parse(m, &usage, own);

	return measure_end(m, st ? st : run(m, &s));
}
