/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome sens: the sensitivity image of a scanner. */
#include "problem/model.h"

static const struct opt_usage usage = {
	"sens",
	"Make the sensitivity image: what the scanner as a whole sees of each voxel, with attenuation "
	"and efficiencies.",
	"  isotome sens ray --scanner examples/scanners/clinical-ring.yaml \\\n"
	"      --grid 128,128,50 --voxel 4 -o s.nii\n"
	"  isotome sens ray --scanner ring.yaml --mu mu.nii --sens-share 1 --grid 128 --voxel 4 -o s.nii\n"
	"  isotome sens strip --scanner examples/scanners/bialas2015.yaml -o s.npy\n"
	"  isotome sens srm --srm m.srm --norm n.npy -o s.nii\n",
};

static int run(struct cmd *c, const struct model *m, const char *out)
{
	struct iso_grid g = m->grid();
	struct iso_plan plan = cmd_plan_begin(c);
	struct iso_array s = { 0 };
	int st;

	if ((st = iso_write_check_grid(out, &g))) goto done;
	iso_plan_add(&plan, "sensitivity, and its second half", iso_grid_voxels(&g), 2 * sizeof(iso_real),
	             false);
	m->plan(&plan, c, &(struct model_subsets){ .n = 1 });
	if ((st = cmd_plan(c, &plan))) goto done;
	record_stage(&c->record, "sensitivity");
	if ((st = m->sens(&s, c))) goto done;
	if ((st = model_write(m, c, out, &s))) goto done;
	st = cmd_report(c);
done:
	iso_plan_free(&plan);
	iso_array_free(&s);
	return st;
}

int main_sens(int argc, char **argv)
{
	const struct model *m = NULL;
	const char *name = NULL, *out = NULL;
	struct cmd c = { 0 };
	int st = model_pick(&m, argc, argv);

	if (st) return st;
	struct opt own[] = {
		model_positional(&name),
		{ 'o', "output", .text = &out, .file = OPT_WRITES, .value = "FILE", .required = true,
		  .help = "sensitivity image (.nii, .nii.gz, .npy, .raw)" },
		{ 0 },
	};
	struct opt_set sets[] = {
		{ NULL, own }, { m->title, m->opts }, cmd_common(&c, CMD_COMPUTES | CMD_WRITES), { 0 }
	};

	if ((st = cmd_parse(&c, &usage, sets, argc, argv))) goto done;
	if ((st = cmd_check_array(&c, out))) goto done;
	if ((st = cmd_begin(&c))) goto done;
	record_stage(&c.record, "read");
	if ((st = m->load(&c, sets, MODEL_NEEDS_SENS, NULL))) goto done;
	st = run(&c, m, out);
done:
	m->unload();
	cmd_end(&c);
	return st;
}
