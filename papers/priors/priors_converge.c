/* SPDX-License-Identifier: BSD-3-Clause */
/* How fast each algorithm comes within the thresholds of PETRIC of the converged image (Da Costa-Luis and others 2024):
   root mean square error over the object and over the background at most 1 %, mean of every region of interest within
   0.5 %, of the mean of the background, for ten updates in a row. */
#include "priors.h"

#include <stdlib.h>
#include <string.h>

#define RMSE_MOST .01
#define MEAN_MOST .005
#define IN_A_ROW 10
#define REFERENCE_KKT 1e-4

static const struct {
	enum iso_map_method method;
	const char *name;
} methods[] = { { ISO_MAP_SVRG, "svrg" },
	        { ISO_MAP_SAGA, "saga" },
	        { ISO_MAP_BSREM, "bsrem" },
	        { ISO_MAP_LBFGS, "lbfgs" } };

enum { METHODS = sizeof methods / sizeof *methods };

struct errors {
	double whole, background, worst; /* RMSE_W, RMSE_Bg, largest AEM */
};

struct against {
	const struct priors *p;
	const iso_real *reference;
	double norm; /* mean of its background */
};

/* Sums over some voxels of the object: squares of the differences, and differences of each region. */
struct sums {
	double whole, background, mean[PRIORS_REGIONS];
	int64_t n_whole, n_background, n[PRIORS_REGIONS];
};

static struct sums sum_up(const struct against *a, const iso_real *x, int64_t from, int64_t to)
{
	const struct priors *p = a->p;
	struct sums s = { 0 };

	for (int64_t i = from; i < to; i++) {
		const double d = (double)x[i] - (double)a->reference[i];

		if (!p->whole[i]) continue;
		s.whole += d * d;
		s.n_whole++;
		if (p->background[i]) s.background += d * d, s.n_background++;
		if (p->region[i]) s.mean[p->region[i] - 1] += d, s.n[p->region[i] - 1]++;
	}
	return s;
}

static struct errors compare(const struct against *a, const iso_real *x)
{
	enum { PARTS = 64 }; /* joined in their order */
	const int64_t n = a->p->truth.n;
	struct sums part[PARTS], s = { 0 };
	struct errors e = { 0 };

#pragma omp parallel for num_threads(iso_ctx_threads(a->p->s.cpu))
	for (int i = 0; i < PARTS; i++) part[i] = sum_up(a, x, n * i / PARTS, n * (i + 1) / PARTS);
	for (int i = 0; i < PARTS; i++) {
		s.whole += part[i].whole, s.n_whole += part[i].n_whole;
		s.background += part[i].background, s.n_background += part[i].n_background;
		for (int k = 0; k < PRIORS_REGIONS; k++) s.mean[k] += part[i].mean[k], s.n[k] += part[i].n[k];
	}
	e.whole = sqrt(s.whole / (double)s.n_whole) / a->norm;
	e.background = sqrt(s.background / (double)s.n_background) / a->norm;
	for (int k = 0; k < a->p->regions; k++)
		if (s.n[k] > 0) e.worst = fmax(e.worst, fabs(s.mean[k] / (double)s.n[k]) / a->norm);
	return e;
}

static double background_mean(const struct priors *p, const iso_real *x)
{
	double sum = 0;
	int64_t n = 0;

	for (int64_t i = 0; i < p->truth.n; i++)
		if (p->background[i]) sum += (double)x[i], n++;
	return sum / (double)n;
}

static bool within(struct errors e)
{
	return e.whole <= RMSE_MOST && e.background <= RMSE_MOST && e.worst <= MEAN_MOST;
}

/* Of one algorithm on one scan. */
struct run {
	bool reached;
	int64_t updates; /* until the first of those in a row, of all that the run did */
	double passes, seconds;
	struct errors last;
	int n; /* points of the curve, one a pass */
	double place[256], rmse[256];
};

/* Update by update, with a look at the image behind each. */
static int follow(struct run *r, const struct against *a, const struct iso_map *map, const iso_real *start)
{
	struct iso_array x = { 0 };
	iso_map_state *m = NULL;
	int64_t in_a_row = 0, updates = 0;
	double first = 0;
	int st = iso_array_on_grid(&x, &a->p->truth.grid);

	if (!st) st = iso_map_create(&m, map, start);
	while (!st && !iso_map_finished(m) && in_a_row < IN_A_ROW) {
		if ((st = iso_map_step(m)) || (st = iso_map_image(x.v, m)) || (st = study_poll(&a->p->s)))
			break;
		updates++;
		r->last = compare(a, x.v);
		in_a_row = within(r->last) ? in_a_row + 1 : 0;
		if (in_a_row == 1) {
			r->updates = updates;
			first = iso_map_passes(m);
		}
		if (r->n < 256 && iso_map_passes(m) >= r->n + 1) {
			r->place[r->n] = iso_map_passes(m);
			r->rmse[r->n++] = 100 * r->last.whole;
		}
	}
	r->reached = in_a_row == IN_A_ROW || (in_a_row > 0 && map->method == ISO_MAP_LBFGS);
	r->passes = r->reached ? first : NAN;
	iso_map_free(m);
	iso_array_free(&x);
	return st;
}

/* The same updates without looks: from data on the host to the image there. */
static int time_it(struct run *r, const struct priors *p, const struct iso_map *map, const iso_real *start)
{
	struct iso_array x = { 0 };
	iso_map_state *m = NULL;
	double began_s;
	int st = iso_array_on_grid(&x, &p->truth.grid);

	r->seconds = NAN;
	if (st || !r->reached) goto done;
	began_s = iso_now_s();
	st = iso_map_create(&m, map, start);
	for (int64_t k = 0; k < r->updates && !st; k++) st = iso_map_step(m);
	if (!st) st = iso_map_image(x.v, m);
	r->seconds = iso_now_s() - began_s;
done:
	iso_map_free(m);
	iso_array_free(&x);
	return st;
}

