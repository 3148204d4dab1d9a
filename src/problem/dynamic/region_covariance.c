/* SPDX-License-Identifier: BSD-3-Clause */
/* 'fisher': the covariance of regions of a penalised image, by algo/fisher.c; its files and what the record says. */
#include "base/number.h"
#include "core/comm.h"
#include "core/size.h"
#include "isotome/dynamic.h"
#include "isotome/memory.h"
#include "region_labels.h"
#include "replicates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FAR .2   /* of the residual: the covariance is refused, */
#define NEAR .02 /* or told to be rough */
#define NORMAL_975 1.959963984540054

static int refuse(const char *with, const char *instead)
{
	return iso_fail(ISO_EARG, "'fisher' does not go with %s%s%s", with, instead ? ": " : "",
	                instead ? instead : "");
}

int fisher_check(const iso_problem *p)
{
	const struct settings *s = &p->s;
	const struct penalties *q = &s->penalties;

	if (!s->replicates.labels) return iso_fail(ISO_EARG, "'fisher' needs 'regions', an image of labels");
	if (s->kinetics.model) return refuse("'kinetics'", "'replicates' does");
	if (s->frames.series) return refuse("'frames' or 'gates'", "'from-s' and 'to-s' choose one frame");
	if (q->prior.kind == ISO_PRIOR_TV)
		return refuse("'penalty' tv", "it has no second derivative everywhere");
	if (q->kappa && strcmp(q->kappa, "auto") == 0)
		return refuse("'kappa' auto", "give the image of kappa as a file, or none");
	if (s->filter_text) return refuse("'filter'", "the covariance is that of the image before it");
	return ISO_OK;
}

void fisher_plan(const struct recon *r, struct iso_plan *plan, int64_t rows)
{
	enum { BATCH = 4 };
	const int64_t n = iso_grid_voxels(&r->grid), real = sizeof(iso_real);
	const bool cuda = iso_ctx_is_cuda(r->ctx);

	if (!r->s->replicates.fisher) return;
	iso_plan_add(plan, "labels of 'regions'", n, real, false);
	iso_plan_add(plan, "solutions of 'fisher'", n, (4 * BATCH + 4) * real, cuda);
	iso_plan_add(plan, "rows of 'fisher'", rows, (BATCH + 4) * real, cuda);
}

/* ---- the run ---- */

struct covariances {
	struct recon *r;
	struct regions g;
	iso_real *weight; /* regions x voxels */
	double *value, *covariance;
	struct iso_fisher_result of;
};

/* Neighbours of the penalty as the run had them: voxels that no line sees are none, unless they are kept. */
static int make_kappa(iso_real **kappa, struct iso_room *room, const struct recon *r, const iso_real *given,
                      const iso_real *sens)
{
	const bool keep = strcmp(r->s->penalties.unseen, "keep") == 0;

	if (!ISO_HOST(room, *kappa, r->x.n)) return room->status;
	for (int64_t i = 0; i < r->x.n; i++) (*kappa)[i] = keep || sens[i] > 0 ? (given ? given[i] : 1) : 0;
	return ISO_OK;
}

int fisher_begin(struct covariances **out, struct recon *r)
{
	const int64_t each = 2 * r->x.n * (int64_t)sizeof(iso_real); /* weights and solution */
	struct covariances *c = size_alloc(1, sizeof *c);
	int st;

	if (!c) return iso_comm_agree(r->ctx, iso_fail_memory("regions of 'fisher'", sizeof *c));
	*out = c;
	c->r = r;
	if (!(st = regions_read(&c->g, r)))
		st = iso_memory_check(r->ctx, "regions of 'fisher'", c->g.n * each);
	return iso_comm_agree(r->ctx, st);
}

void fisher_free(struct covariances *c)
{
	if (c) regions_free(&c->g);
	free(c);
}

static int make_weights(struct covariances *c)
{
	const int64_t n = c->r->x.n;
	struct regions *g = &c->g;

	ISO_HOST(&g->room, c->weight, g->n * n);
	ISO_HOST(&g->room, c->value, g->n);
	ISO_HOST(&g->room, c->covariance, (int64_t)g->n * g->n);
	if (g->room.status) return g->room.status;
	for (int64_t i = 0; i < n; i++) {
		const int k = g->of[(int)g->labels.v[i]];

		if (k >= 0) c->weight[k * n + i] = (iso_real)(1 / g->voxels[k]);
	}
	regions_means(g, c->value, c->r->x.v);
	return ISO_OK;
}

