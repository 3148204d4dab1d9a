/* SPDX-License-Identifier: BSD-3-Clause */
/* Model barrel as a problem: events of long strips in modules and layers, a volume, attenuation and an additive term. */
#include "model_barrel.h"

#include "base/constants.h"
#include "base/number.h"
#include "core/size.h"
#include "problem/follow_events.h"

#include <math.h>
#include <string.h>

static const char *const kernels[] = { "moment", "depth", "thin", NULL }; /* as enum iso_barrel_kernel */
static const char *const shadows[] = { "none", "line", NULL };

static void params(struct opt *table, void *self)
{
	struct barrel_problem *b = self;
	const struct opt own[] = {
		{ 0, "events", .text = &b->events, .file = OPT_READS, .takes = ISO_TAKES_ARRAY,
		  .value = "FILE",
		  .help = "events: rows strip a, strip b, z_a, z_b (mm), t_a - t_b (ps) as .npy or .bin5; "
		          "text of "
		          "GOJA or j-pet-mlem" },
		{ 0, "data", .text = &b->events, .file = OPT_READS, .takes = ISO_TAKES_ARRAY, .value = "FILE",
		  .transient = true, .help = "the same as 'events'" },
		{ 0, "scanner", .text = &b->scanner, .file = OPT_READS, .value = "FILE",
		  .help = "description of the strips (YAML or JSON, kind: barrel)" },
		{ 0, "event-unit-mm", .real = &b->read.mm, .unit = "mm", .value = "MM", .min = 1e-9,
		  .max = 1e9, .help = "the events' unit of length: 1000 for files of j-pet-mlem" },
		{ 0, "swap-dt", .flag = &b->read.swap_dt, .help = "times of events are t_b - t_a" },
		{ 0, "trues-only", .flag = &b->read.trues_only,
		  .help = "with files of GOJA: leave out scattered and accidental events" },
		{ 0, "smear", .text = &b->smear, .value = "SEED", .absent = "none",
		  .help = "with files of GOJA whose hits are exact: add the errors of the scanner" },
		{ 0, "grid", .integer = b->size, .count = 3, .spread = true, .value = "NX,NY,NZ", .min = 1,
		  .max = 1e6,
		  .absent = "the grid of the image, if one is given, or else a field inside the strips",
		  .help = "number of voxels" },
		{ 0, "voxel", .real = b->voxel, .unit = "mm", .count = 3, .spread = true, .value = "DX,DY,DZ",
		  .min = 1e-3, .max = 1e6, .absent = "about two thirds of a strip's width",
		  .help = "size of a voxel; DX = DY" },
		{ 0, "centre", .real = b->centre, .unit = "mm", .count = 3, .value = "X,Y,Z",
		  .help = "centre of the image, mm" },
		{ 0, "mu", .text = &b->mu, .file = OPT_READS, .takes = ISO_TAKES_ARRAY, .value = "FILE",
		  .help = "attenuation of the object at 511 keV, 1/mm" },
		{ 0, "additive", .text = &b->additive, .file = OPT_READS, .takes = ISO_TAKES_ARRAY,
		  .value = "FILE|R", .or_number = true,
		  .help = "mean of randoms and scatter of an event, in counts per mm^3 of z_a, z_b and dl: a "
		          "number, or "
		          "a file of one for each event" },
		{ 0, "kernel", .text = &b->kernel, .words = kernels, .value = "NAME",
		  .help = "moment: hits at their mean place in the depth of the strips, with its spread; "
		          "depth: a spread "
		          "that is the same everywhere; thin: on the axes of the strips" },
		{ 0, "edge", .flag = &b->edge, .help = "include the ends of the strips in the kernel" },
		{ 0, "sigma-cut", .real = &b->model.sigma_cut, .value = "K", .min = 1, .max = 6,
		  .help = "an event reaches so many standard deviations far" },
		{ 0, "shadow", .text = &b->shadow, .words = shadows, .value = "NAME",
		  .absent = "the scanner's",
		  .help = "line: strips between those of a pair take photons; none: they do not" },
		{ 0 },
	};

	_Static_assert(sizeof own <= MODEL_PARAMS * sizeof *own, "room for the parameters");
	*b = (struct barrel_problem){ .kernel = "moment",
		                      .edge = true,
		                      .read = { .size = sizeof b->read, .mm = 1 },
		                      .model = { .size = sizeof b->model, .sigma_cut = 3, .n_sub = 1 } };
	memcpy(table, own, sizeof own);
}

