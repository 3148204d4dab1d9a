/* SPDX-License-Identifier: BSD-3-Clause */
/* Model ray as a problem: events of a ring PET scanner, its operator, its sensitivity. */
#include "model_ray.h"

#include "core/size.h"
#include "text/conf.h"
#include "problem/inputs.h"
#include "io/kinds.h"
#include "problem/method.h"
#include "scanner/scanner.h"

#define PAIRS_FEW 1e6
#define PAIRS_CPU 2e7 /* crystal pairs for a sensitivity, unless the user says how many */
#define PAIRS_CUDA 3e8

static const char *const projectors[] = { "slice", "joseph", NULL }; /* as enum iso_projector */

static void params(struct opt *table, void *self)
{
	struct ray_problem *ray = self;
	char files[ISO_KIND_LIST];
	const struct opt own[] = {
		{ 0, "events", .text = &ray->events, .file = OPT_LIST, .takes = ISO_TAKES_EVENTS,
		  .value = "FILE", .help = ray->events_help },
		{ 0, "data", .text = &ray->events, .file = OPT_LIST, .takes = ISO_TAKES_EVENTS,
		  .value = "FILE", .transient = true, .help = "the same as 'events'" },
		{ 0, "scanner", .text = &ray->scanner, .file = OPT_READS, .value = "FILE",
		  .absent = "the one in the events' file; if the file has none, a cylinder through the end "
		            "points of the events",
		  .help = "scanner description (YAML or JSON), or a CASToR .hscan or .geom" },
		{ 0, "scanner-differs", .flag = &ray->scanner_differs,
		  .help = "use 'scanner' although the events' file brings another one; crystal numbers then "
		          "count in 'scanner'" },
		EVENTS_OPTS(ray->read),
		{ 0, "grid", .integer = ray->size, .count = 3, .spread = true, .value = "NX,NY,NZ", .min = 1,
		  .max = 1e15,
		  .absent = "the grid of the image, if one is given, or else the scanner's field of view",
		  .help = "number of voxels" },
		{ 0, "voxel", .real = ray->voxel, .unit = "mm", .count = 3, .spread = true,
		  .value = "DX,DY,DZ", .min = 1e-6, .max = 1e6,
		  .absent = "that of the image, or else about half a crystal",
		  .help = "size of a voxel, mm" },
		{ 0, "centre", .real = ray->centre, .unit = "mm", .count = 3, .value = "X,Y,Z",
		  .absent = "0,0,0, or the centre of the scanner if its field of view is used",
		  .help = "centre of the image, mm" },
		{ 0, "projector", .text = &ray->projector, .words = projectors, .value = "NAME",
		  .help = "slice: exact chords through box voxels; joseph: bilinear samples, smooth inside" },
		{ 0, "rays", .integer = &ray->rays, .value = "N", .min = 1, .max = 64,
		  .help = "lines per event, spread over its two crystals (needs crystal_mm of the scanner)" },
		{ 0, "response", .text = &ray->response_file, .file = OPT_READS, .value = "FILE",
		  .help = "table of isotome response: lines of an event lie where its crystals record "
		          "photons, and pairs of crystals weigh as these respond" },
		{ 0, "response-lines", .integer = &ray->response_lines, .value = "9|25|49", .min = 9,
		  .max = 49, .help = "lines per event with 'response'" },
		{ 0, "tof-fwhm-ps", .real = &ray->tof_fwhm_ps, .unit = "ps", .value = "PS", .min = 0,
		  .max = 1e6, .absent = "the events' or the scanner's",
		  .help = "time-of-flight resolution; 0: do not use time of flight" },
		{ 0, "tof-bin-ps", .real = &ray->tof_bin_ps, .unit = "ps", .value = "PS", .min = 0,
		  .max = 1e6, .absent = "the events', or the scanner's if all times are centres of its bins",
		  .help = "width of a bin of t1 - t2; 0: times are not binned" },
		{ 0, "tof-truncate", .real = &ray->tof_truncate, .value = "K", .min = 0, .max = 100,
		  .help = "cut the TOF kernel at K sigma; 0: do not cut" },
		ray_times_param(&ray->times_file),
		{ 0, "mu", .text = &ray->mu, .file = OPT_FIRST, .takes = ISO_TAKES_ARRAY, .value = "FILE",
		  .help = "attenuation map, 1/mm; with 'fields' also a list of maps, one per gate" },
		{ 0, "precorrected", .flag = &ray->precorrected,
		  .help = "divide events by their attenuation instead of putting it into the model" },
		{ 0, "norm", .text = &ray->norm, .file = OPT_READS, .takes = ISO_TAKES_ARRAY, .value = "FILE",
		  .help = "efficiencies per crystal, or factors per event (the length says which), or "
		          "projection data on the bins of 'events', or NAME.norm.json of isotome norm, or a "
		          "normalisation file of CASToR (.Cdh)" },
		{ 0, "norm-inverse", .flag = &ray->norm_inverse,
		  .help = "'norm' holds 1/efficiency, as STIR's norm factors do" },
		{ 0, "additive", .text = &ray->additive, .file = OPT_READS, .takes = ISO_TAKES_ARRAY,
		  .value = "FILE|R", .or_number = true,
		  .help = "expected counts of randoms and scatter in the whole scan: a file with one value "
		          "per event, one number for all, or projection data on the bins of 'events'. With "
		          "TOF the values are per mm, or per bin of 'tof-bin-ps'" },
		{ 0, "additive-over-m", .flag = &ray->additive_over_m,
		  .help = "'additive' was divided by the factors m, as PETRIC's additive_term is" },
		{ 0, "delayed", .text = &ray->delayed, .file = OPT_READS, .takes = ISO_TAKES_EVENTS,
		  .value = "FILE|none", .or_word = "none",
		  .absent = "the delayed events in the events' file, if it has any",
		  .help = "events of the delayed window, from which randoms are estimated and added" },
		{ 0, "singles", .text = &ray->singles, .file = OPT_READS, .takes = ISO_TAKES_ARRAY,
		  .value = "FILE",
		  .help = "single counts per crystal, from which randoms are estimated and added" },
		{ 0, "coincidence-ns", .real = &ray->coincidence_ns, .unit = "ns", .value = "NS", .min = 1e-3,
		  .max = 1e6, .absent = "the scanner's",
		  .help = "two photons at most this far apart form a pair; used for 'singles', and for "
		          "randoms with TOF" },
		{ 0, "duration-s", .real = &ray->duration_s, .unit = "s", .value = "S", .min = 1e-6,
		  .max = 1e9, .absent = "what the events' file says", .help = "how long the scan took" },
		{ 0, "sens-share", .real = &ray->share, .value = "F", .min = 1e-12, .max = 1,
		  .absent = "all pairs of a cylinder, otherwise up to 2e7 (CPU) or 3e8 (CUDA)",
		  .help = "share of the crystal pairs that is drawn for the sensitivity; 1: all pairs" },
		{ 0, "sens-seed", .integer = &ray->sens_seed, .value = "N", .min = 0, .max = 9e15,
		  .help = "seed of that draw" },
		{ 0, "cache", .text = &ray->cache, .file = OPT_PLACE, .value = "FOLDER|none",
		  .transient = true,
		  .absent = "$ISOTOME_CACHE, else $XDG_CACHE_HOME/isotome, else ~/.cache/isotome",
		  .help = "folder that keeps the sensitivity for the next run of the same scanner, grid and "
		          "factors; none: compute it again" },
		{ 0, "window", .text = &ray->window, .value = "hann:C", .absent = "none",
		  .goes = TAKES_WINDOW,
		  .help = "window of the ramp: (1 + cos(pi f/(C f_N)))/2 below C times the Nyquist "
		          "frequency f_N, 0 above; C at most 1" },
		{ 0, "no-cache", .flag = &ray->no_cache, .transient = true,
		  .help = "the same as 'cache' none" },
		{ 0 },
	};
	enum {
		OWN = sizeof own / sizeof *own - 1,
		BEFORE_GATES = OWN + RAY_SCATTER_PARAMS + RAY_MOTION_PARAMS,
		BEFORE_FIELDS = BEFORE_GATES + RAY_GATES_PARAMS
	};

	_Static_assert(BEFORE_FIELDS + RAY_FIELDS_PARAMS < MODEL_PARAMS, "room for the parameters");
	*ray = (struct ray_problem){ .projector = "slice",
		                     .rays = 1,
		                     .response_lines = 25,
		                     .tof_truncate = 3,
		                     .sens_seed = 1,
		                     .read = { .size = sizeof ray->read, .moving = true } };
	iso_kind_events(files);
	snprintf(ray->events_help, sizeof ray->events_help,
	         "list-mode events, or a histogram of lines with counts (%s); with 'fields' a histogram "
	         "for each gate, FILE,FILE,...",
	         files);
	memcpy(table, own, OWN * sizeof *own);
	ray_scatter_params(table + OWN, &ray->scatter);
	ray_motion_params(table + OWN + RAY_SCATTER_PARAMS, &ray->motion);
	ray_gates_params(table + BEFORE_GATES, &ray->gates);
	ray_fields_params(table + BEFORE_FIELDS, &ray->gates);
	table[BEFORE_FIELDS + RAY_FIELDS_PARAMS] = own[OWN];
}

