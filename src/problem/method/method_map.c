/* SPDX-License-Identifier: BSD-3-Clause */
/* 'method' svrg, saga, bsrem, lbfgs: penalised likelihood. What they read besides the data, the updates of a frame,
   and what the record says of them. Sensitivity and frames are in recon_em.c. */
#include "problem/problem.h"

#include "base/number.h"
#include "core/comm.h"
#include "core/op.h"
#include "core/room.h"
#include "core/size.h"
#include "file/out.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Weights above which a run is likely not to do what was meant. */
#define LARGE_RELATIVE 5. /* rel */
#define FEW_EVENTS 500    /* of a subset */
#define COUNTS_OF_A_SUBSET 1000

/* ---- parameters ---- */

static const char *text_of(const iso_problem *problem, const char *name)
{
	const struct opt *o = opt_find(problem->sets, name);

	return o && o->text ? *o->text : NULL;
}

/* Data that are not of this likelihood: sum y log(A x + a) - <S, x>. */
int map_check_likelihood(const iso_problem *problem)
{
	const struct settings *s = &problem->s;
	const struct opt *flag = opt_find(problem->sets, "precorrected");
	const char *form = text_of(problem, "form");

	if (flag && flag->flag && *flag->flag)
		return iso_fail(ISO_EARG,
		                "'method' %s: 'precorrected' data are no counts, which this likelihood is of",
		                s->method);
	if (form && strcmp(form, "ml") != 0)
		return iso_fail(ISO_EARG,
		                "'method' %s: 'form' %s is another likelihood; 'form' ml is this one's",
		                s->method, form);
	if (s->sens && strcmp(s->sens, "none") == 0)
		return iso_fail(ISO_EARG, "'method' %s: 'sens' none: the likelihood needs the sensitivity",
		                s->method);
	return ISO_OK;
}

/* FILE or FILE,N; a file whose name has a comma is read with N behind it. */
static int parse_bowsher(struct penalties *p)
{
	const char *comma = p->bowsher ? strrchr(p->bowsher, ',') : NULL;
	double n = 0;

	p->neighbours = p->anatomy = 0;
	if (!p->bowsher) return ISO_OK;
	if (comma && !iso_number(&n, comma + 1, strlen(comma + 1))) comma = NULL;
	p->anatomy = comma ? (int)(comma - p->bowsher) : (int)strlen(p->bowsher);
	if (comma && (n != floor(n) || n < 1 || n > 26))
		return iso_fail(ISO_EARG,
		                "'bowsher' is '%s': %g neighbours, must be a whole number from 1 to 26",
		                p->bowsher, n);
	p->neighbours = (int)n;
	return ISO_OK;
}

static int check(iso_problem *problem)
{
	struct penalties *p = &problem->s.penalties;
	int st = map_check_likelihood(problem);

	if (st || (st = penalty_parse(p)) || (st = parse_bowsher(p))) return st;
	return penalty_check(p);
}

/* ---- what is read ---- */

static int read(struct recon *r, struct recon_map *m)
{
	const struct penalties *p = &r->s->penalties;
	char path[PATH_MAX];
	int st = ISO_OK;

	m->kappa_auto = p->kappa && strcmp(p->kappa, "auto") == 0;
	if (p->kappa && !m->kappa_auto) st = recon_read_image(r, &m->kappa, p->kappa, ISO_NONNEGATIVE);
	if (!st && p->bowsher && !(st = recon_path(path, p->bowsher, p->anatomy)))
		st = recon_read_image(r, &m->anatomy, path, ISO_FINITE);
	return st;
}

void map_free(struct recon_map *m)
{
	for (int i = 0; i < MAP_FEATURES; i++) iso_array_free(&m->feature[i]);
	iso_array_free(&m->kappa);
	iso_array_free(&m->anatomy);
}

/* ---- subsets and start ---- */

/* Counts of the frame, over all ranks. */
static int counts(const struct recon *r, double *sum)
{
	const struct model_found *is = &r->problem->found;
	int64_t rows = is->rows - is->elsewhere, whole;
	double here = 0;
	int st = ISO_OK;

	*sum = (double)is->rows;
	if (!r->data.y) return ISO_OK;
	for (int64_t j = 0; j < rows; j++) here += r->data.y[j];
	whole = llround(here * 1024); /* an integer, so that the sum over ranks has no order */
	if (r->m->rows_split && iso_ranks(r->ctx) > 1) st = iso_comm_sum(r->ctx, ISO_OK, &whole, 1);
	*sum = (double)whole / 1024;
	return st;
}