/* ---- scanner and grid ---- */

static int load_scanner(struct barrel_problem *b)
{
	int st;

	if (!b->scanner)
		return iso_fail(ISO_EARG, "'scanner' is missing: barrel needs the places of the strips");
	if ((st = iso_scanner_read(&b->s, b->scanner)) || (st = record_input(b->p->record, b->scanner)))
		return st;
	if (!iso_scanner_barrel(b->s))
		return iso_fail(ISO_EINPUT, "%s: a scanner of another kind, expected kind: barrel",
		                b->scanner);
	b->barrel = *iso_scanner_barrel(b->s);
	if (b->shadow) b->barrel.shadow = strcmp(b->shadow, "line") == 0;
	b->model.barrel = &b->barrel;
	b->model.kernel = (enum iso_barrel_kernel)opt_place(kernels, b->kernel);
	b->model.no_edge = !b->edge;
	return ISO_OK;
}

/* Voxels that nobody gave are those of the scanner's field. */
static int given_grid(struct barrel_problem *b, struct iso_grid *g)
{
	bool centred = problem_given(b->p, "centre");
	int st;

	for (int a = 0; a < 3; a++) {
		g->n[a] = problem_given(b->p, "grid") ? b->size[a] : 0;
		g->voxel[a] = problem_given(b->p, "voxel") ? b->voxel[a] : 0;
	}
	if ((st = iso_scanner_grid(g, b->s))) return st;
	for (int a = 0; a < 3 && centred; a++) g->centre[a] = b->centre[a];
	return ISO_OK;
}

/* The corner of the field that is nearest to the axis must be inside of the strips. */
static int check_place(const struct barrel_problem *b, const struct iso_grid *g)
{
	double inner = iso_barrel_inner(&b->barrel), near = 0, far = 0;

	for (int a = 0; a < 2; a++) {
		double half = (double)g->n[a] * g->voxel[a] / 2, off = fabs(g->centre[a]);

		near += pow(fmax(off - half, 0), 2);
		far += pow(fmax(off + half - g->voxel[a], 0), 2);
	}
	if (sqrt(near) >= inner)
		return iso_fail(ISO_EARG, "the image lies %.4g mm from the axis, the strips begin at %.4g mm",
		                sqrt(near), inner);
	if (sqrt(far) > inner)
		record_tell(b->p->record, ISO_DETAIL,
		            "the corners of the image reach %.4g mm from the axis, behind the faces of "
		            "strips at %.4g "
		            "mm: there it is 0",
		            sqrt(far), inner);
	return ISO_OK;
}

static int load_grid(struct barrel_problem *b, const struct iso_grid *image)
{
	struct iso_grid *g = &b->p->found.grid;
	int st;

	if (problem_takes_grid(b->p, image))
		*g = *image;
	else if ((st = given_grid(b, g)) || (st = problem_check_grid(g, image)))
		return st;
	if (fabs(g->voxel[0] - g->voxel[1]) > 1e-4 * g->voxel[0])
		return iso_fail(ISO_EARG, "voxels are %g x %g mm across, must be square", g->voxel[0],
		                g->voxel[1]);
	g->voxel[1] = g->voxel[0];
	b->model.grid = *g;
	return check_place(b, g);
}

/* ---- events ---- */

/* Rows of an array in memory. */
static int take_array(struct barrel_problem *b, const struct iso_array *a)
{
	int64_t columns = a->n_dim == 2 ? a->dim[1] : 0;

	if (columns != 5 && columns != 6)
		return iso_refuse(
			b->events,
			"events of a barrel are an array (n, 5) of strip a, strip b, z_a, z_b, t_a - "
			"t_b");
	b->e.n = a->dim[0];
	if (!(b->e.v = size_alloc(b->e.n, sizeof *b->e.v)))
		return iso_fail_memory("events", b->e.n * (int64_t)sizeof *b->e.v);
	for (int64_t j = 0; j < b->e.n; j++) {
		const iso_real *v = a->v + j * columns;
		double way = (b->read.swap_dt ? -1 : 1) * ISO_C_MM_PER_PS * (double)v[4], strip[2];

		for (int k = 0; k < 2; k++) {
			strip[k] = (double)v[k] - (double)b->barrel.first;
			if (!(strip[k] >= 0 && strip[k] < (double)b->barrel.n && strip[k] == floor(strip[k])))
				strip[k] = -1;
		}
		b->e.v[j] = (struct iso_barrel_event){ (int32_t)strip[0], (int32_t)strip[1],
			                               (iso_real)((double)v[2] * b->read.mm),
			                               (iso_real)((double)v[3] * b->read.mm), (iso_real)way };
	}
	iso_barrel_events_check(&b->e, &b->barrel);
	if (2 * b->e.unknown > b->e.n)
		return iso_refuse(b->events,
		                  "%" PRId64 " of %" PRId64
		                  " events are of strips that the scanner does not have",
		                  b->e.unknown, b->e.n);
	return ISO_OK;
}