/* ---- reading what the options name ---- */

/* As far as the parameters say. */
static int ray_grid(iso_problem *problem, struct iso_grid *g)
{
	const struct ray_problem *ray = problem->self;

	if (!problem_given(problem, "grid") || !problem_given(problem, "voxel")) return MODEL_ASK_LOAD;
	for (int a = 0; a < 3; a++) {
		g->n[a] = ray->size[a];
		g->voxel[a] = ray->voxel[a];
		g->centre[a] = ray->centre[a];
	}
	return problem_check_grid(g, NULL);
}

static int load_grid(struct ray_problem *ray, const struct iso_grid *image)
{
	int st;

	if (problem_takes_grid(ray->p, image)) {
		ray->grid = *image;
		return ISO_OK;
	}
	if ((st = ray_grid(ray->p, &ray->grid)) == MODEL_ASK_LOAD) st = ray_field_of_view(ray);
	return st ? st : problem_check_grid(&ray->grid, image);
}

/* The file of positions that a table of detectors names. */
static int record_positions(struct ray_problem *ray)
{
	struct conf_node *root = NULL;
	char path[PATH_MAX];
	int st = iso_scanner_is_castor(ray->scanner) ? ISO_OK : iso_conf_read(&root, ray->scanner);
	const struct conf_node *name = st || !root ? NULL : iso_conf_find(root, "positions");

	if (name && !(st = iso_conf_file(path, sizeof path, root, name->text)))
		st = record_input(ray->p->record, path);
	iso_conf_free(root);
	return st;
}