static void table_line(char *to, size_t size, const struct regions *g, int k, const void *arg)
{
	const struct covariances *c = arg;
	const double sd = sqrt(c->covariance[(int64_t)k * g->n + k]), reach = NORMAL_975 * sd;

	iso_snprintf(to, size, "%d\t%.9g\t%.9g\t%.9g\t%.9g\n", g->label[k], c->value[k], sd,
	             c->value[k] - reach, c->value[k] + reach);
}

static int write_files(struct covariances *c)
{
	char path[PATH_MAX];
	int st;

	if (!c->r->s->out) return ISO_OK;
	if ((st = replicates_path(path, c->r->s, REPLICATES_TABLE)) ||
	    (st = regions_write_text(path, "label\tvalue\tsd\tlow\thigh\n", &c->g, table_line, c)) ||
	    (st = replicates_path(path, c->r->s, REPLICATES_COVARIANCE)))
		return st;
	return regions_write_values(c->r, path, c->g.n, c->g.n, c->covariance);
}

static int describe(struct covariances *c, bool solved)
{
	json_t *o = record_pack("{s:f, s:i, s:I}", "wres", c->of.residual, "iterations", c->of.iterations,
	                        "free_voxels", (json_int_t)c->of.free);
	json_t *regions = json_array();

	for (int k = 0; k < c->g.n && solved; k++)
		json_array_append_new(regions, record_pack("{s:i, s:f, s:f}", "label", c->g.label[k], "value",
		                                           c->value[k], "sd",
		                                           sqrt(c->covariance[(int64_t)k * c->g.n + k])));
	json_object_set_new(o, "regions", regions);
	return record_result(c->r->record, "fisher", o);
}

/* The image is kept: what fails is the covariance alone. */
static int judge(struct covariances *c)
{
	const double wres = c->of.residual;

	if (!(wres <= FAR)) {
		record_warn(c->r->record,
		            "no covariance: the image is far from the maximum (wres %.2g, at most %g). More "
		            "'iterations', "
		            "or 'method' lbfgs with 'start' at this image, go on to it",
		            wres, FAR);
		return ISO_OK;
	}
	if (wres > NEAR)
		record_warn(
			c->r->record,
			"covariance at an image that is not quite at the maximum (wres %.2g, above %g): more "
			"'iterations', or 'method' lbfgs with 'start' at this image, make it better",
			wres, NEAR);
	record_tell(c->r->record, ISO_NEWS,
	            "covariance of %d regions: statistical error alone; bias by the penalty, PSF, scatter "
	            "and motion is "
	            "not in it",
	            c->g.n);
	return write_files(c);
}

static int solve(struct covariances *c, struct iso_fisher *f)
{
	int st = iso_comm_agree(c->r->ctx, make_weights(c));

	c->of.size = sizeof c->of;
	f->most_residual = FAR;
	if (!st) st = iso_fisher_run(c->covariance, NULL, &c->of, f, c->g.n, c->weight);
	if (st == ISO_EARG) {
		record_warn(c->r->record, "no files of 'fisher': %s", iso_message());
		return ISO_OK;
	}
	if (!st) st = describe(c, c->of.residual <= FAR);
	return st ? st : judge(c);
}

int fisher_run(struct covariances *c, const struct iso_prior_spec *spec, const struct iso_map_result *of,
               const iso_real *sens)
{
	struct recon *r = c->r;
	struct iso_prior_spec prior = *spec;
	struct iso_fisher f = { .size = sizeof f,
		                .op = r->op,
		                .data = { r->data.y, r->data.add, r->data.mult },
		                .sens = sens,
		                .beta = of->beta,
		                .image = r->x.v };
	iso_real *kappa;
	int st;

	record_stage(r->record, "covariance");
	if (!(st = make_kappa(&kappa, &c->g.room, r, spec->kappa, sens))) {
		prior.kappa = kappa;
		memcpy(prior.parameter, of->parameter, sizeof prior.parameter);
		st = iso_prior_create(&f.prior, r->ctx, &prior);
	}
	st = iso_comm_agree(r->ctx, st);
	if (!st) st = solve(c, &f);
	iso_prior_free(f.prior);
	record_stage(r->record, NULL);
	return st;
}
