/* SPDX-License-Identifier: BSD-3-Clause */
/* Model strip as a problem: events of two strips (Bialas 2015), operator, sensitivity. */
#include "model_strip.h"

#include "problem/follow_events.h"

#include "core/room.h"
#include "core/size.h"
#include "io/kinds.h"

#include <math.h>

static const char *const kernels[] = { "eq7", "tan", "gauss", NULL };       /* as enum iso_strip_kernel */
static const char *const strategies[] = { "fast", "warp", "thread", NULL }; /* as the enum */
static const char *const forms[] = { "ml", "raw", "eq3", NULL };
static const char *const sens_rules[] = { "center", "5point", NULL };

static void params(struct opt *table, void *self)
{
	struct strip *strip = self;
	const struct opt own[] = {
		{ 0, "events", .text = &strip->events, .file = OPT_READS, .takes = ISO_TAKES_STRIP_EVENTS,
		  .value = "FILE",
		  .help = "events z_up, z_down, dl (.f32 or .raw: float32 triples; .txt; .npy)" },
		{ 0, "data", .text = &strip->events, .file = OPT_READS, .takes = ISO_TAKES_STRIP_EVENTS,
		  .value = "FILE", .transient = true, .help = "the same as 'events'" },
		{ 0, "scanner", .text = &strip->scanner, .file = OPT_READS, .value = "FILE",
		  .help = "description of the strips (YAML or JSON, kind: strips)" },
		{ 0, "event-unit-mm", .real = &strip->read.mm, .unit = "mm", .value = "MM", .min = 1e-9,
		  .max = 1e9, .help = "the events' unit of length: 10 for cm" },
		{ 0, "dl-is-time", .flag = &strip->read.dl_is_time,
		  .help = "the third value of an event is t_up - t_down in ps" },
		{ 0, "grid", .integer = strip->size, .count = 2, .value = "NZ,NY", .min = 1, .max = 1e6,
		  .absent = "that of the image, or a grid that covers the strips: ceil(L/d), ceil(2R/d)",
		  .help = "pixels along the strips, and across" },
		{ 0, "pixel", .real = &strip->pixel, .unit = "mm", .value = "MM", .min = 1e-3, .max = 1e6,
		  .help = "edge d of a pixel" },
		{ 0, "kernel", .text = &strip->kernel, .words = kernels, .value = "NAME",
		  .help = "eq7: second order in the angle, the paper's; tan: second order in the tangent, "
		          "closer to the truth; gauss: a plain Gaussian, fastest" },
		{ 0, "edge", .flag = &strip->edge,
		  .help = "with 'kernel' tan: include the ends of the strips in the kernel" },
		{ 0, "gamma", .real = &strip->gamma, .unit = "1/mm^2", .value = "G", .min = -1e6, .max = 1e6,
		  .absent = "the scanner's",
		  .help = "coupling of z and dl in the inverse covariance, 1/mm^2 (eq. 12)" },
		{ 0, "form", .text = &strip->form, .words = forms, .value = "NAME",
		  .help = "form of the iteration. ml: maximum likelihood, with the sensitivity s; raw: eq. "
		          "5, without s, which gives an image of s times activity; eq3: eq. 3 as printed" },
		{ 0, "sens-rule", .text = &strip->sens_rule, .words = sens_rules, .value = "RULE",
		  .help = "sensitivity s of a pixel. center: s at its centre; 5point: 1/3 centre + 1/6 each "
		          "corner" },
		{ 0, "strategy", .text = &strip->strategy, .words = strategies, .value = "NAME",
		  .help = "on CUDA: fast (image in shared memory), or the paper's warp (a warp per event) or "
		          "thread (a thread per event). The CPU has one strategy" },
		{ 0 },
	};

	_Static_assert(sizeof own <= MODEL_PARAMS * sizeof *own, "room for the parameters");
	*strip = (struct strip){ .kernel = "eq7",
		                 .form = "ml",
		                 .strategy = "fast",
		                 .sens_rule = "center",
		                 .pixel = 4,
		                 .model.size = sizeof strip->model,
		                 .read = { .size = sizeof strip->read, .mm = 1 } };
	memcpy(table, own, sizeof own);
}

/* ---- reading what the options name ---- */

static int load_scanner(struct strip *strip)
{
	int st;

	if (!strip->scanner)
		return iso_fail(ISO_EARG, "'scanner' is missing: strip needs the place of the strips");
	if ((st = iso_scanner_read(&strip->s, strip->scanner)) ||
	    (st = record_input(strip->p->record, strip->scanner)))
		return st;
	if (!iso_scanner_strips(strip->s))
		return iso_fail(ISO_EINPUT, "%s: a scanner of another kind, expected kind: strips",
		                strip->scanner);
	strip->model.strips = *iso_scanner_strips(strip->s);
	if (problem_given(strip->p, "gamma")) strip->model.strips.gamma = strip->gamma;
	return ISO_OK;
}