static int load_scanner(struct ray_problem *ray, bool needed)
{
	int st;

	if (!ray->scanner) return ray_find_scanner(ray, needed);
	if ((st = iso_scanner_read(&ray->s, ray->scanner)) ||
	    (st = record_input(ray->p->record, ray->scanner)))
		return st;
	if (iso_scanner_note(ray->s)[0])
		record_warn(ray->p->record, "%s: %s", ray->scanner, iso_scanner_note(ray->s));
	return iso_scanner_kind(ray->s) == ISO_DETECTORS ? record_positions(ray) : ISO_OK;
}

static int check_rays(const struct ray_problem *ray)
{
	if (ray->response) return ISO_OK;
	if (ray->rays > 1 && ray->s && iso_scanner_panels(ray->s))
		return iso_fail(ISO_EARG,
		                "'rays' is %" PRId64
		                ", which spreads lines around a ring; %s is a pair of panels",
		                ray->rays, iso_scanner_name(ray->s));
	if (ray->rays > 1 && !(ray->s && iso_scanner_crystal_mm(ray->s)))
		return iso_fail(ISO_EARG,
		                "'rays' is %" PRId64
		                ", which needs the size of a crystal: a 'scanner' with crystal_mm",
		                ray->rays);
	return ISO_OK;
}

