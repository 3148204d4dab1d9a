/* SPDX-License-Identifier: BSD-3-Clause */
/* The scatter term of model ray: its parameters, what they can't be used with, and r of events.

   Of pair i the table has h_i, for crystals of efficiency 1; expected are eta_i g_i h_i, g_i = 1 where pairs are weighted
   by the solid angle W_i, else 1 / W_i. Either way that is (m_i / alpha_i) h_i / W_i, with the m of the run, so that
   efficiencies of crystals, of pairs or of single events serve alike. */
#include "model_ray.h"

#include "core/size.h"
#include "file/suffix.h"
#include "io/format.h"
#include "scanner/scanner.h"

#define MOST_MU 0.05 /* 1/mm: no matter of a body has more at 511 keV */
#define OUTSIDE \
	0.03 /* share of the activity away from matter that is no cause for a warning; of clean scans 0.01 */
#define LOW_KEV 350      /* below this threshold multiple scatter is a large part */
#define OFF_SCANNER 0.01 /* share of events that may lie on no crystal */

static const char *const methods[] = { "sss+mc", "sss", "mc", NULL }; /* as enum iso_scatter_method */

/* ---- parameters ---- */

void ray_scatter_params(struct opt *table, struct ray_scatter *s)
{
	const struct opt own[RAY_SCATTER_PARAMS] = {
		{ 0, "scatter", .text = &s->method, .words = methods, .value = "METHOD", .absent = "none",
		  .help = "estimate the scattered coincidences of a ring from coarse images of the scan; "
		          "needs 'mu'. sss+mc: single scatter by formula and multiple scatter by Monte "
		          "Carlo; sss: single scatter alone; mc: all by Monte Carlo" },
		{ 0, "scatter-rounds", .integer = &s->rounds, .with = "scatter", .value = "N", .min = 1,
		  .max = 20, .help = "largest number of rounds, each an image and an estimate" },
		{ 0, "scatter-scale", .text = &s->scale, .with = "scatter", .value = "K|fit",
		  .help = "factor on the estimate, which is already in counts. fit: the factor that lines "
		          "beside the object ask for, if it is within 5 sigma of the estimate; fit-anyway: "
		          "that factor in any case" },
		{ 0, "scatter-seed", .integer = &s->seed, .with = "scatter", .value = "N", .min = 0,
		  .max = 9e15, .help = "seed of the Monte Carlo" },
		{ 0, "scatter-error", .real = &s->error, .with = "scatter", .value = "F", .min = 1e-4,
		  .max = 0.5, .help = "statistical error of the Monte Carlo, as a share of the scatter" },
		{ 0, "scatter-extend", .flag = &s->extend, .with = "scatter",
		  .help = "repeat the last planes of image and map beyond their ends" },
		{ 0, "scatter-poses-mm", .real = &s->poses_mm, .unit = "mm", .with = "scatter", .value = "MM",
		  .min = .1, .max = 1000,
		  .help = "an estimate serves all poses of an object that moves in which no corner of the "
		          "image is farther than this from its first pose; at most 32 are made" },
		{ 0, "scatter-save", .text = &s->save, .with = "scatter", .file = OPT_WRITES,
		  .value = "FILE.h5",
		  .help = "write the last estimate as a table over sample detectors and time of flight" },
		{ 0, "energy-window", .real = s->window_kev, .with = "scatter", .count = 2, .unit = "keV",
		  .value = "LO,HI", .min = 1, .max = 1e4, .absent = "the scanner's",
		  .help = "energies that the scanner counts" },
		{ 0, "energy-resolution", .real = &s->resolution, .with = "scatter", .value = "F",
		  .min = 1e-6, .max = 0.999999, .absent = "the scanner's",
		  .help = "FWHM at 511 keV, as a share of 511 keV" },
	};

	*s = (struct ray_scatter){
		.scale = "1", .rounds = 3, .seed = 1, .error = .01, .eta = 1, .poses_mm = 10
	};
	memcpy(table, own, sizeof own);
}

bool ray_scatter_on(const struct ray_problem *ray)
{
	return ray->scatter.method;
}

/* ---- what can't be used ---- */

static int check_scale(struct ray_scatter *s)
{
	s->times = 1;
	s->anyway = strcmp(s->scale, "fit-anyway") == 0;
	s->fit = s->anyway || strcmp(s->scale, "fit") == 0;
	if (s->fit || (iso_number(&s->times, s->scale, strlen(s->scale)) && s->times > 0)) return ISO_OK;
	return iso_fail(ISO_EARG, "'scatter-scale' is '%.40s', must be a number above 0, fit or fit-anyway",
	                s->scale);
}

