/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome measure: picks the kind of measure; what all kinds share. */
#include "measure.h"

#include "core/status.h"

#include <string.h>

static const struct opt_usage usage = {
	"measure",
	"Figures of an image, or of two that are compared, as text or with --json. 'isotome "
	"measure KIND --help' explains a kind. With --below X the exit code is 1, after the "
	"figures are printed, unless the one that the kind names there is below X.",
	"  isotome measure roi image.nii --sphere 57.2,0,0,18\n"
	"  isotome measure profile image.nii --from -50,0,0 --to 50,0,0 -o profile.csv\n"
	"  isotome measure fwhm point.nii --at 10,0,0 --below 5\n"
	"  isotome measure diff a.nii b.nii\n"
	"  isotome measure rmse image.nii truth.nii --scale fit --below 0.1\n"
	"  isotome measure nema image.nii --like-phantom spheres\n"
	"  isotome measure rods image.nii --phantom derenzo-meng\n"
	"  isotome measure tbr image.nii --tumour 10,0,12,2.5 --background 0,-6,-2,2\n",
};

static int (*const run[])(int argc, char **argv) = {
	measure_roi,  measure_profile, measure_fwhm, measure_diff,
	measure_rmse, measure_nema,    measure_rods, measure_tbr,
};
static const char *const names[] = { "roi", "profile", "fwhm", "diff", "rmse", "nema", "rods", "tbr", NULL };

struct opt measure_kind(struct measure *m, const char *name, const char *help)
{
	return (struct opt){
		0, "kind", .text = &m->kind, .value = name, .positional = true, .required = true, .help = help
	};
}

struct opt measure_below(struct measure *m, const char *figure)
{
	return (struct opt){
		0, "below", .real = &m->below, .value = "X", .absent = "no limit", .help = figure
	};
}

int measure_read(struct iso_array *x, struct measure *m, const char *path)
{
	int st = record_input(&m->c.record, path);

	return st ? st : iso_read_image(x, path, ISO_FINITE, NULL);
}

int measure_end(struct measure *m, const char *figure, double value)
{
	int st = cmd_report(&m->c);

	if (st || isnan(m->below) || value < m->below) return st;
	return iso_fail(CMD_NOT_BELOW, "%s is %.7g, not below %.7g", figure, value, m->below);
}

/* No kind, or not as the first word: the help, or what is wrong. */
static int without_kind(int argc, char **argv)
{
	const char *kind = NULL;
	struct opt_list rest = { 0 };
	struct opt own[] = {
		{ 0, "kind", .text = &kind, .words = names, .value = "KIND", .positional = true,
		  .required = true,
		  .help = "statistics of regions, a profile, widths of a peak, the difference of "
		          "two arrays, the error of an image, image quality after NEMA NU 2, rods of a "
		          "Derenzo phantom, tumour to background" },
		{ 0, "arguments", .rest = &rest, .value = "FILE", .positional = true,
		  .help = "what the kind asks for" },
		{ 0 },
	};
	struct cmd c = { 0 };
	struct opt_set sets[] = { { NULL, own }, cmd_common(&c, 0), { 0 } };
	int st = cmd_parse(&c, &usage, sets, argc, argv);

	if (!st) st = iso_fail(ISO_EARG, "'%s' must be the first word after 'measure'", kind);
	cmd_end(&c);
	return st;
}

int main_measure(int argc, char **argv)
{
	for (int i = 0; argc > 1 && names[i]; i++)
		if (strcmp(argv[1], names[i]) == 0) return run[i](argc, argv);

	return without_kind(argc, argv);
}
