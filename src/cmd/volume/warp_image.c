/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome warp: an image moved by a displacement field, or by the transpose of that. */
#include "cmd/cmd.h"

#include <string.h>

static const char *const axes_words[] = { "auto", "ras", "lps", NULL }; /* of enum iso_field_axes */

struct warp_settings {
	const char *in, *field, *axes, *out;
	bool adjoint, mass;
};

static const struct opt_usage usage = {
	"warp",
	"Move an image by a displacement field u: the result at x is the image at x + u(x). The field comes "
	"from a registration whose fixed image is the result's state, and whose moving image is IMAGE. With "
	"--adjoint the transpose is applied: each value goes back to the eight voxels that it came from, "
	"with "
	"the same weights. That is not the inverse. Isotome interpolates linearly. Beyond the image the "
	"values are 0. The field may lie on another grid than the image.",
	"  isotome warp image.nii --field u3.nii -o gate3.nii\n"
	"  isotome warp image.nii --field u3.nii --mass -o gate3.nii\n"
	"  isotome warp gate3.nii --field 1Warp.nii.gz --adjoint -o back.nii\n",
};

/* The record and a warning tell of voxels where the field folds. */
static int look_at_folds(struct cmd *c, const struct iso_warp *p)
{
	struct iso_warp_folds f = { .size = sizeof f };
	int st = iso_warp_jacobian(NULL, &f, c->ctx, p);

	if (st) return st;
	if (f.voxels > 0)
		record_warn(&c->record,
		            "%s: the field folds: det(1 + du/dx) is 0 or below in %" PRId64
		            " voxels, %g at least",
		            p->name, f.voxels, f.least);
	return record_result(
		&c->record, "jacobian",
		record_pack("{s:I, s:f}", "folded_voxels", (json_int_t)f.voxels, "least", f.least));
}

static int apply(struct cmd *c, const struct warp_settings *s, struct iso_array *x,
                 const struct iso_field *field)
{
	const struct iso_warp p = { .size = sizeof p,
		                    .grid = x->grid,
		                    .field_grid = field->grid,
		                    .field = field->v,
		                    .mass = s->mass,
		                    .name = s->field };
	struct iso_array y = { 0 };
	int st;

	record_stage(&c->record, "warp");
	if ((st = look_at_folds(c, &p)) || (st = iso_array_on_grid(&y, &x->grid)) ||
	    (st = iso_warp_image(y.v, c->ctx, &p, s->adjoint, x->v)))
		goto done;
	record_stage(&c->record, NULL);
	memcpy(y.unit, x->unit, sizeof y.unit);
	st = cmd_write(c, s->out, &y);
done:
	iso_array_free(&y);
	return st;
}

static int plan(struct cmd *c, const struct iso_array *x, const struct iso_field *field)
{
	const struct iso_warp p = { .size = sizeof p, .grid = x->grid };
	struct iso_plan plan = cmd_plan_begin(c);

	iso_plan_add(&plan, "image before and after", x->n, 2 * sizeof(iso_real), false);
	iso_plan_add(&plan, "field as read", iso_grid_voxels(&field->grid), 3 * sizeof(iso_real), false);
	iso_warp_plan(&plan, c->ctx, &p);
	return cmd_plan(c, &plan);
}

static int run(struct cmd *c, const struct warp_settings *s)
{
	struct iso_array x = { 0 };
	struct iso_field field = { 0 };
	int st;

	record_stage(&c->record, "read");
	if ((st = record_input(&c->record, s->in)) || (st = record_input(&c->record, s->field)) ||
	    (st = record_read(&c->record, &x, s->in, ISO_FINITE)))
		goto done;
	if (x.n_dim != 3 || !x.has_grid) {
		st = iso_fail(ISO_EINPUT,
		              "%s: an image (nz, ny, nx) with voxel sizes was expected, as in .nii", s->in);
		goto done;
	}
	if ((st = iso_field_read(&field, s->field, (enum iso_field_axes)opt_place(axes_words, s->axes),
	                         &x.grid)) ||
	    (st = plan(c, &x, &field)))
		goto done;
	st = apply(c, s, &x, &field);
done:
	iso_field_free(&field);
	iso_array_free(&x);
	return st;
}

int main_warp(int argc, char **argv)
{
	struct warp_settings s = { .axes = "auto" };
	struct opt own[] = {
		CMD_ARGUMENT("input", s.in, OPT_READS, "IMAGE", "image to move"),
		{ 0, "field", .text = &s.field, .file = OPT_READS, .value = "FILE", .required = true,
		  .help = "displacement field (.nii, .nii.gz, .npy): from the place of a voxel of the result "
		          "to "
		          "its place in IMAGE, mm" },
		{ 0, "field-axes", .text = &s.axes, .words = axes_words, .value = "AXES",
		  .help = "which way the vectors point: as the file says (auto), right, anterior, superior "
		          "(ras), "
		          "or left, posterior, superior (lps)" },
		{ 0, "adjoint", .flag = &s.adjoint, .help = "apply the transpose" },
		{ 0, "mass", .flag = &s.mass,
		  .help = "multiply by the Jacobian determinant: the activity moves, not the concentration" },
		CMD_OUTPUT(s.out, "the image moved (.nii, .nii.gz, .hv, .npy, .raw)"),
		{ 0 },
	};
	struct cmd c = { .cpu_first = true };
	struct opt_set sets[] = { { NULL, own }, cmd_common(&c, CMD_COMPUTES | CMD_WRITES), { 0 } };
	int st = cmd_parse(&c, &usage, sets, argc, argv);

	if (!st && !(st = cmd_check_array(&c, s.out)) && !(st = cmd_begin(&c))) st = run(&c, &s);
	return cmd_end(&c, st);
}
