/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome project and isotome backproject: the model's operator and its adjoint, by hand. */
#include "cmd_problem.h"

#include "core/status.h"
#include "io/format.h"

static const struct opt_usage project_usage = {
	"project",
	"Forward projection of an image: y = m A x + r, one value per event, in the file's order. "
	"m holds what --mu, --norm and --scanner say, r is --additive and randoms; without them "
	"y = A x. With --psf the image is blurred first.",
	"  isotome project ray x.nii --events e.lmdT -o y.npy\n"
	"  isotome project ray x.npy --events e.lmdT --grid 64 --voxel 2 --mu mu.nii -o y.npy\n"
	"  isotome project ray x.nii --events e.lmdT --projector joseph --psf 4 -o y.npy\n"
	"  isotome project strip x.npy --scanner strips.yaml --events e.f32 -o y.npy\n"
	"  isotome project svoxel x.nii --scanner array.yaml -o spectra.npy\n"
	"  isotome project srm x.nii --srm m.srm -o counts.npy\n",
};

static const struct opt_usage backproject_usage = {
	"backproject",
	"Back projection of one value per event: x = A* (m y), the adjoint of `project` without r.",
	"  isotome backproject ray y.npy --events e.lmdT --grid 128 --voxel 4 -o x.nii\n",
};

struct apply {
	iso_problem *p;
	struct cmd *c;
	const char *in, *out;
	struct iso_array from, to;
};

/* What project and backproject do in their own way. */
struct direction {
	const struct opt_usage *usage;
	const char *what; /* the input, in words */
	int (*run)(struct apply *a);
};

static int read_input(struct apply *a, enum iso_values allowed)
{
	int st;

	record_stage(&a->c->record, "read");
	if ((st = cmd_read(a->c, &a->from, a->in, allowed))) return st;
	return record_input(&a->c->record, a->in);
}

/* The image to project: on its own grid, or a file without one on that of the options. */
static int run_project(struct apply *a)
{
	int st;

	if ((st = read_input(a, ISO_FINITE))) return st;
	if ((st = problem_project(a->p, &a->to, &a->from, a->in))) return st;
	return cmd_write(a->c, a->out, &a->to);
}

static int run_backproject(struct apply *a)
{
	int st;

	if ((st = read_input(a, ISO_FINITE | (a->p->m->show ? ISO_PAIRS : 0)))) return st;
	if ((st = problem_backproject(a->p, &a->to, &a->from, a->in, a->out))) return st;
	return problem_write_image(a->p, a->out, &a->to);
}

static const struct direction project = { &project_usage, "image to project", run_project };

static const struct direction backproject = { &backproject_usage, "array with one value per event",
	                                      run_backproject };

static int command(int argc, char **argv, const struct direction *d)
{
	struct cmd c = { 0 };
	struct apply a = { .c = &c };
	int st = cmd_problem(&a.p, &c, argc, argv);

	if (st) return st;
	struct opt own[] = {
		cmd_model(&c),
		{ 0, "input", .text = &a.in, .file = OPT_MAY_READ, .value = "INPUT", .positional = true,
		  .required = true, .help = d->what },
		{ 'o', "output", .text = &a.out, .file = OPT_WRITES, .value = "FILE", .required = true,
		  .help = "result (.npy, .nii, .nii.gz, .raw)" },
		{ 0 },
	};
	struct opt_set sets[] = { { NULL, own },
		                  { NULL, a.p->psf },
		                  { a.p->m->title, a.p->params },
		                  cmd_common(&c, CMD_COMPUTES | CMD_WRITES),
		                  { 0 } };

	if ((st = cmd_parse(&c, d->usage, sets, argc, argv))) goto done;
	if ((st = cmd_check_array(&c, a.out))) goto done;
	if ((st = cmd_problem_begin(a.p, &c))) goto done;
	if ((st = d->run(&a))) goto done;
	st = cmd_report(&c);
done:
	iso_array_free(&a.from);
	iso_array_free(&a.to);
	iso_problem_free(a.p);
	cmd_end(&c);
	return st;
}

int main_project(int argc, char **argv)
{
	return command(argc, argv, &project);
}

int main_backproject(int argc, char **argv)
{
	return command(argc, argv, &backproject);
}
