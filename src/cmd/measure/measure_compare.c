/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome measure diff and isotome measure rmse: two arrays held against each other. */
#include "measure.h"

/* Where both have a grid, it must be the same; else the sizes alone. */
static int check_same(const struct iso_array *a, const char *a_name, const struct iso_array *b,
                      const char *b_name)
{
	bool same = a->n_dim == b->n_dim;

	for (int i = 0; i < a->n_dim && same; i++) same = a->dim[i] == b->dim[i];
	if (!same)
		return iso_fail(ISO_EINPUT,
		                "%s and %s have other sizes, %d axes with %" PRId64
		                " values and %d with %" PRId64 "; they must be the same",
		                a_name, b_name, a->n_dim, a->n, b->n_dim, b->n);
	if (a->has_grid && b->has_grid && !iso_grid_same(&a->grid, &b->grid))
		return iso_fail(ISO_EINPUT,
		                "%s and %s lie on other grids; voxel sizes and centres must be the same",
		                a_name, b_name);
	return ISO_OK;
}

/* The arrays in m->x, the mask last if there is one; all of one shape. */
static int read_all(struct measure *m, const char *a, const char *b, const char *mask)
{
	const char *const path[] = { a, b, mask };
	int st = ISO_OK;

	for (int i = 0; i < MEASURE_IMAGES && path[i] && !st; i++) {
		if (!(st = record_input(&m->c.record, path[i])))
			st = record_read(&m->c.record, &m->x[m->n++], path[i], ISO_FINITE);
		if (!st && i > 0) st = check_same(&m->x[0], a, &m->x[i], path[i]);
	}
	return st;
}

/* ---- diff ---- */

static const struct fact diff_facts[] = {
	COLUMN("max_abs", struct iso_diff, max_abs, "max |a - b|", 0, 7),
	COLUMN("mean", struct iso_diff, mean, "mean of a - b", 0, 7),
	COLUMN("relative_l2", struct iso_diff, l2, "relative L2", 0, 7),
	COLUMN("diff_percent", struct iso_diff, percent, "diff%", 0, 7),
	{ 0 },
};

static const struct opt_usage diff_usage = {
	"measure",
	"Say how far A is from B: the largest |a - b|, the mean of a - b, the relative difference in the L2 "
	"norm, and diff% = 100 sum |a - b| / sum |b|. Arrays may have any shape. If both are images, their "
	"grids must agree.",
	"  isotome measure diff cpu.nii cuda.nii --below 0.01\n"
};

int measure_diff(struct measure *m)
{
	const char *a = NULL, *b = NULL;
	struct opt own[] = {
		measure_word(m, "the difference of two arrays"),
		CMD_ARGUMENT("a", a, OPT_MAY_READ, "A", "array or image"),
		CMD_ARGUMENT("b", b, OPT_MAY_READ, "B", "array or image to compare A with"),
		measure_below(m, "diff%", "diff% must be below X"),
		{ 0 },
	};
	struct iso_diff d = { .size = sizeof d };
	int st = measure_parse(m, &diff_usage, own);

	if (!st && !(st = read_all(m, a, b, NULL)) &&
	    !(st = iso_measure_diff(&d, m->x[0].n, m->x[0].v, m->x[1].v))) {
		m->figure = d.percent;
		st = measure_put(m, diff_facts, &d, 15);
	}
	return measure_end(m, st);
}

/* ---- rmse ---- */

static const struct fact rmse_facts[] = {
	COLUMN("values", struct iso_rmse, n, "values", 0, 0),
	COLUMN("scale", struct iso_rmse, scale, "scale", 0, 7),
	COLUMN("rmse", struct iso_rmse, rmse, "RMSE", 0, 7),
	COLUMN("nrmse", struct iso_rmse, nrmse, "NRMSE", 0, 7),
	{ 0 },
};

static const struct opt_usage rmse_usage = {
	"measure",
	"Compute the root of the mean squared error of an image against a reference, also divided by the "
	"mean of the reference (NRMSE). Images that differ in scale can be scaled first, so that the sums "
	"agree, or so that the error is smallest.",
	"  isotome measure rmse image.nii truth.nii --scale fit\n"
	"  isotome measure rmse image.nii truth.nii --mask body.nii --scale sum --below 0.1\n"
};

int measure_rmse(struct measure *m)
{
	static const char *const scales[] = { "none", "sum", "fit", NULL }; /* as enum iso_scale */
	const char *image = NULL, *reference = NULL, *mask = NULL, *scale = "none";
	struct opt own[] = {
		measure_word(m, "the error of an image"),
		CMD_ARGUMENT("image", image, OPT_MAY_READ, "IMAGE", "array or image"),
		CMD_ARGUMENT("reference", reference, OPT_NO_FILE, "REFERENCE", "the true array or image"),
		{ 0, "mask", .text = &mask, .file = OPT_MAY_READ, .value = "FILE",
		  .help = "mask: compare only where this image is not 0" },
		{ 0, "scale", .text = &scale, .words = scales, .value = "HOW",
		  .help = "how to scale the image first" },
		measure_below(m, "NRMSE", "NRMSE must be below X"),
		{ 0 },
	};
	struct iso_rmse e = { .size = sizeof e };
	int st = measure_parse(m, &rmse_usage, own);

	if (!st && !(st = read_all(m, image, reference, mask)) &&
	    !(st = iso_measure_rmse(&e, m->x[0].n, m->x[0].v, m->x[1].v, m->x[2].v,
	                            (enum iso_scale)opt_place(scales, scale)))) {
		m->figure = e.nrmse;
		st = measure_put(m, rmse_facts, &e, 8);
	}
	return measure_end(m, st);
}
