/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome resample: an image on another grid. */
#include "onto.h"

#include <string.h>

struct resample {
	const char *in, *out;
	double smooth, shift[3];
	struct onto onto;
};

static const struct opt_usage usage = {
	"resample",
	"Put an image onto another grid: that of an image (--like), or one of your choice. The input is a "
	"NIfTI image, straight or oblique, or another image with voxel sizes. Where the new voxels are wider "
	"than the old ones, Isotome smooths first, by the difference. Then it interpolates linearly. Values "
	"stay what they are: an activity per volume keeps its unit, counts of a voxel do not add up any "
	"more. Outside the input the values are 0.",
	"  isotome resample atlas.nii.gz --like image.nii -o atlas_on_image.nii\n"
	"  isotome resample image.nii --voxel 2 -o fine.nii\n"
	"  isotome resample oblique.nii --smooth 4 --shift 0,0,-12.5 -o straight.nii\n",
};

static int plan(struct cmd *c, const struct resample *s, const struct iso_volume *v, const struct iso_grid *g)
{
	struct iso_plan p = cmd_plan_begin(c);

	iso_plan_add(&p, "input", v->dim[0] * v->dim[1] * v->dim[2], sizeof(iso_real), false);
	iso_plan_add(&p, "image", iso_grid_voxels(g), sizeof(iso_real), false);
	iso_volume_plan(&p, c->ctx, g, v, s->smooth);
	return cmd_plan(c, &p);
}

static int make(struct cmd *c, const struct resample *s, struct iso_volume *v, const struct iso_grid *g)
{
	struct iso_array x = { 0 };
	int64_t outside = 0, n = iso_grid_voxels(g);
	int st;

	for (int r = 0; r < 3; r++) v->affine[r][3] += s->shift[r];
	record_stage(&c->record, "resample");
	if ((st = iso_array_on_grid(&x, g)) ||
	    (st = iso_volume_resample(x.v, &outside, c->ctx, g, v, s->smooth)) ||
	    (st = record_result(&c->record, "outside_voxels", json_integer(outside))))
		goto done;
	record_stage(&c->record, NULL);
	if (outside == n) {
		st = iso_fail(ISO_EARG,
		              "the grid lies outside of %s; --centre or --shift brings them together", s->in);
		goto done;
	}
	if (outside > 0 && onto_asked(c))
		record_warn_share(&c->record, (double)outside, (double)n,
		                  "%.3g %% of the grid lies outside of %s; values are 0 there",
		                  100 * (double)outside / (double)n, s->in);
	memcpy(x.unit, v->unit, sizeof x.unit);
	st = cmd_write(c, s->out, &x);
done:
	iso_array_free(&x);
	return st;
}

static int run(struct cmd *c, struct resample *s)
{
	struct iso_volume v = { 0 };
	struct iso_grid g;
	int st;

	if ((st = iso_volume_peek(&v, s->in)) || (st = onto_inputs(c, &v)) ||
	    (st = onto_grid(&g, c, &s->onto, &v)) || (st = iso_write_check_grid(s->out, &g)) ||
	    (st = record_result(&c->record, "grid", cmd_grid_json(&g))) || (st = plan(c, s, &v, &g)))
		goto done;
	iso_volume_free(&v);
	record_stage(&c->record, "read");
	if (!(st = iso_volume_read(&v, c->ctx, s->in))) st = make(c, s, &v, &g);
done:
	iso_volume_free(&v);
	return st;
}

int main_resample(int argc, char **argv)
{
	struct resample s = { 0 };
	struct opt own[] = {
		CMD_ARGUMENT("input", s.in, OPT_READS, "IMAGE", "image to put onto another grid"),
		CMD_OUTPUT(s.out, "the image on the grid (.nii, .nii.gz, .hv, .npy, .raw)"),
		{ 0, "smooth", .real = &s.smooth, .value = "MM", .min = 0, .max = 1000,
		  .help = "full width at half maximum of a further Gaussian" },
		{ 0, "shift", .real = s.shift, .count = 3, .value = "X,Y,Z",
		  .help = "move the input by this much, mm" },
		{ 0 },
	};
	struct cmd c = { .cpu_only = true, .like_image = true };
	struct opt_set sets[] = { { NULL, own },
		                  onto_options(&s.onto, "the input"),
		                  cmd_common(&c, CMD_COMPUTES | CMD_WRITES),
		                  { 0 } };
	int st = cmd_parse(&c, &usage, sets, argc, argv);

	if (!st && !(st = cmd_check_array(&c, s.out)) && !(st = cmd_begin(&c))) st = run(&c, &s);
	return cmd_end(&c, st);
}