/* Streamed rows have steps of ratios, and no back-projection of ratios that were made of others. */
static int check_streamed(const struct recon *r, const struct recon_map *m)
{
	bool method = r->s->how->in_memory;

	if (!r->problem->found.on_disk || !(method || m->kappa_auto)) return ISO_OK;
	return iso_fail(ISO_EARG,
	                "%s%s needs the events in memory, and these stay on disk: more memory, or %s",
	                method ? "'method' " : "'kappa' auto", method ? r->s->method : "",
	                method ? "'method' svrg" : "'kappa' FILE");
}

/* min(32, counts/1000, 32 counts/voxels), at least 4, as far as rows and model allow. With fewer counts than voxels a subset
   hardly tells what the next one will: with 32 the guards held every step back. */
int map_settle(struct recon *r, struct recon_map *m)
{
	struct settings *s = &r->problem->s;
	const struct model_found *is = &r->problem->found;
	int64_t most = is->most_subsets ? is->most_subsets : is->rows, n;
	double sum = 0;
	int st = check_streamed(r, m);

	if (st || (st = counts(r, &sum))) return st;
	n = (int64_t)fmin(fmin(MAP_SUBSETS, floor(sum / COUNTS_OF_A_SUBSET)),
	                  floor(MAP_SUBSETS * sum / (double)iso_grid_voxels(&r->grid)));
	if (n < 4) n = 4;
	if (n > most) n = most;
	if (problem_given(r->problem, "subsets") || s->how->subsets) n = s->subsets;
	s->subsets = s->by.n = (int)n;
	if (sum / (double)n < FEW_EVENTS && n > 1 && m->few++ == 0) {
		m->counts = sum;
		m->subsets = (int)n;
	}
	return ISO_OK;
}

/* Uniform where the sensitivity is, with as many counts as the data. */
int map_start(struct recon *r, const iso_real *sens)
{
	double all = 0, sum = 0;
	int st = counts(r, &sum);

	for (int64_t i = 0; i < r->x.n; i++) all += sens[i];
	for (int64_t i = 0; i < r->x.n; i++) r->x.v[i] = sens[i] > 0 && sum > 0 ? (iso_real)(sum / all) : 0;
	return st;
}

/* ---- the run ---- */

static struct iso_prior_spec prior_of(const struct recon *r, const struct recon_map *m)
{
	const struct penalties *p = &r->s->penalties;
	struct iso_prior_spec prior = p->prior;

	prior.grid = r->grid;
	prior.place = ISO_HOST;
	prior.kappa = m->kappa.v;
	prior.anatomy = m->anatomy.v;
	prior.bowsher = p->neighbours ? p->neighbours : r->grid.n[2] == 1 ? 3 : 7;
	return prior;
}

static struct iso_map map_of(const struct recon *r, const struct recon_map *m,
                             const struct iso_prior_spec *prior, const struct iso_sens *sens)
{
	const struct settings *s = r->s;
	const struct penalties *p = &s->penalties;

	return (struct iso_map){
		.size = sizeof(struct iso_map),
		.op = r->op,
		.place = ISO_HOST,
		.data = { r->data.y, r->data.add, r->data.mult },
		.sens = *sens,
		.method = s->how->map,
		.prior = p->text ? prior : NULL,
		.kappa_auto = m->kappa_auto,
		.keep_unseen = strcmp(p->unseen, "keep") == 0,
		.beta = p->beta,
		.relative = p->relative,
		.passes = (int)s->iterations,
		.tolerance = p->tolerance,
		.step = p->step,
		.relax = problem_given(r->problem, "relax") && p->relax == 0 ? -1 : p->relax,
		.seed = (uint64_t)s->seed,
		.as_given = s->start,
	};
}

