/* SPDX-License-Identifier: BSD-3-Clause */
/* Model sradon as a problem: traces by integrals over spheres (Wang 2013, PLS-Int). */
#include "sound.h"

struct sradon {
	struct sound sound; /* first: what the optoacoustic models share */
	const char *sampling, *adjoint, *sir;
	double step, accuracy, sir_error;
	struct iso_sradon model;
};

static const char *const samplings[] = { "midpoint", "alg4", NULL };         /* as the enum */
static const char *const adjoints[] = { "auto", "gather", "scatter", NULL }; /* as the enum */

static const char *const sirs[] = { "point", "focus", NULL };

static void params(struct opt *table, void *self)
{
	struct sradon *sradon = self;
	const struct opt own[] = {
		{ 0, "data", .text = &sradon->sound.data, .file = OPT_READS, .takes = ISO_TAKES_ARRAY,
		  .value = "FILE", .help = SOUND_DATA },
		{ 0, "sampling", .text = &sradon->sampling, .words = samplings, .value = "NAME",
		  .help = "sampling of the spheres: midpoint (patches of exact area) or alg4 (the paper's)" },
		{ 0, "adjoint", .text = &sradon->adjoint, .words = adjoints, .value = "NAME",
		  .help = "gather (voxel by voxel) or scatter (sample by sample); both give the same image. "
		          "auto: the faster one on the device" },
		{ 0, "step", .real = &sradon->step, .unit = "voxels", .value = "S", .min = .125, .max = 4,
		  .absent = "by 'accuracy', or 1",
		  .help = "distance between the points on a sphere; the work falls with its square" },
		{ 0, "accuracy", .real = &sradon->accuracy, .value = "E", .min = 1e-4, .max = .5,
		  .absent = "'step' is 1",
		  .help = "relative error of traces that the distance between points may cause, for an image "
		          "whose edges are blurred by half a voxel; it chooses 'step'" },
		{ 0, "sir", .text = &sradon->sir, .words = sirs, .value = "NAME",
		  .help = "how a transducer hears: point; focus (the mean over its face, which focus_mm or "
		          "bowl_mm may curve)" },
		{ 0, "sir-error", .real = &sradon->sir_error, .value = "E", .min = 1e-9, .max = .5,
		  .absent = "1e-2",
		  .help = "relative error of what a face hears; it chooses how many points it has" },
		{ 0 },
	};

	_Static_assert(sizeof own <= (MODEL_PARAMS - SOUND_PARAMS) * sizeof *own, "room for the parameters");
	*sradon = (struct sradon){ .sampling = "midpoint", .adjoint = "auto", .sir = "point" };
	memcpy(table + sound_params(table, &sradon->sound), own, sizeof own);
}

/* Where the spheres are sampled, into the record. */
static int tell_points(iso_problem *problem)
{
	const struct sradon *sradon = problem->self;

	return record_set(problem->record, "points",
	                  record_pack("{s:s, s:f}", "sampling", sradon->sampling, "step_voxels",
	                              iso_sradon_step(&sradon->model)));
}

static int load(iso_problem *problem, int need, const struct iso_grid *image)
{
	struct sradon *sradon = problem->self;
	int st = sound_load(problem, need, image);

	sradon->model = (struct iso_sradon){
		.size = sizeof sradon->model,
		.t = sradon->sound.t,
		.grid = sradon->sound.grid,
		.sampling = (enum iso_sradon_sampling)opt_place(samplings, sradon->sampling),
		.adjoint = (enum iso_sradon_adjoint)opt_place(adjoints, sradon->adjoint),
		.step = sradon->step,
		.accuracy = sradon->accuracy,
		.focus = opt_place(sirs, sradon->sir) == 1,
		.faces = sradon->sound.faces,
		.sir_error = sradon->sir_error,
	};
	if (!st && problem_given(problem, "sir-error") && !sradon->model.focus)
		st = iso_fail(ISO_EARG, "'sir-error' is for 'sir' focus, which is a mean over faces");
	return st;
}

static void plan(iso_problem *problem, struct iso_plan *lines, const struct model_subsets *s)
{
	struct sradon *sradon = problem->self;

	(void)s;
	sound_plan_delays(problem, lines);
	iso_sradon_plan(lines, problem->ctx, &sradon->model);
}

static int sample(iso_problem *problem, iso_op **made, iso_ctx *alone, double *times)
{
	struct iso_sradon some = ((struct sradon *)problem->self)->model;
	struct iso_transducers t = sound_sample(some.t, alone, times);

	some.t = &t;
	int st = sound_delays(&some.delays, problem);

	return st ? st : iso_sradon_create(made, alone, &some);
}

static int op(iso_problem *problem, iso_op **made, const struct model_subsets *s)
{
	struct sradon *sradon = problem->self;

	int st = sound_delays(&sradon->model.delays, problem);

	(void)s; /* one subset */
	if (!st) st = iso_sradon_create(made, problem->ctx, &sradon->model);
	return st ? st : tell_points(problem);
}

const struct model model_sradon = {
	.name = "sradon",
	.title = "Model sradon",
	.about = "optoacoustics by traces",
	.has = MODEL_SIGNS,
	.bytes = sizeof(struct sradon),
	.params = params,
	.row_name = "samples",
	.load = load,
	SOUND_FUNCTIONS,
	.plan = plan,
	.sample = sample,
	.op = op,
	.data = sound_data,
};