static int check_save(const struct ray_problem *ray)
{
	const char *path = ray->scatter.save;

	if (!path) return ISO_OK;
	if (!iso_has_suffix(path, ".h5"))
		return iso_fail(ISO_EARG, "%s: 'scatter-save' writes .h5 alone", path);
	if (ray->p->s.frames.series)
		return iso_fail(ISO_EARG, "'scatter-save' is one table: it does not go with 'frames'");
	return iso_target_check(path, ray->p->force || ray->p->s.resume || ray->p->record != &ray->p->own);
}

static int check_energy(const struct ray_problem *ray)
{
	const struct ray_scatter *s = &ray->scatter;
	const double *window = s->window_kev[1] > 0 ? s->window_kev : ray->s->energy_kev;

	if (!(window[1] > 0))
		return iso_fail(
			ISO_EARG,
			"'scatter' needs the energy window: energy: {window_kev: [435, 650], resolution: "
			"0.11} in the description of %s, or 'energy-window' and 'energy-resolution'",
			iso_scanner_name(ray->s));
	if (!(window[0] < window[1]))
		return iso_fail(ISO_EARG, "'energy-window' is %g,%g keV: the first must be below the second",
		                window[0], window[1]);
	if (!(s->resolution > 0) && !(ray->s->energy_resolution > 0))
		return iso_fail(ISO_EARG,
		                "'scatter' needs the energy resolution: energy: {resolution: 0.11} in the "
		                "description of %s, or 'energy-resolution'",
		                iso_scanner_name(ray->s));
	return ISO_OK;
}

static int check_map(const struct ray_problem *ray)
{
	const struct iso_array *mu = &ray->mu_map;
	double most = 0;

	for (int64_t i = 0; mu->v && i < mu->n; i++) most = mu->v[i] > most ? mu->v[i] : most;
	if (most > MOST_MU)
		return iso_fail(ISO_EINPUT, "%s: up to %g 1/mm, above %g: is it 1/cm? 'scatter' needs 1/mm",
		                ray->mu, most, MOST_MU);
	if (mu->v && most == 0)
		return iso_fail(ISO_EINPUT, "%s: holds no matter: 'scatter' has none", ray->mu);
	return ISO_OK;
}

/* Ends of events, of some thousands of them, that lie farther than a crystal from every crystal. */
static int check_ends(struct ray_problem *ray)
{
	const double *size = iso_scanner_crystal_mm(ray->s);
	double far = size ? hypot(fmax(size[0], size[1]), size[2]) : 30;
	int64_t n = ray->dealt ? ray->n : ray->e.n, step = n / 5000 + 1, sum[2] = { 0 }; /* off, looked at */
	int st = ISO_OK;

	for (int64_t i = 0; i < n; i += step) {
		int64_t j = ray->dealt ? iso_deal_place(&ray->deal, i) : i;
		const struct iso_event *e = ray->e.v + j;
		double d[2] = { 0 };

		if (j < 0 || iso_event_bad(e)) continue;
		double p1[3] = { e->p1[0], e->p1[1], e->p1[2] }, p2[3] = { e->p2[0], e->p2[1], e->p2[2] };

		if (ray->motion.moved) ray_motion_crystals(p1, p2, ray, &ray->e, j);
		iso_scanner_nearest(&d[0], ray->s, p1);
		iso_scanner_nearest(&d[1], ray->s, p2);
		sum[0] += d[0] > far || d[1] > far;
		sum[1]++;
	}
	if (ray->dealt) st = iso_comm_sum(ray->p->ctx, ISO_OK, sum, 2);
	if (st || (double)sum[0] <= OFF_SCANNER * (double)sum[1]) return st;
	return iso_fail(ISO_EINPUT,
	                "%s: %" PRId64 " of %" PRId64 " events looked at end more than %.3g mm from every "
	                "crystal of %s: 'scatter' needs its own scanner",
	                ray->events, sum[0], sum[1], far, iso_scanner_name(ray->s));
}

int ray_scatter_check(struct ray_problem *ray)
{
	const char *sens = ray->p->s.sens;
	int st;

	if (!ray_scatter_on(ray)) return ISO_OK;
	if (!ray->mu) return iso_fail(ISO_EARG, "'scatter' needs 'mu', the attenuation map in 1/mm");
	if (ray->precorrected) return iso_fail(ISO_EARG, "'precorrected' data can't carry 'scatter'");
	if (sens && strcmp(sens, "none") == 0)
		return iso_fail(ISO_EARG,
		                "'scatter' is in counts: it needs the sensitivity, not 'sens' none");
	if (!ray->s) return iso_fail(ISO_EARG, "'scatter' needs 'scanner'");
	if (iso_scanner_kind(ray->s) != ISO_CYLINDER && iso_scanner_kind(ray->s) != ISO_DETECTORS)
		return iso_fail(ISO_EARG, "'scatter' is for rings of crystals; %s is none",
		                iso_scanner_name(ray->s));
	if ((st = check_scale(&ray->scatter)) || (st = check_save(ray)) || (st = check_energy(ray)) ||
	    (st = check_map(ray)) || (st = check_ends(ray)))
		return st;
	if (ray->e.add || ray->additive)
		record_tell(ray->p->record, ISO_NEWS,
		            "%s: its additive term is taken for randoms: 'scatter' adds to it",
		            ray->additive ? ray->additive : ray->events);
	return ISO_OK;
}