static int ray_load(iso_problem *problem, int need, const struct iso_grid *image)
{
	struct ray_problem *ray = problem->self;
	int st;

	ray->p = problem;
	ray->read.ctx = problem->ctx;
	ray_gate_files_begin(ray);
	if ((st = ray_preset_record(problem))) return st;
	bool settled = problem_takes_grid(problem, image) || ray_grid(problem, &ray->grid) != MODEL_ASK_LOAD;

	if ((st = load_scanner(ray, need & MODEL_NEEDS_SENS || !settled))) return st;
	if ((st = ray_response_load(ray)) || (st = ray_times_read(ray)) || (st = ray_motion_tables(ray)) ||
	    (st = ray_gates_begin(ray)) || (st = load_grid(ray, image)) || (st = ray_fields_load(ray)))
		return st;
	if (need & MODEL_NEEDS_SENS && !ray->s)
		return iso_fail(ISO_EARG,
		                "the sensitivity needs 'scanner', a description or a CASToR .hscan or .geom, "
		                "or 'events' (or, for recon, 'sens' FILE or 'sens' none)");
	problem->found.grid = ray->grid;
	problem->found.unit = "counts/mm";
	if ((st = check_rays(ray))) return st;
	if (need & MODEL_NEEDS_SENS && !(need & MODEL_NEEDS_DATA)) {
		bool all = false;

		if ((st = ray_lists_all(ray, &all))) return st;
		need |= all ? MODEL_NEEDS_DATA | MODEL_MAY_STREAM : 0;
	}
	if (need & MODEL_NEEDS_DATA && ((st = ray_load_events(ray, need)) || (st = ray_load_tof(ray)) ||
	                                (st = ray_resolution_of_events(ray)) || (st = ray_times_begin(ray))))
		return st;
	if (!(need & MODEL_NEEDS_DATA) && need & MODEL_NEEDS_SENS && ray->events &&
	    !record_given(ray->p->record, ray->events)->events.v &&
	    ((st = ray_heed_file(ray)) || (st = record_input(ray->p->record, ray->events))))
		return st;
	if ((st = ray_motion_begin(ray, need))) return st;
	problem->found.sens_of_pairs = !ray->e.lists_all;
	problem->found.cut = ray->field && !ray->e.lists_all;
	if ((st = ray_load_factors(ray)) || (st = ray_motion_maps(ray))) return st;
	if (need & MODEL_MAY_STREAM && need & MODEL_NEEDS_ADD && (st = ray_scatter_check(ray))) return st;
	ray->needs_sens = need & MODEL_NEEDS_SENS;
	ray->needs_add = need & MODEL_NEEDS_ADD;
	return ray->needs_add ? ray_load_additive(ray) : ISO_OK;
}

static void ray_unload(iso_problem *problem)
{
	struct ray_problem *ray = problem->self;

	ray_scatter_forget(ray);
	ray_motion_end(ray);
	ray_gates_end(ray);
	ray_times_end(ray);
	ray_unselect(ray);
	ray_disk_close(ray);
	iso_event_file_close(ray->file); /* before the scanner, which may be its own */
	ray_forget_events(ray);
	iso_events_free(&ray->late);
	free(ray->times.number);
	free(ray->late_times.number);
	ray_response_free(ray);
	iso_scanner_free(ray->s);
	iso_array_free(&ray->mu_map);
	iso_array_free(&ray->factors);
	iso_array_free(&ray->add);
	free(ray->rate);
}

/* ---- what commands ask for ---- */

struct iso_ray ray_parameters(struct ray_problem *ray, const struct model_subsets *s)
{
	struct iso_ray p = {
		.size = sizeof p,
		.grid = ray->grid,
		.projector = (enum iso_projector)opt_place(projectors, ray->projector),
		.rays = (int)ray->lines,
		.n_sub = s->n,
		.parts = s->parts,
		.part = s->part,
		.rule = s->rule,
		.seed = s->seed,
		.tof_fwhm_ps = ray->tof,
		.tof_truncate = ray->tof_truncate,
		.tof_bin_ps = ray->bin,
		.tof_centred = ray->bin > 0 && (ray->bin == ray->e.tof_bin_ps || ray->offsets),
		.tof_each = ray->tof_each,
		.response = ray->response,
		.scanner = ray->response ? ray->s : NULL,
	};