/* ---- a scan ---- */

/* The converged image: lbfgs from where svrg came to; fixes beta and the prior's parameters, which come from the start. */
static int refer(struct iso_array *x, struct iso_map_result *r, const struct priors *p,
                 const struct priors_scan *s, struct iso_prior_spec *prior, double relative)
{
	struct iso_map map = priors_map(p, s, prior);
	struct iso_map_result near = { .size = sizeof near };
	int st = priors_start(x, p, s);

	map.method = ISO_MAP_SVRG;
	map.relative = relative;
	if (!st) st = iso_map_run(x->v, &near, &map, NULL);
	map.method = ISO_MAP_LBFGS;
	map.passes = p->scale.reference;
	map.tolerance = REFERENCE_KKT;
	map.relative = 0;
	map.beta = near.beta;
	map.as_given = true;
	memcpy(prior->parameter, near.parameter, sizeof prior->parameter);
	if (!st) st = iso_map_run(x->v, r, &map, NULL);
	iso_map_result_free(&near);
	return st;
}

static json_t *run_json(const char *name, double events, uint64_t seed, const struct run *r)
{
	return record_pack("{s:s, s:f, s:I, s:b, s:f, s:f, s:I, s:f, s:f, s:f}", "method", name, "events",
	                   events, "seed", (json_int_t)seed, "reached", r->reached, "passes",
	                   r->reached ? r->passes : -1, "seconds", r->reached ? r->seconds : -1, "updates",
	                   (json_int_t)r->updates, "rmse_whole", r->last.whole, "rmse_background",
	                   r->last.background, "mean_worst", r->last.worst);
}

static int run_methods(struct priors *p, const struct priors_scan *s, const struct against *a,
                       const iso_real *start, const struct iso_prior_spec *prior, double beta, double events,
                       uint64_t seed, json_t *rows)
{
	struct iso_svg_curve curve[METHODS];
	static struct run run[METHODS];
	int st = ISO_OK;

	for (int k = 0; k < METHODS && !st; k++) {
		struct iso_map map = priors_map(p, s, prior);
		json_t *row;

		run[k] = (struct run){ 0 };
		map.method = methods[k].method;
		map.beta = beta;
		map.passes *= map.method == ISO_MAP_LBFGS ? 4 : 1;
		if ((st = follow(&run[k], a, &map, start)) || (st = time_it(&run[k], p, &map, start))) break;
		row = run_json(methods[k].name, events, seed, &run[k]);
		json_array_append(rows, row);
		study_row(&p->s, "converge_rows",
		          record_pack("{s:s, s:f, s:I, s:s, s:s, s:f, s:f}", "method", methods[k].name,
		                      "events", events, "seed", (json_int_t)seed, "passes",
		                      run[k].reached ? study_text("%.1f", run[k].passes) : "not reached",
		                      "seconds", run[k].reached ? study_text("%.3f s", run[k].seconds) : "",
		                      "rmse", 100 * run[k].last.whole, "mean", 100 * run[k].last.worst));
		json_decref(row);
		curve[k] =
			(struct iso_svg_curve){ methods[k].name, k + 1, run[k].n, run[k].place, run[k].rmse };
	}
	if (!st && seed == 1)
		study_chart(&p->s, "converge_charts",
		            study_text("%s events: distance from the converged image", study_short(events)),
		            "passes", "RMSE over the object, %", METHODS, curve);
	return st;
}

static int run_scan(struct priors *p, double events, double relative, uint64_t seed, json_t *rows,
                    json_t *references)
{
	struct iso_prior_spec prior = {
		.size = sizeof prior,
		.kind = ISO_PRIOR_RDP,
		.grid = p->truth.grid,
		.parameter = { 2 } /* gamma */
	};
	struct iso_map_result r = { .size = sizeof r };
	struct iso_array reference = { 0 }, start = { 0 };
	struct priors_scan s;
	struct against a = { .p = p };
	double began_s;
	int st = priors_scan_open(&s, p, events, seed);

	began_s = iso_now_s();
	if (!st) st = refer(&reference, &r, p, &s, &prior, relative);
	if (!st) {
		json_array_append_new(references,
		                      record_pack("{s:f, s:I, s:f, s:f, s:f, s:f, s:f}", "events", events,
		                                  "seed", (json_int_t)seed, "kkt", r.kkt, "evaluations",
		                                  r.passes, "beta", r.beta, "relative", r.relative, "seconds",
		                                  iso_now_s() - began_s));
		memcpy(prior.parameter, r.parameter, sizeof prior.parameter);
		a.reference = reference.v;
		a.norm = background_mean(p, reference.v);
		if (!(st = priors_start(&start, p, &s)))
			st = run_methods(p, &s, &a, start.v, &prior, r.beta, events, seed, rows);
	}
	iso_map_result_free(&r);
	iso_array_free(&reference);
	iso_array_free(&start);
	priors_scan_close(&s);
	return st;
}

int priors_converge(struct priors *p)
{
	json_t *rows = json_array(), *references = json_array();
	int st = study_stage(&p->s, "convergence");

	for (int k = 0; k < PRIORS_COUNTS && !st; k++)
		for (int64_t seed = 1; seed <= p->scale.seeds && p->scale.events[k] > 0 && !st; seed++)
			st = run_scan(p, p->scale.events[k], p->scale.relative[k], (uint64_t)seed, rows,
			              references);
	study_result(&p->s, "convergence", rows);
	study_result(&p->s, "references", references);
	return st;
}