/* ---- the estimate ---- */

void ray_scatter_forget(struct ray_problem *ray)
{
	struct ray_scatter *s = &ray->scatter;

	ray_scatter_poses_free(s);
	json_decref(s->told);
	ray_seen_free(s->seen);
	s->told = NULL;
	s->seen = NULL;
}

struct iso_scatter ray_scatter_parameters(struct ray_problem *ray, const struct iso_array *image)
{
	const struct ray_scatter *s = &ray->scatter;

	return (struct iso_scatter){
		.size = sizeof(struct iso_scatter),
		.method = (enum iso_scatter_method)opt_place(methods, s->method),
		.scanner = ray->s,
		.image = image,
		.mu = &ray->mu_map,
		.tof_fwhm_ps = ray->tof,
		.window_kev = { s->window_kev[0], s->window_kev[1] },
		.resolution = s->resolution,
		.error = s->fit && !problem_given(ray->p, "scatter-error") ? s->error / 2 : s->error,
		.extend = s->extend,
		.seed = (uint64_t)s->seed,
		.response = ray->response,
	};
}

void ray_scatter_warn(struct ray_problem *ray, const struct iso_scatter_info *i)
{
	struct record *record = ray->p->record;
	const struct ray_scatter *s = &ray->scatter;
	double low = s->window_kev[1] > 0 ? s->window_kev[0] : ray->s->energy_kev[0];

	if (i->outside_matter > OUTSIDE)
		record_warn(record, "%.0f %% of the activity lies where %s is empty: is the map registered?",
		            100 * i->outside_matter, ray->mu);
	if (i->cut)
		record_warn(
			record,
			"%s has matter at its edge across: what lies beyond scatters too, and is not seen",
			ray->mu);
	if (i->ends_active && !s->extend)
		record_warn(record, "activity goes on beyond the image: 'scatter-extend' lets its last "
		                    "planes go on, or a longer 'grid' holds it");
	if (i->histories > 0 && i->error > 1.05 * s->error)
		record_warn(record,
		            "the Monte Carlo of the scatter is good to %.2g %%, asked for were %.2g %%",
		            100 * i->error, 100 * s->error);
	if (strcmp(s->method, "sss") == 0 && low < LOW_KEV)
		record_warn(record,
		            "'scatter' sss has photons that scattered once alone: from %g keV on others are "
		            "a large part",
		            low);
}

/* ---- r of events ---- */

/* Times that the model rounds to bins, at the bins' centres. */
static int round_times(struct iso_events *to, const struct ray_problem *ray, const struct iso_events *e)
{
	*to = (struct iso_events){ .n = e->n, .v = size_alloc(e->n, sizeof *e->v) };
	if (!to->v) return iso_fail_memory("scatter", e->n * (int64_t)sizeof *e->v);
	for (int64_t j = 0; j < e->n; j++) {
		to->v[j] = e->v[j];
		to->v[j].dt_ps = (float)(round(e->v[j].dt_ps / ray->bin) * ray->bin);
	}
	return ISO_OK;
}

double ray_met(const struct ray_problem *ray, const struct iso_event *e)
{
	return iso_scanner_met(ray->s, (double[]){ e->p1[0], e->p1[1], e->p1[2] },
	                       (double[]){ e->p2[0], e->p2[1], e->p2[2] });
}

int ray_scatter_add(struct ray_problem *ray, const struct iso_events *e, const iso_real *mult, iso_real *r)
{
	const struct ray_scatter *s = &ray->scatter;
	bool rounds = ray->tof > 0 && ray->bin > 0 && ray->bin != ray->e.tof_bin_ps;
	struct iso_events lines = { .n = e->n, .v = e->v, .time_ms = e->time_ms }, rounded = { 0 };
	double bin = ray->tof > 0 ? ray->bin : 0;
	iso_real *h = NULL, *weight = NULL; /* NULL: that of the ends as they are */
	int st = model_vector(&h, e->n, "scatter");

	if (!st && ray->motion.all) st = model_vector(&weight, e->n, "scatter");
	if (!st && rounds && !(st = round_times(&rounded, ray, e))) lines.v = rounded.v;
	if (!st && e->n > 0)
		st = weight ? ray_scatter_moved_at(h, weight, ray, &lines, bin)
		            : iso_scatter_at(h, ray->p->ctx, s->table, &lines, bin);
#pragma omp parallel for num_threads(iso_ctx_threads(ray->p->ctx))
	for (int64_t j = 0; j < (st ? 0 : e->n); j++) {
		double w = !(h[j] > 0) ? 0 : weight ? (double)weight[j] : ray_met(ray, e->v + j);

		if (w > 0) r[j] = (iso_real)((double)r[j] + s->by * (double)mult[j] * (double)h[j] / w);
	}
	free(h);
	free(weight);
	iso_events_free(&rounded);
	return st;
}

