/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome sens: the sensitivity image of a scanner. */
#include "cmd.h"

#include "problem/problem.h"

static const struct opt_usage usage = {
	"sens",
	"Make the sensitivity image: how much of each voxel the whole scanner sees, with attenuation and "
	"efficiencies. The scanner may come from a file of events.",
	"  isotome sens scan.Cdh -o s.nii\n"
	"  isotome sens ray --scanner examples/scanners/clinical-ring.yaml \\\n"
	"      --grid 128,128,50 --voxel 4 -o s.nii\n"
	"  isotome sens ray --scanner ring.yaml --mu mu.nii --sens-share 1 --grid 128 --voxel 4 -o s.nii\n"
	"  isotome sens strip --scanner examples/scanners/bialas2015.yaml -o s.npy\n"
	"  isotome sens srm --srm m.srm --norm n.npy -o s.nii\n",
};

static int run(iso_problem *p, const char *out)
{
	struct iso_array s = { 0 };
	int st;

	if ((st = problem_load(p, MODEL_NEEDS_SENS, NULL))) return st;
	struct iso_grid g = p->found.grid;

	if ((st = iso_write_check_grid(out, &g))) return st;
	st = problem_sens(p, &s);
	if (!st) st = iso_problem_write(out, p, &s);
	iso_array_free(&s);
	return st;
}

int main_sens(int argc, char **argv)
{
	iso_problem *p = NULL;
	const char *out = NULL;
	struct cmd c = { 0 };
	int st = cmd_problem(&p, &c, argc, argv);

	if (st) return st;
	struct opt own[] = {
		cmd_model(&c),
		cmd_data(&c, p),
		CMD_OUTPUT(out, "sensitivity image (.nii, .nii.gz, .hv, .npy, .raw)"),
		{ 0 },
	};
	struct opt_set sets[] = { { NULL, own },
		                  p->sets[SET_MODEL],
		                  p->sets[SET_CHECKS],
		                  cmd_common(&c, CMD_COMPUTES | CMD_WRITES),
		                  { 0 } };

	if (!(st = cmd_parse(&c, &usage, sets, argc, argv)) && !(st = cmd_check_array(&c, out)) &&
	    !(st = cmd_problem_begin(p, &c)))
		st = run(p, out);
	iso_problem_free(p);
	return cmd_end(&c, st);
}