void barrel_warn(struct record *record, const char *from, const struct iso_barrel_events *e)
{
	const struct {
		int64_t n;
		const char *what;
	} of[] = {
		{ e->unknown, "are of strips that the scanner does not have; they are left out" },
		{ e->no_pair, "are of strips that are no pair; they are left out" },
		{ e->not_finite, "hold values that are not finite; they are left out" },
		{ e->far, "have a hit far beyond the end of its strip; they are left out" },
		{ e->beyond, "have a hit beyond the end of its strip, by its error; they are kept" },
	};

	for (size_t i = 0; i < sizeof of / sizeof *of; i++)
		if (of[i].n)
			record_warn_share(record, (double)of[i].n, (double)e->n,
			                  "%s%" PRId64 " of %" PRId64 " events %s", from, of[i].n, e->n,
			                  of[i].what);
}

static void warn(const struct barrel_problem *b)
{
	const struct iso_barrel_events *e = &b->e;
	char from[PATH_MAX];

	snprintf(from, sizeof from, "%s: ", b->events);
	barrel_warn(b->p->record, from, e);
	if (e->bad_lines)
		record_warn_share(b->p->record, (double)e->bad_lines, (double)(e->n + e->bad_lines),
		                  "%s: %" PRId64
		                  " lines are no events and are left out, the first is line %" PRId64,
		                  b->events, e->bad_lines, e->first_bad);
	if (e->exact)
		record_warn(b->p->record,
		            "%s: its places and times are taken as measured; if they are exact, --smear SEED "
		            "adds the "
		            "errors of the scanner",
		            b->events);
}

static int load_events(struct barrel_problem *b)
{
	double seed = 0;
	int st;

	if (!b->events) return iso_fail(ISO_EARG, "'events' is missing");
	if (b->smear &&
	    (!iso_number(&seed, b->smear, strlen(b->smear)) || !(seed >= 0) || seed != floor(seed)))
		return iso_fail(ISO_EARG, "'smear' is %s, must be a whole number, the seed", b->smear);
	b->read.smear = b->smear;
	b->read.seed = (uint64_t)seed;
	const struct iso_array *given = &record_given(b->p->record, b->events)->array;

	st = given->v ? take_array(b, given) : iso_barrel_events_read(&b->e, b->events, &b->barrel, &b->read);
	if (st) return st;
	if (strcmp(b->events, "-") == 0)
		st = record_piped(b->p->record, b->events, b->e.v, b->e.n * (int64_t)sizeof *b->e.v);
	else
		st = record_input(b->p->record, b->events);
	b->n = b->e.n;
	if (!st) warn(b);
	return st;
}

static int load_additive(struct barrel_problem *b)
{
	int st;

	if (!b->additive) return ISO_OK;
	if (iso_number(&b->add_constant, b->additive, strlen(b->additive))) {
		if (b->add_constant >= 0) return ISO_OK;
		return iso_fail(ISO_EARG, "'additive' is %s, must be 0 or above", b->additive);
	}
	if ((st = record_read(b->p->record, &b->add, b->additive, ISO_NONNEGATIVE)) ||
	    (st = record_input(b->p->record, b->additive)))
		return st;
	if (b->add.n == b->n) return ISO_OK;
	return iso_fail(ISO_EINPUT, "%s: %" PRId64 " values, expected one for each event (%" PRId64 ")",
	                b->additive, b->add.n, b->n);
}

