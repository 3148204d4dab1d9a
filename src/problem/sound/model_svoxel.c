/* SPDX-License-Identifier: BSD-3-Clause */
/* Model svoxel as a problem: spectra of spherical voxels (Wang 2013, PLS-Sph). */
#include "sound.h"

#include <math.h>

struct svoxel {
	struct sound sound; /* first: what the optoacoustic models share */
	const char *sir, *transform;
	int64_t lines, width, bins_per_wave;
	double fmax_mhz, f0_mhz, df_mhz, accuracy, sir_error;
	struct iso_array shown; /* what backproject has: its sizes */
	struct iso_svoxel model,
		settled; /* settled: with the kernel of the accuracy that was asked for last */
};

static const char *const sirs[] = { "point", "rect", "near", "focus", NULL }; /* as enum iso_sir */
static const char *const transforms[] = { "nufft", "direct", NULL };          /* as the enum */

/* Default accuracy: what is projected may become a reference that others compare with; an image is made of data that
   noise, speed of sound and aperture leave wrong by far more. */
#define OF_PROJECTIONS 1e-6
#define OF_IMAGES 1e-3

static void params(struct opt *table, void *self)
{
	struct svoxel *svoxel = self;
	const struct opt own[] = {
		{ 0, "data", .text = &svoxel->sound.data, .file = OPT_READS, .takes = ISO_TAKES_ARRAY,
		  .value = "FILE",
		  .help = SOUND_DATA "; or spectra (transducers, lines), complex or pairs as `isotome "
		                     "project svoxel` writes them" },
		{ 0, "lines", .integer = &svoxel->lines, .value = "N", .min = 1, .max = 1e6,
		  .absent = "up to 'fmax-mhz'", .help = "spectral lines, from 'f0-mhz' on" },
		{ 0, "f0-mhz", .real = &svoxel->f0_mhz, .unit = "MHz", .value = "F", .min = 0, .max = 1e6,
		  .absent = "'df-mhz'",
		  .help = "first spectral line; it need not be a multiple of 'df-mhz'" },
		{ 0, "df-mhz", .real = &svoxel->df_mhz, .unit = "MHz", .value = "F", .min = 1e-9, .max = 1e6,
		  .absent = "1/(2 x duration of the record)",
		  .help = "distance between spectral lines. If you give this or 'f0-mhz', the spectra say "
		          "how many lines there are" },
		{ 0, "fmax-mhz", .real = &svoxel->fmax_mhz, .unit = "MHz", .value = "F", .min = 1e-6,
		  .max = 1e6, .absent = "5, or half the sampling rate", .help = "highest spectral line" },
		{ 0, "sir", .text = &svoxel->sir, .words = sirs, .value = "NAME",
		  .help = "how a transducer hears: point; rect (its aperture_mm in the far field); near (the "
		          "integral over that rectangle); focus (the integral over its face, which focus_mm "
		          "or "
		          "bowl_mm curve)" },
		{ 0, "sir-error", .real = &svoxel->sir_error, .value = "E", .min = 1e-9, .max = .5,
		  .absent = "1e-2, of near 1e-4",
		  .help = "relative error of what a face hears, up to the highest line; it chooses how many "
		          "points the integrals of near and focus have" },
		{ 0, "transform", .text = &svoxel->transform, .words = transforms, .value = "NAME",
		  .help = "nufft (fast), or direct (term by term, the reference)" },
		{ 0, "accuracy", .real = &svoxel->accuracy, .value = "E", .min = 1e-9, .max = .5,
		  .absent = "1e-3, in projections 1e-6",
		  .help = "largest relative error of nufft's data against direct; it chooses 'width' and "
		          "'bins-per-wave'" },
		{ 0, "width", .integer = &svoxel->width, .value = "W", .min = 2, .max = 8,
		  .absent = "by 'accuracy'", .help = "taps of nufft's kernel; with 'sir' rect at least 4" },
		{ 0, "bins-per-wave", .integer = &svoxel->bins_per_wave, .value = "N", .min = 3, .max = 64,
		  .absent = "by 'accuracy'",
		  .help = "bins of nufft's traces in the shortest wave; kernels of 5 to 8 taps have a power "
		          "of "
		          "two of bins in all" },
		{ 0 },
	};

	_Static_assert(sizeof own <= (MODEL_PARAMS - SOUND_PARAMS) * sizeof *own, "room for the parameters");
	*svoxel = (struct svoxel){ .sir = "point", .transform = "nufft" };
	memcpy(table + sound_params(table, &svoxel->sound), own, sizeof own);
}