/* An image in the plane of the strips: one plane, square pixels, centred. */
static int grid_of_image(struct strip *strip, const struct iso_grid *g)
{
	const double *v = g->voxel;

	if (g->n[2] != 1 || fabs(v[0] - v[1]) > 1e-4 * v[0] || fabs(g->centre[0]) > 1e-4 * v[0] ||
	    fabs(g->centre[1]) > 1e-4 * v[0])
		return iso_fail(ISO_EINPUT,
		                "the image has %" PRId64 " planes of %g x %g mm centred on (%g, %g), "
		                "expected one of square pixels, centred on 0",
		                g->n[2], v[0], v[1], g->centre[0], g->centre[1]);
	strip->model.nz = g->n[0];
	strip->model.ny = g->n[1];
	strip->model.pixel = v[0];
	return ISO_OK;
}

static int load_grid(struct strip *strip, const struct iso_grid *image)
{
	const struct iso_strips *s = &strip->model.strips;
	bool size = problem_given(strip->p, "grid");

	if (image && !size && !problem_given(strip->p, "pixel")) return grid_of_image(strip, image);
	strip->model.pixel = strip->pixel;
	strip->model.nz = size ? strip->size[0] : (int64_t)ceil(s->length / strip->pixel);
	strip->model.ny = size ? strip->size[1] : (int64_t)ceil(2 * s->radius / strip->pixel);
	struct iso_grid g = iso_strip_grid(&strip->model);
	int st = iso_grid_check(&g);

	if (!st && image && (g.n[0] != image->n[0] || g.n[1] != image->n[1] || image->n[2] != 1))
		st = iso_fail(
			ISO_EARG,
			"'grid', 'pixel' are not those of the image; leave them out to take the image's");
	return st;
}

static int load(iso_problem *problem, int need, const struct iso_grid *image)
{
	struct strip *strip = problem->self;
	int st;

	strip->p = problem;
	strip->model.kernel = (enum iso_strip_kernel)opt_place(kernels, strip->kernel);
	strip->model.strategy = (enum iso_strip_strategy)opt_place(strategies, strip->strategy);
	strip->model.edge = strip->edge;
	strip->model.n_sub = 1;
	if (strip->edge && strip->model.kernel != ISO_STRIP_TAN)
		return iso_fail(ISO_EARG, "'edge' goes with 'kernel' tan, not %s", strip->kernel);
	if ((st = load_scanner(strip))) return st;
	if ((st = load_grid(strip, image))) return st;
	problem->found.grid = iso_strip_grid(&strip->model);
	problem->found.unit = strcmp(strip->form, "raw") == 0 ? "detected emissions" : "emissions";
	st = record_set(problem->record, "strip_image",
	                record_pack("{s:s, s:s, s:I, s:I, s:f}", "npy",
	                            "(ny, nz), z along the strips fastest", "nifti",
	                            "(nz, ny, 1): its x is z of the strips, its y is y", "nz",
	                            (json_int_t)strip->model.nz, "ny", (json_int_t)strip->model.ny,
	                            "pixel_mm", strip->model.pixel));
	if (!st && need & MODEL_NEEDS_DATA) st = strip_load_events(strip);
	problem->found.rows = strip->n;
	problem->found.elsewhere = strip->n - strip->e.n;
	problem->found.number = strip->number;
	return st;
}

static void unload(iso_problem *problem)
{
	struct strip *strip = problem->self;

	iso_strip_events_free(&strip->e);
	free(strip->number);
	iso_scanner_free(strip->s);
}

/* ---- what commands ask for ---- */

static struct iso_strip in_subsets(struct strip *strip, const struct model_subsets *s)
{
	struct iso_strip p = strip->model;

	p.n_sub = s->n;
	p.rule = s->rule;
	p.seed = s->seed;
	return p;
}

static void plan(iso_problem *problem, struct iso_plan *lines, const struct model_subsets *s)
{
	struct strip *strip = problem->self;
	struct iso_strip p = in_subsets(strip, s);

	iso_plan_add(lines, "events", strip->e.n, sizeof(struct iso_strip_event), false);
	iso_strip_plan(lines, problem->ctx, &p, strip->e.n);
}

enum { SAMPLE_CPU = 1 << 14, SAMPLE_CUDA = 1 << 20 }; /* events that tell how long all take */

