/* SPDX-License-Identifier: BSD-3-Clause */
/* Model srm as a problem: the system matrix of two panels, its operator, its sensitivity. */
#include "model_srm.h"

#include "core/size.h"
#include "model/srm/matrix/srm_matrix.h"

#include <stdio.h>

static const char *const strategies[] = { "correlation", NULL };
static const char *const modes[] = { "model", "subtract", NULL };

static void params(struct opt *table, void *self)
{
	struct srm_model *srm = self;
	const struct opt own[] = {
		{ 0, "srm", .text = &srm->matrix, .file = OPT_READS, .takes = ISO_TAKES_MATRIX,
		  .value = "FILE", .help = "system matrix (.srm)" },
		{ 0, "data", .text = &srm->data, .file = OPT_LIST, .takes = ISO_TAKES_ARRAY, .value = "FILE",
		  .help = "histogram of counts over upper crystal x, z, lower crystal x, z; with "
		          "layers the upper and the lower layer come first. With 'gantry' one for each "
		          "angle: FILE,FILE,... or one file with the angles as the first axis" },
		{ 0, "gantry", .text = &srm->turn.gantry, .file = OPT_READS, .takes = ISO_TAKES_ARRAY,
		  .value = "FILE",
		  .help = "how the heads stand during each histogram: a table (.csv, .npy) of time_s and "
		          "angle_deg around z, or of poses. A row is a histogram, which begins at its time "
		          "and ends with the next row" },
		{ 0, "duration-s", .real = &srm->turn.duration_s, .unit = "s", .value = "S", .min = 1e-6,
		  .max = 1e9, .absent = "not known",
		  .help = "duration of the scan, for 'gantry' and for decay" },
		{ 0, "scanner", .text = &srm->scanner, .file = OPT_READS, .value = "FILE",
		  .help = "description of the panels; Isotome checks that the matrix belongs to this "
		          "scanner" },
		{ 0, "strategy", .text = &srm->strategy, .words = strategies, .value = "NAME",
		  .help = "correlation, the only one; 'isotome bench srm' has those of the papers" },
		{ 0, "norm", .text = &srm->norm, .file = OPT_LIST, .takes = ISO_TAKES_ARRAY, .value = "FILE",
		  .help = "normalisation per LOR; 0 marks a dead LOR. With 'gantry' one for all angles, or "
		          "one for each" },
		{ 0, "mu", .text = &srm->mu, .file = OPT_READS, .takes = ISO_TAKES_ARRAY, .value = "FILE",
		  .help = "attenuation map, 1/mm" },
		{ 0, "additive", .text = &srm->additive, .file = OPT_LIST, .takes = ISO_TAKES_ARRAY,
		  .value = "FILE",
		  .help = "mean of randoms and scatter per LOR, in counts; with 'gantry' one for each "
		          "angle" },
		{ 0, "delayed", .text = &srm->delayed, .file = OPT_LIST, .takes = ISO_TAKES_ARRAY,
		  .value = "FILE",
		  .help = "histogram of the delayed window; with 'gantry' one for each angle" },
		{ 0, "randoms", .text = &srm->randoms, .words = modes, .value = "MODE", .absent = "model",
		  .help = "with 'delayed': model (the mean of the delayed counts, a product of "
		          "crystal rates, is part of the model) or subtract (from the counts, which "
		          "biases low counts upwards)" },
		{ 0, "absolute", .flag = &srm->absolute,
		  .help = "correct for the share of the sensitivity that the matrix left out" },
		{ 0, "deal", .text = &srm->deal, .file = OPT_READS, .takes = ISO_TAKES_ARRAY, .value = "FILE",
		  .help = "subset number of each direction |dx|, |dz|, instead of a 'subset-rule'" },
		{ 0 },
	};

	_Static_assert(sizeof own <= MODEL_PARAMS * sizeof *own, "room for the parameters");
	*srm = (struct srm_model){ .strategy = "correlation" };
	memcpy(table, own, sizeof own);
}

/* ---- reading what the options name ---- */

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-6 * (fabs(a) + fabs(b));
}