/* Lines of an array of three axes, pairs for each transducer; 0: it is none. With 'dry-run' it has no
   values. */
static int64_t lines_of(const struct svoxel *svoxel, const struct iso_array *y)
{
	return y->n_dim == 3 && y->dim[0] == svoxel->sound.t->n && y->dim[2] == 2 ? y->dim[1] : 0;
}

static int64_t lines_of_data(const struct svoxel *svoxel)
{
	return lines_of(svoxel, svoxel->sound.y.n_dim > 0 ? &svoxel->sound.y : &svoxel->shown);
}

/* Traces were checked as they were read; an array of three axes was not. */
static int check_spectra(const struct svoxel *svoxel)
{
	const struct iso_array *y = &svoxel->sound.y;
	int64_t lines = svoxel->model.lines;

	if (y->n_dim == 0 || svoxel->sound.traces || lines_of(svoxel, y) == lines) return ISO_OK;
	return iso_fail(ISO_EINPUT,
	                "%s: an array (%" PRId64 ", %" PRId64 ", %" PRId64
	                "), spectra are (transducers, lines, 2), here (%" PRId64 ", %" PRId64
	                ", 2); 'f0-mhz', 'df-mhz' and 'lines' say which lines",
	                svoxel->sound.data, y->dim[0], y->dim[1], y->dim[2], svoxel->sound.t->n, lines);
}

/* 'lines' counts from the first on, the distance being that of the record padded to twice its length. */
static int lines_of_record(struct svoxel *svoxel)
{
	int st = iso_svoxel_lines(&svoxel->model, svoxel->fmax_mhz);
	double most = .5 / (svoxel->sound.t->dt_us * svoxel->model.df_mhz); /* half the sampling rate */

	if (!st && (double)svoxel->lines > most * (1 + 1e-9))
		return iso_fail(ISO_EARG,
		                "'lines' is %" PRId64
		                ", of which the record has %.0f below half its sampling rate",
		                svoxel->lines, most);
	if (!st && svoxel->lines > 0) svoxel->model.lines = svoxel->lines;
	return st;
}

static void show(iso_problem *problem, const struct iso_array *y)
{
	struct svoxel *svoxel = problem->self;

	svoxel->shown = *y;
	svoxel->shown.v = NULL;
}

/* Lines f0 + l df: as many as are asked for, or the spectra have, or there are up to 'fmax-mhz'. Of
   traces they end at half the sampling rate. */
static int lines_of_options(struct svoxel *svoxel, double f0, double df)
{
	double half = 1 / (2 * svoxel->sound.t->dt_us);
	double top = fmin(svoxel->fmax_mhz > 0 ? svoxel->fmax_mhz : 5, half);
	int64_t n = svoxel->lines > 0 ? svoxel->lines : lines_of_data(svoxel);
	int st;

	if (n == 0) n = (int64_t)floor((top - f0) / df + 1 + 1e-9);
	if (n < 1) return iso_fail(ISO_EARG, "'f0-mhz' is %g: no line up to %g MHz", f0, top);
	if ((st = iso_svoxel_lines_at(&svoxel->model, f0, df, n))) return st;
	if (lines_of_data(svoxel) == 0 && f0 + (double)(n - 1) * df > half * (1 + 1e-9))
		return iso_fail(
			ISO_EARG,
			"%" PRId64
			" lines from %g MHz on, %g MHz apart, end above %g MHz, half the sampling rate",
			n, f0, df, half);
	return ISO_OK;
}

