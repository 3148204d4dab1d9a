/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome measure fwhm: widths of a peak. */
#include "measure.h"

#include "core/status.h"

#include <stdio.h>
#include <string.h>

static const struct opt_usage usage = {
	"measure",
	"Widths of a peak at half and at a tenth of its height (FWHM, FWTM), as NEMA NU 2 "
	"measures a point source: profiles along the axes through the highest voxel near the "
	"place given; the height is that of the parabola through the three highest points, the "
	"widths are taken between straight lines from voxel to voxel. nan: a profile does not "
	"fall so far inside the window.",
	"  isotome measure fwhm point.nii --at 10,0,0\n"
	"  isotome measure fwhm rods.nii --at 12.5,-3,0 --axis x --window 6 --background 0.1\n",
};

static const char *const axes[] = { "x", "y", "z", "all", NULL };

static bool wanted(const char *axis, int a)
{
	return strcmp(axis, "all") == 0 || strcmp(axis, axes[a]) == 0;
}

static int record_widths(struct measure *m, const struct iso_width w[3], const char *axis)
{
	int st = ISO_OK;

	for (int a = 0; a < 3 && !st; a++)
		if (wanted(axis, a))
			st = record_result(
				&m->c.record, axes[a],
				json_pack("{s:o, s:o, s:o, s:o}", "centre_mm", record_real(w[a].centre),
			                  "height", record_real(w[a].height), "fwhm_mm",
			                  record_real(w[a].fwhm), "fwtm_mm", record_real(w[a].fwtm)));
	return st;
}

static void print_widths(const struct iso_width w[3], const char *axis)
{
	printf("axis %12s %12s %12s %12s\n", "centre mm", "height", "FWHM mm", "FWTM mm");
	for (int a = 0; a < 3; a++)
		if (wanted(axis, a))
			printf("%-4s %12.6g %12.6g %12.6g %12.6g\n", axes[a], w[a].centre, w[a].height,
			       w[a].fwhm, w[a].fwtm);
}

/* Of the axes asked for; NaN if one of them has none. */
static double largest(const struct iso_width w[3], const char *axis)
{
	double top = 0;

	for (int a = 0; a < 3; a++)
		if (wanted(axis, a) && !(w[a].fwhm <= top)) top = w[a].fwhm;
	return top;
}

static bool any(const struct iso_width w[3], const char *axis)
{
	for (int a = 0; a < 3; a++)
		if (wanted(axis, a) && isfinite(w[a].fwhm)) return true;

	return false;
}

static int run(struct measure *m, const struct iso_fwhm *p, const char *in, const char *axis)
{
	struct iso_array x = { 0 };
	struct iso_width w[3];
	int st;

	if ((st = measure_read(&x, m, in))) goto done;
	if ((st = iso_measure_fwhm(w, &x, p))) goto done;
	if (!any(w, axis)) {
		st = iso_fail(ISO_EINPUT,
		              "%s: no peak at (%g, %g, %g) falls to half its height on "
		              "both sides inside the window",
		              in, p->at[0], p->at[1], p->at[2]);
		goto done;
	}
	if ((st = record_widths(m, w, axis))) goto done;
	if (!m->c.json) print_widths(w, axis);
	st = measure_end(m, "largest FWHM in mm", largest(w, axis));
done:
	iso_array_free(&x);
	return st;
}

int measure_fwhm(int argc, char **argv)
{
	struct measure m = MEASURE_BEGIN;
	struct iso_fwhm p = { 0 };
	const char *in = NULL, *axis = "all";
	struct opt own[] = {
		measure_kind(&m, "fwhm", "widths of a peak"),
		{ 0, "image", .text = &in, .value = "IMAGE", .positional = true, .required = true,
		  .help = "image with a voxel size" },
		{ 0, "at", .real = p.at, .count = 3, .value = "X,Y,Z", .required = true,
		  .help = "where the peak is looked for, mm" },
		{ 0, "axis", .text = &axis, .words = axes, .value = "AXIS", .help = "along which axis" },
		{ 0, "window", .real = &p.window, .value = "MM", .min = 1e-6, .max = 1e6,
		  .absent = "20 voxels",
		  .help = "length of the profiles; the peak is looked for in the middle half of "
		          "that box around the place" },
		{ 0, "background", .real = &p.background, .value = "V",
		  .help = "subtracted from the image first" },
		measure_below(&m, "the largest FWHM must be below X"),
		{ 0 },
	};
	struct opt_set sets[] = { { NULL, own }, cmd_common(&m.c, 0), { 0 } };
	int st = cmd_parse(&m.c, &usage, sets, argc, argv);

	if (!st) st = run(&m, &p, in, axis);
	cmd_end(&m.c);
	return st;
}