/* The first thing in which two scanners differ; NULL: none that a matrix depends on. */
static const char *difference(const struct iso_panels *a, const struct iso_panels *b)
{
	for (int i = 0; i < 2; i++) {
		if (a->crystals[i] != b->crystals[i]) return "crystals";
		if (!near(a->pitch[i], b->pitch[i])) return "pitch_mm";
		if (a->per_pitch[i] != b->per_pitch[i]) return "voxels_per_pitch";
		if (!near(a->window[i], b->window[i])) return "window_kev";
	}
	for (int i = 0; i < 3; i++)
		if (!near(a->crystal[i], b->crystal[i])) return "crystal_mm";
	if (!near(a->gap, b->gap)) return "gap_mm";
	if (a->layers != b->layers) return "layers";
	if (a->planes != b->planes) return "planes";
	if (!near(a->plane, b->plane)) return "plane_mm";
	return strcmp(a->formula, b->formula) != 0 || !near(a->density, b->density) ? "material" : NULL;
}

static int check_scanner(struct srm_model *srm)
{
	iso_scanner *s = NULL;
	const char *what;
	int st;

	if (!srm->scanner) return ISO_OK;
	if ((st = iso_scanner_read(&s, srm->scanner))) return st;
	st = record_input(srm->p->record, srm->scanner);
	if (!st && !iso_scanner_panels(s))
		st = iso_fail(ISO_EINPUT, "%s: a scanner of another kind, expected kind: panels",
		              srm->scanner);
	else if (!st && (what = difference(&srm->info.panels, iso_scanner_panels(s))))
		st = iso_fail(ISO_EINPUT, "%s: a matrix of another scanner: its %s are not those of %s",
		              srm->matrix, what, srm->scanner);
	iso_scanner_free(s);
	return st;
}

static int check_image(struct srm_model *srm, const struct iso_grid *image)
{
	const struct iso_grid *g = &srm->p->found.grid;

	if (!image || iso_grid_same(g, image)) return ISO_OK;
	return iso_fail(ISO_EINPUT,
	                "the image has %" PRId64 " x %" PRId64 " x %" PRId64 " voxels of %g x %g x %g mm, "
	                "the matrix %" PRId64 " x %" PRId64 " x %" PRId64 " of %g x %g x %g",
	                image->n[0], image->n[1], image->n[2], image->voxel[0], image->voxel[1],
	                image->voxel[2], g->n[0], g->n[1], g->n[2], g->voxel[0], g->voxel[1], g->voxel[2]);
}

/* What a matrix in memory is known by in the record: its folded table, and the sensitivities of its columns. */
static int record_given_matrix(struct srm_model *srm)
{
	const iso_srm *m = srm->m;
	const struct record_array a[] = {
		{ m->ptr, (m->n_column + 1) * (int64_t)sizeof *m->ptr },
		{ m->at, m->n * (int64_t)sizeof *m->at },
		{ m->w, m->n * (int64_t)sizeof *m->w },
		{ m->sens, m->n_column * (int64_t)sizeof *m->sens },
	};

	return record_arrays(srm->p->record, srm->matrix, 4, a);
}

static int get_matrix(struct srm_model *srm)
{
	struct record *r = srm->p->record;
	int st = ISO_OK;

	if (!srm->matrix) return iso_fail(ISO_EARG, "'srm' is missing: the system matrix");
	if (!(srm->m = record_given(r, srm->matrix)->srm)) {
		st = r->read.dry_run ? iso_srm_peek(&srm->own, srm->matrix)
		                     : iso_srm_read_within(&srm->own, srm->p->ctx, srm->matrix, false);
		srm->m = srm->own;
	}
	if (st) return st;
	srm->info.size = sizeof srm->info;
	if ((st = iso_srm_info(&srm->info, srm->m))) return st;
	return srm->own ? record_input(r, srm->matrix) : record_given_matrix(srm);
}

/* Directions |dx|, |dz|; or groups of 4 x 4 of them. */
static int64_t most_subsets(const struct srm_model *srm)
{
	const int64_t n[2] = { srm->info.panels.crystals[0], srm->info.panels.crystals[1] };
	bool groups = strcmp(srm->p->s.rule, "groups") == 0 && !srm->deal;

	return groups ? ((n[0] + 3) / 4) * ((n[1] + 3) / 4) : n[0] * n[1];
}