static int settle_lines(struct svoxel *svoxel)
{
	const struct iso_transducers *t = svoxel->sound.t;
	bool f0 = problem_given(svoxel->sound.p, "f0-mhz"), df = problem_given(svoxel->sound.p, "df-mhz");
	double step = df ? svoxel->df_mhz : 1 / (2 * (double)t->samples * t->dt_us);

	return f0 || df ? lines_of_options(svoxel, f0 ? svoxel->f0_mhz : step, step)
	                : lines_of_record(svoxel);
}

/* The model with the accuracy that suits what it is for, and the kernel that this chooses: found once, as it takes some
   milliseconds, or for rectangles many. */
static struct iso_svoxel model_for(iso_problem *problem)
{
	struct svoxel *svoxel = problem->self;
	struct iso_svoxel p = svoxel->model, *settled = &svoxel->settled;

	p.accuracy = problem_given(problem, "accuracy") ? svoxel->accuracy
	             : problem->projects                ? OF_PROJECTIONS
	                                                : OF_IMAGES;
	if (p.transform != ISO_SVOXEL_NUFFT) return p;
	if (settled->accuracy != p.accuracy) {
		struct iso_svoxel kernel = p;

		if (iso_svoxel_settle(&kernel) == 0) return p; /* iso_svoxel_create will say why */
		*settled = p;
		settled->width = kernel.width;
		settled->bins_per_wave = kernel.bins_per_wave;
	}
	return *settled;
}

enum { MANY_POINTS = 256 };

/* How many points stand for a face, into the record. */
static int tell_faces(iso_problem *problem)
{
	const struct svoxel *svoxel = problem->self;
	const struct iso_svoxel *p = &svoxel->model;
	struct iso_face_points n = { .size = sizeof n };
	const bool one_plane = p->grid.n[0] == 1 || p->grid.n[1] == 1 || p->grid.n[2] == 1;
	int st;

	if (p->sir != ISO_SIR_NEAR && p->sir != ISO_SIR_FOCUS) {
		if (!problem_given(problem, "sir-error")) return ISO_OK;
		return iso_fail(ISO_EARG, "'sir-error' is for 'sir' near and focus, which are integrals");
	}
	if ((st = iso_svoxel_points(&n, p))) return st;
	if (n.computed > MANY_POINTS && p->sir == ISO_SIR_FOCUS)
		record_warn(
			problem->record,
			"a face is %d x %d points, %d times the work of a point: a larger 'sir-error' or a "
			"lower 'fmax-mhz' need fewer",
			n.along[0], n.along[1], n.computed);
	return record_set(problem->record, "faces",
	                  record_pack("{s:[i,i], s:i, s:b, s:s}", "points", n.along[0], n.along[1],
	                              "computed", n.computed, "curved", p->faces != NULL, "values",
	                              one_plane ? "of a plane: relative" : "absolute"));
}

/* Lines above `most` see the grid, not the object: they pull the image away from both. */
static int load(iso_problem *problem, int need, const struct iso_grid *image)
{
	struct svoxel *svoxel = problem->self;
	struct iso_svoxel *p = &svoxel->model;
	int st;

	svoxel->sound.takes_spectra = true;
	if ((st = sound_load(problem, need, image))) return st;
	*p = (struct iso_svoxel){
		.size = sizeof *p,
		.t = svoxel->sound.t,
		.grid = svoxel->sound.grid,
		.width = (int)svoxel->width,
		.bins_per_wave = (int)svoxel->bins_per_wave,
		.sir = (enum iso_sir)opt_place(sirs, svoxel->sir),
		.transform = (enum iso_svoxel_transform)opt_place(transforms, svoxel->transform),
		.faces = svoxel->sound.faces,
		.sir_error = svoxel->sir_error,
	};
	if ((st = settle_lines(svoxel))) return st;
	problem->found.rows = 2 * p->lines * p->t->n;
	problem->found.n_dim = 3;
	problem->found.dim[1] = p->lines;
	problem->found.dim[2] = 2;
	double top = iso_svoxel_line_mhz(p, p->lines - 1), most = p->t->speed / (2 * p->grid.voxel[0]);

	if (top > most * (1 + 1e-9))
		record_warn(problem->record,
		            "lines above %.3g MHz, up to %.3g, have waves shorter than two voxels: "
		            "'fmax-mhz' or smaller voxels",
		            most, top);
	if ((st = check_spectra(svoxel))) return st;
	svoxel->settled.accuracy = 0;
	model_for(problem); /* now, while the device opens */
	if ((st = tell_faces(problem))) return st;
	return record_set(problem->record, "lines",
	                  record_pack("{s:I, s:I, s:f, s:f}", "first", (json_int_t)p->first_line, "n",
	                              (json_int_t)p->lines, "df_mhz", p->df_mhz, "f0_mhz",
	                              iso_svoxel_line_mhz(p, 0)));
}