static void plan_memory(const struct recon *r, const struct recon_map *m, struct iso_plan *plan, int64_t rows,
                        int images)
{
	static const struct iso_sens sens = { .n_images = 1 };
	const struct iso_prior_spec prior = prior_of(r, m);
	const struct iso_map map = map_of(r, m, &prior, &sens);

	(void)images;
	iso_map_plan(plan, r->ctx, &map, iso_grid_voxels(&r->grid), rows);
	fisher_plan(r, plan, rows);
	if (r->problem->found.on_disk)
		iso_plan_add(plan, "ratios of the events", r->problem->found.rows, sizeof(iso_real),
		             iso_ctx_is_cuda(r->ctx));
}

/* ---- the record ---- */

/* One number of all looks, as a list. */
static json_t *looks(const struct iso_map_result *of, size_t at)
{
	json_t *list = json_array();

	for (int i = 0; i < of->n; i++)
		json_array_append_new(list, record_real(*(const double *)((const char *)&of->look[i] + at)));
	return list;
}

#define LOOKS(of, name) looks(of, offsetof(struct iso_map_look, name))

static json_t *updates(const struct iso_map_result *of)
{
	json_t *list = json_array();

	for (int i = 0; i < of->n; i++) json_array_append_new(list, json_integer(of->look[i].updates));
	return list;
}

/* How the step of bsrem falls. */
static json_t *relaxation(const struct recon *r)
{
	char text[64] = "step/50^(pass/passes)";

	if (problem_given(r->problem, "relax"))
		iso_snprintf(text, sizeof text, "step/(1 + %g passes)", r->s->penalties.relax);
	return json_string(text);
}

static json_t *described(const struct recon *r, const struct recon_map *m, const struct iso_map_result *of)
{
	const struct settings *s = r->s;
	const struct penalties *p = &s->penalties;
	const bool has = p->text;
	json_t *o = record_pack("{s:i, s:f, s:f, s:s, s:I, s:f, s:I, s:f, s:i, s:I, s:b}", "subsets", s->by.n,
	                        "beta", of->beta, "relative", of->relative, "unseen", p->unseen,
	                        "unseen_voxels", (json_int_t)of->unseen, "passes", of->passes, "updates",
	                        (json_int_t)of->updates, "step", of->step, "went_back", of->went_back,
	                        "terms_cut", (json_int_t)of->cut, "converged", of->converged);

	json_object_set_new(o, "penalty", has ? json_string(recon_penalty_name(s)) : json_null());
	if (has) penalty_record(o, p, of);
	if (has)
		json_object_set_new(o, "kappa",
		                    json_string(m->kappa_auto ? "auto"
		                                : m->kappa.v  ? "image"
		                                              : "1"));
	if (m->anatomy.v) json_object_set_new(o, "bowsher_neighbours", json_integer(prior_of(r, m).bowsher));
	if (isfinite(of->kkt)) json_object_set_new(o, "kkt", record_real(of->kkt));
	if (s->how->takes & TAKES_RELAX) json_object_set_new(o, "relaxation", relaxation(r));
	json_object_set_new(o, "looks",
	                    record_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "passes", LOOKS(of, passes),
	                                "updates", updates(of), "objective", LOOKS(of, objective), "loglik",
	                                LOOKS(of, loglik), "penalty", LOOKS(of, penalty), "gradient",
	                                LOOKS(of, gradient), "change", LOOKS(of, change)));
	return o;
}

/* Behind a comma; nothing where it is not known, or infinite. */
void curve_number(FILE *f, double v)
{
	char text[32] = "";

	if (isfinite(v)) iso_snprintf(text, sizeof text, "%.17g", v);
	fprintf(f, ",%s", text);
}

#define CURVE_HEAD "passes,updates,objective,loglik,penalty,gradient,change\n"

static int write_curve(const char *path, const struct iso_map_result *of)
{
	size_t size = 0;
	char *text = NULL;
	FILE *f = open_memstream(&text, &size);
	int st;

	if (!f) return iso_fail_memory("curve", 1);
	fputs(CURVE_HEAD, f);
	for (int i = 0; i < of->n; i++) {
		const struct iso_map_look *l = &of->look[i];

		char start[64];

		iso_snprintf(start, sizeof start, "%.17g,%lld", l->passes, (long long)l->updates);
		fputs(start, f);
		curve_number(f, l->objective);
		curve_number(f, l->loglik);
		curve_number(f, l->penalty);
		curve_number(f, l->gradient);
		curve_number(f, l->change);
		fputc('\n', f);
	}
	st = fclose(f) == 0 && text ? iso_out_text(path, text) : iso_fail_memory("curve", (int64_t)size);
	free(text);
	return st;
}

