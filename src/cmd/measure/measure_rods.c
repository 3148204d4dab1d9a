/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome measure rods: widths of the rods of a Derenzo phantom, and the valleys between them. */
#include "measure.h"

struct rods_settings {
	const char *in, *phantom, *out;
	double slab, diameter;
};

struct row {
	struct iso_rods_size s;
	bool resolved;
	char words[48];
};

static const struct fact quartiles[] = {
	FACT("profiles", struct iso_quartiles, n),
	FACT("least_mm", struct iso_quartiles, least),
	FACT("lower_quartile_mm", struct iso_quartiles, low),
	FACT("median_mm", struct iso_quartiles, median),
	FACT("upper_quartile_mm", struct iso_quartiles, high),
	FACT("most_mm", struct iso_quartiles, most),
	{ 0 },
};

static const struct fact facts[] = {
	COLUMN("diameter_mm", struct row, s.diameter, "rods mm", -8, 4),
	COLUMN("rods", struct row, s.rods, "rods", 5, 0),
	FACT("pairs", struct row, s.pairs),
	FACT_PART("fwhm", struct row, s.fwhm, quartiles),
	FACT_PART("fwtm", struct row, s.fwtm, quartiles),
	COLUMN(NULL, struct row, s.fwhm.n, "profiles", 9, 0),
	COLUMN(NULL, struct row, s.fwhm.median, "FWHM mm", 8, 4),
	COLUMN(NULL, struct row, s.fwhm.low, "lower", 8, 4),
	COLUMN(NULL, struct row, s.fwhm.high, "upper", 8, 4),
	COLUMN(NULL, struct row, s.fwtm.n, "profiles", 9, 0),
	COLUMN(NULL, struct row, s.fwtm.median, "FWTM mm", 8, 4),
	COLUMN("valley_to_peak", struct row, s.valley, "valley/peak", 12, 4),
	FACT("resolved_share", struct row, s.resolved),
	FACT("resolved", struct row, resolved),
	COLUMN(NULL, struct row, words, "resolved", 0, 0),
	{ 0 },
};

static void make_rows(struct row *row, const struct iso_rods *r)
{
	for (int i = 0; i < r->n; i++) {
		row[i] = (struct row){ r->group[i], r->group[i].valley < ISO_RODS_VALLEY, "" };
		snprintf(row[i].words, sizeof row->words, "%s (%.0f %% of pairs)",
		         row[i].resolved ? "yes" : "no", 100 * r->group[i].resolved);
	}
}

enum { SIZES = sizeof((struct iso_rods *)NULL)->group / sizeof *((struct iso_rods *)NULL)->group };

json_t *measure_rods_json(const struct iso_rods *r)
{
	struct row row[SIZES];

	make_rows(row, r);
	return facts_list(facts, row, r->n, sizeof *row);
}

int measure_rods_boxes(struct iso_pixels *pixels, const struct iso_rods *r)
{
	struct iso_quartiles box[2 * SIZES];
	char text[2 * SIZES][24];
	const char *label[2 * SIZES];

	for (int i = 0; i < r->n; i++)
		for (int k = 0; k < 2; k++) {
			box[2 * i + k] = k ? r->group[i].fwtm : r->group[i].fwhm;
			snprintf(text[2 * i + k], sizeof text[0], "%g %s", r->group[i].diameter,
			         k ? "FWTM" : "FWHM");
			label[2 * i + k] = text[2 * i + k];
		}
	return iso_boxplot_render(pixels,
	                          &(struct iso_boxplot){ 2 * r->n, box, label, "widths of rods, mm" });
}

static int write_boxes(struct measure *m, const struct iso_rods *r, const char *path)
{
	struct iso_pixels pixels = { 0 };
	int st = measure_rods_boxes(&pixels, r);

	if (!st) st = cmd_write_picture(&m->c, path, &pixels);
	iso_pixels_free(&pixels);
	return st;
}

/* Median FWHM of the diameter asked for, else of the largest rods. */
static int figure(double *fwhm, const struct iso_rods *r, double diameter)
{
	int i = r->n - 1;

	while (!isnan(diameter) && i >= 0 && !(fabs(r->group[i].diameter - diameter) < 1e-6)) i--;
	*fwhm = i < 0 ? NAN : r->group[i].fwhm.median;
	if (i >= 0) return ISO_OK;
	return iso_fail(ISO_EARG, "--diameter %g: the phantom has no rods of that diameter", diameter);
}

static int run(struct measure *m, const struct rods_settings *s)
{
	iso_phantom *p = NULL;
	struct row row[SIZES];
	struct iso_rods r = { .size = sizeof r };
	int st;

	if (s->out && (st = cmd_check(&m->c, s->out, iso_picture_write_check))) return st;
	if ((st = iso_phantom_create(&p, s->phantom, NULL)) || (st = measure_read(m, s->in, NULL)) ||
	    (st = iso_measure_rods(&r, &m->x[0], p, s->slab)) || (st = figure(&m->figure, &r, s->diameter)))
		goto done;
	make_rows(row, &r);
	st = measure_put_rows(m, "rods", facts, row, r.n, sizeof *row);
	if (!st && s->out) st = write_boxes(m, &r, s->out);
done:
	iso_phantom_free(p);
	return st;
}

static const struct opt_usage usage = {
	"measure",
	"Measure the rods of a phantom in its image. For each diameter Isotome prints the median and "
	"quartiles of the widths at half and at a tenth of the height (FWHM, FWTM), from two profiles per "
	"rod. It also prints the value halfway between neighbours, divided by the mean of both. Rods count "
	"as resolved if the mean of that ratio over their pairs is below 0.735, the criterion of Rayleigh. "
	"The image is averaged along the rods.",
	"  isotome measure rods image.nii --phantom derenzo-meng\n"
	"  isotome measure rods image.nii --phantom rods.yaml --slab 5 -o boxes.png\n"
	"  isotome measure rods image.nii --phantom derenzo-meng --diameter 1.6 --below 2\n"
};

int measure_rods(struct measure *m)
{
	struct rods_settings s = { .diameter = NAN };
	struct opt own[] = {
		measure_word(m, "rods of a Derenzo phantom"),
		CMD_ARGUMENT("image", s.in, OPT_MAY_READ, "IMAGE", "image with a voxel size"),
		{ 0, "phantom", .text = &s.phantom, .file = OPT_MAY_READ, .value = "NAME|FILE",
		  .required = true, .help = "phantom whose cylinders with activity are the rods" },
		{ 0, "slab", .real = &s.slab, .value = "MM", .min = 1e-6, .max = 1e5,
		  .absent = "half the length of the rods",
		  .help = "length of the rods over which the image is averaged" },
		{ 0, "diameter", .real = &s.diameter, .value = "MM", .min = 1e-6, .max = 1e5,
		  .absent = "the largest rods", .help = "diameter of the rods whose width --below limits" },
		{ 'o', "output", .text = &s.out, .file = OPT_WRITES, .value = "FILE",
		  .help = "draw boxes and whiskers, as .png" },
		measure_below(m, "median FWHM in mm", "the median FWHM must be below X"),
		{ 0 },
	};
	int st = measure_parse(m, &usage, own);

	return measure_end(m, st ? st : run(m, &s));
}
