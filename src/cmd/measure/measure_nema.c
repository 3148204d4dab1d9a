/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome measure nema: image quality of a phantom with spheres. */
#include "measure.h"

struct row {
	struct iso_nema_sphere sphere;
	struct iso_nema_figures f;
};

static const struct fact facts[] = {
	COLUMN("diameter_mm", struct row, sphere.diameter, "diameter mm", 11, 4),
	FACT("ratio", struct row, sphere.ratio),
	COLUMN("mean", struct row, f.mean, "mean", 12, 6),
	COLUMN("background", struct row, f.background, "background", 12, 6),
	COLUMN("contrast_percent", struct row, f.contrast, "contrast %", 11, 4),
	COLUMN("variability_percent", struct row, f.variability, "variability %", 14, 4),
	{ 0 },
};

static int put(struct measure *m, const struct iso_nema *q, const struct iso_nema_result *r)
{
	struct row row[sizeof q->sphere / sizeof *q->sphere];
	int st;

	for (int i = 0; i < q->n_spheres; i++) row[i] = (struct row){ q->sphere[i], r->sphere[i] };
	if ((st = measure_put_rows(m, "spheres", facts, row, q->n_spheres, sizeof *row)) ||
	    (st = record_result(&m->c.record, "lung_residual_percent", record_real(r->lung))))
		return st;
	if (!m->c.json && q->has_lung) printf("lung residual %.4g %%\n", r->lung);
	m->figure = measure_largest(&row[0].f.variability, q->n_spheres, sizeof *row);
	return ISO_OK;
}

/* Of a phantom whose place was found. */
static int put_moved(struct measure *m, const double moved[4])
{
	const int st = record_result(&m->c.record, "moved_mm", record_reals(3, moved));

	if (!m->c.json)
		printf("the phantom lies (%g, %g, %g) mm from its places, turned by %g degrees\n", moved[0],
		       moved[1], moved[2], moved[3]);
	return st ? st : record_result(&m->c.record, "turned_deg", record_real(moved[3]));
}

static const struct opt_usage usage = {
	"measure",
	"Measure image quality as NEMA NU 2 does. For each sphere the contrast recovery is 100 (C_H/C_B - "
	"1)/(ratio - 1). C_H is the mean of a disc of the sphere's diameter in the slice of its centre. C_B "
	"is the mean of all discs of that size in the background. The variability of the background is 100 "
	"SD/C_B over these discs. The lung residual is 100 C_lung/C_B, the mean over the slices of the "
	"background. Discs count pixels by the share that they cover. The phantom 'spheres' has 12 places in "
	"the slices at z = 0, +-10 and +-20 mm, 11 mm or more from spheres and edge (NEMA: 15 mm). A "
	"description has the keys spheres (a list of centre_mm: [x, y, z], diameter_mm, ratio: true activity "
	"over that of the background), background (a list of centre_mm: [x, y]), slices_mm (a list of z) "
	"and, optionally, lung (centre_mm: [x, y], diameter_mm). With places: auto the phantom may lie up to "
	"10 mm away along each axis, and be turned about z by up to 10 degrees; the spheres tell where.",
	"  isotome measure nema image.nii --like-phantom spheres\n"
	"  isotome measure nema image.nii --spheres iec.yaml --below 10\n"
};

int measure_nema(struct measure *m)
{
	static const char *const phantoms[] = { "spheres", NULL };
	const char *in = NULL, *description = NULL, *phantom = NULL;
	struct opt own[] = {
		measure_word(m, "image quality after NEMA NU 2"),
		CMD_ARGUMENT("image", in, OPT_NO_FILE, "IMAGE", "image with a voxel size"),
		{ 0, "spheres", .text = &description, .file = OPT_MAY_READ, .value = "FILE",
		  .help = "where spheres and background are (.yaml, .json)" },
		{ 0, "like-phantom", .text = &phantom, .words = phantoms, .value = "NAME",
		  .help = "take the places of this phantom" },
		measure_below(m, "largest variability in per cent",
		              "the largest variability must be below X"),
		{ 0 },
	};
	struct iso_nema_result r = { .size = sizeof r };
	struct iso_nema q = { .size = sizeof q };
	double moved[4] = { 0 };
	int st = measure_parse(m, &usage, own);

	if (!st && !description == !phantom)
		st = iso_fail(ISO_EARG, "give either --spheres or --like-phantom: where the spheres are");
	if (!st && !(st = iso_nema_read(&q, description)) &&
	    !(description && (st = record_input(&m->c.record, description))) &&
	    !(st = measure_read(m, in, NULL))) {
		const bool found = q.find;

		st = iso_nema_find(&q, moved, &m->x[0]);
		if (!st && found) st = put_moved(m, moved);
		if (!st && !(st = iso_measure_nema(&r, &m->x[0], &q))) st = put(m, &q, &r);
	}
	return measure_end(m, st);
}
