/* SPDX-License-Identifier: BSD-3-Clause */
/* 'method' mlem and osem: expectation maximisation, of all data or of subsets in turn. */
#include "problem/problem.h"

void em_plan(const struct recon *r, const struct recon_map *m, struct iso_plan *plan, int64_t rows,
             int images)
{
	(void)m;
	iso_em_plan(plan, r->ctx, iso_grid_voxels(&r->grid), rows, images, 3);
}

/* Updates of EM on the image, or on alpha, which has no filter. */
int em_iterate(struct recon *r, struct recon_map *m, const struct recon_sens *sens, struct recon_result *out)
{
	const struct settings *s = r->s;
	struct iso_em em = {
		.size = sizeof em,
		.op = r->op,
		.iterations = (int)s->iterations,
		.data = { r->data.y, r->data.add, r->data.mult },
		.sens = sens->parts,
		.filter = s->filter_text && !r->kernel ? &s->filter : NULL,
		.filter_every = (int)s->filter_every,
		.grid = r->grid,
	};
	struct iso_run run;
	struct iso_em_result of = { .size = sizeof of };
	int st;

	(void)m;
	if ((st = recon_run(r, &run, true))) return st;
	st = iso_em_run(r->x.v, &of, &em, &run);
	record_stage(r->record, NULL);
	if (!st)
		*out = (struct recon_result){
			.used = of.used,
			.skipped = of.skipped,
			.lost = of.lost,
			.resumed_from = of.resumed_from,
			.unsaved = of.unsaved,
			.updates = of.n,
			.iterations = of.n / (int)s->subsets,
			.stopped = of.stopped,
			.loglik = record_reals(of.n, of.loglik),
		};
	iso_em_result_free(&of);
	return st;
}

#define EM                                                                                                \
	.needs = MODEL_COUNTS,                                                                            \
	.takes = TAKES_WORK | TAKES_COUNTS | TAKES_FILTER_EVERY | TAKES_REPLICATES | TAKES_REGIONS,       \
	.start = "1 everywhere", .iterations = 10, .load = LOAD_COUNTS, .run = recon_em, .plan = em_plan, \
	.iterate = em_iterate

const struct method em_methods[] = {
	{
		.name = "mlem",
		.about = "maximum likelihood, from all data in each update",
		.subsets = 1,
		.more = "osem",
		EM,
	},
	{
		.name = "osem",
		.about = "the same from 'subsets' in turn, which is quicker",
		.subsets = 8,
		EM,
	},
	{ 0 },
};