/* What nufft does, into the record. */
static int tell_kernel(iso_problem *problem, struct iso_svoxel p)
{
	double asked = p.accuracy;
	int64_t bins = iso_svoxel_settle(&p);

	if (p.transform != ISO_SVOXEL_NUFFT) return ISO_OK;
	if (problem_given(problem, "accuracy") && p.accuracy > asked)
		record_warn(problem->record,
		            "'accuracy' is %g: %d taps and %d bins a wave have an error of %.1e", asked,
		            p.width, p.bins_per_wave, p.accuracy);
	return record_set(problem->record, "kernel",
	                  record_pack("{s:f, s:f, s:i, s:i, s:I}", "accuracy", asked, "expected_error",
	                              p.accuracy, "width", p.width, "bins_per_wave", p.bins_per_wave, "bins",
	                              (json_int_t)bins));
}

int sound_svoxel(struct iso_svoxel *p, iso_problem *problem)
{
	*p = model_for(problem);
	int st = sound_delays(&p->delays, problem);

	return st ? st : tell_kernel(problem, *p);
}

static void plan(iso_problem *problem, struct iso_plan *lines, const struct model_subsets *s)
{
	struct iso_svoxel model = model_for(problem);

	(void)s;
	sound_plan_delays(problem, lines);
	iso_svoxel_plan(lines, problem->ctx, &model);
}

static int sample(iso_problem *problem, iso_op **made, iso_ctx *alone, double *times)
{
	struct iso_svoxel some = model_for(problem);
	struct iso_transducers t = sound_sample(some.t, alone, times);

	some.t = &t;
	int st = sound_delays(&some.delays, problem);

	return st ? st : iso_svoxel_create(made, alone, &some);
}

static int op(iso_problem *problem, iso_op **made, const struct model_subsets *s)
{
	struct iso_svoxel model = model_for(problem);
	int st = sound_delays(&model.delays, problem);

	if (!st) st = iso_svoxel_create(made, problem->ctx, &model);

	(void)s; /* one subset */
	return st ? st : tell_kernel(problem, model);
}

static int data(iso_problem *problem, struct model_data *d)
{
	struct svoxel *svoxel = problem->self;
	const struct iso_array *y = &svoxel->sound.y;
	int st;

	if (!y->v || lines_of(svoxel, y) == svoxel->model.lines) return sound_data(problem, d);
	if ((st = model_vector(&d->y, problem->found.rows, "spectra"))) return st;
	return iso_svoxel_spectra(d->y, problem->ctx, &svoxel->model, y->v);
}

const struct model model_svoxel = {
	.name = "svoxel",
	.title = "Model svoxel",
	.about = "optoacoustics by spectra",
	.has = MODEL_SIGNS,
	.bytes = sizeof(struct svoxel),
	.params = params,
	.row_name = "values",
	.load = load,
	SOUND_FUNCTIONS,
	.show = show,
	.plan = plan,
	.sample = sample,
	.op = op,
	.data = data,
	.follow_params = sound_follow_params,
	.follow = &sound_follow,
	.batched = &sound_batched,
	.stream = sound_stream,
};
