/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome measure diff and isotome measure rmse: two arrays held against each other. */
#include "measure.h"

#include "core/status.h"

#include <stdio.h>
#include <string.h>

static const struct opt_usage diff_usage = {
	"measure",
	"How far A is from B: largest |a - b|, mean of a - b, relative difference in the L2 "
	"norm, and diff% = 100 sum |a - b| / sum |b|. Arrays of any shape; of two images the "
	"grids must agree.",
	"  isotome measure diff cpu.nii cuda.nii --below 0.01\n",
};

static const struct opt_usage rmse_usage = {
	"measure",
	"Root of the mean squared error of an image against a reference, also over the mean of "
	"the reference (NRMSE). Images that differ in scale can be scaled first: so that the "
	"sums agree, or so that the error is smallest.",
	"  isotome measure rmse image.nii truth.nii --scale fit\n"
	"  isotome measure rmse image.nii truth.nii --mask body.nii --scale sum --below 0.1\n",
};

static int read_input(struct iso_array *x, struct measure *m, const char *path)
{
	int st = record_input(&m->c.record, path);

	return st ? st : cmd_read(&m->c, x, path, ISO_FINITE);
}

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
		                "%s and %s lie on other grids; voxel sizes and centres "
		                "must be the same",
		                a_name, b_name);
	return ISO_OK;
}

static int read_like(struct iso_array *x, struct measure *m, const char *path, const struct iso_array *first,
                     const char *first_name)
{
	int st = read_input(x, m, path);

	return st ? st : check_same(first, first_name, x, path);
}

/* ---- diff ---- */

static int put_diff(struct measure *m, const struct iso_diff *d)
{
	struct record *r = &m->c.record;
	int st;

	if ((st = record_result(r, "max_abs", record_real(d->max_abs))) ||
	    (st = record_result(r, "mean", record_real(d->mean))) ||
	    (st = record_result(r, "relative_l2", record_real(d->l2))) ||
	    (st = record_result(r, "diff_percent", record_real(d->percent))))
		return st;
	if (!m->c.json)
		printf("max |a - b|    %.7g\nmean of a - b  %.7g\nrelative L2    %.7g\n"
		       "diff%%          %.7g\n",
		       d->max_abs, d->mean, d->l2, d->percent);
	return measure_end(m, "diff%", d->percent);
}

static int run_diff(struct measure *m, const char *a_name, const char *b_name)
{
	struct iso_array a = { 0 }, b = { 0 };
	struct iso_diff d;
	int st;

	if ((st = read_input(&a, m, a_name))) goto done;
	if ((st = read_like(&b, m, b_name, &a, a_name))) goto done;
	iso_measure_diff(&d, a.n, a.v, b.v);
	st = put_diff(m, &d);
done:
	iso_array_free(&a);
	iso_array_free(&b);
	return st;
}

int measure_diff(int argc, char **argv)
{
	struct measure m = MEASURE_BEGIN;
	const char *a = NULL, *b = NULL;
	struct opt own[] = {
		measure_kind(&m, "diff", "the difference of two arrays"),
		{ 0, "a", .text = &a, .file = OPT_MAY_READ, .value = "A", .positional = true,
		  .required = true, .help = "array or image" },
		{ 0, "b", .text = &b, .file = OPT_MAY_READ, .value = "B", .positional = true,
		  .required = true, .help = "what it is held against" },
		measure_below(&m, "diff% must be below X"),
		{ 0 },
	};
	struct opt_set sets[] = { { NULL, own }, cmd_common(&m.c, 0), { 0 } };
	int st = cmd_parse(&m.c, &diff_usage, sets, argc, argv);

	if (!st) st = run_diff(&m, a, b);
	cmd_end(&m.c);
	return st;
}

/* ---- rmse ---- */

static const char *const scales[] = { "none", "sum", "fit", NULL }; /* as enum iso_scale */

static int put_rmse(struct measure *m, const struct iso_rmse *e)
{
	struct record *r = &m->c.record;
	int st;

	if ((st = record_result(r, "values", json_integer(e->n))) ||
	    (st = record_result(r, "scale", record_real(e->scale))) ||
	    (st = record_result(r, "rmse", record_real(e->rmse))) ||
	    (st = record_result(r, "nrmse", record_real(e->nrmse))))
		return st;
	if (!m->c.json)
		printf("values  %" PRId64 "\nscale   %.7g\nRMSE    %.7g\nNRMSE   %.7g\n", e->n, e->scale,
		       e->rmse, e->nrmse);
	return measure_end(m, "NRMSE", e->nrmse);
}

static int run_rmse(struct measure *m, const char *a_name, const char *ref_name, const char *mask_name,
                    const char *scale)
{
	struct iso_array a = { 0 }, ref = { 0 }, mask = { 0 };
	struct iso_rmse e;
	int st;

	if ((st = read_input(&a, m, a_name))) goto done;
	if ((st = read_like(&ref, m, ref_name, &a, a_name))) goto done;
	if (mask_name && (st = read_like(&mask, m, mask_name, &a, a_name))) goto done;
	if ((st = iso_measure_rmse(&e, a.n, a.v, ref.v, mask.v, (enum iso_scale)opt_place(scales, scale))))
		goto done;
	st = put_rmse(m, &e);
done:
	iso_array_free(&a);
	iso_array_free(&ref);
	iso_array_free(&mask);
	return st;
}

int measure_rmse(int argc, char **argv)
{
	struct measure m = MEASURE_BEGIN;
	const char *a = NULL, *ref = NULL, *mask = NULL, *scale = "none";
	struct opt own[] = {
		measure_kind(&m, "rmse", "the error of an image"),
		{ 0, "image", .text = &a, .file = OPT_MAY_READ, .value = "IMAGE", .positional = true,
		  .required = true, .help = "array or image" },
		{ 0, "reference", .text = &ref, .value = "REFERENCE", .positional = true, .required = true,
		  .help = "what it should be" },
		{ 0, "mask", .text = &mask, .file = OPT_MAY_READ, .value = "FILE",
		  .help = "compare only where this is not 0" },
		{ 0, "scale", .text = &scale, .words = scales, .value = "HOW",
		  .help = "scale the image first" },
		measure_below(&m, "NRMSE must be below X"),
		{ 0 },
	};
	struct opt_set sets[] = { { NULL, own }, cmd_common(&m.c, 0), { 0 } };
	int st = cmd_parse(&m.c, &rmse_usage, sets, argc, argv);

	if (!st) st = run_rmse(&m, a, ref, mask, scale);
	cmd_end(&m.c);
	return st;
}