/* Mean of the image where the sensitivity is over a tenth of its maximum. */
static double mean_seen(const struct recon *r, const iso_real *sens)
{
	double top = 0, sum = 0;
	int64_t n = 0;

	for (int64_t i = 0; i < r->x.n; i++) top = sens[i] > top ? (double)sens[i] : top;
	for (int64_t i = 0; i < r->x.n; i++)
		if (sens[i] > .1 * top) {
			sum += r->x.v[i];
			n++;
		}
	return n ? sum / (double)n : 0;
}

/* Counts what map_warn tells of all frames. */
static void add_up(struct recon_map *m, const struct recon *r, const struct iso_map_result *of,
                   const iso_real *sens)
{
	const struct penalties *p = &r->s->penalties;
	const struct iso_map_look *last = of->n ? &of->look[of->n - 1] : NULL;
	double mean = mean_seen(r, sens);

	m->frames++;
	m->went_back += of->went_back > 0;
	m->cut += of->cut;
	m->unseen = of->unseen;
	m->relative = fmax(m->relative, of->relative);
	if (p->text && !m->large && (m->large = penalty_large(&m->large_is, p, of, mean))) m->mean = mean;
	if (of->converged || of->stopped || !(p->tolerance > 0) || m->unfinished++ > 0) return;
	m->change = isfinite(of->kkt) ? of->kkt : last ? last->change : NAN;
	m->passes = of->passes;
}

static void tell(const struct recon *r, const struct iso_map_result *of)
{
	const struct penalties *p = &r->s->penalties;

	if (!p->text) return;
	record_tell(r->record, ISO_NEWS,
	            "%s: beta %.4g, which is rel=%.3g; %.1f passes over the data, %" PRId64 " updates",
	            recon_penalty_name(r->s), of->beta, of->relative, of->passes, of->updates);
}

static int iterate(struct recon *r, struct recon_map *m, const struct recon_sens *sens,
                   struct recon_result *out)
{
	const struct settings *s = r->s;
	const struct iso_prior_spec prior = prior_of(r, m);
	struct iso_map map = map_of(r, m, &prior, &sens->parts);
	struct iso_map_result of = { .size = sizeof of };
	struct covariances *errors = NULL;
	struct iso_run run;
	int st;

	if (!s->start && (st = map_start(r, sens->whole))) return st;
	if ((st = recon_run(r, &run, !(map.method == ISO_MAP_SAGA && r->op->rows_split)))) return st;
	if (s->replicates.fisher) st = fisher_begin(&errors, r);
	if (!st) st = iso_map_run(r->x.v, &of, &map, &run);
	record_stage(r->record, NULL);
	if (!st) {
		*out = (struct recon_result){
			.used = of.used,
			.skipped = of.skipped,
			.lost = of.lost,
			.resumed_from = of.resumed_from,
			.unsaved = of.unsaved,
			.updates = (int)of.updates,
			.iterations = (int)ceil(of.passes),
			.stopped = of.stopped,
			.map = described(r, m, &of),
		};
		add_up(m, r, &of, sens->whole);
		tell(r, &of);
		if (s->penalties.curve) st = write_curve(s->penalties.curve, &of);
		if (!st && errors && !of.stopped) st = fisher_run(errors, &prior, &of, sens->whole);
	}
	fisher_free(errors);
	iso_map_result_free(&of);
	return st;
}

