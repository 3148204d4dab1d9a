/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome measure nema: image quality of a phantom with spheres. */
#include "measure.h"

#include "core/status.h"

#include <stdio.h>

static const struct opt_usage usage = {
	"measure",
	"Image quality after NEMA NU 2. Per sphere: contrast recovery 100 (C_H/C_B - 1)/(ratio "
	"- 1), with C_H the mean of a disc of the sphere's diameter in the slice of its centre "
	"and C_B the mean of all discs of that size in the background; and variability of the "
	"background 100 SD/C_B over those discs. Lung residual: 100 C_lung/C_B, mean over the "
	"slices of the background. Discs count pixels by the share that they cover. For the "
	"phantom 'spheres': 12 places in the slices at z = 0, +-10 and +-20 mm, 11 mm or more "
	"from spheres and edge (NEMA: 15 mm). A description has the keys spheres (a list of "
	"centre_mm: [x, y, z], diameter_mm, ratio: true activity over that of the background), "
	"background (a list of centre_mm: [x, y]), slices_mm (a list of z) and, if there is "
	"one, lung (centre_mm: [x, y], diameter_mm).",
	"  isotome measure nema image.nii --like-phantom spheres\n"
	"  isotome measure nema image.nii --spheres iec.yaml --below 10\n",
};

static int record_figures(struct measure *m, const struct iso_nema *q, const struct iso_nema_result *r)
{
	json_t *list = json_array();
	int st;

	for (int i = 0; i < q->n_spheres; i++) {
		const struct iso_nema_figures *f = &r->sphere[i];

		json_array_append_new(list, record_pack("{s:f, s:f, s:o, s:o, s:o, s:o}", "diameter_mm",
		                                        q->sphere[i].diameter, "ratio", q->sphere[i].ratio,
		                                        "mean", record_real(f->mean), "background",
		                                        record_real(f->background), "contrast_percent",
		                                        record_real(f->contrast), "variability_percent",
		                                        record_real(f->variability)));
	}
	st = record_result(&m->c.record, "spheres", list);
	return st ? st : record_result(&m->c.record, "lung_residual_percent", record_real(r->lung));
}

static void print_figures(const struct iso_nema *q, const struct iso_nema_result *r)
{
	printf("%11s %12s %12s %11s %14s\n", "diameter mm", "mean", "background", "contrast %",
	       "variability %");
	for (int i = 0; i < q->n_spheres; i++)
		printf("%11.4g %12.6g %12.6g %11.4g %14.4g\n", q->sphere[i].diameter, r->sphere[i].mean,
		       r->sphere[i].background, r->sphere[i].contrast, r->sphere[i].variability);
	if (q->has_lung) printf("lung residual %.4g %%\n", r->lung);
}

static double largest_variability(const struct iso_nema *q, const struct iso_nema_result *r)
{
	double top = 0;

	for (int i = 0; i < q->n_spheres; i++)
		if (r->sphere[i].variability > top) top = r->sphere[i].variability;
	return top;
}

static int run(struct measure *m, const char *in, const char *description)
{
	struct iso_array x = { 0 };
	struct iso_nema_result r;
	struct iso_nema q;
	int st;

	if ((st = iso_nema_read(&q, description))) goto done;
	if (description && (st = record_input(&m->c.record, description))) goto done;
	if ((st = measure_read(&x, m, in))) goto done;
	if ((st = iso_measure_nema(&r, &x, &q))) goto done;
	if ((st = record_figures(m, &q, &r))) goto done;
	if (!m->c.json) print_figures(&q, &r);
	st = measure_end(m, "largest variability in per cent", largest_variability(&q, &r));
done:
	iso_array_free(&x);
	return st;
}

int measure_nema(int argc, char **argv)
{
	static const char *const phantoms[] = { "spheres", NULL };
	struct measure m = MEASURE_BEGIN;
	const char *in = NULL, *description = NULL, *phantom = NULL;
	struct opt own[] = {
		measure_kind(&m, "nema", "image quality after NEMA NU 2"),
		{ 0, "image", .text = &in, .value = "IMAGE", .positional = true, .required = true,
		  .help = "image with a voxel size" },
		{ 0, "spheres", .text = &description, .value = "FILE",
		  .help = "where spheres and background are (.yaml, .json)" },
		{ 0, "like-phantom", .text = &phantom, .words = phantoms, .value = "NAME",
		  .help = "they are where this phantom has them" },
		measure_below(&m, "the largest variability must be below X"),
		{ 0 },
	};
	struct opt_set sets[] = { { NULL, own }, cmd_common(&m.c, 0), { 0 } };
	int st = cmd_parse(&m.c, &usage, sets, argc, argv);

	if (!st && !description == !phantom)
		st = iso_fail(ISO_EARG, "give either --spheres or --like-phantom: where the "
		                        "spheres are");
	if (!st) st = run(&m, in, description);
	cmd_end(&m.c);
	return st;
}