/* ---- of an image that is there ---- */

static int events_of_image(struct ray_problem *ray, iso_real *r)
{
	struct ray_part part = { &ray->now, ray->number, ray->factors.v, NULL };
	iso_real *mult = NULL;
	int st = model_vector(&mult, ray->now.n, "factors");

	if (!st) st = ray_fill(ray, &part, NULL, mult, NULL);
	if (!st) st = ray_scatter_add(ray, &ray->now, mult, r);
	free(mult);
	return st;
}

static int tell(struct ray_problem *ray)
{
	struct iso_scatter_info i = { .size = sizeof i };
	int st = iso_scatter_describe(&i, ray->scatter.table);

	if (st) return st;
	ray_scatter_warn(ray, &i);
	return record_result(ray->p->record, "scatter", ray_scatter_json(ray, &i));
}

int ray_scatter_of_image(iso_problem *problem, const struct iso_array *image, iso_real *r, const char *table)
{
	struct ray_problem *ray = problem->self;
	int st;

	if (!ray->scatter.method) ray->scatter.method = methods[0];
	if (!r && !ray->e.lists_all) ray->tof = ray_tof_width(ray); /* no events were read to settle it */
	if (table && ray_scatter_moves(ray))
		return iso_fail(ISO_EARG, "%s: a table of scatter is of one pose; the object moves", table);
	if ((st = ray_scatter_check(ray)) || (st = ray_scatter_poses_make(ray))) return st;
	struct iso_plan plan = problem_plan_begin(problem);

	if (r)
		iso_plan_add(&plan, "events", ray->now.n, sizeof(struct iso_event) + 3 * sizeof(iso_real),
		             false);
	ray_scatter_plan(ray, &plan);
	if ((st = problem_plan_end(problem, &plan))) return st;
	ray->scatter.by = 1;
	record_stage(problem->record, "scatter");
	if ((st = ray_scatter_estimate(ray, image)) || (st = tell(ray))) return st;
	if (r && (st = events_of_image(ray, r))) return st;
	return table ? iso_scatter_write(table, ray->scatter.table) : ISO_OK;
}

json_t *ray_scatter_json(const struct ray_problem *ray, const struct iso_scatter_info *i)
{
	json_t *o = record_pack(
		"{s:s, s:I, s:f, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:b, s:b}", "method",
		ray->scatter.method, "points", (json_int_t)i->points, "block_mm", i->block_mm,
		"sample_detectors", (json_int_t)i->detectors, "sample_rings", (json_int_t)i->rings, "u_cells",
		(json_int_t)i->cells, "histories", (json_int_t)i->histories, "error",
		i->histories > 0 ? i->error : 0, "multiple_over_single", i->multiple > 0 ? i->multiple : NAN,
		"seconds_sss", i->seconds_sss, "seconds_mc", i->seconds_mc, "outside_matter",
		i->outside_matter, "map_cut", (int)i->cut, "ends_active", (int)i->ends_active);

	if (!o || !ray->motion.all) return o;
	json_object_set_new(o, "poses", json_integer(ray->scatter.poses));
	json_object_set_new(o, "poses_mm", record_real(ray->scatter.radius_mm));
	return o;
}

/* ---- plan, file, record ---- */

void ray_scatter_plan(struct ray_problem *ray, struct iso_plan *plan)
{
	struct iso_array image = { .n_dim = 3, .has_grid = true, .grid = ray->grid };
	struct iso_scatter p = ray_scatter_parameters(ray, &image);

	struct iso_plan one = { 0 };

	image.n = iso_grid_voxels(&ray->grid);
	/* what it refuses, the estimate refuses */
	(void)(iso_scatter_plan(plan, ray->p->ctx, &p) || iso_scatter_plan(&one, ray->p->ctx, &p));
	ray_scatter_poses_plan(ray, plan, &one);
	iso_plan_free(&one);
}

int ray_scatter_save(iso_problem *problem)
{
	const struct ray_problem *ray = problem->self;
	const struct ray_scatter *s = &ray->scatter;

	if (!s->save || !s->table) return ISO_OK;
	int st = iso_scatter_scale(s->table, problem->ctx, s->by * ray->frame.units); /* its last use */

	return st ? st : iso_scatter_write(s->save, s->table);
}

json_t *ray_scatter_told(const iso_problem *problem)
{
	const struct ray_problem *ray = problem->self;

	return json_incref(ray->scatter.told);
}
