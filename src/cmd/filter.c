/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome filter: a Gaussian or a median over an image. */
#include "cmd.h"

static const struct opt_usage usage = {
	"filter",
	"Smooth an image. A Gaussian has a full width at half maximum in mm, one "
	"for all axes or one each, and ends at 3 sigma. A median takes the N x N x "
	"N voxels around each voxel. Beyond the border the edge voxel is repeated.",
	"  isotome filter gaussian:5 image.nii -o smooth.nii\n"
	"  isotome filter gaussian:4,4,6 image.nii.gz -o smooth.nii.gz\n"
	"  isotome filter median:3 image.nii -o median.nii\n",
};

/* A median needs no voxel size; a Gaussian in mm does. */
static int read_image(struct cmd *c, struct iso_array *x, struct iso_grid *g, const char *path,
                      const struct iso_filter *f)
{
	int st = record_read(&c->record, x, path, ISO_FINITE);

	if (st) return st;
	if (x->n_dim != 3)
		return iso_fail(ISO_EINPUT, "%s: %d axes, an image (nz, ny, nx) was expected", path,
		                x->n_dim);
	if (!x->has_grid && f->kind == ISO_GAUSSIAN)
		return iso_fail(ISO_EINPUT,
		                "%s: holds no voxel size, and the filter is in mm; "
		                "'isotome convert --voxel' gives it one",
		                path);
	*g = (struct iso_grid){ { x->dim[2], x->dim[1], x->dim[0] }, { 1, 1, 1 }, { 0 } };
	if (x->has_grid) *g = x->grid;
	return ISO_OK;
}

static int run(struct cmd *c, const struct iso_filter *f, const char *in, const char *out)
{
	struct iso_array image = { 0 };
	struct iso_plan plan;
	struct iso_grid g;
	int st;

	record_stage(&c->record, "read");
	if ((st = record_input(&c->record, in)) || (st = read_image(c, &image, &g, in, f))) goto done;
	plan = cmd_plan_begin(c);
	iso_plan_add(&plan, "image before and after", iso_grid_voxels(&g), 2 * sizeof(iso_real),
	             iso_ctx_is_cuda(c->ctx));
	iso_filter_plan(&plan, c->ctx, f, &g);
	if ((st = cmd_plan(c, &plan))) goto done;
	record_stage(&c->record, "filter");
	if ((st = iso_filter_host(image.v, c->ctx, f, &g))) goto done;
	record_stage(&c->record, NULL);
	st = cmd_write(c, out, &image);
done:
	iso_array_free(&image);
	return st;
}

int main_filter(int argc, char **argv)
{
	const char *text = NULL, *in = NULL, *out = NULL;
	struct opt own[] = {
		{ 0, "filter", .text = &text, .value = "FILTER", .positional = true, .required = true,
		  .help = "gaussian:MM, gaussian:X,Y,Z (0 leaves an axis alone) or median:N "
		          "(N is 3, 5, 7 or 9)" },
		CMD_ARGUMENT("input", in, OPT_READS, "IMAGE", "image to filter"),
		CMD_OUTPUT(out, "filtered image (.nii, .nii.gz, .hv, .npy, .raw)"),
		{ 0 },
	};
	struct cmd c = { 0 };
	struct opt_set sets[] = { { NULL, own }, cmd_common(&c, CMD_COMPUTES | CMD_WRITES), { 0 } };
	struct iso_filter f;
	int st = cmd_parse(&c, &usage, sets, argc, argv);

	if (!st && !(st = iso_filter_parse(&f, text)) && !(st = cmd_check_array(&c, out)) &&
	    !(st = cmd_begin(&c)))
		st = run(&c, &f, in, out);
	return cmd_end(&c, st);
}
