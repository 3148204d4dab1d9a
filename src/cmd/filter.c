/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome filter: a Gaussian or a median over an image. */
#include "cmd.h"

#include "core/vec.h"

static const struct opt_usage usage = {
	"filter",
	"Smooth an image: with a Gaussian of a full width at half maximum in mm, one for all "
	"axes or one each (it ends at 3 sigma), or with the median of the N x N x N voxels "
	"around each voxel. Beyond the border the edge voxel goes on.",
	"  isotome filter gaussian:5 image.nii -o smooth.nii\n"
	"  isotome filter gaussian:4,4,6 image.nii.gz -o smooth.nii.gz\n"
	"  isotome filter median:3 image.nii -o median.nii\n",
};

/* A median needs no voxel size; a Gaussian in mm does. */
static int read_image(struct cmd *c, struct iso_array *x, struct iso_grid *g, const char *path,
                      const struct iso_filter *f)
{
	int st = cmd_read(c, x, path, ISO_FINITE);

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

static int check_memory(struct cmd *c, const struct iso_filter *f, const struct iso_grid *g)
{
	struct iso_plan plan = cmd_plan_begin(c);
	int64_t n = iso_grid_voxels(g);

	iso_plan_add(&plan, "image before and after", n, 2 * sizeof(iso_real), iso_ctx_is_cuda(c->ctx));
	iso_filter_plan(&plan, c->ctx, f, g);
	return cmd_plan(c, &plan);
}

/* In place, as seen from the host. */
static int apply(struct cmd *c, const struct iso_filter *f, const struct iso_grid *g, struct iso_array *image)
{
	const struct iso_vec *v = iso_ctx_vec(c->ctx);
	int64_t bytes = image->n * (int64_t)sizeof *image->v;
	iso_real *x = NULL, *y = NULL;
	int st;

	if ((st = iso_vec_alloc(c->ctx, &x, image->n))) goto done;
	if ((st = iso_vec_alloc(c->ctx, &y, image->n))) goto done;
	if ((st = v->upload(c->ctx, x, image->v, bytes))) goto done;
	if ((st = iso_filter_apply(y, c->ctx, f, g, x))) goto done;
	st = v->download(c->ctx, image->v, y, bytes);
done:
	v->free(c->ctx, x);
	v->free(c->ctx, y);
	return st;
}

static int run(struct cmd *c, const struct iso_filter *f, const char *in, const char *out)
{
	struct iso_array image = { 0 };
	struct iso_grid g;
	int st;

	record_stage(&c->record, "read");
	if ((st = record_input(&c->record, in))) goto done;
	if ((st = read_image(c, &image, &g, in, f))) goto done;
	if ((st = check_memory(c, f, &g))) goto done;
	record_stage(&c->record, "filter");
	if ((st = apply(c, f, &g, &image))) goto done;
	record_stage(&c->record, NULL);
	if ((st = cmd_write(c, out, &image))) goto done;
	st = cmd_report(c);
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
		{ 0, "input", .text = &in, .file = OPT_READS, .value = "IMAGE", .positional = true,
		  .required = true, .help = "image to filter" },
		{ 'o', "output", .text = &out, .file = OPT_WRITES, .value = "FILE", .required = true,
		  .help = "filtered image (.nii, .nii.gz, .npy, .raw)" },
		{ 0 },
	};
	struct cmd c = { 0 };
	struct opt_set sets[] = { { NULL, own }, cmd_common(&c, CMD_COMPUTES | CMD_WRITES), { 0 } };
	struct iso_filter f;
	int st;

	if ((st = cmd_parse(&c, &usage, sets, argc, argv))) goto done;
	if ((st = iso_filter_parse(&f, text))) goto done;
	if ((st = cmd_check_array(&c, out))) goto done;
	if ((st = cmd_begin(&c))) goto done;
	st = run(&c, &f, in, out);
done:
	cmd_end(&c);
	return st;
}
