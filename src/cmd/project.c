/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome project and isotome backproject: the model's operator and its adjoint, by hand. */
#include "cmd.h"

#include "problem/problem.h"

static const struct opt_usage project_usage = {
	"project",
	"Project an image forward: y = m A x + r, one value per event, in the file's order. m comes from "
	"--mu, --norm and --scanner; r comes from --additive and randoms. Without them y = A x. With --psf "
	"the image is blurred first.",
	"  isotome project ray x.nii --events e.lmdT -o y.npy\n"
	"  isotome project ray x.npy --events e.lmdT --grid 64 --voxel 2 --mu mu.nii -o y.npy\n"
	"  isotome project ray x.nii --events e.lmdT --projector joseph --psf 4 -o y.npy\n"
	"  isotome project strip x.npy --scanner strips.yaml --events e.f32 -o y.npy\n"
	"  isotome project svoxel x.nii --scanner array.yaml -o spectra.npy\n"
	"  isotome project srm x.nii --srm m.srm -o counts.npy\n",
};

static const struct opt_usage backproject_usage = {
	"backproject",
	"Project one value per event back: x = A* (m y), the adjoint of `project` without r.",
	"  isotome backproject ray y.npy --events e.lmdT --grid 128 --voxel 4 -o x.nii\n",
};

/* The image to project: on its own grid, or a file without one on that of the options. */
static int run(iso_problem *p, struct cmd *c, bool back, const char *in, const char *out)
{
	enum iso_values allowed = ISO_FINITE | (back && p->m->show ? ISO_PAIRS : 0);
	struct iso_array from = { 0 }, to = { 0 };
	int st;

	record_stage(&c->record, "read");
	if ((st = record_read(&c->record, &from, in, allowed)) || (st = record_input(&c->record, in)))
		goto done;
	if ((st = back ? problem_backproject(p, &to, &from, in, out) : problem_project(p, &to, &from, in)))
		goto done;
	st = back ? iso_problem_write(out, p, &to) : cmd_write(c, out, &to);
done:
	iso_array_free(&from);
	iso_array_free(&to);
	return st;
}

static int apply(bool back, int argc, char **argv)
{
	const char *in = NULL, *out = NULL;
	struct cmd c = { 0 };
	iso_problem *p = NULL;
	int st = cmd_problem(&p, &c, argc, argv);

	if (st) return st;
	struct opt own[] = {
		cmd_model(&c),
		CMD_ARGUMENT("input", in, OPT_MAY_READ, "INPUT",
		             back ? "array with one value per event" : "image to project"),
		CMD_OUTPUT(out, "result (.npy, .nii, .nii.gz, .raw)"),
		{ 0 },
	};
	struct opt_set sets[] = { { NULL, own },
		                  { NULL, p->psf },
		                  p->sets[SET_MODEL],
		                  p->sets[SET_CHECKS],
		                  cmd_common(&c, CMD_COMPUTES | CMD_WRITES),
		                  { 0 } };

	st = cmd_parse(&c, back ? &backproject_usage : &project_usage, sets, argc, argv);
	if (!st && !(st = cmd_check_array(&c, out)) && !(st = cmd_problem_begin(p, &c)))
		st = run(p, &c, back, in, out);
	iso_problem_free(p);
	return cmd_end(&c, st);
}

int main_project(int argc, char **argv)
{
	return apply(false, argc, argv);
}

int main_backproject(int argc, char **argv)
{
	return apply(true, argc, argv);
}
