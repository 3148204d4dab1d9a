/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome measure rods: widths of the rods of a Derenzo phantom, and the valleys between them. */
#include "measure.h"

#include "core/status.h"

#include <stdio.h>

struct settings {
	const char *in, *phantom, *out;
	double slab, diameter;
};

static const struct opt_usage usage = {
	"measure",
	"Rods of a phantom in its image: for each diameter the median and quartiles of the widths at "
	"half and at a tenth of the height (FWHM, FWTM), of two profiles a rod, and the value halfway "
	"between neighbours over the mean of theirs. Rods count as resolved where that is below 0.735, "
	"the criterion of Rayleigh, in the mean of their pairs. The image is averaged along the rods.",
	"  isotome measure rods image.nii --phantom derenzo-meng\n"
	"  isotome measure rods image.nii --phantom rods.yaml --slab 5 -o boxes.png\n"
	"  isotome measure rods image.nii --phantom derenzo-meng --diameter 1.6 --below 2\n",
};

/* ---- out ---- */

static json_t *quartiles_json(const struct iso_quartiles *q)
{
	return json_pack("{s:i, s:o, s:o, s:o, s:o, s:o}", "profiles", q->n, "least_mm",
	                 record_real(q->least), "lower_quartile_mm", record_real(q->low), "median_mm",
	                 record_real(q->median), "upper_quartile_mm", record_real(q->high), "most_mm",
	                 record_real(q->most));
}

json_t *measure_rods_json(const struct iso_rods *r)
{
	json_t *list = json_array();

	for (int i = 0; i < r->n; i++) {
		const struct iso_rods_size *s = &r->size[i];

		json_array_append_new(
			list, record_pack("{s:f, s:i, s:i, s:o, s:o, s:o, s:o, s:b}", "diameter_mm",
		                          s->diameter, "rods", s->rods, "pairs", s->pairs, "fwhm",
		                          quartiles_json(&s->fwhm), "fwtm", quartiles_json(&s->fwtm),
		                          "valley_to_peak", record_real(s->valley), "resolved_share",
		                          record_real(s->resolved), "resolved", s->valley < ISO_RODS_VALLEY));
	}
	return list;
}

static void print_rods(const struct iso_rods *r)
{
	printf("%-8s %5s %9s %8s %8s %8s %9s %8s %12s %s\n", "rods mm", "rods", "profiles", "FWHM mm",
	       "lower", "upper", "profiles", "FWTM mm", "valley/peak", "resolved");
	for (int i = 0; i < r->n; i++) {
		const struct iso_rods_size *s = &r->size[i];

		printf("%-8.4g %5d %9d %8.4g %8.4g %8.4g %9d %8.4g %12.4g %s (%.0f %% of pairs)\n",
		       s->diameter, s->rods, s->fwhm.n, s->fwhm.median, s->fwhm.low, s->fwhm.high, s->fwtm.n,
		       s->fwtm.median, s->valley, s->valley < ISO_RODS_VALLEY ? "yes" : "no",
		       100 * s->resolved);
	}
}

int measure_rods_boxes(struct iso_pixels *pixels, const struct iso_rods *r)
{
	enum { MOST = sizeof r->size / sizeof *r->size };
	struct iso_quartiles box[2 * MOST];
	char text[2 * MOST][24];
	const char *label[2 * MOST];

	for (int i = 0; i < r->n; i++)
		for (int k = 0; k < 2; k++) {
			box[2 * i + k] = k ? r->size[i].fwtm : r->size[i].fwhm;
			snprintf(text[2 * i + k], sizeof text[0], "%g %s", r->size[i].diameter,
			         k ? "FWTM" : "FWHM");
			label[2 * i + k] = text[2 * i + k];
		}
	return iso_boxplot_render(pixels,
	                          &(struct iso_boxplot){ 2 * r->n, box, label, "widths of rods, mm" });
}

static int write_boxes(struct measure *m, const struct iso_rods *r, const char *path)
{
	struct iso_pixels pixels = { 0 };
	char *text = NULL;
	int st;

	if ((st = measure_rods_boxes(&pixels, r)) || (st = record_text(&m->c.record, &text))) goto done;
	st = iso_picture_write(path, &pixels, text);
done:
	free(text);
	iso_pixels_free(&pixels);
	return st;
}

/* ---- the command ---- */

/* Median FWHM of the diameter asked for, else of the largest rods. */
static int figure(double *fwhm, const struct iso_rods *r, double diameter)
{
	*fwhm = r->size[r->n - 1].fwhm.median;
	if (isnan(diameter)) return ISO_OK;
	for (int i = 0; i < r->n; i++)
		if (fabs(r->size[i].diameter - diameter) < 1e-6) {
			*fwhm = r->size[i].fwhm.median;
			return ISO_OK;
		}
	return iso_fail(ISO_EARG, "--diameter %g: the phantom has no rods of that diameter", diameter);
}

static int run(struct measure *m, const struct settings *s)
{
	struct iso_array x = { 0 };
	iso_phantom *p = NULL;
	struct iso_rods r;
	double fwhm = NAN;
	int st;

	if ((st = iso_phantom_create(&p, s->phantom, NULL))) goto done;
	if ((st = measure_read(&x, m, s->in))) goto done;
	if ((st = iso_measure_rods(&r, &x, p, s->slab))) goto done;
	if ((st = figure(&fwhm, &r, s->diameter))) goto done;
	if ((st = record_result(&m->c.record, "rods", measure_rods_json(&r)))) goto done;
	if (s->out && (st = write_boxes(m, &r, s->out))) goto done;
	if (!m->c.json) print_rods(&r);
	st = measure_end(m, "median FWHM in mm", fwhm);
done:
	iso_phantom_free(p);
	iso_array_free(&x);
	return st;
}

int measure_rods(int argc, char **argv)
{
	struct measure m = MEASURE_BEGIN;
	struct settings s = { .diameter = NAN };
	struct opt own[] = {
		measure_kind(&m, "rods", "rods of a Derenzo phantom"),
		{ 0, "image", .text = &s.in, .file = OPT_MAY_READ, .value = "IMAGE", .positional = true,
		  .required = true, .help = "image with a voxel size" },
		{ 0, "phantom", .text = &s.phantom, .file = OPT_MAY_READ, .value = "NAME|FILE",
		  .required = true, .help = "phantom whose cylinders with activity are the rods" },
		{ 0, "slab", .real = &s.slab, .value = "MM", .min = 1e-6, .max = 1e5,
		  .absent = "half the length of the rods", .help = "length of the rods that is averaged" },
		{ 0, "diameter", .real = &s.diameter, .value = "MM", .min = 1e-6, .max = 1e5,
		  .absent = "the largest rods", .help = "rods whose width --below is about" },
		{ 'o', "output", .text = &s.out, .file = OPT_WRITES, .value = "FILE",
		  .help = "boxes and whiskers, as .png" },
		measure_below(&m, "the median FWHM must be below X"),
		{ 0 },
	};
	struct opt_set sets[] = { { NULL, own }, cmd_common(&m.c, CMD_WRITES), { 0 } };
	int st = cmd_parse(&m.c, &usage, sets, argc, argv);

	if (!st && s.out) st = cmd_check_picture(&m.c, s.out);
	if (!st) st = run(&m, &s);
	cmd_end(&m.c);
	return st;
}