/* The angles are the first axis. */
static void find_rows(struct srm_model *srm)
{
	struct model_found *is = &srm->p->found;
	const bool turns = srm->turn.at;

	is->rows = srm->turn.n * iso_panels_lors(&srm->info.panels);
	is->dim[0] = srm->turn.n;
	is->n_dim = turns + lors_shape(is->dim + turns, &srm->info.panels);
}

static int load(iso_problem *problem, int need, const struct iso_grid *image)
{
	struct srm_model *srm = problem->self;
	int st;

	srm->p = problem;
	if ((st = get_matrix(srm))) return st;
	iso_panels_grid(&problem->found.grid, &srm->info.panels);
	problem->found.unit = "emissions";
	if ((st = srm_turn_load(srm))) return st;
	find_rows(srm);
	problem->found.duration_s = srm->turn.duration_s;
	problem->found.most_subsets = most_subsets(srm);
	if ((st = check_scanner(srm))) return st;
	if ((st = check_image(srm, image))) return st;
	if ((st = srm_load_data(srm, need))) return st;
	return record_set(problem->record, "matrix",
	                  record_pack("{s:I, s:f, s:f}", "elements", (json_int_t)srm->info.elements,
	                              "kept_share", srm->info.kept, "least_weight", srm->info.least_weight));
}

static void unload(iso_problem *problem)
{
	struct srm_model *srm = problem->self;

	iso_array_free(&srm->counts);
	iso_array_free(&srm->norm_of);
	iso_array_free(&srm->add);
	iso_array_free(&srm->late);
	iso_array_free(&srm->mu_map);
	free(srm->deal_of);
	free(srm->factor);
	iso_srm_free(srm->own);
	srm_turn_free(&srm->turn);
}

/* ---- what commands ask for ---- */

static struct iso_srm_model in_subsets(struct srm_model *srm, const struct model_subsets *s)
{
	return (struct iso_srm_model){
		.size = sizeof(struct iso_srm_model),
		.srm = srm->m,
		.n_sub = s->n,
		.rule = s->rule,
		.seed = s->seed,
		.deal = s->n > 1 ? srm->deal_of : NULL,
	};
}

static void plan(iso_problem *problem, struct iso_plan *lines, const struct model_subsets *s)
{
	struct srm_model *srm = problem->self;
	struct iso_srm_model p = in_subsets(problem->self, s);

	if (srm->own) iso_plan_add(lines, "system matrix", srm->info.elements, 4 + sizeof(iso_real), false);
	iso_plan_add(lines, "histograms", problem->found.rows, 4 * sizeof(iso_real), false);
	iso_srm_op_plan(lines, problem->ctx, &p);
	srm_turn_plan(srm, lines);
}

static int op(iso_problem *problem, iso_op **made, const struct model_subsets *s)
{
	struct iso_srm_model p = in_subsets(problem->self, s);
	int st = iso_srm_op_create(made, problem->ctx, &p);

	return st ? st : srm_turn_op(problem->self, made);
}

static int sens_of_subsets(iso_problem *problem, iso_real *parts, iso_op *of)
{
	iso_real *mult = NULL;
	int st = srm_mult(problem->self, &mult);

	if (!st) st = model_sens_of_rows(parts, of, mult);
	free(mult);
	return st;
}

static int sens(iso_problem *problem, struct iso_array *s)
{
	iso_op *whole = NULL;
	int st = iso_array_on_grid(s, &problem->found.grid);

	snprintf(s->unit, sizeof s->unit, "detected/emitted");
	if (!st) st = op(problem, &whole, &(struct model_subsets){ .n = 1 });
	if (!st) st = sens_of_subsets(problem, s->v, whole);
	iso_op_free(whole);
	return st;
}

const struct model model_srm = {
	.name = "srm",
	.title = "Model srm",
	.about = "dual-head PET by its system matrix",
	.has = MODEL_COUNTS | MODEL_FEATURES,
	.bytes = sizeof(struct srm_model),
	.params = params,
	.rule = "groups",
	.row_name = "LORs",
	.timeless = "a histogram has no times",
	.load = load,
	.unload = unload,
	.plan = plan,
	.op = op,
	.data = srm_data,
	.sens = sens,
	.sens_of_subsets = sens_of_subsets,
};