void map_warn(const struct recon *r, const struct recon_map *m)
{
	const struct settings *s = r->s;
	const char *test = s->how->residual;
	char of[48] = "";

	if (m->frames > 1) snprintf(of, sizeof of, " in frames, of %d,", m->frames);
	if (!s->penalties.text)
		record_warn(r->record,
		            "'method' %s without 'penalty': beta is 0, and the image is that of maximum "
		            "likelihood, with all its noise",
		            s->method);
	if (m->few)
		record_warn(
			r->record,
			"%.6g counts in %d subsets, fewer than %d in each%s: 'subsets' %d converge better",
			m->counts, m->subsets, FEW_EVENTS, m->few > 1 ? ", and so in other frames" : "",
			(int)fmax(1, floor(m->counts / FEW_EVENTS)));
	if (m->relative > LARGE_RELATIVE)
		record_warn(
			r->record,
			"the penalty is %.3g times as strong as the data (rel): the image shows it more than "
			"them; 0.05 to 0.5 are usual",
			m->relative);
	if (m->large)
		record_warn(
			r->record,
			"%s of %s is %.3g, over %g of the image's mean, %.3g: differences in the background "
			"are smoothed as by quadratic",
			m->large->name, recon_penalty_name(s), m->large_is, m->large->large, m->mean);
	if (m->went_back)
		record_warn(
			r->record,
			"updates went too far%s and were taken back: a smaller 'step', such as %g, or fewer "
			"'subsets' converge better",
			of, s->penalties.step > 0 ? s->penalties.step / 2 : .5);
	if (m->cut)
		record_warn(r->record,
		            "%" PRId64
		            " terms of the gradient were larger than their bound and were cut to it",
		            m->cut);
	if (m->unseen)
		record_warn(
			r->record, "%" PRId64 " voxels of the image are seen by no line: they are 0, and %s",
			m->unseen,
			strcmp(s->penalties.unseen, "keep") == 0 ? "neighbours in the penalty ('unseen' keep)"
								 : "nobody's neighbours ('unseen' drop)");
	if (m->unfinished == 1 && m->frames == 1)
		record_warn(r->record,
		            "not converged after %.3g passes: %s %.3g, 'tolerance' is %g; more 'iterations' "
		            "do it",
		            m->passes, test, m->change, s->penalties.tolerance);
	else if (m->unfinished)
		record_warn(r->record,
		            "%d of %d frames are not converged; the first: %s %.3g, 'tolerance' is %g",
		            m->unfinished, m->frames, test, m->change, s->penalties.tolerance);
}

/* ---- the rows ---- */

#define CHANGE "change over two epochs"

#define MAP(which)                                                                               \
	.needs = MODEL_COUNTS, .start = "one pass of osem", .one_limit = true, .map = which,     \
	.load = LOAD_COUNTS, .check = check, .run = recon_em, .read = read, .plan = plan_memory, \
	.settle = map_settle, .iterate = iterate, .warn = map_warn

const struct method map_methods[] = {
	{
		.name = "svrg",
		.about = "with a 'penalty', converges in about ten passes",
		.takes = TAKES_PHI | TAKES_PAIRS | TAKES_STEP | TAKES_REGIONS | TAKES_FISHER,
		.iterations = 20,
		.shuffles = true,
		.tolerance = .005,
		.residual = CHANGE,
		MAP(ISO_MAP_SVRG),
	},
	{
		.name = "saga",
		.about = "as svrg, which it is seldom better than",
		.takes = TAKES_PHI | TAKES_PAIRS | TAKES_STEP | TAKES_REGIONS | TAKES_FISHER,
		.iterations = 20,
		.shuffles = true,
		.tolerance = .005,
		.residual = CHANGE,
		MAP(ISO_MAP_SAGA),
	},
	{
		.name = "bsrem",
		.about = "with a 'penalty', by steps that shrink",
		.takes = TAKES_PHI | TAKES_PAIRS | TAKES_STEP | TAKES_RELAX,
		.iterations = 20,
		.shuffles = true,
		.tolerance = .005,
		.residual = CHANGE,
		MAP(ISO_MAP_BSREM),
	},
	{
		.name = "lbfgs",
		.about = "with a 'penalty', from all data in each update (the reference)",
		.takes = TAKES_PHI | TAKES_PAIRS | TAKES_REGIONS | TAKES_FISHER,
		.iterations = 400,
		.in_memory = true,
		.tolerance = .005,
		.residual = "KKT residual",
		MAP(ISO_MAP_LBFGS),
	},
	{
		.name = "depierro",
		.about = "EM with a 'penalty', which never makes the image worse, but is slow",
		.takes = TAKES_PHI | TAKES_PAIRS,
		.iterations = 100,
		.subsets = 1,
		.more = "svrg",
		.tolerance = .0005,
		.residual = CHANGE,
		MAP(ISO_MAP_DEPIERRO),
	},
	{ 0 },
};