	if (ray->lines > 1 && !ray->response)
		memcpy(p.spread_mm, iso_scanner_crystal_mm(ray->s), sizeof p.spread_mm);
	return p;
}

/* Of an event with all that is known of it. */
static int64_t event_bytes(const struct iso_events *e)
{
	return (int64_t)sizeof *e->v + (e->time_ms ? 4 : 0) + (e->crystal ? 8 : 0) +
	       (!!e->count + !!e->mult + !!e->add + !!e->fwhm_ps) * (int64_t)sizeof(iso_real);
}

void ray_plan_inputs(struct ray_problem *ray, struct iso_plan *plan, bool cuda)
{
	if (ray->late.n) iso_plan_add(plan, "delayed events", ray->late.n, sizeof(struct iso_event), false);
	if (ray->mu_map.n && ray->n) /* along the events */
		iso_plan_add(plan, "attenuation map, to trace", ray->mu_map.n, sizeof(iso_real), cuda);
}

/* What the fast passes of CUDA do not serve. Short memory is no property of the run: a warning. */
static int tell_path(struct ray_problem *ray, const iso_op *op)
{
	const char *plain = iso_ray_plain(op);
	double most = 0;
	int st;

	for (int64_t i = 0; ray->now.count && i < ray->now.n; i++)
		most = ray->now.count[i] > most ? ray->now.count[i] : most;
	if (ray->dealt && (st = iso_comm_max(ray->p->ctx, ISO_OK, &most, 1))) return st;
	if (!plain && most > ISO_RAY_MOST_COUNT) plain = "a line has more than 256 counts";
	if (plain)
		record_tell(ray->p->record, strstr(plain, "memory") ? ISO_WARNING : ISO_DETAIL,
		            "events are traced one by one, not through bricks of voxels: %s", plain);
	return ISO_OK;
}

int ray_sample_op(struct ray_problem *ray, iso_op **op, iso_ctx *alone, int64_t n)
{
	struct iso_ray p = ray_parameters(ray, &(const struct model_subsets){ .n = 1 });
	struct iso_events e = { .n = n };
	int st;

	if (!(e.v = size_alloc(e.n, sizeof *e.v)))
		return iso_fail_memory("estimate", e.n * (int64_t)sizeof *e.v);
	for (int64_t i = 0; i < e.n; i++) e.v[i] = ray->e.v[i % ray->e.n];
	p.tof_each = false; /* which takes as long */
	st = iso_ray_create(op, alone, &p, &e);
	free(e.v);
	return st;
}

static int ray_time_sample(iso_problem *problem, iso_op **op, iso_ctx *alone, double *times)
{
	struct ray_problem *ray = problem->self;
	int64_t n = iso_ctx_is_cuda(alone) ? RAY_SAMPLE_CUDA : RAY_SAMPLE_CPU;

	*times = (double)problem->found.rows / (double)n;
	return ray->e.n < 1 ? ISO_OK : ray_sample_op(ray, op, alone, n);
}

/* Several lines of an event that moved are laid at its crystals. */
int ray_make_op(struct ray_problem *ray, iso_op **op, const struct iso_ray *p)
{
	iso_ctx *ctx = ray->p->ctx;
	int st;

	if (p->rays > 1 && ray->motion.moved)
		return iso_ray_create_moved(op, ctx, p, &ray->now, ray->motion.all);
	if ((st = iso_ray_create(op, ctx, p, &ray->now))) return st;
	return iso_ctx_is_cuda(ctx) ? tell_path(ray, *op) : ISO_OK;
}

static int ray_op(iso_problem *problem, iso_op **op, const struct model_subsets *s)
{
	struct ray_problem *ray = problem->self;
	struct iso_ray p = ray_parameters(ray, s);

	if (s->n > problem->found.rows)
		return iso_fail(ISO_EARG, "'subsets' is %d, %s has %" PRId64 " events%s", s->n, ray->events,
		                problem->found.rows, ray->frame.all ? "" : " in that time");
	if (ray->disk) return ray_disk_op(ray, op, s);
	if (ray->dealt) {
		p.number = ray->in_frame;
		p.total = problem->found.rows;
	}
	return ray_fielded(ray) ? ray_fields_op(ray, op, &p) : ray_make_op(ray, op, &p);
}