static int load(iso_problem *problem, int need, const struct iso_grid *image)
{
	struct barrel_problem *b = problem->self;
	int st;

	b->p = problem;
	if ((st = load_scanner(b)) || (st = load_grid(b, image))) return st;
	problem->found.unit = "emissions";
	if (b->mu && need & (MODEL_NEEDS_SENS | MODEL_NEEDS_COUNTS | MODEL_NEEDS_DATA)) {
		if ((st = record_read_mu(problem->record, &b->mu_map, b->mu, &problem->found.grid)))
			return st;
		record_warn_mu(problem->record, &b->mu_map, b->mu);
	}
	if (need & MODEL_NEEDS_DATA && (st = load_events(b))) return st;
	problem->found.rows = b->n;
	return need & MODEL_NEEDS_ADD ? load_additive(b) : ISO_OK;
}

static void unload(iso_problem *problem)
{
	struct barrel_problem *b = problem->self;

	iso_barrel_events_free(&b->e);
	iso_array_free(&b->mu_map);
	iso_array_free(&b->add);
	iso_scanner_free(b->s);
}

/* ---- what commands ask for ---- */

static struct iso_barrel_model in_subsets(struct barrel_problem *b, const struct model_subsets *s)
{
	struct iso_barrel_model m = b->model;

	m.n_sub = s->n;
	m.rule = s->rule;
	m.seed = s->seed;
	return m;
}

static void plan(iso_problem *problem, struct iso_plan *lines, const struct model_subsets *s)
{
	struct barrel_problem *b = problem->self;
	const struct iso_barrel_model m = in_subsets(b, s);

	iso_plan_add(lines, "events", b->n, sizeof(struct iso_barrel_event), false);
	if (b->mu) iso_plan_add(lines, "attenuation of events", b->n, sizeof(iso_real), false);
	iso_barrel_plan(lines, problem->ctx, &m, b->n);
}

static int op(iso_problem *problem, iso_op **made, const struct model_subsets *s)
{
	struct barrel_problem *b = problem->self;
	const struct iso_barrel_model m = in_subsets(b, s);

	if (s->n > b->n)
		return iso_fail(ISO_EARG, "'subsets' is %d, %s has %" PRId64 " events", s->n, b->events,
		                b->n);
	return iso_barrel_create(made, problem->ctx, &m, &b->e);
}

static int data(iso_problem *problem, struct model_data *d)
{
	struct barrel_problem *b = problem->self;
	int st;

	if (b->mu) {
		if ((st = model_vector(&d->mult, b->n, "attenuation of events")) ||
		    (st = iso_barrel_attenuation(d->mult, problem->ctx, &b->barrel, &b->mu_map, &b->e)))
			return st;
	}
	if (!b->add.v && !(b->add_constant > 0)) return ISO_OK;
	if ((st = model_vector(&d->add, b->n, "additive term"))) return st;
	for (int64_t j = 0; j < b->n; j++) d->add[j] = b->add.v ? b->add.v[j] : (iso_real)b->add_constant;
	return ISO_OK;
}

static int sens(iso_problem *problem, struct iso_array *s)
{
	struct barrel_problem *b = problem->self;
	int st = iso_array_on_grid(s, &problem->found.grid);

	snprintf(s->unit, sizeof s->unit, "detected/emitted");
	return st ? st : iso_barrel_sens(s->v, problem->ctx, &b->model, b->mu ? &b->mu_map : NULL);
}

static int direct(iso_problem *problem, struct iso_array *x)
{
	struct barrel_problem *b = problem->self;
	int64_t outside = 0, left_out = b->e.unknown + b->e.no_pair + b->e.not_finite + b->e.far;
	int st = iso_barrel_direct(x->v, &outside, &b->model, &b->e);

	if (st) return st;
	if (outside)
		record_warn_share(problem->record, (double)outside, (double)b->n,
		                  "%" PRId64 " of %" PRId64 " events lie outside the image", outside, b->n);
	snprintf(x->unit, sizeof x->unit, "events");
	return record_result(problem->record, "events",
	                     json_pack("{s:I, s:I}", "used", (json_int_t)(b->n - left_out - outside),
	                               "skipped", (json_int_t)(left_out + outside)));
}

const struct model model_barrel = {
	.name = "barrel",
	.title = "Model barrel",
	.about = "J-PET in three dimensions: barrels of long strips",
	.has = MODEL_COUNTS | MODEL_EVENTS,
	.bytes = sizeof(struct barrel_problem),
	.params = params,
	.one_sens = true,
	.by_events = true,
	.timeless = "events of barrels have no times here",
	.load = load,
	.unload = unload,
	.plan = plan,
	.op = op,
	.data = data,
	.sens = sens,
	.direct = direct,
	.follow_params = follow_event_params,
	.follow = &barrel_follow,
};