/* Events from all over the place between the strips. */
static int sample(iso_problem *problem, iso_op **made, iso_ctx *alone, double *times)
{
	struct strip *strip = problem->self;
	const struct iso_strips *s = &strip->model.strips;
	struct iso_strip_events e = { .n = iso_ctx_is_cuda(alone) ? SAMPLE_CUDA : SAMPLE_CPU };
	int st;

	if (!(e.v = size_alloc(e.n, sizeof *e.v)))
		return iso_fail_memory("estimate", e.n * (int64_t)sizeof *e.v);
	for (int64_t i = 0; i < e.n; i++) {
		double u = fmod((double)i * .754877666, 1), v = fmod((double)i * .569840291, 1);
		double tilt = .5 * (v - .5) * s->length, z = (u - .5) * .5 * s->length;

		e.v[i] = (struct iso_strip_event){ (float)(z + tilt), (float)(z - tilt),
			                           (float)((u + v - 1) * s->radius) };
	}
	st = iso_strip_create(made, alone, &strip->model, &e);
	*times = (double)problem->found.rows / (double)e.n;
	free(e.v);
	return st;
}

static int op(iso_problem *problem, iso_op **made, const struct model_subsets *s)
{
	struct strip *strip = problem->self;
	struct iso_strip p = in_subsets(strip, s);

	if (s->n > strip->n)
		return iso_fail(ISO_EARG, "'subsets' is %d, %s has %" PRId64 " events", s->n, strip->events,
		                strip->n);
	p.number = strip->number;
	p.total = strip->number ? strip->n : 0;
	return iso_strip_create(made, problem->ctx, &p, &strip->e);
}

static int sens(iso_problem *problem, struct iso_array *s)
{
	struct strip *strip = problem->self;
	int st = iso_array_on_grid(s, &problem->found.grid);

	snprintf(s->unit, sizeof s->unit, "detected/emitted");
	return st ? st : iso_strip_sens(s->v, &strip->model, strcmp(strip->sens_rule, "5point") == 0);
}

/* ml: rho itself, with s. raw (5): rho' without any s. eq3 (3): s rho runs through the raw iteration,
   started from s; where s is 0, rho is. */
static int form(iso_problem *problem, struct iso_array *s, struct iso_array *weight)
{
	struct strip *strip = problem->self;
	int st;

	if (strcmp(strip->form, "ml") == 0) return ISO_OK;
	if (strcmp(strip->form, "eq3") == 0) {
		if ((st = iso_array_on_grid(weight, &s->grid))) return st;
		memcpy(weight->v, s->v, (size_t)s->n * sizeof *s->v);
	}
	for (int64_t i = 0; i < s->n; i++) s->v[i] = 1;
	return ISO_OK;
}

enum { PIECE = 1 << 20 }; /* events between two looks at the request to stop: a float counts so many */

static int direct(iso_problem *problem, struct iso_array *x)
{
	struct strip *strip = problem->self;
	struct iso_room room = { .what = "direct image" };
	int64_t outside = 0;
	iso_real *part;
	double *sum;
	int st;

	ISO_HOST(&room, part, x->n);
	ISO_HOST(&room, sum, x->n);
	st = room.status;
	for (int64_t i = 0, missed; i < strip->e.n && !st && !(st = iso_ctx_poll(problem->ctx)); i += PIECE) {
		struct iso_strip_events e = { .n = strip->e.n - i < PIECE ? strip->e.n - i : PIECE,
			                      .v = strip->e.v + i };

		if ((st = iso_strip_direct(part, &missed, &strip->model, &e))) break;
		for (int64_t k = 0; k < x->n; k++) sum[k] += (double)part[k];
		outside += missed;
	}
	if (strip->number) st = iso_comm_sum_real(problem->ctx, st, sum, x->n); /* whole numbers */
	if (strip->number) st = iso_comm_sum(problem->ctx, st, &outside, 1);
	for (int64_t k = 0; k < x->n && !st; k++) x->v[k] = (iso_real)sum[k];
	iso_room_free(&room);
	if (st) return st;
	if (outside)
		record_warn_share(problem->record, (double)outside, (double)strip->n,
		                  "%" PRId64 " of %" PRId64 " events lie outside the image", outside,
		                  strip->n);
	snprintf(x->unit, sizeof x->unit, "events");
	return record_result(problem->record, "events",
	                     json_pack("{s:I, s:I}", "used", (json_int_t)(strip->n - outside), "skipped",
	                               (json_int_t)outside));
}

const struct model model_strip = {
	.name = "strip",
	.title = "Model strip",
	.about = "two-strip J-PET",
	.has = MODEL_COUNTS | MODEL_EVENTS,
	.bytes = sizeof(struct strip),
	.params = params,
	.rows_split = true,
	.by_events = true,
	.flat = true,
	.timeless = "events of strips have no times",
	.load = load,
	.unload = unload,
	.plan = plan,
	.sample = sample,
	.op = op,
	.sens = sens,
	.form = form,
	.direct = direct,
	.follow_params = follow_event_params,
	.follow = &strip_follow,
};