/* From all pairs by rings where that goes; few pairs are sooner traced one by one. */
static struct iso_ray_sens sens_parameters(struct ray_problem *ray)
{
	double pairs = (double)iso_scanner_pairs(ray->s);
	double most = iso_ctx_is_cuda(ray->p->ctx) ? PAIRS_CUDA : PAIRS_CPU;
	struct iso_ray_sens p = {
		.size = sizeof p,
		.grid = ray->grid,
		.projector = (enum iso_projector)opt_place(projectors, ray->projector),
		.scanner = ray->s,
		.rays = (int)ray->lines,
		.seed = (uint64_t)ray->sens_seed,
		.eff = ray_norm_per_crystal(ray) ? ray->factors.v : NULL,
		.mu = ray->mu && !ray->precorrected ? &ray->mu_map : NULL,
		.coincidence_alone = ray->norm && !ray_norm_of_pairs(ray),
		.response = ray->response,
	};

	if (ray->lines > 1 && !ray->response)
		memcpy(p.spread_mm, iso_scanner_crystal_mm(ray->s), sizeof p.spread_mm);
	if (ray->share > 0)
		p.share = ray->share;
	else if (ray_motion_in_sens(ray))
		p.share = 1;
	else if (pairs <= PAIRS_FEW || !iso_ray_sens_by_rings(&p))
		p.share = fmin(1, most / pairs / (double)(ray->response ? 1 : ray->lines));
	return p;
}

bool ray_draws_pairs(struct ray_problem *ray)
{
	double share = sens_parameters(ray).share;

	return share > 0 && share < 1;
}

static void ray_plan(iso_problem *problem, struct iso_plan *plan, const struct model_subsets *s)
{
	struct ray_problem *ray = problem->self;
	struct iso_ray p = ray_parameters(ray, s);

	if (problem->s.how && problem->s.how->needs & MODEL_ANALYTIC) {
		ray_fbp_plan(ray, plan);
		return;
	}
	if (ray->needs_sens && !ray->e.lists_all) {
		struct iso_ray_sens sens = sens_parameters(ray);
		const iso_real any = 0;

		if (ray_norm_per_crystal(ray)) sens.eff = &any; /* a dry run has no values */
		if (ray->motion.all && iso_ctx_is_cuda(problem->ctx))
			sens.share = 1; /* lines, block by block */
		iso_ray_sens_plan(plan, problem->ctx, &sens);
	}
	if (ray->needs_sens && ray->e.lists_all) ray_bins_plan(ray, plan);
	if (ray_scatter_on(ray) && ray->needs_add) {
		iso_plan_add(plan, "coarse images of the rounds", iso_grid_voxels(&ray->grid),
		             3 * sizeof(iso_real), false);
		ray_scatter_plan(ray, plan);
		ray_seen_plan(ray, plan);
	}
	if (ray->disk) {
		ray_disk_plan(ray, plan, s);
		return;
	}
	int64_t n = ray_events_here(ray, ray->n);

	iso_plan_add(plan, "events", n, event_bytes(&ray->e), false);
	if (ray_gated(ray)) iso_plan_add(plan, "gates of events", n, 2 * sizeof(int32_t), false);
	if (ray_fielded(ray)) iso_plan_add(plan, "events in order of gates", n, 2 * sizeof(int64_t), false);
	if (ray_fielded(ray)) ray_fields_plan(ray, plan);
	if (iso_ranks(problem->ctx) > 1)
		iso_plan_add(plan, "numbers of events, subset by subset", n, 3 * sizeof(int64_t), false);
	ray_plan_inputs(ray, plan, iso_ctx_is_cuda(problem->ctx));
	(ray->motion.all ? iso_ray_moved_plan : iso_ray_plan)(plan, problem->ctx, &p, n);
	if (problem->s.replicates.n > 0 && !ray->motion.all) iso_ray_many_plan(plan, problem->ctx, &p, n);
}

