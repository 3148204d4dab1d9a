/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome measure tbr: tumour to background, in one image or in two that are compared. */
#include "measure.h"

#include "core/status.h"

#include <stdio.h>

struct settings {
	const char *in, *other;
	double tumour[4], background[4];
};

static const struct opt_usage usage = {
	"measure",
	"Ratio of the mean of a tumour to that of the background (TBR; Meng 2019, eq. 9), each a sphere. "
	"With a second image also its ratio, and the difference of the two in per cent of the first "
	"(eq. 10): put the reference first.",
	"  isotome measure tbr image.nii --tumour 10,0,12,2.5 --background 0,-6,-2,2\n"
	"  isotome measure tbr cpu.nii cuda.nii --tumour 10,0,12,2.5 --background 0,-6,-2,2 --below 0.1\n",
};

static struct iso_roi sphere(const double v[4])
{
	return (struct iso_roi){ ISO_ROI_SPHERE, { v[0], v[1], v[2] }, .radius = v[3] };
}

static int one(double *tbr, struct measure *m, const struct settings *s, const char *path)
{
	struct iso_roi tumour = sphere(s->tumour), background = sphere(s->background);
	struct iso_array x = { 0 };
	int st = measure_read(&x, m, path);

	if (!st) st = iso_measure_tbr(tbr, &x, &tumour, &background);
	iso_array_free(&x);
	return st;
}

static int run(struct measure *m, const struct settings *s)
{
	double tbr = NAN, other = NAN, percent = NAN;
	int st;

	if ((st = one(&tbr, m, s, s->in)) || (s->other && (st = one(&other, m, s, s->other)))) return st;
	percent = 100 * fabs(tbr - other) / tbr;
	if ((st = record_result(&m->c.record, "tbr", record_real(tbr)))) return st;
	if (s->other && ((st = record_result(&m->c.record, "other_tbr", record_real(other))) ||
	                 (st = record_result(&m->c.record, "diff_percent", record_real(percent)))))
		return st;
	if (!m->c.json) printf("TBR    %.7g\n", tbr);
	if (!m->c.json && s->other) printf("other  %.7g\ndiff%%  %.7g\n", other, percent);
	return s->other ? measure_end(m, "difference in per cent", percent) : measure_end(m, "TBR", tbr);
}

int measure_tbr(int argc, char **argv)
{
	struct measure m = MEASURE_BEGIN;
	struct settings s = { 0 };
	struct opt own[] = {
		measure_kind(&m, "tbr", "tumour to background"),
		{ 0, "image", .text = &s.in, .value = "IMAGE", .positional = true, .required = true,
		  .help = "image with a voxel size" },
		{ 0, "other", .text = &s.other, .value = "OTHER", .positional = true,
		  .help = "image that is compared with it" },
		{ 0, "tumour", .real = s.tumour, .count = 4, .value = "X,Y,Z,R", .required = true,
		  .help = "centre and radius, mm" },
		{ 0, "background", .real = s.background, .count = 4, .value = "X,Y,Z,R", .required = true,
		  .help = "centre and radius, mm" },
		measure_below(&m, "the difference, or with one image the ratio, must be below X"),
		{ 0 },
	};
	struct opt_set sets[] = { { NULL, own }, cmd_common(&m.c, 0), { 0 } };
	int st = cmd_parse(&m.c, &usage, sets, argc, argv);

	if (!st) st = run(&m, &s);
	cmd_end(&m.c);
	return st;
}