/* What the image is made of, and `from` which file of the cache it comes; "": none. */
static int tell_sens(struct ray_problem *ray, const struct iso_ray_sens *p, double error, const char *from)
{
	struct record *record = ray->p->record;
	double pairs = (double)iso_scanner_pairs(ray->s), share = p->share > 0 ? p->share : 1;
	json_t *told = record_pack("{s:f, s:f, s:b, s:f}", "pairs", pairs, "share", share, "by_rings",
	                           p->share == 0, "relative_error", error);

	if (from[0]) {
		record_tell(record, ISO_NEWS, "sensitivity taken from the cache: %s", from);
		json_object_set_new(told, "taken_from", record_string(from));
	}
	record_tell(record, ISO_DETAIL, "sensitivity from %.3g of %.3g crystal pairs%s, error %.2g %%",
	            share * pairs, pairs, p->share > 0 ? "" : ", by rings", 100 * error);
	if (error > 0)
		record_warn(record,
		            "the sensitivity is from %.2g %% of the crystal pairs, to %.2g %%: every update "
		            "adds as much to the image, voxel by voxel, so that K updates change it by up to "
		            "K x %.2g %%; 'sens-share' 1 takes all pairs",
		            100 * share, 100 * error, 100 * error);
	return record_result(record, "sensitivity", told);
}

static int sens_of_pairs(struct ray_problem *ray, struct iso_array *s)
{
	struct iso_ray_sens p = sens_parameters(ray);
	char from[PATH_MAX];
	double error = 0;
	int st;

	if (ray_factors_not_in_sens(ray))
		record_warn(ray->p->record,
		            "%s holds factors per event: they are not in the sensitivity; give an image that "
		            "has them with 'sens'",
		            ray->norm ? ray->norm : ray->events);
	if ((st = iso_array_on_grid(s, &ray->grid))) return st;
	snprintf(s->unit, sizeof s->unit, "mm");
	if (ray_motion_in_sens(ray)) {
		if ((st = ray_motion_sens(ray, s->v, &p))) return st;
		ray_clear_corners(ray, s->v);
		return ISO_OK;
	}
	if ((st = ray_sens_cached(ray, s->v, &error, &p, from))) return st;
	ray_clear_corners(ray, s->v);
	return tell_sens(ray, &p, error, from);
}

static int ray_sens(iso_problem *problem, struct iso_array *s)
{
	struct ray_problem *ray = problem->self;

	if (ray->e.lists_all) return ray_bins_sens(ray, s);
	return ray_fielded(ray) ? ray_fields_sens(ray, s, sens_of_pairs) : sens_of_pairs(ray, s);
}

static bool ray_sens_differs(const iso_problem *problem)
{
	return ((const struct ray_problem *)problem->self)->motion.all;
}

static bool ray_needs_rounds(const iso_problem *problem)
{
	return ray_scatter_on(problem->self);
}

const struct model model_ray = {
	.name = "ray",
	.title = "Model ray",
	.about = "list-mode PET",
	.has = MODEL_COUNTS | MODEL_FEATURES | MODEL_UNITS | MODEL_ANALYTIC | MODEL_REPLICATES,
	.bytes = sizeof(struct ray_problem),
	.params = params,
	.streams_rows = true,
	.rows_split = true,
	.one_sens = true,
	.sens_floor = .2,
	.load = ray_load,
	.preset = ray_preset,
	.preset_param = ray_preset_param,
	.gating = ray_gating,
	.grid = ray_grid,
	.unload = ray_unload,
	.select = ray_select,
	.plan = ray_plan,
	.way = ray_way,
	.sample = ray_time_sample,
	.op = ray_op,
	.data = ray_data,
	.sens = ray_sens,
	.sens_differs = ray_sens_differs,
	.sens_of_subsets = ray_bins_of_subsets,
	.describe = ray_disk_describe,
	.needs_rounds = ray_needs_rounds,
	.rounds = ray_rounds,
	.seen = ray_seen,
	.told = ray_scatter_told,
	.scatter = ray_scatter_of_image,
	.finish = ray_scatter_save,
	.scale = ray_scale,
	.calibration = ray_calibration,
	.direct = ray_fbp,
	.direct_check = ray_fbp_check,
};
